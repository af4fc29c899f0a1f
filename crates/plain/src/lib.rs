//! Plain files that are written so that write(2) seldom waits: the method of the paper "recorder", for
//! programs that must leave ordinary files and cannot record into a store.
//!
//! The paper's method: reserve the whole file before the recording, so that no write allocates blocks or
//! changes the size; hand each unit of a few MB to the disk from another thread, so that the kernel
//! never has much to write back at once; cut off the rest and sync when the recording is over. It needs
//! idle gaps between recordings, for the first and the last step. Here these steps have a thread of
//! their own, which keeps files ready, so no gap is needed.
//!
//! What it cannot do (measured, docs/plain.md): on kernels of today each write into reserved blocks
//! still takes a handle of the journal now and then, for the time of the file and for blocks that are
//! written for the first time, and waits as long as the journal is locked. A store's log has no such
//! wait, because its blocks were written before. **Nothing is durable before [`PreallocatedFile::finish`]
//! has been waited for.**
//!
//! ```
//! use baro_plain::{Pool, Sizes};
//!
//! # let folder = std::env::temp_dir().join(format!("baro-plain-doc-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let mut pool = Pool::open(&folder, Sizes { file_bytes: 1 << 20, ..Sizes::default() })?;
//! let mut file = pool.take("run-1.bin")?;
//! for _ in 0..10 {
//!     file.write(&[7; 16_384])?; // the only thing that the producer's thread does
//! }
//! assert_eq!(file.finish().wait()?, 163_840); // durable, and as long as what was written
//! pool.close()?;
//! # assert_eq!(std::fs::read(folder.join("run-1.bin"))?.len(), 163_840);
//! # std::fs::remove_dir_all(folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariant: under its name a finished file has what was written and nothing else, and no file that is
//! ready outlives its pool or, if that was killed, the next one. Held by `tests/pool.rs`.

mod error;
mod file;
mod flusher;
mod maker;
mod pool;

pub use error::{Error, Result};
pub use file::{Finishing, PreallocatedFile};
pub use pool::{Pool, Sizes};
