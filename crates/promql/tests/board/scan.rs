//! What an expression asks for, as its words say: metrics, labels of matchers and lists, lengths of ranges.
//!
//! It is read by words alone and by neither of the engines: series are made of this, also where one of them
//! does not understand the expression.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// A matcher: label, operator, value.
pub(crate) type Matcher = (String, String, String);

#[derive(Debug, Default)]
pub(crate) struct Selector {
    pub(crate) metric: String,
    pub(crate) matchers: Vec<Matcher>,
    /// It stands in `rate` or the like.
    pub(crate) is_rate: bool,
    /// Labels that `label_replace` around it reads, and its expressions.
    pub(crate) read: BTreeMap<String, String>,
    /// Which word it is.
    pub(crate) word: usize,
}

#[derive(Debug, Default)]
pub(crate) struct Scanned {
    pub(crate) selectors: Vec<Selector>,
    /// Labels of `by`, and of what is taken over from the other side.
    pub(crate) groups: BTreeSet<String>,
    /// Labels of `on`, by which series find each other.
    pub(crate) keys: BTreeSet<String>,
    /// Labels of `without` and `ignoring`, which not all have.
    pub(crate) left_out: BTreeSet<String>,
    pub(crate) has_buckets: bool,
    /// Which of equal values it takes matters.
    pub(crate) ranks: bool,
    /// The longest range or offset.
    pub(crate) longest_ms: i64,
}

#[derive(Debug, PartialEq)]
enum Word {
    Name(String),
    Text(String),
    Number(String),
    Sign(String),
}

fn words(text: &str) -> Vec<Word> {
    let mut found = Vec::new();
    let mut letters = text.chars().peekable();
    let is_part =
        |letter: &char| letter.is_ascii_alphanumeric() || *letter == '_' || *letter == ':';
    while let Some(letter) = letters.next() {
        match letter {
            '#' => while letters.next_if(|letter| *letter != '\n').is_some() {},
            '"' | '\'' | '`' => {
                let mut said = String::new();
                while let Some(inside) = letters.next_if(|inside| *inside != letter) {
                    match inside {
                        '\\' if letter != '`' => match letters.next() {
                            Some('n') => said.push('\n'),
                            Some('t') => said.push('\t'),
                            other => said.extend(other),
                        },
                        _ => said.push(inside),
                    }
                }
                letters.next();
                found.push(Word::Text(said));
            }
            '0'..='9' | '.' => {
                let mut said = String::from(letter);
                let part = |letter: &char| letter.is_ascii_alphanumeric() || *letter == '.';
                while let Some(next) = letters.next_if(part) {
                    said.push(next);
                }
                found.push(Word::Number(said));
            }
            _ if letter == '_' || letter == ':' || letter.is_ascii_alphabetic() => {
                let mut said = String::from(letter);
                while let Some(next) = letters.next_if(is_part) {
                    said.push(next);
                }
                // `[1h:5m]`: the colon is no name.
                match said.strip_prefix(':') {
                    Some(step) => found.push(Word::Number(step.to_owned())),
                    None => found.push(Word::Name(said)),
                }
            }
            '=' | '!' => {
                let mut said = String::from(letter);
                said.extend(letters.next_if(|next| matches!(next, '~' | '=')));
                found.push(Word::Sign(said));
            }
            _ if letter.is_whitespace() => {}
            _ => found.push(Word::Sign(letter.to_string())),
        }
    }
    found
}

/// Words that are no metrics, though no bracket follows.
const WORDS: [&str; 11] =
    ["and", "or", "unless", "bool", "offset", "atan2", "inf", "nan", "start", "end", "default"];
const AGGREGATIONS: [&str; 13] = [
    "sum",
    "avg",
    "min",
    "max",
    "count",
    "group",
    "stddev",
    "stdvar",
    "topk",
    "bottomk",
    "quantile",
    "count_values",
    "limitk",
];
const LISTS: [&str; 6] = ["by", "without", "on", "ignoring", "group_left", "group_right"];
const RATES: [&str; 4] = ["rate", "irate", "increase", "resets"];

