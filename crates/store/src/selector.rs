//! Which series are meant, in the way of Prometheus: `temp{site="a",line=~"3.*",x!="y",z!~".."}`,
//! `{site="a"}`, or a metric alone. A metric or label whose own name has blanks or the like stands in
//! quotes inside the braces, as in Prometheus 3: `{"living room","data centre"="x"}`.
//!
//! A label that a series does not have has the empty value. Regular expressions match the whole
//! value; their size is bounded, and they take time linear in the value. The metric can be matched
//! as the label `__name__`.
//!
//! Invariant: any text is a selector or an error that names position, expected and found; a series
//! matches exactly if a simple model says so. Held by `tests/selector.rs`.

use baro_ondisk::{NameParser, is_plain_name, name_end};
use regex::{Regex, RegexBuilder};
use std::fmt;

/// The metric, as a label.
const METRIC: &str = "__name__";
/// The whole name, as no label can be called.
const WHOLE: &str = "";
/// Longest selector; bounds what its regular expressions may be made of.
const SELECTOR_BYTES_MAX: usize = 16 << 10;
/// Most matchers of a selector.
const MATCHERS_MAX: usize = 64;
/// Memory of a compiled regular expression, and of its cache.
const REGEX_BYTES_MAX: usize = 1 << 20;
/// Groups in groups of a regular expression.
const REGEX_NEST_MAX: u32 = 50;

/// Which series are meant, in the way of Prometheus: `temp{site="a",line=~"3.*"}`, or a name alone.
#[derive(Clone, Debug)]
pub struct Selector {
    text: String,
    matchers: Vec<Matcher>,
}

#[derive(Clone, Debug)]
struct Matcher {
    label: String,
    test: Test,
}

#[derive(Clone, Debug)]
enum Test {
    Equal(String),
    NotEqual(String),
    Like(Regex),
    NotLike(Regex),
}

/// A text that is no selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectorError {
    /// The text, or its beginning.
    pub text: String,
    /// Where it stops being one: characters before it.
    pub position: usize,
    /// What could stand there.
    pub expected: String,
    /// What does.
    pub found: String,
}

impl fmt::Display for SelectorError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SelectorError { text, position, expected, found } = self;
        write!(
            f,
            "selector {text}: at character {}: expected {expected}, found {found}",
            position + 1
        )
    }
}

impl std::error::Error for SelectorError {}

