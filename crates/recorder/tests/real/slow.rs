//! Input faster than the disk, on a disk that is really slow (`lab/media`): the newest records
//! are refused and counted, the log says exactly which, and everything else is there.

use super::machine::alone;
use super::process::command;
use super::reading::read;
use super::scene::{Owned, Scene};
use super::truth::{CHANNEL, Truth, frame};
use baro_ondisk::WhenFull;
use baro_recorder::{Options, Recorder, Refused};
use std::path::PathBuf;
use std::process::{Command, Stdio};

#[test]
fn a_disk_slower_than_the_input_loses_what_was_counted_and_nothing_else() {
    let _alone = alone();
    let program = std::env::current_exe().unwrap();
    let Some(media) = program.ancestors().nth(2).map(|folder| folder.join("media")) else { return };
    if !media.is_file() || !baro_sys::schedule::is_root() {
        println!("skipped: needs root and {} (cargo build -p media)", media.display());
        return;
    }
    let Some(scene) = Scene::without_store("slow", &std::env::temp_dir()).map(Owned) else {
        return;
    };
    std::fs::create_dir_all(scene.store()).unwrap();
    let role = command(program, "slow", &scene);
    let mut run = Command::new(media);
    run.args(["--size", "96M", "--write", "6M", "--mount-opts", "noatime", "--dir"]);
    run.arg(scene.store()).arg("--").arg(role.get_program()).args(role.get_args());
    for (name, value) in role.get_envs() {
        value.map(|value| run.env(name, value));
    }
    let status = run.stdout(Stdio::inherit()).status().unwrap();
    assert!(status.success(), "{status}");
}

/// The role `slow`: records 3 s of about three times what the disk takes.
pub fn record(scene: &Scene) {
    let disk = std::env::var_os("MEDIA_DIR").map(PathBuf::from).unwrap();
    let scene = Scene::on(&disk.join("store"), scene.shared());
    scene.init(30, WhenFull::Stop);
    let options = Options { ring_bytes: 1 << 20, ..scene.options() };
    let recorder = Recorder::open(scene.store(), options).unwrap();
    let mut producer = recorder.producer().unwrap();
    let (truth, id) = (Truth::open(scene.shared()), producer.report().producer);
    let mut payload = Vec::new();
    let (start_ns, mut taken_bytes) = (baro_sys::clock::monotonic_ns(), 0);
    for round in 0..600_u64 {
        for _ in 0..170 {
            let sequence = producer.next_sequence();
            frame(id, sequence, &mut payload);
            let taken = match producer.push_frame(CHANNEL, sequence as i64, &payload) {
                Ok(given) => {
                    taken_bytes += payload.len() + 40;
                    given == sequence
                }
                Err(refused) => {
                    assert_eq!(refused, Refused::RingFull);
                    false
                }
            };
            truth.note(sequence, taken);
        }
        truth.note_head(id, producer.durable(), 0);
        // The log has 30 MiB and is not to be full.
        if taken_bytes > 24 << 20 {
            break;
        }
        baro_sys::clock::sleep_until_ns(start_ns + (round + 1) * 5_000_000);
    }
    let report = producer.report();
    drop(producer);
    let closed = recorder.close();
    let told = truth.read();
    println!("{} pushed, {} refused, {:?}", told.pushed(), told.refused(), closed.status);
    assert!(told.refused() > 0, "the disk was not slower than the input");
    assert_eq!(told.refused(), report.refused_full);
    assert_eq!((closed.left, closed.status.lost), (0, told.refused()));
    told.check_all(&read(scene.store()), 0);
}
