//! `baro serve`: from its options to a server, until it is told to stop.

use crate::api::Api;
use baro_command::failure::{Outcome, Result, of_address};
use baro_command::serve::Serve;
use baro_net::{Gate, Limits, Server, Tls, is_open};
use baro_store::Store;
use baro_sys::tcp::is_loopback;
use baro_sys::termination;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A form with a query.
const BODY_BYTES_MAX: u64 = 256 << 10;

pub(crate) fn run(serve: &Serve) -> Result<Outcome> {
    let tls = serve.tls.both().map(|(certificate, key)| Tls::open(certificate, key)).transpose()?;
    let is_secured = tls.is_some() || serve.insecure_without_tls;
    if let Some(said) = is_open(&serve.http, &serve.tokens, is_secured) {
        return Err(said.into());
    }
    let store = Store::open(&serve.store)?;
    termination::watch()?;
    let connections = serve.connections as usize;
    let limits = Limits {
        connections,
        // Half of all, as of the listener: one address never takes the places of all others.
        connections_per_address: connections.div_ceil(2),
        body_bytes: BODY_BYTES_MAX,
        ..Limits::default()
    };
    let server = Server::bind(&serve.http, limits)
        .map_err(|error| format!("{error}{}", of_address(&error)))?
        .with(tls);
    let asks = serve.require_token || !serve.http.iter().all(is_loopback);
    let gate = Gate::new(&serve.tokens, asks).with_origins(&serve.origin);
    let api = Api::new(store, gate, serve);
    for address in server.addresses() {
        let scheme = server.scheme();
        say!("answering on {scheme}://{address} from {}", serve.store.display());
    }
    let stop = AtomicBool::new(false);
    let each = || {
        if let Some(fault) = api.gate().file().take_fault() {
            say!("the tokens known so far hold on: {fault}");
        }
        if let Some(fault) = server.take_fault() {
            say!("the certificate known so far stays in use: {fault}");
        }
        if termination::requested().is_some() {
            stop.store(true, Relaxed);
        }
    };
    std::thread::scope(|scope| {
        scope.spawn(|| api.live().follow(&stop));
        scope.spawn(|| api.foxglove().follow(&stop));
        server.serve(&api, &stop, each);
    });
    say!("stopped answering");
    Ok(Outcome::Done)
}
