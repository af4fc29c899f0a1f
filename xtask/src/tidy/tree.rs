//! The files of the repository in memory: what git tracks or would track, by path with `/`.
//!
//! Ignored files (build output) are never looked at; files not yet added are, so that tidy
//! speaks before the commit.

use super::rust_text::code_only;
use crate::shell::Cmd;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

/// Files by path relative to the root.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    files: BTreeMap<String, Vec<u8>>,
    /// Of the files of Rust: several checks ask for it, and it takes longer than they do.
    code: OnceLock<BTreeMap<String, String>>,
}

impl Tree {
    pub(crate) fn of_repository(root: &Path) -> Result<Tree, String> {
        let list =
            Cmd::new("git ls-files -z --cached --others --exclude-standard").output().map_err(
                |e| format!("{e}; tidy needs a git checkout, since git knows which files count"),
            )?;
        let mut tree = Tree::default();
        for path in list.split('\0').filter(|p| !p.is_empty()) {
            let file = root.join(path);
            // Deleted but not yet committed, or a symbolic link: nothing of ours to read.
            if std::fs::symlink_metadata(&file).is_ok_and(|m| m.is_file()) {
                let bytes = std::fs::read(&file).map_err(|e| format!("{path}: {e}"))?;
                tree.insert(path, bytes);
            }
        }
        Ok(tree)
    }

    pub(crate) fn insert(&mut self, path: &str, bytes: Vec<u8>) {
        self.files.insert(path.to_owned(), bytes);
        self.code = OnceLock::new();
    }

    pub(crate) fn len(&self) -> usize {
        self.files.len()
    }

    /// Every file with its bytes, in the order of paths.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// Every file that is UTF-8 and whose name ends in one of `endings`.
    pub(crate) fn texts<'a>(
        &'a self,
        endings: &'a [&'a str],
    ) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.iter()
            .filter(|(path, _)| endings.iter().any(|e| path.ends_with(e)))
            .filter_map(|(path, bytes)| Some((path, std::str::from_utf8(bytes).ok()?)))
    }

    /// A file of Rust without what is in comments and literals; nothing for any other.
    pub(crate) fn code(&self, path: &str) -> &str {
        let code = self.code.get_or_init(|| {
            self.texts(&[".rs"]).map(|(path, text)| (path.to_owned(), code_only(text))).collect()
        });
        code.get(path).map_or("", String::as_str)
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        std::str::from_utf8(self.files.get(path)?).ok()
    }

    /// True if a file or a folder of this name exists; the root (an empty path) does.
    pub(crate) fn has(&self, path: &str) -> bool {
        let folder = format!("{}/", path.trim_end_matches('/'));
        path.is_empty()
            || self.files.contains_key(path)
            || self
                .files
                .range(folder.clone()..)
                .next()
                .is_some_and(|(p, _)| p.starts_with(&folder))
    }

    /// A tree for tests.
    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree::default();
        files.iter().for_each(|(path, text)| tree.insert(path, text.as_bytes().to_vec()));
        tree
    }
}

/// True for data that tests read or fuzzing found: neither text nor small is asked of it.
pub(crate) fn is_test_data(path: &str) -> bool {
    path.starts_with("testdata/") || path.contains("/testdata/") || path.starts_with("fuzz/corpus/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_exist_where_they_hold_files() {
        let tree = Tree::of(&[("docs/format.md", ""), ("docs-old.md", "")]);
        assert!(tree.has("docs") && tree.has("docs/") && tree.has("docs/format.md"));
        assert!(!tree.has("doc") && !tree.has("docs/format"));
    }
}
