//! `baro token`: makes, lists and revokes tokens.

use baro_command::failure::{Outcome, Result};
use baro_command::listen::{TokenAccess, TokenCommand};
use baro_command::{Format, print_json};
use baro_net::tokens::{Access, NAME_BYTES_MAX, TOKENS_MAX, Token, TokenFile};
use baro_sys::clock;
use serde_json::{Value, json};

pub(crate) fn run(command: &TokenCommand) -> Result<Outcome> {
    match command {
        TokenCommand::New { name, access, prefix, place } => {
            let access = match access {
                TokenAccess::Write => Access::Write,
                TokenAccess::Read => Access::Read,
                TokenAccess::Admin => Access::Admin,
            };
            let random = TokenFile::random()?;
            let made_s = clock::realtime_ns().div_euclid(1_000_000_000);
            let file = TokenFile::at(&place.tokens);
            let made = file.change(|tokens| {
                let (secret, token) = tokens.add(random, access, (prefix, name), made_s)?;
                Some((secret, token.clone()))
            })?;
            let Some((secret, token)) = made else {
                return Err(format!(
                    "expected a name and a prefix of at most {NAME_BYTES_MAX} bytes without control \
                     characters, and at most {TOKENS_MAX} tokens, found others (baro token revoke takes \
                     tokens away)"
                )
                .into());
            };
            match place.format {
                Format::Text => {
                    out!("{secret}");
                    say!(
                        "token {} may {}; it is shown this once, and {} has its hash",
                        token.id,
                        what(&token),
                        place.tokens.display()
                    );
                }
                Format::Json => {
                    let mut shown = shown(&token);
                    shown["token"] = secret.into();
                    print_json(&shown)?;
                }
            }
        }
        TokenCommand::List { place } => {
            let tokens = TokenFile::at(&place.tokens).read()?;
            match place.format {
                Format::Text => {
                    for token in tokens.all() {
                        out!("{}  {}  {}", token.id, what(token), token.name);
                    }
                    if tokens.all().is_empty() {
                        say!("no tokens in {} (baro token new makes one)", place.tokens.display());
                    }
                }
                Format::Json => {
                    let all: Vec<Value> = tokens.all().iter().map(shown).collect();
                    print_json(&json!({ "tokens": all }))?;
                }
            }
        }
        TokenCommand::Revoke { id, place } => {
            let file = TokenFile::at(&place.tokens);
            let Some(token) = file.change(|tokens| tokens.remove(id))? else {
                let path = place.tokens.display();
                return Err(format!(
                    "expected the id of a token in {path} (baro token list), found {id:?}"
                )
                .into());
            };
            match place.format {
                Format::Text => say!("token {} is revoked", token.id),
                Format::Json => print_json(&json!({ "revoked": token.id }))?,
            }
        }
    }
    Ok(Outcome::Done)
}

fn what(token: &Token) -> String {
    match token.prefix.as_str() {
        "" => token.access.name().to_owned(),
        prefix => format!("{} {prefix}*", token.access.name()),
    }
}

fn shown(token: &Token) -> Value {
    json!({
        "id": token.id,
        "access": token.access.name(),
        "prefix": token.prefix,
        "name": token.name,
        "made_s": token.made_s,
    })
}
