//! What is on a page: balanced tags of the kinds that are made here, all else text.

use super::decoder::Trace;
use super::{FIXTURES, Hostile, drawn, fixture, slow_calls};
use crate::record::{Device, Name};
use crate::render::{PAGE_BYTES_MAX, SlowCall, View, html};
use crate::schema::RunStats;
use crate::timeline::{
    Disk, Journal, JournalSample, Processor, Request, Task, Timeline, Transaction, Wait, WaitKind,
};

/// All tags that a page may have.
const TAGS: &str = "article body br button code dd details div dl dt g h1 h2 h3 head header html i li main meta \
                    ol p path rect script section span strong style summary svg table tbody td text th thead \
                    title tr ul";
const ATTRIBUTES: &str = "charset class content d data-duration-ns height hidden http-equiv \
                          id lang name open preserveAspectRatio role scope style transform type viewBox \
                          visibility width x y";
const ALONE: [&str; 2] = ["meta", "br"];
const ENTITIES: [&str; 5] = ["amp;", "lt;", "gt;", "quot;", "#39;"];

/// What a browser would see of a page.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// All text outside of scripts and styles, entities replaced.
    pub(super) text: String,
    pub(super) elements: Vec<String>,
}

/// Reads a page. Panics if a tag is not closed, is of an unknown kind, or a markup character stands
/// alone.
pub(super) fn read(html: &str) -> Page {
    let mut page = Page::default();
    let mut open: Vec<String> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>").unwrap();
    while !rest.is_empty() {
        let (text, after) = rest.split_at(rest.find('<').unwrap_or(rest.len()));
        page.text.push_str(&plain(text));
        let Some(tag) = after.strip_prefix('<') else { break };
        let (tag, after) = tag.split_once('>').unwrap();
        rest = after;
        if let Some(name) = tag.strip_prefix('/') {
            assert_eq!(open.pop().as_deref(), Some(name), "closed in order");
            continue;
        }
        let (tag, alone) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        assert!(TAGS.split_whitespace().any(|known| known == name), "<{tag}>");
        check_attributes(attributes);
        page.elements.push(tag.to_owned());
        if name == "script" || name == "style" {
            let end = rest.find(&format!("</{name}>")).unwrap();
            rest = &rest[end..];
        }
        if !alone && !ALONE.contains(&name) {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "{open:?} are not closed");
    page
}

fn check_attributes(mut attributes: &str) {
    while !attributes.trim().is_empty() {
        let end = attributes.find(['=', ' ']).unwrap_or(attributes.len());
        let (name, after) = attributes.split_at(end);
        assert!(ATTRIBUTES.split_whitespace().any(|known| known == name), "{name}");
        attributes = match after.strip_prefix("=\"") {
            Some(value) => {
                let (value, after) = value.split_once('"').unwrap();
                assert!(!value.contains("NaN") && !value.contains("inf"), "{name}={value}");
                after
            }
            None => after,
        };
        attributes = attributes.strip_prefix(' ').unwrap_or(attributes);
    }
}

fn plain(text: &str) -> String {
    for (index, _) in text.match_indices('&') {
        let after = &text[index + 1..];
        assert!(ENTITIES.iter().any(|entity| after.starts_with(entity)), "&{after:.20}");
    }
    assert!(!text.contains('>') && !text.contains('"'), "{text}");
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}

#[test]
fn pages_are_balanced_and_escaped() {
    for (name, bytes) in FIXTURES {
        let (machine, mut line) = fixture(bytes);
        let (pid, _) = line.tasks.iter().find(|(_, task)| !task.calls.is_empty()).unwrap();
        let pid = *pid;
        let task = line.tasks.get_mut(&pid).unwrap();
        task.name = Name::new(b"</svg><script>x(1)");
        let end_ns = task.waits.first().map(|wait| wait.begin_ns + 1_000_000_000_000);
        task.waits.push(Wait {
            next_pid: None,
            processor: Processor::default(),
            kind: WaitKind::Sleep,
            begin_ns: end_ns.unwrap_or(1) - 1_000_000_000_000,
            woken_ns: None,
            end_ns,
            stack: None,
            waker: None,
        });
        let mut slow = slow_calls(&line, 20);
        slow[0].task = "\u{202e}</title><b>'\"&amp;\u{0}".to_owned();
        let remarks = ["made \"up\" <here>".to_owned()];
        let title = format!("</title><script>{name}");
        let view = View {
            title: &title,
            machine: &machine,
            line: &line,
            slow: &slow,
            names: &Hostile,
            remarks: &remarks,
        };
        let text = drawn(&view).1;
        let page = read(&text);
        for (index, call) in slow.iter().enumerate() {
            assert!(page.text.contains(&call.sentence), "{name}, {index}");
            for (command, ..) in &call.advice {
                assert!(page.text.contains(command), "{name}: {command}");
            }
        }
        assert!(text.contains("&lt;script&gt;alert("), "{name}");
        assert!(page.text.contains("</svg><script>x(1)"), "{name}: a task's name");
        assert!(page.text.contains("\u{fffd}</title><b>'\"&amp;\u{fffd}"), "{name}");
        assert!(page.text.contains(&remarks[0]) && page.text.contains(&title), "{name}");
        assert!(page.text.contains(&machine.kernel), "{name}");
        assert!(page.text.contains("Blocks in use of a journal are estimated"), "{name}");
        assert!(!page.text.contains("Something is missing"), "{name}");
        let bars = |class: &str| {
            let class = format!("class=\"{class}\"");
            page.elements
                .iter()
                .filter(|one| one.starts_with("rect") && one.contains(&class))
                .count()
        };
        assert_eq!(bars("late"), slow.len(), "{name}");
        let journals = || line.journals.values().flat_map(|journal| journal.transactions.values());
        assert_eq!(bars("logging"), journals().filter(|one| one.logging_ns.is_some()).count());
        // Nothing is fetched: the page has no attribute that could, and its styles no address.
        assert!(!text.contains("url(") && !text.contains("@import"), "{name}");
        assert!(text.contains("default-src 'none'"), "{name}");
    }
}

#[test]
fn losses_stand_at_the_top_of_the_page() {
    let (machine, mut line) = fixture(FIXTURES[0].1);
    (line.lost_events, line.dropped_spans, line.calls_are_exact) = (1_234, 5, false);
    let view =
        View { title: "t", machine: &machine, line: &line, slow: &[], names: &(), remarks: &[] };
    let page = read(&drawn(&view).1);
    let place = |text: &str| page.text.find(text);
    assert!(place("1,234 events were lost").unwrap() < place("Calls that took long").unwrap());
    assert!(place("5 spans were more than the limit").is_some());
    assert!(place("Bounds of system calls were not recorded").is_some());
    assert!(place("times an unknown number").is_none());
}

#[test]
fn space_that_was_seen_is_not_called_estimated() {
    let (machine, mut line) = fixture(FIXTURES[0].1);
    let (begin_ns, end_ns) = (line.begin_ns, line.end_ns);
    let sample = |time_ns, free_blocks| JournalSample {
        time_ns,
        free_blocks,
        total_blocks: 1_024,
        ..JournalSample::default()
    };
    for journal in line.journals.values_mut() {
        journal.samples = vec![sample(begin_ns, 1_000), sample(end_ns, 77)];
    }
    let view =
        View { title: "t", machine: &machine, line: &line, slow: &[], names: &(), remarks: &[] };
    let (trace, html) = drawn(&view);
    let page = read(&html);
    assert!(page.text.contains("Free journal blocks of"));
    assert!(page.text.contains("1,000") && !page.text.contains("(estimated)"));
    assert!(!page.text.contains("Blocks in use of a journal are estimated"));
    let trace = Trace::read(&trace);
    let free = trace.tracks.iter().find(|(_, (name, _))| name == "free");
    let (track, _) = free.unwrap();
    let values = trace.counters.iter().filter(|(of, ..)| of == track).map(|(.., value)| *value);
    assert_eq!(values.collect::<Vec<_>>(), [1_000, 77]);
}

/// A trace of an hour in which everything happened more often than a page can show.
fn huge() -> (Timeline, Vec<SlowCall>) {
    let mut line = Timeline { begin_ns: 5, end_ns: 3_600_000_000_005, ..Timeline::default() };
    // Each character takes six bytes on the page.
    let bad = "\"".repeat(2_000);
    for number in 0..40_u32 {
        let mut journal = Journal::default();
        for tid in 0..1_000 {
            let at_ns = |part: u64| Some(5 + u64::from(tid) * 3_600_000_000 + part * 700_000_000);
            let stats = RunStats {
                dev: Device(number),
                tid,
                wait_jiffies: 0,
                request_delay_jiffies: 0,
                running_jiffies: 0,
                locked_jiffies: 0,
                flushing_jiffies: 0,
                logging_jiffies: 0,
                handles: tid,
                blocks: tid,
                blocks_logged: tid * 7_919 % 1_000,
            };
            journal.transactions.insert(
                tid,
                Transaction {
                    tid,
                    begin_ns: at_ns(0),
                    commit_ns: at_ns(1),
                    locking_ns: at_ns(2),
                    flushing_ns: at_ns(3),
                    logging_ns: at_ns(4),
                    end_ns: at_ns(5),
                    stats: Some(stats),
                    ..Transaction::default()
                },
            );
        }
        line.journals.insert(Device(number), journal);
        let request = |index: u64| Request {
            sector: index,
            bytes: (index * 7_919 % 1_000_000) as u32,
            class: Name::new(if index.is_multiple_of(3) { b"R" } else { b"WS" }),
            pid: 1,
            queued_ns: None,
            issued_ns: 5 + index * 360_000_000,
            done_ns: Some(5 + index * 360_000_000 + index * 7_919 % 2_000_000_000),
        };
        line.disks.insert(Device(number), Disk { requests: (0..10_000).map(request).collect() });
        let wait = Wait {
            next_pid: None,
            processor: Processor::default(),
            kind: WaitKind::Sleep,
            begin_ns: 5,
            woken_ns: None,
            end_ns: Some(999),
            stack: None,
            waker: None,
        };
        let name = Name::new(bad.as_bytes());
        let task = Task { name, waits: vec![wait], ..Task::default() };
        line.tasks.insert(number.cast_signed(), task);
    }
    line.dirty_pages =
        (0..100_000).map(|one| (one * 36_000_000, one * 7_919 % 99_991, 80_000)).collect();
    let slow = (0..2_000_u64).map(|index| SlowCall {
        pid: -7,
        task: bad.clone(),
        call: bad.clone(),
        begin_ns: index * 1_000_000_000,
        end_ns: index * 1_000_000_000 + 2_500_000_000,
        wait_ns: 2_500_000_000,
        unexplained_ns: 7,
        sentence: bad.clone(),
        links: vec![
            crate::render::SlowLink {
                depth: usize::MAX,
                who: bad.clone(),
                pid: Some(i32::MIN),
                waits_for: bad.clone(),
                place: bad.clone(),
                begin_ns: 3,
                end_ns: u64::MAX,
                ns: u64::MAX,
                count: u64::MAX,
                cause: bad.clone(),
            };
            40
        ],
        advice: vec![(format!("{index}{bad}"), bad.clone(), bad.clone())],
    });
    (line, slow.collect())
}

#[test]
fn a_page_of_a_huge_trace_stays_small_and_says_what_it_leaves_out() {
    let (line, slow) = huge();
    let bad = "\"".repeat(2_000);
    let machine =
        crate::file::Machine { kernel: bad.clone(), clock: bad.clone(), ..Default::default() };
    let remarks = vec![bad.clone(); 100];
    let view = View {
        title: &bad,
        machine: &machine,
        line: &line,
        slow: &slow,
        names: &Hostile,
        remarks: &remarks,
    };
    let mut bytes = Vec::new();
    html(&view, &mut bytes).unwrap();
    assert!(bytes.len() <= PAGE_BYTES_MAX, "{} bytes", bytes.len());
    let page = read(&String::from_utf8(bytes).unwrap());
    let told = [
        "28 further reasons are left out.",
        "1,904 further calls are left out.",
        "1,700 further calls are left out here.",
        "1,976 further pieces are left out.",
        "Of 1,000 transactions the 50 with the longest commits are drawn.",
        "34 further journals are left out here.",
        "32 further disks are left out here.",
        "20 further tasks are left out.",
        "A column of numbers is 10.0 s wide.",
    ];
    for told in told {
        assert!(page.text.contains(told), "{told}");
    }
    let drawn = |element: &str, part: &str| {
        let of_kind = page.elements.iter().filter(|one| one.starts_with(element));
        of_kind.filter(|one| one.contains(part)).count()
    };
    assert_eq!(drawn("rect", "class=\"late\""), 300);
    for stage in ["running", "starting", "locked", "flushing", "logging"] {
        assert_eq!(drawn("rect", &format!("class=\"{stage}\"")), 6 * 50, "{stage}");
    }
    // A series each: space of six journals, dirty pages and their limit, three of each of eight disks.
    assert_eq!(drawn("path", " d=\"M0 110V"), 6 + 2 + 3 * 8);
}
