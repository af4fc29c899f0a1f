//! What the paper says, judged from the record.
//!
//! A comparison of maxima is judged only where the larger one stands out of the machine's noise:
//! two numbers that a sleeping thread reaches as well say nothing about writing. A mean is judged by
//! what equal sets differ by. What the modelled device decides is not judged there.

use super::read::Read;
use crate::experiment::judge::{WITHIN_NOISE, is_below, stands_out};
use crate::experiment::{Claim, Measurement};

const UNMEASURED: &str = "not measured";
const MS_NS: f64 = 1e6;

pub(super) fn claims(read: &Read<'_>, others: &[Measurement]) -> Vec<Claim> {
    let mut claims = latencies(read);
    claims.extend(flusher(read));
    claims.extend(media(read, others));
    claims.extend(reader(read));
    claims.extend(causes(read));
    claims.push(unit(read));
    claims
}

/// The longest write of a case and the noise beside it, ns.
fn max(read: &Read<'_>, case: &str) -> Option<(f64, f64)> {
    let cell = read.worst_set(case)?;
    Some((read.latency(&cell)?.max_ns as f64, read.noise_max_ns(&[&cell]).unwrap_or(0.0)))
}

fn shown(ns: f64) -> String {
    if ns >= MS_NS { format!("{:.1} ms", ns / MS_NS) } else { format!("{:.0} us", ns / 1e3) }
}

/// Judges "the maximum of `large` is above that of `small`".
fn larger(read: &Read<'_>, claim: Claim, large: &str, small: &str) -> Claim {
    let rule = format!("the maximum of {large} above that of {small}, and out of the noise");
    let (Some((high, high_noise)), Some((low, low_noise))) = (max(read, large), max(read, small))
    else {
        return claim.judged(None, "", &format!("{large} or {small} was not measured"));
    };
    let noise = high_noise.max(low_noise);
    let figures = format!(
        "{large} {}, {small} {} ({:.2} times); noise up to {}",
        shown(high),
        shown(low),
        high / low.max(1.0),
        shown(noise)
    );
    if !stands_out(&[high, low], &[noise]) {
        return claim.open(figures, WITHIN_NOISE);
    }
    claim.judged(Some((high > low, figures)), &rule, "")
}

/// Judges "the maximum of `case` is below a limit", or that it is not. Noise only makes a maximum
/// longer: one below the limit is below it, one above by noise alone is not above.
fn below(
    read: &Read<'_>,
    claim: Claim,
    (case, limit_ns): (&str, f64),
    wanted: bool,
    rule: &str,
) -> Claim {
    let Some((max_ns, noise_ns)) = max(read, case) else {
        return claim.judged(None, "", UNMEASURED);
    };
    let figures = format!("{}; noise up to {}", shown(max_ns), shown(noise_ns));
    let is_below = max_ns < limit_ns;
    if !is_below && !stands_out(&[max_ns], &[noise_ns]) {
        return claim.open(figures, WITHIN_NOISE);
    }
    claim.judged(Some((is_below == wanted, figures)), rule, "")
}

fn latencies(read: &Read<'_>) -> Vec<Claim> {
    let source = "section 4.3, table 1";
    vec![
        below(
            read,
            Claim::new("all-below-1ms", source, "ALL keeps write() below a millisecond", "309 us"),
            ("ALL", MS_NS),
            true,
            "the maximum of ALL below 1 ms",
        ),
        larger(
            read,
            Claim::new(
                "all-beats-none",
                source,
                "ALL's longest write() is shorter than NONE's",
                "309 us against 4,454 us",
            ),
            "NONE",
            "ALL",
        ),
        mean(read),
        larger(
            read,
            Claim::new(
                "sall",
                source,
                "fdatasync instead of sync_file_range makes it longer",
                "486 us against 309 us, + 57 %",
            ),
            "WPRE-SALL-FOFF",
            "ALL",
        ),
        larger(
            read,
            Claim::new(
                "sall-loaded",
                source,
                "also under load",
                "13,431 us against 12,482, + 7.6 %",
            ),
            "WPRE-SALL-FOFF-BGALL",
            "ALL-BGALL",
        ),
        append_is_worst(read),
        larger(
            read,
            Claim::new(
                "append-sync",
                source,
                "an appending recorder does better with fdatasync than with sync_file_range",
                "4,821 us against 107,546 us",
            ),
            "WAPPEND-SDATA-FOFF",
            "WAPPEND-SALL-FOFF",
        ),
        larger(
            read,
            Claim::new(
                "truncate",
                source,
                "truncation beside it makes ALL worse than NONE",
                "9,178 us against 4,454 us",
            ),
            "ALL-BGTRUNC",
            "NONE",
        ),
        below(
            read,
            Claim::new(
                "idle-gaps",
                "section 4.4",
                "allocation and truncation beside a recording cost more than 10 ms: idle gaps are a \
                        precondition",
                "12,482 us",
            ),
            ("ALL-BGALL", 10.0 * MS_NS),
            false,
            "the maximum of ALL-BGALL from 10 ms on",
        ),
        own(read),
    ]
}

