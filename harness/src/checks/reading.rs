//! `resources/read` of skill files. Section "Reading Skill Content".

use std::borrow::Cow;
use std::cell::LazyCell;
use std::collections::{BTreeSet, HashSet};

use serde_json::Value;

use super::entries::{Entry, Item, describe};
use super::evidence::Evidence;
use super::result::asks_for_input;
use super::retrieval::unlisted;
use super::{Check, conversation};
use crate::model::uri;
use crate::verdict::Judgement;
use crate::wire::content::Body;
use crate::wire::jsonrpc::{HEADER_MISMATCH, INVALID_PARAMS, RESOURCE_NOT_FOUND};
use crate::wire::trace::{Exchange, Outcome};
use crate::wire::{Revision, Transport};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server("sep-2640-skillmd-required", skillmd_required),
    Check::server("sep-2640-resources-readable", resources_readable),
    Check::server("sep-2640-read-no-empty-contents", no_empty_contents),
    Check::server("sep-2640-read-content-for-uri", content_for_uri),
    Check::server("sep-2640-read-single-content", single_content),
    Check::server("sep-2640-read-content-wellformed", content_wellformed),
    Check::server(UNKNOWN, unknown_file).after(&[
        "sep-2640-read-no-empty-contents",
        "sep-2640-error-wellformed",
    ]),
    Check::server("sep-2640-read-hostile-uri", hostile_uri).after(&[UNKNOWN]),
    Check::server("sep-2640-read-malformed-params", malformed_params)
        .after(&["sep-2640-error-wellformed"]),
    Check::server("sep-2640-read-traversal", traversal),
    Check::server("sep-2640-read-encoded-separator", encoded_separator),
    Check::server("sep-2640-file-mimetype", file_mimetype),
];

const UNKNOWN: &str = "sep-2640-read-unknown-file-invalid-params";
/// The name of the exchanges that read what entries name.
const READ_FILE: &str = "read-file";

/// Whether this reads what entries name, also where that is the first thing on a connection.
fn is_of_file(exchange: &Exchange) -> bool {
    matches!(
        exchange.name.as_deref(),
        Some(READ_FILE | "first-on-connection")
    )
}

/// URIs of skills and of their files. Of what was ever listed, only what the last walk still lists
/// needs to be there.
fn still_served<'a>(trace: &'a Evidence<'_>) -> (HashSet<&'a str>, HashSet<&'a str>) {
    let last = trace.listings().last().map_or(&[][..], Vec::as_slice);
    let served: Vec<&Entry<'_>> = last.iter().chain(unlisted(trace)).collect();
    let skills: HashSet<&str> = served.iter().filter_map(|entry| entry.uri()).collect();
    let files = served
        .iter()
        .flat_map(|entry| entry.items())
        .filter_map(|item| item.uri())
        .collect();
    (skills, files)
}

/// Every SKILL.md that an entry names reads back.
fn skillmd_required(trace: &Evidence<'_>) -> Judgement {
    let (skills, _) = still_served(trace);
    reads_back(trace, |uri| skills.contains(uri))
}

/// Every other file of the manifests reads back.
fn resources_readable(trace: &Evidence<'_>) -> Judgement {
    let (skills, files) = still_served(trace);
    reads_back(trace, |uri| files.contains(uri) && !skills.contains(uri))
}

fn reads_back(trace: &Evidence<'_>, concerns: impl Fn(&str) -> bool) -> Judgement {
    let mut judgement = Judgement::new();
    for exchange in trace.named(READ_FILE) {
        let Some(uri) = exchange.uri().filter(|uri| concerns(uri)) else {
            continue;
        };
        match trace.outcome(exchange) {
            // A server may ask for input first: what it would then say is not known.
            Outcome::Result(result) if asks_for_input(trace, result) => {}
            Outcome::Result(_) => judgement.holds(),
            other => judgement.violated(
                trace.place(exchange),
                uri,
                "the file, since an entry names it",
                other.words(),
            ),
        }
    }
    judgement
}

/// Results of reads; a read may ask for input instead.
fn results<'a>(trace: &'a Evidence<'_>) -> impl Iterator<Item = (&'a Exchange, &'a Value)> {
    trace
        .calls("resources/read")
        .filter_map(|exchange| Some((exchange, trace.result(exchange)?)))
        .filter(|(_, result)| !asks_for_input(trace, result))
}

