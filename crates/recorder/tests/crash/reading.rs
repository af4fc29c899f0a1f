//! Reads a whole log by the reader's rule and holds it against the ledger.

use crate::ledger::{Form, Ledger, payload, samples};
use baro_log::{
    Blocks, Extent, Found, Pins, Proof, Segments, judge, kept_name, read_identity, segment_name,
};
use baro_ondisk::{Block, Gap, Kind, Record, SampleColumns, Samples, SegmentHeader};
use baro_sys::sim::SimDisk;
use baro_sys::storage::{Access, Storage, StorageFile};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// What a log holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Contents {
    /// Sequence after the last record of each producer.
    pub next: BTreeMap<u64, u64>,
    pub blocks: u64,
    /// Ranges of sequences that were found, by producer.
    pub ranges: BTreeMap<u64, Vec<(u64, u64)>>,
    /// Epoch, producer and first sequence of it there.
    pub starts: Vec<(u64, u64, u64)>,
    /// Records in gap records, by producer.
    pub lost: BTreeMap<u64, u64>,
    /// Blocks missing that were durable, in segments and between them.
    pub damage: Vec<String>,
}

/// A record as it was seen: whom it is from, which sequences it covers, what is wrong with it.
struct Seen {
    block: u64,
    producer: u64,
    sequence: u64,
    next: u64,
    gap: bool,
    wrong: Option<String>,
}

/// Reads everything; an error says what is there that should not be, or is not and should.
pub fn check(disk: &SimDisk, ledger: &Ledger) -> Result<Contents, String> {
    let text = |e: &dyn std::fmt::Display| e.to_string();
    let identity = read_identity(disk, Path::new("sim")).map_err(|e| text(&e))?;
    let segments = Segments::read(disk, &identity).map_err(|e| text(&e))?;
    let recycled = ledger.recycling;
    let pins = Pins::read(disk, identity.store).map_err(|e| text(&e))?;
    if let Some((name, why)) = pins.damaged.first() {
        return Err(format!("{name}: {why}"));
    }
    for id in ledger.pins.keys() {
        if !pins.pins.contains_key(id) {
            return Err(format!("pin {id:x} was granted and is gone"));
        }
    }
    let started = with_kept(disk, &segments, &pins)?;
    let mut contents = Contents::default();
    let mut buffer = Blocks::new().map_err(|e| text(&e))?;
    // Producers with records in segments that were not passed over.
    let mut recent = BTreeSet::new();
    let mut from = 0;
    let mut order = Order::default();
    while let Some((first, _, _)) = started.get(from) {
        let of_session = started[from..]
            .iter()
            .take_while(|(header, _, _)| header.session == first.session)
            .count();
        let mut extents = Vec::new();
        let mut seen = Vec::new();
        for (header, crc, name) in started.iter().skip(from).take(of_session) {
            let file = disk.open(name, Access::ReadDirect).map_err(|e| text(&e))?;
            let mut walk = buffer.walk(&file, *header, *crc);
            let (mut durable, mut records) = (0, Vec::new());
            loop {
                match walk.next_block().map_err(|e| text(&e))? {
                    Found::Block(block) => {
                        durable = durable.max(block.header.durable);
                        see(&block, ledger, &mut records);
                    }
                    Found::End(_) => match walk.skip_damage().map_err(|e| text(&e))? {
                        Some(header) => contents.damage.push(format!("{name}: {header:?}")),
                        None => break,
                    },
                }
            }
            let (epoch, first_block) = (header.epoch, header.first_block);
            let end = walk.scan().sequence();
            extents.push(Extent { epoch, first_block, end, durable }.capped(&segments.dead));
            seen.push(records);
        }
        contents.damage.extend(claimed(&extents, &started[from..], &segments));
        let mut own = 0;
        for (rank, (verdict, records)) in (from..).zip(judge(&extents).into_iter().zip(seen)) {
            // Behind segments that could not be recycled when it was their turn.
            let passed_over = recycled && ledger.passed_over > 0;
            let jumps = passed_over && rank <= ledger.passed_over;
            let hole = verdict.hole.filter(|hole| {
                !((passed_over || (recycled && ledger.pinning)) && hole.epochs_missing)
            });
            contents.damage.extend(hole.map(|hole| format!("{hole:?} in {extents:?}")));
            order.segment(ledger, started[rank].0.epoch);
            contents.blocks += verdict.live.end - verdict.live.start;
            for record in records.iter().filter(|r| verdict.live.contains(&r.block)) {
                let first = passed_over && !recent.contains(&record.producer);
                let epoch = started[rank].0.epoch;
                let known = contents.starts.iter().rev().take_while(|start| start.0 == epoch);
                if !known.into_iter().any(|start| start.1 == record.producer) {
                    contents.starts.push((epoch, record.producer, record.sequence));
                }
                let jumps = jumps || first || order.jumps(record.producer);
                follow(record, &mut contents, &mut own, (recycled, jumps))?;
                if rank >= ledger.passed_over {
                    recent.insert(record.producer);
                }
            }
        }
        from += of_session;
    }
    something_is_left(&contents, ledger)?;
    for (producer, book) in &ledger.books {
        let next = contents.next.get(producer).copied().unwrap_or(0);
        // What earlier producers left may go piece by piece; so may what is left of a living one
        // where segments older than its newest records could not be recycled.
        let gone = recycled && (!book.alive || !recent.contains(producer));
        if next < book.durable && !gone {
            let durable = book.durable;
            let segments: Vec<_> = started
                .iter()
                .map(|(h, _, n)| (h.session >> 32, h.epoch, h.first_block, n))
                .collect();
            return Err(format!(
                "producer {producer}: durable {durable}, in the log {next}, of {segments:?}"
            ));
        }
    }
    promises(&contents, ledger).map_err(|error| {
        let of: Vec<_> = started.iter().map(|(h, _, n)| (h.epoch, h.first_block, n)).collect();
        format!("{error}; segments {of:?}, pins {:?}", pins.pins.values().collect::<Vec<_>>())
    })?;
    Ok(contents)
}

