//! What a browser is told to refuse, and from where it may ask.
//!
//! **Rules for the browser.** Scripts, styles and requests of this server alone, none inside the page; no
//! frame, no form to elsewhere, no address handed on. What a name in the store says never runs.
//!
//! **By which name.** Where nobody needs a token, a page of somebody else could make its own name mean this
//! machine, and have its visitors' browsers read the store for it (DNS rebinding). A browser says by which name
//! it came. Without a token only addresses and `localhost` are taken.

use baro_net::{Request, Response};
use std::net::IpAddr;

const RULES: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src \
                     'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// An answer with what the browser is to refuse.
pub(crate) fn guarded(response: Response) -> Response {
    response
        .with("Content-Security-Policy", RULES)
        .with("X-Content-Type-Options", "nosniff")
        .with("X-Frame-Options", "DENY")
        .with("Referrer-Policy", "no-referrer")
        .with("Cross-Origin-Resource-Policy", "same-origin")
        .with("Cross-Origin-Opener-Policy", "same-origin")
        .with("Cache-Control", "no-cache")
}

/// Whether a request that needs no token came to an address or to `localhost`.
///
/// # Errors
/// What was expected, and found.
pub(crate) fn comes_from_here(request: &Request) -> Result<(), String> {
    let host = request.header("Host").unwrap_or("");
    if is_here(host) {
        return Ok(());
    }
    Err(format!(
        "expected this server by its address or as localhost, since it asks for no token, found {host:?}: \
         use --require-token for other names"
    ))
}

/// Of `127.0.0.1:9090`, `[::1]:9090`, `localhost`; none at all is no browser.
fn is_here(host: &str) -> bool {
    if let Some(rest) = host.strip_prefix('[') {
        return rest.split(']').next().is_some_and(|address| address.parse::<IpAddr>().is_ok());
    }
    let name = host.split(':').next().unwrap_or("").trim_end_matches('.');
    name.is_empty()
        || name.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || name.to_ascii_lowercase().ends_with(".localhost")
}

#[cfg(test)]
mod tests {
    use super::is_here;

    #[test]
    fn addresses_and_localhost_are_here_and_other_names_are_not() {
        for host in ["127.0.0.1", "10.0.0.7:9090", "[::1]:9090", "LOCALHOST:1", "a.localhost", ""] {
            assert!(is_here(host), "{host}");
        }
        for host in
            ["evil.example", "127.0.0.1.evil.example:9090", "localhost.evil.example", "[x]:1"]
        {
            assert!(!is_here(host), "{host}");
        }
    }
}
