//! Fuzzing of live targets: generated cases are played, wrong answers are found, shrunk, told
//! apart and saved.
//!
//! Which cases are played follows from the seed and their number alone, so that two runs with one
//! seed find the same, however many jobs they had.

pub mod candidates;
pub mod finding;
pub mod host;
pub mod saved;
pub mod server;
pub mod verifier;

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

pub use finding::Finding;

/// How much is played.
#[derive(Debug, Clone)]
pub struct Bounds {
    /// How many cases at most, over all partitions.
    pub cases: u64,
    /// How long at most.
    pub max_time: Option<Duration>,
    /// What the cases follow from.
    pub seed: u64,
    /// How many are played at the same time.
    pub jobs: usize,
    /// Which of them are played here.
    pub partition: Partition,
    /// How long the target may be silent.
    pub timeout: Duration,
    /// Set when no further case is to be played.
    pub stop: Arc<AtomicBool>,
}

/// One of several parts that a run is split into: those whose number leaves this rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Partition {
    /// 1-based number of the part.
    pub index: u64,
    /// How many parts there are.
    pub count: u64,
}

impl Default for Partition {
    fn default() -> Self {
        Self { index: 1, count: 1 }
    }
}

impl Partition {
    /// Whether what has this number belongs to the part.
    pub fn has(self, number: u64) -> bool {
        number % self.count == self.index - 1
    }
}

impl FromStr for Partition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || format!("expected I/N with 1 <= I <= N, e.g. 2/4, found `{text}`");
        let (index, count) = text.split_once('/').ok_or_else(expected)?;
        let index: u64 = index.parse().map_err(|_| expected())?;
        let count: u64 = count.parse().map_err(|_| expected())?;
        if index == 0 || index > count {
            return Err(expected());
        }
        Ok(Self { index, count })
    }
}

/// How far a run is; read by whoever shows it.
#[derive(Debug)]
pub struct Progress {
    /// Cases that were played.
    pub played: AtomicU64,
    /// Cases that were judged: those on which readings do not differ.
    pub judged: AtomicU64,
    /// Wrong answers so far, before they are told apart.
    pub wrong: AtomicU64,
    /// Wrong answers that are still to be made small, once everything was played.
    pub large: AtomicU64,
    /// When it began.
    pub begun: Instant,
}

impl Default for Progress {
    fn default() -> Self {
        Self {
            played: AtomicU64::new(0),
            judged: AtomicU64::new(0),
            wrong: AtomicU64::new(0),
            large: AtomicU64::new(0),
            begun: Instant::now(),
        }
    }
}

impl Progress {
    /// Counts one case.
    pub fn count(&self, judged: bool) {
        self.played.fetch_add(1, Ordering::Relaxed);
        self.judged.fetch_add(u64::from(judged), Ordering::Relaxed);
    }

    /// Cases so far, and how many in a second.
    pub fn rate(&self) -> (u64, f64) {
        let played = self.played.load(Ordering::Relaxed);
        let seconds = self.begun.elapsed().as_secs_f64().max(1e-6);
        (played, played as f64 / seconds)
    }
}

/// Hands out the numbers of cases, block by block, until there are enough or time is up.
#[derive(Debug)]
pub struct Numbers {
    next: AtomicU64,
    end: AtomicU64,
    until: Option<Instant>,
    stop: Arc<AtomicBool>,
    partition: Partition,
    /// Cases at which the target ended or hung, and how much of [`BREAKS`] each takes up.
    breaks: Mutex<BTreeMap<u64, usize>>,
}

/// Numbers that are handed out together.
const BLOCK: u64 = 256;
/// Times that the target may end before the run does.
const BREAKS: usize = 24;

impl Numbers {
    /// All numbers of a run.
    pub fn new(bounds: &Bounds) -> Self {
        Self {
            next: AtomicU64::new(0),
            end: AtomicU64::new(bounds.cases),
            until: bounds.max_time.map(|time| Instant::now() + time),
            stop: Arc::clone(&bounds.stop),
            partition: bounds.partition,
            breaks: Mutex::default(),
        }
    }

