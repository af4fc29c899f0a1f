//! A store, a recorder in a process of its own, and a listener beside it; all gone at the end.

use crate::client::Client;
use baro_log::{Geometry, init};
use baro_ondisk::{StoreId, WhenFull};
use baro_recorder::{Options, Recorder, Rings};
use baro_sys::disk::Disk;
use baro_sys::identity::FileSystem;
use barograph::{Store, Value};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

const RINGS: usize = 2;
const RING_BYTES: usize = 1 << 20;

pub(crate) struct Scene {
    pub(crate) folder: PathBuf,
    pub(crate) rings: PathBuf,
    recorder: Option<Child>,
    listener: Option<Child>,
    pub(crate) address: SocketAddr,
}

fn children(folder: &Path) -> PathBuf {
    folder.join("store")
}

impl Scene {
    /// With further options of the listener; `None` where there is no tmpfs for rings.
    pub(crate) fn new(name: &str, options: &[&str]) -> Option<Self> {
        let shared = Path::new("/dev/shm");
        if !FileSystem::of(shared).is_ok_and(|found| found.name() == "tmpfs") {
            println!("skipped: no tmpfs at /dev/shm");
            return None;
        }
        let own = format!("baro-http-{name}-{}", std::process::id());
        let (folder, rings) = (std::env::temp_dir().join(&own), shared.join(&own));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        let store = children(&folder);
        let disk = Disk::create(&store).unwrap();
        let geometry = Geometry {
            segment_bytes: 1 << 20,
            segments: 16,
            catalog_bytes: 4 << 20,
            when_full: WhenFull::Stop,
        };
        init(&disk, &store, StoreId([7; 16]), 1, &geometry, |_| {}).unwrap();
        let address = "127.0.0.1:0".parse().unwrap();
        let mut scene = Scene { folder, rings, recorder: None, listener: None, address };
        scene.record();
        scene.listen(options);
        Some(scene)
    }

    pub(crate) fn store(&self) -> PathBuf {
        children(&self.folder)
    }

    /// A recorder, until it is killed or [`Scene::end_recorder`].
    pub(crate) fn record(&mut self) {
        let _ = fs::remove_file(self.folder.join("end"));
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "scene::a_recorder_of_another_process", "--nocapture"]);
        command.env("BARO_HTTP_FOLDER", &self.folder).env("BARO_HTTP_RINGS", &self.rings);
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let ready = lines.any(|line| line.ends_with("ready"));
        std::thread::spawn(move || lines.for_each(drop));
        assert!(ready, "the recorder has not opened the store");
        self.recorder = Some(child);
    }

    /// A listener, and waits until it has its rings.
    pub(crate) fn listen(&mut self, options: &[&str]) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_baro-listen"));
        command
            .arg("listen")
            .arg(self.store())
            .args(["--http", "127.0.0.1:0", "--rings"])
            .arg(&self.rings);
        // A machine that runs other tests beside may have a slow disk.
        for (option, value) in [("--lanes", "2"), ("--wait", "30s")] {
            if !options.contains(&option) {
                command.args([option, value]);
            }
        }
        command.args(options);
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
        let said = lines.find_map(|line| {
            let (_, rest) = line.split_once("listening on http://")?;
            rest.split(' ').next().map(str::to_owned)
        });
        self.listener = Some(child);
        self.address = said.expect("it listens").parse().unwrap();
        // What it says else is nobody's.
        std::thread::spawn(move || lines.for_each(drop));
        self.await_ready(200);
    }

    pub(crate) fn await_ready(&self, status: u16) {
        for _ in 0..2_000 {
            if self.client().get("/ready").status == status {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        panic!("/ready is not {status}: {:?}", self.client().get("/ready"));
    }

    pub(crate) fn client(&self) -> Client {
        Client::to(self.address)
    }

    pub(crate) fn kill_recorder(&mut self) {
        let mut child = self.recorder.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// The recorder makes all durable and ends.
    pub(crate) fn end_recorder(&mut self) {
        if let Some(mut child) = self.recorder.take() {
            fs::write(self.folder.join("end"), "").unwrap();
            child.wait().unwrap();
        }
    }

    /// Records that the recorder's rings have refused, once it has ended.
    pub(crate) fn refused(&self) -> u64 {
        fs::read_to_string(self.folder.join("refused")).unwrap().parse().unwrap()
    }

    pub(crate) fn kill_listener(&mut self) {
        let mut child = self.listener.take().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Stops the recorder's process where it is, or lets it go on.
    pub(crate) fn signal_recorder(&self, signal: i32) {
        let id = self.recorder.as_ref().unwrap().id();
        baro_sys::termination::send(id, signal).unwrap();
    }

    pub(crate) fn signal_listener(&self, signal: i32) {
        let id = self.listener.as_ref().unwrap().id();
        baro_sys::termination::send(id, signal).unwrap();
    }

    /// How it ended, once it has.
    pub(crate) fn await_listener(&mut self) -> ExitStatus {
        self.listener.take().unwrap().wait().unwrap()
    }

    /// Peak resident memory of the listener.
    pub(crate) fn listener_peak_kib(&self) -> u64 {
        let id = self.listener.as_ref().unwrap().id();
        let text = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// All samples that are in the store: by series, time and value.
    pub(crate) fn samples(&self) -> BTreeMap<String, Vec<(i64, String)>> {
        let store = Store::open(self.store()).unwrap();
        let mut found = BTreeMap::new();
        // A store without series has none to select.
        let Ok(columns) = store.query("{__name__=~\".+\"}").columns() else { return found };
        for column in columns {
            let column = column.unwrap();
            let rows = column.times_ns().iter().zip(column.rows()).map(|(time_ns, (_, value))| {
                let text = match value {
                    Value::F64(value) => format!("{value:?}"),
                    Value::I64(value) => value.to_string(),
                    Value::Bool(value) => value.to_string(),
                    Value::Text(value) => format!("{value:?}"),
                    other => format!("{other:?}"),
                };
                (*time_ns, text)
            });
            found.insert(column.name().to_owned(), rows.collect());
        }
        found
    }

    /// Those of one series.
    pub(crate) fn of(&self, series: &str) -> Vec<(i64, String)> {
        self.samples().remove(series).unwrap_or_default()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        for mut child in self.listener.take().into_iter().chain(self.recorder.take()) {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
        let _ = fs::remove_dir_all(&self.rings);
    }
}

/// What the other process does.
#[test]
fn a_recorder_of_another_process() {
    let Some(folder) = std::env::var_os("BARO_HTTP_FOLDER").map(PathBuf::from) else { return };
    let rings = PathBuf::from(std::env::var_os("BARO_HTTP_RINGS").unwrap());
    baro_sys::termination::end_with_parent().unwrap();
    let options = Options {
        rings: Rings::In(rings),
        ring_bytes: RING_BYTES,
        durable_within_ns: 40_000_000,
        ..Options::default()
    };
    let recorder = Recorder::open(&children(&folder), options).unwrap();
    for _ in 0..RINGS {
        recorder.ring_for_attach().unwrap();
    }
    println!("ready");
    while !folder.join("end").exists() {
        std::thread::sleep(Duration::from_millis(5));
    }
    let closed = recorder.close();
    fs::write(folder.join("refused"), closed.refused.to_string()).unwrap();
}
