//! What selectors on the command line select: one place for all verbs that take them. Beside names and
//! the selectors of Prometheus a shell's patterns are understood, and where nothing has a name, those
//! that somebody may have meant are told.
//!
//! Invariant: a name that something has stands for that, whatever signs are in it. Held by
//! `patterns_select_and_a_slip_is_told`.

use crate::failure::{Failure, Mistake, Result};
use crate::nearest::Nearest;
use baro_ondisk::NameParser;
use baro_store::{ChannelAs, Error, Selection, Selector, Store};
use std::collections::BTreeSet;
use std::ops::ControlFlow;

/// So many names are looked at for those that were meant: in a tenth of a second.
const LOOKED_AT_MAX: usize = 100_000;

/// What `selectors` select; without any everything, fields instead of the frames they are in.
pub(crate) fn of(store: &Store, selectors: &[String]) -> Result<Selection> {
    if selectors.is_empty() {
        return Ok(Selection::all(store.catalog(), true)?);
    }
    named(store, selectors)
}

/// What these select, of which there is one at least.
pub(crate) fn named(store: &Store, selectors: &[String]) -> Result<Selection> {
    let mut selection = Vec::new();
    for text in selectors {
        selection.push(understood(store, text)?);
    }
    Selection::named(store.catalog(), &selection).map_err(|error| match error {
        Error::UnknownName(unknown) if unknown.fields.is_none() => {
            let typed = selection.iter().position(|text| *text == unknown.name);
            let typed = typed.and_then(|at| selectors.get(at)).unwrap_or(&unknown.name);
            unknown_name(store, typed)
        }
        other => unquoted(other),
    })
}

/// What one means, for who lists names.
pub(crate) fn selector(store: &Store, text: &str) -> Result<Selector> {
    match store.catalog().lookup(text)? {
        Some(found) => Ok(Selector::name(&found.name)),
        None => {
            let parsed = Selector::parse(&understood(store, text)?);
            parsed.map_err(|error| unquoted(Error::from(error)))
        }
    }
}

/// The same, with the fields of all channels that have a layout, beside their frames.
pub(crate) fn with_fields(store: &Store, selectors: &[String]) -> Result<Selection> {
    Ok(named(store, selectors)?.channels_as(store.catalog(), |_| ChannelAs::Both)?)
}

/// The same, where channels that a pattern meets stand for their fields; one that is named is frames.
pub(crate) fn with_fields_of_patterns(store: &Store, selectors: &[String]) -> Result<Selection> {
    let selection = named(store, selectors)?;
    let mut typed = BTreeSet::new();
    for text in selectors {
        typed.extend(store.catalog().lookup(text)?.map(|found| found.id));
    }
    let shown = |id| if typed.contains(&id) { ChannelAs::Frames } else { ChannelAs::Fields };
    Ok(selection.channels_as(store.catalog(), shown)?)
}

/// What selects the fields of a channel, if it has a layout.
fn fields_of(store: &Store, channel: &str) -> Result<Option<String>> {
    let found = store.catalog().lookup(channel)?;
    Ok(found.is_some_and(|found| found.layout.is_some()).then(|| format!("{channel}.*")))
}

/// A failure, or a mistake in a selector; where no quotes are around a label's value, who may have taken them.
fn unquoted(error: Error) -> Failure {
    match error {
        Error::Selector(error) => mistaken(error.to_string()),
        other => other.into(),
    }
}

fn mistaken(mut said: String) -> Failure {
    if said.contains("expected a value in quotes") {
        said.push_str(
            " (has a shell taken them? Put the selector in single quotes: 'temp{room=\"a\"}')",
        );
    }
    Mistake::new(said).into()
}

/// A pattern as a selector, with what is said of labels behind it; all else as it is.
fn understood(store: &Store, text: &str) -> Result<String> {
    let catalog = store.catalog();
    let (name, labels) = text.split_at(text.find('{').unwrap_or(text.len()));
    let is_pattern = name.contains(['*', '?']) && !name.starts_with('"');
    if !is_pattern || catalog.lookup(text)?.is_some() {
        return Ok(text.to_owned());
    }
    // All fields of a channel.
    if let Some(channel) = text.strip_suffix(".*")
        && catalog.lookup(channel)?.is_some_and(|found| found.layout.is_some())
    {
        return Ok(text.to_owned());
    }
    // A mistake in the labels is told of what was typed, not of what is made of it.
    let like = "x".repeat(name.chars().count()) + labels;
    if let Err(error) = Selector::parse(&like) {
        return Err(mistaken(error.to_string().replacen(&like, text, 1)));
    }
    let labels = labels.strip_prefix('{').unwrap_or(labels).trim_start();
    let between = if labels.is_empty() || labels.starts_with('}') { "" } else { "," };
    let end = if labels.is_empty() { "}" } else { labels };
    Ok(format!("{{__name__=~\"{}\"{between}{end}", as_regex(name.trim_end())))
}

/// A shell's pattern as a regular expression that means the same.
fn as_regex(pattern: &str) -> String {
    let sign = |sign: char| match sign {
        '*' => ".*".to_owned(),
        '?' => ".".to_owned(),
        sign if sign.is_alphanumeric() || sign == '_' => sign.to_string(),
        sign => format!("\\x{{{:x}}}", u32::from(sign)),
    };
    pattern.chars().map(sign).collect()
}

