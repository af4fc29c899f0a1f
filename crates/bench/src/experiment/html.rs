//! A study as one HTML file.
//!
//! Invariant: no script, no reference to anything outside, and every text escaped but the pictures,
//! which [`chart`](super::chart) escapes. Held by `a_report_holds_everything_and_refers_to_nothing`.

use super::study::{Claim, Row, Study, Table, Verdict};
use baro_show::number;
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark;--soft:#555;--line:#d5d5d5;--head:#f3f3f3;--good:#007a59;--bad:#c03000;\
--open:#8a6100}\
@media(prefers-color-scheme:dark){:root{--soft:#aaa;--line:#444;--head:#2a2a2a;--good:#2fc79a;\
--bad:#ff8c42;--open:#f0c242}}\
body{font:15px/1.5 system-ui,'DejaVu Sans',sans-serif;max-width:72rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.6rem;margin-bottom:0}h2{font-size:1.15rem;margin:2.2rem 0 .4rem}.soft{color:var(--soft)}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
th,td{border-bottom:1px solid var(--line);padding:.25rem .6rem;text-align:right;white-space:nowrap}\
th{background:var(--head);font-weight:600}th:first-child,td:first-child,td.why{text-align:left}\
td.why{white-space:normal;color:var(--soft)}td i{font-style:normal;color:var(--soft)}\
.claim{border-left:4px solid var(--line);padding:.1rem .8rem;margin:.7rem 0}.claim p{margin:.15rem 0}\
.holds{border-color:var(--good)}.not{border-color:var(--bad)}.open{border-color:var(--open)}\
.holds b{color:var(--good)}.not b{color:var(--bad)}.open b{color:var(--open)}\
figure{margin:1rem 0}svg{max-width:100%;height:auto}dl{display:grid;grid-template-columns:max-content auto;\
gap:.1rem 1rem}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}";

/// For element text and attribute values.
pub(super) fn escaped(text: &str) -> String {
    baro_show::markup(text, baro_show::Unseen::Dropped)
}

pub(super) fn render(study: &Study) -> String {
    let title = escaped(&study.title);
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width\"><title>{title}</title>\n\
         <style>{STYLE}</style></head><body>\n<h1>{title}</h1>\n<p class=\"soft\">{}</p>\n",
        escaped(&study.paper)
    );
    // Writing to a String cannot fail; here and below.
    let _ = writeln!(out, "<h2>The paper's claims</h2>");
    for claim in &study.claims {
        out.push_str(&shown(claim));
    }
    for table in &study.tables {
        out.push_str(&drawn(table));
    }
    for figure in &study.figures {
        let _ = writeln!(
            out,
            "<h2>{}</h2>\n<figure>{}<figcaption class=\"soft\">{}</figcaption></figure>",
            escaped(&figure.id),
            figure.svg,
            escaped(&figure.caption)
        );
    }
    if !study.notes.is_empty() {
        out.push_str("<h2>Notes</h2>\n<ul>\n");
        for note in &study.notes {
            let _ = writeln!(out, "<li>{}</li>", escaped(note));
        }
        out.push_str("</ul>\n");
    }
    out.push_str("<h2>Machine</h2>\n<dl>\n");
    for (name, text) in &study.machine.facts {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escaped(name), escaped(text));
    }
    out.push_str("</dl>\n</body></html>\n");
    out
}

fn shown(claim: &Claim) -> String {
    let class = match claim.verdict {
        Verdict::Holds => "holds",
        Verdict::DoesNotHold => "not",
        Verdict::CannotBeJudged | Verdict::ModelCannotShow => "open",
    };
    let here = match claim.here.as_str() {
        "" => String::new(),
        here => format!("<p>Here: {}</p>", escaped(here)),
    };
    format!(
        "<div class=\"claim {class}\"><p><b>{}</b>: {} <span class=\"soft\">({})</span></p>\
         <p>Paper: {}</p>{here}<p class=\"soft\">{}</p></div>\n",
        claim.verdict.name(),
        escaped(&claim.says),
        escaped(&claim.source),
        escaped(&claim.paper),
        escaped(&claim.why)
    )
}

/// Where the paper has a number it stands before ours, in grey.
fn drawn(table: &Table) -> String {
    let mut out = format!(
        "<h2>{}</h2>\n<p>{}</p>\n<div class=\"scroll\"><table><tr><th>{}</th>",
        escaped(&table.id),
        escaped(&table.caption),
        escaped(&table.first)
    );
    let both: Vec<bool> = (0..table.columns.len())
        .map(|at| {
            let paper = |row: &Row| row.cells.get(at).is_some_and(|pair| pair.paper.is_some());
            table.rows.iter().any(paper)
        })
        .collect();
    for (column, both) in table.columns.iter().zip(&both) {
        let beside = if *both { "<br><i>paper</i> here" } else { "" };
        let _ = write!(out, "<th>{}{beside}</th>", escaped(&column.name));
    }
    out.push_str("</tr>\n");
    for row in &table.rows {
        let _ = write!(out, "<tr><td>{}</td>", escaped(&row.name));
        for (at, (column, both)) in table.columns.iter().zip(&both).enumerate() {
            let pair = row.cells.get(at).copied().unwrap_or_default();
            let shown = |value: Option<f64>| {
                value.map_or("-".to_owned(), |value| number(value, column.digits))
            };
            out.push_str("<td>");
            if *both {
                let _ = write!(out, "<i>{}</i> ", shown(pair.paper));
            }
            let _ = write!(out, "{}</td>", shown(pair.here));
        }
        if let Some(missing) = &row.missing {
            let _ = write!(out, "<td class=\"why\">{}</td>", escaped(missing));
        }
        out.push_str("</tr>\n");
    }
    out.push_str("</table></div>\n");
    out
}
