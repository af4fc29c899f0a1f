//! What unpacks a body while it comes, and what its faults mean.

use crate::error::BodyError;
use flate2::bufread::MultiGzDecoder;
use std::io::{self, BufRead, ErrorKind, Read};

/// Unpacks what `R` gives, some bytes at a time. It holds 32 KiB, whatever they unpack to.
pub(crate) type Unpacking<R> = MultiGzDecoder<R>;

/// The next unpacked bytes; 0 at the end.
pub(crate) fn read<R: BufRead>(
    from: &mut Unpacking<R>,
    into: &mut [u8],
) -> Result<usize, BodyError> {
    loop {
        match from.read(into) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result.map_err(fault),
        }
    }
}

/// What went wrong: what is below, or that it is no gzip.
pub(crate) fn fault(error: io::Error) -> BodyError {
    let own = error.get_ref().and_then(|inner| inner.downcast_ref::<BodyError>()).cloned();
    own.unwrap_or_else(|| {
        BodyError::Malformed(format!("expected gzip, as Content-Encoding says, found: {error}"))
    })
}
