//! Which calls were slow, and what is told of each.

use super::chain::{Span, Steps, Walk, add};
use super::mounts::mount;
use super::place::Place;
use super::slept::Slept;
use super::soft::{ASYNCHRONOUS, FILE_LOCKS, LEASED};
use super::{Cause, Evidence, Explanation, Knowledge, Link, Node, Question, SlowCall, advice};
use crate::calls;
use crate::record::Device;
use crate::timeline::{Handle, Task, Wait, WaitKind};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Calls that are explained at most, told or counted by their cause: each may take a millisecond.
const EXPLAINED_MAX: usize = 2_000;
/// Steps of all explaining: so many, and so many for each span of the trace. A call of a program that was
/// in its journal's way takes some thousand, a node of its tree 16.
const STEPS_MIN: u64 = 1 << 22;
const STEPS_PER_SPAN: u64 = 1 << 8;
/// Links that a chain is told with.
const LINKS_MAX: usize = 16;

/// A call whose waits are long enough.
struct Candidate {
    pid: i32,
    call: String,
    fd: Option<u64>,
    span: Span,
    wait_ns: u64,
}

pub(super) fn explain(known: &Knowledge, question: &Question) -> Explanation {
    let mut slow = Vec::new();
    for pid in known.all_in_focus() {
        if let Some(task) = known.line.tasks.get(&pid).filter(|_| pid != 0) {
            candidates(known, pid, task, question.over_ns, &mut slow);
        }
    }
    slow.sort_by(|a, b| b.wait_ns.cmp(&a.wait_ns).then(a.span.begin_ns.cmp(&b.span.begin_ns)));
    let mut explanation = Explanation { slow_calls: slow.len() as u64, ..Explanation::default() };
    let mut causes: BTreeMap<Cause, (u64, u64)> = BTreeMap::new();
    let steps_max = known.index.spans().saturating_mul(STEPS_PER_SPAN).saturating_add(STEPS_MIN);
    let steps = Steps::new(steps_max);
    let mut files = Files::default();
    let mut explained_calls = 0;
    for (index, candidate) in slow.iter().take(EXPLAINED_MAX).enumerate() {
        if steps.over() {
            break;
        }
        let is_told = index < question.top;
        let call = explained(known, candidate, &steps, &mut files, is_told);
        explained_calls += 1;
        let sum = causes.entry(call.root).or_default();
        sum.0 += call.wait_ns;
        sum.1 += 1;
        if is_told {
            explanation.calls.push(call);
        }
    }
    explanation.causes =
        causes.into_iter().map(|(cause, (ns, count))| (cause, ns, count)).collect();
    explanation.causes.sort_by_key(|(_, ns, _)| Reverse(*ns));
    explanation.notes = notes(known, slow.len(), explained_calls);
    if steps.over() {
        explanation.notes.push(
            "what is behind these waits is much of the trace again and again: the last that was \
             explained is cut short"
                .to_owned(),
        );
    }
    explanation.steps = steps.done();
    explanation
}

