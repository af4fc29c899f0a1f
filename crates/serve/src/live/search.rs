//! Series by a part of their name, among a million, in bounded time.
//!
//! Names are read from the dictionary page by page and none is kept, so that a search takes no memory. One that
//! finds many ends at its limit; one that finds few reads all names.

use crate::api::{Parameters, Refusal};
use baro_ondisk::{Declaration, Type};
use baro_store::{Hidden, Selector, Store};
use baro_sys::clock;
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Entries where nothing is said, and at most.
const FOUND: usize = 100;
const FOUND_MAX: usize = 1_000;
/// A search that takes longer hands out what it has.
const SEARCH_NS: u64 = 2_000_000_000;
/// Names between two looks at the clock.
const NAMES: u32 = 4_096;
/// Longest text, and most words in it.
const TEXT_BYTES_MAX: usize = 4_096;
const WORDS_MAX: usize = 16;

/// What is asked of a name.
enum Wanted {
    /// All of these words, in any letters.
    Words(Vec<String>),
    Selector(Box<Selector>),
}

impl Wanted {
    fn of(text: &str) -> Result<Self, Refusal> {
        let bad = |said: String| Refusal::bad(&format!("invalid parameter \"q\": {said}"));
        if text.len() > TEXT_BYTES_MAX {
            let found = text.len();
            return Err(bad(format!("expected at most {TEXT_BYTES_MAX} bytes, found {found}")));
        }
        if text.contains('{') {
            let selector = Selector::parse(text).map_err(|error| bad(error.to_string()))?;
            return Ok(Wanted::Selector(Box::new(selector)));
        }
        let words: Vec<String> = text.split_whitespace().map(str::to_ascii_lowercase).collect();
        match words.len() > WORDS_MAX {
            true => Err(bad(format!("expected at most {WORDS_MAX} words, found {}", words.len()))),
            false => Ok(Wanted::Words(words)),
        }
    }
}

/// Entries of an answer.
struct Found {
    limit: usize,
    hidden: Hidden,
    entries: Vec<Value>,
    more: bool,
}

impl Found {
    fn push(&mut self, name: &str, unit: &str, kind: &str) -> ControlFlow<()> {
        self.more = self.entries.len() >= self.limit;
        if self.more {
            return ControlFlow::Break(());
        }
        self.entries.push(json!({ "name": name, "unit": unit, "kind": kind }));
        ControlFlow::Continue(())
    }

    /// What of a declaration has numbers: the series, or the fields of frames whose names fit.
    fn take(&mut self, found: &Declaration<'_>, fits: impl Fn(&str) -> bool) -> ControlFlow<()> {
        match found.kind {
            // It was deleted, and nothing has been recorded of it since.
            _ if self.hidden.has(found.id) => ControlFlow::Continue(()),
            Type::F64 | Type::I64 | Type::Bool if fits(found.name) => {
                self.push(found.name, found.unit, found.kind.name())
            }
            Type::Channel => {
                for field in found.layout.iter().flat_map(|layout| layout.fields()) {
                    for element in 0..field.values() {
                        let mut name = format!("{}.{}", found.name, field.name);
                        if field.elements.is_some() {
                            name.push_str(&format!("[{element}]"));
                        }
                        if fits(&name) {
                            self.push(&name, &field.unit, field.kind.name())?;
                        }
                    }
                }
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }
}

/// `{"found":[{"name","unit","kind"}],"more":false}`: names with all words of `q`, or those that it selects.
pub(super) fn answer(store: &Store, parameters: &Parameters) -> Result<String, Refusal> {
    let wanted = Wanted::of(parameters.get("q").unwrap_or(""))?;
    let limit = parameters.limit()?.unwrap_or(FOUND).min(FOUND_MAX);
    let until_ns = clock::monotonic_ns().saturating_add(SEARCH_NS);
    let hidden = store.hidden().map_err(|error| Refusal::internal(&error))?;
    let mut found = Found { limit, hidden, entries: Vec::new(), more: false };
    let (mut seen, mut late, mut lower) = (0_u32, false, String::new());
    let mut is_late = || {
        seen = seen.wrapping_add(1);
        seen.is_multiple_of(NAMES) && clock::monotonic_ns() >= until_ns
    };
    let catalog = store.catalog();
    let scanned = match &wanted {
        Wanted::Words(words) => catalog.scan(|declared| {
            if is_late() {
                late = true;
                return ControlFlow::Break(());
            }
            // A channel's fields may have the words that it has not.
            if declared.kind != Type::Channel {
                lower.clear();
                lower.push_str(declared.name);
                lower.make_ascii_lowercase();
                if !words.iter().all(|word| lower.contains(word.as_str())) {
                    return ControlFlow::Continue(());
                }
                return found.take(declared, |_| true);
            }
            let fits = |name: &str| {
                let name = name.to_ascii_lowercase();
                words.iter().all(|word| name.contains(word.as_str()))
            };
            found.take(declared, fits)
        }),
        Wanted::Selector(selector) => {
            catalog.scan_selected(std::slice::from_ref(&**selector), |declared| {
                if is_late() {
                    late = true;
                    return ControlFlow::Break(());
                }
                found.take(declared, |_| true)
            })
        }
    };
    scanned.map_err(|error| Refusal::internal(&error))?;
    Ok(json!({ "found": found.entries, "more": found.more || late }).to_string())
}
