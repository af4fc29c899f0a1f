//! Lines of the kernel's log that begin a task, a list of locks, or something else.
//!
//! The forms are those of `kernel/hung_task.c`, `sched_show_task()` and `lockdep_print_held_locks()` of
//! Linux 4.18 to 6.18. Names of tasks may have blanks and colons in them: what follows a name is looked
//! for from the end.
//!
//! Invariant: a name cannot make a number of another task. Held by `names_with_colons_keep_their_number`.

use crate::hang::{HeldLock, Owner, Who, kept};

/// What a line begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Head {
    /// A report of a hung task.
    Hung { who: Who, waited_s: u64 },
    /// The kernel's release, in a report.
    Kernel(String),
    /// A task of a dump, or of a report.
    Dumped { who: Who, state: char },
    /// Who has the lock that a task waits for.
    Owned { pid: i32, owner: Owner },
    /// Locks of a task follow.
    Holder(Who),
    /// The kernel tells of no more.
    Cut,
}

/// What a line begins; None: something else.
pub(super) fn of(words: &str) -> Option<Head> {
    if let Some(rest) = words.strip_prefix("INFO: task ") {
        return hung(rest).or_else(|| owned(rest));
    }
    if let Some(rest) = words.strip_prefix("task:") {
        return dumped(rest);
    }
    if let Some(rest) = words.trim_start().strip_prefix("Not tainted ") {
        return Some(Head::Kernel(kept(rest.split_whitespace().next()?)));
    }
    if let Some(rest) = words.trim_start().strip_prefix("Tainted: ") {
        // Flags, and from 6.10 on a list of what they mean, come before the release.
        let release = rest.split_whitespace().find(|word| {
            word.bytes().next().is_some_and(|byte| byte.is_ascii_digit()) && word.contains('.')
        })?;
        return Some(Head::Kernel(kept(release)));
    }
    if words.starts_with("Future hung task reports are suppressed") {
        return Some(Head::Cut);
    }
    holder(words).or_else(|| dumped_before_5_9(words))
}

/// `X:7 blocked for more than 122 seconds.`, also with words between.
fn hung(rest: &str) -> Option<Head> {
    let (head, seconds) = rest.rsplit_once(" for more than ")?;
    let (who, _) = head.rsplit_once(" blocked")?;
    let waited_s = seconds.split_whitespace().next()?.parse().ok()?;
    Some(Head::Hung { who: numbered(who)?, waited_s })
}

/// `X:7 is blocked on a mutex likely owned by task Y:9.` and its like of Linux 6.15 on.
fn owned(rest: &str) -> Option<Head> {
    const KINDS: [&str; 3] = ["mutex", "rw-semaphore", "semaphore"];
    let at = rest.find(" blocked on a")?;
    let (who, rest) = rest.split_at(at);
    // `X:7 is`, or `X:7 <reader>`.
    let who = who.strip_suffix(" is").unwrap_or(who);
    let who = who.rsplit_once(" <").map_or(who, |(who, _)| who);
    let lock = KINDS.into_iter().find(|kind| rest.contains(kind))?;
    let owner = ["likely owned by task ", "likely last held by task "]
        .into_iter()
        .find_map(|words| rest.split_once(words))
        .and_then(|(_, owner)| {
            let owner = owner.trim_end().trim_end_matches('.');
            numbered(owner.rsplit_once(" <").map_or(owner, |(owner, _)| owner))
        });
    Some(Head::Owned {
        pid: numbered(who)?.pid,
        owner: Owner { who: owner, lock: lock.to_owned() },
    })
}

/// `X               state:D stack:    0 pid: 1234 ppid:     2 flags:0x00004000`.
fn dumped(rest: &str) -> Option<Head> {
    let (name, rest) = rest.rsplit_once(" state:").or_else(|| rest.rsplit_once("state:"))?;
    let state = rest.chars().next()?;
    let (_, pid) = rest.split_once(" pid:")?;
    let pid = pid.split_whitespace().next()?.parse().ok()?;
    Some(Head::Dumped { who: Who { name: kept(name.trim_end()), pid }, state })
}

/// `jbd2/sda1-8     D    0   254      2 0x80000000`: the same before Linux 5.9.
fn dumped_before_5_9(words: &str) -> Option<Head> {
    let mut fields = words.split_whitespace().rev();
    let flags = fields.next()?.strip_prefix("0x")?;
    let is_hex = flags.len() == 8 && flags.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut number = || fields.next().and_then(|field| field.parse::<i32>().ok());
    let (_parent, pid, _stack) = (number()?, number()?, number()?);
    let state = fields.next()?;
    let letter = state.chars().next().filter(|_| is_hex && state.len() == 1)?;
    let end = words.find(&format!(" {state} "))?;
    let name = words.get(..end)?.trim();
    "RSDTtXZPI"
        .contains(letter)
        .then(|| Head::Dumped { who: Who { name: kept(name), pid }, state: letter })
}

/// `2 locks held by victim/1234:`.
fn holder(words: &str) -> Option<Head> {
    let (count, rest) = words.split_once(" held by ")?;
    let (count, word) = count.split_once(' ')?;
    count.parse::<u32>().ok()?;
    matches!(word, "lock" | "locks").then_some(())?;
    let (name, pid) = rest.trim_end().trim_end_matches(':').rsplit_once('/')?;
    Some(Head::Holder(Who { name: kept(name), pid: pid.parse().ok()? }))
}

