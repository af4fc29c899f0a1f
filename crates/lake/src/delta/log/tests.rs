//! Logs as this program writes them, as others go on with them, and as nobody should have written them.

use super::*;
use crate::delta::{Added, Stats, added, created};
use crate::place::Output;
use baro_ondisk::StoreId;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A table's folder in memory.
#[derive(Debug, Default)]
struct Memory(RefCell<Files>);

type Files = BTreeMap<String, Vec<u8>>;

impl Place for Memory {
    fn check(&self) -> Result<()> {
        Ok(())
    }

    fn size(&self, name: &str) -> Result<Option<u64>> {
        Ok(self.0.borrow().get(name).map(|bytes| bytes.len() as u64))
    }

    fn make_log(&self) -> Result<()> {
        Ok(())
    }

    fn tidy(&self) {}

    fn names(&self, folder: &str) -> Result<Vec<String>> {
        let below = format!("{folder}/");
        let files = self.0.borrow();
        Ok(files.keys().filter_map(|name| name.strip_prefix(&below).map(str::to_owned)).collect())
    }

    fn read(&self, name: &str, _: u64) -> Result<Option<Vec<u8>>> {
        Ok(self.0.borrow().get(name).cloned())
    }

    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<bool> {
        Ok(self.0.borrow_mut().insert(name.to_owned(), bytes.to_vec()).is_none())
    }

    fn begin(&self, _: &str) -> Result<Box<dyn Output>> {
        Err(Error::Ended)
    }

    fn sync_names(&self, _: &str) -> Result<()> {
        Ok(())
    }

    fn remove(&self, _: &str) -> Result<()> {
        Ok(())
    }
}

const APP: &str = "barograph/7";

/// A table with these versions behind the first.
fn table(versions: &[&str]) -> Memory {
    let memory = Memory::default();
    let first = created([0xab; 16], 1);
    let all = std::iter::once(first).chain(versions.iter().map(|text| text.as_bytes().to_vec()));
    for (version, bytes) in all.enumerate() {
        memory.0.borrow_mut().insert(commit_name(version as u64), bytes);
    }
    memory
}

fn read(memory: &Memory) -> Result<Log> {
    let mut log = Log::default();
    log.begin(memory, APP).map(|()| log)
}

#[test]
fn what_is_written_is_read_and_what_others_commit_is_passed_over() {
    assert_eq!(read(&Memory::default()).expect("nothing yet"), Log::default());
    let files = [Added { name: "x.parquet".to_owned(), bytes: 7, stats: Stats::default() }];
    let ours = added(APP, 41, &files, StoreId([7; 16]), 1);
    let ours = String::from_utf8(ours).expect("text");
    let others = r#"{"commitInfo":{"operation":"OPTIMIZE"}}
        {"remove":{"path":"x.parquet","dataChange":false}}

        {"txn":{"appId":"barograph/8","version":99}}
        {"domainMetadata":{"domain":"x"}}
        {"something":{"new":[1,2,{"deep":null}]}}"#;
    let memory = table(&[&ours, others]);
    // Files beside versions are no versions.
    for other in ["_last_checkpoint", "00000000000000000001.crc", "1.json", ".baro-1.part"] {
        memory.0.borrow_mut().insert(format!("{LOG}/{other}"), b"x".to_vec());
    }
    let log = read(&memory).expect("read");
    assert_eq!((log.next, log.table, log.last_run), (3, Some([0xab; 16]), Some(41)));
    // More comes, and only that is read.
    memory.0.borrow_mut().insert(commit_name(0), b"not read again".to_vec());
    memory.0.borrow_mut().insert(commit_name(3), ours.replace("41", "42").into_bytes());
    let mut later = log;
    later.begin(&memory, APP).expect("read");
    assert_eq!((later.next, later.last_run), (4, Some(42)));
}

#[test]
fn a_log_that_was_restored_or_cleaned_up_meanwhile_is_not_gone_on_with() {
    let ours = |run| String::from_utf8(added(APP, run, &[], StoreId([7; 16]), 1)).expect("text");
    let (one, two, three) = (ours(1), ours(2), ours(3));
    let memory = table(&[&one, &two, &three]);
    let known = read(&memory).expect("read");
    assert_eq!((known.next, known.last_run), (4, Some(3)));
    let again = |change: &dyn Fn(&mut Files)| {
        let memory = Memory(RefCell::new(memory.0.borrow().clone()));
        change(&mut memory.0.borrow_mut());
        let mut log = known.clone();
        log.begin(&memory, APP).map(|()| log)
    };
    // Restored to an earlier version: what is there counts.
    let log = again(&|files| drop(files.remove(&commit_name(3)))).expect("read");
    assert_eq!((log.next, log.last_run), (3, Some(2)));
    // The newest version is another, of as many bytes.
    let log = again(&|files| drop(files.insert(commit_name(3), ours(7).into_bytes())));
    assert_eq!(log.expect("read").last_run, Some(7));
    // One in between is gone, with or without a checkpoint that has it.
    let error = again(&|files| drop(files.remove(&commit_name(1)))).expect_err("gone");
    assert!(error.to_string().contains("checkpoint"), "{error}");
    let log = again(&|files| {
        files.remove(&commit_name(1));
        files.insert(format!("{LOG}/00000000000000000002.checkpoint.parquet"), Vec::new());
    });
    assert_eq!(log.expect("read").last_run, Some(3));
    // All is gone: there is no table.
    assert_eq!(again(&BTreeMap::clear).expect("read"), Log::default());
}

