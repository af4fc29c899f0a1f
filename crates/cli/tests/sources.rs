//! What can be recorded without a program of one's own, and by many programs at once: stdin, UDP,
//! rings of other processes; and what comes back as series and as files.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

mod calls;
mod place;

use calls::{baro, feed, json, run, stderr, text};
use place::Folder;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::UdpSocket;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

fn signal(child: &Child, signal: &str) {
    Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap();
}

#[allow(clippy::zombie_processes, reason = "the caller waits")]
/// Starts a recorder and returns it with the first line of its stderr that holds `mark`.
fn start(arguments: &[&str], mark: &str) -> (Child, BufReader<ChildStderr>, String) {
    let mut child = baro(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap());
    let mut seen = String::new();
    loop {
        let mut line = String::new();
        if lines.read_line(&mut line).unwrap() == 0 {
            let _ = child.wait();
            panic!("no {mark:?} in {seen}");
        }
        if line.contains(mark) {
            return (child, lines, line);
        }
        seen += &line;
    }
}

/// A pipe has once what comes: of what one recorder has read the next one finds nothing.
#[test]
fn what_is_read_when_a_recording_is_stopped_is_in_the_store() {
    let folder = Folder::new("stopped");
    for (form, frame) in [("csv", false), ("raw", true)] {
        let store = folder.path(form);
        text(&run(&["init", &store, "--size", "16M"]), 0);
        let options =
            if frame { "--stdin raw --frame-bytes 16" } else { "--stdin csv --precision s" };
        let record = format!("\"$0\" record \"$1\" {options}");
        let all = format!("for i in 1 2 3 4 5 6; do {record} --for 100ms; done; {record}");
        let mut recorders = Command::new("sh")
            .args(["-ec", &all, env!("CARGO_BIN_EXE_baro"), &store])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = recorders.stdin.take().unwrap();
        for number in 0..500 {
            // Lines and frames of 16 bytes, ten at once, which a pipe keeps together.
            let line = |at: u64| format!("{},a,{:02}\n", 1_700_000_000 + number * 10 + at, at);
            let lines: String = (0..10).map(line).collect();
            assert_eq!(lines.len(), 160);
            pipe.write_all(lines.as_bytes()).unwrap();
            std::thread::sleep(Duration::from_millis(3));
        }
        drop(pipe);
        let ended = recorders.wait_with_output().unwrap();
        assert!(ended.status.success(), "{}", stderr(&ended));
        let found = text(&run(&["cat", &store]), 0);
        let found = found.lines().filter(|line| !line.starts_with('#')).count();
        assert_eq!(found, 5000, "{form}: {}", stderr(&ended));
    }
}

/// However small the ring is: a line of many values fits, and whoever is told to stop waits for room still.
#[test]
fn a_small_ring_costs_stdin_nothing() {
    let folder = Folder::new("small-ring");
    let store = folder.path("s");
    text(&run(&["init", &store, "--size", "64M"]), 0);
    let record = ["record", &store, "--ring", "64K", "--precision", "s", "--format", "json"];
    let wide: String = (0..5000).map(|n| format!(",\"f{n}\":{n}")).collect();
    let wide = format!("{{\"time\":1700000000{wide}}}\n");
    let report = json(&feed(&[&record[..], &["--stdin", "json"]].concat(), wide.as_bytes()), 0);
    let samples = |report: &Value| report["sources"][0]["samples"].clone();
    assert_eq!((samples(&report), &report["lost_samples"]), (5000.into(), &0.into()));
    let many: String = (0..1_000_000).map(|n| format!("{},a,{n}\n", 1_700_000_000 + n)).collect();
    let stopped = [&record[..], &["--stdin", "csv", "--for", "300ms"]].concat();
    let report = json(&feed(&stopped, many.as_bytes()), 0);
    let taken = samples(&report).as_u64().unwrap();
    assert!(taken > 0 && report["lost_samples"] == 0, "{report}");
    let rows = text(&run(&["query", &store, "a", "--agg", "count", "--format", "csv"]), 0);
    assert!(rows.trim_end().ends_with(&format!(",{taken}")), "{rows}: {taken}");
}

