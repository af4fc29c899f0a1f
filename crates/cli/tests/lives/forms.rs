//! What each form of rows says, as one map.

use crate::{Key, Shown, number};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type, TimestampNanosecondType, UInt64Type};
use arrow_array::{Array, RecordBatch};

/// A frame as it is: channel, time, bytes.
pub(crate) type Frame = (String, i64, Vec<u8>);

pub(crate) fn add(shown: &mut Shown, form: &str, key: Key, value: String) {
    let before = shown.insert(key.clone(), value);
    assert!(before.is_none(), "{form}: {key:?} comes twice");
}

/// The value of a row of a record batch.
fn value(batch: &RecordBatch, row: usize) -> Option<String> {
    batch.columns().iter().skip(2).find_map(|column| {
        (!column.is_null(row)).then(|| match column.data_type() {
            arrow_schema::DataType::Float64 => {
                number(column.as_primitive::<Float64Type>().value(row))
            }
            arrow_schema::DataType::Int64 => {
                column.as_primitive::<Int64Type>().value(row).to_string()
            }
            arrow_schema::DataType::UInt64 => {
                column.as_primitive::<UInt64Type>().value(row).to_string()
            }
            arrow_schema::DataType::Boolean => column.as_boolean().value(row).to_string(),
            _ => column.as_string::<i32>().value(row).to_owned(),
        })
    })
}

pub(crate) fn of_batches(form: &str, batches: impl Iterator<Item = RecordBatch>) -> Shown {
    let mut shown = Shown::new();
    for batch in batches {
        let names = batch.column(0).as_dictionary::<Int32Type>();
        let names = names.downcast_dict::<arrow_array::StringArray>().unwrap();
        let times = batch.column(1).as_primitive::<TimestampNanosecondType>();
        for row in 0..batch.num_rows() {
            let name = arrow_array::ArrayAccessor::value(&names, row).to_owned();
            add(&mut shown, form, (name, times.value(row)), value(&batch, row).unwrap());
        }
    }
    shown
}

/// Lines of CSV: a text has no line break here, and a name no comma.
pub(crate) fn of_csv(form: &str, bytes: &[u8]) -> Shown {
    let mut shown = Shown::new();
    let mut lines = std::str::from_utf8(bytes).unwrap().lines();
    let typed = lines.next().is_some_and(|header| header.ends_with(",value_type"));
    for line in lines {
        if line.starts_with('#') {
            continue;
        }
        let (time, rest) = line.split_once(',').unwrap();
        let (name, value) = match rest.strip_prefix('"') {
            Some(rest) => {
                let (name, value) = rest.split_once("\",").unwrap();
                (name.replace("\"\"", "\""), value)
            }
            None => {
                let (name, value) = rest.split_once(',').unwrap();
                (name.to_owned(), value)
            }
        };
        let value = if typed { value.rsplit_once(',').unwrap().0 } else { value };
        let value = match value.strip_prefix('"') {
            Some(text) => text.strip_suffix('"').unwrap().replace("\"\"", "\""),
            None if value.parse::<i128>().is_ok() || value.parse::<bool>().is_ok() => {
                value.to_owned()
            }
            None => number(value.parse().unwrap()),
        };
        add(&mut shown, form, (name, time.parse().unwrap()), value);
    }
    shown
}

fn of_json(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(found) if found.is_f64() => number(found.as_f64().unwrap()),
        other => other.to_string(),
    }
}

/// Objects, one a line; frames have their bytes in hexadecimal.
pub(crate) fn of_lines(form: &str, bytes: &[u8]) -> (Shown, Vec<Frame>) {
    let (mut shown, mut frames) = (Shown::new(), Vec::new());
    for line in std::str::from_utf8(bytes).unwrap().lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        let time_ns = row["time_ns"].as_i64().unwrap();
        if let Some(hex) = row["hex"].as_str() {
            let half = |digit: u8| char::from(digit).to_digit(16).unwrap() as u8;
            let bytes = hex.as_bytes().chunks_exact(2);
            let bytes = bytes.map(|two| half(two[0]) << 4 | half(two[1])).collect();
            frames.push((row["channel"].as_str().unwrap().to_owned(), time_ns, bytes));
        } else if row["note"].is_null() {
            let name = row["series"].as_str().unwrap().to_owned();
            add(&mut shown, form, (name, time_ns), of_json(&row["value"]));
        }
    }
    (shown, frames)
}

/// The messages of samples and fields; and frames as they are.
pub(crate) fn of_mcap(bytes: &[u8]) -> (Shown, Vec<Frame>) {
    let (mut shown, mut frames) = (Shown::new(), Vec::new());
    for message in mcap::MessageStream::new(bytes).unwrap() {
        let message = message.unwrap();
        let (topic, time_ns) = (message.channel.topic.clone(), message.log_time as i64);
        if message.channel.schema.is_none() {
            frames.push((topic, time_ns, message.data.to_vec()));
            continue;
        }
        if topic == "baro/notes" {
            continue;
        }
        let object: serde_json::Value = serde_json::from_slice(&message.data).unwrap();
        for (key, value) in object.as_object().unwrap() {
            let name = if key == "value" { topic.clone() } else { format!("{topic}.{key}") };
            add(&mut shown, "mcap", (name, time_ns), of_json(value));
        }
    }
    (shown, frames)
}
