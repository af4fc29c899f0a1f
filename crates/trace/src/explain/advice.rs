//! What may help, by what is behind a wait: the command, its effect, its price.
//!
//! Commands name the devices and present values of the traced machine. An advice is given only where the
//! trace says that its file is there and that the setting is not so already; none is better than a wrong
//! one.
//!
//! Invariant: no command names a file that the traced machine did not have, or a value that it had. Held by
//! `advice_names_files_that_are_there_and_values_that_are_new`. None is about a cause that is concluded from absence
//! alone. Held by `nothing_is_advised_against_what_nobody_saw`.

mod dirty;
mod memory;

pub(super) use dirty::limit_of_device;

use super::{Cause, Evidence, Knowledge, SlowCall};
use crate::record::Device;
use crate::timeline::Request;
use dirty::{
    F2FS_DIRTY_BYTES_MIN, limit_of_machine, limit_that_helps, no_limit_of_device, stops_f2fs,
};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The command to be given.
    pub command: String,
    /// What is to be expected of it.
    pub effect: String,
    /// What it costs.
    pub price: String,
    /// What the command writes, if files of the kernel are all that it does.
    pub writes: Vec<Write>,
}

/// A text that is written to a file of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// The file.
    pub path: String,
    /// The text.
    pub text: String,
}

impl Write {
    fn new(path: impl Into<String>, text: impl Into<String>) -> Self {
        Self { path: path.into(), text: text.into() }
    }

    /// As a command of a shell.
    fn command(&self) -> String {
        match self.text.contains(' ') {
            true => format!("echo \"{}\" > {}", self.text, quoted(&self.path)),
            false => format!("echo {} > {}", self.text, quoted(&self.path)),
        }
    }
}

/// A word as a shell takes it: in quotes if it has anything that means something there.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |one: char| one.is_alphanumeric() || "/._-:,@+=%".contains(one);
    match word.chars().all(is_plain) {
        true => Cow::Borrowed(word),
        false => Cow::Owned(format!("'{}'", word.replace('\'', "'\\''"))),
    }
}

/// What is advised for the time between two commits.
const COMMIT_EVERY_NS: u64 = 1_000_000_000;
/// A journal that is advised.
const JOURNAL_MIB: u64 = 128;
/// Advice for the causes of a chain, that of its root first.
pub(super) fn of(known: &Knowledge, call: &SlowCall) -> Vec<Advice> {
    let mut all: Vec<Advice> = Vec::new();
    // That something may be it is no reason to change it.
    let seen = call.chain.iter().filter(|link| link.known_by != Evidence::Absence);
    let mut causes: Vec<Cause> = seen.map(|link| link.cause).collect();
    causes.sort_by_key(|cause| *cause != call.root);
    for cause in causes {
        for one in for_cause(known, call, cause) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
    }
    all.truncate(5);
    all
}

fn advice(command: impl Into<String>, effect: &str, price: &str) -> Advice {
    let (effect, price) = (effect.to_owned(), price.to_owned());
    Advice { command: command.into(), effect, price, writes: Vec::new() }
}

/// Advice to write files of the kernel, one after the other.
fn written<const N: usize>(writes: [Write; N], effect: &str, price: &str) -> Advice {
    let commands: Vec<String> = writes.iter().map(Write::command).collect();
    Advice { writes: writes.into(), ..advice(commands.join("; "), effect, price) }
}