#[test]
fn json_lines_are_recorded_and_a_bad_one_costs_only_itself() {
    let folder = Folder::new("sources-json");
    let store = folder.path("store");
    let input = b"{\"time\":1000,\"series\":\"temp\",\"value\":21.5}\n\
        {\"time\":2000,\"temp\":22,\"on\":true,\"count\":9007199254740993}\n\
        {\"time\":3000,\"temp\":\"hot\",\"on\":false}\n\
        {\"time\":4000,\"count\":1.5}\n{\"time\":5000,\"temp\":null}\nnonsense\n\
        {\"time\":6000,\"on\":false}";
    let record =
        ["record", &store, "--init", "8M", "--stdin", "json", "--declare", "count:i64:1/s"];
    let output = feed(&[&record[..], &["--format", "json"]].concat(), input);
    let report = json(&output, 3);
    assert_eq!(
        (report["sources"][0]["bad_inputs"].clone(), report["lost"].clone()),
        (3.into(), 0.into())
    );
    let complaints = report["sources"][0]["complaints"].to_string();
    for said in [
        "line 3: series temp: expected f64, found \\\"hot\\\"",
        "line 4: series count: expected i64",
        "line 6: column 1",
    ] {
        assert!(complaints.contains(said), "{complaints}");
    }
    let csv = text(&run(&["cat", &store, "--format", "csv"]), 0);
    // Of one time in the order of ids: count was declared first.
    let expected = "1000,temp,21.5,f64\n2000,count,9007199254740993,i64\n2000,temp,22,f64\n\
                    2000,on,true,bool\n5000,temp,NaN,f64\n6000,on,false,bool\n";
    assert_eq!(csv, expected);
    // What cat prints as JSON can be recorded again.
    let again = folder.path("again");
    let printed = run(&["cat", &store, "--format", "json"]).stdout;
    let count = "count:i64";
    let record = ["record", &again, "--init", "8M", "--stdin", "json", "--declare", count];
    text(&feed(&record, &printed), 0);
    assert_eq!(text(&run(&["cat", &again, "--format", "csv"]), 0), expected);
}

#[test]
fn a_line_is_recorded_before_the_next_one_comes() {
    let folder = Folder::new("sources-idle");
    let inputs = [
        ("csv", "1000,temp,21.5\n2000,temp,22\n"),
        ("json", "{\"time\":1000,\"temp\":21.5}\n{\"time\":2000,\"temp\":22}\n"),
    ];
    for (form, lines) in inputs {
        let store = folder.path(form);
        let mut child = baro(&["record", &store, "--init", "8M", "--stdin", form])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(lines.as_bytes()).unwrap();
        // It stays open, and nothing more comes.
        let expected = "1000,temp,21.5\n2000,temp,22\n";
        let found = || {
            String::from_utf8_lossy(&run(&["cat", &store, "--format", "csv"]).stdout).into_owned()
        };
        let tries = (0..1_000).find(|_| {
            std::thread::sleep(Duration::from_millis(20));
            found() == expected
        });
        signal(&child, "-KILL");
        child.wait().unwrap();
        drop(stdin);
        assert!(tries.is_some(), "{form}: {:?}", found());
        assert_eq!(found(), expected, "{form}, after a kill");
    }
}

fn length_prefixed(frames: &[&[u8]]) -> Vec<u8> {
    frames.iter().flat_map(|f| [&(f.len() as u32).to_le_bytes(), *f].concat()).collect()
}

