//! Answers of OTLP: an `ExportMetricsServiceResponse`, or a `Status` with what is wrong, in the form in which the
//! request came. They are two messages of two fields, so that nothing makes protobuf here but these few lines.

use baro_net::{Request, Response, quoted};

/// How a request is written, and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Protobuf,
    Json,
}

impl Form {
    const fn kind(self) -> &'static str {
        match self {
            Form::Protobuf => "application/x-protobuf",
            Form::Json => "application/json",
        }
    }

    /// The form that a request says it has; in which to refuse it, and why, if it has none that is taken.
    pub(crate) fn of(request: &Request) -> Result<Self, (Form, String)> {
        let said = request.header("content-type").unwrap_or_default();
        let kind = said.split(';').next().unwrap_or_default().trim();
        let forms = [Form::Protobuf, Form::Json];
        forms.into_iter().find(|form| kind.eq_ignore_ascii_case(form.kind())).ok_or_else(|| {
            let said = format!(
                "expected Content-Type {} or {}, found {said:?}",
                Form::Protobuf.kind(),
                Form::Json.kind()
            );
            (Form::Json, said)
        })
    }

    /// What is wrong, as a `Status`.
    pub(crate) fn refused(self, status: u16, said: &str) -> Response {
        let code = code(status);
        let body = match self {
            Form::Protobuf => [number(1, code.into()), text(2, said)].concat(),
            Form::Json => {
                format!("{{\"code\":{code},\"message\":{}}}\n", quoted(said)).into_bytes()
            }
        };
        let response = Response::of(status, self.kind(), body);
        if status == 503 { response.with("Retry-After", "1") } else { response }
    }

    /// All is kept, but for so many data points; what is said of them, or else.
    pub(crate) fn taken(self, rejected: u64, said: &str) -> Response {
        let is_partial = rejected > 0 || !said.is_empty();
        let body = match self {
            Form::Protobuf if !is_partial => Vec::new(),
            Form::Protobuf => {
                let inner = [number(1, rejected), text(2, said)].concat();
                [vec![1 << 3 | 2], varint(inner.len() as u64), inner].concat()
            }
            Form::Json if !is_partial => b"{}\n".to_vec(),
            Form::Json => format!(
                "{{\"partialSuccess\":{{\"rejectedDataPoints\":\"{rejected}\",\"errorMessage\":{}}}}}\n",
                quoted(said)
            )
            .into_bytes(),
        };
        Response::of(200, self.kind(), body)
    }
}

/// The code of gRPC that goes with a status.
fn code(status: u16) -> u8 {
    match status {
        400 | 415 => 3,
        401 => 16,
        403 => 7,
        413 => 8,
        503 => 14,
        _ => 2,
    }
}

fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

fn number(field: u8, value: u64) -> Vec<u8> {
    match value {
        0 => Vec::new(),
        value => [vec![field << 3], varint(value)].concat(),
    }
}

fn text(field: u8, text: &str) -> Vec<u8> {
    [vec![field << 3 | 2], varint(text.len() as u64), text.as_bytes().to_vec()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_has_the_form_of_its_request() {
        assert_eq!(Form::Protobuf.taken(0, "").body(), b"");
        assert_eq!(Form::Json.taken(0, "").body(), b"{}\n");
        assert_eq!(Form::Protobuf.taken(300, "no").body(), b"\x0a\x07\x08\xac\x02\x12\x02no");
        assert_eq!(Form::Protobuf.taken(0, "a").body(), b"\x0a\x03\x12\x01a");
        assert_eq!(
            Form::Json.taken(2, "a \"b\"").body(),
            b"{\"partialSuccess\":{\"rejectedDataPoints\":\"2\",\"errorMessage\":\"a \\\"b\\\"\"}}\n"
        );
        assert_eq!(Form::Protobuf.refused(400, "x").body(), b"\x08\x03\x12\x01x");
        assert_eq!(Form::Json.refused(503, "x").body(), b"{\"code\":14,\"message\":\"x\"}\n");
    }
}
