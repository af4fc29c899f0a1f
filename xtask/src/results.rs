//! `cargo xtask results`: measures what the README claims, row by row, and writes it down with
//! the machine it was measured on.
//!
//! tracefs is mounted in a mount namespace of our own, so that nothing of the machine changes and
//! every mount goes with us. A row that cannot be measured says why and stops no other.
//!
//! Invariant: one measurement at a time on a machine (a lock), each on a fresh disk, and nothing
//! left behind. Held by `stand` and `shell`; `runs` and `summary` do no measuring.

mod judge;
mod judge_store;
pub(crate) mod machine;
mod measure;
mod rows;
mod runs;
mod shell;
mod stand;
mod summary;
mod wear;

use crate::shell::{Cmd, root, target_dir};
use measure::Context;
use rows::{ROWS, Row, What};
use runs::{Runs, run_line};
use serde_json::json;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Set in the process that runs in the namespace.
const INSIDE: &str = "XTASK_RESULTS_NAMESPACE";

/// Mounts tracefs unless it is there, and goes on as the program given.
const IN_NAMESPACE: &str = "\
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing || \
echo 'results: no tracefs: journal commits are not counted' >&2; exec \"$@\"";

struct Request {
    rows: Vec<&'static Row>,
    out: Option<PathBuf>,
    /// Where backing files lie.
    dir: Option<PathBuf>,
    runs: u32,
    quick: bool,
}

pub(crate) fn run(args: &[&str]) -> Result<(), String> {
    if let ["--summary", folder] = args {
        println!("{}", summary::write(&root().join(folder))?);
        return Ok(());
    }
    let request = parse(args)?;
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if is_root && std::env::var_os(INSIDE).is_none() {
        return Err(enter_namespace(args));
    }
    let build = Cmd::new("cargo build --release --locked -p baro-cli -p baro-lab -p media");
    if !build.run().map_err(|e| format!("cannot start `{build}`: {e}"))? {
        return Err(format!("`{build}` failed"));
    }
    let out = out_folder(&request)?;
    fs::create_dir_all(&out).map_err(|e| format!("{}: {e}", out.display()))?;
    let work = request.dir.clone().unwrap_or_else(|| target_dir().join("results-disks"));
    fs::create_dir_all(&work).map_err(|e| format!("{}: {e}", work.display()))?;
    let work = work.canonicalize().map_err(|e| format!("{}: {e}", work.display()))?;
    let lock = File::create(work.join("lock")).map_err(|e| format!("{}: {e}", work.display()))?;
    lock.try_lock().map_err(|_| "another `cargo xtask results` is measuring".to_owned())?;

    let measured = measure_all(&request, &work, &out, is_root);
    // Of a run that was killed something may be left; the next one removes it.
    let _ = fs::remove_file(work.join("lock")).and_then(|()| fs::remove_dir(&work));
    let table = summary::write(&out)?;
    println!("{table}\n{}", out.join("README.md").display());
    measured
}

fn parse(args: &[&str]) -> Result<Request, String> {
    let mut request = Request { rows: Vec::new(), out: None, dir: None, runs: 5, quick: false };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match *arg {
            "--out" => request.out = Some(root().join(value()?)),
            "--dir" => request.dir = Some(PathBuf::from(value()?)),
            "--runs" => {
                let text = value()?;
                let runs = text.parse().ok().filter(|runs| (1..=100).contains(runs));
                request.runs = runs.ok_or_else(|| format!("--runs {text}: 1 to 100"))?;
            }
            "--quick" => request.quick = true,
            _ if arg.starts_with('-') => return Err(format!("unknown option {arg}")),
            name => request.rows.push(rows::find(name)?),
        }
    }
    if request.rows.is_empty() {
        request.rows = ROWS.iter().collect();
    }
    Ok(request)
}

/// Becomes the same command in a mount namespace of its own; returns only what went wrong.
fn enter_namespace(args: &[&str]) -> String {
    let own = match std::env::current_exe() {
        Ok(own) => own,
        Err(error) => return format!("own program: {error}"),
    };
    let error = Command::new("unshare")
        .args(["--mount", "--propagation", "private", "sh", "-c", IN_NAMESPACE, "sh"])
        .arg(own)
        .arg("results")
        .args(args)
        .env(INSIDE, "1")
        .exec();
    format!("unshare (of util-linux): {error}")
}

fn out_folder(request: &Request) -> Result<PathBuf, String> {
    if let Some(out) = &request.out {
        return Ok(out.clone());
    }
    if request.quick {
        return Ok(target_dir().join("results-quick"));
    }
    let date = Cmd::new("date -u +%F").output()?;
    Ok(root().join("results").join(format!("{}-{}", date.trim(), machine::name())))
}

fn measure_all(request: &Request, work: &Path, out: &Path, is_root: bool) -> Result<(), String> {
    let programs = target_dir().join("release");
    let programs = programs.canonicalize().map_err(|e| format!("{}: {e}", programs.display()))?;
    let context = Context {
        shell: shell::Shell::new(&programs)?,
        media: programs.join("media"),
        work: work.to_owned(),
        runs: request.runs,
        quick: request.quick,
    };
    let mut runs = Runs::open(out)?;
    runs.append(machine::facts(seconds(), work))?;
    let commit = machine::commit();
    for row in request.rows.iter().filter(|row| !matches!(row.what, What::Document(_))) {
        let (batch, begin) = (seconds(), Instant::now());
        println!("== {}", row.name);
        let mut number = 0;
        let mut write = |result, command: &str| {
            number += 1;
            let mut line = run_line(row.name, batch, number, command, result);
            line["time"] = json!(Cmd::new("date -u +%FT%TZ").output()?.trim());
            line["commit"] = json!(commit);
            if request.quick {
                line["quick"] = json!(true);
            }
            runs.append(line)
        };
        let done = if is_root {
            measure::measure(&context, row, &mut write)
        } else {
            Err("needs root, for loop devices and mounts".to_owned())
        };
        if let Err(why) = done {
            let why = without_paths(&why, work);
            println!("   not run: {why}");
            runs.append(json!({"row": row.name, "batch": batch, "not_run": why}))?;
        }
        let seconds = begin.elapsed().as_secs_f64();
        println!("   {}, {seconds:.0} s", summary::measured(row, &runs.of(row.name)));
    }
    runs.drop_replaced()
}

/// Seconds since 1970: later measurements have larger batches.
fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Where this machine has its folders is nobody's business.
fn without_paths(text: &str, work: &Path) -> String {
    let mut text = text.replace(&*work.to_string_lossy(), "$DISKS");
    for folder in [target_dir(), root().to_owned()] {
        text = text.replace(&*folder.to_string_lossy(), ".");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_options_are_read() {
        let request = parse(&["verify", "--runs", "3", "memory", "--quick"]).unwrap();
        let names: Vec<_> = request.rows.iter().map(|row| row.name).collect();
        assert_eq!((names, request.runs, request.quick), (vec!["verify", "memory"], 3, true));
        assert_eq!(parse(&[]).unwrap().rows.len(), ROWS.len());
        for wrong in [["--runs", "0"], ["--runs", "x"], ["no-such-row", "verify"], ["--what", "1"]]
        {
            assert!(parse(&wrong).is_err(), "{wrong:?}");
        }
    }
}
