//! Counts of passed, failed and skipped checks, read from what `cargo test` prints.
//!
//! A test that cannot run here prints `skipped: why` and returns, so libtest counts it as passed.
//! Here it is counted as what it is: no skip is silent, and each reason is listed once.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const SKIP: &str = "skipped: ";

/// What came out of one or more steps.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Report {
    passed: usize,
    failed: usize,
    skipped: usize,
    /// Names of the checks skipped, by reason; tests of several crates may share a name.
    skips: BTreeMap<String, BTreeSet<String>>,
}

impl Report {
    pub(crate) fn pass(&mut self) {
        self.passed += 1;
    }

    pub(crate) fn skip(&mut self, name: &str, why: &str) {
        self.skipped += 1;
        self.reason(name, why);
    }

    /// A reason of a check that is counted already.
    fn reason(&mut self, name: &str, why: &str) {
        self.skips.entry(why.to_owned()).or_default().insert(name.to_owned());
    }

    pub(crate) fn passed(&self) -> usize {
        self.passed
    }

    /// All checks, however they ended.
    pub(crate) fn total(&self) -> usize {
        self.passed + self.failed + self.skipped
    }

    pub(crate) fn add(&mut self, other: Report) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        for (why, names) in other.skips {
            self.skips.entry(why).or_default().extend(names);
        }
    }

    pub(crate) fn counts(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }

    pub(crate) fn print_skips(&self) {
        for (why, names) in &self.skips {
            let first = names.first().map_or("", String::as_str);
            match names.len() {
                1 => println!("skipped: {why} ({first})"),
                n => println!("skipped: {why} ({n} tests, first {first})"),
            }
        }
    }
}

/// Reads the output of `cargo test -- --show-output` line by line.
#[derive(Debug, Default)]
pub(crate) struct Parser {
    report: Report,
    /// The test whose captured output is being read.
    inside: Option<String>,
    /// Tests of this binary with a skip line; libtest counts them as passed.
    skipped_here: BTreeSet<String>,
    failed_names: Vec<String>,
    /// Everything since the last `running N tests`, shown if the binary fails.
    output: String,
    binaries: usize,
    /// Of the last program.
    filtered_out: usize,
}

impl Parser {
    pub(crate) fn line(&mut self, line: &str) {
        if line.starts_with("running ") && (line.ends_with(" tests") || line.ends_with(" test")) {
            self.output.clear();
            self.skipped_here.clear();
            self.inside = None;
            self.binaries += 1;
        }
        let _ = writeln!(self.output, "{line}");
        if let Some(name) = line.strip_prefix("---- ").and_then(|l| l.strip_suffix(" ----")) {
            self.inside = Some(name.strip_suffix(" stdout").unwrap_or(name).to_owned());
        } else if matches!(line, "successes:" | "failures:") {
            // The list of names follows the captured output under the same heading.
            self.inside = None;
        } else if let Some(why) = line.strip_prefix(SKIP) {
            self.skip(why.trim());
        } else if let Some(rest) = line.strip_prefix("test result: ") {
            self.result(rest);
        } else if let Some(rest) = line.strip_prefix("test ") {
            self.verdict(rest);
        }
    }

    /// A skip outside of a test's output was written by a program that libtest does not capture;
    /// it counts as one more check, not as one of the passed.
    fn skip(&mut self, why: &str) {
        let name = self.inside.clone().unwrap_or_else(|| format!("test program {}", self.binaries));
        if self.inside.is_some() && !self.skipped_here.insert(name.clone()) {
            self.report.reason(&name, why);
        } else {
            self.report.skip(&name, why);
        }
    }

    /// `name ... FAILED` or `name ... ignored, why`.
    fn verdict(&mut self, rest: &str) {
        let Some((name, verdict)) = rest.rsplit_once(" ... ") else { return };
        if verdict == "FAILED" {
            println!("   FAILED {name}");
            self.failed_names.push(name.to_owned());
        } else if let Some(why) = verdict.strip_prefix("ignored") {
            let why = why.trim_start_matches([',', ' ']);
            self.report.skip(name, if why.is_empty() { "marked as ignored" } else { why });
        }
    }

    /// `ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s`
    fn result(&mut self, rest: &str) {
        let count = |what: &str| {
            rest.split([';', '.'])
                .filter_map(|part| part.trim().strip_suffix(what))
                .find_map(|n| n.trim().parse::<usize>().ok())
                .unwrap_or(0)
        };
        self.report.passed += count("passed").saturating_sub(self.skipped_here.len());
        self.report.failed += count("failed");
        // The program's own line is the last; a child that is the same program prints one too.
        self.filtered_out = count("filtered out");
        self.skipped_here.clear();
        self.inside = None;
    }

    pub(crate) fn first_failed(&self) -> Option<&str> {
        self.failed_names.first().map(String::as_str)
    }

    /// Tests that were left out by name.
    pub(crate) fn filtered_out(&self) -> usize {
        self.filtered_out
    }

    pub(crate) fn output_of_last_binary(&self) -> &str {
        &self.output
    }

    pub(crate) fn finish(self) -> Report {
        self.report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = "
running 3 tests
test log::recovers ... ok
test loop_ext4 ... ok
test slow ... ignored, needs a week

successes:

---- loop_ext4 stdout ----
skipped: no loop devices here
detail
skipped: no loop devices here

successes:
    log::recovers
    loop_ext4

test result: ok. 2 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.01s

running 1 test
test other_loop ... ok
successes:
---- other_loop stdout ----
skipped: no loop devices here
test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
";

    fn parsed(output: &str) -> Parser {
        let mut parser = Parser::default();
        output.lines().for_each(|line| parser.line(line));
        parser
    }

    #[test]
    fn a_skipped_test_is_not_counted_as_passed() {
        let report = parsed(OUTPUT).finish();
        assert_eq!(report.counts(), "1 passed, 0 failed, 3 skipped");
        let names: Vec<_> = report.skips["no loop devices here"].iter().collect();
        assert_eq!(names, ["loop_ext4", "other_loop"]);
        assert!(report.skips.contains_key("needs a week"));
    }

    #[test]
    fn the_failing_binary_is_shown_alone() {
        let failing = "running 1 test\ntest a::b ... FAILED\nfailures:\n---- a::b stdout ----\n\
            left != right\ntest result: FAILED. 0 passed; 1 failed; 0 ignored";
        let parser = parsed(&format!("{OUTPUT}\n{failing}"));
        assert_eq!(parser.first_failed(), Some("a::b"));
        assert_eq!(parser.output_of_last_binary(), format!("{failing}\n"));
        assert_eq!(parser.finish().counts(), "1 passed, 1 failed, 3 skipped");
    }

    #[test]
    fn a_skip_outside_any_test_is_still_counted() {
        let report = parsed("running 0 tests\nskipped: no perf events\n").finish();
        assert_eq!(report.counts(), "0 passed, 0 failed, 1 skipped");
    }

    #[test]
    fn reports_add_up() {
        let mut total = Report::default();
        total.pass();
        total.skip("x", "no loop devices here");
        total.add(parsed(OUTPUT).finish());
        assert_eq!(total.counts(), "2 passed, 0 failed, 4 skipped");
    }
}
