//! Names of OpenTelemetry as those of series, the way Prometheus translates them by default: what is no letter,
//! digit or underscore becomes an underscore, the unit stands behind the name in words, and behind that of a
//! counter `total`.
//!
//! A name with dots would need quotes in PromQL, and a dot means the field of a channel in a selector. Rules and
//! dashboards that were made for Prometheus find the names that they know.

use std::borrow::Cow;

/// What a metric is, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Gauge,
    /// A sum that only rises.
    Counter,
    Other,
}

/// Units of UCUM as words.
const UNITS: [(&str, &str); 25] = [
    ("d", "days"),
    ("h", "hours"),
    ("min", "minutes"),
    ("s", "seconds"),
    ("ms", "milliseconds"),
    ("us", "microseconds"),
    ("ns", "nanoseconds"),
    ("By", "bytes"),
    ("KiBy", "kibibytes"),
    ("MiBy", "mebibytes"),
    ("GiBy", "gibibytes"),
    ("TiBy", "tebibytes"),
    ("kBy", "kilobytes"),
    ("KBy", "kilobytes"),
    ("MBy", "megabytes"),
    ("GBy", "gigabytes"),
    ("TBy", "terabytes"),
    ("m", "meters"),
    ("V", "volts"),
    ("A", "amperes"),
    ("J", "joules"),
    ("W", "watts"),
    ("g", "grams"),
    ("Cel", "celsius"),
    ("Hz", "hertz"),
];

/// The same behind a slash.
const PER: [(&str, &str); 7] = [
    ("s", "second"),
    ("m", "minute"),
    ("h", "hour"),
    ("d", "day"),
    ("w", "week"),
    ("mo", "month"),
    ("y", "year"),
];

fn is_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric()
}

/// The words of a unit; none of what stands in braces, which is a remark.
fn words(unit: &str, known: &[(&str, &'static str)]) -> String {
    let unit = unit.trim();
    let word = match unit {
        "1" => "",
        "%" => "percent",
        unit if unit.contains(['{', '}']) => "",
        unit => known.iter().find(|(ucum, _)| *ucum == unit).map_or(unit, |(_, word)| *word),
    };
    let parts = word.split(|c| !is_letter(c)).filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join("_")
}

/// The name of a metric's series; `None`: nothing is left of it.
pub(super) fn metric(name: &str, unit: &str, role: Role) -> Option<String> {
    let is_part = |letter: char| is_letter(letter) || letter == ':';
    let mut parts: Vec<&str> =
        name.split(|c| !is_part(c)).filter(|part| !part.is_empty()).collect();
    let (main, per) = unit.split_once('/').unwrap_or((unit, ""));
    let (main, per) = (words(main, &UNITS), words(per, &PER));
    let per = if per.is_empty() { per } else { format!("per_{per}") };
    for one in [main.as_str(), per.as_str()] {
        if !one.is_empty() && !parts.contains(&one) {
            parts.push(one);
        }
    }
    let last = match role {
        Role::Counter => "total",
        Role::Gauge if unit == "1" => "ratio",
        Role::Gauge | Role::Other => "",
    };
    if !last.is_empty() && !parts.is_empty() {
        parts.retain(|part| *part != last);
        parts.push(last);
    }
    let mut found = parts.join("_");
    if found.starts_with(|first: char| first.is_ascii_digit()) {
        found.insert(0, '_');
    }
    (!found.is_empty()).then_some(found)
}

/// The name of an attribute as that of a label; `None`: nothing is left of it.
pub(super) fn label(key: &str) -> Option<Cow<'_, str>> {
    let is_part = |letter: char| is_letter(letter) || letter == '_';
    if key.chars().all(|letter| !is_letter(letter)) {
        return None;
    }
    if key.chars().all(is_part) && !key.starts_with(|c: char| c == '_' || c.is_ascii_digit()) {
        return Some(key.into());
    }
    let parts: String = key.chars().map(|c| if is_part(c) { c } else { '_' }).collect();
    let before = match parts.as_bytes() {
        [b'_', b'_', ..] => "",
        [b'_', ..] => "key",
        [b'0'..=b'9', ..] => "key_",
        _ => "",
    };
    Some(format!("{before}{parts}").into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_that_prometheus_makes() {
        let name = |name, unit, role| metric(name, unit, role).unwrap_or_default();
        assert_eq!(
            name("http.server.request.duration", "s", Role::Other),
            "http_server_request_duration_seconds"
        );
        assert_eq!(name("requests", "{request}", Role::Counter), "requests_total");
        assert_eq!(name("total.sent", "By", Role::Counter), "sent_bytes_total");
        assert_eq!(name("memory_bytes", "By", Role::Gauge), "memory_bytes");
        assert_eq!(name("cpu.utilization", "1", Role::Gauge), "cpu_utilization_ratio");
        assert_eq!(name("share", "1", Role::Other), "share");
        assert_eq!(name("share", "%", Role::Gauge), "share_percent");
        assert_eq!(name("net.rate", "By/s", Role::Gauge), "net_rate_bytes_per_second");
        assert_eq!(name("speed", "{turns}/m", Role::Gauge), "speed_per_minute");
        assert_eq!(name("(lambda).executions(#)", "", Role::Other), "lambda_executions");
        assert_eq!(name("__a__b__", "", Role::Other), "a_b");
        assert_eq!(name("5xx:rate", "m^2", Role::Other), "_5xx:rate_m_2");
        assert_eq!(name("\u{e9}", "", Role::Counter), "");
    }

    #[test]
    fn labels_are_those_that_prometheus_makes() {
        let made = |key| label(key).map(Cow::into_owned).unwrap_or_default();
        assert_eq!(made("site"), "site");
        assert_eq!(made("http.method"), "http_method");
        assert_eq!(made("5xx"), "key_5xx");
        assert_eq!(made("_a"), "key_a");
        assert_eq!(made("__a.b"), "__a_b");
        assert_eq!(made("gr\u{f6}\u{df}e"), "gr__e");
        assert_eq!((made(""), made("\u{65e5}")), (String::new(), String::new()));
    }
}
