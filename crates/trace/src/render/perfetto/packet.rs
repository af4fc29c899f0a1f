//! Packets of a Perfetto trace: descriptors of tracks, and events on them.
//!
//! Field numbers are those of <https://github.com/google/perfetto>, folder `protos/perfetto`:
//! `trace/trace.proto`, `trace/trace_packet.proto`, `trace/clock_snapshot.proto`,
//! `common/builtin_clock.proto`, and of `trace/track_event/`: `track_event.proto`,
//! `track_descriptor.proto`, `process_descriptor.proto`, `thread_descriptor.proto`,
//! `counter_descriptor.proto`, `debug_annotation.proto`. How they go together:
//! <https://perfetto.dev/docs/reference/synthetic-track-event>.
//!
//! Readers sort a trace by time and keep the order of what happened at once, so tracks may be written
//! one after the other.

use crate::file::Machine;
use crate::render::protobuf::{Message, varint};
use std::io::{self, Write};

/// `Trace.packet`, its tag: field 1, length first.
const TRACE_PACKET_TAG: u8 = 1 << 3 | 2;

// TracePacket.
const PACKET_CLOCK_SNAPSHOT: u32 = 6;
const PACKET_TIMESTAMP: u32 = 8;
const PACKET_SEQUENCE_ID: u32 = 10;
const PACKET_TRACK_EVENT: u32 = 11;
const PACKET_TIMESTAMP_CLOCK_ID: u32 = 58;
const PACKET_TRACK_DESCRIPTOR: u32 = 60;

// ClockSnapshot and ClockSnapshot.Clock; clocks of BuiltinClock.
const SNAPSHOT_CLOCKS: u32 = 1;
const CLOCK_ID: u32 = 1;
const CLOCK_TIMESTAMP: u32 = 2;
const CLOCK_REALTIME: u64 = 1;
const CLOCK_MONOTONIC: u64 = 3;
const CLOCK_MONOTONIC_RAW: u64 = 5;
const CLOCK_BOOTTIME: u64 = 6;

// TrackDescriptor, ProcessDescriptor, ThreadDescriptor, CounterDescriptor.
const TRACK_UUID: u32 = 1;
const TRACK_NAME: u32 = 2;
const TRACK_PROCESS: u32 = 3;
const TRACK_THREAD: u32 = 4;
const TRACK_PARENT_UUID: u32 = 5;
const TRACK_COUNTER: u32 = 8;
const PROCESS_PID: u32 = 1;
const PROCESS_NAME: u32 = 6;
const THREAD_PID: u32 = 1;
const THREAD_TID: u32 = 2;
const THREAD_NAME: u32 = 5;
const COUNTER_UNIT_NAME: u32 = 6;

// TrackEvent, its types, and DebugAnnotation.
const EVENT_ANNOTATIONS: u32 = 4;
const EVENT_TYPE: u32 = 9;
const EVENT_TRACK_UUID: u32 = 11;
const EVENT_CATEGORIES: u32 = 22;
const EVENT_NAME: u32 = 23;
const EVENT_COUNTER_VALUE: u32 = 30;
const EVENT_FLOW_IDS: u32 = 47;
const EVENT_TERMINATING_FLOW_IDS: u32 = 48;
const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;
const INSTANT: u64 = 3;
const COUNTER: u64 = 4;
const ANNOTATION_UINT: u32 = 3;
const ANNOTATION_INT: u32 = 4;
const ANNOTATION_TEXT: u32 = 6;
const ANNOTATION_NAME: u32 = 10;

/// All packets are of one writer.
const SEQUENCE: u64 = 1;

/// What a track is of; the first byte of its number.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    About = 1,
    Process,
    Thread,
    ThreadRow,
    Journal,
    Transactions,
    JournalCounter,
    Disk,
    Requests,
    DiskCounter,
    Dirty,
    SlowCalls,
    SlowCall,
    SlowLink,
}

