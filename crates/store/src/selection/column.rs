//! The columns of what is read: a series, a channel's frames, or a field of frames as a series of its
//! own, `channel.field` or `channel.field[2]`. Pure: made of declarations and layouts.
//!
//! Invariant: a field is a series like any other. Held by `tests/points.rs`.

use super::ValueType;
use crate::{Aggregate, Every};
use baro_ondisk::{Declaration, Layout};

/// One selected series, or one channel of frames.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Id of the series, or of the channel that the field is in.
    pub id: u32,
    /// Name, of a field `channel.field`.
    pub name: String,
    /// Unit of the values, may be empty.
    pub unit: String,
    /// Type of its values; `None` of a channel's frames, which are bytes.
    pub kind: Option<ValueType>,
    field: Option<(usize, usize)>,
    elements: Option<usize>,
}

impl Column {
    /// Of a series, or of a channel with its frames as they are.
    #[must_use]
    pub fn of(declared: &Declaration<'_>) -> Self {
        whole(declared)
    }

    /// Of all fields of a channel; none without a layout.
    #[must_use]
    pub fn fields_of(declared: &Declaration<'_>) -> Vec<Self> {
        let layout = declared.layout.as_deref();
        layout.map_or_else(Vec::new, |layout| fields(declared.id, declared.name, layout))
    }

    /// Of a field: its number in the layout, and the element of an array (0 of a single value).
    #[must_use]
    pub fn field(&self) -> Option<(usize, usize)> {
        self.field
    }

    /// Whether it has samples; else it is a channel's frames or a field of them.
    #[must_use]
    pub fn is_series(&self) -> bool {
        self.field.is_none() && !self.is_frames()
    }

    /// Whether it is a channel's frames as they are.
    #[must_use]
    pub fn is_frames(&self) -> bool {
        self.kind.is_none()
    }

    /// The name of its type in output: `f64`, `i64`, `u64`, `bool`, `text`, or `frame`.
    #[must_use]
    pub fn kind_name(&self) -> &'static str {
        self.kind.map_or("frame", ValueType::name)
    }

    /// Type of what a query hands out of it: of its values, or of what they are folded into. `None`
    /// if it has nothing to hand out.
    #[must_use]
    pub fn handed_out(&self, every: Option<Every>) -> Option<ValueType> {
        every.map_or(self.kind, |every| self.folded(every.aggregate))
    }

    /// Type of what its values are folded into; `None` if they have no such aggregate.
    #[must_use]
    pub fn folded(&self, aggregate: Aggregate) -> Option<ValueType> {
        aggregate.result(self.kind?)
    }

    /// Of an element of an array: how many elements it has.
    #[must_use]
    pub fn array_elements(&self) -> Option<usize> {
        self.elements
    }
}

fn kind_of_field(layout: &Layout, at: usize) -> (ValueType, String) {
    let Some(field) = layout.fields().get(at) else { return (ValueType::F64, String::new()) };
    use baro_ondisk::FieldType as T;
    let kind = match field.kind {
        T::Bool => ValueType::Bool,
        T::F32 | T::F64 => ValueType::F64,
        _ if field.is_scaled() => ValueType::F64,
        T::U64 => ValueType::U64,
        T::U8 | T::U16 | T::U32 | T::I8 | T::I16 | T::I32 | T::I64 => ValueType::I64,
    };
    (kind, field.unit.clone())
}

/// Of a series, or of a channel with its frames as they are.
pub(crate) fn whole(declared: &Declaration<'_>) -> Column {
    Column {
        id: declared.id,
        name: declared.name.to_owned(),
        unit: declared.unit.to_owned(),
        kind: ValueType::of(declared.kind),
        field: None,
        elements: None,
    }
}

/// Of one field: its number in the layout and the element of an array.
pub(crate) fn field(
    id: u32,
    channel: &str,
    layout: &Layout,
    (at, element): (usize, usize),
) -> Column {
    let (kind, unit) = kind_of_field(layout, at);
    let name = layout.fields().get(at).map_or("", |field| field.name.as_str());
    let elements = layout.fields().get(at).and_then(|field| field.elements).map(usize::from);
    let name = if elements.is_some() {
        format!("{channel}.{name}[{element}]")
    } else {
        format!("{channel}.{name}")
    };
    Column { id, name, unit, kind: Some(kind), field: Some((at, element)), elements }
}

/// Of all fields of a channel.
pub(crate) fn fields(id: u32, channel: &str, layout: &Layout) -> Vec<Column> {
    let values = layout.fields().iter().enumerate();
    let places = values.flat_map(|(at, field)| (0..field.values()).map(move |e| (at, e)));
    places.map(|place| field(id, channel, layout, place)).collect()
}
