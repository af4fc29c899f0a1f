//! `/query` of InfluxDB 1: `CREATE DATABASE` alone, which Telegraf and libraries send before they write.
//! A store needs no such thing, so it is said to be done; where `--db` names the one that is written to,
//! another cannot be made. Whatever asks for data is refused.

use super::dialect::Dialect;
use baro_net::{Body, Query, Request, Response};

const FORM_BYTES_MAX: usize = 64 << 10;
const CREATE: &str = "CREATE DATABASE";

pub(crate) fn answer(db: Option<&str>, request: &Request, body: &mut Body<'_, '_>) -> Response {
    let mut query = request.query.clone();
    if query.get("q").is_none() && request.method == "POST" {
        let text = match body.read_whole(FORM_BYTES_MAX) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) => return Dialect::V1.error(error.status(), &error.to_string()),
        };
        query = match Query::parse(&text) {
            Ok(found) => found,
            Err(said) => return Dialect::V1.error(400, &said),
        };
    }
    if query.twice(&["q"]).is_some() {
        return Dialect::V1.error(400, "expected the parameter q once, found it twice");
    }
    let asked = query.get("q").unwrap_or_default().trim();
    let is_create = asked.get(..CREATE.len()).is_some_and(|verb| verb.eq_ignore_ascii_case(CREATE));
    if is_create {
        let name = database(asked.get(CREATE.len()..).unwrap_or_default());
        if let Some(expected) = db.filter(|expected| *expected != name) {
            let said = format!("expected the database {expected:?}, found {name:?}");
            return Dialect::V1.error(400, &said);
        }
        return Response::json(200, "{\"results\":[{\"statement_id\":0}]}\n");
    }
    let found: String = asked.chars().take(60).collect();
    let said = format!(
        "expected CREATE DATABASE, which is all that this address answers, found {found:?}: read a store \
         with baro query or baro export"
    );
    Dialect::V1.error(400, &said)
}

/// The name in what follows `CREATE DATABASE`: in quotes, or up to the next space or semicolon.
fn database(rest: &str) -> String {
    let rest = rest.trim_start();
    let Some(quoted) = rest.strip_prefix('"') else {
        return rest.split([' ', ';']).next().unwrap_or_default().to_owned();
    };
    let mut name = String::new();
    let mut chars = quoted.chars();
    while let Some(found) = chars.next().filter(|found| *found != '"') {
        name.extend(if found == '\\' { chars.next() } else { Some(found) });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::database;

    #[test]
    fn the_name_of_a_database_is_found_as_clients_write_it() {
        for (rest, name) in [
            (" \"telegraf\"", "telegraf"),
            (" plant", "plant"),
            (" plant;", "plant"),
            (" plant WITH DURATION 3d", "plant"),
            (" \"a \\\"b\\\" c\" WITH NAME x", "a \"b\" c"),
            ("", ""),
        ] {
            assert_eq!(database(rest), name, "{rest}");
        }
    }
}
