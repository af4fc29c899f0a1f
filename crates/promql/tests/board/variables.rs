//! Variables of Grafana in an expression, replaced as Grafana would.
//!
//! - Its own: a page of an hour with a point each 15 s. `$__interval` is 15 s, `$__rate_interval` four of them.
//! - A variable with one value, such as an interval or a constant: what was chosen when it was saved.
//! - Others have the values of a store that is not there. Behind `=~` they stand for all, `.*`, as "All" does;
//!   behind `=` for one value, in brackets for 5 minutes, in a list of labels for `instance`, else for 1.
//! - What no variable is named for stays, as `$1` in `label_replace` does.

use serde_json::Value;
use std::collections::BTreeMap;

/// Variables of a dashboard; `None` if its values are those of a store.
pub(crate) struct Variables(BTreeMap<String, Option<String>>);

/// Where in an expression a variable stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a text behind `=~`, behind `!~`, or any other.
    Regex,
    NoRegex,
    Text,
    Brackets,
    Labels,
    Name,
    Number,
}

impl Variables {
    pub(crate) fn of(board: &Value) -> Self {
        let mut all = BTreeMap::new();
        for one in board["templating"]["list"].as_array().into_iter().flatten() {
            if let Some(name) = one["name"].as_str() {
                all.insert(name.to_owned(), chosen(one));
            }
        }
        Variables(all)
    }

    /// The expression without variables.
    pub(crate) fn replaced(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let (mut quote, mut place_of_text) = (None, Place::Text);
        let mut at = 0;
        while let Some(letter) = text[at..].chars().next() {
            let here = &text[at..];
            if let Some((name, length)) = variable(here) {
                let place = match quote {
                    Some(_) => place_of_text,
                    None => place(&out, &here[length..]),
                };
                if let Some(value) = self.value(name, place) {
                    out.push_str(&value);
                    at += length;
                    continue;
                }
            }
            match quote {
                Some('"' | '\'') if letter == '\\' => {
                    let escaped = here.chars().nth(1).map_or(1, |next| 1 + next.len_utf8());
                    out.push_str(&here[..escaped]);
                    at += escaped;
                    continue;
                }
                Some(open) if open == letter => quote = None,
                None if matches!(letter, '"' | '\'' | '`') => {
                    quote = Some(letter);
                    place_of_text = match out.trim_end() {
                        before if before.ends_with("=~") => Place::Regex,
                        before if before.ends_with("!~") => Place::NoRegex,
                        _ => Place::Text,
                    };
                }
                _ => {}
            }
            out.push(letter);
            at += letter.len_utf8();
        }
        out
    }

    fn value(&self, name: &str, place: Place) -> Option<String> {
        let own = match name {
            "__rate_interval" => "1m",
            "__interval" => "15s",
            "__interval_ms" => "15000",
            "__range" => "3600s",
            "__range_s" => "3600",
            "__range_ms" => "3600000",
            _ => "",
        };
        if !own.is_empty() {
            return Some(own.to_owned());
        }
        if let Some(value) = self.0.get(name)? {
            return Some(value.clone());
        }
        let value = match place {
            Place::Regex => ".*",
            Place::NoRegex => "none",
            Place::Text | Place::Name => "x",
            Place::Brackets => "5m",
            Place::Labels => "instance",
            Place::Number => "1",
        };
        Some(value.to_owned())
    }
}

/// What was chosen when the dashboard was saved.
fn chosen(variable: &Value) -> Option<String> {
    let current = &variable["current"]["value"];
    // Of several the first.
    let current = current[0].as_str().or(current.as_str()).filter(|value| !value.is_empty());
    let query = variable["query"].as_str().unwrap_or_default();
    let first = query.split(',').next().unwrap_or_default();
    let first = first.rsplit_once(" : ").map_or(first, |(_, value)| value).trim();
    let is_all = |value: &str| value == "$__all" || value == "All";
    match variable["type"].as_str()? {
        "interval" => {
            let current = current.filter(|value| !value.contains("auto"));
            Some(current.unwrap_or("1m").to_owned())
        }
        "custom" => {
            let value = current.unwrap_or(first);
            (!is_all(value) && !value.is_empty()).then(|| value.to_owned())
        }
        "constant" => Some(query.to_owned()),
        "textbox" => Some(current.unwrap_or(query).to_owned()),
        _ => None,
    }
}

/// The variable that a text begins with, and how long it is written: `$a`, `${a}`, `${a:regex}`, `[[a]]`.
fn variable(text: &str) -> Option<(&str, usize)> {
    let word = |of: &str| {
        let end = of.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        end.unwrap_or(of.len())
    };
    let (open, close) = match text {
        _ if text.starts_with("${") => (2, "}"),
        _ if text.starts_with("[[") => (2, "]]"),
        _ if text.starts_with('$') => (1, ""),
        _ => return None,
    };
    let rest = &text[open..];
    let length = word(rest);
    let name = rest.get(..length).filter(|name| !name.is_empty())?;
    if close.is_empty() {
        return Some((name, open + length));
    }
    let behind = &rest[length..];
    let end = behind.find(close)?;
    let format = &behind[..end];
    let is_format = format.is_empty() || format.starts_with([':', '.']);
    is_format.then_some((name, open + length + end + close.len()))
}

/// Where outside of texts a variable stands.
fn place(before: &str, behind: &str) -> Place {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    if before.ends_with(is_part) || behind.starts_with(is_part) || behind.starts_with('{') {
        return Place::Name;
    }
    let before = before.trim_end();
    let opened = |open: char, close: char| before.rfind(open) > before.rfind(close);
    if opened('[', ']') || before.ends_with("offset") {
        return Place::Brackets;
    }
    let list = before.rfind('(').filter(|_| opened('(', ')'));
    let words = ["by", "without", "on", "ignoring", "group_left", "group_right"];
    let opener = list.map(|at| before[..at].trim_end().to_ascii_lowercase());
    match opener.is_some_and(|opener| words.iter().any(|word| opener.ends_with(word))) {
        true => Place::Labels,
        false => Place::Number,
    }
}

#[test]
fn variables_are_replaced_as_grafana_does() {
    let board = serde_json::json!({"templating": {"list": [
        {"name": "job", "type": "query"},
        {"name": "by", "type": "custom", "query": "Pod : pod,Node : node"},
        {"name": "verb", "type": "custom", "query": "GET,PUT", "current": {"value": ["$__all"]}},
        {"name": "every", "type": "interval", "current": {"value": "$__auto_interval_every"}},
    ]}});
    let variables = Variables::of(&board);
    let all = [
        (r#"a{job=~"$job",b="$job",c!~"${job:regex}"}"#, r#"a{job=~".*",b="x",c!~"none"}"#),
        ("rate(a[$__rate_interval]) + rate(b[$job])", "rate(a[1m]) + rate(b[5m])"),
        ("sum by ($by, ${job}) (a[[job]]_total[$every])", "sum by (pod, instance) (ax_total[1m])"),
        (
            r#"label_replace(a, "b", "$1", "c", "^d$")"#,
            r#"label_replace(a, "b", "$1", "c", "^d$")"#,
        ),
        (r#"topk($job, a{b="\"$job"})"#, r#"topk(1, a{b="\"x"})"#),
        (r#"a{verb=~"$verb"}"#, r#"a{verb=~".*"}"#),
        ("a offset $job / $__range_s", "a offset 5m / 3600"),
    ];
    for (text, expected) in all {
        assert_eq!(variables.replaced(text), expected);
    }
}
