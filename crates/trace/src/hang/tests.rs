//! Logs of the kernel, as they are, as other programs hand them out, and damaged.

use super::log::{self, KernelLog};
use super::*;
use serde_json::Value;

macro_rules! log {
    ($name:literal) => {
        include_str!(concat!("../../../../testdata/kernel_log/", $name))
    };
}

fn read(text: &str) -> KernelLog {
    log::read(text.as_bytes()).unwrap()
}

/// Who, in which call, for what, how long, and who is behind him by which knowledge.
fn told(log: &KernelLog) -> Vec<String> {
    let found = to_json(log, 100);
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let one = |task: &Value| {
        let behind = task["behind"].as_array().unwrap();
        let behind: Vec<String> = behind
            .iter()
            .map(|link| format!(" {} {}", text(&link["how"]), text(&link["comm"])))
            .collect();
        let waited =
            task["waited_s"].as_u64().map_or("-".to_owned(), |waited_s| waited_s.to_string());
        let (comm, call, cause) = (text(&task["comm"]), text(&task["call"]), text(&task["cause"]));
        format!("{comm} {call} {cause} {waited}{}", behind.concat())
    };
    found["tasks"].as_array().unwrap().iter().map(one).collect()
}

#[test]
fn a_recorded_log_tells_each_task_and_who_is_behind_it() {
    let log = read(log!("6.18.txt"));
    assert_eq!((log.kernel.as_deref(), log.left_out, log.others), (Some("6.18.44-fc-v595"), 0, 0));
    let mut found = told(&log);
    // What percpu_rwsem_wait is for is the table's matter, not this test's.
    found.iter_mut().for_each(|line| *line = line.replace(" freeze ", " lock "));
    assert_eq!(
        found,
        [
            "kworker/u8:0 - lock 120",
            "jbd2/loop1-8 - journal_write 120 told kworker/u8:0",
            "log writer write lock 120",
            "victim fsync writeback 120 only_one_listed kworker/u8:0",
            "second write inode_lock 120 told direct",
            "maker mkdir lock 120",
            "direct write direct_io - only_one_listed kworker/u8:0",
        ]
    );
    let text = describe(&log, 100);
    let sentence = "write() of second (pid 13694) had waited for at least 120 s and had not ended: for the \
                    lock of the file (ext4_buffered_write_iter); behind it direct (pid 13693), which waits \
                    for its direct I/O (__iomap_dio_rw); behind it, it seems, kworker/u8:0 (pid 21770, a \
                    worker at loop1 loop_rootcg_workfn)";
    assert!(text.contains(sentence), "{text}");
    assert!(text.contains("so it waits since 44709.993 s after the start or before"), "{text}");
    assert!(text.contains("not known: when it ended"), "{text}");
}

/// A line as another program writes it.
type Form = fn(&str) -> String;

#[test]
fn the_same_log_is_read_with_the_beginnings_of_other_programs() {
    let expected = told(&read(log!("6.18.txt")));
    fn words(line: &str) -> String {
        line.split_once("] ").map_or(String::new(), |(_, words)| words.to_owned())
    }
    let forms: [(&str, Form); 7] = [
        ("no times", words),
        ("kmsg", |line| format!("3,77,44829980011,-;{}", words(line))),
        ("syslog", |line| format!("Nov 26 03:58:52 host kernel: {line}")),
        ("journal", |line| format!("Nov 26 03:58:52 my-host kernel: {}", words(line))),
        ("rfc3339", |line| format!("2026-11-26T03:58:52.123456+00:00 host kernel: {line}")),
        ("iso", |line| format!("2026-11-26T03:58:52,123456+00:00 {}", words(line))),
        ("caller and level", |line| format!("<3>{}", line.replacen("] ", "][ T1234] ", 1))),
    ];
    for (name, form) in forms {
        let lines: Vec<String> = log!("6.18.txt").lines().map(form).collect();
        assert_eq!(told(&read(&lines.join("\n"))), expected, "{name}");
        assert_eq!(told(&read(&lines.join("\r\n"))), expected, "{name}, with returns");
    }
}

#[test]
fn stacks_of_other_machines_and_kernels_are_read() {
    assert_eq!(
        told(&read(log!("5.10-sysrq-w.txt"))),
        [
            "jbd2/sda2-8 - journal_write -",
            "postgres fdatasync commit - only_one_listed jbd2/sda2-8",
            "cp write dirty_limit_global -",
        ]
    );
    let locks = read(log!("6.1-arm64-locks.txt"));
    assert_eq!(
        told(&locks),
        [
            "writer:b pwrite64 inode_lock 122 told writer:a",
            "writer:a pwrite64 transaction_locked 122 only_one_listed jbd2/mmcblk0p2-",
            "jbd2/mmcblk0p2- - open_handles 122",
        ]
    );
    let arm = read(log!("5.10-arm.txt"));
    assert_eq!(told(&arm), ["logger stat64 metadata_read 245"]);
    assert_eq!(arm.tasks[0].times, 2, "told again, with and without addresses");
    assert!(arm.is_cut && describe(&arm, 1).contains("hung_task_warnings"));
}

