//! What a client asks for: subscriptions, and all that it cannot have, which is refused by name. Pure.

use serde_json::Value;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Op {
    /// Ids of new subscriptions, and the channels that they are of.
    Subscribe(Vec<(u32, u32)>),
    /// Ids of subscriptions that end.
    Unsubscribe(Vec<u32>),
}

/// What the protocol has and this server has not, and what it belongs to.
const REFUSED: [(&str, &str); 11] = [
    ("advertise", "publishing by clients"),
    ("unadvertise", "publishing by clients"),
    ("getParameters", "parameters"),
    ("setParameters", "parameters"),
    ("subscribeParameterUpdates", "parameters"),
    ("unsubscribeParameterUpdates", "parameters"),
    ("subscribeConnectionGraph", "a connection graph"),
    ("unsubscribeConnectionGraph", "a connection graph"),
    ("fetchAsset", "assets"),
    ("playbackControlRequest", "playback"),
    ("callService", "services"),
];
/// Characters of what a client sent that are told it again.
const FOUND_CHARS: usize = 60;

fn found(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        value => short(&value.to_string()),
    }
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(FOUND_CHARS).collect();
    if short.len() < text.len() {
        short.push_str("...");
    }
    short
}

fn number(value: &Value, name: &str) -> Result<u32, String> {
    value.as_u64().and_then(|number| u32::try_from(number).ok()).ok_or_else(|| {
        format!("expected a number of 0 to {} as {name}, found {}", u32::MAX, found(value))
    })
}

fn list<'v>(message: &'v Value, name: &str) -> Result<&'v Vec<Value>, String> {
    let list = &message[name];
    list.as_array().ok_or_else(|| format!("expected a list as {name}, found {}", found(list)))
}

/// What a text asks for.
///
/// # Errors
/// In words: it is none, or something that there is not.
pub(super) fn of_text(text: &str) -> Result<Op, String> {
    let message: Value = serde_json::from_str(text).map_err(|error| {
        format!("expected a JSON object with op, found {}: {error}", short(text))
    })?;
    match message["op"].as_str() {
        Some("subscribe") => {
            let one = |one: &Value| -> Result<(u32, u32), String> {
                Ok((number(&one["id"], "id")?, number(&one["channelId"], "channelId")?))
            };
            let all = list(&message, "subscriptions")?.iter().map(one);
            Ok(Op::Subscribe(all.collect::<Result<_, _>>()?))
        }
        Some("unsubscribe") => {
            let all = list(&message, "subscriptionIds")?.iter();
            let all = all.map(|one| number(one, "subscriptionIds"));
            Ok(Op::Unsubscribe(all.collect::<Result<_, _>>()?))
        }
        Some(op) => match REFUSED.iter().find(|(name, _)| *name == op) {
            Some((name, what)) => Err(refused(name, what)),
            None => Err(format!("expected op subscribe or unsubscribe, found {}", short(op))),
        },
        None => {
            Err(format!("expected op subscribe or unsubscribe, found {}", found(&message["op"])))
        }
    }
}

/// Why a message of bytes is refused.
pub(super) fn of_bytes(bytes: &[u8]) -> String {
    match bytes.first() {
        Some(1) => refused("message data", "publishing by clients"),
        Some(2) => refused("service call request", "services"),
        Some(code) => format!("expected a text, found bytes with the code {code}"),
        None => "expected a text, found an empty message of bytes".to_owned(),
    }
}

fn refused(name: &str, what: &str) -> String {
    format!(
        "expected subscribe or unsubscribe, found {name}: this server only reads, and its capabilities are \
         without {what}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subscriptions_are_read() {
        let text =
            r#"{"op":"subscribe","subscriptions":[{"id":0,"channelId":3},{"id":1,"channelId":5}]}"#;
        assert_eq!(of_text(text), Ok(Op::Subscribe(vec![(0, 3), (1, 5)])));
        let text = r#"{"op":"unsubscribe","subscriptionIds":[0,4294967295]}"#;
        assert_eq!(of_text(text), Ok(Op::Unsubscribe(vec![0, u32::MAX])));
    }

    #[test]
    fn all_else_is_refused_by_name() {
        for (text, said) in [
            ("", "a JSON object with op"),
            ("{", "a JSON object with op"),
            ("[]", "found none"),
            ("7", "found none"),
            (r#"{"op":7}"#, "found 7"),
            (r#"{"op":"subscribe"}"#, "a list as subscriptions, found none"),
            (r#"{"op":"subscribe","subscriptions":{}}"#, "a list as subscriptions, found {}"),
            (r#"{"op":"subscribe","subscriptions":[7]}"#, "as id, found none"),
            (r#"{"op":"subscribe","subscriptions":[{"id":-1,"channelId":1}]}"#, "found -1"),
            (
                r#"{"op":"subscribe","subscriptions":[{"id":1,"channelId":4294967296}]}"#,
                "channelId",
            ),
            (r#"{"op":"subscribe","subscriptions":[{"id":1.5,"channelId":1}]}"#, "found 1.5"),
            (r#"{"op":"unsubscribe","subscriptionIds":["a"]}"#, "found \"a\""),
            (r#"{"op":"advertise","channels":[]}"#, "without publishing by clients"),
            (r#"{"op":"getParameters","parameterNames":[]}"#, "found getParameters"),
            (r#"{"op":"fetchAsset","uri":"a"}"#, "without assets"),
            (r#"{"op":"fly"}"#, "found fly"),
        ] {
            let refused = of_text(text).unwrap_err();
            assert!(refused.contains(said), "{text}: {refused}");
        }
        let long = format!(r#"{{"op":"{}"}}"#, "x".repeat(1_000));
        assert!(of_text(&long).unwrap_err().len() < 200);
        assert!(of_text(&"[".repeat(1 << 20)).is_err());
        assert!(of_bytes(&[1, 0]).contains("publishing"));
        assert!(of_bytes(&[2]).contains("services"));
        assert!(of_bytes(&[9]).contains("code 9") && of_bytes(&[]).contains("empty"));
    }
}
