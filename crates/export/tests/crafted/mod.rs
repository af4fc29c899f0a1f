//! Parquet files written by hand: to say what no writer says.
#![allow(dead_code, reason = "each test program takes some of it")]

/// Thrift's compact protocol, written by hand: to say what no writer says.
#[derive(Clone, Default)]
pub(crate) struct Thrift(pub(crate) Vec<u8>);

impl Thrift {
    pub(crate) fn varint(mut self, mut value: u64) -> Self {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
        self
    }

    pub(crate) fn head(mut self, step: u8, kind: u8) -> Self {
        self.0.push(step << 4 | kind);
        self
    }

    pub(crate) fn number(self, step: u8, kind: u8, value: i64) -> Self {
        self.head(step, kind).varint((value << 1 ^ value >> 63).cast_unsigned())
    }

    pub(crate) fn text(self, step: u8, text: &str) -> Self {
        let mut one = self.head(step, 8).varint(text.len() as u64);
        one.0.extend(text.as_bytes());
        one
    }

    pub(crate) fn list(self, step: u8, kind: u8, count: u64) -> Self {
        self.head(step, 9).head(15, kind).varint(count)
    }

    pub(crate) fn then(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    pub(crate) fn end(mut self) -> Self {
        self.0.push(0);
        self
    }
}

/// An element of a schema: a column of this type, or with children.
pub(crate) fn element(name: &str, kind: Option<i64>, children: Option<i64>) -> Thrift {
    let mut one = Thrift::default();
    let mut before = 0;
    if let Some(kind) = kind {
        one = one.number(1, 5, kind).number(2, 5, 0);
        before = 3;
    }
    one = one.text(4 - before, name);
    if let Some(children) = children {
        one = one.number(1, 5, children);
    }
    one.end()
}

pub(crate) fn file(pages: &[u8], footer: Thrift) -> Vec<u8> {
    let length = (footer.0.len() as u32).to_le_bytes();
    [b"PAR1", pages, &footer.0, &length, b"PAR1"].concat()
}

/// A column of this type that may have nulls.
pub(crate) fn optional(name: &str, kind: i64) -> Thrift {
    let one = Thrift::default().number(1, 5, kind).number(2, 5, 1).text(1, name);
    // Texts say so by what they are converted from.
    if kind == 6 { one.number(2, 5, 0).end() } else { one.end() }
}

/// A footer up to its schema, with as many elements as it says.
pub(crate) fn schema(count: u64, elements: Thrift) -> Thrift {
    Thrift::default().number(1, 5, 1).list(1, 12, count).then(elements).number(1, 6, 1)
}

/// A file of one row group with these columns, each with its type and its pages, packed by Snappy (1) or
/// not (0).
pub(crate) fn chunks(columns: &[(&str, i64, &[u8])], rows: i64, codec: i64) -> Vec<u8> {
    chunks_with_nulls(columns, &[], rows, codec)
}

/// Likewise, not packed, with as many row groups that all have the same pages.
pub(crate) fn shared_chunks(columns: &[(&str, i64, &[u8])], rows: i64, groups: u64) -> Vec<u8> {
    chunks_of(columns, &[], rows, 0, groups)
}

/// Likewise, and these columns may have nulls.
pub(crate) fn chunks_with_nulls(
    columns: &[(&str, i64, &[u8])],
    nullable: &[&str],
    rows: i64,
    codec: i64,
) -> Vec<u8> {
    chunks_of(columns, nullable, rows, codec, 1)
}

fn chunks_of(
    columns: &[(&str, i64, &[u8])],
    nullable: &[&str],
    rows: i64,
    codec: i64,
    groups: u64,
) -> Vec<u8> {
    let mut elements = element("root", None, Some(columns.len() as i64));
    let (mut group, mut all) = (Thrift::default(), Vec::new());
    for (name, kind, pages) in columns {
        elements = match kind {
            _ if nullable.contains(name) => elements.then(optional(name, *kind)),
            6 => {
                let one = Thrift::default().number(1, 5, 6).number(2, 5, 0).text(1, name);
                elements.then(one.number(2, 5, 0).end())
            }
            _ => elements.then(element(name, Some(*kind), None)),
        };
        let at = 4 + all.len() as i64;
        all.extend(*pages);
        let data = Thrift::default().number(1, 5, *kind).list(1, 5, 1).varint(0);
        let data = data.list(1, 8, 1).varint(name.len() as u64);
        let data = Thrift([data.0, name.as_bytes().to_vec()].concat());
        let data = data.number(1, 5, codec).number(1, 6, rows).number(1, 6, 9);
        let data = data.number(1, 6, pages.len() as i64).number(2, 6, at).end();
        group = group.then(Thrift::default().number(2, 6, at).head(1, 12).then(data).end());
    }
    let group = Thrift::default().list(1, 12, columns.len() as u64).then(group);
    let group = group.number(1, 6, 9).number(1, 6, rows).end();
    let all_groups = (0..groups).fold(Thrift::default(), |all, _| all.then(group.clone()));
    let footer = schema(columns.len() as u64 + 1, elements).list(1, 12, groups);
    file(&all, footer.then(all_groups).end())
}

/// Likewise, not packed, and all columns have the same pages.
pub(crate) fn same_chunks(kinds: &[(&str, i64)], rows: i64, pages: &[u8]) -> Vec<u8> {
    let columns: Vec<_> = kinds.iter().map(|(name, kind)| (*name, *kind, pages)).collect();
    chunks(&columns, rows, 0)
}

/// A page's header and its bytes. `kind` 0 has values, 2 is a dictionary.
pub(crate) fn page(kind: i64, unpacked: i64, values: i64, encoding: i64, bytes: &[u8]) -> Vec<u8> {
    page_with(kind, unpacked, values, [encoding, 3, 3], None, bytes)
}

/// Likewise, with the encodings of values and of levels, and a CRC.
pub(crate) fn page_with(
    kind: i64,
    unpacked: i64,
    values: i64,
    [encoding, definition, repetition]: [i64; 3],
    crc: Option<u32>,
    bytes: &[u8],
) -> Vec<u8> {
    let head = Thrift::default().number(1, 5, kind).number(1, 5, unpacked);
    let head = head.number(1, 5, bytes.len() as i64);
    // Of 32 bits with a sign.
    let step = if crc.is_some() { 1 } else { 2 };
    let head = match crc {
        Some(crc) => head.number(1, 5, crc.cast_signed().into()),
        None => head,
    };
    let inner = Thrift::default().number(1, 5, values).number(1, 5, encoding);
    let levels = inner.clone().number(1, 5, definition).number(1, 5, repetition);
    let head = match kind {
        0 => head.head(step, 12).then(levels.end()),
        _ => head.head(step + 2, 12).then(inner.end()),
    };
    [head.end().0, bytes.to_vec()].concat()
}
