//! Where tests make stands, and what is left of them.

use baro_bench::stand::remove_leftovers;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder for stands, or why there can be none here.
pub(crate) fn place(name: &str) -> Option<PathBuf> {
    let missing = if !baro_sys::schedule::is_root() {
        Some("root's rights")
    } else if !Path::new("/sys/fs/cgroup/blkio/blkio.throttle.write_bps_device").exists() {
        Some("the block controller of version 1")
    } else if !Path::new("/dev/loop-control").exists() {
        Some("loop devices")
    } else {
        None
    };
    if let Some(missing) = missing {
        println!("skipped: needs {missing}");
        return None;
    }
    let built = Path::new(env!("CARGO_TARGET_TMPDIR"));
    // Root measures in no folder that others can change, as that of somebody's checkout.
    let above = match baro_bench::ground::held(built) {
        Ok(_) => built.to_owned(),
        Err(_) => std::env::temp_dir(),
    };
    let place = above.join(format!("stands-{name}"));
    fs::create_dir_all(&place).unwrap();
    remove_leftovers(&place);
    assert_eq!(names(&place), Vec::<String>::new());
    Some(place)
}

pub(crate) fn names(dir: &Path) -> Vec<String> {
    fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
}

/// What of a stand in `place` the kernel knows: mounts, loop devices on its images.
pub(crate) fn known(place: &Path) -> Vec<String> {
    let place = place.canonicalize().unwrap();
    let text = place.to_str().unwrap();
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mut known: Vec<String> =
        mounts.lines().filter(|line| line.contains(text)).map(str::to_owned).collect();
    for entry in fs::read_dir("/sys/block").unwrap() {
        let backing = entry.unwrap().path().join("loop/backing_file");
        let backing = fs::read_to_string(backing).unwrap_or_default();
        // What another mount namespace still uses is detached by the kernel, later.
        if backing.contains(text) && !backing.contains("(deleted)") {
            known.push(backing);
        }
    }
    known
}
