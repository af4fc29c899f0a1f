//! Keeps the library's needs to the C library alone.
//!
//! Rust's standard library comes along unused, and asks for the unwinder and for thread-local memory. A
//! program of another C library (musl) has neither under these names, and would not start. Nothing here
//! panics, so what asks for them never runs: hidden stubs take their place, which end the program if
//! that should ever be wrong. Being hidden, they are nobody else's unwinder; a cancelled thread unwinds
//! through this library by the program's own.
//!
//! Held by `test the_library_needs_nothing_but_the_c_library` (`tests/musl.rs`).

macro_rules! stubs {
    ($($name:literal)*) => {
        core::arch::global_asm!(
            ".text",
            $(concat!(".globl ", $name, "\n.hidden ", $name, "\n", $name, ":"),)*
            // An instruction that no processor has.
            #[cfg(target_arch = "x86_64")]
            "ud2",
            #[cfg(target_arch = "aarch64")]
            "udf #0",
        );
    };
}

stubs!(
    "_Unwind_Backtrace" "_Unwind_DeleteException" "_Unwind_GetCFA" "_Unwind_GetDataRelBase"
    "_Unwind_GetIP" "_Unwind_GetIPInfo" "_Unwind_GetLanguageSpecificData" "_Unwind_GetRegionStart"
    "_Unwind_GetTextRelBase" "_Unwind_RaiseException" "_Unwind_Resume" "_Unwind_SetGR"
    "_Unwind_SetIP" "__tls_get_addr"
);
