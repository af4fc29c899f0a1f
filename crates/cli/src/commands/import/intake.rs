//! Samples by name on their way into a store, many at a time.
//!
//! New series are declared together, since each declaration waits for the device, and many samples
//! go into one record. A value that does not fit its series is refused with its line,
//! never guessed. Held by `tests/import.rs`.

use super::target::Target;
use crate::failure::Result;
use baro_export::parquet::Value;
use baro_ondisk::Type;
use baro_ondisk::limits::{NAME_BYTES_MAX, TEXT_BYTES_MAX};
use baro_sys::clock;
use std::collections::HashMap;
use std::fmt::Display;
use std::io::IsTerminal;
use std::path::Path;

/// Samples held back at most: enough that declarations and times come together.
const HELD_MAX: usize = 65_536;
/// Bytes of texts held back at most.
const TEXT_HELD_BYTES_MAX: usize = 4 << 20;
const PROGRESS_NS: u64 = 500_000_000;

/// What numbers make of a new series.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewNumbers {
    /// f64, whether they are written with a point or not.
    AreF64,
    /// Integers i64, others f64.
    KeepType,
}

/// A sample of a file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row<'a> {
    pub(super) line: u64,
    pub(super) series: &'a str,
    pub(super) time_ns: i64,
    pub(super) value: Value<'a>,
    pub(super) new: NewNumbers,
}

/// What an import did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Lines of text, or rows of Parquet.
    pub(super) lines: u64,
    /// Samples pushed.
    pub(super) samples: u64,
    /// Series they are of.
    pub(super) series: u64,
    /// New ones of these.
    pub(super) declared: u64,
    /// Lines that were refused, whole or in part.
    pub(super) refused: u64,
    /// Records that the recorder lost.
    pub(super) lost: u64,
}

/// A series of the input.
#[derive(Debug)]
struct Slot {
    name: String,
    kind: Type,
    /// `None` until it is declared, or if it could not be.
    id: Option<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    time_ns: i64,
    bits: i64,
    slot: u32,
    line: u64,
}

/// See the module.
#[derive(Debug)]
pub(super) struct Intake {
    target: Target,
    strict: bool,
    counts: Counts,
    file: String,
    /// Line refused last, so that one with two faults counts once.
    refused_line: u64,
    places: HashMap<String, u32>,
    slots: Vec<Slot>,
    /// Slots from here on are not declared.
    declared_to: usize,
    held: Vec<Held>,
    /// Texts held; the bits of such a sample are where its text starts and its length.
    texts: String,
    times: Vec<i64>,
    ids: Vec<u32>,
    bits: Vec<i64>,
    /// When the progress was shown last; `None` if nobody looks.
    shown_ns: Option<u64>,
}

impl Intake {
    pub(super) fn new(target: Target, strict: bool) -> Self {
        Intake {
            target,
            strict,
            counts: Counts::default(),
            file: String::new(),
            refused_line: 0,
            places: HashMap::new(),
            slots: Vec::new(),
            declared_to: 0,
            held: Vec::new(),
            texts: String::new(),
            times: Vec::new(),
            ids: Vec::new(),
            bits: Vec::new(),
            shown_ns: std::io::stderr().is_terminal().then(clock::monotonic_ns),
        }
    }

    /// Lines are those of this file from now on.
    pub(super) fn begin(&mut self, file: &Path) {
        self.file =
            if file == Path::new("-") { "stdin".into() } else { file.display().to_string() };
        self.refused_line = 0;
    }

    /// Whether a strict import has met its first fault.
    pub(super) fn stopped(&self) -> bool {
        self.strict && self.counts.refused > 0
    }

    /// Counts lines that were read.
    pub(super) fn lines(&mut self, count: u64) {
        self.counts.lines += count;
    }

    /// A line that is not understood; `error` names it.
    pub(super) fn not_understood(&mut self, error: &impl Display) {
        if !self.stopped() {
            self.counts.refused += 1;
            eprintln!("{}: {error}", self.file);
        }
    }

