//! Where the exchanges of each method and of each name stand in a trace.

use std::collections::HashMap;

use serde_json::Value;

use crate::wire::trace::{Exchange, Form, Trace};

/// The exchanges that count as evidence, by what checks look them up by; each list in the order of
/// the trace.
pub(super) struct Index<'a> {
    by_method: HashMap<&'a str, Vec<&'a Exchange>>,
    by_name: HashMap<&'a str, Vec<&'a Exchange>>,
    walks: HashMap<&'a str, Vec<Vec<&'a Exchange>>>,
    /// The results by the frames that answer; nearly every check asks for those.
    results: Vec<Option<&'a Value>>,
}

impl<'a> Index<'a> {
    pub fn new(trace: &'a Trace) -> Self {
        let mut index = Self {
            by_method: HashMap::new(),
            by_name: HashMap::new(),
            walks: HashMap::new(),
            results: vec![None; trace.frames.len()],
        };
        for exchange in &trace.exchanges {
            if let Some(frame) = exchange.answer {
                index.results[frame] = trace.result(exchange);
            }
        }
        for exchange in trace.evidence() {
            if let Some(name) = exchange.name.as_deref() {
                index.by_name.entry(name).or_default().push(exchange);
            }
            if exchange.form == Form::Request {
                let calls = index.by_method.entry(&exchange.method).or_default();
                calls.push(exchange);
            }
        }
        for (method, calls) in &index.by_method {
            index.walks.insert(method, walks(calls));
        }
        index
    }

    pub fn calls(&self, method: &str) -> &[&'a Exchange] {
        self.by_method.get(method).map_or(&[], Vec::as_slice)
    }

    pub fn named(&self, name: &str) -> &[&'a Exchange] {
        self.by_name.get(name).map_or(&[], Vec::as_slice)
    }

    pub fn result(&self, frame: usize) -> Option<&'a Value> {
        self.results[frame]
    }

    pub fn walks(&self, method: &str) -> &[Vec<&'a Exchange>] {
        self.walks.get(method).map_or(&[], Vec::as_slice)
    }
}

/// The calls of one method as walks over pages, in order of their first pages.
fn walks<'a>(calls: &[&'a Exchange]) -> Vec<Vec<&'a Exchange>> {
    // One step may walk many directories; each is a walk of its own.
    let mut walks: Vec<Vec<&Exchange>> = Vec::new();
    let mut index: HashMap<(usize, Option<&str>), usize> = HashMap::new();
    for exchange in calls {
        let Some(page) = exchange.page else { continue };
        let slot = *index.entry((page.walk, exchange.uri())).or_insert_with(|| {
            walks.push(Vec::new());
            walks.len() - 1
        });
        walks[slot].push(exchange);
    }
    walks
}
