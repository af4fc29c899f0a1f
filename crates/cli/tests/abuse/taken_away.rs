//! Parts of a store are removed, cut, exchanged and written over at random moments while it is
//! recorded into.

use super::calls::{json, run, stderr};
use super::feeder::{Fed, count};
use super::place::Folder;
use super::{Random, ended, for_each_seed, seeds};
use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is done; the recorder has to say so, but for the last.
const DEEDS: [&str; 28] = [
    "the segment that is written is removed",
    "any segment is removed",
    "the segment that is written is emptied",
    "any segment is cut",
    "another segment is put over the one that is written",
    "a strange file is put over a segment",
    "two segments are exchanged",
    "the header that is written under is written over",
    "the header of an older segment is written over",
    "an older segment is emptied and made as long again",
    "the catalog is removed",
    "the catalog is cut",
    "the catalog is written over",
    "the lock is removed",
    "another file is put over the lock",
    "the file store is removed",
    "a copy is put over the file store",
    "the file store is written over",
    "the store is removed",
    "the log is removed",
    "runs are removed",
    "the manifest is removed",
    "a pin is removed",
    "copies of pins are removed",
    "copies of pins are cut",
    "an earlier copy is laid over the store",
    "the lock and the file store are replaced, and another records",
    "the store is renamed",
];

/// Segments in use, by when they were written last.
fn segments(store: &Path) -> Vec<PathBuf> {
    let started = |path: &PathBuf| {
        let mut unit = [0; 64];
        let read = fs::File::open(path).and_then(|file| file.read_exact_at(&mut unit, 0));
        read.is_ok() && unit[40..48] != [0; 8]
    };
    let Ok(found) = fs::read_dir(store.join("log")) else { return Vec::new() };
    let mut found: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    found.retain(started);
    found.sort_by_key(|path| path.metadata().map(|m| (m.mtime(), m.mtime_nsec())).ok());
    found
}

fn cut(path: &Path, bytes: u64) {
    OpenOptions::new().write(true).open(path).unwrap().set_len(bytes).unwrap();
}

fn copy_over(from: &Path, to: &Path) {
    let aside = to.with_extension("aside");
    fs::copy(from, &aside).unwrap();
    fs::rename(&aside, to).unwrap();
}

/// Removes a folder, whatever is made in it meanwhile.
fn remove_all(folder: &Path) {
    let gone = || fs::remove_dir_all(folder).is_ok() || !folder.exists();
    assert!((0..1_000).any(|_| gone()), "{} cannot be removed", folder.display());
}

/// Files of a folder with this ending.
fn files(folder: &Path, ending: &str) -> Vec<PathBuf> {
    let Ok(found) = fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.extension().is_some_and(|found| found == ending));
    names
}

/// Pins a window that goes on, so that it comes to hold more than a quarter of the log.
fn pin(store: &Path) {
    let store = store.to_str().unwrap();
    let pinned = run(&["pin", store, "--before", "1ms", "--after", "1m"]);
    assert_eq!(pinned.status.code(), Some(0), "{}", stderr(&pinned));
}

/// Does it to each of these files; false if there is none.
fn taken(folder: &Path, ending: &str, each: impl Fn(&PathBuf)) -> bool {
    let names = files(folder, ending);
    names.iter().for_each(each);
    !names.is_empty()
}

