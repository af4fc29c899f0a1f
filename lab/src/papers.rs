//! `lab papers`: the experiments of the four papers over kernels, media and file systems, in one folder
//! with one report.
//!
//! Each job is one guest, and leaves one file that this project's own bench wrote there. A job whose
//! file is in the folder is not run again, so that what was stopped goes on with the same command.
//! Invariant: a job that failed says why, leaves no file, and is tried again the next time
//! (`test a_job_with_a_file_is_done`).

mod plan;
mod report;

use crate::machine::{Hardware, session};
use crate::project::Profile;
use crate::scratch::{Remove, tempfolder};
use crate::tool::{self, Result, Trouble, at};
use crate::{host, kernels, lanes, project, run, share};
use plan::{Job, SHARES, jobs};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// A guest that died or stood still is no result: QEMU 7.2 now and then runs an int3 that another
/// processor has just patched away, or forgets a timer on a busy host.
const TRIES: u32 = 3;
const TIME_OVER: &str = " (its time was over)";

/// `lab papers --out FOLDER [--only PREFIX,...]`.
pub(crate) fn command(args: &[&str]) -> Result<()> {
    let (mut out, mut only) = (None, Vec::new());
    let mut args = args.iter().copied();
    while let Some(arg) = args.next() {
        let value = args.next().ok_or_else(|| Trouble::Usage(format!("{arg} needs a value")))?;
        match arg {
            "--out" => out = Some(Path::new(value)),
            "--only" => only = value.split(',').collect(),
            _ => return Err(Trouble::Usage(format!("no option {arg}; there are --out --only"))),
        }
    }
    let folder = out.ok_or_else(|| Trouble::Usage("--out FOLDER expected".to_owned()))?;
    let jobs = jobs();
    let is_chosen = |name: &str| only.is_empty() || only.iter().any(|one| name.starts_with(one));
    if let Some(none) = only.iter().find(|one| {
        !"share/".starts_with(**one)
            && !one.starts_with("share/")
            && !jobs.iter().any(|job| job.name.starts_with(**one))
    }) {
        return Err(Trouble::Usage(format!("--only: no experiment begins with '{none}'")));
    }
    tool::ready()?;
    std::fs::create_dir_all(folder).map_err(at(folder))?;
    let chosen: Vec<&Job> = jobs.iter().filter(|job| is_chosen(&job.name)).collect();
    let mut wrong = run_all(folder, &chosen)?;
    let rows = folder.join("share.jsonl");
    let rows = rows.to_string_lossy();
    for line in SHARES.iter().filter(|line| is_chosen(line.name)) {
        println!("== {}", line.name);
        let args: Vec<&str> = line.args.split(' ').chain(["--json", &rows]).collect();
        if let Err(Trouble::Failed(why) | Trouble::Usage(why)) = share::command(&args) {
            eprintln!("   failed: {why}");
            wrong.push(format!("{}: {why}", line.name));
        }
    }
    report(folder)?;
    if wrong.is_empty() { Ok(()) } else { Err(Trouble::Failed(wrong.join("\n     "))) }
}

/// Writes the report of what is in the folder, and the benches' own of papers A and C, claim by claim.
pub(crate) fn report(folder: &Path) -> Result<()> {
    report::write(folder, &jobs())?;
    let studies: [(&str, &[&str], &str); 2] =
        [("baro", &["bench", "recorder"], "a-"), ("baro-lab", &["files"], "c-")];
    for (program, verb, prefix) in studies {
        let entries = std::fs::read_dir(folder).map_err(at(folder))?.flatten();
        let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
        files.retain(|path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with(prefix) && name.ends_with(".jsonl")
        });
        files.sort();
        if files.is_empty() {
            continue;
        }
        let path = project::build(program, Profile::Release)?
            .ok_or_else(|| format!("no program {program} in this project"))?;
        let name = verb.last().copied().unwrap_or_default();
        let page = folder.join(format!("{name}.html"));
        let mut command = Command::new(&path);
        command.args(verb).arg("--study").args(&files).arg("--html").arg(&page);
        let done = command.stdin(Stdio::null()).output().map_err(at(&path))?;
        // A claim that does not hold is a result: exit code 3.
        if !matches!(done.status.code(), Some(0 | 3)) {
            let said = String::from_utf8_lossy(&done.stderr).into_owned();
            let verb = verb.join(" ");
            let said = said.trim();
            return Err(Trouble::Failed(format!("{program} {verb} --study: {said}")));
        }
        println!("{}", page.display());
    }
    Ok(())
}

