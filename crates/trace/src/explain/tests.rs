//! Chains of timelines made by hand, and of any timeline.

use super::*;
use crate::record::{Frames, Name};
use crate::timeline::{
    Call, Context, Disk, Handle, Journal, Request, Task, Throttle, Transaction, Wait, WaitKind,
    Waker,
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const DEVICE: Device = Device(8 << 20);
const WRITE: i64 = 1;

/// A timeline under construction; functions get addresses as they are named.
#[derive(Default)]
struct Scene {
    line: Timeline,
    symbols: Symbols,
    functions: Vec<String>,
    facts: BTreeMap<String, String>,
}

impl Scene {
    fn address(&mut self, name: &str) -> u64 {
        let index = self.functions.iter().position(|one| one == name).unwrap_or_else(|| {
            self.functions.push(name.to_owned());
            self.functions.len() - 1
        });
        let address = (index as u64 + 1) * 0x100;
        self.symbols.add(address, address + 0x100, name);
        address
    }

    fn task(&mut self, pid: i32, name: &str) -> &mut Task {
        let task = self.line.tasks.entry(pid).or_default();
        task.name = Name::new(name.as_bytes());
        task
    }

    /// A sleep from and to these milliseconds in a stack, innermost first, ended by a task.
    fn sleeps(&mut self, pid: i32, from_ms: u64, to_ms: u64, stack: &str, by: i32) {
        let addresses: Vec<u64> = stack.split(" < ").map(|name| self.address(name)).collect();
        let stack = self.line.stacks.add(Frames::new(addresses));
        let context = if by == 0 { Context::SoftInterrupt } else { Context::Task };
        let wait = Wait {
            kind: WaitKind::Sleep,
            begin_ns: from_ms * MS,
            woken_ns: Some(to_ms * MS),
            end_ns: Some(to_ms * MS),
            stack: Some(stack),
            waker: Some(Waker { pid: by, context }),
            next_pid: Some(0),
        };
        self.line.tasks.get_mut(&pid).unwrap().waits.push(wait);
        self.line.end_ns = self.line.end_ns.max(to_ms * MS);
    }

    fn writes(&mut self, pid: i32, from_ms: u64, to_ms: u64) {
        self.line.tasks.get_mut(&pid).unwrap().calls.push(Call {
            number: WRITE,
            args: [3, 0, 0, 0, 0, 0],
            begin_ns: from_ms * MS,
            end_ns: Some(to_ms * MS),
            ret: 1,
        });
    }

    fn request(&mut self, pid: i32, from_ms: u64, to_ms: u64, bytes: u32) {
        let disk: &mut Disk = self.line.disks.entry(DEVICE).or_default();
        disk.requests.push(Request {
            sector: from_ms,
            bytes,
            class: Name::new(b"WS"),
            pid,
            queued_ns: None,
            issued_ns: from_ms * MS,
            done_ns: Some(to_ms * MS),
        });
    }

    fn transaction(&mut self, tid: u32, stages_ms: [u64; 6], thread: i32) {
        let journal: &mut Journal = self.line.journals.entry(DEVICE).or_default();
        journal.thread = Some(thread);
        let at = |index: usize| Some(stages_ms[index] * MS);
        let transaction = Transaction {
            tid,
            begin_ns: at(0),
            commit_ns: at(1),
            locking_ns: at(2),
            flushing_ns: at(3),
            logging_ns: at(4),
            end_ns: at(5),
            ..Transaction::default()
        };
        journal.transactions.insert(tid, transaction);
    }

    fn known(self) -> Knowledge {
        let devices = BTreeMap::from([(DEVICE, "sda".to_owned())]);
        let arch = Some("x86_64".to_owned());
        Knowledge::new(self.line, self.symbols, self.facts, devices, arch, BTreeSet::new())
    }
}

const LOCKED: &str = "schedule < wait_transaction_locked < add_transaction_credits < \
                      start_this_handle < ext4_dirty_inode";
const DATA: &str = "io_schedule < folio_wait_bit < folio_wait_writeback < \
                    jbd2_journal_finish_inode_data_buffers < jbd2_journal_commit_transaction";

fn causes(call: &SlowCall) -> Vec<&'static str> {
    call.chain.iter().map(|link| link.cause.name()).collect()
}

