//! By which clock runs are too old. Sources stamp with the clock of the machine: when that jumps ahead,
//! clock and samples both say so, and everything would be too old at once.
//!
//! So a time counts as far as the boottime accounts for it since the last one that counted, and an eighth of
//! what is kept beyond. One that is further ahead counts once the clock has stayed there for a day of running;
//! until then the one that counted goes on with the boottime. A clock that is behind, as that of a board that
//! boots in 1970, drops nothing young and tells nothing. The file `runs/clock` has the last time that counted,
//! since jumps outlast processes. It is a help alone: without it the time of now counts, as in a copy.
//!
//! Invariant: no time counts that is further ahead than boottime and slack account for, before a day of running.
//! Held by the tests below and `a_clock_that_jumps_ahead_drops_nothing_until_it_has_stayed_there`.

use crate::{Result, Store};
use baro_log::remove_if_there;
use baro_ondisk::{StoreId, crc32c};
use baro_sys::storage::{Access, AnyStorage, Storage, StorageFile};
use baro_sys::{clock, identity};

const CLOCK: &str = "runs/clock";
const CLOCK_NEW: &str = "runs/clock.new";
const MAGIC: &[u8; 8] = b"BAROCLK1";
const BYTES: usize = 72;
const CRC_AT: usize = 8;
/// Behind the CRC.
const CHECKED_AT: usize = 12;
/// How long a clock has to stay where nothing accounts for it.
const STAYS_NS: i64 = 86_400_000_000_000;
/// Between two writings of what can be told from the file that is there.
const WRITTEN_EVERY_NS: i64 = 60_000_000_000;

/// A moment of this machine's running.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Moment {
    boot_id: [u8; 16],
    boottime_ns: i64,
}

/// The last time that counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Trusted {
    time_ns: i64,
    /// When it did.
    at: Moment,
    /// How long the clock has been further ahead since, less how long it was back.
    ahead_ns: i64,
    /// It was further ahead when it was looked at last.
    is_ahead: bool,
}

impl Trusted {
    /// Running time since, at least.
    fn passed_ns(&self, now: Moment) -> i64 {
        let since = if now.boot_id == self.at.boot_id { self.at.boottime_ns } else { 0 };
        now.boottime_ns.saturating_sub(since).max(0)
    }

    /// The time that counts where `told_ns` is told, and what is known then.
    fn judge(&self, told_ns: i64, slack_ns: i64, now: Moment) -> (i64, Trusted) {
        let passed_ns = self.passed_ns(now);
        let accounted_ns = self.time_ns.saturating_add(passed_ns);
        if told_ns < accounted_ns.saturating_sub(slack_ns) {
            return (told_ns, *self);
        }
        let is_ahead = told_ns > accounted_ns.saturating_add(slack_ns);
        let ahead_ns = match (is_ahead, self.is_ahead) {
            (true, true) => self.ahead_ns.saturating_add(passed_ns),
            // Since when, nobody knows: from now on.
            (true, false) => self.ahead_ns,
            (false, _) => self.ahead_ns.saturating_sub(passed_ns).max(0),
        };
        if is_ahead && ahead_ns < STAYS_NS {
            let next = Trusted { time_ns: accounted_ns, at: now, ahead_ns, is_ahead };
            return (accounted_ns, next);
        }
        let time_ns = told_ns.max(accounted_ns);
        let ahead_ns = if is_ahead { 0 } else { ahead_ns };
        (told_ns, Trusted { time_ns, at: now, ahead_ns, is_ahead: false })
    }

    /// Whether `next` is to be written: it tells more than this and the boottime do.
    fn is_outdated_by(&self, next: &Trusted) -> bool {
        let passed_ns = self.passed_ns(next.at);
        let follows = next.at.boot_id == self.at.boot_id
            && next.time_ns == self.time_ns.saturating_add(passed_ns)
            && next.ahead_ns == self.ahead_ns;
        next.is_ahead != self.is_ahead
            || (next.at != self.at && !follows && passed_ns >= WRITTEN_EVERY_NS)
    }

