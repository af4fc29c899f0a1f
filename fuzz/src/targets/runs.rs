//! Runs: a page with the entry that leads to it, and an index with its footer. CRCs are made right
//! again, so that mutations reach heads, tables and the number codec behind them.

use crate::Target;
use baro_ondisk::{Type, crc32c};
use baro_runs::{Error, PageReader, RunIndex, RunInfo, RunWriter};

const FOOTER: usize = RunIndex::FOOTER_BYTES;
const HEADER: usize = baro_ondisk::limits::UNIT_BYTES;
/// In front of a page: type, first and last series, samples, earliest and latest time.
const ENTRY: usize = 1 + 4 + 4 + 4 + 8 + 8;

pub(crate) const PAGE: Target = Target {
    name: "run_page",
    fuzz_one: page,
    seeds: || {
        let file = file();
        let pages = index_of(&file).map(|index| index.pages().to_vec()).unwrap_or_default();
        let page = |entry: &baro_runs::PageEntry| {
            let mut input = vec![entry.kind as u8];
            input.extend(entry.first_series.to_le_bytes());
            input.extend(entry.last_series.to_le_bytes());
            input.extend(entry.samples.to_le_bytes());
            input.extend(entry.time_min_ns.to_le_bytes());
            input.extend(entry.time_max_ns.to_le_bytes());
            input.extend(file.iter().skip(entry.offset as usize).take(entry.bytes as usize));
            input
        };
        pages.iter().map(page).collect()
    },
    fix_up: |input| {
        let Some(page) = input.get_mut(ENTRY..) else { return };
        let Some((crc, body)) = page.split_first_chunk_mut::<4>() else { return };
        // Of the first page of a run without a store.
        let seed = crc32c(crc32c(crc32c(0, &[0; 16]), &[0; 8]), &(HEADER as u64).to_le_bytes());
        *crc = crc32c(seed, body).to_le_bytes();
    },
};

pub(crate) const INDEX: Target = Target {
    name: "run_index",
    fuzz_one: |input| {
        let header = header();
        let at = input.len().saturating_sub(FOOTER);
        let (index, footer) = input.split_at(at);
        let _ = RunIndex::footer((HEADER + input.len()) as u64, footer);
        let Ok(index) = RunIndex::decode(&header, index, footer) else { return };
        let samples: u64 = index.pages().iter().map(|page| u64::from(page.samples)).sum();
        assert_eq!(samples, index.samples());
        for page in index.pages() {
            assert!(page.time_min_ns <= page.time_max_ns);
            assert!(!index.find(page.first_series).is_empty());
        }
    },
    seeds: || {
        let file = file();
        let at = RunIndex::footer(file.len() as u64, &file).map_or(0, |at| at.offset as usize);
        vec![file.get(at..).unwrap_or(&[]).to_vec()]
    },
    fix_up: |input| {
        let Some(at) = input.len().checked_sub(FOOTER) else { return };
        let (index, footer) = input.split_at_mut(at);
        if let Some(bytes) = footer.get_mut(16..20) {
            bytes.copy_from_slice(&(index.len() as u32).to_le_bytes());
        }
        if let Some(crc) = footer.get_mut(20..24) {
            crc.copy_from_slice(&crc32c(0, index).to_le_bytes());
        }
        seal_footer(footer);
    },
};

/// A whole run: footer, index and header lead to its pages, and all that they hold is decoded.
pub(crate) const RUN: Target = Target {
    name: "run",
    fuzz_one: |file| {
        let Some(index) = index_at_end(file) else { return };
        let mut reader = PageReader::new();
        for entry in index.pages() {
            let bytes =
                file.get(entry.offset as usize..).and_then(|at| at.get(..entry.bytes as usize));
            let Some(Ok(mut page)) = bytes.map(|bytes| reader.open(entry, bytes)) else { continue };
            let mut samples = 0;
            let _ = page.read_all(i64::MIN, i64::MAX, |series, times, bits| {
                assert!((entry.first_series..=entry.last_series).contains(&series));
                assert_eq!(times.len(), bits.len());
                samples += times.len();
            });
            assert!(samples <= entry.samples as usize, "more samples than the index says");
            let _ = page.read_text(entry.first_series, i64::MIN, i64::MAX, |_, _| {});
        }
    },
    seeds: || vec![file()],
    fix_up: seal,
};

