//! Disks that fail beneath a recorder, and machines that are killed: `lab faults`.
//!
//! The disk is a device-mapper device in the guest, which is told to return errors, or to answer
//! nothing, for a while. Whatever happens, nothing that was acknowledged may be missing afterwards;
//! and a disk that answers again has nothing lost but what was refused and counted.

use crate::cut::disk;
use crate::machine::disk::MODELS;
use crate::machine::{Backing, Disks, Machine};
use crate::scratch::{Remove, tempfile};
use crate::site::Site;
use crate::tool::at;
use lab_load::{STATEMENT_BYTES, Statement};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What happens to the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Case {
    /// SIGKILL for the machine.
    Kill,
    /// Every write and sync fails for 0.3 s.
    Errors,
    /// Every write and sync fails from then on.
    Dead,
    /// Nothing is answered for 3 s.
    Hang,
    /// Nothing is answered any more; the machine is killed.
    Hung,
}

pub(crate) const CASES: [Case; 5] = [Case::Kill, Case::Errors, Case::Dead, Case::Hang, Case::Hung];

impl Case {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Case::Kill => "kill",
            Case::Errors => "errors",
            Case::Dead => "dead",
            Case::Hang => "hang",
            Case::Hung => "hung",
        }
    }

    /// What is done to the device-mapper device d, in shell.
    fn script(self) -> &'static str {
        match self {
            Case::Kill => "",
            Case::Errors => "table \"$error\"; sleep 0.3; table \"$linear\"; sleep 2",
            Case::Dead => "table \"$error\"; sleep 3",
            Case::Hang => {
                "dmsetup suspend --noflush --nolockfs d; sleep 3; dmsetup resume d; sleep 1"
            }
            Case::Hung => "dmsetup suspend --noflush --nolockfs d; sleep 3",
        }
    }
}

/// What came of one.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// As it is kept.
    pub(crate) json: Value,
    /// What is wrong.
    pub(crate) wrong: Vec<String>,
}

/// Runs a case.
pub(crate) fn run(site: Site<'_>, fs: &str, case: Case, seed: u64) -> Result<Outcome, String> {
    let image = tempfile("fault");
    let _remove = Remove(image.clone());
    std::fs::write(&image, disk::table()).map_err(at(&image))?;
    let (last, ended) = record(site, fs, case, seed, &image)?;
    let statement = last_statement(&image)?;
    let judged = judge(site, fs, case, seed, &image, statement.as_ref())?;
    let mut wrong = Vec::new();
    if !judged.starts_with("ok ") {
        wrong.push(judged.clone());
    }
    if statement.is_none() {
        wrong.push("no statement was found: nothing was promised".to_owned());
    }
    let number = |name: &str| last.get(name).and_then(Value::as_u64);
    match case {
        // A disk that answered late has lost nothing and said so.
        Case::Hang => {
            if !ended {
                wrong.push("the load did not end by itself".to_owned());
            }
            if number("left") != Some(0) || number("failures") != Some(0) {
                wrong.push(format!("left and failures: 0 and 0 expected: {last}"));
            }
            // Else it was not the recorder's disk that hung, and nothing has been shown.
            let longest = number("longest_write_us").max(number("longest_sync_us"));
            if longest.is_none_or(|longest| longest < 2_000_000) {
                wrong.push(format!("the recorder never waited for the disk: {last}"));
            }
        }
        Case::Errors | Case::Dead => {
            if !ended {
                wrong.push("the load did not end by itself".to_owned());
            }
            if number("failures").is_none_or(|count| count == 0) {
                wrong.push(format!("failures of the disk were not counted: {last}"));
            }
        }
        Case::Kill | Case::Hung => {}
    }
    let json = json!({
        "what": "fault", "case": case.name(), "kernel": site.kernel.release, "fs": fs, "seed": seed,
        "ended": ended, "load": last, "judged": judged, "wrong": wrong,
    });
    Ok(Outcome { json, wrong })
}

