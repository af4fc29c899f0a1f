//! Names of series, taken apart once for each.

use crate::error::Result;
use baro_ondisk::NameParser;
use baro_store::Store;
use std::collections::HashMap;
use std::rc::Rc;

/// Names that are held at once; one takes a few hundred bytes.
const HELD_MAX: usize = 1 << 16;

/// What a table tells of a series.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Name {
    /// The name as the store has it.
    pub(crate) series: String,
    /// The same without labels.
    pub(crate) metric: String,
    /// Labels, by rising name.
    pub(crate) labels: Vec<(String, String)>,
    /// Unit of the values; may be empty.
    pub(crate) unit: String,
}

impl Name {
    fn new(parser: &mut NameParser, series: String, unit: String) -> Self {
        parser.parse(&series);
        let labels = (0..parser.len()).filter_map(|at| parser.label_at(&series, at));
        let labels =
            labels.map(|(label, value)| (label.into_owned(), value.into_owned())).collect();
        let metric = parser.metric(&series).into_owned();
        Name { series, metric, labels, unit }
    }
}

/// Names of a store's series.
#[derive(Debug, Default)]
pub(crate) struct Names {
    known: HashMap<u32, Rc<Name>>,
    parser: NameParser,
}

impl Names {
    /// That of an id. What was recorded without a declaration has its id for a name.
    pub(crate) fn get(&mut self, store: &Store, id: u32) -> Result<Rc<Name>> {
        if let Some(name) = self.known.get(&id) {
            return Ok(Rc::clone(name));
        }
        let declared = store.catalog().get(id)?;
        let (series, unit) =
            declared.map_or((format!("#{id}"), String::new()), |found| (found.name, found.unit));
        let name = Rc::new(Name::new(&mut self.parser, series, unit));
        if self.known.len() >= HELD_MAX {
            self.known.clear();
        }
        self.known.insert(id, Rc::clone(&name));
        Ok(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_taken_apart_and_one_without_labels_is_its_metric() {
        let name = |series: &str| Name::new(&mut NameParser::new(), series.into(), "C".into());
        let found = name(r#"temp{site="a,b",line="3"}"#);
        assert_eq!(found.metric, "temp");
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found.labels, [label("line", "3"), label("site", "a,b")]);
        assert_eq!((name("plain one").metric.as_str(), name("x").labels.len()), ("plain one", 0));
    }
}