/// A write waits for a full transaction whose predecessor waits for ordered data.
#[test]
fn a_full_transaction_is_followed_to_the_data_of_the_commit_before() {
    let mut scene = Scene::default();
    scene.task(10, "stamper");
    scene.task(20, "jbd2/sda-8");
    scene.task(30, "load");
    scene.writes(10, 100, 1_100);
    scene.sleeps(10, 100, 1_100, LOCKED, 20);
    scene.sleeps(20, 50, 1_090, DATA, 0);
    scene.transaction(6, [0, 40, 41, 42, 45, 1_095], 20);
    scene.transaction(7, [41, 1_096, 1_097, 1_099, 1_150, 1_200], 20);
    for at in 0..11 {
        scene.request(30, at * 100, at * 100 + 99, 500_000);
    }
    let known = scene.known();
    let explanation = known.explain(&Question::default());
    assert_eq!(explanation.slow_calls, 1);
    let call = &explanation.calls[0];
    assert_eq!((call.call.as_str(), call.comm.as_str()), ("write", "stamper"));
    assert_eq!(
        causes(call),
        ["handle", "transaction_full", "ordered_data", "writeback", "device_queue"]
    );
    assert_eq!((call.cause, call.root), (Cause::TransactionFull, Cause::OrderedData));
    assert_eq!((call.wait_ns, call.unexplained_ns), (1_000 * MS, 0));
    let disk = call.chain.last().unwrap();
    assert!(disk.evidence.contains("100 % of the bytes by load (pid 30)"), "{}", disk.evidence);
    let text = describe(&known, &explanation);
    assert!(text.contains("write() of stamper (pid 10) waited 1.00 s"), "{text}");
    assert!(text.contains("max_bytes"), "{text}");
}

/// A write waits for a locked transaction, which waits for a handle whose owner reads slowly.
#[test]
fn a_locked_transaction_is_followed_to_the_holder_of_a_handle() {
    let mut scene = Scene::default();
    scene.task(10, "victim");
    scene.task(20, "jbd2/sda-8");
    scene.task(30, "holder");
    scene.writes(10, 200, 900);
    scene.sleeps(10, 200, 900, LOCKED, 20);
    scene.sleeps(20, 110, 880, "schedule < jbd2_journal_wait_updates < kjournald2", 30);
    scene.writes(30, 90, 880);
    scene.sleeps(30, 100, 870, "io_schedule < __wait_on_buffer < ext4_read_bh < ext4_truncate", 0);
    let handle = Handle {
        device: DEVICE,
        tid: 7,
        kind: 5,
        asked_ns: Some(95 * MS),
        begin_ns: 95 * MS,
        end_ns: Some(879 * MS),
        requested_blocks: 8,
        dirtied_blocks: 3,
        sync: false,
    };
    scene.line.tasks.get_mut(&30).unwrap().handles.push(handle);
    scene.transaction(7, [90, 105, 106, 890, 891, 899], 20);
    scene.request(30, 100, 869, 4096);
    let known = scene.known();
    let question = Question { top: 9, ..Question::default() };
    let explanation = known.explain(&question);
    let call = explanation.calls.iter().find(|call| call.pid == 10).unwrap();
    let expected = ["handle", "transaction_locked", "open_handles", "metadata_read", "device"];
    assert_eq!(causes(call), expected);
    assert_eq!(call.root, Cause::TransactionLocked);
    let holder = &call.chain[2].evidence;
    assert!(holder.contains("holder (pid 30) in write() for 784 ms, 3 blocks"), "{holder}");
    assert_eq!(call.unexplained_ns, 0);
}

/// Two writers of one file, the holder of its lock sleeps for a limit of the device.
fn a_lock_whose_holder_is_at_his_limit() -> Scene {
    let mut scene = Scene::default();
    scene.task(10, "victim");
    scene.task(30, "antagonist");
    scene.writes(10, 100, 600);
    let lock = "schedule < rwsem_down_write_slowpath < down_write < ext4_buffered_write_iter";
    scene.sleeps(10, 100, 600, lock, 30);
    let limit = "schedule < io_schedule_timeout < balance_dirty_pages < vfs_write";
    scene.sleeps(30, 90, 590, limit, 0);
    let throttle = Throttle {
        begin_ns: 90 * MS,
        pause_ms: 500,
        bdi: Name::new(b"8:0"),
        dirty: 100,
        limit: 100_000,
        setpoint: 90_000,
        device_dirty: 90,
        device_setpoint: 80,
        task_rate_kbs: 10,
        device_rate_kbs: 20,
    };
    scene.line.tasks.get_mut(&30).unwrap().throttles.push(throttle);
    scene.facts.insert("/sys/class/bdi/8:0/strict_limit".to_owned(), "1".to_owned());
    scene.request(30, 80, 595, 4096);
    scene
}

#[test]
fn a_lock_is_followed_to_its_holder_and_his_limit() {
    let explanation = a_lock_whose_holder_is_at_his_limit().known().explain(&Question::default());
    let call = explanation.calls.iter().find(|call| call.pid == 10).unwrap();
    assert_eq!(causes(call), ["inode_lock", "dirty_limit_device", "device"]);
    assert_eq!((call.cause, call.root), (Cause::InodeLock, Cause::DirtyLimitDevice));
    assert!(call.chain[0].evidence.contains("held by antagonist (pid 30)"));
}

