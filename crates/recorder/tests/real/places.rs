//! Which promises hold, on real file systems: ext4 as it comes, with data=journal, nobarrier; XFS;
//! btrfs with and without copy on write; f2fs; tmpfs; overlayfs.
//!
//! On each a store is made, recorded into, both processes are killed, everything pushed is read
//! back, and what an open says is compared with what is known of the place. Where a promise is
//! denied that the kernel's own counters can see broken, it is: [`count`].

pub mod count;
mod f2fs;

use super::machine::{Mount, alone, folder};
use super::process::{Role, tool, wait_for};
use super::reading::read;
use super::scene::{Owned, Scene};
use super::truth::Truth;
use baro_ondisk::WhenFull;
use baro_promises::{Holds, Look, Promise};
use baro_recorder::{Opening, Recorder};
use count::Counted;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

const COMMIT: &str = "jbd2/jbd2_end_commit";
const ALLOCATION: &str = "ext4/ext4_allocate_blocks";

/// Makes a store at `place`, records, kills, reads back; what the next open finds.
fn live(scene: &Scene) -> Opening {
    scene.init(24, WhenFull::Stop);
    let recorder = Role::start("recorder", scene);
    wait_for("a recorder", || scene.signalled("open").is_some());
    let producer = Role::start("producer", scene);
    let truth = Truth::open(scene.shared());
    wait_for("durable records", || truth.read().durable > 200);
    Role::kill_all(vec![recorder, producer]);
    let told = truth.read();
    told.check(&read(scene.store()), 1);
    scene.drain();
    let log = read(scene.store());
    told.check_all(&log, 1);
    // A slow device may have refused many: they are sequences too, in gaps.
    let (pushed, refused, there) = (told.pushed(), told.refused(), log.len() as u64);
    assert!(
        pushed + refused > 200 && there >= pushed,
        "{pushed} pushed, {refused} refused, {there} there"
    );
    assert!(pushed > 0, "{refused} refused");
    let recorder = Recorder::open(scene.store(), scene.options()).unwrap();
    let opening = recorder.opening().clone();
    assert_eq!(recorder.close().left, 0);
    looking_only_agrees(scene.store(), &opening);
    opening
}

/// Reading alone comes to the same judgement, or to none, and changes nothing.
fn looking_only_agrees(store: &Path, opening: &Opening) {
    for judged in baro_promises::at(store, Look::Read, 64 << 10) {
        let theirs = opening.promises.iter().find(|theirs| theirs.promise == judged.promise);
        let holds = theirs.unwrap().holds;
        let unasked = judged.promise == Promise::RealTime;
        assert!(unasked || judged.holds == holds || judged.holds == Holds::Unknown, "{judged}");
    }
}

/// What is said of the place itself and does not hold: not of rights, nor of its neighbours.
fn open_promises(opening: &Opening) -> Vec<(&'static str, &'static str)> {
    use Promise::{Durable, InPlace, NoForcedCommits, PastPageCache};
    for judged in &opening.promises {
        println!("{}: {judged}", opening.file_system);
    }
    let of_place = [Durable, NoForcedCommits, InPlace, PastPageCache];
    let open = opening.promises.iter().filter(|judged| judged.holds != Holds::Yes);
    let open = open.filter(|judged| of_place.contains(&judged.promise));
    // Leaked, to be compared with literals: a few bytes for each.
    let said = |text: String| -> &'static str { text.leak() };
    open.map(|judged| (said(judged.promise.to_string()), said(judged.holds.to_string()))).collect()
}

fn why(opening: &Opening, promise: Promise) -> String {
    let found = opening.promises.iter().find(|judged| judged.promise == promise);
    found.unwrap().to_string()
}

/// A mount with a store in it, or `None`, said why.
fn on(kind: &'static str, name: &str, options: &str) -> Option<(Mount, Owned)> {
    // XFS makes none below 300 MiB; the image is sparse.
    let mount = Mount::of_kind(kind, folder(name)?, 320, options)?;
    let scene = Owned(Scene::without_store(name, &mount.path())?);
    Some((mount, scene))
}

