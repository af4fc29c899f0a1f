//! The background thread of the conventional methods: it flushes what the producer wrote.
//!
//! A thread of its own because a flush takes as long as the device likes. The queue is as long as
//! a recording has flush units, so the producer never waits for it.
//!
//! Invariant: when [`Flusher::settle`] returns, every flush asked for before it is over. Held by
//! `settles_after_all_flushes`.

use super::Flush;
use crate::error::BenchError;
use baro_bench_sys::calls;
use baro_sys::clock;
use hdrhistogram::Histogram;
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

enum Job {
    Flush { file: Arc<File>, offset_bytes: u64, length_bytes: u64 },
    Settle(Sender<()>),
}

/// What the background thread did.
#[derive(Clone, Debug)]
pub struct FlushReport {
    /// Duration of each flush, ns.
    pub latency_ns: Histogram<u64>,
    /// Flushes that failed.
    pub failed: u64,
    /// The first failure.
    pub first_error: Option<io::ErrorKind>,
}

#[derive(Debug)]
pub(crate) struct Flusher {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<FlushReport>>,
}

impl Flusher {
    pub(crate) fn start(how: Flush) -> Result<Self, BenchError> {
        let report = FlushReport {
            latency_ns: crate::pace::latency_histogram()?,
            failed: 0,
            first_error: None,
        };
        let (sender, receiver) = channel();
        let thread = std::thread::Builder::new()
            .name("bench-flusher".to_owned())
            .spawn(move || flush_all(how, &receiver, report))
            .map_err(BenchError::Thread)?;
        Ok(Self { jobs: Some(sender), thread: Some(thread) })
    }

    /// Asks for a flush; does not wait for it.
    pub(crate) fn flush(&self, file: &Arc<File>, offset_bytes: u64, length_bytes: u64) {
        let job = Job::Flush { file: Arc::clone(file), offset_bytes, length_bytes };
        if let Some(jobs) = &self.jobs {
            // A lost thread is noticed by settle, which every slice ends with.
            let _ = jobs.send(job);
        }
    }

    /// Waits until all flushes asked for are over.
    pub(crate) fn settle(&self) -> Result<(), BenchError> {
        let (sender, receiver) = channel();
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(Job::Settle(sender)).is_ok());
        if sent && receiver.recv().is_ok() {
            Ok(())
        } else {
            Err(BenchError::ThreadLost("bench-flusher"))
        }
    }

    /// Ends the thread after the flushes asked for.
    pub(crate) fn finish(mut self) -> Result<FlushReport, BenchError> {
        self.jobs = None;
        let lost = || BenchError::ThreadLost("bench-flusher");
        self.thread.take().ok_or_else(lost)?.join().map_err(|_| lost())
    }
}

impl Drop for Flusher {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn flush_all(how: Flush, jobs: &Receiver<Job>, mut report: FlushReport) -> FlushReport {
    for job in jobs {
        match job {
            Job::Flush { file, offset_bytes, length_bytes } => {
                let before_ns = clock::monotonic_ns();
                let result = match how {
                    Flush::Fdatasync => file.sync_data(),
                    Flush::SyncFileRange => calls::write_back(&file, offset_bytes, length_bytes)
                        .map_err(io::Error::from),
                };
                report.latency_ns.saturating_record(clock::monotonic_ns() - before_ns);
                if let Err(error) = result {
                    report.failed += 1;
                    report.first_error.get_or_insert(error.kind());
                }
            }
            Job::Settle(waiter) => {
                // Nobody waits any more: nothing to say.
                let _ = waiter.send(());
            }
        }
    }
    report
}

#[cfg(test)]
mod tests {
    use super::{Flush, Flusher};
    use baro_sys::files;
    use std::sync::Arc;

    #[test]
    fn settles_after_all_flushes() {
        let path = std::env::temp_dir().join(format!("baro-flusher-{}", std::process::id()));
        let file = Arc::new(files::create(&path).expect("a new file"));
        for how in [Flush::Fdatasync, Flush::SyncFileRange] {
            let flusher = Flusher::start(how).expect("a thread");
            files::write_at(&file, &[1; 65_536], 0).expect("written");
            for offset_bytes in (0..65_536).step_by(16_384) {
                flusher.flush(&file, offset_bytes, 16_384);
            }
            flusher.settle().expect("the thread lives");
            let report = flusher.finish().expect("the thread ends");
            assert_eq!((report.latency_ns.len(), report.failed), (4, 0), "{how:?}");
        }
        files::remove(&path).expect("removed");
    }
}
