//! The calls that took long: a sentence each, its chain of reasons as bars, and what would help.

use super::page::Page;
use crate::render::{SlowCall, SlowLink, View};
use baro_show::{count, duration};
use std::collections::BTreeMap;
use std::io;

/// Calls whose chains stand open; those of the others open when they are clicked.
const OPEN: usize = 3;
/// Calls that are shown with their chains, and those that follow in a table.
const SHOWN_MAX: usize = 16;
const LISTED_MAX: usize = 80;
/// Links of one chain.
const LINKS_MAX: usize = 12;
/// Different pieces of advice.
const ADVICE_MAX: usize = 24;
const SENTENCE_CHARS: usize = 500;
const NAME_CHARS: usize = 80;
const CAUSE_CHARS: usize = 200;
/// Deeper links are not moved further to the right.
const INDENT_MAX: usize = 12;

pub(super) fn write(view: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    page.raw("<section>\n<h2>Calls that took long</h2>\n")?;
    if view.slow.is_empty() {
        page.raw("<p>None was asked for or found.</p>\n")?;
    }
    for (index, call) in view.slow.iter().take(SHOWN_MAX).enumerate() {
        write_call(view, index, call, page)?;
    }
    let rest = view.slow.get(SHOWN_MAX..).unwrap_or(&[]);
    if !rest.is_empty() {
        list(view, rest, page)?;
    }
    page.raw("</section>\n")?;
    advice(view, page)
}

fn write_call(
    view: &View<'_>,
    index: usize,
    call: &SlowCall,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let open = if index < OPEN { " open" } else { "" };
    page.raw(&format!("<article>\n<details{open}>\n<summary>"))?;
    page.element("h3", &format!("{}. {}", index + 1, call.sentence), SENTENCE_CHARS)?;
    page.raw("</summary>\n<p class=\"soft\">")?;
    page.text(&about(view, call), NAME_CHARS * 4)?;
    page.raw("</p>\n<div class=\"chain\">\n")?;
    let whole = SlowLink {
        who: call.task.clone(),
        waits_for: call.call.clone(),
        begin_ns: call.begin_ns,
        end_ns: call.end_ns,
        ns: length_ns(call),
        ..SlowLink::default()
    };
    bar(call, &whole, "whole", page)?;
    for link in call.links.iter().take(LINKS_MAX) {
        let class = format!("depth{}", link.depth % 4);
        bar(call, link, &class, page)?;
    }
    if call.unexplained_ns > 0 {
        let open = SlowLink {
            who: "not explained".to_owned(),
            begin_ns: call.end_ns.saturating_sub(call.unexplained_ns),
            end_ns: call.end_ns,
            ns: call.unexplained_ns,
            cause: "no reason was found for this part; where it lies in the call is not known"
                .to_owned(),
            ..SlowLink::default()
        };
        bar(call, &open, "open", page)?;
    }
    page.raw("</div>\n")?;
    if call.links.len() > LINKS_MAX {
        let left_out = count((call.links.len() - LINKS_MAX) as u64);
        page.raw(&format!("<p class=\"note\">{left_out} further reasons are left out.</p>\n"))?;
    }
    page.raw("</details>\n</article>\n")
}

fn about(view: &View<'_>, call: &SlowCall) -> String {
    format!(
        "{} (task {}), {}, {} after the trace began, {} long, of which {} waited",
        call.task,
        call.pid,
        call.call,
        duration(call.begin_ns.saturating_sub(view.line.begin_ns)),
        duration(length_ns(call)),
        duration(call.wait_ns),
    )
}

fn length_ns(call: &SlowCall) -> u64 {
    call.end_ns.saturating_sub(call.begin_ns)
}

