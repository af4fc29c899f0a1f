//! The catalog as readers ask for it: with a dictionary, without, behind one, and with either of
//! the two files damaged or lost.

#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]
use crate::common::{Folder, Random, init_at, options};
use baro_log::{Blocks, CATALOG, CatalogWriter, DICTIONARY, Declared, Found, read_catalog_header};
use baro_ondisk::{Declaration, Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{Damage, Loss, Selector, Source, Store, recover, verify};
use baro_sys::storage::Access;
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

type Model = BTreeMap<String, Declared>;

fn name(n: u64) -> String {
    match n % 40 {
        0 => format!("opaque name {n}"),
        1 => format!("plain.{n}"),
        _ => format!(
            "m{}{{line=\"{}\",sensor=\"s{n:05}\",site=\"{}\"}}",
            n % 3,
            n % 17,
            ["a", "b", "ä\\\""][(n % 3) as usize].replace('\\', "\\\\").replace('"', "\\\"")
        ),
    }
}

/// Declares what is numbered `from` to `to` and adds it to the model.
fn declare(path: &Path, model: &mut Model, from: u64, to: u64) {
    let recorder = Recorder::open(path, options()).unwrap();
    let kinds = [Type::F64, Type::I64, Type::Bool, Type::Text, Type::Channel];
    let wanted: Vec<(String, Type, &str)> = (from..to)
        .map(|n| (name(n), kinds[(n / 300 % 5) as usize], ["K", "", "°C"][(n / 50 % 3) as usize]))
        .collect();
    let declared: Vec<_> =
        wanted.iter().map(|(name, kind, unit)| (&**name, *kind, *unit)).collect();
    let ids = recorder.declare(&declared);
    for ((name, kind, unit), id) in wanted.into_iter().zip(ids.unwrap()) {
        let unit = unit.to_owned();
        model.insert(name.clone(), Declared { id, kind, name, unit, joint: None, layout: None });
    }
    for n in (from..to).step_by(500) {
        let name = format!("frames {n}");
        let layout = format!("speed:f32@0,b{n}:u8@4").parse().unwrap();
        let id = recorder.declare_channel_with_layout(&name, &layout).unwrap();
        let layout = Some(std::sync::Arc::new(layout));
        let (kind, unit) = (Type::Channel, String::new());
        model.insert(name.clone(), Declared { id, kind, name, unit, joint: None, layout });
    }
    assert_eq!(recorder.close().left, 0);
}

fn scanned(store: &Store) -> Model {
    let mut found = Model::new();
    let each = |one: &Declaration<'_>| {
        let before = found.insert(one.name.to_owned(), one.clone().into());
        assert!(before.is_none(), "{} twice", one.name);
        ControlFlow::Continue(())
    };
    store.catalog().scan(each).unwrap();
    found
}

/// Everything that can be asked is answered as the model says.
fn check(store: &Store, model: &Model) {
    let catalog = store.catalog();
    assert_eq!(catalog.len(), model.len());
    let channels = model.values().filter(|one| one.kind == Type::Channel).count();
    assert_eq!(catalog.channels(), channels);
    assert_eq!(catalog.highest_id(), model.values().map(|one| one.id).max().unwrap_or(0));
    assert!(scanned(store) == *model);
    for (name, one) in model.iter().step_by(7) {
        assert_eq!(catalog.lookup(name).unwrap().as_ref(), Some(one));
        assert_eq!(catalog.get(one.id).unwrap().as_ref(), Some(one));
    }
    assert!(model.values().all(|one| catalog.kind(one.id) == Some(one.kind)));
    for missing in ["", "m", "m0{", "zzz", "m0{line=\"1\"}", "\u{10ffff}"] {
        assert_eq!(catalog.lookup(missing).unwrap(), None);
    }
    let unknown = catalog.highest_id() + 1;
    assert_eq!((catalog.get(0).unwrap(), catalog.get(unknown).unwrap()), (None, None));
    assert_eq!((catalog.kind(0), catalog.kind(unknown)), (None, None));
    let sets: [&[&str]; 9] = [
        &["{}"],
        &["m1"],
        &["m1{line=\"3\"}", "m2{site=\"ä\\\\\\\"\"}"],
        &["{line=~\"1.\",site!=\"a\"}"],
        &["{__name__=~\"opaque.*|plain.*\"}"],
        &["m0{sensor=~\"s000.*\"}", "m0", "m"],
        &["{site=\"\"}"],
        &["none{a=\"b\"}"],
        &[],
    ];
    for texts in sets {
        let selectors: Vec<Selector> = texts.iter().map(|t| Selector::parse(t).unwrap()).collect();
        let wanted = model.values().filter(|one| selectors.iter().any(|s| s.matches(&one.name)));
        let mut expected: Vec<u32> = wanted.map(|one| one.id).collect();
        expected.sort_unstable();
        assert_eq!(catalog.select(&selectors).unwrap(), expected, "{texts:?}");
        let mut each = 0;
        let count = |_: &Declaration<'_>| {
            each += 1;
            ControlFlow::Continue(())
        };
        catalog.scan_selected(&selectors, count).unwrap();
        assert_eq!(each, expected.len(), "{texts:?}");
    }
}

