//! A store opened for recording.

use crate::series::Pushed;
use crate::settling::{Settles, settle_the_rest};
use crate::{Channel, Error, Group, Kind, Opening, Producer, Result, Series};
use baro_ondisk::{Layout, Type};
use std::path::Path;
use std::sync::Arc;

/// A store that this process records into. Dropping it closes it.
///
/// ```no_run
/// use barograph::{Recorder, Time};
///
/// let recorder = Recorder::create_or_open("/data/store").size(1 << 30).recycle().open()?;
/// let door = recorder.series::<bool>("door.open", "")?;
/// recorder.producer()?.sample(door, Time::now(), true)?;
/// let closed = recorder.close(); // makes durable what was pushed
/// println!("lost {}", closed.lost());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Recorder {
    /// There until it is closed.
    pub(crate) inner: Option<Arc<baro_recorder::Recorder>>,
    pub(crate) settles: Option<Settles>,
}

impl Recorder {
    /// Opens the store at `path`, and makes it if there is none.
    pub fn create_or_open(path: impl AsRef<Path>) -> Opening {
        Opening::new(path.as_ref().to_owned(), true)
    }

    /// Opens the store at `path`, which is there.
    pub fn existing(path: impl AsRef<Path>) -> Opening {
        Opening::new(path.as_ref().to_owned(), false)
    }

    fn inner(&self) -> Result<&baro_recorder::Recorder> {
        let gone = || Error::Recorder(baro_recorder::Error::WriterGone);
        self.inner.as_deref().ok_or_else(gone)
    }

    /// The series of this name, with labels as in `temp{room="a"}`; declared durably with its unit if it
    /// is new. Blocks for the disk then: declare before recording.
    ///
    /// # Errors
    /// The name is in use with another type, or is too long, or the disk fails.
    pub fn series<T: Kind>(&self, name: &str, unit: &str) -> Result<Series<T>> {
        self.group::<T>(&[name], unit)
            .map(|group| Series::new(group.ids.first().map_or(0, |id| *id)))
    }

    /// Several series of one type and unit, declared with one wait for the disk.
    ///
    /// # Errors
    /// As [`Recorder::series`]; then none of the new ones is declared.
    pub fn group<T: Kind>(&self, names: &[&str], unit: &str) -> Result<Group<T>> {
        let wanted: Vec<_> = names.iter().map(|name| (*name, <T as Pushed>::TYPE, unit)).collect();
        Ok(Group::new(self.inner()?.declare(&wanted)?))
    }

    /// The channel of this name, for frames of bytes. `layout` names fields in its frames, which are
    /// read back as series `channel.field`: `speed:f32@0(m/s), n:u16@4`. Empty: there are none.
    ///
    /// # Errors
    /// The layout is not understood, or another one than that declared; the name is in use for a series;
    /// or the disk fails.
    pub fn channel(&self, name: &str, layout: &str) -> Result<Channel> {
        let inner = self.inner()?;
        if layout.is_empty() {
            let ids = inner.declare(&[(name, Type::Channel, "")])?;
            return Ok(Channel { id: ids.first().map_or(0, |id| *id) });
        }
        let fields: Layout = layout.parse().map_err(|error: baro_ondisk::LayoutError| {
            Error::Text { what: "layout", text: layout.to_owned(), why: error.to_string() }
        })?;
        Ok(Channel { id: inner.declare_channel_with_layout(name, &fields)? })
    }

    /// A producer with a ring of its own: one for each thread that records, at most 64.
    ///
    /// # Errors
    /// There is no memory, or the recorder has 64 already.
    pub fn producer(&self) -> Result<Producer> {
        Ok(Producer { inner: self.inner()?.producer()? })
    }

    /// Makes a ring for a producer in another process, which finds it by the store's path:
    /// [`Attached`](crate::Attached). A recorder has at most 64 rings.
    ///
    /// # Errors
    /// There is no memory, no tmpfs that nobody else writes in, or the recorder has 64 already.
    pub fn ring_to_attach(&self) -> Result<()> {
        self.inner()?.ring_for_attach()?;
        Ok(())
    }

    /// What holds on this machine only in part, in sentences: what the kernel did not grant, and what
    /// the disk does not promise. Empty where all does.
    #[must_use]
    pub fn reservations(&self) -> Vec<String> {
        self.inner.as_ref().map_or_else(Vec::new, |inner| inner.opening().reservations())
    }

    /// Records that are lost so far: refused, given up, or durable once and not there any more.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.inner.as_ref().map_or(0, |inner| inner.lost())
    }

    /// What has been found wrong while recording so far, in sentences.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        self.inner.as_ref().map_or_else(Vec::new, |inner| inner.complaints())
    }

    /// Makes durable what is in the rings, and ends. Pushes are refused from now on. Blocks for the disk,
    /// longer where more than half of the log is not settled yet: then that is settled.
    #[must_use = "it says whether anything was lost"]
    pub fn close(mut self) -> Closed {
        let ended = self.end();
        Closed { inner: ended }
    }

    fn end(&mut self) -> Option<baro_recorder::Closed> {
        let settled = self.settles.take().map(Settles::end);
        // The only one left: the thread that had the other has ended.
        let inner = self.inner.take().and_then(Arc::into_inner);
        let closed = inner.map(baro_recorder::Recorder::close);
        if let (Some(path), Some(closed)) = (&settled, &closed) {
            settle_the_rest(path, &closed.status);
        }
        closed
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// How a recording ended.
#[derive(Clone, Debug)]
pub struct Closed {
    inner: Option<baro_recorder::Closed>,
}

impl Closed {
    /// Records that were refused, or are not durable at the end, or were durable and are gone.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.inner
            .as_ref()
            .map_or(0, |closed| closed.left + closed.lost_durable + closed.status.lost)
    }

    /// What was found wrong with the store while recording, in sentences.
    #[must_use]
    pub fn damage(&self) -> &[String] {
        self.inner.as_ref().map_or(&[], |closed| &closed.damage)
    }
}
