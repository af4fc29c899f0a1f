//! Attributes as labels, and what a resource's attributes become.

use super::fault::Wrong;
use super::{NAME_BYTES_MAX, bytes, fields, names, text};
use crate::protobuf::Value;
use baro_ondisk::write_name;
use std::borrow::Cow;

/// Attributes of a point.
pub(super) const ATTRIBUTES_MAX: usize = 256;
/// Bytes of their names and values together: four times what the longest name has.
pub(super) const LABEL_BYTES_MAX: usize = 4 * NAME_BYTES_MAX;
/// Bytes of an attribute that has others in it, which takes memory before it is a text.
const NESTED_BYTES_MAX: usize = 4 * LABEL_BYTES_MAX;

/// Name and value.
pub(super) type Label<'m> = (Cow<'m, str>, Cow<'m, str>);

/// Attributes of a message as labels, by rising name; `taken` are names that they may not have.
///
/// Two whose names become one have both values, as in Prometheus. One with the name of a label that a series
/// has anyhow is `exported_`, as what Prometheus scrapes.
pub(super) fn labels<'m>(
    attributes: impl Iterator<Item = &'m [u8]>,
    taken: impl Fn(&str) -> bool,
    labels: &mut Vec<Label<'m>>,
) -> Result<(), Wrong> {
    let mut found: Vec<(&str, Cow<'m, str>)> = Vec::new();
    let mut length = 0;
    for attribute in attributes {
        let (key, value) = pair(attribute);
        let value = shown(value)?;
        length += key.len() + value.len();
        if found.len() >= ATTRIBUTES_MAX {
            return Err(Wrong::ManyAttributes);
        }
        if length > LABEL_BYTES_MAX {
            return Err(Wrong::LongAttributes);
        }
        found.push((key, value));
    }
    found.sort_unstable();
    if found.windows(2).any(|pair| matches!(pair, [(a, _), (b, _)] if a == b)) {
        return Err(Wrong::TwiceKey);
    }
    labels.clear();
    for (key, value) in found {
        let name = names::label(key).ok_or(Wrong::NoKey)?;
        let name = if taken(&name) || name == "__name__" {
            Cow::Owned(format!("exported_{name}"))
        } else {
            name
        };
        labels.push((name, value));
    }
    labels.sort_by(|(a, _), (b, _)| a.cmp(b));
    labels.dedup_by(|(name, value), (first, values)| {
        let same = name == first;
        if same {
            let values = values.to_mut();
            values.push(';');
            values.push_str(value);
        }
        same
    });
    // What has no name cannot be asked for by it.
    labels.retain(|(name, value)| !name.is_empty() && !value.is_empty());
    Ok(())
}

/// Key and value of an attribute.
fn pair(attribute: &[u8]) -> (&str, &[u8]) {
    let (mut key, mut value) = ("", &[][..]);
    for (number, found) in fields(attribute) {
        match number {
            1 => key = text(found),
            2 => value = bytes(found),
            _ => {}
        }
    }
    (key, value)
}

/// A value as a text: as it stands, or, where it has others in it, as JSON.
fn shown(value: &[u8]) -> Result<Cow<'_, str>, Wrong> {
    let Some((number, found)) = fields(value).filter(|(number, _)| *number <= 7).last() else {
        return Ok(Cow::Borrowed(""));
    };
    Ok(match (number, found) {
        (1, found) => text(found).into(),
        (2, Value::Varint(truth)) => (truth != 0).to_string().into(),
        (3, Value::Varint(integer)) => integer.cast_signed().to_string().into(),
        (4, Value::Fixed64(bits)) => f64::from_bits(bits).to_string().into(),
        _ if bytes(found).len() > NESTED_BYTES_MAX => return Err(Wrong::LongAttributes),
        (7, found) => base64(bytes(found)).into(),
        _ => json(value).to_string().into(),
    })
}

