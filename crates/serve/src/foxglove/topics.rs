//! Which topics a client is told of: those that it wants, up to a bound.
//!
//! A store may have a million series, and whoever draws lists all topics that it is told of. So there is a bound,
//! and what is left out is told. Which series are meant stands behind the question mark of the address:
//! `?series=NAME` or a selector, more than once if wanted. The frames of a channel with a layout have the topic of
//! its fields, which programs that know a topic by its name cannot have twice: they come with `?frames=true`.

use baro_messages::{Key, Topic};
use baro_net::Query;
use baro_ondisk::{Declaration, Type};
use baro_store::{Column, Selector, Store};
use baro_sys::clock;
use serde_json::json;
use std::collections::HashSet;
use std::ops::ControlFlow;

/// Topics of a client, and bytes of the texts that tell of them.
pub(super) const TOPICS_MAX: usize = 10_000;
const TOLD_BYTES_MAX: usize = 8 << 20;
/// A text has about so many bytes.
const TEXT_BYTES: usize = 256 << 10;
/// Selectors of a client.
const SELECTORS_MAX: usize = 32;
/// Where all are told that there may be, the others are counted for so long, and so many between two looks at
/// the clock.
const LOOK_NS: u64 = 2_000_000_000;
const NAMES: usize = 4_096;
/// The topic of gaps and steps of the clock: no id of a series is 0.
pub(super) const NOTES: Key = (0, false);

/// The protocol's number of a topic.
pub(super) fn channel_of((id, as_frame): Key) -> Option<u32> {
    id.checked_mul(2)?.checked_add(u32::from(as_frame))
}

/// The topic of such a number.
pub(super) fn key_of(channel: u32) -> Key {
    (channel / 2, channel % 2 == 1)
}

/// Which topics a client wants.
#[derive(Clone, Debug, Default)]
pub(super) struct Wanted {
    /// Any of these; all if there are none.
    selectors: Vec<Selector>,
    /// Frames as they are of channels that have a layout too.
    frames: bool,
}

impl Wanted {
    /// Of what stands behind the question mark.
    ///
    /// # Errors
    /// It says something else.
    pub(super) fn of(query: &Query) -> Result<Self, String> {
        let mut selectors = Vec::new();
        for text in query.all("series") {
            if selectors.len() >= SELECTORS_MAX {
                return Err(format!(
                    "invalid parameter \"series\": expected at most {SELECTORS_MAX}, found more"
                ));
            }
            selectors.push(match Selector::parse(text) {
                Ok(selector) => selector,
                // Whoever writes no brace means a name.
                Err(_) if !text.contains('{') => Selector::name(text),
                Err(error) => return Err(format!("invalid parameter \"series\": {error}")),
            });
        }
        let frames = match query.get("frames") {
            None | Some("false") => false,
            Some("true") => true,
            Some(text) => {
                return Err(format!(
                    "invalid parameter \"frames\": expected true or false, found {text:?}"
                ));
            }
        };
        Ok(Wanted { selectors, frames })
    }

    fn takes(&self, name: &str) -> bool {
        self.selectors.is_empty() || self.selectors.iter().any(|one| one.matches(name))
    }
}

/// What a client was told of.
#[derive(Debug, Default)]
pub(super) struct Topics {
    wanted: Wanted,
    channels: HashSet<u32>,
    told_bytes: usize,
    /// Series up to this id were looked at.
    pub(super) known: u32,
    /// Topics that are wanted and were not told.
    left_out: u64,
    /// There may be more of them.
    is_late: bool,
}

