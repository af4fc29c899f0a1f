//! A page of tables as Markdown and as HTML without scripts or references.

use super::Goal;
use std::fmt::Write as _;

pub(super) struct Page {
    pub(super) title: String,
    pub(super) says: Vec<String>,
    pub(super) goals: Vec<Goal>,
    pub(super) sections: Vec<Section>,
}

/// One paper.
#[derive(Default)]
pub(super) struct Section {
    pub(super) title: &'static str,
    /// What held in the paper's year; what holds today; what Barograph does about it.
    pub(super) says: Vec<String>,
    pub(super) command: &'static str,
    pub(super) tables: Vec<Table>,
}

pub(super) struct Table {
    pub(super) caption: String,
    pub(super) columns: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(caption: impl Into<String>, columns: &[&str]) -> Self {
        let columns = columns.iter().map(|&column| column.to_owned()).collect();
        Self { caption: caption.into(), columns, rows: Vec::new() }
    }
}

impl Page {
    fn goals(&self) -> Table {
        let mut table = Table::new("Goals", &["what", "goal", "measured", "met"]);
        table.rows.extend(self.goals.iter().map(|goal| {
            let met = if goal.is_met { "yes" } else { "no" };
            [goal.what, goal.goal, &goal.measured, met].map(str::to_owned).to_vec()
        }));
        table
    }

    pub(super) fn markdown(&self) -> String {
        let mut text = format!("# {}\n\n{}\n", self.title, self.says.join("\n\n"));
        markdown_table(&mut text, &self.goals());
        for section in &self.sections {
            let _ = writeln!(text, "\n## {}\n", section.title);
            for line in &section.says {
                let _ = writeln!(text, "- {line}");
            }
            let _ = writeln!(text, "\n```\n{}\n```", section.command);
            for table in &section.tables {
                markdown_table(&mut text, table);
            }
        }
        text
    }

    pub(super) fn html(&self) -> String {
        let mut text = format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{}</title><style>\
             body{{font:15px/1.5 system-ui,sans-serif;max-width:72em;margin:2em auto;padding:0 1em}}\
             table{{border-collapse:collapse;margin:1em 0;display:block;overflow-x:auto}}\
             td,th{{border:1px solid #ccc;padding:.2em .6em;text-align:left;font-variant-numeric:tabular-nums}}\
             caption{{text-align:left;font-weight:600;padding:.3em 0}}th{{background:#f3f3f3}}\
             code,pre{{background:#f3f3f3}}</style></head><body>\n<h1>{0}</h1>\n",
            escape(&self.title)
        );
        for line in &self.says {
            let _ = writeln!(text, "<p>{}</p>", prose(line));
        }
        html_table(&mut text, &self.goals());
        for section in &self.sections {
            let _ = writeln!(text, "<h2>{}</h2>\n<ul>", escape(section.title));
            for line in &section.says {
                let _ = writeln!(text, "<li>{}</li>", prose(line));
            }
            let _ = writeln!(text, "</ul>\n<pre>{}</pre>", escape(section.command));
            for table in &section.tables {
                html_table(&mut text, table);
            }
        }
        text.push_str("</body></html>\n");
        text
    }
}

fn markdown_table(text: &mut String, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n**{}**\n\n| {} |", table.caption, table.columns.join(" | "));
    let _ = writeln!(text, "|{}", "---|".repeat(table.columns.len()));
    for row in &table.rows {
        let row: Vec<String> = row.iter().map(|cell| cell.replace('|', "\\|")).collect();
        let _ = writeln!(text, "| {} |", row.join(" | "));
    }
}

fn html_table(text: &mut String, table: &Table) {
    if table.rows.is_empty() {
        return;
    }
    let row = |tag: &str, cells: &[String]| -> String {
        cells.iter().map(|cell| format!("<{tag}>{}</{tag}>", prose(cell))).collect()
    };
    let _ = writeln!(
        text,
        "<table><caption>{}</caption>\n<tr>{}</tr>",
        prose(&table.caption),
        row("th", &table.columns)
    );
    for cells in &table.rows {
        let _ = writeln!(text, "<tr>{}</tr>", row("td", cells));
    }
    text.push_str("</table>\n");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Text with `code` and **strong** in it.
fn prose(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in escape(text).split('`').enumerate() {
        match index % 2 {
            1 => out += &format!("<code>{part}</code>"),
            _ => {
                for (index, part) in part.split("**").enumerate() {
                    out += &if index % 2 == 1 { format!("<b>{part}</b>") } else { part.to_owned() };
                }
            }
        }
    }
    out
}
