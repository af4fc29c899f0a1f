//! The paper's claims, each judged by a rule that is printed with it.
//!
//! The rules allow for noise: what the paper calls halving holds at three quarters and less. What a
//! run did not measure, or what this scale or kernel cannot show, is not judged, and says why.

use super::paper;
use super::plan::USUAL;
use super::study::{Record, Records};
use super::tables::{blocks, files, layer_share, median};
use super::{Greedy, Reading};
use crate::experiment::Claim;

/// All of them, in the paper's order.
pub(super) fn all(all: &Records<'_>) -> Vec<Claim> {
    let mut claims = Vec::new();
    claims.extend(one_file(all.hdd));
    claims.extend(many_files(all.hdd));
    claims.extend(small_blocks(all.hdd));
    claims.extend(variations(all.hdd));
    claims.extend(layers(all.hdd));
    claims.extend(solid_state(all.ssd));
    claims.extend(amplification(all.first));
    claims.extend(conclusion(all.first));
    claims
}

const UNMEASURED: &str = "a cell that it needs has no numbers in this measurement";
const NO_SSD: &str = "no SSD was measured: baro bench files --device ssd, or a folder on one with \
                      --device none";

fn judged(claim: Claim, here: Option<(bool, String)>, rule: &str) -> Claim {
    claim.judged(here, rule, UNMEASURED)
}

/// The rate with B = 4 KiB.
fn v(record: Option<Record<'_>>, files: u64) -> Option<f64> {
    record?.v(files, USUAL.1)
}

fn greedy(record: Option<Record<'_>>, files: u64, kib: u64) -> Option<Greedy> {
    record?.greedy("matrix", files, kib)
}

/// Judges by the quotient of two cells' rates, if it does not depend on which part of their time one
/// looks at.
fn compared(
    claim: Claim,
    one: Option<&Greedy>,
    other: Option<&Greedy>,
    holds: fn(f64) -> bool,
    rule: &str,
) -> Claim {
    let Some((one, other)) = one.zip(other).filter(|(one, _)| one.mb_per_s() > 0.0) else {
        return claim.judged(None, rule, UNMEASURED);
    };
    let (from, to) = (one.mb_per_s(), other.mb_per_s());
    let (first, second) = (one.range(), other.range());
    let text = format!(
        "{from:.2} MB/s ({:.2} to {:.2}), then {to:.2} ({:.2} to {:.2})",
        first.0, first.1, second.0, second.1
    );
    let (low, high) = (second.0 / first.1, second.1 / first.0.max(f64::MIN_POSITIVE));
    if holds(low) == holds(high) && holds(low) == holds(to / from) {
        return claim.judged(Some((holds(to / from), text)), rule, UNMEASURED);
    }
    let why = format!(
        "the rates vary more within their cells than they differ: {text}; longer cells would tell \
         (--full)"
    );
    claim.judged(None, rule, &why)
}

/// Reads' share of the volume, percent.
fn read_share(cell: &Greedy) -> Option<f64> {
    let traffic = cell.synced.as_ref()?;
    ["R", "RM", "RS", "RSM"].iter().map(|class| traffic.share_and_mean(class).0).sum()
}

/// Mean write of user data, KB.
fn mean_write(cell: &Greedy) -> Option<f64> {
    let traffic = cell.synced.as_ref()?;
    traffic.share_and_mean("W").1
}

fn one_file(record: Option<Record<'_>>) -> Vec<Claim> {
    let mut cells: Vec<Greedy> = record.map_or(Vec::new(), |record| {
        blocks(record).into_iter().filter_map(|kib| record.greedy("matrix", 1, kib)).collect()
    });
    cells.sort_by(|one, two| two.mb_per_s().total_cmp(&one.mb_per_s()));
    let slowest = cells.last().filter(|_| cells.len() > 1);
    let waits = record.and_then(|record| {
        let cell = record.greedy("matrix", 10_000, USUAL.1)?;
        let (mut renaming, mut other) = ((0.0, 0.0), (0.0, 0.0));
        for (from, to) in cell.points.iter().zip(cell.points.iter().skip(1)) {
            let sum = if to.rotations > from.rotations { &mut renaming } else { &mut other };
            sum.0 += to.bytes.saturating_sub(from.bytes) as f64;
            sum.1 += to.at_ns.saturating_sub(from.at_ns) as f64;
        }
        let enough = renaming.1 > 0.0 && other.1 > 0.0;
        let rates = (renaming.0 * 1e3 / renaming.1, other.0 * 1e3 / other.1);
        let text = format!("{:.1} MB/s while files are renamed, {:.1} otherwise", rates.0, rates.1);
        enough.then_some((rates.0 < rates.1, text))
    });
    vec![
        compared(
            Claim::new(
                "one-file",
                "section 4.2",
                "one file is written at the device's rate, whatever the buffer's size",
                "124 MB/s at B = 4K, 123 at 1K",
            ),
            cells.first(),
            slowest,
            |quotient| quotient >= 0.9,
            "F = 1: the slowest B has at least 90 % of the fastest's rate",
        ),
        Claim::new(
            "rotation-dips",
            "section 4.1",
            "the rate falls while the files are renamed, and goes up after it",
            "figures 2 and 3",
        )
        .judged(
            waits,
            "F = 10,000, B = 4K: less is written in points with renamings than in those without",
            "no file was renamed at F = 10,000, B = 4K within the time of the cell (--full)",
        ),
    ]
}

