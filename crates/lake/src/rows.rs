//! Rows of the table: one for each sample, gathered to a row group and sorted by name and time.
//!
//! Runs are sorted by the id of a series, tables by its name; so rows wait until a row group is full.
//! Memory is that of one row group, whatever a run holds.
//!
//! Times in a table are microseconds, because readers know no others; `ns` has the rest.

use crate::error::Result;
use crate::names::Name;
use arrow_array::builder::{
    BooleanBuilder, Float64Builder, Int16Builder, Int32Builder, Int64Builder, StringBuilder,
};
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, MapArray, RecordBatch, StringArray, StructArray,
    TimestampMicrosecondArray, types::Int32Type,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use baro_ondisk::Type;
use baro_store::{RunRows, RunValues};
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Rows of a row group at most.
pub(crate) const GROUP_ROWS: usize = 1 << 20;
/// And series: each has a name.
const GROUP_SERIES: usize = 1 << 16;
/// And bytes of texts.
const GROUP_TEXT_BYTES: usize = 32 << 20;
/// Rows that are made columns of at once.
const BATCH_ROWS: usize = 1 << 16;

/// Samples of one series of one run.
#[derive(Debug)]
struct Group {
    name: Rc<Name>,
    kind: Type,
    order: u64,
    rows: Range<usize>,
}

/// Rows of a row group in the making.
#[derive(Debug)]
pub(crate) struct Rows {
    schema: SchemaRef,
    store: String,
    /// Of which run, series and type the last rows were.
    last: Option<(u64, u32, Type)>,
    groups: Vec<Group>,
    times_ns: Vec<i64>,
    /// Bits of numbers, or places in `texts`.
    bits: Vec<u64>,
    texts: Vec<String>,
    text_bytes: usize,
}

impl Rows {
    /// For the store of this id.
    pub(crate) fn new(store: String) -> Self {
        Rows {
            schema: schema(),
            store,
            last: None,
            groups: Vec::new(),
            times_ns: Vec::new(),
            bits: Vec::new(),
            texts: Vec::new(),
            text_bytes: 0,
        }
    }

    pub(crate) fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    /// Whether it should be written before more comes.
    pub(crate) fn is_full(&self) -> bool {
        self.times_ns.len() >= GROUP_ROWS
            || self.groups.len() >= GROUP_SERIES
            || self.text_bytes >= GROUP_TEXT_BYTES
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.times_ns.is_empty()
    }

    /// Adds samples from a place on, as many as there is room for; returns how many.
    pub(crate) fn push(
        &mut self,
        rows: &RunRows<'_>,
        from: usize,
        (run, order): (u64, u64),
        name: impl FnOnce() -> Result<Rc<Name>>,
    ) -> Result<usize> {
        let room = GROUP_ROWS.saturating_sub(self.times_ns.len());
        let times_ns = rows.times_ns.get(from..).unwrap_or(&[]);
        let times_ns = times_ns.get(..times_ns.len().min(room)).unwrap_or(times_ns);
        let of = Some((run, rows.series, rows.kind));
        if self.last != of {
            let (name, start) = (name()?, self.times_ns.len());
            self.groups.push(Group { name, kind: rows.kind, order, rows: start..start });
            self.last = of;
        }
        match rows.values {
            RunValues::Bits(bits) => {
                let bits = bits.get(from..from + times_ns.len()).unwrap_or(&[]);
                self.bits.extend_from_slice(bits);
            }
            RunValues::Text(text) => {
                self.bits.extend(times_ns.iter().map(|_| self.texts.len() as u64));
                self.text_bytes += text.len();
                self.texts.push(text.to_owned());
            }
        }
        self.times_ns.extend_from_slice(times_ns);
        if let Some(group) = self.groups.last_mut() {
            group.rows.end = self.times_ns.len();
        }
        Ok(times_ns.len())
    }

    /// Hands out what has been gathered, sorted, and is empty then. `told` gets each series with its
    /// number of rows, its first and its last time in microseconds.
    pub(crate) fn take(
        &mut self,
        mut told: impl FnMut(&str, u64, i64, i64),
        mut each: impl FnMut(RecordBatch) -> Result<()>,
    ) -> Result<()> {
        let mut groups = std::mem::take(&mut self.groups);
        // Two ids may have one name: `#7` is what an id without a declaration is called.
        let first_ns = |group: &Group| self.times_ns.get(group.rows.start).copied();
        groups.sort_by(|a, b| {
            a.name.series.cmp(&b.name.series).then_with(|| first_ns(a).cmp(&first_ns(b)))
        });
        let mut columns = Columns::default();
        for group in &groups {
            let mut rows = group.rows.clone();
            let times_ns = self.times_ns.get(rows.clone()).unwrap_or(&[]).iter();
            let bounds = (times_ns.clone().min(), times_ns.max());
            if let (Some(first_ns), Some(last_ns)) = bounds {
                let (first_us, last_us) = (first_ns.div_euclid(1000), last_ns.div_euclid(1000));
                told(&group.name.series, rows.len() as u64, first_us, last_us);
            }
            while !rows.is_empty() {
                let end = rows.end.min(rows.start + BATCH_ROWS - columns.rows());
                columns.append(self, group, rows.start..end);
                rows.start = end;
                if columns.rows() >= BATCH_ROWS {
                    each(columns.batch(&self.schema, &self.store)?)?;
                }
            }
        }
        if columns.rows() > 0 {
            each(columns.batch(&self.schema, &self.store)?)?;
        }
        (self.last, self.text_bytes) = (None, 0);
        self.times_ns.clear();
        self.bits.clear();
        self.texts.clear();
        Ok(())
    }
}

