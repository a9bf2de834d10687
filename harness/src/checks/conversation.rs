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
use crate::wire::jsonrpc::{self, INVALID_PARAMS, INVALID_REQUEST, Kind, METHOD_NOT_FOUND};
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
        judgement.violated(trace.place(first), &*first.method, promise, words);
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

/// Whether a refusal says that the parameters are wrong. A request without `params` lacks a member
/// that its schema demands, so that it may be called no request, too.
pub(super) fn refuses_params(trace: &Evidence<'_>, exchange: &Exchange) -> bool {
    match trace.error_code(exchange) {
        Some(INVALID_PARAMS) => true,
        Some(INVALID_REQUEST) => exchange.params.is_none(),
        _ => false,
    }
}

/// An answer bears the id of the request that it answers.
fn response_id(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let mut owners: HashMap<usize, &Exchange> = HashMap::new();
    for exchange in &trace.exchanges {
        let frames = exchange.answer.iter().chain(&exchange.extra);
        owners.extend(frames.map(|frame| (*frame, exchange)));
    }
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
        let owner = owners.get(&index);
        let request = owner.filter(|exchange| exchange.form == Form::Request);
        let number = id
            .and_then(json::integer)
            .and_then(|id| u64::try_from(id).ok());
        // What could not be read, and what HTTP itself refuses, has an id of nobody's.
        let refused = frame
            .envelope
            .as_ref()
            .is_some_and(|envelope| envelope.status >= 400);
        let unread = number.is_none() && request.is_none()
            || id.is_none()
            || refused
            || owner.is_some() && request.is_none();
        if unread && message.get("error").is_some() {
            continue;
        }
        let right = match (id, request.and_then(|request| request.id)) {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::sample;
    use super::*;
    use crate::wire::Transport;
    use crate::wire::frame::Envelope;
    use crate::wire::trace::Trace;

    /// Whether the id of one answer over HTTP is right; requests of the sample have the id 1.
    fn is_right(form: Form, status: u16, answer: &Value) -> bool {
        let mut trace = sample::trace();
        trace.transport = Transport::Http;
        trace.add(None, "skills/get", Value::Null, answer);
        trace.exchanges[0].form = form;
        trace.exchanges[0].id = (form == Form::Request).then_some(1);
        trace.frames[1].envelope = Some(Envelope {
            status,
            content_type: None,
        });
        response_id(&Evidence::new(&trace)).findings.is_empty()
    }

    #[test]
    fn an_answer_has_the_id_of_its_request_and_a_refusal_may_have_none() {
        let result = |id: Value| json!({"id": id, "result": {}});
        let error = |id: Value| json!({"id": id, "error": {"code": -32600, "message": "no"}});
        for (form, status, answer, right) in [
            (Form::Request, 200, result(json!(1)), true),
            (Form::Request, 200, result(json!(1.0)), true),
            (Form::Request, 200, result(json!(2)), false),
            (Form::Request, 200, result(json!("1")), false),
            (Form::Request, 200, result(Value::Null), false),
            (Form::Request, 200, error(json!("server-error")), false),
            (Form::Request, 400, error(json!("server-error")), true),
            (Form::Request, 200, error(Value::Null), true),
            (Form::Raw, 200, error(json!("server-error")), true),
            (Form::Raw, 400, error(Value::Null), true),
            (Form::Notification, 400, error(json!("server-error")), true),
        ] {
            assert_eq!(is_right(form, status, &answer), right, "{form:?} {answer}");
        }
    }

    #[test]
    fn a_request_without_params_may_be_called_no_request() {
        let error = json!({"id": 1, "error": {"code": INVALID_REQUEST, "message": "no params"}});
        let refuses = |params: Value| {
            let mut trace: Trace = sample::trace();
            trace.add(None, "skills/get", params, &error);
            refuses_params(&Evidence::new(&trace), &trace.exchanges[0])
        };
        assert!(refuses(Value::Null) && !refuses(json!({})));
    }
}