/// Adds the slow calls of a task.
fn candidates(known: &Knowledge, pid: i32, task: &Task, over_ns: u64, slow: &mut Vec<Candidate>) {
    let end_ns = known.line.end_ns;
    let mut covered: Vec<Span> = Vec::new();
    let slept = Slept::of(known, task);
    // Stopped all the time: nobody waited for it here.
    let stops = |wait: &Wait| wait.kind == WaitKind::Stopped && is_whole(known, wait);
    if task.waits.iter().any(stops) {
        return;
    }
    let is_worker = task.name.as_bytes().starts_with(b"iou-wrk");
    if !is_worker && is_kernel_task(task) {
        return;
    }
    for call in &task.calls {
        let span = Span { begin_ns: call.begin_ns, end_ns: call.end_ns.unwrap_or(end_ns) };
        let name = calls::name(known.arch.as_deref(), call.number);
        // What stands in a worker's registers is the call of the program that it works for.
        let name = if is_worker { Some("io_uring") } else { name };
        let name = name.map_or_else(|| format!("system call {}", call.number), str::to_owned);
        covered.push(span);
        if span.ns() < over_ns {
            continue;
        }
        let wait_ns = slept.all.within(span);
        // A pipe, a socket or a terminal that has nothing is no delay of storage: only sleeps that no
        // signal ends are, waits for a processor, stops, and sleeps whose stack or call tells.
        let is_stopped = slept.stopped.within(span) * 2 >= wait_ns;
        let is_asked = FILE_LOCKS.contains(&name.as_str())
            || LEASED.contains(&name.as_str()) && ended_by_lease(known, task, span)
            || ASYNCHRONOUS.contains(&name.as_str()) && ended_by_disk(known, task, span);
        let hard_ns = slept.hard.within(span);
        let is_late = is_asked || hard_ns * 2 >= wait_ns;
        if wait_ns >= over_ns && is_late && (is_worker || calls::is_storage(&name) || is_stopped) {
            // Of a call that was not seen to begin no argument is known.
            let fd = Some(call.args[0]).filter(|_| !is_worker && call.args != [0; 6]);
            slow.push(Candidate { pid, call: name, fd, span, wait_ns });
        }
    }
    // Waits outside of any call: page faults, stops, for a processor, and those of the kernel's workers of
    // io_uring.
    let outside = |begin_ns: u64| {
        let after = covered.partition_point(|span| span.begin_ns <= begin_ns);
        after.checked_sub(1).is_none_or(|index| covered[index].end_ns < begin_ns)
    };
    // What the probes tell as one stay in the kernel, and else each sleep.
    let waits = task.waits.iter().filter(|wait| outside(wait.begin_ns));
    let mut told: Option<Span> = None;
    for wait in waits {
        let mut span = Span { begin_ns: wait.begin_ns, end_ns: wait.end_ns.unwrap_or(end_ns) };
        if told.is_some_and(|told| told.end_ns > wait.begin_ns) {
            continue;
        }
        let mut call = match wait.kind {
            WaitKind::Stopped => "its own code",
            WaitKind::Sleep if is_worker => "io_uring",
            WaitKind::Sleep => "page fault",
            // It could have run: its group's share was used up, or others had the processor.
            WaitKind::Runnable if !is_worker && is_seen_to_end(wait) => "its own code",
            // The freezer of version 2 stops tasks so.
            WaitKind::Interruptible if known.place(wait.stack).is_some_and(Place::is_stop) => {
                "its own code"
            }
            WaitKind::Runnable | WaitKind::Interruptible => continue,
        };
        if wait.kind == WaitKind::Sleep {
            let before = task.faults.partition_point(|(begin_ns, _)| *begin_ns <= wait.begin_ns);
            let fault = before.checked_sub(1).and_then(|index| task.faults.get(index));
            if let Some((begin_ns, end_ns)) = fault.filter(|(_, end_ns)| *end_ns > wait.begin_ns) {
                span = Span { begin_ns: *begin_ns, end_ns: *end_ns };
            }
            let Some(place) = known.place(wait.stack) else { continue };
            if place.layers.is_empty() && !place.is_io {
                continue;
            }
            // The freezer of version 1 stops tasks so.
            if place.is_stop() {
                call = "its own code";
            }
        }
        let wait_ns = slept.all.within(span);
        if wait_ns >= over_ns {
            told = Some(span);
            slow.push(Candidate { pid, call: call.to_owned(), fd: None, span, wait_ns });
        }
    }
}

/// Whether the end of a wait for a processor was told, and not concluded from what the task did next: in its own
/// code it may do nothing that is told.
fn is_seen_to_end(wait: &Wait) -> bool {
    let processor = &wait.processor;
    wait.end_ns.is_some() && (processor.before_pid.is_some() || processor.quota.is_some())
}

