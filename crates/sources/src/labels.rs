//! Labels that stand beside a name, in columns or keys of their own, put into it.

use baro_ondisk::{NameParser, write_name};
use std::borrow::Cow;
use std::collections::BTreeMap;

/// A name with these labels beside those that it has; the label that it would have twice is the error.
pub(crate) fn labelled<'n>(
    parser: &mut NameParser,
    name: Cow<'n, str>,
    labels: &mut BTreeMap<String, String>,
) -> Result<Cow<'n, str>, String> {
    if labels.is_empty() {
        return Ok(name);
    }
    parser.parse(&name);
    for at in 0..parser.len() {
        let Some((key, value)) = parser.label_at(&name, at) else { continue };
        if labels.insert(key.to_string(), value.into_owned()).is_some() {
            return Err(key.into_owned());
        }
    }
    let mut text = String::new();
    write_name(&mut text, &parser.metric(&name), labels.iter());
    Ok(text.into())
}
