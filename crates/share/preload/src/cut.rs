//! Cutting, pure: a list of buffers is walked piece by piece, and what the pieces return becomes what
//! the whole call would have returned.
//!
//! Invariants: the pieces hold each byte once and in order, however the list is divided
//! (`test any_list_cut_anywhere_gives_each_byte_once`); a short piece ends the call with what was
//! done, an error after progress is left for the next call (`test short_pieces_and_errors_end_a_call`).

use core::ffi::c_void;
use libc::iovec;

/// How many buffers one piece may have; a piece of more is made smaller.
pub(crate) const LIST_MAX: usize = 64;

/// Buffers of nobody, to be filled.
pub(crate) const NO_LIST: [iovec; LIST_MAX] =
    [iovec { iov_base: core::ptr::null_mut(), iov_len: 0 }; LIST_MAX];

/// How far a list of buffers is done: the buffer, and the bytes of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Cursor {
    index: usize,
    skip_bytes: usize,
}

impl Cursor {
    pub(crate) const START: Cursor = Cursor { index: 0, skip_bytes: 0 };

    /// Puts the next at most `max_bytes` of `list` into `out`. Returns how many buffers and bytes
    /// that are; the cursor stays behind them.
    pub(crate) fn take(
        &mut self,
        list: &[iovec],
        max_bytes: usize,
        out: &mut [iovec; LIST_MAX],
    ) -> (usize, usize) {
        let (mut used, mut bytes) = (0, 0);
        for slot in out.iter_mut() {
            // Empty buffers need no place in a piece.
            while list.get(self.index).is_some_and(|b| b.iov_len <= self.skip_bytes) {
                self.index += 1;
                self.skip_bytes = 0;
            }
            let Some(buffer) = list.get(self.index) else { break };
            if bytes >= max_bytes {
                break;
            }
            let len = (buffer.iov_len - self.skip_bytes).min(max_bytes - bytes);
            let start = buffer.iov_base.cast::<u8>().wrapping_add(self.skip_bytes);
            *slot = iovec { iov_base: start.cast::<c_void>(), iov_len: len };
            self.skip_bytes += len;
            bytes += len;
            used += 1;
        }
        (used, bytes)
    }
}

/// What a cut call came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// What the call returns: bytes, or what the first piece returned if that is below 0.
    pub(crate) result: isize,
    /// Pieces that were submitted.
    pub(crate) pieces: u64,
}

/// Submits the first `total_bytes` of `list` in pieces of `piece_bytes`, one after the other.
/// `submit` gets the buffers of a piece and the bytes done before it, and returns the bytes of the
/// piece that are done, or a number below 0.
pub(crate) fn run(
    list: &[iovec],
    total_bytes: usize,
    piece_bytes: usize,
    mut submit: impl FnMut(&[iovec], usize) -> isize,
) -> Outcome {
    let (mut cursor, mut part) = (Cursor::START, NO_LIST);
    let (mut done, mut pieces) = (0, 0);
    while done < total_bytes {
        let wanted = piece_bytes.min(total_bytes - done);
        let (used, asked) = cursor.take(list, wanted, &mut part);
        if asked == 0 {
            break;
        }
        let result = submit(part.get(..used).unwrap_or(&[]), done);
        pieces += 1;
        if result < 0 {
            let result = if done == 0 { result } else { done as isize };
            return Outcome { result, pieces };
        }
        done += result as usize;
        if (result as usize) < asked {
            break;
        }
    }
    Outcome { result: done as isize, pieces }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A small generator; each seed is a case.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
            ((self.0 >> 33) as usize) % limit.max(1)
        }
    }

    fn list_of(random: &mut Random, memory: &mut [u8]) -> Vec<iovec> {
        let (mut list, mut at) = (Vec::new(), 0);
        while at < memory.len() {
            let len = match random.below(4) {
                0 => 0,
                1 => 1,
                _ => random.below(200),
            };
            let len = len.min(memory.len() - at);
            list.push(iovec { iov_base: memory[at..].as_mut_ptr().cast(), iov_len: len });
            at += len;
        }
        list
    }

    fn bytes_of(part: &[iovec]) -> Vec<u8> {
        let slice = |b: &iovec| {
            // SAFETY: the buffers are parts of memory that the test holds.
            unsafe { std::slice::from_raw_parts(b.iov_base.cast::<u8>(), b.iov_len) }.to_vec()
        };
        part.iter().flat_map(slice).collect()
    }

    #[test]
    fn any_list_cut_anywhere_gives_each_byte_once() {
        for seed in 0..500 {
            let mut random = Random(seed);
            let mut memory: Vec<u8> =
                (0..random.below(5000)).map(|i| (i * 7 % 251) as u8).collect();
            let list = list_of(&mut random, &mut memory);
            let piece = 1 + random.below(700);
            let (mut seen, mut calls) = (Vec::new(), 0);
            let outcome = run(&list, memory.len(), piece, |part, done| {
                assert_eq!(done, seen.len());
                let bytes = bytes_of(part);
                assert!(bytes.len() <= piece && !bytes.is_empty() && part.len() <= LIST_MAX);
                assert!(part.iter().all(|b| b.iov_len > 0));
                seen.extend_from_slice(&bytes);
                calls += 1;
                bytes.len() as isize
            });
            assert_eq!(
                (seen.as_slice(), outcome.pieces),
                (memory.as_slice(), calls),
                "seed {seed}"
            );
            assert_eq!(outcome.result, memory.len() as isize);
        }
    }

    #[test]
    fn short_pieces_and_errors_end_a_call() {
        for seed in 0..500 {
            let mut random = Random(seed);
            let mut memory = vec![0; 1 + random.below(5000)];
            let list = list_of(&mut random, &mut memory);
            let (piece, last) = (1 + random.below(700), random.below(6));
            let fails = random.below(2) == 0;
            let (mut calls, mut done_bytes) = (0, 0);
            let outcome = run(&list, memory.len(), piece, |part, _| {
                let asked: usize = part.iter().map(|b| b.iov_len).sum();
                let result = match (calls == last, fails) {
                    (true, true) => -5,
                    (true, false) => random.below(asked) as isize,
                    (false, _) => asked as isize,
                };
                calls += 1;
                done_bytes += result.max(0);
                result
            });
            assert!(calls <= last + 1, "seed {seed}: went on behind the end");
            let failed_at_once = fails && last == 0;
            assert_eq!(outcome.result, if failed_at_once { -5 } else { done_bytes }, "seed {seed}");
        }
    }

    #[test]
    fn no_more_than_the_total_is_taken() {
        let mut memory = vec![0; 1000];
        let list = [iovec { iov_base: memory.as_mut_ptr().cast(), iov_len: 1000 }];
        let mut asked = Vec::new();
        let outcome = run(&list, 700, 300, |part, _| {
            asked.push(part[0].iov_len);
            part[0].iov_len as isize
        });
        assert_eq!((outcome.result, asked), (700, vec![300, 300, 100]));
    }
}
