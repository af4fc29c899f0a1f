//! What became of each row that was to be applied, for people and for programs.

use baro_tune::{Applied, Need, Outcome, Setting, Step};
use serde_json::{Value, json};

/// A row, and what was done about it.
#[derive(Debug)]
pub(super) struct Row<'a> {
    pub(super) need: &'a Need,
    pub(super) step: Step,
    /// Its settings that were written, as far as it came.
    pub(super) applied: Vec<(&'a Setting, Applied)>,
}

impl Row<'_> {
    /// Whether something of it is not as it should be.
    pub(super) fn falls_short(&self) -> bool {
        let ignored = |(_, applied): &(_, Applied)| applied.outcome == Outcome::Ignored;
        self.step.is_skipped() || self.applied.iter().any(ignored)
    }

    /// Prints what was done; of a dry run what would be.
    pub(super) fn print(&self, dry: bool) {
        let need = self.need;
        let command = need.command.as_deref().unwrap_or("see `baro tune check`");
        match self.step {
            Step::Good => out!("good      {}: {}", need.key, need.found),
            Step::ByHand => {
                out!("skipped   {}: no file of the kernel sets it: {command}", need.key)
            }
            Step::MachineWide => {
                out!("skipped   {}: for the whole machine: add --machine-wide", need.key);
            }
            Step::Apply if dry => {
                for setting in need.settings() {
                    out!("would set {}: {} = {}", need.key, setting.path(), setting.value());
                }
                out!("          price: {}", need.price);
            }
            Step::Apply => {
                for (setting, Applied { before, now, outcome }) in &self.applied {
                    let word = word(*outcome);
                    let asked = match outcome {
                        Outcome::Adjusted | Outcome::Ignored => {
                            format!(" (asked for {})", setting.value())
                        }
                        _ => String::new(),
                    };
                    out!("{word:<9} {}: {}: {before} -> {now}{asked}", need.key, setting.path());
                }
                out!("          price: {}", need.price);
            }
        }
    }

    pub(super) fn json(&self) -> Value {
        let step = match self.step {
            Step::Apply => "apply",
            Step::Good => "good",
            Step::ByHand => "by_hand",
            Step::MachineWide => "machine_wide",
        };
        let wanted = self.need.settings().iter();
        let settings: Vec<Value> = wanted
            .map(|setting| {
                let done = self.applied.iter().find(|(one, _)| *one == setting);
                json!({
                    "path": setting.path(),
                    "value": setting.value(),
                    "before": done.map(|(_, applied)| applied.before.clone()),
                    "now": done.map(|(_, applied)| applied.now.clone()),
                    "outcome": done.map(|(_, applied)| word(applied.outcome)),
                })
            })
            .collect();
        json!({
            "key": self.need.key,
            "name": self.need.name,
            "step": step,
            "skipped": self.step.is_skipped(),
            "price": self.need.price,
            "command": self.need.command,
            "settings": settings,
        })
    }
}

fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::AlreadySet => "already",
        Outcome::Exact => "applied",
        Outcome::Adjusted => "adjusted",
        Outcome::Ignored => "ignored",
        // The library may learn to tell more.
        _ => "other",
    }
}
