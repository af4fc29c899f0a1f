//! The mutations: what a bad disk, a torn write or somebody with a hex editor does to bytes.

use crate::rng::Rng;

/// Inputs grow by splices and repeats; past this they only get slower to decode.
const INPUT_BYTES_MAX: usize = 64 << 10;

/// Fields of formats lie in the first bytes of an input and of each unit of 4 KiB; half of all
/// places are taken there, else most mutations would hit payload that nobody interprets.
const HEAD_BYTES: usize = 192;
const UNIT_BYTES: usize = 4096;

/// Numbers at which decoders err: around zero, signs, widths and the limits of the format.
const BOUNDARIES: &[u64] = &[
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x7fff,
    0x8000,
    0xffff,
    0x1_0000,
    0x40_0000,
    0x80_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x7fff_ffff_ffff_ffff,
    0x8000_0000_0000_0000,
    u64::MAX - 1,
    u64::MAX,
];

/// Applies one to eight mutations to `input`; `others` are inputs to splice from.
pub(crate) fn mutate(rng: &mut Rng, input: &mut Vec<u8>, others: &[Vec<u8>]) {
    for _ in 0..=rng.below(8) {
        one(rng, input, others);
        input.truncate(INPUT_BYTES_MAX);
    }
}

fn one(rng: &mut Rng, input: &mut Vec<u8>, others: &[Vec<u8>]) {
    let at = place(rng, input.len());
    match rng.below(12) {
        0..=2 => {
            if let Some(byte) = input.get_mut(at) {
                *byte ^= 1 << rng.below(8);
            }
        }
        3 => {
            if let Some(byte) = input.get_mut(at) {
                *byte = rng.next() as u8;
            }
        }
        4..=7 => overwrite_number(rng, input, at),
        8 => input.truncate(at),
        9 => remove(rng, input, at),
        10 => repeat(rng, input, at),
        _ => splice(rng, input, at, others),
    }
}

fn place(rng: &mut Rng, len: usize) -> usize {
    if rng.below(2) == 0 {
        return rng.below(len + 1);
    }
    let unit = rng.below(len / UNIT_BYTES + 1) * UNIT_BYTES;
    (unit + rng.below(HEAD_BYTES)).min(len)
}

/// A little-endian number of 1, 2, 4 or 8 bytes, mostly aligned as fields are: a boundary, or the
/// old one a little larger or smaller.
fn overwrite_number(rng: &mut Rng, input: &mut [u8], at: usize) {
    let width = *rng.pick(&[1, 2, 4, 8]);
    let at = if rng.below(4) == 0 { at } else { at / width * width };
    let Some(field) = input.get_mut(at..at + width) else { return };
    let mut bytes = [0; 8];
    bytes[..width].copy_from_slice(field);
    let old = u64::from_le_bytes(bytes);
    let number = match rng.below(3) {
        0 => old.wrapping_add(1 + rng.below(16) as u64),
        1 => old.wrapping_sub(1 + rng.below(16) as u64),
        _ => *rng.pick(BOUNDARIES),
    };
    field.copy_from_slice(&number.to_le_bytes()[..width]);
}

fn remove(rng: &mut Rng, input: &mut Vec<u8>, at: usize) {
    let end = (at + 1 + rng.below(64)).min(input.len());
    input.drain(at.min(end)..end);
}

/// Part of the input once more, over what is there or between.
fn repeat(rng: &mut Rng, input: &mut Vec<u8>, at: usize) {
    let from = place(rng, input.len());
    let end = (from + 1 + rng.below(256)).min(input.len());
    let part = input[from..end].to_vec();
    let over = if rng.below(2) == 0 { part.len() } else { 0 };
    let over = over.min(input.len() - at);
    input.splice(at..at + over, part);
}

/// The rest from another input: a valid beginning with a foreign end.
fn splice(rng: &mut Rng, input: &mut Vec<u8>, at: usize, others: &[Vec<u8>]) {
    if others.is_empty() {
        return;
    }
    let other = rng.pick(others);
    let from = place(rng, other.len());
    input.truncate(at);
    input.extend_from_slice(&other[from..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_input_is_mutated_without_a_panic_and_stays_bounded() {
        let others = [Vec::new(), vec![7; 10_000], vec![9; INPUT_BYTES_MAX]];
        for iteration in 0..20_000 {
            let mut rng = Rng::new(1, iteration);
            let mut input = rng.pick(&others).clone();
            mutate(&mut rng, &mut input, &others);
            assert!(input.len() <= INPUT_BYTES_MAX);
        }
    }

    #[test]
    fn every_byte_of_a_small_input_is_reached() {
        let mut changed = [false; 40];
        for iteration in 0..5_000 {
            let mut input = vec![0xa5; 40];
            mutate(&mut Rng::new(2, iteration), &mut input, &[]);
            input
                .iter()
                .zip(&mut changed)
                .filter(|(b, _)| **b != 0xa5)
                .for_each(|(_, c)| *c = true);
        }
        assert_eq!(changed, [true; 40]);
    }
}