#[test]
fn ext4_as_it_comes_keeps_every_promise() {
    let _alone = alone();
    let Some((_mount, scene)) = on("ext4", "place-ext4", "noatime,commit=600") else { return };
    let opening = live(&scene);
    assert_eq!(open_promises(&opening), []);
    assert!(opening.direct && opening.alone == Some(true));
    let Some(counted) = Counted::of(&scene, &[COMMIT, ALLOCATION]) else { return };
    assert_eq!((counted.events(COMMIT), counted.events(ALLOCATION)), (0, 0), "{counted:?}");
    assert!(counted.flushes >= counted.syncs && counted.syncs > 10, "{counted:?}");
    assert!(counted.grown(COMMIT) >= 1 && counted.grown(ALLOCATION) >= 1, "{counted:?}");
}

#[test]
fn ext4_with_journalled_data_commits_and_says_so() {
    let _alone = alone();
    let options = "noatime,commit=600,data=journal";
    let Some((mount, scene)) = on("ext4", "place-journal", options) else { return };
    let opening = live(&scene);
    let open = [("no-forced-commits", "no"), ("past-page-cache", "no")];
    assert_eq!(open_promises(&opening), open);
    assert!(!opening.direct);
    assert!(why(&opening, Promise::PastPageCache).contains("(data=journal)"));
    let at = mount.path();
    let remedy = why(&opening, Promise::NoForcedCommits);
    assert!(remedy.contains(&format!("umount {}; tune2fs", at.display())), "{remedy}");
    let Some(counted) = Counted::of(&scene, &[COMMIT]) else { return };
    assert!(counted.events(COMMIT) > 10, "{counted:?}");
}

#[test]
fn ext4_that_journals_data_by_default_is_found_out_too() {
    let _alone = alone();
    let Some((mount, scene)) = on("ext4", "place-default", "noatime") else { return };
    mount.unmount().unwrap();
    let tune: Vec<&OsStr> = ["-o", "journal_data"].iter().map(OsStr::new).collect();
    let image = mount.image();
    tool("tune2fs", &[tune[0], tune[1], image.as_os_str()]).unwrap();
    mount.mount().unwrap();
    let open = [("no-forced-commits", "no"), ("past-page-cache", "no")];
    assert_eq!(open_promises(&live(&scene)), open);
}

#[test]
fn ext4_with_the_flag_of_journalled_data_is_found_out_too() {
    let _alone = alone();
    let Some((_mount, scene)) = on("ext4", "place-flag", "noatime") else { return };
    // The flag of a folder goes to the files made in it.
    std::fs::create_dir_all(scene.store()).unwrap();
    if let Err(reason) = tool("chattr", &[OsStr::new("+j"), scene.store().as_os_str()]) {
        println!("skipped: needs CAP_SYS_RESOURCE: {reason}");
        return;
    }
    let opening = live(&scene);
    let open = [("no-forced-commits", "no"), ("past-page-cache", "no")];
    assert_eq!(open_promises(&opening), open);
    assert!(why(&opening, Promise::NoForcedCommits).contains("chattr -j"));
}

#[test]
fn ext4_without_barriers_flushes_nothing_and_says_so() {
    let _alone = alone();
    let Some((mount, scene)) = on("ext4", "place-barrier", "noatime,nobarrier") else { return };
    let opening = live(&scene);
    assert_eq!(open_promises(&opening), [("durable", "no")]);
    let remedy = format!("mount -o remount,barrier {}", mount.path().display());
    assert!(why(&opening, Promise::Durable).ends_with(&remedy));
    let Some(counted) = Counted::of(&scene, &[]) else { return };
    assert!(counted.flushes == 0 && counted.syncs > 10, "{counted:?}");
    // The remedy is one.
    let at = mount.path();
    tool("mount", &[OsStr::new("-o"), OsStr::new("remount,barrier"), at.as_os_str()]).unwrap();
    let recorder = scene.open();
    assert_eq!(open_promises(recorder.opening()), []);
}