fn contents(result: &Value) -> Option<&Vec<Value>> {
    result.get("contents").and_then(Value::as_array)
}

/// No result is empty.
fn no_empty_contents(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, result) in results(trace) {
        match contents(result) {
            Some(items) if items.is_empty() => judgement.violated(
                trace.place_at(exchange, "/result/contents"),
                exchange.subject(),
                "the file, or an error where there is none",
                "an empty `contents` array",
            ),
            _ => judgement.holds(),
        }
    }
    judgement
}

/// An item carries the URI that was asked for.
fn content_for_uri(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, result) in results(trace).filter(|(exchange, _)| is_of_file(exchange)) {
        let (Some(items), Some(asked)) = (contents(result), exchange.uri()) else {
            continue;
        };
        let uris: Vec<&str> = items
            .iter()
            .filter_map(|item| item.get("uri")?.as_str())
            .collect();
        let named = &*exchange.scenario == "server/named-skills";
        if uris
            .iter()
            .any(|uri| *uri == asked || named && uri::equivalent(uri, asked))
        {
            judgement.holds();
        } else if !items.is_empty() {
            judgement.violated(
                trace.place_at(exchange, "/result/contents/0/uri"),
                asked,
                asked,
                if uris.is_empty() {
                    "no `uri`".to_owned()
                } else {
                    uris.join(", ")
                },
            );
        }
    }
    judgement
}

/// A file is one item.
fn single_content(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, result) in results(trace).filter(|(exchange, _)| is_of_file(exchange)) {
        match contents(result).map(Vec::len) {
            Some(1) => judgement.holds(),
            Some(count) if count > 1 => judgement.violated(
                trace.place_at(exchange, "/result/contents"),
                exchange.subject(),
                "one item",
                format!("{count} items"),
            ),
            _ => {}
        }
    }
    judgement
}

/// An item has `text`, or `blob` in base64.
fn content_wellformed(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, result) in results(trace) {
        if contents(result).is_none() {
            judgement.violated(
                trace.place_at(exchange, "/result"),
                exchange.subject(),
                "a `contents` array",
                describe(result.get("contents")),
            );
        }
        for (index, content) in trace.contents(exchange).iter().enumerate() {
            match &content.body {
                Body::Bytes { .. } => judgement.holds(),
                Body::Unreadable(why) => judgement.violated(
                    trace.place_at(exchange, &format!("/result/contents/{index}")),
                    exchange.subject(),
                    "`text` as a string, or `blob` as base64",
                    why,
                ),
            }
        }
    }
    judgement
}

/// A file that is not served is an error.
fn unknown_file(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let legacy = trace.revision == Revision::Legacy;
    let generated: BTreeSet<&str> = trace
        .named("absent-skill")
        .filter(|exchange| trace.result(exchange).is_some())
        .filter_map(Exchange::uri)
        .collect();
    for exchange in trace.named("unknown-file").chain(trace.named("traversal")) {
        if trace.result(exchange).is_some() && exchange.name.as_deref() == Some("traversal") {
            continue;
        }
        // Where skills are generated on demand, this one may be served.
        if exchange.uri().is_some_and(|uri| generated.contains(uri)) {
            continue;
        }
        match trace.error_code(exchange) {
            Some(INVALID_PARAMS) => judgement.holds(),
            Some(RESOURCE_NOT_FOUND) if legacy => judgement.holds(),
            code => {
                let expected = not_found(trace);
                judgement.violated(
                    trace.place(exchange),
                    exchange.subject(),
                    expected,
                    trace.outcome(exchange).words(),
                );
                if let Some(code) = code {
                    judgement.because(other_code(code));
                }
            }
        }
    }
    judgement
}

