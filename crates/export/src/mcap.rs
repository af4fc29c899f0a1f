//! MCAP, the container of robotics tools. A series is a channel of JSON messages
//! `{"value":21.5}`; a channel with a field layout one of `{"speed":1.5,"cell":[1,2]}`, a message
//! for each time; frames as they are, of a channel with a layout beside its fields under the same topic if
//! both are selected, have no schema. Gaps and steps
//! of the clock are messages of the topic `baro/notes`. Each topic has a JSON schema with the
//! units. The metadata `barograph` has the store's id, the interval, and the pin whose window it is.
//!
//! Chunks are not compressed: the library does that with libraries in C. The index in memory grows by some 100
//! bytes for each 4 MiB of output; indexes of single messages are left out where many topics
//! would make them larger than the data.

use crate::{Error, Exported, Request, Result, Sink};
use baro_ondisk::{Gap, written_name};
use baro_store::{Column, Datum, Interval, Point, Selection, Store, ValueType};
use mcap::records::{MessageHeader, Metadata};
use mcap::{WriteOptions, Writer};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
use std::io::{Seek, Write};
use std::rc::Rc;

/// Ids of channels are 16 bits; one is for the notes.
const CHANNELS_MAX: usize = 65_000;
const CHUNK_BYTES: u64 = 4 << 20;
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
        .chunk_size(Some(CHUNK_BYTES))
        .library(concat!("barograph ", env!("CARGO_PKG_VERSION")))
        .emit_message_indexes(found <= INDEXED_CHANNELS_MAX);
    let writer = options.create(out)?;
    let selection = &request.selection;
    let topics = HashMap::new();
    let mut messages = Messages {
        writer,
        selection,
        topics,
        notes: None,
        sequences: HashMap::new(),
        text: Vec::new(),
        frame: None,
        row: Vec::new(),
    };
    let mut exported = crate::run(store, request, &mut messages)?;
    messages.end_of_fields(&mut exported)?;
    messages.writer.write_metadata(&about(store, request))?;
    messages.writer.finish()?;
    messages.writer.into_inner().flush()?;
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

/// What an id becomes.
struct Topic {
    channel: u16,
    form: Form,
}

enum Form {
    /// `{"value":..}`
    Value,
    /// The bytes.
    Frame,
    /// An object of fields.
    Fields(Vec<Member>),
}

/// An id, and whether its frames as they are are meant: a channel can be selected as both.
type Key = (u32, bool);

/// A member of an object of fields.
struct Member {
    /// As JSON, quotes included.
    key: String,
    /// Values that follow: `None` for a single one, else an array of so many.
    array: Option<usize>,
}

struct Messages<'a, W: Write + Seek> {
    writer: Writer<W>,
    selection: &'a Selection,
    topics: HashMap<Key, Rc<Topic>>,
    notes: Option<u16>,
    /// Messages of each channel so far.
    sequences: HashMap<u16, u32>,
    /// The message being made.
    text: Vec<u8>,
    /// Time and channel of the fields being gathered, and their values by column.
    frame: Option<(i64, u32)>,
    row: Vec<Value>,
}

fn number(value: &Datum<'_>, exported: &mut Exported) -> Value {
    match value {
        // JSON has no number for what is none: null.
        Datum::Float(value) => {
            exported.infinite_as_null += u64::from(value.is_infinite());
            json!(value)
        }
        Datum::Integer(value) => json!(value),
        Datum::Unsigned(value) => json!(value),
        Datum::Boolean(value) => json!(value),
        Datum::Text(text) => json!(text),
        Datum::Frame(_) => Value::Null,
    }
}

/// The schema of one value.
fn schema_of(column: &Column) -> Value {
    let kind = match column.kind {
        Some(ValueType::F64) => json!(["number", "null"]),
        Some(ValueType::Bool) => json!("boolean"),
        Some(ValueType::Text) => json!("string"),
        _ => json!("integer"),
    };
    match column.unit.as_str() {
        "" => json!({"type": kind}),
        unit => json!({"type": kind, "description": unit}),
    }
}

