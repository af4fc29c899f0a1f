//! The machine that the lab runs on. Guests are emulated on it, so it stands in results beside theirs.

use serde_json::{Value, json};
use std::num::NonZero;

/// How many processors it has: as many guests of one processor run beside each other.
pub(crate) fn processors() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// Its processors and kernel.
pub(crate) fn facts() -> Value {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    json!({
        "processor": model(&read("/proc/cpuinfo")),
        "processors": processors(),
        "kernel": read("/proc/sys/kernel/osrelease").trim(),
    })
}

/// The name of the first processor in /proc/cpuinfo.
fn model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    Some(line.split_once(':')?.1.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_has_its_name() {
        let text = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC: 7\n\nprocessor\t: 1\n";
        assert_eq!(model(text), Some("AMD EPYC: 7"));
        assert_eq!(model("processor\t: 0\n"), None);
        let facts = facts();
        assert!(facts["processors"].as_u64() >= Some(1) && facts["kernel"] != "");
    }
}
