//! `baro listen` and `baro token`: done by `baro-listen`, which lies beside this program. So nothing of the
//! network is linked here, and a listener is a process of its own wherever it is started.

use super::beside;
use crate::failure::{Outcome, Result};
use baro_command::listen::{Listen, TokenCommand};
use baro_sys::tcp::is_loopback;
use baro_sys::{clock, termination};
use clap::Args;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const PROGRAM: &str = "baro-listen";
/// SIGTERM.
const TERMINATE: i32 = 15;
/// Requests that are under way have 5 s, and then it ends.
const STOP_NS: u64 = 8_000_000_000;
/// One that has ended by itself is started again after this, and later each time if it ends at once.
const AGAIN_NS: u64 = 1_000_000_000;
const AGAIN_NS_MAX: u64 = 60_000_000_000;
/// One that ends within this has met something that will not change soon.
const AT_ONCE_NS: u64 = 10_000_000_000;
/// What it refuses it refuses within this.
const REFUSES_NS: u64 = 300_000_000;
/// A ring of its own is enough for two processors, and each further one knows all names once more.
const LANES: u8 = 1;
/// A recorder that syncs less often has answers that wait for longer.
const WAIT_BESIDE_NS: u64 = 3_000_000_000;

#[derive(Debug, Args)]
#[command(after_help = "Example: baro listen /data/s --http 127.0.0.1:8086")]
pub(crate) struct Arguments {
    #[command(flatten)]
    listen: Listen,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    // All that was parsed is parsed again there, by the same definition.
    let _ = &arguments.listen;
    beside::become_it(PROGRAM, "listen")
}

pub(crate) fn token(_: &TokenCommand) -> Result<Outcome> {
    beside::become_it(PROGRAM, "token")
}

/// What `baro record` is told of a listener beside it.
#[derive(Clone, Debug, Args)]
pub(crate) struct Http {
    /// Take line protocol, remote write and OTLP over HTTP
    ///
    /// At this address and port, by a process of its own that ends with this one. May be repeated.
    #[arg(long, value_name = "ADDRESS", value_parser = baro_command::listen::address)]
    http: Vec<SocketAddr>,
    /// File of tokens for --http, made by `baro token`
    #[arg(long, value_name = "FILE", default_value = baro_command::listen::TOKENS, requires = "http", hide_short_help = true)]
    http_tokens: PathBuf,
    /// Ask for a token at addresses of this machine too
    #[arg(long, requires = "http", hide_short_help = true)]
    http_require_token: bool,
    /// Certificate of TLS for --http, in PEM
    #[arg(long, value_name = "FILE", requires_all = ["http", "http_tls_key"], hide_short_help = true)]
    http_tls_cert: Option<PathBuf>,
    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires = "http_tls_cert", hide_short_help = true)]
    http_tls_key: Option<PathBuf>,
    /// Let --http listen to other machines without encryption
    #[arg(long, requires = "http", hide_short_help = true)]
    http_insecure_without_tls: bool,
}

/// A listener beside a recorder.
#[derive(Debug)]
pub(crate) struct Beside {
    command: Command,
    child: Option<Child>,
    started_ns: u64,
    again_ns: u64,
    pause_ns: u64,
}

impl Http {
    /// Rings that the recorder has to offer for it.
    pub(crate) fn rings(&self) -> u8 {
        if self.http.is_empty() { 0 } else { LANES }
    }

    /// What it would refuse, and at which address, as far as that is known without it.
    pub(crate) fn fault(&self) -> Option<String> {
        let open = self.http.iter().find(|address| !is_loopback(address))?;
        let is_secured = self.http_insecure_without_tls || self.http_tls_cert.is_some();
        (!is_secured).then(|| {
            format!(
                "{open}: expected an address of this machine only, such as 127.0.0.1:8086, found one that \
                 others reach, without TLS: give a certificate with --http-tls-cert and --http-tls-key, or \
                 allow it with --http-insecure-without-tls"
            )
        })
    }

    /// Starts it, if that was asked for.
    pub(crate) fn start(
        &self,
        store: &Path,
        rings: Option<&Path>,
        durable_within_ns: u64,
    ) -> Result<Option<Beside>> {
        if self.http.is_empty() {
            return Ok(None);
        }
        let mut command = Command::new(beside::program(PROGRAM)?);
        command.arg("listen").arg(store).arg("--end-with-parent");
        command.arg("--lanes").arg(LANES.to_string()).arg("--tokens").arg(&self.http_tokens);
        let wait_ns = durable_within_ns.saturating_add(WAIT_BESIDE_NS);
        command.arg("--wait").arg(format!("{wait_ns}ns"));
        for address in &self.http {
            command.arg("--http").arg(address.to_string());
        }
        if let Some(rings) = rings {
            command.arg("--rings").arg(rings);
        }
        for (flag, file) in [("--tls-cert", &self.http_tls_cert), ("--tls-key", &self.http_tls_key)]
        {
            if let Some(file) = file {
                command.arg(flag).arg(file);
            }
        }
        for (flag, is_set) in [
            ("--require-token", self.http_require_token),
            ("--insecure-without-tls", self.http_insecure_without_tls),
        ] {
            if is_set {
                command.arg(flag);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::null());
        let started_ns = clock::monotonic_ns();
        let cannot = |error| format!("{PROGRAM} cannot be started: {error}");
        let mut child = command.spawn().map_err(cannot)?;
        while clock::monotonic_ns() < started_ns + REFUSES_NS {
            if let Some(status) = child.try_wait()? {
                return Err(format!("{PROGRAM} has refused ({status})").into());
            }
            clock::sleep_ns(10_000_000);
        }
        Ok(Some(Beside {
            command,
            child: Some(child),
            started_ns,
            again_ns: 0,
            pause_ns: AGAIN_NS,
        }))
    }
}

impl Beside {
    /// A few times a second: one that has ended is started again.
    pub(crate) fn look(&mut self) {
        let now_ns = clock::monotonic_ns();
        match &mut self.child {
            Some(child) => {
                if let Ok(Some(status)) = child.try_wait() {
                    let lived_ns = now_ns.saturating_sub(self.started_ns);
                    self.pause_ns = match lived_ns < AT_ONCE_NS {
                        true => (self.pause_ns * 2).min(AGAIN_NS_MAX),
                        false => AGAIN_NS,
                    };
                    let seconds = self.pause_ns / 1_000_000_000;
                    say!("{PROGRAM} has ended ({status}); it is started again in {seconds} s");
                    self.child = None;
                    self.again_ns = now_ns.saturating_add(self.pause_ns);
                }
            }
            None if now_ns >= self.again_ns => {
                self.again_ns = now_ns.saturating_add(self.pause_ns);
                self.started_ns = now_ns;
                self.child = self.command.spawn().ok();
            }
            None => {}
        }
    }

    /// Ends it, after the requests that are under way.
    pub(crate) fn stop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let _ = termination::send(child.id(), TERMINATE);
        let end_ns = clock::monotonic_ns().saturating_add(STOP_NS);
        while matches!(child.try_wait(), Ok(None)) && clock::monotonic_ns() < end_ns {
            clock::sleep_ns(10_000_000);
        }
        let _ = child.kill();
        let _ = child.wait();
        self.child = None;
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.stop();
    }
}
