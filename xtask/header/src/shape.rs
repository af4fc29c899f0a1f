//! What cbindgen writes, made into what C programmers expect: comments that C89 has, within 100
//! columns; parentheses around negative numbers; an initialiser for each structure with a size; the
//! version as macros.
//!
//! Pure text to text, so that its tests need no cbindgen. Held by the tests below, and by
//! `tests/native/standards.rs` of capi, which compiles the result as every C and C++.

/// Columns of the header.
const COLUMNS: usize = 100;
/// How the sentence begins that has a function's codes.
const RETURNS: &str = "Returns ";

/// Macros of the package's version.
pub(crate) fn version(major: &str, minor: &str, patch: &str) -> String {
    format!(
        "\n/* The version of this interface. Before 1.0 a change of minor may break, later only one of \
         major.\n * baro_version() has that of the library that runs. */\n\
         #define BARO_VERSION_MAJOR {major}\n\
         #define BARO_VERSION_MINOR {minor}\n\
         #define BARO_VERSION_PATCH {patch}\n\
         #define BARO_VERSION_TEXT \"{major}.{minor}.{patch}\"\n\n\
         /* The version as a number, for comparisons: major * 65536 + minor * 256 + patch. */\n\
         #define BARO_VERSION \\\n    \
         (BARO_VERSION_MAJOR * 65536 + BARO_VERSION_MINOR * 256 + BARO_VERSION_PATCH)\n\n\
         /* Whether it is this version or a later one: #if BARO_VERSION_AT_LEAST(0, 2, 0) */\n\
         #define BARO_VERSION_AT_LEAST(major, minor, patch) \\\n    \
         (BARO_VERSION >= (major) * 65536 + (minor) * 256 + (patch))\n"
    )
}

/// The header as it is committed.
pub(crate) fn shaped(text: &str) -> String {
    let mut out = String::new();
    let mut lines = text.lines().peekable();
    let mut fields: Vec<String> = Vec::new();
    while let Some(line) = lines.next() {
        if let Some((indent, first)) = comment(line) {
            let mut paragraph = vec![first];
            while let Some((_, next)) = lines.peek().and_then(|next| comment(next)) {
                paragraph.push(next);
                lines.next();
            }
            // Of a field that has room for it, it stands behind it.
            let field = lines.peek().filter(|_| indent > 0 && paragraph.len() == 1);
            let behind = field.map(|field| format!("{field} /* {first} */"));
            if let Some(line) = behind.filter(|line| line.len() <= COLUMNS) {
                fields.extend(field_of(lines.next().unwrap_or_default()));
                out.push_str(&line);
                out.push('\n');
            } else {
                block(&paragraph, indent, &mut out);
            }
            continue;
        }
        let line = match line.split_once(" // ") {
            Some((code, said)) => format!("{}  /* {said} */", code.trim_end()),
            None => parenthesised(line),
        };
        if line.starts_with("typedef ") && line.ends_with('{') {
            fields.clear();
        }
        fields.extend(field_of(&line));
        out.push_str(&line);
        out.push('\n');
        let ended = line.strip_prefix("} ").and_then(|line| line.strip_suffix(';'));
        if let Some(name) =
            ended.filter(|_| fields.first().is_some_and(|f| f.ends_with("type_size")))
        {
            initialiser(name, &fields, &mut out);
        }
    }
    out
}

/// What a structure has in this line.
fn field_of(line: &str) -> Option<String> {
    line.strip_prefix("  ")?.strip_suffix(';').map(str::to_owned)
}

/// The indent and text of a line that is a comment.
fn comment(line: &str) -> Option<(usize, &str)> {
    let text = line.trim_start();
    let indent = line.len() - text.len();
    let said = text.strip_prefix("//")?;
    Some((indent, said.strip_prefix(' ').unwrap_or(said)))
}

