//! Options of the server that answers queries: of `baro-serve`, and of the verb of `baro` that starts it.

use crate::{listen, size};
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Answer queries over HTTP, as Prometheus does.
#[derive(Clone, Debug, Args)]
pub struct Serve {
    /// The store; may be recorded into meanwhile
    pub store: PathBuf,
    /// Address to listen at: 127.0.0.1:9090
    ///
    /// May be repeated. Addresses that other machines reach need tokens.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:9090", value_parser = listen::address)]
    pub http: Vec<SocketAddr>,
    /// File of tokens, made by `baro token`; those that read are let in
    #[arg(long, value_name = "FILE", default_value = listen::TOKENS, hide_short_help = true)]
    pub tokens: PathBuf,
    /// Ask for a token at addresses of this machine too
    #[arg(long, hide_short_help = true)]
    pub require_token: bool,
    /// TLS.
    #[command(flatten)]
    pub tls: listen::TlsFiles,
    /// Listen to other machines without encryption
    ///
    /// Whoever is on the way between reads tokens and samples. For networks that are encrypted otherwise,
    /// or behind a proxy that has TLS.
    #[arg(long, hide_short_help = true)]
    pub insecure_without_tls: bool,
    /// How long a sample counts where none follows
    ///
    /// Sensors that send more seldom have no value in between. Prometheus has 5 minutes.
    #[arg(long, value_name = "TIME", default_value = "5m", value_parser = size::nanoseconds)]
    pub lookback: u64,
    /// Longest query
    #[arg(long, value_name = "TIME", default_value = "2m", value_parser = size::nanoseconds, hide_short_help = true)]
    pub timeout: u64,
    /// Memory of a query
    #[arg(long, value_name = "SIZE", default_value = "128M", value_parser = size::bytes, hide_short_help = true)]
    pub memory: u64,
    /// Connections at once
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = clap::value_parser!(u32).range(1..=65_536), hide_short_help = true)]
    pub connections: u32,
    /// Pages that are shown the store live at once, and as many sockets
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(0..=1_024), hide_short_help = true)]
    pub viewers: u32,
    /// Let web pages of this origin ask and open the live socket: `https://app.foxglove.dev`
    ///
    /// Pages of this machine and programs need no leave. May be repeated. Where a token is asked for, it decides
    /// alone.
    #[arg(long, value_name = "ORIGIN", value_parser = origin, hide_short_help = true)]
    pub origin: Vec<String>,
}

/// An origin as browsers send it: a scheme, a host, and a port if it is an unusual one.
fn origin(text: &str) -> Result<String, String> {
    let host = text.split_once("://").map(|(_, host)| host);
    match host {
        Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', ' ']) => {
            Ok(text.to_owned())
        }
        _ => Err(format!("expected an origin such as https://app.foxglove.dev, found {text:?}")),
    }
}
