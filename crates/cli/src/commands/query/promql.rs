//! `baro query --promql`: done by `baro-serve`, which has the engine. So nothing of it is linked here.

use super::{Arguments, RowsFormat};
use crate::commands::beside;
use crate::failure::{Mistake, Outcome, Result};
use baro_store::Interval;
use baro_sys::clock;
use std::ffi::OsString;

pub(super) fn run(
    arguments: &Arguments,
    promql: &str,
    interval: Interval,
    step_ns: u64,
) -> Result<Outcome> {
    let form = match arguments.format {
        None | Some(RowsFormat::Table | RowsFormat::Text) => "text",
        Some(RowsFormat::Csv) => "csv",
        Some(RowsFormat::Json) => "json",
        Some(_) => {
            let text = "--promql: expected --format table, text, csv or json, found another form";
            return Err(Mistake::new(text).into());
        }
    };
    if step_ns > 0 && interval.from_ns == i64::MIN {
        let text = "--promql with --every: expected --from, found none";
        return Err(Mistake::new(text).into());
    }
    let to_ns = match interval.to_ns {
        i64::MAX => clock::realtime_ns(),
        to_ns => to_ns,
    };
    let mut words: Vec<OsString> = vec!["promql".into()];
    for (option, value) in [
        ("--from-ns", interval.from_ns.to_string()),
        ("--to-ns", to_ns.to_string()),
        ("--step-ns", step_ns.to_string()),
        ("--form", form.to_owned()),
    ] {
        words.push(format!("{option}={value}").into());
    }
    if let Some(lookback) = arguments.lookback {
        words.push(format!("--lookback={lookback}ns").into());
    }
    words.extend(["--".into(), arguments.store.clone().into(), promql.into()]);
    beside::become_with("baro-serve", &words)
}