/// A track: its number in the file is made of these.
#[derive(Clone, Copy, Debug)]
pub(super) struct Track {
    pub(super) kind: Kind,
    /// Pid, device or index.
    pub(super) id: u32,
    /// Which of the tracks of one kind and id; 24 bits.
    pub(super) row: u32,
}

impl Track {
    fn uuid(self) -> u64 {
        (self.kind as u64) << 56 | u64::from(self.id) << 24 | u64::from(self.row & 0xff_ffff)
    }
}

/// A value of an annotation.
#[derive(Clone, Debug)]
pub(super) enum Arg {
    Uint(u64),
    Int(i64),
    Text(String),
}

impl From<&str> for Arg {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// What an event says, beside track and time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) name: &'a str,
    pub(super) category: &'static str,
    pub(super) args: &'a [(&'static str, Arg)],
    /// Arrows that begin here or go through.
    pub(super) flows: &'a [u64],
    /// An arrow that ends here.
    pub(super) last_flow: Option<u64>,
}

/// Writes packets.
pub(super) struct Packets<'w> {
    out: &'w mut dyn Write,
    packet: Message,
    clock: u64,
    /// What is added to a time of the tracer's clock.
    shift_ns: i64,
    flows: u64,
}

impl<'w> Packets<'w> {
    pub(super) fn new(out: &'w mut dyn Write, machine: &Machine) -> Self {
        let (clock, shift_ns) = match machine.clock.as_str() {
            "mono" => (CLOCK_MONOTONIC, 0),
            "mono_raw" => (CLOCK_MONOTONIC_RAW, 0),
            "boot" => (CLOCK_BOOTTIME, 0),
            _ => (CLOCK_BOOTTIME, machine.boottime_offset_ns),
        };
        Self { out, packet: Message::default(), clock, shift_ns, flows: 0 }
    }

    /// A new number for an arrow.
    pub(super) fn flow(&mut self) -> u64 {
        self.flows += 1;
        self.flows
    }

    /// Ties the clock of the events to boot time and date.
    pub(super) fn snapshot(&mut self, machine: &Machine, tracer_ns: u64) -> io::Result<()> {
        let own = (self.clock, time(tracer_ns, self.shift_ns));
        let boot = (CLOCK_BOOTTIME, time(tracer_ns, machine.boottime_offset_ns));
        let real = (CLOCK_REALTIME, time(tracer_ns, machine.realtime_offset_ns));
        self.write(|packet| {
            packet.message(PACKET_CLOCK_SNAPSHOT, |snapshot| {
                let others = [boot, real].into_iter().filter(|(id, _)| *id != own.0);
                for (id, time_ns) in [own].into_iter().chain(others) {
                    snapshot.message(SNAPSHOT_CLOCKS, |clock| {
                        clock.uint(CLOCK_ID, id);
                        clock.uint(CLOCK_TIMESTAMP, time_ns);
                    });
                }
            });
        })
    }

    /// A track of its own, or below another.
    pub(super) fn track(&mut self, of: Track, above: Option<Track>, name: &str) -> io::Result<()> {
        self.descriptor(of, above, |track| track.text(TRACK_NAME, name))
    }

    /// A track of numbers below another.
    pub(super) fn counter_track(
        &mut self,
        of: Track,
        above: Track,
        name: &str,
        unit: &str,
    ) -> io::Result<()> {
        self.descriptor(of, Some(above), |track| {
            track.text(TRACK_NAME, name);
            track.message(TRACK_COUNTER, |counter| counter.text(COUNTER_UNIT_NAME, unit));
        })
    }

    /// The tracks of a task. Which tasks share a process is not known: each is one of its own.
    pub(super) fn task(&mut self, process: Track, of: Track, name: &str) -> io::Result<()> {
        let pid = i64::from(of.id.cast_signed());
        self.descriptor(process, None, |track| {
            track.message(TRACK_PROCESS, |process| {
                process.int(PROCESS_PID, pid);
                process.text(PROCESS_NAME, name);
            });
        })?;
        self.descriptor(of, Some(process), |track| {
            track.message(TRACK_THREAD, |thread| {
                thread.int(THREAD_PID, pid);
                thread.int(THREAD_TID, pid);
                thread.text(THREAD_NAME, name);
            });
        })
    }

