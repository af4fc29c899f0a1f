//! What is new of that which is held: declared together, or refused.

use super::Intake;
use crate::error::Result;
use crate::names::Series;
use crate::refusal::{Reason, Refusal, Tell};
use baro_ondisk::Type;

impl Intake<'_> {
    /// Declares all new series at once; where all are refused, by halves, to know which.
    pub(super) fn declare(&mut self, tell: &mut Tell<'_>) -> Result<()> {
        let order = self.names.order();
        let wanted = self.names.wanted(&order);
        if wanted.is_empty() {
            self.names.end_line(true);
            return Ok(());
        }
        let mut found: Vec<std::result::Result<u32, String>> = Vec::new();
        let mut left = vec![wanted.as_slice()];
        while let Some(some) = left.pop() {
            self.fed.declarations += 1;
            match self.target.declare(some) {
                Ok(each) => {
                    found.extend(each.into_iter().map(|one| one.map_err(|e| e.to_string())))
                }
                Err(error) if !is_of_names(&error) => return Err(error.into()),
                Err(error) if some.len() <= 1 => found.push(Err(error.to_string())),
                Err(_) => {
                    let (first, second) = some.split_at(some.len() / 2);
                    left.extend([second, first]);
                }
            }
        }
        let declared = found.iter().filter(|one| one.is_ok()).count();
        self.fed.declared += declared as u64;
        self.fed.series += declared;
        let ok = wanted.iter().zip(&found).filter(|(_, found)| found.is_ok());
        for (one, _) in ok.filter(|(one, _)| one.kind == Type::Text) {
            self.fed.texts += 1;
            self.fed.texts_first.get_or_insert_with(|| one.name.to_owned());
        }
        let found = self.names.declared(&order, found);
        self.settle_held(&found, tell);
        Ok(())
    }

    /// Gives samples of new series their ids, and refuses those whose series could not be declared; a later
    /// one tries again.
    fn settle_held(
        &mut self,
        found: &[(String, std::result::Result<u32, String>)],
        tell: &mut Tell<'_>,
    ) {
        let refused = found.iter().filter(|(_, found)| found.is_err()).count();
        self.new_left = self.new_left.saturating_add(refused);
        let mut held = std::mem::take(&mut self.held);
        held.retain_mut(|one| {
            let Series::New(place) = one.series else { return true };
            match found.get(place as usize) {
                Some((_, Ok(id))) => {
                    one.series = Series::Declared(*id);
                    true
                }
                Some((name, Err(said))) => {
                    let reason = Reason::Undeclarable(said);
                    self.refuse(&Refusal { line: one.line, series: name, reason }, tell);
                    false
                }
                None => false,
            }
        });
        self.held = held;
    }
}

/// Whether fewer names could be declared: where the device, or the recorder of another process, does not
/// answer, none can.
fn is_of_names(error: &baro_recorder::Error) -> bool {
    use baro_recorder::Error::{NobodyRecords, System, Unanswered, Undeclared};
    !matches!(error, System(_) | NobodyRecords { .. } | Unanswered { .. } | Undeclared { .. })
}