#[test]
fn frames_with_a_layout_come_back_as_series() {
    let folder = Folder::new("sources-layout");
    let store = folder.path("store");
    let layout = "control=speed:f32@0(m/s),temp:i16be@4*0.1,cell:u16[2]@6,state:u8@10";
    let frame = |number: u8| {
        let mut frame = f32::from(number).to_le_bytes().to_vec();
        frame.extend([0, number, number, 0, number, 1, 7]);
        frame
    };
    let large = vec![0; 300_000];
    let input = length_prefixed(&[&frame(1), &large, &frame(2), &frame(3)[..5]]);
    let record = [
        "record",
        &store,
        "--init",
        "8M",
        "--stdin",
        "frames",
        "--channel",
        "control",
        "--layout",
        layout,
    ];
    let output = feed(&record, &[input, vec![9, 0]].concat());
    assert_eq!(output.status.code(), Some(3));
    let said = stderr(&output);
    assert!(
        said.contains("length at offset 15: expected at most 253952 bytes, found 300000"),
        "{said}"
    );
    assert!(said.contains("found the end of the input after 2"), "{said}");
    let listed = text(&run(&["list", &store]), 0);
    assert!(
        listed.contains("control.speed m/s") && listed.contains("control.cell[0..2]"),
        "{listed}"
    );
    let fields = json(&run(&["list", &store, "--format", "json"]), 0);
    assert_eq!(fields[0]["fields"][1]["big_endian"], true);
    let rows = |names: &[&str]| {
        let arguments = [&["cat", &store, "--format", "csv"][..], names].concat();
        let output = run(&arguments);
        let said = stderr(&output);
        (
            // The frame that was too large is lost, and the log tells it.
            text(&output, 3)
                .lines()
                .filter(|line| !line.starts_with('#'))
                .map(|line| line.split_once(',').unwrap().1.to_owned())
                .collect::<Vec<_>>(),
            said,
        )
    };
    let (found, said) = rows(&["control.temp", "control.cell[1]"]);
    assert_eq!(
        found,
        [
            "control.temp,0.1,f64",
            "control.cell[1],257,i64",
            "control.temp,0.2,f64",
            "control.cell[1],258,i64"
        ]
    );
    assert!(said.contains("2 values are missing: frames ended before their fields"), "{said}");
    assert_eq!(rows(&["control.*"]).0.len(), 11);
    // Frames as they are where the channel itself is named.
    let raw = run(&["cat", &store, "control", "--format", "raw"]).stdout;
    assert_eq!(raw, [frame(1), frame(2), frame(3)[..5].to_vec()].concat());
    let last = text(&run(&["cat", &store, "control.state", "--last", "1"]), 0);
    assert_eq!(last, "", "the last frame is too short");
    let unknown = run(&["cat", &store, "control.none"]);
    assert!(
        stderr(&unknown).contains("the channel's fields are speed:f32@0"),
        "{}",
        stderr(&unknown)
    );
}

#[test]
fn layouts_that_cannot_be_are_refused_with_their_field() {
    let folder = Folder::new("sources-badlayout");
    let store = folder.path("store");
    for (layout, said) in [
        ("a:u32@0,b:u8@3", "\"b\" at offset 3"),
        ("a:i12@0", "expected a type"),
        ("a:u8@0,a:u8@1", "expected a name of its own"),
    ] {
        let output = run(&["record", &store, "--generate", "--layout", layout]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(said), "{}", stderr(&output));
    }
    text(&run(&["init", &store, "--size", "8M"]), 0);
    let far = ["record", &store, "--generate", "--layout", "generated=x:u8@16384"];
    let output = run(&far);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(said.contains("expected to end within 16384 bytes of frame"), "{said}");
    let declared =
        ["record", &store, "--generate", "--layout", "generated=seed:u64@0,n:u64", "--for", "1s"];
    text(&run(&declared), 0);
    let counted = text(&run(&["cat", &store, "generated.n", "--format", "csv"]), 0);
    let numbers: Vec<u64> =
        counted.lines().map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
    assert!(numbers.len() > 5 && numbers.iter().copied().eq(0..numbers.len() as u64));
    let other = ["record", &store, "--generate", "--layout", "generated=seed:i64@0"];
    assert!(stderr(&run(&other)).contains("another layout: another channel"));
}

/// A recorder of datagrams, and a socket that sends to it.
fn udp(store: &str, more: &[&str]) -> (Child, BufReader<ChildStderr>, UdpSocket, String) {
    let arguments = ["record", store, "--init", "8M", "--udp", "127.0.0.1:0", "--format", "json"];
    let (child, lines, line) = start(&[&arguments[..], more].concat(), ": listening");
    let address = line.trim().strip_prefix("udp ").unwrap().strip_suffix(": listening").unwrap();
    let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
    sender.connect(address).unwrap();
    (child, lines, sender, address.to_owned())
}