/// Columns of a record batch in the making.
#[derive(Debug, Default)]
struct Columns {
    names: Vec<Rc<Name>>,
    /// Place in `names`, for each row.
    keys: Vec<i32>,
    /// Labels of all `names`, and where those of each begin.
    labels: Vec<(Rc<Name>, usize)>,
    labels_from: Vec<i32>,
    label_keys: Int32Builder,
    label_ends: Vec<i32>,
    times_us: Vec<i64>,
    ns: Int16Builder,
    f64s: Float64Builder,
    i64s: Int64Builder,
    bools: BooleanBuilder,
    texts: StringBuilder,
    orders: Int64Builder,
}

impl Columns {
    fn rows(&self) -> usize {
        self.keys.len()
    }

    fn append(&mut self, rows: &Rows, group: &Group, range: Range<usize>) {
        let count = range.len();
        self.labels_from.push(self.labels.len() as i32);
        let of_name = (0..group.name.labels.len()).map(|at| (Rc::clone(&group.name), at));
        self.labels.extend(of_name);
        self.names.push(Rc::clone(&group.name));
        let key = self.names.len() as i32 - 1;
        self.keys.extend(std::iter::repeat_n(key, count));
        let first = self.labels_from.last().copied().unwrap_or(0);
        for _ in 0..count {
            let labels = group.name.labels.len() as i32;
            (first..first + labels).for_each(|at| self.label_keys.append_value(at));
            self.label_ends.push(self.label_keys.len_i32());
        }
        for time_ns in rows.times_ns.get(range.clone()).unwrap_or(&[]) {
            self.times_us.push(time_ns.div_euclid(1000));
            self.ns.append_value(time_ns.rem_euclid(1000) as i16);
        }
        let bits = rows.bits.get(range).unwrap_or(&[]);
        match group.kind {
            Type::F64 => bits.iter().for_each(|bits| self.f64s.append_value(f64::from_bits(*bits))),
            _ => self.f64s.append_nulls(count),
        }
        match group.kind {
            Type::Bool => bits.iter().for_each(|bits| self.bools.append_value(*bits != 0)),
            _ => self.bools.append_nulls(count),
        }
        match group.kind {
            Type::F64 | Type::Bool | Type::Text => self.i64s.append_nulls(count),
            _ => bits.iter().for_each(|bits| self.i64s.append_value(bits.cast_signed())),
        }
        for bits in bits {
            let text = (group.kind == Type::Text).then(|| rows.texts.get(*bits as usize)).flatten();
            self.texts.append_option(text);
        }
        self.orders.append_value_n(group.order.cast_signed(), count);
    }

    fn batch(&mut self, schema: &SchemaRef, store: &str) -> Result<RecordBatch> {
        let rows = self.rows();
        let keys = Int32Array::from(std::mem::take(&mut self.keys));
        let by_name = |text: fn(&Name) -> &str| -> Result<ArrayRef> {
            let texts = StringArray::from_iter_values(self.names.iter().map(|name| text(name)));
            Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(keys.clone(), Arc::new(texts))?))
        };
        let (series, metrics) = (by_name(|name| &name.series)?, by_name(|name| &name.metric)?);
        let units = by_name(|name| &name.unit)?;
        let labels = self.labels()?;
        let store = Arc::new(StringArray::from_iter_values([store]));
        let stores = DictionaryArray::<Int32Type>::try_new(Int32Array::from(vec![0; rows]), store)?;
        let times = TimestampMicrosecondArray::from(std::mem::take(&mut self.times_us));
        let columns: Vec<ArrayRef> = vec![
            series,
            metrics,
            labels,
            Arc::new(times.with_timezone("UTC")),
            Arc::new(self.ns.finish()),
            Arc::new(self.f64s.finish()),
            Arc::new(self.i64s.finish()),
            Arc::new(self.bools.finish()),
            Arc::new(self.texts.finish()),
            units,
            Arc::new(self.orders.finish()),
            Arc::new(stores),
        ];
        self.names.clear();
        self.labels_from.clear();
        Ok(RecordBatch::try_new(Arc::clone(schema), columns)?)
    }

    fn labels(&mut self) -> Result<ArrayRef> {
        let labels = std::mem::take(&mut self.labels);
        let part = |part: fn(&(String, String)) -> &str| {
            let texts = labels.iter().map(|(name, at)| name.labels.get(*at).map_or("", part));
            Arc::new(StringArray::from_iter_values(texts))
        };
        let keys = self.label_keys.finish();
        let entries: Vec<ArrayRef> = vec![
            Arc::new(DictionaryArray::<Int32Type>::try_new(keys.clone(), part(|label| &label.0))?),
            Arc::new(DictionaryArray::<Int32Type>::try_new(keys, part(|label| &label.1))?),
        ];
        let entries = StructArray::try_new(entry_fields(), entries, None)?;
        let ends = std::mem::take(&mut self.label_ends);
        let offsets = OffsetBuffer::new(std::iter::once(0).chain(ends).collect());
        Ok(Arc::new(MapArray::try_new(entry_field(), offsets, entries, None, false)?))
    }
}