#[test]
fn another_wait_another_start_and_another_report_are_not_the_same() {
    let report = |at: u64, name: &str, seconds: u64| {
        format!(
            "[{at}.000001] INFO: task {name}:7 blocked for more than {seconds} seconds.\n\
             [{at}.000002] task:{name} state:D stack:0 pid:7 tgid:7 ppid:1 flags:0x0\n\
             [{at}.000003] Call Trace:\n[{at}.000004]  jbd2_log_wait_commit+0x1/0x2\n"
        )
    };
    let log = read(&[report(500, "a", 122), report(620, "a", 245), report(900, "a", 130)].concat());
    let waits: Vec<_> = log.tasks.iter().map(|task| (task.waited_s, task.times)).collect();
    assert_eq!(waits, [(Some(245), 2), (Some(130), 1)], "a shorter time is another wait");
    // A machine that started again has other tasks of these numbers.
    let jbd2 = "[900.1] task:jbd2/sda1-8 state:D stack:0 pid:9 ppid:2 flags:0x0\n[900.1] Call Trace:\n\
                [900.1]  jbd2_journal_commit_transaction+0x1/0x2\n";
    let log = read(&[jbd2, &report(200, "a", 122)].concat());
    assert_eq!((log.tasks[0].start, log.tasks[1].start), (0, 1));
    assert_eq!(told(&log)[0], "a - commit 122");
    // A stack of something else is not the task's.
    let other = [
        &report(500, "a", 122),
        "[500.1] WARNING: CPU: 0 PID: 1 at x\n[500.1] Call Trace:\n\
                  [500.1]  balance_dirty_pages+0x1/0x2\n",
    ]
    .concat();
    assert_eq!(told(&read(&other)), ["a - commit 122"]);
}

#[test]
fn a_dump_of_all_tasks_tells_those_that_are_stuck() {
    let mut text = String::from("[5.1] sysrq: Show State\n");
    let mut task = |name: &str, state: char, pid: u32, stack: &str| {
        let frames: String =
            stack.split(' ').map(|name| format!("[5.1]  {name}+0x1/0x2\n")).collect();
        text += &format!(
            "[5.1] task:{name} state:{state} stack:0 pid:{pid} ppid:1 flags:0x0\n[5.1] Call Trace:\n{frames}"
        );
    };
    task("init", 'S', 1, "schedule do_epoll_wait __x64_sys_epoll_wait");
    task("kworker/0:1", 'I', 2, "schedule worker_thread kthread");
    task("sleep", 'S', 3, "schedule do_nanosleep hrtimer_nanosleep");
    task("uring", 'S', 4, "schedule io_schedule __iomap_dio_rw ext4_file_write_iter");
    task("sync", 'D', 5, "schedule jbd2_log_wait_commit ext4_sync_file __x64_sys_fsync");
    let log = read(&text);
    assert_eq!((log.tasks.len(), log.others), (2, 3));
    assert_eq!(told(&log), ["uring - direct_io -", "sync fsync commit -"]);
}

#[test]
fn links_stay_among_listed_tasks() {
    let text = "INFO: task a:7 blocked for more than 122 seconds.\ntask:a state:D stack:0 pid:7 ppid:1 f\n\
                Call Trace:\n down_write+0x1/0x2\n do_truncate+0x1/0x2\n\
                INFO: task a:7 is blocked on a mutex likely owned by task b:7.\n";
    let log = read(text);
    assert_eq!(told(&log), ["a - inode_lock 122"], "it is not behind itself");
    assert!(describe(&log, 1).contains("b (pid 7), does: it is not listed"));
    assert!(describe(&read(""), 1).contains("no report of a hung task"));
}

#[test]
fn names_of_others_move_no_cursor() {
    let text = log!("6.18.txt").replace("log writer", "a\u{1b}[31m\u{202e}b\u{9b}2J");
    let text = describe(&read(&text), 100);
    assert!(text.chars().all(|one| one == '\n' || !baro_show::is_unseen(one)), "{text}");
    assert!(text.contains("write() of a?[31m"), "{text}");
}

#[test]
fn a_log_without_end_takes_no_more_memory() {
    let mut reader = log::LogReader::default();
    for pid in 0..6_000 {
        reader.line(format!("INFO: task a:{pid} blocked for more than 122 seconds.").as_bytes());
        reader.line(format!("task:a state:D stack:0 pid:{pid} ppid:1").as_bytes());
        reader.line(b"Call Trace:");
    }
    for _ in 0..10_000 {
        reader.line(b" schedule+0x1/0x2");
    }
    reader.line(b"1 lock held by a/5:");
    for _ in 0..10_000 {
        reader.line(b" #0: ffff (x){+}-{0:0}, at: y+0x1/0x2");
    }
    let log = reader.finish();
    assert_eq!((log.tasks.len(), log.left_out), (4_096, 1_904));
    assert!(log.tasks.iter().all(|task| task.frames.len() <= FRAMES_MAX && task.locks.len() <= 64));
    assert!(log::read(vec![b'x'; 1 << 22].as_slice()).unwrap().tasks.is_empty());
}

#[test]
fn a_log_cut_or_spoiled_anywhere_is_read() {
    let whole = [log!("6.18.txt"), log!("6.1-arm64-locks.txt"), log!("5.10-arm.txt")].concat();
    for cut in (0..whole.len()).step_by(97) {
        let mut bytes = whole.as_bytes().to_vec();
        bytes.rotate_left(cut);
        bytes[cut / 2] ^= 0x83;
        bytes.truncate(whole.len() - cut / 2);
        let log = log::read(bytes.as_slice()).unwrap();
        let (text, json) = (describe(&log, 100), to_json(&log, 100));
        assert_eq!(json["tasks"].as_array().unwrap().len(), log.tasks.len().min(100));
        assert!(!text.is_empty());
    }
}
