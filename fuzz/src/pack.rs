//! Many inputs in one file of the corpus: what a guided run has found to reach something new.
//!
//! A file whose name ends with `.pack` holds inputs one after the other, each behind its length in four
//! bytes, low byte first. Thousands of small files would be in everybody's way.

use std::path::Path;

/// The inputs in a file of the corpus: of a pack all, of any other file the one that it is. What a pack
/// is too short for is left out.
#[must_use]
pub fn unpack(path: &Path, bytes: Vec<u8>) -> Vec<Vec<u8>> {
    if path.extension().is_none_or(|ending| ending != "pack") {
        return vec![bytes];
    }
    let mut inputs = Vec::new();
    let mut rest = bytes.as_slice();
    while let Some((length, behind)) = rest.split_first_chunk() {
        let Some((input, behind)) = behind.split_at_checked(u32::from_le_bytes(*length) as usize)
        else {
            break;
        };
        inputs.push(input.to_vec());
        rest = behind;
    }
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pack_is_many_inputs_and_a_torn_one_as_many_as_are_whole() {
        let pack = [3, 0, 0, 0, 1, 2, 3, 0, 0, 0, 0, 1, 0, 0, 0, 9];
        let inputs = unpack(Path::new("a.pack"), pack.to_vec());
        assert_eq!(inputs, [vec![1, 2, 3], vec![], vec![9]]);
        assert_eq!(unpack(Path::new("a.pack"), pack[..15].to_vec()).len(), 2);
        assert_eq!(unpack(Path::new("seed-0"), pack.to_vec()), [pack.to_vec()]);
    }
}
