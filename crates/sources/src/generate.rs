//! Data made from a seed: frames that prove themselves, and a random walk.
//!
//! To test that nothing is lost, swapped or torn, a reader must know what each frame should hold.
//! So every frame carries its seed and sequence, and all its other bytes follow from these two
//! and its length: [`check_frame`] makes them again and compares, and says where the first wrong
//! byte is, which tells a torn frame (wrong from some unit on) from a flipped bit.
//!
//! Layout, little-endian: seed u64, sequence u64, checksum u64 over both and the length, then
//! words that each depend on their index alone. No word waits for the one before it, so that the
//! processor makes several at once: several GB/s on one core, more than any disk takes. Frames of
//! one seed differ everywhere, and hardly compress.
//!
//! Invariant: a frame changed in any byte, cut short or lengthened is refused. Held by
//! `tests::every_changed_byte_is_found` and `tests::a_cut_frame_is_refused`. Recordings outlive
//! versions, so the bytes never change: `tests::the_bytes_stay_what_they_are`.

use std::fmt;

/// Seed, sequence and checksum: the shortest frame.
pub const FRAME_BYTES_MIN: usize = 24;

/// The odd constant of splitmix64: 2^64 divided by the golden ratio.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Why a frame is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameError {
    /// Shorter than [`FRAME_BYTES_MIN`].
    TooShort {
        /// Its length.
        found_bytes: usize,
    },
    /// Seed, sequence and length do not fit the checksum: no generated frame, or one of another
    /// length, or its head was damaged.
    Checksum {
        /// What the head and the length ask for.
        expected: u64,
        /// What the frame holds.
        found: u64,
    },
    /// The head is whole and the body differs.
    Body {
        /// From the head.
        seed: u64,
        /// From the head.
        sequence: u64,
        /// Offset of the first wrong byte.
        offset_bytes: usize,
        /// The byte that belongs there.
        expected: u8,
        /// The byte that is there.
        found: u8,
    },
}

impl fmt::Display for FrameError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooShort { found_bytes } => write!(
                formatter,
                "frame of {found_bytes} bytes; a generated frame has at least {FRAME_BYTES_MIN}"
            ),
            Self::Checksum { expected, found } => write!(
                formatter,
                "frame head: expected checksum {expected:#018x}, found {found:#018x}; not a \
                 generated frame, cut, or damaged in its first {FRAME_BYTES_MIN} bytes"
            ),
            Self::Body { seed, sequence, offset_bytes, expected, found } => write!(
                formatter,
                "frame {sequence} of seed {seed}: byte {offset_bytes} is {found:#04x}, expected \
                 {expected:#04x}"
            ),
        }
    }
}

impl std::error::Error for FrameError {}

/// Fills `frame` with the content of frame `sequence` of `seed`.
///
/// # Errors
/// [`FrameError::TooShort`]; `frame` is then left as it was.
pub fn fill_frame(seed: u64, sequence: u64, frame: &mut [u8]) -> Result<(), FrameError> {
    let found_bytes = frame.len();
    let Some((head, body)) = frame.split_at_mut_checked(FRAME_BYTES_MIN) else {
        return Err(FrameError::TooShort { found_bytes });
    };
    let check = checksum(seed, sequence, found_bytes);
    for (place, word) in head.as_chunks_mut::<8>().0.iter_mut().zip([seed, sequence, check]) {
        *place = word.to_le_bytes();
    }
    let (words, tail) = body.as_chunks_mut::<8>();
    // The checksum is a good start: it differs for each seed, sequence and length.
    let mut state = check;
    for word in words {
        state = state.wrapping_add(GOLDEN);
        *word = scramble(state).to_le_bytes();
    }
    let last = scramble(state.wrapping_add(GOLDEN)).to_le_bytes();
    for (place, byte) in tail.iter_mut().zip(last) {
        *place = byte;
    }
    Ok(())
}

