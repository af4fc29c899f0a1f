//! One page that says why calls were late, and shows what happened meanwhile.
//!
//! All of it is in the one file: no font, script or picture is fetched, and a policy in its head
//! forbids the browser to. It reads without scripts and on paper; with scripts the time lines can be
//! zoomed and commands copied. Colours follow the reader's choice of light or dark.
//!
//! Long lists are cut to the worst and long times to fewer, wider columns, and the page says so: it
//! stays below [`PAGE_BYTES_MAX`] whatever the trace. All text comes from a traced machine, where a
//! task may be named `<script>`; [`page::Page`] is the only way to write it, and escapes.
//!
//! Invariant: tags are balanced and no text of a trace becomes markup. Held by
//! `pages_are_balanced_and_escaped` and
//! `a_page_of_a_huge_trace_stays_small_and_says_what_it_leaves_out`.

mod calls;
mod chart;
mod columns;
mod facts;
mod page;
mod timelines;

use super::View;
use baro_show::{count, date, duration};
use page::Page;
use std::io::{self, BufWriter, Write};

/// The longest page, in bytes.
pub const PAGE_BYTES_MAX: usize = 2 << 20;

const STYLE: &str = include_str!("html/page.css");
const SCRIPT: &str = include_str!("html/page.js");

/// No connection of any kind; only what is in the page.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      base-uri 'none'; form-action 'none'";

/// Characters of the title that are shown.
const TITLE_CHARS: usize = 200;

/// Writes the page; blocks as `out` does.
///
/// # Errors
/// Those of `out`.
pub fn html(view: &View<'_>, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut page = Page::new(&mut out);
    page.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")?;
    page.raw(&format!("<meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n"))?;
    page.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>")?;
    page.text(view.title, TITLE_CHARS)?;
    page.raw(" – Barograph</title>\n<style>\n")?;
    page.raw(STYLE)?;
    page.raw("</style>\n</head>\n")?;
    let line = view.line;
    page.raw(&format!("<body data-duration-ns=\"{}\">\n<header>\n<h1>", line.duration_ns()))?;
    page.text(view.title, TITLE_CHARS)?;
    page.raw("</h1>\n<p>")?;
    page.text(&summary(view), 1_000)?;
    page.raw("</p>\n")?;
    facts::losses(view, &mut page)?;
    page.raw("</header>\n<main>\n")?;
    calls::write(view, &mut page)?;
    timelines::write(view, &mut page)?;
    facts::write(view, &mut page)?;
    page.raw("</main>\n<script>\n")?;
    page.raw(SCRIPT)?;
    page.raw("</script>\n</body>\n</html>\n")?;
    out.flush()
}

fn summary(view: &View<'_>) -> String {
    let line = view.line;
    let begin = i128::from(line.begin_ns) + i128::from(view.machine.realtime_offset_ns);
    format!(
        "{} of Linux {}, from {} on: {} events of {} tasks on {} processors.",
        duration(line.duration_ns()),
        view.machine.kernel,
        date(begin),
        count(line.events),
        count(line.tasks.len() as u64),
        view.machine.cpus,
    )
}
