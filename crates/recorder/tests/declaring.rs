//! Declaring through a recorder in another process: what is answered is durable, whichever of the two is
//! killed; many names wait for the device once; what lies there in the place of a request ends nobody.
//!
//! The other process is this program once more. `BARO_DECLARING_KILLS` says how many are killed.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use baro_log::{Catalog, Geometry, init, open_folder};
use baro_ondisk::{Declaration, RequestBuilder, StoreId, Type, WhenFull};
use baro_recorder::{Error, Options, Producer, Recorder, Rings, attach};
use baro_sys::clock::{monotonic_ns, sleep_ns};
use baro_sys::disk::Disk;
use baro_sys::identity::{FileSystem, random_u64};
use std::borrow::Cow;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

const STORE: StoreId = StoreId([9; 16]);
const MINUTE_NS: u64 = 60_000_000_000;

fn plain<'a>((name, kind, unit): (&'a str, Type, &'a str)) -> Declaration<'a> {
    Declaration { id: 1, kind, name, unit, joint: None, layout: None }
}

/// A producer with what it knows of the store's catalog.
struct Attached {
    producer: Producer,
    catalog: Catalog,
}

impl Attached {
    fn declare_each(
        &mut self,
        wanted: &[Declaration<'_>],
        timeout_ns: u64,
    ) -> Result<Vec<Result<u32, Error>>, Error> {
        let go_on = |waited_ns| waited_ns < timeout_ns;
        self.producer.declare_each(Some(&mut self.catalog), wanted, go_on)
    }

    fn declare(
        &mut self,
        wanted: &[(&str, Type, &str)],
        timeout_ns: u64,
    ) -> Result<Vec<u32>, Error> {
        let wanted: Vec<_> = wanted.iter().copied().map(plain).collect();
        self.declare_each(&wanted, timeout_ns)?.into_iter().collect()
    }
}

struct Folders {
    store: PathBuf,
    rings: PathBuf,
    own: bool,
}

impl Folders {
    /// A store, and a tmpfs for its rings; `None` without one.
    fn new(name: &str) -> Option<Self> {
        let own = format!("baro-declaring-{name}-{}", std::process::id());
        let shared = Path::new("/dev/shm");
        if !FileSystem::of(shared).is_ok_and(|found| found.name() == "tmpfs") {
            println!("skipped: no tmpfs at /dev/shm");
            return None;
        }
        let (store, rings) = (std::env::temp_dir().join(&own), shared.join(own));
        let disk = Disk::create(&store).unwrap();
        let (segment_bytes, segments, when_full) = (1 << 20, 8, WhenFull::Stop);
        let geometry = Geometry { segment_bytes, segments, catalog_bytes: 1 << 20, when_full };
        init(&disk, &store, STORE, 1, &geometry, |_| {}).unwrap();
        Some(Folders { store, rings, own: true })
    }

    fn open(&self) -> Recorder {
        let rings = Rings::In(self.rings.clone());
        let options = Options { rings, ring_bytes: 256 << 10, ..Options::default() };
        Recorder::open(&self.store, options).unwrap()
    }

    fn attach(&self) -> Attached {
        let (producer, catalog) = attach(&self.store, Some(&self.rings)).unwrap();
        Attached { producer, catalog }
    }

    /// Where requests lie.
    fn requests(&self) -> PathBuf {
        self.rings.join(STORE.to_string())
    }

    /// What lies there beside the rings.
    fn left(&self) -> Vec<String> {
        let names = fs::read_dir(self.requests()).into_iter().flatten();
        let names = names.map(|one| one.unwrap().file_name().into_string().unwrap());
        names.filter(|name| !name.ends_with(".ring")).collect()
    }

    fn catalog(&self) -> Catalog {
        Catalog::read(&open_folder(&self.store).unwrap()).unwrap()
    }

