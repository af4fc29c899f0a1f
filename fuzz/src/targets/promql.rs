//! Queries that anybody may send to `baro serve`, on a few series: an answer or a refusal within its bounds,
//! the same each time.

use crate::Target;
use baro_promql::testing::Memory;
use baro_promql::{Query, Times};
use std::sync::LazyLock;

pub(crate) const PROMQL: Target = Target {
    name: "promql",
    fuzz_one: promql,
    seeds: || SEEDS.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
    fix_up: |_| {},
};

const SEEDS: [&str; 10] = [
    "sum by (site) (rate(a[5m])) / on (site) group_left () max without (line) (b offset 1m)",
    "topk(2, quantile_over_time(0.9, a{line=~\"0|1\"}[10m:30s] @ end())) or vector(time())",
    "histogram_quantile(0.5, label_replace(a, \"le\", \"$1\", \"line\", \"(.*)\"))",
    "count_values(\"v\", round(a, 0.25)) unless clamp(b, -1, +Inf) > bool 2",
    "absent(c{site=\"x\",}) * -predict_linear(a[1h], 3600) ^ 2 % 3",
    "label_join(days_in_month(timestamp(a)), \"both\", \"/\", \"site\", \"line\")",
    "(a[1h:1ms])",
    "\"text\\n\\u00e9\"",
    "{__name__=~\"a|b\",site!~\"(x+x+)+y\"}",
    "scalar(stddev(a)) + 0x1f + 1e-3 + Inf + NaN",
];

/// Values that a query may hold here.
const VALUES_MAX: usize = 20_000;

static SOURCE: LazyLock<Memory> = LazyLock::new(|| {
    let mut memory = Memory::default();
    for (name, site, line) in [("a", "x", "0"), ("a", "y", "1"), ("b", "x", "0"), ("b", "z", "2")] {
        let labels = [("__name__", name), ("site", site), ("line", line)];
        for point in 0..40_i64 {
            memory.push(&labels, point * 15_000_000_000, (point * 7 % 11) as f64);
        }
    }
    memory
});

fn promql(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let Ok(query) = Query::parse(&text) else { return };
    let one = Times { values_max: VALUES_MAX, ..Times::at(300_000_000_000) };
    let several = Times::range(0, 600_000_000_000, 37_000_000_000);
    for times in [one, Times { values_max: VALUES_MAX, ..several }] {
        let answer = query.evaluate(&*SOURCE, &times);
        let again = query.evaluate(&*SOURCE, &times);
        assert_eq!(format!("{answer:?}"), format!("{again:?}"));
    }
}
