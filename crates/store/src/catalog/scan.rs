//! Many declarations at once: all of them, or what selectors mean. Streams, so that memory does not
//! grow with their number; of the dictionary only the pages are read that the selectors' metrics
//! leave.
//!
//! Invariant: each declaration is handed out once, also where a damaged page of the dictionary
//! makes the catalog's file take over. Held by `catalog/tests.rs`.

use super::Catalog;
use super::dictionary::Broken;
use crate::{Result, Selector};
use baro_log::SeriesTable;
use baro_ondisk::{Declaration, NameParser};
use std::ops::ControlFlow;

impl Catalog {
    /// Calls `each` with every declaration, until it breaks: those of the dictionary by rising
    /// name, then the others in the order in which they were made. Memory does not grow with them.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn scan(&self, each: impl FnMut(&Declaration<'_>) -> ControlFlow<()>) -> Result<()> {
        self.scan_prefix("", true, each)
    }

    /// Calls `each` with the declarations that any of the selectors selects, each once, until it
    /// breaks; in the order of [`Catalog::scan`].
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn scan_selected(
        &self,
        selectors: &[Selector],
        mut each: impl FnMut(&Declaration<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        self.scan_matching(selectors, true, &mut each)
    }

    fn scan_matching(
        &self,
        selectors: &[Selector],
        with_layouts: bool,
        mut each: impl FnMut(&Declaration<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        // Ranges of names that lie in another are read with it.
        let mut prefixes: Vec<&str> = selectors.iter().map(Selector::prefix).collect();
        prefixes.sort_unstable();
        prefixes.dedup_by(|longer, shorter| longer.starts_with(*shorter));
        let mut parser = NameParser::new();
        let mut flow = ControlFlow::Continue(());
        for prefix in prefixes {
            if flow.is_break() {
                break;
            }
            self.scan_prefix(prefix, with_layouts, |found| {
                parser.parse(found.name);
                if selectors.iter().any(|one| one.matches_parsed(found.name, &parser)) {
                    flow = each(found);
                }
                flow
            })?;
        }
        Ok(())
    }

    /// Ids of the series and channels that any of the selectors selects, sorted.
    ///
    /// # Errors
    /// The operating system refuses.
    pub fn select(&self, selectors: &[Selector]) -> Result<Vec<u32>> {
        let mut ids = Vec::new();
        self.scan_matching(selectors, false, |found| {
            ids.push(found.id);
            ControlFlow::Continue(())
        })?;
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }

    fn scan_prefix(
        &self,
        prefix: &str,
        with_layouts: bool,
        mut each: impl FnMut(&Declaration<'_>) -> ControlFlow<()>,
    ) -> Result<()> {
        let (dictionary, table) = self.parts();
        let mut bound = None;
        if let Some(dictionary) = dictionary {
            let scanned = dictionary.index().map(|index| index.pages_with_prefix(prefix));
            let first = |page| dictionary.index().map_or(&[][..], |index| index.first_name(page));
            let scanned = scanned.map_err(|fault| Broken { page: 0, last: None, fault });
            let scanned = scanned.and_then(|pages| {
                dictionary.scan(pages, with_layouts, |found| {
                    if found.name.starts_with(prefix) {
                        return each(&found);
                    }
                    if *found.name > *prefix {
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                })
            });
            match scanned {
                Ok(ControlFlow::Break(())) if prefix.is_empty() => return Ok(()),
                Ok(_) => {}
                Err(Broken { page, last, fault }) => {
                    // From here on as the catalog's file has it.
                    let from = last.map(|last| [last.as_bytes(), &[0]].concat());
                    bound = Some(from.unwrap_or_else(|| first(page as usize).to_vec()));
                    self.distrust(fault);
                }
            }
        }
        let Some(bound) = bound else { return hand_out(table, prefix, |_| true, each) };
        let (_, whole) = self.parts();
        let left = |name: &str| name.as_bytes() >= &*bound || table.find(name).is_some();
        hand_out(whole, prefix, left, each)
    }

    /// Ids that are meant by names and selectors: a name that is one stands for itself, everything
    /// else is a selector. Sorted.
    ///
    /// # Errors
    /// One of them is neither, or nothing has that name or is selected by it; or the operating
    /// system refuses.
    pub fn resolve<N: AsRef<str>>(&self, names: &[N]) -> Result<Vec<u32>> {
        let (mut ids, mut selectors) = (Vec::new(), Vec::new());
        for name in names {
            match self.lookup(name.as_ref())? {
                Some(found) => ids.push(found.id),
                None => selectors.push(Selector::parse(name.as_ref())?),
            }
        }
        for selector in &selectors {
            let found = self.select(std::slice::from_ref(selector))?;
            if found.is_empty() {
                return Err(crate::UnknownName { name: selector.to_string(), fields: None }.into());
            }
            ids.extend(found);
        }
        ids.sort_unstable();
        ids.dedup();
        Ok(ids)
    }
}

fn hand_out(
    table: &SeriesTable,
    prefix: &str,
    wanted: impl Fn(&str) -> bool,
    mut each: impl FnMut(&Declaration<'_>) -> ControlFlow<()>,
) -> Result<()> {
    for found in table.iter().filter(|f| f.name.starts_with(prefix) && wanted(f.name)) {
        if each(&found).is_break() {
            break;
        }
    }
    Ok(())
}
