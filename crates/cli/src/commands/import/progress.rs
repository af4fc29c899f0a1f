//! How far an import has come, for people who wait: samples, of a file of known size its part, and about how
//! long the rest of it takes.

use baro_command::status_on_terminal;
use baro_sys::{clock, files};
use std::path::Path;

/// Before this the rest cannot be told from what was read.
const KNOWN_NS: u64 = 2_000_000_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Progress {
    /// Somebody looks.
    is_shown: bool,
    begun_ns: u64,
    /// Bytes of the file that were read, of so many.
    bytes: u64,
    of: Option<u64>,
}

impl Progress {
    /// Shown where stderr is a terminal.
    pub(super) fn new() -> Self {
        let begun_ns = clock::monotonic_ns();
        Progress { is_shown: status_on_terminal(), begun_ns, bytes: 0, of: None }
    }

    /// One that nobody looks at.
    pub(super) fn silent() -> Self {
        Progress { is_shown: false, begun_ns: 0, bytes: 0, of: None }
    }

    /// Another file; of one that is read `as_it_is` the size is known.
    pub(super) fn begin(&mut self, file: &Path, as_it_is: bool) {
        let is_stdin = file == Path::new("-");
        let known = as_it_is && self.is_shown && !is_stdin && files::is_regular(file);
        self.of = if known { files::size_bytes(file).ok() } else { None };
        (self.bytes, self.begun_ns) = (0, clock::monotonic_ns());
    }

    pub(super) fn read(&mut self, bytes: usize) {
        self.bytes += bytes as u64;
    }

    pub(super) fn show(&self, file: &str, samples: u64) {
        if self.is_shown {
            let elapsed_ns = clock::monotonic_ns().saturating_sub(self.begun_ns);
            status!("{file}: {samples} samples{}", part(elapsed_ns, self.bytes, self.of));
        }
    }
}

/// ", 37 %, about 12 s left"; nothing of a file whose size is not known.
fn part(elapsed_ns: u64, bytes: u64, of: Option<u64>) -> String {
    let Some(of) = of.filter(|of| bytes > 0 && *of >= bytes) else { return String::new() };
    let percent = bytes * 100 / of;
    if elapsed_ns < KNOWN_NS {
        return format!(", {percent} %");
    }
    let left_s =
        u128::from(elapsed_ns) * u128::from(of - bytes) / u128::from(bytes) / 1_000_000_000;
    format!(", {percent} %, about {left_s} s left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rest_is_told_from_what_was_read() {
        assert_eq!(part(1, 25, Some(100)), ", 25 %");
        assert_eq!(part(4_000_000_000, 25, Some(100)), ", 25 %, about 12 s left");
        assert_eq!(part(4_000_000_000, 100, Some(100)), ", 100 %, about 0 s left");
        for (bytes, of) in [(0, Some(100)), (25, None), (25, Some(20))] {
            assert_eq!(part(4_000_000_000, bytes, of), "");
        }
    }
}
