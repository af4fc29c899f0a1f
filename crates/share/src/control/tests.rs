//! Simulated disks that lose the ratio above some size of piece, in different ways.

use super::*;
use crate::observe::Bfq;
use crate::plan::PIECE_BYTES_MIN;

const PERIOD_NS: u64 = 500_000_000;

/// A disk that keeps weights while pieces are small enough.
struct Disk {
    bytes_per_s: f64,
    /// Pieces above this give a group more than its share.
    safe_bytes: f64,
}

struct Load {
    name: &'static str,
    weight: u16,
    wants_bytes_per_s: f64,
    block_bytes: f64,
}

impl Disk {
    /// What the groups get in a period: by weight, but that of large pieces counts for more, as one
    /// who takes all tags gets the half of the disk whatever its weight.
    fn period(
        &self,
        loads: &[Load],
        pieces: &BTreeMap<String, Pieces>,
        trimmed: &BTreeMap<String, Weight>,
    ) -> Period {
        let seconds = PERIOD_NS as f64 / 1e9;
        let mut left = self.bytes_per_s * seconds;
        let mut wanting: Vec<(usize, f64)> = Vec::new();
        let mut served = vec![0.0; loads.len()];
        for (index, load) in loads.iter().enumerate() {
            let piece = pieces.get(load.name).map_or(f64::INFINITY, |one| one.read_bytes as f64);
            let size = load.block_bytes.min(piece);
            let weight = trimmed.get(load.name).map_or(load.weight, |weight| weight.get());
            let weight = f64::from(weight);
            wanting.push((index, weight * (size / self.safe_bytes).max(1.0).powf(0.5)));
        }
        // Those that want less first; the rest is divided.
        for _ in 0..loads.len() {
            let sum: f64 = wanting.iter().map(|one| one.1).sum();
            let fits = wanting.iter().position(|(index, weight)| {
                loads[*index].wants_bytes_per_s * seconds <= left * weight / sum
            });
            let Some(at) = fits else { break };
            let (index, _) = wanting.remove(at);
            served[index] = loads[index].wants_bytes_per_s * seconds;
            left -= served[index];
        }
        let sum: f64 = wanting.iter().map(|one| one.1).sum();
        for (index, weight) in &wanting {
            served[*index] = left * weight / sum;
        }
        let groups = loads.iter().enumerate().map(|(index, load)| GroupPeriod {
            name: load.name.to_owned(),
            weight: Weight::new(load.weight).unwrap(),
            served: Served { read_bytes: served[index] as u64, written_bytes: 0 },
            backlogged: wanting.iter().any(|one| one.0 == index),
            uncut: false,
            trimmable: true,
        });
        let groups: Vec<_> = groups.collect();
        let read_bytes = groups.iter().map(|group| group.served.read_bytes).sum();
        let busy_ns = if wanting.is_empty() { PERIOD_NS / 4 } else { PERIOD_NS };
        Period {
            duration_ns: PERIOD_NS,
            work: Work { read_bytes, written_bytes: 0, busy_ns },
            groups,
        }
    }
}

fn queue() -> Queue {
    Queue {
        disk: "sim".into(),
        scheduler: "bfq".into(),
        requests: Some(256),
        request_bytes: Some(512 << 10),
        bfq: Some(Bfq { slice_idle_us: 8000, timeout_ms: 125, ..Bfq::default() }),
        ..Queue::default()
    }
}

fn load(name: &'static str, weight: u16, mb_per_s: f64, block_mib: f64) -> Load {
    let block_bytes = block_mib * 1_048_576.0;
    Load { name, weight, wants_bytes_per_s: mb_per_s * 1e6, block_bytes }
}

/// Runs `periods` and gives the ratio of the first two groups in the last of them.
fn run(
    control: &mut Control,
    disk: &Disk,
    loads: &[Load],
    periods: usize,
) -> (f64, BTreeMap<String, Pieces>) {
    let mut pieces = BTreeMap::new();
    let mut ratio = 0.0;
    for _ in 0..periods {
        ratio = step(control, disk, loads, &mut pieces);
    }
    (ratio, pieces)
}

/// One period: the ratio of the first two groups in it.
fn step(
    control: &mut Control,
    disk: &Disk,
    loads: &[Load],
    pieces: &mut BTreeMap<String, Pieces>,
) -> f64 {
    let period = disk.period(loads, pieces, control.trimmed());
    let bytes =
        |index: usize| period.groups.get(index).map_or(0.0, |one| one.served.read_bytes as f64);
    let ratio = bytes(0) / bytes(1);
    *pieces = control.step(&queue(), period);
    ratio
}

