//! Wrong answers, sorted before they are made small: a few of each kind are enough, and a few
//! kinds of each rule.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Kinds of wrong answers by one rule that are made small. Whoever does not keep a rule at all is
/// wrong in all its kinds, and nobody reads them.
const KINDS: usize = 8;

/// What tells a kind of wrong answer from others: the rule that is broken, and how.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// The rule.
    pub rule: String,
    /// What was done.
    pub about: String,
}

/// Numbers of cases by kind; of each kind those that come first, whatever order they are added in.
#[derive(Debug, Default)]
pub struct Candidates {
    kinds: Mutex<BTreeMap<Kind, BTreeSet<u64>>>,
}

/// What is made small.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Chosen {
    /// Rule and number.
    pub cases: Vec<(String, u64)>,
    /// How many kinds were left out.
    pub left: usize,
}

impl Candidates {
    /// Adds a case; `keep` says how many of its kind are worth a closer look.
    pub fn add(&self, kind: Kind, number: u64, keep: usize) {
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

    /// The kinds of each rule that came up first, of the cases for which `has` holds.
    pub fn choose(&self, has: impl Fn(u64) -> bool) -> Chosen {
        let kinds = std::mem::take(
            &mut *self
                .kinds
                .lock()
                .unwrap_or_else(|poisoned| poisoned.into_inner()),
        );
        let mut rules: BTreeMap<String, Vec<Vec<u64>>> = BTreeMap::new();
        for (kind, numbers) in kinds {
            let numbers: Vec<u64> = numbers.into_iter().filter(|number| has(*number)).collect();
            if !numbers.is_empty() {
                rules.entry(kind.rule).or_default().push(numbers);
            }
        }
        let mut chosen = Chosen::default();
        for (rule, mut kinds) in rules {
            kinds.sort();
            chosen.left += kinds.len().saturating_sub(KINDS);
            let numbers = kinds.into_iter().take(KINDS).flatten();
            chosen
                .cases
                .extend(numbers.map(|number| (rule.clone(), number)));
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_kinds_of_each_rule_are_chosen_in_any_order() {
        let kind = |rule: &str, about: u64| Kind {
            rule: rule.to_owned(),
            about: about.to_string(),
        };
        let mut added: Vec<(Kind, u64)> = (0..12).map(|n| (kind("many", n % 10), n)).collect();
        added.push((kind("one", 0), 99));
        let mut chosen = Vec::new();
        for _ in 0..2 {
            let candidates = Candidates::default();
            for (kind, number) in &added {
                candidates.add(kind.clone(), *number, 1);
            }
            chosen.push(candidates.choose(|number| number != 3));
            added.reverse();
        }
        let many = [0, 1, 2, 4, 5, 6, 7, 8].map(|number| ("many".to_owned(), number));
        let cases = [&many[..], &[("one".to_owned(), 99)]].concat();
        assert_eq!(chosen[0], Chosen { cases, left: 1 });
        assert_eq!(chosen[0], chosen[1]);
    }
}