/// Does it; false if there is nothing to do it to.
fn act(deed: &str, store: &Path, random: &mut Random) -> bool {
    let segments = segments(store);
    let Some(written) = segments.last() else { return false };
    let any = &segments[random.below(segments.len() as u64) as usize];
    let older = segments.first().filter(|first| *first != written);
    let over = |path: &Path| {
        let file = OpenOptions::new().write(true).open(path).unwrap();
        file.write_all_at(&[0x5a; 4096], 0).unwrap();
    };
    match deed {
        "the segment that is written is removed" => fs::remove_file(written).unwrap(),
        "any segment is removed" => fs::remove_file(any).unwrap(),
        "the segment that is written is emptied" => cut(written, 0),
        "any segment is cut" => cut(any, 4096 * random.below(200)),
        "another segment is put over the one that is written" => {
            let Some(older) = older else { return false };
            copy_over(older, written);
        }
        "a strange file is put over a segment" => copy_over(Path::new("/proc/self/stat"), any),
        "two segments are exchanged" => {
            let Some(older) = older else { return false };
            let aside = older.with_extension("aside");
            fs::rename(older, &aside).unwrap();
            fs::rename(written, older).unwrap();
            fs::rename(&aside, written).unwrap();
        }
        "the header that is written under is written over" => over(written),
        "the header of an older segment is written over" => {
            let Some(older) = older else { return false };
            over(older);
        }
        "an older segment is emptied and made as long again" => {
            let Some(older) = older else { return false };
            let bytes = older.metadata().unwrap().len();
            cut(older, 0);
            cut(older, bytes);
        }
        "the catalog is removed" => fs::remove_file(store.join("catalog")).unwrap(),
        "the catalog is cut" => cut(&store.join("catalog"), 4096 * random.below(2)),
        "the catalog is written over" => over(&store.join("catalog")),
        "the lock is removed" => fs::remove_file(store.join("lock")).unwrap(),
        "another file is put over the lock" => {
            copy_over(Path::new("/proc/self/stat"), &store.join("lock"));
        }
        "the file store is removed" => fs::remove_file(store.join("store")).unwrap(),
        "a copy is put over the file store" => {
            copy_over(&store.join("store"), &store.join("store"))
        }
        "the file store is written over" => over(&store.join("store")),
        // The recorder may just be making a file in it.
        "the store is removed" => remove_all(store),
        "the log is removed" => remove_all(&store.join("log")),
        "runs are removed" => {
            let names = files(&store.join("runs"), "run");
            return names.iter().filter(|path| fs::remove_file(path).is_ok()).count() > 0;
        }
        "the manifest is removed" => return fs::remove_file(store.join("runs/manifest")).is_ok(),
        "a pin is removed" => {
            pin(store);
            return taken(&store.join("pins"), "pin", |path| fs::remove_file(path).unwrap());
        }
        "copies of pins are removed" => {
            return taken(&store.join("kept"), "seg", |path| fs::remove_file(path).unwrap());
        }
        "copies of pins are cut" => {
            return taken(&store.join("kept"), "seg", |path| cut(path, 4096));
        }
        "an earlier copy is laid over the store" => {
            let segments = files(&store.join("log"), "seg");
            let earlier: Vec<Vec<u8>> =
                segments.iter().map(|path| fs::read(path).unwrap()).collect();
            let before = count(store.to_str().unwrap());
            // So that something durable is written over.
            let more = || count(store.to_str().unwrap()) > before;
            assert!((0..200).any(|_| more()), "nothing more is recorded");
            segments.iter().zip(earlier).for_each(|(path, bytes)| fs::write(path, bytes).unwrap());
        }
        "the lock and the file store are replaced, and another records" => {
            for name in ["store", "lock"] {
                copy_over(&store.join(name), &store.join(name));
            }
            let store = store.to_str().unwrap();
            let args = ["record", store, "--generate", "--interval", "10ms", "--for", "700ms"];
            assert!(matches!(run(&args).status.code(), Some(0 | 1 | 3)));
        }
        _ => fs::rename(store, store.with_extension("moved")).unwrap(),
    }
    true
}

