//! Random lines of the line protocol, given to InfluxDB and to our parser.

use crate::place::Folder;
use crate::{COUNT, Random, number, peer};
use baro_ondisk::write_name;
use baro_sources::influx::{InfluxParser, InfluxValue};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server of this test's own.
struct Influxd {
    child: Child,
    address: String,
}

impl Drop for Influxd {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Influxd {
    fn start(program: &Path, folder: &Folder) -> Self {
        let [meta, data, wal] = ["meta", "data", "wal"].map(|name| folder.path(name));
        let settings = format!(
            "reporting-disabled = true\nbind-address = \"127.0.0.1:0\"\n[meta]\ndir = {meta:?}\n\
             [data]\ndir = {data:?}\nwal-dir = {wal:?}\nquery-log-enabled = false\n\
             [http]\nbind-address = \"127.0.0.1:0\"\nlog-enabled = false\n\
             [monitor]\nstore-enabled = false\n"
        );
        let file = folder.path("influxd.conf");
        std::fs::write(&file, settings).unwrap();
        let mut command = Command::new(program);
        command.args(["-config", &file]).stdin(Stdio::null()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap());
        let (mut address, mut said) = (None, String::new());
        while address.is_none() {
            let mut line = String::new();
            assert!(log.read_line(&mut line).unwrap() > 0, "influxd has ended: {said}");
            if line.contains("Listening on HTTP") {
                let word =
                    line.split_ascii_whitespace().find_map(|word| word.strip_prefix("addr="));
                address = word.map(str::to_owned);
            }
            said.push_str(&line);
        }
        // What it goes on saying is read, or it would wait.
        std::thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let influxd = Influxd { child, address: address.unwrap() };
        let made = influxd.ask("/query?q=CREATE%20DATABASE%20peers", "").unwrap();
        assert_eq!(made.0, 200, "{}", made.1);
        influxd
    }

    /// The status and the body of an answer; `None` where it has none, since it has panicked.
    fn ask(&self, path: &str, body: &str) -> Option<(u16, String)> {
        let mut stream = TcpStream::connect(&self.address).ok()?;
        let bytes = body.len();
        let head = format!("POST {path} HTTP/1.0\r\nContent-Length: {bytes}\r\n\r\n");
        stream.write_all(head.as_bytes()).ok()?;
        stream.write_all(body.as_bytes()).ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, body.to_owned()))
    }
}

/// Of a line: series, and time where the line says it, with their values.
type Line = BTreeMap<(String, Option<i64>), String>;

fn shown(value: &InfluxValue<'_>) -> String {
    match value {
        InfluxValue::Float(value) => format!("f{:016x}", (value + 0.0).to_bits()),
        InfluxValue::Integer(value) => format!("i{value}"),
        InfluxValue::Unsigned(value) => format!("u{value}"),
        InfluxValue::Boolean(value) => format!("b{value}"),
        InfluxValue::Text(text) => format!("t{text}"),
    }
}

/// What our parser makes of a line, or why nothing.
fn ours(line: &str) -> Result<Line, String> {
    let (mut read, mut fault) = (Line::new(), None);
    let mut parser = InfluxParser::new(1);
    let mut item = |item: Result<baro_sources::influx::InfluxSample<'_>, _>| match item {
        Ok(sample) => {
            read.insert((sample.series.to_owned(), sample.time_ns), shown(&sample.value));
        }
        Err(error) => fault = Some(format!("{error}")),
    };
    parser.feed(line.as_bytes(), &mut item);
    parser.finish(&mut item);
    match fault {
        Some(fault) => Err(fault),
        None => Ok(read),
    }
}

/// Makes lines: most are as they should be, some have a letter too many or too few.
fn line(random: &mut Random, at: u64) -> String {
    const LETTERS: [&str; 12] =
        ["a", "B", "7", "_", "é", "\\ ", "\\,", "\\=", "\\", "\"", "-", "#"];
    let name = |random: &mut Random| {
        format!("{}{}", random.pick(&["a", "b", "c"]), random.some(&LETTERS, 4))
    };
    let mut line = format!("m{at}x{}", random.some(&LETTERS, 4));
    for _ in 0..random.below(3) {
        let (key, value) = (name(random), name(random));
        line.push_str(&format!(",{key}={value}"));
    }
    line.push(' ');
    for field in 0..=random.below(3) {
        if field > 0 {
            line.push(',');
        }
        let value = match random.below(8) {
            0 => random
                .pick(&[
                    "t", "T", "true", "True", "TRUE", "f", "F", "false", "False", "FALSE", "tRUE",
                    "nan", "inf",
                ])
                .to_owned(),
            1 => format!("{}i", random.below(1 << 40)),
            2 => random
                .pick(&[
                    "9223372036854775807i",
                    "-9223372036854775808i",
                    "9223372036854775808i",
                    "0i",
                    "-0i",
                    "+1i",
                    "1u",
                    "1.5i",
                    "i",
                ])
                .to_owned(),
            3 => format!("{}.{}", random.below(1000), random.below(1_000_000)),
            4 => random
                .pick(&[
                    "1",
                    "-1",
                    "1.",
                    ".5",
                    "1e3",
                    "1E-3",
                    "1e400",
                    "+1",
                    "-0",
                    "0x1",
                    "1e",
                    "--1",
                    "1_0",
                    "5e-324",
                    "1.7976931348623157e308",
                ])
                .to_owned(),
            _ => format!(
                "\"{}\"",
                random.some(&["a", " ", ",", "=", "\\\"", "\\\\", "\\n", "é", "\n", "#", "\\,"], 6)
            ),
        };
        line.push_str(&format!("{}={value}", name(random)));
    }
    match random.below(6) {
        0 => {}
        1 => line.push_str(random.pick(&[
            " ",
            " x",
            " 1.5",
            " 99999999999999999999",
            " -5",
            "  7",
            " 7 ",
            " 7 8",
            " +7",
        ])),
        _ => line.push_str(&format!(" {}", random.below(1 << 60))),
    }
    if random.below(3) == 0 {
        let ends: Vec<usize> = line.char_indices().map(|(at, _)| at).skip(8).collect();
        let place = ends[random.below(ends.len() as u64) as usize];
        match random.below(2) {
            0 => drop(line.remove(place)),
            _ => line.insert_str(place, random.pick(&[" ", ",", "=", "\"", "\\", "i", "\t", "  "])),
        }
    }
    line
}

