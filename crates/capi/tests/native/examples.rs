//! The programs in `examples/c`, and the first one of `docs/c.md`, compile without a warning and do what they say.

use crate::toolchain::{Folder, compile, compiler, repository, run, started};
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

fn built(folder: &Folder, name: &str) -> Option<std::path::PathBuf> {
    let cc = compiler("c")?;
    let source = repository().join(format!("examples/c/{name}.c"));
    let program = folder.path(name);
    compile(&cc, "-std=c99", &source, &program);
    Some(program)
}

/// The first program of the documentation.
fn first_program() -> &'static str {
    let text = include_str!("../../../../docs/c.md");
    let (_, text) = text.split_once("```c\n").unwrap();
    text.split_once("```").unwrap().0
}

#[test]
fn the_first_program_of_the_documentation_records_and_reads_back() {
    let text = first_program();
    assert!(text.lines().count() <= 28, "it is to be read at a glance");
    let Some(cc) = compiler("c") else { return };
    let folder = Folder::new("first");
    let (source, program) = (folder.write("first.c", text), folder.path("first"));
    compile(&cc, "-std=c99", &source, &program);
    let store = folder.path("store");
    let said = run(&program, &[store.to_str().unwrap()]);
    let values: Vec<f64> =
        said.lines().filter_map(|line| line.split_once(' ')?.1.parse().ok()).collect();
    let expected: Vec<f64> = (0..100).map(|number| 20.0 + f64::from(number) / 8.0).collect();
    assert_eq!(values, expected);
    // The second time there is a store already, and it says so.
    let said = run(&program, &[store.to_str().unwrap()]);
    assert!(said.contains("holds a store already"), "{said}");
}

#[test]
fn what_was_pushed_before_the_supply_fails_is_there() {
    let folder = Folder::new("flush");
    let Some(flush) = built(&folder, "flush") else { return };
    let store = folder.path("store");
    let mut running =
        started(&flush, &[store.to_str().unwrap()]).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(running.stdout.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "recording\n");
    let kill = Command::new("kill").arg(running.id().to_string()).status().unwrap();
    assert!(kill.success());
    line.clear();
    said.read_line(&mut line).unwrap();
    assert_eq!(line, "left 0\n");
    assert!(running.wait().unwrap().success());
    // Nothing was closed, and the store is read without a recorder that could take the ring over.
    let reader = baro_store::Store::open(&store).unwrap();
    let (rows, _) = reader.tail(&[1], 1_000_000).unwrap();
    let rows = &rows[&1];
    let value = |row: &baro_store::Row| match row.value {
        baro_store::Value::Bits(bits) => f64::from_bits(bits),
        _ => panic!("{row:?}"),
    };
    let values: Vec<f64> = rows.iter().map(value).collect();
    assert!(values.len() > 100, "{}", values.len());
    assert!(values.iter().enumerate().all(|(at, value)| at as f64 == *value));
    // The next recorder takes what came later out of the ring, and removes its file.
    let next = baro_recorder::Recorder::open(&store, baro_recorder::Options::default()).unwrap();
    assert_eq!((next.opening().rings_taken_over, next.close().left), (1, 0));
}

#[test]
fn a_ring_that_was_never_given_back_is_removed_by_the_next_open() {
    /// Records into a ring in a file, and forgets its producer if it is asked to.
    const PROGRAM: &str = r#"
        #include <barograph.h>
        #include <stdio.h>
        int main(int count, char **arguments) {
            baro_init_options making = BARO_INIT_OPTIONS_INIT;
            baro_recorder *recorder;
            baro_producer *producer;
            char path[512] = "";
            making.log_bytes = 4 << 20;
            baro_init(arguments[1], &making);
            if (baro_open(arguments[1], NULL, &recorder) < 0)
                return puts(baro_last_error());
            if (count > 2) {
                baro_producer_open(recorder, &producer);
                baro_push_sample(producer, 1, 0, 0.5, NULL);
                baro_producer_path(producer, path, sizeof path);
                if (arguments[2][0] == 'b')
                    baro_producer_close(producer);
            }
            baro_close(recorder, NULL);
            if (count > 2 && arguments[2][0] == 'a')
                baro_producer_close(producer);
            return puts(path) < 0;
        }
    "#;
    let Some(cc) = compiler("c") else { return };
    let folder = Folder::new("forgotten");
    let (source, program) = (folder.write("forget.c", PROGRAM), folder.path("forget"));
    compile(&cc, "-std=c99", &source, &program);
    let store = folder.path("store");
    let store = store.to_str().unwrap();
    if run(&program, &[store, "before"]) == "\n" {
        println!("skipped: no tmpfs for rings");
        return;
    }
    for (when, left) in [("before", false), ("after", false), ("never", true)] {
        let path = run(&program, &[store, when]);
        assert_eq!(std::path::Path::new(path.trim()).exists(), left, "closed {when}: {path}");
        run(&program, &[store]);
        assert!(!std::path::Path::new(path.trim()).exists(), "closed {when}: {path}");
    }
}

