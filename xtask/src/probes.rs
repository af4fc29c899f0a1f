//! `cargo xtask probes`: builds the programs that `crates/probes` loads into the kernel.
//!
//! What is built is committed, so that neither users nor CI need clang. Beside it lies a text with
//! checksums of the source and of what was built: the tests of that crate compare them, and where
//! this very clang is installed, the CI step builds it again and compares the bytes.

use crate::ci::{Outcome, Report};
use crate::libbaro::must;
use crate::shell::{Cmd, root};
use std::path::PathBuf;

const FOLDER: &str = "crates/probes";
/// In the order in which they are summed; `tests/built.rs` has the same list.
const SOURCES: [&str; 8] = [
    "bpf/kernel.h",
    "bpf/records.h",
    "bpf/common.h",
    "bpf/sleeps.h",
    "bpf/calls.h",
    "bpf/journals.h",
    "bpf/handles.h",
    "bpf/probes.bpf.c",
];
pub(crate) const OBJECT: &str = "crates/probes/src/probes.bpf.o";
const SUM: &str = "src/probes.bpf.sum";
/// The oldest first: newer ones make programs that older verifiers may not take.
const COMPILERS: [(&str, &str); 5] = [
    ("clang-14", "llvm-strip-14"),
    ("clang-15", "llvm-strip-15"),
    ("clang-16", "llvm-strip-16"),
    ("clang-19", "llvm-strip-19"),
    ("clang", "llvm-strip"),
];

struct Built {
    object: Vec<u8>,
    sum: String,
    compiler: String,
}

/// FNV-1a: it need only tell an edited file from the one that was built.
fn fnv(bytes: impl IntoIterator<Item = u8>) -> u64 {
    let step = |sum: u64, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
    bytes.into_iter().fold(0xcbf2_9ce4_8422_2325, step)
}

fn folder() -> PathBuf {
    root().join(FOLDER)
}

/// The first compiler that is installed, and what it calls itself.
fn compiler() -> Option<(&'static str, &'static str, String)> {
    COMPILERS.into_iter().find_map(|(clang, strip)| {
        let text = Cmd::new(clang).arg("--version").quiet().output().ok()?;
        let version = text.lines().next()?.split("version ").nth(1)?;
        Some((clang, strip, version.split([' ', '-']).next()?.to_owned()))
    })
}

fn build() -> Result<Option<Built>, String> {
    let Some((clang, strip, version)) = compiler() else { return Ok(None) };
    let made = crate::shell::target_dir().join("probes.bpf.o");
    let path = made.display().to_string();
    let flags = "-O2 -g -Wall -Werror -target bpf -mcpu=v3 \
                 -fdebug-compilation-dir=. -c bpf/probes.bpf.c -o";
    must(&Cmd::new(&format!("{clang} {flags}")).arg(&path).within(&folder()))?;
    // Types stay; what a debugger would need goes.
    must(&Cmd::new(strip).arg("-g").arg(&path))?;
    let read = |path: PathBuf| std::fs::read(&path).map_err(|e| format!("{}: {e}", path.display()));
    let object = read(made)?;
    let mut source = Vec::new();
    for name in SOURCES {
        source.extend(read(folder().join(name))?);
    }
    let (source, built) = (fnv(source), fnv(object.iter().copied()));
    let sum = format!("source {source:016x}\nobject {built:016x}\ncompiler {version}\n");
    Ok(Some(Built { object, sum, compiler: version }))
}

pub(crate) fn run() -> Result<(), String> {
    let built = build()?.ok_or("no clang: apt-get install clang-14 llvm-14 libbpf-dev")?;
    std::fs::write(root().join(OBJECT), &built.object).map_err(|e| format!("{OBJECT}: {e}"))?;
    std::fs::write(folder().join(SUM), &built.sum).map_err(|e| format!("{SUM}: {e}"))?;
    println!("{OBJECT}: {} bytes by clang {}", built.object.len(), built.compiler);
    Ok(())
}

/// What is missing here to build what compiler version `by` built.
fn missing(by: &str) -> Option<String> {
    let Some((clang, strip, _)) = compiler().filter(|(.., version)| version == by) else {
        return Some(format!("clang {by} is not installed"));
    };
    let works = |line: String| Cmd::new(&line).quiet().output().is_ok();
    // Packages of their own, each of which may be there without the other.
    if !works(format!("{clang} -target bpf -E -include bpf/bpf_helpers.h -x c /dev/null")) {
        return Some("the headers of libbpf are not installed".to_owned());
    }
    (!works(format!("{strip} --version"))).then(|| format!("{strip} is not installed"))
}

/// CI: builds them again, where the compiler that built them is, and what it needs.
pub(crate) fn step() -> Outcome {
    let mut report = Report::default();
    let what = "programs of the probes built again";
    let sum = std::fs::read_to_string(folder().join(SUM)).unwrap_or_default();
    let by = sum.lines().find_map(|line| line.strip_prefix("compiler ")).unwrap_or_default();
    if let Some(why) = missing(by) {
        report.skip(what, &why);
        return Ok(report);
    }
    let repeat = |error: String| format!("cargo xtask probes    ({error})");
    let built = build().map_err(repeat)?;
    let committed = std::fs::read(root().join(OBJECT)).unwrap_or_default();
    if built.is_some_and(|built| built.object == committed && built.sum == sum) {
        report.pass();
        return Ok(report);
    }
    Err(repeat(format!("{OBJECT} is not what the source gives")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_the_published_one() {
        assert_eq!(fnv([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv(*b"foobar"), 0x8594_4171_f739_67e8);
    }
}
