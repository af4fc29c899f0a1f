//! Tokens: who may do what, without a secret being kept.
//!
//! A token is 32 random bytes. What is kept is its SHA-256: whoever reads the file learns no token, and
//! with so many random bytes nothing slower is needed. A file has a line for each, with tabs between
//! its fields:
//!
//! ```text
//! # tokens of baro listen, version 1: id, access, made (seconds since 1970), sha-256, prefix, name
//! 3f9a0c1e  write  1795719599  9f86d0...  plant1_  telegraf on press 3
//! ```
//!
//! Invariant: a token is found by all of its bytes, in a time that does not depend on how many of them are
//! right. Held by `a_token_is_found_by_all_of_its_bytes`.

mod file;
mod request;

pub use file::TokenFile;
pub use request::presented;

use sha2::{Digest, Sha256};
use std::fmt;

/// Bytes of a token's secret.
const SECRET_BYTES: usize = 32;
/// How a token begins, so that people and scanners know what it is.
const MARK: &str = "baro_";
/// Tokens of a file: each request compares with all.
pub const TOKENS_MAX: usize = 1_024;
/// Bytes of a token's name and of its prefix.
pub const NAME_BYTES_MAX: usize = 200;
const HEADER: &str = "# tokens of baro listen, version 1: id, access, made (seconds since 1970), sha-256, \
                      prefix, name";

/// What a token allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// To write samples, and nothing else.
    Write,
    /// To read, and nothing else.
    Read,
    /// Both.
    Admin,
}

impl Access {
    /// All of them.
    pub const ALL: [Access; 3] = [Access::Write, Access::Read, Access::Admin];

    /// Its name in the file and on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Access::Write => "write",
            Access::Read => "read",
            Access::Admin => "admin",
        }
    }

    /// Whether samples may be written.
    #[must_use]
    pub fn writes(self) -> bool {
        self != Access::Read
    }

    /// Whether anything may be read.
    #[must_use]
    pub fn reads(self) -> bool {
        self != Access::Write
    }
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Eight hexadecimal digits: what it is called where it is revoked.
    pub id: String,
    /// What it allows.
    pub access: Access,
    /// When it was made, in seconds since 1970.
    pub made_s: i64,
    hash: [u8; 32],
    /// How the names of series begin that it may write; empty: all.
    pub prefix: String,
    /// Whose it is, for people.
    pub name: String,
}

/// A line of a file that is no token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenFault {
    /// From 1.
    pub line: usize,
    /// What was expected.
    pub expected: &'static str,
}

impl fmt::Display for TokenFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let TokenFault { line, expected } = self;
        write!(
            f,
            "line {line}: expected {expected}, found another text (the file is written by baro token)"
        )
    }
}

impl std::error::Error for TokenFault {}

/// All tokens of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    tokens: Vec<Token>,
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<[u8; 32]> {
    let mut found = [0; 32];
    if text.len() != 64 || !text.is_ascii() {
        return None;
    }
    for (byte, digits) in found.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(found)
}

/// Whether a name or a prefix can be kept.
#[must_use]
pub fn is_plain(text: &str) -> bool {
    text.len() <= NAME_BYTES_MAX && !text.chars().any(char::is_control)
}

