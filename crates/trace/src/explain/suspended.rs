//! Mappings of device-mapper that were suspended, as they are while their table is changed or a snapshot is made:
//! what comes to one waits there, and the disks below have nothing to do.
//!
//! Invariant: a mapping explains only waits for what stands on it, of times in which it was seen to be suspended.
//! Held by `a_suspended_mapping_holds_what_stands_on_it`.

use super::chain::{Span, Walk};
use super::io::For;
use super::{Cause, Evidence, history};
use crate::record::Device;
use baro_show::duration;
use std::collections::BTreeMap;

/// What the file of a mapping ends with that says whether it is.
pub(super) const SUSPENDED: &str = "/dm/suspended";

/// When mappings were suspended; from the look before that, up to the look after it.
#[derive(Debug, Default)]
pub(super) struct Suspensions(Vec<(Device, Span)>);

impl Suspensions {
    pub(super) fn of(facts: &BTreeMap<String, String>, devices: &BTreeMap<Device, String>) -> Self {
        let mut all = Vec::new();
        for text in history::of(facts) {
            let name = text.file.strip_suffix(SUSPENDED);
            let name = name.and_then(|path| path.strip_prefix("/sys/block/"));
            let Some(name) = name.filter(|_| text.text.trim() == "1") else { continue };
            let device = devices.iter().find(|(_, of)| *of == name);
            all.extend(device.map(|(device, _)| (*device, text.span)));
        }
        Self(all)
    }
}

impl Walk<'_> {
    /// The mapping that held what a task waits for while this disk, which stands below it, was idle.
    pub(super) fn suspension(
        &self,
        device: Device,
        asked: For,
        evidence: &str,
    ) -> Option<(Cause, Evidence, String)> {
        let (mapping, ns, is_sure) = self.suspended_above(device, asked)?;
        let known_by = if is_sure { Evidence::AbsenceAndSetting } else { Evidence::Absence };
        let (name, long) = (self.known.device_name(mapping), duration(ns));
        let text = format!("{evidence}; {name} was suspended for {long} of it");
        Some((Cause::QueueFrozen, known_by, text))
    }

    /// The same: it, how much of the time it was suspended, and whether what is waited for must go through it.
    pub(super) fn suspended_above(
        &self,
        device: Device,
        asked: For,
    ) -> Option<(Device, u64, bool)> {
        let For { span, about, .. } = asked;
        let overlap = |set: &Span| set.within(span).ns();
        let way = about.map(|about| self.all_below(about));
        let holds = |mapping: Device| {
            self.all_below(mapping).contains(&device)
                && way.as_ref().is_none_or(|way| way.contains(&mapping))
        };
        let suspended = &self.known.suspensions.0;
        let fitting = suspended.iter().inspect(|_| self.looked(1)).filter(|one| holds(one.0));
        let (mapping, set) = fitting.max_by_key(|(_, set)| overlap(set))?;
        // It may have been so for a moment of it only.
        let ns = overlap(set);
        let is_sure = way.is_some() || self.came_through(*mapping, device, None);
        (ns * 2 >= span.ns()).then_some((*mapping, ns, is_sure))
    }
}