#[test]
fn any_disk_that_has_a_safe_size_is_brought_to_the_ratio() {
    for mb_per_s in [12.0, 60.0, 500.0, 3000.0] {
        for safe_mib in [0.5, 1.0, 2.0, 8.0, 1000.0] {
            let disk = Disk { bytes_per_s: mb_per_s * 1e6, safe_bytes: safe_mib * 1_048_576.0 };
            let loads = [load("a", 200, 1e9, 1.0), load("b", 100, 1e9, 100.0)];
            let mut control = Control::default();
            let (ratio, pieces) = run(&mut control, &disk, &loads, 240);
            assert!((1.9..2.1).contains(&ratio), "{mb_per_s} {safe_mib}: {ratio} {pieces:?}");
            // And it stays.
            let mut pieces = pieces;
            for _ in 0..200 {
                let ratio = step(&mut control, &disk, &loads, &mut pieces);
                assert!((1.9..2.1).contains(&ratio), "{mb_per_s} {safe_mib}: {ratio}");
            }
        }
    }
}

#[test]
fn pieces_of_the_plan_need_no_correction_and_are_none() {
    let disk = Disk { bytes_per_s: 120e6, safe_bytes: f64::INFINITY };
    let loads = [load("a", 200, 1e9, 100.0), load("b", 100, 1e9, 100.0)];
    let mut control = Control::default();
    let (_, pieces) = run(&mut control, &disk, &loads, 40);
    let largest = largest_pieces(&queue(), control.speed(), 1.0 / 3.0);
    assert_eq!(pieces["b"], largest);
    assert!(control.scales.is_empty());
}

#[test]
fn who_wants_less_than_its_share_makes_nobody_smaller() {
    // The lighter one gets more than its share since the heavier one leaves it: no error.
    let disk = Disk { bytes_per_s: 100e6, safe_bytes: 1e12 };
    let loads = [load("player", 200, 5.0, 1.0), load("b", 100, 1e9, 100.0)];
    let mut control = Control::default();
    run(&mut control, &disk, &loads, 60);
    assert!(control.scales.is_empty(), "{:?}", control.scales);
}

#[test]
fn pieces_grow_again_when_the_disk_has_become_better() {
    let loads = [load("a", 200, 1e9, 1.0), load("b", 100, 1e9, 100.0)];
    let mut control = Control::default();
    let bad = Disk { bytes_per_s: 100e6, safe_bytes: 1_048_576.0 };
    let (_, small) = run(&mut control, &bad, &loads, 100);
    let good = Disk { bytes_per_s: 100e6, safe_bytes: 1e12 };
    let (_, large) = run(&mut control, &good, &loads, 6000);
    assert!(large["b"].read_bytes > 2 * small["b"].read_bytes, "{small:?} {large:?}");
}

#[test]
fn a_change_of_load_begins_a_new_window() {
    let disk = Disk { bytes_per_s: 100e6, safe_bytes: 1e12 };
    let mut control = Control::default();
    run(&mut control, &disk, &[load("a", 200, 1e9, 1.0)], 3);
    // One alone is never judged, and the first period of two begins a window.
    run(&mut control, &disk, &[load("a", 200, 1e9, 1.0), load("b", 100, 1e9, 1.0)], 1);
    assert_eq!(control.window.len(), 1);
    assert!(control.scales.is_empty());
}

#[test]
fn any_figures_are_taken() {
    let mut control = Control::default();
    let served = Served { read_bytes: u64::MAX, written_bytes: u64::MAX };
    let group = |name: &str, backlogged| GroupPeriod {
        name: name.into(),
        weight: Weight::default(),
        served,
        backlogged,
        uncut: false,
        trimmable: true,
    };
    for duration_ns in [0, 1, u64::MAX / 4] {
        for busy_ns in [0, u64::MAX] {
            let work = Work { read_bytes: u64::MAX, written_bytes: 0, busy_ns };
            let groups = vec![group("a", true), group("b/c", true), group("b", false)];
            let pieces = control.step(&Queue::default(), Period { duration_ns, work, groups });
            assert!(pieces.values().all(|one| one.read_bytes >= PIECE_BYTES_MIN));
        }
    }
}

