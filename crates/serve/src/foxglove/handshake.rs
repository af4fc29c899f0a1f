//! How a request becomes a socket.
//!
//! Foxglove's servers say `foxglove.sdk.v1` today and said `foxglove.websocket.v1`
//! before; of what is used here both are the same. A client has the first that it names itself.

use crate::api::Refusal;
use baro_net::{Request, Response};
use sha1::{Digest, Sha1};

/// The protocol's names.
const PROTOCOLS: [&str; 2] = ["foxglove.sdk.v1", "foxglove.websocket.v1"];
/// What a key is hashed with, RFC 6455 section 1.3.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
/// The only version that there is.
const VERSION: &str = "13";
const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Whether a request asks for another protocol than HTTP, by a list with `websocket` in it.
pub(crate) fn is_asked(request: &Request) -> bool {
    has(request, "Upgrade", "websocket")
}

fn words<'r>(request: &'r Request, name: &str) -> impl Iterator<Item = &'r str> {
    request.header(name).unwrap_or("").split(',').map(str::trim)
}

fn has(request: &Request, name: &str, word: &str) -> bool {
    words(request, name).any(|one| one.eq_ignore_ascii_case(word))
}

/// The answer that begins the socket.
///
/// # Errors
/// The request is not one for a socket of this protocol.
pub(super) fn answer(request: &Request) -> Result<Response, Refusal> {
    if request.path != "/" {
        let said = format!("expected a socket at the address /, found {:?}", request.path);
        return Err(Refusal::not_found(&said));
    }
    let bad = |said: &str| Err(Refusal::bad(said));
    if request.method != "GET" || !has(request, "Connection", "Upgrade") {
        return bad("expected GET with Connection: Upgrade for a WebSocket, found another request");
    }
    let version = request.header("Sec-WebSocket-Version").unwrap_or("");
    if version != VERSION {
        let said = format!("expected Sec-WebSocket-Version: {VERSION}, found {version:?}");
        return Err(Refusal::upgrade(&said));
    }
    let key = request.header("Sec-WebSocket-Key").unwrap_or("");
    if !is_key(key) {
        return bad("expected Sec-WebSocket-Key with 16 bytes in base64, found another text");
    }
    let known = |word: &&str| PROTOCOLS.contains(word);
    let Some(protocol) = words(request, "Sec-WebSocket-Protocol").find(known) else {
        let found = request.header("Sec-WebSocket-Protocol").unwrap_or("");
        return bad(&format!(
            "expected Sec-WebSocket-Protocol with {} or {}, found {found:?}",
            PROTOCOLS[0], PROTOCOLS[1]
        ));
    };
    Ok(Response::empty(101)
        .with("Upgrade", "websocket")
        .with("Connection", "Upgrade")
        .with("Sec-WebSocket-Accept", accepted(key))
        .with("Sec-WebSocket-Protocol", protocol))
}

/// Of 16 bytes in base64: 21 digits, one of which only two bits count, and the padding.
fn is_key(key: &str) -> bool {
    let digits = key.strip_suffix("==").unwrap_or("").as_bytes();
    digits.len() == 22
        && digits.iter().all(|digit| BASE64.contains(digit))
        && digits.last().is_some_and(|last| b"AQgw".contains(last))
}

fn accepted(key: &str) -> String {
    let hash = Sha1::new().chain_update(key).chain_update(GUID).finalize();
    let mut text = String::new();
    for bytes in hash.chunks(3) {
        let bits = bytes.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte))
            << (8 * (3 - bytes.len()));
        for digit in 0..4_usize {
            let value = (bits >> (18 - 6 * digit)) & 63;
            let is_padding = digit > bytes.len();
            let own = BASE64.get(value as usize).copied().unwrap_or(b'=');
            text.push(char::from(if is_padding { b'=' } else { own }));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_the_standard() {
        assert_eq!(accepted("dGhlIHNhbXBsZSBub25jZQ=="), "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
        assert!(is_key("dGhlIHNhbXBsZSBub25jZQ=="));
        for wrong in ["", "==", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25jZR==", "dGhl"] {
            assert!(!is_key(wrong), "{wrong}");
        }
    }
}
