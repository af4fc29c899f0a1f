//! The forms of the report on space.

use super::{JournalSpace, Space};
use crate::analyze::{Report, plot, show};
use serde_json::{Value, json};

impl Report for Space {
    fn text(&self) -> String {
        let mut text = self.head.clone();
        if self.journals.is_empty() {
            text.push_str("no space: the trace has no journal\n");
        }
        self.journals.iter().for_each(|one| text.push_str(&journal_text(one, self.span)));
        text
    }

    fn json(&self) -> Value {
        let journal = |one: &JournalSpace| journal_json(one, self.span.0);
        let journals: Vec<Value> = self.journals.iter().map(journal).collect();
        json!({ "trace": self.head_json, "journals": journals })
    }
}

fn journal_text(space: &JournalSpace, span: (u64, u64)) -> String {
    let mark = if space.estimated { "~" } else { "" };
    let mut text = format!(
        "\njournal of {}: {} blocks, at most {} a transaction\n  {} blocks logged, {} freed in {} \
         moves of the tail\n",
        space.device,
        show::known_count(space.total_blocks),
        show::known_count(space.max_transaction_blocks),
        show::count(space.logged_blocks),
        show::count(space.freed_blocks),
        show::count(space.tail_moves)
    );
    if space.estimated {
        text.push_str(&match space.anchors {
            0 => "  ~ from the blocks of commits and moves of the tail; what was used at first is not \
                  known: used blocks are the least that there can have been\n"
                .to_owned(),
            anchors => format!(
                "  ~ from the blocks of commits and moves of the tail; compared {} times with the \
                 transactions in the journal, corrected by {} blocks\n",
                show::count(anchors),
                show::count(space.corrected_blocks)
            ),
        });
    }
    let at = |at_ns: u64| show::at(at_ns.saturating_sub(span.0));
    let Some((used, used_ns)) = space.most_used() else {
        text.push_str("  nothing was logged or freed\n");
        return text;
    };
    text.push_str(&format!("  most used {mark}{} at {}", show::count(used), at(used_ns)));
    match (space.least_free(), space.below_quarter_ns) {
        (Some((free, free_ns)), Some(below_ns)) => text.push_str(&format!(
            "; least free {mark}{} at {}; below a quarter for {mark}{}\n",
            show::count(free),
            at(free_ns),
            show::duration(below_ns)
        )),
        _ => text.push_str("; free blocks need the journal's size (--journal-blocks)\n"),
    }
    if let Some(reserved) = space.levels.iter().filter_map(|one| one.reserved_credits).max() {
        text.push_str(&format!("  most reserved {}\n", show::count(reserved)));
    }
    for (pid, name, calls) in &space.room_makers {
        text.push_str(&format!("  {} calls for room by {name} ({pid})\n", show::count(*calls)));
    }
    let (what, max) = match space.total_blocks {
        Some(total) => ("free", total),
        None => ("used", used),
    };
    let value = |used: u64| space.total_blocks.map_or(used, |total| total.saturating_sub(used));
    let points: Vec<(u64, u64)> =
        space.levels.iter().map(|one| (one.time_ns, value(one.used_blocks))).collect();
    text.push_str(&format!("{what} blocks{}\n", if space.estimated { ", ~" } else { "" }));
    text.push_str(&plot::curve(&points, span, max));
    text
}

fn journal_json(space: &JournalSpace, begin_ns: u64) -> Value {
    let at = |at_ns: u64| at_ns.saturating_sub(begin_ns);
    let maker = |(pid, task, calls): &(i32, String, u64)| json!({ "pid": pid, "task": task, "calls": calls });
    json!({
        "device": space.device,
        "estimated": space.estimated,
        "anchors": space.anchors,
        "is_lower_bound": !space.anchored,
        "corrected_blocks": space.corrected_blocks,
        "total_blocks": space.total_blocks,
        "max_transaction_blocks": space.max_transaction_blocks,
        "logged_blocks": space.logged_blocks,
        "freed_blocks": space.freed_blocks,
        "tail_moves": space.tail_moves,
        "max_used_blocks": space.most_used().map(|(used, _)| used),
        "max_used_at_ns": space.most_used().map(|(_, at_ns)| at(at_ns)),
        "min_free_blocks": space.least_free().map(|(free, _)| free),
        "below_quarter_ns": space.below_quarter_ns,
        "max_reserved_credits": space.levels.iter().filter_map(|one| one.reserved_credits).max(),
        "last_used_blocks": space.levels.last().map(|one| one.used_blocks),
        "room_makers": space.room_makers.iter().map(maker).collect::<Vec<_>>(),
    })
}