/// Runs all jobs that have no file yet: those whose guest leaves a processor to others as many at once
/// as this host has processors, the others one after the other. Gives what failed.
fn run_all(folder: &Path, chosen: &[&Job]) -> Result<Vec<String>> {
    let missing = chosen.iter().copied().filter(|job| !is_done(folder, job));
    let (narrow, wide): (Vec<&Job>, Vec<&Job>) = missing.partition(|job| job.leaves_a_processor());
    println!("{} experiments, {} of them to be run", chosen.len(), narrow.len() + wide.len());
    let one = |job: &&Job| {
        let begin = Instant::now();
        match tried(folder, job) {
            Ok(()) => println!("== {}: {:.0} s", job.name, begin.elapsed().as_secs_f64()),
            Err(Trouble::Failed(why) | Trouble::Usage(why)) => {
                eprintln!("== {}: failed: {why}", job.name);
                return Err(Trouble::Failed(format!("{}: {why}", job.name)));
            }
            missing @ Err(Trouble::Missing(_)) => return missing,
        }
        Ok(())
    };
    let mut wrong = lanes::run(1, &wide, one)?;
    wrong.extend(lanes::run(host::processors(), &narrow, one)?);
    Ok(wrong)
}

fn is_done(folder: &Path, job: &Job) -> bool {
    std::fs::metadata(folder.join(job.file())).is_ok_and(|file| file.len() > 0)
}

/// Whether the guest died or stood still, whatever it was to measure.
fn is_no_result(why: &str) -> bool {
    [session::GONE, session::SILENT, TIME_OVER].iter().any(|one| why.contains(one))
}

/// Runs one job; again if its guest died or stood still.
fn tried(folder: &Path, job: &Job) -> Result<()> {
    for _ in 1..TRIES {
        match one(folder, job) {
            Err(Trouble::Failed(why)) if is_no_result(&why) => {
                println!("== {}: again: {why}", job.name);
            }
            done => return done,
        }
    }
    one(folder, job)
}

/// Runs one job in a guest of its own.
fn one(folder: &Path, job: &Job) -> Result<()> {
    let scratch = tempfolder("papers")?;
    let _remove = Remove(scratch.clone());
    let exit = run::run(&run::Job {
        kernel: kernels::series(job.kernel)?,
        wanted: kernels::Wanted::Locked,
        disk: job.disk,
        fs: job.fs.to_owned(),
        mount: job.mount.to_owned(),
        mkfs: String::new(),
        scheduler: None,
        hardware: Hardware {
            memory_mib: job.memory_mib,
            disk_bytes: job.disk_bytes,
            processors: job.processors,
            counted: job.counted,
            ..Hardware::default()
        },
        within: job.within,
        bring: vec![("/usr/sbin/losetup".into(), "/tools/losetup".to_owned())],
        with: [&["baro"], job.with].concat().into_iter().map(str::to_owned).collect(),
        out: Some(scratch.clone()),
        profile: Profile::Release,
        command: vec!["sh".to_owned(), "-c".to_owned(), job.script()],
    })?;
    let left = scratch.join(plan::LEFT);
    let is_good = job.good_codes.contains(&exit.code) && !exit.timed_out;
    if !is_good || !left.exists() {
        return Err(Trouble::Failed(format!(
            "exit code {}{}, {}",
            exit.code,
            if exit.timed_out { TIME_OVER } else { "" },
            if left.exists() { "left a part" } else { "left nothing" },
        )));
    }
    let file = folder.join(job.file());
    // In one step: what is in the folder is whole.
    let part = folder.join(format!("{}.part", job.file()));
    std::fs::copy(&left, &part).map_err(at(&part))?;
    std::fs::rename(&part, &file).map_err(at(&file))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_with_a_file_is_done() {
        let folder = tempfolder("papers-test").unwrap();
        let _remove = Remove(folder.clone());
        let jobs = jobs();
        assert!(jobs.len() > 40 && !is_done(&folder, &jobs[0]));
        std::fs::write(folder.join(jobs[0].file()), "").unwrap();
        assert!(!is_done(&folder, &jobs[0]), "an empty file is none");
        std::fs::write(folder.join(jobs[0].file()), "{}\n").unwrap();
        assert!(is_done(&folder, &jobs[0]) && !is_done(&folder, &jobs[1]));
    }

    #[test]
    fn what_is_none_is_an_error_of_usage() {
        for line in ["", "--out", "--only a --out", "--out x --only nothing", "x --out"] {
            let args: Vec<&str> = line.split_whitespace().collect();
            assert!(matches!(command(&args), Err(Trouble::Usage(_))), "{line}");
        }
    }
}
