//! Names against a model: a map of labels.

use super::*;
use alloc::borrow::ToOwned;
use alloc::collections::BTreeMap;
use alloc::format;
use std::println;

/// A small deterministic generator.
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

fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn plain(name: &str) -> bool {
    !name.contains([' ', '"', '\\', '\n', '{', '}', ',', '=', '!', '~'])
}

fn plain_or_quoted(name: &str) -> String {
    if plain(name) { name.to_owned() } else { format!("\"{}\"", escaped(name)) }
}

fn model(metric: &str, labels: &BTreeMap<String, String>) -> String {
    let mut inside: Vec<String> = labels
        .iter()
        .filter(|(_, value)| !value.is_empty())
        .map(|(name, value)| format!("{}=\"{}\"", plain_or_quoted(name), escaped(value)))
        .collect();
    if inside.is_empty() && (plain(metric) || !metric.contains("=\"")) {
        return metric.to_owned();
    }
    if plain(metric) {
        return format!("{metric}{{{}}}", inside.join(","));
    }
    inside.insert(0, plain_or_quoted(metric));
    format!("{{{}}}", inside.join(","))
}

#[test]
fn labels_in_any_order_and_form_are_one_name() {
    let mut random = Random(7);
    let mut parser = NameParser::new();
    let mut with_labels = 0;
    for _ in 0..20_000 {
        let metric = random.pick(&[
            "temp",
            "a.b",
            "motor:on",
            "ä",
            "x/y[3]",
            "t",
            "living room",
            "a\nb",
            "q\"\\",
            "!",
            "a{b=\"1\"}",
            "__name__",
            "{}",
        ]);
        let mut labels = BTreeMap::new();
        for _ in 0..random.below(5) {
            let name = random.pick(&[
                "site",
                "line",
                "a",
                "sensor_1",
                "ß",
                "x.y",
                "le",
                "data centre",
                "\"",
                "\\n",
                "\n",
                "=",
                "a,b",
            ]);
            let value: String = (0..random.below(5))
                .map(|_| random.pick(&["3", "b", "\"", "\\", "\n", ",", "}", "{", "=", "ö", " "]))
                .collect();
            labels.insert(name.to_owned(), value);
        }
        let mut listed: Vec<_> = labels.iter().collect();
        for at in (1..listed.len()).rev() {
            listed.swap(at, random.below(at + 1));
        }
        let quoted = !plain(metric) || random.below(4) == 0;
        let mut text = if quoted { String::new() } else { metric.to_owned() };
        if quoted || !listed.is_empty() || random.below(2) == 0 {
            text += random.pick(&["{", " {", "{ ", "{"]).trim_start_matches(if quoted {
                " "
            } else {
                ""
            });
            if quoted {
                text += &format!("\"{}\"", escaped(metric));
                text += if listed.is_empty() { "" } else { random.pick(&[",", " , "]) };
            }
            for (number, (name, value)) in listed.iter().enumerate() {
                let value = escaped(value);
                let value = if random.below(3) == 0 { value.replace("\\n", "\n") } else { value };
                let equals = random.pick(&["=", " = ", "= ", "="]);
                text += if number == 0 { "" } else { random.pick(&[",", ", ", " ,"]) };
                let name = match plain(name) && random.below(4) > 0 {
                    true => (*name).clone(),
                    false => format!("\"{}\"", escaped(name)),
                };
                text += &format!("{name}{equals}\"{}\"", value);
            }
            text +=
                if listed.is_empty() && !quoted { "}" } else { random.pick(&["}", ",}", " }"]) };
        }
        // A value may hold a backslash before an n, where the simple replacement above is wrong.
        if labels.iter().any(|(_, value)| value.contains('\\')) && text.contains('\n') {
            continue;
        }
        let expected = model(metric, &labels);
        assert_eq!(parser.canonical(&text), expected, "{text:?}");
        assert_eq!(parser.canonical(&expected), expected);
        // Alone and not plain it is no name but a metric all the same.
        assert!(parser.parse(&expected) || (!plain(metric) && expected == metric));
        assert_eq!(parser.metric(&expected), metric);
        let full: Vec<_> = labels.iter().filter(|(_, value)| !value.is_empty()).collect();
        assert_eq!(parser.len(), full.len());
        for (at, (name, value)) in full.into_iter().enumerate() {
            let (found, text) = parser.label_at(&expected, at).unwrap();
            assert_eq!((&*found, &*text), (name.as_str(), value.as_str()));
            with_labels += 1;
        }
    }
    println!("{with_labels} labels");
    assert!(with_labels > 10_000);
}

