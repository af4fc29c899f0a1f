//! Runs `media` for real: contents, flushes, exit codes, and nothing left behind.
//!
//! Needs root, /dev/fuse and loop devices; says `skipped:` where it has not got them.
#![allow(missing_docs, reason = "a test")]
#![allow(clippy::disallowed_methods, reason = "a test of a tool that works on the real machine")]

use baro_sys::clock::sleep_ns;
use baro_sys::termination;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

const SIGTERM: i32 = 15;

struct Place(PathBuf);

impl Place {
    /// A directory of its own for a test, or None and the reason on stdout.
    fn new(name: &str) -> Option<Self> {
        let root = std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0);
        let devices = ["/dev/fuse", "/dev/loop-control"];
        if !root || !devices.iter().all(|device| Path::new(device).exists()) {
            println!("skipped: {name} needs root, /dev/fuse and loop devices");
            return None;
        }
        let dir = std::env::temp_dir().join(format!("media-test-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&dir).expect("a temporary directory");
        Some(Self(dir))
    }

    fn media(&self, options: &[&str], script: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_media"));
        command
            .args(["--size", "64M", "--write", "100M", "--read", "200M", "--dir"])
            .arg(&self.0)
            .args(options)
            .args(["--", "sh", "-c", script]);
        command
    }

    fn run(&self, options: &[&str], script: &str) -> Output {
        self.media(options, script).output().expect("media starts")
    }

    fn assert_empty(&self) {
        let left: Vec<_> =
            std::fs::read_dir(&self.0).expect("readable").filter_map(Result::ok).collect();
        assert!(left.is_empty(), "{left:?}");
        let dir = self.0.to_string_lossy().into_owned();
        let mounts = std::fs::read_to_string("/proc/self/mounts").expect("readable");
        assert!(!mounts.contains(&dir), "{mounts}");
        for block in std::fs::read_dir("/sys/block").expect("readable").filter_map(Result::ok) {
            let backing = block.path().join("loop/backing_file");
            let backing = std::fs::read_to_string(backing).unwrap_or_default();
            assert!(!backing.contains(&dir), "{backing}");
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// Starts media with a script that says its process id once the file system is there.
fn start(place: &Place) -> (Child, u32) {
    let mut media = place
        .media(&[], "echo $$; exec sleep 60")
        .stdout(Stdio::piped())
        .spawn()
        .expect("media starts");
    let mut line = String::new();
    let stdout = media.stdout.take().expect("piped");
    BufReader::new(stdout).read_line(&mut line).expect("a line");
    let pid = line.trim().parse().expect("a process id");
    (media, pid)
}

#[test]
fn passes_the_exit_code_and_leaves_nothing() {
    let Some(place) = Place::new("code") else { return };
    let script = "mountpoint -q $MEDIA_DIR && test -b $MEDIA_DEVICE \
                  && echo hello > $MEDIA_DIR/f && cat $MEDIA_DIR/f; exit 7";
    for options in
        [&["--mkfs-opts", "-J size=4", "--mount-opts", "noatime"][..], &["--rate", "none"]]
    {
        let output = place.run(options, script);
        assert_eq!(output.status.code(), Some(7), "{output:?}");
        assert_eq!(output.stdout, b"hello\n", "{output:?}");
        place.assert_empty();
    }
}

#[test]
fn data_come_back_and_fdatasync_reaches_the_disk() {
    let Some(place) = Place::new("data") else { return };
    // Five fdatasyncs, then the data read past the cache.
    let script = "cd $MEDIA_DIR && for i in 1 2 3 4 5; do seq $((i * 5000)) > f$i && \
                  dd if=f$i of=g$i conv=fdatasync 2>/dev/null && \
                  dd if=g$i bs=1M iflag=direct 2>/dev/null | cmp - f$i || exit 1; done";
    let output = place.run(&["--flush-ms", "1"], script);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let report = String::from_utf8_lossy(&output.stderr).into_owned();
    let flushes = report.rsplit("flushes ").next().and_then(|n| n.trim().parse::<u64>().ok());
    assert!(flushes.is_some_and(|flushes| flushes >= 5), "{report}");
    place.assert_empty();
}

#[test]
fn an_interruption_undoes_everything() {
    let Some(place) = Place::new("interrupt") else { return };
    let (mut media, _) = start(&place);
    termination::send(media.id(), SIGTERM).expect("media lives");
    let status = media.wait().expect("media ends");
    assert_eq!(status.code(), Some(128 + SIGTERM));
    place.assert_empty();
}

#[test]
fn the_next_run_removes_what_a_killed_run_left() {
    let Some(place) = Place::new("killed") else { return };
    let (mut media, sleeper) = start(&place);
    media.kill().expect("media lives");
    media.wait().expect("media ends");
    termination::send(sleeper, SIGTERM).expect("the command lives");
    sleep_ns(100_000_000);
    assert!(std::fs::read_dir(&place.0).expect("readable").next().is_some());
    let output = place.run(&[], "true");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    place.assert_empty();
}

#[test]
fn a_failing_mkfs_is_told_and_undone() {
    let Some(place) = Place::new("mkfs") else { return };
    let output = place.run(&["--mkfs-opts", "--no-such-option"], "true");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("mkfs.ext4"), "{output:?}");
    place.assert_empty();
}
