//! Programs of Debian: the command line of InfluxDB, Prometheus and vmagent.

use crate::scene::Scene;
use crate::{TIME, target};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Scrapes that are waited for.
const SCRAPES: u64 = 5;

fn program(name: &str) -> Option<PathBuf> {
    static FETCHED: OnceLock<()> = OnceLock::new();
    let peers = target().join("peers");
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

#[test]
fn the_command_line_of_influxdb_writes() {
    let Some(influx) = program("influx") else { return };
    let Some(mut scene) = Scene::new("influx-cli", &[]) else { return };
    let (host, port) = (scene.address.ip().to_string(), scene.address.port().to_string());
    let run = |arguments: &[&str]| {
        let mut command = Command::new(&influx);
        let output =
            command.args(["-host", &host, "-port", &port]).args(arguments).output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    };
    let (done, said) = run(&["-execute", "CREATE DATABASE plant"]);
    assert!(done, "{said}");
    let insert = format!("INSERT m,host=a v=1.5 {TIME}");
    let (done, said) = run(&["-database", "plant", "-precision", "ns", "-execute", &insert]);
    assert!(done, "{said}");
    let file = scene.folder.join("dump.lp");
    let lines: Vec<String> =
        (0..20_000).map(|at| format!("d,host=a v={at}i {}", TIME + at)).collect();
    let dump = format!("# DML\n# CONTEXT-DATABASE: plant\n{}\n", lines.join("\n"));
    std::fs::write(&file, dump).unwrap();
    let (done, said) = run(&["-import", "-path", file.to_str().unwrap(), "-precision", "ns"]);
    assert!(
        done && said.contains("Processed 20000 inserts") && said.contains("Failed 0 inserts"),
        "{said}"
    );
    scene.end_recorder();
    let found = scene.samples();
    assert_eq!(found["m_v{host=\"a\"}"], [(TIME, "1.5".to_owned())]);
    assert_eq!(found["d_v{host=\"a\"}"].len(), 20_000);
}

/// A page of metrics: a counter of how often it was asked for, and another series.
fn exporter() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let asked = Arc::new(AtomicU64::new(0));
    let counter = Arc::clone(&asked);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut stream = stream;
            let _ = stream.set_read_timeout(Some(Duration::from_secs(5)));
            let mut buffer = [0; 4096];
            let _ = stream.read(&mut buffer);
            let count = counter.fetch_add(1, Relaxed) + 1;
            let body = format!("asked_total {count}\ntemp{{room=\"lab\"}} 21.5\n");
            let _ = stream.write_all(format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len()).as_bytes());
        }
    });
    (address, asked)
}

fn configuration(folder: &Path, exporter: SocketAddr, write: Option<SocketAddr>) -> PathBuf {
    let file = folder.join("scrape.yml");
    let mut text = format!(
        "global:\n  scrape_interval: 200ms\n  scrape_timeout: 200ms\nscrape_configs:\n  - job_name: rig\n    \
         static_configs:\n      - targets: ['{exporter}']\n"
    );
    if let Some(address) = write {
        text.push_str(&format!("remote_write:\n  - url: http://{address}/api/v1/write\n"));
    }
    std::fs::write(&file, text).unwrap();
    file
}

