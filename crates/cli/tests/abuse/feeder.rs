//! A recorder that is fed lines from a thread.

use super::calls::baro;
use std::io::Write;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// Forms of lines that have times of nanoseconds.
pub(crate) const FORMS: [&str; 3] = ["csv", "json", "influx"];

/// A recorder and who writes into its stdin.
pub(crate) struct Fed {
    pub(crate) child: Child,
    stop: Arc<AtomicBool>,
    thread: JoinHandle<u64>,
}

impl Fed {
    /// Starts recording of lines of this form: `lines` each 5 ms, of ten series, from `first` on.
    pub(crate) fn start(
        store: &str,
        form: &'static str,
        options: &[&str],
        first: u64,
        lines: u64,
    ) -> Self {
        let arguments = [&["record", store, "--stdin", form, "--format", "json"], options].concat();
        let mut child = baro(&arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let mut next = first;
            while !told.load(Ordering::Relaxed) {
                let mut text = String::new();
                for number in next..next + lines {
                    // Nothing that packs well.
                    let value = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
                    let time_ns = 1_700_000_000_000_000_000 + number * 1000;
                    let series = number % 10;
                    text += &match form {
                        "json" => format!("{{\"time\":{time_ns},\"s{series}\":{value}.25}}\n"),
                        "influx" => format!("s{series} v={value}.25 {time_ns}\n"),
                        _ => format!("{time_ns},s{series},{value}.25\n"),
                    };
                }
                if stdin.write_all(text.as_bytes()).is_err() {
                    break;
                }
                next += lines;
                std::thread::sleep(Duration::from_millis(5));
            }
            next
        });
        Fed { child, stop, thread }
    }

    /// Ends the input; the recorder, and the number of the line that would have come next.
    pub(crate) fn end(self) -> (Child, u64) {
        self.stop.store(true, Ordering::Relaxed);
        let next = self.thread.join().unwrap();
        (self.child, next)
    }
}

/// Samples that a query finds of all series; `None` if it fails.
pub(crate) fn count(store: &str) -> Option<u64> {
    let output = super::calls::run(&["query", store, "--agg", "count", "--format", "csv"]);
    let text = String::from_utf8(output.stdout).ok()?;
    if !matches!(output.status.code(), Some(0 | 3)) {
        return None;
    }
    let of_line = |line: &str| line.split(',').nth(2)?.parse::<f64>().ok();
    Some(text.lines().skip(1).filter_map(of_line).sum::<f64>() as u64)
}
