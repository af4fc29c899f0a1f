//! Tests of the writer: what is in the files, and that nothing is left.

use super::*;
use baro_sys::files::{list, make_folder, open_append};

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("baro-bench-files-{}-{name}", std::process::id()));
    let _ = baro_sys::files::remove_tree(&path);
    make_folder(&path).unwrap();
    path
}

fn bytes_below(path: &Path) -> (u64, u64) {
    let Ok(names) = list(path) else {
        let length = open_append(path).unwrap().metadata().unwrap().len();
        return (1, length);
    };
    let each = names.iter().map(|name| bytes_below(&path.join(name)));
    each.fold((0, 0), |(files, bytes), (more, length)| (files + more, bytes + length))
}

#[test]
fn files_hold_what_was_written_and_are_rotated() {
    for flat in [false, true] {
        let dir = folder(if flat { "flat" } else { "tree" });
        let spec = FilesSpec {
            files: 120,
            block_bytes: 1_000,
            file_bytes_max: 2_000,
            flat,
            bytes: Some(120 * 3_000),
            ..FilesSpec::default()
        };
        let mut files = Files::prepare(spec, &dir).unwrap();
        let report = files.write(&AtomicBool::new(false)).unwrap();
        let counts = (report.written_bytes, report.writes, report.rotations);
        assert_eq!(counts, (360_000, 360, 120));
        assert_eq!(bytes_below(files.folder()), (240, 360_000));
        let (current, old) = files.paths(119);
        assert_eq!((bytes_below(&current), bytes_below(&old)), ((1, 1_000), (1, 2_000)));
        drop(files);
        assert!(list(&dir).unwrap().is_empty());

        let mut kept = Files::prepare(FilesSpec { bytes: Some(1), ..spec }, &dir).unwrap();
        assert_eq!(kept.write(&AtomicBool::new(false)).unwrap().writes, 1);
        let path = kept.folder().to_path_buf();
        kept.keep();
        assert_eq!(bytes_below(&path), (1, 1_000));
        baro_sys::files::remove_tree(&dir).unwrap();
    }
}

#[test]
fn it_stops_when_asked_and_refuses_what_is_of_no_use() {
    let dir = folder("stop");
    let mut files = Files::prepare(FilesSpec { files: 1, ..FilesSpec::default() }, &dir).unwrap();
    assert_eq!(files.write(&AtomicBool::new(true)).unwrap().writes, 0);
    let good = FilesSpec::default();
    for spec in [
        FilesSpec { files: 0, ..good },
        FilesSpec { files: FILES_MAX + 1, ..good },
        FilesSpec { block_bytes: 0, ..good },
        FilesSpec { file_bytes_max: 0, ..good },
    ] {
        assert!(matches!(Files::prepare(spec, &dir), Err(BenchError::Specification { .. })));
    }
    drop(files);
    baro_sys::files::remove_tree(&dir).unwrap();
}

#[test]
fn buffers_differ_and_are_not_compressible() {
    let (one, two) = (buffer(4_096, 1), buffer(4_096, 2));
    assert!(one.len() == 4_096 && one != two && buffer(3, 1) == one[..3]);
    // Every value comes, and none too often.
    let mut counts = [0_u32; 256];
    one.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    assert!(counts.iter().all(|count| *count < 64), "{counts:?}");
}

#[test]
fn a_layer_a_sync_and_a_pace_change_nothing_of_what_is_written() {
    let dir = folder("layer");
    let spec = FilesSpec {
        files: 10,
        block_bytes: 500,
        sync: true,
        layer: true,
        pool_bytes: 1,
        bytes: Some(10_000),
        ..FilesSpec::default()
    };
    let mut files = Files::prepare(spec, &dir).unwrap();
    assert_eq!((files.layer.len(), files.buffers.len()), (10, 16));
    let progress = Progress::default();
    let pace = Pace { bytes_per_s: Some(50_000) };
    let report = files.run(pace, &progress, &AtomicBool::new(false)).unwrap();
    assert_eq!((report.written_bytes, report.writes), (10_000, 20));
    assert_eq!(progress.point(7), Point { at_ns: 7, bytes: 10_000, rotations: 0 });
    // A portion is not written before all of it has come.
    assert!(report.duration_ns >= pace.due_ns(10_000), "{report:?}");
    // The next run goes on behind the last file.
    let more = files.run(Pace::GREEDY, &progress, &AtomicBool::new(false)).unwrap();
    assert_eq!((more.writes, files.position), (20, 40));
    assert_eq!(bytes_below(files.folder()), (10, 20_000));
    drop(files);
    baro_sys::files::remove_tree(&dir).unwrap();
}
