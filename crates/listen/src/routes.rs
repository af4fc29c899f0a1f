//! Which address answers what.

use crate::acks::Acks;
use crate::flight::Flight;
use crate::influx::dialect::Dialect;
use crate::influx::{query, write};
use crate::lane::Lanes;
use crate::metrics::{self, Metrics};
use crate::otlp;
use crate::prometheus;
use crate::repeats::Repeats;
use crate::sink::{Overload, Sink};
use baro_net::tokens::Access;
use baro_net::{
    Body, Counters, Gate, Limits, Pass, Request, Response, Service, challenged, quoted,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// What all requests have in common.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) lanes: Lanes,
    pub(crate) acks: Acks,
    pub(crate) flight: Flight,
    pub(crate) gate: Gate,
    pub(crate) metrics: Metrics,
    pub(crate) repeats: Repeats,
    pub(crate) counters: Arc<Counters>,
    /// The one database that samples are taken for; `None`: any.
    pub(crate) db: Option<String>,
    pub(crate) wait_ns: u64,
    pub(crate) limits: Limits,
    pub(crate) next_lane: AtomicUsize,
}

/// Parameters of a write of which there is one value.
const ONCE: [&str; 5] = ["precision", "db", "bucket", "accept_partial", "no_sync"];
const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

impl App {
    /// A way into one of the lanes, in turn.
    pub(crate) fn sink<'a>(&'a self, pass: &'a Pass) -> Sink<'a> {
        let wanted = self.next_lane.fetch_add(1, Relaxed);
        Sink::new(&self.lanes, wanted, &pass.prefix, self.wait_ns)
    }

    /// Counts and tells that a request is to come again, if it is.
    pub(crate) fn overloaded(&self, overload: &Overload) {
        if overload.status() == 503 {
            self.metrics.overloaded(overload.kind());
        }
        self.repeats.say(overload.kind(), &overload.to_string());
    }

    fn write(&self, dialect: Dialect, request: &Request, body: &mut Body<'_, '_>) -> Response {
        let pass = match self.gate.pass(request, Access::Write) {
            Ok(pass) => pass,
            Err((status, said)) => return challenged(dialect.error(status, &said)),
        };
        if let Some(name) = request.query.twice(&ONCE) {
            return dialect
                .error(400, &format!("expected the parameter {name} once, found it twice"));
        }
        let name = match dialect {
            Dialect::V2 => "bucket",
            Dialect::V1 | Dialect::V3 => "db",
        };
        let db = request.query.get(name).unwrap_or_default();
        // Clients of InfluxDB 2 name database and retention policy of InfluxDB 1 so.
        let db = match dialect {
            Dialect::V2 => db.split_once('/').map_or(db, |(db, _)| db),
            Dialect::V1 | Dialect::V3 => db,
        };
        if let Some(expected) = self.db.as_deref().filter(|expected| *expected != db) {
            let said = format!("expected the {name} {expected:?}, found {db:?}");
            return dialect.error(404, &said);
        }
        match write::how(dialect, request) {
            Ok(how) => write::answer(self, &pass, how, request, body),
            Err(said) => dialect.error(400, &said),
        }
    }

    fn remote_write(&self, request: &Request, body: &mut Body<'_, '_>) -> Response {
        match self.gate.pass(request, Access::Write) {
            Ok(pass) => prometheus::write::answer(self, &pass, request, body),
            Err((status, said)) => challenged(prometheus::write::refused(status, &said)),
        }
    }

    fn otlp(&self, request: &Request, body: &mut Body<'_, '_>) -> Response {
        match self.gate.pass(request, Access::Write) {
            Ok(pass) => otlp::write::answer(self, &pass, request, body),
            Err((status, said)) => {
                let form = otlp::answer::Form::of(request).unwrap_or_else(|(form, _)| form);
                challenged(form.refused(status, &said))
            }
        }
    }

    fn read(&self, request: &Request, answer: impl FnOnce() -> Response) -> Response {
        match self.gate.pass(request, Access::Read) {
            Ok(Pass { .. }) => answer(),
            Err((status, said)) => challenged(Response::error(status, &said)),
        }
    }

    /// Why no samples are taken now.
    fn not_ready(&self) -> Option<String> {
        self.lanes.why().or_else(|| self.lanes.trouble().0)
    }

