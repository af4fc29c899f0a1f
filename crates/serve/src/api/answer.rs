//! Answers and errors in the form of Prometheus.

use baro_net::{BodyError, Held, Response};
use baro_promql::Error;
use serde_json::{Value, json};

/// What is answered.
#[derive(Debug)]
pub(super) struct Data {
    /// JSON, behind the words that say that it is an answer.
    data: String,
    warnings: Vec<String>,
    held: Option<Held>,
}

/// How an answer begins.
const BEGIN: &str = r#"{"status":"success","data":"#;

impl Data {
    pub(super) fn of(data: Value) -> Self {
        Data::of_text(data.to_string())
    }

    /// Of JSON that is written already.
    pub(super) fn of_text(mut data: String) -> Self {
        // What it grew by takes memory too, and is not needed any more.
        data.reserve_exact(BEGIN.len() + 1);
        data.insert_str(0, BEGIN);
        data.shrink_to_fit();
        Data { data, warnings: Vec::new(), held: None }
    }

    /// Bytes that it holds.
    pub(super) fn bytes(&self) -> u64 {
        self.data.len() as u64
    }

    pub(super) fn holding(self, held: Held) -> Self {
        Data { held: Some(held), ..self }
    }

    pub(super) fn with(self, warnings: Vec<String>) -> Self {
        Data { warnings, ..self }
    }
}

/// Why nothing is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    status: u16,
    kind: &'static str,
    said: String,
}

impl Refusal {
    fn new(status: u16, kind: &'static str, said: &str) -> Self {
        Refusal { status, kind, said: said.to_owned() }
    }

    pub(crate) fn bad(said: &str) -> Self {
        Refusal::new(400, "bad_data", said)
    }

    pub(crate) fn not_found(said: &str) -> Self {
        Refusal::new(404, "not_found", said)
    }

    pub(super) fn method(said: &str) -> Self {
        Refusal::new(405, "bad_data", said)
    }

    pub(super) fn denied(status: u16, said: &str) -> Self {
        Refusal::new(status, "unauthorized", said)
    }

    /// A socket of another version.
    pub(crate) fn upgrade(said: &str) -> Self {
        Refusal::new(426, "bad_data", said)
    }

    /// The query may not have so much.
    pub(super) fn execution(said: &str) -> Self {
        Refusal::new(422, "execution", said)
    }

    pub(crate) fn timeout(said: &str) -> Self {
        Refusal::new(503, "timeout", said)
    }

    pub(crate) fn internal(error: &dyn std::fmt::Display) -> Self {
        Refusal::new(500, "internal", &error.to_string())
    }

    pub(super) fn of_body(error: &BodyError) -> Self {
        let kind = if error.status() == 503 { "timeout" } else { "bad_data" };
        Refusal::new(error.status(), kind, &error.to_string())
    }

    pub(super) fn of_query(error: &Error) -> Self {
        let said = error.to_string();
        match error {
            Error::Parse(_) => Refusal::new(400, "bad_data", &said),
            Error::Late => Refusal::timeout(&said),
            _ => Refusal::new(422, "execution", &said),
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.said)
    }
}

pub(super) fn answer(found: Result<Data, Refusal>) -> Response {
    match found {
        Ok(Data { data, warnings, held }) => {
            let mut body = data;
            if !warnings.is_empty() {
                body.push_str(r#","warnings":"#);
                body.push_str(&json!(warnings).to_string());
            }
            body.push('}');
            Response::json(200, body).holding(held)
        }
        Err(Refusal { status, kind, said }) => {
            let body = json!({ "status": "error", "errorType": kind, "error": said });
            let response = Response::json(status, body.to_string());
            match status {
                426 => response.with("Sec-WebSocket-Version", "13").with("Upgrade", "websocket"),
                503 => response.with("Retry-After", "1"),
                _ => response,
            }
        }
    }
}