fn report(store: &Store) -> Vec<Damage> {
    verify(store, Access::Read, |_, _| {}).unwrap().damage
}

#[test]
fn all_is_found_with_a_dictionary_without_and_behind_one() {
    let folder = Folder::init("catalog", 2, WhenFull::Stop);
    let mut model = Model::new();
    check(&Store::open(&folder.0).unwrap(), &model);
    declare(&folder.0, &mut model, 0, 3000);
    let mut store = Store::open(&folder.0).unwrap();
    assert_eq!(store.catalog().uncovered(), model.len());
    check(&store, &model);
    for round in 1..4 {
        let written = store.write_dictionary(|_| {}).unwrap().unwrap();
        assert_eq!(written.names as usize, model.len());
        store.refresh().unwrap();
        assert_eq!(store.catalog().uncovered(), 0);
        check(&store, &model);
        assert!(report(&store).is_empty() && store.damage().is_empty());
        declare(&folder.0, &mut model, round * 3000, round * 3000 + 700);
        store.refresh().unwrap();
        assert!(store.catalog().uncovered() > 690 && store.catalog().uncovered() < 710);
        check(&store, &model);
        assert!(report(&store).is_empty());
    }
    assert_eq!(
        store.info().unwrap().series as usize + store.info().unwrap().channels as usize,
        model.len()
    );
}

#[test]
fn a_series_has_one_name_and_those_declared_as_they_were_are_found() {
    let folder = Folder::init("canonical", 2, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let series = |name| (name, Type::F64, "");
    let wanted = [series("t{b=\"1\",a=\"2\"}"), series("t{a=\"2\", b=\"1\",}"), series("t {}")];
    assert_eq!(recorder.declare(&wanted).unwrap(), [1, 1, 2]);
    assert_eq!(recorder.declared("t{a=\"2\",b=\"1\"}").unwrap().id, 1);
    assert_eq!(recorder.declared_id("t{ b=\"1\", a=\"2\" }"), Some((1, Type::F64)));
    assert!(recorder.declare(&[("t{b=\"1\", a=\"2\"}", Type::I64, "")]).is_err());
    assert_eq!(recorder.declared("t").unwrap().name, "t");
    drop(recorder);
    // As a recorder wrote it that knew of no canonical form.
    let old = "t{z=\"1\",a=\"2\"}";
    let disk = baro_sys::disk::Disk::open(&folder.0).unwrap();
    let file = baro_sys::storage::Storage::open(&disk, CATALOG, Access::Read).unwrap();
    let (header, crc) = read_catalog_header(&file).unwrap();
    let mut blocks = Blocks::new().unwrap();
    let mut walk = blocks.walk(&file, header, crc);
    while let Found::Block(_) = walk.next_block().unwrap() {}
    let (session, scan) = (walk.scan().session(), walk.scan().clone());
    let mut writer = CatalogWriter::open(&disk, session, scan, 0).unwrap();
    let (kind, unit, layout) = (Type::F64, "", None);
    writer.add(&Declaration { id: 3, kind, name: old, unit, joint: None, layout }).unwrap();
    writer.finish().unwrap();
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    assert_eq!(recorder.declare(&[series(old)]).unwrap(), [3]);
    drop(recorder);
    let mut store = Store::open(&folder.0).unwrap();
    for round in 0..2 {
        assert_eq!(store.catalog().lookup(old).unwrap().unwrap().id, 3);
        assert_eq!(store.catalog().resolve(&["{z=\"1\"}"]).unwrap(), [3]);
        let found = store.catalog().lookup("t{b=\"1\",a=\"2\"}").unwrap().unwrap();
        assert_eq!((found.id, found.name.as_str()), (1, "t{a=\"2\",b=\"1\"}"));
        assert_eq!(store.catalog().resolve(&["t{b=\"1\",a=\"2\"}", "t{b=\"1\"}"]).unwrap(), [1]);
        assert_eq!(store.catalog().resolve(&["t"]).unwrap(), [2]);
        assert_eq!(store.catalog().resolve(&["{__name__=\"t\"}"]).unwrap(), [1, 2, 3]);
        let error = store.catalog().resolve(&["t", "u{a=\"1\"}"]).unwrap_err().to_string();
        assert!(error.contains("u{a=\"1\"}: no such series"), "{error}");
        assert!(store.catalog().resolve(&["t{"]).unwrap_err().to_string().contains("character 3"));
        assert_eq!(store.write_dictionary(|_| {}).unwrap().is_some(), round == 0);
        store.refresh().unwrap();
    }
}

/// A store of 2,000 covered by a dictionary and some more behind it.
fn covered(name: &str) -> (Folder, Model) {
    let folder = Folder::init(name, 2, WhenFull::Stop);
    let mut model = Model::new();
    declare(&folder.0, &mut model, 0, 2000);
    Store::open(&folder.0).unwrap().write_dictionary(|_| {}).unwrap().unwrap();
    declare(&folder.0, &mut model, 2000, 2100);
    (folder, model)
}

fn flip(path: &Path, at: usize, mask: u8) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[at] ^= mask;
    std::fs::write(path, &bytes).unwrap();
}

