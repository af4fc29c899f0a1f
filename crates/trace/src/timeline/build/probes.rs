//! Records of the probes: whole waits, handles and calls, and what they saw of journals.

use super::{At, Builder};
use crate::schema::KernelEvent;

impl Builder {
    pub(super) fn probe_event(&mut self, _at: At, _event: &KernelEvent) {}
}