pub(crate) fn scanned(text: &str) -> Scanned {
    let words = words(text);
    let mut scanned = Scanned::default();
    let (mut is_rate, mut replaced) = (false, Vec::new());
    let mut at = 0;
    let is_sign = |at: usize, sign: &str| matches!(words.get(at), Some(Word::Sign(s)) if s == sign);
    while at < words.len() {
        match &words[at] {
            Word::Name(name) => {
                let lower = name.to_ascii_lowercase();
                if LISTS.contains(&lower.as_str()) && is_sign(at + 1, "(") {
                    at = list(&words, at + 2, &lower, &mut scanned);
                    continue;
                }
                if is_sign(at + 1, "(") || AGGREGATIONS.contains(&lower.as_str()) {
                    is_rate = RATES.contains(&lower.as_str());
                    scanned.has_buckets |= lower.starts_with("histogram_");
                    scanned.ranks |= lower == "topk" || lower == "bottomk";
                    if lower == "label_replace" {
                        replaced.extend(replacement(&words, at + 1));
                    }
                } else if !WORDS.contains(&lower.as_str()) {
                    let matchers = is_sign(at + 1, "{").then(|| matchers(&words[at + 2..]));
                    let matchers = matchers.unwrap_or_default();
                    let metric = name.clone();
                    let selector =
                        Selector { metric, matchers, is_rate, word: at, ..Selector::default() };
                    scanned.selectors.push(selector);
                    at += 1;
                    if is_sign(at, "{") {
                        at = behind(&words, at, "}");
                    }
                    continue;
                }
            }
            Word::Sign(sign) if sign == "{" => {
                let matchers = matchers(&words[at + 1..]);
                let name = matchers.iter().find(|matcher| matcher.0 == "__name__");
                let metric = name.map_or("up", |matcher| matcher.2.as_str()).to_owned();
                let selector =
                    Selector { metric, matchers, is_rate, word: at, ..Selector::default() };
                scanned.selectors.push(selector);
                at = behind(&words, at, "}");
                continue;
            }
            Word::Number(number) => {
                let length_ms = milliseconds(number).unwrap_or(0);
                scanned.longest_ms = scanned.longest_ms.max(length_ms);
            }
            _ => {}
        }
        at += 1;
    }
    for selector in &mut scanned.selectors {
        let around = replaced.iter().filter(|(within, ..)| within.contains(&selector.word));
        selector.read.extend(around.map(|(_, label, pattern)| (label.clone(), pattern.clone())));
    }
    scanned
}

/// Behind the next such sign.
fn behind(words: &[Word], at: usize, sign: &str) -> usize {
    let is = |word: &Word| matches!(word, Word::Sign(found) if found == sign);
    words[at..].iter().position(is).map_or(words.len(), |length| at + length + 1)
}

/// A list of labels, from behind its bracket.
fn list(words: &[Word], at: usize, of: &str, scanned: &mut Scanned) -> usize {
    let end = behind(words, at, ")");
    for word in &words[at..end] {
        if let Word::Name(name) = word {
            match of {
                "on" => scanned.keys.insert(name.clone()),
                "without" | "ignoring" => scanned.left_out.insert(name.clone()),
                _ => scanned.groups.insert(name.clone()),
            };
        }
    }
    end
}

fn matchers(words: &[Word]) -> Vec<Matcher> {
    let end = behind(words, 0, "}");
    let mut found = Vec::new();
    for three in words[..end].windows(3) {
        if let [Word::Name(label), Word::Sign(operator), Word::Text(value)] = three {
            found.push((label.clone(), operator.clone(), value.clone()));
        }
    }
    found
}

/// Of a `label_replace`, from its bracket on: its words, and its last two texts, a label and what it must match.
fn replacement(words: &[Word], start: usize) -> Option<(Range<usize>, String, String)> {
    let (mut depth, mut texts) = (0, Vec::new());
    for (at, word) in words.iter().enumerate().skip(start) {
        match word {
            Word::Sign(sign) if sign == "(" => depth += 1,
            Word::Sign(sign) if sign == ")" => depth -= 1,
            Word::Text(text) if depth == 1 => texts.push(text.clone()),
            _ => {}
        }
        if depth == 0 {
            let pattern = texts.pop()?;
            return Some((start..at, texts.pop()?, pattern));
        }
    }
    None
}

/// The length of a duration such as `1h30m`.
fn milliseconds(text: &str) -> Option<i64> {
    let (mut sum, mut rest) = (0_i64, text);
    while !rest.is_empty() {
        let digits = rest.find(|letter: char| !letter.is_ascii_digit())?;
        let count: i64 = rest[..digits].parse().ok()?;
        let units = [
            ("ms", 1),
            ("s", 1_000),
            ("m", 60_000),
            ("h", 3_600_000),
            ("d", 86_400_000),
            ("w", 604_800_000),
            ("y", 31_536_000_000),
        ];
        let (unit, unit_ms) = units.iter().find(|(unit, _)| rest[digits..].starts_with(unit))?;
        sum = sum.checked_add(count.checked_mul(*unit_ms)?)?;
        rest = &rest[digits + unit.len()..];
    }
    Some(sum)
}

#[test]
fn words_of_an_expression_say_what_it_asks_for() {
    let found = scanned(
        "sum by (pod, le) (rate(a_bucket{b=\"c\",d!~\"e|f\",}[5m])) / on (g) group_left (h) i:j:k \
         offset 1h30m or label_replace({__name__=\"l\"}, \"m\", \"$1\", \"n\", \"(o.*)\")",
    );
    let metrics: Vec<&str> = found.selectors.iter().map(|one| one.metric.as_str()).collect();
    assert_eq!(metrics, ["a_bucket", "i:j:k", "l"]);
    assert_eq!(found.selectors[0].matchers.len(), 2);
    assert!(found.selectors[0].is_rate);
    assert_eq!(found.groups.iter().collect::<Vec<_>>(), ["h", "le", "pod"]);
    assert_eq!(found.keys.iter().collect::<Vec<_>>(), ["g"]);
    assert_eq!(found.selectors[2].read.get("n").map(String::as_str), Some("(o.*)"));
    assert!(found.selectors[1].read.is_empty());
    assert_eq!(found.longest_ms, 5_400_000);
}
