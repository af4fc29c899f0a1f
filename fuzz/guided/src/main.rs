//! One target of baro-fuzz under libFuzzer: `BARO_FUZZ_TARGET=NAME baro-fuzz-guided [-OPTION=N...] CORPUS`.
//!
//! libFuzzer keeps each input that reaches code which none before has reached, and goes on from
//! those. Every second mutation is fixed up by the target, so that both checksums and what is behind
//! them are tried. Started by `cargo xtask fuzz --guided`, which also limits memory and time.
#![no_main]

use baro_fuzz::{TARGETS, Target};
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use std::sync::OnceLock;

fn target() -> &'static Target {
    static FOUND: OnceLock<&'static Target> = OnceLock::new();
    FOUND.get_or_init(|| {
        // libFuzzer's own hook ends the program at each panic; one that becomes an error is no find.
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            if !baro_fuzz::is_panic_caught() {
                before(panic);
            }
        }));
        let name = std::env::var("BARO_FUZZ_TARGET").unwrap_or_default();
        let found = TARGETS.iter().find(|target| target.name == name);
        found.unwrap_or_else(|| {
            let names: Vec<_> = TARGETS.iter().map(|target| target.name).collect();
            eprintln!("BARO_FUZZ_TARGET: expected one of {}, found {name:?}", names.join(" "));
            std::process::exit(2)
        })
    })
}

fuzz_target!(|input: &[u8]| (target().fuzz_one)(input));

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    let size = fuzzer_mutate(data, size, max_size);
    if seed & 1 == 0 {
        return size;
    }
    let mut input = data[..size].to_vec();
    (target().fix_up)(&mut input);
    let size = input.len().min(max_size);
    data[..size].copy_from_slice(&input[..size]);
    size
});
