//! `lab share`: the ratio of two readers or writers of weights 200:100, by default and with
//! `baro share run`, on other kernels, with cgroup v2, behind the kernel's own driver of cards.
//!
//! What is counted are bytes that the disk has completed between two moments, by the place on the
//! disk: `io.stat` counts a bio when it is submitted, which for I/O of 100 MB is many seconds early,
//! and fio counts whole I/Os, of which a minute has four. Invariant: a cell that could not be
//! measured says why and has no figures.

mod seen;
mod trace;

use crate::cache::Cache;
use crate::choice::Choice;
use crate::guest::programs::Brought;
use crate::kernels::{self, Kernel, Wanted};
use crate::machine::disk::{self, Driver, Model};
use crate::machine::{Disks, Hardware, Machine};
use crate::scratch::{Remove, tempfile};
use crate::site::{Site, bring, bring_file};
use crate::tool::{self, Result, Trouble, which};
use crate::{host, lanes, project, run};
use seen::Seen;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use trace::Extents;

const PAIR: &str = include_str!("share/pair.sh");
const INTERPOSER: &str = "libbaro_preload.so";
const NAMES: [&str; 2] = ["first", "second"];
const WEIGHTS: [u16; 2] = [200, 100];
/// BFQ as it comes; all that `baro share run` does; only its settings of the queue, nothing cut.
pub(crate) const SETTINGS: [&str; 3] = ["default", "auto", "uncut"];
const DIRECTIONS: [&str; 2] = ["read", "write"];
/// Before anything is measured: fio starts slowly under emulation, and pieces find their size.
const WARM_S: u64 = 12;
/// Then so many times what one I/O takes with the whole disk: each program's first request of libaio
/// goes whole, and a third of the disk is all that one of them gets.
const FIRST_IOS: f64 = 4.0;
/// Each file; two of the largest I/Os fit in.
const FILE_MB: u64 = 200;
/// fio's buffers of 100 MB are locked while it reads.
const MEMORY_MIB: u32 = 1024;