/// One life of a store; what was done.
fn abuse(seed: u64) -> Option<&'static str> {
    let mut random = Random::new(seed);
    let folder = Folder::new(&format!("abuse-{seed}"));
    let (path, store) = (folder.path("store"), folder.0.join("store"));
    // One that recycles is small, so that it has older segments and runs soon.
    let recycle = (seed + seed / DEEDS.len() as u64).is_multiple_of(2);
    let init = ["init", &path, "--size", if recycle { "4M" } else { "8M" }, "--recycle"];
    assert_eq!(run(&init[..if recycle { 5 } else { 4 }]).status.code(), Some(0));
    let lines = if recycle { 600 } else { 100 } + random.below(400);
    let fed = Fed::start(&path, "csv", &["--ring", "1M"], 0, lines);
    // Until then it is not ready.
    let ready = (0..1_000).any(|_| {
        std::thread::sleep(Duration::from_millis(20));
        count(&path).is_some_and(|count| count > 0)
    });
    assert!(ready, "seed {seed} records nothing");
    std::thread::sleep(Duration::from_millis(random.below(600)));
    let deed = DEEDS[(seed % DEEDS.len() as u64) as usize];
    if deed.contains("of pins") {
        pin(&store);
    }
    let done = (0..100).any(|_| {
        act(deed, &store, &mut random) || {
            std::thread::sleep(Duration::from_millis(20));
            false
        }
    });
    std::thread::sleep(Duration::from_millis(100 + random.below(900)));
    let (child, _) = fed.end();
    let output = ended(child, deed);
    if !done {
        return None;
    }
    let moved = deed == "the store is renamed";
    let store = if moved { folder.path("store.moved") } else { path };
    let printed = String::from_utf8_lossy(&output.stdout);
    let said = format!("seed {seed}, {deed}: {}{printed}", stderr(&output));
    assert_eq!(output.status.code(), Some(if moved { 0 } else { 3 }), "{said}");
    let report = json(&output, output.status.code().unwrap());
    // One that ends because of what was done may end in the middle of a line.
    let source = &report["sources"][0];
    assert!(source["bad_inputs"].as_u64().is_none_or(|bad| bad <= 1), "{said}");
    let damage = report["damage"].as_array().unwrap();
    assert_eq!(damage.is_empty(), moved, "{said}");
    for what in damage {
        // The last look may have found it, when nobody is told any more but by the report.
        assert!(what.as_str().unwrap().contains("while recording"), "{said}: {report:#}");
    }
    // A source that found it first has no report of its own.
    let taken = source["samples"].as_u64().unwrap_or(0);
    let lost = report["lost_samples"].as_u64().unwrap();
    let verified = run(&["verify", &store]);
    let whole = verified.status.code() == Some(0);
    let Some(there) = count(&store) else {
        assert!(!whole, "{said}: nothing can be read, and it is whole");
        return Some(deed);
    };
    // What waited in a ring when the recorder stopped was never in the store.
    let waited = if deed.contains("another records") { lost } else { 0 };
    assert!(there + waited >= taken || !whole, "{said}: {there} of {taken} there, and it is whole");
    // Names that are lost cost every sample, and none: declared again, they would be there.
    // Runs and copies are not counted: what they hold may be elsewhere too.
    let uncounted = ["catalog", "runs", "manifest", "of pins", "file store"];
    if !uncounted.iter().any(|what| deed.contains(what)) {
        assert!(there + lost >= taken, "{said}: {taken} taken, {there} there, {lost} lost");
    }
    Some(deed)
}

/// A log that goes round has passed on to its next segments then; what is left of the cut one is settled
/// or read, not passed over.
#[test]
fn what_is_left_of_a_cut_segment_is_read() {
    assert_eq!(abuse(31), Some("any segment is cut"));
}

#[test]
fn whatever_is_done_to_a_store_in_use_is_told_and_counted() {
    let seeds = seeds(DEEDS.len() as u64);
    let enough = seeds.end - seeds.start >= DEEDS.len() as u64;
    let seen = std::sync::Mutex::new(std::collections::BTreeMap::new());
    for_each_seed(seeds, 6, |seed| {
        let deed = abuse(seed);
        *seen.lock().unwrap().entry(deed).or_insert(0) += 1;
    });
    let seen = seen.into_inner().unwrap();
    println!("{seen:#?}");
    assert!(seen.len() >= DEEDS.len() * 2 / 3 || !enough, "{seen:#?}");
}
