//! What is pushed into a series of another type is a counted gap, never bits that are read as something
//! else.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, reason = "a test")]

use crate::common::{Folder, options};
use baro_ondisk::{Type, WhenFull};
use baro_recorder::Recorder;
use baro_store::{Store, verify};
use baro_sys::storage::Access;

#[test]
fn a_push_of_another_type_is_a_counted_gap() {
    let folder = Folder::init("types", 4, WhenFull::Stop);
    let recorder = Recorder::open(&folder.0, options()).unwrap();
    let kinds = [Type::F64, Type::I64, Type::Bool, Type::Text, Type::Channel];
    let mut producer = recorder.producer().unwrap();
    let mut all = Vec::new();
    // Some are declared while it records.
    for half in 0..2 {
        let names = ["f", "i", "b", "t", "c"].map(|name| format!("{name}{half}"));
        let wanted: Vec<_> =
            names.iter().zip(kinds).map(|(name, kind)| (name.as_str(), kind, "")).collect();
        let ids = recorder.declare(&wanted).unwrap();
        for (id, kind) in ids.iter().copied().zip(kinds) {
            let other = ids[0];
            // Each way to push, and the types that take it.
            producer.push_sample(id, 1, 1.5).unwrap();
            producer.push_samples(2, &[other, id], &[1.5, 2.5]).unwrap();
            producer.push_batch(&[3, 4], &[id, id], &[1.5, 2.5]).unwrap();
            producer.push_sample(id, 5, 1_i64).unwrap();
            producer.push_samples(6, &[id, id], &[0_i64, 1]).unwrap();
            producer.push_batch(&[7; 400], &[id; 400], &[1_i64; 400]).unwrap();
            producer.push_text(id, 8, "text").unwrap();
            producer.push_frame(id, 9, b"frame").unwrap();
            let fitting = match kind {
                Type::Channel | Type::Text => 1,
                _ => 3,
            };
            all.push((id, kind, fitting));
        }
        producer.push_text(1 << 20, 10, "nobody's").unwrap();
    }
    let offered = producer.report().offered;
    assert_eq!(recorder.flush(60_000_000_000).unwrap(), 0);
    let said = "records were pushed whose series is declared with another type: they are not";
    assert!(recorder.complaints()[0].starts_with(said), "{:?}", recorder.complaints());
    let said = "records were pushed with an id that nobody has declared: they are recorded";
    assert!(recorder.complaints()[1].starts_with(said), "{:?}", recorder.complaints());
    let closed = recorder.close();
    assert_eq!(closed.status.records_undeclared, 2);
    let fitting: u64 = all.iter().map(|(_, _, fitting)| fitting).sum();
    let misfits = 8 * all.len() as u64 - fitting;
    assert_eq!((offered, closed.left), (8 * all.len() as u64 + 2, 0));
    assert_eq!((closed.status.records_misfit, closed.status.lost), (misfits, misfits));

    let store = Store::open(&folder.0).unwrap();
    let report = verify(&store, Access::Read, |_, _| {}).unwrap();
    let texts = 2 + 2;
    assert_eq!((report.frames, report.samples), (2, 2 * (5 + 2 * 403) + texts));
    assert_eq!(report.lost.damaged, misfits);
    // What nobody declared is not taken for a fault of the disk.
    let [damage] = &report.damage[..] else { panic!("{:?}", report.damage) };
    let said = "expected a declaration of id 1048576, of which records are in the log, found none";
    assert!(damage.to_string().contains(said), "{damage}");
    assert!(damage.next_step().starts_with("look at the ids"), "{}", damage.next_step());
}
