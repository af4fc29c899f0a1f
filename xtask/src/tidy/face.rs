//! What the crate `barograph` hands out, listed in `docs/barograph-api.txt`: a change of it is seen in
//! the change of that file.

use super::tree::Tree;

/// Where the crate is, and where the list.
const SOURCES: &str = "crates/barograph/src/";
const LIST: &str = "docs/barograph-api.txt";

/// The list, with its path.
pub(super) fn generated_file(tree: &Tree) -> (String, String) {
    let mut items: Vec<String> = Vec::new();
    for (path, text) in tree.texts(&[".rs"]).filter(|(path, _)| path.starts_with(SOURCES)) {
        items.extend(public(text, path.ends_with("lib.rs")));
    }
    items.sort();
    let head = "Public items of the crate barograph, written by `cargo xtask tidy --bless`.\n";
    (LIST.to_owned(), format!("{head}{} items\n\n{}\n", items.len(), items.join("\n")))
}

/// Declarations that are public, each in a line; of the crate's root what it names again of other crates.
fn public(text: &str, is_root: bool) -> Vec<String> {
    let mut items = Vec::new();
    let mut owner = String::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("impl") || line.starts_with("pub trait") {
            owner = owner_of(line);
        } else if line == "}" {
            owner.clear();
        }
        let code = line.trim_start();
        let indented = line.len() > code.len();
        let again = is_root && code.starts_with("pub use baro_");
        let kinds = ["fn ", "const ", "struct ", "enum ", "trait ", "type "];
        let declared = code.strip_prefix("pub ").is_some_and(|rest| {
            kinds.iter().any(|kind| rest.starts_with(kind)) && (!indented || !owner.is_empty())
        });
        if !again && !declared {
            continue;
        }
        let mut item = code.to_owned();
        while !item.ends_with(['{', ';', '}'])
            && let Some(more) = lines.next()
        {
            item += if item.ends_with('(') { "" } else { " " };
            item += more.trim();
        }
        let ends: &[char] = if again { &[';'] } else { &['{', '}', ';', ' '] };
        let item = item.trim_end_matches(ends).replace(", )", ")");
        let item = item.strip_prefix("pub ").unwrap_or(&item);
        items.push(if indented { format!("{owner}: {item}") } else { item.to_owned() });
    }
    items
}

/// The type that `impl<T: Kind> Series<T> {` is of; of an implementation of a trait nothing, since
/// what is in it is not public by itself.
fn owner_of(line: &str) -> String {
    let rest = line.strip_prefix("impl").unwrap_or("");
    let rest = match rest.strip_prefix('<').and_then(|rest| rest.split_once("> ")) {
        Some((_, rest)) => rest,
        None => rest.trim_start(),
    };
    if line.contains(" for ") {
        String::new()
    } else {
        rest.trim_end_matches([' ', '{']).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::public;

    #[test]
    fn signatures_are_lines_and_what_is_not_public_is_left_out() {
        let text = "pub struct A<T> {\n    pub(crate) id: u32,\n}\nimpl<T: Kind> A<T> {\n    pub fn \
                    f(\n        self,\n        n: u8,\n    ) -> u8 {\n    }\n    fn g() {}\n}\nimpl X \
                    for A {\n    fn h() {}\n}\nfn i() {}\npub use baro_store::{B, C};\n";
        assert_eq!(
            public(text, true),
            ["struct A<T>", "A<T>: fn f(self, n: u8) -> u8", "use baro_store::{B, C}"]
        );
        assert_eq!(public(text, false).len(), 2);
    }
}
