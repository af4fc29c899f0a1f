//! What another process lays beside the rings: a request to declare, and the answer to one.

use crate::Target;
use baro_ondisk::{
    Answered, Declaration, DeclareAnswer, DeclareRequest, RequestBuilder, StoreId, Type, crc32c,
};
use std::borrow::Cow;

const STORE: StoreId = StoreId([7; 16]);

pub(crate) const REQUEST: Target = Target {
    name: "request",
    fuzz_one: |bytes| {
        let Ok(asked) = DeclareRequest::decode(bytes) else { return };
        let mut again = RequestBuilder::new(asked.store, asked.id);
        for one in &asked.wanted {
            assert_eq!(again.push(one), Ok(true));
        }
        assert_eq!(DeclareRequest::decode(&again.finish()), Ok(asked));
    },
    seeds: || {
        let mut request = RequestBuilder::new(STORE, 9);
        let layout = "speed:f32@0,n:u8@4".parse().ok().map(Cow::Owned);
        let (unit, id) = ("V", 1);
        for wanted in [
            Declaration {
                id,
                kind: Type::F64,
                name: "temp{a=\"b\"}",
                unit,
                joint: None,
                layout: None,
            },
            Declaration { id, kind: Type::Channel, name: "control", unit: "", joint: None, layout },
            Declaration {
                id,
                kind: Type::Text,
                name: "state",
                unit: "",
                joint: None,
                layout: None,
            },
        ] {
            let _ = request.push(&wanted);
        }
        vec![request.finish()]
    },
    fix_up,
};

pub(crate) const ANSWER: Target = Target {
    name: "answer",
    fuzz_one: |bytes| {
        let Ok(answer) = DeclareAnswer::decode(bytes, STORE, 9) else { return };
        assert_eq!(DeclareAnswer::decode(&answer.encode(STORE, 9), STORE, 9), Ok(answer));
    },
    seeds: || {
        let each = DeclareAnswer::Each(vec![
            Answered::Declared(5, Type::F64),
            Answered::Refused("the catalog is full".to_owned()),
        ]);
        let refused = DeclareAnswer::Refused("of another store".to_owned());
        vec![each.encode(STORE, 9), refused.encode(STORE, 9)]
    },
    fix_up,
};

/// Seals it again, with the length that it has. Offsets are those of `docs/format.md`.
fn fix_up(bytes: &mut [u8]) {
    let Some(body) = bytes.len().checked_sub(48) else { return };
    bytes[44..48].copy_from_slice(&(body as u32).to_le_bytes());
    bytes[12..16].fill(0);
    let crc = crc32c(0, bytes);
    bytes[12..16].copy_from_slice(&crc.to_le_bytes());
}