/// ` #0: ffff888012345678 (sb_writers#3){.+.+}-{0:0}, at: ksys_write+0x65/0xe0`.
pub(super) fn lock(words: &str) -> Option<HeldLock> {
    let (number, rest) = words.trim_start().strip_prefix('#')?.split_once(": ")?;
    number.trim().parse::<u32>().ok()?;
    let (address, rest) = rest.split_once(" (")?;
    let (class, rest) = rest.split_once("){")?;
    let function = rest.split_once("at: ").map_or("", |(_, function)| function);
    let function = function.rsplit("] ").next().unwrap_or(function);
    let function = function.split(['+', ' ']).next().unwrap_or(function);
    Some(HeldLock { address: kept(address.trim()), class: kept(class), function: kept(function) })
}

/// A task and its number, `X:7`.
fn numbered(text: &str) -> Option<Who> {
    let (name, pid) = text.trim_end().rsplit_once(':')?;
    Some(Who { name: kept(name), pid: pid.parse().ok()? })
}

/// The number of the system call in `RSP: 002b:00007ffd ORIG_RAX: 000000000000004a`; that of no call is
/// none.
pub(super) fn call_number(words: &str) -> Option<Option<i64>> {
    let (_, number) = words.split_once("ORIG_RAX: ")?;
    let number = u64::from_str_radix(number.split_whitespace().next()?, 16).ok()?;
    Some(i64::try_from(number).ok())
}

/// Whether a stack begins.
pub(super) fn is_stack_begin(words: &str) -> bool {
    words.trim_end().eq_ignore_ascii_case("call trace:") || words.starts_with("Backtrace:")
}

/// Whether a line begins a report of something else, with a stack of its own.
pub(super) fn is_of_another(words: &str) -> bool {
    const BEGINS: [&str; 12] = [
        "CPU: ",
        "------------[",
        "WARNING: ",
        "BUG: ",
        "rcu: ",
        "watchdog: ",
        "NMI backtrace",
        "Sending NMI",
        "Showing all locks held",
        "Showing busy workqueues",
        "Kernel panic",
        "sysrq: ",
    ];
    BEGINS.iter().any(|begin| words.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(name: &str, pid: i32) -> Who {
        Who { name: name.to_owned(), pid }
    }

    #[test]
    fn names_with_colons_keep_their_number() {
        let hung = |who, waited_s| Some(Head::Hung { who, waited_s });
        let dumped = |who, state| Some(Head::Dumped { who, state });
        assert_eq!(
            of("INFO: task kworker/u8:3:77 blocked for more than 122 seconds."),
            hung(who("kworker/u8:3", 77), 122)
        );
        assert_eq!(
            of(
                "INFO: task x blocked for more than 9 seconds.:77 blocked in I/O wait for more than 122 seconds."
            ),
            hung(who("x blocked for more than 9 seconds.", 77), 122)
        );
        assert_eq!(
            of(
                "task:a state:R pid: 1 state:D stack:0     pid:13692 tgid:13692 ppid:13690 flags:0x4002"
            ),
            dumped(who("a state:R pid: 1", 13_692), 'D')
        );
        assert_eq!(
            of("task:jbd2/vda1-8     state:D stack:    0 pid:  254 ppid:     2 flags:0x00004000"),
            dumped(who("jbd2/vda1-8", 254), 'D')
        );
        assert_eq!(
            of("jbd2/sda1-8     D    0   254      2 0x80000000"),
            dumped(who("jbd2/sda1-8", 254), 'D')
        );
        assert_eq!(of("2 locks held by a b/c/12:"), Some(Head::Holder(who("a b/c", 12))));
        for text in [
            "INFO: task x:y blocked for more than 1 seconds.",
            "task:",
            "1 lock held by x:",
            "INFO: task ",
            "a D 0 1 2 0x1",
            "0x80000000",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn the_kernels_own_words_of_a_holder_are_taken() {
        let owned = |text: &str| match of(&format!("INFO: task {text}")) {
            Some(Head::Owned { pid, owner }) => {
                Some((pid, owner.who.map(|who| (who.name, who.pid)), owner.lock))
            }
            _ => None,
        };
        let y = Some(("y:z".to_owned(), 9));
        assert_eq!(
            owned("x:7 is blocked on a mutex likely owned by task y:z:9."),
            Some((7, y.clone(), "mutex".to_owned()))
        );
        assert_eq!(
            owned("x:7 <writer> blocked on an rw-semaphore likely owned by task y:z:9 <reader>"),
            Some((7, y.clone(), "rw-semaphore".to_owned()))
        );
        assert_eq!(
            owned("x:7 is blocked on a semaphore likely last held by task y:z:9"),
            Some((7, y, "semaphore".to_owned()))
        );
        assert_eq!(
            owned("x:7 is blocked on a mutex, but the owner is not found."),
            Some((7, None, "mutex".to_owned()))
        );
        let found = lock(
            " #1: ffff88810a0c2f48 (&sb->s_type->i_mutex_key#9){++++}-{3:3}, at: ext4_file_write_iter+0x1/0x2",
        );
        let found = found.unwrap();
        assert_eq!(
            (found.class.as_str(), found.function.as_str()),
            ("&sb->s_type->i_mutex_key#9", "ext4_file_write_iter")
        );
        assert_eq!(
            call_number("RSP: 002b:0 EFLAGS: 00000246 ORIG_RAX: 000000000000004a"),
            Some(Some(74))
        );
        assert_eq!(call_number("ORIG_RAX: ffffffffffffffff"), Some(None));
    }
}
