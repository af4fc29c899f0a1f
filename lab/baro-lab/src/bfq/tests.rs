//! Recorded lines of Linux 6.18 (testdata/bfq), figures counted from them with grep and awk; and the
//! model on sequences small enough to be calculated by hand.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "tests")]

use super::account::Account;
use super::message::{Line, Reason, Said, Step, What, parse};
use super::model::{Model, Moved};
use super::recording::lost_in;
use super::worker::{WorkerSpec, work};
use std::cell::Cell;
use std::io::{BufReader, Read};
use std::sync::mpsc::{Receiver, channel};

const RECORDED: &str = include_str!("../../../../testdata/bfq/write-10m-budget-16384.txt");

fn recorded() -> Account {
    let mut account = Account::new("7,0", &[(29424, 200), (29425, 100)], 0, u64::MAX);
    RECORDED.lines().for_each(|line| account.line(line));
    account
}

#[test]
fn lines_are_read_as_the_kernel_writes_them() {
    let line = "jbd2/loop0-8-29032   [001] d..1. 63777.298692:   7,0   1,0  m   N bfq29032S expire \
                (1, slow 1, num_disp 0, short_ttime 1)";
    let what = What::Queue("29032", Said::Expired { reason: Reason::Timeout, slow: true });
    let expected = Line { time_us: 63_777_298_692, task: "29032", device: "7,0", what };
    assert_eq!(parse(line), Some(expected));
    // Linux 5.10 shows no group, and names may have blanks and brackets.
    let line =
        "opt [01] x-17   [000] d... 1.000002:   8,16   m   N bfqSHARED-S bfqq_served 1024 secs";
    let what = What::Queue("SHARED-", Said::Charged(1024));
    assert_eq!(parse(line), Some(Line { time_us: 1_000_002, task: "17", device: "8,16", what }));
    let line = "fio-7   [000] d..1. 1.5:   7,0    D  WS 313344 + 1024 [fio]";
    assert_eq!(parse(line), None, "a stamp without microseconds");
    let line = "fio-7   [000] d..1. 1.500000:   7,0    D  WS 313344 + 1024 [fio]";
    let what = What::Request { step: Step::Issue, sector: 313_344, sectors: 1024 };
    assert_eq!(parse(line), Some(Line { time_us: 1_500_000, task: "7", device: "7,0", what }));
    let line = "fio-7   [000] d..1. 1.500000:   7,0   1,0  m   N bfq [bfq_limit_depth] wr_busy 0 \
                sync 1 depth 192";
    assert_eq!(parse(line).unwrap().what, What::TagLimit(192));
}

#[test]
fn what_is_charged_is_bytes_and_time() {
    let account = recorded();
    let [a, b] = account.groups() else { panic!("two groups") };
    assert_eq!(a.charged_bytes, CHARGED_SECTORS[0] * 512);
    assert_eq!(b.charged_bytes, CHARGED_SECTORS[1] * 512);
    assert_eq!(a.issued_bytes + b.issued_bytes, ISSUED_SECTORS * 512);
    assert_eq!(a.time_bytes(), a.charged_bytes - a.issued_bytes);
    assert!(a.time_bytes() > 4 << 20, "{a:?}");
    assert_eq!(a.virtual_bytes(), a.charged_bytes, "all in its turns, no lag, no budget lost");
    assert!(a.done_bytes <= a.issued_bytes && b.done_bytes <= b.issued_bytes);
    assert_eq!(a.expired[Reason::Timeout as usize], TIMEOUTS[0]);
    assert_eq!(b.expired[Reason::Timeout as usize], TIMEOUTS[1]);
    assert_eq!(a.turns() + b.turns(), TURNS);
    assert_eq!(account.totals().tag_limit, 192);
    assert_eq!(account.totals().at_limit_us, 0);
    assert!(
        a.tags_max >= 20 && account.tags_mean(0) <= a.tags_max as f64,
        "a call has 20 requests"
    );
}

