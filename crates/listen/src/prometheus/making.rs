//! Samples of a message, made by the connection's own thread: those of series that have been met go into a
//! batch. Others are kept beside it with their names, until the request has the lane.

use super::write::Counts;
use crate::flight::Share;
use crate::lane::Names;
use crate::sink::{Overload, Sink};
use baro_ingest::{Batch, Intake, Key, Row, Types, Value};
use baro_net::Pass;
use baro_ondisk::Type;
use baro_ondisk::limits::NAME_BYTES_MAX;
use baro_sources::remote_write::{self, Series};

/// What is made of a message before it is pushed.
const MADE_BYTES: usize = 1 << 20;
/// The same as a part of all memory for requests, where that is little.
const MADE_PART: u64 = 8;
/// Between two looks at how much that is, within a series.
const LOOK_SAMPLES: usize = 4096;
/// The same as a part of what may be made: a sample takes 28 bytes, and more while its columns grow.
const LOOK_PART: usize = 64;
/// Series that are refused between two pushes.
const REFUSED_MAX: usize = 65_536;

/// How much may be made of a message, and whose memory that takes.
pub(crate) struct Made<'a, 'f> {
    share: &'a mut Share<'f>,
    /// What the message takes.
    own_bytes: u64,
    /// What may be made before it is pushed.
    most_bytes: usize,
}

impl<'a, 'f> Made<'a, 'f> {
    pub(crate) fn new(own_bytes: u64, max_bytes: u64, share: &'a mut Share<'f>) -> Self {
        let part = usize::try_from(max_bytes / MADE_PART).unwrap_or(usize::MAX);
        Made { share, own_bytes, most_bytes: MADE_BYTES.min(part) }
    }

    fn look_samples(&self) -> usize {
        LOOK_SAMPLES.min(self.most_bytes / LOOK_PART)
    }

    /// So much is made.
    fn hold(&mut self, bytes: usize) -> Result<(), Overload> {
        Ok(self.share.grow_to(self.own_bytes + bytes as u64)?)
    }
}

/// Samples on their way into the lane.
pub(crate) struct Making<'a, 's, 'f> {
    sink: &'a mut Sink<'s>,
    pass: &'a Pass,
    counts: &'a mut Counts,
    names: Names,
    batch: Batch,
    /// Time and value of samples of series that have not been met.
    new: Vec<(i64, f64)>,
    /// Where those of each end.
    ends: Vec<usize>,
    /// Samples since it was looked how much there is.
    unseen: usize,
    /// Series that were refused since the last push.
    refused: usize,
    made: Made<'a, 'f>,
}

impl<'a, 's, 'f> Making<'a, 's, 'f> {
    pub(crate) fn new(
        sink: &'a mut Sink<'s>,
        pass: &'a Pass,
        counts: &'a mut Counts,
        made: Made<'a, 'f>,
    ) -> Result<Self, Overload> {
        let (names, batch) = (sink.names()?, Batch::default());
        let (new, ends) = (Vec::new(), Vec::new());
        let (unseen, refused) = (0, 0);
        Ok(Making { sink, pass, counts, names, batch, new, ends, unseen, refused, made })
    }

    /// Takes a series of the message, or what is wrong with it.
    pub(crate) fn take(
        &mut self,
        number: u64,
        series: Result<&Series<'_>, &'static str>,
    ) -> Result<(), Overload> {
        self.counts.series += 1;
        let series = match series {
            Ok(series) => series,
            Err(said) => {
                self.sink.faults.add(number, || said.to_owned());
                return self.refused();
            }
        };
        self.counts.histograms += series.beside.histograms;
        self.counts.exemplars += series.beside.exemplars;
        if !self.pass.allows(&series.name) {
            let prefix = &self.pass.prefix;
            self.sink.faults.add(number, || {
                format!("expected a series that begins with {prefix:?}, as the token says")
            });
            return self.refused();
        }
        if series.name.len() > 4 * NAME_BYTES_MAX {
            let bytes = series.name.len();
            self.sink.faults.add(number, || {
                format!("expected a name of at most {NAME_BYTES_MAX} bytes, found {bytes} bytes")
            });
            return self.refused();
        }
        self.samples(number, series)
    }