#[test]
fn every_flipped_bit_of_the_dictionary_is_named_and_the_catalog_serves() {
    let (folder, model) = covered("flips-dictionary");
    let path = folder.0.join(DICTIONARY);
    let bytes = std::fs::read(&path).unwrap();
    let header = baro_ondisk::DictionaryHeader::decode(&bytes).unwrap();
    let index_end = header.index_offset() + u64::from(header.index_bytes);
    let mut random = Random(5);
    let mut places: Vec<u64> = (0..60).map(|_| random.below(bytes.len() as u64)).collect();
    // One in each part, whatever chance says.
    places.extend([
        0,
        100,
        header.id_page_offset(0) + 50,
        header.index_offset() + 3,
        index_end - 1,
    ]);
    places.extend([header.layouts_offset() + 2, header.file_bytes - 1]);
    for at in places {
        if (index_end..header.layouts_offset()).contains(&at) {
            continue;
        }
        let mask = 1 << random.below(8);
        flip(&path, at as usize, mask);
        let store = Store::open(&folder.0).unwrap();
        check(&store, &model);
        let damage = report(&store);
        assert!(damage.iter().all(|one| one.file == DICTIONARY && !one.is_loss()), "{damage:?}");
        assert!(!damage.is_empty(), "{at}");
        assert!(store.write_dictionary(|_| {}).unwrap().unwrap().names as usize == model.len());
        assert!(report(&Store::open(&folder.0).unwrap()).is_empty());
        std::fs::write(&path, &bytes).unwrap();
    }
    // Cut short, of no length, or of another store.
    for end in [0, 4000, 8192, bytes.len() - 1] {
        std::fs::write(&path, &bytes[..end]).unwrap();
        let store = Store::open(&folder.0).unwrap();
        check(&store, &model);
        assert!(store.damage().iter().any(|one| one.file == DICTIONARY), "{end}");
    }
    let other = Folder::new("flips-dictionary-other");
    init_at(&other.0, *b"another store id", 2, WhenFull::Stop);
    declare(&other.0, &mut Model::new(), 0, 100);
    Store::open(&other.0).unwrap().write_dictionary(|_| {}).unwrap().unwrap();
    std::fs::copy(other.0.join(DICTIONARY), &path).unwrap();
    let store = Store::open(&folder.0).unwrap();
    check(&store, &model);
    assert!(store.damage().iter().any(|one| one.to_string().contains("store id")));
}

