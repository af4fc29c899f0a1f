//! Who may write to stdout and stderr: `crates/command/src/lines.rs`, where what others wrote is made
//! harmless. A bare `println!` anywhere else would bring a foreign name to a terminal as it is.
//!
//! Tests and examples print what they like. A child may be given our stderr as its stdout.

use super::Finding;
use super::rust_text::has_word;
use super::tree::Tree;

pub(super) const CHECK: &str = "printing";

/// Code whose output people read.
const WHERE: [&str; 2] = ["crates/", "lab/baro-lab/src/"];
/// The one door; the interposer, which has no terminal of its own, stands in for C.
const DOORS: [&str; 3] =
    ["crates/command/src/lines.rs", "crates/command/src/status.rs", "crates/share/preload/"];
const MACROS: [&str; 4] = ["println!", "eprintln!", "print!", "eprint!"];
const HANDLES: [&str; 2] = ["stdout()", "stderr()"];
/// What hands a handle to a child.
const FOR_A_CHILD: &str = "Stdio::from(std::io::stderr())";

pub(super) fn printing(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, _) in tree.texts(&[".rs"]) {
        let product = WHERE.iter().any(|folder| path.starts_with(folder));
        let tests =
            !path.contains("/src/") || path.ends_with("/tests.rs") || path.contains("/tests/");
        if !product || tests || DOORS.iter().any(|door| path.starts_with(door)) {
            continue;
        }
        // Tests of a file stand at its end.
        let code = tree.code(path).split("#[cfg(test)]").next().unwrap_or_default();
        for (index, line) in code.lines().enumerate() {
            let line = line.replace(FOR_A_CHILD, "child");
            let handle =
                path.starts_with("crates/") && HANDLES.iter().any(|one| has_word(&line, one));
            if handle || MACROS.iter().any(|one| has_word(&line, one)) {
                let message = "printed past the one door: out!, say!, row!, status! or \
                               baro_command::exact()";
                findings.push(Finding::error(CHECK, format!("{path}:{}", index + 1), message));
            }
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_past_the_door_is_found() {
        let code = "//! println!(\n    println!(\"\");\n    eprint!(\"\");\n    out!(\"println!\");\n    \
                    std::io::stdout().lock();\n    c.stdout(Stdio::from(std::io::stderr()));\n\
                    #[cfg(test)]\nmod tests { println!(); }\n";
        let all = Tree::of(&[
            ("crates/cli/src/a.rs", code),
            ("crates/cli/tests/a.rs", code),
            ("crates/command/src/lines.rs", code),
            ("lab/baro-lab/src/b.rs", code),
            ("xtask/src/c.rs", code),
        ]);
        let places: Vec<String> = printing(&all).into_iter().map(|found| found.place).collect();
        let expected = [
            "crates/cli/src/a.rs:2",
            "crates/cli/src/a.rs:3",
            "crates/cli/src/a.rs:5",
            "lab/baro-lab/src/b.rs:2",
            "lab/baro-lab/src/b.rs:3",
        ];
        assert_eq!(places, expected);
    }
}