/// By what the sets differ by.
fn mean(read: &Read<'_>) -> Claim {
    let claim = Claim::new(
        "mean",
        "section 4.3, table 1",
        "ALL's mean is below NONE's",
        "176 us against 259 us",
    );
    let (none, all) = (read.means("NONE"), read.means("ALL"));
    let list = |means: &[f64]| means.iter().map(|ns| shown(*ns)).collect::<Vec<_>>().join(", ");
    if none.is_empty() || all.is_empty() {
        return claim.judged(None, "", UNMEASURED);
    }
    let figures = format!("NONE {}; ALL {}", list(&none), list(&all));
    match is_below(&all, &none) {
        Ok(below) => {
            let rule = "each set's mean of ALL below each of NONE; above each, it does not hold";
            claim.judged(Some((below, figures)), rule, "")
        }
        Err(why) => claim.open(figures, why),
    }
}

/// The maximum of any case without a load counts, and so does the noise of any.
fn append_is_worst(read: &Read<'_>) -> Claim {
    let claim = Claim::new(
        "append-sdata",
        "section 4.3, table 1",
        "without load, appending with sync_file_range is worst of all",
        "107,546 us",
    );
    let others = ["NONE", "ALL", "WAPPEND-SALL-FOFF", "WPRE-SALL-FOFF", "WPRE-SDATA-FON"];
    let others: Vec<(f64, f64)> = others.iter().filter_map(|case| max(read, case)).collect();
    let Some((append, noise)) = max(read, "WAPPEND-SDATA-FOFF").filter(|_| !others.is_empty())
    else {
        return claim.judged(None, "", UNMEASURED);
    };
    let most = others.iter().map(|other| other.0).fold(0.0, f64::max);
    let noise = others.iter().map(|other| other.1).fold(noise, f64::max);
    let figures = format!(
        "{}, the others up to {}; noise up to {}",
        shown(append),
        shown(most),
        shown(noise)
    );
    if !stands_out(&[append, most], &[noise]) {
        return claim.open(figures, WITHIN_NOISE);
    }
    claim.judged(
        Some((append > most, figures)),
        "its maximum above that of every other case without load",
        "",
    )
}

/// Not the paper's: what Barograph sets against it. By the same rule: a push that is shorter than what a
/// sleeping thread is late by says nothing of a load.
fn own(read: &Read<'_>) -> Claim {
    let claim = Claim::new(
        "barograph",
        "ours",
        "no idle gaps: Barograph's push is as short beside BGALL",
        "the paper's write() is 40 times as long: 12,482 us against 309 us",
    );
    let longest = |load: &str| {
        let cell = read.worst_own(load)?;
        let latency = read.latency(&cell)?;
        Some((latency.max_ns as f64, read.noise_max_ns(&[&cell]).unwrap_or(0.0)))
    };
    let Some(((idle, idle_noise), (load, noise))) = longest("idle").zip(longest("BGALL")) else {
        return claim.judged(None, "", UNMEASURED);
    };
    let figures = format!(
        "push {} idle, {} beside BGALL: {:.2} times; noise up to {} and {}",
        shown(idle),
        shown(load),
        load / idle.max(1.0),
        shown(idle_noise),
        shown(noise)
    );
    if !stands_out(&[idle, load], &[idle_noise, noise]) {
        return claim.open(figures, WITHIN_NOISE);
    }
    let rule = "its maximum beside BGALL at most twice that without";
    claim.judged(Some((load <= 2.0 * idle, figures)), rule, "")
}