#[test]
fn where_smaller_pieces_do_not_help_they_are_given_up() {
    // A disk that gives both the half whatever is done.
    let mut control = Control::default();
    let group = |name: &str, weight| GroupPeriod {
        name: name.into(),
        weight: Weight::new(weight).unwrap(),
        served: Served { read_bytes: 30_000_000, written_bytes: 0 },
        backlogged: true,
        uncut: false,
        trimmable: true,
    };
    let mut smallest = u64::MAX;
    let mut sizes = Vec::new();
    for _ in 0..400 {
        let work = Work { read_bytes: 60_000_000, written_bytes: 0, busy_ns: PERIOD_NS };
        let groups = vec![group("a", 200), group("b", 100)];
        let pieces = control.step(&queue(), Period { duration_ns: PERIOD_NS, work, groups });
        smallest = smallest.min(pieces["b"].read_bytes);
        sizes.push(pieces["b"].read_bytes);
    }
    let largest = largest_pieces(&queue(), control.speed(), 1.0 / 3.0).read_bytes;
    let whole = sizes.iter().filter(|size| **size == largest).count();
    assert!(smallest < largest / 4, "it was tried");
    assert!(whole > 200, "{whole} of 400 periods with the plan's sizes");
}

#[test]
fn where_weights_make_it_good_pieces_stay() {
    // One has a tenth more than its weight gives it; then twice as much.
    let loads = [load("a", 200, 1e9, 1.0), load("b", 100, 1e9, 100.0)];
    let speed = Speed { read_bytes_per_s: Some(1e9), write_bytes_per_s: None };
    let plan = largest_pieces(&queue(), speed, 1.0 / 3.0).read_bytes as f64;
    for (safe_bytes, stays) in [(plan / 1.2, true), (plan / 4.0, false)] {
        let mut control = Control::default();
        let disk = Disk { bytes_per_s: 1e9, safe_bytes };
        let (ratio, _) = run(&mut control, &disk, &loads, 240);
        assert!((1.94..2.06).contains(&ratio), "{ratio}");
        assert_eq!(
            control.scales.is_empty(),
            stays,
            "{:?} {:?}",
            control.scales,
            control.trimmed()
        );
    }
}

#[test]
fn large_io_that_went_whole_is_no_reason_to_cut_finer() {
    let disk = Disk { bytes_per_s: 100e6, safe_bytes: 1_048_576.0 };
    let loads = [load("a", 200, 1e9, 1.0), load("b", 100, 1e9, 100.0)];
    let mut control = Control::default();
    let pieces = BTreeMap::new();
    for _ in 0..100 {
        let mut period = disk.period(&loads, &pieces, control.trimmed());
        period.groups[1].uncut = true;
        control.step(&queue(), period);
    }
    assert!(control.scales.is_empty());
}

#[test]
fn while_a_disk_is_at_a_large_io_nobody_is_judged() {
    // What went whole was counted at once; then nothing comes of its group for 10 s.
    let mut control = Control::default();
    let group = |name: &str, weight, bytes: u64, uncut| GroupPeriod {
        name: name.into(),
        weight: Weight::new(weight).unwrap(),
        served: Served { read_bytes: 0, written_bytes: bytes },
        backlogged: true,
        uncut,
        trimmable: true,
    };
    for period in 0..30 {
        let first = period == 0;
        let groups = vec![
            group("a", 200, 20_000_000, false),
            group("b", 100, if first { 100_000_000 } else { 0 }, first),
        ];
        let work = Work { read_bytes: 0, written_bytes: 30_000_000, busy_ns: PERIOD_NS };
        control.step(&queue(), Period { duration_ns: PERIOD_NS, work, groups });
        assert!(control.scales.is_empty(), "period {period}");
    }
}

#[test]
fn a_whole_io_that_is_taken_slowly_is_one() {
    // A processor that is too busy takes a second for it, and does not always see its program wait.
    let mut control = Control::default();
    for at in 0..60 {
        let group = |name: &str, weight, bytes: u64, uncut, backlogged| GroupPeriod {
            name: name.into(),
            weight: Weight::new(weight).unwrap(),
            served: Served { read_bytes: bytes, written_bytes: 0 },
            backlogged,
            uncut,
            trimmable: true,
        };
        let bytes = if at < 3 { 33_000_000 } else { 0 };
        let b = group("b", 100, bytes, at == 0, at % 7 != 0);
        let groups = vec![group("a", 200, 1_500_000, false, true), b];
        let work = Work { read_bytes: 3_000_000, written_bytes: 0, busy_ns: PERIOD_NS };
        control.step(&queue(), Period { duration_ns: PERIOD_NS, work, groups });
        assert!(control.scales.is_empty() && control.trimmed().is_empty(), "period {at}");
    }
}

