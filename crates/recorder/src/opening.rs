//! What was found when a store was opened, and which promises hold here.

use crate::keeper::Growth;
use crate::log::Recovery;
use crate::ring::RingFolder;
use baro_ondisk::Wear;
use baro_sys::disk::Disk;
use baro_sys::identity::FileSystem;
use std::path::{Path, PathBuf};

/// Facts of an open: shown by `baro record`, and kept with results.
#[derive(Clone, Debug, Default)]
pub struct Opening {
    /// The store's folder.
    pub path: PathBuf,
    /// Name of its file system.
    pub file_system: &'static str,
    /// Device of its file system, major and minor.
    pub device: (u32, u32),
    /// Bytes of all segments.
    pub log_bytes: u64,
    /// Segments never started.
    pub segments_blank: u32,
    /// Segments whose header is not valid.
    pub segments_damaged: u32,
    /// The first of them, and what is wrong with it.
    pub damaged_because: Option<String>,
    /// Segments read by recovery.
    pub segments_scanned: u32,
    /// Valid blocks found in them.
    pub tail_blocks: u64,
    /// Writes go past the page cache.
    pub direct: bool,
    /// If not: why.
    pub not_direct_because: Option<String>,
    /// Where rings are; `None` if they are private memory.
    pub ring_folder: Option<PathBuf>,
    /// Rings of a killed recorder that were taken over.
    pub rings_taken_over: u32,
    /// Records in them that were not in the log yet.
    pub records_taken_over: u64,
    /// Rings that could not be used, and why.
    pub rings_refused: Vec<String>,
    /// Whether a ring's memory can be locked.
    pub rings_locked: bool,
    /// SCHED_FIFO: the priority granted, or why not; `None` if it was not asked for.
    pub fifo: Option<Result<u8, String>>,
    /// The writer's processor, or why it was not granted; `None` if it was not asked for.
    pub cpu: Option<Result<usize, String>>,
    /// Bytes of the writer's buffers.
    pub buffer_bytes: usize,
    /// How far the log has grown.
    pub growth: Growth,
    /// Pins of the store.
    pub pins: u32,
    /// Pin files that are damaged, and why; they hold nothing.
    pub pins_damaged: Vec<(String, String)>,
    /// What was handed to the device since init.
    pub wear: Wear,
    /// Time that the open took.
    pub took_ns: u64,
}

impl Opening {
    pub(crate) fn new(path: &Path, disk: &Disk, recovery: &Recovery, rings: &RingFolder) -> Self {
        let file_system = FileSystem::of(disk.folder()).ok();
        Opening {
            path: path.to_owned(),
            file_system: file_system.map_or("unknown", |found| found.name()),
            device: file_system.map_or((0, 0), |found| found.device),
            log_bytes: recovery.identity.segment_bytes * u64::from(recovery.identity.segments),
            segments_blank: recovery.segments.blank.len() as u32,
            segments_damaged: recovery.segments.damaged.len() as u32,
            damaged_because: recovery
                .segments
                .damaged
                .first()
                .map(|(index, error)| format!("{}: {error}", crate::log::segment_name(*index))),
            segments_scanned: recovery.scanned_segments,
            tail_blocks: recovery.tail_blocks,
            ring_folder: rings.path().map(Path::to_owned),
            ..Opening::default()
        }
    }

    /// Sentences on what does not hold here, each with what would grant it; empty if all does.
    #[must_use]
    pub fn reservations(&self) -> Vec<String> {
        let mut said = Vec::new();
        match self.file_system {
            "ext4" => {}
            "tmpfs" | "ramfs" => {
                said.push(format!("{}: nothing is durable here, it is memory", self.file_system));
            }
            "btrfs" | "zfs" => said.push(format!(
                "{}: every write allocates; zero forced commits is promised on ext4 only",
                self.file_system
            )),
            other => said.push(format!("{other}: zero forced commits is promised on ext4 only")),
        }
        if let Some(reason) = &self.not_direct_because {
            said.push(format!("through the page cache: {reason}"));
        }
        if self.ring_folder.is_none() {
            said.push(
                "rings are private memory: they do not survive this process (no tmpfs at /run, \
                 XDG_RUNTIME_DIR or /dev/shm)"
                    .to_owned(),
            );
        }
        if !self.rings_locked {
            said.push(
                "rings are not locked: a push may meet a page that was swapped out or migrated; \
                 grant it with: ulimit -l unlimited, LimitMEMLOCK=infinity, or setcap \
                 cap_ipc_lock+ep"
                    .to_owned(),
            );
        }
        if let Some(reason) = &self.damaged_because {
            said.push(format!(
                "segments without a valid header, passed over: {}, the first is {reason}; a crash \
                 while a segment was being started leaves one such, else it is damage: baro verify",
                self.segments_damaged
            ));
        }
        if let Some(Err(reason)) = &self.fifo {
            said.push(format!(
                "{reason}; grant it with: ulimit -r 99, LimitRTPRIO=99, or setcap cap_sys_nice+ep"
            ));
        }
        if let Some(Err(reason)) = &self.cpu {
            said.push(format!("{reason}; the writer runs on any processor"));
        }
        for (name, why) in &self.pins_damaged {
            said.push(format!("{name} is no valid pin and holds nothing: {why}"));
        }
        for reason in &self.rings_refused {
            said.push(format!("a ring was not taken over: {reason}"));
        }
        said
    }
}
