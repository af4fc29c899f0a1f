//! What the probes cost: a load with and without them in turns, and the time in each program.
//!
//! ```text
//! overhead FOLDER files|bulk|handles|calls|switches [pairs=5] [count=N] [exact] [all]
//! ```
//!
//! `files` creates 200,000 empty files, the load with the most handles for its work; `bulk` writes
//! 1,024 files of 1 MB and syncs the file system; `handles` changes the mode of one file again and
//! again, a handle and hardly more; `calls` makes system calls that do nothing; `switches` has two
//! threads wake each other. FOLDER should lie on an ext4 of its own. Each pair is a run
//! without probes and a run with them, in an order that changes; a last run has the kernel time each
//! program, which costs more than the programs do. `exact` turns on the bounds of system calls, `all` writes a record for every handle and sleep.
//!
//! Times of the load's thread on a processor are compared, since others may use the machine too;
//! the time of the whole run is printed beside them. The shortest of each kind says the most where
//! others make the machine noisy.
#![allow(clippy::disallowed_methods, reason = "an example is a program: it opens its files itself")]

use baro_probes::{ProbeOptions, Probes, Timing};
use baro_sys::{clock, files, footprint};
use std::error::Error;
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::sync_channel;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const DRAIN_EVERY_NS: u64 = 50_000_000;
const BULK_BYTES: usize = 1_000_000;

#[derive(Clone, Copy)]
struct Cost {
    busy_ns: u64,
    wall_ns: u64,
    /// Of the whole machine, without idle.
    machine_ns: u64,
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [folder, load, rest @ ..] = &args[..] else {
        return Err(
            "usage: overhead FOLDER files|bulk|handles|calls|switches [pairs=5] [count=N] [exact] [all]"
                .into(),
        );
    };
    let value = |key: &str| rest.iter().find_map(|word| word.strip_prefix(key)?.parse().ok());
    let pairs: usize = value("pairs=").unwrap_or(5);
    let count: usize = value("count=").unwrap_or(match load.as_str() {
        "bulk" => 1_024,
        "files" => 200_000,
        _ => 1_000_000,
    });
    let has = |key: &str| rest.iter().any(|word| word == key);
    let mut options = ProbeOptions { calls: has("exact"), ..ProbeOptions::default() };
    if has("all") {
        options.min_handle_ns = 0;
        options.min_held_ns = 0;
        options.min_sleep_ns = 0;
        options.ring_kib = 64 << 10;
    }
    let folder = Path::new(folder).join("overhead");
    let run = || one(&folder, load, count);
    run()?;
    let mut least_ns = [u64::MAX; 2];
    let mut ratios = [const { Vec::new() }; 3];
    for pair in 0..pairs {
        let (without, with);
        if pair % 2 == 0 {
            without = run()?;
            with = probed(&options, run)?;
        } else {
            with = probed(&options, run)?;
            without = run()?;
        }
        let of = |with: u64, without: u64| with as f64 / without.max(1) as f64;
        let now = [
            of(with.busy_ns, without.busy_ns),
            of(with.wall_ns, without.wall_ns),
            of(with.machine_ns, without.machine_ns),
        ];
        println!(
            "pair {pair}: busy {} -> {} ms, ratio {:.4}; wall {} -> {} ms, ratio {:.4}; machine {:.4}",
            without.busy_ns / 1_000_000,
            with.busy_ns / 1_000_000,
            now[0],
            without.wall_ns / 1_000_000,
            with.wall_ns / 1_000_000,
            now[1],
            now[2],
        );
        least_ns = [least_ns[0].min(without.busy_ns), least_ns[1].min(with.busy_ns)];
        ratios.iter_mut().zip(now).for_each(|(all, one)| all.push(one));
    }
    let middle = |all: &mut Vec<f64>| {
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied().unwrap_or(f64::NAN)
    };
    let [busy, wall, machine] = ratios.each_mut().map(middle);
    let each = |busy_ns: u64| busy_ns as f64 / count as f64;
    println!(
        "least busy {:.1} -> {:.1} ns each, ratio {:.4}",
        each(least_ns[0]),
        each(least_ns[1]),
        each(least_ns[1]) / each(least_ns[0])
    );
    println!("median ratio of {pairs}: busy {busy:.4}, wall {wall:.4}, machine {machine:.4}");
    timed(&options, run)
}

