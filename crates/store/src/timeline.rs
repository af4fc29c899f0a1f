//! What was recorded in time order, from runs and log together: the one way by which it is printed and
//! exported record by record. Samples come slice by slice (`slices`), frames and notes by a sweep over
//! the log, which is the only place that has them.
//!
//! Order: by time. At one time first gaps, steps of the clock and frames as they are, in the order of
//! recording, then fields of frames, then samples, both in the order of declaration. Of several samples
//! of one series and time the one recorded last counts, and so for a field of a channel; each frame as
//! it is is handed out. A frame that is asked for as it is and by fields follows its fields.
//!
//! Invariant: what comes is the same before, during and after settling, and when the log has gone round.
//! Held by `tests/timeline.rs`, `tests/model` and the export's `tests/lives.rs`.

use crate::interval::{Interval, Reading};
use crate::read::{Notes, RecordRef};
use crate::selection::{Datum, Point, Selection};
use crate::slices::{Bounds, Cell, Slices};
use crate::{Result, Store};
use baro_ondisk::{Gap, Kind};
use std::ops::ControlFlow;

/// What comes in the order of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Moment<'a> {
    /// A sample, a frame, or a field of one.
    Point(Point<'a>),
    /// Records were lost.
    Lost {
        /// When that was found.
        time_ns: i64,
        /// How many, by cause.
        gap: Gap,
    },
    /// The realtime clock was stepped.
    Stepped {
        /// The time before.
        time_ns: i64,
    },
}

