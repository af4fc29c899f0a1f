//! Probes beside the kernel's tracer in one recording.

use crate::{PROBES_CPU, ProbeError, Probes, formats};
use baro_trace::collect::{Beside, CollectError};
use baro_trace::file::CpuLosses;
use baro_trace::format::{EventHeader, PageHeader};
use baro_trace::page_writer::Sink;

fn own(error: ProbeError) -> CollectError {
    CollectError::Beside(Box::new(error))
}

impl Beside for Probes {
    fn formats(&self) -> Vec<(String, Vec<u8>)> {
        formats()
    }

    fn lay_out(&mut self, page: PageHeader, entry: EventHeader) {
        Probes::lay_out(self, page, entry);
    }

    fn cpu(&self) -> u32 {
        PROBES_CPU
    }

    fn drain(&mut self, sink: &mut Sink<'_>) -> Result<(), CollectError> {
        Probes::drain(self, sink).map_err(own)?;
        Ok(())
    }

    fn sleeps_since_ns(&mut self, pid: i32) -> Option<u64> {
        Probes::sleeps_since_ns(self, pid)
    }

    fn finish(self: Box<Self>, sink: &mut Sink<'_>) -> Result<CpuLosses, CollectError> {
        Ok(Probes::finish(*self, sink).map_err(own)?.losses)
    }
}