fn many_files(record: Option<Record<'_>>) -> Vec<Claim> {
    let all: Vec<(u64, f64)> = record.map_or(Vec::new(), |record| {
        let rate = |files| Some((files, record.v(files, USUAL.1)?));
        files(record).into_iter().filter_map(rate).collect()
    });
    let falls = all.iter().zip(all.iter().skip(1)).all(|(one, two)| two.1 <= one.1 * 1.1);
    let ends = all.first().zip(all.last()).filter(|_| all.len() > 2);
    let falling = ends.map(|(first, last)| {
        let list: Vec<String> = all.iter().map(|(f, v)| format!("{f}: {v:.2}")).collect();
        (falls && last.1 <= first.1 / 2.0, format!("MB/s at F = {}", list.join(", ")))
    });
    let best = record.and_then(|record| {
        let rates = blocks(record).into_iter().filter_map(|kib| record.v(1_000_000, kib));
        let best = rates.fold(None, |best: Option<f64>, v| Some(best.map_or(v, |b| b.max(v))))?;
        let part = best / v(Some(record), 1)?;
        Some((part <= 0.08, format!("{:.1} % of F = 1 with the best B", part * 100.0)))
    });
    let merged = greedy(record, 1, USUAL.1).zip(greedy(record, USUAL.0, USUAL.1));
    let merged = merged.and_then(|(one, many)| {
        let (one, many) = (mean_write(&one)?, mean_write(&many)?);
        Some((many < 0.75 * one, format!("{one:.0} KB at F = 1, {many:.0} at F = 100,000")))
    });
    let usual = greedy(record, USUAL.0, USUAL.1);
    let (large, larger) = (greedy(record, USUAL.0, 48), greedy(record, 350_000, 48));
    let thrash = greedy(record, USUAL.0, USUAL.1).zip(greedy(record, 1_000_000, USUAL.1));
    let thrash = thrash.and_then(|(few, many)| {
        let (few, many) = (read_share(&few)?, read_share(&many)?);
        let text = format!("reads are {few:.1} % at F = 100,000, {many:.1} % at 1,000,000");
        Some((many >= 3.0 && many > 2.0 * few, text))
    });
    vec![
        judged(
            Claim::new(
                "falls-with-files",
                "section 4.2, figure 4",
                "the more files, the lower the rate",
                "124 MB/s at F = 1, 96 at 10,000, 3.5 at 100,000, 0.57 at 1,000,000 (B = 4K)",
            ),
            falling,
            "B = 4K: no F is faster than the one before by over 10 %, and the last has at most half of \
             the first's rate",
        ),
        judged(
            Claim::new(
                "hdd-collapse",
                "section 4.3.1",
                "on an HDD 4 % of the highest rate are left",
                "4 %",
            ),
            best,
            "F = 1,000,000 with the best B has at most 8 % of F = 1",
        ),
        judged(
            Claim::new(
                "aggregation",
                "section 4.2, table 3",
                "with more files writes are merged less",
                "W of 511.5 KB at F = 1, 207.5 at 100,000 (B = 4K)",
            ),
            merged,
            "B = 4K: the mean W at F = 100,000 is less than three quarters of that at F = 1",
        ),
        compared(
            Claim::new(
                "larger-buffers",
                "section 4.2",
                "larger buffers make up for the lost cache in part",
                "3.5 MB/s at B = 4K, 18 at 48K (F = 100,000)",
            ),
            usual.as_ref(),
            large.as_ref(),
            |quotient| quotient >= 1.5,
            "F = 100,000: B = 48K is at least 1.5 times as fast as 4K",
        ),
        compared(
            Claim::new(
                "rise-at-48k",
                "section 4.2",
                "at B = 48K the rate rises again from F = 100,000 to 350,000",
                "18 MB/s, then 40",
            ),
            large.as_ref(),
            larger.as_ref(),
            |quotient| quotient > 1.1,
            "over 10 % faster at F = 350,000",
        ),
        judged(
            Claim::new(
                "metadata-reads",
                "section 4.2",
                "at the largest F metadata no longer stays in the cache and is read again",
                "R and RM 0 % at F = 100,000, 29 % at 1,000,000 (B = 4K)",
            ),
            thrash,
            "reads are at least 3 % of the volume at F = 1,000,000, and twice those at 100,000",
        ),
    ]
}

