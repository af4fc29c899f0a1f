//! What it says of directories, writers and memory (sections 4.2.1, 4.2.2).

use super::{compared, decided};
use crate::papers::files::Greedy;
use crate::papers::files::plan::USUAL;
use crate::papers::files::records::Record;
use crate::papers::files::tables::layer_share;
use baro_bench::experiment::Claim;

pub(super) fn variations(record: Option<Record<'_>>) -> Vec<Claim> {
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

pub(super) fn layers(record: Option<Record<'_>>) -> Vec<Claim> {
    let all: Vec<(u64, Greedy)> = record.map_or(Vec::new(), |record| {
        let cells = record.cells("layer").into_iter();
        cells.filter_map(|(files, kib)| Some((kib, record.greedy("layer", files, kib)?))).collect()
    });
    let best = all.iter().max_by(|one, two| one.1.mb_per_s().total_cmp(&two.1.mb_per_s()));
    // Sampled at a few B only, it lies between the neighbours of the fastest. All that may be the
    // fastest must be on one side.
    let split = best.zip(record).filter(|_| all.len() >= 4).map(|((kib, cell), record)| {
        let (rate, share) = (cell.mb_per_s(), layer_share(record, *kib));
        let text = format!("{rate:.1} MB/s at B = {kib}K, {:.0} % of the memory", share * 100.0);
        let may_be = all.iter().filter(|(_, other)| other.range().1 >= cell.range().0);
        let halves = |kib: u64| (0.3..=0.7).contains(&layer_share(record, kib));
        let same = may_be.map(|(kib, _)| halves(*kib)).all(|one| one == halves(*kib));
        (same.then(|| halves(*kib)), text)
    });
    let of = |kib: u64| record?.greedy("layer", USUAL.0, kib);
    vec![
        decided(
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
