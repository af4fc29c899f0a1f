//! What the listener has done, as Prometheus reads it.

use crate::routes::App;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What the listener has done.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    samples: AtomicU64,
    lines_refused: AtomicU64,
    requests: Mutex<BTreeMap<(&'static str, u16), u64>>,
    overloads: Mutex<BTreeMap<&'static str, u64>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Metrics {
    /// Samples were pushed, and lines refused.
    pub(crate) fn wrote(&self, samples: u64, lines_refused: u64) {
        self.samples.fetch_add(samples, Relaxed);
        self.lines_refused.fetch_add(lines_refused, Relaxed);
    }

    /// A request was answered.
    pub(crate) fn answered(&self, endpoint: &'static str, status: u16) {
        *lock(&self.requests).entry((endpoint, status)).or_default() += 1;
    }

    /// A request is to come again.
    pub(crate) fn overloaded(&self, kind: &'static str) {
        *lock(&self.overloads).entry(kind).or_default() += 1;
    }
}

/// As text.
pub(crate) fn text(app: &App) -> String {
    let (metrics, http) = (&app.metrics, app.counters.counted());
    let mut text = String::new();
    let mut one = |name: &str, kind: &str, help: &str, rows: &[(String, u64)]| {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (labels, value) in rows {
            let _ = writeln!(text, "{name}{labels} {value}");
        }
    };
    let plain = |value: u64| [(String::new(), value)];
    one(
        "baro_listen_samples_total",
        "counter",
        "Samples pushed into the recorder's ring.",
        &plain(metrics.samples.load(Relaxed)),
    );
    one(
        "baro_listen_lines_refused_total",
        "counter",
        "Lines, or series of remote write, that were refused whole or in part.",
        &plain(metrics.lines_refused.load(Relaxed)),
    );
    let requests: Vec<_> = lock(&metrics.requests)
        .iter()
        .map(|((endpoint, status), count)| {
            (format!("{{endpoint=\"{endpoint}\",status=\"{status}\"}}"), *count)
        })
        .collect();
    one("baro_listen_requests_total", "counter", "Requests by what became of them.", &requests);
    let overloads: Vec<_> = lock(&metrics.overloads)
        .iter()
        .map(|(reason, count)| (format!("{{reason=\"{reason}\"}}"), *count))
        .collect();
    one(
        "baro_listen_overload_total",
        "counter",
        "Requests that were told to come again (503).",
        &overloads,
    );
    one(
        "baro_listen_tokens_refused_total",
        "counter",
        "Requests without a token that is known.",
        &plain(app.gate.refused()),
    );
    one(
        "baro_listen_connections_total",
        "counter",
        "Connections that were taken.",
        &plain(http.connections),
    );
    one(
        "baro_listen_connections_refused_total",
        "counter",
        "Connections that were told to come again: all were in use.",
        &plain(http.connections_refused),
    );
    one(
        "baro_listen_connections_given_up_total",
        "counter",
        "Idle connections that were closed for new ones.",
        &plain(http.connections_given_up),
    );
    one("baro_listen_connections", "gauge", "Connections now.", &plain(http.open));
    one(
        "baro_listen_received_bytes_total",
        "counter",
        "Bytes that came.",
        &plain(http.received_bytes),
    );
    one(
        "baro_listen_bad_requests_total",
        "counter",
        "Requests whose head was refused.",
        &plain(http.bad_heads),
    );
    one(
        "baro_listen_slow_total",
        "counter",
        "Requests that came too slowly.",
        &plain(http.slow),
    );
    one(
        "baro_listen_faults_total",
        "counter",
        "Requests that met a fault of the listener.",
        &plain(http.panics),
    );
    one(
        "baro_listen_in_flight_bytes",
        "gauge",
        "Memory of requests that are under way.",
        &plain(app.flight.used_bytes()),
    );
    one(
        "baro_listen_in_flight_bytes_max",
        "gauge",
        "What they may take.",
        &plain(app.flight.max_bytes()),
    );
    one(
        "baro_listen_rings",
        "gauge",
        "Rings that it pushes into now.",
        &plain(app.lanes.attached() as u64),
    );
    text
}
