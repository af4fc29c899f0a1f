//! Machines that were booted once and saved, one for each kernel, first file system and hardware
//! that QEMU can save.

use super::{Disks, Hardware, Qemu};
use crate::cache::Cache;
use crate::guest::initramfs::Initramfs;
use crate::kernels::Kernel;
use crate::tool::{at, output};
use serde_json::json;
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

/// To be counted up when the devices or the kernel's command line change.
const DEVICES_VERSION: u32 = 1;

/// A saved machine.
#[derive(Debug)]
pub(super) struct State {
    pub(super) initrd: PathBuf,
    /// `None` if it must be booted.
    pub(super) memory: Option<PathBuf>,
}

/// Has a saved machine; boots it if there is none.
pub(super) fn ready(
    cache: &Cache,
    kernel: &Kernel,
    initramfs: &Initramfs,
    hardware: Hardware,
) -> Result<State, String> {
    let qemu = output(Command::new("qemu-system-x86_64").arg("--version"))?;
    let mut hash = DefaultHasher::new();
    (qemu, &initramfs.bytes, &kernel.package.sha256, DEVICES_VERSION).hash(&mut hash);
    let Hardware { memory_mib, disk_bytes, card, processors, counted } = hardware;
    let card = if card { "card-" } else { "" };
    let counted = if counted { "counted-" } else { "" };
    let disk_mib = disk_bytes >> 20;
    let kind =
        format!("{}-{memory_mib}M-{disk_mib}M-{processors}P-{card}{counted}", kernel.release);
    let name = format!("{:016x}", hash.finish());
    let folder = cache.once(&format!("saved/{kind}/{name}"), |folder| {
        cache.remove_others(&format!("saved/{kind}"), folder)?;
        let initrd = folder.join("initrd");
        fs::write(&initrd, &initramfs.bytes).map_err(at(&initrd))?;
        if hardware.card {
            return Ok(());
        }
        eprintln!("lab: booting {} once, to save it", kernel.release);
        let mut qemu = Qemu::start(kernel, &initrd, hardware, &Disks::blank(), None)?;
        let session = qemu.booted().map_err(|why| qemu.explain(&why))?;
        drop(session);
        save(&qemu, &folder.join("memory")).map_err(|why| qemu.explain(&why))
    })?;
    let memory = (!hardware.card).then(|| folder.join("memory"));
    Ok(State { initrd: folder.join("initrd"), memory })
}

fn save(qemu: &Qemu, memory: &std::path::Path) -> Result<(), String> {
    let mut qmp = super::Qmp::open(&qemu.folder.join("qmp"))?;
    // What the boot left to do is done before, so that every restored machine has peace.
    std::thread::sleep(Duration::from_millis(500));
    qmp.ask("stop", &json!({}))?;
    qmp.ask("migrate-set-parameters", &json!({ "max-bandwidth": 100_000_000_000_u64 }))?;
    qmp.ask("migrate", &json!({ "uri": format!("exec:cat > '{}'", memory.display()) }))?;
    let ended = |status: &str| matches!(status, "completed" | "failed" | "cancelled");
    match qmp.until("query-migrate", ended, Duration::from_secs(60))?.as_str() {
        "completed" => Ok(()),
        other => Err(format!("saving the machine: {other}")),
    }
}