/// The error for a URI that names nothing.
fn not_found(trace: &Evidence<'_>) -> &'static str {
    match trace.revision {
        Revision::Legacy => "error -32602 or -32002",
        Revision::Modern => "error -32602",
    }
}

/// A server that has one wrong error for all URIs that name nothing has one fault.
fn other_code(code: i64) -> String {
    format!("resources/read: error {code} in place of -32602")
}

/// A URI that is no good is refused like any other that names nothing.
fn hostile_uri(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    // That the server went away is judged by `sep-2640-alive-after-malformed`.
    let answered = |exchange: &&Exchange| exchange.alive_after != Some(false);
    for exchange in trace.named("read-hostile").filter(answered) {
        match trace.outcome(exchange) {
            Outcome::Error(error) if error.code == Some(INVALID_PARAMS) => judgement.holds(),
            Outcome::Error(error)
                if error.code == Some(RESOURCE_NOT_FOUND) && trace.revision == Revision::Legacy =>
            {
                judgement.holds();
            }
            // The URI stands in a header as well, which HTTP itself may turn away.
            Outcome::NoRpc(Some(400..=499)) => judgement.holds(),
            Outcome::Lost if trace.transport == Transport::Http => {}
            other => {
                judgement.violated(
                    trace.place(exchange),
                    exchange.subject(),
                    not_found(trace),
                    other.words(),
                );
                if let Some(code) = trace.error_code(exchange) {
                    judgement.because(other_code(code));
                }
            }
        }
    }
    judgement
}

/// A missing or mistyped `uri` is an error of the parameters.
fn malformed_params(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    // Without a string there is no Mcp-Name header to send, which HTTP servers refuse first.
    let headers = trace.transport == Transport::Http;
    for exchange in trace.named("read-malformed") {
        match trace.error_code(exchange) {
            _ if conversation::refuses_params(trace, exchange) => judgement.holds(),
            Some(HEADER_MISMATCH) if headers => {}
            _ => judgement.violated(
                trace.place(exchange),
                exchange.subject(),
                "error -32602",
                trace.outcome(exchange).words(),
            ),
        }
    }
    judgement
}

/// Climbing out of a skill leads nowhere.
fn traversal(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    // Bytes that are served anyway are not from outside, whatever way led to them.
    let known = LazyCell::new(|| -> HashSet<Cow<'_, str>> {
        let items = trace.entries().iter().flat_map(Entry::items);
        let named = items.filter_map(Item::digest).map(Cow::Borrowed);
        let read = trace
            .named(READ_FILE)
            .flat_map(|exchange| trace.contents(exchange))
            .filter_map(|content| content.digest());
        named.chain(read.map(Cow::Owned)).collect()
    });
    for exchange in trace.named("traversal") {
        let foreign = trace
            .contents(exchange)
            .iter()
            .filter_map(|content| content.digest())
            .find(|digest| !known.contains(digest.as_str()));
        match foreign {
            None => judgement.holds(),
            Some(digest) => judgement.violated(
                trace.place_at(exchange, "/result/contents"),
                exchange.subject(),
                "an error, or a file that the server lists",
                format!("content that no entry names ({digest})"),
            ),
        }
    }
    judgement
}

/// A percent-encoded slash does not part a skill from its file: who holds an entry against a URI as
/// it is written would take the file for one that no entry names.
fn encoded_separator(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    // A URI that did not end in /SKILL.md has nothing encoded.
    let encoded = |exchange: &&Exchange| {
        exchange
            .uri()
            .is_some_and(|uri| uri.ends_with("%2FSKILL.md"))
    };
    for exchange in trace.named("read-encoded-separator").filter(encoded) {
        if trace.contents(exchange).is_empty() {
            judgement.holds();
        } else {
            judgement.violated(
                trace.place_at(exchange, "/result/contents"),
                exchange.subject(),
                "error -32602, since %2F is data and no separator",
                "content",
            );
        }
    }
    judgement
}

/// What is not text is not announced as text.
fn file_mimetype(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, result) in results(trace).filter(|(exchange, _)| is_of_file(exchange)) {
        let items = contents(result).into_iter().flatten();
        for (index, (item, content)) in items.zip(trace.contents(exchange)).enumerate() {
            let Some(mime) = item.get("mimeType").and_then(Value::as_str) else {
                continue;
            };
            match content.body {
                // Text in another charset than UTF-8 is text, although its type ought to say which.
                Body::Bytes { utf8: false, .. }
                    if content.binary && mime.starts_with("text/") && !mime.contains("charset") =>
                {
                    judgement.violated(
                        trace.place_at(exchange, &format!("/result/contents/{index}/mimeType")),
                        exchange.subject(),
                        "a type that fits bytes which are no text",
                        mime,
                    );
                }
                Body::Bytes { .. } => judgement.holds(),
                Body::Unreadable(_) => {}
            }
        }
    }
    judgement
}