    /// This program again, in a role.
    fn play(&self, role: &str) -> Child {
        let mut command = this_program();
        command.args(["--exact", "role", "--nocapture", "--test-threads=1"]);
        command
            .env("BARO_ROLE", role)
            .env("BARO_STORE", &self.store)
            .env("BARO_RINGS", &self.rings);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
    }
}

/// This program once more. On a board's emulator the kernel does not start it by itself.
fn this_program() -> Command {
    let program = std::env::current_exe().unwrap();
    let Some(emulator) = std::env::var_os("BARO_RUN") else { return Command::new(program) };
    let mut command = Command::new(emulator);
    command.arg(program);
    command
}

impl Drop for Folders {
    fn drop(&mut self) {
        if self.own {
            let _ = fs::remove_dir_all(&self.store);
            let _ = fs::remove_dir_all(&self.rings);
        }
    }
}

/// What the other process does.
#[test]
fn role() {
    let Some(role) = std::env::var_os("BARO_ROLE") else { return };
    let path = |name: &str| PathBuf::from(std::env::var_os(name).unwrap());
    let folders = Folders { store: path("BARO_STORE"), rings: path("BARO_RINGS"), own: false };
    let parent = parent_id();
    let say = |text: String| {
        let mut out = std::io::stdout().lock();
        writeln!(out, "said {text}").unwrap();
        out.flush().unwrap();
    };
    match role.to_str().unwrap() {
        "recorder" => {
            let recorder = folders.open();
            recorder.ring_for_attach().unwrap();
            say("ready".to_owned());
            while parent_id() == parent {
                sleep_ns(1_000_000);
            }
        }
        "many" => {
            let mut attached = folders.attach();
            let names: Vec<String> = (0..10_000).map(|n| format!("new{{n=\"{n}\"}}")).collect();
            let wanted: Vec<_> = names.iter().map(|name| (&**name, Type::F64, "V")).collect();
            let ids = attached.declare(&wanted, MINUTE_NS).unwrap();
            for ids in ids.chunks(500) {
                attached.producer.push_samples(7, ids, &vec![1.5; ids.len()]).unwrap();
            }
            say(format!("{} {}", ids[0], ids[9_999]));
        }
        "one by one" => {
            let mut attached = folders.attach();
            for number in 0.. {
                let names: Vec<String> =
                    (0..20).map(|n| format!("{parent}.{number}.{n}")).collect();
                let wanted: Vec<_> = names.iter().map(|name| (&**name, Type::I64, "")).collect();
                let ids = attached.declare(&wanted, MINUTE_NS).unwrap();
                for (name, id) in names.iter().zip(ids) {
                    say(format!("{name} {id}"));
                }
            }
        }
        other => panic!("no role {other}"),
    }
}

/// What a child has said in whole lines.
fn said(child: &mut Child) -> impl Iterator<Item = String> + use<> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    lines.filter_map(|line| line.split_once("said ").map(|(_, said)| said.to_owned()))
}

fn kills() -> u64 {
    std::env::var("BARO_DECLARING_KILLS").ok().and_then(|n| n.parse().ok()).unwrap_or(4)
}

#[test]
fn ten_thousand_names_of_another_process_wait_for_the_device_once() {
    let Some(folders) = Folders::new("many") else { return };
    let recorder = folders.open();
    recorder.declare(&[("old", Type::Text, "")]).unwrap();
    recorder.ring_for_attach().unwrap();
    let mut child = folders.play("many");
    let ids: Vec<String> = said(&mut child).collect();
    assert!(child.wait().unwrap().success());
    assert_eq!((&*ids, recorder.catalog_syncs()), (&["2 10001".to_owned()][..], 2));
    // This process knows them too, and the writer does: one of another type is a gap.
    assert_eq!(recorder.declared("new{n=\"7\"}").unwrap().unit, "V");
    let mut other = folders.attach();
    assert_eq!(other.catalog.get("new{n=\"9999\"}").map(|found| found.id), Some(10_001));
    other.producer.push_samples(8, &[10_001], &[1_i64]).unwrap();
    // Known: nothing is asked.
    assert_eq!(other.declare(&[("new{n=\"0\"}", Type::F64, "")], 0).unwrap(), [2]);
    drop(other);
    assert_eq!(folders.left(), [""; 0]);
    let closed = recorder.close();
    // Twenty of its own, and the gap.
    assert_eq!((closed.status.records, closed.status.lost, closed.left), (21, 1, 0));
    assert_eq!(folders.catalog().len(), 10_001);
    assert!(!folders.requests().exists());
}