#[test]
fn what_the_c_example_records_is_read_back() {
    let folder = Folder::new("record");
    let Some(record) = built(&folder, "record") else { return };
    let Some(read) = built(&folder, "read") else { return };
    let store = folder.path("store");
    let store = store.to_str().unwrap();
    // Two lives of one store: 400 records of 16 KiB and 400 batches, none refused.
    for _ in 0..2 {
        let said = run(&record, &[store, "200", "64"]);
        assert_eq!(said, "records 400 refused 0 durable 400 left 0\n");
    }
    let said = run(&read, &[store, "--quiet"]);
    assert!(said.starts_with("channel 1: control\nseries 2: position{axis=\"x\"}\n"), "{said}");
    assert!(said.ends_with("frames 400 batches 400 lost 0 damaged_blocks 0\n"), "{said}");
    let said = run(&read, &[store]);
    assert_eq!(said.matches(": 16384 bytes\n").count(), 400);
    assert_eq!(said.matches(": 199\n").count() + said.matches(": -199\n").count(), 4);
}

#[test]
fn what_led_up_to_a_limit_is_pinned_from_c() {
    let folder = Folder::new("pin");
    let Some(pin) = built(&folder, "pin") else { return };
    let store = folder.path("store");
    // 1501 is the first above the limit; the window is [1301, 1601) ms of the ramp.
    assert_eq!(
        run(&pin, &[store.to_str().unwrap()]),
        "pin \"over the limit\": whole, 300 ms\nsamples 300 from 1301 to 1600, missing 0\n"
    );
}

#[test]
fn plain_files_are_written_from_c() {
    let folder = Folder::new("plain");
    let Some(plain) = built(&folder, "plain") else { return };
    let files = folder.path("files");
    std::fs::create_dir(&files).unwrap();
    // 61 frames have room in a million bytes.
    let said = run(&plain, &[files.to_str().unwrap(), "130"]);
    assert_eq!(said, "3 files, the last of 131072 bytes\n");
    let found = |number: u32| std::fs::read(files.join(format!("run-{number}.bin"))).unwrap();
    let whole: Vec<u8> = (0..3).flat_map(found).collect();
    assert_eq!((found(0).len(), whole.len()), (61 * 16_384, 130 * 16_384));
    assert!(
        whole.chunks(16_384).zip(0..).all(|(frame, number)| frame.iter().all(|b| *b == number))
    );
    assert_eq!(std::fs::read_dir(&files).unwrap().count(), 3);
}

#[test]
fn another_process_pushes_through_the_c_interface() {
    let folder = Folder::new("attach");
    let Some(attach) = built(&folder, "attach") else { return };
    let Some(read) = built(&folder, "read") else { return };
    let store = folder.path("store");
    let store = store.to_str().unwrap();
    if !std::path::Path::new("/dev/shm").is_dir() {
        println!("skipped: no /dev/shm for rings");
        return;
    }
    assert_eq!(run(&attach, &[store, "3000"]), "producer ended with 0\n");
    let said = run(&read, &[store, "--quiet"]);
    assert_eq!(said, "channel 1: attached\nframes 3000 batches 0 lost 0 damaged_blocks 0\n");
}