    /// Whether the run goes as far as this number.
    pub fn has(&self, number: u64) -> bool {
        number < self.end.load(Ordering::Acquire)
    }

    /// Takes down that the target ended or hung at a case. Starting it again takes time, so the run
    /// ends behind a few such cases: those with the lowest numbers, in whatever order they come up.
    pub fn broke(&self, number: u64, weight: usize) {
        let mut breaks = self
            .breaks
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        breaks.insert(number, weight);
        let mut sum = 0;
        let last = breaks.iter().find(|(_, weight)| {
            sum += **weight;
            sum >= BREAKS
        });
        if let Some((last, _)) = last {
            self.end.fetch_min(last + 1, Ordering::AcqRel);
        }
    }

    /// The number of the case behind which the run ended early, if it did.
    pub fn stopped_at(&self) -> Option<u64> {
        let breaks = self
            .breaks
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        let last = self.end.load(Ordering::Acquire).checked_sub(1)?;
        (breaks.values().sum::<usize>() >= BREAKS).then_some(last)
    }

    /// Whether time is up, or nobody wants to go on.
    pub fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until) || self.stop.load(Ordering::Relaxed)
    }

    /// The next block; empty when none is left.
    pub fn block(&self) -> Vec<u64> {
        loop {
            if self.is_over() {
                return Vec::new();
            }
            let first = self.next.fetch_add(BLOCK, Ordering::Relaxed);
            let end = self.end.load(Ordering::Acquire);
            if first >= end {
                return Vec::new();
            }
            let block = first..end.min(first.saturating_add(BLOCK));
            let block: Vec<u64> = block.filter(|number| self.partition.has(*number)).collect();
            if !block.is_empty() {
                return block;
            }
        }
    }
}

/// How a run ended.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What was found, told apart.
    pub findings: Vec<Finding>,
    /// Why the target could not be used, if it could not.
    pub lost: Option<crate::target::TargetError>,
    /// Kinds of wrong answers that did not come again when they were to be made small.
    pub gone: usize,
    /// Kinds of wrong answers that were left out, because there are so many by the same rule.
    pub left: usize,
    /// The case behind which the run ended, because the target ended too often.
    pub last: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_cover_everything_once() {
        let parts: Vec<Partition> = ["1/3", "2/3", "3/3"]
            .iter()
            .map(|text| text.parse().unwrap())
            .collect();
        for number in 0..100 {
            assert_eq!(parts.iter().filter(|part| part.has(number)).count(), 1);
        }
        for text in ["0/3", "4/3", "1", "a/b", "1/0", ""] {
            assert!(text.parse::<Partition>().is_err(), "{text}");
        }
    }

    fn bounds(partition: Partition) -> Bounds {
        Bounds {
            cases: 1_000,
            max_time: None,
            seed: 0,
            jobs: 1,
            partition,
            timeout: Duration::from_secs(1),
            stop: Arc::default(),
        }
    }

    #[test]
    fn where_a_run_ends_early_does_not_depend_on_the_order() {
        let forth: Vec<u64> = (0..40).map(|number| number * 7).collect();
        let back: Vec<u64> = forth.iter().rev().copied().collect();
        for order in [forth, back] {
            let numbers = Numbers::new(&bounds(Partition::default()));
            assert_eq!(numbers.stopped_at(), None);
            for number in order {
                numbers.broke(number, 1);
            }
            assert_eq!(numbers.stopped_at(), Some(23 * 7));
            assert!(numbers.has(23 * 7) && !numbers.has(23 * 7 + 1));
        }
    }

    #[test]
    fn every_number_is_handed_out_once() {
        let numbers = Numbers::new(&bounds(Partition { index: 2, count: 3 }));
        let mut all = Vec::new();
        loop {
            let block = numbers.block();
            if block.is_empty() {
                break;
            }
            all.extend(block);
        }
        let expected: Vec<u64> = (0..1_000).filter(|number| number % 3 == 1).collect();
        assert_eq!(all, expected);
    }
}
