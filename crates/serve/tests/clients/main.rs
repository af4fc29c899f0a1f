//! Programs that people have, unmodified: promtool of Prometheus, and vmalert, and the client of Foxglove. They come
//! from Debian's own packages, and by npm; where there are none the tests say so and are counted as skipped.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod foxglove;
#[path = "../api/scene.rs"]
#[allow(dead_code, reason = "the others use more of it")]
mod scene;

use barograph::{Producer, Recorder, Series, Time};
use scene::{Scene, Server};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

const MINUTE: Duration = Duration::from_secs(60);

fn program(name: &str) -> Option<PathBuf> {
    static FETCHED: OnceLock<()> = OnceLock::new();
    let target = Path::new(env!("CARGO_BIN_EXE_baro-serve")).ancestors().nth(2).unwrap();
    let peers = target.join("peers");
    FETCHED.get_or_init(|| {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scripts/peers.sh");
        let _ = Command::new("sh").arg(script).arg(&peers).status();
    });
    let program = peers.join("usr/bin").join(name);
    if !program.exists() {
        println!("skipped: no {name} (scripts/peers.sh {})", peers.display());
        return None;
    }
    Some(program)
}

struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Two counters of the last minute, a sample each second.
fn record(scene: &Scene) -> (Recorder, Producer, Vec<Series<i64>>) {
    let recorder = Recorder::create_or_open(scene.store()).size(16 << 20).recycle().open().unwrap();
    let series = ["a", "b"]
        .map(|site| recorder.series(&format!("wheel{{site=\"{site}\"}}"), "turns").unwrap());
    let mut push = recorder.producer().unwrap();
    let now_ns = Time::now().ns();
    for n in 0..60_i64 {
        for one in series {
            push.sample(one, now_ns - (60 - n) * 1_000_000_000, n * 3).unwrap();
        }
    }
    push.wait_durable(MINUTE).unwrap();
    (recorder, push, series.to_vec())
}

/// What `promtool query` prints: options before the address of the server, the rest behind it.
fn asked(promtool: &Path, server: &Server, before: &[&str], behind: &[&str]) -> String {
    let address = format!("http://{}", server.address());
    let mut command = Command::new(promtool);
    let output = command.arg("query").args(before).arg(&address).args(behind).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn promtool_queries() {
    let Some(promtool) = program("promtool") else { return };
    let scene = Scene::new("promtool");
    let (recorder, push, _) = record(&scene);
    let server = scene.serve(&[]);
    let instant = asked(&promtool, &server, &["instant"], &["sum(rate(wheel[30s]))"]);
    assert!(instant.starts_with("{} => ") && instant.contains("@["), "{instant}");
    let range = asked(&promtool, &server, &["range", "--step", "10s"], &["count(wheel)"]);
    assert!(range.contains("2 @["), "{range}");
    assert_eq!(asked(&promtool, &server, &["labels"], &["site"]), "a\nb\n");
    let matching = ["series", "--match", "wheel{site=~\"a|b\"}"];
    let series = asked(&promtool, &server, &matching, &[]);
    assert_eq!(series.lines().count(), 2, "{series}");
    drop((push, server));
    assert_eq!(recorder.close().lost(), 0);
}

#[test]
fn vmalert_fires_on_what_is_recorded() {
    let Some(vmalert) = program("vmalert") else { return };
    let scene = Scene::new("vmalert");
    let (recorder, mut push, series) = record(&scene);
    let server = scene.serve(&[]);
    let rules = scene.file("rules.yml");
    let text = "groups:\n- name: plant\n  interval: 1s\n  rules:\n  - alert: Turns\n    \
                expr: rate(wheel{site=\"a\"}[30s]) > 1\n";
    std::fs::write(&rules, text).unwrap();
    // A port that is free now; nobody else here asks for one meanwhile.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let child = Command::new(vmalert)
        .arg("-rule")
        .arg(&rules)
        .arg(format!("-datasource.url=http://{}", server.address()))
        .arg("-notifier.url=http://127.0.0.1:1")
        .arg(format!("-httpListenAddr=127.0.0.1:{port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let running = Running(child);
    let mut turns = 180;
    let fired = (0..120).any(|_| {
        turns += 3;
        let _ = push.sample(series[0], Time::now(), turns);
        std::thread::sleep(Duration::from_millis(500));
        scene::get(port, "/api/v1/alerts").is_some_and(|told| told.contains("\"firing\""))
    });
    assert!(fired, "no alert");
    drop((running, push, server));
    assert_eq!(recorder.close().lost(), 0);
}