/// A comment, filled line by line; an empty line begins a paragraph.
fn block(lines: &[&str], indent: usize, out: &mut String) {
    let margin = " ".repeat(indent);
    let mut line = format!("{margin}/* ");
    let (mut empty, mut apart) = (true, false);
    for said in lines {
        if said.is_empty() {
            out.push_str(line.trim_end());
            out.push('\n');
            line = format!("{margin} * ");
            (empty, apart) = (true, true);
            continue;
        }
        // What a function returns has a line of its own and needs no other.
        if std::mem::take(&mut apart) && !said.starts_with(RETURNS) {
            out.push_str(&format!("{margin} *\n"));
        }
        for word in said.split_whitespace() {
            // The comment's end has to fit, too.
            if !empty && line.len() + 1 + word.len() + 3 > COLUMNS {
                out.push_str(&line);
                out.push('\n');
                line = format!("{margin} * ");
                empty = true;
            }
            if !empty {
                line.push(' ');
            }
            line.push_str(word);
            empty = false;
        }
    }
    out.push_str(&line);
    out.push_str(" */\n");
}

/// A macro of a negative number.
fn parenthesised(line: &str) -> String {
    let parts: Vec<&str> = line.split(' ').collect();
    match parts[..] {
        ["#define", name, number] if number.starts_with('-') => {
            format!("#define {name} ({number})")
        }
        _ => line.to_owned(),
    }
}

/// Every field is named a value: C warns of those that are left out.
fn initialiser(name: &str, fields: &[String], out: &mut String) {
    let macro_name = format!("{}_INIT", name.to_uppercase());
    let zero = |field: &String| if field.ends_with(']') { "{0}" } else { "0" };
    let rest = fields.iter().skip(1).map(zero);
    let values: Vec<String> =
        std::iter::once(format!("sizeof({name})")).chain(rest.map(str::to_owned)).collect();
    let mut line = format!("#define {macro_name} {{");
    for (at, value) in values.iter().enumerate() {
        let end = if at + 1 == values.len() { "}" } else { ", " };
        if line.len() + value.len() + end.len() + 2 > COLUMNS {
            out.push_str(line.trim_end());
            out.push_str(" \\\n");
            line = "    ".to_owned();
        }
        line.push_str(value);
        line.push_str(end);
    }
    out.push_str(&line);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_blocks_and_fit() {
        let long = "word ".repeat(50);
        let text = format!("// One.\n// Two.\n//\n// Three.\nint x;\n  // {long}\n  int y;\n");
        let found = shaped(&text);
        assert!(found.starts_with("/* One. Two.\n *\n * Three. */\nint x;\n  /* word"), "{found}");
        assert!(found.lines().all(|line| line.len() <= COLUMNS), "{found}");
        assert_eq!(found.matches("word").count(), 50);
        let said = shaped("// One.\n//\n// Returns 0,\n// 1.\nint x();\n");
        assert_eq!(said, "/* One.\n * Returns 0, 1. */\nint x();\n");
        let said = shaped("struct x {\n  // Short.\n  int y;\n}\n");
        assert_eq!(said, "struct x {\n  int y; /* Short. */\n}\n");
        assert_eq!(shaped("}  // extern \"C\"\n"), "}  /* extern \"C\" */\n");
    }

    #[test]
    fn negative_numbers_are_in_parentheses() {
        assert_eq!(shaped("#define A -1\n#define B 1\n"), "#define A (-1)\n#define B 1\n");
    }

    #[test]
    fn a_structure_with_a_size_has_an_initialiser() {
        let text = "typedef struct baro_a {\n  // Its size.\n  uint32_t type_size;\n  char name[8];\n} \
                    baro_a;\ntypedef struct baro_b {\n  int x;\n} baro_b;\n";
        let found = shaped(text);
        assert!(found.contains("#define BARO_A_INIT {sizeof(baro_a), {0}}\n"), "{found}");
        assert!(!found.contains("BARO_B_INIT"), "{found}");
    }

    #[test]
    fn a_long_initialiser_is_continued() {
        let fields: String = (0..60).map(|at| format!("  uint64_t field{at};\n")).collect();
        let text = format!("typedef struct baro_a {{\n  uint32_t type_size;\n{fields}}} baro_a;\n");
        let found = shaped(&text);
        assert!(found.lines().all(|line| line.len() <= COLUMNS), "{found}");
        let (_, values) = found.split_once("sizeof(baro_a), ").unwrap();
        assert_eq!(values.matches('0').count(), 60);
    }

    #[test]
    fn the_version_is_macros() {
        let found = version("1", "2", "3");
        assert!(found.contains("#define BARO_VERSION_TEXT \"1.2.3\"\n"), "{found}");
        assert!(found.lines().all(|line| line.len() <= COLUMNS), "{found}");
    }
}