fn for_cause(known: &Knowledge, call: &SlowCall, cause: Cause) -> Vec<Advice> {
    let device = call.device;
    let one = |advice: Option<Advice>| advice.into_iter().collect::<Vec<_>>();
    match cause {
        Cause::DirtyLimitGlobal => {
            let mut all = one(limit_of_device(known, device));
            all.extend(limit_of_machine(known, call));
            all
        }
        Cause::DirtyLimitDevice if device.is_some_and(|device| stops_f2fs(known, device)) => {
            let larger = |bdi: String| {
                let path = format!("/sys/class/bdi/{bdi}/max_bytes");
                written(
                    [Write::new(path, F2FS_DIRTY_BYTES_MIN.to_string())],
                    "f2fs keeps 16 MiB of nodes from write-back until a checkpoint, each minute: with a \
                     limit below that its writers wait so long",
                    "more dirty data of the device: syncs that have to write it take longer",
                )
            };
            one(bdi(known, device).map(larger))
        }
        Cause::DirtyLimitDevice => one(no_limit_of_device(known, device)),
        Cause::DirtyLimitGroup | Cause::Reclaim => one(memory::larger(known, call, cause)),
        Cause::InodeLock => vec![advice(
            "let each writer have a file of its own, or write in smaller pieces",
            "a write holds its file's lock until it ends, and all other writers of the file wait",
            "the program must be changed",
        )],
        Cause::FolderLock => vec![advice(
            "spread files over several folders",
            "making and removing files holds the lock of their folder",
            "the program must be changed",
        )],
        Cause::FolioLock | Cause::Writeback | Cause::MemoryMapLock | Cause::ExtentLock
            if wrote(known, call) =>
        {
            one(limit_that_helps(known, call))
        }
        Cause::DeviceQueue => {
            let mut all = one(scheduler(known, call));
            if wrote(known, call) {
                all.extend(limit_that_helps(known, call));
            }
            all
        }
        Cause::Throttle => one(no_throttle(known, call)),
        Cause::WritebackThrottle => one(no_writeback_throttle(known, call)),
        Cause::Cpu => one(no_quota(known, call)),
        Cause::MetadataRead => one(readahead(known, call)),
        cause => of_journal(known, call, cause),
    }
}

/// The disk that the chain ends at.
fn disk(known: &Knowledge, call: &SlowCall) -> Option<(Device, String)> {
    let is_disk = |cause| matches!(cause, Cause::Device | Cause::DeviceQueue | Cause::Throttle);
    let named = |name: &str| {
        let found = known.devices.iter().find(|(_, of)| of.as_str() == name);
        found.map(|(device, _)| (*device, name.to_owned()))
    };
    call.chain.iter().filter(|link| is_disk(link.cause)).find_map(|link| named(&link.place))
}

/// Whether what was waited for was written: less dirty data is of no use to who reads.
fn wrote(known: &Knowledge, call: &SlowCall) -> bool {
    let Some((device, _)) = disk(known, call) else { return call.device.is_some() };
    known.index.written_bytes(device) > 0
}

/// A scheduler lets requests that a task has given to the disk itself through beside those of another that has
/// much more of it. Among alike it cannot, nor a transaction or what is written back, which others give to the
/// disk (measured: results/2026-11-26-amd-epyc-2cpu/advice.md).
fn scheduler(known: &Knowledge, call: &SlowCall) -> Option<Advice> {
    let is_own = |cause| matches!(cause, Cause::DirectIo | Cause::DataRead | Cause::MetadataRead);
    let is_direct = call.chain.iter().all(|link| link.pid == call.pid)
        && call.chain.iter().any(|link| is_own(link.cause));
    if !is_direct || !is_one_in_the_way(known, call) {
        return None;
    }
    let (_, name) = disk(known, call)?;
    let file = format!("/sys/block/{name}/queue/scheduler");
    let choices = known.fact(&file)?;
    let is_new = choices.split_whitespace().any(|one| one == "bfq");
    is_new.then(|| {
        written(
            [Write::new(file, "bfq")],
            "each control group gets its share of the disk, by its weight",
            "some throughput of fast disks",
        )
    })
}

/// Whether half of what a disk did while a call waited was for one other task.
fn is_one_in_the_way(known: &Knowledge, call: &SlowCall) -> bool {
    let mut by_task: BTreeMap<i32, u64> = BTreeMap::new();
    for one in disk(known, call).into_iter().flat_map(|(disk, _)| within(known, disk, call)) {
        *by_task.entry(one.pid).or_default() += u64::from(one.bytes);
    }
    let all: u64 = by_task.values().sum();
    by_task.iter().any(|(pid, bytes)| *pid != call.pid && bytes * 2 > all)
}

/// What a disk got to do while a call waited.
fn within<'a>(
    known: &'a Knowledge,
    device: Device,
    call: &SlowCall,
) -> impl Iterator<Item = &'a Request> {
    let requests = known.line.disks.get(&device).map_or(&[][..], |disk| &disk.requests);
    let from = requests.partition_point(|one| one.issued_ns < call.begin_ns);
    let end_ns = call.end_ns;
    requests.iter().skip(from).take_while(move |one| one.issued_ns < end_ns)
}

