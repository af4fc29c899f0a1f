//! The messages of OTLP metrics that are read, as tables: a field has one row, from which both protobuf is
//! checked and JSON is understood. What has no row is passed over in both.

/// A message.
#[derive(Debug)]
pub(super) struct Message {
    /// As the protocol calls it.
    pub(super) name: &'static str,
    pub(super) fields: &'static [Field],
}

/// A field of a message.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u8,
    /// Its key in JSON.
    pub(super) key: &'static str,
    pub(super) kind: Kind,
}

/// What a field holds.
#[derive(Debug)]
pub(super) enum Kind {
    Text,
    /// Bytes, in JSON as base64.
    Bytes,
    Bool,
    /// An unsigned integer of 32 bits.
    Uint32,
    /// An integer of variable length.
    Int64,
    /// An unsigned integer of eight bytes.
    Fixed64,
    /// A signed one.
    Sfixed64,
    Double,
    /// One of these, by its place.
    Enum(&'static [&'static str]),
    One(&'static Message),
    Many(&'static Message),
    /// A list of unsigned integers of eight bytes.
    Fixed64s,
    Doubles,
}

const fn field(number: u8, key: &'static str, kind: Kind) -> Field {
    Field { number, key, kind }
}

/// Places of `aggregationTemporality`.
pub(super) const CUMULATIVE: u64 = 2;
const TEMPORALITY: Kind = Kind::Enum(&[
    "AGGREGATION_TEMPORALITY_UNSPECIFIED",
    "AGGREGATION_TEMPORALITY_DELTA",
    "AGGREGATION_TEMPORALITY_CUMULATIVE",
]);

pub(super) static REQUEST: Message = Message {
    name: "ExportMetricsServiceRequest",
    fields: &[field(1, "resourceMetrics", Kind::Many(&RESOURCE_METRICS))],
};

static RESOURCE_METRICS: Message = Message {
    name: "ResourceMetrics",
    fields: &[
        field(1, "resource", Kind::One(&RESOURCE)),
        field(2, "scopeMetrics", Kind::Many(&SCOPE_METRICS)),
    ],
};

static RESOURCE: Message =
    Message { name: "Resource", fields: &[field(1, "attributes", Kind::Many(&KEY_VALUE))] };

static SCOPE_METRICS: Message =
    Message { name: "ScopeMetrics", fields: &[field(2, "metrics", Kind::Many(&METRIC))] };

static METRIC: Message = Message {
    name: "Metric",
    fields: &[
        field(1, "name", Kind::Text),
        field(3, "unit", Kind::Text),
        field(5, "gauge", Kind::One(&GAUGE)),
        field(7, "sum", Kind::One(&SUM)),
        field(9, "histogram", Kind::One(&HISTOGRAM)),
        field(10, "exponentialHistogram", Kind::One(&EXPONENTIAL_HISTOGRAM)),
        field(11, "summary", Kind::One(&SUMMARY)),
    ],
};

static GAUGE: Message =
    Message { name: "Gauge", fields: &[field(1, "dataPoints", Kind::Many(&NUMBER))] };

static SUM: Message = Message {
    name: "Sum",
    fields: &[
        field(1, "dataPoints", Kind::Many(&NUMBER)),
        field(2, "aggregationTemporality", TEMPORALITY),
        field(3, "isMonotonic", Kind::Bool),
    ],
};

static HISTOGRAM: Message = Message {
    name: "Histogram",
    fields: &[
        field(1, "dataPoints", Kind::Many(&HISTOGRAM_POINT)),
        field(2, "aggregationTemporality", TEMPORALITY),
    ],
};

static EXPONENTIAL_HISTOGRAM: Message = Message {
    name: "ExponentialHistogram",
    fields: &[field(1, "dataPoints", Kind::Many(&COUNTED))],
};

static SUMMARY: Message =
    Message { name: "Summary", fields: &[field(1, "dataPoints", Kind::Many(&SUMMARY_POINT))] };

static NUMBER: Message = Message {
    name: "NumberDataPoint",
    fields: &[
        field(3, "timeUnixNano", Kind::Fixed64),
        field(4, "asDouble", Kind::Double),
        field(5, "exemplars", Kind::Many(&COUNTED)),
        field(6, "asInt", Kind::Sfixed64),
        field(7, "attributes", Kind::Many(&KEY_VALUE)),
        field(8, "flags", Kind::Uint32),
    ],
};

static HISTOGRAM_POINT: Message = Message {
    name: "HistogramDataPoint",
    fields: &[
        field(3, "timeUnixNano", Kind::Fixed64),
        field(4, "count", Kind::Fixed64),
        field(5, "sum", Kind::Double),
        field(6, "bucketCounts", Kind::Fixed64s),
        field(7, "explicitBounds", Kind::Doubles),
        field(8, "exemplars", Kind::Many(&COUNTED)),
        field(9, "attributes", Kind::Many(&KEY_VALUE)),
        field(10, "flags", Kind::Uint32),
    ],
};

static SUMMARY_POINT: Message = Message {
    name: "SummaryDataPoint",
    fields: &[
        field(3, "timeUnixNano", Kind::Fixed64),
        field(4, "count", Kind::Fixed64),
        field(5, "sum", Kind::Double),
        field(6, "quantileValues", Kind::Many(&QUANTILE)),
        field(7, "attributes", Kind::Many(&KEY_VALUE)),
        field(8, "flags", Kind::Uint32),
    ],
};

static QUANTILE: Message = Message {
    name: "ValueAtQuantile",
    fields: &[field(1, "quantile", Kind::Double), field(2, "value", Kind::Double)],
};

static KEY_VALUE: Message = Message {
    name: "KeyValue",
    fields: &[field(1, "key", Kind::Text), field(2, "value", Kind::One(&ANY_VALUE))],
};

static ANY_VALUE: Message = Message {
    name: "AnyValue",
    fields: &[
        field(1, "stringValue", Kind::Text),
        field(2, "boolValue", Kind::Bool),
        field(3, "intValue", Kind::Int64),
        field(4, "doubleValue", Kind::Double),
        field(5, "arrayValue", Kind::One(&ARRAY_VALUE)),
        field(6, "kvlistValue", Kind::One(&KEY_VALUE_LIST)),
        field(7, "bytesValue", Kind::Bytes),
    ],
};

static ARRAY_VALUE: Message =
    Message { name: "ArrayValue", fields: &[field(1, "values", Kind::Many(&ANY_VALUE))] };

static KEY_VALUE_LIST: Message =
    Message { name: "KeyValueList", fields: &[field(1, "values", Kind::Many(&KEY_VALUE))] };

/// A message that is counted, and of which nothing is read: exemplars, points of exponential histograms.
static COUNTED: Message =
    Message { name: "Exemplar or ExponentialHistogramDataPoint", fields: &[] };
