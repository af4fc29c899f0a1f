//! What is set on a disk, in order of price, and how large a piece may be.
//!
//! Pure. Remedies that cost nothing come first: BFQ itself, no weight raising, waiting for the next
//! request, turns of one request (longer ones may be charged by time instead of bytes, which is what
//! breaks the ratio), enough scheduler tags. Then pieces; only for programs that nothing can cut,
//! `strict_guarantees`, which costs throughput, and where a driver takes requests ahead and weights
//! cannot make good what that does to shares. No bandwidth is ever capped.
//!
//! **The largest safe piece** is the smaller of two: what the disk moves in twice `timeout_sync` (writes:
//! in 80 ms), so that nobody waits longer for another's, and what the group's share of the scheduler's
//! tags holds (others wait for tags that one large I/O has taken, outside of BFQ's sight). Measurements:
//! docs/share-cause.md.

use crate::observe::Queue;
use crate::pieces::Pieces;
use baro_tune::Setting;

/// Sectors of 512 bytes.
const SECTOR_BYTES: u64 = 512;
/// Requests that the scheduler should have to choose from.
pub const REQUESTS_WANTED: u64 = 1024;
/// BFQ's own time to wait for the next request, us.
const SLICE_IDLE_US: u64 = 8_000;
/// A piece may take so many times `timeout_sync`. Longer ones keep other groups waiting once the disk has
/// taken them; shorter ones lose more time in the gaps between pieces. Reads were measured with 2.
const TURNS: f64 = 2.0;
/// A piece of a write may take this many ms at most. Writers wait for the journal, and the journal waits for
/// the pieces of all groups that the disk has taken. A group that waits for the journal misses its BFQ turn
/// and loses one piece of bandwidth. Readers do not wait so (docs/share-cause.md). Measured with 80, 125
/// and 250.
const WRITE_MS: f64 = 80.0;
/// Reads from a slow disk never become shorter than this many ms...
const SLOW_READ_MS: f64 = 80.0;
/// ...slow being one that moves less in a second.
const SLOW_BYTES_PER_S: f64 = 40e6;
/// A piece may take this part of the group's share of the tags.
const TAGS: f64 = 0.75;
/// The part of the tags that sync writes may take (`bfq_limit_depth`).
const WRITE_TAGS: f64 = 0.75;
/// Smaller pieces cost more in gaps between them than they gain.
pub const PIECE_BYTES_MIN: u64 = 256 << 10;
/// Until the disk's speed is known.
pub const PIECE_BYTES_UNKNOWN: u64 = 1 << 20;
/// No disk needs more.
const PIECE_BYTES_MAX: u64 = 1 << 30;
/// No request should take the disk longer: a writer that waits for the file system's journal also waits for
/// the requests of others that the disk has taken, and loses its turn meanwhile.
const REQUEST_MS: f64 = 25.0;
/// Shorter ones were not measured.
const REQUEST_BYTES_MIN: u64 = 128 << 10;
/// What the kernel sends at most in a request where it does not say.
const REQUEST_BYTES: u64 = 512 << 10;

/// Reads that take longer hold back the write-back of buffered writes, us. Neither is a kernel's own
/// value (2,000 and 75,000): to write that which is there already does not turn it on again
/// (`queue_wb_lat_store`).
const WRITE_BACK_US: u64 = 10_000;
const WRITE_BACK_SEEKS_US: u64 = 80_000;

/// One change of a disk's queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remedy {
    /// Its name on the command line: `scheduler`, `low-latency`.
    pub key: &'static str,
    /// What is set.
    pub setting: Setting,
    /// What it is for.
    pub why: &'static str,
    /// What it costs.
    pub price: &'static str,
}

/// What is to be changed now on this queue, cheapest first. Parameters of BFQ come once it is the
/// scheduler: plan again then.
#[must_use]
pub fn plan(queue: &Queue) -> Vec<Remedy> {
    let file = |name: &str| format!("/sys/block/{}/queue/{name}", queue.disk);
    let Some(bfq) = queue.bfq else {
        return vec![Remedy {
            key: "scheduler",
            setting: Setting::new(file("scheduler"), "bfq"),
            why: "only BFQ shares by weight",
            price: "a few us of processor time for each request",
        }];
    };
    let mut remedies = Vec::new();
    if bfq.low_latency != 0 {
        remedies.push(Remedy {
            key: "low-latency",
            setting: Setting::new(file("iosched/low_latency"), "0"),
            why: "it raises weights of what seems interactive, whatever was asked",
            price: "programs that start do not go first",
        });
    }
    if bfq.slice_idle_us == 0 {
        remedies.push(Remedy {
            key: "slice-idle",
            setting: Setting::new(file("iosched/slice_idle_us"), SLICE_IDLE_US.to_string()),
            why: "without waiting for its next request a group loses its turn after each",
            price: "the disk may idle for up to 8 ms when a group pauses",
        });
    }
    let request_bytes = queue.request_bytes.unwrap_or(REQUEST_BYTES);
    if bfq.max_budget == 0 || bfq.max_budget > 2 * request_bytes / SECTOR_BYTES {
        remedies.push(short_turns(&queue.disk, request_bytes));
    }
    if queue.requests.is_some_and(|requests| requests < REQUESTS_WANTED) {
        remedies.push(Remedy {
            key: "nr-requests",
            setting: Setting::new(file("nr_requests"), REQUESTS_WANTED.to_string()),
            why: "one large I/O takes all scheduler tags, and others wait where BFQ does not see them",
            price: "under 1 KB of memory each",
        });
    }
    remedies
}

