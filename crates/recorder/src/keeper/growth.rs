//! Growth of the log while recording: segments are added one after another until the log has the
//! size that it was made for, or what may be used of it.

use super::{Keeper, Log, RETRY_NS, Tell};
use crate::writer::Retention;
use baro_log::{Making, Recovery, blank_header};
use baro_sys::storage::Storage;

/// How far the log has grown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Growth {
    /// Segments that are there.
    pub grown: u32,
    /// Segments that are to be there.
    pub target: u32,
    /// Why no segment can be added now; it is tried again every ten seconds.
    pub stopped: Option<String>,
}

impl Growth {
    pub(super) fn new(recovery: &Recovery, retention: &Retention) -> Self {
        let identity = &recovery.identity;
        let used = retention.keep_bytes.map_or(identity.segments, |bytes| {
            u32::try_from(bytes / identity.segment_bytes).unwrap_or(u32::MAX)
        });
        let grown = recovery.segments.grown;
        let target = used.clamp(2, identity.segments.max(2)).max(grown);
        Growth { grown, target, stopped: None }
    }

    /// Whether nothing is left to do.
    pub(super) fn complete(&self) -> bool {
        self.grown >= self.target
    }
}

impl<S: Storage> Keeper<S> {
    /// Starts making the next segment, if it is time and there is room.
    pub(super) fn start_growing(&mut self, now_ns: u64, log: &mut impl Log) {
        if self.growth.complete() || now_ns < self.growth_retry_ns {
            return;
        }
        let view = log.view();
        // What is older than what is to be kept is reused before the log grows.
        if self.retention.keep_ns.is_some() && view.may_reuse {
            return;
        }
        if let Err(why) = self.room(self.identity.segment_bytes) {
            return self.growth_failed(now_ns, why, log);
        }
        let header = blank_header(&self.identity, self.growth.grown);
        match Making::blank(&self.storage, &header) {
            Ok(making) => {
                self.making = Some(making);
                if self.growth.stopped.take().is_some() {
                    let to_come = self.growth.target - self.growth.grown;
                    log.tell(Tell::SetGrowth(to_come as usize));
                }
            }
            Err(error) => self.growth_failed(now_ns, error.to_string(), log),
        }
    }

    /// Whether `bytes` may be taken of the file system.
    pub(super) fn room(&self, bytes: u64) -> Result<(), String> {
        let least = self.retention.min_free_bytes;
        if least == 0 {
            return Ok(());
        }
        match self.storage.available_bytes() {
            Ok(Some(free)) if free < least.saturating_add(bytes) => Err(format!(
                "the file system has {free} bytes free; {least} are to stay free, and {bytes} more \
                 are needed"
            )),
            Ok(_) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// The segment in the making is there.
    pub(super) fn grown(&mut self, log: &mut impl Log) {
        log.tell(Tell::AddSegment(self.growth.grown));
        self.growth.grown += 1;
    }

    pub(super) fn growth_failed(&mut self, now_ns: u64, why: String, log: &mut impl Log) {
        self.growth_retry_ns = now_ns + RETRY_NS;
        self.growth.stopped = Some(why);
        // Half a segment takes room that others may need more.
        let _ = baro_log::remove_if_there(&self.storage, baro_log::GROW);
        log.tell(Tell::SetGrowth(0));
    }
}
