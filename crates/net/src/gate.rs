//! Who may do what: tokens where they are asked for, and who is on this machine where they are not.
//!
//! A wrong token is answered later each time, up to a second: nobody tries many. That holds the connection's
//! thread, of which there are so many only.

use crate::origin::Origins;
use crate::tokens::{Access, TokenFile, presented};
use crate::{Request, Response};
use baro_sys::clock;
use baro_sys::tcp::is_loopback;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The first wrong token waits for so long, and each further one for as much more.
const SLOWED_NS: u64 = 50_000_000;
const SLOWED_NS_MAX: u64 = 1_000_000_000;
/// One wrong token is forgotten in this time.
const FORGOTTEN_NS: u64 = 10_000_000_000;

/// Asks for tokens.
#[derive(Debug)]
pub struct Gate {
    file: TokenFile,
    asks: bool,
    origins: Origins,
    /// Wrong tokens so far.
    refused: AtomicU64,
    /// Until when wrong tokens are slowed: further ahead, the more there were.
    slowed_until_ns: AtomicU64,
}

/// Who was let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pass {
    /// How the names of series begin that may be written; empty: all.
    pub prefix: String,
}

impl Pass {
    /// Whether a series may be written; its metric stands in quotes where it has blanks or the like.
    #[must_use]
    pub fn allows(&self, series: &str) -> bool {
        let metric = series.strip_prefix("{\"").unwrap_or(series);
        series.starts_with(&self.prefix) || metric.starts_with(&self.prefix)
    }
}

impl Gate {
    /// With the tokens of this file; `asks`: whether anybody needs one.
    #[must_use]
    pub fn new(tokens: &Path, asks: bool) -> Self {
        let slowed_until_ns = AtomicU64::new(0);
        let (file, origins) = (TokenFile::at(tokens), Origins::default());
        Gate { file, asks, origins, refused: AtomicU64::new(0), slowed_until_ns }
    }

    /// Web pages of these origins are let in too where no token is asked for.
    #[must_use]
    pub fn with_origins(self, allowed: &[String]) -> Self {
        Gate { origins: Origins::new(allowed), ..self }
    }

    /// Whether anybody needs a token.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.asks
    }

    /// The file of the tokens.
    #[must_use]
    pub fn file(&self) -> &TokenFile {
        &self.file
    }

    /// Wrong tokens, and requests without one that needed one.
    #[must_use]
    pub fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Lets a request in that wants to do this, or gives its answer: a status and a text. Blocks for a
    /// while after a wrong token. Without tokens, programs and pages of this machine are let in.
    ///
    /// # Errors
    /// It is not let in.
    pub fn pass(&self, request: &Request, wanted: Access) -> Result<Pass, (u16, String)> {
        if !self.asks {
            return self
                .origins
                .allow(request)
                .map_or_else(|said| Err((403, said)), |()| Ok(Pass::default()));
        }
        if request.query.twice(&["p"]).is_some() {
            return Err((400, "expected the parameter p once, found it twice".to_owned()));
        }
        let tokens = self.file.fresh();
        let secret = presented(request);
        let found = secret.as_deref().and_then(|secret| tokens.find(secret));
        let Some(token) = found else {
            self.slow();
            let said = match secret {
                Some(_) => "expected a token of this server, found another one",
                None => "expected a token: Authorization: Bearer TOKEN (baro token new makes one)",
            };
            return Err((401, said.to_owned()));
        };
        let may = match wanted {
            Access::Write => token.access.writes(),
            Access::Read => token.access.reads(),
            Access::Admin => token.access == Access::Admin,
        };
        if !may {
            let (has, wanted) = (token.access.name(), wanted.name());
            return Err((
                403,
                format!("expected a token that allows to {wanted}, found one for {has}"),
            ));
        }
        Ok(Pass { prefix: token.prefix.clone() })
    }

    fn slow(&self) {
        self.refused.fetch_add(1, Relaxed);
        let now_ns = clock::monotonic_ns();
        let until_ns = self.slowed_until_ns.load(Relaxed).max(now_ns);
        self.slowed_until_ns.store(until_ns.saturating_add(FORGOTTEN_NS), Relaxed);
        let before = until_ns.saturating_sub(now_ns) / FORGOTTEN_NS + 1;
        clock::sleep_ns(before.saturating_mul(SLOWED_NS).min(SLOWED_NS_MAX));
    }
}

/// What is wrong with addresses that other machines reach: they need TLS, and tokens. `is_secured`: there is a
/// certificate, or who starts the program has allowed them without encryption.
#[must_use]
pub fn is_open(addresses: &[SocketAddr], tokens: &Path, is_secured: bool) -> Option<String> {
    let open = addresses.iter().find(|address| !is_loopback(address))?;
    if !is_secured {
        return Some(format!(
            "--http {open}: expected a certificate (--tls-cert FILE --tls-key FILE), since others reach this \
             address and would read tokens and samples on the way, found none. Or give an address of this \
             machine, such as 127.0.0.1:{}, to a proxy with TLS, or allow it: --insecure-without-tls",
            open.port()
        ));
    }
    let path = tokens.display();
    match TokenFile::at(tokens).read() {
        Ok(tokens) if tokens.all().is_empty() => Some(format!(
            "--http {open}: expected a token in {path}, since others reach this address, found none: make \
             one with baro token new --tokens {path}"
        )),
        Ok(_) => None,
        Err(error) => Some(format!("--http {open}: {error}")),
    }
}

/// What clients of HTTP look at with 401.
#[must_use]
pub fn challenged(response: Response) -> Response {
    match response.status {
        401 => response.with("WWW-Authenticate", "Bearer realm=\"barograph\""),
        _ => response,
    }
}