fn no_throttle(known: &Knowledge, call: &SlowCall) -> Option<Advice> {
    let link = call.chain.iter().find(|link| link.cause == Cause::Throttle)?;
    if link.known_by == Evidence::Absence {
        return None;
    }
    let mut limits = known.group_limits.all().filter(|limit| limit.lasts);
    let limit = limits.find(|limit| link.evidence.contains(&limit.told()))?;
    let (device, file, rule) = (limit.device, limit.file.as_str(), limit.rule.as_str());
    let none = match file.ends_with("/io.max") {
        true => format!("{device} rbps=max wbps=max riops=max wiops=max"),
        false => format!("{device} 0"),
    };
    Some(written(
        [Write::new(file, none)],
        &format!("the group is no longer held to \"{rule}\"; or write a larger number"),
        "others have less of the disk",
    ))
}

fn no_writeback_throttle(known: &Knowledge, call: &SlowCall) -> Option<Advice> {
    let name = known.devices.get(&disk_of_writeback(known, call)?)?;
    let file = format!("/sys/block/{name}/queue/wbt_lat_usec");
    let is_on = known.fact(&file).is_some_and(|text| text.trim() != "0");
    is_on.then(|| {
        written(
            [Write::new(file, "0")],
            "write-back is no longer held back for the sake of reads",
            "reads beside heavy writing take longer",
        )
    })
}

/// The disk whose limit on write-back held a task: no link of the chain names it. It is the one that the task gives
/// requests to meanwhile, of several the file system's; of a wait that lasts that of the file system.
fn disk_of_writeback(known: &Knowledge, call: &SlowCall) -> Option<Device> {
    let link = call.chain.iter().find(|link| link.cause == Cause::WritebackThrottle)?;
    let gave = |disk: &&Device| within(known, **disk, call).any(|one| one.pid == link.pid);
    let given: Vec<Device> = known.line.disks.keys().filter(gave).copied().collect();
    let about = call.device.map(|device| known.stands.whole(device).unwrap_or(device));
    match given.as_slice() {
        [] => about,
        [disk] => Some(*disk),
        several => about.filter(|about| several.contains(about)),
    }
}

/// Only of a group that the task was seen in: that one was held while a task of another waited is no reason to
/// lift its limit.
fn no_quota(known: &Knowledge, call: &SlowCall) -> Option<Advice> {
    let mut held = call.chain.iter().filter(|link| link.detail == Some("cpu_quota"));
    let held = held.find(|link| link.known_by != Evidence::Absence)?;
    let (group, _) = known.quota_of(held.pid).filter(|(_, is_member)| *is_member)?;
    // With its period, as the kernel shows it.
    let none = match group.is_v2 {
        true => Write::new(
            format!("{}/cpu.max", group.path),
            format!("max {}", group.period_ns / 1_000),
        ),
        false => Write::new(format!("{}/cpu.cfs_quota_us", group.path), "-1"),
    };
    Some(written([none], "the group runs when it could", "others run later"))
}

fn readahead(known: &Knowledge, call: &SlowCall) -> Option<Advice> {
    let reads_inodes = call.chain.iter().any(|link| {
        link.cause == Cause::MetadataRead && link.place.ends_with("ext4_get_inode_loc")
    });
    let (kind, options) = mounted(known, call.device?)?;
    let is_new = reads_inodes && kind == "ext4" && !options.contains("inode_readahead_blks");
    let mount = call.mount.as_ref().filter(|_| is_new)?;
    Some(advice(
        format!("mount -o remount,inode_readahead_blks=256 {}", quoted(mount)),
        "more of the tables of inodes is read at once",
        "memory",
    ))
}