/// That of what producers were told to be durable something is there.
fn something_is_left(contents: &Contents, ledger: &Ledger) -> Result<(), String> {
    let told = ledger.books.iter().filter(|(_, book)| book.alive && book.durable > 0);
    let there = |producer| contents.next.contains_key(producer);
    // Segments are reused in their order, so the last one with blocks may go before those without.
    let may_be_empty = ledger.recycling && ledger.failed;
    if told.clone().count() > 0
        && !told.clone().any(|(producer, _)| there(producer))
        && !may_be_empty
    {
        return Err("of what was durable nothing is left".to_owned());
    }
    Ok(())
}

/// Claims of a session's segments and of headers that more was durable than is there.
fn claimed(extents: &[Extent], started: &[Opened], segments: &Segments) -> Vec<String> {
    let mut proof = Proof::default();
    let mut told = Vec::new();
    for (extent, (header, _, name)) in extents.iter().zip(started).rev() {
        let known = proof.of(header, &segments.ends, &segments.dead);
        if known > extent.end {
            told.push(format!("{name}: blocks to {known} were durable, found {extent:?}"));
        }
        proof.pass(extent);
    }
    told
}

/// Where epochs are missing, because what came after a pinned segment was recycled: there the
/// sequences of each producer may jump, once.
#[derive(Debug, Default)]
struct Order {
    epoch: u64,
    holes: u64,
    seen: BTreeMap<u64, u64>,
}

impl Order {
    fn segment(&mut self, ledger: &Ledger, epoch: u64) {
        let hole = ledger.recycling && ledger.pinning && self.epoch + 1 != epoch;
        self.holes += u64::from(hole);
        self.epoch = epoch;
    }

    fn jumps(&mut self, producer: u64) -> bool {
        self.seen.insert(producer, self.holes) != Some(self.holes) && self.holes > 0
    }
}

