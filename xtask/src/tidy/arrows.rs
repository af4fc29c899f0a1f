//! The table of allowed dependencies: which package may know which other, and why each
//! third-party crate is there. A new arrow or crate is a decision, made by editing this table.
//!
//! The reasons are printed into `docs/dependencies.md` by `tidy --bless`.

use super::Finding;
use super::graph::{Dep, Kind, Package};

pub(super) const CHECK: &str = "arrows";

/// What one package may depend on.
struct Row {
    package: &'static str,
    in_house: &'static [&'static str],
    /// Further in-house packages that only its tests may use.
    in_house_tests: &'static [&'static str],
    /// Third-party crates with the reason for each.
    third_party: &'static [(&'static str, &'static str)],
}

const JSON: (&str, &str) = ("serde_json", "JSON with correct escapes and numbers");
const SERDE: (&str, &str) = ("serde", "the keys of JSON output are the fields of a struct");
const LIBC: (&str, &str) = ("libc", "the C types and calls of Linux");
const HDR: (&str, &str) = ("hdrhistogram", "latency quantiles in fixed memory, exact to 3 digits");
const CRC: (&str, &str) = ("crc32c", "the processor's CRC32C instruction; without std a table");
const CRC_WIDE: (&str, &str) =
    ("crc-fast", "CRC32C by carry-less multiplication, x86-64 only: 2.5 times as fast");
const PROPTEST: (&str, &str) = ("proptest", "tests only: random cases, made small when they fail");

