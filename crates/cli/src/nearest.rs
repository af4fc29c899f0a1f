//! Which of the words that there are somebody may have meant.
//!
//! Invariant: nothing is said that is further off than a slip. Held by the tests below.

/// Most words that are offered.
const OFFERED: usize = 3;

/// Letters to be changed, added, left out or exchanged with the next to make one word of the
/// other, twice; 1 if the first is the other's beginning.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    if b.starts_with(&a) {
        return usize::from(a != b);
    }
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 1..=a.len() {
        let mut next = vec![i];
        for j in 1..=b.len() {
            let changed = rows[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(rows[i - 1][j] + 1).min(next[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            next.push(least);
        }
        rows.push(next);
    }
    2 * rows[a.len()][b.len()]
}

/// The words nearest to one, of those that are near; they come one after the other, maybe repeatedly.
#[derive(Debug)]
pub(crate) struct Nearest<'a> {
    wanted: &'a str,
    found: Vec<(usize, String)>,
}

impl<'a> Nearest<'a> {
    pub(crate) fn to(wanted: &'a str) -> Self {
        Nearest { wanted, found: Vec::new() }
    }

    /// Looks at a word.
    pub(crate) fn look(&mut self, word: &str) {
        let letters = self.wanted.chars().count();
        let edits_max = (letters / 3).clamp(1, 4);
        let is_begun = word.starts_with(self.wanted);
        // Most words are too long or too short, which costs less to see.
        if word.is_empty() || !is_begun && word.chars().count().abs_diff(letters) > edits_max {
            return;
        }
        let far = distance(self.wanted, word);
        if far <= 2 * edits_max && !self.found.iter().any(|(_, known)| known == word) {
            let at = self.found.partition_point(|(known, _)| *known <= far);
            self.found.insert(at, (far, word.to_owned()));
            self.found.truncate(OFFERED);
        }
    }

    /// "did you mean a, b or c?"; `None` if nothing was near.
    pub(crate) fn question(self) -> Option<String> {
        let mut words: Vec<String> = self.found.into_iter().map(|(_, word)| word).collect();
        let last = words.pop()?;
        Some(match words.as_slice() {
            [] => format!("did you mean {last}?"),
            before => format!("did you mean {} or {last}?", before.join(", ")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_of_letters() {
        assert_eq!((distance("ring", "rnig"), distance("a", "a")), (2, 0));
        assert_eq!((distance("durable", "durable-within"), distance("abc", "xb")), (1, 4));
    }

    #[test]
    fn what_is_near_is_offered_and_nothing_else() {
        let question = |wanted, words: &[&str]| {
            let mut nearest = Nearest::to(wanted);
            words.iter().for_each(|word| nearest.look(word));
            nearest.question()
        };
        let words = ["temp", "humidity", "temperature", "tmp", "t", "pressure", "temp"];
        let said = question("temo", &words).unwrap();
        assert_eq!(said, "did you mean temp?");
        let said = question("humidty", &words).unwrap();
        assert_eq!(said, "did you mean humidity?");
        assert_eq!(question("tem", &words).unwrap(), "did you mean temp or temperature?");
        assert_eq!(question("voltage", &words), None);
        assert_eq!(question("x", &[]), None);
    }
}
