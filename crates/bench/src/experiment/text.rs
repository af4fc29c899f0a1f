//! A study for a terminal.

use super::study::{Study, Table, Verdict};
use baro_show::number;
use std::fmt::Write;

pub(super) fn render(study: &Study) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail; here and below.
    let _ = writeln!(out, "{}\n{}\n", study.title, study.paper);
    for (name, text) in &study.machine.facts {
        let _ = writeln!(out, "  {name}: {text}");
    }
    for table in &study.tables {
        let _ = write!(out, "\n{}", rendered(table));
    }
    let _ = writeln!(out, "\nClaims of the paper");
    for claim in &study.claims {
        let _ = writeln!(out, "  [{}] {} ({})", claim.verdict.name(), claim.says, claim.source);
        let _ = writeln!(out, "      paper: {}", claim.paper);
        if !claim.here.is_empty() {
            let _ = writeln!(out, "      here: {}", claim.here);
        }
        let _ = writeln!(out, "      {}", claim.why);
    }
    let count = |verdict| study.claims.iter().filter(|claim| claim.verdict == verdict).count();
    let _ = writeln!(
        out,
        "\n{} claims: {} hold, {} do not hold here, {} cannot be judged here, {} cannot be shown by this model",
        study.claims.len(),
        count(Verdict::Holds),
        count(Verdict::DoesNotHold),
        count(Verdict::CannotBeJudged),
        count(Verdict::ModelCannotShow)
    );
    for note in &study.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

/// One line for each row, each number as `paper | here` where the paper has that column.
fn rendered(table: &Table) -> String {
    let both = |column: usize| {
        table.rows.iter().any(|row| row.cells.get(column).is_some_and(|pair| pair.paper.is_some()))
    };
    let texts: Vec<Vec<String>> = table
        .rows
        .iter()
        .map(|row| {
            let cells = table.columns.iter().enumerate().map(|(at, column)| {
                let pair = row.cells.get(at).copied().unwrap_or_default();
                let shown = |value: Option<f64>| {
                    value.map_or("-".to_owned(), |value| number(value, column.digits))
                };
                if both(at) {
                    format!("{} | {}", shown(pair.paper), shown(pair.here))
                } else {
                    shown(pair.here)
                }
            });
            cells.collect()
        })
        .collect();
    let widths: Vec<usize> = table
        .columns
        .iter()
        .enumerate()
        .map(|(at, column)| {
            let cells = texts.iter().filter_map(|row| row.get(at)).map(|text| text.chars().count());
            cells.max().unwrap_or(0).max(column.name.chars().count())
        })
        .collect();
    let first = table.rows.iter().map(|row| row.name.chars().count());
    let first = first.max().unwrap_or(0).max(table.first.chars().count());
    let beside = if (0..table.columns.len()).any(both) { "; paper | here" } else { "" };
    let mut out = format!("{}: {}{beside}\n", table.id, table.caption);
    let _ = write!(out, "  {:first$}", table.first);
    for (column, width) in table.columns.iter().zip(&widths) {
        let _ = write!(out, "  {:>width$}", column.name);
    }
    out.push('\n');
    for (row, texts) in table.rows.iter().zip(&texts) {
        let _ = write!(out, "  {:first$}", row.name);
        for (text, width) in texts.iter().zip(&widths) {
            let _ = write!(out, "  {text:>width$}");
        }
        if let Some(missing) = &row.missing {
            let _ = write!(out, "  ({missing})");
        }
        out.push('\n');
    }
    out
}
