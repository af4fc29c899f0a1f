//! What tasks slept in when a recording began and when it ended: the recorder asked the kernel for it, as no
//! event tells of a sleep that neither begins nor ends within the trace.
//!
//! Such a sleep is told since when the kernel says that it has lasted, else from the first event on; and up to
//! the last. Looked up when a ring saw that somebody waits, it lends its stack to a sleep that has none.
//!
//! Invariant: a sleep that events tell too is there once. Held by `a_hang_is_told_once`.

use super::Builder;
use crate::record::{FRAMES_MAX, Frames};
use crate::timeline::{Call, Processor, Wait, WaitKind};
use std::collections::BTreeMap;

/// A task that slept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hang {
    pid: i32,
    kind: WaitKind,
    /// Since when, if that is known.
    since_ns: Option<u64>,
    call: Option<(i64, [u64; 3])>,
    /// Functions, the innermost first.
    functions: Vec<String>,
}

/// Between the recorder's look and the first event lies less.
const OLD_NS: u64 = 2_000_000_000;
/// Functions that were told by name have addresses that no kernel uses.
const NAMED_FROM: u64 = 0x100;

/// Lines `task TID STATE SINCE_NS CALL ARG ARG ARG`, each with lines of functions behind it. What is in
/// another form is passed over.
fn parse(text: &str) -> Vec<Hang> {
    let text =
        text.split_once('\n').filter(|(line, _)| line.starts_with("at ")).map_or(text, |two| two.1);
    let mut hangs: Vec<Hang> = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.strip_prefix("task ") else {
            let is_function = !line.starts_with("left out ");
            if let Some(last) =
                hangs.last_mut().filter(|last| is_function && last.functions.len() < FRAMES_MAX)
            {
                last.functions.push(line.to_owned());
            }
            continue;
        };
        let words: Vec<&str> = rest.split(' ').collect();
        let [pid, state, since_ns, number, args @ ..] = words.as_slice() else { continue };
        let kind = match *state {
            "D" => WaitKind::Sleep,
            "T" | "t" => WaitKind::Stopped,
            _ => WaitKind::Interruptible,
        };
        let mut three = [0; 3];
        for (arg, word) in three.iter_mut().zip(args) {
            *arg = word.parse().unwrap_or(0);
        }
        let (Ok(pid), Ok(number)) = (pid.parse(), number.parse::<i64>()) else { continue };
        hangs.push(Hang {
            pid,
            kind,
            since_ns: since_ns.parse().ok().filter(|since_ns| *since_ns != 0),
            // What older recorders told of the kernel's own tasks, which make no calls.
            call: (number > 0 || three != [0; 3])
                .then_some((number, three))
                .filter(|_| number >= 0),
            functions: Vec::new(),
        });
    }
    hangs
}

impl Builder {
    pub(super) fn hangs_at_begin(&mut self, facts: &BTreeMap<String, String>) {
        let text = facts.get("hangs").map_or("", String::as_str);
        let at = text.lines().next().and_then(|line| line.strip_prefix("at "));
        self.hangs_ns = at.and_then(|at| at.trim().parse().ok()).unwrap_or(0);
        self.hangs[0] = parse(text);
        let text = facts.get("hangs at the trigger").map_or("", String::as_str);
        let at = text.lines().next().and_then(|line| line.strip_prefix("at "));
        let at_ns = at.and_then(|at| at.trim().parse().ok()).unwrap_or(0);
        self.hangs_at_trigger = (at_ns, parse(text));
    }

    pub(super) fn hangs_at_end(&mut self, facts: &BTreeMap<String, String>) {
        self.hangs[1] = facts.get("hangs at the end").map_or_else(Vec::new, |text| parse(text));
    }

