//! Writes a page: markup as it is, text escaped and cut.

use crate::render::text::cut;
use baro_show::{Unseen, markup};
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
        self.raw(&markup(&cut(text, chars_max), Unseen::Marked))
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
