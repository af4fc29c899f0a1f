//! The forms of the report on transactions.

use super::{JournalStates, STAGES, StageTotal, StateRow, States, Why, mark};
use crate::analyze::{Report, plot, show};
use crate::timeline::{Stage, Transaction};
use serde_json::{Map, Value, json};

impl Report for States {
    fn text(&self) -> String {
        let mut text = self.head.clone();
        if self.journals.is_empty() {
            text.push_str("no transactions: the trace has no journal\n");
        }
        for journal in &self.journals {
            text.push_str(&totals_text(journal));
            text.push_str(&table_text(journal));
            text.push_str(&line_text(journal, self.span));
        }
        text
    }

    fn json(&self) -> Value {
        let journal = |journal: &JournalStates| journal_json(journal, self.span.0);
        let journals: Vec<Value> = self.journals.iter().map(journal).collect();
        json!({ "trace": self.head_json, "journals": journals })
    }
}

fn totals_text(journal: &JournalStates) -> String {
    let mut text = format!(
        "\njournal of {}: {} transactions, {} committed, {} dropped\n  {} handles, {} blocks, {} \
         logged; checkpoints wrote {} blocks, {} were home before, {} commits were waited for\n",
        journal.device,
        show::count(journal.transactions),
        show::count(journal.committed),
        show::count(journal.dropped),
        show::count(journal.handles),
        show::count(journal.blocks),
        show::count(journal.blocks_logged),
        show::count(journal.checkpoint_written),
        show::count(journal.checkpoint_dropped),
        show::count(journal.forced_to_close)
    );
    let mut table = show::Table::new(&["stage", "seen", "in all", "longest", "transaction"]);
    for (name, total) in STAGES.iter().zip(&journal.stages).filter(|(_, total)| total.count > 0) {
        table.row(vec![
            (*name).to_owned(),
            show::count(total.count),
            show::duration(total.sum_ns),
            show::duration(total.max_ns),
            total.max_tid.to_string(),
        ]);
    }
    text.push_str(&table.text());
    text
}

fn why(why: &Why) -> String {
    match why {
        Why::Sync(pid, task) => format!("sync by {task} ({pid})"),
        Why::Full(pid, task) => format!("no room for {task} ({pid})"),
        Why::Age => "~age".to_owned(),
        Why::Unknown => "-".to_owned(),
    }
}

fn table_text(journal: &JournalStates) -> String {
    let mut head = vec!["transaction"];
    head.extend(STAGES);
    head.extend(["handles", "blocks", "logged", "why"]);
    let mut table = show::Table::new(&head);
    for row in &journal.rows {
        let mut cells = vec![row.transaction.tid.to_string()];
        cells.extend(row.durations_ns.map(show::known));
        let stats = row.transaction.stats;
        let stat = |number: Option<u32>| show::known_count(number.map(u64::from));
        cells.push(stat(stats.map(|stats| stats.handles)));
        cells.push(stat(stats.map(|stats| stats.blocks)));
        cells.push(stat(stats.map(|stats| stats.blocks_logged)));
        cells.push(why(&row.why));
        table.row(cells);
    }
    let mut text = table.text();
    text.push_str(&show::not_shown(
        journal.rows.len(),
        journal.transactions,
        "with shorter commits",
    ));
    text
}

/// One row for each transaction: what it did longest in each column.
fn line_text(journal: &JournalStates, span: (u64, u64)) -> String {
    let digit = |thousandths: u64| match thousandths {
        0 => ' ',
        // A tenth more: what is there at all is not 0.
        some => char::from_digit((some / 100).min(9) as u32, 10).unwrap_or('9'),
    };
    let locked: String = journal.load.iter().map(|(locked, _)| digit(*locked)).collect();
    let commits: String = journal.load.iter().map(|(_, commit)| digit(*commit)).collect();
    let mut text = format!("{:>12} |{}\n", "locked/10", locked);
    text.push_str(&format!("{:>12} |{}\n", "commit/10", commits));
    for row in &journal.rows {
        let cells = (0..plot::WIDTH).map(|column| cell(&row.transaction, column, span));
        text.push_str(&format!("{:>12} |{}\n", row.transaction.tid, cells.collect::<String>()));
    }
    let mut trimmed: String = text.lines().map(|line| format!("{}\n", line.trim_end())).collect();
    trimmed.push_str(&plot::axis(span));
    trimmed.push_str(
        "              r running, s starting, L locked, F flushing, W logging, . committed, D dropped\n",
    );
    trimmed
}

