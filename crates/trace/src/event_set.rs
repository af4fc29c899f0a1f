//! The formats of all events of one trace, by the number that the events carry.
//!
//! The same event has another number on every kernel, and the fields that all events share
//! (`common_type`, `common_pid`) are described in each format again: here it is checked once that
//! they agree, so that a page can be read without knowing whose events are in it.
//!
//! Invariant: no two events of one number or name; one place for the common fields. Held by
//! `events_that_do_not_go_together_are_refused`.

use crate::error::{Error, Result};
use crate::format::{EventFormat, EventHeader, PageHeader};
use crate::record::Field;
use crate::ring_page::PageLayout;
use std::collections::BTreeMap;

/// The most events of one trace: a kernel has some 2,000 of them.
pub const EVENTS_MAX: usize = 4_096;

/// An event's format, with the system that it belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The system: `jbd2` of `jbd2/jbd2_run_stats`.
    pub system: String,
    /// The format.
    pub format: EventFormat,
}

/// The formats of all events of a trace.
#[derive(Clone, Debug)]
pub struct EventSet {
    events: BTreeMap<u16, Event>,
    layout: PageLayout,
    pid: Field<i32>,
    flags: Field<u8>,
}

impl EventSet {
    /// Puts formats and headers of one kernel together.
    ///
    /// # Errors
    /// [`Error::Formats`]: none or too many, two of one number or name, or common fields at
    /// different places; [`Error::Field`]: no common fields.
    pub fn new(page: PageHeader, entry: EventHeader, events: Vec<Event>) -> Result<Self> {
        let wrong = |expected, event: &str| Error::Formats { expected, event: event.to_owned() };
        let Some(first) = events.first().map(|event| event.format.clone()) else {
            return Err(wrong("at least one event", "the end"));
        };
        if events.len() > EVENTS_MAX {
            return Err(wrong("at most 4,096 events", &first.name));
        }
        let common = ["common_type", "common_flags", "common_pid"];
        let mut set = BTreeMap::new();
        let mut names = std::collections::BTreeSet::new();
        for event in events {
            let format = &event.format;
            if common.iter().any(|name| format.field(name) != first.field(name)) {
                return Err(wrong("common fields as in the others", &format.name));
            }
            if !names.insert((event.system.clone(), format.name.clone())) {
                return Err(wrong("each name once", &format.name));
            }
            let (id, name) = (format.id, format.name.clone());
            if set.insert(id, event).is_some() {
                return Err(wrong("each number once", &name));
            }
        }
        let Some(common_type) = first.field("common_type") else {
            return Err(Error::Field {
                event: first.name.clone(),
                field: "common_type".to_owned(),
                expected: "the number of the event",
                found: first.field_names(),
            });
        };
        let layout = PageLayout::new(page, entry, common_type)?;
        let pid = Field::resolve(&first, &["common_pid"])?;
        let flags = Field::resolve(&first, &["common_flags"])?;
        Ok(Self { events: set, layout, pid, flags })
    }

    /// How pages are laid out that hold these events.
    #[must_use]
    pub fn layout(&self) -> &PageLayout {
        &self.layout
    }

    /// The event of this number.
    #[must_use]
    pub fn event(&self, id: u16) -> Option<&Event> {
        self.events.get(&id)
    }

    /// The event of this system and name.
    #[must_use]
    pub fn find(&self, system: &str, name: &str) -> Option<&EventFormat> {
        let is = |event: &&Event| event.system == system && event.format.name == name;
        self.events.values().find(is).map(|event| &event.format)
    }

    /// All events, in the order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &Event> {
        self.events.values()
    }

    /// The task that was running when an event happened; 0 is the idle task.
    ///
    /// # Errors
    /// [`Error::Record`]: the event is too short.
    pub fn pid(&self, payload: &[u8]) -> Result<i32> {
        self.pid.get(payload)
    }

    /// What the processor did when an event happened: bits of the kernel's `TRACE_FLAG_*`; 8 in a
    /// hardware interrupt, 0x10 in a soft one.
    ///
    /// # Errors
    /// [`Error::Record`]: the event is too short.
    pub fn flags(&self, payload: &[u8]) -> Result<u8> {
        self.flags.get(payload)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::tests::{EVENT, PAGE, SCHED_SWITCH};

    fn event(change: impl Fn(&str) -> String) -> Event {
        let format = EventFormat::parse(change(SCHED_SWITCH).as_bytes()).unwrap();
        Event { system: "sched".to_owned(), format }
    }

    fn set(events: Vec<Event>) -> Result<EventSet> {
        let page = PageHeader::parse(PAGE.as_bytes()).unwrap();
        EventSet::new(page, EventHeader::parse(EVENT.as_bytes()).unwrap(), events)
    }

    #[test]
    fn events_are_found_by_number_and_name() {
        let other = event(|text| text.replace("372", "9").replace("sched_switch", "other"));
        let set = set(vec![event(str::to_owned), other]).unwrap();
        assert_eq!(set.event(372).unwrap().format.name, "sched_switch");
        assert_eq!(set.find("sched", "other").unwrap().id, 9);
        assert!(set.find("other", "other").is_none() && set.event(10).is_none());
        assert_eq!(set.iter().map(|event| event.format.id).collect::<Vec<_>>(), [9, 372]);
        assert_eq!(set.pid(&[9, 0, 0, 0, 0xfe, 0xff, 0xff, 0xff]).unwrap(), -2);
        assert!(set.pid(&[9, 0, 0, 0, 0xfe, 0xff, 0xff]).is_err());
    }

    #[test]
    fn events_that_do_not_go_together_are_refused() {
        let whole = || event(str::to_owned);
        let message = |events| set(events).unwrap_err().to_string();
        assert!(message(vec![]).contains("at least one"));
        assert!(message(vec![whole(), whole()]).contains("each name once"));
        let renamed = event(|text| text.replace("sched_switch", "other"));
        assert!(message(vec![whole(), renamed]).contains("each number once"));
        let moved = event(|text| {
            let text = text.replace("372", "9").replace("sched_switch", "other");
            text.replace("common_pid;\toffset:4;", "common_pid;\toffset:100;")
        });
        assert!(message(vec![whole(), moved]).contains("common fields"));
        let none = event(|text| text.replace("common_type", "typ"));
        assert!(message(vec![none]).contains("common_type"));
        let wide = event(|text| {
            text.replace("common_type;\toffset:0;\tsize:2", "common_type;\toffset:0;\tsize:1")
        });
        assert!(message(vec![wide]).contains("two bytes"));
    }
}