    fn refuse(&mut self, line: u64, series: &str, expected: &str, found: &str) {
        if self.stopped() {
            return;
        }
        if self.refused_line != line {
            self.counts.refused += 1;
            self.refused_line = line;
        }
        let series: String = series.chars().take(200).collect();
        eprintln!(
            "{}: line {line}: series {series}: expected {expected}, found {found}",
            self.file
        );
    }

    /// Takes a sample.
    pub(super) fn take(&mut self, row: &Row<'_>) {
        if self.stopped() {
            return;
        }
        let Some(slot) = self.slot(row) else { return };
        let kind = self.slots.get(slot as usize).map_or(Type::F64, |slot| slot.kind);
        match bits(kind, row.value) {
            Ok(bits) => {
                let bits = match row.value {
                    Value::Text(text) => {
                        let start = self.texts.len();
                        self.texts.push_str(text);
                        (start << 32 | text.len()) as i64
                    }
                    _ => bits,
                };
                let (time_ns, line) = (row.time_ns, row.line);
                self.held.push(Held { time_ns, bits, slot, line });
            }
            Err((expected, found)) => self.refuse(row.line, row.series, &expected, &found),
        }
    }

    /// The place of a row's series, new or not.
    fn slot(&mut self, row: &Row<'_>) -> Option<u32> {
        if let Some(place) = self.places.get(row.series) {
            return Some(*place);
        }
        let known = self.target.declared(row.series);
        let (id, kind) = match known {
            Some((id, kind)) => (Some(id), kind),
            None => {
                if let Err(expected) = self.target.may_declare() {
                    self.refuse(row.line, row.series, expected, "a new one");
                    return None;
                }
                if row.series.len() > NAME_BYTES_MAX {
                    let expected = format!("a name of at most {NAME_BYTES_MAX} bytes");
                    let found = format!("{} bytes", row.series.len());
                    self.refuse(row.line, row.series, &expected, &found);
                    return None;
                }
                let kind = match row.value {
                    Value::Float(_) => Type::F64,
                    Value::Boolean(_) => Type::Bool,
                    Value::Text(_) => Type::Text,
                    _ if row.new == NewNumbers::AreF64 => Type::F64,
                    _ => Type::I64,
                };
                if let Err((expected, found)) = bits(kind, row.value) {
                    self.refuse(row.line, row.series, &expected, &found);
                    return None;
                }
                (None, kind)
            }
        };
        let place = self.slots.len() as u32;
        self.slots.push(Slot { name: row.series.to_owned(), kind, id });
        self.places.insert(row.series.to_owned(), place);
        Some(place)
    }

