//! Selectors against a model that looks at maps of labels, and texts that are none.

#![allow(clippy::unwrap_used, reason = "a test")]

use baro_store::Selector;
use std::collections::BTreeMap;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.below(from.len())]
    }
}

const LABELS: [&str; 5] = ["a", "line", "site", "x.y", "data centre"];
const VALUES: [&str; 6] = ["", "3", "31", "b", "ä\"\\", "a\nb"];

/// As it stands in a name or a selector: in quotes, if it needs them.
fn quoted(name: &str) -> String {
    if name.contains(' ') { format!("\"{name}\"") } else { name.to_owned() }
}

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

/// What a few regular expressions mean, without a regular expression.
fn like(pattern: &str, value: &str) -> bool {
    match pattern {
        "3.*" => value.starts_with('3'),
        ".*" => true,
        ".+" => !value.is_empty(),
        "3|b" => value == "3" || value == "b",
        "" => value.is_empty(),
        "a.b" => value == "a\nb",
        other => panic!("{other}"),
    }
}

#[test]
fn a_series_is_selected_exactly_if_the_model_says_so() {
    let mut random = Random(3);
    let (mut yes, mut no) = (0, 0);
    for _ in 0..30_000 {
        let metric = random.pick(&["temp", "temperature", "t", "living room"]);
        let labels: BTreeMap<&str, &str> =
            (0..random.below(4)).map(|_| (random.pick(&LABELS), random.pick(&VALUES))).collect();
        let shown: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{}=\"{}\"", quoted(label), escaped(value)))
            .collect();
        let name = match metric {
            "living room" => format!("{{\"living room\",{}}}", shown.join(", ")),
            _ => format!("{metric}{{{}}}", shown.join(", ")),
        };
        let wanted = random.pick(&["", "", "temp", "t", "living room"]);
        let mut expected = wanted.is_empty() || wanted == metric;
        let mut text = match wanted {
            "living room" => "{\"living room\", ".to_owned(),
            _ => format!("{wanted}{{"),
        };
        for _ in 0..random.below(4) {
            let label =
                random.pick(&["a", "line", "site", "x.y", "none", "__name__", "data centre"]);
            let found = match label {
                "__name__" => metric,
                label => labels.get(label).copied().unwrap_or(""),
            };
            let operator = random.pick(&["=", "!=", "=~", "!~"]);
            let value = match operator {
                "=" | "!=" => random.pick(&["", "3", "31", "b", "ä\"\\", "a\nb", "temp"]),
                _ => random.pick(&["3.*", ".*", ".+", "3|b", "", "a.b"]),
            };
            expected &= match operator {
                "=" => found == value,
                "!=" => found != value,
                "=~" => like(value, found),
                _ => !like(value, found),
            };
            let space = random.pick(&["", " "]);
            let label = quoted(label);
            text += &format!("{label}{space}{operator}{space}\"{}\",{space}", escaped(value));
        }
        text += "}";
        let selector = Selector::parse(&text).unwrap();
        assert_eq!(selector.matches(&name), expected, "{text} {name}");
        yes += u32::from(expected);
        no += u32::from(!expected);
    }
    assert!(yes > 3000 && no > 3000, "{yes} {no}");
}

#[test]
fn bare_metrics_and_names_that_are_none() {
    let selects = |text: &str, name: &str| Selector::parse(text).unwrap().matches(name);
    assert!(selects("temp", "temp") && selects("temp", "temp{a=\"1\"}"));
    assert!(!selects("temp", "temperature") && !selects("temp", "temp 1"));
    assert!(selects("motor.on", "motor.on") && selects("{}", "a b") && selects("{}", "x{y"));
    assert!(selects("{__name__=\"a b\"}", "a b") && selects("{__name__=~\"a.*\",x=\"\"}", "a b{"));
    assert!(selects("t{a=~'3\\d'}", "t{a=\"31\"}") && !selects("t{a=~\"3\"}", "t{a=\"31\"}"));
    assert!(selects(" temp { a = \"1\" , } ", "temp{a=\"1\"}"));
    assert!(selects("{\"a b\"}", "a b") && selects("{\"a b\",}", "{\"a b\",x=\"1\"}"));
    assert!(
        selects("{\"temp\"}", "temp") && selects("{\"__name__\"=\"a b\"}", "{\"a b\",x=\"1\"}")
    );
    assert!(!selects("{\"a b\"}", "a b c") && !selects("{\"a\"=\"b\"}", "a"));
    assert!(!selects("t{a=~\"1|2\"}", "t{a=\"12\"}"));
    assert_eq!(Selector::parse(" temp{a=\"1\"} ").unwrap().to_string(), "temp{a=\"1\"}");
}

#[test]
fn every_mistake_is_named_with_its_place() {
    for (text, said) in [
        ("", "at character 1: expected a metric or '{', found the end"),
        ("=", "at character 1: expected a metric or '{', found '='"),
        ("ä b", "at character 3: expected the end or '{', found 'b'"),
        ("t{", "at character 3: expected a label or '}', found the end"),
        ("t{,}", "at character 3: expected a label or '}', found ','"),
        ("t{a}", "at character 4: expected =, !=, =~ or !~, found '}'"),
        ("t{\"a b\"}", "at character 8: expected =, !=, =~ or !~, found '}'"),
        ("{\"a\",\"b\"}", "at character 9: expected =, !=, =~ or !~, found '}'"),
        ("{\"\"=\"a\"}", "at character 2: expected a label or '}', found '\"'"),
        ("t{a=1}", "at character 5: expected a value in quotes, found '1'"),
        ("t{ä=\"1}", "at character 8: expected \" at the end of the value, found the end"),
        ("t{a=\"1\" b=\"2\"}", "at character 9: expected ',' or '}', found 'b'"),
        ("t{a=\"1\"}}", "at character 9: expected the end or '{', found '}'"),
        ("t{a=~\"(\"}", "at character 6: expected a regular expression"),
        ("t{a=~\")(\"}", "at character 6: expected a regular expression"),
        ("t{a=~\"(((x{1000}){1000}){1000})\"}", "at character 6: expected a regular expression"),
    ] {
        let error = Selector::parse(text).unwrap_err().to_string();
        assert!(error.contains(said) && error.contains(text), "{text}: {error}");
    }
    let long = format!("t{{a=\"{}\"}}", "x".repeat(20_000));
    assert!(Selector::parse(&long).unwrap_err().to_string().contains("at most 16384 bytes"));
    let many = format!("t{{{}}}", "a!=\"1\",".repeat(65));
    assert!(Selector::parse(&many).unwrap_err().to_string().contains("at most 64 matchers"));
    let deep = format!("t{{a=~\"{}x{}\"}}", "(".repeat(80), ")".repeat(80));
    assert!(Selector::parse(&deep).is_err());
}

#[test]
fn any_text_is_a_selector_or_an_error() {
    let mut random = Random(17);
    let parts = ["a", "{", "}", "\"", ",", "=", "=~", "!~", "!=", "\\", "(", "|", "*", " ", "ä"];
    let mut selectors = 0;
    for _ in 0..50_000 {
        let text: String = (0..random.below(12)).map(|_| random.pick(&parts)).collect();
        if let Ok(selector) = Selector::parse(&text) {
            selectors += 1;
            let _ = selector.matches(&text);
        }
    }
    assert!(selectors > 500, "{selectors}");
}
