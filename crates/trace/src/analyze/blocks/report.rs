//! The forms of the report on blocks.

use super::{BlockRow, Blocks, JournalBlocks, Lane};
use crate::analyze::{Report, plot, show};
use crate::timeline::{ListLengths, Stage};
use serde_json::{Value, json};

impl Report for Blocks {
    fn text(&self) -> String {
        let mut text = self.head.clone();
        if self.journals.is_empty() {
            text.push_str("no blocks: the trace has no journal\n");
        }
        for journal in &self.journals {
            text.push_str(&format!(
                "\njournal of {}: {} transactions\n",
                journal.device,
                show::count(journal.transactions)
            ));
            text.push_str(&rows_text(journal));
            for (name, lane) in lanes(journal) {
                text.push_str(&lane_text(name, lane, self.span));
            }
        }
        text
    }

    fn json(&self) -> Value {
        let journal = |journal: &JournalBlocks| journal_json(journal, self.span.0);
        let journals: Vec<Value> = self.journals.iter().map(journal).collect();
        json!({ "trace": self.head_json, "journals": journals })
    }
}

fn lanes(journal: &JournalBlocks) -> [(&'static str, &Lane); 3] {
    [
        ("SYNC: data to be sent", &journal.data),
        ("metadata to commit", &journal.metadata),
        ("CHKP: to be brought home", &journal.checkpoint),
    ]
}

fn lane_text(name: &str, lane: &Lane, span: (u64, u64)) -> String {
    let mark = if lane.estimated { "~" } else { "" };
    match lane.max() {
        None | Some((_, 0)) => format!("{name}: none seen\n"),
        Some((at_ns, max)) => format!(
            "{name}, {mark}{}: at most {mark}{} at {}\n{}",
            lane.unit,
            show::count(max),
            show::at(at_ns.saturating_sub(span.0)),
            plot::curve(&lane.points, span, max)
        ),
    }
}

fn stage(stage: Stage) -> &'static str {
    match stage {
        Stage::Running => "running",
        Stage::Starting => "starting",
        Stage::Locked => "locked",
        Stage::Flushing => "flushing",
        Stage::Logging => "logging",
        Stage::Committed => "committed",
    }
}

fn rows_text(journal: &JournalBlocks) -> String {
    let estimate = |number: Option<u64>| match number {
        Some(number) => format!("~{}", show::count(number)),
        None => "-".to_owned(),
    };
    let mut table = show::Table::new(&[
        "transaction",
        "files",
        "SYNC pages",
        "metadata",
        "logged",
        "CHKP",
        "commit at",
    ]);
    for row in &journal.rows {
        table.row(vec![
            row.tid.to_string(),
            show::count(row.data_files),
            estimate(row.data_pages),
            estimate(row.metadata),
            show::known_count(row.logged),
            estimate(row.checkpoint),
            row.at_ns.map_or_else(|| "-".to_owned(), show::at),
        ]);
    }
    let mut text = table.text();
    text.push_str(&show::not_shown(journal.rows.len(), journal.transactions, "with fewer blocks"));
    let mut table = show::Table::new(&[
        "transaction",
        "data files",
        "reserved",
        "metadata",
        "shadow",
        "forget",
        "CHKP",
        "stage",
    ]);
    for (row, list) in
        journal.rows.iter().flat_map(|row| row.lists.iter().map(move |one| (row, one)))
    {
        // Counting was given up: there are as many at least.
        let least =
            |number: u64| format!("{}{}", if list.capped { ">=" } else { "" }, show::count(number));
        table.row(vec![
            row.tid.to_string(),
            least(list.data_files),
            least(list.reserved),
            show::count(list.metadata),
            least(list.shadow),
            least(list.forget),
            least(list.checkpoint),
            stage(list.stage).to_owned(),
        ]);
    }
    text.push_str(&table.text());
    text
}

fn journal_json(journal: &JournalBlocks, begin_ns: u64) -> Value {
    let lane = |lane: &Lane| {
        json!({
            "unit": lane.unit,
            "estimated": lane.estimated,
            "max": lane.max().map(|(_, value)| value),
            "max_at_ns": lane.max().map(|(at_ns, _)| at_ns.saturating_sub(begin_ns)),
        })
    };
    json!({
        "device": journal.device,
        "transactions": journal.transactions,
        "data": lane(&journal.data),
        "metadata": lane(&journal.metadata),
        "checkpoint": lane(&journal.checkpoint),
        "most_blocks": journal.rows.iter().map(|row| row_json(row, begin_ns)).collect::<Vec<_>>(),
    })
}

fn row_json(row: &BlockRow, begin_ns: u64) -> Value {
    let list = |one: &ListLengths| {
        json!({
            "at_ns": one.time_ns.saturating_sub(begin_ns),
            "stage": stage(one.stage),
            "data_files": one.data_files,
            "reserved_blocks": one.reserved,
            "metadata_blocks": one.metadata,
            "shadow_blocks": one.shadow,
            "forget_blocks": one.forget,
            "checkpoint_blocks": one.checkpoint,
            "is_lower_bound": one.capped,
        })
    };
    json!({
        "transaction": row.tid,
        "commit_at_ns": row.at_ns,
        "data_files": row.data_files,
        "data_estimated_pages": row.data_pages,
        "metadata_estimated_blocks": row.metadata,
        "logged_blocks": row.logged,
        "checkpoint_estimated_blocks": row.checkpoint,
        "lists": row.lists.iter().map(list).collect::<Vec<_>>(),
    })
}
