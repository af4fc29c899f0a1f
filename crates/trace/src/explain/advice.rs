//! What may help, by what is behind a wait: the command, its effect, its price.
//!
//! Commands name the devices and present values of the traced machine. An advice is given only where the
//! trace says that its file is there and that the setting is not so already; none is better than a wrong
//! one.
//!
//! Invariant: no command names a file that the traced machine did not have, or a value that it had. Held by
//! `advice_names_files_that_are_there_and_values_that_are_new`.

use super::{Cause, Knowledge, SlowCall};
use crate::record::Device;

/// A remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The command to be given.
    pub command: String,
    /// What is to be expected of it.
    pub effect: String,
    /// What it costs.
    pub price: String,
}

/// Dirty data that is allowed of a slow device: what it writes in about two seconds, if not known 32
/// MiB.
const DIRTY_BYTES: u64 = 32 << 20;
/// Dirty data that is allowed of all devices.
const DIRTY_BYTES_OF_MACHINE: u64 = 256 << 20;
/// What is advised for the time between two commits.
const COMMIT_EVERY_NS: u64 = 1_000_000_000;
/// A journal that is advised.
const JOURNAL_MIB: u64 = 128;
/// Less stops writers on f2fs until its next checkpoint, up to a minute: it keeps 16 MiB of nodes from
/// write-back in the background (`f2fs_write_node_pages`), and these count as dirty. Measured: docs/tune.md.
const F2FS_DIRTY_BYTES_MIN: u64 = 32 << 20;

/// Advice for the causes of a chain, that of its root first.
pub(super) fn of(known: &Knowledge, call: &SlowCall) -> Vec<Advice> {
    let mut all: Vec<Advice> = Vec::new();
    let mut causes: Vec<Cause> = vec![call.root];
    causes.extend(call.chain.iter().map(|link| link.cause));
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
    Advice { command: command.into(), effect: effect.to_owned(), price: price.to_owned() }
}

fn for_cause(known: &Knowledge, call: &SlowCall, cause: Cause) -> Vec<Advice> {
    let device = call.device;
    let one = |advice: Option<Advice>| advice.into_iter().collect::<Vec<_>>();
    match cause {
        Cause::DirtyLimitGlobal => {
            let mut all = one(limit_of_device(known, device));
            all.extend(limit_of_machine(known));
            all
        }
        Cause::DirtyLimitDevice if device.is_some_and(|device| stops_f2fs(known, device)) => {
            let larger = |bdi: String| {
                advice(
                    format!("echo {F2FS_DIRTY_BYTES_MIN} > /sys/class/bdi/{bdi}/max_bytes"),
                    "f2fs keeps 16 MiB of nodes from write-back until a checkpoint, each minute: with a \
                     limit below that its writers wait so long",
                    "more dirty data of the device: syncs that have to write it take longer",
                )
            };
            one(bdi(known, device).map(larger))
        }
        Cause::DirtyLimitDevice => one(no_limit_of_device(known, device)),
        Cause::DirtyLimitGroup => vec![advice(
            "raise the memory limit of its control group (memory.high, memory.limit_in_bytes)",
            "the group may hold more memory, and with it more dirty data",
            "that memory is missing elsewhere",
        )],
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
            one(limit_of_device(known, device))
        }
        Cause::DeviceQueue => {
            let mut all = one(scheduler(known, call));
            if wrote(known, call) {
                all.extend(limit_of_device(known, device));
            }
            all
        }
        Cause::Throttle => one(no_throttle(known, call)),
        Cause::WritebackThrottle => one(no_writeback_throttle(known, call)),
        Cause::Reclaim => vec![advice(
            "raise the memory limit of the control group (memory.high, memory.max), or vm.min_free_kbytes",
            "writers do not look for free memory themselves",
            "that memory is missing elsewhere",
        )],
        Cause::Cpu => {
            let is_quota = call.chain.iter().any(|link| link.detail == Some("cpu_quota"));
            one(is_quota.then(|| no_quota(known, call)))
        }
        Cause::MetadataRead => one(readahead(known, call)),
        cause => of_journal(known, call, cause),
    }
}