fn small_blocks(record: Option<Record<'_>>) -> Vec<Claim> {
    let pair = |files| greedy(record, files, 1).zip(greedy(record, files, USUAL.1));
    let reads = pair(USUAL.0).and_then(|(small, page)| {
        let data = |cell: &Greedy| {
            let traffic = cell.synced.as_ref()?;
            traffic.share_and_mean("R").0
        };
        let (small, page) = (data(&small)?, data(&page)?);
        let text = format!("R is {small:.2} % at B = 1K, {page:.2} % at 4K (F = 100,000)");
        Some((small > page && small >= 0.1, text))
    });
    vec![
        compared(
            Claim::new(
                "small-blocks-slow",
                "section 4.2",
                "B below the page of 4 KiB halves the rate where the cache is short",
                "96 MB/s at B = 4K, 48 at 1K (F = 10,000)",
            ),
            greedy(record, 10_000, USUAL.1).as_ref(),
            greedy(record, 10_000, 1).as_ref(),
            |quotient| quotient <= 0.75,
            "F = 10,000: B = 1K has at most three quarters of the rate of 4K",
        ),
        judged(
            Claim::new(
                "small-blocks-read",
                "section 4.2",
                "because pages are read before they are changed",
                "R is 0.3 % at B = 1K, 0 at 4K (F = 100,000)",
            ),
            reads,
            "F = 100,000: R has at least 0.1 % of the volume at B = 1K, and more than at 4K",
        ),
    ]
}

fn variations(record: Option<Record<'_>>) -> Vec<Claim> {
    let usual = |group: &str| record?.usual(group);
    let (base, half) = (usual("matrix"), usual("half-cache"));
    let section = "section 4.2.1, figure 5";
    vec![
        compared(
            Claim::new("flat", section, "one flat directory is faster than a tree", "75 % faster"),
            base.as_ref(),
            usual("flat").as_ref(),
            |quotient| quotient >= 1.1,
            "F = 100,000, B = 4K: at least 10 % faster",
        ),
        compared(
            Claim::new("writers", section, "16 writers are slower than one", "50 % slower"),
            base.as_ref(),
            usual("writers-16").as_ref(),
            |quotient| quotient <= 0.9,
            "F = 100,000, B = 4K: at least 10 % slower",
        ),
        compared(
            Claim::new(
                "half-cache",
                section,
                "half the cache halves the rate",
                "50 %, from 6 GB to 3",
            ),
            base.as_ref(),
            half.as_ref(),
            |quotient| quotient <= 0.75,
            "F = 100,000, B = 4K: at most three quarters of the rate",
        ),
        compared(
            Claim::new(
                "quarter-cache",
                section,
                "halving it once more changes no more",
                "3 GB to 1.5",
            ),
            half.as_ref(),
            usual("quarter-cache").as_ref(),
            |quotient| (0.75..=1.33).contains(&quotient),
            "within a third of the rate with half the cache",
        ),
    ]
}

