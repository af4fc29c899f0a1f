//! The text of a query before it is parsed: what the parser does not take, or takes wrongly, is written
//! otherwise, and what would cost it much is refused.
//!
//! Invariant: the parser gets no query whose parts lie deeper in each other than [`DEPTH_MAX`], and no regular
//! expressions of more than [`REGEXES_BYTES_MAX`] in all. Held by `what_nests_too_deep_or_is_too_long_is_refused`
//! and `expressions_that_take_much_are_refused_before_they_are_made`.

mod escapes;

use crate::error::{Error, Result, execution};
use std::iter::Peekable;
use std::str::Chars;

/// Parts within each other.
pub(crate) const DEPTH_MAX: usize = 150;
/// Regular expressions of one query, as many as a selector may have matchers.
const REGEXES_MAX: usize = 64;
/// Bytes of their programs together; a small one counts as the least.
const REGEXES_BYTES_MAX: usize = 8 << 20;
const REGEX_BYTES_LEAST: usize = 64 << 10;
const REGEX_BYTES_MAX: usize = 1 << 20;
/// Units of a duration, in milliseconds.
const UNITS: [(&str, u64); 7] = [
    ("y", 31_536_000_000),
    ("w", 604_800_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// A query as the parser takes it: without comments and without commas behind the last matcher, which
/// Grafana writes; with texts in backticks and durations of large numbers written as others are.
///
/// # Errors
/// It nests too deep, its regular expressions are too large, or it asks for a byte that is no letter.
pub(crate) fn prepared(text: &str) -> Result<String> {
    let mut of = Prepared { text: String::with_capacity(text.len()), ..Prepared::default() };
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '#' => while letters.next_if(|letter| *letter != '\n').is_some() {},
            '"' | '\'' => of.quoted(letter, &mut letters)?,
            '`' => of.raw(&mut letters)?,
            '0'..='9' if !of.is_within_word() => of.number(letter, &mut letters)?,
            _ => of.sign(letter),
        }
    }
    of.count_words();
    match of.deepest + of.operators > DEPTH_MAX {
        true => execution(format!("expected at most {DEPTH_MAX} parts within each other")),
        false => Ok(of.text),
    }
}

#[derive(Debug, Default)]
struct Prepared {
    text: String,
    /// Brackets that are open, those of them that are braces, and the most at once.
    open: usize,
    braces: usize,
    deepest: usize,
    /// Operators, each of which may be within the one before.
    operators: usize,
    /// Where the last word begins.
    word: Option<usize>,
    regexes: usize,
    regex_bytes: usize,
}

impl Prepared {
    /// A letter outside of texts.
    fn sign(&mut self, letter: char) {
        match letter {
            '(' | '[' | '{' => {
                self.open += 1;
                self.braces += usize::from(letter == '{');
                self.deepest = self.deepest.max(self.open);
            }
            ')' | ']' | '}' => {
                self.open = self.open.saturating_sub(1);
                self.braces -= usize::from(letter == '}').min(self.braces);
                let end = self.text.trim_end().len();
                if letter != ']' && self.text[..end].ends_with(',') {
                    self.text.remove(end - 1);
                }
            }
            '+' | '-' | '*' | '/' | '%' | '^' | '=' | '<' | '>' if self.braces == 0 => {
                self.operators += 1;
            }
            _ => {}
        }
        if !letter.is_alphanumeric() {
            self.count_words();
        } else if self.word.is_none() {
            self.word = Some(self.text.len());
        }
        self.text.push(letter);
    }

    /// The word that ends here may be an operator.
    fn count_words(&mut self) {
        let Some(start) = self.word.take() else { return };
        let word = self.text.get(start..).unwrap_or_default();
        let names = ["and", "or", "unless", "atan2"];
        self.operators += usize::from(names.iter().any(|name| word.eq_ignore_ascii_case(name)));
    }

    fn is_within_word(&self) -> bool {
        self.text.ends_with(|last: char| last.is_alphanumeric() || matches!(last, '_' | ':' | '.'))
    }