/// On f2fs nobody is told to allow less than it keeps from write-back.
#[test]
fn a_limit_for_f2fs_is_no_less_than_what_it_holds_back() {
    let mount = |kind| format!("36 30 8:0 / /data rw,noatime - {kind} /dev/sda rw\n");
    let max = "/sys/class/bdi/8:0/max_bytes".to_owned();
    for (kind, is_f2fs, mib) in [("f2fs", true, 12), ("f2fs", true, 64), ("ext4", false, 12)] {
        let mut scene = a_lock_whose_holder_is_at_his_limit();
        scene.facts.insert("/proc/self/mountinfo".to_owned(), mount(kind));
        scene.facts.insert(max.clone(), format!("{}\n", mib << 20));
        scene.writes(30, 85, 595);
        scene.request(30, 100, 595, 4 << 20);
        let known = scene.known();
        let explanation = known.explain(&Question::default());
        let call = explanation.calls.iter().find(|call| call.pid == 30).unwrap();
        let larger = "echo 33554432 > /sys/class/bdi/8:0/max_bytes";
        assert_eq!(
            call.advice.iter().any(|one| one.command == larger),
            is_f2fs && mib == 12,
            "{call:#?}"
        );
        let limit = advice::limit_of_device(&known, Some(DEVICE)).command;
        let bytes = limit.split(' ').filter_map(|word| word.parse::<u64>().ok()).max().unwrap();
        assert_eq!(bytes >= 32 << 20, is_f2fs, "{limit}");
    }
}

/// A wait with neither stack nor waker is unexplained, not guessed.
#[test]
fn what_nothing_tells_is_unexplained() {
    let mut scene = Scene::default();
    scene.task(10, "victim");
    scene.writes(10, 100, 600);
    scene.line.end_ns = 600 * MS;
    let wait = Wait {
        kind: WaitKind::Sleep,
        begin_ns: 100 * MS,
        woken_ns: None,
        end_ns: Some(600 * MS),
        stack: None,
        waker: None,
        next_pid: None,
    };
    scene.line.tasks.get_mut(&10).unwrap().waits.push(wait);
    let explanation = scene.known().explain(&Question::default());
    let call = &explanation.calls[0];
    assert_eq!((call.unexplained_ns, call.root), (500 * MS, Cause::Unknown));
    assert!(explanation.notes.is_empty(), "{:?}", explanation.notes);
}

const STACKS: [&str; 6] = [
    LOCKED,
    DATA,
    "schedule < balance_dirty_pages",
    "rwsem_down_write_slowpath < ext4_buffered_write_iter",
    "io_schedule < __filemap_get_folio < ext4_write_begin",
    "schedule < nothing_known",
];

fn sum_fits(node: &Node) -> bool {
    // Children of one task follow one another; those of several flushers may overlap.
    let one_task = node.children.windows(2).all(|pair| pair[0].pid == pair[1].pid);
    let sum: u64 = node.children.iter().map(|child| child.ns).sum();
    (!one_task || sum <= node.ns) && node.children.iter().all(sum_fits)
}

proptest! {
    /// Any waits of any tasks that wake one another.
    #[test]
    fn parts_of_a_wait_do_not_exceed_it(
        waits in prop::collection::vec((1..6_i32, 0..50_u64, 1..50_u64, 0..6_usize, 0..6_i32), 0..40),
        calls in prop::collection::vec((1..6_i32, 0..50_u64, 1..90_u64), 0..10),
        tids in prop::collection::vec(prop::array::uniform6(0..100_u64), 0..4),
    ) {
        let mut scene = Scene::default();
        for pid in 1..6 {
            scene.task(pid, "task");
        }
        let mut free_ms = [0; 6];
        for (pid, after, length, stack, by) in waits {
            let from = free_ms[pid as usize] + after;
            free_ms[pid as usize] = from + length;
            scene.sleeps(pid, from, from + length, STACKS[stack], by);
        }
        let mut free_ms = [0; 6];
        for (pid, after, length) in calls {
            let from = free_ms[pid as usize] + after;
            free_ms[pid as usize] = from + length;
            scene.writes(pid, from, from + length);
        }
        for (index, stages) in tids.into_iter().enumerate() {
            scene.transaction(index as u32, stages, 5);
        }
        let known = scene.known();
        let question = Question { over_ns: 0, top: 100 };
        let explanation = known.explain(&question);
        for call in &explanation.calls {
            let told: u64 = call.tree.iter().map(|node| node.ns).sum();
            prop_assert!(told <= call.wait_ns && call.unexplained_ns <= call.wait_ns);
            prop_assert!(call.wait_ns <= call.end_ns - call.begin_ns);
            prop_assert!(call.tree.iter().all(sum_fits), "{:#?}", call.tree);
        }
        let text = describe(&known, &explanation);
        prop_assert!(text.lines().count() >= explanation.calls.len());
        let json = to_json(&known, &explanation);
        prop_assert_eq!(json["calls"].as_array().unwrap().len(), explanation.calls.len());
    }
}