/// Advice about the journal.
fn of_journal(known: &Knowledge, call: &SlowCall, cause: Cause) -> Vec<Advice> {
    let Some((device, path)) = call.device.zip(call.mount.as_deref()) else { return Vec::new() };
    let mount = quoted(path);
    let Some(("ext4", options)) = mounted(known, device) else { return Vec::new() };
    let has = |option: &str| options.split(',').any(|one| one == option);
    // What is mounted at two places is not unmounted by one command.
    let name = known.devices.get(&device).filter(|_| known.mounts_of(device) == 1);
    let mut all = Vec::new();
    match cause {
        Cause::OrderedData => {
            all.extend(limit_that_helps(known, call));
            if has("nodelalloc") || has("dioread_lock") {
                all.push(advice(
                    format!("mount -o remount,delalloc,dioread_nolock {mount}"),
                    "new blocks are written before the transaction knows of them, so a commit has hardly \
                     any data to wait for",
                    "after a crash a file that was growing may be shorter; delalloc needs a new mount on some kernels",
                ));
            }
            if let Some(name) = name.filter(|_| !options.contains("data=")) {
                all.push(advice(
                    format!("tune2fs -o journal_data_writeback /dev/{name}"),
                    "commits wait for no data (from the next mount)",
                    "after a power cut a file that was growing may hold old contents of the disk",
                ));
            }
        }
        Cause::LogSpace | Cause::TransactionFull => {
            let blocks = known.line.journals.get(&device).and_then(|journal| journal.samples.last());
            let is_small = blocks.is_none_or(|sample| sample.total_blocks < JOURNAL_MIB << 8);
            // What the machine runs from is not unmounted.
            if let Some(name) = name.filter(|_| is_small && path != "/") {
                all.push(advice(
                    format!(
                        "umount {mount} && e2fsck -f /dev/{name} && tune2fs -O ^has_journal /dev/{name} && \
                         tune2fs -J size={JOURNAL_MIB} /dev/{name}"
                    ),
                    "a larger journal: a third of it may be one transaction, and room is made less often",
                    "the file system must be unmounted; recovery after a crash may read that much",
                ));
            }
        }
        Cause::TransactionLocked | Cause::OpenHandles => all.push(advice(
            "split large truncates, unlinks and fallocates into smaller ones (see who held the handle open)",
            "handles are open shortly, so that a locked transaction is not waited for",
            "the program that holds the handle must be changed",
        )),
        Cause::Commit | Cause::JournalWrite | Cause::JournalBuffer
            if !has("commit=1")
                && !has("data=journal")
                && !call.is_fast_commit()
                && is_gathered(known, call, device) =>
        {
            all.push(advice(
                format!("mount -o remount,commit=1 {mount}"),
                "commits come more often and each is small",
                "more writes to the journal",
            ));
        }
        _ => {}
    }
    all
}

/// Whether a commit within the call was of a transaction that had gathered for longer than a second: only
/// then are commits rarer than they could be. Where a sync ends each transaction they are not.
fn is_gathered(known: &Knowledge, call: &SlowCall, device: Device) -> bool {
    // A small commit waits as long for a processor, for others' requests, for data that it must write first.
    let is_elsewhere =
        |cause| matches!(cause, Cause::Cpu | Cause::DeviceQueue | Cause::Tags | Cause::OrderedData);
    let commits = known.index.commits(&known.line, device, (call.begin_ns, call.end_ns));
    let is_long = |began_ns: u64, commit_ns: u64| began_ns + COMMIT_EVERY_NS < commit_ns;
    let mut times = commits.filter_map(|one| one.begin_ns.zip(one.commit_ns));
    times.any(|(began_ns, commit_ns)| is_long(began_ns, commit_ns))
        && call.chain.iter().all(|link| !is_elsewhere(link.cause))
}

/// The folder of the device's limits, or that of the disk it is a partition of; None if the traced machine
/// has none.
fn bdi(known: &Knowledge, device: Option<Device>) -> Option<String> {
    let device = device?;
    let has =
        |device: &Device| known.fact(&format!("/sys/class/bdi/{device}/strict_limit")).is_some();
    let all = [Some(device), known.stands.whole(device)];
    all.into_iter().flatten().find(has).map(|device| device.to_string())
}

/// A number that a file of the traced machine had.
fn number(known: &Knowledge, path: &str) -> Option<u64> {
    known.fact(path)?.trim().parse().ok()
}

/// File system and options.
fn mounted(known: &Knowledge, device: Device) -> Option<(&str, &str)> {
    let mount = known.mounts.get(&device.to_string())?;
    Some((&mount.kind, &mount.options))
}