#[test]
fn what_is_refused_is_refused_by_name_and_costs_the_others_nothing() {
    let Some(folders) = Folders::new("refused") else { return };
    let recorder = folders.open();
    recorder.declare_channel_with_layout("control", &"speed:f32@0".parse().unwrap()).unwrap();
    recorder.ring_for_attach().unwrap();
    let mut attached = folders.attach();
    // After the catalog was read here.
    recorder.declare(&[("text", Type::Text, "")]).unwrap();
    let long = "x".repeat(1_025);
    let wanted = [
        ("first", Type::F64, ""),
        ("text", Type::F64, ""),
        ("control.speed", Type::F64, ""),
        (&long, Type::F64, ""),
        ("", Type::F64, ""),
        ("last{b=\"2\",a=\"1\"}", Type::Bool, ""),
        ("first", Type::I64, ""),
        ("last{a=\"1\",b=\"2\"}", Type::Bool, ""),
    ];
    let each = attached.declare_each(&wanted.map(plain), MINUTE_NS).unwrap();
    let each: Vec<String> = each
        .into_iter()
        .map(|one| match one {
            Ok(id) => id.to_string(),
            Err(error) => error.to_string(),
        })
        .collect();
    assert_eq!(each[0], "3", "{each:?}");
    assert_eq!(each[1], "type of a series: expected text as declared for text, found f64");
    assert!(each[2].contains("one that is not a field of the channel control"), "{}", each[2]);
    assert!(each[3].contains("at most 1024 allowed, found 1025"), "{}", each[3]);
    assert!(each[4].contains("found 0"), "{}", each[4]);
    assert_eq!(each[6], "type of a series: expected f64 as declared for first, found i64");
    assert_eq!((&each[5], &each[7]), (&"4".to_owned(), &"4".to_owned()));
    // What was learned is known here.
    let known = |name: &str| attached.catalog.id(name);
    assert_eq!(known("text"), Some((2, Type::Text)));
    assert_eq!(known("last{b=\"2\",a=\"1\"}"), Some((4, Type::Bool)));
    assert_eq!(recorder.catalog_syncs(), 3);
    // A layout that is known here is not asked for; another one is, and refused.
    let with = |layout: &str| {
        let layout = Some(Cow::Owned(layout.parse().unwrap()));
        [Declaration { layout, ..plain(("control", Type::Channel, "")) }]
    };
    let same = attached.declare_each(&with("speed:f32@0"), 0).unwrap().pop().unwrap();
    assert_eq!(same.unwrap(), 1);
    let other = attached.declare_each(&with("speed:f32@4"), MINUTE_NS).unwrap().pop().unwrap();
    assert!(matches!(&other, Err(Error::Undeclared { .. })), "{other:?}");
    // One of this process's own asks nobody.
    let mut own = recorder.producer().unwrap();
    let why = own.declare_each(None, &[plain(("x", Type::F64, ""))], |_| true);
    let why = why.unwrap_err().to_string();
    assert!(why.contains("declare through its recorder"), "{why}");
    own.push_frame(1, 1, b"goes on").unwrap();
    assert_eq!(recorder.close().status.records, 1);
}

#[test]
fn what_lies_in_the_place_of_a_request_ends_nobody_and_goes() {
    let Some(folders) = Folders::new("hostile") else { return };
    let recorder = folders.open();
    recorder.ring_for_attach().unwrap();
    let mut attached = folders.attach();
    let place = |id: u64| folders.requests().join(format!("{id:016x}.declare"));
    let request = |store, id, name: &str| {
        let mut request = RequestBuilder::new(store, id);
        let (kind, unit) = (Type::F64, "");
        assert_eq!(request.push(&plain((name, kind, unit))), Ok(true));
        request.finish()
    };
    let put = |id: u64, bytes: &[u8], mode: u32| {
        fs::write(place(id), bytes).unwrap();
        fs::set_permissions(place(id), fs::Permissions::from_mode(mode)).unwrap();
    };
    let elsewhere = folders.store.join("elsewhere");
    fs::write(&elsewhere, request(STORE, 4, "linked")).unwrap();
    put(1, &vec![7; (8 << 20) + 1], 0o600);
    put(2, b"", 0o600);
    put(3, &request(STORE, 3, "cut")[..50], 0o600);
    symlink(&elsewhere, place(4)).unwrap();
    let fifo = Command::new("mkfifo").arg(place(5)).status();
    assert!(fifo.unwrap().success());
    fs::create_dir(place(6)).unwrap();
    fs::create_dir_all(place(7).join("full")).unwrap();
    put(8, &request(StoreId([1; 16]), 8, "foreign"), 0o600);
    put(9, &request(STORE, 10, "other"), 0o600);
    put(11, &request(STORE, 11, "everybody"), 0o666);
    fs::write(folders.requests().join("twice"), request(STORE, 12, "twice")).unwrap();
    fs::hard_link(folders.requests().join("twice"), place(12)).unwrap();
    // Left by a recorder that was killed while it answered.
    let half = folders.requests().join(format!(".{:016x}.declared.new-0123456789abcdef", 14));
    fs::write(&half, "half").unwrap();
    let mut bad = vec![1_u64, 2, 3, 4, 5, 6, 8, 9, 11, 12];
    if baro_sys::schedule::is_root() {
        put(13, &request(STORE, 13, "stranger"), 0o644);
        chown(place(13), Some(1_000_013), None).unwrap();
        bad.push(13);
    }
    let deadline_ns = monotonic_ns() + MINUTE_NS;
    while half.exists() || bad.iter().any(|id| fs::symlink_metadata(place(*id)).is_ok()) {
        assert!(monotonic_ns() < deadline_ns, "{:?}", folders.left());
        sleep_ns(1_000_000);
    }
    // Nothing of them is declared, nothing else is touched, and who asks in order is answered.
    assert_eq!(fs::read(&elsewhere).unwrap(), request(STORE, 4, "linked"));
    assert_eq!(attached.declare(&[("good", Type::F64, "")], MINUTE_NS).unwrap(), [1]);
    let told = |one: &String| one.contains("request to declare was refused");
    while !recorder.complaints().iter().any(told) {
        assert!(monotonic_ns() < deadline_ns, "{:?}", recorder.complaints());
        sleep_ns(1_000_000);
    }
    fs::remove_file(folders.requests().join("twice")).unwrap();
    drop(attached);
    let closed = recorder.close();
    assert_eq!((closed.status.lost, closed.damage.len()), (0, 0));
    assert_eq!(folders.catalog().len(), 1);
    assert_eq!(folders.left(), [format!("{:016x}.declare", 7)]);
}