    fn encode(&self, store: StoreId) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(&u32::from(self.is_ahead).to_le_bytes());
        bytes.extend_from_slice(&store.0);
        bytes.extend_from_slice(&self.at.boot_id);
        for number in [self.time_ns, self.at.boottime_ns, self.ahead_ns] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let crc = crc32c(0, bytes.get(CHECKED_AT..).unwrap_or(&[]));
        if let Some(place) = bytes.get_mut(CRC_AT..CHECKED_AT) {
            place.copy_from_slice(&crc.to_le_bytes());
        }
        bytes
    }

    /// `None` if these bytes are not of this store, or not as they were written.
    fn decode(bytes: &[u8], store: StoreId) -> Option<Self> {
        let bytes = <&[u8; BYTES]>::try_from(bytes).ok()?;
        let crc = crc32c(0, bytes.get(CHECKED_AT..)?);
        let is_valid = bytes.starts_with(MAGIC)
            && u32::from_le_bytes(array(bytes, CRC_AT)?) == crc
            && StoreId(array(bytes, 16)?) == store;
        let number = |at| array(bytes, at).map(i64::from_le_bytes);
        let at = Moment { boot_id: array(bytes, 32)?, boottime_ns: number(56)? };
        let found = Trusted {
            time_ns: number(48)?,
            at,
            ahead_ns: number(64)?,
            is_ahead: u32::from_le_bytes(array(bytes, 12)?) == 1,
        };
        is_valid.then_some(found)
    }

    fn read(storage: &AnyStorage, store: StoreId) -> Option<Self> {
        let mut bytes = [0; BYTES + 1];
        let read = storage.open(CLOCK, Access::Read).ok()?.read_at(0, &mut bytes).ok()?;
        Trusted::decode(bytes.get(..read)?, store)
    }

    fn write(&self, storage: &AnyStorage, store: StoreId) -> Result<()> {
        remove_if_there(storage, CLOCK_NEW)?;
        let file = storage.create(CLOCK_NEW)?;
        file.write_at(0, &self.encode(store))?;
        file.sync_data()?;
        Ok(storage.rename(CLOCK_NEW, CLOCK)?)
    }
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..at + N)?.try_into().ok()
}

