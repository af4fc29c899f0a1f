//! Timelines made by hand: tasks, their sleeps and calls, requests, transactions.

use super::super::*;
use crate::record::{Frames, Name};
use crate::timeline::{
    Call, Context, Disk, Journal, Processor, Request, Sync, Task, Transaction, Wait, WaitKind,
    Waker,
};

pub(super) const MS: u64 = 1_000_000;
pub(super) const DEVICE: Device = Device(8 << 20);
const WRITE: i64 = 1;

/// A timeline under construction; functions get addresses as they are named.
#[derive(Default)]
pub(super) struct Scene {
    pub(super) line: Timeline,
    symbols: Symbols,
    functions: Vec<String>,
    pub(super) facts: BTreeMap<String, String>,
}

impl Scene {
    /// A victim, task 10, whose write from 100 to 600 ms slept all that time in a stack, ended by a task.
    pub(super) fn of_victim(stack: &str, by: i32) -> Self {
        let mut scene = Self::default();
        scene.task(10, "victim");
        scene.writes(10, 100, 600);
        scene.sleeps(10, 100, 600, stack, by);
        scene
    }

    /// What is told of the victim's slowest call.
    pub(super) fn told(self) -> SlowCall {
        let explanation = self.known().explain(&Question::default());
        explanation.calls.into_iter().find(|call| call.pid == 10).unwrap()
    }

    /// A fact of the machine.
    pub(super) fn fact(&mut self, path: &str, text: &str) {
        self.facts.insert(path.to_owned(), text.to_owned());
    }

    pub(super) fn address(&mut self, name: &str) -> u64 {
        let index = self.functions.iter().position(|one| one == name).unwrap_or_else(|| {
            self.functions.push(name.to_owned());
            self.functions.len() - 1
        });
        let address = (index as u64 + 1) * 0x100;
        self.symbols.add(address, address + 0x100, name);
        address
    }

    pub(super) fn task(&mut self, pid: i32, name: &str) -> &mut Task {
        let task = self.line.tasks.entry(pid).or_default();
        task.name = Name::new(name.as_bytes());
        task
    }

    /// A sleep from and to these milliseconds in a stack, innermost first, ended by a task.
    pub(super) fn sleeps(&mut self, pid: i32, from_ms: u64, to_ms: u64, stack: &str, by: i32) {
        let addresses: Vec<u64> = stack.split(" < ").map(|name| self.address(name)).collect();
        let stack = self.line.stacks.add(Frames::new(addresses));
        let context = if by == 0 { Context::SoftInterrupt } else { Context::Task };
        let wait = Wait {
            kind: WaitKind::Sleep,
            begin_ns: from_ms * MS,
            woken_ns: Some(to_ms * MS),
            end_ns: Some(to_ms * MS),
            stack: Some(stack),
            waker: Some(Waker { pid: by, context, call: None }),
            next_pid: Some(0),
            processor: Processor::default(),
        };
        self.line.tasks.get_mut(&pid).unwrap().waits.push(wait);
        self.line.end_ns = self.line.end_ns.max(to_ms * MS);
    }

    pub(super) fn writes(&mut self, pid: i32, from_ms: u64, to_ms: u64) {
        self.line.tasks.get_mut(&pid).unwrap().calls.push(Call {
            number: WRITE,
            args: [3, 0, 0, 0, 0, 0],
            begin_ns: from_ms * MS,
            end_ns: Some(to_ms * MS),
            ret: 1,
        });
    }

    /// A sync of a file of the device.
    pub(super) fn syncs(&mut self, pid: i32, from_ms: u64, to_ms: u64) {
        self.line.tasks.get_mut(&pid).unwrap().syncs.push(Sync {
            device: DEVICE,
            ino: 1,
            data_only: false,
            begin_ns: from_ms * MS,
            end_ns: Some(to_ms * MS),
        });
    }

    pub(super) fn request(&mut self, pid: i32, from_ms: u64, to_ms: u64, bytes: u32) {
        self.request_of(DEVICE, pid, (from_ms, to_ms), bytes);
    }

    pub(super) fn request_of(
        &mut self,
        device: Device,
        pid: i32,
        (from_ms, to_ms): (u64, u64),
        bytes: u32,
    ) {
        let disk: &mut Disk = self.line.disks.entry(device).or_default();
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

    pub(super) fn transaction(&mut self, tid: u32, stages_ms: [u64; 6], thread: i32) {
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

    pub(super) fn known(self) -> Knowledge {
        let names = [
            (8, 0, "sda"),
            (8, 16, "sdb"),
            (8, 17, "sdb1"),
            (8, 32, "sdc"),
            (253, 0, "dm-0"),
            (253, 1, "dm-1"),
        ];
        let devices =
            names.map(|(major, minor, name)| (Device::new(major, minor), name.to_owned())).into();
        let arch = Some("x86_64".to_owned());
        Knowledge::new(self.line, self.symbols, self.facts, devices, arch, BTreeSet::new())
    }
}
