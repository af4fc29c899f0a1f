//! Text that others wrote, for a terminal and for markup.
//!
//! A task may be named `<script>`, a series `\x1b[2J`, and a mark of direction turns the rest of a
//! line around. What is not seen has no place in a line of text or in a page.
//!
//! Invariant: what comes out holds no control character, no mark of direction and, as markup, no
//! character that opens or closes anything. Held by `foreign_text_is_neither_markup_nor_control`.

/// What becomes of a character that is not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// It is left out: in pictures, which are looked at.
    Dropped,
    /// U+FFFD stands for it: in pages, where a reader should see that there was something.
    Marked,
}

/// Text for elements and quoted attributes of HTML and XML: markup characters escaped, white space
/// as spaces.
#[must_use]
pub fn markup(text: &str, unseen: Unseen) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            other if !is_unseen(other) => out.push(other),
            _ if unseen == Unseen::Marked => out.push('\u{fffd}'),
            _ => {}
        }
    }
    out
}

/// Text for one line of a terminal, with `instead` for each character that is not seen.
#[must_use]
pub fn terminal(text: &str, instead: char) -> String {
    text.chars().map(|one| if is_unseen(one) { instead } else { one }).collect()
}

/// Control characters, ends of lines, what takes no room, marks of direction, and what is no
/// character.
fn is_unseen(one: char) -> bool {
    one.is_control()
        || matches!(one,
            '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_text_is_neither_markup_nor_control() {
        let hostile = "a\u{1b}[2Jb\n\u{202e}<b>'\"&\u{0}\u{85}\u{ffff}";
        assert_eq!(terminal(hostile, '?'), "a?[2Jb??<b>'\"&???");
        assert_eq!(
            markup(hostile, Unseen::Marked),
            "a\u{fffd}[2Jb \u{fffd}&lt;b&gt;&#39;&quot;&amp;\u{fffd}\u{fffd}\u{fffd}"
        );
        assert_eq!(markup(hostile, Unseen::Dropped), "a[2Jb &lt;b&gt;&#39;&quot;&amp;");
        for harmless in ["äöü – 5 µs", "„dash…“", "温度"] {
            assert_eq!(terminal(harmless, '?'), harmless);
            assert_eq!(markup(harmless, Unseen::Marked), harmless);
        }
    }
}
