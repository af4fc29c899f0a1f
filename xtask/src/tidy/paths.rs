//! Checks of every file: no path of one person's machine, nothing but text, nothing big.

use super::Finding;
use super::tree::{Tree, is_test_data};

const BLOB_BYTES_MAX: usize = 300 * 1024;

/// Folders that exist on one machine only; in halves, else this file would find itself.
const MACHINE_FOLDERS: &[&str] =
    &[concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("/Us", "ers/")];

pub(super) fn machine_paths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, text) in tree.texts(&[""]).filter(|(path, _)| !is_test_data(path)) {
        for (index, line) in text.lines().enumerate() {
            for folder in MACHINE_FOLDERS.iter().filter(|folder| has_absolute(line, folder)) {
                let place = format!("{path}:{}", index + 1);
                let message = format!("`{folder}` exists on one machine only");
                findings.push(Finding::error("paths", place, message));
            }
        }
    }
    findings
}

/// True if `folder` begins a path here; in `target/home/x` or `https://a.org/home/` it does not.
fn has_absolute(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|c| c.is_alphanumeric() || "._-/}){*".contains(c))
    })
}

pub(super) fn text(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, bytes) in tree.iter().filter(|(path, _)| !is_test_data(path)) {
        if bytes.len() > BLOB_BYTES_MAX {
            let message = format!("{} bytes; big files go to testdata/, or nowhere", bytes.len());
            findings.push(Finding::error("text", path, message));
        }
        match std::str::from_utf8(bytes) {
            // Built of C that lies beside it, by `cargo xtask probes`.
            Err(_) if path == crate::probes::OBJECT => {}
            Err(_) => findings.push(Finding::error("text", path, "not UTF-8 text")),
            Ok(text) if text.contains('\r') => {
                findings.push(Finding::error("text", path, "carriage returns at line ends"));
            }
            Ok(_) => {}
        }
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_of_a_machine_are_found() {
        let home = concat!("/ho", "me/");
        let text = format!("cd {home}ann\nhttps://a.org{home}x\n\"{home}\"\ntarget{home}\n");
        let tree = Tree::of(&[("a.sh", &text), ("testdata/b.txt", &text)]);
        let found = machine_paths(&tree);
        let places: Vec<_> = found.iter().map(|f| f.place.as_str()).collect();
        assert_eq!(places, ["a.sh:1", "a.sh:3"]);
    }

    #[test]
    fn only_small_text_outside_of_testdata() {
        let mut tree = Tree::of(&[("ok.md", "a\n"), ("dos.md", "a\r\n")]);
        tree.insert("picture.png", vec![0x89, 0xff]);
        tree.insert("testdata/picture.png", vec![0x89, 0xff]);
        tree.insert("fuzz/corpus/block/1", vec![0xff]);
        tree.insert("big.txt", vec![b'a'; BLOB_BYTES_MAX + 1]);
        let found = super::text(&tree);
        let places: Vec<_> = found.iter().map(|f| f.place.as_str()).collect();
        assert_eq!(places, ["big.txt", "dos.md", "picture.png"]);
    }
}
