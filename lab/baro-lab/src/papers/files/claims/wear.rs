//! What it says of SSDs, of write amplification, and in the end (sections 4.3 to 5).

use super::{NO_SSD, all_of, best_of, decided, greedy, judged, of_quotient};
use crate::papers::files::plan::USUAL;
use crate::papers::files::records::Record;
use crate::papers::files::tables::median;
use crate::papers::files::{Greedy, Reading, paper};
use baro_bench::experiment::Claim;
use baro_bench::experiment::judge::is_below;

pub(super) fn solid_state(record: Option<Record<'_>>) -> Vec<Claim> {
    let ends = record.and_then(|record| {
        let (best, one) = (best_of(record, 1_000_000)?, record.greedy("matrix", 1, USUAL.1)?);
        let text = format!("{:.0} % of F = 1", best.mb_per_s() / one.mb_per_s() * 100.0);
        Some((of_quotient(&best, &one, |part| part >= 0.1), text))
    });
    let both = |files| {
        let record = record?;
        let f2fs = record.greedy("f2fs", files, USUAL.1)?;
        Some((record.greedy("matrix", files, USUAL.1)?, f2fs))
    };
    let f2fs = both(USUAL.0).zip(both(1_000_000)).map(|(few, many)| {
        let text = format!(
            "ext4 {:.1} and f2fs {:.1} MB/s at F = 100,000; {:.1} and {:.1} at 1,000,000",
            few.0.mb_per_s(),
            few.1.mb_per_s(),
            many.0.mb_per_s(),
            many.1.mb_per_s()
        );
        let faster = |one: &Greedy, other: &Greedy| of_quotient(one, other, |part| part > 1.0);
        (all_of(&[faster(&few.1, &few.0), faster(&many.0, &many.1)]), text)
    });
    let no_f2fs = record
        .and_then(|record| record.missing("f2fs", USUAL.0, USUAL.1))
        .unwrap_or_else(|| NO_SSD.to_owned());
    vec![
        match ends {
            None if record.is_none() => ssd_claim().judged(None, "", NO_SSD),
            ends => decided(
                ssd_claim(),
                ends,
                "F = 1,000,000 with the best B has at least 10 % of F = 1",
            ),
        },
        match f2fs {
            None => f2fs_claim().judged(None, "", &no_f2fs),
            f2fs => decided(f2fs_claim(), f2fs, "both, with B = 4K"),
        },
    ]
}

fn ssd_claim() -> Claim {
    Claim::new(
        "ssd-no-collapse",
        "section 4.3, figure 7",
        "on an SSD the fall with F is no collapse",
        "20 % of the highest rate are left",
    )
}

fn f2fs_claim() -> Claim {
    Claim::new(
        "f2fs-or-ext4",
        "section 4.3, figures 7 and 8",
        "f2fs is faster at F = 100,000, ext4 at 1,000,000",
        "ext4 47 and f2fs 166 MB/s; then 16 and 11",
    )
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
    ]
}

pub(super) fn conclusion(record: Option<Record<'_>>) -> Vec<Claim> {
    let stores = |files| {
        let store = record?.greedy("store", files, USUAL.1)?;
        Some((record?.greedy("matrix", files, USUAL.1)?, store))
    };
    let faster = |(files, store): &(Greedy, Greedy)| of_quotient(store, files, |part| part > 1.0);
    let faster = stores(USUAL.0).map(|few| {
        let many = stores(1_000_000);
        let text = many.as_ref().map_or(String::new(), |(files, store)| {
            format!(
                "; files {:.2} and store {:.1} at 1,000,000",
                files.mb_per_s(),
                store.mb_per_s()
            )
        });
        let holds = match &many {
            Some(many) => all_of(&[faster(&few), faster(many)]),
            None => faster(&few),
        };
        let (files, store) = (few.0.mb_per_s(), few.1.mb_per_s());
        (holds, format!("files {files:.2} and store {store:.1} MB/s at F = 100,000{text}"))
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
        let (log, store) = (log.1.took_ns, store.1.took_ns);
        let text = format!(
            "{:.0} ms from the log, {:.0} ms from the store, settled",
            median(&log)? / 1e6,
            median(&store)? / 1e6
        );
        let half: Vec<f64> = log.iter().map(|ns| *ns as f64 / 2.0).collect();
        let store: Vec<f64> = store.iter().map(|ns| *ns as f64).collect();
        Some((is_below(&store, &half).ok(), text))
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
        decided(
            Claim::new(
                "log-not-hashing",
                "section 5",
                "few logs write faster than hashing into files",
                "said of Akumuli, not measured",
            ),
            faster,
            "the store takes more MB/s than the files at F = 100,000, and at 1,000,000 if measured",
        ),
        decided(
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
