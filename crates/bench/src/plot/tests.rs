//! Tests of the picture's and the table's contents, not of their pixels.

use super::{Plot, Series};
use baro_show::{count, duration};
use hdrhistogram::Histogram;

fn histogram(values_ns: impl IntoIterator<Item = u64>) -> (Histogram<u64>, u64) {
    let mut histogram = crate::pace::latency_histogram().expect("fixed bounds");
    let mut max_ns = 0;
    for value_ns in values_ns {
        histogram.saturating_record(value_ns);
        max_ns = max_ns.max(value_ns);
    }
    (histogram, max_ns)
}

/// 9,990 calls around 50 us, nine of 2 ms and one of 121.8 ms; and 10,000 around 2 us.
fn sample() -> [(Histogram<u64>, u64); 2] {
    let slow = (0..9_990).map(|n| 40_000 + n * 2).chain([2_000_000; 9]).chain([121_800_000]);
    [histogram(slow), histogram((0..10_000).map(|n| 1_500 + n / 10))]
}

fn with_plot<T>(look: impl FnOnce(&Plot<'_>) -> T) -> T {
    let [slow, quick] = sample();
    let series = [
        Series { name: "write <append> & fdatasync", latency_ns: &slow.0, latency_ns_max: slow.1 },
        Series { name: "push", latency_ns: &quick.0, latency_ns_max: quick.1 },
    ];
    look(&Plot {
        title: "Time in the producer \"A\"",
        subtitle: "a & b \u{1b}[31m",
        period_ns: Some(5_000_000),
        series: &series,
    })
}

#[test]
fn the_picture_says_title_axes_legend_and_maxima() {
    let svg = with_plot(|plot| plot.svg());
    for part in [
        "Time in the producer &quot;A&quot;",
        "a &amp; b [31m",
        "write &lt;append&gt; &amp; fdatasync",
        ">max 122 ms<",
        ">max 2.50 us<",
        ">1 in 10,000<",
        ">every call<",
        ">100 us<",
        "period 5.00 ms",
        "prefers-color-scheme:dark",
    ] {
        assert!(svg.contains(part), "{part} is not in {svg}");
    }
    assert!(!svg.contains('\u{1b}'));
    assert_eq!(svg.matches("<circle").count(), 2);
    // One curve and one sample of it in the legend for each method.
    assert_eq!(svg.matches("class=\"curve s").count(), 4);
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
}

#[test]
fn coordinates_are_finite() {
    let none = histogram([]);
    let one = histogram([0]);
    let long = histogram([u64::MAX]);
    let series: Vec<_> = [&none, &one, &long]
        .into_iter()
        .map(|(latency_ns, latency_ns_max)| Series {
            name: "",
            latency_ns,
            latency_ns_max: *latency_ns_max,
        })
        .collect();
    for last in 0..=series.len() {
        for period_ns in [None, Some(0), Some(u64::MAX)] {
            let plot = Plot { title: "", subtitle: "", period_ns, series: &series[..last] };
            let svg = plot.svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            assert!(svg.ends_with("</svg>\n"));
            assert!(!plot.text().is_empty());
        }
    }
}

#[test]
fn the_table_counts_late_calls() {
    let text = with_plot(|plot| plot.text());
    let row = text.lines().find(|line| line.starts_with("push")).expect("a row");
    let cells: Vec<_> = row.split_whitespace().collect();
    assert_eq!(cells, ["push", "10,000", "2.00", "us", "2.50", "us", "2.50", "us", "0"]);
    let row = text.lines().find(|line| line.starts_with("write <append>")).expect("a row");
    assert!(row.ends_with("122 ms           1"), "{row}");
    assert!(!text.contains('\u{1b}'));
    assert!(text.contains("100 ms+            1 # late"), "{text}");
}

#[test]
fn the_rows_add_up_to_all_calls() {
    let [slow, _] = sample();
    let series = Series { name: "", latency_ns: &slow.0, latency_ns_max: slow.1 };
    let plot = Plot { title: "", subtitle: "", period_ns: None, series: &[series] };
    let calls: u64 = plot
        .text()
        .lines()
        .filter_map(|line| {
            line.split_once("+ ")?.1.split_whitespace().next()?.replace(',', "").parse::<u64>().ok()
        })
        .sum();
    assert_eq!(calls, 10_000);
}

#[test]
fn numbers_are_short() {
    let durations: Vec<_> =
        [0, 999, 1_000, 12_345, 309_000, 4_454_000, 121_800_000, 76_000_000_000]
            .map(duration)
            .into();
    let expected =
        ["0 ns", "999 ns", "1.00 us", "12.3 us", "309 us", "4.45 ms", "122 ms", "76.0 s"];
    assert_eq!(durations, expected);
    assert_eq!([0, 999, 1_000, 1_234_567].map(count), ["0", "999", "1,000", "1,234,567"]);
}