    /// The trace begins: these sleep.
    pub(super) fn begin_hangs(&mut self, time_ns: u64) {
        // A ring has lost its beginning: what was then is over, or not. But what was seen to sleep later and has
        // since before slept now.
        let is_old = self.hangs_ns.saturating_add(OLD_NS) < time_ns;
        let lasts = |hang: &&Hang| hang.since_ns.is_some_and(|since_ns| since_ns <= time_ns);
        let lasting: Vec<Hang> =
            self.hangs_at_trigger.1.iter().filter(|_| is_old).filter(lasts).cloned().collect();
        for hang in lasting {
            let since_ns = hang.since_ns.unwrap_or(time_ns);
            self.hang(hang, since_ns);
        }
        for hang in std::mem::take(&mut self.hangs[0]).into_iter().filter(|_| !is_old) {
            let since_ns = hang.since_ns.unwrap_or(time_ns).min(time_ns);
            self.hang(hang, since_ns);
        }
    }

    fn hang(&mut self, hang: Hang, begin_ns: u64) {
        let stack = self.named_stack(&hang.functions);
        let now = self.now.entry(hang.pid).or_default();
        now.wait = Some(Wait {
            kind: hang.kind,
            begin_ns,
            woken_ns: None,
            end_ns: None,
            stack: Some(stack),
            waker: None,
            next_pid: None,
            processor: Processor::default(),
        });
        if let Some((number, [a, b, c])) = hang.call {
            let args = [a, b, c, 0, 0, 0];
            now.call = Some(Call { number, args, begin_ns, end_ns: None, ret: 0 });
            now.in_call_ns = Some(begin_ns);
        }
    }

    /// The trace ends: of sleeps that the recorder saw no end of, those that are told as lasting still are
    /// kept; where each switch was recorded it knows itself.
    pub(super) fn end_hangs(&mut self) {
        self.trigger_hangs();
        let ending = std::mem::take(&mut self.hangs[1]);
        if self.has_switches {
            for hang in ending {
                let stack = self.named_stack(&hang.functions);
                let began_before = self.line.calls_are_exact && self.lasted_at_begin(hang.pid);
                let begin_ns = self.line.begin_ns;
                let Some(now) = self.now.get_mut(&hang.pid) else {
                    // No event of all the trace is of it: it has slept since before.
                    if let Some(since_ns) = hang.since_ns.filter(|ns| *ns <= self.line.begin_ns) {
                        self.hang(hang, since_ns);
                    }
                    continue;
                };
                if let Some(wait) = now.wait.as_mut().filter(|wait| wait.kind == hang.kind) {
                    wait.stack.get_or_insert(stack);
                }
                // The call that it is in neither began nor ended within the trace.
                if let Some((number, [a, b, c])) = hang.call.filter(|_| began_before)
                    && !now.has_called
                {
                    let args = [a, b, c, 0, 0, 0];
                    let call = Call { number, args, begin_ns, end_ns: None, ret: 0 };
                    now.call.get_or_insert(call);
                }
            }
            return;
        }
        let last: BTreeMap<i32, Hang> = ending.into_iter().map(|hang| (hang.pid, hang)).collect();
        self.now.retain(|pid, now| {
            let lasts = last.contains_key(pid);
            if !lasts {
                (now.wait, now.call) = (None, None);
            }
            lasts || now.sync.is_some() || now.handle.is_some() || now.reclaim_ns.is_some()
        });
        for (pid, hang) in last {
            // One that has lasted since the beginning has its begin from there.
            let began = self.now.get(&pid).and_then(|now| now.wait).map(|wait| wait.begin_ns);
            let since_ns =
                began.or(hang.since_ns).filter(|since_ns| self.sleeps_since(pid, *since_ns));
            if let Some(since_ns) = since_ns.filter(|since_ns| *since_ns <= self.line.end_ns) {
                self.hang(hang, since_ns);
            }
        }
    }

    /// Whether no event tells that a task went on after this time: between the recorder's look and the last
    /// event a sleep may have ended.
    fn sleeps_since(&self, pid: i32, since_ns: u64) -> bool {
        let waits = self.line.tasks.get(&pid).map_or(&[][..], |task| &task.waits);
        !waits.iter().rev().any(|wait| wait.end_ns.is_some_and(|end_ns| end_ns > since_ns))
    }

