//! One connection: request after request, until either side ends it.

use crate::body::Body;
use crate::counters::Counters;
use crate::head::{self, Framing, Refusal, Request};
use crate::limits::Limits;
use crate::places::{Place, whose};
use crate::response::Response;
use crate::server::Service;
use crate::talk::Talk;
use crate::tls::{NoTls, Stream, Tls};
use crate::wire::Wire;
use baro_sys::clock;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A client that still sends when it is answered and the connection closed is read over for so long, else
/// the kernel takes the answer away from it.
const LINGER_NS: u64 = 1_000_000_000;
const LINGER_BYTES_MAX: usize = 4 << 20;

/// A large answer is sent in pieces of so many bytes, and its client's speed looked at behind each.
const PIECE_BYTES: usize = 32 << 10;

/// What all connections have in common.
#[derive(Debug)]
pub(crate) struct Shared<'a> {
    pub(crate) limits: &'a Limits,
    pub(crate) counters: &'a Counters,
    pub(crate) stop: &'a AtomicBool,
    pub(crate) tls: Option<&'a Tls>,
}

/// What came instead of a request.
enum NoRequest {
    /// The connection has ended, or nothing was asked.
    End,
    Refused(Refusal),
}

/// Serves until the connection ends.
pub(crate) fn serve(place: &Place, shared: &Shared<'_>, service: &dyn Service) {
    let Some(stream) = secured(place, shared) else {
        place.tcp.end();
        return;
    };
    let mut wire = Wire::new(stream, shared.counters, shared.limits.head_bytes);
    loop {
        let request = match next(place, &mut wire, shared) {
            Ok(request) => request,
            Err(NoRequest::End) => break,
            Err(NoRequest::Refused(Refusal { status, said })) => {
                let mut response = Response::error(status, &said);
                if status == 503 {
                    shared.counters.slow.fetch_add(1, Relaxed);
                    response = response.with("Retry-After", "1");
                }
                shared.counters.bad_heads.fetch_add(1, Relaxed);
                send(&mut wire, shared, &response, false, true);
                linger(&mut wire, place, shared);
                break;
            }
        };
        if !answer(&request, &mut wire, place, shared, service) {
            break;
        }
    }
    wire.end_output(LINGER_NS);
    place.tcp.end();
}

/// The connection with TLS if the server has it.
fn secured<'p>(place: &'p Place, shared: &Shared<'_>) -> Option<Stream<'p>> {
    match Stream::open(&place.tcp, shared.tls, shared.limits.head_ns) {
        Ok(stream) => return Some(stream),
        Err(NoTls::Failed) => {}
        Err(NoTls::Http) => {
            let said = "expected TLS at this address (https://), found HTTP in the clear";
            let answer = Response::error(400, said);
            let (answer, _) = answer.bytes(false, true);
            let mut wire =
                Wire::new(Stream::Clear(&place.tcp), shared.counters, shared.limits.head_bytes);
            if wire.write(&answer, shared.limits.stall_ns).is_ok() {
                linger(&mut wire, place, shared);
            }
        }
    }
    shared.counters.without_tls.fetch_add(1, Relaxed);
    None
}

/// The next request.
fn next(place: &Place, wire: &mut Wire<'_>, shared: &Shared<'_>) -> Result<Request, NoRequest> {
    let Limits { head_ns, idle_ns, headers, .. } = *shared.limits;
    let refused =
        |status, said: &str| NoRequest::Refused(Refusal { status, said: said.to_owned() });
    if wire.buffered().is_empty() {
        place.is_idle();
        if shared.stop.load(Relaxed) {
            return Err(NoRequest::End);
        }
        match wire.fill(idle_ns) {
            Ok(0) | Err(_) => return Err(NoRequest::End),
            Ok(_) => place.is_busy(),
        }
    }
    // An empty line before a request is passed over, as the standard has it.
    if wire.buffered().starts_with(b"\r\n") {
        wire.take(2);
    }
    // Not 408: clients drop what they wanted to send then.
    let slow =
        || refused(503, "expected the whole head of a request, found a part of it: send it again");
    let end_ns = clock::monotonic_ns().saturating_add(head_ns);
    let mut looked = 0;
    let length = loop {
        if let Some(length) = head::end(wire.buffered(), looked).map_err(NoRequest::Refused)? {
            break length;
        }
        looked = wire.buffered().len();
        if wire.is_full() {
            return Err(refused(431, "expected a smaller head of the request, found no end of it"));
        }
        let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
        match wire.fill(left_ns) {
            _ if left_ns == 0 => {
                return Err(slow());
            }
            Ok(0) => return Err(NoRequest::End),
            Ok(_) => {}
            Err(error) if error.kind() == ErrorKind::TimedOut => {
                return Err(slow());
            }
            Err(_) => return Err(NoRequest::End),
        }
    };
    let head = wire.buffered().get(..length).unwrap_or_default();
    let mut request = head::parse(head, headers).map_err(NoRequest::Refused)?;
    request.from = Some(whose(place.tcp.peer()));
    wire.take(length);
    Ok(request)
}