/// That it may be there all the same, where the file with the names is damaged.
fn unknown_name(store: &Store, text: &str) -> Failure {
    let failure = not_there(store, text);
    let damage = store.catalog().damage();
    match damage.first() {
        None => failure,
        Some(damage) => {
            format!("{failure}; names are missing: {damage}; {}", damage.next_step()).into()
        }
    }
}

fn not_there(store: &Store, text: &str) -> Failure {
    let wanted = text.split('{').next().unwrap_or(text).trim();
    let is_pattern = wanted.contains(['*', '?']);
    let letters = wanted.replace(['*', '?'], "");
    let wanted = if is_pattern { letters.as_str() } else { wanted };
    let (mut nearest, mut parser, mut looked_at) = (Nearest::to(wanted), NameParser::new(), 0);
    let mut is_metric = false;
    let looked = store.catalog().scan(|found| {
        parser.parse(found.name);
        let metric = parser.metric(found.name);
        is_metric |= *metric == *wanted;
        nearest.look(&metric);
        looked_at += 1;
        if looked_at < LOOKED_AT_MAX { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    if let Err(error) = looked {
        return error.into();
    }
    if is_metric && !is_pattern {
        return format!("{text}: no series of {wanted} has such labels; baro list shows all")
            .into();
    }
    if let Some(next) = several(store, text) {
        return format!("{text}: no such series or channel; {next}").into();
    }
    let next = match (other_language(text), nearest.question()) {
        (Some(next), _) => next.to_owned(),
        (None, Some(question)) => format!("{question} baro list shows all"),
        (None, None) => "baro list shows all".to_owned(),
    };
    if !is_pattern {
        return format!("{text}: no such series or channel; {next}").into();
    }
    let regex = match text.contains(".*") && !text.contains('{') {
        true => format!(
            " (* is any letters here, and . a point; as a regular expression: '{{__name__=~\"{text}\"}}')"
        ),
        false => String::new(),
    };
    format!("{text}: no series or channel has such a name{regex}; {next}").into()
}

/// What to type where several names stand in one word, or the end of an interval where names do.
fn several(store: &Store, text: &str) -> Option<String> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 4 && text.get(4..).is_some_and(|rest| rest.starts_with('-')) {
        return Some(format!("the end of an interval is an option: --to {text}"));
    }
    let names: Vec<&str> = text.split([',', ' ']).filter(|name| !name.is_empty()).collect();
    let is_there = |name: &&str| store.catalog().lookup(name).is_ok_and(|found| found.is_some());
    let all = names.len() > 1 && names.len() < 100 && names.iter().all(is_there);
    all.then(|| format!("several names are words of their own: {}", names.join(" ")))
}

/// Functions of PromQL that people think of first.
const FUNCTIONS: [&str; 16] = [
    "rate",
    "irate",
    "increase",
    "delta",
    "deriv",
    "sum",
    "avg",
    "min",
    "max",
    "count",
    "stddev",
    "topk",
    "bottomk",
    "quantile",
    "histogram_quantile",
    "abs",
];

/// What to do instead, if somebody asks in the language of another program.
fn other_language(text: &str) -> Option<&'static str> {
    let first = text.split_whitespace().next().unwrap_or_default();
    let begins = |word: &str| first.len() < text.len() && first.eq_ignore_ascii_case(word);
    if ["select", "from", "show", "with"].into_iter().any(begins) {
        return Some("queries in SQL: baro query STORE -o FILE.parquet, and ask DuckDB");
    }
    let (function, behind) = text.split_once('(').unwrap_or_default();
    let calls = FUNCTIONS.contains(&function.trim_end()) || function.ends_with("_over_time");
    let by = || [" by", " without"].iter().any(|by| function.trim_end().ends_with(by));
    let is_promql =
        calls && behind.contains(')') || by() || text.ends_with("m]") || text.ends_with("s]");
    is_promql.then_some(
        "expressions of PromQL: baro serve answers them; here a series, as in baro query STORE temp \
         --every 1m --agg rate",
    )
}

/// The same for verbs that hand out values, which frames without a layout are not.
pub(crate) fn of_values(store: &Store, selectors: &[String]) -> Result<Selection> {
    let selection = of(store, selectors)?;
    // Patterns meet channels too, which have no values: only who names one is told.
    let mut all = selectors.to_vec();
    let frames = || selection.columns().iter().filter(|column| column.is_frames());
    for channel in frames().filter(|_| !selectors.is_empty()) {
        all.extend(fields_of(store, &channel.name)?);
    }
    let only_frames = all.len() == selectors.len() && frames().count() == selection.columns().len();
    let is_named = |name: &String| selectors.contains(name) || only_frames && !selectors.is_empty();
    if let Some(channel) = frames().find(|channel| is_named(&channel.name)) {
        let name = &channel.name;
        return Err(format!(
            "{name}: expected a series, or a field as {name}.FIELD or {name}.*, found a channel of \
             frames; baro cat and export hand out frames as they are"
        )
        .into());
    }
    // Of those that have a layout the fields are values.
    if all.len() == selectors.len() { Ok(selection) } else { of(store, &all) }
}
