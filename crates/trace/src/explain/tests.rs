//! Chains of timelines made by hand, and of any timeline.
