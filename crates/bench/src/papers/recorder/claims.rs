//! What the paper says, judged from the record.
//!
//! A comparison of maxima is judged only where the larger one stands out of the machine's noise:
//! two numbers that a sleeping thread reaches as well say nothing about writing.

use super::read::Read;
use crate::experiment::{Claim, Measurement};

/// A maximum stands out if it is so many times the longest delay of a thread that only slept.
const STANDS_OUT: f64 = 2.0;
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
    if high.max(low) < noise * STANDS_OUT {
        let mut claim = claim.judged(None, "", "both maxima are within twice the machine's noise");
        claim.here = figures;
        return claim;
    }
    claim.judged(Some((high > low, figures)), &rule, "")
}

fn latencies(read: &Read<'_>) -> Vec<Claim> {
    let source = "section 4.3, table 1";
    // Above a limit by noise alone is not above it.
    let below = |case: &str, limit_ns: f64| {
        let (max_ns, noise_ns) = max(read, case)?;
        let said = format!("{}; noise up to {}", shown(max_ns), shown(noise_ns));
        let judged = max_ns < limit_ns || max_ns >= noise_ns * STANDS_OUT;
        judged.then_some((max_ns < limit_ns, said))
    };
    let mean = |case: &str| read.case(case).map(|latency| latency.mean_ns);
    let means = mean("NONE")
        .zip(mean("ALL"))
        .map(|(none, all)| (all < none, format!("NONE {}, ALL {}", shown(none), shown(all))));
    let missing = "not measured, or above the limit but within twice the machine's noise";
    vec![
        Claim::new("all-below-1ms", source, "ALL keeps write() below a millisecond", "309 us")
            .judged(below("ALL", MS_NS), "the maximum of ALL below 1 ms", missing),
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
        Claim::new("mean", source, "ALL's mean is below NONE's", "176 us against 259 us").judged(
            means,
            "the mean of ALL below that of NONE",
            missing,
        ),
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
        Claim::new(
            "append-sdata",
            source,
            "without load, appending with sync_file_range is worst of all",
            "107,546 us",
        )
        .judged(
            append_is_worst(read),
            "its maximum above that of every other case without load",
            "not measured, or all are within twice the machine's noise",
        ),
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
        Claim::new(
            "idle-gaps",
            "section 4.4",
            "allocation and truncation beside a recording cost more than 10 ms: idle gaps are a \
                    precondition",
            "12,482 us",
        )
        .judged(
            below("ALL-BGALL", 10.0 * MS_NS).map(|(below, said)| (!below, said)),
            "the maximum of ALL-BGALL from 10 ms on",
            missing,
        ),
        own(read),
    ]
}

/// Whether appending with sync_file_range has the largest maximum without a load; None if that does
/// not stand out of the noise.
fn append_is_worst(read: &Read<'_>) -> Option<(bool, String)> {
    let unloaded = ["NONE", "ALL", "WAPPEND-SALL-FOFF", "WPRE-SALL-FOFF", "WPRE-SDATA-FON"];
    let (append, noise) = max(read, "WAPPEND-SDATA-FOFF")?;
    let others = unloaded.iter().filter_map(|case| max(read, case)).map(|(max, _)| max);
    let most = others.fold(0.0, f64::max);
    let said = format!("{}, the others up to {}", shown(append), shown(most));
    (append.max(most) >= noise * STANDS_OUT).then_some((append > most, said))
}

/// Not the paper's: what Barograph sets against it.
fn own(read: &Read<'_>) -> Claim {
    let longest = |load: &str| {
        let cell = read.worst_own(load)?;
        let latency = read.latency(&cell)?;
        Some((latency.max_ns as f64, read.noise_max_ns(&[&cell]).unwrap_or(0.0)))
    };
    let both = longest("idle").zip(longest("BGALL"));
    let figures = both.and_then(|((idle, idle_noise), (load, noise))| {
        let said = format!(
            "push {} idle, {} beside BGALL: {:.2} times; noise up to {} and {}",
            shown(idle),
            shown(load),
            load / idle.max(1.0),
            shown(idle_noise),
            shown(noise)
        );
        let holds = load <= 2.0 * idle;
        (holds || load >= noise * STANDS_OUT).then_some((holds, said))
    });
    Claim::new(
        "barograph",
        "ours",
        "no idle gaps: Barograph's push is as short beside BGALL",
        "the paper's write() is 40 times as long: 12,482 us against 309 us",
    )
    .judged(
        figures,
        "its maximum beside BGALL at most twice that without",
        "not measured, or longer but within twice the machine's noise",
    )
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
    let noisy = |(ns, noise, _): &(f64, f64, String)| *ns >= MS_NS && *ns < noise * STANDS_OUT;
    if found.iter().any(noisy) {
        let missing = "above a millisecond, but within twice the machine's noise";
        let mut claim = claim.judged(None, "", missing);
        claim.here = said.join("; ");
        return vec![claim];
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
    let latency = beside("NONE").zip(beside("ALL")).and_then(|(none, all)| {
        let said = format!(
            "NONE {} to {}, ALL {} to {}; noise up to {}",
            shown(none.2),
            shown(none.1),
            shown(all.2),
            shown(all.1),
            shown(noise_ns)
        );
        (none.1.max(all.1) >= noise_ns * STANDS_OUT).then_some((none.0 > all.0, said))
    });
    let shares = read.reader_share("NONE").zip(read.reader_share("ALL"));
    let shares = shares.map(|(none, all)| {
        let said = format!("{:.0} % beside NONE, {:.0} % beside ALL", none * 100.0, all * 100.0);
        ((none - all).abs() <= 0.05, said)
    });
    let missing = "the reader's cells were not measured";
    vec![
        Claim::new(
            "reader-latency",
            "section 4.3, table 3",
            "a sequential reader makes NONE far longer and ALL hardly",
            "NONE 80 times, ALL + 35 %",
        )
        .judged(latency, "NONE's maximum grows by a larger factor than ALL's", missing),
        Claim::new(
            "reader-share",
            "section 4.3, figure 5",
            "the reader is as fast beside ALL as beside NONE",
            "78 % and 79 % of alone",
        )
        .judged(shares, "the shares differ by at most 5 points", missing),
    ]
}

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
    let rate = |bytes| read.flushed_bytes_per_s(bytes).map(|rate| rate / 1e6);
    let rates = rate(256 << 10).zip(rate(8 << 20));
    let rates = rates.map(|(small, large)| {
        let said = format!("{small:.1} MB/s with 256 KiB, {large:.1} MB/s with 8 MiB");
        (large > small * 1.05, said)
    });
    Claim::new(
        "unit",
        "section 3.2",
        "larger units flush faster, at the price of more dirty memory",
        "no figures",
    )
    .judged(rates, "8 MiB at least 5 % faster than 256 KiB", "the units were not measured")
}