/// `lab share`.
pub(crate) fn command(args: &[&str]) -> Result<()> {
    const KNOWN: &[&str] =
        &["--kernel", "--disk", "--seconds", "--blocks", "--full", "--repeats", "--setting"];
    let mut choice = Choice::of(KNOWN, args)?;
    tool::ready()?;
    if choice.kernels.is_empty() {
        choice.kernels.push(kernels::series("5.10")?);
    }
    if choice.disks.is_empty() {
        choice.disks.push(disk::model("sd")?);
    }
    let cache = Cache::open()?;
    let kernels: Vec<Kernel> = choice
        .kernels
        .iter()
        .map(|series| kernels::ready(&cache, series, Wanted::Locked))
        .collect::<std::result::Result<_, _>>()?;
    let places: Vec<(&Kernel, &'static Model)> = kernels
        .iter()
        .flat_map(|kernel| choice.disks.iter().map(move |model| (kernel, *model)))
        .collect();
    // A card takes the emulator more than a processor.
    let (cards, others): (Vec<_>, Vec<_>) =
        places.into_iter().partition(|(_, model)| model.driver == Driver::Mmc);
    let cannot = AtomicUsize::new(0);
    let one = |(kernel, model): &(&Kernel, &'static Model)| {
        let here = on(choice.site(&cache, kernel), model, &choice)?;
        cannot.fetch_add(here, Ordering::Relaxed);
        Ok(())
    };
    let mut wrong = lanes::run(1, &cards, one)?;
    wrong.extend(lanes::run(host::processors(), &others, one)?);
    let cannot = cannot.into_inner();
    if cannot > 0 {
        wrong.push(format!("{cannot} cells could not be measured"));
    }
    if wrong.is_empty() { Ok(()) } else { Err(Trouble::Failed(wrong.join("; "))) }
}

/// All cells of a kernel and a disk; returns how many could not be measured.
fn on(
    site: Site<'_>,
    model: &'static Model,
    choice: &Choice,
) -> std::result::Result<usize, String> {
    let known = choice.rows()?;
    let mut bed = None;
    let mut cannot = 0;
    for repeat in 1..=choice.repeats {
        for cell in cells(model, choice) {
            let wanted = cell.id(site, repeat);
            if known.iter().any(|row| row.get("cannot").is_none() && holds(row, &wanted)) {
                continue;
            }
            let mut here = match bed.take() {
                Some(bed) => bed,
                None => Bed::make(site, model)?,
            };
            let measured = match &here.without {
                Some(why) if cell.setting == "auto" => Err(why.clone()),
                _ => cell.run(&mut here.machine, &here.places),
            };
            cannot += usize::from(measured.is_err());
            // A guest that failed may be gone: the next cell gets a new one.
            bed = measured.is_ok().then_some(here);
            let (row, said) = cell.row(wanted, measured);
            println!("{} {}: {said}", site.kernel.release, model.name);
            choice.keep(&row)?;
        }
    }
    Ok(cannot)
}

/// True if `row` has all that `wanted` has.
fn holds(row: &Value, wanted: &Value) -> bool {
    let Value::Object(wanted) = wanted else { return false };
    wanted.iter().all(|(key, value)| row.get(key) == Some(value))
}

/// A guest with both files on its disk.
struct Bed {
    machine: Machine,
    places: Vec<Extents>,
    /// Why nothing can be cut.
    without: Option<String>,
    _remove: Remove,
}

impl Bed {
    fn make(site: Site<'_>, model: &'static Model) -> std::result::Result<Bed, String> {
        let image = tempfile("share");
        let remove = Remove(image.clone());
        // An emulated card keeps a processor for itself.
        let card = model.driver == Driver::Mmc;
        let hardware = Hardware {
            card,
            memory_mib: MEMORY_MIB,
            processors: if card { 2 } else { 1 },
            ..Hardware::default()
        };
        let mut machine = site.start(hardware, &Disks::model(model, image))?;
        for name in ["fio", "filefrag"] {
            let host =
                which(name).ok_or_else(|| format!("no {name} here (apt-get install fio)"))?;
            bring(&mut machine, &host, &format!("/usr/bin/{name}"))?;
        }
        site.bring_baro(&mut machine)?;
        let without = bring_interposer(site, &mut machine)?;
        machine.sh(&run::prepare(model, "ext4", "", "", None), 120)?;
        let places = lay_out(&mut machine)?;
        Ok(Bed { machine, places, without, _remove: remove })
    }
}

/// All that was chosen for one disk.
fn cells<'a>(model: &'static Model, choice: &'a Choice) -> Vec<Cell<'a>> {
    let mut cells = Vec::new();
    for block_bytes in choice.blocks.iter().copied() {
        for direction in DIRECTIONS {
            let cell = |setting| Cell { setting, direction, block_bytes, model, choice };
            cells.extend(choice.settings.iter().copied().map(cell));
        }
    }
    cells
}

/// Brings the interposer; returns why it is not there where this project has none.
fn bring_interposer(
    site: Site<'_>,
    machine: &mut Machine,
) -> std::result::Result<Option<String>, String> {
    // One that is built already may be named.
    let named = std::env::var_os("BARO_LAB_INTERPOSER").map(PathBuf::from);
    let host = match named {
        Some(path) => path,
        None => match project::build_library("baro-preload", INTERPOSER, site.profile)? {
            Some(path) => path,
            None => return Ok(Some("this project has no package baro-preload".to_owned())),
        },
    };
    bring_file(machine, &Brought { host, guest: format!("/usr/lib/barograph/{INTERPOSER}") })?;
    Ok(None)
}

/// Writes both files, and returns where they are on the disk.
fn lay_out(machine: &mut Machine) -> std::result::Result<Vec<Extents>, String> {
    let mut places = Vec::new();
    for name in NAMES {
        // Written and not only allocated: what was never written is read without the disk.
        machine.sh(
            &format!(
                "fio --name=l --filename=/mnt/{name} --size={FILE_MB}M --rw=write --bs=1M --direct=1 \
                 --ioengine=libaio --iodepth=1 --output=/dev/null && sync"
            ),
            300,
        )?;
        let said = machine.sh(&format!("filefrag -v -b512 /mnt/{name}"), 30)?;
        let extents = Extents::read(&said);
        let (expected, found) = (FILE_MB << 20, extents.bytes());
        if found < expected {
            return Err(format!("/mnt/{name}: expected extents of {expected} bytes: {said}"));
        }
        places.push(extents);
    }
    Ok(places)
}

/// One pair.
struct Cell<'a> {
    setting: &'static str,
    direction: &'static str,
    block_bytes: u64,
    model: &'static Model,
    choice: &'a Choice,
}

