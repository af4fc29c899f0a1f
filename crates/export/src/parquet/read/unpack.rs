//! Pages unpacked: each into as many bytes as its header says, and no more.
//!
//! The decoders are those halves of small crates in Rust; the `parquet` crate would link what packs
//! besides, and C for Zstandard. A page that comes to fewer bytes than it says, or to more, is
//! damaged.
//!
//! Invariant: what a decoder needs beside its output is bounded: a window of Zstandard is as large as
//! the page or 8 MiB, whichever is more, one of Brotli 16 MiB. Held by
//! `pages_of_every_compression_are_read_in_bounds` and `a_large_window_of_brotli_takes_no_memory`
//! (`tests/packed.rs`).

use parquet::basic::Compression;
use std::io::Read;

/// The window that a decoder of Zstandard should have, by its format.
const WINDOW_BYTES: u64 = 8 << 20;

/// What a stream of Brotli begins with, of its first 7 bits, if it wants a window that the format does
/// not have: up to 1 GiB, which its decoder would give it.
const LARGE_WINDOW: u8 = 0x11;

/// Whether pages packed so can be unpacked.
pub(super) fn is_known(how: Compression) -> bool {
    !matches!(how, Compression::LZO)
}

/// What is taken besides while a page of so many bytes is unpacked, beyond what any file may take.
pub(super) fn room_bytes(how: Compression, unpacked_bytes: u64) -> u64 {
    match how {
        Compression::ZSTD(_) if unpacked_bytes > WINDOW_BYTES => unpacked_bytes.saturating_mul(2),
        _ => 0,
    }
}

/// Fills `out`; None where `packed` does not come to just these bytes.
pub(super) fn unpack(how: Compression, packed: &[u8], out: &mut [u8]) -> Option<()> {
    // Of no values some writers pack nothing at all.
    if out.is_empty() {
        return Some(());
    }
    match how {
        Compression::UNCOMPRESSED => {
            (packed.len() == out.len()).then(|| out.copy_from_slice(packed))
        }
        Compression::SNAPPY => whole(snap::raw::Decoder::new().decompress(packed, out).ok()?, out),
        Compression::ZSTD(_) => {
            let mut decoder = ruzstd::decoding::FrameDecoder::new();
            decoder.set_max_window_size(WINDOW_BYTES.max(out.len() as u64));
            whole(decoder.decode_all(packed, out).ok()?, out)
        }
        Compression::GZIP(_) => rest_of(flate2::read::MultiGzDecoder::new(packed), out),
        Compression::BROTLI(_) if packed.first()? & 0x7f == LARGE_WINDOW => None,
        Compression::BROTLI(_) => {
            rest_of(brotli_decompressor::Decompressor::new(packed, 4096), out)
        }
        Compression::LZ4_RAW => whole(lz4_flex::block::decompress_into(packed, out).ok()?, out),
        Compression::LZ4 => hadoop(packed, out)
            .or_else(|| whole(lz4_flex::block::decompress_into(packed, out).ok()?, out)),
        Compression::LZO => None,
    }
}

fn whole(bytes: usize, out: &[u8]) -> Option<()> {
    (bytes == out.len()).then_some(())
}

/// Reads `out` full, and sees that the input ends there.
fn rest_of(mut input: impl Read, out: &mut [u8]) -> Option<()> {
    input.read_exact(out).ok()?;
    whole(out.len() + input.read(&mut [0]).ok()?, out)
}

/// LZ4 as Hadoop frames it: bytes unpacked and packed, big-endian, before each block.
fn hadoop(mut packed: &[u8], mut out: &mut [u8]) -> Option<()> {
    while !out.is_empty() {
        let (unpacked_bytes, rest) = packed.split_first_chunk()?;
        let (packed_bytes, rest) = rest.split_first_chunk()?;
        let block = rest.get(..u32::from_be_bytes(*packed_bytes) as usize)?;
        packed = rest.get(block.len()..)?;
        let (part, others) =
            out.split_at_mut_checked(u32::from_be_bytes(*unpacked_bytes) as usize)?;
        whole(lz4_flex::block::decompress_into(block, part).ok()?, part)?;
        // Steps: each block has a part of the page.
        (!part.is_empty()).then_some(())?;
        out = others;
    }
    packed.is_empty().then_some(())
}
