//! Names of an answer, each once and in order, within a bound of number and bytes.

use super::answer::{Data, Refusal};
use super::series::told;
use std::collections::BTreeMap;

/// What an entry takes beside its letters.
const ENTRY_BYTES: usize = 64;

/// The first names by their order, as many as are asked for, each with a text of its own.
#[derive(Debug)]
pub(super) struct Entries {
    found: BTreeMap<String, String>,
    bytes: usize,
    limit: usize,
    bytes_max: usize,
    is_cut: bool,
}

impl Entries {
    pub(super) fn new(limit: usize, bytes_max: usize) -> Self {
        Entries { found: BTreeMap::new(), bytes: 0, limit, bytes_max, is_cut: false }
    }

    /// Takes a name if it is new and among the first; the first text of a name counts. False once all of them
    /// take more than they may: then nothing more need be added.
    pub(super) fn add(&mut self, name: &str, text: &str) -> bool {
        let is_behind = || self.found.last_key_value().is_none_or(|(last, _)| last.as_str() < name);
        if self.found.contains_key(name) {
            return true;
        }
        if self.found.len() >= self.limit && is_behind() {
            self.is_cut = true;
            return true;
        }
        self.bytes += ENTRY_BYTES + name.len() + text.len();
        self.found.insert(name.to_owned(), text.to_owned());
        if self.found.len() > self.limit {
            self.is_cut = true;
            if let Some((name, text)) = self.found.pop_last() {
                self.bytes -= ENTRY_BYTES + name.len() + text.len();
            }
        }
        self.bytes <= self.bytes_max
    }

    /// All of them, as `written`, between these two letters.
    pub(super) fn told(
        self,
        written: impl Fn(&str, &str) -> String,
        [begin, end]: [char; 2],
    ) -> Result<Data, Refusal> {
        let too_large = || {
            Refusal::execution(
                "the answer would take more than --memory allows: ask for fewer, or with a limit",
            )
        };
        if self.bytes > self.bytes_max {
            return Err(too_large());
        }
        let mut text = String::from(begin);
        // Each goes as it is told, so that both are not there at once.
        for (number, (name, more)) in self.found.into_iter().enumerate() {
            text.push_str(if number > 0 { "," } else { "" });
            text.push_str(&written(&name, &more));
            if text.len() > self.bytes_max {
                return Err(too_large());
            }
        }
        text.push(end);
        Ok(Data::of_text(text).with(told(self.is_cut)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_by_order_are_kept_and_the_bytes_are_bounded() {
        let mut entries = Entries::new(2, 1_000);
        assert!(["d", "b", "c", "a", "b"].iter().all(|name| entries.add(name, "")));
        assert!(entries.is_cut);
        assert_eq!(entries.found.keys().collect::<Vec<_>>(), ["a", "b"]);
        // What was dropped takes nothing.
        assert!((0..1_000).all(|number| entries.add(&format!("z{number}"), "")));
        let mut entries = Entries::new(usize::MAX, 1_000);
        let taken = (0..1_000).take_while(|number| entries.add(&format!("{number}"), "x")).count();
        assert_eq!(taken, 15);
        assert!(entries.told(|name, _| name.to_owned(), ['[', ']']).is_err());
    }
}
