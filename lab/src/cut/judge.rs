//! Crash images are judged in one guest, one after the other: while it mounts and verifies one on
//! its first disk, the next is written to its second.

use super::disk::{DISK_BYTES, table};
use super::image::{Dice, Disk, Fate, Image};
use super::record::Recording;
use super::{Plan, Point, Way};
use crate::machine::disk::MODELS;
use crate::machine::{Backing, Disks, Machine};
use crate::scratch::{Remove, tempfile};
use crate::site::Site;
use crate::tool::at;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::mpsc::sync_channel;

/// What came of a point.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    pub(crate) point: Point,
    pub(crate) pending: usize,
    pub(crate) lost: usize,
    /// The judge's line; begins with `ok` where all is well.
    pub(crate) line: String,
}

impl Verdict {
    pub(crate) fn is_ok(&self) -> bool {
        self.line.starts_with("ok ")
    }
}

/// Judges the points, which are sorted; hands out each verdict. `seed` is that of the recording,
/// `dice` decides what is lost.
pub(crate) fn judge(
    site: Site<'_>,
    plan: &Plan,
    recording: &Recording,
    points: &[Point],
    seed: u64,
    dice: u64,
    mut each: impl FnMut(Verdict),
) -> Result<(), String> {
    let images: [PathBuf; 2] = [tempfile("crashed"), tempfile("crashed")];
    let _remove = [Remove(images[0].clone()), Remove(images[1].clone())];
    for image in &images {
        std::fs::write(image, table()).map_err(at(image))?;
    }
    let backing = |index: usize| Backing::File(images[index].clone(), &MODELS[0]);
    let disks = Disks { first: backing(0), second: backing(1), ..Disks::blank() };
    let mut machine = site.start_with_load(&disks)?;
    machine
        .sh("for d in vda vdb; do blockdev --rereadpt /dev/$d; done; ls /dev/vda2 /dev/vdb2", 20)?;
    let open = |path: &PathBuf| OpenOptions::new().write(true).open(path).map_err(at(path));
    let files = [open(&images[0])?, open(&images[1])?];
    std::thread::scope(|scope| {
        // One image waits while the one before is judged; a disk is free again when its verdict is.
        let (made, ready) = sync_channel::<Result<(usize, usize, usize), String>>(0);
        let (freed, free) = sync_channel::<()>(2);
        let _ = (freed.send(()), freed.send(()));
        let files = &files;
        scope.spawn(move || {
            let mut disk = Disk::new(usize::try_from(DISK_BYTES).unwrap_or(0));
            for (number, point) in points.iter().enumerate() {
                if free.recv().is_err() {
                    return;
                }
                let mut dice = Dice::new(dice ^ (point.cut as u64) << 20 ^ number as u64);
                let fate = match plan.way {
                    Way::Ordinary if point.whole => Fate::All,
                    Way::Ordinary => Fate::of(&mut dice),
                    // A control must fail: something is lost each time.
                    Way::NoBarrier | Way::NoSync => Fate::Some,
                };
                let image = disk.cut(&recording.log, point.cut, fate, &mut dice);
                let done = image.and_then(|image| {
                    write(&files[number % 2], &image)?;
                    Ok((number, image.pending, image.lost))
                });
                if made.send(done).is_err() {
                    return;
                }
            }
        });
        for point in points {
            let (number, pending, lost) = ready.recv().map_err(|error| error.to_string())??;
            let line = verify(&mut machine, plan, recording, *point, number, seed)?;
            each(Verdict { point: *point, pending, lost, line });
            let _ = freed.send(());
        }
        Ok(())
    })
}

/// Mounts an image in the guest and has the load judge it.
fn verify(
    machine: &mut Machine,
    plan: &Plan,
    recording: &Recording,
    point: Point,
    number: usize,
    seed: u64,
) -> Result<String, String> {
    let device = ["vda", "vdb"][number % 2];
    let ack = match recording.promised(point.cut) {
        Some(statement) => {
            machine.session.put("/run/ack", 0o644, statement.to_vec())?;
            "/run/ack"
        }
        None => "none",
    };
    let (fs, scenario) = (plan.fs, plan.scenario);
    let mount = plan.mount_options();
    let script = format!(
        "mount -t {fs} {mount} /dev/{device}1 /mnt || {{ echo BAD mount: it cannot be mounted; exit; }}\n\
         lab-load verify --store /mnt/store --scenario {scenario} --seed {seed} --ack {ack}\n\
         umount /mnt || echo BAD umount"
    );
    let output = machine.session.sh(&script, std::time::Duration::from_secs(60));
    let output = output.map_err(|why| machine.explain(&why))?;
    if output.exit.timed_out {
        return Err(machine.explain(&format!("verifying took more than 60 s: {}", output.out)));
    }
    let mut lines: Vec<&str> = output.out.lines().collect();
    // Whatever was said that is no praise comes first.
    lines.sort_by_key(|line| line.starts_with("ok "));
    Ok(lines
        .first()
        .map_or_else(|| format!("BAD no verdict: {}", output.err.trim()), |l| (*l).to_owned()))
}

const PART_BYTES: usize = 64 << 10;
static EMPTY: [u8; PART_BYTES] = [0; PART_BYTES];

/// Writes an image over what a guest has left; holes where it is empty.
fn write(file: &File, image: &Image) -> Result<(), String> {
    let size = file.metadata().map_err(|error| error.to_string())?.len();
    let written = || -> std::io::Result<()> {
        file.set_len(0)?;
        file.set_len(size)?;
        for (number, part) in image.bytes.chunks(PART_BYTES).enumerate() {
            if part != &EMPTY[..part.len()] {
                file.write_all_at(part, (number * PART_BYTES) as u64)?;
            }
        }
        Ok(())
    };
    written().map_err(|error| format!("writing a crash image: {error}"))
}