/// Answers a request. Whether another one can follow.
fn answer(
    request: &Request,
    wire: &mut Wire<'_>,
    place: &Place,
    shared: &Shared<'_>,
    service: &dyn Service,
) -> bool {
    let mut body = Body::new(wire, request, shared.limits);
    let too_large = body.said_bytes().is_some_and(|bytes| bytes > shared.limits.body_bytes);
    let mut response = match too_large {
        true => {
            let limit = shared.limits.body_bytes;
            let said =
                format!("expected a body of at most {limit} bytes, found more: send it in parts");
            Response::error(413, &said).closing()
        }
        // A fault of ours costs this request, and no other one.
        false => catch_unwind(AssertUnwindSafe(|| service.answer(request, &mut body)))
            .unwrap_or_else(|_| {
                shared.counters.panics.fetch_add(1, Relaxed);
                Response::error(500, "a fault of the server; nothing of this is acknowledged")
                    .closing()
            }),
    };
    if body.has_stalled() {
        shared.counters.slow.fetch_add(1, Relaxed);
    }
    // What stood behind a body would be read as the other protocol by us, and as the body by a proxy.
    if response.status == 101 && request.framing != Framing::None {
        let said = "expected no body where another protocol is asked for, found one";
        response = Response::error(400, said).closing();
    }
    if response.status == 101 {
        drop(body);
        return talk(request, &response, wire, place, shared, service);
    }
    let whole = !response.closes && body.read_over(LINGER_NS);
    let closes = !whole || !request.keeps_alive || shared.stop.load(Relaxed);
    let sent = send(wire, shared, &response, request.method == "HEAD", closes);
    if sent && closes && !whole {
        linger(wire, place, shared);
    }
    sent && !closes
}

/// Sends the answer 101 and lets the service speak its protocol; nothing of HTTP can follow.
fn talk(
    request: &Request,
    response: &Response,
    wire: &mut Wire<'_>,
    place: &Place,
    shared: &Shared<'_>,
    service: &dyn Service,
) -> bool {
    if !send(wire, shared, response, false, false) {
        return false;
    }
    let mut talk = Talk::new(wire, shared.stop, shared.limits.stall_ns);
    let talked = catch_unwind(AssertUnwindSafe(|| service.talk(request, &mut talk)));
    if talked.is_err() {
        shared.counters.panics.fetch_add(1, Relaxed);
    }
    linger(wire, place, shared);
    false
}

fn send(
    wire: &mut Wire<'_>,
    shared: &Shared<'_>,
    response: &Response,
    without_body: bool,
    closes: bool,
) -> bool {
    shared.counters.answered(response.status);
    let (first, rest) = response.bytes(without_body, closes);
    let limits = shared.limits;
    if wire.write(&first, limits.stall_ns).is_err() {
        return false;
    }
    // Whoever takes a little each time before he counts as stalled would hold all of it for hours.
    let began_ns = clock::monotonic_ns();
    let mut allowed_ns = limits.stall_ns;
    for piece in rest.chunks(PIECE_BYTES) {
        if wire.write(piece, limits.stall_ns).is_err() {
            return false;
        }
        let piece_ns = (piece.len() as u64).saturating_mul(1_000_000_000);
        allowed_ns = allowed_ns.saturating_add(piece_ns / limits.answer_bytes_per_s.max(1));
        if clock::monotonic_ns().saturating_sub(began_ns) > allowed_ns {
            shared.counters.slow.fetch_add(1, Relaxed);
            return false;
        }
    }
    true
}

/// Ends our side and reads over what the client still sends.
fn linger(wire: &mut Wire<'_>, place: &Place, shared: &Shared<'_>) {
    wire.end_output(shared.limits.stall_ns);
    place.tcp.end_output();
    let end_ns = clock::monotonic_ns().saturating_add(LINGER_NS);
    let mut left = LINGER_BYTES_MAX;
    loop {
        let buffered = wire.buffered().len();
        wire.take(buffered);
        let left_ns = end_ns.saturating_sub(clock::monotonic_ns());
        match wire.fill(left_ns) {
            Ok(count) if count > 0 && left_ns > 0 && left > count => left -= count,
            _ => return,
        }
    }
}
