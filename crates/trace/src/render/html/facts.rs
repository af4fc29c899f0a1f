//! The tables below: tasks that waited, journals, the machine; and what is missing or estimated.

use super::page::Page;
use crate::render::View;
use crate::render::series::{Space, space};
use crate::timeline::{Task, WaitKind};
use baro_show::{count, date, duration};
use std::cmp::Reverse;
use std::io;

/// Rows of a table.
const TASKS_MAX: usize = 20;
const JOURNALS_MAX: usize = 20;
const REMARKS_MAX: usize = 40;
const CELL_CHARS: usize = 80;
const REMARK_CHARS: usize = 400;

/// What the trace lacks, at the top of the page; nothing if it lacks nothing.
pub(super) fn losses(view: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let line = view.line;
    let mut lacks: Vec<String> = Vec::new();
    let mut add = |number: u64, what: &str| {
        if number > 0 {
            lacks.push(format!("{} {what}", count(number)));
        }
    };
    add(line.lost_events, "events were lost before they were read");
    add(line.lost_places, "times an unknown number of events was lost");
    add(line.damaged_pages, "pages of the trace are damaged");
    add(line.dropped_spans, "spans were more than the limit allows and were dropped");
    if lacks.is_empty() {
        return Ok(());
    }
    page.raw(
        "<div class=\"losses\">\n<strong>Something is missing from this trace.</strong>\n<ul>\n",
    )?;
    for lack in lacks {
        page.element("li", &lack, REMARK_CHARS)?;
        page.raw("\n")?;
    }
    page.raw("</ul>\n<p>Reasons may lie in what is missing.</p>\n</div>\n")
}

pub(super) fn write(view: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    tasks(view, page)?;
    journals(view, page)?;
    machine(view, page)?;
    estimates(view, page)
}

/// Sum and longest of the sleeps of a task that no signal ends.
fn slept(task: &Task, end_ns: u64) -> (u64, u64) {
    let sleeps = task.waits.iter().filter(|wait| wait.kind == WaitKind::Sleep);
    sleeps.fold((0, 0), |(sum_ns, max_ns), wait| {
        let ns = wait.duration_ns(end_ns);
        (ns.saturating_add(sum_ns), ns.max(max_ns))
    })
}

fn tasks(view: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let end_ns = view.line.end_ns;
    let all = view.line.tasks.iter().map(|(pid, task)| (slept(task, end_ns), *pid, task));
    let mut all: Vec<_> = all.filter(|((sum_ns, _), ..)| *sum_ns > 0).collect();
    all.sort_by_key(|((sum_ns, _), pid, _)| (Reverse(*sum_ns), *pid));
    if all.is_empty() {
        return Ok(());
    }
    page.raw("<section>\n<h2>Tasks that slept longest</h2>\n")?;
    page.raw(
        "<p class=\"soft\">Sleeps that no signal ends (state D), as far as they were kept one by one.\
         </p>\n",
    )?;
    page.table(&[
        ("", "task"),
        ("num", "pid"),
        ("num", "slept"),
        ("num", "longest"),
        ("num", "calls"),
        ("num", "longest call"),
    ])?;
    for ((sum_ns, max_ns), pid, task) in all.iter().take(TASKS_MAX) {
        let calls: u64 =
            task.call_counts.values().fold(0, |all, one| all.saturating_add(one.count));
        let counted = task.call_counts.values().map(|one| one.max_ns).max().unwrap_or(0);
        page.row(
            &[
                ("", &view.task_name(*pid)),
                ("num", &pid.to_string()),
                ("num", &duration(*sum_ns)),
                ("num", &duration(*max_ns)),
                ("num", &count(calls)),
                ("num", &duration(counted)),
            ],
            CELL_CHARS,
        )?;
    }
    page.end_table()?;
    more(all.len(), TASKS_MAX, "tasks", page)?;
    page.raw("</section>\n")
}

fn more(there: usize, shown: usize, what: &str, page: &mut Page<'_>) -> io::Result<()> {
    match there.saturating_sub(shown) {
        0 => Ok(()),
        rest => {
            let rest = count(rest as u64);
            page.raw(&format!("<p class=\"note\">{rest} further {what} are left out.</p>\n"))
        }
    }
}

