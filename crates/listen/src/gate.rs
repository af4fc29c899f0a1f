//! Who may do what: tokens where they are asked for.
//!
//! A wrong token is answered later each time, up to a second: nobody tries many. That holds the connection's
//! thread, of which there are so many only, and no lane.

use baro_net::tokens::{Access, TokenFile, presented};
use baro_net::{Request, Response};
use baro_sys::clock;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The first wrong token waits for so long, and each further one for as much more.
const SLOWED_NS: u64 = 50_000_000;
const SLOWED_NS_MAX: u64 = 1_000_000_000;
/// One wrong token is forgotten in this time.
const FORGOTTEN_NS: u64 = 10_000_000_000;

/// Asks for tokens.
#[derive(Debug)]
pub(crate) struct Gate {
    file: TokenFile,
    asks: bool,
    /// Wrong tokens so far.
    refused: AtomicU64,
    /// Until when wrong tokens are slowed: further ahead, the more there were.
    slowed_until_ns: AtomicU64,
}

/// Who was let in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Pass {
    /// How the names of series begin that may be written; empty: all.
    pub(crate) prefix: String,
}

impl Pass {
    /// Whether a series may be written; its metric stands in quotes where it has blanks or the like.
    pub(crate) fn allows(&self, series: &str) -> bool {
        let metric = series.strip_prefix("{\"").unwrap_or(series);
        series.starts_with(&self.prefix) || metric.starts_with(&self.prefix)
    }
}

impl Gate {
    pub(crate) fn new(tokens: &Path, asks: bool) -> Self {
        let slowed_until_ns = AtomicU64::new(0);
        Gate { file: TokenFile::at(tokens), asks, refused: AtomicU64::new(0), slowed_until_ns }
    }

    pub(crate) fn file(&self) -> &TokenFile {
        &self.file
    }

    /// Wrong tokens, and requests without one that needed one.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }

    /// Lets a request in that wants to do this, or gives its answer: a status and a text.
    pub(crate) fn pass(&self, request: &Request, wanted: Access) -> Result<Pass, (u16, String)> {
        if !self.asks {
            return Ok(Pass::default());
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

/// What clients of HTTP look at with 401.
pub(crate) fn challenged(response: Response) -> Response {
    match response.status {
        401 => response.with("WWW-Authenticate", "Bearer realm=\"barograph\""),
        _ => response,
    }
}
