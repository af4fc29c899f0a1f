//! All damage that a verb has met, each once.

use baro_store::{Damage, Store};

/// What was met before there was anything to read, and what reading met.
pub(super) fn all(store: &Store, met: &[Damage]) -> Vec<Damage> {
    let mut all = store.damage_so_far();
    for damage in met {
        if !all.contains(damage) {
            all.push(damage.clone());
        }
    }
    all
}

/// The same in sentences, for JSON.
pub(super) fn told(store: &Store, met: &[Damage]) -> Vec<String> {
    all(store, met).iter().map(ToString::to_string).collect()
}
