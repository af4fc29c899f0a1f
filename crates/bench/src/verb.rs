//! Parts of verbs that `baro bench` and `baro-lab` have in common: a measurement in a file and its
//! study, the papers' loads, a recorder of events beside a measurement, a store that goes again.

pub mod experiment;
pub mod load;
pub mod new_store;
pub mod recording;