/// The disk that the chain ends at.
fn disk(known: &Knowledge, call: &SlowCall) -> Option<(Device, String)> {
    let is_disk = |cause| {
        matches!(
            cause,
            Cause::Device | Cause::DeviceQueue | Cause::Throttle | Cause::WritebackThrottle
        )
    };
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

fn scheduler(known: &Knowledge, call: &SlowCall) -> Option<Advice> {
    let (_, name) = disk(known, call)?;
    let file = format!("/sys/block/{name}/queue/scheduler");
    let choices = known.fact(&file)?;
    let is_new = choices.split_whitespace().any(|one| one == "bfq");
    is_new.then(|| {
        advice(
            format!("echo bfq > {file}"),
            "each control group gets its share of the disk, by its weight",
            "some throughput of fast disks",
        )
    })
}

fn no_throttle(known: &Knowledge, call: &SlowCall) -> Option<Advice> {
    let link = call.chain.iter().find(|link| link.cause == Cause::Throttle)?;
    let (device, _) = known.devices.iter().find(|(_, name)| **name == link.place)?;
    let (file, rule) = known.stands.limit_rule(*device)?;
    let none = match file.ends_with("/io.max") {
        true => format!("{device} rbps=max wbps=max riops=max wiops=max"),
        false => format!("{device} 0"),
    };
    Some(advice(
        format!("echo \"{none}\" > {file}"),
        &format!("the group is no longer held to \"{rule}\"; or write a larger number"),
        "others have less of the disk",
    ))
}

fn no_writeback_throttle(known: &Knowledge, call: &SlowCall) -> Option<Advice> {
    let (_, name) = disk(known, call)?;
    let file = format!("/sys/block/{name}/queue/wbt_lat_usec");
    let is_on = known.fact(&file).is_some_and(|text| text.trim() != "0");
    is_on.then(|| {
        advice(
            format!("echo 0 > {file}"),
            "write-back is no longer held back for the sake of reads",
            "reads beside heavy writing take longer",
        )
    })
}

fn no_quota(known: &Knowledge, call: &SlowCall) -> Advice {
    let held = call.chain.iter().find(|link| link.detail == Some("cpu_quota"));
    let group = held.and_then(|link| known.quota_of(link.pid)).map(|(group, _)| group);
    let command = match group {
        Some(group) if group.is_v2 => format!("echo max > {}/cpu.max", group.path),
        Some(group) => format!("echo -1 > {}/cpu.cfs_quota_us", group.path),
        None => "raise the limit of processors of its control group (CPUQuota=, cpu.max, \
                 cpu.cfs_quota_us)"
            .to_owned(),
    };
    advice(command, "the group runs when it could", "others run later")
}

fn readahead(known: &Knowledge, call: &SlowCall) -> Option<Advice> {
    let reads_inodes = call.chain.iter().any(|link| {
        link.cause == Cause::MetadataRead && link.place.ends_with("ext4_get_inode_loc")
    });
    let (kind, options) = mounted(known, call.device?)?;
    let is_new = reads_inodes && kind == "ext4" && !options.contains("inode_readahead_blks");
    let mount = call.mount.as_ref().filter(|_| is_new)?;
    Some(advice(
        format!("mount -o remount,inode_readahead_blks=256 {mount}"),
        "more of the tables of inodes is read at once",
        "memory",
    ))
}

/// Advice about the journal.
fn of_journal(known: &Knowledge, call: &SlowCall, cause: Cause) -> Vec<Advice> {
    let Some((device, mount)) = call.device.zip(call.mount.clone()) else { return Vec::new() };
    let Some(("ext4", options)) = mounted(known, device) else { return Vec::new() };
    let has = |option: &str| options.split(',').any(|one| one == option);
    // What is mounted at two places is not unmounted by one command.
    let name = known.devices.get(&device).filter(|_| known.mounts_of(device) == 1);
    let mut all = Vec::new();
    match cause {
        Cause::OrderedData => {
            all.extend(limit_of_device(known, Some(device)));
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
            if let Some(name) = name.filter(|_| is_small) {
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
    let commits = known.index.commits(&known.line, device, (call.begin_ns, call.end_ns));
    let is_long = |began_ns: u64, commit_ns: u64| began_ns + COMMIT_EVERY_NS < commit_ns;
    let mut times = commits.filter_map(|one| one.begin_ns.zip(one.commit_ns));
    times.any(|(began_ns, commit_ns)| is_long(began_ns, commit_ns))
        && call.chain.iter().all(|link| link.cause != Cause::Cpu)
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

fn limit_of_machine(known: &Knowledge) -> Option<Advice> {
    let is_so = number(known, "/proc/sys/vm/dirty_bytes")
        .is_some_and(|bytes| bytes != 0 && bytes <= DIRTY_BYTES_OF_MACHINE);
    (!is_so).then(|| {
        advice(
            format!(
                "sysctl -w vm.dirty_background_bytes={} vm.dirty_bytes={DIRTY_BYTES_OF_MACHINE}",
                DIRTY_BYTES_OF_MACHINE / 4
            ),
            "write-back begins early and no more than 256 MB has to be written before a writer goes on",
            "less is gathered in memory: files that live shortly are written too; for all disks alike",
        )
    })
}

fn no_limit_of_device(known: &Knowledge, device: Option<Device>) -> Option<Advice> {
    let bdi = bdi(known, device)?;
    let path = |file: &str| format!("/sys/class/bdi/{bdi}/{file}");
    let is_limited = number(known, &path("strict_limit")) == Some(1)
        || number(known, &path("max_ratio")).is_some_and(|percent| percent < 100);
    is_limited.then(|| {
        advice(
            // Not 0 into max_bytes: that is a limit of nothing.
            format!("echo 100 > {}; echo 0 > {}", path("max_ratio"), path("strict_limit")),
            "the device's own limit of dirty data goes; or choose a larger one by max_bytes",
            "more dirty data of a slow device: commits and syncs that have to write it take longer",
        )
    })
}

/// A limit of dirty data for one device alone (since 6.2), if the traced machine can have one and has it not.
pub(super) fn limit_of_device(known: &Knowledge, device: Option<Device>) -> Option<Advice> {
    let bdi = bdi(known, device)?;
    let path = |file: &str| format!("/sys/class/bdi/{bdi}/{file}");
    let mut bytes = device.and_then(|device| two_seconds(known, device)).unwrap_or(DIRTY_BYTES);
    if device.is_some_and(|device| is_f2fs(known, device)) {
        bytes = bytes.max(F2FS_DIRTY_BYTES_MIN);
    }
    // The kernel reads it back a little smaller.
    let is_so = number(known, &path("strict_limit")) == Some(1)
        && number(known, &path("max_bytes")).is_some_and(|now| now.abs_diff(bytes) <= bytes / 64);
    (!is_so).then(|| {
        advice(
            format!("echo 1 > {}; echo {bytes} > {}", path("strict_limit"), path("max_bytes")),
            "no more than this is dirty of the device, so nobody has to wait until more is written",
            "those who write faster than the device are slowed down earlier, in small steps",
        )
    })
}

/// What a device wrote in two seconds of the trace, in whole MiB.
fn two_seconds(known: &Knowledge, device: Device) -> Option<u64> {
    let own = known.index.written_bytes(device);
    let of_whole = || known.stands.whole(device).map_or(0, |disk| known.index.written_bytes(disk));
    let bytes = if own > 0 { own } else { of_whole() };
    let seconds = known.line.duration_ns() as f64 / 1e9;
    let mib = (bytes as f64 / seconds.max(0.1) * 2.0) as u64 >> 20;
    (mib > 0).then(|| mib.clamp(4, 1024) << 20)
}

fn is_f2fs(known: &Knowledge, device: Device) -> bool {
    mounted(known, device).is_some_and(|(kind, _)| kind == "f2fs")
}

/// Whether the limit of a device with f2fs is below what does; the kernel reads it back a little smaller.
fn stops_f2fs(known: &Knowledge, device: Device) -> bool {
    let limit = known.fact(&format!("/sys/class/bdi/{device}/max_bytes"));
    let bytes = limit.and_then(|text| text.trim().parse::<u64>().ok());
    is_f2fs(known, device) && bytes.is_some_and(|bytes| bytes < F2FS_DIRTY_BYTES_MIN / 4 * 3)
}

/// File system and options.
fn mounted(known: &Knowledge, device: Device) -> Option<(&str, &str)> {
    let mount = known.mounts.get(&device.to_string())?;
    Some((&mount.kind, &mount.options))
}
