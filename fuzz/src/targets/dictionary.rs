//! A dictionary of names, all parts as a reader takes them: header, index, pages, layouts.

use crate::Target;
use baro_ondisk::limits::{NAME_BYTES_MAX, UNIT_BYTES};
use baro_ondisk::{
    DictionaryBuilder, DictionaryHeader, DictionaryIndex, Layout, NewEntry, StoreId, Type,
    Watermark, crc32c, id_page, layout_at, name_page,
};
use std::ops::ControlFlow;

pub(crate) const DICTIONARY: Target =
    Target { name: "dictionary", fuzz_one: dictionary, seeds: || vec![seed()], fix_up };

fn dictionary(bytes: &[u8]) {
    let Ok(header) = DictionaryHeader::decode(bytes) else { return };
    assert_eq!(DictionaryHeader::decode(&header.encode()), Ok(header));
    let part = |offset: u64| {
        usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or(&[])
    };
    if let Ok(index) = DictionaryIndex::decode(part(header.index_offset()), &header) {
        assert!(index.memory_bytes() <= bytes.len() * NAME_BYTES_MAX);
        for name in ["", "temp", "temp{a=\"1\"}", "\u{10ffff}"] {
            assert!(index.page_of_name(name).is_none_or(|page| page < header.name_pages));
            assert!(index.pages_with_prefix(name).end <= header.name_pages);
        }
        assert!(index.page_of_id(7).is_none_or(|page| page < header.id_pages));
    }
    // Pages that the bytes do not reach are errors and need not all be tried.
    let pages = bytes.len() / UNIT_BYTES;
    for page in (0..header.name_pages).take(pages) {
        let _ = name_page(part(header.name_page_offset(page)), |entry| {
            assert!(entry.id > 0 && !entry.name.is_empty());
            if let Some((at, bytes)) = entry.layout {
                let from = part(header.layouts_offset() + u64::from(at));
                let _ = layout_at(from.get(..bytes as usize).unwrap_or(from));
            }
            ControlFlow::Continue(())
        });
    }
    for page in (0..header.id_pages).take(pages) {
        let mut last = 0;
        let _ = id_page(part(header.id_page_offset(page)), |entry| {
            assert!(entry.id > last);
            last = entry.id;
            ControlFlow::Continue(())
        });
    }
}

/// Header, pages and index get their CRCs.
fn fix_up(bytes: &mut [u8]) {
    let u32_at = |bytes: &[u8], at: usize| {
        let field = bytes.get(at..at + 4).and_then(|field| field.try_into().ok());
        field.map_or(0, u32::from_le_bytes)
    };
    let pages = (u32_at(bytes, 48), u32_at(bytes, 52), u32_at(bytes, 56));
    let pages_end = (pages.0 as usize).saturating_add(pages.1 as usize).saturating_add(1);
    let units = (bytes.len() / UNIT_BYTES).min(pages_end);
    for unit in bytes.chunks_exact_mut(UNIT_BYTES).take(units).skip(1) {
        if let Some((crc, rest)) = unit.split_first_chunk_mut() {
            *crc = crc32c(0, rest).to_le_bytes();
        }
    }
    let index = pages_end.saturating_mul(UNIT_BYTES);
    let index = bytes.get(index..index.saturating_add(pages.2 as usize));
    let crc = index.map(|index| crc32c(0, index));
    let Some(header) = bytes.get_mut(..UNIT_BYTES) else { return };
    if let (Some(crc), Some(place)) = (crc, header.get_mut(60..64)) {
        place.copy_from_slice(&crc.to_le_bytes());
    }
    if let Some(place) = header.get_mut(12..16) {
        place.fill(0);
    }
    let crc = crc32c(0, header);
    if let Some(place) = header.get_mut(12..16) {
        place.copy_from_slice(&crc.to_le_bytes());
    }
}

fn seed() -> Vec<u8> {
    let layout: Option<Layout> = "speed:f32@0,state:u8@6".parse().ok();
    let mut builder = DictionaryBuilder::new(StoreId([3; 16]));
    for n in 0..600 {
        let name = format!("temp{{line=\"{}\",sensor=\"{n:04}\"}}", n / 60);
        let kind = if n % 100 == 0 { Type::Channel } else { Type::F64 };
        let layout = layout.as_ref().filter(|_| n % 200 == 0);
        let unit = if n % 7 == 0 { "K" } else { "" };
        let _ = builder.push(&NewEntry { id: 600 - n, kind, name: &name, unit, layout });
    }
    let header = builder.finish(Watermark::default());
    [&header.encode()[..], builder.pending()].concat()
}
