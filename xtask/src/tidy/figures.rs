//! Figures that documents quote: `results/figures.tsv` has a row for each, with the file where it was
//! measured. `results/README.md` is written from it, and the README's own table may quote nothing else.
//!
//! A quoted number counts as found if a number of the source is the same when it is rounded to the
//! digits of the quote: 8.8 is found in 8.83. It has to stand in a line of the source that has one of the
//! row's fields, so that no other number of a long page is taken for it. Where the command is
//! `cargo xtask results NAME..`, the rows of those names are the fields.

use super::Finding;
use super::tree::Tree;
use std::collections::BTreeSet;

/// The name of this check.
pub(super) const CHECK: &str = "figures";
/// Where the rows are, and the page that is written from them.
const ROWS: &str = "results/figures.tsv";
const PAGE: &str = "results/README.md";
/// The heading of the README's own table of results.
const HEADING: &str = "## Results";

/// How a command begins that measures rows by their names.
const BY_NAME: &str = "cargo xtask results ";

/// A quoted figure: what, measured, where its raw row is (files below `results/`, by commas), words of the
/// lines that have it (by semicolons), command.
struct Row<'a> {
    line: usize,
    what: &'a str,
    measured: &'a str,
    sources: Vec<&'a str>,
    fields: Vec<String>,
    command: &'a str,
}

/// Words that are in the lines of the figures and in no others.
fn fields(field: &str, command: &str) -> Vec<String> {
    let named = command.strip_prefix(BY_NAME).into_iter().flat_map(str::split_whitespace);
    let named = named.map(|name| format!("| {name} |"));
    let said = field.split(';').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned);
    said.chain(named).collect()
}

fn rows(text: &str) -> (Vec<Row<'_>>, Vec<usize>) {
    let (mut rows, mut broken) = (Vec::new(), Vec::new());
    for (at, line) in text.lines().enumerate().skip(1) {
        match line.split('\t').collect::<Vec<_>>()[..] {
            [what, measured, sources, field, command] => rows.push(Row {
                line: at + 1,
                what,
                measured,
                sources: sources.split(',').collect(),
                fields: fields(field, command),
                command,
            }),
            _ => broken.push(at + 1),
        }
    }
    (rows, broken)
}

/// Each quoted figure is found in its source, and each of the README in the page of all.
pub(super) fn figures(tree: &Tree) -> Vec<Finding> {
    let (rows, broken) = rows(tree.text(ROWS).unwrap_or_default());
    let mut findings: Vec<Finding> = broken
        .into_iter()
        .map(|line| Finding::error(CHECK, format!("{ROWS}:{line}"), "expected five columns"))
        .collect();
    for row in &rows {
        let mut found = Numbers::default();
        for source in &row.sources {
            match tree.text(&format!("results/{source}")) {
                Some(text) => row.fields.iter().for_each(|field| found.add_lines(text, field)),
                None => findings.push(Finding::error(
                    CHECK,
                    format!("{ROWS}:{}", row.line),
                    format!("results/{source} does not exist"),
                )),
            }
        }
        for number in quoted(row.measured).filter(|number| !found.has(number)) {
            let place = format!("{ROWS}:{}", row.line);
            let message = format!(
                "{number} is in no line of {} that has one of: {}",
                row.sources.join(", "),
                row.fields.join("; ")
            );
            findings.push(Finding::error(CHECK, place, message));
        }
    }
    findings.extend(front_page(tree));
    findings
}

fn front_page(tree: &Tree) -> Vec<Finding> {
    let mut found = Numbers::default();
    found.add(tree.text(PAGE).unwrap_or_default());
    let text = tree.text("README.md").unwrap_or_default();
    let section = text.split_once(HEADING).map_or("", |(_, rest)| rest);
    let section = section.split_once("\n## ").map_or(section, |(own, _)| own);
    section
        .lines()
        .filter_map(|line| line.strip_prefix("| ")?.rsplit_once(" | "))
        .flat_map(|(_, measured)| quoted(measured))
        .filter(|number| !found.has(number))
        .map(|number| {
            Finding::error(CHECK, "README.md", format!("{number} is not found in {PAGE}"))
        })
        .collect()
}

