//! baro-listen: takes samples over HTTP into a store that another process records, and says that it has
//! them when they are durable.
//!
//! # Design
//!
//! **A process of its own.** It attaches to rings of the recorder (`baro record --attach N`), as any producer
//! does. It may crash, be killed or run out of memory: the recorder goes on, and a local producer's push is
//! what it was. No code of the network is in the recorder's process, and none on boards.
//!
//! **A success means durable.** The bytes of a request are parsed as they come, some KiB at a time, and what
//! they have brought is pushed at once (`lane`). The last record's sequence is remembered. When the ring is
//! durable beyond it, the answer is 204 (`acks`). All requests that wait share what the recorder syncs
//! anyway; one thread looks at the rings, each millisecond while anybody waits and not at all else.
//!
//! **Overload is said.** A request that finds no memory, no ring, no recorder or no room in the ring for
//! `--wait` is answered with 503 and Retry-After. Never with 429, which Telegraf and Prometheus take as
//! leave to drop, and never with silence. What was pushed by then may become durable all the same: a client
//! that sends the request again with the same times changes nothing.
//!
//! **A bad line costs itself.** Each is told with its number and reason, in the form of the interface that was
//! asked (`influx::dialect`), with what was kept.
//!
//! **Lanes.** A lane is a ring with the names that were met on it. A request keeps to one lane, and lanes work
//! side by side. Waiting for a lane has an end too.
//!
//! Invariant: what was answered with success is in the store, whatever is killed afterwards. Held by
//! `tests/http/kept.rs`; the answers by `tests/http/endpoints.rs`, the bounds by `tests/http/attacks.rs`.

#[macro_use(out, say)]
extern crate baro_command;

mod acks;
mod flight;
mod held;
mod influx;
mod lane;
mod metrics;
mod otlp;
mod prometheus;
mod quota;
mod repeats;
mod routes;
mod run;
mod sink;
mod token;

use baro_command::failure::{FAILED, USAGE};
use baro_command::listen::{Listen, TokenCommand};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// Takes samples over HTTP: line protocol, Prometheus remote write, metrics of OpenTelemetry.
#[derive(Debug, Parser)]
#[command(name = "baro-listen", version, max_term_width = 100, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Take samples over HTTP
    Listen(Box<Listen>),
    /// Make, list and revoke tokens
    #[command(subcommand)]
    Token(TokenCommand),
}

fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) if error.use_stderr() => {
            baro_command::say_lines(&format!("baro-listen: {error}"));
            return ExitCode::from(USAGE);
        }
        Err(help) => {
            let _ = help.print();
            return ExitCode::SUCCESS;
        }
    };
    let ended = match arguments.command {
        Command::Listen(listen) => run::run(&listen),
        Command::Token(command) => token::run(&command),
    };
    match baro_command::outcome(ended) {
        Ok(outcome) => outcome.code(),
        Err(failure) => {
            say!("baro-listen: {failure}");
            ExitCode::from(FAILED)
        }
    }
}
