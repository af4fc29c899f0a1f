//! Rust source without what is in comments, strings and characters: a word found in the rest is
//! code. Lines and columns stay where they were.
//!
//! A few states instead of a parser: enough to tell code from text, and it cannot fail.

/// Replaces comments and the insides of literals by spaces.
pub(crate) fn code_only(source: &str) -> String {
    let chars: Vec<char> = source.chars().collect();
    let mut out = String::with_capacity(source.len());
    let mut at = 0;
    while at < chars.len() {
        let end = skip_literal(&chars, at);
        if end == at {
            out.extend(chars.get(at));
            at += 1;
        } else {
            out.extend(chars[at..end].iter().map(|&c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        }
    }
    out
}

/// The end of the comment or literal that begins at `at`, or `at` if none does.
fn skip_literal(chars: &[char], at: usize) -> usize {
    let rest = &chars[at..];
    let word_before = at > 0 && is_word(chars[at - 1]);
    match rest {
        ['/', '/', ..] => at + rest.iter().position(|&c| c == '\n').unwrap_or(rest.len()),
        ['/', '*', ..] => at + block_comment(rest),
        ['"', ..] => at + quoted(rest, '"'),
        ['r', '"' | '#', ..] if !word_before => at + raw_string(rest, 1),
        ['b' | 'c', 'r', '"' | '#', ..] if !word_before => at + raw_string(rest, 2),
        // 'x' and '\n' are characters, 'a without a closing quote is a lifetime.
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => at + quoted(rest, '\''),
        _ => at,
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Block comments nest in Rust.
fn block_comment(rest: &[char]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        match &rest[at..] {
            ['/', '*', ..] => (depth, at) = (depth + 1, at + 2),
            ['*', '/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn quoted(rest: &[char], quote: char) -> usize {
    let mut at = 1;
    while at < rest.len() && rest[at] != quote {
        at += if rest[at] == '\\' { 2 } else { 1 };
    }
    (at + 1).min(rest.len())
}

/// `r#"..."#` with any number of `#`; `r#name` is a raw identifier, no string.
fn raw_string(rest: &[char], prefix: usize) -> usize {
    let hashes = rest[prefix..].iter().take_while(|&&c| c == '#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&'"') {
        return 0;
    }
    let closes = |at: usize| {
        rest[at] == '"' && rest[at + 1..].iter().take_while(|&&c| c == '#').count() >= hashes
    };
    (open + 1..rest.len()).find(|&at| closes(at)).map_or(rest.len(), |at| at + 1 + hashes)
}

/// The numbers (from 1) of the lines that hold `word` as a whole word.
pub(crate) fn lines_with_word(text: &str, word: &str) -> Vec<usize> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| has_word(line, word))
        .map(|(index, _)| index + 1)
        .collect()
}

pub(crate) fn has_word(line: &str, word: &str) -> bool {
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_text_are_not_code() {
        for text in [
            "// unsafe",
            "/* a /* unsafe */ unsafe */",
            "\"a \\\" unsafe\"",
            "r\"unsafe\"",
            "r##\"a \"# unsafe\"##",
            "br#\"unsafe\"#",
            "'\\'' // unsafe",
        ] {
            let code = code_only(text);
            assert!(lines_with_word(&code, "unsafe").is_empty(), "{text} -> {code}");
            assert_eq!(code.chars().count(), text.chars().count());
        }
    }

    #[test]
    fn code_beside_text_is_found_in_its_line() {
        let source = "/* a\nb */ fn f<'a>(x: &'a str) { '\"'; unsafe {} }\nlet r#unsafe_ = \"\n\"; \
                      unsafe {}";
        assert_eq!(lines_with_word(&code_only(source), "unsafe"), [2, 4]);
        assert!(lines_with_word("unsafe_code, not_unsafe", "unsafe").is_empty());
    }
}
