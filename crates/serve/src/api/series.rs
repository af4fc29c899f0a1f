//! Which series, labels and values there are.
//!
//! They are those that are declared, whenever they had samples: `start` and `end` are read and do not
//! narrow them.

use super::Api;
use super::answer::{Data, Refusal};
use super::entries::Entries;
use super::parameters::Parameters;
use super::results::labels;
use crate::catalog::{labels_of, selector, unescaped};
use baro_ondisk::Type;
use baro_promql::{Labels, matchers_of};
use baro_store::{Selector, Store};
use baro_sys::clock;
use serde_json::json;
use std::ops::ControlFlow;

/// Entries of an answer where no limit is asked for.
const ENTRIES_MAX: usize = 1_000_000;
/// Selectors of one question, and their bytes: each may have regular expressions, which take memory.
const MATCHES_MAX: usize = 32;
const MATCHES_BYTES_MAX: usize = 16 << 10;

impl Api {
    /// Calls `each` with the labels and unit of what `match[]` selects, or of all, until it breaks.
    fn scan(
        &self,
        parameters: &Parameters,
        mut each: impl FnMut(Labels, &str) -> ControlFlow<()>,
    ) -> Result<(), Refusal> {
        for name in ["start", "end"] {
            parameters.time_ns(name)?;
        }
        let of = |text: &str| -> Result<Selector, Refusal> {
            let matchers = matchers_of(text).map_err(|error| {
                Refusal::bad(&format!("invalid parameter \"match[]\": {error}"))
            })?;
            selector(&matchers).map_err(|error| Refusal::bad(&error.to_string()))
        };
        let asked = || parameters.all("match[]");
        if asked().count() > MATCHES_MAX || asked().map(str::len).sum::<usize>() > MATCHES_BYTES_MAX
        {
            return Err(Refusal::bad(&format!(
                "invalid parameter \"match[]\": expected at most {MATCHES_MAX} of them, and \
                 {MATCHES_BYTES_MAX} bytes in all"
            )));
        }
        let selectors: Vec<Selector> = asked().map(of).collect::<Result<_, _>>()?;
        let until_ns = clock::monotonic_ns().saturating_add(self.timeout_ns);
        let (store, _turn) = self.turn(parameters, until_ns)?;
        let store: &Store = &store;
        let hidden = store.hidden().map_err(|error| Refusal::internal(&error))?;
        let each = |declared: &baro_ondisk::Declaration<'_>| match declared.kind {
            // It was deleted, and nothing has been recorded of it since.
            _ if hidden.has(declared.id) => ControlFlow::Continue(()),
            Type::F64 | Type::I64 | Type::Bool => each(labels_of(declared.name), declared.unit),
            Type::Text | Type::Channel => ControlFlow::Continue(()),
        };
        let scanned = match selectors.is_empty() {
            true => store.catalog().scan(each),
            false => store.catalog().scan_selected(&selectors, each),
        };
        scanned.map_err(|error| Refusal::internal(&error))
    }

    pub(super) fn series(&self, parameters: &Parameters) -> Result<Data, Refusal> {
        if parameters.all("match[]").next().is_none() {
            return Err(Refusal::bad("no match[] parameter provided"));
        }
        let limit = parameters.limit()?.unwrap_or(ENTRIES_MAX);
        let (mut found, mut count, mut cut) = (String::from("["), 0, false);
        self.scan(parameters, |of, _| {
            cut = count >= limit;
            if !cut {
                found.push_str(if count > 0 { "," } else { "" });
                labels(&mut found, &of);
                count += 1;
            }
            stop_if(cut || found.len() > self.answer_bytes_max())
        })?;
        if found.len() > self.answer_bytes_max() {
            return Err(Refusal::execution(
                "the answer would take more than --memory: ask for fewer series, or with a limit",
            ));
        }
        found.push(']');
        self.held(Data::of_text(found).with(told(cut)))
    }

    pub(super) fn labels(&self, parameters: &Parameters) -> Result<Data, Refusal> {
        let mut names = self.entries(parameters)?;
        self.scan(parameters, |of, _| {
            let mut all = of.iter();
            stop_if(!all.all(|(name, _)| names.add(name, "")))
        })?;
        self.held(names.told(|name, _| json!(name).to_string(), ['[', ']'])?)
    }

    /// Values of a label, whose name may be written as `U__` and the like.
    pub(super) fn values(&self, name: &str, parameters: &Parameters) -> Result<Data, Refusal> {
        let name = unescaped(name);
        let mut values = self.entries(parameters)?;
        self.scan(parameters, |of, _| {
            let value = of.get(&name);
            stop_if(!value.is_empty() && !values.add(value, ""))
        })?;
        self.held(values.told(|value, _| json!(value).to_string(), ['[', ']'])?)
    }

    /// Units of metrics.
    pub(super) fn metadata(&self, parameters: &Parameters) -> Result<Data, Refusal> {
        let wanted = parameters.get("metric");
        let mut found = self.entries(parameters)?;
        self.scan(parameters, |of, unit| {
            let name = of.get("__name__");
            stop_if(wanted.is_none_or(|wanted| wanted == name) && !found.add(name, unit))
        })?;
        let about = |name: &str, unit: &str| {
            let about = json!([{ "type": "unknown", "help": "", "unit": unit }]);
            format!("{}:{about}", json!(name))
        };
        self.held(found.told(about, ['{', '}'])?)
    }

    fn entries(&self, parameters: &Parameters) -> Result<Entries, Refusal> {
        let limit = parameters.limit()?.unwrap_or(ENTRIES_MAX);
        Ok(Entries::new(limit, self.answer_bytes_max()))
    }
}

fn stop_if(stop: bool) -> ControlFlow<()> {
    if stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

pub(super) fn told(cut: bool) -> Vec<String> {
    match cut {
        true => vec!["results truncated due to limit".to_owned()],
        false => Vec::new(),
    }
}