/// A row may exist before its package does.
#[rustfmt::skip]
const TABLE: &[Row] = &[
    Row { package: "baro-ondisk", in_house: &[], in_house_tests: &[],
          third_party: &[CRC, CRC_WIDE, PROPTEST] },
    Row { package: "baro-runs", in_house: &["baro-ondisk"], in_house_tests: &[],
          third_party: &[("pco", "codes the numbers of runs: 0.44 bytes where their entropy is \
                                  0.43, 1.2 ns a number to decode"), PROPTEST] },
    Row { package: "baro-sys", in_house: &[], in_house_tests: &[],
          third_party: &[LIBC, PROPTEST] },
    Row { package: "baro-show", in_house: &[], in_house_tests: &[], third_party: &[] },
    Row { package: "baro-plain", in_house: &["baro-sys"], in_house_tests: &[], third_party: &[] },
    Row { package: "baro-plan", in_house: &["baro-ondisk", "baro-show"], in_house_tests: &[],
          third_party: &[] },
    Row { package: "baro-log", in_house: &["baro-ondisk", "baro-sys"], in_house_tests: &[],
          third_party: &[] },
    // Not the recorder: a place is judged before anything is recorded there.
    Row { package: "baro-promises", in_house: &["baro-sys", "baro-log"], in_house_tests: &[],
          third_party: &[] },
    Row { package: "baro-recorder", in_house: &["baro-ondisk", "baro-sys", "baro-log", "baro-promises"],
          in_house_tests: &["baro-sources"], third_party: &[PROPTEST] },
    Row { package: "baro-capi",
          // The store for samples over log and runs: a program that asks for none links none of it.
          in_house: &["baro-ondisk", "baro-plain", "baro-sys", "baro-log", "baro-plain", "baro-recorder",
                     "baro-store"],
          in_house_tests: &[], third_party: &[] },
    Row { package: "baro-store",
          in_house: &["baro-ondisk", "baro-sys", "baro-log", "baro-runs"],
          in_house_tests: &["baro-recorder"],
          third_party: &[("regex", "selectors: linear in the text and bounded in memory"),
                         PROPTEST] },
    Row { package: "baro-tune", in_house: &["baro-show", "baro-sys"], in_house_tests: &[],
          third_party: &[("crc32c", "tells a torn journal from a whole one"), PROPTEST] },
    Row { package: "baro-share", in_house: &["baro-sys", "baro-tune"], in_house_tests: &[],
          third_party: &[] },
    Row { package: "baro-preload", in_house: &[], in_house_tests: &[], third_party: &[LIBC] },
    Row { package: "baro-trace", in_house: &["baro-show", "baro-sys"], in_house_tests: &[],
          third_party: &[("crc32c", "tells whole chunks of a recorded trace from torn ones"),
                         JSON, PROPTEST] },
    Row { package: "baro-probes", in_house: &["baro-sys", "baro-trace"], in_house_tests: &[],
          third_party: &[("aya", "loads programs into the kernel and relocates them to its types, \
                                  without libraries in C"), JSON] },
    Row { package: "baro-sources", in_house: &["baro-ondisk", "baro-sys"], in_house_tests: &[],
          third_party: &[("memchr", "ends of lines in every byte that comes in, many bytes at once"),
                         ("serde", "members of a JSON object one by one, in their order"),
                         JSON, PROPTEST] },
    // Not the store: what comes in is pushed, and what was pushed is read by others.
    Row { package: "baro-ingest",
          in_house: &["baro-ondisk", "baro-sys", "baro-log", "baro-recorder", "baro-sources", "baro-show"],
          in_house_tests: &[], third_party: &[HDR] },
    // Of stores it knows nothing.
    Row { package: "baro-net", in_house: &["baro-sys"], in_house_tests: &[],
          third_party: &[("httparse", "lines and headers of a request, as hyper reads them"),
                         ("flate2", "unpacks bodies with gzip, piece by piece, in Rust alone"),
                         ("rustls", "TLS 1.2 and 1.3, audited, in Rust; of the Prossimo project"),
                         ("sha2", "tokens are kept as hashes")] },
    // A process of its own beside the recorder's: what of the network is to come stays here.
    Row { package: "baro-listen",
          in_house: &["baro-ondisk", "baro-sys", "baro-recorder", "baro-sources", "baro-ingest", "baro-net",
                      "baro-command"],
          in_house_tests: &["baro-log", "barograph"],
          third_party: &[("clap", "parser and help from one definition"), JSON,
                         ("snap", "unpacks messages of remote write"),
                         ("flate2", "in tests: packs bodies")] },
    // Pure: samples come through a trait.
    Row { package: "baro-promql", in_house: &[], in_house_tests: &[],
          third_party: &[("promql-parser", "PromQL as Prometheus 3 has it: the parser of GreptimeDB"),
                         ("regex", "label_replace(), with a bound on memory"), JSON] },
    // Pure: points in, messages out.
    Row { package: "baro-messages", in_house: &["baro-ondisk", "baro-store"], in_house_tests: &[],
          third_party: &[JSON] },
    // A process of its own that only reads. Of the recorder it knows how full its rings are.
    Row { package: "baro-serve",
          in_house: &["baro-ondisk", "baro-show", "baro-sys", "baro-log", "baro-recorder", "baro-store",
                      "baro-messages", "baro-net", "baro-promql", "baro-command"],
          in_house_tests: &["barograph"],
          third_party: &[("clap", "parser and help from one definition"), JSON,
                         ("rustls", "in tests: a client of TLS"),
                         ("sha1", "the answer to the handshake of a WebSocket is one, by RFC 6455; of RustCrypto, \
                                   beside sha2"),
                         ("tungstenite", "frames of WebSocket with their checks, without a runtime; of snapview, \
                                          tested against Autobahn; its own handshake, with `http`, is left out")] },
    // A process of its own that reads a store and writes a table.
    Row { package: "baro-lake",
          in_house: &["baro-ondisk", "baro-show", "baro-sys", "baro-store", "baro-command"],
          in_house_tests: &["baro-log", "baro-recorder"],
          third_party: &[("arrow-array", "rows as Parquet takes them"),
                         ("arrow-buffer", "where the labels of each row begin, for that crate"),
                         ("arrow-schema", "types of these columns"),
                         ("bytes", "how `parquet` takes a checkpoint, and has it already"),
                         ("clap", "parser and help from one definition"),
                         ("parquet", "reads checkpoints and writes the files of a table; of the compressions only Snappy, which is \
                                      Rust"), JSON,
                         ("rustls", "the one TLS there is, for `ureq`"),
                         ("rusty-s3", "requests of S3, their signatures and answers, without a socket: no runtime comes \
                                       with it; of Paolo Barbolini"),
                         ("serde", "of the log of a table the few fields that matter, without the rest in memory"),
                         ("ureq", "HTTP on threads, for S3 alone; of Martin Algesten, since 2018"),
                         ("url", "addresses, as `rusty-s3` takes them")] },
    Row { package: "baro-export",
          in_house: &["baro-ondisk", "baro-show", "baro-sys", "baro-store", "baro-messages"],
          in_house_tests: &["baro-log", "baro-recorder"],
          third_party: &[("arrow-array", "columns as Arrow and Parquet take and give them"),
                         ("arrow-ipc", "Arrow streams as their authors define them; without \
                                        compression"),
                         ("arrow-schema", "types and metadata of these columns"),
                         ("mcap", "writes MCAP as its authors define it; without compression, \
                                   which is C"),
                         ("parquet", "writes and reads Parquet as its authors define it; of the \
                                      compressions only Snappy, which is Rust"), JSON,
                         ("bytes", "how `parquet` takes a page, and has it already"),
                         ("snap", "unpacks pages with Snappy, which `parquet` has already"),
                         ("ruzstd", "unpacks pages with Zstandard, in Rust"),
                         ("flate2", "unpacks pages with gzip, in Rust (miniz_oxide)"),
                         ("lz4_flex", "unpacks pages with LZ4"),
                         ("brotli-decompressor", "unpacks pages with Brotli; without what packs, \
                                                  which `parquet` would link")] },
    Row { package: "baro-command", in_house: &["baro-show", "baro-sys"], in_house_tests: &[],
          third_party: &[("clap", "how results are printed is an option of every verb"), JSON] },
    Row { package: "baro-bench-sys", in_house: &["baro-sys"], in_house_tests: &[],
          third_party: &[LIBC] },
    Row { package: "baro-bench",
          in_house: &["baro-ondisk", "baro-sys", "baro-show", "baro-bench-sys", "baro-log", "baro-recorder",
                      "baro-store", "baro-sources",
                      "baro-tune", "baro-command"],
          in_house_tests: &[],
          third_party: &[HDR, JSON,
                         ("clap", "options that verbs of two programs have in common"),
                         ("serde", "measurements are stored as the fields of a struct"),
                         ("mcap", "the MCAP writer is one of the ways to record that are compared"),
                         PROPTEST] },
    // What programs link: nothing of the command line.
    Row { package: "barograph",
          in_house: &["baro-plain", "baro-ondisk", "baro-sys", "baro-log", "baro-recorder", "baro-store"],
          in_house_tests: &[], third_party: &[] },
    // The wheel: nothing of the command line, nor of the forms of export; of sources the calendar.
    Row { package: "baro-python",
          in_house: &["barograph", "baro-ondisk", "baro-sys", "baro-log", "baro-recorder", "baro-sources",
                      "baro-store"],
          in_house_tests: &[],
          third_party: &[("pyo3", "the interface of Python, one build for all its versions from 3.10 on"),
                         ("arrow-array", "columns as Arrow's C interfaces hand them out"),
                         ("arrow-buffer", "which rows of such a column have a value"),
                         ("arrow-schema", "types and units of these columns")] },
    Row { package: "baro-cli",
          in_house: &["baro-ondisk", "baro-sys", "baro-log", "baro-recorder", "baro-store", "baro-tune",
                      "baro-share", "baro-sources", "baro-ingest", "baro-command", "baro-bench", "baro-plain", "baro-plan", "baro-show",
                      "baro-export", "baro-trace", "baro-probes", "baro-promises"],
          in_house_tests: &["baro-capi"],
          third_party: &[("arrow-array", "in tests: what Arrow and Parquet hand out, read back"),
                         ("arrow-ipc", "in tests: reads Arrow streams"),
                         ("arrow-schema", "in tests: types of their columns"),
                         ("mcap", "in tests: reads MCAP"), ("parquet", "in tests: reads Parquet"),
                         ("clap", "parser, help and completions from one definition"),
                         ("clap_complete", "completions of shells from that definition; tests only"),
                         ("clap_mangen", "man pages from that definition; tests only"),
                         ("flate2", "imports text packed by gzip, piece by piece, in Rust alone"), JSON,
                         SERDE, ("toml", "the settings file, with the line of each key")] },
    Row { package: "baro-fuzz",
          in_house: &["baro-ondisk", "baro-sys", "baro-recorder", "baro-runs", "baro-share", "baro-store",
                      "baro-sources", "baro-trace", "baro-tune", "baro-export", "baro-log", "baro-net",
                     "baro-promql", "baro-capi"],
          in_house_tests: &[],
          third_party: &[("serde", "profiles are parsed into a struct, in a file of the command line"),
                         ("serde_json", "versions of a table's log, in a file of baro-lake"),
                         ("snap", "blocks of remote write, in a file of baro-listen"),
                         ("toml", "settings and profiles, which that file parses")] },
    Row { package: "baro-lab",
          in_house: &["baro-ondisk", "baro-sys", "baro-recorder", "baro-store", "baro-sources",
                      "baro-trace", "baro-probes", "baro-tune", "baro-share", "baro-command",
                      "baro-bench", "baro-bench-sys"],
          in_house_tests: &[],
          third_party: &[("clap", "parser and help from one definition"), JSON,
                         ("serde", "measurements are stored as the fields of a struct")] },
    Row { package: "lab", in_house: &["lab-agent", "lab-load"], in_house_tests: &[],
          third_party: &[JSON] },
    Row { package: "lab-agent", in_house: &[], in_house_tests: &[], third_party: &[] },
    Row { package: "lab-load",
          in_house: &["baro-ondisk", "baro-sys", "baro-log", "baro-recorder", "baro-store",
                      "baro-sources"],
          in_house_tests: &[], third_party: &[] },
    Row { package: "xtask", in_house: &[], in_house_tests: &[], third_party: &[JSON] },
    Row { package: "header", in_house: &[], in_house_tests: &[],
          third_party: &[("cbindgen", "writes the C header from the code it declares")] },
    Row { package: "media", in_house: &["baro-sys"], in_house_tests: &[],
          third_party: &[("fuser", "the FUSE protocol and a mount without libfuse")] },
];