#[test]
fn every_flipped_bit_of_the_catalog_is_named_and_the_dictionary_serves() {
    let (folder, model) = covered("flips-catalog");
    let path = folder.0.join(CATALOG);
    let used = Store::open(&folder.0).unwrap().info().unwrap().catalog_used_bytes;
    let bytes = std::fs::read(&path).unwrap();
    let header = std::fs::read(folder.0.join(DICTIONARY)).unwrap();
    let header = baro_ondisk::DictionaryHeader::decode(&header).unwrap();
    let covered = header.watermark.offset;
    assert!(covered < used);
    // Bytes of padding are in no block.
    let mut ends = Vec::new();
    let mut at = 4096;
    while at < used as usize {
        let block = baro_ondisk::BlockHeader::decode(&bytes[at..]).unwrap();
        ends.push((at + 128 + block.payload_bytes(), at + block.block_bytes()));
        at += block.block_bytes();
    }
    let mut random = Random(9);
    let mut named = 0;
    for round in 0..80 {
        let at = if round < 20 { random.below(4096) } else { random.below(covered) };
        if ends.iter().any(|(from, to)| (*from..*to).contains(&(at as usize))) {
            continue;
        }
        flip(&path, at as usize, 1 << random.below(8));
        let store = Store::open(&folder.0).unwrap();
        check(&store, &model);
        let damage = report(&store);
        let is = |one: &baro_store::Damage| one.file == CATALOG && one.loss == Loss::Declarations;
        assert!(damage.iter().any(is), "{at}: {damage:?}");
        assert!(store.write_dictionary(|_| {}).is_err() || at > 4096, "{at}");
        named += 1;
        std::fs::write(&path, &bytes).unwrap();
    }
    assert!(named > 50, "{named}");
    check(&Store::open(&folder.0).unwrap(), &model);
}

#[test]
fn a_lost_catalog_is_rebuilt_from_the_dictionary_and_the_log() {
    let folder = Folder::init("rebuilt", 4, WhenFull::Stop);
    let mut model = Model::new();
    declare(&folder.0, &mut model, 0, 2000);
    Store::open(&folder.0).unwrap().write_dictionary(|_| {}).unwrap().unwrap();
    let mut later = Model::new();
    declare(&folder.0, &mut later, 2000, 2010);
    // Of the later ones one is recorded: only the log knows its id.
    let lost = later[&name(2005)].id;
    let known = model[&name(300)].id;
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let mut producer = recorder.producer().unwrap();
    producer.push_samples(5, &[known, lost], &[1_i64, 2]).unwrap();
    assert_eq!(recorder.close().left, 0);
    let path = folder.0.join(CATALOG);
    let before = [CATALOG, DICTIONARY].map(|file| std::fs::read(folder.0.join(file)).unwrap());
    let restore = || {
        for (file, bytes) in [CATALOG, DICTIONARY].iter().zip(&before) {
            std::fs::write(folder.0.join(file), bytes).unwrap();
        }
    };
    let damages: [(&str, &dyn Fn()); 4] = [
        ("missing", &|| std::fs::remove_file(&path).unwrap()),
        ("empty", &|| std::fs::write(&path, b"").unwrap()),
        ("noise", &|| std::fs::write(&path, vec![0x5a; 1 << 20]).unwrap()),
        ("zeros", &|| std::fs::write(&path, vec![0; 1 << 20]).unwrap()),
    ];
    let to = Folder::new("rebuilt-to");
    for (case, damage) in damages {
        damage();
        let mut store = Store::open(&folder.0).unwrap();
        check(&store, &model);
        assert!(store.damage().iter().any(|one| one.file == CATALOG && one.is_loss()), "{case}");
        assert!(Recorder::open(&folder.0, options()).is_err(), "{case}");
        // A copy of the store has all of it, too.
        let _ = std::fs::remove_dir_all(&to.0);
        let recovered = recover(&folder.0, &to.0, |_, _| {}).unwrap();
        assert_eq!(recovered.placeholders, [lost], "{case}");
        assert!(recovered.lost() && recovered.copy.is_whole(), "{case}: {recovered:?}");
        let mut expected = model.clone();
        let placeholder = format!("unknown-{lost}");
        let (id, kind, unit) = (lost, Type::F64, String::new());
        let declared =
            Declared { id, kind, name: placeholder.clone(), unit, joint: None, layout: None };
        expected.insert(placeholder, declared);
        check(&Store::open(&to.0).unwrap(), &expected);
        // And in place.
        let rebuilt = store.rebuild_catalog().unwrap();
        assert_eq!((rebuilt.names, rebuilt.placeholders), (expected.len(), vec![lost]), "{case}");
        store.refresh().unwrap();
        check(&store, &expected);
        // Names that nothing was recorded under are lost, and the log knows that there were some.
        let is_told = |found: &Damage| matches!(found.source, Source::Short { .. });
        assert!(!store.damage().is_empty() && store.damage().iter().all(is_told), "{case}");
        let damage = report(&store);
        assert!(damage.iter().all(is_told), "{case}: {damage:?}");
        assert_eq!(store.catalog().uncovered(), 0);
        let recorder = Recorder::open(&folder.0, options()).unwrap();
        // Nor is an id given again that nothing was recorded under: the log tells how high they had gone.
        let highest = later.values().map(|declared| declared.id).max().unwrap();
        assert!(highest > lost);
        assert_eq!(recorder.declare(&[("new", Type::F64, "")]).unwrap(), [highest + 1], "{case}");
        drop(recorder);
        store.refresh().unwrap();
        assert_eq!(store.catalog().len(), expected.len() + 1);
        restore();
    }
    // What the dictionary covers needs no log.
    Store::open(&folder.0).unwrap().write_dictionary(|_| {}).unwrap().unwrap();
    std::fs::remove_file(&path).unwrap();
    model.extend(later);
    let store = Store::open(&folder.0).unwrap();
    check(&store, &model);
    assert_eq!(store.rebuild_catalog().unwrap().placeholders, []);
    check(&Store::open(&folder.0).unwrap(), &model);
}