/// The page of all figures, with its path.
pub(super) fn generated_file(tree: &Tree) -> (String, String) {
    let mut page = String::from(
        "# Results\n\n\
         Written by `cargo xtask tidy --bless` from [figures.tsv](figures.tsv): each figure that a \
         document quotes, the page with its raw rows, the command that measures it again. Rows that \
         miss their goal say so. Every folder's own page has the machine, the goals and all rows.\n\n\
         | what | measured | rows | command |\n|---|---|---|---|\n",
    );
    let (rows, _) = rows(tree.text(ROWS).unwrap_or_default());
    for row in rows {
        let links: Vec<String> = row.sources.iter().map(|to| format!("[{to}]({to})")).collect();
        let command = if row.command.is_empty() { String::new() } else { code(row.command) };
        page +=
            &format!("| {} | {} | {} | {command} |\n", row.what, row.measured, links.join(", "));
    }
    page += "\n## Machines and days\n\n";
    let folders: BTreeSet<&str> = tree
        .iter()
        .filter_map(|(path, _)| path.strip_prefix("results/")?.split_once('/'))
        .map(|(folder, _)| folder)
        .collect();
    for folder in folders.into_iter().rev() {
        page += &format!("- [{folder}]({folder}/README.md)\n");
    }
    (PAGE.to_owned(), page)
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

/// The numbers of a text: for each its value and its digits behind the point.
fn numbers(text: &str) -> impl Iterator<Item = &str> {
    let is_part = |c: char| c.is_ascii_digit() || c == '.' || c == ',';
    text.split(move |c| !is_part(c))
        .map(|word| word.trim_matches(['.', ',']))
        .filter(|word| !word.is_empty())
}

fn value(number: &str) -> Option<f64> {
    number.replace(',', "").parse().ok()
}

/// Numbers of a quote, without those of its links' addresses and without a goal, which nobody measured.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split("](").enumerate().flat_map(|(at, part)| {
        let own = if at == 0 { part } else { part.split_once(')').map_or("", |(_, own)| own) };
        let (own, goal) = own.split_once("(**goal").unwrap_or((own, ""));
        numbers(own).chain(numbers(goal.split_once(')').map_or("", |(_, rest)| rest)))
    })
}

#[derive(Default)]
struct Numbers(Vec<f64>);

impl Numbers {
    /// The numbers of the lines of a text that have a word.
    fn add_lines(&mut self, text: &str, field: &str) {
        for line in text.lines().filter(|line| line.contains(field)) {
            self.add(line);
        }
    }

    fn add(&mut self, text: &str) {
        self.0.extend(numbers(text).filter_map(value));
        self.0.sort_by(f64::total_cmp);
    }

    /// Whether a number of these, rounded to the digits of `number`, is `number`. What is no number
    /// (5.10.1) is not judged.
    fn has(&self, number: &str) -> bool {
        let Some(wanted) = value(number) else { return true };
        let decimals = number.split_once('.').map_or(0, |(_, behind)| behind.len() as i32);
        let half = 0.5 * 10_f64.powi(-decimals) + 1e-9;
        let from = self.0.partition_point(|found| *found < wanted - half);
        self.0.get(from).is_some_and(|found| *found <= wanted + half)
    }
}

#[cfg(test)]
mod tests {
    use super::{Tree, figures};

    const HEAD: &str = "what\tmeasured\trows\tfield\tcommand\n";

    #[test]
    fn a_figure_without_its_row_is_found() {
        let push = "push\t0.90 of 1,000; 8.8 us\td/a.md\tpush\tx\n";
        let rows = format!("{HEAD}{push}lost\t7\td/b.md\t\tx\n");
        let tree = Tree::of(&[
            ("results/figures.tsv", rows.as_str()),
            ("results/d/a.md", "push: 0.9 (0.7), 1000 runs, 8.83 us"),
            ("README.md", "## Results\n| push | 0.90 of [5](x9) |\n## Other\n| a | 77 |\n"),
            ("results/README.md", "0.90"),
        ]);
        let messages: Vec<_> = figures(&tree).iter().map(|f| f.message.clone()).collect();
        let expected = [
            "results/d/b.md does not exist",
            "7 is in no line of d/b.md that has one of: ",
            "5 is not found in results/README.md",
        ];
        assert_eq!(messages, expected);
    }

    #[test]
    fn a_quote_is_found_in_what_rounds_to_it() {
        let source = |text: &'static str| [("results/d/a.md", text)];
        for (quote, text, errors) in [("8.8", "8.83", 0), ("8.8", "8.9", 1), ("103", "102.5", 0)] {
            let rows = format!("{HEAD}a\t{quote}\td/a.md\t8;102\tx\n");
            let mut files = vec![("results/figures.tsv", rows.as_str())];
            files.extend(source(text));
            assert_eq!(figures(&Tree::of(&files)).len(), errors, "{quote} in {text}");
        }
    }

    #[test]
    fn a_number_of_another_row_of_the_page_is_no_source() {
        let page = "- Versions: 0071869fdb77\n| lost-200 | 76.5 ms |\n| lost-500 | 66.9 ms |\n";
        let rows = [("77", "lost-200", 0), ("67", "lost-200", 1), ("67", "lost-200 lost-500", 0)];
        for (quote, names, errors) in rows {
            let command = format!("cargo xtask results {names}");
            let rows = format!("{HEAD}a\t{quote}\td/a.md\t\t{command}\n");
            let tree =
                Tree::of(&[("results/figures.tsv", rows.as_str()), ("results/d/a.md", page)]);
            assert_eq!(figures(&tree).len(), errors, "{quote} in {names}");
        }
    }
}