/// A frame that is too short has null there.
fn or_null(mut schema: Value) -> Value {
    if let Some(kind) = schema["type"].as_str().map(str::to_owned) {
        schema["type"] = json!([kind, "null"]);
    }
    schema
}

/// The members of a channel's object and their schemas: an array that is selected whole is one
/// member, elements of others are members of their own.
fn members(channel: &str, columns: &[&Column]) -> (Vec<Member>, Value) {
    let (mut members, mut properties) = (Vec::new(), serde_json::Map::new());
    let field = |column: &&Column| column.field().map(|(field, _)| field);
    for group in columns.chunk_by(|a, b| field(a) == field(b)) {
        let elements = group.first().and_then(|column| column.array_elements());
        let name = |column: &Column| {
            let rest = column.name.strip_prefix(channel).and_then(|rest| rest.strip_prefix('.'));
            rest.unwrap_or(&column.name).to_owned()
        };
        let ordered = group.iter().enumerate().all(|(at, c)| c.field().map(|f| f.1) == Some(at));
        if let (Some(elements), Some(first)) = (elements, group.first())
            && elements == group.len()
            && ordered
        {
            let name = name(first).split('[').next().unwrap_or_default().to_owned();
            let key = Value::String(name.clone()).to_string();
            members.push(Member { key, array: Some(elements) });
            let schema = json!({"type": "array", "items": or_null(schema_of(first))});
            properties.insert(name, schema);
            continue;
        }
        for column in group {
            let key = Value::String(name(column)).to_string();
            members.push(Member { key, array: None });
            properties.insert(name(column), or_null(schema_of(column)));
        }
    }
    (members, Value::Object(properties))
}

impl<W: Write + Seek> Messages<'_, W> {
    fn channel(&mut self, topic: &str, properties: &Value, unit: &str) -> Result<u16> {
        let schema = json!({"type": "object", "title": topic, "properties": properties});
        let schema = self.writer.add_schema(topic, "jsonschema", schema.to_string().as_bytes())?;
        let unit = [("unit".to_owned(), unit.to_owned())];
        let metadata: BTreeMap<_, _> = unit.into_iter().filter(|(_, u)| !u.is_empty()).collect();
        Ok(self.writer.add_channel(schema, topic, "json", &metadata)?)
    }

    /// Of an id; made at its first record, so that what was not recorded is not listed.
    fn topic(&mut self, key: Key) -> Result<Rc<Topic>> {
        if let Some(found) = self.topics.get(&key) {
            return Ok(Rc::clone(found));
        }
        let (id, as_frame) = key;
        let columns = self.selection.columns_of(id);
        let fields: Vec<&Column> = columns.iter().filter(|c| c.field().is_some()).collect();
        let whole = columns.iter().find(|column| column.field().is_none());
        let unknown = format!("unknown-{id}");
        let name = whole.map_or(unknown.into(), |column| written_name(&column.name));
        let topic = if as_frame {
            let encoding = "application/octet-stream";
            let channel = self.writer.add_channel(0, &name, encoding, &BTreeMap::new())?;
            Topic { channel, form: Form::Frame }
        } else if let Some(first) = fields.first() {
            let name = first.name.rsplit_once('.').map_or("", |(name, _)| name);
            let (members, properties) = members(name, &fields);
            let channel = self.channel(&written_name(name), &properties, "")?;
            Topic { channel, form: Form::Fields(members) }
        } else {
            let value = whole.map_or(json!({"type": "integer"}), schema_of);
            let unit = whole.map_or("", |column| column.unit.as_str());
            let channel = self.channel(&name, &json!({"value": value}), unit)?;
            Topic { channel, form: Form::Value }
        };
        let topic = Rc::new(topic);
        self.topics.insert(key, Rc::clone(&topic));
        Ok(topic)
    }

    /// Writes the message that has been made.
    fn write(&mut self, channel: u16, time_ns: u64) -> Result<()> {
        let header = self.header(channel, time_ns);
        Ok(self.writer.write_to_known_channel(&header, &self.text)?)
    }

    fn header(&mut self, channel: u16, time_ns: u64) -> MessageHeader {
        let sequence = self.sequences.entry(channel).or_default();
        *sequence = sequence.wrapping_add(1);
        let (log_time, publish_time, sequence) = (time_ns, time_ns, *sequence);
        MessageHeader { channel_id: channel, sequence, log_time, publish_time }
    }

    /// A field of the frame whose message is being made.
    fn field(&mut self, point: &Point<'_>, exported: &mut Exported) -> Result<()> {
        let frame = Some((point.time_ns, point.id));
        if self.frame != frame {
            self.end_of_fields(exported)?;
            self.frame = frame;
            self.row.clear();
            self.row.resize(self.selection.columns_of(point.id).len(), Value::Null);
        }
        let start = self.selection.place_of(point.id);
        if let Some(place) = point.place.checked_sub(start).and_then(|at| self.row.get_mut(at)) {
            *place = number(&point.value, exported);
        }
        Ok(())
    }

    /// Writes the fields that were gathered, as one message.
    fn end_of_fields(&mut self, exported: &mut Exported) -> Result<()> {
        let Some((time_ns, id)) = self.frame.take() else { return Ok(()) };
        let Ok(time_ns) = u64::try_from(time_ns) else {
            exported.before_1970 += 1;
            return Ok(());
        };
        let topic = self.topic((id, false))?;
        let Form::Fields(members) = &topic.form else { return Ok(()) };
        let columns = self.selection.columns_of(id);
        self.text.clear();
        let fields = self.row.iter().zip(columns).filter(|(_, column)| column.field().is_some());
        let mut values = fields.map(|(value, _)| value);
        for (at, member) in members.iter().enumerate() {
            let before = if at == 0 { '{' } else { ',' };
            write!(self.text, "{before}{}:", member.key)?;
            let Some(elements) = member.array else {
                write!(self.text, "{}", values.next().unwrap_or(&Value::Null))?;
                continue;
            };
            for element in 0..elements {
                let before = if element == 0 { '[' } else { ',' };
                write!(self.text, "{before}{}", values.next().unwrap_or(&Value::Null))?;
            }
            write!(self.text, "]")?;
        }
        write!(self.text, "}}")?;
        exported.rows += 1;
        self.write(topic.channel, time_ns)
    }
}

