//! Latencies of several methods in one picture: a self-contained SVG, and a table for terminals.
//!
//! The curve answers a control engineer's question at once: "how often does a call take longer
//! than my period?" Right is slower, down is rarer, both logarithmic; each curve ends in its
//! maximum, which is marked, because the maximum is what loses a sample. A histogram with shares
//! in per cent would hide exactly the calls that matter.
//!
//! Invariant: any text from outside is escaped, and any histogram, an empty one included, gives
//! well-formed output. Held by `tests.rs`.

mod svg;
#[cfg(test)]
mod tests;
mod text;
pub mod timeline;

use baro_show::count;
pub use baro_show::duration;
use hdrhistogram::Histogram;

/// The latencies of one method.
#[derive(Clone, Copy, Debug)]
pub struct Series<'a> {
    /// What the legend says.
    pub name: &'a str,
    /// Durations of the calls, ns.
    pub latency_ns: &'a Histogram<u64>,
    /// The longest call exactly; the histogram rounds it to its digits.
    pub latency_ns_max: u64,
}

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub struct Plot<'a> {
    /// The heading.
    pub title: &'a str,
    /// Below it: machine, device, load.
    pub subtitle: &'a str,
    /// A call longer than this loses a sample; marked in the plot and counted in the table.
    pub period_ns: Option<u64>,
    /// The methods, in the order of the legend.
    pub series: &'a [Series<'a>],
}

impl Plot<'_> {
    /// The picture: one SVG file, readable in light and dark mode, without scripts, fonts or
    /// references to anything outside.
    #[must_use]
    pub fn svg(&self) -> String {
        svg::render(self)
    }

    /// A table and a histogram for each method, in ASCII, at most 100 columns wide but for long
    /// names.
    #[must_use]
    pub fn text(&self) -> String {
        text::render(self)
    }
}

impl Series<'_> {
    /// The longest call that is not exceeded by more than one in `calls`.
    fn one_in_ns(&self, calls: u32) -> u64 {
        let quantile = 1.0 - 1.0 / f64::from(calls.max(1));
        self.latency_ns.value_at_quantile(quantile).min(self.latency_ns_max)
    }

    /// Calls longer than `period_ns`, to the precision of the histogram.
    fn late(&self, period_ns: u64) -> u64 {
        if self.latency_ns_max <= period_ns {
            return 0;
        }
        self.latency_ns
            .iter_recorded()
            .filter(|step| step.value_iterated_to() > period_ns)
            .map(|step| step.count_since_last_iteration())
            .sum()
    }

    /// Share of calls that take at least so long, for each duration that occurred, ascending.
    fn slower_than(&self) -> Vec<(u64, f64)> {
        let calls = self.latency_ns.len();
        let mut left = calls;
        let mut curve = Vec::new();
        for step in self.latency_ns.iter_recorded() {
            let value_ns = step.value_iterated_to().min(self.latency_ns_max);
            curve.push((value_ns, left as f64 / calls as f64));
            left -= step.count_since_last_iteration().min(left);
        }
        if let Some(last) = curve.last_mut() {
            last.0 = self.latency_ns_max;
        }
        curve
    }
}

/// The legend's columns after the name, the same in both outputs.
fn columns(plot: &Plot<'_>) -> Vec<&'static str> {
    let mut columns = vec!["calls", "median", "1 in 1,000", "maximum"];
    if plot.period_ns.is_some() {
        columns.push("late calls");
    }
    columns
}

/// The legend's cells of one method.
fn cells(plot: &Plot<'_>, series: &Series<'_>) -> Vec<String> {
    let calls = series.latency_ns.len();
    let mut cells = if calls == 0 {
        vec!["0".to_owned(), "-".to_owned(), "-".to_owned(), "-".to_owned()]
    } else {
        vec![
            count(calls),
            duration(series.one_in_ns(2)),
            // With fewer calls it would be the maximum under another name.
            if calls >= 1_000 { duration(series.one_in_ns(1_000)) } else { "-".to_owned() },
            duration(series.latency_ns_max),
        ]
    };
    if let Some(period_ns) = plot.period_ns {
        cells.push(count(series.late(period_ns)));
    }
    cells
}
