//! Wrong answers, sorted before they are made small: a few of each kind are enough.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Numbers of cases by kind; of each kind those that come first, whatever order they are added in.
#[derive(Debug, Default)]
pub struct Candidates {
    kinds: Mutex<BTreeMap<String, BTreeSet<u64>>>,
}

impl Candidates {
    /// Adds a case; `keep` says how many of its kind are worth a closer look.
    pub fn add(&self, kind: String, number: u64, keep: usize) {
        let mut kinds = self
            .kinds
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let numbers = kinds.entry(kind).or_default();
        numbers.insert(number);
        while numbers.len() > keep {
            numbers.pop_last();
        }
    }

    /// What was kept: kind and number, in order.
    pub fn take(&self) -> Vec<(String, u64)> {
        let mut kinds = self
            .kinds
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        std::mem::take(&mut *kinds)
            .into_iter()
            .flat_map(|(kind, numbers)| {
                numbers
                    .into_iter()
                    .map(move |number| (kind.clone(), number))
            })
            .collect()
    }
}