/// A run with the kernel timing each program.
fn timed(options: &ProbeOptions, run: impl Fn() -> Result<Cost>) -> Result<()> {
    let _timing = Timing::start()?;
    let probes = Probes::start(options)?;
    let cost = run()?;
    let mut total_ns = 0;
    for program in probes.statistics()?.iter().filter(|program| program.runs > 0) {
        let each_ns = program.run_time_ns as f64 / program.runs as f64;
        println!("{:24} {:9} runs {each_ns:8.1} ns", program.program, program.runs);
        total_ns += program.run_time_ns;
    }
    let share = |of_ns: u64| 100.0 * total_ns as f64 / of_ns.max(1) as f64;
    println!(
        "in programs {} us: {:.3} % of one processor's time, {:.3} % of the busy time of the machine",
        total_ns / 1_000,
        share(cost.wall_ns),
        share(cost.machine_ns)
    );
    let summary = probes.finish(&mut |_| Ok(()))?;
    println!("records {}, pages {}, lost {:?}", summary.records, summary.pages, summary.lost);
    Ok(())
}

/// A run beside probes that are drained as a recorder does.
fn probed(options: &ProbeOptions, run: impl Fn() -> Result<Cost>) -> Result<Cost> {
    let mut probes = Probes::start(options)?;
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let drainer = scope.spawn(|| {
            let mut bytes = 0;
            while !done.load(Ordering::Relaxed) {
                clock::sleep_ns(DRAIN_EVERY_NS);
                probes.drain(&mut |page| {
                    bytes += page.len();
                    Ok(())
                })?;
            }
            Ok::<_, baro_probes::ProbeError>((probes, bytes))
        });
        let cost = run();
        done.store(true, Ordering::Relaxed);
        let (probes, _) = drainer.join().map_err(|_| "the drainer has panicked")??;
        probes.finish(&mut |_| Ok(()))?;
        cost
    })
}

fn one(folder: &Path, load: &str, count: usize) -> Result<Cost> {
    fs::create_dir_all(folder)?;
    let one = File::create(folder.join("one"))?;
    footprint::sync_file_system(folder)?;
    let data = vec![7_u8; BULK_BYTES];
    let (busy_ns, begin_ns, machine_ns) = (busy_ns()?, clock::monotonic_ns(), machine_ns()?);
    if load == "switches" {
        ping_pong(count)?;
    }
    for number in 0..count {
        match load {
            "handles" => {
                one.set_permissions(fs::Permissions::from_mode(0o600 | number as u32 & 1))?
            }
            "calls" => drop(std::hint::black_box(std::os::unix::process::parent_id())),
            "switches" => break,
            _ => {
                let mut file = File::create(folder.join(format!("{number}")))?;
                if load == "bulk" {
                    file.write_all(&data)?;
                }
            }
        }
    }
    if load == "bulk" {
        footprint::sync_file_system(folder)?;
    }
    let cost = Cost {
        busy_ns: self::busy_ns()?.saturating_sub(busy_ns),
        wall_ns: clock::monotonic_ns().saturating_sub(begin_ns),
        machine_ns: self::machine_ns()?.saturating_sub(machine_ns),
    };
    fs::remove_dir_all(folder)?;
    Ok(cost)
}

/// Two threads, one of which runs while the other waits for it: a waking and a switch for each turn.
fn ping_pong(count: usize) -> Result<()> {
    let (to, from_us) = sync_channel::<()>(0);
    let (to_us, from) = sync_channel::<()>(0);
    std::thread::scope(|scope| {
        // Ends when the other side has.
        scope.spawn(move || from_us.iter().all(|()| to_us.send(()).is_ok()));
        for _ in 0..count / 2 {
            to.send(())?;
            from.recv()?;
        }
        drop(to);
        Ok(())
    })
}

/// How long this thread has been on a processor.
fn busy_ns() -> Result<u64> {
    let text = files::read_text(Path::new("/proc/thread-self/schedstat"), 100)?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

/// How long all processors have not been idle: user, nice, system, irq, softirq.
fn machine_ns() -> Result<u64> {
    let text = files::read_text(Path::new("/proc/stat"), 1 << 20)?;
    let line = text.lines().next().unwrap_or_default();
    let ticks: Vec<u64> =
        line.split_whitespace().skip(1).map(str::parse).collect::<std::result::Result<_, _>>()?;
    let busy: u64 = [0, 1, 2, 5, 6].iter().filter_map(|place| ticks.get(*place)).sum();
    Ok(busy * 10_000_000)
}
