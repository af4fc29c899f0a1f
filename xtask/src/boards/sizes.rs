//! How large libbaro is on a board: what a static program grows by when it records, and the
//! stripped libraries.

use crate::libbaro::{Machine, install, must};
use std::path::Path;

/// What libbaro may add to a static program.
const GOAL_BYTES: u64 = 1 << 20;

/// The smallest program with a thread: what of the C library every program has.
const WITHOUT: &str = "#include <pthread.h>\n#include <stdio.h>\n\
    static void *run(void *x) { return x; }\n\
    int main(void) { pthread_t t; pthread_create(&t, 0, run, 0); puts(\"\");\n\
    return pthread_join(t, 0); }\n";

/// The same that makes a store, records into it and reads it back.
const WITH: &str = "#include <barograph.h>\n#include <stdio.h>\n\
    int main(int n, char **a) { baro_recorder *r; baro_producer *p; baro_reader *f;\n\
    baro_record record = {sizeof record, 0, 0, 0, 0, 0, 0, 0, 0}; const void *payload;\n\
    uint64_t s; (void)n; baro_init(a[1], 0);\n\
    if (baro_open(a[1], 0, &r) || baro_producer_open(r, &p)) return puts(baro_last_error());\n\
    baro_push_frame(p, 1, baro_now_ns(), a[1], 1, &s); baro_producer_wait_durable(p, s, 1000000000);\n\
    baro_producer_close(p); baro_close(r, 0);\n\
    if (baro_reader_open(a[1], &f)) return puts(baro_last_error());\n\
    while (baro_reader_next(f, &record, &payload) > 0) puts(\"record\");\n\
    return baro_reader_close(f); }\n";

/// One line of figures.
pub(super) fn measure(name: &str, machine: &Machine) -> Result<String, String> {
    let folder = machine.target_dir.join(format!("libbaro-{name}"));
    install(machine, &folder)?;
    let without = program(machine, &folder, "without", WITHOUT)?;
    let with = program(machine, &folder, "with", WITH)?;
    let added = with.saturating_sub(without);
    let shared = folder.join("lib/libbaro.so");
    let line = format!(
        "libbaro adds {added} bytes to a static program ({with} with, {without} without; goal \
         {GOAL_BYTES}), stripped libbaro.so {} bytes, libbaro.a {} bytes",
        bytes(&shared)?,
        bytes(&folder.join("lib/libbaro.a"))?
    );
    if added > GOAL_BYTES {
        return Err(format!("{name}: {line}"));
    }
    Ok(line)
}

fn bytes(path: &Path) -> Result<u64, String> {
    std::fs::metadata(path).map(|found| found.len()).map_err(|e| format!("{}: {e}", path.display()))
}

fn program(machine: &Machine, folder: &Path, name: &str, text: &str) -> Result<u64, String> {
    let (source, program) = (folder.join(format!("{name}.c")), folder.join(name));
    std::fs::write(&source, text).map_err(|e| format!("{}: {e}", source.display()))?;
    let place = folder.to_string_lossy();
    // The linker warns of calls that need glibc's plug-ins; nothing here makes them.
    let cmd = machine.tool("gcc -Os -static -s -Wl,--gc-sections -Wl,--no-warnings");
    let cmd = cmd.arg(&format!("-I{place}/include")).arg(&source.to_string_lossy());
    let cmd = cmd.arg(&format!("-L{place}/lib"));
    must(&cmd.arg("-lbaro").arg("-lpthread").arg("-o").arg(&program.to_string_lossy()))?;
    bytes(&program)
}
