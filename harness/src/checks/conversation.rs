//! How the methods behave in a conversation: without a handshake's memory, without being declared
//! by the client, and beside the base protocol's own methods.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::entries::{Entry, describe};
use super::evidence::Evidence;
use super::{Check, Needs};
use crate::verdict::Judgement;
use crate::wire::frame::{Direction, Frame};
use crate::wire::json;
use crate::wire::jsonrpc::{self, Kind, METHOD_NOT_FOUND};
use crate::wire::trace::{Exchange, Form, Outcome, Place};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server(
        "sep-2640-client-declaration-not-required",
        undeclared_client,
    )
    .after(&["sep-2640-skills-list-implemented"]),
    Check::server("sep-2640-stateless-methods", stateless).after(&[
        "sep-2640-skills-get-implemented",
        "sep-2640-skills-get-answers-listed",
        "sep-2640-skillmd-required",
    ]),
    Check::server("sep-2640-resources-list-implemented", resources_list),
    Check::server("sep-2640-response-id", response_id),
    Check::server("sep-2640-response-once", response_once),
    Check::server(
        "sep-2640-directory-read-undeclared",
        undeclared_directory_read,
    )
    .needs(Needs::Extension),
];

/// Whether a server knows the method of these well-formed calls: one answer other than "method not
/// found" is enough.
pub(super) fn is_known<'a>(
    trace: &Evidence<'_>,
    mut calls: impl Iterator<Item = &'a Exchange>,
) -> bool {
    calls.any(|exchange| trace.error_code(exchange) != Some(METHOD_NOT_FOUND))
}

/// A method that the declaration promises is known.
pub(super) fn method_known<'a>(
    trace: &Evidence<'_>,
    calls: impl Iterator<Item = &'a Exchange>,
    promise: &str,
) -> Judgement {
    let mut judgement = Judgement::new();
    let calls: Vec<&Exchange> = calls.collect();
    let Some(first) = calls.first() else {
        return judgement;
    };
    if is_known(trace, calls.iter().copied()) {
        judgement.holds();
    } else {
        let words = trace.outcome(first).words();
        judgement.violated(trace.place(first), &first.method, promise, words);
    }
    judgement
}

/// `skills/list` is answered to a client that does not name the extension.
fn undeclared_client(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    // A server without the method has been judged for that.
    if !trace
        .calls("skills/list")
        .any(|exchange| trace.result(exchange).is_some())
    {
        return judgement;
    }
    for exchange in trace.named("undeclared-client") {
        match trace.outcome(exchange) {
            Outcome::Result(_) => judgement.holds(),
            other => judgement.violated(
                trace.place(exchange),
                "skills/list from a client that does not declare the extension",
                "a result",
                other.words(),
            ),
        }
    }
    judgement
}

/// A fresh connection needs no `skills/list` first.
fn stateless(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let listed: Vec<&str> = trace
        .listings()
        .last()
        .into_iter()
        .flatten()
        .filter_map(Entry::uri)
        .collect();
    for exchange in trace.named("first-on-connection") {
        // A skill that has left the catalog need not be answered.
        if exchange.uri().is_none_or(|uri| !listed.contains(&uri)) {
            continue;
        }
        match trace.outcome(exchange) {
            Outcome::Result(_) => judgement.holds(),
            Outcome::Error(error) if error.code == Some(METHOD_NOT_FOUND) => {}
            other => judgement.violated(
                trace.place(exchange),
                exchange.uri().unwrap_or_default(),
                format!(
                    "{} answered on a connection that has not called skills/list",
                    exchange.method
                ),
                other.words(),
            ),
        }
    }
    judgement
}

/// `resources/list` is there, since `resources` is declared.
fn resources_list(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for exchange in trace
        .calls("resources/list")
        .filter(|exchange| exchange.cursor().is_none())
    {
        match trace.outcome(exchange) {
            Outcome::Result(result) if result.get("resources").is_some_and(Value::is_array) => {
                judgement.holds()
            }
            Outcome::Result(result) => judgement.violated(
                trace.place_at(exchange, "/result"),
                "resources/list",
                "a `resources` array, empty when nothing is listed",
                format!("`resources` is {}", describe(result.get("resources"))),
            ),
            other => judgement.violated(
                trace.place(exchange),
                "resources/list",
                "a result",
                other.words(),
            ),
        }
    }
    judgement
}