impl Cell<'_> {
    /// What tells its row from others.
    fn id(&self, site: Site<'_>, repeat: u64) -> Value {
        json!({
            "what": "share", "kernel": site.kernel.release,
            "version": site.kernel.package.version, "disk": self.model.name,
            "setting": self.setting, "direction": self.direction, "block_bytes": self.block_bytes,
            "weights": WEIGHTS, "repeat": repeat,
            "seconds": self.choice.measure_for.as_secs(),
        })
    }

    /// The row of results, and what is said of it.
    fn row(&self, mut row: Value, measured: std::result::Result<Value, String>) -> (Value, String) {
        let Cell { setting, direction, block_bytes, .. } = self;
        let cell = format!("{setting} {direction} {}K", block_bytes >> 10);
        row["host"] = host::facts();
        match measured {
            Ok(measured) => {
                let said = format!(
                    "{cell}: {} MB/s, ratio {}, pieces {}",
                    measured["mb_per_s"], measured["ratio"], measured["piece_bytes"]
                );
                if let (Value::Object(row), Value::Object(mut measured)) = (&mut row, measured) {
                    row.append(&mut measured);
                }
                (row, said)
            }
            Err(why) => {
                row["cannot"] = json!(why);
                (row, format!("{cell}: cannot be measured: {why}"))
            }
        }
    }

    /// Until the first I/O of both is over.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "seconds, small")]
    fn warm_s(&self) -> u64 {
        let bytes_per_s = self.model.bytes_per_s(self.direction).unwrap_or(u64::MAX);
        let first_s = FIRST_IOS * self.block_bytes as f64 / bytes_per_s as f64;
        WARM_S + first_s.ceil() as u64
    }

    fn run(&self, machine: &mut Machine, places: &[Extents]) -> std::result::Result<Value, String> {
        let seconds = self.choice.measure_for.as_secs();
        let warm_s = self.warm_s();
        let disk = self.model.device().trim_start_matches("/dev/");
        let script = format!(
            "SETTING={} DISK={disk} DIR=/mnt RW={} BYTES={} FIRST={} SECOND={} WARM_S={warm_s} \
             SECONDS_S={seconds} FILE_MB={FILE_MB}\n{PAIR}",
            self.setting, self.direction, self.block_bytes, WEIGHTS[0], WEIGHTS[1],
        );
        // An I/O that has begun is waited for, in a guest that is slow.
        let within = Duration::from_secs(seconds + warm_s + 600);
        let output = machine.session.sh(&script, within).map_err(|why| machine.explain(&why))?;
        let files = machine.session.get("/run/share")?;
        let seen = Seen::new(files.into_iter().map(|file| {
            let name = file.path.rsplit('/').next().unwrap_or_default().to_owned();
            (name, String::from_utf8_lossy(&file.bytes).into_owned())
        }));
        if output.exit.code != 0 {
            return Err(format!("{}{}; {}", output.out, output.err, seen.said()));
        }
        seen.judge(self.direction, self.setting, places)
            .map_err(|why| format!("{why}; {}{}", output.err, seen.said()))
    }
}