#[test]
fn xfs_overwrites_until_a_copy_shares_the_blocks() {
    let _alone = alone();
    let Some((_mount, scene)) = on("xfs", "place-xfs", "noatime") else { return };
    let opening = live(&scene);
    assert_eq!(open_promises(&opening), [("no-forced-commits", "unknown")]);
    assert!(opening.direct);
    if let Some(counted) = Counted::of(&scene, &["xfs/xfs_log_force"]) {
        assert_eq!(counted.events("xfs/xfs_log_force"), 0, "{counted:?}");
        assert!(counted.grown("xfs/xfs_log_force") >= 1, "{counted:?}");
    }
    let segment = scene.store().join(baro_log::segment_name(0));
    let copy = scene.store().join("copy");
    let reflink = [OsStr::new("--reflink=always"), segment.as_os_str(), copy.as_os_str()];
    tool("cp", &reflink).unwrap();
    let recorder = scene.open();
    let shared = [("no-forced-commits", "no"), ("in-place", "no")];
    assert_eq!(open_promises(recorder.opening()), shared);
    assert!(why(recorder.opening(), Promise::InPlace).contains("are shared"));
}

#[test]
fn btrfs_copies_on_write_unless_told_not_to() {
    let _alone = alone();
    let Some((mount, scene)) = on("btrfs", "place-btrfs", "noatime") else { return };
    let opening = live(&scene);
    let open = open_promises(&opening);
    assert_eq!(open[..2], [("no-forced-commits", "no"), ("in-place", "no")], "{open:?}");
    // Since Linux 6.15 direct writes with checksums go through the page cache.
    assert!(open[2..].is_empty() || open[2..] == [("past-page-cache", "no")], "{open:?}");
    let allocation = "btrfs/btrfs_reserved_extent_alloc";
    if let Some(counted) = Counted::of(&scene, &[allocation]) {
        assert!(counted.events(allocation) > 10, "{counted:?}");
    }
    let Some(plain) = Scene::without_store("no-cow", &mount.path()).map(Owned) else { return };
    std::fs::create_dir_all(plain.store()).unwrap();
    tool("chattr", &[OsStr::new("+C"), plain.store().as_os_str()]).unwrap();
    let opening = live(&plain);
    assert_eq!(open_promises(&opening), [("no-forced-commits", "no")]);
    assert!(opening.direct && opening.alone == Some(false));
}

#[test]
fn a_tmpfs_is_never_durable() {
    let Some(scene) = Scene::without_store("place-tmpfs", "/dev/shm".as_ref()).map(Owned) else {
        return;
    };
    let opening = live(&scene);
    assert_eq!(open_promises(&opening), [("durable", "no"), ("past-page-cache", "no")]);
}

/// An overlay over folders of a mount; unmounted on drop, before the mount is.
struct Overlay(PathBuf);

impl Overlay {
    fn new(below: &Path, options: &str) -> Option<Self> {
        let part = |name: &str| {
            let path = below.join(name);
            std::fs::create_dir_all(&path).unwrap();
            path
        };
        let (lower, upper, work, merged) =
            (part("lower"), part("upper"), part("work"), part("merged"));
        let options = format!(
            "lowerdir={},upperdir={},workdir={}{options}",
            lower.display(),
            upper.display(),
            work.display()
        );
        let arguments = ["-t", "overlay", "overlay", "-o", &options].map(OsStr::new);
        match tool("mount", &[&arguments[..], &[merged.as_os_str()]].concat()) {
            Ok(_) => Some(Overlay(merged)),
            Err(reason) => {
                println!("skipped: {reason}");
                None
            }
        }
    }
}

impl Drop for Overlay {
    fn drop(&mut self) {
        let _ = tool("umount", &[self.0.as_os_str()]);
    }
}

#[test]
fn an_overlay_keeps_what_its_upper_layer_keeps() {
    let _alone = alone();
    let Some(at) = folder("place-overlay") else { return };
    let Some(mount) = Mount::new(at, 320, "noatime,commit=600") else { return };
    {
        let Some(overlay) = Overlay::new(&mount.path(), "") else { return };
        let Some(scene) = Scene::without_store("overlay", &overlay.0).map(Owned) else { return };
        let opening = live(&scene);
        assert_eq!(open_promises(&opening), []);
        assert!(opening.file_system == "overlayfs" && opening.alone.is_none());
    }
    let Some(overlay) = Overlay::new(&mount.path(), ",volatile") else { return };
    let Some(scene) = Scene::without_store("volatile", &overlay.0).map(Owned) else { return };
    let opening = live(&scene);
    assert_eq!(open_promises(&opening), [("durable", "no")]);
    let Some(counted) = Counted::of(&scene, &[]) else { return };
    assert!(counted.flushes == 0 && counted.syncs > 10, "{counted:?}");
}