/// One row: who waited for what, and a bar from its first moment in the call to its last. Of several waits
/// the bar is pale: they fill a part of it.
fn bar(call: &SlowCall, link: &SlowLink, class: &str, page: &mut Page<'_>) -> io::Result<()> {
    let whole_ns = length_ns(call).max(1) as f64;
    let part = |ns: u64| (ns as f64 / whole_ns * 100.0).clamp(0.0, 100.0);
    let begins_before = link.begin_ns < call.begin_ns;
    let left = part(link.begin_ns.saturating_sub(call.begin_ns));
    let right = part(link.end_ns.saturating_sub(call.begin_ns)).max(left);
    // A hair's breadth stays visible.
    let (left, width) = (left.min(99.6), (right - left).max(0.4));
    let share = link.ns as f64 / whole_ns * 100.0;
    let indent = link.depth.min(INDENT_MAX);
    let (pale, often) = match link.count {
        0 | 1 => ("", String::new()),
        several => (" several", format!("in {} waits, ", count(several))),
    };
    page.raw(&format!("<div class=\"link\">\n<div class=\"what\" style=\"--depth:{indent}\">"))?;
    page.element("strong", &link.who, NAME_CHARS)?;
    if let Some(pid) = link.pid {
        page.raw(&format!(" <span class=\"soft\">{pid}</span>"))?;
    }
    if !link.waits_for.is_empty() {
        page.raw(if class == "whole" { ": " } else { " – " })?;
        page.text(&link.waits_for, NAME_CHARS)?;
    }
    if !link.place.is_empty() {
        page.raw(" <code>")?;
        page.text(&link.place, NAME_CHARS)?;
        page.raw("</code>")?;
    }
    if !link.cause.is_empty() {
        page.raw("<br><span class=\"soft\">")?;
        page.text(&link.cause, CAUSE_CHARS)?;
        page.raw("</span>")?;
    }
    page.raw(&format!(
        "</div>\n<div class=\"time\">{} <span class=\"soft\">{often}{}</span></div>\n\
         <div class=\"bar\"><i class=\"{class}{pale}\" style=\"left:{left:.2}%;width:{width:.2}%\"></i>\
         </div>\n",
        duration(link.ns),
        match share {
            share if begins_before => format!("{share:.0} % of the call, begun before it"),
            share => format!("{share:.0} %"),
        },
    ))?;
    page.raw("</div>\n")
}

fn list(view: &View<'_>, rest: &[SlowCall], page: &mut Page<'_>) -> io::Result<()> {
    page.raw("<h3>Further calls</h3>\n")?;
    page.table(&[("", "task"), ("", "call"), ("num", "began"), ("num", "waited"), ("", "why")])?;
    for call in rest.iter().take(LISTED_MAX) {
        let began = duration(call.begin_ns.saturating_sub(view.line.begin_ns));
        let task = format!("{} {}", call.task, call.pid);
        page.row(
            &[
                ("", &task),
                ("", &call.call),
                ("num", &began),
                ("num", &duration(call.wait_ns)),
                ("", &call.sentence),
            ],
            CAUSE_CHARS,
        )?;
    }
    page.end_table()?;
    if rest.len() > LISTED_MAX {
        let left_out = count((rest.len() - LISTED_MAX) as u64);
        page.raw(&format!("<p class=\"note\">{left_out} further calls are left out.</p>\n"))?;
    }
    Ok(())
}

/// All advice, each once, with the number and time of the calls that it is for.
fn advice(view: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let mut all: Vec<(&(String, String, String), u64, u64)> = Vec::new();
    let mut known: BTreeMap<&(String, String, String), usize> = BTreeMap::new();
    for call in view.slow {
        for advice in &call.advice {
            let index = *known.entry(advice).or_insert_with(|| {
                all.push((advice, 0, 0));
                all.len() - 1
            });
            if let Some((_, calls, wait_ns)) = all.get_mut(index) {
                *calls += 1;
                *wait_ns = wait_ns.saturating_add(call.wait_ns);
            }
        }
    }
    if all.is_empty() {
        return Ok(());
    }
    all.sort_by_key(|(_, _, wait_ns)| std::cmp::Reverse(*wait_ns));
    page.raw("<section>\n<h2>What would help</h2>\n<ol class=\"advice\">\n")?;
    for ((command, effect, price), calls, wait_ns) in all.iter().take(ADVICE_MAX) {
        page.raw("<li>\n<div class=\"command\"><code>")?;
        page.text(command, CAUSE_CHARS)?;
        page.raw("</code><button type=\"button\" class=\"copy\" hidden>Copy</button></div>\n<p>")?;
        page.text(effect, CAUSE_CHARS)?;
        page.raw("</p>\n<p class=\"soft\">Price: ")?;
        page.text(price, CAUSE_CHARS)?;
        page.raw(&format!(
            "</p>\n<p class=\"soft\">For {} of these calls, {} together.</p>\n</li>\n",
            count(*calls),
            duration(*wait_ns),
        ))?;
    }
    page.raw("</ol>\n")?;
    if all.len() > ADVICE_MAX {
        let left_out = count((all.len() - ADVICE_MAX) as u64);
        page.raw(&format!("<p class=\"note\">{left_out} further pieces are left out.</p>\n"))?;
    }
    page.raw("</section>\n")
}
