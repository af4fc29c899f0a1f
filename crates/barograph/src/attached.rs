//! Pushing from a process of its own into a store that another process records.

use crate::series::Pushed;
use crate::{Channel, Error, Group, Kind, Producer, Result, Series};
use baro_log::Catalog;
use baro_ondisk::{Declaration, Type};
use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;

/// A producer in a process of its own: pushes into a ring of a recorder that runs elsewhere
/// (`baro record --attach N`, or [`Recorder::ring_to_attach`](crate::Recorder::ring_to_attach)), and asks
/// that one to declare.
///
/// ```no_run
/// use barograph::{Attached, Time};
/// let mut rig = Attached::to("/data/store")?;
/// let x = rig.series::<f64>("position{axis=\"x\"}", "mm")?;
/// rig.producer().sample(x, Time::now(), 20.5)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Attached {
    producer: Producer,
    catalog: Catalog,
    timeout: Duration,
}

/// Longer than a disk in trouble is waited for.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Attached {
    /// A free ring of the process that records into the store at `path`.
    ///
    /// # Errors
    /// It is no store, its catalog is damaged, or no ring is free.
    pub fn to(path: impl AsRef<Path>) -> Result<Attached> {
        let (producer, catalog) = baro_recorder::attach(path.as_ref(), None)?;
        Ok(Attached { producer: Producer { inner: producer }, catalog, timeout: TIMEOUT })
    }

    /// From now on the recorder is waited for so long when it is asked to declare; a minute else.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Pushes: never blocks, allocates or enters the kernel.
    pub fn producer(&mut self) -> &mut Producer {
        &mut self.producer
    }

    /// The series of this name: see [`Recorder::series`](crate::Recorder::series). Where it is new the
    /// recorder is asked, which looks ten times a second and waits for its disk: declare before recording.
    ///
    /// # Errors
    /// As there; nobody records any more, or the recorder does not answer.
    pub fn series<T: Kind>(&mut self, name: &str, unit: &str) -> Result<Series<T>> {
        let group = self.group::<T>(&[name], unit)?;
        Ok(Series::new(group.ids.first().map_or(0, |id| *id)))
    }

    /// Several series of one type and unit: asked for together.
    ///
    /// # Errors
    /// As [`Attached::series`]; others of them may be declared then.
    pub fn group<T: Kind>(&mut self, names: &[&str], unit: &str) -> Result<Group<T>> {
        let kind = <T as Pushed>::TYPE;
        let one = |name| Declaration { id: 1, kind, name, unit, joint: None, layout: None };
        let wanted: Vec<Declaration<'_>> = names.iter().copied().map(one).collect();
        Ok(Group::new(self.declare(&wanted)?))
    }

    /// The channel of this name: see [`Recorder::channel`](crate::Recorder::channel).
    ///
    /// # Errors
    /// As there, and as [`Attached::series`].
    pub fn channel(&mut self, name: &str, layout: &str) -> Result<Channel> {
        let parsed = || {
            layout.parse().map_err(|error: baro_ondisk::LayoutError| Error::Text {
                what: "layout",
                text: layout.to_owned(),
                why: error.to_string(),
            })
        };
        let layout = if layout.is_empty() { None } else { Some(Cow::Owned(parsed()?)) };
        let wanted =
            Declaration { id: 1, kind: Type::Channel, name, unit: "", joint: None, layout };
        let ids = self.declare(&[wanted])?;
        Ok(Channel { id: ids.first().map_or(0, |id| *id) })
    }

    fn declare(&mut self, wanted: &[Declaration<'_>]) -> Result<Vec<u32>> {
        let limit_ns = self.timeout.as_nanos();
        let go_on = |waited_ns| u128::from(waited_ns) < limit_ns;
        let catalog = Some(&mut self.catalog);
        let asked = self.producer.inner.declare_each(catalog, wanted, go_on)?;
        Ok(asked.into_iter().collect::<std::result::Result<_, _>>()?)
    }
}