fn layers(record: Option<Record<'_>>) -> Vec<Claim> {
    let all: Vec<(u64, f64)> = record.map_or(Vec::new(), |record| {
        let cells = record.cells("layer").into_iter();
        cells
            .filter_map(|(files, kib)| Some((kib, record.greedy("layer", files, kib)?.mb_per_s())))
            .collect()
    });
    let best = all.iter().copied().max_by(|one, two| one.1.total_cmp(&two.1));
    // Sampled at a few B only, it lies between the neighbours of the fastest.
    let split = best.zip(record).filter(|_| all.len() >= 4).map(|((kib, rate), record)| {
        let share = layer_share(record, kib);
        let text = format!("{rate:.1} MB/s at B = {kib}K, {:.0} % of the memory", share * 100.0);
        ((0.3..=0.7).contains(&share), text)
    });
    let of = |kib: u64| record?.greedy("layer", USUAL.0, kib);
    vec![
        judged(
            Claim::new(
                "best-split",
                "section 4.2.2, figure 6",
                "memory is best divided about 1:1 between buffers and cache",
                "B = 32K and 48K at F = 100,000: 3.2 to 4.8 of 8 GB",
            ),
            split,
            "of at least four B the fastest takes 30 to 70 % of the memory for buffers",
        ),
        compared(
            Claim::new(
                "beyond-the-split",
                "section 4.2.2, figure 6",
                "with little cache left large buffers still do better than B = 4K",
                "5 times at B = 64K",
            ),
            of(4).as_ref(),
            of(64).as_ref(),
            |quotient| quotient >= 2.0,
            "B = 64K is at least twice as fast as 4K",
        ),
        Claim::new(
            "swapping",
            "section 4.2.2",
            "buffers larger than the memory, swapped, are still faster than B = 4K",
            "12.8 GB of buffers in 8 GB",
        )
        .judged(None, "", "writers are held in a control group without swap; nothing of the machine's swap is used"),
    ]
}

fn solid_state(record: Option<Record<'_>>) -> Vec<Claim> {
    let ends = record.and_then(|record| {
        let rates = blocks(record).into_iter().filter_map(|kib| record.v(1_000_000, kib));
        let best = rates.fold(0.0f64, f64::max);
        let part = best / record.v(1, USUAL.1)?;
        (best > 0.0).then(|| (part >= 0.1, format!("{:.0} % of F = 1", part * 100.0)))
    });
    let both = |files| {
        let record = record?;
        let f2fs = record.greedy("f2fs", files, USUAL.1)?.mb_per_s();
        Some((record.v(files, USUAL.1)?, f2fs))
    };
    let f2fs = both(USUAL.0).zip(both(1_000_000)).map(|(few, many)| {
        let text = format!(
            "ext4 {:.1} and f2fs {:.1} MB/s at F = 100,000; {:.1} and {:.1} at 1,000,000",
            few.0, few.1, many.0, many.1
        );
        (few.1 > few.0 && many.1 < many.0, text)
    });
    let no_f2fs = record
        .and_then(|record| record.missing("f2fs", USUAL.0, USUAL.1))
        .unwrap_or_else(|| NO_SSD.to_owned());
    vec![
        Claim::new(
            "ssd-no-collapse",
            "section 4.3, figure 7",
            "on an SSD the fall with F is no collapse",
            "20 % of the highest rate are left",
        )
        .judged(
            ends,
            "F = 1,000,000 with the best B has at least 10 % of F = 1",
            if record.is_some() { UNMEASURED } else { NO_SSD },
        ),
        Claim::new(
            "f2fs-or-ext4",
            "section 4.3, figures 7 and 8",
            "f2fs is faster at F = 100,000, ext4 at 1,000,000",
            "ext4 47 and f2fs 166 MB/s; then 16 and 11",
        )
        .judged(f2fs, "both, with B = 4K", &no_f2fs),
    ]
}

