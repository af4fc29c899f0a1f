//! `lab-load`: records what a power cut will hit, and judges what is left. Runs in a guest of the
//! lab; its options are for scripts.
#![allow(clippy::disallowed_methods, reason = "automation, not a part of the product")]

use lab_load::scenario::{Scenario, scenario};
use lab_load::write::{Ended, Request};
use lab_load::{SCENARIOS, Statement, fault, verify, write};
use std::collections::HashMap;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

const USAGE: &str = "\
lab-load list                                   names of the scenarios
lab-load write --store DIR --scenario NAME --seed N [--acks FILE] [--for-ms N]
lab-load verify --store DIR --scenario NAME --seed N --ack FILE|none [--rounds N]
lab-load fault --store DIR --seed N [--acks FILE] [--for-ms N]
lab-load statement FILE                         what a block of 4 KiB says
write prints READY when it begins to push. verify prints one line, ok or BAD, and ends with 0 or 1.";

/// Options by name, and what stands alone.
struct Line {
    options: HashMap<String, String>,
    alone: Vec<String>,
}

fn parse(mut words: impl Iterator<Item = String>, known: &[&str]) -> Result<Line, String> {
    let mut line = Line { options: HashMap::new(), alone: Vec::new() };
    while let Some(word) = words.next() {
        match word.strip_prefix("--") {
            Some(name) if known.contains(&name) => {
                let value = words.next().ok_or(format!("--{name} needs a value"))?;
                line.options.insert(name.to_owned(), value);
            }
            Some(_) => return Err(format!("{word}: no such option here")),
            None => line.alone.push(word),
        }
    }
    Ok(line)
}

impl Line {
    fn text(&self, name: &str) -> Result<&str, String> {
        let value = self.options.get(name).map(String::as_str);
        value.ok_or_else(|| format!("--{name} is missing"))
    }

    fn number(&self, name: &str, otherwise: Option<u64>) -> Result<u64, String> {
        let Some(value) = self.options.get(name) else {
            return otherwise.ok_or_else(|| format!("--{name} is missing"));
        };
        value.parse().map_err(|_| format!("--{name}: expected a number, found {value}"))
    }

    fn scenario(&self) -> Result<&'static Scenario, String> {
        let name = self.text("scenario")?;
        scenario(name).ok_or_else(|| format!("--scenario {name}: no such one; lab-load list"))
    }

    fn request(&self, scenario: &'static Scenario) -> Result<Request, String> {
        Ok(Request {
            store: PathBuf::from(self.text("store")?),
            acks: self.options.get("acks").map(PathBuf::from),
            scenario,
            seed: self.number("seed", None)?,
            for_ns: self.number("for-ms", Some(u64::MAX / 2_000_000))?.saturating_mul(1_000_000),
        })
    }
}

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let done = match command.as_str() {
        "list" => {
            SCENARIOS.iter().for_each(|one| println!("{}", one.name));
            Ok(ExitCode::SUCCESS)
        }
        "write" => parse(words, &["store", "scenario", "seed", "acks", "for-ms"]).and_then(record),
        "verify" => parse(words, &["store", "scenario", "seed", "ack", "rounds"]).and_then(judge),
        "fault" => parse(words, &["store", "seed", "acks", "for-ms"]).and_then(faulty),
        "statement" => parse(words, &[]).and_then(|line| show(&line)),
        _ => Err("no such command".to_owned()),
    };
    done.unwrap_or_else(|complaint| {
        eprintln!("lab-load {command}: {complaint}\n{USAGE}");
        ExitCode::from(2)
    })
}

fn record(line: Line) -> Result<ExitCode, String> {
    let request = line.request(line.scenario()?)?;
    let ready = || {
        println!("READY");
        let _ = std::io::stdout().flush();
    };
    Ok(match write::run(&request, ready, |_| true) {
        Ok(ended) => told(&ended),
        Err(reason) => {
            println!("FAILED {reason}");
            ExitCode::FAILURE
        }
    })
}

fn told(ended: &Ended) -> ExitCode {
    let Ended { closed, statement, complaints, pushed } = ended;
    complaints.iter().for_each(|complaint| println!("COMPLAINT {complaint}"));
    println!(
        "DONE statements={} taken={} full={} large={} left={} device_bytes={} segments={}",
        statement.number(),
        pushed.taken,
        pushed.full,
        pushed.large,
        closed.left,
        closed.status.device_bytes,
        closed.status.segments_started
    );
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn judge(line: Line) -> Result<ExitCode, String> {
    let path = line.text("ack")?;
    let statement = match path {
        "none" => None,
        path => {
            let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
            let found = Statement::decode(&bytes);
            Some(found.ok_or(format!("{path}: expected a statement in its first 4 KiB"))?)
        }
    };
    let request = verify::Request {
        store: PathBuf::from(line.text("store")?),
        statement,
        scenario: line.scenario()?,
        seed: line.number("seed", None)?,
    };
    // More than one round is for measuring.
    let mut verdict = verify::judge(&request);
    for _ in 1..line.number("rounds", Some(1))? {
        verdict = verify::judge(&request);
    }
    Ok(match verdict {
        Ok(judged) => {
            println!("ok {judged}");
            ExitCode::SUCCESS
        }
        Err(what) => {
            println!("BAD {}", what.replace('\n', "; "));
            ExitCode::FAILURE
        }
    })
}

fn faulty(line: Line) -> Result<ExitCode, String> {
    let scenario = scenario("fault").ok_or("no scenario of that name")?;
    let request = line.request(scenario)?;
    Ok(match fault::run(&request) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(reason) => {
            println!("FAILED {reason}");
            ExitCode::FAILURE
        }
    })
}

fn show(line: &Line) -> Result<ExitCode, String> {
    let path = line.alone.first().ok_or("the file is missing")?;
    let bytes = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    match Statement::decode(&bytes) {
        Some(statement) => {
            println!("{statement:#?}");
            Ok(ExitCode::SUCCESS)
        }
        None => Err(format!("{path}: expected a statement in its first 4 KiB")),
    }
}