fn journals(view: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let all = &view.line.journals;
    if all.is_empty() {
        return Ok(());
    }
    page.raw("<section>\n<h2>Journals</h2>\n")?;
    page.table(&[
        ("", "file system"),
        ("num", "transactions"),
        ("num", "longest commit"),
        ("num", "handles"),
        ("num", "longest wait for one"),
        ("num", "calls for space"),
        ("num", "moves of the tail"),
    ])?;
    for (device, journal) in all.iter().take(JOURNALS_MAX) {
        let commits = journal.transactions.values().filter_map(|one| one.commit_duration_ns());
        let longest = commits.max().map_or("–".to_owned(), duration);
        page.row(
            &[
                ("", &view.device_name(*device)),
                ("num", &count(journal.transactions.len() as u64)),
                ("num", &longest),
                ("num", &count(journal.handles.count)),
                ("num", &duration(journal.handles.max_wait_ns)),
                ("num", &count(journal.checkpoints.len() as u64)),
                ("num", &count(journal.tails.len() as u64)),
            ],
            CELL_CHARS,
        )?;
    }
    page.end_table()?;
    more(all.len(), JOURNALS_MAX, "journals", page)?;
    page.raw("</section>\n")
}

fn machine(view: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let (machine, line) = (view.machine, view.line);
    let begin = i128::from(line.begin_ns) + i128::from(machine.realtime_offset_ns);
    let end = i128::from(line.end_ns) + i128::from(machine.realtime_offset_ns);
    let hz = machine.hz.map_or("not known".to_owned(), |hz| hz.to_string());
    let requests = line.disks.values().map(|disk| disk.requests.len() as u64).sum();
    let facts: [(&str, String); 9] = [
        ("kernel", machine.kernel.clone()),
        ("processors", machine.cpus.to_string()),
        ("ticks a second", hz),
        ("the tracer's clock", machine.clock.clone()),
        ("first event", date(begin)),
        ("last event", date(end)),
        ("events", count(line.events)),
        ("requests of disks", count(requests)),
        ("tasks", count(line.tasks.len() as u64)),
    ];
    page.raw("<section>\n<h2>The machine and its trace</h2>\n<dl>\n")?;
    for (name, value) in &facts {
        page.element("dt", name, CELL_CHARS)?;
        page.element("dd", value, CELL_CHARS * 2)?;
        page.raw("\n")?;
    }
    page.raw("</dl>\n</section>\n")
}

/// What is not measured but inferred.
fn estimates(view: &View<'_>, page: &mut Page<'_>) -> io::Result<()> {
    let line = view.line;
    let mut remarks: Vec<&str> = Vec::new();
    if !line.calls_are_exact {
        remarks.push(
            "Bounds of system calls were not recorded: calls are put together from the waits in them.",
        );
    }
    let spaces: Vec<Space> = line.journals.values().map(space).collect();
    if spaces.iter().any(|space| matches!(space, Space::UsedAtLeast(_))) {
        remarks.push(
            "Blocks in use of a journal are estimated: what commits wrote, less what moves of its tail \
             freed, moved up so that it is never below 0. In truth it is this or more.",
        );
    }
    if line.journals.is_empty() {
        remarks.push("No event of a journal was recorded.");
    }
    if line.disks.is_empty() {
        remarks.push("No request of a disk was recorded.");
    }
    if line.dirty_pages.is_empty() {
        remarks.push("Nothing was recorded about dirty pages.");
    }
    remarks.push("What had not ended when the trace did is drawn up to its end.");
    remarks.extend(view.remarks.iter().map(String::as_str));
    page.raw("<section>\n<h2>What is estimated or not known</h2>\n<ul>\n")?;
    for remark in remarks.iter().take(REMARKS_MAX) {
        page.element("li", remark, REMARK_CHARS)?;
        page.raw("\n")?;
    }
    page.raw("</ul>\n")?;
    more(remarks.len(), REMARKS_MAX, "remarks", page)?;
    page.raw("</section>\n")
}