#[test]
fn datagrams_are_recorded_and_garbage_is_counted_with_its_reason() {
    let folder = Folder::new("sources-udp");
    let store = folder.path("store");
    let (child, _lines, sender, _) = udp(&store, &[]);
    for datagram in [
        &b"{\"time\":1000,\"a\":1,\"b\":true}\n{\"time\":1001,\"a\":2}"[..],
        b"1002,a,2.5\n",
        b"\x00\xff garbage",
        b"{\"a\":",
        b"",
        b"{\"time\":1003,\"a\":\"x\"}",
        b"{\"time\":1004,\"b\":1}",
        b"{\"time\":1005,\"a\":3}",
    ] {
        sender.send(datagram).unwrap();
    }
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-TERM");
    let report = json(&child.wait_with_output().unwrap(), 3);
    let source = &report["sources"][0];
    assert_eq!(source["datagrams"], 8);
    assert_eq!(
        (source["bad_inputs"].clone(), source["dropped_by_kernel"].clone()),
        (5.into(), 0.into())
    );
    let complaints = source["complaints"].to_string();
    for said in [
        "datagram 3, line 1, column 2: expected UTF-8",
        "datagram 4, line 1: column",
        "datagram 5, expected lines, found no bytes",
        "datagram 6, line 1: series",
        "expected bool",
    ] {
        assert!(complaints.contains(said), "{said}: {complaints}");
    }
    let rows = text(&run(&["cat", &store, "a", "b", "--format", "csv"]), 0);
    assert_eq!(rows, "1000,a,1\n1000,b,true\n1001,a,2\n1002,a,2.5\n1005,a,3\n");
}

/// Of one series and time one sample counts, and a datagram has one time.
#[test]
fn lines_of_a_datagram_without_times_are_all_kept() {
    let folder = Folder::new("sources-udp-untimed");
    let store = folder.path("store");
    let (child, _lines, sender, _) = udp(&store, &[]);
    for datagram in [&b",u,1\n,u,2\n"[..], b"{\"u\":3,\"v\":3}\n{\"u\":4}", b",u,5\n"] {
        sender.send(datagram).unwrap();
    }
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-TERM");
    let report = json(&child.wait_with_output().unwrap(), 0);
    assert_eq!(report["sources"][0]["samples"], 6);
    let rows = text(&run(&["cat", &store, "u", "--format", "csv"]), 0);
    let values: Vec<&str> = rows.lines().map(|row| row.split(',').nth(2).unwrap()).collect();
    assert_eq!(values, ["1", "2", "3", "4", "5"], "{rows}");
    let both = text(&run(&["cat", &store, "u", "v", "--format", "csv"]), 0);
    let time = |end: &str| both.lines().find(|row| row.ends_with(end)).unwrap().split(',').next();
    assert_eq!(time("u,3"), time("v,3"), "{both}");
}

#[test]
fn what_the_kernel_drops_is_counted_as_lost_at_the_source() {
    let folder = Folder::new("sources-drops");
    let store = folder.path("store");
    let more = ["--udp-frames", "packets", "--udp-buffer", "16K"];
    let (child, _lines, sender, address) = udp(&store, &more);
    // A recorder that cannot read.
    signal(&child, "-STOP");
    let sent = 500_u32;
    for number in 0..sent {
        let mut packet = [0; 400];
        packet[..4].copy_from_slice(&number.to_le_bytes());
        sender.send(&packet).unwrap();
    }
    signal(&child, "-CONT");
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-TERM");
    let report = json(&child.wait_with_output().unwrap(), 3);
    let count = |key: &str| report["sources"][0][key].as_u64().unwrap();
    assert!(count("dropped_by_kernel") > 0 && count("datagrams") > 0);
    assert_eq!(count("dropped_by_kernel") + count("datagrams"), u64::from(sent));
    let packets = run(&["cat", &store, "packets", "--format", "raw"]).stdout;
    assert_eq!(packets.len() as u64, count("datagrams") * 400);
    let numbers: Vec<u32> =
        packets.chunks(400).map(|p| u32::from_le_bytes(p[..4].try_into().unwrap())).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b), "order kept");
    // The log itself says so.
    let series = format!("udp_dropped{{address=\"{address}\"}}");
    let last = text(&run(&["cat", &store, &series, "--last", "1"]), 0);
    assert!(last.trim().ends_with(&format!("  {}", count("dropped_by_kernel"))), "{last}");
}

