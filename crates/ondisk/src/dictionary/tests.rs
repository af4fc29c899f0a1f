//! A dictionary built in memory and read back; bits flipped in it.

use super::*;
use crate::limits::UNIT_BYTES;
use crate::{Layout, StoreId};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::ControlFlow;
use std::println;

/// Type and page of names by id.
type Ids = BTreeMap<u32, (Type, u32)>;
type Model = BTreeMap<String, (u32, Type, String, Option<Layout>)>;

fn model(count: u32) -> Model {
    let mut model = Model::new();
    for n in 0..count {
        let id = n * 7 % count + 1;
        let (kind, unit) = match n % 50 {
            0 => (Type::I64, "1/s".to_string()),
            1 => (Type::Channel, String::new()),
            2 => (Type::F64, format!("u{}", n % 9)),
            _ => (Type::F64, "°C".to_string()),
        };
        let layout = (n % 100 == 1).then(|| format!("a:f32@0,b{n}:u8@{}", 4 + n % 9));
        let layout = layout.map(|text| text.parse().unwrap());
        let name = format!("temp{{line=\"{}\",sensor=\"s{n:06}\",site=\"a\"}}", n % 100);
        model.insert(name, (id, kind, unit, layout));
    }
    model
}

fn build(model: &Model) -> (DictionaryHeader, Vec<u8>) {
    let mut builder = DictionaryBuilder::new(StoreId([3; 16]));
    let mut file = alloc::vec![0; UNIT_BYTES];
    for (name, (id, kind, unit, layout)) in model {
        let layout = layout.as_ref();
        builder.push(&NewEntry { id: *id, kind: *kind, name, unit, layout }).unwrap();
        file.extend_from_slice(builder.pending());
        builder.taken();
    }
    let watermark = Watermark { offset: 8192, sequence: 1, ..Watermark::default() };
    let header = builder.finish(watermark);
    file.extend_from_slice(builder.pending());
    file[..UNIT_BYTES].copy_from_slice(&header.encode());
    (header, file)
}

/// Everything that a reader would take from these bytes; none if the header or index is damaged.
fn read(file: &[u8]) -> Result<(Model, Ids), crate::Error> {
    let header = DictionaryHeader::decode(file)?;
    let part = |from: u64| file.get(from as usize..).unwrap_or(&[]);
    DictionaryIndex::decode(part(header.index_offset()), &header)?;
    let (mut names, mut ids) = (Model::new(), BTreeMap::new());
    let mut failed = Ok(());
    for page in 0..header.name_pages {
        name_page(part(header.name_page_offset(page)), |entry| {
            let layout = entry.layout.map(|(at, bytes)| {
                let layouts = part(header.layouts_offset());
                layout_at(layouts.get(at as usize..(at + bytes) as usize).unwrap_or(&[]))
            });
            let layout = match layout.transpose() {
                Ok(layout) => layout,
                Err(error) => {
                    failed = Err(error);
                    return ControlFlow::Break(());
                }
            };
            let value = (entry.id, entry.kind, entry.unit.to_string(), layout);
            names.insert(entry.name.to_string(), value);
            ControlFlow::Continue(())
        })?;
    }
    failed?;
    for page in 0..header.id_pages {
        id_page(part(header.id_page_offset(page)), |entry| {
            ids.insert(entry.id, (entry.kind, entry.page));
            ControlFlow::Continue(())
        })?;
    }
    Ok((names, ids))
}

#[test]
fn what_was_put_in_is_found_by_name_and_by_id() {
    let model = model(20_000);
    let (header, file) = build(&model);
    println!("{} bytes a name", file.len() as f64 / 20_000.0);
    assert_eq!(DictionaryHeader::decode(&file), Ok(header));
    assert_eq!((header.names, header.channels, header.highest_id), (20_000, 400, 20_000));
    assert_eq!(header.file_bytes, file.len() as u64);
    let (names, ids) = read(&file).unwrap();
    assert!(names == model && ids.len() == 20_000);
    let index = &file[header.index_offset() as usize..];
    let index = DictionaryIndex::decode(index, &header).unwrap();
    for (name, (id, kind, ..)) in &model {
        let page = index.page_of_name(name).unwrap();
        assert_eq!(ids[id], (*kind, page));
        let id_page_ = index.page_of_id(*id).unwrap();
        let mut found = false;
        id_page(&file[header.id_page_offset(id_page_) as usize..], |entry| {
            found |= entry.id == *id;
            ControlFlow::Continue(())
        })
        .unwrap();
        assert!(found);
    }
    for prefix in ["", "temp{", "temp{line=\"17\"", "temp{line=\"17\",sensor=\"s000017", "u", "a"] {
        let pages = index.pages_with_prefix(prefix);
        let mut found = 0;
        for page in pages.clone() {
            name_page(&file[header.name_page_offset(page) as usize..], |entry| {
                found += usize::from(entry.name.starts_with(prefix));
                ControlFlow::Continue(())
            })
            .unwrap();
        }
        assert_eq!(found, model.keys().filter(|name| name.starts_with(prefix)).count());
        assert!(pages.len() < 4 || prefix.len() < 6, "{prefix}: {pages:?}");
    }
    assert_eq!((index.page_of_name("a"), index.page_of_id(0)), (None, None));
}

#[test]
fn an_empty_dictionary_and_one_of_long_names_are_read_back() {
    let (header, file) = build(&Model::new());
    assert_eq!((header.names, file.len()), (0, UNIT_BYTES));
    assert!(read(&file).unwrap().0.is_empty());
    let long = |n: u8| (char::from(b'a' + n).to_string().repeat(1024), 1 + u32::from(n));
    let unit = "x".repeat(64);
    let model: Model =
        (0..26).map(long).map(|(name, id)| (name, (id, Type::F64, unit.clone(), None))).collect();
    assert!(read(&build(&model).1).unwrap().0 == model);
}

#[test]
fn every_flipped_bit_is_an_error() {
    let model = model(700);
    let (header, file) = build(&model);
    let index_end = header.index_offset() + u64::from(header.index_bytes);
    for at in 0..file.len() {
        let padding = (index_end..header.layouts_offset()).contains(&(at as u64));
        let mut bad = file.clone();
        bad[at] ^= 1 << (at % 8);
        let found = read(&bad);
        assert!(found.is_err() != padding, "{at}: {:?}", found.map(|_| ()));
    }
    for end in 0..file.len() {
        assert!(end % 97 != 0 || read(&file[..end]).is_err());
    }
}

#[test]
fn names_out_of_order_are_refused() {
    let mut builder = DictionaryBuilder::new(StoreId([3; 16]));
    let entry = NewEntry { id: 1, kind: Type::F64, name: "b", unit: "", layout: None };
    builder.push(&entry).unwrap();
    for name in ["b", "a", ""] {
        assert!(builder.push(&NewEntry { name, ..entry }).is_err());
    }
    assert!(builder.push(&NewEntry { name: "c", id: 0, ..entry }).is_err());
    assert_eq!(builder.finish(Watermark::default()).names, 1);
}
