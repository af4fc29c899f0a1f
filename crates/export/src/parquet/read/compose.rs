//! Names of rows: what the file calls a series, with the labels that other columns have.
//!
//! Invariant: rows whose labels differ have different names, and a row for which there is no name is
//! refused, never given another. Held by `rows_of_different_tags_are_different_series`
//! (`tests/columns.rs`).

use baro_ondisk::limits::NAME_BYTES_MAX;
use baro_ondisk::{NameParser, write_name};
use std::borrow::Cow;

/// Bytes of a name's parts at most: longer than any can be that is declared.
const PARTS_BYTES_MAX: usize = 4 * NAME_BYTES_MAX;

/// Puts names together; keeps the last one, since rows of one series often come together.
#[derive(Debug, Default)]
pub(super) struct Composer {
    parser: NameParser,
    base: String,
    labels: Vec<(String, String)>,
    suffix: String,
    name: String,
    base_bytes: usize,
    is_made: bool,
}

impl Composer {
    /// The name `base`, with `suffix` behind its metric and these labels, of which the empty are none; and
    /// how many bytes the metric has before the suffix, if there is one.
    pub(super) fn name<'n>(
        &'n mut self,
        base: &'n str,
        suffix: &str,
        labels: &[(&str, Cow<'_, str>)],
    ) -> Result<(&'n str, usize), String> {
        if suffix.is_empty() && labels.iter().all(|(_, value)| value.is_empty()) {
            return Ok((base, 0));
        }
        let given = || labels.iter().map(|(name, value)| (*name, value.as_ref()));
        let bytes: usize = given().map(|(name, value)| name.len() + value.len()).sum();
        if bytes + base.len() > PARTS_BYTES_MAX {
            let found = bytes + base.len();
            return Err(format!(
                "expected a name of at most {NAME_BYTES_MAX} bytes, found {found} bytes of name \
                 and labels"
            ));
        }
        let last = self.labels.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let is_last = self.base == base && self.suffix == suffix && last.eq(given());
        if !(self.is_made && is_last) {
            self.is_made = false;
            self.make(base, suffix, labels)?;
            self.is_made = true;
        }
        Ok((&self.name, self.base_bytes))
    }

    fn make(
        &mut self,
        base: &str,
        suffix: &str,
        labels: &[(&str, Cow<'_, str>)],
    ) -> Result<(), String> {
        self.parser.parse(base);
        let metric = self.parser.metric(base);
        self.base_bytes = metric.len();
        let metric = format!("{metric}{suffix}");
        let own = (0..self.parser.len()).filter_map(|at| self.parser.label_at(base, at));
        let mut all: Vec<(Cow<'_, str>, Cow<'_, str>)> = own.collect();
        for (name, value) in labels.iter().filter(|(_, value)| !value.is_empty()) {
            match all.iter().find(|(own, _)| own == name) {
                Some((_, own)) if own != value => {
                    return Err(format!(
                        "expected one value of label {name}, found \"{own}\" in the name and \
                         \"{value}\" in the column"
                    ));
                }
                Some(_) => {}
                None => all.push(((*name).into(), value.as_ref().into())),
            }
        }
        all.sort();
        self.name.clear();
        write_name(&mut self.name, &metric, all.iter().map(|(name, value)| (name, value)));
        (self.base, self.suffix) = (base.to_owned(), suffix.to_owned());
        self.labels =
            labels.iter().map(|(name, value)| ((*name).into(), value.to_string())).collect();
        Ok(())
    }
}
