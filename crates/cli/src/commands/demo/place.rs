//! Where the demo works: a folder of its own, on the disk that is there or on a modelled slow one.
//!
//! Most disks of a desk are so quick that nobody waits for them. What the demo is about shows on a disk
//! like those of machines that record.
//!
//! Root works only where nobody else decides what a name means, and looks at that before anything else.
//!
//! Invariant: what was made is gone when the place is dropped, and what a killed demo left is removed
//! by the next in the same folder. Held by `the_demo_runs_and_cleans_up_on_a_slow_disk_of_its_own_too` and
//! `what_a_killed_stand_left_is_removed`.

use crate::failure::Result;
use baro_bench::ground;
use baro_bench::stand::{DeviceModel, Stand, remove_leftovers_in};
use baro_sys::state::StateFolder;
use baro_sys::{files, identity, schedule, termination};
use baro_tune::Setting;
use clap::ValueEnum;
use std::path::{Path, PathBuf};

/// The disk to record on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Device {
    /// The one that the folder is on
    None,
    /// A modelled one in that folder: 12 MB/s written, 40 MB/s read (root)
    Emmc,
}

/// Room on the modelled disk beside the store: files of the neighbour and of the other methods.
const BESIDE_BYTES: u64 = 3 << 30;
/// An eMMC 5.0 has no command queue: one request at work and one prepared. What can be set is four.
const REQUESTS: &str = "4";
const REQUEST_KIB: &str = "512";

/// The place.
#[derive(Debug)]
pub(super) struct Place {
    dir: PathBuf,
    on: On,
    keep: bool,
}

#[derive(Debug)]
enum On {
    /// The disk as it is; why no slow one is modelled, if nobody asked for this one.
    Found(Option<String>),
    Modelled(Option<Box<Stand>>),
}

impl Place {
    /// In `dir`, which must not be there, with room for a log of `log_bytes`.
    pub(super) fn make(
        dir: &Path,
        device: Option<Device>,
        log_bytes: u64,
        keep: bool,
    ) -> Result<Self> {
        if keep && device == Some(Device::Emmc) {
            return Err(
                "the modelled disk ends with the demo, and its store too: leave out --keep, or \
                        name --device none"
                    .into(),
            );
        }
        let (above, name) = (dir.parent().unwrap_or(dir), dir.file_name().unwrap_or_default());
        if schedule::is_root() {
            let above = ground::held(above)?;
            match above.below(name) {
                Ok(left) => clear(&left),
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(ground::refused(error).into()),
            }
        }
        if files::exists(dir) {
            return Err(format!(
                "{}: exists; the demo works in a folder of its own: remove it or give --dir",
                dir.display()
            )
            .into());
        }
        let own = ground::make_own(above, name)?;
        let mut place = Place { dir: own, on: On::Found(None), keep };
        if device == Some(Device::Emmc) || device.is_none() && !keep {
            place.model(device.is_some(), log_bytes.saturating_add(BESIDE_BYTES))?;
        }
        Ok(place)
    }

    /// Models a slow disk of so many bytes; where that cannot be done, it fails only if it was `asked` for.
    fn model(&mut self, asked: bool, bytes: u64) -> Result<()> {
        if let Some(lacks) = DeviceModel::lacks().or_else(|| lacks_room(&self.dir, bytes)) {
            if asked {
                return Err(format!("a modelled disk {lacks}; your own: --device none").into());
            }
            self.on = On::Found(Some(lacks));
            return Ok(());
        }
        // Before it is there: from now on the folder is never removed with what is in it.
        self.on = On::Modelled(None);
        match DeviceModel::emmc().build(&self.dir, bytes) {
            Ok(stand) => {
                out!(
                    "the disk is a modelled one: ext4 on a loop device of 12 MB/s written and 40 MB/s read, \
                     as an eMMC has (docs/bench-recorder.md); your own: --device none"
                );
                self.on = On::Modelled(Some(Box::new(stand)));
                Ok(())
            }
            // In a container, even root may have no loop devices.
            Err(error) if !asked && termination::requested().is_none() => {
                // From now on it is removed with what is in it.
                if !files::list(&self.dir)?.is_empty() {
                    return Err(error.into());
                }
                self.on = On::Found(Some(format!("cannot be done: {error}")));
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    fn stand(&mut self) -> Option<&mut Stand> {
        match &mut self.on {
            On::Modelled(stand) => stand.as_deref_mut(),
            On::Found(_) => None,
        }
    }

    /// Where files go.
    pub(super) fn folder(&self) -> PathBuf {
        match &self.on {
            On::Modelled(Some(stand)) => stand.mount_dir(),
            _ => self.dir.clone(),
        }
    }

    /// What the disk is called below a picture.
    pub(super) fn disk(&self) -> &'static str {
        match self.on {
            On::Modelled(_) => "a modelled eMMC of 12 MB/s",
            On::Found(_) => "the same disk",
        }
    }

    /// Says why nobody waited on it.
    pub(super) fn tell_quick(&self) {
        match &self.on {
            On::Modelled(_) => out!("That was too short to show more: give it a longer --for."),
            On::Found(why) => {
                out!(
                    "This disk was quick enough for both: the difference shows where it is slow or shared, \
                     or with a longer --for."
                );
                if let Some(why) = why {
                    out!("A slow disk is modelled where that can be done; here that {why}.");
                }
            }
        }
    }

    /// From now on a modelled disk is slow.
    pub(super) fn slow_down(&mut self) -> Result<()> {
        let Some(stand) = self.stand() else { return Ok(()) };
        let queue = format!("/sys/block/{}/queue", stand.device_name());
        stand.set(&Setting::new(format!("{queue}/max_sectors_kb"), REQUEST_KIB))?;
        stand.set(&Setting::new(format!("{queue}/nr_requests"), REQUESTS))?;
        stand.set_speed(DeviceModel::emmc().speed())?;
        Ok(())
    }

    /// It is fast again: nobody wants to wait for what is still to be written.
    pub(super) fn speed_up(&mut self) {
        if let Some(stand) = self.stand() {
            stand.undo_settings();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.keep {
            out!("left behind: {}", self.dir.display());
            return;
        }
        let removed = match &mut self.on {
            // By its name alone: what could not be unmounted would be emptied.
            On::Modelled(stand) => {
                drop(stand.take());
                files::remove_empty_folder(&self.dir)
            }
            On::Found(_) => files::remove_tree(&self.dir),
        };
        if let Err(error) = removed {
            say!("note: {error}");
        }
    }
}

/// Takes away what a killed demo of root's left. An empty folder is somebody's wish.
fn clear(left: &StateFolder) {
    if !left.list().unwrap_or_default().is_empty() {
        remove_leftovers_in(left);
        left.remove_if_empty();
    }
}

fn lacks_room(dir: &Path, bytes: u64) -> Option<String> {
    let free_bytes = identity::FileSystem::of(dir).ok()?.available_bytes;
    let shown = crate::size::show_bytes;
    (free_bytes < bytes).then(|| format!("needs {} free, {} are", shown(bytes), shown(free_bytes)))
}
