//! Things put in order by two numbers. One sort for all of them: each kind of thing that is sorted by itself adds
//! five to ten kilobytes, and boards have little room for programs.

/// The same, by rising key; what has the same key stays in its order.
#[must_use]
pub fn sorted_by<T>(items: Vec<T>, key: impl Fn(&T) -> (u64, u64)) -> Vec<T> {
    let mut order: Vec<(u64, u64, usize)> = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let (first, second) = key(item);
        order.push((first, second, at));
    }
    order.sort_unstable();
    let mut left: Vec<Option<T>> = items.into_iter().map(Some).collect();
    order.iter().filter_map(|(_, _, at)| left.get_mut(*at)?.take()).collect()
}

#[cfg(test)]
mod tests {
    use super::sorted_by;

    #[test]
    fn what_has_the_same_key_stays_in_its_order() {
        let sorted =
            sorted_by(vec![(2, 'a'), (1, 'b'), (2, 'c'), (0, 'd'), (1, 'e')], |(key, _)| (*key, 0));
        assert_eq!(sorted, [(0, 'd'), (1, 'b'), (1, 'e'), (2, 'a'), (2, 'c')]);
    }
}
