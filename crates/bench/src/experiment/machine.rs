//! What a measurement says of the machine it was made on.
//!
//! Names and texts, as a reader wants them in a report; `identity` are those that must be the same
//! for a measurement to be continued. A fact that is not to be had is left out.

use baro_sys::place::Place;
use baro_sys::{files, identity};
use serde::{Deserialize, Serialize};
use std::path::Path;

const TEXT_BYTES_MAX: u64 = 1 << 20;

/// The machine and the place that were measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Name and text of each fact, in the order of a report.
    pub facts: Vec<(String, String)>,
}

/// A measurement is continued only where these are the same.
const IDENTITY: [&str; 5] = ["kernel", "processor", "processors", "file system", "mount options"];

impl Machine {
    /// Of this machine and the file system at `dir`. Reads only.
    #[must_use]
    pub fn of(dir: &Path) -> Self {
        let mut facts = Vec::new();
        let mut add = |name: &str, text: Option<String>| {
            if let Some(text) = text.filter(|text| !text.is_empty()) {
                facts.push((name.to_owned(), text));
            }
        };
        let text = |path: &str| files::read_text(Path::new(path), TEXT_BYTES_MAX).ok();
        add("kernel", Some(identity::kernel_release()));
        let cpus = text("/proc/cpuinfo").unwrap_or_default();
        let model = cpus.lines().find_map(|line| {
            line.strip_prefix("model name").or_else(|| line.strip_prefix("Hardware"))
        });
        let model = model.map(|rest| rest.trim_start_matches([' ', '\t', ':']).to_owned());
        add("processor", model);
        let count = cpus.lines().filter(|line| line.starts_with("processor")).count();
        add("processors", Some(count.to_string()));
        let memory = text("/proc/meminfo").unwrap_or_default();
        let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        add("memory", total.map(|rest| rest.trim().to_owned()));
        let dirty = |name: &str| {
            let value = text(&format!("/proc/sys/vm/{name}"))?;
            Some(value.trim().to_owned())
        };
        add("vm.dirty_ratio", dirty("dirty_ratio"));
        add("vm.dirty_background_ratio", dirty("dirty_background_ratio"));
        if let Ok(place) = Place::of(dir) {
            add("file system", Some(place.kind.clone()));
            add("mount options", Some(place.options.join(",")));
            if let Some(queue) = &place.queue {
                add("device", Some(queue.name.clone()));
                let file = |name: &str| {
                    let path = format!("/sys/block/{}/queue/{name}", queue.disk);
                    text(&path).map(|text| text.trim().to_owned())
                };
                add("scheduler", file("scheduler"));
                add("nr_requests", file("nr_requests"));
                add("max_sectors_kb", file("max_sectors_kb"));
                add("rotational", file("rotational"));
            }
        }
        Self { facts }
    }

    /// The text of a fact.
    #[must_use]
    pub fn fact(&self, name: &str) -> Option<&str> {
        self.facts.iter().find(|(known, _)| known == name).map(|(_, text)| text.as_str())
    }

    /// The same with a fact more, or changed.
    #[must_use]
    pub fn with(mut self, name: &str, text: impl Into<String>) -> Self {
        self.facts.retain(|(known, _)| known != name);
        self.facts.push((name.to_owned(), text.into()));
        self
    }

    /// The first fact that tells this machine from another: its name, here, there.
    pub(super) fn differs<'a>(&'a self, other: &'a Self) -> Option<(&'a str, &'a str, &'a str)> {
        IDENTITY.into_iter().find_map(|name| {
            let (here, there) = (self.fact(name), other.fact(name));
            (here != there).then_some((name, here.unwrap_or("-"), there.unwrap_or("-")))
        })
    }
}
