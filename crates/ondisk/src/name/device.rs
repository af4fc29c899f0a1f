//! Keys and columns that are called as devices or their numbers are: one rule for CSV, JSON and Parquet.

/// What is called so is not measured.
const THINGS: [&str; 8] =
    ["device", "sensor", "machine", "station", "node", "host", "asset", "serial"];

/// Whether something is called as a device or its number is: `device`, `id`, `sensor_id`, `deviceId`. A column or
/// key of this name hardly has values, but says of which of several devices the others are.
#[must_use]
pub fn is_called_id(name: &str) -> bool {
    if THINGS.iter().any(|thing| name.eq_ignore_ascii_case(thing)) {
        return true;
    }
    let Some(at) = name.len().checked_sub(2).filter(|at| name.is_char_boundary(*at)) else {
        return false;
    };
    let (head, tail) = name.split_at(at);
    match head.chars().next_back() {
        None | Some('_' | '-' | ' ' | '.') => tail.eq_ignore_ascii_case("id"),
        Some(last) => last.is_ascii_lowercase() && matches!(tail, "Id" | "ID"),
    }
}
