//! The simulator keeps its own promises, and breaks those that it should.

use super::*;
use crate::storage::StorageFile;

fn contents(disk: &SimDisk, name: &str) -> Vec<u8> {
    let file = disk.open(name, Access::Read).unwrap();
    let mut bytes = vec![0; file.size_bytes().unwrap() as usize];
    assert_eq!(file.read_at(0, &mut bytes).unwrap(), bytes.len());
    bytes
}

const MODES: [Survival; 4] = [Survival::None, Survival::All, Survival::Some, Survival::Torn];

#[test]
fn what_is_synced_survives_every_power_cut() {
    for seed in 0..200 {
        let (mut rng, disk) = (Rng::new(seed), SimDisk::new(seed));
        let file = disk.create("a").unwrap();
        let mut model = vec![0_u8; 20_000];
        for _ in 0..rng.below(30) {
            let (start, length) = (rng.below(15_000) as usize, rng.below(5000) as usize);
            let fill = rng.below(0xe0) as u8;
            file.write_at(start as u64, &vec![fill; length]).unwrap();
            model[start..start + length].fill(fill);
        }
        file.reserve(20_000).unwrap();
        file.sync_data().unwrap();
        disk.sync_folder("").unwrap();
        assert_eq!(contents(&disk, "a"), model);
        file.write_at(512, &[0xee; 1024]).unwrap();
        for mode in MODES {
            let after = disk.crash(&mut rng, mode);
            let found = contents(&after, "a");
            assert_eq!((&found[..512], &found[1536..]), (&model[..512], &model[1536..]));
            for sector in [512..1024, 1024..1536] {
                let new = found[sector.clone()].iter().all(|byte| *byte == 0xee);
                assert!(new || found[sector.clone()] == model[sector], "a torn sector");
            }
            match mode {
                Survival::None => assert_eq!(found, model),
                Survival::All => assert!(found[512..1536].iter().all(|byte| *byte == 0xee)),
                Survival::Some => assert_eq!(found[512] == 0xee, found[1535] == 0xee),
                Survival::Torn => {}
            }
        }
    }
}

#[test]
fn names_are_durable_once_their_folder_is() {
    let (mut rng, disk) = (Rng::new(1), SimDisk::new(1));
    disk.create_folder("log").unwrap();
    disk.create("log/a").unwrap();
    disk.sync_folder("log").unwrap();
    assert!(disk.create("none/a").unwrap_err().is_missing());
    assert!(disk.crash(&mut rng, Survival::None).files().is_empty(), "the folder was not synced");
    disk.sync_folder("").unwrap();
    disk.rename("log/a", "log/b").unwrap();
    let before = disk.crash(&mut rng, Survival::None);
    assert_eq!(before.list("log").unwrap(), ["a"]);
    assert_eq!(disk.crash(&mut rng, Survival::All).list("log").unwrap(), ["b"]);
    assert_eq!(disk.list("").unwrap(), ["log"]);
}

#[test]
fn faults_happen_once_asked_for_and_can_be_taken_away() {
    let (mut rng, disk) = (Rng::new(1), SimDisk::new(1));
    let file = disk.create("a").unwrap();
    disk.sync_folder("").unwrap();
    disk.inject(Fault::Write(1));
    file.write_at(0, &[1; 4096]).unwrap();
    assert_eq!(file.write_at(0, &[2; 4096]).unwrap_err().errno(), Some(libc::EIO));
    file.write_at(0, &[3; 4096]).unwrap();
    disk.inject(Fault::Sync { number: 0, loses: true });
    file.sync_data().unwrap_err();
    file.sync_data().unwrap();
    assert_eq!(contents(&disk, "a"), [3; 4096], "the page cache has it");
    let direct = disk.open("a", Access::ReadDirect).unwrap();
    let mut medium = [0; 4096];
    direct.read_at(0, &mut medium).unwrap();
    let after = contents(&disk.crash(&mut rng, Survival::All), "a");
    assert_eq!(after[..], medium[..after.len()], "a direct read sees what a power cut leaves");

    disk.inject(Fault::Full(8192));
    assert!(disk.create("b").unwrap().reserve(8192).unwrap_err().is_full());
    disk.inject(Fault::Broken("a".to_owned()));
    assert!(file.write_at(0, &[4; 512]).is_err());
    disk.inject(Fault::Gone);
    assert!(disk.open("a", Access::Read).unwrap_err().is_missing());
    disk.heal();
    disk.flip("a", 3, 0x80);
    assert_eq!(contents(&disk, "a")[3], 3 ^ 0x80);
    disk.heal();
    assert_eq!(contents(&disk, "a")[3], 3);

    disk.inject(Fault::NoOpSync);
    file.write_at(0, &[9; 4096]).unwrap();
    file.sync_data().unwrap();
    assert_ne!(contents(&disk.crash(&mut rng, Survival::None), "a").first(), Some(&9));
    disk.inject(Fault::PowerOff(disk.operations() + 1));
    file.write_at(0, &[8; 4096]).unwrap();
    assert!(file.write_at(0, &[7; 4096]).is_err() && file.sync_data().is_err());
    assert_eq!(contents(&disk, "a")[0], 8);
}