fn flusher(read: &Read<'_>) -> Vec<Claim> {
    let source = "section 4.3, table 1";
    let judge = |claim: Claim, on: &str, off: &str| {
        if read.machine_wide() {
            return larger(read, claim, on, off);
        }
        claim.judged(None, "", "the flusher was left on everywhere: measure with --machine-wide")
    };
    vec![
        judge(
            Claim::new(
                "flusher",
                source,
                "the kernel's flusher makes write() longer",
                "361 us against 309 us, + 17 %",
            ),
            "WPRE-SDATA-FON",
            "ALL",
        ),
        judge(
            Claim::new(
                "flusher-loaded",
                source,
                "under load far longer",
                "121,756 us against 12,482 us, 9.8 times",
            ),
            "WPRE-SDATA-FON-BGALL",
            "ALL-BGALL",
        ),
    ]
}

fn media(read: &Read<'_>, others: &[Measurement]) -> Vec<Claim> {
    let claim = Claim::new(
        "media",
        "section 4.3, table 2",
        "ALL stays below a millisecond on every medium and kernel",
        "309 to 685 us on two media and two kernels",
    );
    if others.is_empty() {
        let missing = "one measurement is one medium and one kernel: give several to --study";
        return vec![claim.judged(None, "", missing)];
    }
    let all = std::iter::once(*read).chain(others.iter().map(Read));
    let found: Vec<(f64, f64, String)> = all
        .filter_map(|read| max(&read, "ALL").map(|(max, noise)| (max, noise, read.place())))
        .collect();
    let said: Vec<String> = found
        .iter()
        .map(|(ns, noise, place)| {
            format!("{} on {place}, noise up to {}", shown(*ns), shown(*noise))
        })
        .collect();
    let noisy =
        |(ns, noise, _): &(f64, f64, String)| *ns >= MS_NS && !stands_out(&[*ns], &[*noise]);
    let refuted =
        |(ns, noise, _): &(f64, f64, String)| *ns >= MS_NS && stands_out(&[*ns], &[*noise]);
    if found.iter().any(noisy) && !found.iter().any(refuted) {
        let why = "above a millisecond, but within twice the delay of a thread that only slept";
        return vec![claim.open(said.join("; "), why)];
    }
    if found.is_empty() {
        return vec![claim.judged(None, "", UNMEASURED)];
    }
    let holds = found.iter().all(|(ns, _, _)| *ns < MS_NS);
    vec![claim.judged(Some((holds, said.join("; "))), "every maximum of ALL below 1 ms", "")]
}

fn reader(read: &Read<'_>) -> Vec<Claim> {
    let beside = |case: &str| {
        let without = max(read, case)?.0;
        let with = read.latency(&format!("reader/{case}"))?.max_ns as f64;
        Some((with / without.max(1.0), with, without))
    };
    let noise_ns = read.noise_max_ns(&["reader/NONE", "reader/ALL"]).unwrap_or(0.0);
    let latency = Claim::new(
        "reader-latency",
        "section 4.3, table 3",
        "a sequential reader makes NONE far longer and ALL hardly",
        "NONE 80 times, ALL + 35 %",
    );
    let share = Claim::new(
        "reader-share",
        "section 4.3, figure 5",
        "the reader is as fast beside ALL as beside NONE",
        "78 % and 79 % of alone",
    );
    let latency = match beside("NONE").zip(beside("ALL")) {
        None => latency.judged(None, "", READER_UNMEASURED),
        Some((none, all)) => {
            let figures = format!(
                "NONE {} to {}, ALL {} to {}; noise up to {}",
                shown(none.2),
                shown(none.1),
                shown(all.2),
                shown(all.1),
                shown(noise_ns)
            );
            if read.is_modelled() {
                latency.beyond_the_model(figures, BUCKETS)
            } else if stands_out(&[none.1, all.1], &[noise_ns]) {
                let rule = "NONE's maximum grows by a larger factor than ALL's";
                latency.judged(Some((none.0 > all.0, figures)), rule, "")
            } else {
                latency.open(figures, WITHIN_NOISE)
            }
        }
    };
    let share = match read.reader_share("NONE").zip(read.reader_share("ALL")) {
        None => share.judged(None, "", READER_UNMEASURED),
        Some((none, all)) => {
            let figures =
                format!("{:.0} % beside NONE, {:.0} % beside ALL", none * 100.0, all * 100.0);
            if read.is_modelled() {
                share.beyond_the_model(figures, BUCKETS)
            } else {
                let rule = "the shares differ by at most 5 points";
                share.judged(Some(((none - all).abs() <= 0.05, figures)), rule, "")
            }
        }
    };
    vec![latency, share]
}

