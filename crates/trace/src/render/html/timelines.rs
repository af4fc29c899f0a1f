//! What happened meanwhile: slow calls, transactions, space of journals, dirty pages, disks.

use super::chart::{Axis, Bar, bars, columns, legend};
use super::columns::Columns;
use super::page::Page;
use crate::record::Device;
use crate::render::View;
use crate::render::lanes::Rows;
use crate::render::series::{Space, in_flight, space};
use crate::render::stages::{STAGES, bounds, stages};
use crate::timeline::{Disk, Journal, Stage, Transaction};
use baro_show::{bytes, count, duration};
use std::cmp::Reverse;
use std::io;

/// Slow calls that are drawn.
const CALLS_MAX: usize = 300;
/// Transactions that are drawn, of all journals together.
const TRANSACTIONS_MAX: usize = 300;
const JOURNALS_MAX: usize = 6;
const DISKS_MAX: usize = 8;
/// Rows of a chart of bars.
const ROWS_MAX: usize = 12;

pub(super) fn write(view: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let axis = Axis::of(view);
    page.raw(&format!(
        "<section id=\"timelines\">\n<h2>What happened meanwhile</h2>\n\
         <p class=\"soft\">All charts show the same time, from the first event on. A column of numbers \
         is {} wide. <span class=\"zoom\" hidden>Drag across a chart to see that part; \
         <button type=\"button\" id=\"all\">show all</button></span></p>\n",
        duration(axis.column_ns),
    ))?;
    calls(view, &axis, page)?;
    let journals = &view.line.journals;
    for (device, journal) in journals.iter().take(JOURNALS_MAX) {
        let limit = TRANSACTIONS_MAX / journals.len().clamp(1, JOURNALS_MAX);
        transactions(view, (*device, journal), limit, &axis, page)?;
        journal_space(view, (*device, journal), &axis, page)?;
    }
    left_out(journals.len(), JOURNALS_MAX, "journals", page)?;
    dirty_pages(view, &axis, page)?;
    for (device, disk) in view.line.disks.iter().take(DISKS_MAX) {
        write_disk(view, (*device, disk), &axis, page)?;
    }
    left_out(view.line.disks.len(), DISKS_MAX, "disks", page)?;
    page.raw("</section>\n")
}

fn left_out(there: usize, shown: usize, what: &str, page: &mut Page<'_>) -> io::Result<()> {
    match there.saturating_sub(shown) {
        0 => Ok(()),
        more => {
            let more = count(more as u64);
            page.raw(&format!("<p class=\"note\">{more} further {what} are left out here.</p>\n"))
        }
    }
}

fn calls(view: &View<'_>, axis: &Axis, page: &mut Page<'_>) -> io::Result<()> {
    if view.slow.is_empty() {
        return Ok(());
    }
    let mut shown: Vec<_> = view.slow.iter().enumerate().take(CALLS_MAX).collect();
    shown.sort_by_key(|(_, call)| (call.begin_ns, Reverse(call.wait_ns)));
    let mut rows = Rows::new(ROWS_MAX);
    let mut all = Vec::with_capacity(shown.len());
    for (index, call) in shown {
        let end_ns = call.begin_ns.saturating_add(call.wait_ns);
        all.push(Bar {
            row: rows.place((call.begin_ns, end_ns)).unwrap_or(ROWS_MAX - 1),
            begin_ns: call.begin_ns,
            end_ns,
            class: "late",
            label: format!(
                "{}. {} of {} {}: {}",
                index + 1,
                call.call,
                call.task,
                call.pid,
                duration(call.wait_ns)
            ),
        });
    }
    bars(axis, "Calls that took long", rows.rows(), &all, page)?;
    left_out(view.slow.len(), CALLS_MAX, "calls", page)
}

fn class(stage: Stage) -> &'static str {
    match stage {
        Stage::Running => "running",
        Stage::Starting => "starting",
        Stage::Locked => "locked",
        Stage::Flushing => "flushing",
        Stage::Logging => "logging",
        Stage::Committed => "committed",
    }
}