/// A value as JSON. How deep it goes has been checked.
fn json(value: &[u8]) -> serde_json::Value {
    use serde_json::Value as Json;
    match fields(value).filter(|(number, _)| *number <= 7).last() {
        Some((1, found)) => text(found).into(),
        Some((2, Value::Varint(truth))) => (truth != 0).into(),
        Some((3, Value::Varint(integer))) => integer.cast_signed().into(),
        Some((4, Value::Fixed64(bits))) => match f64::from_bits(bits) {
            value if value.is_finite() => value.into(),
            // JSON has none of these, and as nothing they would be one.
            value => value.to_string().into(),
        },
        Some((5, list)) => fields(bytes(list))
            .filter(|(number, _)| *number == 1)
            .map(|(_, one)| json(bytes(one)))
            .collect(),
        Some((6, list)) => fields(bytes(list))
            .filter(|(number, _)| *number == 1)
            .map(|(_, one)| {
                let (key, value) = pair(bytes(one));
                (key, json(value))
            })
            .collect(),
        Some((7, found)) => base64(bytes(found)).into(),
        _ => Json::Null,
    }
}

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Bytes of base64 in any of its forms, as protobuf in JSON allows them: of URLs too, and without the signs at the
/// end. `None`: it is none.
pub(super) fn from_base64(text: &str) -> Option<Vec<u8>> {
    let letters = text.trim_end_matches('=');
    if text.len() - letters.len() > 2 || letters.len() % 4 == 1 {
        return None;
    }
    let mut found = Vec::with_capacity(letters.len() * 3 / 4);
    let (mut word, mut bits) = (0_u32, 0_u32);
    for letter in letters.bytes() {
        let letter = match letter {
            b'-' => b'+',
            b'_' => b'/',
            other => other,
        };
        let place = BASE64.iter().position(|other| *other == letter)?;
        word = word << 6 | u32::try_from(place).ok()?;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            found.push((word >> bits) as u8);
        }
    }
    Some(found)
}

pub(super) fn base64(bytes: &[u8]) -> String {
    let mut found = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let byte = |at: usize| u32::from(three.get(at).copied().unwrap_or(0));
        let word = byte(0) << 16 | byte(1) << 8 | byte(2);
        for (at, shift) in [18, 12, 6, 0].into_iter().enumerate() {
            let letter = BASE64.get((word >> shift & 63) as usize).copied().unwrap_or(b'=');
            found.push(if at > three.len() { '=' } else { char::from(letter) });
        }
    }
    found
}

/// What a resource's attributes become.
#[derive(Debug, Default)]
pub(super) struct Resource {
    pub(super) job: Option<String>,
    pub(super) instance: Option<String>,
    /// The series that tells of it, until one of its points has been taken.
    pub(super) info: Option<String>,
    /// Its attributes are too long for that, or cannot be told apart.
    pub(super) is_long: bool,
    /// What is wrong with job or instance, so that its points have no names.
    pub(super) wrong: Option<Wrong>,
}

/// The attributes that job and instance are made of.
const IDENTIFYING: [&str; 3] = ["service.name", "service.namespace", "service.instance.id"];

impl Resource {
    pub(super) fn of<'m>(resources: impl Iterator<Item = &'m [u8]> + Clone) -> Self {
        let attributes = || {
            let all = resources.clone().flat_map(fields);
            all.filter(|(number, _)| *number == 1).map(|(_, value)| bytes(value))
        };
        let (mut length, mut is_twice) = (0, false);
        let [name, namespace, instance] = IDENTIFYING.map(|wanted| {
            let mut found = attributes().map(pair).filter(|(key, _)| *key == wanted);
            let (_, first) = found.next()?;
            // Of two nobody knows which one is meant.
            is_twice |= found.next().is_some();
            let Ok(first) = shown(first) else {
                length = LABEL_BYTES_MAX + 1;
                return None;
            };
            length += first.len();
            (length <= LABEL_BYTES_MAX).then(|| first.into_owned())
        });
        // A namespace tells resources apart too, if the name is empty.
        let job = name.map(|name| match namespace.filter(|namespace| !namespace.is_empty()) {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name,
        });
        let [job, instance] = [job, instance].map(|found| found.filter(|found| !found.is_empty()));
        let wrong = match () {
            () if length > LABEL_BYTES_MAX => Some(Wrong::LongResource),
            () if is_twice => Some(Wrong::TwiceResource),
            () => None,
        };
        let mut resource = Resource { job, instance, wrong, ..Resource::default() };
        if resource.job.is_none() && resource.instance.is_none() {
            return resource;
        }
        let others = attributes().filter(|one| !IDENTIFYING.contains(&pair(one).0));
        let mut found = Vec::new();
        match labels(others, |name| resource.takes(name), &mut found) {
            Ok(()) if found.is_empty() => {}
            Ok(()) => {
                let mut name = String::new();
                resource.add(&mut found);
                found.sort();
                write_name(&mut name, "target_info", found.iter().map(|(a, b)| (a, b)));
                resource.is_long = name.len() > NAME_BYTES_MAX;
                resource.info = (!resource.is_long).then_some(name);
            }
            Err(_) => resource.is_long = true,
        }
        resource
    }

    /// Whether a label of this name is the resource's.
    pub(super) fn takes(&self, name: &str) -> bool {
        (name == "job" && self.job.is_some()) || (name == "instance" && self.instance.is_some())
    }

    /// Adds its labels, at the end.
    pub(super) fn add<'m>(&self, labels: &mut Vec<Label<'m>>) {
        for (name, value) in [("instance", &self.instance), ("job", &self.job)] {
            if let Some(value) = value {
                labels.push((name.into(), value.clone().into()));
            }
        }
    }
}
