//! A server: its addresses, a thread for each connection, and how it stops.

use crate::body::Body;
use crate::connection::{self, Shared};
use crate::counters::Counters;
use crate::head::Request;
use crate::limits::Limits;
use crate::places::{Entered, Places};
use crate::response::Response;
use crate::talk::Talk;
use crate::tls::Tls;
use baro_sys::clock;
use baro_sys::tcp::{Listener, Tcp};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{Builder, Scope};

/// How often an accepting thread looks whether it is to stop.
const LOOK_NS: u64 = 100_000_000;
/// A connection's thread holds no more than small buffers on its stack; only what is used takes memory.
const STACK_BYTES: usize = 512 << 10;

/// What a client is told that has no place.
const ALL: &str = "all connections of this server are in use: come again";
const OF_ONE: &str = "all connections that this server has for one address are in use: come again";

/// What answers requests. Called by many threads at once.
pub trait Service: Sync {
    /// Answers a request; may read its body, and may block.
    fn answer(&self, request: &Request, body: &mut Body<'_, '_>) -> Response;

    /// Speaks the protocol that its answer 101 to this request has agreed on, until this returns; then the
    /// connection is closed. Blocks, and ends soon after [`Talk::is_stopping`].
    fn talk(&self, _request: &Request, _talk: &mut Talk<'_, '_>) {}

    /// The server stops, and requests have had their time: whoever waits for something gives up.
    fn give_up(&self) {}
}

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server {
    listeners: Vec<Listener>,
    limits: Limits,
    counters: Arc<Counters>,
    tls: Option<Tls>,
}

impl Server {
    /// Listens at all addresses (port 0: any free one).
    ///
    /// # Errors
    /// The operating system's reason, with the address.
    pub fn bind(addresses: &[SocketAddr], limits: Limits) -> baro_sys::Result<Self> {
        let listeners = addresses.iter().map(|address| Listener::bind(*address));
        let listeners = listeners.collect::<baro_sys::Result<_>>()?;
        Ok(Server { listeners, limits, counters: Arc::default(), tls: None })
    }

    /// With TLS at all addresses, if a certificate is given.
    #[must_use]
    pub fn with(self, tls: Option<Tls>) -> Self {
        Server { tls, ..self }
    }

    /// Why a renewed certificate is not used, if that has not been told.
    #[must_use]
    pub fn take_fault(&self) -> Option<String> {
        self.tls.as_ref().and_then(Tls::take_fault)
    }

    /// How its URLs begin: `http` or `https`.
    #[must_use]
    pub fn scheme(&self) -> &'static str {
        if self.tls.is_some() { "https" } else { "http" }
    }

    /// Where it listens.
    pub fn addresses(&self) -> impl Iterator<Item = SocketAddr> {
        self.listeners.iter().map(Listener::address)
    }

    /// What it has done.
    #[must_use]
    pub fn counters(&self) -> Arc<Counters> {
        Arc::clone(&self.counters)
    }

    /// Its limits.
    #[must_use]
    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Answers requests until `stop`. Then no connection is taken, idle ones are closed, and requests that
    /// are under way have the time that the limits say. `each` is called some times a second. Blocks.
    pub fn serve(&self, service: &dyn Service, stop: &AtomicBool, mut each: impl FnMut()) {
        let places = Places::new(self.limits.connections, self.limits.connections_per_address);
        let shared =
            Shared { limits: &self.limits, counters: &self.counters, stop, tls: self.tls.as_ref() };
        std::thread::scope(|scope| {
            for listener in &self.listeners {
                let (places, shared) = (&places, &shared);
                scope.spawn(move || accept(scope, listener, places, shared, service));
            }
            while !stop.load(Relaxed) {
                self.tls.iter().for_each(Tls::look);
                each();
                clock::sleep_ns(LOOK_NS);
            }
            let end_ns = clock::monotonic_ns().saturating_add(self.limits.stop_ns);
            while !places.are_free() && clock::monotonic_ns() < end_ns {
                places.end(false);
                each();
                clock::sleep_ns(LOOK_NS / 10);
            }
            service.give_up();
            places.end(true);
        });
    }
}

fn accept<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    listener: &'scope Listener,
    places: &'scope Places,
    shared: &'scope Shared<'scope>,
    service: &'scope dyn Service,
) {
    while !shared.stop.load(Relaxed) {
        let tcp = match listener.accept(LOOK_NS) {
            Ok(Some(tcp)) => tcp,
            Ok(None) => continue,
            Err(_) => {
                // Too many open files: some will be closed.
                clock::sleep_ns(LOOK_NS / 10);
                continue;
            }
        };
        shared.counters.connections.fetch_add(1, Relaxed);
        let place = match places.enter(tcp) {
            Entered::Has(place) => place,
            Entered::Instead(place) => {
                shared.counters.connections_given_up.fetch_add(1, Relaxed);
                place
            }
            Entered::Full(tcp) => {
                refuse(&tcp, shared, ALL);
                continue;
            }
            Entered::FullOfOne(tcp) => {
                shared.counters.connections_of_one_refused.fetch_add(1, Relaxed);
                refuse(&tcp, shared, OF_ONE);
                continue;
            }
        };
        let own = Arc::clone(&place);
        let work = move || {
            shared.counters.open.fetch_add(1, Relaxed);
            connection::serve(&own, shared, service);
            places.leave(&own);
            shared.counters.open.fetch_sub(1, Relaxed);
        };
        let named = Builder::new().name("baro-http".to_owned()).stack_size(STACK_BYTES);
        if named.spawn_scoped(scope, work).is_err() {
            refuse(&place.tcp, shared, ALL);
            places.leave(&place);
        }
    }
}

/// Tells a client to come again, without waiting for it.
fn refuse(tcp: &Tcp, shared: &Shared<'_>, said: &str) {
    shared.counters.connections_refused.fetch_add(1, Relaxed);
    // Agreeing on TLS would take a thread, and has to wait for the client.
    if shared.tls.is_some() {
        tcp.end();
        return;
    }
    shared.counters.answered(503);
    let answer = Response::error(503, said).with("Retry-After", "1");
    let _ = tcp.write_all(&answer.bytes(false, true).0, 1_000_000);
    tcp.end_output();
    // What has come is read over, else the kernel takes the answer back.
    let _ = tcp.read(&mut [0; 4_096], 1_000_000);
}
