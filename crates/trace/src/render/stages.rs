//! The stages of a transaction as spans.
//!
//! Invariant: spans of one transaction follow each other; a stage whose end is not known has none,
//! and where a time between two stages is missing, their span bears both names. Held by
//! `stages_follow_each_other_and_name_what_is_missing`.

use crate::timeline::{Stage, Transaction};

/// Stages in their order, without the one that ends the commit.
pub(super) const STAGES: [(Stage, &str); 5] = [
    (Stage::Running, "running"),
    (Stage::Starting, "starting"),
    (Stage::Locked, "locked"),
    (Stage::Flushing, "flushing"),
    (Stage::Logging, "logging"),
];

/// A time in which a transaction was in one stage, or in one of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StageSpan {
    /// The stage that it began with.
    pub(super) stage: Stage,
    /// Its name, or names.
    pub(super) label: String,
    pub(super) begin_ns: u64,
    /// None: it had not ended when the trace did.
    pub(super) end_ns: Option<u64>,
}

/// The stages of a transaction as far as they are known. Time after its commit is no stage here.
pub(super) fn stages(transaction: &Transaction) -> Vec<StageSpan> {
    let times = [
        transaction.begin_ns,
        transaction.commit_ns,
        transaction.locking_ns,
        transaction.flushing_ns,
        transaction.logging_ns,
    ];
    let mut spans: Vec<StageSpan> = Vec::with_capacity(STAGES.len());
    let mut latest_ns = 0;
    for ((stage, name), time_ns) in STAGES.into_iter().zip(times) {
        match time_ns {
            Some(time_ns) => {
                latest_ns = time_ns.max(latest_ns);
                if let Some(before) = spans.last_mut() {
                    before.end_ns = Some(latest_ns);
                }
                spans.push(StageSpan {
                    stage,
                    label: name.to_owned(),
                    begin_ns: latest_ns,
                    end_ns: None,
                });
            }
            None if times.iter().skip(stage as usize).any(Option::is_some)
                || transaction.end_ns.is_some() =>
            {
                // It went through this one, but nobody knows when.
                if let Some(before) = spans.last_mut() {
                    before.label.push_str(" or ");
                    before.label.push_str(name);
                }
            }
            None => {}
        }
    }
    if let Some(last) = spans.last_mut() {
        last.end_ns = transaction.end_ns.map(|end_ns| end_ns.max(latest_ns));
    }
    spans
}

/// From its first known stage to the end of its commit; None if no stage is known.
pub(super) fn bounds(spans: &[StageSpan]) -> Option<(u64, Option<u64>)> {
    Some((spans.first()?.begin_ns, spans.last()?.end_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stages_follow_each_other_and_name_what_is_missing() {
        let mut one = Transaction {
            begin_ns: Some(10),
            commit_ns: Some(20),
            flushing_ns: Some(40),
            end_ns: Some(70),
            ..Transaction::default()
        };
        let told = |one: &Transaction| -> Vec<(String, u64, Option<u64>)> {
            let all = stages(one).into_iter();
            all.map(|span| (span.label, span.begin_ns, span.end_ns)).collect()
        };
        assert_eq!(
            told(&one),
            [
                ("running".to_owned(), 10, Some(20)),
                ("starting or locked".to_owned(), 20, Some(40)),
                ("flushing or logging".to_owned(), 40, Some(70)),
            ]
        );
        one.end_ns = None;
        assert_eq!(told(&one)[2], ("flushing".to_owned(), 40, None));
        // Times that run backwards give no span of negative length.
        one.flushing_ns = Some(5);
        assert_eq!(
            told(&one)[1..],
            [("starting or locked".to_owned(), 20, Some(20)), ("flushing".to_owned(), 20, None)]
        );
        assert_eq!(bounds(&stages(&one)), Some((10, None)));
        let end_only = Transaction { end_ns: Some(9), ..Transaction::default() };
        assert_eq!((told(&end_only).len(), bounds(&stages(&end_only))), (0, None));
    }
}
