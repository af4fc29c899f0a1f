//! The bytes of protobuf messages, field by field, as slices of what came.
//!
//! A decoder that makes no copies has no memory to bound.
//! Invariant: any bytes give fields or an error, in time linear in them.
//! Held by the tests of the module above.

/// Bytes that are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'a> {
    Varint(u64),
    Fixed64(u64),
    Bytes(&'a [u8]),
    Fixed32(u32),
}

/// The fields of a message, in their order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) fn of(bytes: &'a [u8]) -> Self {
        Fields { rest: bytes }
    }

    fn split(&mut self, bytes: usize) -> Result<&'a [u8], Malformed> {
        let (first, rest) = self.rest.split_at_checked(bytes).ok_or(Malformed)?;
        self.rest = rest;
        Ok(first)
    }

    /// The next number of a packed list; `None` at its end.
    pub(crate) fn packed(&mut self) -> Option<Result<u64, Malformed>> {
        if self.rest.is_empty() { None } else { Some(self.varint()) }
    }

    fn varint(&mut self) -> Result<u64, Malformed> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.rest.split_first().ok_or(Malformed)?;
            self.rest = rest;
            let bits = u64::from(byte & 0x7f);
            // Of the tenth byte one bit has room.
            if shift == 63 && bits > 1 {
                return Err(Malformed);
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(Malformed)
    }

    fn field(&mut self) -> Result<(u64, Value<'a>), Malformed> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Varint(self.varint()?),
            1 => {
                let bytes = self.split(8)?.try_into().map_err(|_| Malformed)?;
                Value::Fixed64(u64::from_le_bytes(bytes))
            }
            2 => {
                let length = usize::try_from(self.varint()?).map_err(|_| Malformed)?;
                Value::Bytes(self.split(length)?)
            }
            5 => {
                let bytes = self.split(4)?.try_into().map_err(|_| Malformed)?;
                Value::Fixed32(u32::from_le_bytes(bytes))
            }
            _ => return Err(Malformed),
        };
        match key >> 3 {
            0 => Err(Malformed),
            number => Ok((number, value)),
        }
    }
}

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), Malformed>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.rest = &[];
        }
        Some(field)
    }
}