impl Tokens {
    /// Reads a file.
    ///
    /// # Errors
    /// A line is none.
    pub fn parse(text: &str) -> Result<Self, TokenFault> {
        let mut tokens = Vec::new();
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let fault = |expected| TokenFault { line: index + 1, expected };
            let mut fields = line.splitn(6, '\t');
            let mut next = |expected| fields.next().ok_or(fault(expected));
            let id = next("an id")?;
            let access = next("write, read or admin")?;
            let made_s =
                next("seconds since 1970")?.parse().map_err(|_| fault("seconds since 1970"))?;
            let hash = unhex(next("a hash")?).ok_or(fault("64 hexadecimal digits"))?;
            let (prefix, name) = (next("a prefix")?, next("a name")?);
            let access = Access::ALL.into_iter().find(|one| one.name() == access);
            let access = access.ok_or(fault("write, read or admin"))?;
            if id.is_empty() || !is_plain(id) || !is_plain(prefix) || !is_plain(name) {
                return Err(fault("an id, a prefix and a name without control characters"));
            }
            if tokens.len() >= TOKENS_MAX {
                return Err(fault("no more tokens than 1024"));
            }
            let (id, prefix, name) = (id.to_owned(), prefix.to_owned(), name.to_owned());
            tokens.push(Token { id, access, made_s, hash, prefix, name });
        }
        Ok(Tokens { tokens })
    }

    /// As a file has them.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{HEADER}\n");
        for Token { id, access, made_s, hash, prefix, name } in &self.tokens {
            let (access, hash) = (access.name(), hex(hash));
            text.push_str(&format!("{id}\t{access}\t{made_s}\t{hash}\t{prefix}\t{name}\n"));
        }
        text
    }

    /// A new one of these random bytes; the secret is what it returns, and is kept nowhere. `None`: there
    /// are as many as there may be, or a text cannot be kept.
    pub fn add(
        &mut self,
        random: [u8; SECRET_BYTES],
        access: Access,
        (prefix, name): (&str, &str),
        made_s: i64,
    ) -> Option<(String, &Token)> {
        if self.tokens.len() >= TOKENS_MAX || !is_plain(prefix) || !is_plain(name) {
            return None;
        }
        let secret = format!("{MARK}{}", hex(&random));
        let hash: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        // Of the hash, and not of the secret.
        let id = hex(hash.get(..4).unwrap_or_default());
        let (prefix, name) = (prefix.to_owned(), name.to_owned());
        self.tokens.push(Token { id, access, made_s, hash, prefix, name });
        self.tokens.last().map(|token| (secret, token))
    }

    /// Takes one out, by its id.
    pub fn remove(&mut self, id: &str) -> Option<Token> {
        let at = self.tokens.iter().position(|token| token.id == id)?;
        Some(self.tokens.remove(at))
    }

    /// The token of a secret.
    #[must_use]
    pub fn find(&self, secret: &str) -> Option<&Token> {
        let hash: [u8; 32] = Sha256::digest(secret.as_bytes()).into();
        // All are looked at, whichever it is.
        self.tokens.iter().fold(
            None,
            |found, token| if is_same(&token.hash, &hash) { Some(token) } else { found },
        )
    }

    /// All of them.
    #[must_use]
    pub fn all(&self) -> &[Token] {
        &self.tokens
    }
}

/// Compares all bytes, whichever differ.
fn is_same(first: &[u8; 32], second: &[u8; 32]) -> bool {
    let differ = first.iter().zip(second).fold(0, |differ, (a, b)| differ | (a ^ b));
    std::hint::black_box(differ) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_by_all_of_its_bytes() {
        let mut tokens = Tokens::default();
        let (secret, first) = tokens.add([7; 32], Access::Write, ("rig_", "press 3"), 5).unwrap();
        assert_eq!((secret.len(), first.id.len(), secret.starts_with("baro_0707")), (69, 8, true));
        let id = first.id.clone();
        tokens.add([8; 32], Access::Read, ("", "a\u{e9} b"), 6).unwrap();
        let text = tokens.text();
        assert!(!text.contains(&secret) && !text.contains("0707"), "{text}");
        let read = Tokens::parse(&text).unwrap();
        assert_eq!(read, tokens);
        assert_eq!(read.find(&secret).map(|token| token.prefix.as_str()), Some("rig_"));
        for cut in 0..secret.len() {
            assert_eq!(read.find(&secret[..cut]), None);
        }
        for wrong in [format!("{secret} "), secret.to_uppercase(), String::new(), id.clone()] {
            assert_eq!(read.find(&wrong), None, "{wrong}");
        }
        assert!(tokens.remove(&id).is_some() && tokens.find(&secret).is_none());
        assert_eq!(tokens.all().len(), 1);
    }

    #[test]
    fn what_cannot_be_kept_is_no_token_and_a_bad_line_is_named() {
        let mut tokens = Tokens::default();
        assert!(tokens.add([1; 32], Access::Write, ("a\tb", ""), 0).is_none());
        assert!(tokens.add([1; 32], Access::Write, ("", &"x".repeat(201)), 0).is_none());
        let hash = "0".repeat(64);
        for line in [
            "a".to_owned(),
            format!("a\tall\t1\t{hash}\t\tx"),
            format!("a\twrite\tx\t{hash}\t\tx"),
            format!("a\twrite\t1\t{}\t\tx", &hash[1..]),
            format!("a\twrite\t1\t{hash}\t"),
            format!("\twrite\t1\t{hash}\t\tx"),
            format!("a\twrite\t1\t{}\t\tx", "\u{e9}".repeat(32)),
        ] {
            let fault = Tokens::parse(&format!("# x\n\n{line}\n")).unwrap_err();
            assert_eq!(fault.line, 3, "{line}");
        }
    }
}
