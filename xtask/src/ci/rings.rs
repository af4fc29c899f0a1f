//! Rings that tests leave in shared memory: a recorder that a test kills leaves its ring for the next one,
//! and none comes, since the test removes its store. It is memory until the machine is shut down, and after
//! a few runs of all tests gigabytes of it.
//!
//! Only rings of stores that were below the folder for temporary files, and are gone, are removed.

use crate::shell::{Cmd, target_dir};
use std::collections::BTreeSet;
use std::path::Path;

/// Clears them, and says how many bytes that were.
pub(super) fn clear() {
    let baro = target_dir().join("debug/baro");
    let baro = baro.to_string_lossy();
    let rings = || Cmd::of(&baro).arg("rings");
    let Ok(found) = rings().arg("--format").arg("json").quiet().output() else { return };
    let (stores, bytes) = of_tests(&found, &std::env::temp_dir());
    let mut cleared = 0;
    for store in &stores {
        let clear = rings().arg(store).arg("--clear").arg("--with-records").quiet();
        cleared += u32::from(clear.output().is_ok());
    }
    if cleared > 0 {
        println!("   rings of {cleared} stores of tests cleared, {} MB", bytes / 1_000_000);
    }
}

/// Paths of the stores whose rings nobody needs, and how much memory these take.
fn of_tests(found: &str, temporary: &Path) -> (BTreeSet<String>, u64) {
    let found: serde_json::Value = serde_json::from_str(found).unwrap_or_default();
    let (mut stores, mut bytes) = (BTreeSet::new(), 0);
    for ring in found["rings"].as_array().into_iter().flatten() {
        let Some(path) = ring["store_path"].as_str() else { continue };
        let is_used = ring["state"] == "used" || Path::new(path).exists();
        if Path::new(path).starts_with(temporary) && !is_used {
            stores.insert(path.to_owned());
            bytes += ring["file_bytes"].as_u64().unwrap_or(0);
        }
    }
    (stores, bytes)
}

#[cfg(test)]
mod tests {
    use super::of_tests;
    use std::path::Path;

    #[test]
    fn rings_of_stores_that_are_there_or_elsewhere_or_used_stay() {
        let ring = |path: &str, state: &str| {
            format!(r#"{{"store_path":"{path}","state":"{state}","file_bytes":5}}"#)
        };
        let found = [
            ring("/tmp/baro-gone/s", "orphan"),
            ring("/tmp/baro-gone/s", "orphan"),
            ring("/tmp/baro-gone/t", "unknown"),
            ring("/tmp/baro-used/s", "used"),
            ring("/data/s", "orphan"),
            ring("/tmpfs/s", "orphan"),
            ring(env!("CARGO_MANIFEST_DIR"), "waits"),
        ];
        let found = format!(r#"{{"rings":[{}]}}"#, found.join(","));
        let (stores, bytes) = of_tests(&found, Path::new("/tmp"));
        assert_eq!(
            stores.into_iter().collect::<Vec<_>>(),
            ["/tmp/baro-gone/s", "/tmp/baro-gone/t"]
        );
        assert_eq!(bytes, 15);
        assert_eq!(of_tests("no JSON", Path::new("/tmp")).1, 0);
    }
}