/// Whether `frame` is what [`fill_frame`] made, bit by bit; its `(seed, sequence)` if so.
///
/// # Errors
/// [`FrameError`] says what is wrong, and where.
pub fn check_frame(frame: &[u8]) -> Result<(u64, u64), FrameError> {
    let found_bytes = frame.len();
    let Some((&[seed, sequence, found], body)) = frame
        .split_at_checked(FRAME_BYTES_MIN)
        .and_then(|(head, body)| Some((head.as_chunks::<8>().0.first_chunk::<3>()?, body)))
    else {
        return Err(FrameError::TooShort { found_bytes });
    };
    let [seed, sequence, found] = [seed, sequence, found].map(u64::from_le_bytes);
    let expected = checksum(seed, sequence, found_bytes);
    if expected != found {
        return Err(FrameError::Checksum { expected, found });
    }
    let (words, tail) = body.as_chunks::<8>();
    let mut state = expected;
    let mut differences = 0;
    for word in words {
        state = state.wrapping_add(GOLDEN);
        differences |= scramble(state) ^ u64::from_le_bytes(*word);
    }
    let last = scramble(state.wrapping_add(GOLDEN)).to_le_bytes();
    if differences == 0 && last.starts_with(tail) {
        return Ok((seed, sequence));
    }
    Err(first_difference(seed, sequence, expected, body))
}

/// Where `body` goes wrong: looked for only when it does.
fn first_difference(seed: u64, sequence: u64, start: u64, body: &[u8]) -> FrameError {
    let mut state = start;
    for (index, word) in body.chunks(8).enumerate() {
        state = state.wrapping_add(GOLDEN);
        for (within, (found, expected)) in
            word.iter().zip(scramble(state).to_le_bytes()).enumerate()
        {
            if *found != expected {
                let offset_bytes = FRAME_BYTES_MIN + index * 8 + within;
                return FrameError::Body { seed, sequence, offset_bytes, expected, found: *found };
            }
        }
    }
    // Not reached: the caller saw a difference. A wrong answer is better than a panic.
    FrameError::Checksum { expected: start, found: start }
}

/// One 64-bit word from another: one multiplication, enough for data nobody has to guess.
#[inline]
fn scramble(state: u64) -> u64 {
    let mixed = (state ^ (state >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 32)
}

fn checksum(seed: u64, sequence: u64, frame_bytes: usize) -> u64 {
    let mut mixer = SplitMix64 { state: seed };
    mixer.state = mixer.next_word() ^ sequence;
    mixer.state = mixer.next_word() ^ frame_bytes as u64;
    mixer.next_word()
}

/// Steele, Lea and Flood's generator: any seed is a good seed.
#[derive(Debug, Clone)]
struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    fn next_word(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN);
        let mut word = self.state;
        word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        word ^ (word >> 31)
    }
}

/// An endless random walk with three decimals, as sensors are: each step is -0.005 to 0.005.
///
/// Kept in whole thousandths, so that the values are exactly the doubles nearest to their three
/// decimals and no error adds up. The same seed and series give the same walk.
#[derive(Debug, Clone)]
pub struct RandomWalk {
    random: SplitMix64,
    thousandths: i64,
}

impl RandomWalk {
    /// The walk of one of many series of a seed, starting at 20.000.
    #[must_use]
    pub fn new(seed: u64, series: u64) -> Self {
        let start = checksum(seed, series, 0);
        Self { random: SplitMix64 { state: start }, thousandths: 20_000 }
    }
}

impl Iterator for RandomWalk {
    type Item = f64;