    pub(super) fn begin(&mut self, on: Track, time_ns: u64, event: &Event<'_>) -> io::Result<()> {
        self.event(on, time_ns, SLICE_BEGIN, |message| event.fill(message))
    }

    pub(super) fn end(&mut self, on: Track, time_ns: u64) -> io::Result<()> {
        self.event(on, time_ns, SLICE_END, |_| {})
    }

    pub(super) fn instant(&mut self, on: Track, time_ns: u64, event: &Event<'_>) -> io::Result<()> {
        self.event(on, time_ns, INSTANT, |message| event.fill(message))
    }

    pub(super) fn counter(&mut self, on: Track, time_ns: u64, value: u64) -> io::Result<()> {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        self.event(on, time_ns, COUNTER, |message| message.int(EVENT_COUNTER_VALUE, value))
    }

    fn event(
        &mut self,
        on: Track,
        time_ns: u64,
        kind: u64,
        fill: impl FnOnce(&mut Message),
    ) -> io::Result<()> {
        let (clock, time_ns) = (self.clock, time(time_ns, self.shift_ns));
        self.write(|packet| {
            packet.uint(PACKET_TIMESTAMP, time_ns);
            packet.uint(PACKET_TIMESTAMP_CLOCK_ID, clock);
            packet.message(PACKET_TRACK_EVENT, |event| {
                event.uint(EVENT_TYPE, kind);
                event.uint(EVENT_TRACK_UUID, on.uuid());
                fill(event);
            });
        })
    }

    fn descriptor(
        &mut self,
        of: Track,
        above: Option<Track>,
        fill: impl FnOnce(&mut Message),
    ) -> io::Result<()> {
        self.write(|packet| {
            packet.message(PACKET_TRACK_DESCRIPTOR, |track| {
                track.uint(TRACK_UUID, of.uuid());
                if let Some(above) = above {
                    track.uint(TRACK_PARENT_UUID, above.uuid());
                }
                fill(track);
            });
        })
    }

    fn write(&mut self, fill: impl FnOnce(&mut Message)) -> io::Result<()> {
        self.packet.clear();
        self.packet.uint(PACKET_SEQUENCE_ID, SEQUENCE);
        fill(&mut self.packet);
        let (length, count) = varint(self.packet.bytes().len() as u64);
        self.out.write_all(&[TRACE_PACKET_TAG])?;
        self.out.write_all(length.get(..count).unwrap_or(&length))?;
        self.out.write_all(self.packet.bytes())
    }
}

impl Event<'_> {
    fn fill(&self, message: &mut Message) {
        message.text(EVENT_CATEGORIES, self.category);
        message.text(EVENT_NAME, self.name);
        for (name, value) in self.args {
            message.message(EVENT_ANNOTATIONS, |annotation| {
                annotation.text(ANNOTATION_NAME, name);
                match value {
                    Arg::Uint(value) => annotation.uint(ANNOTATION_UINT, *value),
                    Arg::Int(value) => annotation.int(ANNOTATION_INT, *value),
                    Arg::Text(value) => annotation.text(ANNOTATION_TEXT, value),
                }
            });
        }
        for flow in self.flows {
            message.fixed64(EVENT_FLOW_IDS, *flow);
        }
        if let Some(flow) = self.last_flow {
            message.fixed64(EVENT_TERMINATING_FLOW_IDS, flow);
        }
    }
}

/// A time of the tracer's clock, moved; readers count in `int64`, and from 0.
fn time(tracer_ns: u64, shift_ns: i64) -> u64 {
    let moved = i128::from(tracer_ns) + i128::from(shift_ns);
    moved.clamp(0, i64::MAX.into()) as u64
}
