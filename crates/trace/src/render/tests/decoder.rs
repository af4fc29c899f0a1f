//! A decoder of Protocol Buffers and of Perfetto's track events, for tests: it shares no code with
//! what writes them.

use std::collections::BTreeMap;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::render) enum Value {
    Varint(u64),
    Eight(u64),
    Bytes(Vec<u8>),
}

impl Value {
    pub(in crate::render) fn number(&self) -> u64 {
        match self {
            Self::Varint(value) | Self::Eight(value) => *value,
            Self::Bytes(_) => panic!("bytes, not a number"),
        }
    }

    pub(in crate::render) fn bytes(&self) -> &[u8] {
        match self {
            Self::Bytes(bytes) => bytes,
            _ => panic!("a number, not bytes"),
        }
    }

    pub(in crate::render) fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).unwrap()
    }
}

/// All fields of a message, in their order. Panics if it is none.
pub(in crate::render) fn fields(mut bytes: &[u8]) -> Vec<(u64, Value)> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0_u128;
        for place in 0..10 {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value += u128::from(byte & 127) << (7 * place);
            if byte < 128 {
                return u64::try_from(value).unwrap();
            }
        }
        panic!("a varint of more than ten bytes");
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let value = match tag % 8 {
            0 => Value::Varint(varint(&mut bytes)),
            1 => {
                let (value, rest) = bytes.split_at(8);
                bytes = rest;
                Value::Eight(u64::from_le_bytes(value.try_into().unwrap()))
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                Value::Bytes(value.to_vec())
            }
            other => panic!("wire type {other}"),
        };
        fields.push((tag / 8, value));
    }
    fields
}

fn all(bytes: &[u8]) -> BTreeMap<u64, Vec<Value>> {
    let mut map: BTreeMap<u64, Vec<Value>> = BTreeMap::new();
    for (field, value) in fields(bytes) {
        map.entry(field).or_default().push(value);
    }
    map
}

/// A slice as a viewer shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::render) struct Slice {
    pub(in crate::render) track: u64,
    pub(in crate::render) category: String,
    pub(in crate::render) name: String,
    pub(in crate::render) begin_ns: u64,
    /// None: it did not terminate.
    pub(in crate::render) end_ns: Option<u64>,
    /// Slices that hold it.
    pub(in crate::render) depth: usize,
}

/// A Perfetto trace as a viewer takes it.
#[derive(Debug, Default)]
pub(in crate::render) struct Trace {
    /// Tracks: name or name of the thread, and the track above.
    pub(in crate::render) tracks: BTreeMap<u64, (String, Option<u64>)>,
    pub(in crate::render) slices: Vec<Slice>,
    /// (track, category, time, name).
    pub(in crate::render) instants: Vec<(u64, String, u64, String)>,
    /// (track, time, value).
    pub(in crate::render) counters: Vec<(u64, u64, i64)>,
    /// Arrows: how many events have each number.
    pub(in crate::render) flows: BTreeMap<u64, usize>,
    /// (clock, time).
    pub(in crate::render) clocks: Vec<(u64, u64)>,
}

impl Trace {
    /// Reads a trace and pairs its events the way a viewer does: sorted by time, events of one time in
    /// the order of the file, an end for the innermost open slice of its track. Panics at whatever a
    /// viewer would count as an error.
    pub(in crate::render) fn read(bytes: &[u8]) -> Self {
        let mut trace = Self::default();
        let mut events: Vec<(u64, BTreeMap<u64, Vec<Value>>)> = Vec::new();
        for (field, packet) in fields(bytes) {
            assert_eq!(field, 1, "a trace is packets");
            let packet = all(packet.bytes());
            assert_eq!(packet[&10], [Value::Varint(1)], "each packet is of one sequence");
            if let Some(snapshot) = packet.get(&6) {
                for clock in &all(snapshot[0].bytes())[&1] {
                    let clock = all(clock.bytes());
                    trace.clocks.push((clock[&1][0].number(), clock[&2][0].number()));
                }
            } else if let Some(track) = packet.get(&60) {
                trace.descriptor(&all(track[0].bytes()));
            } else {
                let clock = packet[&58][0].number();
                assert!(trace.clocks.iter().any(|(id, _)| *id == clock), "clock {clock} is tied");
                let event = all(packet[&11][0].bytes());
                assert!(trace.tracks.contains_key(&event[&11][0].number()), "the track is known");
                let time_ns = packet[&8][0].number();
                assert!(i64::try_from(time_ns).is_ok(), "{time_ns}");
                events.push((time_ns, event));
            }
        }
        events.sort_by_key(|(time_ns, _)| *time_ns);
        trace.pair(&events);
        trace
    }

    fn descriptor(&mut self, track: &BTreeMap<u64, Vec<Value>>) {
        let name = match (track.get(&2), track.get(&3), track.get(&4)) {
            (Some(name), None, None) => name[0].text(),
            (None, Some(process), None) => all(process[0].bytes())[&6][0].text(),
            (None, None, Some(thread)) => all(thread[0].bytes())[&5][0].text(),
            _ => panic!("a track is one of a name, a process, a thread: {track:?}"),
        };
        let above = track.get(&5).map(|above| above[0].number());
        assert!(
            above.is_none_or(|above| self.tracks.contains_key(&above)),
            "the upper one is known"
        );
        let before = self.tracks.insert(track[&1][0].number(), (name, above));
        assert_eq!(before, None, "each track is described once");
    }

    fn pair(&mut self, events: &[(u64, BTreeMap<u64, Vec<Value>>)]) {
        let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for (time_ns, event) in events {
            let track = event[&11][0].number();
            let text = |field| event.get(&field).map_or(String::new(), |all| all[0].text());
            for flow in [47, 48].iter().filter_map(|field| event.get(field)).flatten() {
                *self.flows.entry(flow.number()).or_default() += 1;
            }
            // A viewer keeps one value of each name.
            let notes = event.get(&4).into_iter().flatten();
            let mut named: Vec<_> = notes.map(|note| all(note.bytes())[&10][0].text()).collect();
            let count = named.len();
            named.sort_unstable();
            named.dedup();
            assert_eq!(named.len(), count, "{named:?}");
            let stack = open.entry(track).or_default();
            match event[&9][0].number() {
                1 => {
                    let depth = stack.len();
                    stack.push(self.slices.len());
                    self.slices.push(Slice {
                        track,
                        category: text(22),
                        name: text(23),
                        begin_ns: *time_ns,
                        end_ns: None,
                        depth,
                    });
                }
                2 => {
                    let slice = stack.pop().expect("an end without a beginning");
                    self.slices[slice].end_ns = Some(*time_ns);
                }
                3 => self.instants.push((track, text(22), *time_ns, text(23))),
                4 => self.counters.push((track, *time_ns, event[&30][0].number().cast_signed())),
                other => panic!("event type {other}"),
            }
        }
    }

    /// How many slices and instants there are of each category.
    pub(in crate::render) fn categories(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        let slices = self.slices.iter().map(|slice| &slice.category);
        for category in slices.chain(self.instants.iter().map(|(_, category, ..)| category)) {
            *counts.entry(category.clone()).or_default() += 1;
        }
        counts
    }
}
