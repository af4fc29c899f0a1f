//! The MCAP writer, as robotics recorders use it: one message per block, uncompressed chunks.
//!
//! A chunk is a flush unit; the writer has no thread, so the producer writes the chunk's end and
//! whatever overflows the buffer. It never syncs before the recording's end.

use super::{Recording, WaySpec};
use ::mcap::records::MessageHeader;
use ::mcap::{WriteOptions, Writer};
use baro_sys::{clock, files};
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;

/// As `baro export` buffers.
const BUFFER_BYTES: usize = 64 << 10;

pub(super) struct Mcap {
    writer: Writer<BufWriter<File>>,
    file: File,
    channel: u16,
    messages: u32,
    blocks_max: u64,
}

impl fmt::Debug for Mcap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mcap").field("file", &self.file).finish_non_exhaustive()
    }
}

impl Mcap {
    pub(super) fn begin(path: &Path, spec: &WaySpec) -> io::Result<Self> {
        let file = files::create(path)?;
        file.sync_all()?;
        let options = WriteOptions::new().compression(None).chunk_size(Some(spec.flush_bytes));
        let out = BufWriter::with_capacity(BUFFER_BYTES, file.try_clone()?);
        let mut writer = options.create(out).map_err(io::Error::other)?;
        let (topic, encoding) = ("frames", "application/octet-stream");
        let channel =
            writer.add_channel(0, topic, encoding, &BTreeMap::new()).map_err(io::Error::other)?;
        // Indexes and ends of chunks come on top: a file is a little larger than its blocks.
        let blocks_max = spec.file_bytes / spec.block_bytes;
        Ok(Self { writer, file, channel, messages: 0, blocks_max })
    }
}

impl Recording for Mcap {
    fn write(&mut self, block: &[u8]) -> io::Result<()> {
        let time_ns = clock::monotonic_ns();
        let header = MessageHeader {
            channel_id: self.channel,
            sequence: self.messages,
            log_time: time_ns,
            publish_time: time_ns,
        };
        self.messages += 1;
        self.writer.write_to_known_channel(&header, block).map_err(|error| match error {
            ::mcap::McapError::Io(error) => error,
            other => io::Error::other(other),
        })
    }

    fn is_full(&self) -> bool {
        u64::from(self.messages) >= self.blocks_max
    }

    fn settle(&mut self) -> io::Result<()> {
        // Ends the chunk under way; the next block begins a new one.
        self.writer.flush().map_err(io::Error::other)?;
        self.file.sync_all()
    }

    #[cfg(test)]
    fn read_back(&mut self, path: &Path, _spec: &WaySpec) -> Vec<Vec<u8>> {
        self.writer.finish().expect("ended");
        #[allow(clippy::disallowed_methods, reason = "a test looks at what was written")]
        let bytes = std::fs::read(path).expect("there");
        let messages = ::mcap::MessageStream::new(&bytes).expect("an MCAP file");
        messages.map(|message| message.expect("whole").data.into_owned()).collect()
    }
}
