//! Rings of an engine that is driven without threads: by the simulator's tests.
//!
//! A ring in private memory outlives the engine that reads it as long as its producer lives, as a
//! ring file outlives a killed recorder; so a test can kill an engine at any step.

use super::engine::Engine;
use crate::Result;
use crate::ring::{Producer, Ring, RingFolder, RingReader};

impl Engine {
    /// Makes a ring in private memory, reads from it, and returns its producer.
    ///
    /// # Errors
    /// There is no memory.
    pub fn add_private_ring(
        &mut self,
        producer: u64,
        ring_bytes: usize,
        record_bytes_max: usize,
    ) -> Result<Producer> {
        let ring =
            RingFolder::none(self.store()).make(producer, ring_bytes, record_bytes_max, false)?;
        let producer = Producer::new(Ring::attach(ring.memory.clone(), Some(self.store()))?)?;
        self.add_ring(RingReader::new(ring, 0)?);
        Ok(producer)
    }

    /// Reads from a ring in private memory that an engine dropped before this one has read from.
    /// Records below `skip_below` are in the log already, as recovery has found.
    ///
    /// # Errors
    /// The ring is another store's.
    pub fn take_over(&mut self, producer: &Producer, skip_below: u64) -> Result<()> {
        let ring = Ring::attach(producer.memory(), Some(self.store()))?;
        self.add_leftover(RingReader::new(ring, skip_below)?);
        Ok(())
    }
}