/// Whether a wait lasts all of the trace.
fn is_whole(known: &Knowledge, wait: &Wait) -> bool {
    wait.begin_ns <= known.line.begin_ns && wait.end_ns.is_none()
}

/// Whether a disk ended a request of anybody just when the longest sleep of a call ended: what was waited for
/// may have been that, and else was none of storage.
fn ended_by_disk(known: &Knowledge, task: &Task, span: Span) -> bool {
    let Some(longest) = longest_wait(known, task, span) else { return false };
    if longest.waker.is_some_and(|by| known.is_uring_worker(by.pid)) {
        return true;
    }
    let Some(woken_ns) = longest.woken_ns.or(longest.end_ns) else { return false };
    known.index.ends_near(woken_ns)
}

/// Whether the longest sleep of a call ended when another gave up what he had of the file.
fn ended_by_lease(known: &Knowledge, task: &Task, span: Span) -> bool {
    let steps = Steps::new(u64::MAX);
    let gave_up = |wait: &Wait| Walk::new(known, &steps).gave_up_lease(wait, span);
    longest_wait(known, task, span)
        .is_some_and(|wait| wait.kind == WaitKind::Interruptible && gave_up(wait))
}

fn longest_wait<'a>(known: &Knowledge, task: &'a Task, span: Span) -> Option<&'a Wait> {
    let from = task.waits.partition_point(|wait| wait.begin_ns < span.begin_ns);
    let within = task.waits[from..].iter().take_while(|wait| wait.begin_ns < span.end_ns);
    within.max_by_key(|wait| wait.duration_ns(known.line.end_ns))
}

/// Tasks of the kernel's own, which make no calls that somebody waits for.
pub(super) fn is_kernel_task(task: &Task) -> bool {
    // Those that began within the trace are known by their names alone.
    const NAMES: [&[u8]; 13] = [
        b"ext4lazyinit",
        b"irq/",
        b"kworker",
        b"jbd2/",
        b"kswapd",
        b"loop",
        b"ksoftirqd",
        b"khugepaged",
        b"rcu_",
        b"migration",
        b"dmcrypt_write",
        b"xfsaild/",
        b"btrfs-transacti",
    ];
    let name = task.name.as_bytes();
    let is_raid = || name.starts_with(b"md") && name.windows(5).any(|part| part == b"_raid");
    task.is_kernels || NAMES.iter().any(|begin| name.starts_with(begin)) || is_raid()
}

/// The file systems of a task's open files, as far as its calls tell.
type Files = HashMap<i32, HashMap<u64, Device>>;

fn explained(
    known: &Knowledge,
    candidate: &Candidate,
    steps: &Steps,
    files: &mut Files,
    is_told: bool,
) -> SlowCall {
    let mut tree = Walk::new(known, steps).waits(candidate.pid, candidate.span);
    tell_cut(known, &mut tree);
    let unexplained: u64 = tree.iter().map(unexplained_ns).sum();
    let told: u64 = tree.iter().map(|node| node.ns).sum();
    let unexplained_ns = unexplained + candidate.wait_ns.saturating_sub(told);
    let unexplained_ns = unexplained_ns.min(candidate.wait_ns);
    let chain = chain(known, &tree);
    let (cause, root) = (first_cause(&chain), root_cause(&chain));
    let of =
        |link: Option<&Link>| link.map_or((Cause::Unknown, None), |link| (link.cause, link.detail));
    let ((cause, cause_detail), (root, root_detail)) = (of(cause), of(root));
    let known_by = chain.iter().map(|link| link.known_by).max().unwrap_or(Evidence::Absence);
    let Span { begin_ns, end_ns } = candidate.span;
    let lasts = |wait: &Wait| wait.end_ns.is_none() && wait.begin_ns < end_ns;
    let task = known.line.tasks.get(&candidate.pid);
    let is_open = end_ns >= known.line.end_ns
        && task.is_some_and(|task| task.waits.iter().rev().take(4).any(lasts));
    // Without an event in the call itself: whose journal's thread is on the way.
    let by_chain = || chain.iter().find_map(|link| known.index.journal_of_thread(link.pid));
    let device = device(known, candidate, files).or_else(by_chain);
    let mut call = SlowCall {
        pid: candidate.pid,
        comm: known.line.task_name(candidate.pid).map_or(String::new(), |name| name.to_string()),
        call: candidate.call.clone(),
        device,
        mount: device.and_then(|device| mount(known, device)),
        begin_ns,
        end_ns,
        wait_ns: candidate.wait_ns,
        unexplained_ns,
        tree,
        chain,
        cause,
        root,
        cause_detail,
        root_detail,
        known_by,
        is_open,
        began_before: candidate.span.begin_ns <= known.line.begin_ns,
        advice: Vec::new(),
    };
    if is_told {
        call.advice = advice::of(known, &call);
    }
    call
}