fn row(package: &str) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.package == package)
}

impl Row {
    fn reason(&self, dep: &str) -> Option<&'static str> {
        self.third_party.iter().find(|(name, _)| *name == dep).map(|(_, reason)| *reason)
    }

    fn allows(&self, dep: &Dep) -> bool {
        let name = dep.name.as_str();
        match (dep.in_house, dep.kind) {
            (true, Kind::Dev) => {
                self.in_house.contains(&name)
                    || self.in_house_tests.contains(&name)
                    || self.package == name
            }
            (true, _) => self.in_house.contains(&name),
            (false, _) if self.reason(name) == Some(PROPTEST.1) => dep.kind == Kind::Dev,
            (false, _) => self.reason(name).is_some(),
        }
    }
}

/// Why `package` uses the third-party crate `dep`.
pub(super) fn reason(package: &str, dep: &str) -> Option<&'static str> {
    row(package)?.reason(dep)
}

/// What `package` may use in-house.
pub(super) fn allowed(package: &str) -> &'static [&'static str] {
    row(package).map_or(&[], |row| row.in_house)
}

pub(super) fn check(packages: &[Package]) -> Vec<Finding> {
    let table = "the table in xtask/src/tidy/arrows.rs";
    let mut findings = Vec::new();
    for package in packages {
        let Some(row) = row(&package.name) else {
            findings.push(Finding::error(CHECK, &package.name, format!("no row in {table}")));
            continue;
        };
        for dep in package.deps.iter().filter(|dep| !row.allows(dep)) {
            let message = format!("must not use {}{}: not in {table}", dep.name, dep.kind.label());
            findings.push(Finding::error(CHECK, &package.name, message));
        }
        let used = |name: &str| package.deps.iter().any(|dep| dep.name == name);
        // Tests may come and go; a reason for a crate that is not there is a false statement.
        for (name, _) in row.third_party.iter().filter(|d| **d != PROPTEST && !used(d.0)) {
            let message = format!("does not use {name}, which {table} allows");
            findings.push(Finding::warning(CHECK, &package.name, message));
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, deps: &[(&str, Kind, bool)]) -> Package {
        let deps = deps
            .iter()
            .map(|(name, kind, in_house)| Dep {
                name: (*name).to_owned(),
                kind: *kind,
                in_house: *in_house,
            })
            .collect();
        Package { name: name.to_owned(), deps, behind: Vec::new() }
    }

    #[test]
    fn an_upward_arrow_is_found() {
        let packages = [
            package("baro-recorder", &[("baro-ondisk", Kind::Normal, true)]),
            package("baro-sys", &[("baro-recorder", Kind::Dev, true)]),
            package("baro-ondisk", &[("baro-sys", Kind::Normal, true)]),
        ];
        let errors: Vec<_> = check(&packages).into_iter().filter(|f| f.fatal).collect();
        let places: Vec<_> = errors.iter().map(|f| f.place.as_str()).collect();
        assert_eq!(places, ["baro-sys", "baro-ondisk"]);
    }

    #[test]
    fn a_crate_without_a_reason_is_found() {
        let packages = [
            package("baro-recorder", &[("rand", Kind::Normal, false)]),
            package("baro-tune", &[("proptest", Kind::Dev, false)]),
            package("baro-store", &[("proptest", Kind::Normal, false)]),
            package("newcomer", &[]),
        ];
        let errors: Vec<_> = check(&packages).into_iter().filter(|f| f.fatal).collect();
        let places: Vec<_> = errors.iter().map(|f| f.place.as_str()).collect();
        assert_eq!(places, ["baro-recorder", "baro-store", "newcomer"]);
    }

    #[test]
    fn the_table_itself_has_no_cycle() {
        fn reaches(from: &str, to: &str, depth: usize) -> bool {
            assert!(depth < TABLE.len(), "cycle through {from}");
            allowed(from).iter().any(|next| *next == to || reaches(next, to, depth + 1))
        }
        TABLE.iter().for_each(|row| assert!(!reaches(row.package, row.package, 0)));
    }
}