#[test]
fn the_model_expects_each_choice() {
    let totals = recorded().totals();
    assert_eq!((totals.choices, totals.expected), (CHOICES, CHOICES));
    // The same with the weights exchanged: the model must be able to be wrong.
    let mut wrong = Account::new("7,0", &[(29424, 100), (29425, 200)], 0, u64::MAX);
    RECORDED.lines().for_each(|line| wrong.line(line));
    assert!(wrong.totals().expected < wrong.totals().choices, "{:?}", wrong.totals());
}

#[test]
fn only_the_time_asked_for_is_counted() {
    let times: Vec<u64> = RECORDED.lines().filter_map(|line| Some(parse(line)?.time_us)).collect();
    let middle = times[times.len() / 2];
    let mut of = [(0, middle - 1), (middle, u64::MAX)].map(|(from, to)| {
        let mut account = Account::new("7,0", &[(29424, 200), (29425, 100)], from, to);
        RECORDED.lines().for_each(|line| account.line(line));
        let charged: u64 = account.groups().iter().map(|group| group.charged_bytes).sum();
        (charged, account.totals().choices)
    });
    let whole = recorded();
    let charged: u64 = whole.groups().iter().map(|group| group.charged_bytes).sum();
    let [(first, some), (second, others)] = &mut of;
    assert_eq!((*first + *second, *some + *others), (charged, CHOICES));
    assert!(*first > 0 && *second > 0);
}

/// A was charged 1000 sectors and went idle; B is charged 4000; A comes back with a budget of 1000.
fn comes_back(reason: Reason, in_time: bool) -> Option<Moved> {
    let mut model = Model::default();
    let (a, b) = (model.add(200), model.add(100));
    for entity in [a, b] {
        model.activate(entity, true);
        assert_eq!(model.set_budget(entity, 1000), None, "the first activation moves nothing");
    }
    assert_eq!(model.choose(a), Some(true));
    model.charge(a, 1000);
    model.expire(a, reason);
    assert_eq!(model.deactivate(a), 0, "its turn had ended");
    assert_eq!(model.choose(b), Some(true));
    model.charge(b, 4000);
    model.activate(a, in_time);
    model.set_budget(a, 1000)
}

#[test]
fn a_forgotten_lag_is_counted() {
    // Virtual time is 5000/300 when A comes back; A had ended at 1000/200. The rest is lost.
    let lag = (5000.0_f64 / 300.0 - 5.0) * 200.0;
    let moved = comes_back(Reason::Exhausted, true).unwrap();
    assert_eq!((moved.forgotten_sectors, moved.back), (lag as u64, false));
    assert_eq!(comes_back(Reason::Idle, false), Some(moved), "too late to go on where it ended");
    // Had it waited, it would start where it ended, but finish (at 10) no earlier than now.
    let moved = comes_back(Reason::Idle, true).unwrap();
    assert_eq!(
        (moved.forgotten_sectors, moved.back),
        (((5000.0 / 300.0 - 10.0) * 200.0) as u64, true)
    );
}

#[test]
fn who_is_emptied_in_anothers_turn_pays_for_a_budget_it_never_got() {
    let mut model = Model::default();
    let (a, b) = (model.add(200), model.add(100));
    for entity in [a, b] {
        model.activate(entity, true);
        model.set_budget(entity, 1000);
    }
    assert_eq!(model.choose(a), Some(true));
    assert!(model.charge(a, 10));
    assert!(!model.charge(b, 8), "it is the turn of another");
    assert_eq!(model.deactivate(b), 1000);
    // It is remembered for it: the next activation begins where the lost budget would have ended.
    model.activate(b, true);
    let moved = Moved { forgotten_sectors: 0, back: false };
    assert!(model.set_budget(b, 1000).is_none_or(|found| found == moved));
    assert_eq!(model.deactivate(b), 1000);
}