    /// A text in quotes, behind the first of them.
    fn quoted(&mut self, quote: char, letters: &mut Peekable<Chars<'_>>) -> Result<()> {
        self.count_words();
        let regex = self.is_of_regex();
        self.text.push(quote);
        let start = self.text.len();
        while let Some(letter) = letters.next() {
            if letter == quote {
                let said = self.text.get(start..).unwrap_or_default();
                if escapes::has_byte(said) {
                    // The parser takes it for a letter, and then another text is asked for.
                    let said = "a byte that is no letter by itself (\\xff)".into();
                    return Err(Error::Unsupported(said));
                }
                if let (true, Some(pattern)) = (regex, escapes::read(said)) {
                    self.regex(&pattern)?;
                }
                self.text.push(quote);
                return Ok(());
            }
            self.text.push(letter);
            if letter == '\\' {
                self.text.extend(letters.next());
            }
        }
        Ok(())
    }

    /// A text in backticks, in which nothing is an escape: the parser would take some for it.
    fn raw(&mut self, letters: &mut Peekable<Chars<'_>>) -> Result<()> {
        self.count_words();
        let regex = self.is_of_regex();
        let mut said = String::new();
        loop {
            match letters.next() {
                Some('`') => break,
                Some(letter) => said.push(letter),
                // The parser says so.
                None => {
                    self.text.push('`');
                    return Ok(());
                }
            }
        }
        if regex {
            self.regex(&said)?;
        }
        self.text.push('"');
        for letter in said.chars() {
            match letter {
                '"' | '\\' => self.text.extend(['\\', letter]),
                '\n' => self.text.push_str("\\n"),
                _ => self.text.push(letter),
            }
        }
        self.text.push('"');
        Ok(())
    }

    fn is_of_regex(&self) -> bool {
        let before = self.text.trim_end();
        before.ends_with("=~") || before.ends_with("!~")
    }

    /// The parser makes each before anybody can say how large it may be.
    fn regex(&mut self, pattern: &str) -> Result<()> {
        self.regexes += 1;
        if self.regexes > REGEXES_MAX {
            return execution(format!("expected at most {REGEXES_MAX} regular expressions"));
        }
        for bytes in [REGEX_BYTES_LEAST, REGEX_BYTES_MAX] {
            let built = regex::RegexBuilder::new(pattern).size_limit(bytes).build();
            match built {
                Err(regex::Error::CompiledTooBig(_)) => {}
                // What is wrong with it the parser says.
                Ok(_) | Err(_) => {
                    self.regex_bytes += bytes;
                    return match self.regex_bytes > REGEXES_BYTES_MAX {
                        true => execution("expected smaller regular expressions in all"),
                        false => Ok(()),
                    };
                }
            }
        }
        execution(format!("expected regular expressions of at most {REGEX_BYTES_MAX} bytes each"))
    }

    /// A number or a duration that begins with this digit. Of a duration the parser forgets a part whose
    /// number has more than 32 bits.
    fn number(&mut self, first: char, letters: &mut Peekable<Chars<'_>>) -> Result<()> {
        self.count_words();
        let mut word = String::from(first);
        while let Some(letter) = letters.next_if(char::is_ascii_alphanumeric) {
            word.push(letter);
        }
        match large_duration_ms(&word) {
            None => self.text.push_str(&word),
            Some(None) => return execution(format!("expected a shorter duration, found {word}")),
            Some(Some(mut left_ms)) => {
                for (unit, unit_ms) in UNITS.iter().skip(2) {
                    let count = left_ms / unit_ms;
                    left_ms %= unit_ms;
                    if count > 0 {
                        self.text.push_str(&format!("{count}{unit}"));
                    }
                }
            }
        }
        Ok(())
    }
}