    /// Which series were refused is remembered until what is made is pushed.
    fn refused(&mut self) -> Result<(), Overload> {
        self.refused += 1;
        match self.refused < REFUSED_MAX {
            true => Ok(()),
            false => self.push(),
        }
    }

    fn key(&self, name: &str) -> Key {
        self.names.maker.with(b"").key(name.as_bytes())
    }

    fn samples(&mut self, number: u64, series: &Series<'_>) -> Result<(), Overload> {
        let find = |making: &Self| {
            let met = making.names.known.read().get(making.key(&series.name));
            met.filter(|met| met.kind == Type::F64)
        };
        let mut met = find(self);
        let (mut open, mut refused) = (false, false);
        for (time_ms, value) in series.samples() {
            let time_ns = match remote_write::time_ns(time_ms) {
                Ok(time_ns) => time_ns,
                Err(said) => {
                    self.sink.faults.add(number, || said.to_string());
                    refused = true;
                    continue;
                }
            };
            self.unseen += 1;
            if self.unseen >= self.made.look_samples() {
                self.end_series(&mut open);
                if self.push_if_much()? {
                    met = find(self);
                }
            }
            match met {
                Some(met) => {
                    self.batch.begin(number, Some(time_ns));
                    self.batch.add(met, Value::Float(value));
                }
                None => {
                    if !open {
                        self.batch.add_whole(number, &series.name);
                        open = true;
                    }
                    self.new.push((time_ns, value));
                }
            }
        }
        self.end_series(&mut open);
        // Names take memory without samples too.
        self.unseen += series.name.len() / 16;
        if self.unseen >= self.made.look_samples() {
            self.push_if_much()?;
        }
        if refused { self.refused() } else { Ok(()) }
    }

    fn end_series(&mut self, open: &mut bool) {
        if std::mem::take(open) {
            self.ends.push(self.new.len());
        }
    }

    /// Pushes what is made if that is much, and says whether.
    fn push_if_much(&mut self) -> Result<bool, Overload> {
        self.unseen = 0;
        let beside =
            self.new.len() * size_of::<(i64, f64)>() + self.ends.len() * size_of::<usize>();
        let much = self.batch.used_bytes() + beside >= self.made.most_bytes;
        if !much {
            self.hold_made()?;
        }
        if much {
            self.push()?;
        }
        Ok(much)
    }

    fn hold_made(&mut self) -> Result<(), Overload> {
        let beside = self.new.capacity() * size_of::<(i64, f64)>()
            + self.ends.capacity() * size_of::<usize>();
        self.made.hold(self.batch.memory_bytes() + beside)
    }

    /// Pushes what is made.
    pub(crate) fn push(&mut self) -> Result<(), Overload> {
        self.refused = 0;
        self.hold_made()?;
        if self.batch.is_empty() {
            self.sink.pass_over(&[]);
            return Ok(());
        }
        let Making { sink, names, batch, new, ends, .. } = self;
        let mut rest = (new.as_slice(), 0, ends.iter());
        let maker = names.maker.with(b"");
        sink.piece(&[], (names.generation, batch.new_max()), |intake, faults| {
            intake.take_batch(batch, |intake: &mut Intake<'static>, number, name| {
                let (new, from, ends) = &mut rest;
                let end = ends.next().copied().unwrap_or(*from);
                let samples = new.get(*from..end).unwrap_or_default();
                *from = end;
                let written = Some(maker.key(name.as_bytes()));
                let types = Types::As(Type::F64);
                for (time_ns, value) in samples {
                    let (time_ns, value) = (*time_ns, Value::Float(*value));
                    let row = Row {
                        line: number,
                        series: name,
                        time_ns,
                        value,
                        types,
                        joint: None,
                        written,
                    };
                    intake.take(&row, &mut |refusal| faults.refuse(refusal))?;
                }
                Ok(())
            })
        })?;
        batch.clear();
        new.clear();
        ends.clear();
        Ok(())
    }
}