    /// Sleeps that lasted when a ring saw that somebody waits, and have no stack, get that which they had then.
    fn trigger_hangs(&mut self) {
        let (at_ns, hangs) = std::mem::take(&mut self.hangs_at_trigger);
        for hang in hangs {
            let stack = self.named_stack(&hang.functions);
            let open = self.now.get_mut(&hang.pid).and_then(|now| now.wait.as_mut());
            let task = self.line.tasks.get_mut(&hang.pid);
            let waits = task.map_or(&mut [][..], |task| &mut task.waits);
            let last = waits.partition_point(|wait| wait.begin_ns <= at_ns);
            let ended = last.checked_sub(1).and_then(|last| waits.get_mut(last));
            let lasted = |wait: &&mut Wait| {
                wait.kind == hang.kind
                    && wait.begin_ns <= at_ns
                    && wait.end_ns.is_none_or(|end_ns| end_ns > at_ns)
            };
            if let Some(wait) = open.filter(lasted).or_else(|| ended.filter(lasted)) {
                wait.stack.get_or_insert(stack);
            }
        }
    }

    fn named_stack(&mut self, functions: &[String]) -> crate::timeline::StackId {
        let (line, numbers) = (&mut self.line, &mut self.named);
        let addresses: Vec<u64> = functions
            .iter()
            .map(|name| {
                let next = NAMED_FROM + line.named_functions.len() as u64;
                let address = *numbers.entry(name.clone()).or_insert(next);
                if address == next {
                    line.named_functions.push(name.clone());
                }
                address
            })
            .collect();
        // The kernel tells no more of a stack (`MAX_STACK_TRACE_DEPTH` of fs/proc/base.c).
        let is_cut = functions.len() >= FRAMES_MAX;
        line.stacks.add(Frames::new(addresses).first(FRAMES_MAX, is_cut))
    }
}

/// The addresses that functions have which were told by name.
pub(crate) fn named_addresses(functions: &[String]) -> impl Iterator<Item = (u64, &str)> {
    functions.iter().zip(NAMED_FROM..).map(|(name, address)| (address, name.as_str()))
}

#[cfg(test)]
mod tests {
    use super::super::At;
    use super::*;
    use crate::record::Name;
    use crate::schema::{KernelEvent, Switch, SysEnter, SysExit};
    use crate::timeline::{Context, Limits, Timeline};

    const TEXT: &str = "at 5\ntask 7 D 0 1 3 4 5\nvfs_write\nksys_write\nnonsense x\ntask x\ntask 8 S 40 73 1 2 3\n\
                        locks_lock_inode_wait";
    const MS: u64 = 1_000_000;

    fn told(begin: &str, end: &str, first_ns: u64, more: &[(u64, KernelEvent)]) -> Timeline {
        told_of(&[("hangs", begin), ("hangs at the end", end)], first_ns, more)
    }

    fn told_at_trigger(text: &str, first_ns: u64, more: &[(u64, KernelEvent)]) -> Timeline {
        told_of(&[("hangs at the trigger", text)], first_ns, more)
    }

    fn told_of(facts: &[(&str, &str)], first_ns: u64, more: &[(u64, KernelEvent)]) -> Timeline {
        let mut builder = Builder::new(Limits::default());
        let facts =
            facts.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        builder.hangs_at_begin(&facts);
        builder.hangs_at_end(&facts);
        (builder.line.begin_ns, builder.line.end_ns) = (first_ns, first_ns + 100 * MS);
        builder.begin_hangs(first_ns);
        for (time_ns, event) in more {
            builder.known(At { cpu: 0, time_ns: *time_ns, pid: 7, context: Context::Task }, event);
        }
        builder.finish()
    }

