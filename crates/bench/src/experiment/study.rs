//! What follows from measurements: the paper's tables beside the measured ones, figures, claims.
//!
//! A claim is judged from the record alone. One that cannot be judged says why; a refuted one is a
//! result like any other.

use super::{Machine, html, text};
use serde::Serialize;

/// A paper's experiment, repeated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Study {
    /// The heading.
    pub title: String,
    /// The paper: authors' venue and year, and its subject.
    pub paper: String,
    /// What was measured where; of several measurements the first one's.
    pub machine: Machine,
    /// In the paper's order, then ours.
    pub tables: Vec<Table>,
    /// In the paper's order, then ours.
    pub figures: Vec<Figure>,
    /// Each claim of the paper.
    pub claims: Vec<Claim>,
    /// What a reader must know: what was left out and why.
    pub notes: Vec<String>,
    /// What was measured as plain objects, for programs; nothing where the tables are all there is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rows: Vec<serde_json::Value>,
}

/// A table of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table {
    /// As the paper has it: `Table 1`.
    pub id: String,
    /// What is in it, with units.
    pub caption: String,
    /// Name of the first column.
    pub first: String,
    /// The others.
    pub columns: Vec<Column>,
    /// In their order.
    pub rows: Vec<Row>,
}

/// A column of numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
    /// With its unit: `max us`.
    pub name: String,
    /// Digits behind the point.
    pub digits: usize,
}

impl Column {
    /// A column.
    #[must_use]
    pub fn new(name: impl Into<String>, digits: usize) -> Self {
        Self { name: name.into(), digits }
    }
}

/// A row of a table.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// One for each column.
    pub cells: Vec<Pair>,
    /// Why it is not measured here.
    pub missing: Option<String>,
}

/// The paper's number and ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Pair {
    /// Printed in the paper.
    pub paper: Option<f64>,
    /// Measured.
    pub here: Option<f64>,
}

impl Pair {
    /// Both.
    #[must_use]
    pub fn new(paper: Option<f64>, here: Option<f64>) -> Self {
        Self { paper, here }
    }

    /// One that the paper does not have.
    #[must_use]
    pub fn here(here: Option<f64>) -> Self {
        Self { paper: None, here }
    }
}

/// A picture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Figure {
    /// As the paper has it: `Figure 4`.
    pub id: String,
    /// What it shows.
    pub caption: String,
    /// The picture, without references to anything outside.
    pub svg: String,
}

/// Whether a claim is true here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It is.
    Holds,
    /// It is not.
    DoesNotHold,
    /// This machine or this run cannot tell.
    CannotBeJudged,
    /// The model of the device decides it, whatever is measured.
    ModelCannotShow,
}

impl Verdict {
    /// As a reader reads it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::DoesNotHold => "does not hold here",
            Verdict::CannotBeJudged => "cannot be judged here",
            Verdict::ModelCannotShow => "this model cannot show it",
        }
    }
}

/// What the paper says, and what is so here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Claim {
    /// Short and unique: `flusher-off`.
    pub id: String,
    /// In our words.
    pub says: String,
    /// Where the paper says it: `section 4.3`.
    pub source: String,
    /// The paper's figures for it.
    pub paper: String,
    /// The figures from here; empty if there are none.
    pub here: String,
    /// The judgement.
    pub verdict: Verdict,
    /// By which rule, or why none was possible.
    pub why: String,
}

impl Claim {
    /// A claim, not judged yet.
    #[must_use]
    pub fn new(id: &str, source: &str, says: &str, paper: impl Into<String>) -> Self {
        Self {
            id: id.to_owned(),
            says: says.to_owned(),
            source: source.to_owned(),
            paper: paper.into(),
            here: String::new(),
            verdict: Verdict::CannotBeJudged,
            why: String::new(),
        }
    }

    /// Judged by `rule` from figures; `None` if one is missing, which `missing` explains.
    #[must_use]
    pub fn judged(mut self, here: Option<(bool, String)>, rule: &str, missing: &str) -> Self {
        match here {
            Some((holds, figures)) => {
                self.verdict = if holds { Verdict::Holds } else { Verdict::DoesNotHold };
                self.here = figures;
                self.why = rule.to_owned();
            }
            None => self.why = missing.to_owned(),
        }
        self
    }

    /// Figures that are shown and judge nothing, and why.
    #[must_use]
    pub fn open(mut self, figures: impl Into<String>, why: &str) -> Self {
        (self.verdict, self.here) = (Verdict::CannotBeJudged, figures.into());
        why.clone_into(&mut self.why);
        self
    }

    /// Figures that the model of the device has made, and what in it.
    #[must_use]
    pub fn beyond_the_model(self, figures: impl Into<String>, why: &str) -> Self {
        Self { verdict: Verdict::ModelCannotShow, ..self.open(figures, why) }
    }
}

impl Study {
    /// For a terminal: tables, claims, notes.
    #[must_use]
    pub fn text(&self) -> String {
        text::render(self)
    }

    /// One HTML file with everything, without scripts or references to anything outside.
    #[must_use]
    pub fn html(&self) -> String {
        html::render(self)
    }
}
