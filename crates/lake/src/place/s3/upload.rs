//! A file that comes in parts and appears with the last step.

use super::client::Client;
use crate::error::Result;
use crate::place::Output;
use std::io::{self, Write};
use std::sync::Arc;

/// Bytes of a part: at least five million, and there are at most 10,000 of them.
const PART_BYTES: usize = 8 << 20;

/// A file in the making; one part of it is held.
#[derive(Debug)]
pub(super) struct Upload {
    client: Arc<Client>,
    key: String,
    part: Vec<u8>,
    /// What the server calls it, once it has a part.
    id: Option<String>,
    /// What the server calls its parts.
    tags: Vec<String>,
    bytes: u64,
}

impl Upload {
    pub(super) fn new(client: Arc<Client>, key: String) -> Self {
        Upload { client, key, part: Vec::new(), id: None, tags: Vec::new(), bytes: 0 }
    }

    fn send(&mut self) -> Result<()> {
        let id = match &self.id {
            Some(id) => id.clone(),
            None => self.id.insert(self.client.begin(&self.key)?).clone(),
        };
        let number = self.tags.len() as u16 + 1;
        self.tags.push(self.client.part(&self.key, &id, number, &self.part)?);
        self.part.clear();
        Ok(())
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = bytes.len().min(PART_BYTES - self.part.len());
        self.part.extend_from_slice(bytes.get(..taken).unwrap_or(&[]));
        self.bytes += taken as u64;
        if self.part.len() >= PART_BYTES {
            self.send().map_err(|error| io::Error::other(error.to_string()))?;
        }
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Output for Upload {
    fn finish(mut self: Box<Self>) -> Result<u64> {
        if self.id.is_none() {
            // No commit names it yet, so that putting it twice does no harm.
            self.client.put(&self.key, &self.part)?;
            return Ok(self.bytes);
        }
        if !self.part.is_empty() {
            self.send()?;
        }
        if let Some(id) = &self.id {
            self.client.complete(&self.key, id, &self.tags)?;
        }
        self.id = None;
        Ok(self.bytes)
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        if let Some(id) = &self.id {
            // It takes room and costs, and that is all.
            let _ = self.client.give_up(&self.key, id);
        }
    }
}