/// Turns of one request and a half, so that none is charged by time. Not one exactly: a turn that is
/// used up with a group's last request ends without waiting for its next one.
fn short_turns(disk: &str, request_bytes: u64) -> Remedy {
    let sectors = request_bytes / SECTOR_BYTES * 3 / 2;
    Remedy {
        key: "max-budget",
        setting: Setting::new(
            format!("/sys/block/{disk}/queue/iosched/max_budget"),
            sectors.to_string(),
        ),
        why: "a turn that is slow is charged by time instead of bytes; one of one request never is",
        price: "turns are shorter: more of them",
    }
}

/// Write-back held back where reads wait for it, which BFQ turns off: the disk may have taken half a
/// second's worth of buffered writes before a small read. For kernels that count buffered writes for no group;
/// where they do, it would hold all groups back alike. Direct I/O is not concerned.
#[must_use]
pub fn write_back(queue: &Queue) -> Option<Remedy> {
    let us = if queue.rotational { WRITE_BACK_SEEKS_US } else { WRITE_BACK_US };
    (queue.bfq.is_some() && queue.write_back_us == Some(0)).then(|| Remedy {
        key: "write-back",
        setting: Setting::new(
            format!("/sys/block/{}/queue/wbt_lat_usec", queue.disk),
            us.to_string(),
        ),
        why: "buffered writes are in no group, and fill the disk before a small read",
        price: "buffered writes wait while reads are slow",
    })
}

/// Shorter requests for a slow disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shorter {
    /// The longest one.
    pub bytes: u64,
    /// What is to be set for it.
    pub remedies: [Remedy; 2],
}

/// Once a disk's speed is known: requests of which none takes it longer than 25 ms but `most_bytes`, as
/// they were found, at the most; and turns to go with them. None if they are so already, and for disks
/// that turn, where each would cost a seek.
#[must_use]
pub fn shorter_requests(queue: &Queue, speed: Speed, most_bytes: u64) -> Option<Shorter> {
    let known = [speed.read_bytes_per_s, speed.write_bytes_per_s].into_iter().flatten();
    let slowest = known.fold(f64::INFINITY, f64::min);
    if queue.rotational || queue.bfq.is_none() || !slowest.is_finite() {
        return None;
    }
    let bytes = 1_u64 << whole(slowest * REQUEST_MS / 1e3).max(REQUEST_BYTES_MIN).ilog2();
    let bytes = bytes.min(most_bytes);
    if queue.request_bytes.is_none_or(|now| now == bytes) {
        return None;
    }
    let shorter = Remedy {
        key: "max-sectors",
        setting: Setting::new(
            format!("/sys/block/{}/queue/max_sectors_kb", queue.disk),
            (bytes >> 10).to_string(),
        ),
        why: "on this slow disk the journal, and who waits for it, waits long for one request",
        price: "more requests for the same bytes",
    };
    Some(Shorter { bytes, remedies: [shorter, short_turns(&queue.disk, bytes)] })
}

/// The last remedy: one request at a time. For groups with programs that nothing can cut.
#[must_use]
pub fn strict(queue: &Queue) -> Option<Remedy> {
    (queue.bfq?.strict_guarantees == 0).then(|| Remedy {
        key: "strict-guarantees",
        setting: Setting::new(
            format!("/sys/block/{}/queue/iosched/strict_guarantees", queue.disk),
            "1",
        ),
        why: "programs that cannot be cut break the ratio",
        price: "7 to 30 % of the throughput: one request at a time",
    })
}

/// The same for a card, once shares are off for longer than weights make good: its driver takes all that
/// BFQ has when it asks, and hands it over in that order (docs/share-cause.md).
#[must_use]
pub fn one_by_one(queue: &Queue) -> Option<Remedy> {
    let remedy = strict(queue).filter(|_| queue.one_at_a_time)?;
    Some(Remedy {
        why: "the card's driver takes requests ahead, which breaks the ratio",
        price: "the gap between two requests: little where one takes the card 20 ms, up to a third on fast ones",
        ..remedy
    })
}

