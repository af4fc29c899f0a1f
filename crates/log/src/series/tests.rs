//! The table against maps of the standard library.

use super::*;
use std::collections::BTreeMap;

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit
    }
}

fn new<'a>(
    id: u32,
    kind: Type,
    name: &'a str,
    unit: &'a str,
    joint: Option<Joint>,
) -> Declaration<'a> {
    Declaration { id, kind, name, unit, joint, layout: None }
}

fn joint(first_bytes: u16, repeated: bool) -> Option<Joint> {
    Some(Joint { first_bytes, repeated })
}

#[test]
fn finds_what_was_put_in_and_forgets_what_was_taken_back() {
    let mut random = Random(5);
    for ascending in [true, false] {
        let mut table = SeriesTable::default();
        let mut model: Vec<(u32, Type, String, String, Option<Joint>)> = Vec::new();
        for round in 0..400 {
            for _ in 0..random.below(40) {
                let name = match random.below(4) {
                    0 => "x".repeat(1 + random.below(1024) as usize),
                    _ => format!("temp{{s=\"{}\"}}", random.below(6000)),
                };
                let id = if ascending {
                    table.highest_id() + 1 + random.below(3) as u32
                } else {
                    1 + random.below(9000) as u32
                };
                let kind = [Type::F64, Type::Text, Type::Channel][random.below(3) as usize];
                let unit = ["", "K", "°C"][random.below(3) as usize];
                let joint = [None, joint(2, false), joint(2, true), joint(9, false)]
                    [random.below(4) as usize];
                let by_name = model.iter().position(|known| known.2 == name);
                let by_id = model.iter().position(|known| known.0 == id);
                let expected = match (by_name, by_id) {
                    (Some(number), _) => Inserted::Name(number),
                    (None, Some(number)) => Inserted::Id(number),
                    (None, None) => Inserted::New(model.len()),
                };
                assert_eq!(table.insert(&new(id, kind, &name, unit, joint)).unwrap(), expected);
                if let Inserted::New(_) = expected {
                    model.push((id, kind, name, unit.to_owned(), joint));
                }
            }
            if round % 9 == 8 {
                let len = model.len() - random.below(model.len().min(60) as u64 + 1) as usize;
                table.truncate(len);
                model.truncate(len);
            }
        }
        assert!(table.len() == model.len() && model.len() > 300, "{}", model.len());
        for (number, (id, kind, name, unit, joint)) in model.iter().enumerate() {
            let found = table.get(number).unwrap();
            assert_eq!(
                (found.id, found.kind, found.name, found.unit, found.joint),
                (*id, *kind, &**name, &**unit, *joint)
            );
            assert_eq!((table.find(name), table.find_id(*id)), (Some(number), Some(number)));
        }
        assert_eq!((table.find("temp"), table.find_id(20_000)), (None, None));
        let channels = model.iter().filter(|known| known.1 == Type::Channel).count();
        assert_eq!(table.channels() as usize, channels);
        assert_eq!(table.highest_id(), model.iter().map(|known| known.0).max().unwrap());
        let by_name: BTreeMap<&[u8], u32> =
            model.iter().zip(0..).map(|(known, at)| (known.2.as_bytes(), at)).collect();
        assert_eq!(table.sorted(), by_name.into_values().collect::<Vec<_>>());
    }
}

#[test]
fn names_that_differ_late_or_in_length_are_sorted() {
    let mut table = SeriesTable::default();
    let mut names = Vec::new();
    for n in 0..200 {
        for name in [format!("{}{n}", "a".repeat(1000)), "\u{1}".repeat(n + 1), format!("{n}\0")] {
            table.insert(&new(names.len() as u32 + 1, Type::F64, &name, "", None)).unwrap();
            names.push(name);
        }
    }
    // Zeros at the end are the hardest: a key is filled up with them.
    for n in 1..40 {
        let name = format!("b{}", "\0".repeat(n));
        table.insert(&new(names.len() as u32 + 1, Type::F64, &name, "", None)).unwrap();
        names.push(name);
    }
    names.sort();
    let sorted: Vec<&[u8]> =
        table.sorted().into_iter().map(|number| table.name_bytes(number as usize)).collect();
    assert!(sorted == names.iter().map(String::as_bytes).collect::<Vec<_>>());
}

#[test]
fn memory_is_counted_and_small() {
    let mut table = SeriesTable::default();
    assert_eq!(table.memory_bytes(), 0);
    let count = 1_000_000;
    let mut bytes = 0;
    for n in 0..count {
        let name = format!("temp{{line=\"{:02}\",sensor=\"s{n:06}\",site=\"a\"}}", n % 100);
        bytes += name.len();
        table.insert(&new(n + 1, Type::F64, &name, "°C", None)).unwrap();
    }
    let each = (table.memory_bytes() - bytes) as f64 / f64::from(count);
    assert!(each < 22.0, "{each} bytes a series beside its name");
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let mut table = SeriesTable::default();
    for (name, unit) in [("", ""), (&*"x".repeat(1025), ""), ("a", &*"x".repeat(65))] {
        assert!(table.insert(&new(1, Type::F64, name, unit, None)).is_err());
    }
    assert!(table.is_empty() && table.find("a").is_none() && table.find("").is_none());
    assert_eq!(table.insert(&new(1, Type::F64, "a", "", None)).unwrap(), Inserted::New(0));
}
