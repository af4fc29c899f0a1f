//! Memory of this process, as the kernel counts it.
//!
//! The ring is memory that is shared: of the rest, private memory and file pages (the program and
//! its libraries), a recorder has all but the yardstick.
//!
//! Invariant: what the kernel does not tell is `None`, never zero. Held by the test below.

use std::path::Path;

/// What /proc/self/status says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// Resident at most so far; a page counts each time it is mapped, those of the ring twice.
    pub peak_bytes: Option<u64>,
    /// Resident now.
    pub resident_bytes: Option<u64>,
    /// Resident and of this process alone (kernel 4.5).
    pub private_bytes: Option<u64>,
    /// Resident pages of files.
    pub file_bytes: Option<u64>,
}

impl Memory {
    /// As it is now.
    #[must_use]
    pub fn now() -> Memory {
        let path = Path::new("/proc/self/status");
        baro_sys::files::read_text(path, 64 << 10)
            .map_or_else(|_| Memory::default(), |text| of(&text))
    }
}

fn of(status: &str) -> Memory {
    let field = |name: &str| -> Option<u64> {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? << 10)
    };
    Memory {
        peak_bytes: field("VmHWM:"),
        resident_bytes: field("VmRSS:"),
        private_bytes: field("RssAnon:"),
        file_bytes: field("RssFile:"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_told_is_unknown() {
        let found = of("Name:\tbaro\nVmHWM:\t    2048 kB\nRssFile:\t  4 kB\n");
        let expected = Memory {
            peak_bytes: Some(2 << 20),
            resident_bytes: None,
            private_bytes: None,
            file_bytes: Some(4096),
        };
        assert_eq!(found, expected);
        assert_eq!(of(""), Memory::default());
    }
}
