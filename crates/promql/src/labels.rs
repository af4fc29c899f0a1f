//! Labels of a series, its name among them.

use std::fmt;

/// The label that is the name of a metric.
pub(crate) const NAME: &str = "__name__";

/// Labels that say what the values of a metric are, and not those of what is made of them.
const OF_METRIC: [&str; 3] = [NAME, "__type__", "__unit__"];

/// Labels of a series, sorted by name; the name of the metric is `__name__`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Labels(Vec<(String, String)>);

impl Labels {
    /// Of pairs in any order; of several with one name the last counts, and one without a value is none.
    #[must_use]
    pub fn new<N: Into<String>, V: Into<String>>(pairs: impl IntoIterator<Item = (N, V)>) -> Self {
        let mut labels = Labels::default();
        for (name, value) in pairs {
            labels.set(&name.into(), value.into());
        }
        labels
    }

    /// The value of a label; empty if there is none.
    #[must_use]
    pub fn get(&self, name: &str) -> &str {
        match self.0.binary_search_by(|(own, _)| own.as_str().cmp(name)) {
            Ok(at) => self.0.get(at).map_or("", |(_, value)| value),
            Err(_) => "",
        }
    }

    /// Sets a label; an empty value removes it.
    pub fn set(&mut self, name: &str, value: String) {
        match self.0.binary_search_by(|(own, _)| own.as_str().cmp(name)) {
            Ok(at) if value.is_empty() => drop(self.0.remove(at)),
            Ok(at) => {
                if let Some(pair) = self.0.get_mut(at) {
                    pair.1 = value;
                }
            }
            Err(_) if value.is_empty() => {}
            Err(at) => self.0.insert(at, (name.to_owned(), value)),
        }
    }

    /// Each name and value, by rising name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// Without the name of the metric, and what else says what its values are.
    pub(crate) fn without_name(&self) -> Self {
        Labels(
            self.0
                .iter()
                .filter(|(name, _)| !OF_METRIC.contains(&name.as_str()))
                .cloned()
                .collect(),
        )
    }

    /// Those of these names alone.
    pub(crate) fn only(&self, names: &[String]) -> Self {
        Labels(self.0.iter().filter(|(name, _)| names.contains(name)).cloned().collect())
    }

    /// All but those of these names, and without the name of the metric.
    pub(crate) fn without(&self, names: &[String]) -> Self {
        let stays = |pair: &&(String, String)| {
            !OF_METRIC.contains(&pair.0.as_str()) && !names.contains(&pair.0)
        };
        Labels(self.0.iter().filter(stays).cloned().collect())
    }

    /// All but those of these names; the name of the metric stays.
    pub(crate) fn minus(&self, names: &[String]) -> Self {
        Labels(self.0.iter().filter(|pair| !names.contains(&pair.0)).cloned().collect())
    }
}

impl fmt::Display for Labels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.get(NAME))?;
        f.write_str("{")?;
        let labels = self.iter().filter(|(name, _)| *name != NAME);
        for (at, (name, value)) in labels.enumerate() {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{name}={value:?}")?;
        }
        f.write_str("}")
    }
}
