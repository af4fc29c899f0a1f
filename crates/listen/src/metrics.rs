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
    exemplars: AtomicU64,
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

    /// Exemplars were passed over.
    pub(crate) fn exemplars(&self, count: u64) {
        self.exemplars.fetch_add(count, Relaxed);
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

/// A number of its own: name, kind, help.
type Plain = (&'static str, &'static str, &'static str, u64);

/// As text.
pub(crate) fn text(app: &App) -> String {
    let metrics = &app.metrics;
    let mut text = String::new();
    for (name, kind, help, value) in plain(app) {
        begin(&mut text, name, kind, help);
        let _ = writeln!(text, "{name} {value}");
    }
    let name = "baro_listen_requests_total";
    begin(&mut text, name, "counter", "Requests by what became of them.");
    for ((endpoint, status), count) in lock(&metrics.requests).iter() {
        let _ = writeln!(text, "{name}{{endpoint=\"{endpoint}\",status=\"{status}\"}} {count}");
    }
    let name = "baro_listen_overload_total";
    begin(&mut text, name, "counter", "Requests that were told to come again (503).");
    for (reason, count) in lock(&metrics.overloads).iter() {
        let _ = writeln!(text, "{name}{{reason=\"{reason}\"}} {count}");
    }
    text
}

fn begin(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[rustfmt::skip]
fn plain(app: &App) -> [Plain; 28] {
    let (metrics, http, limits) = (&app.metrics, app.counters.counted(), &app.limits);
    let (quota, (series, series_max)) = (&app.lanes.quota, app.lanes.quota.store());
    let (counter, gauge) = ("counter", "gauge");
    let (stuck, unsettled) = app.lanes.trouble();
    [
        ("baro_listen_samples_total", counter, "Samples pushed into the recorder's ring.",
         metrics.samples.load(Relaxed)),
        ("baro_listen_lines_refused_total", counter,
         "Lines, series of remote write, or data points of OTLP, that were refused whole or in part.",
         metrics.lines_refused.load(Relaxed)),
        ("baro_listen_exemplars_passed_over_total", counter,
         "Exemplars of OTLP: a store has no place for them.", metrics.exemplars.load(Relaxed)),
        ("baro_listen_tokens_refused_total", counter, "Requests without a token that is known.",
         app.gate.refused()),
        ("baro_listen_connections_total", counter, "Connections that were taken.", http.connections),
        ("baro_listen_connections_refused_total", counter,
         "Connections that were told to come again: all were in use.", http.connections_refused),
        ("baro_listen_connections_given_up_total", counter,
         "Idle connections that were closed for new ones.", http.connections_given_up),
        ("baro_listen_connections", gauge, "Connections now.", http.open),
        ("baro_listen_connections_max", gauge, "Connections at once.",
         limits.connections as u64),
        ("baro_listen_connections_of_one_address_refused_total", counter,
         "Connections that were told to come again: their address has as many as one may have.",
         http.connections_of_one_refused),
        ("baro_listen_connections_of_one_address_max", gauge, "Connections at once of one address.",
         limits.connections_per_address as u64),
        ("baro_listen_body_bytes_max", gauge, "Bytes of a body, unpacked.", limits.body_bytes),
        ("baro_listen_stall_milliseconds_max", gauge, "How long a client may stand still.",
         limits.stall_ns / 1_000_000),
        ("baro_listen_wait_milliseconds_max", gauge,
         "How long a request waits for room in the ring, and for the disk.", app.wait_ns / 1_000_000),
        ("baro_listen_series", gauge, "Series in the store, as far as the listener knows.", series),
        ("baro_listen_series_max", gauge, "With so many it takes no new ones.", series_max),
        ("baro_listen_series_of_one_token_max", gauge, "Series with the prefix of one token.",
         quota.token_max()),
        ("baro_listen_new_series_refused_total", counter,
         "Samples of new series that were refused: there are as many as there may be.",
         quota.refused_samples()),
        ("baro_listen_received_bytes_total", counter, "Bytes that came.", http.received_bytes),
        ("baro_listen_bad_requests_total", counter, "Requests whose head was refused.", http.bad_heads),
        ("baro_listen_slow_total", counter, "Requests that came too slowly.", http.slow),
        ("baro_listen_without_tls_total", counter,
         "Connections that came to no TLS where it was expected.", http.without_tls),
        ("baro_listen_faults_total", counter, "Requests that met a fault of the listener.", http.panics),
        ("baro_listen_in_flight_bytes", gauge, "Memory of requests that are under way.",
         app.flight.used_bytes()),
        ("baro_listen_in_flight_bytes_max", gauge, "What they may take.", app.flight.max_bytes()),
        ("baro_listen_rings", gauge, "Rings that it pushes into now.", app.lanes.attached() as u64),
        ("baro_listen_stuck", gauge, "1: the log is full, or the device fails, and nothing is recorded.",
         u64::from(stuck.is_some())),
        ("baro_listen_settling_stopped", gauge,
         "1: nobody settles any more, and the log is reused before its samples are in runs.",
         u64::from(unsettled)),
    ]
}
