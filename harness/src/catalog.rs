//! What a trace says of the server and its catalog as a whole, for the head of a report.

use std::collections::HashSet;

use serde_json::Value;

use crate::checks::evidence::Evidence;
use crate::event::Catalog;
use crate::wire::content::Body;
use crate::wire::trace::Trace;

/// Name and version that the server gives itself; null when it gives none.
pub fn server_info(trace: &Trace) -> Value {
    let Some((_, declaration)) = trace.declaration() else {
        return Value::Null;
    };
    declaration
        .pointer("/_meta/io.modelcontextprotocol~1serverInfo")
        .or_else(|| declaration.get("serverInfo"))
        .cloned()
        .unwrap_or(Value::Null)
}

/// Counts over the first walk of the listing and over everything that was read.
pub fn of(evidence: &Evidence<'_>) -> Catalog {
    let listed = evidence.listing();
    let files: HashSet<&str> = listed
        .iter()
        .flat_map(|entry| entry.items())
        .filter_map(|item| item.uri())
        .collect();
    let mut seen = HashSet::new();
    let bytes = evidence
        .calls("resources/read")
        .filter(|exchange| seen.insert(exchange.uri()))
        .flat_map(|exchange| evidence.contents(exchange))
        .map(|content| match content.body {
            Body::Bytes { len, .. } => len,
            Body::Unreadable(_) => 0,
        })
        .sum();
    Catalog {
        skills: listed.len(),
        files: files.len(),
        bytes,
        sampled: evidence.sampled,
    }
}