    /// What is wrong, though samples are taken.
    fn warning(&self) -> Option<&'static str> {
        self.lanes.trouble().1.then_some(
            "settling has stopped, so the log is reused before its samples are in runs: they are lost, and \
             counted; the recorder says why it stopped",
        )
    }

    fn health(&self) -> Response {
        let version = env!("CARGO_PKG_VERSION");
        let message = match (self.not_ready(), self.warning()) {
            (Some(why), _) => format!("takes no samples now: {why}"),
            (None, Some(warning)) => format!("takes samples, but {warning}"),
            (None, None) => "takes samples".to_owned(),
        };
        let message = quoted(&message);
        let body = format!(
            "{{\"name\":\"barograph\",\"status\":\"pass\",\"message\":{message},\"version\":\"{version}\"}}\n"
        );
        Response::json(200, body)
    }

    fn ready(&self) -> Response {
        match self.not_ready() {
            None => {
                let warning = self.warning().map(|said| format!(",\"warning\":{}", quoted(said)));
                let warning = warning.unwrap_or_default();
                Response::json(200, format!("{{\"status\":\"ready\"{warning}}}\n"))
            }
            Some(why) => {
                let body = format!("{{\"status\":\"not ready\",\"message\":{}}}\n", quoted(&why));
                Response::json(503, body).with("Retry-After", "1")
            }
        }
    }

    fn create(&self, request: &Request, body: &mut Body<'_, '_>) -> Response {
        match self.gate.pass(request, Access::Write) {
            Ok(_) => query::answer(self.db.as_deref(), request, body),
            Err((status, said)) => challenged(Dialect::V1.error(status, &said)),
        }
    }

    fn route(&self, request: &Request, body: &mut Body<'_, '_>) -> (&'static str, Response) {
        match (request.method.as_str(), request.path.as_str()) {
            ("POST", "/write") => ("/write", self.write(Dialect::V1, request, body)),
            ("POST", "/api/v2/write") => ("/api/v2/write", self.write(Dialect::V2, request, body)),
            ("POST", "/api/v3/write_lp") => {
                ("/api/v3/write_lp", self.write(Dialect::V3, request, body))
            }
            ("POST", "/api/v1/write") => ("/api/v1/write", self.remote_write(request, body)),
            // The second is where Prometheus has it, and so what its senders are set to.
            ("POST", "/v1/metrics" | "/api/v1/otlp/v1/metrics") => {
                ("/v1/metrics", self.otlp(request, body))
            }
            ("POST", "/v1/traces" | "/v1/logs") => ("other", no_place(&request.path)),
            ("POST" | "GET", "/query") => ("/query", self.create(request, body)),
            ("GET" | "HEAD", "/ping") => ("/ping", Response::empty(204)),
            ("GET" | "HEAD", "/health") => ("/health", self.health()),
            ("GET" | "HEAD", "/ready") => ("/ready", self.ready()),
            ("GET" | "HEAD", "/metrics") => {
                let answer = || Response::of(200, METRICS_TYPE, metrics::text(self));
                ("/metrics", self.read(request, answer))
            }
            (
                method,
                "/write"
                | "/api/v2/write"
                | "/api/v3/write_lp"
                | "/api/v1/write"
                | "/v1/metrics"
                | "/api/v1/otlp/v1/metrics",
            ) => ("other", other_method(method, &["POST"])),
            (method, "/query") => ("other", other_method(method, &["GET", "POST"])),
            (method, "/ping" | "/health" | "/ready" | "/metrics") => {
                ("other", other_method(method, &["GET", "HEAD"]))
            }
            _ => {
                let said = "expected /write, /api/v2/write, /api/v3/write_lp, /api/v1/write, \
                            /v1/metrics, /query, /ping, /health, /ready or /metrics, found another address";
                ("other", Response::error(404, said))
            }
        }
    }
}

/// The address knows these methods alone.
fn other_method(found: &str, known: &[&str]) -> Response {
    let said = format!("expected {} here, found {found}", known.join(" or "));
    Response::error(405, &said).with("Allow", known.join(", "))
}

/// What OpenTelemetry sends beside metrics.
fn no_place(path: &str) -> Response {
    let signal = path.rsplit('/').next().unwrap_or_default();
    let said = format!(
        "expected metrics at /v1/metrics, found {signal}: a store has no place for them \
         (OTEL_{}_EXPORTER=none)",
        signal.to_uppercase()
    );
    Response::error(404, &said)
}

impl Service for App {
    fn answer(&self, request: &Request, body: &mut Body<'_, '_>) -> Response {
        let (endpoint, response) = self.route(request, body);
        self.metrics.answered(endpoint, response.status);
        // Clients look for these two.
        let response =
            response.with("X-Influxdb-Version", concat!("barograph-", env!("CARGO_PKG_VERSION")));
        response.with("X-Influxdb-Build", "barograph")
    }

    fn give_up(&self) {
        self.acks.end();
    }
}