/// How fast a disk is, bytes a second; None before it was seen busy.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Speed {
    /// Reading.
    pub read_bytes_per_s: Option<f64>,
    /// Writing.
    pub write_bytes_per_s: Option<f64>,
}

/// The largest pieces with which a group that was asked `share` (of 1) of the disk keeps it.
#[must_use]
pub fn largest_pieces(queue: &Queue, speed: Speed, share: f64) -> Pieces {
    Pieces {
        read_bytes: piece_bytes(queue, speed.read_bytes_per_s, share, f64::INFINITY),
        write_bytes: piece_bytes(queue, speed.write_bytes_per_s, share * WRITE_TAGS, WRITE_MS),
    }
}

/// Smaller pieces than these do not help, whatever the ratio: on a slow disk 80 ms of it, as of shorter
/// ones a program asks too late for the next, which costs its turn.
#[must_use]
pub fn least_pieces(queue: &Queue, speed: Speed, share: f64) -> Pieces {
    let least = |bytes_per_s: Option<f64>, share: f64, ms: f64| match bytes_per_s {
        Some(speed) if speed < SLOW_BYTES_PER_S => piece_bytes(queue, bytes_per_s, share, ms),
        _ => PIECE_BYTES_MIN,
    };
    Pieces {
        read_bytes: least(speed.read_bytes_per_s, share, SLOW_READ_MS),
        write_bytes: least(speed.write_bytes_per_s, share * WRITE_TAGS, WRITE_MS),
    }
}

/// What the disk moves in a turn or in `most_ms`, and no more than three quarters of this `part` of the
/// scheduler's tags.
fn piece_bytes(queue: &Queue, bytes_per_s: Option<f64>, part: f64, most_ms: f64) -> u64 {
    let turn = bytes_per_s.map_or(PIECE_BYTES_UNKNOWN, |speed| {
        let timeout_ms = queue.bfq.map_or(125, |bfq| bfq.timeout_ms).clamp(1, 10_000);
        whole(speed * most_ms.min(timeout_ms as f64 * TURNS) / 1e3)
    });
    let each = queue.request_bytes.unwrap_or(REQUEST_BYTES).max(4096);
    let tags = queue.requests.unwrap_or(REQUESTS_WANTED).saturating_mul(each);
    let bytes = turn.min(whole(tags as f64 * part * TAGS));
    let bytes = bytes.clamp(PIECE_BYTES_MIN, PIECE_BYTES_MAX);
    // Whole requests, so that none is a remainder.
    if bytes > each { bytes / each * each } else { bytes >> 12 << 12 }
}