#[test]
fn whoever_asks_may_be_killed_at_any_moment() {
    let Some(folders) = Folders::new("asker") else { return };
    let recorder = folders.open();
    recorder.ring_for_attach().unwrap();
    let mut known = Vec::new();
    for _ in 0..kills() {
        let mut child = folders.play("one by one");
        sleep_ns(50_000_000 + random_u64().unwrap() % 400_000_000);
        child.kill().unwrap();
        known.extend(said(&mut child));
        child.wait().unwrap();
    }
    let syncs = recorder.catalog_syncs();
    assert_eq!(recorder.close().status.lost, 0);
    let catalog = folders.catalog();
    for line in &known {
        let (name, id) = line.rsplit_once(' ').unwrap();
        assert_eq!(catalog.id(name), Some((id.parse().unwrap(), Type::I64)), "{name}");
    }
    assert_eq!(catalog.len() % 20, 0);
    // What was asked last may be answered while the recorder closes.
    let declared = catalog.len() as u64 / 20;
    assert!((syncs..=syncs + 1).contains(&declared), "{declared} {syncs}");
    assert!(!folders.requests().exists(), "{:?}", folders.left());
}

#[test]
fn a_recorder_that_is_killed_is_told_and_the_next_one_finds_the_same_ids() {
    let Some(folders) = Folders::new("recorder") else { return };
    let mut known: Vec<(String, u32)> = Vec::new();
    let mut attached: Option<Attached> = None;
    for life in 0..kills() {
        let mut child = folders.play("recorder");
        assert_eq!(said(&mut child).next().as_deref(), Some("ready"));
        let asking = attached.get_or_insert_with(|| folders.attach());
        let moment_ns = monotonic_ns() + 50_000_000 + random_u64().unwrap() % 300_000_000;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sleep_ns(moment_ns.saturating_sub(monotonic_ns()));
                child.kill().unwrap();
                child.wait().unwrap();
            });
            for number in 0.. {
                let name = format!("life{life}.{number}");
                match asking.declare(&[(&name, Type::Bool, "")], MINUTE_NS) {
                    Ok(ids) => known.push((name, ids[0])),
                    Err(Error::NobodyRecords { .. }) => break,
                    Err(other) => panic!("{other}"),
                }
            }
        });
        let catalog = folders.catalog();
        for (name, id) in &known {
            assert_eq!(catalog.id(name), Some((*id, Type::Bool)), "{name}");
        }
    }
    assert!(!known.is_empty());
    // What was asked last and is declared, though nobody was told.
    let recorder = folders.open();
    let asking = attached.as_mut().unwrap();
    let names: Vec<&str> = known.iter().map(|(name, _)| &**name).collect();
    let wanted: Vec<_> = names.iter().map(|name| (*name, Type::Bool, "")).collect();
    let ids = asking.declare(&wanted, MINUTE_NS).unwrap();
    assert!(ids.iter().zip(&known).all(|(id, (_, known))| id == known));
    asking.declare(&[("after", Type::Bool, "")], MINUTE_NS).unwrap();
    assert_eq!(folders.left(), [""; 0]);
    drop(attached);
    drop(recorder);
}

#[test]
fn one_that_does_not_answer_is_given_up_and_nothing_is_left() {
    let Some(folders) = Folders::new("stopped") else { return };
    let mut child = folders.play("recorder");
    assert_eq!(said(&mut child).next().as_deref(), Some("ready"));
    let mut attached = folders.attach();
    let signal = |name: &str| {
        let status = Command::new("kill").args([name, &child.id().to_string()]).status();
        assert!(status.unwrap().success());
    };
    signal("-STOP");
    let why = attached.declare(&[("x", Type::F64, "")], 200_000_000).unwrap_err();
    assert!(matches!(why, Error::Unanswered { .. }), "{why}");
    assert_eq!(folders.left(), [""; 0]);
    signal("-CONT");
    assert_eq!(attached.declare(&[("y", Type::F64, "")], MINUTE_NS).unwrap(), [1]);
    child.kill().unwrap();
    child.wait().unwrap();
}