#[test]
fn what_is_no_name_stays_as_it_is() {
    let mut parser = NameParser::new();
    for text in [
        "",
        "a b",
        "a{",
        "a}",
        "a{}b",
        "a{x}",
        "a{x=}",
        "a{x=\"1\"",
        "a{x=\"1}",
        "a{x='1'}",
        "{}",
        "a{x=\"1\"}}",
        "a{x=\"1\" y=\"2\"}",
        "a{x=\"1\",,y=\"2\"}",
        "a{,}",
        "a{=\"1\"}",
        "a{x=\"1\",x=\"2\"}",
        "a{x=\"\\q\"}",
        "a{x=\"1\\\"}",
        "a{__name__=\"b\"}",
        " a{x=\"1\"}",
        "a{x=\"1\"} ",
        "{x=\"\"}",
        "a{x!=\"1\"}",
        "a\u{0}",
        "x y{b=\"1\",a=\"2\"}",
        "{\"\"}",
        "{\"\",x=\"1\"}",
        "{x=\"1\",\"m\"}",
        "{\"a b\",\"c d\"}",
        "a{\"b c\"}",
        "a{\"\"=\"1\"}",
        "a{\"__name__\"=\"b\"}",
        "{\"a b\"",
        "{\"a b}",
        "{a b}",
        "{\"a\\q\"}",
    ] {
        assert_eq!(parser.canonical(text), text);
        assert!(!parser.parse(text), "{text:?}");
        assert_eq!((&*parser.metric(text), parser.len()), (text, 0));
    }
    assert_eq!(parser.canonical("a{}"), "a");
    assert_eq!(parser.canonical("a{x=\"\"}"), "a");
    assert_eq!(parser.canonical("{ x=\"1\" }"), "{x=\"1\"}");
    assert!(parser.parse("motor.on") && parser.parse("control.cell[1]") && parser.parse("Ω"));
}

#[test]
fn any_text_has_a_canonical_form_that_is_its_own() {
    let mut random = Random(11);
    let parts = ["a", "{", "}", "\"", ",", "=", "\\", "n", " ", "\n", "ä", "x=\"1\"", "__name__"];
    let mut parser = NameParser::new();
    for _ in 0..100_000 {
        let text: String = (0..random.below(14)).map(|_| random.pick(&parts)).collect();
        let once = parser.canonical(&text).to_owned();
        assert_eq!(parser.canonical(&once), once, "{text:?}");
    }
}

#[test]
fn labels_without_quotes_are_seen() {
    let bare = [
        "oven{zone=1}",
        " oven { zone = 1 , row = a } ",
        "{a=b}",
        "m{a=\"x\",b=y}",
        "m{a=}",
        "a{h=\"x\",h=\"y\"}",
        "a{h=\"x\"} ",
        "a{h=\"x\"",
        "a{h=\"x\"}b",
        "a{h=\"x\"}}",
        "a{h=\"x\";g=\"y\"}",
        "a{h:\"x\"}",
        "a{h!=\"x\"}",
        "a{=\"x\"}",
        "{h=\"x\",\"a\"}",
        "{__name__=\"a\",h=\"x\"}",
        "\"a\"{h=\"x\"}",
    ];
    for bare in bare {
        assert!(has_bare_labels(bare), "{bare}");
    }
    let others = [
        "oven",
        "oven{}",
        "oven{zone=\"1\"}",
        "m{a=\"x,b=y\"}",
        "Temp {C}",
        "{\"oven{zone=1}\"}",
        "a=b",
        "x{y=z",
        "f(x)={1}",
        "{",
        "}",
        "",
        "m{a=\"x\",}",
        "{3F2504E0-4F89-11D3-9A0C-0305E82C3301}",
        "ns=2;s={a}",
        "a{b}",
    ];
    for other in others {
        assert!(!has_bare_labels(other), "{other}");
    }
}

/// What stands bare in a store is taken, where it comes in again, for a name whose labels have lost their
/// quotes; so it is written in quotes, which are the same name.
#[test]
fn a_name_that_is_written_is_declared_as_it_was() {
    let mut parser = NameParser::new();
    for (name, written) in [
        ("oven", "oven"),
        ("oven{zone=\"1\"}", "oven{zone=\"1\"}"),
        ("oven{zone=1}", "{\"oven{zone=1}\"}"),
        ("oven {zone=1} ", "{\"oven {zone=1} \"}"),
        ("a{b", "a{b"),
        ("living room", "living room"),
    ] {
        assert_eq!(written_name(name), written);
        assert!(!has_bare_labels(&written_name(name)), "{name}");
        assert_eq!(parser.canonical(written), name);
        let mut new = String::new();
        let no_labels = core::iter::empty::<(&str, &str)>();
        if name.split('{').nth(1).is_none_or(|labels| !labels.contains('"')) {
            write_name(&mut new, name, no_labels);
            assert_eq!(new, written);
        }
    }
}
