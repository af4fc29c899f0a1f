//! The judge: holds the image of a store after a power cut against the last statement before it.
//!
//! Whatever the image is, the answer is one line and never a panic. After a first look the store is
//! opened for recording, as its owner would do; what was promised must be there afterwards too.
//!
//! Invariant: what is missing, wrong or surplus is found. Held by `tests/judge.rs`, where something
//! is taken away each time.

mod again;
mod declared;
mod log;
mod samples;

use crate::content::Load;
use crate::scenario::Scenario;
use crate::statement::{SLOTS_MAX, Slot, Statement, scenario_number};
use crate::write::{make, said};
use baro_log::IDENTITY;
use baro_ondisk::WhenFull;
use baro_store::{Damage, Store, VerifyReport};
use baro_sys::disk::Disk;
use baro_sys::files;
use baro_sys::storage::Access;
use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

/// What is to be judged.
#[derive(Clone, Debug)]
pub struct Request {
    /// Folder of the store in the mounted image. It is recorded into.
    pub store: PathBuf,
    /// The last statement that the disk had taken before the cut.
    pub statement: Option<Statement>,
    /// What was recorded.
    pub scenario: &'static Scenario,
    /// What was recorded.
    pub seed: u64,
}

/// What was found where all is well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Records promised durable.
    pub durable: u64,
    /// Records found in the log, those of recorded gaps not among them.
    pub found: u64,
    /// Samples found.
    pub samples: u64,
    /// Series and channels found.
    pub series: u64,
    /// Pins found.
    pub pins: u64,
    /// Torn tails found.
    pub tails: u64,
    /// What else is worth to be known, without blanks.
    pub note: String,
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Judged { durable, found, samples, series, pins, tails, note } = self;
        let note = if note.is_empty() { "none" } else { note };
        write!(f, "durable={durable} found={found} samples={samples} series={series} ")?;
        write!(f, "pins={pins} tails={tails} note={note}")
    }
}

/// A sentence `what: expected .., found ..`, or what was found.
pub(crate) type Verdict<T = ()> = Result<T, String>;

fn bad<T>(
    what: impl fmt::Display,
    expected: impl fmt::Display,
    found: impl fmt::Display,
) -> Verdict<T> {
    Err(format!("{what}: expected {expected}, found {found}"))
}

/// What holds for one look at the image.
#[derive(Debug)]
struct Look<'a> {
    scenario: &'static Scenario,
    statement: &'a Statement,
    /// What each producer pushes.
    loads: [Load; SLOTS_MAX],
    /// The store has been opened for recording since the cut.
    again: bool,
}

impl Look<'_> {
    fn slot(&self, slot: usize) -> Option<&Slot> {
        self.statement.slots.get(slot)
    }

    /// Whether a push is known to have been taken, or to have been refused; `None` if neither.
    fn taken(&self, slot: usize, sequence: u64, too_large: bool) -> Option<bool> {
        if too_large {
            return Some(false);
        }
        let told = self.slot(slot).filter(|told| sequence < told.known)?;
        Some(!told.was_refused(sequence))
    }
}

/// Judges an image.
///
/// # Errors
/// The first thing that is not as it was promised: `what: expected .., found ..`.
pub fn judge(request: &Request) -> Verdict<Judged> {
    catch_unwind(AssertUnwindSafe(|| judge_image(request))).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no text");
        bad("panic", "none", text)
    })
}

fn judge_image(request: &Request) -> Verdict<Judged> {
    let Request { store: path, scenario, seed, .. } = request;
    let mut notes = Vec::new();
    if let Some(told) = &request.statement {
        let expected = (scenario_number(scenario.name), *seed);
        if (told.scenario, told.seed) != expected {
            let found = (told.scenario, told.seed);
            return bad("statement", format!("{expected:?}"), format!("{found:?}"));
        }
    } else {
        notes.push("no-statement");
        if let Err(error) = Store::open(path) {
            // Either a whole store or none.
            if files::exists(&path.join(IDENTITY)) {
                return bad("a store with an identity", "one that opens", error);
            }
            notes.push("no-store");
            make(path, scenario).map_err(|e| format!("init again: expected a store, found {e}"))?;
        }
    }
    let none = Statement::new(scenario.name, *seed);
    let mut statement = request.statement.clone().unwrap_or(none);
    let first = look(path, scenario, *seed, &statement, false)?;
    let full = again::record(path, scenario, *seed, &mut statement, &first)?;
    if full {
        notes.push("full");
    }
    look(path, scenario, *seed, &statement, true)
        .map_err(|what| format!("after reopening: {what}"))?;
    let mut judged = first.judged;
    judged.note = notes.join("+");
    Ok(judged)
}

/// What a look has found.
#[derive(Debug)]
struct Looked {
    judged: Judged,
    report: VerifyReport,
}

fn look(
    path: &Path,
    scenario: &'static Scenario,
    seed: u64,
    statement: &Statement,
    again: bool,
) -> Verdict<Looked> {
    let loads = [0, 1, 2].map(|slot| Load::new(scenario, seed, slot));
    let look = Look { scenario, statement, loads, again };
    if let Err(error) = Store::open(path) {
        return bad("open", "a store that opens", error);
    }
    // Nobody writes: through the page cache, so that what is looked at twice is read once.
    let disk = Disk::open(path).map_err(said)?;
    let store = Store::open_in(disk, path, Access::Read).map_err(said)?;
    let report = whole(&store, scenario)?;
    let declared = declared::check(&look, &store)?;
    let log = log::read(&look, &store, &declared)?;
    log.check(&look)?;
    let samples = samples::check(&look, &store, &declared, &log)?;
    let judged = Judged {
        durable: statement.slots.iter().map(|slot| slot.durable).sum(),
        found: log.found(),
        samples,
        series: declared.count() as u64,
        pins: store.pins().count() as u64,
        tails: report.tails.len() as u64,
        note: String::new(),
    };
    Ok(Looked { judged, report })
}

/// What the product's own verification says, and the store's shape.
fn whole(store: &Store, scenario: &Scenario) -> Verdict<VerifyReport> {
    let identity = store.identity();
    let found = (identity.segment_bytes, identity.segments, identity.when_full);
    let when_full = if scenario.recycle { WhenFull::Recycle } else { WhenFull::Stop };
    let expected = (scenario.segment_bytes, scenario.segments, when_full);
    if found != expected {
        return bad("identity", format!("{expected:?}"), format!("{found:?}"));
    }
    no_loss("damage", &store.damage())?;
    let report = baro_store::verify(store, Access::Read, |_, _| {}).map_err(said)?;
    no_loss("verify", &report.damage)?;
    if report.records_unexplained + report.records_repeated > 0 {
        let found = format!(
            "{} records unexplained and {} repeated",
            report.records_unexplained, report.records_repeated
        );
        return bad("verify", "none", found);
    }
    if report.recycled_while_reading > 0 {
        return bad("verify", "nobody who writes", report.recycled_while_reading);
    }
    if !report.is_whole() {
        return bad("verify", "a whole store", format!("{report:?}"));
    }
    if let Some((name, why)) = store.pins_damaged().first() {
        return bad(format!("pin {name}"), "whole or not there", why);
    }
    Ok(report)
}

/// A torn tail or a header that was being written is no loss.
fn no_loss(what: &str, damage: &[Damage]) -> Verdict {
    match damage.iter().find(|damage| damage.is_loss()) {
        Some(damage) => bad(what, "no loss", damage),
        None => Ok(()),
    }
}