impl Test {
    fn holds(&self, value: &str) -> bool {
        match self {
            Test::Equal(wanted) => value == wanted,
            Test::NotEqual(unwanted) => value != unwanted,
            Test::Like(regex) => regex.is_match(value),
            Test::NotLike(regex) => !regex.is_match(value),
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for Selector {
    type Err = SelectorError;

    fn from_str(text: &str) -> Result<Self, SelectorError> {
        Selector::parse(text)
    }
}

impl Selector {
    /// Reads a selector. `{}` selects everything.
    ///
    /// # Errors
    /// It is none, or too long, or one of its regular expressions is none or too large.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let mut parsing = Parsing { text, at: 0 };
        if text.len() > SELECTOR_BYTES_MAX {
            let expected = format!("at most {SELECTOR_BYTES_MAX} bytes");
            return Err(parsing.error(0, &expected, format!("{} bytes", text.len())));
        }
        let matchers = parsing.selector()?;
        Ok(Selector { text: text.trim().to_owned(), matchers })
    }

    /// The series whose metric this is, with any labels.
    #[must_use]
    pub fn metric(name: &str) -> Self {
        let test = Test::Equal(name.to_owned());
        let matchers = vec![Matcher { label: METRIC.to_owned(), test }];
        Selector { text: name.to_owned(), matchers }
    }

    /// The series of exactly this name.
    #[must_use]
    pub fn name(name: &str) -> Self {
        let test = Test::Equal(name.to_owned());
        let matchers = vec![Matcher { label: WHOLE.to_owned(), test }];
        Selector { text: name.to_owned(), matchers }
    }

    /// Whether it selects the series `name`, which `parser` has parsed last.
    pub(crate) fn matches_parsed(&self, name: &str, parser: &NameParser) -> bool {
        self.matchers.iter().all(|matcher| {
            if matcher.label == WHOLE {
                return matcher.test.holds(name);
            }
            if matcher.label == METRIC {
                return matcher.test.holds(&parser.metric(name));
            }
            let mut labels = (0..parser.len()).filter_map(|at| parser.label_at(name, at));
            match labels.find(|(label, _)| *label == matcher.label) {
                Some((_, value)) => matcher.test.holds(&value),
                None => matcher.test.holds(""),
            }
        })
    }

    /// Whether it selects the series `name`.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let mut parser = NameParser::new();
        parser.parse(name);
        self.matches_parsed(name, &parser)
    }

    /// What all names that it selects begin with: their metric, or name, if it is given.
    pub(crate) fn prefix(&self) -> &str {
        let metric = self.matchers.iter().find_map(|matcher| match &matcher.test {
            // One in quotes may stand bare, too, where there are no labels.
            Test::Equal(metric) if matcher.label == METRIC && is_plain_name(metric) => {
                Some(metric.as_str())
            }
            Test::Equal(name) if matcher.label == WHOLE => Some(name.as_str()),
            _ => None,
        });
        metric.unwrap_or("")
    }
}

struct Parsing<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parsing<'a> {
    fn error(&self, at: usize, expected: &str, found: String) -> SelectorError {
        let text: String = self.text.chars().take(200).collect();
        let position = self.text.get(..at).map_or(0, |before| before.chars().count());
        SelectorError { text, position, expected: expected.to_owned(), found }
    }

    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or("")
    }

    fn wrong<T>(&self, expected: &str) -> Result<T, SelectorError> {
        let found = match self.rest().chars().next() {
            Some(character) => format!("{character:?}"),
            None => "the end".to_owned(),
        };
        Err(self.error(self.at, expected, found))
    }

    fn space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    fn takes(&mut self, token: &str) -> bool {
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn word(&mut self) -> Option<&'a str> {
        let end = name_end(self.text, self.at);
        let word = self.text.get(self.at..end).filter(|word| !word.is_empty())?;
        self.at = end;
        Some(word)
    }

    fn selector(&mut self) -> Result<Vec<Matcher>, SelectorError> {
        let mut matchers = Vec::new();
        self.space();
        if let Some(metric) = self.word() {
            let test = Test::Equal(metric.to_owned());
            matchers.push(Matcher { label: METRIC.to_owned(), test });
        }
        self.space();
        if self.takes("{") {
            self.space();
            while !self.takes("}") {
                let start = self.at;
                let matcher = self.matcher(matchers.is_empty())?;
                matchers.push(matcher);
                if matchers.len() > MATCHERS_MAX {
                    let expected = format!("at most {MATCHERS_MAX} matchers");
                    return Err(self.error(start, &expected, "one more".to_owned()));
                }
                self.space();
                if self.takes(",") {
                    self.space();
                } else if !self.rest().starts_with('}') {
                    return self.wrong("',' or '}'");
                }
            }
        } else if matchers.is_empty() {
            return self.wrong("a metric or '{'");
        }
        self.space();
        if self.rest().is_empty() { Ok(matchers) } else { self.wrong("the end or '{'") }
    }

    /// A label with its test; the `first` may be a metric in quotes.
    fn matcher(&mut self, first: bool) -> Result<Matcher, SelectorError> {
        let quoted = self.rest().starts_with('"');
        let nothing = self.rest().starts_with("\"\"");
        let label = match self.word() {
            Some(word) => word.to_owned(),
            None if quoted && !nothing => self.value()?,
            None => return self.wrong("a label or '}'"),
        };
        self.space();
        if quoted && first && self.rest().starts_with([',', '}']) {
            return Ok(Matcher { label: METRIC.to_owned(), test: Test::Equal(label) });
        }
        let operator = ["=~", "!~", "!=", "="].into_iter().find(|token| self.takes(token));
        let Some(operator) = operator else { return self.wrong("=, !=, =~ or !~") };
        self.space();
        let start = self.at;
        let value = self.value()?;
        let test = match operator {
            "=" => Test::Equal(value),
            "!=" => Test::NotEqual(value),
            "=~" => Test::Like(self.regex(&value, start)?),
            _ => Test::NotLike(self.regex(&value, start)?),
        };
        Ok(Matcher { label, test })
    }

    /// A value in double or single quotes. A backslash before anything but a quote, another
    /// backslash or an n stays: regular expressions have their own.
    fn value(&mut self) -> Result<String, SelectorError> {
        let quote = match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => quote,
            _ => return self.wrong("a value in quotes"),
        };
        let mut value = String::new();
        let mut characters = self.rest().char_indices().skip(1);
        while let Some((at, character)) = characters.next() {
            match character {
                '\\' => match characters.next() {
                    Some((_, '\\')) => value.push('\\'),
                    Some((_, 'n')) => value.push('\n'),
                    Some((_, found @ ('"' | '\''))) => value.push(found),
                    Some((_, other)) => value.extend(['\\', other]),
                    None => break,
                },
                found if found == quote => {
                    self.at += at + 1;
                    return Ok(value);
                }
                other => value.push(other),
            }
        }
        self.at = self.text.len();
        self.wrong(&format!("{quote} at the end of the value"))
    }

    fn regex(&self, pattern: &str, at: usize) -> Result<Regex, SelectorError> {
        let build = |pattern: &str| {
            RegexBuilder::new(pattern)
                .size_limit(REGEX_BYTES_MAX)
                .dfa_size_limit(REGEX_BYTES_MAX)
                .nest_limit(REGEX_NEST_MAX)
                .build()
        };
        // By itself first: an unbalanced one would undo the anchors around it.
        let built = build(pattern).and_then(|_| build(&format!("^(?s:{pattern})$")));
        built.map_err(|error| {
            let why = match error {
                regex::Error::CompiledTooBig(limit) => format!("one of more than {limit} bytes"),
                // The last line says what; those before it draw where.
                other => other.to_string().lines().last().unwrap_or_default().trim().to_owned(),
            };
            let expected = format!("a regular expression of at most {REGEX_BYTES_MAX} bytes");
            self.error(at, &expected, format!("{pattern:?}: {why}"))
        })
    }
}
