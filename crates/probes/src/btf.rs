//! The kernel's types, those of jbd2 among them where it is a module.
//!
//! A module's types go on where the kernel's end: numbers of types and places of names count from
//! the end of those of the kernel. So both, put one behind the other, are types of one kernel in
//! which jbd2 is no module, and the loader needs to know of no module.
//!
//! Invariant: any bytes give types or an error, never a panic. Held by
//! `a_module_goes_on_where_the_kernel_ends`, `what_is_no_btf_is_refused`.

use crate::error::ProbeError;
use aya::{Btf, Endianness};
use baro_sys::files;
use std::io::Read;
use std::path::Path;

const FOLDER: &str = "/sys/kernel/btf";
/// A kernel's types have some 6 MiB.
const BYTES_MAX: u64 = 64 << 20;
const MAGIC: u16 = 0xeb9f;
/// Magic, version, flags, length of the header; then places and lengths of types and names.
const HEADER_BYTES: usize = 24;

/// The types of the running kernel.
pub(crate) struct KernelTypes {
    pub(crate) btf: Btf,
    /// Whether jbd2 is there.
    pub(crate) has_journal: bool,
    /// Whether each return of a task to its own code after it was off the processor is told. Later
    /// kernels tell it only where something has changed for the task.
    pub(crate) has_returns: bool,
}

impl KernelTypes {
    /// Reads them. Takes some 10 ms.
    ///
    /// # Errors
    /// The kernel tells none, or in an unknown form.
    pub(crate) fn read() -> Result<Self, ProbeError> {
        let read = |name: &str| -> Option<Vec<u8>> {
            let mut bytes = Vec::new();
            let file = files::open(&Path::new(FOLDER).join(name)).ok()?;
            file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
            Some(bytes)
        };
        let mut bytes = read("vmlinux").ok_or_else(|| ProbeError::no_types("no file"))?;
        if let Some(module) = read("jbd2") {
            bytes = joined(&bytes, &module)
                .ok_or_else(|| ProbeError::no_types("types of jbd2 in another form"))?;
        }
        let has = |needle: &[u8]| bytes.windows(needle.len()).any(|window| window == needle);
        let has_journal = has(b"\0journal_s\0");
        let has_returns = has(b"\0btf_trace_rseq_update\0") && has(b"\0rseq_event_mask\0");
        let btf = Btf::parse(&bytes, Endianness::default())
            .map_err(|error| ProbeError::no_types(&error.to_string()))?;
        Ok(Self { btf, has_journal, has_returns })
    }
}

/// Header, types, names.
fn parts(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let number = |at: usize| Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?));
    let magic = u16::from_le_bytes(bytes.get(..2)?.try_into().ok()?);
    let header_bytes = number(4)? as usize;
    if magic != MAGIC || header_bytes < HEADER_BYTES {
        return None;
    }
    let part = |at: usize| {
        let from = header_bytes.checked_add(number(at)? as usize)?;
        bytes.get(from..from.checked_add(number(at + 4)? as usize)?)
    };
    Some((bytes.get(..8)?, part(8)?, part(16)?))
}

/// One kernel of a kernel and its module.
fn joined(kernel: &[u8], module: &[u8]) -> Option<Vec<u8>> {
    let (head, types, names) = parts(kernel)?;
    let (_, more_types, more_names) = parts(module)?;
    let types_bytes = u32::try_from(types.len() + more_types.len()).ok()?;
    let names_bytes = u32::try_from(names.len() + more_names.len()).ok()?;
    let mut bytes = head.get(..4)?.to_vec();
    for number in [HEADER_BYTES as u32, 0, types_bytes, types_bytes, names_bytes] {
        bytes.extend(number.to_le_bytes());
    }
    for part in [types, more_types, names, more_names] {
        bytes.extend_from_slice(part);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn btf(types: &[u32], names: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0x9f, 0xeb, 1, 0];
        let types_bytes = 4 * types.len() as u32;
        for number in [24, 0, types_bytes, types_bytes, names.len() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        types.iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        bytes.extend(names);
        bytes
    }

    /// A struct without members: name, kind 4, its size.
    fn structure(name: u32) -> [u32; 3] {
        [name, 4 << 24, 8]
    }

    #[test]
    fn a_module_goes_on_where_the_kernel_ends() {
        let kernel = btf(&structure(1), b"\0task_struct\0");
        let module = btf(&structure(13), b"journal_s\0");
        let both = joined(&kernel, &module).unwrap();
        assert_eq!(
            both,
            btf(&[structure(1), structure(13)].concat(), b"\0task_struct\0journal_s\0")
        );
        assert!(Btf::parse(&both, Endianness::default()).is_ok());
    }

    #[test]
    fn what_is_no_btf_is_refused() {
        let whole = btf(&structure(1), b"\0a\0");
        for length in 0..whole.len() {
            assert!(joined(&whole[..length], &whole).is_none(), "{length}");
            assert!(joined(&whole, &whole[..length]).is_none(), "{length}");
        }
        for at in 0..24 {
            let mut other = whole.clone();
            other[at] ^= 0xff;
            // Some of these are other places of the same bytes; none may panic.
            let _ = joined(&whole, &other);
        }
    }
}
