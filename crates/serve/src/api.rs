//! The interface of Prometheus that Grafana and others use: which address answers what.

mod answer;
mod entries;
mod parameters;
mod queries;
pub(crate) mod results;
mod series;
mod turns;

pub(crate) use answer::Refusal;
pub(crate) use parameters::Parameters;

use crate::foxglove::{self, Foxglove};
use crate::live::{self, Live};
use answer::{Data, answer};
use baro_command::serve::Serve;
use baro_net::tokens::Access;
use baro_net::{Body, Gate, Query, Request, Response, Room, Service, Talk, challenged};
use baro_store::Store;
use serde_json::json;
use std::sync::{Mutex, MutexGuard, PoisonError};
use turns::{Turn, Turns};

/// A form with a query.
const FORM_BYTES_MAX: usize = 256 << 10;
/// Bytes of a value that a query holds.
pub(crate) const VALUE_BYTES: u64 = 8;
/// Parts of a query lie in each other; each takes some of the stack.
pub(crate) const STACK_BYTES: usize = 32 << 20;
/// An answer may take this part of what a query may, and all that are not fetched yet together as much.
const ANSWERS: usize = 2;
/// What stands around the text of an answer.
const AROUND_BYTES: usize = 256;
/// Answers up to here need no room: who holds all of it keeps nobody else from them. All connections together
/// hold 16 MiB so.
const SMALL_BYTES: u64 = 64 << 10;

/// What all requests have in common.
#[derive(Debug)]
pub(crate) struct Api {
    turns: Turns,
    store: Mutex<Store>,
    room: Room,
    gate: Gate,
    live: Live,
    foxglove: Foxglove,
    lookback_ns: i64,
    timeout_ns: u64,
    values_max: usize,
}

impl Api {
    pub(crate) fn new(store: Store, gate: Gate, serve: &Serve) -> Self {
        let viewers = serve.viewers as usize;
        let values_max = usize::try_from(serve.memory / VALUE_BYTES).unwrap_or(usize::MAX);
        Api {
            turns: Turns::default(),
            room: Room::of(serve.memory / ANSWERS as u64),
            store: Mutex::new(store),
            gate,
            live: Live::new(&serve.store, viewers, serve.timeout),
            foxglove: Foxglove::new(&serve.store, viewers),
            lookback_ns: i64::try_from(serve.lookback).unwrap_or(i64::MAX),
            timeout_ns: serve.timeout,
            values_max,
        }
    }

    fn answer_bytes_max(&self) -> usize {
        let most = self.values_max.saturating_mul(VALUE_BYTES as usize) / ANSWERS;
        most.saturating_sub(AROUND_BYTES)
    }

    /// Who may ask.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// What the page shows.
    pub(crate) fn live(&self) -> &Live {
        &self.live
    }

    /// The sockets of Foxglove.
    pub(crate) fn foxglove(&self) -> &Foxglove {
        &self.foxglove
    }

    /// The store as it is now, for one query; others wait until `until_ns`.
    fn turn(
        &self,
        parameters: &Parameters,
        until_ns: u64,
    ) -> Result<(MutexGuard<'_, Store>, Turn<'_>), Refusal> {
        let late = || Refusal::timeout("other queries have taken all its time");
        let turn = self.turns.wait(parameters.from(), until_ns).ok_or_else(late)?;
        // Nobody else has it, since it is this one's turn.
        let mut store = self.store.lock().unwrap_or_else(PoisonError::into_inner);
        store.refresh().map_err(|error| Refusal::internal(&error))?;
        Ok((store, turn))
    }

    /// Lets an answer hold its room until it is fetched.
    fn held(&self, data: Data) -> Result<Data, Refusal> {
        if data.bytes() <= SMALL_BYTES {
            return Ok(data);
        }
        let held = self.room.take(data.bytes());
        let full =
            || Refusal::timeout("answers that others have not fetched yet take all the room");
        held.map(|held| data.holding(held)).ok_or_else(full)
    }