/// What the clock says, as far as it counts for what of the runs of `store` is older than `keep_ns`, and
/// whether that is to be noted.
pub(super) fn now_ns(store: &Store, keep_ns: Option<u64>, notes: bool) -> i64 {
    let now_ns = clock::realtime_ns();
    let Some(keep_ns) = keep_ns.filter(|_| !store.runs.manifest.runs.is_empty()) else {
        return now_ns;
    };
    // Not the newest sample: the times of what is brought from elsewhere run as fast as it is read.
    let slack_ns = i64::try_from(keep_ns / 8).unwrap_or(i64::MAX);
    let at = Moment { boot_id: identity::boot_id(), boottime_ns: clock::boottime_ns() };
    let (storage, id) = (&store.storage, store.identity.store);
    let known = Trusted::read(storage, id);
    let (counts_ns, next) = match &known {
        Some(known) => known.judge(now_ns, slack_ns, at),
        None => (now_ns, Trusted { time_ns: now_ns, at, ahead_ns: 0, is_ahead: false }),
    };
    if notes && known.is_none_or(|known| known.is_outdated_by(&next)) {
        // On a full disk nothing can be written, and dropping is what helps.
        let _ = next.write(storage, id);
    }
    counts_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR_NS: i64 = 3_600_000_000_000;
    const DAY_NS: i64 = 24 * HOUR_NS;
    /// Of 30 days.
    const SLACK_NS: i64 = 30 * DAY_NS / 8;
    const YEAR_NS: i64 = 365 * DAY_NS;

    fn at(boot: u8, boottime_ns: i64) -> Moment {
        Moment { boot_id: [boot; 16], boottime_ns }
    }

    /// A store whose clock said so when `boot` began.
    fn known(time_ns: i64, boot: u8) -> Trusted {
        Trusted { time_ns, at: at(boot, 0), ahead_ns: 0, is_ahead: false }
    }

    /// Looks at a clock that says `told_ns` at `boottime_ns`; what is not to be written is forgotten.
    fn look(known: &mut Trusted, told_ns: i64, boot: u8, boottime_ns: i64) -> i64 {
        let (counts_ns, next) = known.judge(told_ns, SLACK_NS, at(boot, boottime_ns));
        if known.is_outdated_by(&next) {
            *known = next;
        }
        counts_ns
    }

    #[test]
    fn a_clock_that_runs_counts_and_writes_nothing() {
        let (begin_ns, mut state) = (50 * YEAR_NS, known(50 * YEAR_NS, 1));
        for minute in 1..5000 {
            let passed_ns = minute * HOUR_NS / 60;
            assert_eq!(look(&mut state, begin_ns + passed_ns, 1, passed_ns), begin_ns + passed_ns);
        }
        assert_eq!(state, known(begin_ns, 1));
        // Nor a sample that comes late; one that is a little ahead is noted.
        assert_eq!(look(&mut state, begin_ns, 1, 2 * HOUR_NS), begin_ns);
        assert_eq!(state, known(begin_ns, 1));
        let ahead_ns = begin_ns + 2 * HOUR_NS + DAY_NS;
        assert_eq!(look(&mut state, ahead_ns, 1, 2 * HOUR_NS), ahead_ns);
        assert_eq!((state.time_ns, state.is_ahead), (ahead_ns, false));
        // Off for three days: boottime tells nothing of it, and the slack has room for it.
        let later_ns = ahead_ns + 3 * DAY_NS;
        assert_eq!(look(&mut state, later_ns, 2, HOUR_NS), later_ns);
        assert_eq!(state.at, at(2, HOUR_NS));
    }

    #[test]
    fn a_clock_that_jumps_counts_after_a_day_of_running() {
        let (begin_ns, mut state) = (50 * YEAR_NS, known(50 * YEAR_NS, 1));
        let mut hour = 0;
        let counts = loop {
            hour += 1;
            let passed_ns = hour * HOUR_NS;
            let counts_ns = look(&mut state, begin_ns + 10 * YEAR_NS + passed_ns, 1, passed_ns);
            if counts_ns != begin_ns + passed_ns {
                break counts_ns;
            }
        };
        // From when it was seen first.
        assert_eq!((hour, counts), (25, begin_ns + 10 * YEAR_NS + 25 * HOUR_NS));
        // Then it goes on as a clock does.
        let later_ns = counts + HOUR_NS;
        assert_eq!(look(&mut state, later_ns, 1, 26 * HOUR_NS), later_ns);
    }

    #[test]
    fn jumps_that_are_set_right_never_count_however_many() {
        let (begin_ns, mut state) = (50 * YEAR_NS, known(50 * YEAR_NS, 1));
        for hour in 1..3000 {
            let passed_ns = hour * HOUR_NS;
            let is_ahead = hour % 12 < 3;
            let told_ns = begin_ns + passed_ns + if is_ahead { YEAR_NS } else { 0 };
            assert_eq!(look(&mut state, told_ns, 1, passed_ns), begin_ns + passed_ns);
        }
    }

    /// A board without a clock of its own, which runs for two hours a day and has the time from the network
    /// after a minute.
    #[test]
    fn a_board_that_boots_in_1970_counts_as_it_is_told() {
        let minute_ns = HOUR_NS / 60;
        // The first time that ever counted is that of its first boot.
        let (real_ns, mut state) = (56 * YEAR_NS, known(minute_ns, 0));
        let mut believed = 0;
        for day in 1..40 {
            assert!(look(&mut state, minute_ns, day, minute_ns) <= minute_ns);
            for minutes in 2..120 {
                let told_ns = real_ns + i64::from(day) * DAY_NS + minutes * minute_ns;
                let counts_ns = look(&mut state, told_ns, day, minutes * minute_ns);
                believed += i32::from(counts_ns == told_ns && minutes == 119);
            }
        }
        // It takes a day of running, and then each boot counts.
        assert_eq!(believed, 39 - 12);
    }

    #[test]
    fn what_is_noted_is_read_again_and_every_flipped_bit_is_found() {
        let store = StoreId([7; 16]);
        let noted = Trusted { time_ns: -5, at: at(9, 8), ahead_ns: 77, is_ahead: true };
        let bytes = noted.encode(store);
        assert_eq!(Trusted::decode(&bytes, store), Some(noted));
        assert_eq!(Trusted::decode(&bytes, StoreId([8; 16])), None);
        assert_eq!(Trusted::decode(&bytes[1..], store), None);
        for bit in 0..BYTES * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Trusted::decode(&flipped, store), None, "bit {bit}");
        }
    }
}
