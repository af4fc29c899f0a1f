//! How each version of InfluxDB says what became of a write.

use crate::sink::{Fault, Sink};
use baro_net::Response;
use serde_json::json;

/// Faults that are told where one text has all of them.
const TOLD_MAX: usize = 5;

/// A version of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    V1,
    V2,
    V3,
}

impl Dialect {
    /// What the interface calls an error of this status.
    pub(crate) fn error(self, status: u16, said: &str) -> Response {
        let response = match self {
            Dialect::V1 => Response::error(status, said).with("X-Influxdb-Error", short(said)),
            Dialect::V2 => {
                let code = match status {
                    400 | 415 => "invalid",
                    401 => "unauthorized",
                    403 => "forbidden",
                    404 => "not found",
                    413 => "request too large",
                    422 => "unprocessable entity",
                    503 => "unavailable",
                    _ => "internal error",
                };
                Response::json(status, json!({ "code": code, "message": said }).to_string())
            }
            Dialect::V3 => {
                Response::json(status, json!({ "error": said, "data": null }).to_string())
            }
        };
        if status == 503 { response.with("Retry-After", "1") } else { response }
    }

    /// Lines were refused; `kept`: the others are kept.
    pub(crate) fn refused(self, sink: &Sink<'_>, lines: u64, kept: bool) -> Response {
        let faults = &sink.faults;
        let bad = faults.lines;
        let good = lines.saturating_sub(bad);
        let first: Vec<String> = faults.first.iter().take(TOLD_MAX).map(told).collect();
        let mut said = first.join("; ");
        if bad > first.len() as u64 {
            said.push_str(&format!("; and {} lines more", bad - first.len() as u64));
        }
        let of = match kept {
            true => format!("{} samples of {good} lines are kept", sink.samples),
            false => "nothing is kept, as accept_partial=false asks".to_owned(),
        };
        // Nothing but new series that may not be declared: a limit of ours was hit.
        let limit = faults.no_more >= bad && bad > 0;
        match self {
            Dialect::V1 => self.error(400, &format!("partial write: {said}; {of}; dropped={bad}")),
            Dialect::V2 => {
                self.error(400, &format!("partial write: {said}; {of}, {bad} lines dropped"))
            }
            Dialect::V3 => {
                let data = faults.first.iter().map(|fault| {
                    json!({
                        "error_message": fault.said,
                        "line_number": fault.line,
                        "original_line": fault.begins,
                    })
                });
                let data: Vec<serde_json::Value> = data.collect();
                let error = match kept {
                    true => "partial write of line protocol occurred",
                    false => "parsing failed for write_lp endpoint",
                };
                let status = if limit { 422 } else { 400 };
                let body =
                    json!({ "error": error, "data": data, "message": of, "lines_refused": bad });
                Response::json(status, body.to_string())
            }
        }
    }
}

fn told(fault: &Fault) -> String {
    format!("line {}: {}", fault.line, fault.said)
}

/// A header's value has a length that clients take.
fn short(said: &str) -> String {
    said.chars().filter(char::is_ascii).take(200).collect()
}