/// Header, index, footer and pages get the CRCs that belong to what they hold now, of whichever store and
/// run the header names.
fn seal(file: &mut [u8]) {
    let Some(at) = file.len().checked_sub(FOOTER).filter(|at| *at >= HEADER) else { return };
    let (body, footer) = file.split_at_mut(at);
    let Some(header) = body.get_mut(..HEADER) else { return };
    put(header, 12, 0);
    put(header, 12, crc32c(0, header));
    put(footer, 52, crc32c(0, header));
    let run = header.get(32..40).unwrap_or(&[]).to_vec();
    if let Some(place) = footer.get_mut(24..32) {
        place.copy_from_slice(&run);
    }
    let place = crc32c(crc32c(0, header.get(16..32).unwrap_or(&[])), &run);
    let field = |at: usize| footer.get(at..at + 8).and_then(|field| field.try_into().ok());
    let field = |at: usize| field(at).map_or(0, u64::from_le_bytes);
    let (offset, bytes) = (field(8), field(16) as u32 as usize);
    let index = usize::try_from(offset).ok().and_then(|offset| body.get(offset..));
    if let Some(index) = index.and_then(|index| index.get(..bytes)) {
        put(footer, 20, crc32c(0, index));
    }
    seal_footer(footer);
    let entries: Vec<(usize, usize)> = index_at_end(file).map_or(Vec::new(), |index| {
        index.pages().iter().map(|page| (page.offset as usize, page.bytes as usize)).collect()
    });
    for (offset, bytes) in entries {
        let page = file.get_mut(offset..).and_then(|page| page.get_mut(..bytes));
        let Some((crc, body)) = page.and_then(|page| page.split_first_chunk_mut::<4>()) else {
            continue;
        };
        *crc = crc32c(crc32c(place, &(offset as u64).to_le_bytes()), body).to_le_bytes();
    }
}

fn put(bytes: &mut [u8], at: usize, value: u32) {
    if let Some(place) = bytes.get_mut(at..at + 4) {
        place.copy_from_slice(&value.to_le_bytes());
    }
}

/// The index of a file, as a reader finds it: by the footer at its end.
fn index_at_end(file: &[u8]) -> Option<RunIndex> {
    let footer = file.get(file.len().checked_sub(FOOTER)?..)?;
    let at = RunIndex::footer(file.len() as u64, footer).ok()?;
    let index = file.get(usize::try_from(at.offset).ok()?..)?.get(..at.bytes)?;
    RunIndex::decode(file.get(..HEADER)?, index, footer).ok()
}

fn seal_footer(footer: &mut [u8]) {
    if let Some((body, crc)) = footer.split_last_chunk_mut::<4>() {
        *crc = crc32c(0, body).to_le_bytes();
    }
}

/// Everything that can be asked of a page.
fn page(input: &[u8]) {
    let Some((head, page)) = input.split_at_checked(ENTRY) else { return };
    let Some(index) = index_with(head, page.len()) else { return };
    let Some(entry) = index.pages().first() else { return };
    let mut reader = PageReader::new();
    let Ok(mut page) = reader.open(entry, page) else { return };
    let (from, to) = (entry.time_min_ns, entry.time_max_ns);
    let third = from.wrapping_add(to.wrapping_sub(from) / 3);
    for (from, to) in [(i64::MIN, i64::MAX), (third, to), (to, from)] {
        let mut samples = 0;
        let _ = page.read_all(from, to, |_, times, bits| {
            assert_eq!(times.len(), bits.len());
            samples += times.len();
        });
        assert!(samples <= entry.samples as usize, "more samples than the index says");
        let _ = page.aggregate_all(from, to, |_, _| {});
        let (mut times, mut bits) = (Vec::new(), Vec::new());
        for series in [entry.first_series, entry.last_series] {
            let _ = page.read(series, from, to, &mut times, &mut bits);
            assert_eq!(times.len(), bits.len());
            let _ = page.aggregate(series, from, to);
            let _ = page.read_text(series, from, to, |_, _| {});
        }
    }
}

