//! Options of the listener and of its tokens: of `baro-listen`, and of the verbs of `baro` that start it.
//!
//! Here, so that `baro` has them in its help and its man pages and still links nothing of the network.

use crate::Format;
use crate::size;
use clap::{Args, Subcommand, ValueEnum};
use std::net::{SocketAddr, ToSocketAddrs};
use std::path::{Path, PathBuf};

/// Where tokens are if nobody says otherwise.
pub const TOKENS: &str = "/etc/barograph/tokens";

/// An address and port, such as `127.0.0.1:8086` or `localhost:8086`.
///
/// # Errors
/// It is none: what was expected.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let found = text.to_socket_addrs().ok().and_then(|mut found| found.next());
    found.ok_or_else(|| "expected an address and port, such as 127.0.0.1:8086".to_owned())
}

/// A certificate, and its key.
#[derive(Clone, Debug, Default, Args)]
pub struct TlsFiles {
    /// Certificate for TLS, with its chain, in PEM
    ///
    /// Read again when it changes. With it every address takes TLS alone.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Its private key, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert", hide_short_help = true)]
    pub tls_key: Option<PathBuf>,
}

impl TlsFiles {
    /// Both, if they are given.
    #[must_use]
    pub fn both(&self) -> Option<(&Path, &Path)> {
        self.tls_cert.as_deref().zip(self.tls_key.as_deref())
    }
}

/// What a listener may be told beside its store and its addresses.
#[derive(Clone, Debug, Args)]
pub struct ListenOptions {
    /// File of tokens, made by `baro token`
    #[arg(long, value_name = "FILE", default_value = TOKENS)]
    pub tokens: PathBuf,
    /// Ask for a token at addresses of this machine too
    #[arg(long)]
    pub require_token: bool,
    /// TLS.
    #[command(flatten)]
    pub tls: TlsFiles,
    /// Listen to other machines without encryption
    ///
    /// Whoever is on the way between reads tokens and samples. For networks that are encrypted otherwise,
    /// or behind a proxy that has TLS.
    #[arg(long)]
    pub insecure_without_tls: bool,
    /// Take samples for this database or bucket alone
    ///
    /// Without it the name of a database is passed over: all go into the one store.
    #[arg(long, value_name = "NAME", hide_short_help = true)]
    pub db: Option<String>,
    /// Folder that the recorder was given with --rings
    #[arg(long, value_name = "FOLDER", hide_short_help = true)]
    pub rings: Option<PathBuf>,
    /// Rings to push into at once, each of which the recorder has to offer
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=16), hide_short_help = true)]
    pub lanes: u8,
    /// Connections at once
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=65_536), hide_short_help = true)]
    pub connections: u32,
    /// Largest body of a request, unpacked
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size::bytes, hide_short_help = true)]
    pub body: u64,
    /// Memory for requests that are under way
    #[arg(long, value_name = "SIZE", default_value = "64M", value_parser = size::bytes, hide_short_help = true)]
    pub in_flight: u64,
    /// Connections at once from one address (default: half of all)
    ///
    /// Of an IPv6 address its network of 64 bits counts. A proxy is one address.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_536), hide_short_help = true)]
    pub connections_per_address: Option<u32>,
    /// A client that sends nothing, or takes nothing, for so long is given up
    #[arg(long, value_name = "TIME", default_value = "15s", value_parser = size::nanoseconds, hide_short_help = true)]
    pub stall: u64,
    /// Take new series only while the store has fewer than this in all
    #[arg(long, value_name = "N", default_value_t = 10_000_000, hide_short_help = true)]
    pub series: u64,
    /// The same for the series that begin with the prefix of one token
    #[arg(long, value_name = "N", default_value_t = 1_000_000, hide_short_help = true)]
    pub series_per_token: u64,
    /// Wait so long for room in the ring, and for the disk, then answer 503
    ///
    /// Longer than the recorder's --durable-within, and shorter than clients wait for an answer.
    #[arg(long, value_name = "TIME", default_value = "3s", value_parser = size::nanoseconds, hide_short_help = true)]
    pub wait: u64,
    /// End when the program that has started it ends
    #[arg(long, hide = true)]
    pub end_with_parent: bool,
}

/// What `baro listen` and `baro-listen` are told.
#[derive(Clone, Debug, Args)]
pub struct Listen {
    /// The store that `baro record --attach` or `--http` records into
    pub store: PathBuf,
    /// Take requests at this address and port
    ///
    /// May be repeated. Addresses that other machines reach need tokens.
    #[arg(long, value_name = "ADDRESS", required = true, value_parser = address)]
    pub http: Vec<SocketAddr>,
    /// The rest.
    #[command(flatten)]
    pub options: ListenOptions,
}

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TokenAccess {
    /// To write samples, and nothing else
    Write,
    /// To read, and nothing else
    Read,
    /// Both
    Admin,
}

/// `baro token`.
#[derive(Clone, Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token
    ///
    /// It is printed once and kept nowhere.
    #[command(after_help = "Example: baro token new --access write press-3")]
    New {
        /// Whose it is, for people
        #[arg(default_value = "")]
        name: String,
        /// What it allows
        #[arg(long, value_enum, default_value = "write", value_name = "ACCESS")]
        access: TokenAccess,
        /// Only for series whose names begin so
        #[arg(long, value_name = "TEXT", default_value = "")]
        prefix: String,
        /// How it is kept.
        #[command(flatten)]
        place: TokenPlace,
    },
    /// List tokens
    ///
    /// Ids, access and names; no secrets, which nobody has.
    #[command(after_help = "Example: baro token list")]
    List {
        /// How it is kept.
        #[command(flatten)]
        place: TokenPlace,
    },
    /// Revoke a token
    ///
    /// By the id that `list` prints. Listeners that run notice it within two seconds.
    #[command(after_help = "Example: baro token revoke 3f9a0c1e")]
    Revoke {
        /// Its id
        id: String,
        /// How it is kept.
        #[command(flatten)]
        place: TokenPlace,
    },
}

/// Where tokens are, and how they are printed.
#[derive(Clone, Debug, Args)]
pub struct TokenPlace {
    /// The file
    #[arg(long, value_name = "FILE", default_value = TOKENS)]
    pub tokens: PathBuf,
    /// text or json
    #[arg(long, value_enum, default_value_t, value_name = "FORM", hide_possible_values = true)]
    pub format: Format,
}
