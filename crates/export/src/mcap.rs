//! MCAP, the container of robotics tools; its topics and messages are those of `baro-messages`. A series is a
//! channel of JSON messages `{"value":21.5}`; a channel with a field layout one of `{"speed":1.5,"cell":[1,2]}`, a
//! message for each time; frames as they are, of a channel with a layout beside its fields under the same topic if
//! both are selected, have no schema. Gaps and steps of the clock are messages of the topic `baro/notes`. Each topic
//! has a JSON schema with the units. The metadata `barograph` has the store's id, the interval, and the pin whose
//! window it is.
//!
//! Chunks are not compressed: the library does that with libraries in C. A chunk ends before the message that
//! would make it larger than 4 MiB: its head is written last, and by then `PacedOutput` would have handed it over
//! to the device. Only a message that is larger by itself has a larger chunk. The index in memory grows by some 100
//! bytes for each 4 MiB of output; indexes of single messages are left out where many topics
//! would make them larger than the data.

use crate::{Error, Exported, Request, Result, Sink};
use baro_messages::{Key, Message, Messages, Topic, note};
use baro_ondisk::Gap;
use baro_store::{Interval, Point, Selection, Store};
use mcap::records::{MessageHeader, Metadata};
use mcap::{WriteOptions, Writer};
use std::collections::{BTreeMap, HashMap};
use std::io::{Seek, Write};

/// Ids of channels are 16 bits; one is for the notes.
const CHANNELS_MAX: usize = 65_000;
const CHUNK_BYTES: u64 = 4 << 20;
/// Of a message in a chunk, beside its payload.
const MESSAGE_HEAD_BYTES: u64 = 31;
/// Of a channel and its schema in a chunk, beside names and schema, about.
const CHANNEL_BYTES: u64 = 128;
/// With more topics than this there are no indexes of messages.
const INDEXED_CHANNELS_MAX: usize = 256;

/// Writes a range of a store as MCAP. Blocks for reading and writing; buffer `out`.
///
/// # Errors
/// The store cannot be read, `out` refuses, or too many series are selected.
pub fn export<W: Write + Seek>(store: &Store, request: &Request, out: W) -> Result<Exported> {
    let of = |id: &u32| {
        let columns = request.selection.columns_of(*id);
        let fields = columns.iter().any(|column| column.field().is_some());
        usize::from(fields) + usize::from(columns.iter().any(|column| column.field().is_none()))
    };
    let found = request.selection.ids().iter().map(of).sum::<usize>();
    if found > CHANNELS_MAX {
        return Err(Error::Channels { limit: CHANNELS_MAX, found });
    }
    let options = WriteOptions::new()
        .compression(None)
        .chunk_size(None)
        .library(concat!("barograph ", env!("CARGO_PKG_VERSION")))
        .emit_message_indexes(found <= INDEXED_CHANNELS_MAX);
    let writer = options.create(out)?;
    let (channels, sequences) = (HashMap::new(), HashMap::new());
    let file = File { writer, channels, notes: None, sequences, chunk_bytes: 0 };
    let mut output = Output { messages: Messages::new(&request.selection), file };
    let mut exported = crate::run(store, request, &mut output)?;
    output.end(&mut exported)?;
    let mut writer = output.file.writer;
    writer.write_metadata(&about(store, request))?;
    writer.finish()?;
    writer.into_inner().flush()?;
    Ok(exported)
}

/// Where it comes from.
fn about(store: &Store, request: &Request) -> Metadata {
    let Interval { from_ns, to_ns } = request.interval;
    let mut metadata = BTreeMap::from([("store".to_owned(), store.identity().store.to_string())]);
    for (name, ns, all) in [("from_ns", from_ns, i64::MIN), ("to_ns", to_ns, i64::MAX)] {
        if ns != all {
            metadata.insert(name.to_owned(), ns.to_string());
        }
    }
    metadata.extend(request.pin.iter().map(|pin| ("pin".to_owned(), pin.clone())));
    Metadata { name: "barograph".to_owned(), metadata }
}

