//! The lab: Debian's kernels under QEMU, with modelled media, and power cuts. No root, no KVM.
//!
//! Called as `cargo xtask lab VERB`. Reads files, starts programs and takes times by itself, as
//! all automation does; nothing of it is part of the product.
#![allow(clippy::disallowed_methods, reason = "automation, not product code")]

mod apt;
mod cache;
mod cells;
mod choice;
mod cut;
mod cutting;
mod faults;
mod guest;
mod host;
mod kernels;
mod lanes;
mod machine;
mod matrix;
mod media;
mod options;
mod papers;
mod project;
mod reset;
mod run;
mod scratch;
mod share;
mod site;
mod start;
mod summary;
mod tool;
mod whole;

use cache::Cache;
use kernels::{SERIES, Wanted};
use std::process::ExitCode;
use tool::Trouble;

const HELP: &str = "\
cargo xtask lab kernels [SERIES...] [--newest]
        fetches Debian's kernels and makes them ready; --newest moves lab/kernels.lock on
cargo xtask lab run [--kernel 6.1] [--disk none] [--fs ext4] [--mount OPTIONS] [--mkfs OPTIONS]
        [--scheduler bfq] [--memory 512M] [--disk-size 2G] [--time 120s] [--in FILE[:PLACE]]...
        [--with PROGRAM]... [--out FOLDER] [--newest] [--counted]
        -- PROGRAM [ARG...]
        runs a program of this project or of this machine in a guest, in /mnt on a new file
        system; what it leaves in /out comes back in FOLDER; exits as the program does; --counted: one
        processor, whose clock counts instructions and does not see what the host does
cargo xtask lab cut [--kernel 6.1] [--fs ext4|f2fs] [--scenario NAME] [--way ordinary] [--points 120]
        [--seconds 3] [--seed 1] [--json FILE]
        cuts the power of a machine that records, at so many points of each scenario on each file
        system, and judges what is left; ways that must fail: no-barrier no-sync
cargo xtask lab faults [--kernel 6.1] [--fs ext4|f2fs] [--case NAME] [--seed 1] [--json FILE]
        a machine is killed (kill), its disk returns errors for a moment (errors) or from then on (dead),
        answers nothing for 3 s (hang) or for ever (hung)
cargo xtask lab reset [--kernel 6.1] [--seed 1] [--json FILE]
        a server is reset while a call hangs: the trace that is there after the next boot tells why
cargo xtask lab cells [--kernel 6.1] [--fs ext4|f2fs] [--disk none] [--json FILE]
        baro records, queries, verifies, is killed and goes on, on every kernel and file system
cargo xtask lab media [--disk emmc] [--kernel 6.1] [--json FILE]
        what the models of disks do (fio)
cargo xtask lab start [--kernel 6.1] [--json FILE]
        time from call to result with a saved machine
cargo xtask lab share [--kernel 5.10,6.1] [--disk sd,emmc] [--seconds 60] [--blocks 1M,100M | --full]
        [--setting default,auto,uncut] [--repeats 1] [--json FILE]
        two readers or writers of weights 200:100: by default, with baro share run, with its settings only
cargo xtask lab papers --out FOLDER [--only a/,push/,share/,c/,d/,kernels/]
        the four papers' experiments over kernels, media and file systems, and one report; goes on where it
        was stopped: five hours
cargo xtask lab papers --report FOLDER
        writes papers.md and papers.html anew
cargo xtask lab all --out FOLDER
        all of these, into FOLDER/lab.jsonl and lab.md: an hour
cargo xtask lab summary FOLDER
        writes lab.md anew from lab.jsonl
cargo xtask lab test [--json FILE]
        the short form for make test-full: 100 power cuts, both controls
cargo xtask lab clean
        removes saved machines, kernels and packages from the cache folder
