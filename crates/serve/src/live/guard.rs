//! What a browser is told to refuse: scripts, styles and requests of this server alone, none inside the page; no
//! frame, no form to elsewhere, no address handed on. What a name in the store says never runs. From where a
//! browser may ask is the gate's matter, in `baro-net`.

use baro_net::Response;

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
