//! Parquet as others write it: long with columns of labels, and wide.

use crate::Written;
use crate::model::{Model, Random, Sample, Shown, Value};
use crate::writers::note;
use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampNanosecondArray,
};
use baro_ondisk::write_name;
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

fn file(columns: Vec<(String, ArrayRef)>) -> Vec<u8> {
    let columns = columns.into_iter().map(|(name, column)| (name, column, true));
    let batch = RecordBatch::try_from_iter_with_nullable(columns).unwrap();
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(700))
        .build();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch).unwrap();
    writer.into_inner().unwrap()
}

/// The columns of values by type.
fn values<'a>(values: impl Iterator<Item = Option<&'a Value>> + Clone) -> [ArrayRef; 4] {
    let of = values;
    let floats = of.clone().map(|value| match value {
        Some(Value::Float(bits)) => Some(f64::from_bits(*bits)),
        _ => None,
    });
    let integers = of.clone().map(|value| match value {
        Some(Value::Integer(value)) => Some(*value),
        _ => None,
    });
    let truths = of.clone().map(|value| match value {
        Some(Value::Boolean(value)) => Some(*value),
        _ => None,
    });
    let texts = of.map(|value| match value {
        Some(Value::Text(text)) => Some(text.as_str()),
        _ => None,
    });
    [
        Arc::new(floats.collect::<Float64Array>()),
        Arc::new(integers.collect::<Int64Array>()),
        Arc::new(truths.collect::<BooleanArray>()),
        Arc::new(texts.collect::<StringArray>()),
    ]
}

/// What a column may not be called: it has a meaning then.
fn is_taken(name: &str) -> bool {
    let name = name.trim().to_lowercase();
    name.starts_with("time") || name.starts_with("value")
}

pub(crate) fn long(model: &Model, _: &mut Random) -> Written {
    let (mut shown, mut rows) = (Shown::new(), Vec::new());
    for sample in &model.samples {
        let series = &model.series[sample.at];
        if matches!(sample.value, Value::TooLarge(_))
            || series.labels.keys().any(|key| is_taken(key))
        {
            continue;
        }
        note(&mut shown, series, sample.time_ns, sample.value.clone());
        rows.push((series, sample));
    }
    let keys: BTreeSet<&String> =
        rows.iter().flat_map(|(series, _)| series.labels.keys()).collect();
    let names = rows.iter().map(|(series, _)| {
        let mut name = String::new();
        write_name(&mut name, &series.metric(), std::iter::empty::<(&str, &str)>());
        Some(name)
    });
    let names: ArrayRef = Arc::new(names.collect::<StringArray>());
    let times = rows.iter().map(|(_, sample)| sample.time_ns);
    let times: ArrayRef =
        Arc::new(TimestampNanosecondArray::from_iter_values(times).with_timezone("UTC"));
    let mut columns = vec![("series".to_owned(), names), ("time".to_owned(), times)];
    for key in keys {
        let labels = rows.iter().map(|(series, _)| series.labels.get(key));
        columns.push((key.clone(), Arc::new(labels.collect::<StringArray>())));
    }
    let of = values(rows.iter().map(|(_, sample)| Some(&sample.value)));
    let said = ["value_f64", "value_i64", "value_bool", "value_text"].map(str::to_owned);
    columns.extend(said.into_iter().zip(of));
    Written { name: "a.parquet", options: Vec::new(), bytes: file(columns), shown, refused: 0 }
}

pub(crate) fn wide(model: &Model, _: &mut Random) -> Written {
    // One row for each time: a column has no other place for two values.
    let mut rows: BTreeMap<i64, BTreeMap<String, &Value>> = BTreeMap::new();
    let (mut shown, mut kinds) = (Shown::new(), BTreeMap::new());
    for Sample { at, time_ns, value } in &model.samples {
        let series = &model.series[*at];
        // Texts may be labels there, so they are refused until that is said.
        if matches!(value, Value::TooLarge(_) | Value::Text(_)) {
            continue;
        }
        note(&mut shown, series, *time_ns, value.clone());
        rows.entry(*time_ns).or_default().insert(series.name(), value);
        kinds.insert(series.name(), series.kind());
    }
    let times = rows.keys().copied();
    let times: ArrayRef = Arc::new(TimestampNanosecondArray::from_iter_values(times));
    let mut columns = vec![("time".to_owned(), times)];
    for (name, kind) in kinds {
        let cells = rows.values().map(|row| row.get(&name).copied());
        let of = values(cells);
        columns.push((name, of[kind].clone()));
    }
    // Its times have no zone.
    let options = vec!["--zone", "UTC"];
    Written { name: "wide.parquet", options, bytes: file(columns), shown, refused: 0 }
}