type Opened = (SegmentHeader, u32, String);
type Started = Vec<Opened>;

/// The segments of the log, and those that were copied out of it and are not in it any more.
fn with_kept(disk: &SimDisk, segments: &Segments, pins: &Pins) -> Result<Started, String> {
    let name = |header: &SegmentHeader| segment_name(header.index);
    let mut started: Started =
        segments.started.iter().map(|(header, crc)| (*header, *crc, name(header))).collect();
    for epoch in &pins.kept {
        if started.iter().any(|(header, _, _)| header.epoch == *epoch) {
            continue;
        }
        let name = kept_name(*epoch);
        let mut unit = [0; 4096];
        let file = disk.open(&name, Access::Read).map_err(|e| e.to_string())?;
        file.read_at(0, &mut unit).map_err(|e| e.to_string())?;
        let (header, crc) = SegmentHeader::decode(&unit).map_err(|e| format!("{name}: {e}"))?;
        started.push((header, crc, name));
    }
    started.sort_by_key(|(header, _, _)| header.epoch);
    Ok(started)
}

/// What pins and retention have promised is there.
fn promises(contents: &Contents, ledger: &Ledger) -> Result<(), String> {
    let found = |producer: &u64, sequence: u64| {
        let ranges = contents.ranges.get(producer);
        ranges.is_some_and(|all| all.iter().any(|(from, to)| (*from..*to).contains(&sequence)))
    };
    for (producer, book) in &ledger.books {
        for (sequence, offer) in (0..book.durable).zip(&book.offers) {
            let Some(offer) = offer else { continue };
            for (id, promise) in &ledger.pins {
                let within = (promise.from_ns..promise.to_ns).contains(&offer.pushed_ns);
                let gone = promise.gone_below.get(producer).is_some_and(|gone| sequence < *gone);
                let cut = promise
                    .cut_at
                    .as_ref()
                    .is_some_and(|held| held.get(producer).is_none_or(|held| sequence >= *held));
                if within && !gone && !cut && !found(producer, sequence) {
                    return Err(format!(
                        "pin {id:x}: record {sequence} of producer {producer} was pinned and is gone"
                    ));
                }
            }
            let age_ns = ledger.running_ns.saturating_sub(offer.pushed_ns);
            let young = u64::try_from(age_ns).is_ok_and(|age_ns| age_ns < ledger.keep_ns);
            if young && book.alive && !found(producer, sequence) {
                return Err(format!(
                    "record {sequence} of producer {producer}, {age_ns} ns old, was recycled"
                ));
            }
        }
    }
    Ok(())
}

fn see(block: &Block<'_>, ledger: &Ledger, records: &mut Vec<Seen>) {
    let number = block.header.sequence;
    let mut samples = Vec::new();
    for chunk in block.chunks() {
        let chunk = match chunk {
            Ok(chunk) => chunk,
            Err(error) => return records.push(Seen::wrong(number, error.to_string())),
        };
        for record in chunk.records() {
            match record {
                Ok(record) => records.push(Seen {
                    block: number,
                    producer: chunk.producer,
                    sequence: record.sequence,
                    next: record.next_sequence(),
                    gap: record.kind == Kind::Gap,
                    wrong: wrong(ledger, chunk.producer, &record, &mut samples),
                }),
                Err(error) => records.push(Seen::wrong(number, error.to_string())),
            }
        }
    }
    // Samples of one series and time stay in the order in which they came.
    samples.sort_by_key(|(series, time_ns, _)| (*series, *time_ns));
    match section(block) {
        Ok(found) if found == samples => {}
        Ok(found) => {
            let (found, expected) = (found.len(), samples.len());
            let wrong = format!("{found} samples in the section, and not the {expected} pushed");
            records.push(Seen::wrong(number, wrong));
        }
        Err(error) => records.push(Seen::wrong(number, error.to_string())),
    }
}

type Sample = (u32, i64, u64);