impl Topics {
    /// Looks through all names of a store. The texts tell of the topics that there are.
    pub(super) fn look(store: &Store, wanted: Wanted) -> baro_store::Result<(Self, Vec<String>)> {
        let catalog = store.catalog();
        let mut topics = Topics { wanted, known: catalog.highest_id(), ..Topics::default() };
        let until_ns = clock::monotonic_ns().saturating_add(LOOK_NS);
        let (mut seen, mut told) = (0_usize, Vec::new());
        topics.put(NOTES, &mut told, Topic::notes);
        let wants_all = topics.wanted.selectors.is_empty();
        let hidden = store.hidden()?;
        catalog.scan(|declared| {
            if topics.is_full() && wants_all {
                return ControlFlow::Break(());
            }
            // It was deleted, and nothing has been recorded of it since.
            if hidden.has(declared.id) {
                return ControlFlow::Continue(());
            }
            topics.offer(declared, &mut told);
            seen += 1;
            // What is left is counted alone.
            let looks = topics.is_full() && seen.is_multiple_of(NAMES);
            topics.is_late = looks && clock::monotonic_ns() >= until_ns;
            match topics.is_late {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        })?;
        if topics.is_full() && wants_all {
            topics.left_out += catalog.len().saturating_sub(seen) as u64;
        }
        Ok((topics, texts(&told)))
    }

    /// Tells of a series or channel, if it is wanted and there is room.
    pub(super) fn offer(&mut self, declared: &Declaration<'_>, told: &mut Vec<String>) {
        if !self.wanted.takes(declared.name) {
            return;
        }
        let is_channel = declared.kind == Type::Channel;
        let has_fields = declared.layout.is_some();
        if !is_channel || has_fields {
            self.put((declared.id, false), told, || match has_fields {
                true => Topic::of(declared.id, &Column::fields_of(declared), false),
                false => Topic::of(declared.id, &[Column::of(declared)], false),
            });
        }
        if is_channel && (!has_fields || self.wanted.frames) {
            let topic = || Topic::of(declared.id, &[Column::of(declared)], true);
            self.put((declared.id, true), told, topic);
        }
    }

    fn is_full(&self) -> bool {
        self.channels.len() >= TOPICS_MAX || self.told_bytes >= TOLD_BYTES_MAX
    }

    /// A topic, which is made only if there is room: a layout may have thousands of fields.
    fn put(&mut self, key: Key, told: &mut Vec<String>, topic: impl FnOnce() -> Topic) {
        let Some(channel) = channel_of(key).filter(|_| !self.is_full()) else {
            self.left_out += 1;
            return;
        };
        let text = advertised(channel, &topic());
        self.told_bytes = self.told_bytes.saturating_add(text.len());
        // The first one that finds no room is the end of it, so that no others are made for nothing.
        if self.told_bytes > TOLD_BYTES_MAX {
            self.left_out += 1;
            return;
        }
        self.channels.insert(channel);
        told.push(text);
    }

    pub(super) fn has(&self, channel: u32) -> bool {
        self.channels.contains(&channel)
    }

    pub(super) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// What is told of those that were left out.
    pub(super) fn left_out_text(&self) -> Option<String> {
        let found = match (self.left_out, self.is_late) {
            (0, false) => return None,
            (count, false) => format!("{count} more"),
            (count, true) => format!("more than {count} others"),
        };
        Some(format!(
            "expected at most {TOPICS_MAX} topics of {} MiB, found {found}, which are left out: choose with \
             ?series=NAME or a selector behind the address",
            TOLD_BYTES_MAX >> 20
        ))
    }
}

/// A topic as an element of `channels`.
fn advertised(channel: u32, topic: &Topic) -> String {
    let Topic { name, encoding, schema, .. } = topic;
    match schema {
        Some(schema) => json!({
            "id": channel, "topic": name, "encoding": encoding, "schemaName": name,
            "schemaEncoding": Topic::SCHEMA_ENCODING, "schema": schema,
        }),
        None => json!({
            "id": channel, "topic": name, "encoding": encoding, "schemaName": "", "schema": "",
        }),
    }
    .to_string()
}

/// Elements as messages of the protocol; one at least.
pub(super) fn texts(told: &[String]) -> Vec<String> {
    let begin = || "{\"op\":\"advertise\",\"channels\":[".to_owned();
    let (mut texts, mut text) = (Vec::new(), begin());
    let mut is_first = true;
    for one in told {
        if !is_first {
            text.push(',');
        }
        text.push_str(one);
        is_first = false;
        if text.len() >= TEXT_BYTES {
            text.push_str("]}");
            texts.push(std::mem::replace(&mut text, begin()));
            is_first = true;
        }
    }
    if !is_first || texts.is_empty() {
        text.push_str("]}");
        texts.push(text);
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_topics_are_the_same_thing() {
        for key in [(0, false), (1, false), (1, true), (u32::MAX / 2, true)] {
            assert_eq!(channel_of(key).map(key_of), Some(key));
        }
        assert_eq!(channel_of((1 << 31, false)), None);
    }

    #[test]
    fn texts_are_of_bounded_size_and_have_all() {
        let told: Vec<String> =
            (0..3_000).map(|n| format!("[{n},\"{}\"]", "x".repeat(300))).collect();
        let texts = texts(&told);
        assert_eq!(texts.len(), 4);
        let mut count = 0;
        for text in &texts {
            assert!(text.len() < TEXT_BYTES + 400, "{}", text.len());
            let value: serde_json::Value = serde_json::from_str(text).unwrap();
            assert_eq!(value["op"], "advertise");
            for one in value["channels"].as_array().unwrap() {
                assert_eq!(one[0], count);
                count += 1;
            }
        }
        assert_eq!(count, 3_000);
        assert_eq!(super::texts(&[]), ["{\"op\":\"advertise\",\"channels\":[]}"]);
    }

    #[test]
    fn what_is_wanted_is_read_or_refused() {
        let of = |text: &str| Wanted::of(&Query::parse(text).unwrap());
        assert!(of("").unwrap().takes("any"));
        let wanted = of("series=temp{site=\"a\"}&series=living%20room&frames=true").unwrap();
        assert!(wanted.frames && wanted.takes("temp{site=\"a\"}") && wanted.takes("living room"));
        assert!(!wanted.takes("temp{site=\"b\"}") && !wanted.takes("living"));
        assert!(of("frames=yes").unwrap_err().contains("true or false"));
        assert!(of("series=a{b").unwrap_err().contains("series"));
        assert!(of(&"series=a&".repeat(33)).unwrap_err().contains("at most 32"));
    }
}