/// An answer bears the id of the request that it answers.
fn response_id(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let requests: HashMap<usize, &Exchange> = trace
        .exchanges
        .iter()
        .filter_map(|exchange| Some((exchange.answer?, exchange)))
        .collect();
    let sent: HashSet<u64> = trace.exchanges.iter().filter_map(|own| own.id).collect();
    // Bytes that are sent as they are may look like a request, and be answered as one.
    let raw: Vec<String> = trace
        .exchanges
        .iter()
        .filter(|exchange| exchange.form == Form::Raw)
        .map(|exchange| String::from_utf8_lossy(&trace.frames[exchange.sent].raw).into_owned())
        .collect();
    for (index, frame) in trace.frames.iter().enumerate() {
        let Some(message) = received(frame) else {
            continue;
        };
        let Kind::Response { id } = jsonrpc::kind(message) else {
            continue;
        };
        let request = requests
            .get(&index)
            .filter(|exchange| exchange.form == Form::Request);
        let number = id
            .and_then(json::integer)
            .and_then(|id| u64::try_from(id).ok());
        let right = match (id, request.and_then(|request| request.id)) {
            // What could not be read is refused without an id; HTTP itself refuses like that, too.
            (None, _) if message.get("error").is_some() => continue,
            // Whose answer it is shows on HTTP only.
            (None, None) => continue,
            (_, Some(asked)) => number == Some(asked),
            (Some(id), None) => {
                number.is_some_and(|number| sent.contains(&number))
                    || raw.iter().any(|raw| raw.contains(&format!("\"id\":{id}")))
            }
        };
        if right {
            judgement.holds();
            continue;
        }
        let expected = match request.and_then(|request| request.id) {
            Some(asked) => format!("id {asked}, as in the request"),
            None => "the id of a request that was sent".to_owned(),
        };
        judgement.violated(
            Place {
                frame: index + 1,
                pointer: "/id".to_owned(),
            },
            request.map_or_else(|| "an answer".to_owned(), |request| request.subject()),
            expected,
            describe(message.get("id")),
        );
    }
    judgement
}

fn received(frame: &Frame) -> Option<&Value> {
    frame
        .json()
        .filter(|_| frame.direction == Direction::Received)
}

/// A request is answered once.
fn response_once(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for exchange in &trace.exchanges {
        if exchange.form != Form::Request || exchange.answer.is_none() {
            continue;
        }
        let again = exchange.extra.iter().find(|index| {
            let message = received(&trace.frames[**index]);
            matches!(
                message.map(jsonrpc::kind),
                Some(Kind::Response { id: Some(_) })
            )
        });
        match again {
            None => judgement.holds(),
            Some(index) => judgement.violated(
                Place {
                    frame: index + 1,
                    pointer: String::new(),
                },
                exchange.subject(),
                "one answer",
                format!(
                    "another one, after that in frame {}",
                    trace.place(exchange).frame
                ),
            ),
        }
    }
    judgement
}

/// Where `directoryRead` is not declared, the method is unknown.
fn undeclared_directory_read(trace: &Evidence<'_>) -> Judgement {
    if trace.directory_read() {
        return Judgement::not_applicable("directoryRead is declared");
    }
    let mut judgement = Judgement::new();
    judgement.unexercised = Some("probed with --probe-undeclared only".to_owned());
    for exchange in trace.named("directory-undeclared") {
        if trace.error_code(exchange) == Some(METHOD_NOT_FOUND) {
            judgement.holds();
        } else {
            judgement.violated(
                trace.place(exchange),
                "resources/directory/read",
                "error -32601, since directoryRead is not declared",
                trace.outcome(exchange).words(),
            );
        }
    }
    judgement
}
