//! `baro-lab stall`: see `baro_lab::stall`. Paper D's experiment, before and after the remedy.

use baro_command::failure::{Outcome, Result};
use baro_command::size::{self, show_bytes, show_ns};
use baro_command::{Format, print_json};
use baro_lab::stall::{Commit, Half, MOUNT_AS_EXT3, StallReport, StallSpec, run as measure};
use baro_sys::{clock, files, termination};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Folder for an image of up to 1 GiB, sparse; best in memory
    #[arg(long, default_value = "/dev/shm")]
    dir: PathBuf,
    /// How long to look before the remedy, and after
    #[arg(long = "for", default_value = "60s", value_parser = size::nanoseconds)]
    duration: u64,
    /// Time between two stamps
    #[arg(long, default_value = "100ms", value_parser = size::nanoseconds)]
    period: u64,
    /// Count gaps of at least so long
    #[arg(long, default_value = "500ms", value_parser = size::nanoseconds)]
    gap: u64,
    /// Size of the large files; three of them must fit into the image
    #[arg(long, default_value = "256M", value_parser = size::bytes)]
    file: u64,
    /// Bytes a second of the device
    #[arg(long, default_value = "20M", value_parser = size::bytes)]
    device: u64,
    /// Dirty data of the device before the remedy
    #[arg(long, default_value = "512M", value_parser = size::bytes)]
    before: u64,
    /// Dirty data of the device after it: what it writes in a second
    #[arg(long, default_value = "20M", value_parser = size::bytes)]
    after: u64,
    /// Options of the mount, instead of those that are as ext3 was; "defaults" are the kernel's own
    #[arg(long, default_value = MOUNT_AS_EXT3)]
    mount: String,
    /// Limit the dirty data of the whole machine, as kernels before 6.2 must: undone at the end
    #[arg(long)]
    machine_wide: bool,
    /// How many times shorter the longest commit must be, or the exit code is 3
    #[arg(long, default_value_t = 10.0)]
    goal: f64,
    /// Also draw into this file
    #[arg(long)]
    svg: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub(crate) fn run(arguments: &Arguments) -> Result<Outcome> {
    termination::watch()?;
    let spec = StallSpec {
        mount: arguments.mount.clone(),
        machine_wide: arguments.machine_wide,
        length_ns: arguments.duration,
        stamp_period_ns: arguments.period,
        gap_ns: arguments.gap,
        file_bytes: arguments.file,
        device_bytes_per_s: arguments.device,
        before_bytes: arguments.before,
        after_bytes: arguments.after,
    };
    let (stop, done) = (AtomicBool::new(false), AtomicBool::new(false));
    let report = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                stop.fetch_or(termination::requested().is_some(), Ordering::Relaxed);
                clock::sleep_ns(20_000_000);
            }
        });
        let report = measure(spec, &arguments.dir, &stop);
        done.store(true, Ordering::Relaxed);
        report
    })?;
    if let Some(svg) = &arguments.svg {
        files::write(svg, report.svg().as_bytes())?;
    }
    match arguments.format {
        Format::Json => print_json(&as_json(&report))?,
        Format::Text => {
            for (name, half) in ["before", "after"].into_iter().zip(&report.halves) {
                print(name, half, &report);
            }
            match report.commit_ratio() {
                Some(ratio) => out!("longest commit: {ratio:.1} times shorter"),
                None => out!("longest commit: not measured, see above"),
            }
            out!();
            baro_command::print_lines(&report.text())?;
            out!();
        }
    }
    Ok(Outcome::lost_if(report.commit_ratio().is_some_and(|ratio| ratio < arguments.goal)))
}

fn print(name: &str, half: &Half, report: &StallReport) {
    out!(
        "{name}: at most {} dirty; {} written; {} stamps, {} gaps of {} or more, the longest {}",
        show_bytes(half.limit_bytes),
        show_bytes(half.written_bytes),
        half.stamps.len(),
        half.gaps(report.spec.gap_ns),
        show_ns(report.spec.gap_ns),
        show_ns(half.gap_ns_max()),
    );
    if let (Some(commits), Some(longest)) = (&half.commits, half.longest_commit()) {
        out!(
            "    {} commits, the longest {}{}: {} locked, {} flushing, {} logging; all {}",
            commits.len(),
            show_ns(longest.length_ns),
            if longest.ended { "" } else { " when the time was over" },
            show_ns(longest.locked_ns),
            show_ns(longest.flushing_ns),
            show_ns(longest.logging_ns),
            show_ns(commits.iter().map(|commit| commit.length_ns).sum()),
        );
    }
    out!(
        "    by the journal's own sums: {} commits ended, all {}",
        half.sums.commits,
        show_ns(half.sums.length_ns)
    );
}

fn as_json(report: &StallReport) -> Value {
    let commit = |commit: &Commit| {
        json!({
            "transaction": commit.transaction,
            "length_ns": commit.length_ns,
            "locked_ns": commit.locked_ns,
            "flushing_ns": commit.flushing_ns,
            "logging_ns": commit.logging_ns,
            "ended": commit.ended,
        })
    };
    let half = |half: &Half| {
        json!({
            "dirty_limit_bytes": half.limit_bytes,
            "written_bytes": half.written_bytes,
            "stamps": half.stamps.len(),
            "gaps": half.gaps(report.spec.gap_ns),
            "gap_max_ns": half.gap_ns_max(),
            "commit_max_ns": half.longest_commit().map(|commit| commit.length_ns),
            "commits": half.commits.as_ref().map(|all| all.iter().map(commit).collect::<Vec<_>>()),
            "journal_commits_ended": half.sums.commits,
            "journal_commits_ns": half.sums.length_ns,
        })
    };
    let [before, after] = &report.halves;
    json!({
        "duration_ns": report.spec.length_ns,
        "mount_options": report.spec.mount,
        "machine_wide": report.spec.machine_wide,
        "stamp_period_ns": report.spec.stamp_period_ns,
        "gap_from_ns": report.spec.gap_ns,
        "device_bytes_per_s": report.spec.device_bytes_per_s,
        "before": half(before),
        "after": half(after),
        "commit_ratio": report.commit_ratio(),
    })
}
