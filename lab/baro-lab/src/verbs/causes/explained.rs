//! What `baro explain` says of the victim's call, by its command line as a user gets it.
//!
//! Invariant: a call is the victim's by its thread and its time, whatever else was slow meanwhile.
//! Held by `the_call_is_found_by_its_thread_and_its_time`.

use crate::baro;
use baro_bench::verb::recording::Recording;
use baro_command::failure::Result;
use baro_lab::causes::SlowCall;
use serde_json::Value;
use std::process::Command;

/// The victim's are among them, whatever else the machine did.
const CALLS_MAX: &str = "2000";

/// The explanation of one call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Explained {
    /// Its cause.
    pub(crate) cause: String,
    /// The last of the chain.
    pub(crate) root: String,
    pub(crate) wait_ns: u64,
    pub(crate) unexplained_ns: u64,
    /// The chain as it was given.
    pub(crate) chain: Value,
}

impl Explained {
    /// Whether a task of that name is in the chain.
    pub(crate) fn names(&self, task: &str) -> bool {
        let links = self.chain.as_array().into_iter().flatten();
        links.flat_map(|link| link.as_object().into_iter().flatten()).any(|(_, value)| {
            let words = value.as_str().unwrap_or_default();
            words.split(|c: char| !c.is_alphanumeric()).any(|word| word == task)
        })
    }
}

/// Ends the recording and asks for the cause of that call.
pub(super) fn explain(mut recording: Recording, call: Option<&SlowCall>) -> Result<Explained> {
    recording.end()?;
    let call = call.ok_or("no call of the victim was slow")?;
    let output = Command::new(baro::program()?)
        .arg("explain")
        .arg(recording.file())
        .args(["--system", "--top", CALLS_MAX, "--over", "40ms", "--format", "json"])
        .output()?;
    if !output.status.success() && output.status.code() != Some(3) {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("baro explain: {}", said.trim()).into());
    }
    of_call(&serde_json::from_slice(&output.stdout)?, call)
}

/// The explanation of the call of that thread which shares most time with the victim's own account.
fn of_call(explanation: &Value, call: &SlowCall) -> Result<Explained> {
    let number = |value: &Value, key: &str| value.get(key).and_then(Value::as_u64).unwrap_or(0);
    let text = |value: &Value, key: &str| {
        value.get(key).and_then(Value::as_str).unwrap_or("none").to_owned()
    };
    let shared_ns = |value: &Value| {
        let begin_ns = number(value, "begin_ns");
        let end_ns = begin_ns.saturating_add(number(value, "wait_ns"));
        end_ns.min(call.end_ns).saturating_sub(begin_ns.max(call.begin_ns))
    };
    let calls = explanation.get("calls").and_then(Value::as_array).into_iter().flatten();
    let of_victim = calls.filter(|value| number(value, "pid") == u64::from(call.tid));
    let found = of_victim.max_by_key(|value| shared_ns(value)).filter(|value| shared_ns(value) > 0);
    let found = found.ok_or_else(|| {
        format!("baro explain: no {} of the victim (pid {}) at that time", call.call, call.tid)
    })?;
    Ok(Explained {
        cause: text(found, "cause"),
        root: text(found, "root"),
        wait_ns: number(found, "wait_ns"),
        unexplained_ns: number(found, "unexplained_ns"),
        chain: found.get("chain").cloned().unwrap_or(Value::Null),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_call_is_found_by_its_thread_and_its_time() {
        let call =
            SlowCall { tid: 7, call: "fsync", begin_ns: 1_000, end_ns: 3_000, run_delay_ns: 0 };
        let one = |pid: u32, begin_ns: u64, cause: &str| {
            json!({ "pid": pid, "begin_ns": begin_ns, "wait_ns": 1_900, "cause": cause,
                    "unexplained_ns": 19, "chain": [{ "cause": cause }] })
        };
        let all = json!({ "calls": [one(8, 1_050, "other"), one(7, 0, "before"), one(7, 1_050, "this")] });
        let found = of_call(&all, &call).unwrap();
        assert_eq!((found.cause.as_str(), found.root.as_str()), ("this", "none"));
        assert_eq!((found.wait_ns, found.unexplained_ns), (1_900, 19));
        let chain = json!([{ "who": "victim (pid 7)" }, { "waits_for": "holder (pid 9)" }]);
        let named = Explained { chain, ..found };
        assert!(named.names("holder") && !named.names("hold") && !named.names("antagonist"));
        for none in [json!({}), json!({ "calls": [one(7, 5_000, "later")] }), json!([1])] {
            let said = of_call(&none, &call).unwrap_err().to_string();
            assert!(said.contains("no fsync of the victim (pid 7)"), "{said}");
        }
    }
}
