//! Writes a page: markup as it is, text escaped and cut.

use crate::render::text::cut;
use std::io::{self, Write};

/// A page that is being written.
pub(super) struct Page<'w> {
    out: &'w mut dyn Write,
}

impl<'w> Page<'w> {
    pub(super) fn new(out: &'w mut dyn Write) -> Self {
        Self { out }
    }

    /// Markup: made here, never of what a trace says.
    pub(super) fn raw(&mut self, markup: &str) -> io::Result<()> {
        self.out.write_all(markup.as_bytes())
    }

    /// Text, for elements and for quoted attributes; at most so many characters of it.
    pub(super) fn text(&mut self, text: &str, chars_max: usize) -> io::Result<()> {
        self.raw(&escaped(&cut(text, chars_max)))
    }

    /// An element without attributes that holds text.
    pub(super) fn element(&mut self, name: &str, text: &str, chars_max: usize) -> io::Result<()> {
        self.raw(&format!("<{name}>"))?;
        self.text(text, chars_max)?;
        self.raw(&format!("</{name}>"))
    }

    /// A row of a table.
    pub(super) fn row(&mut self, cells: &[(&str, &str)], chars_max: usize) -> io::Result<()> {
        self.raw("<tr>")?;
        for (class, text) in cells {
            self.raw(&format!("<td class=\"{class}\">"))?;
            self.text(text, chars_max)?;
            self.raw("</td>")?;
        }
        self.raw("</tr>\n")
    }

    /// The head of a table whose columns are `(class, title)`; it must be closed with `end_table`.
    pub(super) fn table(&mut self, columns: &[(&str, &str)]) -> io::Result<()> {
        self.raw("<div class=\"wide\"><table>\n<thead><tr>")?;
        for (class, title) in columns {
            self.raw(&format!("<th scope=\"col\" class=\"{class}\">"))?;
            self.text(title, 100)?;
            self.raw("</th>")?;
        }
        self.raw("</tr></thead>\n<tbody>\n")
    }

    pub(super) fn end_table(&mut self) -> io::Result<()> {
        self.raw("</tbody>\n</table></div>\n")
    }
}

/// Markup characters escaped; what would be invisible, or turns the direction of what follows, shown
/// as a replacement character.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
            | '\u{feff}'
            | '\u{fffe}'
            | '\u{ffff}' => out.push('\u{fffd}'),
            control if control.is_control() => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}
