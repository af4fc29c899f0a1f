//! Names of the kernel's functions, for the addresses that a trace has.
//!
//! A kernel has a hundred thousand functions and a trace a few hundred of them, so only these are
//! named, when the recording ends. Without the right to see addresses (`kernel.kptr_restrict`) all
//! of them read as 0 and none is named.
//!
//! Invariant: a function's end is the beginning of the next symbol, so an address beyond the last
//! has no name. Held by `functions_are_found_by_address`.

use crate::timeline::Symbols;
use baro_sys::files;
use std::collections::BTreeSet;
use std::path::Path;

/// The list of a large kernel with many modules has some 15 MB.
const BYTES_MAX: u64 = 64 << 20;
/// No function is larger; behind the last of a module another one's may begin far away.
const FUNCTION_BYTES_MAX: u64 = 1 << 20;

/// Whether the kernel hides the addresses of its functions from this process, so that none would have a
/// name: the list is there, and all in it is 0.
#[must_use]
pub fn are_hidden() -> bool {
    const LOOKED_AT_BYTES: u64 = 256 << 10;
    let Ok(list) = files::open(Path::new("/proc/kallsyms")) else { return false };
    let mut text = Vec::new();
    let read =
        std::io::Read::read_to_end(&mut std::io::Read::take(list, LOOKED_AT_BYTES), &mut text);
    read.is_ok() && has_no_address(&text)
}

fn has_no_address(list: &[u8]) -> bool {
    let mut addresses = list
        .split(|byte| *byte == b'\n')
        .filter_map(|line| line.split(|byte| *byte == b' ').next());
    !list.is_empty() && addresses.all(|address| address.iter().all(|byte| *byte == b'0'))
}

/// The functions of the running kernel that have one of `addresses`.
pub(super) fn of_kernel(addresses: impl IntoIterator<Item = u64>) -> Symbols {
    let addresses: BTreeSet<u64> = addresses.into_iter().collect();
    if addresses.is_empty() {
        return Symbols::default();
    }
    let text = files::read_text(Path::new("/proc/kallsyms"), BYTES_MAX).unwrap_or_default();
    of_text(&text, &addresses)
}

/// Lines `address kind name [module]`, in any order.
fn of_text(text: &str, addresses: &BTreeSet<u64>) -> Symbols {
    let parse = |line: &'_ str| -> Option<(u64, usize)> {
        let (address, _) = line.split_once(' ')?;
        let address = u64::from_str_radix(address, 16).ok().filter(|address| *address != 0)?;
        Some((address, line.as_ptr() as usize - text.as_ptr() as usize))
    };
    let mut begins: Vec<(u64, usize)> = text.lines().filter_map(parse).collect();
    begins.sort_unstable();
    // Of several names of one address the first in the list is the function's own.
    begins.dedup_by_key(|(address, _)| *address);
    let mut symbols = Symbols::default();
    for address in addresses {
        let after = begins.partition_point(|(begin, _)| begin <= address);
        let Some((begin, at)) = after.checked_sub(1).and_then(|index| begins.get(index)) else {
            continue;
        };
        let next = begins.get(after).map_or(u64::MAX, |(begin, _)| *begin);
        let end = next.min(begin.saturating_add(FUNCTION_BYTES_MAX));
        let line = text.get(*at..).and_then(|rest| rest.lines().next()).unwrap_or("");
        if let Some(name) = line.split_whitespace().nth(2).filter(|_| address < &end) {
            symbols.add(*begin, end, name);
        }
    }
    symbols
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_addresses_is_seen() {
        assert!(has_no_address(
            b"0000000000000000 A fixed_percpu_data\n0000000000000000 T _text\n"
        ));
        // Data of each processor begins at 0 where nothing is hidden.
        assert!(!has_no_address(
            b"0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\n"
        ));
        assert!(!has_no_address(b""));
    }

    #[test]
    fn functions_are_found_by_address() {
        let text = "ffff0300 t third\t[ext4]\nffff0100 T first\nnonsense\n\nffff0200 t second\n\
                    ffff0200 t alias\n0000000000000000 t hidden\n";
        let addresses = [0xffff_00ff, 0xffff_0100, 0xffff_01ff, 0xffff_0250, u64::MAX - 1, 0];
        let symbols = of_text(text, &addresses.into_iter().collect());
        let names: Vec<Option<&str>> = addresses.iter().map(|one| symbols.name(*one)).collect();
        assert_eq!(names, [None, Some("first"), Some("first"), Some("second"), None, None]);
        assert_eq!(symbols.len(), 2);
    }
}