/// Records while it happens; the load's last line and whether it ended by itself.
fn record(
    site: Site<'_>,
    fs: &str,
    case: Case,
    seed: u64,
    image: &Path,
) -> Result<(Value, bool), String> {
    let mut machine = start(site, image)?;
    let mkfs = if fs == "ext4" { "mkfs.ext4 -q -F" } else { "mkfs.f2fs -q -f" };
    machine.sh(
        &format!(
            "set -e; modprobe dm_mod; blockdev --rereadpt /dev/vda; n=$(cat /sys/block/vda/vda1/size); \
             echo \"0 $n linear /dev/vda1 0\" | dmsetup create d; {mkfs} /dev/dm-0 >/dev/null; \
             mount -t {fs} /dev/dm-0 /mnt; sync"
        ),
        60,
    )?;
    if case == Case::Kill {
        let line = format!(
            "exec lab-load write --store /mnt/store --acks /dev/vda2 --scenario settle --seed {seed} \
             --for-ms 600000"
        );
        let after = Duration::from_millis(1500 + seed * 613 % 2000);
        machine.kill_while_running(&line, "READY", after)?;
        return Ok((Value::Null, false));
    }
    let script = format!(
        "n=$(cat /sys/block/vda/vda1/size); linear=\"0 $n linear /dev/vda1 0\"; error=\"0 $n error\"\n\
         table() {{ dmsetup suspend --noflush --nolockfs d; dmsetup load d --table \"$1\"; dmsetup resume d; }}\n\
         lab-load fault --store /mnt/store --acks /dev/vda2 --seed {seed} --for-ms 7000 >/run/said 2>&1 &\n\
         for i in $(seq 400); do grep -q READY /run/said && break; sleep 0.05; done; sleep 1.5\n\
         {}\n\
         {}\n\
         cat /run/said; sync -f /run",
        case.script(),
        // A recorder gives a dead disk two minutes before it lets go.
        if case == Case::Hung { "sleep 4" } else { "wait; echo ENDED" }
    );
    let output = machine.session.sh(&script, Duration::from_secs(200));
    let output = output.map_err(|why| machine.explain(&why))?;
    let last = output.out.lines().rev().find_map(|line| serde_json::from_str::<Value>(line).ok());
    let last =
        last.ok_or_else(|| machine.explain(&format!("the load said nothing: {}", output.out)))?;
    let ended = output.out.contains("ENDED") && !output.exit.timed_out;
    Ok((last, ended))
}

fn start(site: Site<'_>, image: &Path) -> Result<Machine, String> {
    let first = Backing::File(PathBuf::from(image), &MODELS[0]);
    site.start_with_load(&Disks { first, ..Disks::blank() })
}

/// The newest statement on a disk.
fn last_statement(image: &Path) -> Result<Option<[u8; STATEMENT_BYTES]>, String> {
    let bytes = std::fs::read(image).map_err(at(image))?;
    let place = bytes.get(disk::statements()).unwrap_or_default();
    let found = place
        .chunks_exact(STATEMENT_BYTES)
        .filter_map(|block| Some((Statement::decode(block)?.number(), block.try_into().ok()?)));
    Ok(found.max_by_key(|(number, _)| *number).map(|(_, block)| block))
}

/// The judge's line on the disk as another machine finds it.
fn judge(
    site: Site<'_>,
    fs: &str,
    case: Case,
    seed: u64,
    image: &Path,
    statement: Option<&[u8; STATEMENT_BYTES]>,
) -> Result<String, String> {
    let mut machine = start(site, image)?;
    let ack = match statement {
        Some(statement) => {
            machine.session.put("/run/ack", 0o644, statement.to_vec())?;
            "/run/ack"
        }
        None => "none",
    };
    let scenario = if case == Case::Kill { "settle" } else { "fault" };
    let output = machine.session.sh(
        &format!(
            "blockdev --rereadpt /dev/vda; mount -t {fs} /dev/vda1 /mnt || echo BAD mount\n\
             lab-load verify --store /mnt/store --scenario {scenario} --seed {seed} --ack {ack}; umount /mnt"
        ),
        Duration::from_secs(60),
    );
    let output = output.map_err(|why| machine.explain(&why))?;
    let line = output.out.lines().find(|line| line.starts_with("BAD") || line.starts_with("ok "));
    Ok(line.map_or_else(|| format!("BAD no verdict: {}{}", output.out, output.err), str::to_owned))
}
