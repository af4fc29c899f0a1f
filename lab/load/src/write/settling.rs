//! Settling beside the load, step by step, as fast as the scenario says.

use super::{Told, said};
use baro_store::{Extent, SettleOptions, Settler};
use baro_sys::clock;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn run(
    path: &Path,
    options: SettleOptions,
    every_ns: u64,
    told: &Told,
    stop: &AtomicBool,
) {
    let mut settler = match Settler::open(path, options) {
        Ok(settler) => settler,
        Err(error) => return told.complain(format!("settling: {error}")),
    };
    while !stop.load(Ordering::Acquire) {
        match settler.step(Extent::All) {
            Ok(done) => {
                for damage in done.damage {
                    told.complain(format!("settling met damage: {damage}"));
                }
                if !done.more {
                    clock::sleep_ns(every_ns);
                }
            }
            Err(error) => {
                told.complain(format!("settling: {}", said(error)));
                clock::sleep_ns(every_ns);
            }
        }
    }
}