    /// Pushes what is held if that is much.
    pub(super) fn settle(&mut self) -> Result<()> {
        let much = self.held.len() >= HELD_MAX || self.texts.len() >= TEXT_HELD_BYTES_MAX;
        if much { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        self.declare()?;
        let mut held = std::mem::take(&mut self.held);
        self.times.clear();
        self.ids.clear();
        self.bits.clear();
        // In their order: of several samples of one series and time the last counts.
        for one in &held {
            let Some(slot) = self.slots.get(one.slot as usize) else { continue };
            let Some(id) = slot.id else { continue };
            if slot.kind == Type::Text {
                let (start, length) = ((one.bits >> 32) as usize, one.bits as u32 as usize);
                let text = self.texts.get(start..start + length).unwrap_or_default();
                self.target.push_text(one.time_ns, id, text)?;
                self.counts.samples += 1;
                continue;
            }
            self.times.push(one.time_ns);
            self.ids.push(id);
            self.bits.push(one.bits);
        }
        self.target.push(&self.times, &self.ids, &self.bits)?;
        self.counts.samples += self.ids.len() as u64;
        self.texts.clear();
        held.clear();
        self.held = held;
        self.show();
        Ok(())
    }

    /// Declares all new series at once; where that is refused, one by one, to know which.
    fn declare(&mut self) -> Result<()> {
        let new = self.slots.get(self.declared_to..).unwrap_or_default();
        let new: Vec<&Slot> = new.iter().filter(|slot| slot.id.is_none()).collect();
        let wanted: Vec<_> = new.iter().map(|slot| (slot.name.as_str(), slot.kind, "")).collect();
        let mut found: Vec<std::result::Result<u32, String>> = Vec::new();
        match self.target.declare(&wanted) {
            Ok(ids) => found.extend(ids.into_iter().map(Ok)),
            Err(error @ baro_recorder::Error::System(_)) => return Err(error.into()),
            Err(_) => {
                for one in wanted.chunks(1) {
                    found.push(match self.target.declare(one) {
                        Ok(ids) => ids.first().copied().ok_or_else(String::new),
                        Err(error @ baro_recorder::Error::System(_)) => return Err(error.into()),
                        Err(error) => Err(error.to_string()),
                    });
                }
            }
        }
        let mut refused: HashMap<u32, String> = HashMap::new();
        let mut found = found.into_iter();
        for (place, slot) in self.slots.iter_mut().enumerate().skip(self.declared_to) {
            if slot.id.is_some() {
                continue;
            }
            match found.next() {
                Some(Ok(id)) => {
                    slot.id = Some(id);
                    self.counts.declared += 1;
                }
                Some(Err(reason)) => {
                    refused.insert(place as u32, reason);
                }
                None => {}
            }
        }
        self.declared_to = self.slots.len();
        if !refused.is_empty() {
            self.refuse_held(&refused);
        }
        Ok(())
    }

    /// Refuses samples whose series could not be declared; a later one tries again.
    fn refuse_held(&mut self, refused: &HashMap<u32, String>) {
        let held = std::mem::take(&mut self.held);
        let (bad, good): (Vec<Held>, _) =
            held.into_iter().partition(|one| refused.contains_key(&one.slot));
        self.held = good;
        for one in bad {
            let name = self.slots.get(one.slot as usize).map_or(String::new(), |s| s.name.clone());
            let reason = refused.get(&one.slot).map_or("", String::as_str);
            self.refuse(one.line, &name, "a series that can be declared", reason);
        }
        self.places.retain(|_, place| !refused.contains_key(place));
    }

    fn show(&mut self) {
        let now_ns = clock::monotonic_ns();
        if let Some(shown_ns) = &mut self.shown_ns
            && now_ns.saturating_sub(*shown_ns) >= PROGRESS_NS
        {
            *shown_ns = now_ns;
            eprint!("\r\x1b[K{}: {} samples\r", self.file, self.counts.samples);
        }
    }

    /// Pushes the rest and waits until all is durable.
    pub(super) fn finish(mut self) -> Result<Counts> {
        self.flush()?;
        self.counts.series = self.slots.iter().filter(|slot| slot.id.is_some()).count() as u64;
        self.counts.lost = self.target.finish()?;
        Ok(self.counts)
    }
}

/// The bits of a value of a series, none of a text; or what was expected, and what was found.
fn bits(kind: Type, value: Value<'_>) -> std::result::Result<i64, (String, String)> {
    Ok(match (kind, value) {
        (Type::F64, Value::Float(value)) => value.to_bits().cast_signed(),
        (Type::F64, Value::Integer(value)) => (value as f64).to_bits().cast_signed(),
        (Type::F64, Value::Unsigned(value)) => (value as f64).to_bits().cast_signed(),
        (Type::I64, Value::Integer(value)) => value,
        (Type::I64, Value::Unsigned(value)) if i64::try_from(value).is_ok() => value as i64,
        (Type::Bool, Value::Boolean(value)) => i64::from(value),
        (Type::Text, Value::Text(text)) if text.len() <= TEXT_BYTES_MAX => 0,
        (Type::Text, Value::Text(text)) => {
            let expected = format!("a text of at most {TEXT_BYTES_MAX} bytes");
            return Err((expected, format!("{} bytes", text.len())));
        }
        (kind, Value::Text(text)) => {
            let text: String = text.chars().take(40).collect();
            return Err((kind.name().to_owned(), format!("{text:?}")));
        }
        (kind, value) => return Err((kind.name().to_owned(), format!("{value:?}"))),
    })
}
