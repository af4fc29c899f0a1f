//! Scheduling of the calling thread: processor, real-time priority; and the process's limits.
//! Each call says whether the kernel granted it; nothing is assumed.

use crate::{Error, Result};

/// Binds the calling thread to processor `cpu`.
///
/// # Errors
/// There is no such processor, or it is not allowed to this process.
pub fn set_cpu(cpu: usize) -> Result<()> {
    let limit = libc::CPU_SETSIZE as usize;
    if cpu >= limit {
        let reason = std::io::Error::from_raw_os_error(libc::EINVAL);
        return Err(Error::new(format!("bind thread to processor {cpu}"), "", reason));
    }
    // SAFETY: all-zero bytes are an empty set; `cpu` is below its size.
    let set = unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        set
    };
    // SAFETY: pid 0 is the calling thread; the set is valid.
    match unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) } {
        0 => Ok(()),
        _ => Err(Error::last(format!("bind thread to processor {cpu}"), "")),
    }
}

/// Gives the calling thread SCHED_FIFO at `priority` (1 to 99).
///
/// # Errors
/// EPERM without CAP_SYS_NICE or a sufficient RLIMIT_RTPRIO (`ulimit -r`, `LimitRTPRIO=`).
pub fn set_fifo(priority: u8) -> Result<()> {
    let parameters = libc::sched_param { sched_priority: i32::from(priority) };
    // A process started by this one must not inherit the priority.
    let policy = libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK;
    // SAFETY: pid 0 is the calling thread; the parameters are valid.
    match unsafe { libc::sched_setscheduler(0, policy, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(Error::last(format!("SCHED_FIFO priority {priority}"), "")),
    }
}

/// Gives the calling thread what others leave: SCHED_BATCH, nice 10, and the lowest of the
/// ordinary priorities at the device. Threads that it starts inherit all of it.
///
/// Not nice 19: beside a compiler such a thread got nothing done for six seconds, measured.
///
/// # Errors
/// The kernel refuses; what was granted until then stays.
pub fn set_background() -> Result<()> {
    let parameters = libc::sched_param { sched_priority: 0 };
    // SAFETY: pid 0 is the calling thread; the parameters are valid.
    if unsafe { libc::sched_setscheduler(0, libc::SCHED_BATCH, &raw const parameters) } != 0 {
        return Err(Error::last("SCHED_BATCH", ""));
    }
    // SAFETY: touches no memory; on Linux 0 is the calling thread, not its process.
    if unsafe { libc::setpriority(libc::PRIO_PROCESS as _, 0, 10) } != 0 {
        return Err(Error::last("nice 10", ""));
    }
    // IOPRIO_WHO_PROCESS, the calling thread, class "best effort" (2), level 7 of 0 to 7.
    let (who, thread, priority): (libc::c_int, libc::c_int, libc::c_int) = (1, 0, 2 << 13 | 7);
    // SAFETY: touches no memory.
    match unsafe { libc::syscall(libc::SYS_ioprio_set, who, thread, priority) } {
        0 => Ok(()),
        _ => Err(Error::last("ioprio_set", "")),
    }
}

/// The real-time class of I/O at its middle level: served before all others at the device.
pub const IO_REAL_TIME: u16 = 1 << 13 | 4;
/// IOPRIO_WHO_PROCESS
const ONE_TASK: libc::c_int = 1;

/// The I/O priority of task `tid`, as the kernel has it: class times 8192, plus level.
///
/// # Errors
/// There is no such task.
pub fn io_priority(tid: u32) -> Result<u16> {
    // SAFETY: touches no memory.
    let found = unsafe { libc::syscall(libc::SYS_ioprio_get, ONE_TASK, tid) };
    u16::try_from(found).map_err(|_| Error::last(format!("I/O priority of task {tid}"), ""))
}

/// Sets it.
///
/// # Errors
/// There is no such task, or it is not ours to set.
pub fn set_io_priority(tid: u32, priority: u16) -> Result<()> {
    // SAFETY: touches no memory.
    match unsafe { libc::syscall(libc::SYS_ioprio_set, ONE_TASK, tid, u32::from(priority)) } {
        0 => Ok(()),
        _ => Err(Error::last(format!("set the I/O priority of task {tid}"), "")),
    }
}

/// Processors that the calling thread may run on.
#[must_use]
pub fn allowed_cpus() -> Vec<usize> {
    // SAFETY: all-zero bytes are an empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: pid 0 is the calling thread; the set is writable and of the given size.
    if unsafe { libc::sched_getaffinity(0, size_of_val(&set), &raw mut set) } != 0 {
        return Vec::new();
    }
    let limit = libc::CPU_SETSIZE as usize;
    // SAFETY: indexes are below the set's size.
    (0..limit).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// Raises the limit of open files to what the process may have, and returns it.
pub fn raise_open_files() -> u64 {
    // SAFETY: all-zero bytes are a valid rlimit.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: `limit` is writable, then readable.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit);
        }
    }
    #[allow(clippy::useless_conversion, reason = "rlim_t is 32 bits wide on some targets")]
    u64::from(limit.rlim_cur)
}

/// Ids of this process's threads whose names start with `prefix`.
#[must_use]
pub fn own_threads(prefix: &str) -> Vec<u32> {
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return Vec::new() };
    tasks
        .filter_map(|task| {
            let task = task.ok()?;
            let name = std::fs::read_to_string(task.path().join("comm")).ok()?;
            let id = task.file_name().to_str()?.parse().ok()?;
            name.starts_with(prefix).then_some(id)
        })
        .collect()
}

/// Real and effective user id of the process is root.
#[must_use]
pub fn is_root() -> bool {
    // SAFETY: cannot fail, touches no memory.
    unsafe { libc::geteuid() == 0 }
}

/// What the process may do about memory and scheduling.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// RLIMIT_MEMLOCK in bytes; `None` if it is unlimited.
    pub memlock_bytes: Option<u64>,
    /// CAP_IPC_LOCK is effective.
    pub may_lock: bool,
    /// RLIMIT_RTPRIO.
    pub realtime_priority_max: u64,
    /// CAP_SYS_NICE is effective.
    pub may_realtime: bool,
}

impl Rights {
    /// Of this process. Without /proc it has no capabilities.
    #[must_use]
    pub fn own() -> Self {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
        let effective = effective.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
        let has = |capability: u32| effective.unwrap_or(0) >> capability & 1 == 1;
        let lock = limit(libc::RLIMIT_MEMLOCK as _);
        #[allow(clippy::useless_conversion, clippy::unnecessary_cast, reason = "differs by target")]
        Rights {
            memlock_bytes: lock.filter(|bytes| *bytes != libc::RLIM_INFINITY as u64),
            may_lock: has(14),
            realtime_priority_max: limit(libc::RLIMIT_RTPRIO as _).unwrap_or(0),
            may_realtime: has(23),
        }
    }
}

/// The soft limit of a resource.
fn limit(resource: u32) -> Option<u64> {
    // SAFETY: all-zero bytes are a valid rlimit.
    let mut limit: libc::rlimit = unsafe { std::mem::zeroed() };
    // SAFETY: `limit` is writable.
    let rc = unsafe { libc::getrlimit(resource as _, &raw mut limit) };
    #[allow(clippy::useless_conversion, reason = "rlim_t is 32 bits wide on some targets")]
    (rc == 0).then(|| u64::from(limit.rlim_cur))
}

/// Effective user id of the process.
#[must_use]
pub fn user_id() -> u32 {
    // SAFETY: cannot fail, touches no memory.
    unsafe { libc::geteuid() }
}
