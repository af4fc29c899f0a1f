//! Settings that outlive their process, on the simulated machine: killed at every step, opened again,
//! put back.

use super::*;

impl Fake {
    fn open_kept(&self) -> Result<(Journal, Report), Error> {
        let process = self.process(&self.folder).unwrap();
        Journal::recover(Box::new(process), "/journal".into(), None)
    }
}

fn apply_all(fake: &Fake) {
    let Ok((mut journal, _)) = fake.open_kept() else { return };
    for setting in settings() {
        let _ = journal.apply(&setting);
    }
}

#[test]
fn what_is_kept_stays_until_undone_whenever_its_owner_dies() {
    let (mut deaths, mut left) = (0, 0);
    for index in 0..machines().len() {
        let fresh = || machines().swap_remove(index);
        let whole = fresh();
        let found = whole.files();
        apply_all(&whole);
        let kept = whole.files();
        assert_ne!(kept, found);
        for steps in 0..whole.kernel().steps_done {
            let fake = fresh();
            fake.kernel().steps_left = Some(steps);
            apply_all(&fake);
            fake.revive();
            let now = fake.files();
            left += usize::from(now != found);
            let (journal, report) = fake.open_kept().unwrap();
            assert!(report.settings.is_empty(), "{report}");
            drop(journal);
            assert_eq!(fake.files(), now, "opening or closing has changed a setting");
            // Either put back, or gone on with and then put back.
            if steps % 2 == 1 {
                apply_all(&fake);
            }
            let (mut journal, _) = fake.open_kept().unwrap();
            let report = journal.undo_all(OnConflict::Leave);
            assert!(report.is_clean(), "{report}");
            drop(journal);
            assert_eq!(fake.files(), found, "machine {index}, after {steps} steps");
            assert_eq!(fake.kernel().journal, None);
            deaths += 1;
        }
    }
    assert!(deaths > 100 && left > 50, "{deaths} deaths, {left} with settings left");
}

#[test]
fn a_reboot_ends_what_is_kept() {
    let fake = machines().swap_remove(0);
    let found = fake.files();
    apply_all(&fake);
    // The kernel begins anew with its own values.
    fake.kernel().files = found.clone();
    fake.kernel().put(BOOT_ID, "boot-2");
    let (mut journal, report) = fake.open_kept().unwrap();
    let stale = |undone: &Undone| matches!(undone.result, UndoneAs::Stale { .. });
    assert!(!report.settings.is_empty() && report.settings.iter().all(stale), "{report}");
    assert!(journal.undo_all(OnConflict::Leave).settings.is_empty());
    assert_eq!(fake.kernel().journal, None);
}
