//! Points as messages: of one channel's fields those of one time become one message, all others one each.

use crate::topic::{Form, Topic};
use baro_store::{Datum, Point, Selection};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::Write;
use std::ops::Deref;
use std::rc::Rc;

/// Which topic: an id, and whether its frames as they are are meant, since a channel can be selected as both.
pub type Key = (u32, bool);

/// A message.
#[derive(Debug)]
pub struct Message<'a> {
    /// Of which topic.
    pub key: Key,
    /// That topic.
    pub topic: &'a Topic,
    /// When it was recorded.
    pub time_ns: u64,
    /// What is in it, in the topic's encoding.
    pub payload: &'a [u8],
}

/// What could not be said in full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// Infinite values that are null, since JSON has none.
    pub infinite_as_null: u64,
    /// Points with a time before 1970 left out, since messages have none.
    pub before_1970: u64,
}

/// Makes messages of the points of a selection.
#[derive(Debug)]
pub struct Messages<S> {
    selection: S,
    topics: HashMap<Key, Rc<Topic>>,
    told: Told,
    /// The message being made.
    text: Vec<u8>,
    /// Time and channel of the fields being gathered, and their values by column.
    frame: Option<(i64, u32)>,
    row: Vec<Value>,
}

fn value(value: &Datum<'_>, told: &mut Told) -> Value {
    match value {
        // JSON has no number for what is none: null.
        Datum::Float(value) => {
            told.infinite_as_null += u64::from(value.is_infinite());
            json!(value)
        }
        Datum::Integer(value) => json!(value),
        Datum::Unsigned(value) => json!(value),
        Datum::Boolean(value) => json!(value),
        Datum::Text(text) => json!(text),
        Datum::Frame(_) => Value::Null,
    }
}

/// A value in a text that only grows.
fn put(text: &mut Vec<u8>, value: &Value) {
    // A Vec takes all that is written to it.
    let _ = write!(text, "{value}");
}

impl<S: Deref<Target = Selection>> Messages<S> {
    /// Of points of this selection.
    #[must_use]
    pub fn new(selection: S) -> Self {
        Messages {
            selection,
            topics: HashMap::new(),
            told: Told::default(),
            text: Vec::new(),
            frame: None,
            row: Vec::new(),
        }
    }

    /// What could not be said in full so far.
    #[must_use]
    pub fn told(&self) -> Told {
        self.told
    }

    /// Of an id; made at its first record, so that what was not recorded is not listed.
    fn topic(&mut self, key: Key) -> Rc<Topic> {
        let selection = &self.selection;
        let make = || Rc::new(Topic::of(key.0, selection.columns_of(key.0), key.1));
        Rc::clone(self.topics.entry(key).or_insert_with(make))
    }

    /// Takes a point, and hands on the messages that are whole by it. Fields of a frame are to follow one
    /// another.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn point<E>(
        &mut self,
        point: &Point<'_>,
        mut each: impl FnMut(&Message<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        if point.column.is_some_and(|column| column.field().is_some()) {
            return self.field(point, each);
        }
        self.end(&mut each)?;
        let Ok(time_ns) = u64::try_from(point.time_ns) else {
            self.told.before_1970 += 1;
            return Ok(());
        };
        let key = (point.id, matches!(point.value, Datum::Frame(_)));
        let topic = self.topic(key);
        if let Datum::Frame(payload) = point.value {
            return each(&Message { key, topic: &topic, time_ns, payload });
        }
        let value = value(&point.value, &mut self.told);
        self.text.clear();
        self.text.extend_from_slice(b"{\"value\":");
        put(&mut self.text, &value);
        self.text.push(b'}');
        each(&Message { key, topic: &topic, time_ns, payload: &self.text })
    }

    /// A field of the frame whose message is being made.
    fn field<E>(
        &mut self,
        point: &Point<'_>,
        each: impl FnMut(&Message<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let frame = Some((point.time_ns, point.id));
        if self.frame != frame {
            self.end(each)?;
            self.frame = frame;
            self.row.clear();
            self.row.resize(self.selection.columns_of(point.id).len(), Value::Null);
        }
        let start = self.selection.place_of(point.id);
        if let Some(place) = point.place.checked_sub(start).and_then(|at| self.row.get_mut(at)) {
            *place = value(&point.value, &mut self.told);
        }
        Ok(())
    }

    /// Hands on the fields that were gathered, as one message: nothing more of them comes.
    ///
    /// # Errors
    /// Those of `each`.
    pub fn end<E>(&mut self, mut each: impl FnMut(&Message<'_>) -> Result<(), E>) -> Result<(), E> {
        let Some((time_ns, id)) = self.frame.take() else { return Ok(()) };
        let Ok(time_ns) = u64::try_from(time_ns) else {
            self.told.before_1970 += 1;
            return Ok(());
        };
        let key = (id, false);
        let topic = self.topic(key);
        let Form::Fields(members) = &topic.form else { return Ok(()) };
        let columns = self.selection.columns_of(id);
        let text = &mut self.text;
        text.clear();
        let fields = self.row.iter().zip(columns).filter(|(_, column)| column.field().is_some());
        let mut values = fields.map(|(value, _)| value);
        for (at, member) in members.iter().enumerate() {
            text.push(if at == 0 { b'{' } else { b',' });
            text.extend_from_slice(member.key.as_bytes());
            text.push(b':');
            let Some(elements) = member.array else {
                put(text, values.next().unwrap_or(&Value::Null));
                continue;
            };
            for element in 0..elements {
                text.push(if element == 0 { b'[' } else { b',' });
                put(text, values.next().unwrap_or(&Value::Null));
            }
            text.push(b']');
        }
        text.push(b'}');
        each(&Message { key, topic: &topic, time_ns, payload: text })
    }
}
