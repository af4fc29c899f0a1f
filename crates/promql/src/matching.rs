//! Which series of two vectors go together.

use crate::labels::Labels;
use promql_parser::parser::{BinModifier, LabelModifier, VectorMatchCardinality};

/// How the sides of an operator find each other.
#[derive(Clone, Debug)]
pub(crate) struct Matching {
    /// `on` these labels; else by all but these.
    on: bool,
    names: Vec<String>,
    /// `None`: one to one.
    pub(crate) many: Option<Many>,
}

/// One side may have several for one of the other.
#[derive(Clone, Debug)]
pub(crate) struct Many {
    /// The many are on the right.
    pub(crate) right: bool,
    /// Labels that the many get from the one.
    include: Vec<String>,
}

impl Matching {
    pub(crate) fn of(modifier: Option<&BinModifier>) -> Self {
        let (on, names) = match modifier.and_then(|modifier| modifier.matching.as_ref()) {
            Some(LabelModifier::Include(labels)) => (true, labels.labels.clone()),
            Some(LabelModifier::Exclude(labels)) => (false, labels.labels.clone()),
            None => (false, Vec::new()),
        };
        let many = match modifier.map(|modifier| &modifier.card) {
            Some(VectorMatchCardinality::ManyToOne(include)) => {
                Some(Many { right: false, include: include.labels.clone() })
            }
            Some(VectorMatchCardinality::OneToMany(include)) => {
                Some(Many { right: true, include: include.labels.clone() })
            }
            _ => None,
        };
        Matching { on, names, many }
    }

    /// What two series that go together have in common.
    pub(crate) fn signature(&self, labels: &Labels) -> Labels {
        match self.on {
            true => labels.only(&self.names),
            false => labels.without(&self.names),
        }
    }

    /// Labels of a result of `left` and `right`; `keeps_name`: it is a value of the left one.
    pub(crate) fn result(&self, many: &Labels, one: &Labels, keeps_name: bool) -> Labels {
        let mut labels = if keeps_name { many.clone() } else { many.without_name() };
        match &self.many {
            None if self.on => labels.only(&self.names),
            None => labels.minus(&self.names),
            Some(Many { include, .. }) => {
                for name in include {
                    labels.set(name, one.get(name).to_owned());
                }
                labels
            }
        }
    }
}