/// Bytes of a figure that is none too large, negative or not a number.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates as wanted")]
fn whole(bytes: f64) -> u64 {
    (bytes + 0.5) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observe::Bfq;

    fn queue(requests: u64, request_kib: u64) -> Queue {
        Queue {
            disk: "sda".into(),
            scheduler: "bfq".into(),
            requests: Some(requests),
            request_bytes: Some(request_kib << 10),
            bfq: Some(Bfq {
                low_latency: 1,
                slice_idle_us: 8000,
                timeout_ms: 125,
                ..Bfq::default()
            }),
            ..Queue::default()
        }
    }

    #[test]
    fn what_is_right_already_is_not_planned() {
        let keys = |queue: &Queue| plan(queue).iter().map(|one| one.key).collect::<Vec<_>>();
        assert_eq!(keys(&queue(64, 512)), ["low-latency", "max-budget", "nr-requests"]);
        let mut good = queue(1024, 512);
        good.bfq = Some(Bfq { slice_idle_us: 8000, max_budget: 2048, ..Bfq::default() });
        assert!(keys(&good).is_empty());
        good.bfq = Some(Bfq { max_budget: 1024, ..Bfq::default() });
        assert_eq!(keys(&good), ["slice-idle"]);
        good.bfq = None;
        assert_eq!(keys(&good), ["scheduler"]);
        assert!(strict(&good).is_none() && strict(&queue(64, 512)).is_some());
        assert!(one_by_one(&queue(64, 512)).is_none());
        let mut card = Queue { one_at_a_time: true, ..queue(64, 512) };
        assert_eq!(one_by_one(&card).unwrap().setting, strict(&card).unwrap().setting);
        card.bfq = Some(Bfq { strict_guarantees: 1, ..Bfq::default() });
        assert!(one_by_one(&card).is_none());
    }

    #[test]
    fn write_back_is_held_back_where_bfq_has_turned_that_off() {
        let found = |us, rotational| Queue { write_back_us: us, rotational, ..queue(64, 512) };
        let value = |queue| write_back(&queue).map(|one| one.setting.value().to_owned());
        assert_eq!(value(found(Some(0), false)).as_deref(), Some("10000"));
        assert_eq!(value(found(Some(0), true)).as_deref(), Some("80000"));
        assert_eq!(value(found(Some(2000), false)), None, "it is on");
        assert_eq!(value(found(None, false)), None, "a kernel without it");
        assert_eq!(value(Queue { bfq: None, ..found(Some(0), false) }), None);
    }

    #[test]
    fn a_slow_disk_gets_short_pieces_that_become_no_shorter() {
        let speed = Speed { read_bytes_per_s: Some(100e6), write_bytes_per_s: Some(12e6) };
        let pieces = largest_pieces(&queue(1024, 256), speed, 0.5);
        assert_eq!(pieces.write_bytes, 768 << 10);
        assert!(pieces.read_bytes > 20 << 20);
        let reads = Speed { read_bytes_per_s: Some(24e6), ..Speed::default() };
        let reads = largest_pieces(&queue(1024, 256), reads, 0.5).read_bytes;
        assert_eq!(
            reads,
            22 * (256 << 10),
            "nobody waits for a journal: 250 ms, in whole requests"
        );
        let least = least_pieces(&queue(1024, 256), speed, 0.5);
        assert_eq!((least.read_bytes, least.write_bytes), (PIECE_BYTES_MIN, pieces.write_bytes));
    }

    #[test]
    fn requests_of_a_slow_disk_become_shorter_and_never_longer_than_found() {
        let speed = |read: f64, write: Option<f64>| Speed {
            read_bytes_per_s: Some(read),
            write_bytes_per_s: write,
        };
        let found = 1280 << 10;
        let bytes =
            |queue: &Queue, speed| shorter_requests(queue, speed, found).map(|one| one.bytes);
        let slow = queue(64, 1280);
        assert_eq!(bytes(&slow, speed(24e6, None)), Some(512 << 10));
        let both = shorter_requests(&slow, speed(24e6, Some(12e6)), found).unwrap();
        assert_eq!(both.bytes, 256 << 10);
        assert_eq!(
            both.remedies.map(|one| (one.key, one.setting.value().to_owned())),
            [("max-sectors", "256".to_owned()), ("max-budget", "768".to_owned())]
        );
        assert_eq!(bytes(&slow, speed(1e3, None)), Some(REQUEST_BYTES_MIN));
        for odd in [0.0, f64::NAN, -1.0, f64::INFINITY] {
            assert!(bytes(&slow, speed(odd, None)).is_none_or(|bytes| bytes <= 1280 << 10));
        }
        // Short enough; not known; a seek each.
        assert_eq!(bytes(&slow, speed(120e6, Some(60e6))), Some(1024 << 10));
        assert_eq!(bytes(&slow, speed(120e6, Some(120e6))), None);
        assert_eq!(shorter_requests(&queue(64, 512), speed(120e6, Some(60e6)), 512 << 10), None);
        // The disk was only slow for a while: as they were found, and no longer.
        assert_eq!(bytes(&queue(64, 128), speed(500e6, None)), Some(found));
        assert_eq!(bytes(&slow, Speed::default()), None);
        assert_eq!(bytes(&Queue { rotational: true, ..slow }, speed(12e6, None)), None);
    }

    #[test]
    fn a_piece_is_bounded_by_the_turn_and_by_the_tags() {
        let fast = Speed { read_bytes_per_s: Some(120e6), write_bytes_per_s: Some(60e6) };
        let pieces = largest_pieces(&queue(1024, 512), fast, 0.5);
        assert_eq!((pieces.read_bytes >> 19, pieces.write_bytes >> 19), (57, 9));
        // 64 tags of 512 KiB, a third of them, three quarters of that.
        let pieces = largest_pieces(
            &queue(64, 512),
            Speed { read_bytes_per_s: Some(1e9), ..fast },
            1.0 / 3.0,
        );
        assert_eq!(pieces.read_bytes, 8 << 20);
        let slow = Speed { read_bytes_per_s: Some(1.0), write_bytes_per_s: Some(f64::NAN) };
        let pieces = largest_pieces(&queue(2, 4), slow, f64::INFINITY);
        assert_eq!(pieces, Pieces { read_bytes: PIECE_BYTES_MIN, write_bytes: PIECE_BYTES_MIN });
        let unknown = largest_pieces(&queue(256, 512), Speed::default(), 0.5);
        assert_eq!(unknown.read_bytes, PIECE_BYTES_UNKNOWN);
    }
}
