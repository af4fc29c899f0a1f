//! `baro serve`: from its options to a server, until it is told to stop.

use crate::api::Api;
use baro_command::failure::{Outcome, Result};
use baro_command::serve::Serve;
use baro_net::{Limits, Server};
use baro_store::Store;
use baro_sys::tcp::is_loopback;
use baro_sys::termination;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A form with a query.
const BODY_BYTES_MAX: u64 = 1 << 20;

pub(crate) fn run(serve: &Serve) -> Result<Outcome> {
    if let Some(open) = serve.http.iter().find(|address| !is_loopback(address)) {
        return Err(format!(
            "--http {open}: expected an address of this machine only, such as 127.0.0.1:9090, found one \
             that others reach: baro serve knows no tokens and no TLS yet. Put a proxy with both before it"
        )
        .into());
    }
    let store = Store::open(&serve.store)?;
    termination::watch()?;
    let connections = serve.connections as usize;
    let limits = Limits { connections, body_bytes: BODY_BYTES_MAX, ..Limits::default() };
    let server = Server::bind(&serve.http, limits)?;
    let api = Api::new(store, serve);
    for address in server.addresses() {
        say!("answering on http://{address} from {}", serve.store.display());
    }
    let stop = AtomicBool::new(false);
    server.serve(&api, &stop, || {
        if termination::requested().is_some() {
            stop.store(true, Relaxed);
        }
    });
    say!("stopped answering");
    Ok(Outcome::Done)
}