#[test]
fn how_many_versions_are_between_checkpoints_is_known() {
    let first = String::from_utf8(created([0xab; 16], 1)).expect("text");
    for (configuration, interval) in [
        (r#"{"delta.checkpointInterval":"7"}"#, Some(7)),
        (r#"{"delta.checkpointInterval":7}"#, Some(7)),
        (r#"{"delta.checkpointInterval":"0"}"#, None),
        (r#"{"delta.checkpointInterval":"often"}"#, None),
        ("{}", None),
    ] {
        let own = r#""configuration":{}"#;
        assert!(first.contains(own));
        let memory = Memory::default();
        let text = first.replace(own, &format!("\"configuration\":{configuration}"));
        memory.0.borrow_mut().insert(commit_name(0), text.into_bytes());
        assert_eq!(read(&memory).expect("read").interval, interval, "{configuration}");
    }
}

#[test]
fn a_log_of_anything_is_read_or_refused_by_name() {
    let first = String::from_utf8(created([0xab; 16], 1)).expect("text");
    let metadata = first.lines().nth(2).expect("metaData").to_owned();
    let deep = format!("{{\"add\":{}", "[".repeat(100_000));
    let changed = |from: &str, to: &str| metadata.replacen(from, to, 1);
    let cases: [(String, &str); 16] = [
        ("{\"add\":".to_owned(), "line 1"),
        (deep, "line 1"),
        ("\u{0}\u{1}".to_owned(), "line 1"),
        ("7".to_owned(), "line 1"),
        (r#"[null,null,{"appId":"barograph/7","version":4}]"#.to_owned(), "no object"),
        (String::new(), "0 bytes and no action"),
        ("\n \n".to_owned(), "3 bytes and no action"),
        (r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7}}"#.to_owned(), "reader 3"),
        (r#"{"protocol":{"minReaderVersion":-1,"minWriterVersion":2}}"#.to_owned(), "line 1"),
        (r#"{"txn":{"appId":"barograph/7","version":-4}}"#.to_owned(), "-4"),
        (changed("parquet", "orc"), "orc"),
        (changed("\"partitionColumns\":[]", "\"partitionColumns\":[\"unit\"]"), "by unit"),
        (changed("double", "float"), "float"),
        (changed("abababab", "cbababab"), "another"),
        (changed("abababab-", "xyz-"), "32 hexadecimal digits"),
        (changed("\"schemaString\"", "\"schema\""), "line 1"),
    ];
    for (text, said) in cases {
        let error = read(&table(&[&text])).expect_err(&text).to_string();
        let named = error.contains("00000000000000000001.json");
        assert!(error.contains(said) && named, "{text:.80}: {error}");
    }
    // Versions that are missing, at the begin and between.
    let other = r#"{"commitInfo":{}}"#;
    let memory = table(&[other, other, other]);
    memory.0.borrow_mut().remove(&commit_name(2));
    assert!(read(&memory).expect_err("a gap").to_string().contains("a gap"));
    let memory = table(&[other]);
    memory.0.borrow_mut().remove(&commit_name(0));
    let checkpoint = format!("{LOG}/00000000000000000001.checkpoint.parquet");
    memory.0.borrow_mut().insert(checkpoint.clone(), Vec::new());
    assert!(read(&memory).expect_err("a checkpoint").to_string().contains("checkpoint.parquet"));
    memory.0.borrow_mut().remove(&commit_name(1));
    assert!(read(&memory).expect_err("a checkpoint").to_string().contains("checkpoint.parquet"));
    // A first version without a table.
    let memory = Memory::default();
    memory.0.borrow_mut().insert(commit_name(0), b"{}\n".to_vec());
    assert!(read(&memory).expect_err("no table").to_string().contains("metaData"));
    let without = first.lines().filter(|line| !line.contains("protocol")).collect::<Vec<_>>();
    memory.0.borrow_mut().insert(commit_name(0), without.join("\n").into_bytes());
    assert!(read(&memory).expect_err("no protocol").to_string().contains("protocol and metaData"));
    // The last version that there is room for.
    let memory = Memory::default();
    memory.0.borrow_mut().insert(format!("{LOG}/99999999999999999999.json"), b"{}\n".to_vec());
    assert_eq!(read(&memory).expect("no version at all").next, 0);
}
