//! The token that a request presents: in each of the places where clients put one.

use crate::head::Request;

/// The secret that a request presents: `Authorization: Bearer`, `Token` or `Basic` (its password), or the
/// parameter `p`, as clients of InfluxDB have them.
#[must_use]
pub fn presented(request: &Request) -> Option<String> {
    let Some(header) = request.header("authorization") else {
        return request.query.get("p").filter(|p| !p.is_empty()).map(str::to_owned);
    };
    let (scheme, rest) = header.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") || scheme.eq_ignore_ascii_case("token") {
        // Some clients of 1.x put both into one: user:password.
        return Some(rest.rsplit_once(':').map_or(rest, |(_, password)| password).to_owned());
    }
    if scheme.eq_ignore_ascii_case("basic") {
        let text = String::from_utf8(base64(rest)?).ok()?;
        return text.split_once(':').map(|(_, password)| password.to_owned());
    }
    None
}

/// Bytes of base64, with or without its padding.
fn base64(text: &str) -> Option<Vec<u8>> {
    let text = text.trim_end_matches('=');
    let (mut found, mut bits, mut count) = (Vec::new(), 0_u32, 0);
    for byte in text.bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            found.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head;

    fn of(line: &str, target: &str) -> Option<String> {
        let text = format!("GET {target} HTTP/1.1\r\nHost: a\r\n{line}\r\n");
        presented(&head::parse(text.as_bytes(), 8).unwrap())
    }

    #[test]
    fn a_secret_is_found_wherever_clients_put_it() {
        for line in [
            "Authorization: Bearer baro_1\r\n",
            "authorization: token  baro_1 \r\n",
            "Authorization: Token user:baro_1\r\n",
            "Authorization: Basic dXNlcjpiYXJvXzE=\r\n",
        ] {
            assert_eq!(of(line, "/write?p=other").as_deref(), Some("baro_1"), "{line}");
        }
        assert_eq!(of("", "/write?u=user&p=baro_1").as_deref(), Some("baro_1"));
        for line in [
            "",
            "Authorization: Bearer\r\n",
            "Authorization: Basic !\r\n",
            "Authorization: Digest x\r\n",
        ] {
            assert_eq!(of(line, "/write?p="), None, "{line}");
        }
    }
}