const READER_UNMEASURED: &str = "the reader's cells were not measured";
/// What the modelled device is to a reader and to small units.
const BUCKETS: &str = "the modelled device limits reads and writes apart: a reader takes nothing from a \
                       writer, nor it from him";
const UNITS: &str = "the modelled device lets a unit pass at once that is smaller than what it has saved up: \
                     small units seem fast";

fn causes(read: &Read<'_>) -> Vec<Claim> {
    let outliers = read.outliers();
    let of = |fits: &dyn Fn(&str) -> bool| {
        let found: Vec<_> = outliers.iter().filter(|(cell, _)| fits(cell)).collect();
        let said: Vec<String> = found
            .iter()
            .map(|(cell, outlier)| {
                format!("{cell}: {} ({})", outlier.cause, shown(outlier.wait_ns as f64))
            })
            .collect();
        (found, said.join("; "))
    };
    let missing = read.unwatched().unwrap_or_else(|| "no call was slow enough to ask".to_owned());
    let (loaded, said) = of(&|cell| cell.contains("ALL-BG"));
    let locked = loaded.iter().any(|(_, outlier)| {
        [&outlier.cause, &outlier.root].into_iter().any(|cause| cause.starts_with("transaction"))
    });
    let locked = (!loaded.is_empty()).then_some((locked, said));
    let (none, said) = of(&|cell| cell.starts_with("case/NONE/"));
    let block = none
        .iter()
        .any(|(_, outlier)| ["extent_lock", "inode_lock"].contains(&outlier.cause.as_str()));
    let block = (!none.is_empty()).then_some((block, said));
    let handles = |case: &str| {
        let cell = read.worst_set(case)?;
        let writes = read.latency(&cell)?.calls;
        Some((read.0.number(&cell, "journal_handles")?, writes))
    };
    let lazy = read.0.head.machine.fact("mount options").unwrap_or("").contains("lazytime");
    let lazytime = handles("ALL").filter(|_| lazy).map(|(handles, writes)| {
        let said = format!("{handles:.0} journal handles in {writes} writes of ALL");
        (handles < writes as f64 * 0.01, said)
    });
    vec![
        Claim::new(
            "locked",
            "section 4.4",
            "under load write() waits for a handle while the transaction is locked, though the \
                    size does not change",
            "by a look into the kernel, no figures",
        )
        .judged(
            locked,
            "the longest wait of ALL beside a load is for a transaction",
            &missing,
        ),
        Claim::new(
            "extent-lock",
            "section 4.4",
            "NONE's longest write() waits for i_data_sem, held while a group descriptor is read",
            "4,454 us",
        )
        .judged(
            block,
            "the longest wait of NONE is for the lock of the extents or the inode",
            &missing,
        ),
        Claim::new(
            "lazytime",
            "sections 3.2 and 4.1",
            "noatime and lazytime keep the file's times, and so the journal, out of write()",
            "expected, not measured",
        )
        .judged(
            lazytime,
            "at most one journal handle in a hundred writes",
            "not mounted with lazytime, or handles could not be counted (root)",
        ),
    ]
}

fn unit(read: &Read<'_>) -> Claim {
    let claim = Claim::new(
        "unit",
        "section 3.2",
        "larger units flush faster, at the price of more dirty memory",
        "no figures",
    );
    let rate = |bytes| read.flushed_bytes_per_s(bytes).map(|rate| rate / 1e6);
    let Some((small, large)) = rate(256 << 10).zip(rate(8 << 20)) else {
        return claim.judged(None, "", "the units were not measured");
    };
    let figures = format!("{small:.1} MB/s with 256 KiB, {large:.1} MB/s with 8 MiB");
    if read.is_modelled() {
        return claim.beyond_the_model(figures, UNITS);
    }
    let rule = "8 MiB at least 5 % faster than 256 KiB";
    claim.judged(Some((large > small * 1.05, figures)), rule, "")
}
