//! Real programs under the library, as they come: what they read and write is compared byte by byte, and
//! where they use direct I/O the counters must say that it was cut.
#![allow(clippy::disallowed_methods, clippy::unwrap_used, reason = "tests use files and programs")]

mod place;

use place::{PIECE_BYTES, Place, has, succeed};
use std::fs;
use std::path::Path;

/// Bytes that no two places of a file share.
fn bytes(len: usize) -> Vec<u8> {
    let word = |i: usize| (i as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes();
    (0..len.div_ceil(8)).flat_map(word).take(len).collect()
}

fn assert_same(a: &Path, b: &Path) {
    let (a_bytes, b_bytes) = (fs::read(a).unwrap(), fs::read(b).unwrap());
    assert_eq!(a_bytes.len(), b_bytes.len(), "{} and {}", a.display(), b.display());
    let differs = a_bytes.iter().zip(&b_bytes).position(|(a, b)| a != b);
    assert_eq!(differs, None, "first difference of {} and {}", a.display(), b.display());
}

#[test]
fn dd_copies_in_any_size() {
    let Some(place) = Place::new("dd") else { return };
    if !has("dd") {
        return;
    }
    let (from, to) = (place.files().join("from"), place.files().join("to"));
    for (size, block) in [(8 << 20, "1M"), ((5 << 20) + 4096 * 3 + 100, "3M"), (1 << 20, "20M")] {
        fs::write(&from, bytes(size)).unwrap();
        let mut dd = place.command("dd");
        dd.arg(format!("if={}", from.display())).arg(format!("of={}", to.display()));
        succeed(
            dd.args(["iflag=direct", "oflag=direct", "status=none"]).arg(format!("bs={block}")),
        );
        assert_same(&from, &to);
        let counted = place.counted();
        assert!(counted["calls_cut"] >= 2, "{size} by {block}: {counted:?}");
        assert!(counted["bytes_cut"] >= size as u64, "{size} by {block}: {counted:?}");
    }
}

#[test]
fn fio_verifies_what_it_wrote() {
    let Some(place) = Place::new("fio") else { return };
    if !has("fio") {
        return;
    }
    let engines = [
        ("libaio", "1"),
        ("libaio", "8"),
        ("psync", "1"),
        ("sync", "1"),
        ("vsync", "1"),
        ("pvsync", "1"),
        ("pvsync2", "1"),
    ];
    for (engine, depth) in engines {
        for way in ["write", "randwrite"] {
            let mut fio = place.command("fio");
            fio.args(["--name=v", "--size=24m", "--bsrange=4k-2m", "--direct=1", "--thread=0"])
                .args(["--verify=crc32c", "--verify_fatal=1", "--do_verify=1", "--randseed=7"])
                .arg(format!("--directory={}", place.files().display()))
                .arg(format!("--ioengine={engine}"))
                .arg(format!("--iodepth={depth}"))
                .arg(format!("--rw={way}"))
                .current_dir(place.files());
            let output = fio.output().unwrap();
            let said = String::from_utf8_lossy(&output.stdout);
            let error = String::from_utf8_lossy(&output.stderr);
            if error.contains("not found") || error.contains("not loadable") {
                println!("skipped: this fio has no engine {engine}");
                continue;
            }
            assert!(output.status.success(), "{engine} {depth} {way}\n{said}\n{error}");
            let counted = place.counted();
            assert!(counted["calls_cut"] > 4, "{engine} {depth} {way}: {counted:?}");
            assert!(counted["pieces"] > 2 * counted["calls_cut"], "{engine} {way}: {counted:?}");
        }
    }
}

#[test]
fn who_reaps_from_the_ring_gets_whole_results() {
    let Some(place) = Place::new("userspace") else { return };
    if !has("fio") {
        return;
    }
    let mut fio = place.command("fio");
    fio.args(["--name=r", "--size=24m", "--bs=1m", "--direct=1", "--ioengine=libaio"])
        .args(["--iodepth=8", "--userspace_reap", "--rw=randwrite", "--verify=crc32c"])
        .args(["--iodepth_batch_complete_min=0", "--verify_fatal=1", "--thread=0"])
        .arg(format!("--directory={}", place.files().display()))
        .current_dir(place.files());
    succeed(&mut fio);
    let counted = place.counted();
    assert!(counted["aio_not_reaped"] > 8, "{counted:?}");
}

#[test]
fn a_ring_is_counted_and_passed_by() {
    let Some(place) = Place::new("uring") else { return };
    if !has("fio") {
        return;
    }
    let mut fio = place.command("fio");
    fio.args(["--name=u", "--size=4m", "--bs=1m", "--direct=1", "--ioengine=io_uring"])
        .args(["--rw=write", "--verify=crc32c", "--thread=0"])
        .arg(format!("--directory={}", place.files().display()))
        .current_dir(place.files());
    let output = fio.output().unwrap();
    if !output.status.success() {
        println!("skipped: fio has no io_uring here: {}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let counted = place.counted();
    assert!(counted["io_uring"] >= 1, "{counted:?}");
    assert_eq!(counted.get("calls_cut"), None, "{counted:?}");
}

#[test]
fn tar_packs_and_unpacks() {
    let Some(place) = Place::new("tar") else { return };
    if !has("tar") {
        return;
    }
    let (tree, out) = (place.files().join("tree"), place.files().join("out"));
    fs::create_dir_all(tree.join("deep")).unwrap();
    fs::create_dir_all(&out).unwrap();
    for (name, len) in [("a", 0), ("b", 100), ("deep/c", 3 << 20), ("deep/d", 70_000)] {
        fs::write(tree.join(name), bytes(len)).unwrap();
    }
    let archive = place.files().join("archive");
    let mut pack = place.command("tar");
    succeed(pack.args(["-b", "2048", "-cf"]).arg(&archive).arg("-C").arg(&tree).arg("."));
    succeed(place.command("tar").args(["-b", "2048", "-xf"]).arg(&archive).arg("-C").arg(&out));
    for name in ["a", "b", "deep/c", "deep/d"] {
        assert_same(&tree.join(name), &out.join(name));
    }
    let counted = place.counted();
    assert!(counted["buffered"] > 0, "{counted:?}");
    assert_eq!(counted.get("calls_cut"), None, "{counted:?}");
}

#[test]
fn sqlite_keeps_its_rows() {
    let Some(place) = Place::new("sqlite") else { return };
    if !has("sqlite3") {
        return;
    }
    let rows = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) ";
    let script = format!(
        "pragma page_size = 65536; pragma journal_mode = wal; create table t(i integer, b blob);
         begin; {rows} insert into t select i, zeroblob(i % 300) from n; commit;
         update t set b = zeroblob(200000) where i % 5000 = 0; delete from t where i % 7 = 0;
         vacuum; pragma integrity_check; select count(*), sum(i), sum(length(b)) from t;"
    );
    let plain = place.files().join("plain.db");
    let under = place.files().join("under.db");
    let expected = succeed(std::process::Command::new("sqlite3").arg(&plain).arg(&script));
    let found = succeed(place.command("sqlite3").arg(&under).arg(&script));
    assert_eq!(String::from_utf8_lossy(&found.stdout), String::from_utf8_lossy(&expected.stdout));
    assert_same(&plain, &under);
    assert_eq!(place.counted()["processes"], 1);
}

#[test]
fn python_reads_and_writes_direct() {
    let Some(place) = Place::new("python") else { return };
    if !has("python3") {
        return;
    }
    let script = r"
import mmap, os, sys, threading
path = sys.argv[1]
size = 6 << 20
data = mmap.mmap(-1, size)
data.write(os.urandom(size))
fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT)
assert os.write(fd, data) == size
back = mmap.mmap(-1, size)
assert os.preadv(fd, [back], 0) == size and back[:] == data[:]
half = [memoryview(back)[:size // 2], memoryview(back)[size // 2:]]
os.lseek(fd, 0, 0)
assert os.readv(fd, half) == size and back[:] == data[:]
assert os.lseek(fd, 0, 1) == size
assert os.pwritev(fd, [memoryview(data)[:size // 2]], size) == size // 2
def check(start):
    own = mmap.mmap(-1, size // 2)
    for _ in range(10):
        assert os.preadv(fd, [own], start) == size // 2 and own[:] == data[start:start + size // 2]
    sys.stdout.write('x')
all = [threading.Thread(target=check, args=(i * size // 8,)) for i in range(4)]
[t.start() for t in all]
[t.join() for t in all]
assert open(path, 'rb').read() == data[:] + data[:size // 2]
";
    let output =
        succeed(place.command("python3").args(["-c", script]).arg(place.files().join("p")));
    assert_eq!(output.stdout, b"xxxx");
    let counted = place.counted();
    assert_eq!(counted["calls_cut"], 4 + 40, "{counted:?}");
    assert_eq!(counted["pieces"], (3 * 6 + 3 + 40 * 3) * (1 << 20) / PIECE_BYTES, "{counted:?}");
}

#[test]
fn git_clones_and_finds_all_whole() {
    let Some(place) = Place::new("git") else { return };
    if !has("git") {
        return;
    }
    let (from, to) = (place.files().join("from"), place.files().join("to"));
    fs::create_dir_all(&from).unwrap();
    for (name, len) in [("a", 10), ("b", 3 << 20), ("c", 200_000)] {
        fs::write(from.join(name), bytes(len)).unwrap();
    }
    let git = |folder: &Path, arguments: &[&str]| {
        let mut git = place.command("git");
        git.env("HOME", place.files()).env("GIT_CONFIG_NOSYSTEM", "1").current_dir(folder);
        git.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
        succeed(git.args(["-c", "user.name=n", "-c", "user.email=e"]).args(arguments))
    };
    git(&from, &["init", "-q"]);
    git(&from, &["add", "."]);
    git(&from, &["commit", "-q", "-m", "all"]);
    git(&place.files(), &["clone", "-q", "--no-local", "from", "to"]);
    git(&to, &["fsck", "--full", "--strict"]);
    for name in ["a", "b", "c"] {
        assert_same(&from.join(name), &to.join(name));
    }
    let counted = place.counted();
    assert!(counted["processes"] > 5, "git starts others: {counted:?}");
    assert_eq!(counted.get("calls_cut"), None, "{counted:?}");
}
