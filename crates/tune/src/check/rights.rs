//! What the process may: lock memory, run in real time, read the clock without the kernel.

use super::{Circumstances, Files, Need, Remedy};

/// What a recorder asks for where nothing is said.
const PRIORITY: u64 = 50;

pub(super) fn needs(here: &Circumstances, files: &Files) -> Vec<Need> {
    let mut needs = vec![memlock(here), priority(here)];
    if let Some(runtime_us) = files.number("/proc/sys/kernel/sched_rt_runtime_us") {
        needs.push(
            Need::new("realtime", "kernel.sched_rt_runtime_us", runtime_us.to_string(), "not 0")
                .because("at 0 no thread gets SCHED_FIFO, whatever its rights")
                .costing("a real-time thread that spins may take 95 % of a processor")
                .by_setting("/proc/sys/kernel/sched_rt_runtime_us", "950000")
                .good_if(runtime_us != 0, "sysctl -w kernel.sched_rt_runtime_us=950000"),
        );
    }
    needs.extend(clock(files));
    needs
}

fn memlock(here: &Circumstances) -> Need {
    let enough = here.may_lock || here.memlock_bytes.is_none_or(|limit| limit >= here.locked_bytes);
    let found = match here.memlock_bytes {
        _ if here.may_lock => "CAP_IPC_LOCK".to_owned(),
        None => "unlimited".to_owned(),
        Some(bytes) => format!("{bytes} bytes"),
    };
    Need::new("memlock", "RLIMIT_MEMLOCK", found, format!("at least {} bytes", here.locked_bytes))
        .because("rings that are not locked can be swapped out or moved while a push writes them")
        .costing("that memory is never lent to others")
        .by(Remedy::ServiceLimit("LimitMEMLOCK=infinity"))
        .good_if(
            enough,
            "ulimit -l unlimited (in a unit: LimitMEMLOCK=infinity; for a user: a line \
             'USER - memlock unlimited' in /etc/security/limits.d/barograph.conf)",
        )
}

fn priority(here: &Circumstances) -> Need {
    let found = match here.realtime_priority_max {
        _ if here.may_realtime => "CAP_SYS_NICE".to_owned(),
        limit => limit.to_string(),
    };
    Need::new("rtprio", "RLIMIT_RTPRIO", found, format!("at least {PRIORITY}"))
        .because("without SCHED_FIFO other programs can keep the writer from the processor")
        .costing("the writer goes before everything that is not real-time")
        .by(Remedy::ServiceLimit("LimitRTPRIO=99"))
        .good_if(
            here.may_realtime || here.realtime_priority_max >= PRIORITY,
            "ulimit -r 99 (in a unit: LimitRTPRIO=99; for a user: a line 'USER - rtprio 99' in \
             /etc/security/limits.d/barograph.conf)",
        )
}

fn clock(files: &Files) -> Option<Need> {
    let folder = "/sys/devices/system/clocksource/clocksource0";
    let found = files.text(&format!("{folder}/current_clocksource"))?;
    let fast = |name: &str| {
        let known = ["tsc", "kvm-clock", "arch_sys_counter", "hyperv_clocksource_tsc_page"];
        known.contains(&name) || name.starts_with("arch_")
    };
    let others = files.text(&format!("{folder}/available_clocksource")).unwrap_or_default();
    let command = match others.split_whitespace().find(|name| fast(name)) {
        Some(better) => format!("echo {better} > {folder}/current_clocksource"),
        None => "pass timestamps of your own to push: there is no better clock here".to_owned(),
    };
    let good = fast(&found);
    let better = others.split_whitespace().find(|name| fast(name));
    let name = "one that is read without a system call (tsc, kvm-clock)";
    let need = Need::new("clock", "clocksource", found, name)
        .because("a producer that stamps its records enters the kernel for each")
        .costing("the kernel had a reason to choose another: look for \"tsc\" in its log");
    let need = match better {
        Some(better) => need.by_setting(format!("{folder}/current_clocksource"), better),
        None => need,
    };
    Some(need.good_if(good, command))
}
