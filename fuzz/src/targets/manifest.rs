//! The manifest of runs.

use crate::Target;
use baro_ondisk::{Deletion, LogPlace, Manifest, RunEntry, Settled, StoreId, crc32c};

pub(crate) const MANIFEST: Target = Target {
    name: "manifest",
    fuzz_one: |bytes| {
        let Ok(manifest) = Manifest::decode(bytes) else { return };
        assert_eq!(Manifest::decode(&manifest.encode()), Ok(manifest.clone()));
        // What readers do with it without a further check.
        let _ = manifest.runs.iter().map(|run| run.bytes).sum::<u64>();
        let _ = manifest.runs.iter().map(|run| run.samples).sum::<u64>();
        let mut ids: Vec<u64> = manifest.runs.iter().map(|run| run.id).collect();
        ids.sort_unstable();
        assert!(ids.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(ids.last().is_none_or(|last| *last < manifest.next_run));
        assert!(manifest.runs.iter().all(|run| run.time_min_ns <= run.time_max_ns));
        let orders =
            |a: &Deletion, b: &Deletion| a.before <= b.before && a.runs_below <= b.runs_below;
        assert!(manifest.deletions.is_sorted_by(orders));
        for one in &manifest.deletions {
            assert!(one.ids.iter().all(|range| range.first <= range.last));
            assert!(one.ids.is_sorted_by(|a, b| a.last < b.first));
            let _ = one.covers(7, 7);
        }
    },
    seeds: || vec![Manifest::default().encode(), seed().encode(), deleted().encode()],
    fix_up: |bytes| {
        if let Some(place) = bytes.get_mut(12..16) {
            place.fill(0);
        }
        let crc = crc32c(0, bytes);
        if let Some(place) = bytes.get_mut(12..16) {
            place.copy_from_slice(&crc.to_le_bytes());
        }
    },
};

fn seed() -> Manifest {
    let run = |id: u64| RunEntry {
        id,
        level: (3 - id % 3) as u8,
        bytes: 4096 * (id + 2),
        samples: 100 * id,
        time_min_ns: -(id as i64),
        time_max_ns: id as i64 * 1000,
        footer_crc: (id % 2 == 1).then_some(id as u32),
    };
    let settled = Settled { epoch: 9, end: 77 };
    let runs = (0..90).map(run).collect();
    Manifest {
        store: StoreId([7; 16]),
        generation: 3,
        settled,
        lost_blocks: 0,
        settled_crc: 0,
        next_run: 200,
        runs,
        deletions: Vec::new(),
    }
}

fn deleted() -> Manifest {
    let deletion = |at: u64| Deletion {
        before: LogPlace { session: at / 2, sequence: 10 * at },
        runs_below: 150 + at,
        from_ns: -1000,
        to_ns: i64::MAX - at as i64,
        whole: at.is_multiple_of(2),
        ids: Deletion::ranges([1, 2, 5, 9, 10].into_iter().skip(at as usize % 4)),
    };
    Manifest { deletions: (0..7).map(deletion).collect(), ..seed() }
}
