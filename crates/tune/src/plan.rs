//! What of a check is applied: rows to be changed, or those asked for by name.
//!
//! Pure, and apart from applying, so that what would be done can be shown and tested. Invariant:
//! nothing that concerns the whole machine is applied unless that was asked for, and no row that is
//! asked for passes without a word. Tests: below.

use crate::check::{Need, Verdict};

/// What is asked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct Wish<'a> {
    /// Rows by key or name; empty: all that should be changed.
    pub only: &'a [String],
    /// Settings of the whole machine too.
    pub machine_wide: bool,
}

/// What becomes of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Its settings are applied.
    Apply,
    /// Nothing: it is as wanted.
    Good,
    /// Nothing: no file of the kernel changes it; its command says how it is done.
    ByHand,
    /// Nothing: it concerns the whole machine, which was not asked for.
    MachineWide,
}

impl Step {
    /// Whether the row stays as it is although it should not.
    #[must_use]
    pub fn is_skipped(self) -> bool {
        matches!(self, Step::ByHand | Step::MachineWide)
    }
}

/// The rows that are meant, in the order of the check.
///
/// # Errors
/// The names among `only` that no row has.
pub fn plan<'a>(needs: &'a [Need], wish: &Wish<'_>) -> Result<Vec<(&'a Need, Step)>, Vec<String>> {
    let is = |need: &Need, name: &str| need.key == name || need.name == name;
    let unknown: Vec<String> =
        wish.only.iter().filter(|name| !needs.iter().any(|need| is(need, name))).cloned().collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    let meant = |need: &&Need| match wish.only {
        [] => need.verdict == Verdict::Change,
        only => only.iter().any(|name| is(need, name)),
    };
    Ok(needs.iter().filter(meant).map(|need| (need, step(need, wish.machine_wide))).collect())
}

fn step(need: &Need, machine_wide: bool) -> Step {
    match need.settings() {
        _ if need.verdict == Verdict::Good => Step::Good,
        [] => Step::ByHand,
        settings if machine_wide || settings.iter().all(|one| one.is_of_device()) => Step::Apply,
        _ => Step::MachineWide,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check::Remedy;
    use crate::setting::Setting;

    fn need(key: &'static str, verdict: Verdict, paths: &[&str]) -> Need {
        let settings = paths.iter().map(|path| Setting::new(*path, "1")).collect();
        Need {
            key,
            name: format!("the {key}"),
            verdict,
            found: String::new(),
            wanted: String::new(),
            why: "",
            price: "",
            command: None,
            remedy: if paths.is_empty() { Remedy::Hand } else { Remedy::Settings(settings) },
        }
    }

    fn needs() -> Vec<Need> {
        let (queue, bdi) = ("/sys/block/sda/queue/nr_requests", "/sys/class/bdi/8:0/strict_limit");
        vec![
            need("numa", Verdict::Change, &["/proc/sys/kernel/numa_balancing"]),
            need("memlock", Verdict::Change, &[]),
            need("queue", Verdict::Change, &[queue]),
            need("limit", Verdict::Note, &[bdi]),
            need("mixed", Verdict::Note, &[bdi, "/proc/sys/vm/dirty_ratio"]),
            need("atime", Verdict::Good, &[]),
        ]
    }

    fn planned(only: &[&str], machine_wide: bool) -> Vec<(&'static str, Step)> {
        let only: Vec<String> = only.iter().map(|name| (*name).to_owned()).collect();
        let needs = needs();
        let plan = plan(&needs, &Wish { only: &only, machine_wide }).unwrap();
        plan.into_iter().map(|(need, step)| (need.key, step)).collect()
    }

    #[test]
    fn what_should_be_changed_is_applied_or_said_not_to_be() {
        assert_eq!(
            planned(&[], false),
            [("numa", Step::MachineWide), ("memlock", Step::ByHand), ("queue", Step::Apply)]
        );
        assert_eq!(planned(&[], true)[0], ("numa", Step::Apply));
        assert!(Step::MachineWide.is_skipped() && Step::ByHand.is_skipped());
        assert!(!Step::Good.is_skipped() && !Step::Apply.is_skipped());
    }

    #[test]
    fn notes_are_applied_when_named_and_one_wide_setting_makes_a_row_wide() {
        let expected =
            [("limit", Step::Apply), ("mixed", Step::MachineWide), ("atime", Step::Good)];
        assert_eq!(planned(&["atime", "mixed", "the limit"], false), expected);
        assert_eq!(planned(&["mixed"], true), [("mixed", Step::Apply)]);
    }

    #[test]
    fn a_name_that_no_row_has_is_told() {
        let only = ["queue".to_owned(), "que".to_owned()];
        let needs = needs();
        let wish = Wish { only: &only, machine_wide: true };
        assert_eq!(plan(&needs, &wish).unwrap_err(), ["que"]);
    }
}