#[test]
fn hundreds_of_thousands_are_declared_covered_and_found() {
    let folder = Folder::init("many", 2, WhenFull::Stop);
    let count = 300_000;
    let names: Vec<String> = (0..count)
        .map(|n| format!("temp{{line=\"{}\",sensor=\"s{n:06}\",site=\"a\"}}", n % 100))
        .collect();
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let mut ids = Vec::new();
    for part in names.chunks(100_000) {
        let wanted: Vec<_> = part.iter().map(|name| (&**name, Type::F64, "°C")).collect();
        ids.extend(recorder.declare(&wanted).unwrap());
    }
    assert!(ids.iter().copied().eq(1..=count));
    let (known, memory_bytes) = recorder.catalog_size();
    assert_eq!(known as u32, count);
    assert!(memory_bytes < 70 * count as usize, "{memory_bytes}");
    assert_eq!(recorder.declare(&[(&names[17], Type::F64, "")]).unwrap(), [18]);
    drop(recorder);
    let mut store = Store::open(&folder.0).unwrap();
    let used = store.info().unwrap().catalog_used_bytes;
    assert!(used < 12 * u64::from(count), "{used}");
    assert_eq!(store.info().unwrap().series, count);
    let written = store.write_dictionary(|_| {}).unwrap().unwrap();
    assert_eq!(written.names, count);
    assert!(written.bytes < 14 * u64::from(count), "{}", written.bytes);
    store.refresh().unwrap();
    // What an open keeps in memory is a fraction of what there is.
    store.catalog().lookup("x").unwrap();
    assert!(store.catalog().memory_bytes() < count as usize);
    let catalog = store.catalog();
    for (name, id) in names.iter().zip(&ids).step_by(997) {
        assert_eq!(catalog.lookup(name).unwrap().unwrap().id, *id);
        assert_eq!(catalog.get(*id).unwrap().unwrap().name, *name);
    }
    let line = Selector::parse("temp{line=\"17\",sensor=~\"s..[0-4].*\"}").unwrap();
    let expected = (17..count).step_by(100).filter(|n| n / 1000 % 10 < 5).map(|n| n + 1);
    assert!(catalog.select(&[line]).unwrap().into_iter().eq(expected));
    assert!(ids.iter().all(|id| catalog.kind(*id) == Some(Type::F64)));
}