    fn spans(line: &Timeline, pid: i32) -> Vec<(u64, Option<u64>)> {
        let task = line.tasks.get(&pid);
        let waits = task.map_or(&[][..], |task| &task.waits);
        waits.iter().map(|wait| (wait.begin_ns / MS, wait.end_ns.map(|ns| ns / MS))).collect()
    }

    #[test]
    fn texts_in_another_form_are_passed_over() {
        let hangs = parse(TEXT);
        assert_eq!(hangs.len(), 2);
        assert_eq!(
            (hangs[0].pid, hangs[0].kind, hangs[0].call),
            (7, WaitKind::Sleep, Some((1, [3, 4, 5])))
        );
        assert_eq!(hangs[0].functions.len(), 3);
        assert_eq!((hangs[1].since_ns, hangs[1].kind), (Some(40), WaitKind::Interruptible));
        assert_eq!(parse("").len() + parse("at 7").len() + parse("no\nat 3\n").len(), 0);
    }

    #[test]
    fn a_hang_is_told_once() {
        let at = |ms: u64| ms * MS;
        // From before to after: both ends are open, and its call is told.
        let line = told(TEXT, TEXT, at(1), &[]);
        assert_eq!(spans(&line, 7), [(1, None)]);
        let call = line.tasks[&7].calls[0];
        assert_eq!((call.number, call.begin_ns, call.end_ns), (1, at(1), None));
        // A task of the kernel's own has the registers of no call, which older recorders told as one.
        let of_kernel = TEXT.replace("D 0 1 3 4 5", "D 0 0 0 0 0");
        assert_ne!(of_kernel, TEXT);
        assert_eq!(
            told(&of_kernel, "", at(1), &[]).tasks.get(&7).map_or(0, |task| task.calls.len()),
            0
        );
        // Ended within, seen by nobody: not told, as its end is not known.
        assert_eq!(spans(&told(TEXT, "", at(1), &[]), 7), []);
        // Seen by the tracer: it goes on after 50 ms, and returns.
        let switch = KernelEvent::Switch(switch_to_7());
        let exit = KernelEvent::SysExit(SysExit { number: 1, ret: 0 });
        let line = told(TEXT, "", at(1), &[(at(51), switch), (at(52), exit)]);
        assert_eq!(spans(&line, 7), [(1, Some(51))]);
        assert_eq!(line.tasks[&7].calls[0].end_ns, Some(at(52)));
        // Begun within, and still there at the end: since when the probes know.
        assert_eq!(
            spans(&told("", &TEXT.replace("S 40", &format!("S {}", at(30))), at(1), &[]), 8),
            [(30, None)]
        );
        // A ring has lost its beginning.
        assert_eq!(spans(&told(TEXT, "", at(9_000), &[]), 7), []);
        // The kernel knows since when: from then on, of one that no event is of.
        let since = TEXT.replace("D 0", &format!("D {}", at(3)));
        assert_eq!(spans(&told(&since, &since, at(400), &[]), 7), [(3, None)]);
        let other = KernelEvent::Switch(Switch { next_pid: 6, ..switch_to_7() });
        let line = told("", &since, at(9_000), &[(at(9_001), other)]);
        assert_eq!(spans(&line, 7), [(3, None)]);
        assert_eq!(line.tasks[&7].calls[0].begin_ns, at(3));
        // Seen to sleep when somebody waited; then it goes on, which is told of all of it.
        let ran = [
            KernelEvent::Switch(switch_to_7()),
            KernelEvent::SysExit(SysExit { number: 1, ret: 0 }),
        ];
        let ran = ran.into_iter().map(|event| (at(9_050), event)).collect::<Vec<_>>();
        let line = told_at_trigger(&since, at(9_000), &ran);
        assert_eq!(spans(&line, 7), [(3, Some(9_050))]);
        assert_eq!(line.tasks[&7].calls[0].begin_ns, at(3));
        // One that events are of is told by them.
        let ran = KernelEvent::Switch(switch_to_7());
        assert_eq!(spans(&told("", &since, at(9_000), &[(at(9_001), ran)]), 7), []);
    }

