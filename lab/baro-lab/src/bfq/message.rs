//! One line of the `blk` tracer as text: what BFQ says, and what happens to requests.
//!
//! The messages are written for its developers, so their wording may change. A line that is not
//! understood is [`Said::Other`], never an error; nothing is counted from it. Kernels from 5.10 to
//! 6.18 have the words that are looked for here.
//!
//! Invariant: any text is taken without a panic. Held by `any_text_is_taken` in `bfq/tests.rs`.

/// Why BFQ ended the turn of a queue; in the kernel's order of `enum bfqq_expiration`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It had nothing to do, and the wait for more was over.
    Idle,
    /// It was in service for longer than `timeout_sync`.
    Timeout,
    /// Its budget was used up.
    Exhausted,
    /// It had no more requests.
    NoMore,
    /// Another was let in.
    Preempted,
}

impl Reason {
    /// All of them, as the kernel numbers them.
    pub const ALL: [Reason; 5] =
        [Self::Idle, Self::Timeout, Self::Exhausted, Self::NoMore, Self::Preempted];

    /// As reports and JSON call it.
    #[must_use]
    pub fn name(self) -> &'static str {
        ["idle", "timeout", "exhausted", "no_more", "preempted"][self as usize]
    }
}

/// What a message says of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Said {
    /// It has requests again.
    Busy,
    /// It has none left.
    NotBusy,
    /// A finish time was calculated for this service and weight of the queue.
    Finish {
        /// Sectors, as charged.
        service: u64,
        /// The queue's own weight, inside its group.
        weight: u64,
    },
    /// The second half of that message, after the first.
    FinishTimes,
    /// Its turn begins.
    Chosen,
    /// So many sectors were charged, for bytes or for time.
    Charged(u64),
    /// Its turn ends.
    Expired {
        /// Why.
        reason: Reason,
        /// BFQ took it for slow.
        slow: bool,
    },
    /// Something else.
    Other,
}

/// What happened to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// A tag was given to a task.
    Tag,
    /// It was put into the scheduler.
    Insert,
    /// It went to the device.
    Issue,
    /// The device has done it.
    Complete,
}

/// What a line is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What<'a> {
    /// A message of BFQ about a queue; the queue's name is the id of its process, or `SHARED-`.
    Queue(&'a str, Said),
    /// Most tags that a request of the asking kind may reach.
    TagLimit(u64),
    /// A request, by its first sector.
    Request {
        /// What happened.
        step: Step,
        /// First sector.
        sector: u64,
        /// Sectors.
        sectors: u64,
    },
}

/// One line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Microseconds on the tracer's clock.
    pub time_us: u64,
    /// The task that ran.
    pub task: &'a str,
    /// The device as the tracer names it: `7,0`.
    pub device: &'a str,
    /// What it is about.
    pub what: What<'a>,
}

/// Reads a line; None for one of no interest or of another form.
#[must_use]
pub fn parse(line: &str) -> Option<Line<'_>> {
    // "   name-PID  [001] d..1. 63775.174366:   7,0   1,0  m   N bfq29424S text"; names have blanks.
    let bracket = line.match_indices(" [").find(|(at, _)| {
        line.get(at + 2..at + 6).is_some_and(|cpu| {
            cpu.ends_with(']') && cpu.bytes().take(3).all(|byte| byte.is_ascii_digit())
        })
    })?;
    let task = line.get(..bracket.0)?.trim_end().rsplit_once('-')?.1;
    let (stamp, rest) = line.get(bracket.0 + 6..)?.split_once(": ")?;
    let time_us = microseconds(stamp.split_whitespace().next_back()?)?;
    let rest = rest.trim_start();
    let (device, rest) = rest.split_once(' ')?;
    let what = match rest.split_once(" m   N bfq") {
        Some((_, message)) => queue_message(message)?,
        None => request(rest)?,
    };
    Some(Line { time_us, task, device, what })
}

fn microseconds(text: &str) -> Option<u64> {
    let (seconds, fraction) = text.split_once('.')?;
    let fraction = fraction.get(..6).filter(|_| fraction.len() == 6)?;
    seconds.parse::<u64>().ok()?.checked_mul(1_000_000)?.checked_add(fraction.parse().ok()?)
}

/// `29424S expire (2, slow 0, num_disp 16, short_ttime 1)`, without the `bfq` before it.
fn queue_message(message: &str) -> Option<What<'_>> {
    if let Some(text) = message.trim_start().strip_prefix("[bfq_limit_depth]") {
        return Some(What::TagLimit(number_after(text, "depth ")?));
    }
    let (name, text) = message.split_once(' ')?;
    // A message of the scheduler itself has no queue.
    let queue = name.strip_suffix(['S', 'A']).filter(|queue| !queue.is_empty())?;
    Some(What::Queue(queue, said(text)))
}

fn said(text: &str) -> Said {
    let found = match text.split([' ', ',']).next().unwrap_or_default() {
        "add" if text.starts_with("add to busy") => Some(Said::Busy),
        "del" if text.starts_with("del from busy") => Some(Said::NotBusy),
        "calc_finish:" if text.contains("start ") => Some(Said::FinishTimes),
        "calc_finish:" => number_after(text, "serv ")
            .zip(number_after(text, "w "))
            .map(|(service, weight)| Said::Finish { service, weight }),
        "set_in_service_queue" => Some(Said::Chosen),
        "bfqq_served" => number_after(text, "bfqq_served ").map(Said::Charged),
        "expire" => expired(text),
        _ => None,
    };
    found.unwrap_or(Said::Other)
}

fn expired(text: &str) -> Option<Said> {
    let reason = *Reason::ALL.get(usize::try_from(number_after(text, "(")?).ok()?)?;
    Some(Said::Expired { reason, slow: number_after(text, "slow ")? != 0 })
}

/// The number behind the first `key`.
fn number_after(text: &str, key: &str) -> Option<u64> {
    let at = text.find(key)? + key.len();
    let rest = text.get(at..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    rest.get(..end)?.parse().ok()
}

/// `D  WS 313344 + 1024 [fio]`
fn request(text: &str) -> Option<What<'_>> {
    let mut words = text.split_whitespace();
    let step = match words.next()? {
        "G" => Step::Tag,
        "I" => Step::Insert,
        "D" => Step::Issue,
        "C" => Step::Complete,
        _ => return None,
    };
    let sector = words.nth(1)?.parse().ok()?;
    let sectors = words.nth(1)?.parse().ok()?;
    Some(What::Request { step, sector, sectors })
}
