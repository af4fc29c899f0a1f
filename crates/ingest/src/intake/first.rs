//! The first sample of a series: whether it is declared, by whomever, or is to be declared.

use super::Intake;
use crate::error::Result;
use crate::known::Met;
use crate::manner::Row;
use crate::names::Series;
use crate::refusal::{Reason, Refusal, Tell};
use crate::types::fit;
use baro_log::Declared;
use baro_ondisk::limits::NAME_BYTES_MAX;
use baro_ondisk::{Type, has_bare_labels};
use baro_sources::Key;

impl Intake<'_> {
    /// Takes a sample of a series whose key is not known.
    pub(super) fn take_first(
        &mut self,
        row: &Row<'_>,
        key: Key,
        tell: &mut Tell<'_>,
    ) -> Result<()> {
        if let Some(declared) = self.target.declared(row.series) {
            return self.take_declared(row, key, &declared, tell);
        }
        if let Some((place, kind)) = self.names.get_new(row) {
            return self.fit(row, Series::New(place), kind, tell).map(drop);
        }
        if self.is_nothing(row.value, None) {
            return Ok(());
        }
        // Others may have declared it meanwhile: then it is not new, and has a type.
        if !std::mem::replace(&mut self.has_learned, true)
            && self.target.learn().is_ok()
            && let Some(declared) = self.target.declared(row.series)
        {
            return self.take_declared(row, key, &declared, tell);
        }
        let kind = row.types.declares(row.value);
        if let Err(reason) = self.may_be_new(row, kind) {
            self.refuse(&Refusal { line: row.line, series: row.series, reason }, tell);
            return Ok(());
        }
        self.new_left -= 1;
        let place = self.names.add_new(row.series, kind, key);
        self.fit(row, Series::New(place), kind, tell).map(drop)
    }

    /// Takes the first sample of a series that is declared.
    fn take_declared(
        &mut self,
        row: &Row<'_>,
        key: Key,
        declared: &Declared,
        tell: &mut Tell<'_>,
    ) -> Result<()> {
        let Declared { id, kind, joint, .. } = *declared;
        if self.is_nothing(row.value, Some(kind)) {
            return Ok(());
        }
        self.fed.series += usize::from(self.names.see(id, joint));
        if self.fit(row, Series::Declared(id), kind, tell)? {
            self.names.remember(key, Met { id, kind });
        }
        Ok(())
    }

    fn may_be_new<'r>(&mut self, row: &Row<'r>, kind: Type) -> std::result::Result<(), Reason<'r>> {
        if self.new_left == 0 {
            return Err(Reason::NoMore);
        }
        // Among many, one that cannot be declared would cost the others syncs of their own.
        let bytes = self.names.canonical(row.series).len();
        if bytes > NAME_BYTES_MAX {
            return Err(Reason::NameTooLong { bytes });
        }
        if bytes == 0 {
            return Err(Reason::NoName);
        }
        if has_bare_labels(row.series) {
            return Err(Reason::BareLabels);
        }
        fit(kind, row.value).map(drop).map_err(Reason::Misfit)
    }
}