/// The first rule or resource of a chain; if there is none, what is at its end, of a disk that stands on
/// another the upper one.
fn first_cause(chain: &[Link]) -> Option<&Link> {
    let is_disk = |link: &&Link| matches!(link.cause, Cause::Device | Cause::DeviceQueue);
    let first = chain.iter().find(|link| link.cause.is_structural());
    first.or_else(|| chain.iter().find(is_disk)).or_else(|| end_of(chain))
}

/// The last rule or resource, a limit of I/O included.
fn root_cause(chain: &[Link]) -> Option<&Link> {
    let is_rule = |link: &&Link| link.cause.is_structural() || link.cause == Cause::Throttle;
    chain.iter().rev().find(is_rule).or_else(|| first_cause(chain))
}

fn end_of(chain: &[Link]) -> Option<&Link> {
    chain.iter().rev().find(|link| link.cause != Cause::Running).or(chain.last())
}

/// Says of which waits the stack is cut: the call may have been in more than is told.
fn tell_cut(known: &Knowledge, tree: &mut [Node]) {
    for node in tree {
        if let Some(stack) = node.stack.filter(|stack| known.line.stacks.is_cut(*stack)) {
            let frames = known.line.stacks.get(stack).len();
            let cut =
                format!("its stack is cut: what is outside of {frames} functions is not known");
            add(&mut node.evidence, &cut);
        }
        tell_cut(known, &mut node.children);
    }
}

/// Time in a node that nothing explains.
fn unexplained_ns(node: &Node) -> u64 {
    // That a sleep has no name and was no other task's is no explanation.
    let is_nameless = node.cause == Cause::Other && node.children.is_empty();
    if node.cause == Cause::Unknown || node.known_by == Evidence::Absence || is_nameless {
        return node.ns;
    }
    node.children.iter().map(unexplained_ns).sum::<u64>().min(node.ns)
}

/// The part of the tree that took longest.
fn chain(known: &Knowledge, tree: &[Node]) -> Vec<Link> {
    let mut links = Vec::new();
    let mut nodes = tree;
    while let Some(node) = nodes.first().filter(|_| links.len() < LINKS_MAX) {
        links.push(Link {
            pid: node.pid,
            who: known.who(node.pid),
            cause: node.cause,
            place: node.place.clone(),
            ns: node.ns,
            begin_ns: node.begin_ns,
            evidence: node.evidence.clone(),
            known_by: node.known_by,
            detail: node.detail,
        });
        nodes = &node.children;
    }
    links
}

