//! Scripts of Prometheus' tests: what they load, and what they ask.

use baro_promql::testing::Memory;
use baro_promql::{ABSENT, Labels, Times};
use promql_parser::parser::Expr;
use std::collections::BTreeSet;

const MS: i64 = 1_000_000;

/// What an evaluation is expected to give.
#[derive(Debug, Clone)]
pub(crate) enum Expected {
    Series(Vec<(Labels, Vec<f64>)>),
    Scalar(f64),
    Text(String),
}

/// An evaluation of a script.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) line: usize,
    pub(crate) expression: String,
    pub(crate) times: Times,
    pub(crate) fails: bool,
    pub(crate) ordered: bool,
    pub(crate) expected: Expected,
    /// What is expected has native histograms.
    native: bool,
}

/// What has been loaded.
#[derive(Debug, Default)]
pub(crate) struct Script {
    pub(crate) memory: Memory,
    /// Names of metrics that have native histograms.
    native: BTreeSet<String>,
}

impl Script {
    /// Whether it asks for native histograms, or for series among which some are.
    pub(crate) fn is_native(&self, asked: &Asked) -> bool {
        let of = &asked.expression;
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | ':');
        let named = |name: &String| {
            of.match_indices(name.as_str()).any(|(at, name)| {
                let (before, after) = (&of[..at], &of[at + name.len()..]);
                !before.chars().next_back().is_some_and(is_part)
                    && !after.chars().next().is_some_and(is_part)
            })
        };
        let nameless = |(at, _): (usize, &str)| {
            of[..at].chars().next_back().is_none_or(|before| !before.is_alphanumeric())
        };
        let any = of.contains("__name__") || of.match_indices('{').any(nameless);
        let any = any && !self.native.is_empty();
        asked.native || of.contains("{{") || any || self.native.iter().any(named)
    }
}

pub(crate) fn run(text: &str, mut each: impl FnMut(&Asked, &Script)) {
    let lines: Vec<&str> = text.lines().collect();
    let mut script = Script::default();
    let mut at = 0;
    while let Some(line) = lines.get(at) {
        at += 1;
        let line = line.trim();
        let begin = at;
        let mut block = || {
            let mut end = begin;
            while lines
                .get(end)
                .is_some_and(|line| line.starts_with([' ', '\t']) && !line.trim().is_empty())
            {
                end += 1;
            }
            at = end;
            lines[begin..end].iter().map(|line| line.trim()).filter(|line| !line.starts_with('#'))
        };
        match line.split_whitespace().next() {
            Some("clear") => script = Script::default(),
            Some(verb @ ("load" | "load_with_nhcb")) => {
                let step_ns = duration_ns(line.split_whitespace().nth(1).unwrap());
                for line in block() {
                    let (labels, values) = series(line);
                    let name = labels.get("__name__").to_owned();
                    if verb == "load_with_nhcb" {
                        let base = name.strip_suffix("_bucket").unwrap_or(&name);
                        script.native.insert(base.to_owned());
                    }
                    for (step, value) in (0..).zip(values) {
                        match value {
                            Point::Value(value) => {
                                script.memory.insert(labels.clone(), step * step_ns, value);
                            }
                            Point::Native => drop(script.native.insert(name.clone())),
                            Point::None => {}
                        }
                    }
                }
            }
            Some(verb) if verb.starts_with("eval") => {
                let asked = asked(begin, verb, line, block());
                each(&asked, &script);
            }
            _ => {}
        }
    }
}

fn asked<'a>(number: usize, verb: &str, line: &str, block: impl Iterator<Item = &'a str>) -> Asked {
    let mut words = line.split_whitespace();
    let mut word = || words.next().unwrap();
    word();
    let (times, skip) = match word() {
        "instant" => {
            word();
            (Times::at(duration_ns(word())), 4)
        }
        _ => {
            word();
            let from = duration_ns(word());
            word();
            let to = duration_ns(word());
            word();
            (Times::range(from, to, duration_ns(word()).max(1)), 8)
        }
    };
    let mut expression = line;
    for _ in 0..skip {
        let end = expression.find(char::is_whitespace).unwrap();
        expression = expression[end..].trim_start();
    }
    let mut asked = Asked {
        line: number,
        expression: expression.to_owned(),
        times,
        fails: verb == "eval_fail",
        ordered: verb == "eval_ordered",
        expected: Expected::Series(Vec::new()),
        native: false,
    };
    let mut found = Vec::new();
    for line in block {
        if let Some(what) = line.strip_prefix("expect ") {
            asked.fails |= what.starts_with("fail");
            asked.ordered |= what.starts_with("ordered");
            if let Some(text) = what.strip_prefix("string ") {
                let text = match promql_parser::parser::parse(text.trim()) {
                    Ok(Expr::StringLiteral(text)) => text.val,
                    other => panic!("{other:?}"),
                };
                asked.expected = Expected::Text(text);
            }
            continue;
        }
        if line.starts_with("expected_fail") {
            continue;
        }
        if let Ok(number) = number_of(line) {
            asked.expected = Expected::Scalar(number);
            continue;
        }
        let (labels, points) = series(line);
        let mut values = Vec::new();
        for point in points {
            match point {
                Point::Value(value) => values.push(value),
                Point::None => values.push(ABSENT),
                Point::Native => asked.native = true,
            }
        }
        found.push((labels, values));
    }
    if let Expected::Series(series) = &mut asked.expected {
        *series = found;
    }
    asked
}