    /// The next value; there always is one.
    fn next(&mut self) -> Option<f64> {
        // The high half of a product by 11: uniform but for 11 in 2^64, and no division.
        let step = (u128::from(self.random.next_word()) * 11) >> 64;
        self.thousandths = self.thousandths.saturating_add(step as i64 - 5);
        Some(self.thousandths as f64 / 1000.0)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn frame(seed: u64, sequence: u64, frame_bytes: usize) -> Vec<u8> {
        let mut frame = vec![0xaa; frame_bytes];
        fill_frame(seed, sequence, &mut frame).unwrap();
        frame
    }

    #[test]
    fn every_length_checks_out() {
        for frame_bytes in FRAME_BYTES_MIN..200 {
            let frame = frame(7, frame_bytes as u64, frame_bytes);
            assert_eq!(check_frame(&frame), Ok((7, frame_bytes as u64)));
        }
        assert_eq!(check_frame(&frame(u64::MAX, 0, 16_384)), Ok((u64::MAX, 0)));
    }

    #[test]
    fn every_changed_byte_is_found() {
        for frame_bytes in [24, 25, 31, 32, 45] {
            let good = frame(1, 2, frame_bytes);
            for offset in 0..frame_bytes {
                for bit in 0..8 {
                    let mut bad = good.clone();
                    bad[offset] ^= 1 << bit;
                    match check_frame(&bad).unwrap_err() {
                        FrameError::Checksum { .. } => assert!(offset < FRAME_BYTES_MIN),
                        FrameError::Body { offset_bytes, expected, found, .. } => {
                            assert_eq!(offset_bytes, offset);
                            assert_eq!((expected, found), (good[offset], bad[offset]));
                        }
                        other => panic!("{other}"),
                    }
                }
            }
        }
    }

    #[test]
    fn a_cut_frame_is_refused() {
        let good = frame(1, 2, 64);
        for cut in 0..64 {
            assert!(check_frame(&good[..cut]).is_err());
        }
        let longer = [good.as_slice(), &[0; 8]].concat();
        assert!(matches!(check_frame(&longer), Err(FrameError::Checksum { .. })));
        let mut short = [5; 23];
        assert_eq!(fill_frame(1, 2, &mut short), Err(FrameError::TooShort { found_bytes: 23 }));
        assert_eq!(short, [5; 23]);
    }

    #[test]
    fn a_torn_frame_says_where() {
        let mut torn = frame(1, 2, 16_384);
        torn[4096..].copy_from_slice(&frame(1, 1, 16_384)[4096..]);
        let Err(FrameError::Body { sequence, offset_bytes, .. }) = check_frame(&torn) else {
            panic!("not found");
        };
        assert_eq!(sequence, 2);
        assert!((4096..4104).contains(&offset_bytes), "{offset_bytes}");
    }

    #[test]
    fn frames_of_zeros_and_ones_are_refused() {
        for byte in [0x00, 0xff] {
            for frame_bytes in 0..100 {
                assert!(check_frame(&vec![byte; frame_bytes]).is_err());
            }
        }
    }

    #[test]
    fn frames_differ_everywhere() {
        let words: HashSet<Vec<u8>> = (0..100)
            .flat_map(|sequence| {
                frame(9, sequence, 1048)[24..].chunks(8).map(Vec::from).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(words.len(), 100 * 128);
    }

    #[test]
    fn the_bytes_stay_what_they_are() {
        let hex: String = frame(1, 2, 44).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            hex,
            "010000000000000002000000000000006287093def1d8fa6800eb0a3a22224553d4cfcac487a2fc8880065a4"
        );
        let walk: Vec<f64> = RandomWalk::new(1, 2).take(6).collect();
        assert_eq!(walk, [20.0, 20.001, 19.999, 19.996, 19.994, 19.994]);
    }

    #[test]
    fn walks_take_small_even_steps_of_three_decimals() {
        let mut counts = [0_u32; 11];
        let mut before = 20_000;
        for value in RandomWalk::new(3, 4).take(110_000) {
            let thousandths = (value * 1000.0).round() as i64;
            assert_eq!(format!("{value}").parse::<f64>(), Ok(thousandths as f64 / 1000.0));
            counts[usize::try_from(thousandths - before + 5).unwrap()] += 1;
            before = thousandths;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
        assert!(RandomWalk::new(3, 4).take(50).eq(RandomWalk::new(3, 4).take(50)));
        assert!(!RandomWalk::new(3, 5).take(50).eq(RandomWalk::new(3, 4).take(50)));
    }
}