    #[test]
    fn a_call_that_lasts_all_of_the_trace_is_one() {
        let told = |of_pid: i32| {
            let goes = KernelEvent::Switch(Switch {
                prev_pid: 7,
                prev_state: 2,
                next_pid: 9,
                ..switch_to_7()
            });
            let comes = KernelEvent::Switch(switch_to_7());
            let mut builder = Builder::new(Limits::default());
            let text = "task 7 D 0 166 3 4 5\nfolio_wait_bit".to_owned();
            builder.hangs_at_end(&[("hangs at the end".to_owned(), text)].into());
            (builder.line.begin_ns, builder.line.end_ns) = (MS, 100 * MS);
            let events = [
                (of_pid, 5, KernelEvent::SysExit(SysExit { number: 1, ret: 0 })),
                (7, 10, goes),
                (9, 40, comes),
                (7, 50, goes),
            ];
            for (pid, at_ms, event) in events {
                let at = At { cpu: 0, time_ns: at_ms * MS, pid, context: Context::Task };
                builder.known(at, &event);
            }
            let line = builder.finish();
            line.tasks[&7]
                .calls
                .iter()
                .map(|one| (one.number, one.begin_ns / MS))
                .collect::<Vec<_>>()
        };
        assert_eq!(told(8), [(166, 1)]);
        // It had ended one, and so has begun this one, which was lost.
        assert_eq!(told(7), [(1, 1)]);
    }

    #[test]
    fn a_call_that_had_returned_ends_with_its_sleep() {
        let enters = KernelEvent::SysEnter(SysEnter { number: 3, args: [0; 6] });
        let events = [
            (150 * MS, KernelEvent::Switch(switch_to_7())),
            (160 * MS, enters),
            (161 * MS, KernelEvent::SysExit(SysExit { number: 3, ret: 0 })),
        ];
        let line = told(TEXT, "", 100 * MS, &events);
        let calls = line.tasks[&7].calls.iter();
        let calls = calls.map(|call| (call.number, call.end_ns.map(|ns| ns / MS)));
        assert_eq!(calls.collect::<Vec<_>>(), [(1, Some(150)), (3, Some(161))]);
    }

    #[test]
    fn a_sleep_without_a_stack_has_that_of_the_trigger() {
        let ms = |ms: u64| ms * MS;
        let text = format!("at {}\n{}", ms(30), TEXT.split_once('\n').unwrap().1);
        let goes = |pid, prev_state| {
            KernelEvent::Switch(Switch { prev_pid: pid, prev_state, next_pid: 9, ..switch_to_7() })
        };
        let comes = |pid| KernelEvent::Switch(Switch { next_pid: pid, ..switch_to_7() });
        let mut builder = Builder::new(Limits::default());
        builder.hangs_at_begin(&[("hangs at the trigger".to_owned(), text)].into());
        (builder.line.begin_ns, builder.line.end_ns) = (0, ms(100));
        // One lasts, one has ended when the trace does; of a third kind of sleep nothing was seen.
        for (at_ms, pid, event) in
            [(10, 7, goes(7, 2)), (20, 8, goes(8, 1)), (50, 9, comes(8)), (60, 8, goes(8, 1))]
        {
            let at = At { cpu: 0, time_ns: ms(at_ms), pid, context: Context::Task };
            builder.known(at, &event);
        }
        let line = builder.finish();
        let stacks = |pid: i32| -> Vec<bool> {
            line.tasks[&pid].waits.iter().map(|wait| wait.stack.is_some()).collect()
        };
        assert_eq!((stacks(7), stacks(8)), (vec![true], vec![true, false]));
    }

    fn switch_to_7() -> Switch {
        Switch {
            prev_comm: Name::new(b"a"),
            prev_pid: 9,
            prev_prio: 120,
            prev_state: 1,
            next_comm: Name::new(b"b"),
            next_pid: 7,
            next_prio: 120,
        }
    }
}