fn cell(one: &Transaction, column: usize, span: (u64, u64)) -> char {
    let (begin_ns, end_ns) = plot::bounds(column, span);
    if one.dropped_ns.is_some_and(|at_ns| at_ns < begin_ns) {
        return ' ';
    }
    if one.dropped_ns.is_some_and(|at_ns| at_ns < end_ns) {
        return 'D';
    }
    // The times at which its stages begin within the column.
    let begins = [one.commit_ns, one.locking_ns, one.flushing_ns, one.logging_ns, one.end_ns];
    let mut times: Vec<u64> = begins.into_iter().chain([one.begin_ns]).flatten().collect();
    times.retain(|at_ns| *at_ns > begin_ns && *at_ns < end_ns);
    times.extend([begin_ns, end_ns]);
    times.sort_unstable();
    let pieces = times.windows(2).filter_map(|pair| {
        let [from_ns, to_ns] = pair else { return None };
        Some((to_ns - from_ns, one.stage(*from_ns)?))
    });
    // Of a commit that is a part of the column there is still to be seen that it was there.
    let commits = |stage: Stage| !matches!(stage, Stage::Running | Stage::Committed);
    let longest = pieces.max_by_key(|(ns, stage)| (commits(*stage) && *ns > 0, *ns));
    longest.map_or(' ', |(_, stage)| mark(stage))
}

fn journal_json(journal: &JournalStates, begin_ns: u64) -> Value {
    let stage = |(name, total): (&&str, &StageTotal)| {
        let longest = (total.count > 0).then_some(total.max_tid);
        json!({
            "stage": name,
            "transactions": total.count,
            "sum_ns": total.sum_ns,
            "max_ns": total.max_ns,
            "max_transaction": longest,
        })
    };
    json!({
        "device": journal.device,
        "transactions": journal.transactions,
        "committed_transactions": journal.committed,
        "dropped_transactions": journal.dropped,
        "handles": journal.handles,
        "blocks": journal.blocks,
        "logged_blocks": journal.blocks_logged,
        "checkpoint_written_blocks": journal.checkpoint_written,
        "checkpoint_dropped_blocks": journal.checkpoint_dropped,
        "forced_to_close": journal.forced_to_close,
        "stages": STAGES.iter().zip(&journal.stages).map(stage).collect::<Vec<_>>(),
        "longest_commits": journal.rows.iter().map(|row| row_json(row, begin_ns)).collect::<Vec<_>>(),
    })
}

fn row_json(row: &StateRow, begin_ns: u64) -> Value {
    let one = &row.transaction;
    let at = |at_ns: Option<u64>| at_ns.map(|at_ns| at_ns.saturating_sub(begin_ns));
    let mut document = Map::new();
    let mut add = |key: &str, value: Value| document.insert(key.to_owned(), value);
    add("transaction", one.tid.into());
    for (key, at_ns) in [
        ("begin_at_ns", one.begin_ns),
        ("commit_at_ns", one.commit_ns),
        ("locking_at_ns", one.locking_ns),
        ("flushing_at_ns", one.flushing_ns),
        ("logging_at_ns", one.logging_ns),
        ("end_at_ns", one.end_ns),
        ("dropped_at_ns", one.dropped_ns),
    ] {
        add(key, at(at_ns).into());
    }
    for (stage, ns) in STAGES.iter().zip(row.durations_ns) {
        add(&format!("{stage}_ns"), ns.into());
    }
    add("handles", one.stats.map(|stats| stats.handles).into());
    add("blocks", one.stats.map(|stats| stats.blocks).into());
    add("logged_blocks", one.stats.map(|stats| stats.blocks_logged).into());
    add("checkpoint_written_blocks", one.checkpoint.map(|stats| stats.written).into());
    add("checkpoint_dropped_blocks", one.checkpoint.map(|stats| stats.dropped).into());
    let (cause, pid) = match &row.why {
        Why::Sync(pid, _) => (Some("sync"), Some(*pid)),
        Why::Full(pid, _) => (Some("full"), Some(*pid)),
        Why::Age => (Some("age_estimated"), None),
        Why::Unknown => (None, None),
    };
    add("why", cause.into());
    add("why_pid", pid.into());
    document.into()
}