impl<W: Write + Seek> Sink for Messages<'_, W> {
    fn point(&mut self, point: &Point<'_>, exported: &mut Exported) -> Result<()> {
        if point.column.is_some_and(|column| column.field().is_some()) {
            return self.field(point, exported);
        }
        self.end_of_fields(exported)?;
        let Ok(time_ns) = u64::try_from(point.time_ns) else {
            exported.before_1970 += 1;
            return Ok(());
        };
        let topic = self.topic((point.id, matches!(point.value, Datum::Frame(_))))?;
        exported.rows += 1;
        if let Datum::Frame(bytes) = &point.value {
            let header = self.header(topic.channel, time_ns);
            return Ok(self.writer.write_to_known_channel(&header, bytes)?);
        }
        self.text.clear();
        write!(self.text, "{{\"value\":{}}}", number(&point.value, exported))?;
        self.write(topic.channel, time_ns)
    }

    fn note(&mut self, time_ns: i64, gap: Option<Gap>) -> Result<()> {
        let Ok(time_ns) = u64::try_from(time_ns) else { return Ok(()) };
        let channel = match self.notes {
            Some(channel) => channel,
            None => {
                let integer = json!({"type": "integer"});
                let properties = json!({
                    "note": {"type": "string"}, "ring_full": integer, "too_large": integer,
                    "damaged": integer, "unknown": integer,
                });
                let channel = self.channel("baro/notes", &properties, "")?;
                *self.notes.insert(channel)
            }
        };
        let note = match gap {
            Some(gap) => json!({
                "note": "records lost", "ring_full": gap.ring_full, "too_large": gap.too_large,
                "damaged": gap.damaged, "unknown": gap.unknown,
            }),
            None => json!({"note": "the realtime clock was stepped"}),
        };
        self.text.clear();
        write!(self.text, "{note}")?;
        self.write(channel, time_ns)
    }
}