fn amplification(record: Option<Record<'_>>) -> Vec<Claim> {
    let kwa = |files, kib| greedy(record, files, kib)?.kwa();
    let near_one = kwa(1, USUAL.1).zip(kwa(10_000, USUAL.1)).map(|(one, many)| {
        (one <= 1.1 && many <= 1.1, format!("{one:.3} at F = 1, {many:.3} at 10,000"))
    });
    let cells = record.map_or(Vec::new(), |record| record.cells("matrix"));
    let worst = cells
        .into_iter()
        .filter_map(|(files, kib)| Some((kwa(files, kib)?, files, kib)))
        .max_by(|one, two| one.0.total_cmp(&two.0));
    let worst = worst.map(|(kwa, files, kib)| {
        (kwa <= 2.6 * 1.25, format!("at most {kwa:.2}, at F = {files}, B = {kib}K"))
    });
    let synced = record.and_then(|record| record.usual("fsync")?.kwa());
    let synced = synced.map(|kwa| ((4.5..=7.5).contains(&kwa), format!("{kwa:.2}")));
    let days = paper::ENDURANCE_TB * 1e12 / (100e6 * 86_400.0);
    let days_here = v(record, USUAL.0).zip(kwa(USUAL.0, USUAL.1)).map_or(String::new(), |found| {
        let days = paper::ENDURANCE_TB * 1e12 / (found.0 * 1e6 * found.1 * 86_400.0);
        format!(
            "; at the {:.1} MB/s and Kwa {:.2} of F = 100,000 here {days:.0} days",
            found.0, found.1
        )
    });
    vec![
        judged(
            Claim::new(
                "kwa-near-one",
                "section 4.4",
                "Kwa is near 1 while the cache suffices",
                "1.001 at F = 1, 1.04 at 10,000 (B = 4K)",
            ),
            near_one,
            "B = 4K: at most 1.1 at both",
        ),
        judged(
            Claim::new(
                "kwa-worst",
                "section 4.4",
                "without fsync Kwa is 2.6 in the worst case",
                "2.54 on the HDD, 2.6 on the SSD",
            ),
            worst,
            "no cell of the matrix has more than 2.6 and a quarter of it",
        ),
        judged(
            Claim::new(
                "kwa-fsync",
                "section 4.4, from its reference [8]",
                "with an fsync after each append Kwa is about 6 on ext4",
                format!("{:.1}", paper::FSYNC_KWA),
            ),
            synced,
            "4.5 to 7.5 at F = 100,000, B = 4K",
        ),
        judged(
            Claim::new(
                "lifetime",
                "section 4.3.1",
                "an SSD for 290 TB lasts 34 days at 100 MB/s",
                format!("{:.0} days", paper::LIFETIME_DAYS),
            ),
            Some((days.round() == paper::LIFETIME_DAYS, format!("{days:.1} days{days_here}"))),
            "arithmetic: 290 TB by 100 MB/s, to a day",
        ),
    ]
}

fn conclusion(record: Option<Record<'_>>) -> Vec<Claim> {
    let stores = |files| {
        let store = record?.greedy("store", files, USUAL.1)?.mb_per_s();
        Some((v(record, files)?, store))
    };
    let faster = stores(USUAL.0).map(|few| {
        let many = stores(1_000_000);
        let text = many.map_or(String::new(), |many| {
            format!("; files {:.2} and store {:.1} at 1,000,000", many.0, many.1)
        });
        let holds = few.1 > few.0 && many.is_none_or(|many| many.1 > many.0);
        (holds, format!("files {:.2} and store {:.1} MB/s at F = 100,000{text}", few.0, few.1))
    });
    let way = |group: &str, name: &str| {
        let reading: Reading = record?.reading(group)?;
        let way = reading.ways.iter().find(|way| way.name == name)?.clone();
        Some((reading, way))
    };
    let scanned = way("read-log", "log").zip(way("read-files", "files")).and_then(|(log, file)| {
        let (whole, part) = (median(&log.1.read_bytes)?, median(&file.1.read_bytes)?);
        let text = format!(
            "{:.1} MB of {:.1} read from the log, {:.2} MB from the file",
            whole / 1e6,
            log.0.bytes as f64 / 1e6,
            part / 1e6
        );
        Some((whole >= 0.9 * log.0.bytes as f64 && part <= 0.1 * whole, text))
    });
    let indexed = way("read-log", "log").zip(way("read-store", "store settled"));
    let indexed = indexed.and_then(|(log, store)| {
        let (log, store) = (median(&log.1.took_ns)? / 1e6, median(&store.1.took_ns)? / 1e6);
        let text = format!("{log:.0} ms from the log, {store:.0} ms from the store, settled");
        Some((store <= log / 2.0, text))
    });
    vec![
        judged(
            Claim::new(
                "one-file-reads-all",
                "section 2",
                "with F = 1 all must be read for one sensor, with F = S its file alone",
                "said, not measured",
            ),
            scanned,
            "from the log at least 90 % of all bytes are read, from the file at most a tenth of that",
        ),
        judged(
            Claim::new(
                "log-not-hashing",
                "section 5",
                "few logs write faster than hashing into files",
                "said of Akumuli, not measured",
            ),
            faster,
            "the store takes more MB/s than the files at F = 100,000, and at 1,000,000 if measured",
        ),
        judged(
            Claim::new(
                "index-for-reads",
                "section 5",
                "with an index made for sensor data one sensor is found in the log",
                "said of Akumuli, not measured",
            ),
            indexed,
            "one sensor's interval comes from the settled store in at most half the time of the log",
        ),
    ]
}