/// A file while it is written.
struct File<W: Write + Seek> {
    writer: Writer<W>,
    channels: HashMap<Key, u16>,
    notes: Option<u16>,
    /// Messages of each channel so far.
    sequences: HashMap<u16, u32>,
    /// Bytes of messages, channels and schemas in the chunk that is being written.
    chunk_bytes: u64,
}

impl<W: Write + Seek> File<W> {
    /// A channel for a topic; made at its first message, so that what was not recorded is not listed.
    fn channel(&mut self, topic: &Topic) -> Result<u16> {
        let schema_bytes = topic.schema.as_ref().map_or(0, |schema| schema.len());
        self.chunk_bytes += CHANNEL_BYTES + (schema_bytes + topic.name.len() * 2) as u64;
        let writer = &mut self.writer;
        let schema = match &topic.schema {
            Some(schema) => {
                writer.add_schema(&topic.name, Topic::SCHEMA_ENCODING, schema.as_bytes())?
            }
            None => 0,
        };
        let unit = [("unit".to_owned(), topic.unit.clone())];
        let metadata: BTreeMap<_, _> = unit.into_iter().filter(|(_, u)| !u.is_empty()).collect();
        Ok(writer.add_channel(schema, &topic.name, topic.encoding, &metadata)?)
    }

    fn message(&mut self, message: &Message<'_>) -> Result<()> {
        let channel = match self.channels.get(&message.key) {
            Some(channel) => *channel,
            None => {
                let channel = self.channel(message.topic)?;
                self.channels.insert(message.key, channel);
                channel
            }
        };
        self.write(channel, message.time_ns, message.payload)
    }

    fn write(&mut self, channel: u16, time_ns: u64, payload: &[u8]) -> Result<()> {
        let sequence = self.sequences.entry(channel).or_default();
        *sequence = sequence.wrapping_add(1);
        let (log_time, publish_time, sequence) = (time_ns, time_ns, *sequence);
        let header = MessageHeader { channel_id: channel, sequence, log_time, publish_time };
        let bytes = MESSAGE_HEAD_BYTES + payload.len() as u64;
        if self.chunk_bytes > 0 && self.chunk_bytes + bytes > CHUNK_BYTES {
            self.writer.flush()?;
            self.chunk_bytes = 0;
        }
        self.chunk_bytes += bytes;
        Ok(self.writer.write_to_known_channel(&header, payload)?)
    }
}

struct Output<'a, W: Write + Seek> {
    messages: Messages<&'a Selection>,
    file: File<W>,
}

impl<W: Write + Seek> Output<'_, W> {
    /// Writes the fields that were gathered, and counts what could not be said.
    fn end(&mut self, exported: &mut Exported) -> Result<()> {
        let file = &mut self.file;
        self.messages.end(|message| {
            exported.rows += 1;
            file.message(message)
        })?;
        let told = self.messages.told();
        exported.infinite_as_null = told.infinite_as_null;
        exported.before_1970 = told.before_1970;
        Ok(())
    }
}

impl<W: Write + Seek> Sink for Output<'_, W> {
    fn point(&mut self, point: &Point<'_>, exported: &mut Exported) -> Result<()> {
        let file = &mut self.file;
        self.messages.point(point, |message| {
            exported.rows += 1;
            file.message(message)
        })
    }

    fn note(&mut self, time_ns: i64, gap: Option<Gap>) -> Result<()> {
        let Ok(time_ns) = u64::try_from(time_ns) else { return Ok(()) };
        let channel = match self.file.notes {
            Some(channel) => channel,
            None => {
                let channel = self.file.channel(&Topic::notes())?;
                *self.file.notes.insert(channel)
            }
        };
        self.file.write(channel, time_ns, note(gap).as_bytes())
    }
}