series: 5.10 6.1 6.1-rt 6.12 6.12-rt; disks: none emmc sd sd4 hdd flash ssd; file systems: ext4 f2fs none
cache: BARO_LAB_CACHE, else ~/.cache/barograph/lab; mirror: that of apt, else BARO_LAB_MIRROR";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match args.as_slice() {
        ["kernels", rest @ ..] => kernels(rest),
        ["run", rest @ ..] => return run_job(rest),
        ["cut", rest @ ..] => cutting::command(rest),
        ["faults", rest @ ..] => matrix::faults(rest),
        ["reset", rest @ ..] => matrix::reset(rest),
        ["cells", rest @ ..] => matrix::cells(rest),
        ["media", rest @ ..] => matrix::media(rest),
        ["start", rest @ ..] => matrix::start(rest),
        ["share", rest @ ..] => share::command(rest),
        ["papers", "--report", folder] => papers::report(folder.as_ref()),
        ["papers", rest @ ..] => papers::command(rest),
        ["all", "--out", folder] => whole::run(folder.as_ref()),
        ["summary", folder] => summary::write(folder.as_ref()).map_err(Trouble::Failed),
        ["test", rest @ ..] => skipped_if_missing(cutting::short(rest)),
        ["clean"] => clean(),
        ["help" | "--help" | "-h"] => {
            println!("{HELP}");
            Ok(())
        }
        _ => {
            eprintln!("{HELP}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(trouble) => failed(&trouble),
    }
}

/// Says what went wrong, or what is missing here.
fn failed(trouble: &Trouble) -> ExitCode {
    match trouble {
        Trouble::Missing(why) => eprintln!("lab: cannot run here: {why}"),
        Trouble::Failed(why) => eprintln!("lab: {why}"),
        Trouble::Usage(why) => {
            eprintln!("lab: {why}; see: cargo xtask lab help");
            return ExitCode::from(2);
        }
    }
    ExitCode::FAILURE
}

/// For tests what is missing is a skip, which whoever called us counts.
fn skipped_if_missing(done: tool::Result<()>) -> tool::Result<()> {
    match done {
        Err(Trouble::Missing(why)) => {
            println!("skipped: {why}");
            Ok(())
        }
        other => other,
    }
}

fn kernels(args: &[&str]) -> tool::Result<()> {
    tool::ready()?;
    let newest = args.contains(&"--newest");
    let mut chosen = Vec::new();
    for name in args.iter().filter(|arg| **arg != "--newest") {
        chosen.push(kernels::series(name)?);
    }
    if chosen.is_empty() {
        chosen.extend(SERIES);
    }
    let cache = Cache::open()?;
    let wanted = if newest { Wanted::Newest } else { Wanted::Locked };
    let mut ready = Vec::new();
    for series in chosen {
        let kernel = kernels::ready(&cache, series, wanted)?;
        let package = &kernel.package;
        let differs = if kernel.differs { " (not the one of lab/kernels.lock)" } else { "" };
        println!(
            "{} {} {} {}{differs}",
            series.name, package.name, package.version, package.sha256
        );
        ready.push(kernel);
    }
    if newest {
        kernels::lock(&ready)?;
    }
    Ok(())
}

fn run_job(args: &[&str]) -> ExitCode {
    let job = match options::job(args) {
        Ok(job) => job,
        Err(why) => {
            eprintln!("lab: {why}; see: cargo xtask lab help");
            return ExitCode::from(2);
        }
    };
    match run::run(&job) {
        Ok(exit) => ExitCode::from(u8::try_from(exit.code.clamp(0, 255)).unwrap_or(1)),
        Err(trouble) => failed(&trouble),
    }
}

fn clean() -> tool::Result<()> {
    let cache = Cache::open()?;
    for name in ["saved", "kernels", "packages", "apt"] {
        let folder = cache.path().join(name);
        if folder.exists() {
            std::fs::remove_dir_all(&folder).map_err(tool::at(&folder))?;
            println!("removed {}", folder.display());
        }
    }
    Ok(())
}
