//! The store's file system: mount options and the journal, as papers A and D found them to matter.
//!
//! The recorder overwrites blocks in place past the page cache and syncs data only, so most of what
//! paper A asks for is not needed here; each row says for whom it is.

use super::superblock::JournalFacts;
use super::{Circumstances, MountFacts, Need, Remedy, Verdict};

/// What paper A has.
const JOURNAL_BYTES: u64 = 128 << 20;
/// Below this a load beside the recorder fills it in moments; with 8 MiB calls waited 1.5 s.
const JOURNAL_BYTES_MIN: u64 = 32 << 20;

/// File systems without a disk, of memory or of the kernel's own files.
const KERNELS: [&str; 16] = [
    "tmpfs",
    "ramfs",
    "proc",
    "sysfs",
    "devtmpfs",
    "devpts",
    "cgroup",
    "cgroup2",
    "debugfs",
    "tracefs",
    "securityfs",
    "configfs",
    "mqueue",
    "hugetlbfs",
    "pstore",
    "bpf",
];

pub(super) fn needs(here: &Circumstances) -> Vec<Need> {
    let Some(store) = &here.store else { return Vec::new() };
    if KERNELS.contains(&store.kind.as_str()) {
        return Vec::new();
    }
    let mut needs = vec![atime(store)];
    if store.kind == "ext4" {
        needs.push(lazytime(store));
        needs.extend([data(store), delalloc(store)].into_iter().flatten());
    }
    needs.push(discard(store));
    needs.push(barriers(store));
    needs.extend(journal(store));
    needs
}

fn atime(store: &MountFacts) -> Need {
    let at = store.mount_point.display();
    let found = store.one_of(&["noatime", "relatime"]);
    Need::new(
        "atime",
        format!("atime of {at}"),
        found.unwrap_or("strictatime"),
        "relatime or noatime",
    )
    .because("else each reader of a segment changes its inode, beside the writer")
    .costing("nobody learns any more when a file was last read")
    .by(Remedy::MountOption("noatime"))
    .good_if(found.is_some(), format!("mount -o remount,noatime {at}"))
}

fn lazytime(store: &MountFacts) -> Need {
    let found = if store.has("lazytime") { "lazytime" } else { "not lazytime" };
    let name = format!("file times of {}", store.mount_point.display());
    Need::new("lazytime", name, found, "any; `--probe` counts what it does here")
        .because(
            "keeps the times of reads in memory; those of writes no longer: with i_version, which \
             ext4 always has, a write() takes a journal handle a tick with it as without (counted \
             on Linux 6.18; in the source since 6.6)",
        )
        .costing("after a power cut, times of reads may be a day old")
        .by(if store.has("lazytime") { Remedy::Hand } else { Remedy::MountOption("lazytime") })
        .note()
}

fn data(store: &MountFacts) -> Option<Need> {
    let found = store.one_of(&["data=ordered", "data=writeback", "data=journal"])?;
    let (at, source) = (store.mount_point.display(), &store.source);
    let verdict = if found == "data=journal" { Verdict::Change } else { Verdict::Note };
    Some(
        Need::new("data", format!("data mode of {at}"), found, "data=ordered")
            .because(
                "with data=journal direct I/O goes through the page cache and the journal, and \
                 every sync commits; with data=writeback a crash shows old blocks in new files",
            )
            .costing("none for a recorder; data=writeback spares commits the data of others")
            .by(Remedy::MountOption("data=ordered"))
            .or(
                found == "data=ordered",
                verdict,
                format!(
                    "tune2fs -o ^journal_data,^journal_data_writeback {source}; then unmount {} \
                     and mount it with data=ordered (a remount cannot change it)",
                    store.everywhere()
                ),
            ),
    )
}

fn delalloc(store: &MountFacts) -> Option<Need> {
    let found = store.one_of(&["nodelalloc", "delalloc"])?;
    let at = store.mount_point.display();
    Some(
        Need::new("delalloc", format!("allocation of {at}"), found, "delalloc")
            .because(
                "without it each buffered write() to a new page takes a journal handle, and commits \
                 have to write the data first: paper D's stall",
            )
            .costing("new data of others is lost by a crash until written back, up to 30 s")
            .by(Remedy::MountOption("delalloc"))
            .good_if(found == "delalloc", format!("mount -o remount,delalloc {at}")),
    )
}

fn discard(store: &MountFacts) -> Need {
    let at = store.mount_point.display();
    let on = store.has("discard");
    Need::new(
        "discard",
        format!("discard of {at}"),
        if on { "discard" } else { "nodiscard" },
        "nodiscard",
    )
    .because("a commit sends what was freed to the device and waits for it: long on cheap flash")
    .costing("freed blocks are told to the device by fstrim.timer only, once a week")
    .by(Remedy::MountOption("nodiscard"))
    .noted_unless(
        !on,
        format!("mount -o remount,nodiscard {at} && systemctl enable --now fstrim.timer"),
    )
}

fn barriers(store: &MountFacts) -> Need {
    let at = store.mount_point.display();
    let on = store.one_of(&["nobarrier", "barrier=0"]).is_none();
    Need::new("barriers", format!("barriers of {at}"), if on { "on" } else { "nobarrier" }, "on")
        .because("without them durable means written: a power cut takes what the device caches")
        .costing("each sync waits for the device's cache")
        .by(Remedy::MountOption("barrier=1"))
        .good_if(on, format!("mount -o remount,barrier {at}"))
}

fn journal(store: &MountFacts) -> Option<Need> {
    let (at, source) = (store.mount_point.display(), &store.source);
    let need = |found: String| {
        Need::new(
            "journal",
            format!("journal of {at}"),
            found,
            format!("at least {} MiB where others write too", JOURNAL_BYTES >> 20),
        )
        .because("when it is nearly full, whoever asks for a handle waits for a checkpoint")
        .costing("its size of the disk, an unmount, and a longer recovery after a power cut")
    };
    Some(match store.journal? {
        JournalFacts::Inside(bytes) => {
            let few = if bytes < JOURNAL_BYTES_MIN { Verdict::Change } else { Verdict::Note };
            let size = JOURNAL_BYTES >> 20;
            // While it is in use elsewhere, unmounting it here does not make it safe to change.
            let how = match store.elsewhere.is_empty() {
                true => format!(
                    "umount {at} && e2fsck -f {source} && tune2fs -O ^has_journal {source} && \
                     tune2fs -J size={size} {source} && mount {at}"
                ),
                false => format!(
                    "none while {source} is in use at {}: unmount all of these, and mount it at one \
                     place only, for which this check has the command",
                    store.everywhere()
                ),
            };
            need(format!("{} MiB", bytes >> 20)).or(bytes >= JOURNAL_BYTES, few, how)
        }
        JournalFacts::Outside => need("on a device of its own".to_owned()).note(),
        JournalFacts::Unknown => need("of unknown size: `dumpe2fs -h` tells".to_owned()).note(),
        JournalFacts::None => Need::new("journal", format!("journal of {at}"), "none", "any")
            .because("no write() waits for it; after a power cut the file system must be checked")
            .costing("with one, a write() can wait for a commit")
            .note(),
    })
}
