//! What files held that limit something (control groups' limits, suspended mappings), and when: as the recorder read
//! them when it began and ended, and each time that one was written meanwhile.
//!
//! A change was seen some time after it was made: from the look before on the file may have held either text.
//! Where a change was not told, a text counts for all of the recording, as if no time were known.
//!
//! Invariant: of a file that was seen to change each text has its time. Held by
//! `a_limit_explains_only_waits_of_its_time`.

use super::chain::Span;
use super::group_limits::GROUPS;
use super::stands::AT_END;
use super::suspended::SUSPENDED;
use std::collections::BTreeMap;

/// What facts of changes begin with, and the one that some are missing.
const CHANGE: &str = "limit change ";
const LEFT_OUT: &str = "limit changes left out";

/// What a file may have held for a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'a> {
    pub(super) file: &'a str,
    pub(super) text: &'a str,
    pub(super) span: Span,
    /// Whether it held it when the recording ended, as far as is known.
    pub(super) is_last: bool,
}

/// All texts of all files.
pub(super) fn of(facts: &BTreeMap<String, String>) -> Vec<Text<'_>> {
    // Broken off, a trace does not say what was set last.
    let has_end = facts.contains_key("hangs at the end");
    let is_complete = !facts.contains_key(LEFT_OUT);
    let mut files: BTreeMap<&str, Vec<Change>> = BTreeMap::new();
    for (name, text) in
        facts.range(CHANGE.to_owned()..).take_while(|(name, _)| name.starts_with(CHANGE))
    {
        let Some(change) = name.strip_prefix(CHANGE).and_then(|number| change(number, text)) else {
            continue;
        };
        files.entry(change.0).or_default().push(change.1);
    }
    files.values_mut().for_each(|changes| changes.sort_by_key(|one| one.number));
    let mut texts = Vec::new();
    for (path, text) in facts.iter().filter(|(path, _)| is_watched(path)) {
        let (file, is_end) = match path.strip_suffix(AT_END) {
            Some(file) => (file, true),
            None => (path.as_str(), false),
        };
        let changes = files.get(file).map_or(&[][..], Vec::as_slice);
        let mut span = ALWAYS;
        if is_complete && is_end {
            span.begin_ns = changes.last().map_or(0, |last| last.from_ns);
        } else if is_complete {
            span.end_ns = changes.first().map_or(u64::MAX, |first| first.at_ns);
        }
        texts.push(Text { file, text, span, is_last: is_end || !has_end && changes.is_empty() });
    }
    for (file, changes) in &files {
        for (index, one) in changes.iter().enumerate() {
            let next = changes.get(index + 1);
            let end_ns = next.map_or(u64::MAX, |next| next.at_ns);
            let span = Span { begin_ns: one.from_ns, end_ns };
            let span = if is_complete { span } else { ALWAYS };
            texts.push(Text { file, text: one.text, span, is_last: !has_end && next.is_none() });
        }
    }
    texts
}

fn is_watched(path: &str) -> bool {
    let file = path.strip_suffix(AT_END).unwrap_or(path);
    file.starts_with(GROUPS) || file.ends_with(SUSPENDED)
}

const ALWAYS: Span = Span { begin_ns: 0, end_ns: u64::MAX };

/// A file was seen to hold another text.
struct Change<'a> {
    number: u64,
    /// When it still held the text before, as far as is known.
    from_ns: u64,
    at_ns: u64,
    text: &'a str,
}

/// `FROM_NS AT_NS FILE`, then the text.
fn change<'a>(number: &str, fact: &'a str) -> Option<(&'a str, Change<'a>)> {
    let (head, text) = fact.split_once('\n').unwrap_or((fact, ""));
    let (from_ns, rest) = head.split_once(' ')?;
    let (at_ns, file) = rest.split_once(' ')?;
    let (number, from_ns, at_ns) =
        (number.parse().ok()?, from_ns.parse().ok()?, at_ns.parse().ok()?);
    Some((file, Change { number, from_ns, at_ns, text }))
}