/// The file system that a call was about, as far as events within it tell.
fn device(known: &Knowledge, candidate: &Candidate, files: &mut Files) -> Option<Device> {
    let Candidate { pid, span, fd, .. } = candidate;
    let task = known.line.tasks.get(pid)?;
    let within = |at: u64| at >= span.begin_ns && at <= span.end_ns;
    let from = task.syncs.partition_point(|sync| sync.begin_ns < span.begin_ns);
    let sync = task.syncs.get(from).filter(|sync| within(sync.begin_ns));
    let throttle = || {
        let from = task.throttles.partition_point(|one| one.begin_ns < span.begin_ns);
        let one = task.throttles.get(from).filter(|one| within(one.begin_ns))?;
        let bdi = one.bdi.to_string();
        let (major, minor) = bdi.split_once(':')?;
        Some(Device::new(major.parse().ok()?, minor.parse().ok()?))
    };
    let handle = handle_from(task, *span);
    let by_event = sync.map(|one| one.device).or(handle.map(|one| one.device)).or_else(throttle);
    // The same file in an earlier call of the task.
    by_event.or_else(|| {
        let of_task = files.entry(*pid).or_insert_with(|| files_of(task));
        of_task.get(&(*fd)?).copied()
    })
}

/// The first handle that was given within a time.
fn handle_from(task: &Task, span: Span) -> Option<&Handle> {
    let from = task.handles.partition_point(|handle| handle.begin_ns < span.begin_ns);
    task.handles.get(from).filter(|handle| handle.begin_ns <= span.end_ns)
}

/// Of each file of a task the file system of the first handle in a call about it.
fn files_of(task: &Task) -> HashMap<u64, Device> {
    let mut files = HashMap::new();
    for call in &task.calls {
        let Some(end_ns) = call.end_ns else { continue };
        if let Some(handle) = handle_from(task, Span { begin_ns: call.begin_ns, end_ns }) {
            files.entry(call.args[0]).or_insert(handle.device);
        }
    }
    files
}

fn notes(known: &Knowledge, slow: usize, explained: usize) -> Vec<String> {
    let line = &known.line;
    let mut notes = Vec::new();
    if line.lost_events > 0 || line.lost_places > 0 {
        notes.push(format!(
            "{} events and more at {} places were lost before they were read: record with a larger \
             --buffer",
            line.lost_events, line.lost_places
        ));
    }
    if line.dropped_spans > 0 {
        notes.push(format!("{} spans had no room and are left out", line.dropped_spans));
    }
    if line.damaged_pages > 0 {
        notes.push(format!("{} pages of the trace are damaged", line.damaged_pages));
    }
    if line.stacks.is_empty() && line.events > 0 {
        notes.push("the trace has no kernel stacks: what a sleep was for is mostly unknown".into());
    } else if known.symbols.is_empty() && !line.stacks.is_empty() {
        notes.push(
            "the trace has stacks, but no names of functions (recorded without the right to read \
             /proc/kallsyms, or broken off)"
                .to_owned(),
        );
    }
    if known.arch.is_none() {
        notes.push("the trace does not say its architecture: calls have numbers only".to_owned());
    }
    for (when, of) in [
        ("began", "hangs"),
        ("saw a slow call", "hangs at the trigger"),
        ("ended", "hangs at the end"),
    ] {
        let text = known.facts.get(of).map_or("", String::as_str);
        let last = text.lines().next_back().and_then(|line| line.strip_prefix("left out "));
        if let Some(count) = last.and_then(|count| count.parse::<u64>().ok()) {
            notes.push(format!(
                "when the recording {when}, {count} more tasks slept than there was room for: of each wait \
                 those are told that had lasted longest"
            ));
        }
    }
    if slow > explained {
        notes.push(format!("of {slow} slow calls the {explained} longest were explained"));
    }
    let others: BTreeSet<&str> = known
        .mounts
        .iter()
        .filter(|(device, mount)| !device.starts_with("0:") && mount.kind != "ext4")
        .map(|(_, mount)| mount.kind.as_str())
        .collect();
    if !others.is_empty() && line.journals.is_empty() {
        let kinds: Vec<&str> = others.into_iter().collect();
        notes.push(format!(
            "journals of {} are not decoded: there, waits are explained to the block layer and limits",
            kinds.join(", ")
        ));
    }
    notes
}