    fn route(&self, request: &Request, parameters: &Parameters) -> Result<Data, Refusal> {
        let path = request.path.strip_prefix("/api/v1/").unwrap_or("");
        match path.split('/').collect::<Vec<_>>().as_slice() {
            ["query"] => self.query(parameters),
            ["query_range"] => self.query_range(parameters),
            ["series"] => self.series(parameters),
            ["labels"] => self.labels(parameters),
            ["label", name, "values"] => self.values(name, parameters),
            ["metadata"] => self.metadata(parameters),
            ["status", "buildinfo"] => Ok(Data::of(json!({
                "version": env!("CARGO_PKG_VERSION"), "revision": "", "branch": "", "buildUser": "",
                "buildDate": "", "goVersion": "", "application": "barograph",
            }))),
            ["rules"] => Ok(Data::of(json!({ "groups": [] }))),
            ["alerts"] => Ok(Data::of(json!({ "alerts": [] }))),
            ["query_exemplars"] => Ok(Data::of(json!([]))),
            _ => Err(Refusal::not_found(
                "expected /api/v1/query, query_range, series, labels, label/NAME/values, metadata or \
                 status/buildinfo, found another address",
            )),
        }
    }
}

impl Api {
    /// What answers a request whose sender was let in.
    fn told(&self, request: &Request, body: &mut Body<'_, '_>) -> Response {
        let mut form = Query::default();
        if request.method == "POST" {
            match body.read_whole(FORM_BYTES_MAX) {
                Ok(bytes) => match Query::parse(&String::from_utf8_lossy(&bytes)) {
                    Ok(found) => form = found,
                    Err(said) => return answer(Err(Refusal::bad(&said))),
                },
                Err(error) => return answer(Err(Refusal::of_body(&error))),
            }
        }
        let parameters = Parameters::new(request.query.clone(), form).of(request.from);
        if let Err(refusal) = parameters.once() {
            return answer(Err(refusal));
        }
        match request.path.strip_prefix("/live/") {
            Some(what) => match self.live.answer(what, &parameters) {
                Ok(response) => response,
                Err(refusal) => answer(Err(refusal)),
            },
            None => answer(self.route(request, &parameters)),
        }
    }
}

impl Service for Api {
    fn answer(&self, request: &Request, body: &mut Body<'_, '_>) -> Response {
        match (request.method.as_str(), request.path.as_str()) {
            ("GET" | "HEAD", "/-/healthy" | "/health") => {
                return Response::of(200, "text/plain; charset=utf-8", "baro serve is healthy.\n");
            }
            ("GET" | "HEAD", "/-/ready" | "/ready") => {
                return Response::of(200, "text/plain; charset=utf-8", "baro serve is ready.\n");
            }
            ("GET" | "HEAD" | "POST", _) => {}
            _ => {
                let said = format!("expected GET or POST, found {}", request.method);
                return answer(Err(Refusal::method(&said))).with("Allow", "GET, HEAD, POST");
            }
        }
        let is_socket = foxglove::is_asked(request);
        // The page itself has nothing of the store: it asks for a token where one is needed.
        if let Some(file) = live::file(request).filter(|_| !is_socket) {
            return live::guarded(file).packed_for(request);
        }
        let is_live = request.path.starts_with("/live/");
        let response = match self.gate.pass(request, Access::Read) {
            Ok(pass) if pass.prefix.is_empty() && is_socket => {
                self.foxglove.answer(request).unwrap_or_else(|refusal| answer(Err(refusal)))
            }
            Ok(pass) if pass.prefix.is_empty() => self.told(request, body),
            // It would be told of other series by what they add up to.
            Ok(_) => {
                let said = "expected a token for all names, found one that is limited to some";
                answer(Err(Refusal::denied(403, said)))
            }
            Err((status, said)) => challenged(answer(Err(Refusal::denied(status, &said)))),
        };
        let response = if is_live { live::guarded(response) } else { response };
        response.packed_for(request)
    }

    fn talk(&self, request: &Request, talk: &mut Talk<'_, '_>) {
        self.foxglove.talk(&self.live, request, talk);
    }
}