/// Length as Arrow's offsets have it.
trait LenI32 {
    fn len_i32(&self) -> i32;
}

impl LenI32 for Int32Builder {
    fn len_i32(&self) -> i32 {
        arrow_array::builder::ArrayBuilder::len(self) as i32
    }
}

fn words() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

fn entry_fields() -> Fields {
    [Field::new("key", words(), false), Field::new("value", words(), false)].into_iter().collect()
}

fn entry_field() -> Arc<Field> {
    Arc::new(Field::new("key_value", DataType::Struct(entry_fields()), false))
}

/// The columns, in the order of the table.
fn schema() -> SchemaRef {
    let time = DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        Field::new("series", words(), false),
        Field::new("metric", words(), false),
        Field::new("labels", DataType::Map(entry_field(), false), false),
        Field::new("time", time, false),
        Field::new("ns", DataType::Int16, false),
        Field::new("value", DataType::Float64, true),
        Field::new("value_i64", DataType::Int64, true),
        Field::new("value_bool", DataType::Boolean, true),
        Field::new("value_text", DataType::Utf8, true),
        Field::new("unit", words(), false),
        Field::new("sequence", DataType::Int64, false),
        Field::new("store", words(), false),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int16Type, Int64Type, TimestampMicrosecondType};

    #[test]
    fn values_and_times_at_their_ends_keep_each_bit_and_types_stay_apart() {
        let mut rows = Rows::new("7".to_owned());
        let name = |series: &str| {
            let (series, metric) = (series.to_owned(), String::new());
            Ok(Rc::new(Name { series, metric, labels: Vec::new(), unit: String::new() }))
        };
        let times_ns = [i64::MIN, -1, 0, i64::MAX];
        let floats = [f64::NAN, f64::INFINITY, -0.0, f64::MIN_POSITIVE / 2.0].map(f64::to_bits);
        let whole = [i64::MIN, i64::MAX, -1, 0].map(i64::cast_unsigned);
        let mut push = |series, kind, times_ns: &[i64], values: RunValues<'_>| {
            let found = RunRows { series, kind, times_ns, values };
            assert_eq!(rows.push(&found, 0, (1, 1), || name("x{")).expect("room"), times_ns.len());
        };
        push(1, Type::F64, &times_ns, RunValues::Bits(&floats));
        // The same id in another type is no continuation.
        push(1, Type::I64, &times_ns, RunValues::Bits(&whole));
        push(1, Type::Text, &times_ns[..1], RunValues::Text("a\0b"));
        let (mut told, mut batches) = (Vec::new(), Vec::new());
        let tell =
            |series: &str, rows, first, last| told.push((series.to_owned(), rows, first, last));
        rows.take(tell, |batch| {
            batches.push(batch);
            Ok(())
        })
        .expect("taken");
        let (first_us, last_us) = (i64::MIN.div_euclid(1000), i64::MAX / 1000);
        let counts: Vec<_> = told.iter().map(|one| (one.0.as_str(), one.1)).collect();
        assert_eq!(counts, [("x{", 4), ("x{", 4), ("x{", 1)]);
        assert_eq!((told[0].2, told[0].3), (first_us, last_us));
        let [batch] = batches.as_slice() else { panic!("one batch") };
        let column = |name: &str| batch.column_by_name(name).expect("there");
        let values = column("value").as_primitive::<Float64Type>();
        assert_eq!([0, 1, 2, 3].map(|at| values.value(at).to_bits()), floats);
        let numbers = column("value_i64").as_primitive::<Int64Type>();
        assert_eq!([4, 5, 6, 7].map(|at| numbers.value(at).cast_unsigned()), whole);
        assert_eq!(column("value_text").as_string::<i32>().value(8), "a\0b");
        assert_eq!((values.null_count(), numbers.null_count()), (5, 5));
        let times = column("time").as_primitive::<TimestampMicrosecondType>();
        let rest = column("ns").as_primitive::<Int16Type>();
        let whole_ns = |at| i128::from(times.value(at)) * 1000 + i128::from(rest.value(at));
        assert_eq!([0, 1, 2, 3].map(whole_ns), times_ns.map(i128::from));
    }
}
