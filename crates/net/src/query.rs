//! Names and values behind a path's question mark, or in a form.
//!
//! Invariant: they take memory in proportion to their bytes, however short each is. Held by
//! `more_parameters_than_there_may_be_are_refused`.

/// A window of the live page has the most, one for each of 64 series. A pair may be one byte, and takes eighty.
const PAIRS_MAX: usize = 256;

/// Names and values behind a path's question mark, or in a form; decoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    /// Of `a=1&b=x%20y`. What is no UTF-8 once it is decoded has replacement characters.
    ///
    /// # Errors
    /// More pairs than anybody needs: what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let parts = text.split('&').filter(|part| !part.is_empty());
        if parts.clone().nth(PAIRS_MAX).is_some() {
            return Err(format!("expected at most {PAIRS_MAX} parameters, found more"));
        }
        let pair = |part: &str| {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            (decoded(name, true), decoded(value, true))
        };
        Ok(Query { pairs: parts.map(pair).collect() })
    }

    /// The first value of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// The first of these names that stands there more than once: who reads one value of it would have to
    /// choose, and another program on the way might choose otherwise.
    #[must_use]
    pub fn twice<'n>(&self, names: &[&'n str]) -> Option<&'n str> {
        names.iter().copied().find(|name| self.all(name).nth(1).is_some())
    }

    /// All values of this name.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        self.pairs.iter().filter(move |(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// With `%20` and the like as what they stand for; `plus`: and `+` as a space.
pub(crate) fn decoded(text: &str, plus: bool) -> String {
    let digit = |byte: Option<&u8>| byte.and_then(|byte| char::from(*byte).to_digit(16));
    let bytes = text.as_bytes();
    let mut found = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = match byte {
            b'%' => digit(bytes.get(at + 1)).zip(digit(bytes.get(at + 2))),
            _ => None,
        };
        match (byte, code) {
            (_, Some((high, low))) => {
                found.push((high * 16 + low) as u8);
                at += 2;
            }
            (b'+', None) if plus => found.push(b' '),
            (byte, None) => found.push(*byte),
        }
        at += 1;
    }
    String::from_utf8(found)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_decoded() {
        let query =
            Query::parse("db=my%20db&q=CREATE+DATABASE+%22x%22&empty=&flag&db=2&%zz=%").unwrap();
        assert_eq!(query.get("db"), Some("my db"));
        assert_eq!(query.get("q"), Some("CREATE DATABASE \"x\""));
        assert_eq!((query.get("empty"), query.get("flag")), (Some(""), Some("")));
        assert_eq!(query.get("%zz"), Some("%"));
        assert_eq!(query.get("none"), None);
        assert_eq!((query.twice(&["none", "q", "db"]), query.twice(&["q"])), (Some("db"), None));
        assert_eq!(decoded("a%2Fb+c%ff", false), "a/b+c\u{fffd}");
    }

    #[test]
    fn more_parameters_than_there_may_be_are_refused() {
        assert_eq!(Query::parse(&"a&".repeat(256)).map(|query| query.all("a").count()), Ok(256));
        assert!(Query::parse(&"a&".repeat(257)).unwrap_err().contains("at most 256"));
        assert_eq!(Query::parse(&"&".repeat(2_000)), Ok(Query::default()));
    }
}