/// What InfluxDB has of a line that it took: series, time, value.
fn theirs(influxd: &Influxd, at: u64) -> Option<Vec<(String, i64, String)>> {
    let path = format!("/query?db=peers&epoch=ns&q=SELECT%20*%20FROM%20/^m{at}x/%20GROUP%20BY%20*");
    let (status, body) = influxd.ask(&path, "")?;
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    let mut all = Vec::new();
    for series in answer["results"][0]["series"].as_array().into_iter().flatten() {
        let measurement = series["name"].as_str().unwrap();
        // A tag that a series does not have is empty.
        let tags = series["tags"].as_object().into_iter().flatten();
        let tags: BTreeMap<&str, &str> = tags
            .map(|(key, value)| (key.as_str(), value.as_str().unwrap()))
            .filter(|(_, value)| !value.is_empty())
            .collect();
        for row in series["values"].as_array().unwrap() {
            let columns = series["columns"].as_array().unwrap().iter().zip(row.as_array().unwrap());
            for (field, value) in columns.skip(1).filter(|(_, value)| !value.is_null()) {
                let mut name = String::new();
                let metric = format!("{measurement}_{}", field.as_str().unwrap());
                write_name(&mut name, &metric, tags.iter());
                let value = match value {
                    Value::Bool(value) => format!("b{value}"),
                    Value::String(text) => format!("t{text}"),
                    number => number.to_string(),
                };
                all.push((name, row[0].as_i64().unwrap(), value));
            }
        }
    }
    Some(all)
}

/// Whether a value of JSON is ours.
fn is_same(ours: &str, theirs: &str) -> bool {
    match (ours.as_bytes().first(), theirs.parse::<f64>()) {
        (Some(b'f'), Ok(number)) => ours == format!("f{:016x}", (number + 0.0).to_bits()),
        (Some(b'i'), Ok(_)) => ours.get(1..) == Some(theirs),
        _ => ours == theirs,
    }
}

/// A backslash before a backslash is one of two letters here, and nothing there; before a quote it is gone
/// from names there, and stays here. So names may differ, or where they end.
fn has_other_names(line: &str) -> bool {
    line.contains("\\\\") || line.contains("\\\"")
}

/// What we refuse on purpose: letters behind a text, a second = or a tab, of which InfluxDB makes something;
/// a field that comes twice.
fn refused_here(line: &str, why: &str) -> bool {
    why.contains("twice")
        || why.contains("behind the value")
        || line.contains('\t')
        || has_other_names(line)
}

/// What we take on purpose: integers without a sign, and a sign before a number.
fn taken_here(line: &str) -> bool {
    line.contains("=1u") || line.contains("=+1") || has_other_names(line)
}

#[test]
fn lines_are_read_as_influxdb_reads_them() {
    let Some(program) = peer("influxd") else { return };
    let mut folder = Folder::new("peers-influx");
    let mut influxd = Influxd::start(&program, &folder);
    let mut random = Random::new();
    let count = number("BARO_PEERS_COUNT", COUNT);
    let (mut same, mut wrong) = (0, Vec::new());
    for at in 0..count {
        let line = line(&mut random, at);
        let answer = influxd.ask("/write?db=peers", &line);
        let found = match &answer {
            Some((204, _)) => theirs(&influxd, at),
            answer => answer.as_ref().map(|_| Vec::new()),
        };
        let (Some((status, body)), Some(found)) = (answer, found) else {
            // Some lines end it, for good.
            drop(influxd);
            folder = Folder::new(&format!("peers-influx-{at}"));
            influxd = Influxd::start(&program, &folder);
            continue;
        };
        // Some it takes, and then fails at itself.
        if status == 500 && body.contains("engine: ") {
            continue;
        }
        assert!(matches!(status, 204 | 400), "{line}: {status} {body}");
        let ours = ours(&line);
        let fits = match (&ours, status == 204) {
            (Err(_), false) => true,
            (Err(why), true) => refused_here(&line, why),
            (Ok(_), false) => taken_here(&line),
            (Ok(ours), true) => {
                same += 1;
                let is_there = |(name, time_ns, value): &(String, i64, String)| {
                    let stated = ours.get(&(name.clone(), Some(*time_ns)));
                    let value_here = stated.or_else(|| ours.get(&(name.clone(), None)));
                    value_here.is_some_and(|here| is_same(here, value))
                };
                let all = found.len() == ours.len() && found.iter().all(is_there);
                all || has_other_names(&line)
            }
        };
        if !fits {
            wrong.push(format!("{line:?}: {ours:?}; there {found:?} {}", body.trim()));
        }
    }
    println!("{same} of {count} lines are taken by both");
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(same * 4 > count);
}
