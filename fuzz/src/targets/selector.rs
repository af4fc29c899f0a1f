//! Selectors of a query, against names of series: two texts of anybody's, with a zero byte between.

use crate::Target;
use baro_store::Selector;

pub(crate) const SELECTOR: Target = Target {
    name: "selector",
    fuzz_one: selector,
    seeds: || SEEDS.iter().map(|seed| seed.as_bytes().to_vec()).collect(),
    fix_up: |_| {},
};

const SEEDS: [&str; 4] = [
    "temp{site=\"a\",line=~\"3.*\"}\0temp{line=\"31\",site=\"a\"}",
    "{a!=\"b\",c!~\"(x+x+)+y|[^é]{2,9}\"}\0m{a=\"\\\\\\n\",c=\"xxxxxxxxxxxxxxx\"}",
    "*.temp\0control.temp",
    "a{b=~\"(?i)ab*|.{3}\"}\0a{b=\"ABBB\"}",
];

fn selector(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (selector, name) = text.split_once('\0').unwrap_or((&text, ""));
    let Ok(selector) = Selector::parse(selector) else { return };
    let matched = selector.matches(name);
    // Selecting has no memory: the same again is the same.
    assert_eq!(selector.matches(name), matched);
}
