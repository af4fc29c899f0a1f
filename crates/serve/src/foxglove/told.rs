//! What the server says in words: JSON texts of the protocol.

use serde_json::json;

/// How grave a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    Warning = 1,
    Error = 2,
}

/// A notice to people. A later one of the same id replaces it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) level: Level,
    pub(super) id: &'static str,
    pub(super) message: String,
}

impl Notice {
    pub(super) fn warning(id: &'static str, message: String) -> Self {
        Notice { level: Level::Warning, id, message }
    }

    pub(super) fn error(id: &'static str, message: String) -> Self {
        Notice { level: Level::Error, id, message }
    }

    pub(super) fn text(&self) -> String {
        let Notice { level, id, message } = self;
        json!({ "op": "status", "level": *level as u8, "message": message, "id": id }).to_string()
    }
}

/// What the server is. Of all that the protocol has beside topics it has the time alone.
pub(super) fn server_info(session: &str, store: &str) -> String {
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "op": "serverInfo",
        "name": format!("baro serve {version}"),
        "capabilities": ["time"],
        "metadata": { "store": store },
        "sessionId": session,
    })
    .to_string()
}
