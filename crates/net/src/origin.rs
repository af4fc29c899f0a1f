//! Where a request comes from that needs no token.
//!
//! A server that asks nobody for a token trusts whoever runs on this machine. A web page of somebody else runs in
//! this machine's browser, and is not trusted: it may send a request to any address without asking, and a
//! write needs no answer that it could read. A browser tells on it in two ways:
//!
//! - **Which page asks.** With each request that may change something, and with each socket, it says `Origin`.
//!   Pages of this machine and of this server are let in, others where the server was started with their name.
//! - **By which name.** A page may make its own name mean this machine (DNS rebinding), and then its origin is
//!   the server's. So a name that is none of this machine's is refused as `Host`; addresses cannot be made one's own.
//!
//! Programs say no `Origin`, and an address or `localhost` as `Host`. Pure.
//!
//! Invariant: no request of a foreign page is let in without a token. Held by the tests below, and over a network by
//! `a_foreign_web_page_writes_nothing` of `baro-listen`.

use crate::Request;
use std::net::IpAddr;

/// Origins of web pages that are let in without a token, beside those of this machine.
#[derive(Clone, Debug, Default)]
pub(crate) struct Origins {
    /// `None`: there is no option for it.
    allowed: Option<Vec<String>>,
}

impl Origins {
    pub(crate) fn new(allowed: &[String]) -> Self {
        Origins { allowed: Some(allowed.to_vec()) }
    }

    /// Whether a request that needs no token comes from where it may.
    ///
    /// # Errors
    /// What was expected, and found.
    pub(crate) fn allow(&self, request: &Request) -> Result<(), String> {
        let host = request.header("Host").unwrap_or("");
        if !is_here(host) {
            return Err(format!(
                "expected this server by its address or as localhost, since it asks for no token, found the \
                 name {host:?} in Host: use --require-token for other names"
            ));
        }
        // No browser, or nothing that a page may change.
        let Some(origin) = request.header("Origin") else { return Ok(()) };
        let is_own = origin.split_once("://").is_some_and(|(_, own)| own == host);
        let allowed = self.allowed.as_deref().unwrap_or_default();
        let is_allowed = allowed.iter().any(|one| one.eq_ignore_ascii_case(origin));
        if is_own || is_allowed || is_of_this_machine(origin) {
            return Ok(());
        }
        let option = match &self.allowed {
            Some(_) => format!("let it in with --origin {origin}, or "),
            None => String::new(),
        };
        Err(format!(
            "expected a program or a page of this machine, since no token is asked for, found the page \
             {origin:?} in Origin: {option}use --require-token"
        ))
    }
}

/// Of `127.0.0.1:9090`, `[::1]:9090`, `localhost`; none at all is no browser.
fn is_here(host: &str) -> bool {
    let name = without_port(host).trim_end_matches('.');
    host.is_empty() || name.parse::<IpAddr>().is_ok() || is_localhost(name)
}

/// Of `http://localhost:8080` and `http://127.0.0.1`; and of applications, whose pages are files.
fn is_of_this_machine(origin: &str) -> bool {
    let Some((scheme, rest)) = origin.split_once("://") else { return false };
    if scheme == "file" {
        return rest.is_empty();
    }
    let host = without_port(rest);
    host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback()) || is_localhost(host)
}

/// The names that distributions give to the machine itself among them.
fn is_localhost(name: &str) -> bool {
    const NAMES: [&str; 6] = [
        "localhost",
        "localhost.localdomain",
        "localhost4",
        "localhost6",
        "ip6-localhost",
        "ip6-loopback",
    ];
    NAMES.iter().any(|known| name.eq_ignore_ascii_case(known))
        || name.to_ascii_lowercase().ends_with(".localhost")
}

/// `a` of `a:1`, and `::1` of `[::1]:1`.
fn without_port(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or(""),
        None => host.split(':').next().unwrap_or(""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_localhost_are_here_and_other_names_are_not() {
        for host in [
            "127.0.0.1",
            "10.0.0.7:9090",
            "[::1]:9090",
            "LOCALHOST:1",
            "a.localhost",
            "",
            "ip6-localhost:1",
        ] {
            assert!(is_here(host), "{host}");
        }
        for host in [
            "evil.example",
            "127.0.0.1.evil.example:9090",
            "localhost.evil.example",
            "[x]:1",
            "plant",
            ":1",
        ] {
            assert!(!is_here(host), "{host}");
        }
    }

    #[test]
    fn pages_of_others_are_not_let_in() {
        let allow = |origins: &Origins, host: &str, origin: &str| {
            let head = format!("POST /write HTTP/1.1\r\nHost: {host}\r\n{origin}\r\n");
            origins.allow(&crate::head::parse(head.as_bytes(), 8).unwrap())
        };
        let (none, one) = (Origins::default(), Origins::new(&["https://app.example".to_owned()]));
        for origin in ["", "Origin: http://127.0.0.1:3000\r\n", "Origin: http://[::1]\r\n"] {
            assert_eq!(allow(&none, "localhost:8086", origin), Ok(()), "{origin}");
        }
        assert_eq!(allow(&none, "10.0.0.7:1", "Origin: http://10.0.0.7:1\r\n"), Ok(()), "its own");
        assert_eq!(allow(&one, "localhost", "Origin: https://APP.example\r\n"), Ok(()));
        for origin in ["https://app.example", "http://10.0.0.8", "null", "http://localhost.example"]
        {
            let said = allow(&none, "localhost", &format!("Origin: {origin}\r\n")).unwrap_err();
            assert!(said.contains(origin) && !said.contains("--origin"), "{said}");
        }
        let said = allow(&one, "localhost", "Origin: https://evil.example\r\n").unwrap_err();
        assert!(said.contains("--origin https://evil.example"), "{said}");
        let rebound = "Origin: http://evil.example\r\n";
        assert!(allow(&one, "evil.example", rebound).unwrap_err().contains("in Host"));
    }

    #[test]
    fn pages_of_this_machine_are_told_from_others() {
        for own in [
            "http://localhost:8080",
            "https://127.0.0.1",
            "http://[::1]:8080",
            "http://a.localhost",
            "file://",
        ] {
            assert!(is_of_this_machine(own), "{own}");
        }
        for other in [
            "null",
            "",
            "https://app.example",
            "http://localhost.example",
            "http://127.0.0.1.example",
            "http://10.0.0.7",
            "file://evil.example",
        ] {
            assert!(!is_of_this_machine(other), "{other}");
        }
    }
}
