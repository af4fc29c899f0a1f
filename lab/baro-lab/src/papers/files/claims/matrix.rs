//! What the paper says of the rate by F and B (sections 4.1, 4.2).

use super::{best_of, compared, decided, greedy, judged, of_quotient};
use crate::papers::files::Greedy;
use crate::papers::files::plan::USUAL;
use crate::papers::files::records::Record;
use crate::papers::files::tables::{blocks, files};
use baro_bench::experiment::Claim;

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

pub(super) fn one_file(record: Option<Record<'_>>) -> Vec<Claim> {
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

/// Whether the rate falls with F: no step goes up by more than rates vary, and the last is half of the
/// first.
fn falling(record: Option<Record<'_>>) -> Option<(Option<bool>, String)> {
    let cell = |files| Some((files, record?.greedy("matrix", files, USUAL.1)?));
    let all: Vec<(u64, Greedy)> = files(record?).into_iter().filter_map(cell).collect();
    let (first, last) = all.first().zip(all.last()).filter(|_| all.len() > 2)?;
    let list: Vec<String> =
        all.iter().map(|(f, cell)| format!("{f}: {:.2}", cell.mb_per_s())).collect();
    let rises =
        |(one, two): (&(u64, Greedy), &(u64, Greedy))| two.1.range().0 > one.1.range().1 * 1.1;
    let risen = all.iter().zip(all.iter().skip(1)).any(rises);
    let halved = of_quotient(&last.1, &first.1, |part| part <= 0.5);
    let holds = if risen { Some(false) } else { halved };
    Some((holds, format!("MB/s at F = {}", list.join(", "))))
}

pub(super) fn many_files(record: Option<Record<'_>>) -> Vec<Claim> {
    let best = record.and_then(|record| {
        let best = best_of(record, 1_000_000)?;
        let one = record.greedy("matrix", 1, USUAL.1)?;
        let text =
            format!("{:.1} % of F = 1 with the best B", best.mb_per_s() / one.mb_per_s() * 100.0);
        Some((of_quotient(&best, &one, |part| part <= 0.08), text))
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
        decided(
            Claim::new(
                "falls-with-files",
                "section 4.2, figure 4",
                "the more files, the lower the rate",
                "124 MB/s at F = 1, 96 at 10,000, 3.5 at 100,000, 0.57 at 1,000,000 (B = 4K)",
            ),
            falling(record),
            "B = 4K: no F is faster than the one before by over 10 %, and the last has at most half of \
             the first's rate",
        ),
        decided(
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

pub(super) fn small_blocks(record: Option<Record<'_>>) -> Vec<Claim> {
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
