//! Text that others wrote, for a terminal and for markup.
//!
//! A task may be named `<script>`, a series `\x1b[2J`, and a mark of direction turns the rest of a
//! line around. What is not seen has no place in a line of text or in a page. Ordinary text is what
//! it was: also a joiner between two letters of a script that joins them.
//!
//! Who prints lines for people does not ask which of their words are foreign: [`push_line`] takes a
//! whole line, and the end of a line is its own. [`Shown`] is one foreign word, where a text is put
//! together of several lines.
//!
//! Invariant: what comes out holds no control character, no mark of direction and, as markup, no
//! character that opens or closes anything. Held by `foreign_text_is_neither_markup_nor_control` and
//! `a_line_is_one_line_whatever_is_in_it`.

use std::fmt::{self, Write};

/// What stands in a line of text for a character that is not seen.
const INSTEAD: char = '?';

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
    for (character, seen) in judged(text) {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            other if seen => out.push(other),
            _ if unseen == Unseen::Marked => out.push('\u{fffd}'),
            _ => {}
        }
    }
    out
}

/// Text for one line of a terminal, with `instead` for each character that is not seen.
#[must_use]
pub fn terminal(text: &str, instead: char) -> String {
    judged(text).map(|(one, seen)| if seen { one } else { instead }).collect()
}

/// Foreign text within a line: shows itself with a question mark for each character that is not
/// seen. Width and fill of the format apply to what is shown.
#[derive(Clone, Copy, Debug)]
pub struct Shown<T>(pub T);

impl<T: fmt::Display> fmt::Display for Shown<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&terminal(&self.0.to_string(), INSTEAD))
    }
}

/// Adds one line to `out`, with a question mark for each character in it that is not seen, ends of
/// lines among them; the line's own end is added.
pub fn push_line(out: &mut String, line: fmt::Arguments<'_>) {
    let from = out.len();
    // A line that says it cannot be shown ends where it said so.
    let _ = out.write_fmt(line);
    // Nearly all lines are plain ASCII, and some commands print millions of them.
    if !out.as_bytes().iter().skip(from).all(|byte| matches!(byte, b' '..=b'~')) {
        let shown = terminal(out.get(from..).unwrap_or_default(), INSTEAD);
        out.truncate(from);
        out.push_str(&shown);
    }
    out.push('\n');
}

/// A text of several lines, whose ends are ours: what else is not seen is replaced as in
/// [`push_line`]. The words in it that are foreign must have been [`Shown`], since their ends of lines
/// are not told from ours any more.
#[must_use]
pub fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 1);
    text.lines().for_each(|line| push_line(&mut out, format_args!("{line}")));
    out
}

/// JSON with an escape for each character that is not seen, which can only stand in a string: it says the
/// same to programs, and moves no cursor where it is looked at. Ends of lines between values stay.
#[must_use]
pub fn escaped_json(json: String) -> String {
    let hidden = |one: char| one != '\n' && is_unseen(one);
    if json.bytes().all(|byte| matches!(byte, b'\n' | b' '..=b'~')) || !json.contains(hidden) {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 64);
    for one in json.chars() {
        if hidden(one) {
            for unit in one.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(one);
        }
    }
    out
}

/// Whether a character moves a cursor, turns text around or takes no room, and so has no place in text
/// that is looked at.
#[must_use]
pub fn is_unseen(one: char) -> bool {
    one.is_control()
        || matches!(one,
            '\u{ad}'
            | '\u{61c}'
            | '\u{115f}' | '\u{1160}'
            | '\u{17b4}' | '\u{17b5}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}' | '\u{ffa0}'
            | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}')
}

/// Each character and whether it is seen. The two joiners are, between characters beyond ASCII: they
/// belong to the spelling of some languages, and two names of ASCII cannot differ by them.
fn judged(text: &str) -> impl Iterator<Item = (char, bool)> + '_ {
    let mut before = None;
    let mut rest = text.chars();
    std::iter::from_fn(move || {
        let one = rest.next()?;
        let joins = |other: Option<char>| other.is_some_and(|c| !c.is_ascii() && !is_unseen(c));
        let joiner = matches!(one, '\u{200c}' | '\u{200d}');
        let seen = !is_unseen(one) || (joiner && joins(before) && joins(rest.clone().next()));
        before = Some(one);
        Some((one, seen))
    })
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
        for unseen in "\u{7f}\u{9b}\u{61c}\u{200b}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\
                       \u{2066}\u{2069}\u{feff}\u{e0041}\u{ad}\u{3164}"
            .chars()
        {
            assert_eq!(terminal(&format!("a{unseen}b"), '?'), "a?b", "{unseen:?}");
            assert_eq!(markup(&format!("é{unseen}é"), Unseen::Dropped), "éé", "{unseen:?}");
        }
        for harmless in
            ["äöü – 5 µs", "„dash…“", "温度", "می\u{200c}خواهم", "👩\u{200d}🔧", "e\u{301}"]
        {
            assert_eq!(terminal(harmless, '?'), harmless);
            assert_eq!(markup(harmless, Unseen::Marked), harmless);
        }
        assert_eq!(terminal("te\u{200d}mp", '?'), "te?mp", "two names that look alike");
        assert_eq!(terminal("é\u{200d}\u{200d}é\u{200d}", '?'), "é??é?");
    }

    #[test]
    fn a_line_is_one_line_whatever_is_in_it() {
        let mut out = String::from("before\n");
        push_line(&mut out, format_args!("{:>4} {} é", 7, "x\r\nlost: 0\u{1b}[1A\t"));
        assert_eq!(out, "before\n   7 x??lost: 0?[1A? é\n");
        assert_eq!(format!("[{:>5}]", Shown("a\u{7f}b")), "[  a?b]");
        assert_eq!(
            escaped_json("[\"é\u{9b}\u{e0041}\"\n]".into()),
            "[\"é\\u009b\\udb40\\udc41\"\n]"
        );
        assert_eq!(lines("one\ntwo\u{1b}\n\nfour"), "one\ntwo?\n\nfour\n");
    }
}