fn transactions(
    view: &View<'_>,
    (device, journal): (Device, &Journal),
    limit: usize,
    axis: &Axis,
    page: &mut Page<'_>,
) -> io::Result<()> {
    // The longest commits, if there are too many.
    let mut shown: Vec<(u64, &Transaction)> = Vec::new();
    for one in journal.transactions.values() {
        if bounds(&stages(one)).is_some() {
            let begin_ns = one.commit_ns.or(one.begin_ns).unwrap_or(view.line.end_ns);
            let end_ns = one.end_ns.unwrap_or(view.line.end_ns);
            shown.push((end_ns.saturating_sub(begin_ns), one));
        }
    }
    let there = shown.len();
    shown.sort_by_key(|(commit_ns, one)| (Reverse(*commit_ns), one.tid));
    shown.truncate(limit);
    let mut spans: Vec<_> = shown.into_iter().map(|(_, one)| (one, stages(one))).collect();
    spans.sort_by_key(|(one, spans)| (bounds(spans), one.tid));
    let mut rows = Rows::new(ROWS_MAX);
    let mut all = Vec::with_capacity(spans.len() * STAGES.len());
    for (one, spans) in spans {
        let Some((begin_ns, end_ns)) = bounds(&spans) else { continue };
        let end_ns = end_ns.unwrap_or(view.line.end_ns.max(begin_ns));
        let row = rows.place((begin_ns, end_ns)).unwrap_or(ROWS_MAX - 1);
        let blocks = one.stats.as_ref().map_or(String::new(), |stats| {
            format!(", {} blocks, {} handles", stats.blocks, stats.handles)
        });
        for span in spans {
            let (end_ns, open) = match span.end_ns {
                Some(end_ns) => (end_ns, ""),
                None => (end_ns, " and longer"),
            };
            let took = duration(end_ns.saturating_sub(span.begin_ns));
            all.push(Bar {
                row,
                begin_ns: span.begin_ns,
                end_ns,
                class: class(span.stage),
                label: format!("transaction {} {}: {took}{open}{blocks}", one.tid, span.label),
            });
        }
    }
    let title = format!("Transactions of {}", view.device_name(device));
    bars(axis, &title, rows.rows(), &all, page)?;
    let colours = STAGES.map(|(stage, name)| (class(stage), name));
    legend(&colours, page)?;
    if there > limit {
        let (there, limit) = (count(there as u64), count(limit as u64));
        page.raw(&format!(
            "<p class=\"note\">Of {there} transactions the {limit} with the longest commits are \
             drawn.</p>\n"
        ))?;
    }
    Ok(())
}

fn journal_space(
    view: &View<'_>,
    (device, journal): (Device, &Journal),
    axis: &Axis,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let name = view.device_name(device);
    let blocks = |value: u64| count(value);
    match space(journal) {
        Space::Free(values) => {
            // The least of a column is what handles wait for; the columns keep the largest.
            let whole = journal.samples.iter().map(|one| one.total_blocks.max(one.free_blocks));
            let total = whole.max().unwrap_or(0);
            let used: Vec<_> =
                values.iter().map(|(at, free)| (*at, total.saturating_sub(*free))).collect();
            let held =
                Columns::new(axis, "used", "free, the least of each column").hold(axis, &used);
            let values = held.values.iter().map(|used| used.map(|used| total.saturating_sub(used)));
            let free = Columns { values: values.collect(), ..held };
            columns(axis, &format!("Free journal blocks of {name}"), &[free], blocks, page)
        }
        Space::UsedAtLeast(values) => {
            let text = "in use, at least: estimated from commits and moves of the tail";
            let used = Columns::new(axis, "used", text).hold(axis, &values);
            let title = format!("Journal blocks in use of {name} (estimated)");
            columns(axis, &title, &[used], blocks, page)
        }
        Space::Unknown => Ok(()),
    }
}

fn dirty_pages(view: &View<'_>, axis: &Axis, page: &mut Page<'_>) -> io::Result<()> {
    let samples = &view.line.dirty_pages;
    if samples.is_empty() {
        return Ok(());
    }
    let dirty: Vec<_> = samples.iter().map(|(time_ns, dirty, _)| (*time_ns, *dirty)).collect();
    let limit: Vec<_> = samples.iter().map(|(time_ns, _, limit)| (*time_ns, *limit)).collect();
    let series = [
        Columns::new(axis, "dirty", "dirty").hold(axis, &dirty),
        Columns::new(axis, "limit", "where writers must stop").hold(axis, &limit),
    ];
    columns(axis, "Dirty pages of the machine", &series, count, page)
}

fn write_disk(
    view: &View<'_>,
    (device, disk): (Device, &Disk),
    axis: &Axis,
    page: &mut Page<'_>,
) -> io::Result<()> {
    let name = view.device_name(device);
    let mut written = Columns::new(axis, "written", "written");
    let mut read = Columns::new(axis, "read", "read");
    let per_second = 1e9 / axis.column_ns as f64;
    for request in &disk.requests {
        let Some(done_ns) = request.done_ns else { continue };
        let series = if request.is_write() { &mut written } else { &mut read };
        series.add(axis.column(done_ns), u64::from(request.bytes));
    }
    let unit = |value: u64| format!("{}/s", bytes((value as f64 * per_second) as u64));
    let title = format!("Bytes that disk {name} has done");
    columns(axis, &title, &[written, read], unit, page)?;
    let flying = Columns::new(axis, "flying", "in flight, the most of each column");
    let flying = flying.hold(axis, &in_flight(disk));
    columns(axis, &format!("Requests in flight on disk {name}"), &[flying], count, page)
}