/// Waits until enough was asked for and is in the store, ends the recorder, and judges.
fn judge(mut scene: Scene, asked: &AtomicU64, exporter: SocketAddr, running: Running) {
    let wanted = "baro_listen_requests_total{endpoint=\"/api/v1/write\",status=\"204\"}";
    let mut metrics = String::new();
    for _ in 0..600 {
        metrics = scene.client().get("/metrics").body;
        if asked.load(Relaxed) >= SCRAPES && metrics.contains(wanted) {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(metrics.contains(wanted), "{metrics}");
    std::thread::sleep(Duration::from_secs(2));
    drop(running);
    scene.end_recorder();
    let found = scene.samples();
    let series = format!("asked_total{{instance=\"{exporter}\",job=\"rig\"}}");
    let counts: Vec<&str> = found[&series].iter().map(|(_, value)| value.as_str()).collect();
    assert!(counts.len() >= SCRAPES as usize, "{counts:?}");
    // Without a gap from the first on.
    let expected: Vec<String> = (1..=counts.len()).map(|count| format!("{count}.0")).collect();
    assert_eq!(counts, expected);
    let temp = &found[&format!("temp{{instance=\"{exporter}\",job=\"rig\",room=\"lab\"}}")];
    assert!(temp.iter().all(|(_, value)| value == "21.5") && temp.len() >= counts.len() - 1);
}

#[test]
fn prometheus_writes_what_it_scrapes() {
    let Some(prometheus) = program("prometheus") else { return };
    let Some(scene) = Scene::new("prometheus", &[]) else { return };
    let (exporter, asked) = exporter();
    let file = configuration(&scene.folder, exporter, Some(scene.address));
    let child = Command::new(prometheus)
        .arg(format!("--config.file={}", file.display()))
        .arg(format!("--storage.tsdb.path={}", scene.folder.join("tsdb").display()))
        .args(["--web.listen-address=127.0.0.1:0", "--log.level=warn"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    judge(scene, &asked, exporter, Running(child));
}

#[test]
fn vmagent_writes_what_it_scrapes() {
    let Some(vmagent) = program("vmagent") else { return };
    let Some(scene) = Scene::new("vmagent", &[]) else { return };
    let (exporter, asked) = exporter();
    let file = configuration(&scene.folder, exporter, None);
    let child = Command::new(vmagent)
        .arg(format!("-promscrape.config={}", file.display()))
        .arg(format!("-remoteWrite.url=http://{}/api/v1/write", scene.address))
        .arg(format!("-remoteWrite.tmpDataPath={}", scene.folder.join("vmagent").display()))
        .args(["-httpListenAddr=127.0.0.1:0", "-remoteWrite.flushInterval=200ms"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    judge(scene, &asked, exporter, Running(child));
}

/// Telegraf is no package of Debian: `go build -tags custom,inputs.file,outputs.influxdb,outputs.influxdb_v2,
/// parsers.influx` of its version 1.37.2 makes one that is small.
#[test]
fn telegraf_writes_all_but_the_bad_line() {
    let Some(telegraf) = program("telegraf") else { return };
    for (output, target) in [("influxdb", "database"), ("influxdb_v2", "bucket")] {
        let Some(mut scene) = Scene::new(&format!("telegraf-{output}"), &[]) else { return };
        // Telegraf keeps no more of a time than its interval asks for.
        let second = 1_000_000_000;
        let mut lines: Vec<String> =
            (0..10_000).map(|at| format!("m,host=a v={at}.5 {}", TIME + at * second)).collect();
        lines[5_000] = format!("m,host=a v=9007199254740993i {}", TIME + 5_000 * second);
        let (file, config) = (scene.folder.join("lines.lp"), scene.folder.join("telegraf.conf"));
        std::fs::write(&file, lines.join("\n") + "\n").unwrap();
        let text = format!(
            "[agent]\n  metric_batch_size = 10000\n  omit_hostname = true\n[[inputs.file]]\n  files = \
             [\"{}\"]\n  data_format = \"influx\"\n[[outputs.{output}]]\n  urls = [\"http://{}\"]\n  {target} \
             = \"plant\"\n",
            file.display(),
            scene.address
        );
        std::fs::write(&config, text).unwrap();
        let run = Command::new(&telegraf).arg("--config").arg(&config).arg("--once").output();
        let said = String::from_utf8(run.unwrap().stderr).unwrap();
        assert!(said.contains("line 5001: series m_v{host=\"a\"}: expected f64"), "{said}");
        scene.end_recorder();
        let value = |at: i64| (TIME + at * second, format!("{at}.5"));
        let expected: Vec<_> = (0..10_000).filter(|at| *at != 5_000).map(value).collect();
        assert_eq!(scene.of("m_v{host=\"a\"}"), expected);
    }
}
