//! Where an import pushes: a recorder of its own, or a ring of the one that runs.

use crate::failure::Result;
use baro_log::{Catalog, LOCK};
use baro_ondisk::Type;
use baro_recorder::{Options, Producer, Recorder, Trouble, attach};
use baro_sys::clock;
use baro_sys::lock::LockFile;
use std::path::{Path, PathBuf};

/// While the ring is full, how often it is looked whether the recorder is still there.
const LOOK_NS: u64 = 1_000_000_000;
const NAP_NS: u64 = 1_000_000;
/// Samples of a record: few enough that a small ring takes several of them.
const RECORD_MAX: usize = 8192;
/// Longer than a device in trouble is waited for.
const PATIENCE_NS: u64 = 60_000_000_000;

/// See the module.
#[derive(Debug)]
pub(super) struct Target {
    store: PathBuf,
    producer: Producer,
    writer: Writer,
}

#[derive(Debug)]
enum Writer {
    Own(Box<Recorder>),
    /// Of another process: its catalog as it was at the attach.
    Other(Box<Catalog>),
}

impl Target {
    /// Opens the store for recording, or attaches where another process records into it.
    pub(super) fn open(store: &Path) -> Result<Self> {
        let (producer, writer) = if LockFile::holder(&store.join(LOCK))?.is_some() {
            let attached = attach(store)?;
            (attached.producer, Writer::Other(Box::new(attached.catalog)))
        } else {
            let recorder = Recorder::open(store, Options::default())?;
            (recorder.producer()?, Writer::Own(Box::new(recorder)))
        };
        Ok(Target { store: store.to_owned(), producer, writer })
    }

    /// Id and type of a declared series.
    pub(super) fn declared(&self, name: &str) -> Option<(u32, Type)> {
        let found = match &self.writer {
            Writer::Own(recorder) => recorder.declared(name),
            Writer::Other(catalog) => catalog.get(name),
        };
        found.map(|declared| (declared.id, declared.kind))
    }

    /// Whether new series can be declared, and why not.
    pub(super) fn may_declare(&self) -> std::result::Result<(), &'static str> {
        match &self.writer {
            Writer::Own(_) => Ok(()),
            Writer::Other(_) => {
                Err("one that is declared, since another process records into the \
                                     store and only it can declare (baro record --declare NAME:TYPE, \
                                     or import when it has ended)")
            }
        }
    }

    /// Ids of new series; durable when this returns.
    pub(super) fn declare(
        &self,
        wanted: &[(&str, Type, &str)],
    ) -> std::result::Result<Vec<u32>, baro_recorder::Error> {
        match &self.writer {
            Writer::Own(recorder) => recorder.declare(wanted),
            Writer::Other(_) => Ok(Vec::new()),
        }
    }

    /// Pushes samples, in as many records as they need; waits for room. Values are bits of f64 or
    /// i64.
    pub(super) fn push(&mut self, times_ns: &[i64], series: &[u32], bits: &[i64]) -> Result<()> {
        let most = (self.producer.record_bytes_max().saturating_sub(8) / 20).clamp(1, RECORD_MAX);
        let columns = times_ns.chunks(most).zip(series.chunks(most)).zip(bits.chunks(most));
        for ((times_ns, series), bits) in columns {
            self.wait_for_room(8 + series.len() * 20)?;
            self.producer.push_integer_batch(times_ns, series, bits)?;
        }
        Ok(())
    }

    /// Pushes a text; waits for room.
    pub(super) fn push_text(&mut self, time_ns: i64, series: u32, text: &str) -> Result<()> {
        self.wait_for_room(text.len())?;
        self.producer.push_text(series, time_ns, text)?;
        Ok(())
    }

    fn wait_for_room(&self, payload_bytes: usize) -> Result<()> {
        let needed = Producer::record_bytes(payload_bytes);
        self.wait(|producer| producer.free_bytes() >= needed)
    }

    /// Waits until `done`; an error when there is nothing any more to wait for.
    fn wait(&self, done: impl Fn(&Producer) -> bool) -> Result<()> {
        let mut looked_ns = clock::monotonic_ns();
        let (mut moved_ns, mut durable) = (looked_ns, self.producer.durable());
        while !done(&self.producer) {
            let now_ns = clock::monotonic_ns();
            if now_ns.saturating_sub(looked_ns) >= LOOK_NS {
                looked_ns = now_ns;
                if self.producer.durable() != durable {
                    (moved_ns, durable) = (now_ns, self.producer.durable());
                }
                self.look(now_ns.saturating_sub(moved_ns))?;
            }
            clock::sleep_ns(NAP_NS);
        }
        Ok(())
    }

    /// Whether waiting makes sense, after nothing has become durable for `still_ns`.
    fn look(&self, still_ns: u64) -> Result<()> {
        let trouble = match &self.writer {
            Writer::Own(recorder) => recorder.status().trouble,
            Writer::Other(_) => {
                let gone = LockFile::holder(&self.store.join(LOCK))?.is_none();
                if gone || self.producer.closed() {
                    let text = "the process that records has ended before all was durable; what is \
                                in its ring is taken over by the next: repeat the import then";
                    return Err(text.into());
                }
                Trouble::None
            }
        };
        let full = matches!(trouble, Trouble::LogFull | Trouble::Held { .. });
        if still_ns >= PATIENCE_NS || (full && still_ns >= LOOK_NS) {
            let seconds = still_ns / 1_000_000_000;
            let why = match trouble {
                Trouble::None => "the recorder does not say why".to_owned(),
                trouble => trouble.to_string(),
            };
            return Err(format!(
                "nothing has become durable for {seconds} s: {why}; what was imported before is in \
                 the store"
            )
            .into());
        }
        Ok(())
    }

    /// Waits until all is durable. Returns the records lost on the way, each counted by the writer.
    pub(super) fn finish(self) -> Result<u64> {
        if let Writer::Other(_) = self.writer {
            let end = self.producer.next_sequence();
            self.wait(|producer| producer.durable() >= end)?;
        }
        let Target { producer, writer, .. } = self;
        let Writer::Own(recorder) = writer else { return Ok(0) };
        let closed = recorder.close();
        drop(producer);
        Ok(closed.status.lost + closed.left)
    }
}
