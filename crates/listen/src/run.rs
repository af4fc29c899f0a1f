//! `baro listen`: from its options to a server, until it is told to stop.

use crate::acks::Acks;
use crate::flight::Flight;
use crate::lane::Lanes;
use crate::metrics::Metrics;
use crate::quota::Quota;
use crate::repeats::Repeats;
use crate::routes::App;
use baro_command::failure::{Outcome, Result, of_address};
use baro_command::listen::Listen;
use baro_net::{Gate, Limits, Server, Tls, is_open};
use baro_sys::tcp::is_loopback;
use baro_sys::{schedule, termination};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

pub(crate) fn run(listen: &Listen) -> Result<Outcome> {
    let Listen { store, http, options } = listen;
    let tls =
        options.tls.both().map(|(certificate, key)| Tls::open(certificate, key)).transpose()?;
    let is_secured = tls.is_some() || options.insecure_without_tls;
    if let Some(said) = is_open(http, &options.tokens, is_secured) {
        return Err(said.into());
    }
    if !baro_sys::files::exists(store) {
        let store = store.display();
        return Err(format!("{store}: expected a store (baro record {store} --init 1G --http ADDRESS makes one), found nothing").into());
    }
    termination::watch()?;
    if options.end_with_parent {
        termination::end_with_parent()?;
    }
    // Beside its connections it has rings, the store and the tokens.
    let files = usize::try_from(schedule::raise_open_files()).unwrap_or(usize::MAX);
    let most = files.saturating_sub(64).max(1);
    let wanted = options.connections as usize;
    if wanted > most {
        say!(
            "note: {most} connections instead of {wanted}: this process may open {files} files (ulimit -n)"
        );
    }
    let connections = wanted.min(most);
    let of_one =
        options.connections_per_address.map_or(connections.div_ceil(2), |of_one| of_one as usize);
    let usual = Limits::default();
    let limits = Limits {
        connections,
        connections_per_address: of_one,
        body_bytes: options.body,
        stall_ns: options.stall,
        head_ns: options.stall.min(usual.head_ns),
        ..usual
    };
    let server = Server::bind(http, limits)
        .map_err(|error| format!("{error}{}", of_address(&error)))?
        .with(tls);
    let asks = options.require_token || !http.iter().all(is_loopback);
    let app = App {
        lanes: Lanes::new(
            store,
            options.rings.as_deref(),
            usize::from(options.lanes),
            Quota::new(options.series, options.series_per_token),
        ),
        acks: Acks::default(),
        flight: Flight::new(options.in_flight),
        gate: Gate::new(&options.tokens, asks),
        metrics: Metrics::default(),
        repeats: Repeats::default(),
        counters: server.counters(),
        db: options.db.clone(),
        wait_ns: options.wait,
        limits,
        next_lane: AtomicUsize::new(0),
    };
    keep(&app);
    for address in server.addresses() {
        let scheme = server.scheme();
        say!("listening on {scheme}://{address} for {}", store.display());
    }
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| app.acks.look(|| app.lanes.views()));
        server.serve(&app, &stop, || {
            keep(&app);
            if let Some(fault) = server.take_fault() {
                say!("the certificate known so far stays in use: {fault}");
            }
            if termination::requested().is_some() {
                stop.store(true, Relaxed);
            }
        });
        app.acks.end();
    });
    say!("stopped listening");
    Ok(Outcome::Done)
}

/// What is done a few times a second.
fn keep(app: &App) {
    for said in app.lanes.keep() {
        say!("{said}");
    }
    if let Some(fault) = app.gate.file().take_fault() {
        say!("the tokens known so far hold on: {fault}");
    }
}