impl Store {
    /// Calls `each` with all that is selected of `interval` in time order, and with gaps and steps of
    /// the clock, until it breaks. Returns also how many fields a frame was too short for.
    ///
    /// # Errors
    /// The operating system refuses; more blocks overlap in time than `reading` allows; the log goes
    /// round faster than it is read. Damage is in the notes.
    pub fn timeline(
        &self,
        interval: Interval,
        selection: &Selection,
        reading: &Reading,
        mut each: impl FnMut(&Moment<'_>) -> ControlFlow<()>,
    ) -> Result<(Notes, u64)> {
        let filter = selection.filter().without_samples();
        self.moments(interval, selection, reading, Some(filter), &mut each)
    }

    /// The same without gaps and steps of the clock; who asks for samples alone reads no frames.
    ///
    /// # Errors
    /// As [`Store::timeline`].
    pub fn points(
        &self,
        interval: Interval,
        selection: &Selection,
        reading: &Reading,
        mut each: impl FnMut(&Point<'_>) -> ControlFlow<()>,
    ) -> Result<(Notes, u64)> {
        let frames =
            selection.any_undeclared() || selection.columns().iter().any(|c| !c.is_series());
        let filter = frames.then(|| selection.filter().data_only().without_samples());
        self.moments(interval, selection, reading, filter, &mut |moment| match moment {
            Moment::Point(point) => each(point),
            Moment::Lost { .. } | Moment::Stepped { .. } => ControlFlow::Continue(()),
        })
    }

    fn moments(
        &self,
        interval: Interval,
        selection: &Selection,
        reading: &Reading,
        filter: Option<crate::Filter>,
        each: &mut dyn FnMut(&Moment<'_>) -> ControlFlow<()>,
    ) -> Result<(Notes, u64)> {
        let columns = selection.columns().iter().filter(|column| column.is_series());
        let ids: Vec<u32> = columns.map(|column| column.id).collect();
        // Only where declarations are lost there is what has none.
        let undeclared = selection.any_undeclared() && !self.catalog.opening.is_empty();
        let bounds = (Bounds::of(reading), reading.bytes_per_s);
        let mut slices = Slices::new(self, ids, undeclared, interval, bounds)?;
        let mut frames = Frames { selection, short: 0, fields: Vec::new(), held: None };
        let (mut notes, mut failed, mut flow) = (Notes::default(), None, ControlFlow::Continue(()));
        if let Some(filter) = filter {
            notes = self.records(interval, &filter, reading, |record| {
                flow = frames.before(Some(record.time_ns), each);
                if flow.is_continue() {
                    flow = samples(&mut slices, selection, Some(record.time_ns), each)
                        .unwrap_or_else(|error| {
                            failed = Some(error);
                            ControlFlow::Break(())
                        });
                }
                if flow.is_continue() {
                    flow = frames.take(record, each);
                }
                flow
            })?;
        }
        if let Some(error) = failed {
            return Err(error);
        }
        if flow.is_continue() {
            flow = frames.before(None, each);
        }
        if flow.is_continue() {
            let _ = samples(&mut slices, selection, None, each)?;
        }
        notes.add(slices.into_notes());
        Ok((self.with_headers(notes), frames.short))
    }
}

/// Hands out the samples before a time.
fn samples(
    slices: &mut Slices<'_>,
    selection: &Selection,
    before_ns: Option<i64>,
    each: &mut dyn FnMut(&Moment<'_>) -> ControlFlow<()>,
) -> Result<ControlFlow<()>> {
    slices.hand_out(before_ns, |time_ns, id, cell| {
        let mut flow = ControlFlow::Continue(());
        let mut each = |point: &Point<'_>| flow = each(&Moment::Point(*point));
        match cell {
            Cell::Bits(bits) => selection.sample(time_ns, id, bits, &mut each),
            Cell::Text(text) => selection.text(time_ns, id, text, &mut each),
        }
        flow
    })
}

/// Place, id and bytes.
type HeldFrame = (usize, u32, Vec<u8>);

/// Frames of one time: of a field the last counts, so fields wait until the time is over.
struct Frames<'a> {
    selection: &'a Selection,
    short: u64,
    /// Place, id, value.
    fields: Vec<(usize, u32, Datum<'static>)>,
    /// The frame that came last, if it is to follow its fields; or the time of the fields alone.
    held: Option<(i64, Option<HeldFrame>)>,
}

impl Frames<'_> {
    /// Hands out what waits if it lies before a time.
    fn before(
        &mut self,
        time_ns: Option<i64>,
        each: &mut dyn FnMut(&Moment<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let Some(waits_ns) = self.held.as_ref().map(|held| held.0) else {
            return ControlFlow::Continue(());
        };
        if time_ns == Some(waits_ns) {
            return ControlFlow::Continue(());
        }
        let held = self.held.take();
        let mut fields = std::mem::take(&mut self.fields);
        let columns = self.selection.columns();
        // Stable: of equal places the last is the one that was recorded last.
        fields.sort_by_key(|field| field.0);
        for (at, (place, id, value)) in fields.iter().enumerate() {
            if fields.get(at + 1).is_some_and(|next| next.0 == *place) {
                continue;
            }
            let (place, id, value) = (*place, *id, *value);
            let point = Point { time_ns: waits_ns, column: columns.get(place), place, id, value };
            each(&Moment::Point(point))?;
        }
        fields.clear();
        self.fields = fields;
        match held {
            Some((time_ns, Some(frame))) => self.frame(time_ns, &frame, each),
            _ => ControlFlow::Continue(()),
        }
    }

    fn frame(
        &self,
        time_ns: i64,
        (place, id, bytes): &(usize, u32, Vec<u8>),
        each: &mut dyn FnMut(&Moment<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let (column, value) = (self.selection.columns().get(*place), Datum::Frame(bytes));
        each(&Moment::Point(Point { time_ns, column, place: *place, id: *id, value }))
    }

    fn take(
        &mut self,
        record: &RecordRef<'_>,
        each: &mut dyn FnMut(&Moment<'_>) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let time_ns = record.time_ns;
        match record.kind {
            Kind::Frame => {}
            Kind::Gap => {
                let gap = Gap::decode(record.payload).unwrap_or_default();
                return each(&Moment::Lost { time_ns, gap });
            }
            Kind::Clock => return each(&Moment::Stepped { time_ns }),
            Kind::Samples | Kind::Text | Kind::Declare | Kind::Moved => {
                return ControlFlow::Continue(());
            }
        }
        let (mut whole, before) = (None, self.fields.len());
        let fields = &mut self.fields;
        self.short += self.selection.unfold(record, |point| {
            let value = match point.value {
                Datum::Frame(_) => {
                    whole = Some(*point);
                    return;
                }
                Datum::Float(value) => Datum::Float(value),
                Datum::Integer(value) => Datum::Integer(value),
                Datum::Unsigned(value) => Datum::Unsigned(value),
                Datum::Boolean(value) => Datum::Boolean(value),
                Datum::Text(_) => return,
            };
            fields.push((point.place, point.id, value));
        });
        if self.fields.len() == before {
            return match whole {
                Some(point) => each(&Moment::Point(point)),
                None => ControlFlow::Continue(()),
            };
        }
        // One that is of the same time goes before.
        let earlier = self.held.take().and_then(|held| held.1);
        if let Some(frame) = &earlier {
            self.frame(time_ns, frame, each)?;
        }
        let mut spare = earlier.map(|frame| frame.2).unwrap_or_default();
        let frame = whole.map(|point| {
            spare.clear();
            spare.extend_from_slice(record.payload);
            (point.place, point.id, spare)
        });
        self.held = Some((time_ns, frame));
        ControlFlow::Continue(())
    }
}
