//! `baro record --check`: what is wrong with the settings, without a store, a socket or a ring being
//! touched.
//!
//! What the parser refuses is said by it, for all entries of the file at once (`settings.rs`). Here is
//! what only the store, the recorder and the sources know. Held by
//! `a_check_names_every_mistake_and_touches_nothing`.

use super::{Arguments, Input, declare, frame_bytes, udp, unused};
use crate::failure::{Outcome, Result};
use crate::settings::line_of;
use crate::size::{show_bytes, show_ns};
use baro_log::Geometry;
use baro_ondisk::WhenFull;
use baro_recorder::{Error, Options};
use clap::error::ErrorKind;
use std::path::PathBuf;

pub(super) fn run(arguments: &Arguments) -> Result<Outcome> {
    let faults = faults(arguments);
    if faults.is_empty() {
        out!("nothing is wrong with these settings");
        return Ok(Outcome::lost_if(false));
    }
    let file = arguments.config.clone();
    let file = file.or_else(|| {
        std::env::var_os("BARO_CONFIG").filter(|file| !file.is_empty()).map(PathBuf::from)
    });
    let said = faults.iter().map(|(key, said)| {
        let line = file.as_ref().and_then(|file| Some((file, line_of(file, key)?)));
        let said = match line {
            Some((file, line)) => format!("{}:{line}: {key}: {said}", file.display()),
            None => format!("{key}: {said}"),
        };
        // A line for each, whatever is in a name.
        baro_show::terminal(&said, '?')
    });
    let said = said.collect::<Vec<_>>().join("\n");
    Err(clap::Error::raw(ErrorKind::ValueValidation, said).into())
}

/// What is outside of its limits, by the name of its setting and in the units in which people write it.
pub(super) fn option_fault(options: &Options) -> Option<(&'static str, String)> {
    let error = options.check().err()?;
    let Error::Setting { name, expected, .. } = &error else {
        return Some(("frame-bytes", error.to_string()));
    };
    Some(match name.split([' ', '_']).next() {
        Some("ring") => {
            let found = show_bytes(options.ring_bytes as u64);
            ("ring", format!("expected 64K to 1T, found {found}"))
        }
        Some("durable") => {
            let found = show_ns(options.durable_within_ns);
            ("durable-within", format!("expected 1ms to 1h, found {found}"))
        }
        Some("priority") => ("fifo", format!("expected {expected}")),
        _ => ("frame-bytes", format!("expected at most {}", frame_bytes::LIMITS)),
    })
}

/// By the name of the setting.
fn faults(arguments: &Arguments) -> Vec<(&'static str, String)> {
    let mut found = limits(arguments);
    let store = &arguments.store;
    let is_there = baro_sys::files::exists(&store.join(baro_log::IDENTITY));
    // A plain file is made, and no store needed.
    if !arguments.plain && (is_there || arguments.init.is_none()) {
        let opened = baro_log::open_folder(store);
        let read = opened.and_then(|folder| baro_log::read_identity(&folder, store).map(drop));
        found.extend(read.err().map(|error| ("store", error.to_string())));
    }
    let unused = unused::fault(arguments);
    found.extend(unused.map(|(option, wanted)| (option, format!("expected {wanted}, found none"))));
    found.extend(declare::fault(arguments));
    found
}

/// That --recycle is for a store that is made.
pub(super) fn recycle_fault(arguments: &Arguments) -> Option<String> {
    let store = arguments.store.display();
    (arguments.recycle && arguments.init.is_none()).then(|| {
        format!(
            "expected init beside it, which makes the store, found none; of a store that is there: baro \
             init {store} --when-full recycle"
        )
    })
}

/// Those of a setting by itself, which stay wrong whatever else is put right.
pub(super) fn limits(arguments: &Arguments) -> Vec<(&'static str, String)> {
    let mut found = Vec::new();
    let store = &arguments.store;
    if let Some(log_bytes) = arguments.init
        && let Err(error) = Geometry::for_log(log_bytes, WhenFull::Stop)
    {
        found.push(("init", error.to_string()));
    }
    let is_there = baro_sys::files::exists(&store.join(baro_log::IDENTITY));
    let frame_bytes = usize::try_from(arguments.frame_bytes).unwrap_or(usize::MAX);
    let record_bytes = match arguments.stdin {
        Some(Input::Frames) if is_there => frame_bytes::largest_of(store),
        _ => frame_bytes,
    };
    found.extend(option_fault(&arguments.tuning.options(record_bytes)));
    found.extend(recycle_fault(arguments).map(|said| ("recycle", said)));
    found.extend(frame_bytes::too_small(arguments).map(|said| ("frame-bytes", said)));
    found.extend(arguments.text.form().err().map(|error| ("columns", error.to_string())));
    for address in &arguments.udp {
        let said = udp::is_open(*address, arguments.udp_network);
        found.extend(said.map(|said| ("udp", format!("{address}: {said}"))));
    }
    found.extend(arguments.http.fault().map(|said| ("http", said)));
    found
}
