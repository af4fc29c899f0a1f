//! What may help, by what is behind a wait: the command, its effect, its price.
//!
//! Commands name the devices and present values of the traced machine. An advice that depends on a
//! setting is given only where the trace says that the setting is not so already.

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
    let name = device.map_or("DEVICE".to_owned(), |device| known.device_name(device));
    let mount = call.mount.clone().unwrap_or_else(|| "MOUNT".to_owned());
    match cause {
        Cause::DirtyLimitGlobal => vec![
            limit_of_device(known, device),
            advice(
                "sysctl -w vm.dirty_background_bytes=67108864 vm.dirty_bytes=268435456",
                "write-back begins early and no more than 256 MB has to be written before a writer goes on",
                "less is gathered in memory: files that live shortly are written too; for all disks alike",
            ),
        ],
        Cause::DirtyLimitDevice if device.is_some_and(|device| stops_f2fs(known, device)) => {
            vec![advice(
                format!("echo {F2FS_DIRTY_BYTES_MIN} > /sys/class/bdi/{}/max_bytes", bdi(device)),
                "f2fs keeps 16 MiB of nodes from write-back until a checkpoint, each minute: with a limit \
                 below that its writers wait so long",
                "more dirty data of the device: syncs that have to write it take longer",
            )]
        }
        Cause::DirtyLimitDevice => vec![advice(
            // Not 0 into max_bytes: that is a limit of nothing.
            format!(
                "echo 100 > /sys/class/bdi/{bdi}/max_ratio; echo 0 > /sys/class/bdi/{bdi}/strict_limit",
                bdi = bdi(device)
            ),
            "the device's own limit of dirty data goes; or choose a larger one by max_bytes",
            "more dirty data of a slow device: commits and syncs that have to write it take longer",
        )],
        Cause::DirtyLimitGroup => vec![advice(
            "systemctl set-property UNIT MemoryHigh=SIZE",
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
        Cause::FolioLock | Cause::Writeback | Cause::MemoryMapLock | Cause::ExtentLock => {
            vec![limit_of_device(known, device)]
        }
        Cause::DeviceQueue => vec![
            advice(
                format!(
                    "echo bfq > /sys/block/{name}/queue/scheduler, and a weight for each program"
                ),
                "each control group gets its share of the disk",
                "some throughput of fast disks",
            ),
            limit_of_device(known, device),
        ],
        Cause::Throttle => vec![advice(
            "cat /sys/fs/cgroup/GROUP/io.max (v2) or blkio.throttle.* (v1), and raise the limit",
            "the group may have more of the disk",
            "others have less",
        )],
        Cause::WritebackThrottle => vec![advice(
            format!("echo 0 > /sys/block/{name}/queue/wbt_lat_usec"),
            "write-back is no longer held back for the sake of reads",
            "reads beside heavy writing take longer",
        )],
        Cause::Reclaim => vec![advice(
            "raise the memory limit of the control group (memory.high, memory.max), or vm.min_free_kbytes",
            "writers do not look for free memory themselves",
            "that memory is missing elsewhere",
        )],
        Cause::Cpu => vec![advice(
            "chrt -f 10 PROGRAM, or nice and CPUWeight= of those that took the processor",
            "the task runs when it could",
            "others run later; a real-time task that spins stops them",
        )],
        Cause::MetadataRead => vec![advice(
            format!(
                "mount -o remount,inode_readahead_blks=256 {mount}, and read the folder once after boot"
            ),
            "metadata is in memory before it is needed",
            "memory",
        )],
        cause => of_journal(known, call, cause),
    }
}

/// Advice about the journal.
fn of_journal(known: &Knowledge, call: &SlowCall, cause: Cause) -> Vec<Advice> {
    let device = call.device;
    let name = device.map_or("DEVICE".to_owned(), |device| known.device_name(device));
    let options = device.map(|device| mount_options(known, device)).unwrap_or_default();
    let has = |option: &str| options.split(',').any(|one| one == option);
    let mount = call.mount.clone().unwrap_or_else(|| "MOUNT".to_owned());
    match cause {
        Cause::OrderedData => {
            let mut all = vec![limit_of_device(known, device)];
            if has("nodelalloc") || has("dioread_lock") {
                all.push(advice(
                    format!("mount -o remount,delalloc,dioread_nolock {mount}"),
                    "new blocks are written before the transaction knows of them, so a commit has hardly \
                     any data to wait for",
                    "after a crash a file that was growing may be shorter; delalloc needs a new mount on some kernels",
                ));
            }
            all.push(advice(
                format!("tune2fs -o journal_data_writeback /dev/{name}"),
                "commits wait for no data (from the next mount)",
                "after a power cut a file that was growing may hold old contents of the disk",
            ));
            all
        }
        Cause::LogSpace | Cause::TransactionFull => vec![advice(
            format!(
                "umount {mount} && tune2fs -O ^has_journal /dev/{name} && tune2fs -J size=128 /dev/{name}"
            ),
            "a larger journal: a third of it may be one transaction, and room is made less often",
            "the file system must be unmounted; recovery after a crash may read that much",
        )],
        Cause::TransactionLocked | Cause::OpenHandles => vec![advice(
            "split large truncates, unlinks and fallocates into smaller ones (see who held the handle open)",
            "handles are open shortly, so that a locked transaction is not waited for",
            "the program that holds the handle must be changed",
        )],
        Cause::Commit | Cause::JournalWrite | Cause::JournalBuffer => vec![
            advice(
                format!("mount -o remount,commit=1 {mount}"),
                "commits come more often and each is small",
                "more writes to the journal",
            ),
            advice(
                format!("umount {mount} && tune2fs -O fast_commit /dev/{name}"),
                "many syncs need a small log of changes only and no whole commit (kernel 5.10 on)",
                "the file system must be unmounted; kernels before 5.10 cannot mount it",
            ),
        ],
        _ => Vec::new(),
    }
}

fn bdi(device: Option<Device>) -> String {
    device.map_or("MAJOR:MINOR".to_owned(), |device| device.to_string())
}

/// A limit of dirty data for one device alone (since 6.2).
pub(super) fn limit_of_device(known: &Knowledge, device: Option<Device>) -> Advice {
    let bdi = bdi(device);
    let mut bytes = device.and_then(|device| two_seconds(known, device)).unwrap_or(DIRTY_BYTES);
    if device.is_some_and(|device| is_f2fs(known, device)) {
        bytes = bytes.max(F2FS_DIRTY_BYTES_MIN);
    }
    advice(
        format!(
            "echo 1 > /sys/class/bdi/{bdi}/strict_limit; echo {bytes} > /sys/class/bdi/{bdi}/max_bytes"
        ),
        "no more than this is dirty of the device, so nobody has to wait until more is written",
        "those who write faster than the device are slowed down earlier, in small steps",
    )
}

/// What a device wrote in two seconds of the trace, in whole MiB.
fn two_seconds(known: &Knowledge, device: Device) -> Option<u64> {
    let bytes = known.index.written_bytes(device);
    let seconds = known.line.duration_ns() as f64 / 1e9;
    let mib = (bytes as f64 / seconds.max(0.1) * 2.0) as u64 >> 20;
    (mib > 0).then(|| mib.clamp(4, 1024) << 20)
}

fn mount_options(known: &Knowledge, device: Device) -> String {
    mounted(known, device).map_or(String::new(), |(_, options)| options.to_owned())
}

fn is_f2fs(known: &Knowledge, device: Device) -> bool {
    mounted(known, device).is_some_and(|(kind, _)| kind == "f2fs")
}

/// Whether the limit of a device with f2fs is below what does; the kernel reads it back a little smaller.
fn stops_f2fs(known: &Knowledge, device: Device) -> bool {
    let limit = known.facts.get(&format!("/sys/class/bdi/{device}/max_bytes"));
    let bytes = limit.and_then(|text| text.trim().parse::<u64>().ok());
    is_f2fs(known, device) && bytes.is_some_and(|bytes| bytes < F2FS_DIRTY_BYTES_MIN / 4 * 3)
}

/// File system and options.
fn mounted(known: &Knowledge, device: Device) -> Option<(&str, &str)> {
    let mount = known.mounts.get(&device.to_string())?;
    Some((&mount.kind, &mount.options))
}