/// An index of one page of `bytes` bytes, as `head` says.
fn index_with(head: &[u8], bytes: usize) -> Option<RunIndex> {
    let (kind, head) = head.split_first()?;
    let (first, head) = head.split_first_chunk()?;
    let (last, head) = head.split_first_chunk()?;
    let (samples, head) = head.split_first_chunk()?;
    let (min, head) = head.split_first_chunk()?;
    let (max, _) = head.split_first_chunk()?;
    let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
    let (min, max) = (i64::from_le_bytes(*min), i64::from_le_bytes(*max));
    let samples = u32::from_le_bytes(*samples);
    let mut index = vec![1];
    varint(&mut index, bytes as u64);
    varint(&mut index, u64::from(first));
    varint(&mut index, u64::from(last.checked_sub(first)?));
    varint(&mut index, u64::from(samples));
    index.push(*kind);
    varint(&mut index, ((min << 1) ^ (min >> 63)) as u64);
    varint(&mut index, max.wrapping_sub(min) as u64);
    let header = header();
    let mut footer = b"BARORUNF".to_vec();
    footer.extend(((HEADER + bytes) as u64).to_le_bytes());
    footer.extend((index.len() as u32).to_le_bytes());
    footer.extend(crc32c(0, &index).to_le_bytes());
    footer.extend([0; 8]);
    footer.extend(u64::from(samples).to_le_bytes());
    footer.extend(1_u64.to_le_bytes());
    footer.extend(1_u32.to_le_bytes());
    footer.extend(crc32c(0, &header).to_le_bytes());
    footer.extend([0; 8]);
    seal_footer(&mut footer);
    RunIndex::decode(&header, &index, &footer).ok()
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn index_of(file: &[u8]) -> Option<RunIndex> {
    let at = RunIndex::footer(file.len() as u64, file).ok()?;
    let index = file.get(at.offset as usize..)?.get(..at.bytes)?;
    RunIndex::decode(file.get(..HEADER)?, index, file).ok()
}

fn header() -> Vec<u8> {
    let mut header = Vec::new();
    let out = |bytes: &[u8]| -> Result<(), Error> {
        header.extend_from_slice(bytes);
        Ok(())
    };
    drop(RunWriter::new(&RunInfo::default(), out));
    header.truncate(HEADER);
    header
}

/// A run with a page of each shape and domain.
fn file() -> Vec<u8> {
    let mut file = Vec::new();
    let out = |bytes: &[u8]| -> Result<(), Error> {
        file.extend_from_slice(bytes);
        Ok(())
    };
    drop(write(out));
    file
}

fn write(out: impl FnMut(&[u8]) -> Result<(), Error>) -> Result<(), Error> {
    let mut writer = RunWriter::new(&RunInfo::default(), out)?;
    let even: Vec<i64> = (0..70).map(|tick| tick * 1000).collect();
    let odd: Vec<i64> = (0..40).map(|tick| tick * 1000 + (tick * tick) % 77).collect();
    let decimal = |n: i64| ((n * n % 31) as f64 / 10.0).to_bits();
    for id in 1..80 {
        let bits: Vec<u64> = even.iter().map(|time| decimal(time / 1000 + id)).collect();
        writer.push(id as u32, Type::F64, &even, &bits)?;
    }
    let integers: Vec<u64> = odd.iter().map(|time| (time * time) as u64).collect();
    for id in 100..130_u32 {
        let times: Vec<i64> = odd.iter().map(|time| time + i64::from(id % 7) * time).collect();
        let times = if id == 100 { vec![5] } else { times };
        let mut bits: Vec<u64> = times.iter().map(|time| decimal(*time)).collect();
        if id == 110 {
            bits[3] = f64::NAN.to_bits();
        }
        writer.push(id, Type::F64, &times, &bits)?;
    }
    for id in 130..230 {
        writer.push(id, Type::I64, &odd, &integers)?;
    }
    writer.push(231, Type::F64, &odd, &integers)?;
    let texts: Vec<&str> = odd.iter().map(|time| ["on", "off", "ü"][*time as usize % 3]).collect();
    writer.push_text(240, &odd, &texts)?;
    let long: Vec<i64> = (0..9000).map(|n| n * 7 + n % 3 / 2).collect();
    let bits: Vec<u64> = long.iter().map(|time| decimal(*time)).collect();
    writer.push(250, Type::F64, &long, &bits)?;
    writer.finish().map(|_| ())
}

/// Samples of [`small`], and their earliest and latest time.
pub(super) const SMALL_SAMPLES: u64 = 3 * 20 + 3;
pub(super) const SMALL_TIMES_NS: (i64, i64) = (0, 19_000);

/// A run of four series, one of them of texts; the first three on a grid.
pub(super) fn small(info: &RunInfo) -> Vec<u8> {
    let mut file = Vec::new();
    let out = |bytes: &[u8]| -> Result<(), Error> {
        file.extend_from_slice(bytes);
        Ok(())
    };
    let write = || -> Result<(), Error> {
        let mut writer = RunWriter::new(info, out)?;
        let times: Vec<i64> = (0..20).map(|tick| tick * 1000).collect();
        for id in 1..4 {
            let bits: Vec<u64> = times.iter().map(|time| (time / 500 + id) as u64).collect();
            writer.push(id as u32, Type::I64, &times, &bits)?;
        }
        writer.push_text(4, &[0, 7, 9_000], &["on", "off", "ü"])?;
        writer.finish().map(|_| ())
    };
    drop(write());
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_seed_is_read_whole_once_its_crc_is_of_this_place() {
        let seeds = (PAGE.seeds)();
        let mut shapes = Vec::new();
        for mut input in seeds {
            (PAGE.fix_up)(&mut input);
            page(&input);
            let (head, bytes) = input.split_at(ENTRY);
            let index = index_with(head, bytes.len()).unwrap();
            let entry = &index.pages()[0];
            let mut reader = PageReader::new();
            let mut page = reader.open(entry, bytes).unwrap();
            let mut samples = 0;
            page.read_all(i64::MIN, i64::MAX, |_, times, _| samples += times.len()).unwrap();
            assert_eq!(samples, entry.samples as usize);
            shapes.push((bytes[4], bytes[5], bytes[6]));
        }
        shapes.sort_unstable();
        shapes.dedup();
        // Grids of decimals, integers and bits, ragged decimals and texts.
        assert!(shapes.len() >= 4, "{shapes:?}");
        let mut run = (RUN.seeds)().remove(0);
        let whole = run.clone();
        (RUN.fix_up)(&mut run);
        assert!(run == whole, "fixing up what is right changes it");
        assert!(!index_at_end(&run).unwrap().pages().is_empty());
        for input in (INDEX.seeds)() {
            let mut fixed = input.clone();
            (INDEX.fix_up)(&mut fixed);
            assert_eq!(fixed, input);
            let (index, footer) = input.split_at(input.len() - FOOTER);
            RunIndex::decode(&header(), index, footer).unwrap();
        }
    }
}