/// A disk of 60 MB/s with pieces of some 14 MB: "a" runs, "b" begins with large I/O that goes whole, is
/// counted as `taken` says, MB in each period, and is done at 10 MB in each; from then on "b" has a tenth
/// too much. Returns in which period weights were trimmed first, and in which that began.
fn after_a_whole_io(taken: &[u64]) -> (Option<usize>, usize) {
    const MB: u64 = 1_000_000;
    let group = |name: &str, weight, megabytes, uncut| GroupPeriod {
        name: name.into(),
        weight: Weight::new(weight).unwrap(),
        served: Served { read_bytes: 0, written_bytes: megabytes * MB },
        backlogged: true,
        uncut,
        trimmable: true,
    };
    let mut control = Control::default();
    let mut step = |groups| {
        let work = Work { read_bytes: 0, written_bytes: 30 * MB, busy_ns: PERIOD_NS };
        control.step(&queue(), Period { duration_ns: PERIOD_NS, work, groups });
        !control.trimmed().is_empty()
    };
    for _ in 0..8 {
        step(vec![group("a", 200, 30, false)]);
    }
    let done = taken.iter().sum::<u64>() as usize / 10;
    let trimmed = (0..40).find(|&at| {
        let under_way = taken.get(at).copied().unwrap_or(0);
        let (a, b) = if at < done { (20, under_way) } else { (19, 11) };
        step(vec![group("a", 200, a, false), group("b", 100, b, at == 0)])
    });
    (trimmed, done)
}

#[test]
fn shares_are_judged_again_as_soon_as_a_whole_io_is_done() {
    // At once, a moment after it was told, in two parts, with a pause between, as tags become free.
    for taken in [&[100][..], &[0, 100], &[50, 50], &[33, 0, 67], &[10; 10], &[200]] {
        let (trimmed, done) = after_a_whole_io(taken);
        let trimmed = trimmed.unwrap_or_else(|| panic!("{taken:?}: never"));
        assert!((done..done + 8).contains(&trimmed), "{taken:?}: {trimmed}, done in {done}");
    }
}

#[test]
fn what_a_disk_can_is_neither_its_burst_nor_a_pause() {
    const MB: u64 = 1_000_000;
    let mut control = Control::default();
    let mut after = |bytes_per_s: &[u64]| {
        for bytes in bytes_per_s.iter().map(|bytes_per_s| bytes_per_s / 2) {
            let work = Work { read_bytes: 0, written_bytes: bytes, busy_ns: PERIOD_NS };
            let groups = Vec::new();
            control.step(&queue(), Period { duration_ns: PERIOD_NS, work, groups });
        }
        control.best_speed().write_bytes_per_s
    };
    assert_eq!(after(&[150 * MB, 60 * MB, 12 * MB, 12 * MB, 2 * MB]), None, "too few");
    assert_eq!(after(&[12 * MB]), Some(12e6));
    // Small I/O later makes it no slower; a better time makes it faster.
    assert_eq!(after(&[MB; 20]), Some(12e6));
    assert_eq!(after(&[30 * MB; 4]), Some(30e6));
}

#[test]
fn a_disk_that_completes_in_jumps_is_not_taken_for_a_faster_one() {
    let mut control = Control::default();
    // 24 MB/s, as a large I/O is told of by a disk that takes all of it at once.
    for megabytes in [0, 0, 36, 0, 0, 36, 12, 12, 0, 24, 12, 12, 0, 0, 36] {
        let work = Work { read_bytes: megabytes * 1_000_000, written_bytes: 0, busy_ns: PERIOD_NS };
        let groups = Vec::new();
        control.step(&queue(), Period { duration_ns: PERIOD_NS, work, groups });
    }
    assert_eq!(control.best_speed().read_bytes_per_s, Some(24e6));
}

#[test]
fn a_card_is_given_one_request_at_a_time_before_pieces_become_smaller() {
    let group = |name: &str, weight, served| GroupPeriod {
        name: name.into(),
        weight: Weight::new(weight).unwrap(),
        served: Served { read_bytes: served, written_bytes: 0 },
        backlogged: true,
        uncut: false,
        trimmable: true,
    };
    // Piece by piece in turn, whatever the weights.
    let period = || Period {
        duration_ns: PERIOD_NS,
        work: Work { read_bytes: 3 << 20, written_bytes: 0, busy_ns: PERIOD_NS },
        groups: vec![group("a", 200, 3 << 19), group("b", 100, 3 << 19)],
    };
    let mut disk = queue();
    for (one_at_a_time, strict_helps) in [(true, true), (true, false), (false, false)] {
        disk.one_at_a_time = one_at_a_time;
        let mut control = Control::default();
        let mut smaller = false;
        for _ in 0..60 {
            let pieces = control.step(&disk, period());
            let size = |name| pieces.get(name).map_or(0, |one: &Pieces| one.read_bytes);
            smaller = size("b") < size("a");
            if smaller || (strict_helps && control.wants_one_by_one()) {
                break;
            }
        }
        assert_eq!(control.wants_one_by_one(), one_at_a_time);
        assert_eq!(smaller, !strict_helps);
    }
}