#[test]
fn who_is_not_served_and_who_has_all_tags() {
    let mut account = Account::new("7,0", &[(1, 200), (2, 100)], 0, u64::MAX);
    let mut lines =
        vec!["x-1 [000] d 0.000000: 7,0  1,0 m   N bfq [bfq_limit_depth] depth 2".into()];
    for (task, at, step, sector) in [
        (1, "000000", "G", 0),
        (1, "000001", "I", 0),
        (1, "000002", "G", 8),
        (1, "000003", "I", 8),
        (2, "000010", "D", 0),
        (2, "000700", "D", 8),
        (9, "000900", "C", 0),
        (9, "001000", "C", 8),
    ] {
        lines.push(format!("x-{task} [000] d 0.{at}:   7,0    {step}  R {sector} + 8 [x]"));
    }
    lines.iter().for_each(|line: &String| account.line(line));
    let [a, b] = account.groups() else { panic!("two groups") };
    assert_eq!((a.done_bytes, a.issued_bytes, b.done_bytes), (8192, 8192, 0));
    assert_eq!(a.unserved_max_us, 690);
    assert_eq!(a.tags_max, 2);
    assert_eq!(account.totals().at_limit_us, 898, "from the second tag to the first completion");
}

#[test]
fn any_text_is_taken() {
    let mut account = Account::new("7,0", &[(29424, 200), (29425, 100)], 0, u64::MAX);
    for line in RECORDED.lines().take(400) {
        for cut in 0..line.len() {
            account.line(line.get(..cut).unwrap_or_default());
            account.line(line.get(cut..).unwrap_or_default());
        }
        // Each number as large as it can be.
        let huge = line.replace("1024", &u64::MAX.to_string()).replace("0.", "18446744073.");
        account.line(&huge);
    }
    account.line("ä-1 [00ä] [000] d 1.0000ö0: 7,0  m   N bfqäS bfqq_served ä");
    assert!(account.totals().span_us > 0);
}

#[test]
fn lost_lines_are_told() {
    let stats = "entries: 100\noverrun: 7\ncommit overrun: 3\nbytes: 9\ndropped events: 2\n\
                 read events: 4\n";
    assert_eq!(lost_in(stats), 9);
    assert_eq!(lost_in("entries: 1\n"), 0);
}

/// An input that says `go` and ends when the other side is dropped.
struct Input(&'static [u8], Receiver<()>);

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.0.is_empty() {
            let _ = self.1.recv();
            return Ok(0);
        }
        self.0.read(buffer)
    }
}

#[test]
fn a_worker_does_what_it_says() {
    let folder = std::env::temp_dir().join(format!("baro-bfq-worker-{}", std::process::id()));
    std::fs::create_dir(&folder).unwrap();
    let spec = WorkerSpec {
        file: folder.join("file"),
        file_bytes: 40_000,
        block_bytes: 16_384,
        write: true,
    };
    let (open, closed) = channel();
    let (calls, mut output) = (Cell::new(0), Vec::new());
    let stop = || calls.replace(calls.get() + 1) == 3;
    let done = work(&spec, BufReader::new(Input(b"go\n", closed)), &mut output, &stop);
    drop(open);
    let size = std::fs::metadata(&spec.file).unwrap().len();
    std::fs::remove_dir_all(&folder).unwrap();
    if let Err(error) = done {
        println!("skipped: no direct I/O here: {error}");
        return;
    }
    assert_eq!(size, 2 * 16_384);
    let text = String::from_utf8(output).unwrap();
    let ready = format!("ready {}\ndone 3 {} ", std::process::id(), 3 * 16_384);
    assert!(text.starts_with(&ready), "{text}");
    let odd = WorkerSpec { block_bytes: 1000, ..spec };
    let refused = work(&odd, &b""[..], Vec::new(), &|| false).unwrap_err();
    assert!(refused.to_string().contains("multiple of 4096"), "{refused}");
}

// Counted with grep and awk from the same lines.
const CHARGED_SECTORS: [u64; 2] = [161_792, 75_776];
const TIMEOUTS: [u64; 2] = [4, 2];
const TURNS: u64 = 15;
const CHOICES: u64 = 16;
const ISSUED_SECTORS: u64 = 180224;