/// The length of a duration that has a number of more than 32 bits; the inner `None`: it is beyond any.
fn large_duration_ms(word: &str) -> Option<Option<u64>> {
    let (mut rest, mut sum_ms, mut is_large) = (word, Some(0_u64), false);
    while !rest.is_empty() {
        let digits =
            rest.len() - rest.trim_start_matches(|letter: char| letter.is_ascii_digit()).len();
        let (number, behind) = rest.split_at(digits);
        let letters = behind.len()
            - behind.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).len();
        let (unit, behind) = behind.split_at(letters);
        let (_, unit_ms) = UNITS.iter().find(|(name, _)| *name == unit)?;
        if number.is_empty() {
            return None;
        }
        let count: Option<u64> = number.parse().ok();
        is_large |= count.is_none_or(|count| count > u32::MAX.into());
        let part_ms = count.and_then(|count| count.checked_mul(*unit_ms));
        sum_ms = sum_ms.and_then(|sum_ms| sum_ms.checked_add(part_ms?));
        rest = behind;
    }
    // Three hundred years, which is all the time there is.
    is_large.then(|| sum_ms.filter(|sum_ms| *sum_ms < 300 * 31_536_000_000))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_parser_does_not_take_is_written_otherwise() {
        let all = [
            (r#"{a="b",}"#, r#"{a="b"}"#),
            ("sum by (a, b, ) (c)", "sum by (a, b ) (c)"),
            (r#"{a=",}",b='\',)'}"#, r#"{a=",}",b='\',)'}"#),
            ("{a=`\\`,}", r#"{a="\\"}"#),
            ("{a=~`\\d+\"\n`}", r#"{a=~"\\d+\"\n"}"#),
            ("a # b,}\n{c=\"d\",}", "a \n{c=\"d\"}"),
            ("a #\"`'\n# end", "a \n"),
            ("{a=\"#\"}", "{a=\"#\"}"),
            ("{a=\"b", "{a=\"b"),
            ("{a=`b", "{a=`"),
            ("rate(x[7776000000ms])", "rate(x[90d])"),
            ("x[1d5000000000ms]", "x[58d20h53m20s]"),
            ("x1_5000000000ms + 5000000000", "x1_5000000000ms + 5000000000"),
            ("x[4294967295ms] offset 5m", "x[4294967295ms] offset 5m"),
            ("0x1F + 1e3 + 1.5", "0x1F + 1e3 + 1.5"),
        ];
        for (text, expected) in all {
            assert_eq!(prepared(text).as_deref(), Ok(expected), "{text}");
        }
        for long in ["x[5000000000d]", "x[99999999999999999999s]"] {
            assert!(matches!(prepared(long), Err(Error::Execution(_))), "{long}");
        }
        for byte in [r#"{a="\xff"}"#, r#"{a='\\\x80'}"#] {
            assert!(matches!(prepared(byte), Err(Error::Unsupported(_))), "{byte}");
        }
        for no_byte in [r#"{a="\\xff"}"#, "{a=~`\\xff`}", r#"{a="\x7f"}"#] {
            assert!(prepared(no_byte).is_ok(), "{no_byte}");
        }
    }

    #[test]
    fn expressions_that_take_much_are_refused_before_they_are_made() {
        let one = |pattern: &str, count: usize| {
            let all = vec![format!("a=~\"{pattern}\""); count].join(",");
            prepared(&format!("{{{all}}}"))
        };
        assert!(one("a.*b", REGEXES_MAX).is_ok());
        assert!(one("a.*b", REGEXES_MAX + 1).is_err());
        // As the parser reads them: with escapes, and in other quotes.
        for pattern in ["\\\\w{150}", "\\x5cw{150}", "\\134w{150}", "\\u005cw{150}"] {
            assert!(one(pattern, 1).is_err(), "{pattern}");
        }
        assert!(prepared("{a!~\n`\\w{150}`}").is_err());
        assert!(one("\\\\w{15}", 1).is_ok() && one("\\\\w{15}", 60).is_err());
        // It is a text.
        assert!(prepared("{a=`\\w{150}`}").is_ok());
    }
}