#[test]
fn datagrams_cannot_fill_a_catalog_however_often_it_restarts() {
    let folder = Folder::new("sources-limit");
    let store = folder.path("store");
    let series = |store: &str| {
        let listed = json(&run(&["list", store, "--format", "json"]), 0);
        let names = listed.as_array().unwrap().iter();
        names.map(|one| one["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let declared = ["--declare", "honest:f64"];
    // Each life has two series of its own beside `honest`, which tell what its socket lost.
    for life in 0..3 {
        let (child, _lines, sender, _) =
            udp(&store, &[&declared[..], &["--udp-series", "40"]].concat());
        for number in 0..100 {
            sender.send(format!("1,flood{life}_{number},1\n").as_bytes()).unwrap();
        }
        sender.send(format!("{life},honest,{life}\n").as_bytes()).unwrap();
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, "-TERM");
        let report = json(&child.wait_with_output().unwrap(), 3);
        let refused = report["sources"][0]["bad_inputs"].as_u64().unwrap();
        assert_eq!(refused, if life == 0 { 100 - 37 } else { 100 }, "{life}");
        let found = series(&store);
        let own = found.iter().filter(|name| name.starts_with("udp_")).count();
        assert_eq!((found.len() - own, own), (1 + 37, 2 * (life + 1)), "{life}: {found:?}");
    }
    // What is declared is taken whatever else came.
    let rows = text(&run(&["cat", &store, "honest", "--format", "csv"]), 0);
    assert_eq!(rows, "0,honest,0\n1,honest,1\n2,honest,2\n");
}

#[test]
fn datagrams_may_be_kept_to_what_is_declared() {
    let folder = Folder::new("sources-declared");
    let store = folder.path("store");
    let more = ["--declare", "known:f64", "--udp-declared-only"];
    let (child, _lines, sender, _) = udp(&store, &more);
    sender.send(b"1,new,1\n2,known,2\n").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "-TERM");
    let report = json(&child.wait_with_output().unwrap(), 3);
    assert_eq!(report["sources"][0]["bad_inputs"], 1);
    let complaints = report["sources"][0]["complaints"].to_string();
    assert!(complaints.contains("expected one of the series declared so far"), "{complaints}");
    assert_eq!(text(&run(&["cat", &store, "known", "--format", "csv"]), 0), "2,known,2\n");
    assert!(!text(&run(&["list", &store]), 0).contains("new"));
    let both =
        ["record", &store, "--udp", "127.0.0.1:0", "--udp-declared-only", "--udp-series", "1"];
    assert_eq!(run(&both).status.code(), Some(2));
}

#[test]
fn the_network_is_listened_to_only_when_asked() {
    let folder = Folder::new("sources-network");
    let store = folder.path("store");
    text(&run(&["init", &store, "--size", "8M"]), 0);
    let output = run(&["record", &store, "--udp", "0.0.0.0:0", "--for", "100ms"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("allow it with --udp-network"), "{}", stderr(&output));
    let allowed = ["record", &store, "--udp", "0.0.0.0:0", "--udp-network", "--for", "100ms"];
    text(&run(&allowed), 0);
    let none = run(&["record", &store, "--udp", "localhost", "--for", "100ms"]);
    assert_eq!(none.status.code(), Some(2));
    assert!(stderr(&none).contains("expected an address and a port"), "{}", stderr(&none));
}

#[test]
fn a_range_is_exported_beside_a_running_recorder() {
    let folder = Folder::new("sources-export");
    let (store, csv, mcap) = (folder.path("store"), folder.path("a.csv"), folder.path("b.mcap"));
    let record = [
        "record",
        &store,
        "--init",
        "64M",
        "--generate",
        "--interval",
        "1ms",
        // The log does not recycle: it is to last.
        "--frame-bytes",
        "1K",
        "--layout",
        "generated=seed:u64@0,n:u64",
        "--udp",
        "127.0.0.1:0",
        "--format",
        "json",
    ];
    let (child, _lines, _) = start(&record, ": listening");
    let enough = || {
        let info = run(&["info", &store, "--format", "json"]);
        let info: Value = serde_json::from_slice(&info.stdout).unwrap_or_default();
        info["records"].as_u64().unwrap_or(0) > 300
    };
    for _ in 0..500 {
        if enough() {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let export = ["export", &store, &csv, "--series", "generated.n", "--format", "json"];
    let report = json(&run(&export), 0);
    let rows = report["rows"].as_u64().unwrap();
    assert!(rows >= 300);
    let lines = std::fs::read_to_string(&csv).unwrap();
    let numbers: Vec<u64> = lines
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap().parse().unwrap())
        .collect();
    assert!(numbers.iter().copied().eq(0..rows));
    let times: Vec<&str> = lines.lines().skip(1).map(|l| l.split(',').next().unwrap()).collect();
    // A range: from the tenth row up to, not with, the twentieth.
    let range =
        ["export", &store, &mcap, "--from", times[10], "--to", times[20], "--format", "json"];
    let report = json(&run(&range), 0);
    // Each frame as it is, and its fields.
    assert_eq!(report["rows"], 20);
    let bytes = std::fs::read(&mcap).unwrap();
    assert!(bytes.starts_with(b"\x89MCAP0\r\n") && bytes.ends_with(b"\x89MCAP0\r\n"));
    let again = run(&range);
    assert_eq!(again.status.code(), Some(1));
    assert!(stderr(&again).contains("b.mcap: is there already"), "{}", stderr(&again));
    assert_eq!(std::fs::read(&mcap).unwrap(), bytes, "what was there stays");
    let out = run(&["export", &store, "-", "--series", "generated.n", "--to", times[1]]);
    assert_eq!(
        text(&out, 0),
        format!("time,series,value,value_type\n{},generated.n,0,u64\n", times[0])
    );
    for wrong in [&["export", &store, "-", "--output", "mcap"][..], &["export", &store, "name"]] {
        assert_eq!(run(wrong).status.code(), Some(2));
    }
    signal(&child, "-TERM");
    let report = json(&child.wait_with_output().unwrap(), 0);
    assert_eq!(report["lost"], 0);
}

#[test]
fn a_listener_beside_a_recorder_begins_and_ends_with_it() {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_baro")).with_file_name("baro-listen");
    if !program.exists() {
        println!("skipped: no {} (cargo build -p baro-listen)", program.display());
        return;
    }
    let folder = Folder::new("sources-http");
    let store = folder.path("store");
    let record = ["record", &store, "--init", "8M", "--http", "127.0.0.1:0", "--format", "json"];
    let (mut child, lines, line) = start(&record, "listening on http://");
    let address = line.split_once("http://").unwrap().1.split(' ').next().unwrap().to_owned();
    let post = |body: &str| {
        let mut stream = std::net::TcpStream::connect(&address).unwrap();
        let length = body.len();
        write!(
            stream,
            "POST /write HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .unwrap();
        let mut answer = String::new();
        BufReader::new(stream).read_line(&mut answer).unwrap();
        answer
    };
    assert_eq!(post("m v=1.5 1700000000000000000"), "HTTP/1.1 204 No Content\r\n");
    signal(&child, "-TERM");
    let said: Vec<String> = lines.lines().map_while(Result::ok).collect();
    let status = child.wait().unwrap();
    assert!(status.success(), "{status}: {said:#?}");
    assert!(std::net::TcpStream::connect(&address).is_err(), "it listens still");
    let rows = text(&run(&["query", &store, "m_v", "--format", "csv"]), 0);
    assert!(rows.contains(",1.5"), "{rows}");
}