fn section(block: &Block<'_>) -> Result<Vec<Sample>, baro_ondisk::Error> {
    let mut samples = Vec::new();
    let mut columns = SampleColumns::default();
    if let Some(section) = block.section()? {
        for at in 0..section.strips() {
            section.decode_strip(at, &mut columns)?;
            samples.extend(columns.iter());
        }
    }
    Ok(samples)
}

impl Seen {
    fn wrong(block: u64, wrong: String) -> Self {
        Seen { block, producer: 0, sequence: 0, next: 0, gap: false, wrong: Some(wrong) }
    }
}

/// What is wrong with a record, compared with what its producer offered; samples that should be in
/// the block's section are added to `moved`.
fn wrong(
    ledger: &Ledger,
    producer: u64,
    record: &Record<'_>,
    moved: &mut Vec<Sample>,
) -> Option<String> {
    let sequence = record.sequence;
    if producer == 0 {
        return (record.kind != Kind::Clock).then(|| format!("own record of {:?}", record.kind));
    }
    let Some(book) = ledger.books.get(&producer) else {
        return Some(format!("unknown producer {producer}"));
    };
    if record.kind == Kind::Gap {
        let gap = Gap::decode(record.payload).ok()?;
        let range = sequence as usize..record.next_sequence() as usize;
        let refused =
            book.offers.get(range).is_some_and(|offers| offers.iter().all(Option::is_none));
        let counted = gap.damaged == 0 && gap.unknown == 0;
        return (!refused || !counted).then(|| format!("producer {producer} {sequence}: {gap:?}"));
    }
    let Some(Some(offer)) = book.offers.get(sequence as usize) else {
        return Some(format!("producer {producer}: record {sequence} was not offered"));
    };
    let same = match offer.form {
        Form::Frame => {
            record.kind == Kind::Frame
                && (record.stream, record.time_ns) == (offer.channel, offer.time_ns)
                && record.payload == payload(producer, sequence, offer.length)
        }
        Form::Samples(count) | Form::Timed(count) => {
            let pushed = samples(producer, sequence, offer);
            let first_ns = pushed.first().map(|sample| sample.1);
            let same = match record.kind {
                // Larger than any section.
                Kind::Samples => Samples::decode(record.payload, record.time_ns)
                    .is_ok_and(|found| found.iter().eq(pushed.iter().copied())),
                Kind::Moved => record.moved() == Ok(count as u32),
                _ => false,
            };
            if record.kind == Kind::Moved {
                moved.extend(pushed);
            }
            same && (record.stream, Some(record.time_ns)) == (0, first_ns)
        }
    };
    (!same).then(|| format!("producer {producer}: record {sequence} has other contents"))
}

/// The record must follow what was read before.
fn follow(
    record: &Seen,
    contents: &mut Contents,
    own: &mut u64,
    (recycled, jumps): (bool, bool),
) -> Result<(), String> {
    if let Some(wrong) = &record.wrong {
        return Err(format!("block {}: {wrong}", record.block));
    }
    let (producer, sequence) = (record.producer, record.sequence);
    let expected = match producer {
        // The writer's own numbers start anew with each session.
        0 => Some(*own).filter(|own| *own > 0 || !recycled),
        _ => contents.next.get(&producer).copied().or((!recycled).then_some(0)),
    };
    let follows = |to: u64| to == sequence || (jumps && to < sequence);
    if let Some(expected) = expected.filter(|expected| !follows(*expected)) {
        let block = record.block;
        return Err(format!(
            "block {block}: producer {producer}: expected record {expected}, found {sequence}"
        ));
    }
    if producer == 0 {
        *own = record.next;
    } else {
        let ranges = contents.ranges.entry(producer).or_default();
        match ranges.last_mut() {
            Some(last) if last.1 == sequence => last.1 = record.next,
            _ => ranges.push((sequence, record.next)),
        }
        contents.next.insert(producer, record.next);
        if record.gap {
            *contents.lost.entry(producer).or_default() += record.next - sequence;
        }
    }
    Ok(())
}
