//! What is new of that which is held: declared together, or refused.

use super::Intake;
use crate::error::Result;
use crate::intake::Held;
use crate::names::{Found, Series};
use crate::refusal::{Reason, Refusal, Tell};
use crate::types::{Fit, fit};
use crate::value::Value;
use baro_log::Declared;
use baro_ondisk::{Declaration, Type};
use baro_recorder::Error::DeclaredOtherwise;
use std::collections::HashSet;

impl Intake<'_> {
    /// Declares what is new of that which is held, and pushes nothing: what cannot be declared, or has another
    /// type by now, is refused. For who pushes all or nothing.
    ///
    /// # Errors
    /// Nothing more can be declared.
    pub fn declare_held(&mut self, tell: &mut Tell<'_>) -> Result<()> {
        self.declare(tell)
    }

    /// Declares all new series at once; where all are refused, by halves, to know which.
    pub(super) fn declare(&mut self, tell: &mut Tell<'_>) -> Result<()> {
        let order = self.names.order();
        let wanted = self.names.wanted(&order);
        if wanted.is_empty() {
            self.names.end_line(true);
            return Ok(());
        }
        let mut found: Vec<std::result::Result<(u32, Type), String>> = Vec::new();
        let mut left = vec![wanted.as_slice()];
        while let Some(some) = left.pop() {
            self.fed.declarations += 1;
            match self.target.declare(some) {
                Ok(each) => {
                    for (one, answer) in some.iter().zip(each) {
                        found.push(match answer {
                            Ok(id) => Ok((id, one.kind)),
                            // Somebody was quicker: its samples may fit that type as well.
                            Err(DeclaredOtherwise { id, kind, .. })
                                if is_of_same_parts(one, self.target.declared(one.name)) =>
                            {
                                Ok((id, kind))
                            }
                            Err(error) => Err(error.to_string()),
                        });
                    }
                }
                Err(error) if !is_of_names(&error) => return Err(error.into()),
                Err(error) if some.len() <= 1 => found.push(Err(error.to_string())),
                Err(_) => {
                    let (first, second) = some.split_at(some.len() / 2);
                    left.extend([second, first]);
                }
            }
        }
        self.fed.series += found.iter().filter(|one| one.is_ok()).count();
        let is_ours = |kind, found: &std::result::Result<(u32, Type), String>| {
            found.as_ref().is_ok_and(|(_, found)| *found == kind)
        };
        for (one, _) in wanted.iter().zip(&found).filter(|(one, found)| is_ours(one.kind, found)) {
            self.fed.declared += 1;
            if one.kind == Type::Text {
                self.fed.texts += 1;
                self.fed.texts_first.get_or_insert_with(|| one.name.to_owned());
            }
        }
        let found = self.names.declared(&order, found);
        self.settle_held(&found, tell);
        Ok(())
    }

    /// Gives samples of new series their ids, and refuses those whose series could not be declared; a later
    /// one tries again.
    fn settle_held(&mut self, found: &[Found], tell: &mut Tell<'_>) {
        let refused = found.iter().filter(|one| one.result.is_err()).count();
        self.new_left = self.new_left.saturating_add(refused);
        let (mut held, texts) = (std::mem::take(&mut self.held), std::mem::take(&mut self.texts));
        let mut lines = HashSet::new();
        held.retain_mut(|one| {
            let Series::New(place) = one.series else { return true };
            match found.get(place as usize) {
                Some(Found { name, wanted, result: Ok((id, kind)) }) => {
                    one.series = Series::Declared(*id);
                    if wanted == kind {
                        return true;
                    }
                    match refit(&one.held, (*wanted, *kind), &texts) {
                        Ok(held) => one.held = held,
                        Err(reason) => {
                            self.refuse_alone(
                                &Refusal { line: one.line, series: name, reason },
                                tell,
                            );
                            lines.insert(one.line);
                            return false;
                        }
                    }
                    true
                }
                Some(Found { name, result: Err(said), .. }) => {
                    let reason = Reason::Undeclarable(said);
                    self.refuse(&Refusal { line: one.line, series: name, reason }, tell);
                    false
                }
                None => false,
            }
        });
        // A value that does not fit takes its line with it.
        if !lines.is_empty() && !self.in_parts {
            held.retain(|one| !lines.contains(&one.line));
        }
        (self.held, self.texts) = (held, texts);
    }

    /// Refuses a sample of a line that has ended.
    fn refuse_alone(&mut self, refusal: &Refusal<'_>, tell: &mut Tell<'_>) {
        if !self.stopped() {
            self.fed.refuse(refusal);
            tell(refusal);
        }
    }
}

/// What is held of a sample of a series that was to be of the first type, for the second; none of it for a text,
/// since no other type takes one.
fn refit<'t>(
    held: &Held,
    (wanted, kind): (Type, Type),
    texts: &'t str,
) -> std::result::Result<Held, Reason<'t>> {
    let value = match *held {
        Held::Text { start, end } => Value::Text(texts.get(start..end).unwrap_or_default()),
        Held::Word(word) => match wanted {
            Type::I64 => Value::Integer(word.bits()),
            Type::Bool => Value::Boolean(word.bits() != 0),
            _ => Value::Float(f64::from_bits(word.bits().cast_unsigned())),
        },
    };
    match fit(kind, value) {
        Ok(Fit::Word(word)) => Ok(Held::Word(word)),
        Ok(Fit::Text(_)) => Ok(*held),
        Err(misfit) => Err(Reason::Misfit(misfit)),
    }
}

/// Whether a series that is wanted is put together of the same two names as the one that is there, as far as is
/// known.
fn is_of_same_parts(wanted: &Declaration<'_>, declared: Option<Declared>) -> bool {
    let (wanted, declared) = (wanted.joint, declared.and_then(|declared| declared.joint));
    wanted.is_none() || declared.is_none() || wanted == declared
}

/// Whether fewer names could be declared: where the device, or the recorder of another process, does not
/// answer, none can.
fn is_of_names(error: &baro_recorder::Error) -> bool {
    use baro_recorder::Error::{NobodyRecords, System, Unanswered, Undeclared};
    !matches!(error, System(_) | NobodyRecords { .. } | Unanswered { .. } | Undeclared { .. })
}