#[derive(Clone, Copy, Debug)]
enum Point {
    Value(f64),
    None,
    Native,
}

fn number_of(text: &str) -> Result<f64, std::num::ParseFloatError> {
    match text {
        "Inf" | "+Inf" => Ok(f64::INFINITY),
        "-Inf" => Ok(f64::NEG_INFINITY),
        "NaN" => Ok(f64::NAN),
        _ => match text.strip_prefix("0x") {
            Some(hex) => Ok(i64::from_str_radix(hex, 16).unwrap_or(0) as f64),
            None => text.parse(),
        },
    }
}

/// `metric{labels} values`.
fn series(line: &str) -> (Labels, Vec<Point>) {
    let end = match line.starts_with('{')
        || line.find('{').is_some_and(|at| !line[..at].contains(char::is_whitespace))
    {
        true => {
            let (mut quoted, mut end, mut escaped) = (None, 0, false);
            for (at, letter) in line.char_indices() {
                match (quoted, letter) {
                    (Some(_), '\\') if !escaped => {
                        escaped = true;
                        continue;
                    }
                    (Some(quote), letter) if letter == quote && !escaped => quoted = None,
                    (None, '"' | '\'' | '`') => quoted = Some(letter),
                    (None, '}') => {
                        end = at + 1;
                        break;
                    }
                    _ => {}
                }
                escaped = false;
            }
            end
        }
        false => line.find(char::is_whitespace).unwrap_or(line.len()),
    };
    if let Some(name) = line[..end].split_once("@st").map(|(name, _)| name) {
        return (labels(name), vec![Point::Native]);
    }
    (labels(&line[..end]), points(line[end..].trim()))
}

fn labels(text: &str) -> Labels {
    // A selector without labels is none to the parser.
    if text == "{}" {
        return Labels::default();
    }
    let Ok(matchers) = baro_promql::matchers_of(text) else {
        // Labels without a value alone, or names without quotes that the parser does not take: what asks
        // for these is refused.
        return match text.starts_with('{') {
            true => Labels::default(),
            false => Labels::new([("__name__", text)]),
        };
    };
    Labels::new(matchers.into_iter().map(|matcher| (matcher.name, matcher.value)))
}

fn points(text: &str) -> Vec<Point> {
    let mut points = Vec::new();
    let mut rest = text;
    if text.contains("{{") || text.contains("@st") {
        return vec![Point::Native];
    }
    while !rest.is_empty() && !rest.starts_with('#') {
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        let (word, after) = rest.split_at(end);
        rest = after.trim_start();
        if let Some(count) = word.strip_prefix("_x") {
            points.extend(vec![Point::None; count.parse::<usize>().unwrap()]);
            continue;
        }
        match word {
            "_" => points.push(Point::None),
            "stale" => points.push(Point::Value(ABSENT)),
            _ => match word
                .rsplit_once('x')
                .filter(|(what, _)| *what != "0" || !word.starts_with("0x") || word.len() < 7)
            {
                None => points.push(Point::Value(
                    number_of(word).unwrap_or_else(|_| panic!("{word:?} of {text:?}")),
                )),
                Some((what, count)) => {
                    let count: usize = count.parse().unwrap();
                    let sign = what
                        .char_indices()
                        .skip(1)
                        .find(|(at, letter)| {
                            matches!(letter, '+' | '-') && !what[..*at].ends_with(['e', 'E'])
                        })
                        .map(|(at, _)| at);
                    let (start, step) = match sign {
                        Some(at) => {
                            let step = number_of(what[at..].trim_start_matches('+'));
                            let (Ok(start), Ok(step)) = (number_of(&what[..at]), step) else {
                                // Times at which series start: as little known here.
                                return vec![Point::Native];
                            };
                            (start, step)
                        }
                        None => (number_of(what).unwrap_or(ABSENT), 0.0),
                    };
                    let mut value = start;
                    for _ in 0..=count {
                        points.push(Point::Value(value));
                        value += step;
                    }
                }
            },
        }
    }
    points
}

/// `5m`, `1h30m`, `10s53ms`, or seconds.
fn duration_ns(text: &str) -> i64 {
    if let Ok(seconds) = text.parse::<f64>() {
        return (seconds * 1000.0).round() as i64 * MS;
    }
    let (sign, text) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (mut sum, mut rest) = (0, text);
    while !rest.is_empty() {
        let end = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap();
        let number: i64 = rest[..end].parse().unwrap_or_else(|_| panic!("{text:?}"));
        let unit_end = rest[end..]
            .find(|letter: char| letter.is_ascii_digit())
            .map_or(rest.len(), |at| end + at);
        let unit_ms = match &rest[end..unit_end] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            "d" => 86_400_000,
            "w" => 604_800_000,
            "y" => 31_536_000_000,
            other => panic!("{other:?} in {text:?}"),
        };
        sum += number * unit_ms;
        rest = &rest[unit_end..];
    }
    sign * sum * MS
}
