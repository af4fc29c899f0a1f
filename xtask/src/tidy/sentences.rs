//! Check of prose: no sentence of README, ARCHITECTURE, CONTRIBUTING and `docs/` has more than 30
//! words, so that a reader whose mother tongue is another understands it at first reading.
//!
//! A sentence ends with `.`, `!`, `?`, `:` or `;`. An item of a list and a cell of a table are
//! paragraphs of their own. Code between backquotes is one word, a link counts by its text, and
//! blocks of code do not count.

use super::Finding;
use super::tree::Tree;

pub(super) const CHECK: &str = "sentences";

const WORDS_MAX: usize = 30;

/// The pages at the root; below `docs/` all count.
const PAGES: &[&str] = &["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"];

pub(super) fn sentences(tree: &Tree) -> Vec<Finding> {
    let pages = tree.texts(&[".md"]);
    let pages = pages.filter(|(path, _)| PAGES.contains(path) || path.starts_with("docs/"));
    let mut findings = Vec::new();
    for (path, text) in pages {
        for (line, paragraph) in paragraphs(text) {
            for (words, beginning) in too_long(&plain(&paragraph)) {
                let message = format!(
                    "a sentence of {words} words, at most {WORDS_MAX}; say one thing a sentence: \
                     \"{beginning} ..\""
                );
                findings.push(Finding::error(CHECK, format!("{path}:{line}"), message));
            }
        }
    }
    findings
}

/// Texts that belong together, each with the number of its first line; no code, no comments.
fn paragraphs(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let (mut in_code, mut in_comment, mut open) = (false, false, false);
    for (index, line) in text.lines().enumerate() {
        let (number, trimmed) = (index + 1, line.trim());
        let fence = trimmed.starts_with("```");
        in_code ^= fence;
        in_comment |= trimmed.starts_with("<!--");
        let comment_ends = in_comment && trimmed.ends_with("-->");
        let indented_code = !open && line.starts_with("    ");
        if trimmed.is_empty() || fence || in_code || in_comment || indented_code {
            open = false;
            in_comment &= !comment_ends;
        } else if let Some(row) = trimmed.strip_prefix('|') {
            all.extend(row.split('|').map(|cell| (number, cell.to_owned())));
            open = false;
        } else if let Some(item) = item(trimmed) {
            all.push((number, item.to_owned()));
            open = !trimmed.starts_with('#');
        } else if let Some((_, paragraph)) = all.last_mut().filter(|_| open) {
            *paragraph += " ";
            *paragraph += trimmed;
        } else {
            all.push((number, trimmed.to_owned()));
            open = true;
        }
    }
    all
}

/// The text of a heading or of an item of a list, without its mark.
fn item(line: &str) -> Option<&str> {
    let digits = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let text = match line.chars().next()? {
        '#' => line.trim_start_matches('#'),
        '-' | '*' => &line[1..],
        _ if digits.len() < line.len() => digits.strip_prefix('.')?,
        _ => return None,
    };
    text.starts_with(' ').then_some(text)
}

/// The paragraph with a word in place of each piece of code, and of links their texts.
fn plain(paragraph: &str) -> String {
    let mut text = String::new();
    for (index, part) in paragraph.split('`').enumerate() {
        text += if index % 2 == 0 { part } else { "code" };
    }
    while let Some((before, after)) = text.split_once("](") {
        let behind = after.split_once(')').map_or("", |(_, behind)| behind);
        text = format!("{before}{behind}");
    }
    text
}

/// The sentences with too many words: how many, and how they begin.
fn too_long(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut sentence: Vec<&str> = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if word.contains(char::is_alphanumeric) {
            sentence.push(word);
        }
        let bare = word.trim_end_matches(['*', '_', ')', '"', '\'', ']']);
        if bare.ends_with(['.', '!', '?', ':', ';']) || words.peek().is_none() {
            if sentence.len() > WORDS_MAX {
                found.push((sentence.len(), sentence[..6].join(" ")));
            }
            sentence.clear();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> String {
        vec!["word"; count].join(" ")
    }

    fn places(text: &str) -> Vec<String> {
        let tree = Tree::of(&[("docs/a.md", text)]);
        sentences(&tree).into_iter().map(|finding| finding.place).collect()
    }

    #[test]
    fn a_sentence_of_more_than_thirty_words_is_found_where_it_begins() {
        let (most, more) = (words(30), words(31));
        let ends = format!("{most}. {most}! {most}? {most}: {most}; **{most}.** ({most}.) {most}");
        assert_eq!(places(&ends), [""; 0]);
        let text = format!("# Title\n{most}.\n{more}\n\n- {more}.\n  word.\n1. {more}\n");
        assert_eq!(places(&text), ["docs/a.md:2", "docs/a.md:5", "docs/a.md:7"]);
        let table = format!("| {most} | {most} |\n|---|---|\n| word | {more} |\n");
        assert_eq!(places(&table), ["docs/a.md:3"]);
    }

    #[test]
    fn code_is_a_word_or_nothing_and_a_link_is_its_text() {
        let many = words(40);
        let code = format!("{} `{many}` word\n\n```\n{many}\n```\n\n    {many}\n", words(28));
        let comment = format!("<!-- {many} -->\n<!--\n{many}\n-->\n{}\n", words(30));
        let link = format!("{} [word](a.md#{})\n", words(29), many.replace(' ', "-"));
        let of_two_lines = format!("{} [word\nword](a.md)\n", words(29));
        assert_eq!(places(&code), [""; 0]);
        assert_eq!(places(&comment), [""; 0]);
        assert_eq!(places(&link), [""; 0]);
        assert_eq!(places(&of_two_lines), ["docs/a.md:1"]);
    }

    #[test]
    fn pages_of_people_count_and_no_others() {
        let more = words(31);
        let pages = ["README.md", "docs/x/b.md", "CHANGELOG.md", "results/README.md", "docs/a.txt"];
        let tree = Tree::of(&pages.map(|page| (page, more.as_str())));
        let found: Vec<_> = sentences(&tree).into_iter().map(|finding| finding.place).collect();
        assert_eq!(found, ["README.md:1", "docs/x/b.md:1"]);
    }
}
