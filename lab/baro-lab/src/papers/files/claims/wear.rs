//! What it says of SSDs, of write amplification, and in the end (sections 4.3 to 5).

use super::{NO_SSD, UNMEASURED, greedy, judged, v};
use crate::papers::files::plan::USUAL;
use crate::papers::files::records::Record;
use crate::papers::files::tables::{blocks, median};
use crate::papers::files::{Reading, paper};
use baro_bench::experiment::Claim;

pub(super) fn solid_state(record: Option<Record<'_>>) -> Vec<Claim> {
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

pub(super) fn amplification(record: Option<Record<'_>>) -> Vec<Claim> {
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

pub(super) fn conclusion(record: Option<Record<'_>>) -> Vec<Claim> {
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
