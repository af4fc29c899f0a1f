//! The kernel proper out of a bzImage: QEMU starts an uncompressed image (PVH) three to four times
//! as fast as one that must unpack itself under emulation.
//!
//! Source: Documentation/arch/x86/boot.rst, "The Real-Mode Kernel Header" (`payload_offset`,
//! `payload_length` since protocol 2.08).

use crate::tool::filter;
use std::process::Command;

/// Compressions that Debian has used, by their first bytes.
const PACKERS: &[(&[u8], &str)] = &[
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    (b"\x1f\x8b", "gzip"),
    (b"\x02\x21\x4c\x18", "lz4"),
];

/// The ELF image in `image`.
///
/// # Errors
/// It is no bzImage, or of a compression that nobody here unpacks.
pub(crate) fn extract(image: &[u8]) -> Result<Vec<u8>, String> {
    let packed = payload(image)?;
    let packer = PACKERS.iter().find(|(magic, _)| packed.starts_with(magic));
    let Some((_, packer)) = packer else {
        return Err(format!("compression unknown: begins with {:02x?}", packed.get(..6)));
    };
    let kernel = filter(Command::new(packer).arg("-dc"), packed)?;
    if kernel.starts_with(b"\x7fELF") {
        Ok(kernel)
    } else {
        Err(format!("no ELF image after {packer}: begins with {:02x?}", kernel.get(..4)))
    }
}

/// The compressed part, without the length that follows it.
fn payload(image: &[u8]) -> Result<&[u8], String> {
    let number = |at: usize| -> Option<usize> {
        let bytes = image.get(at..at + 4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?) as usize)
    };
    if image.get(0x202..0x206) != Some(b"HdrS") {
        return Err("no bzImage: expected HdrS at 0x202".to_owned());
    }
    let setup_sectors = match image[0x1f1] {
        0 => 4,
        other => usize::from(other),
    };
    let found = || {
        let begin = (setup_sectors + 1) * 512 + number(0x248)?;
        let end = begin.checked_add(number(0x24c)?)?.checked_sub(4)?;
        image.get(begin..end)
    };
    found().ok_or_else(|| "the payload is not inside of the image".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024];
        image[0x1f1] = 1;
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x248..0x24c].copy_from_slice(&16_u32.to_le_bytes());
        let bytes = u32::try_from(payload.len() + 4).unwrap();
        image[0x24c..0x250].copy_from_slice(&bytes.to_le_bytes());
        image.extend([0; 16]);
        image.extend(payload);
        image.extend([1, 2, 3, 4]);
        image
    }

    #[test]
    fn the_payload_is_where_the_header_says() {
        assert_eq!(payload(&image(b"packed")).unwrap(), b"packed");
    }

    #[test]
    fn what_is_no_kernel_is_refused() {
        assert!(extract(b"short").unwrap_err().contains("HdrS"));
        assert!(extract(&image(b"neither")).unwrap_err().contains("compression"));
        let mut lies = image(b"packed");
        lies[0x24c..0x250].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(payload(&lies).is_err());
        let packed = filter(Command::new("gzip").arg("-c"), b"no kernel").unwrap();
        assert!(extract(&image(&packed)).unwrap_err().contains("ELF"));
    }
}
