//! Faults in the bytes of a message and in the transport around it.

use serde_json::{Value, json};

use super::Fault;
use super::entry::remove;
use super::kind::{Kind, broken_escape};
use crate::catalog::Catalog;
use crate::message::{Answer, Channel, Message, RpcError, Then};
use crate::methods::Call;

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-notification-silent",
        "answers a request without an id with an error",
    ),
    Fault::new(
        "sep-2640-notification-silent/reply",
        "answers a request without an id with a result",
    ),
    Fault::new(
        "sep-2640-notification-silent/read",
        "answers resources/read without an id with an error",
    ),
    Fault::new(
        "sep-2640-notification-silent/directory",
        "answers resources/directory/read without an id with an error",
    ),
    Fault::new(
        "sep-2640-notification-silent/late",
        "answers a request without an id after two other answers",
    )
    .over(Channel::Stdio),
    Fault::new(
        "sep-2640-response-id",
        "answers skills/get with the next id",
    )
    .over(Channel::Http),
    Fault::new(
        "sep-2640-response-id/string",
        "answers skills/get with the id as a string",
    )
    .over(Channel::Http),
    Fault::new(
        "sep-2640-response-id/missing",
        "answers skills/get without an id",
    )
    .over(Channel::Http),
    Fault::new(
        "sep-2640-response-id/unasked",
        "sends answers that nobody asked for after those of skills/get",
    )
    .over(Channel::Stdio),
    Fault::new("sep-2640-response-once", "answers skills/get twice").over(Channel::Stdio),
    Fault::new(
        "sep-2640-alive-after-malformed",
        "exits when a message is not valid JSON",
    ),
    Fault::new(
        "sep-2640-alive-after-malformed/hang",
        "never answers again after a message that is not valid JSON",
    ),
    Fault::new(
        "sep-2640-alive-after-malformed/nul",
        "exits when the URI of skills/get has NUL in it",
    ),
    Fault::new(
        "sep-2640-alive-after-malformed/surrogate",
        "exits on the escape of half a surrogate pair",
    ),
    Fault::new(
        "sep-2640-alive-after-malformed/escape",
        "exits when the URI of resources/read has a broken percent escape",
    ),
    Fault::new(
        "sep-2640-error-wellformed",
        "sends the error for an unknown skill with its code as a string",
    ),
    Fault::new(
        "sep-2640-error-wellformed/no-message",
        "sends the error for an unknown skill without a message",
    ),
    Fault::new(
        "sep-2640-error-wellformed/in-result",
        "sends the error for an unknown skill inside a result",
    ),
    Fault::new(
        "sep-2640-http-unknown-method",
        "answers an unknown method with HTTP status 200",
    )
    .modern()
    .over(Channel::Http),
    Fault::new(
        "sep-2640-http-unknown-method/html",
        "answers an unknown method with an HTML page",
    )
    .modern()
    .over(Channel::Http),
    Fault::new(
        "sep-2640-http-envelope",
        "sends results of skills/get as text/plain",
    )
    .over(Channel::Http),
    Fault::new(
        "sep-2640-http-envelope/status",
        "sends results of skills/get with HTTP status 500",
    )
    .over(Channel::Http),
    Fault::new(
        "sep-2640-frame-duplicate-keys",
        "writes the skills member of skills/list twice",
    ),
    Fault::new(
        "sep-2640-stdout-clean",
        "writes a banner to standard output at the start",
    )
    .over(Channel::Stdio),
];

/// Writes a message, broken as the fault has it.
pub(super) fn bytes(
    id: &str,
    catalog: &Catalog,
    call: &Call,
    status: u16,
    mut envelope: Value,
) -> Answer {
    // An error without an id may be about what could not be read.
    let is_get = call.method == "skills/get" && envelope.get("result").is_some();
    let exit = || Answer {
        then: Then::Exit,
        ..Answer::silence()
    };
    let uri = call.uri().unwrap_or("");
    match id {
        "sep-2640-alive-after-malformed/nul"
            if call.method == "skills/get" && uri.contains('\0') =>
        {
            return exit();
        }
        "sep-2640-alive-after-malformed/escape"
            if call.method == "resources/read" && broken_escape(uri) =>
        {
            return exit();
        }
        "sep-2640-error-wellformed" if unknown_skill(catalog, call, &envelope) => {
            let code = envelope["error"]["code"].to_string();
            envelope["error"]["code"] = json!(code);
        }
        "sep-2640-error-wellformed/no-message" if unknown_skill(catalog, call, &envelope) => {
            remove(&mut envelope["error"], "message");
        }
        "sep-2640-error-wellformed/in-result" if unknown_skill(catalog, call, &envelope) => {
            envelope["result"] = json!({"error": envelope["error"].take()});
            remove(&mut envelope, "error");
        }
        "sep-2640-http-unknown-method" if envelope["error"]["code"] == -32601 => {
            return Answer::json(200, &envelope);
        }
        "sep-2640-http-unknown-method/html" if envelope["error"]["code"] == -32601 => {
            let page = "<!doctype html><title>404</title><h1>Not Found</h1>";
            return Answer {
                content_type: "text/html",
                body: Some(page.into()),
                ..Answer::json(404, &envelope)
            };
        }
        "sep-2640-http-envelope" if is_get => {
            return Answer {
                content_type: "text/plain",
                ..Answer::json(status, &envelope)
            };
        }
        "sep-2640-http-envelope/status" if is_get => return Answer::json(500, &envelope),
        "sep-2640-response-id" if is_get => {
            envelope["id"] = json!(envelope["id"].as_i64().unwrap_or(0) + 1);
        }
        "sep-2640-response-id/string" if is_get => {
            envelope["id"] = json!(envelope["id"].to_string());
        }
        "sep-2640-response-id/missing" if is_get => remove(&mut envelope, "id"),
        "sep-2640-response-id/unasked" if is_get => {
            let mut other = envelope.clone();
            other["id"] = json!(envelope["id"].as_i64().unwrap_or(0) + 1_000_000);
            return Answer::json(status, &envelope).and(other.to_string().as_bytes());
        }
        "sep-2640-response-once" if is_get => {
            return Answer::json(status, &envelope).and(envelope.to_string().as_bytes());
        }
        "sep-2640-frame-duplicate-keys" if call.method == "skills/list" => {
            if let Some(skills) = envelope.pointer("/result/skills") {
                let again = format!("\"result\":{{\"skills\":{skills},");
                let text = envelope.to_string().replacen("\"result\":{", &again, 1);
                return Answer {
                    body: Some(text.into_bytes()),
                    ..Answer::json(status, &envelope)
                };
            }
        }
        _ => {}
    }
    Answer::json(status, &envelope)
}

fn unknown_skill(catalog: &Catalog, call: &Call, envelope: &Value) -> bool {
    call.method == "skills/get"
        && envelope.get("error").is_some()
        && call
            .uri()
            .is_ok_and(|uri| Kind::of(catalog, uri) == Kind::Unknown)
}

/// Answers what must not be answered. Real notifications are left alone: only
/// a request that lacks its id gives the fault away.
pub(super) fn notification(id: &str, message: &Message) -> Answer {
    let body = match id {
        _ if message.method.starts_with("notifications/") => return Answer::silence(),
        "sep-2640-notification-silent" => {
            RpcError::invalid_request("the request has no id").envelope(&Value::Null)
        }
        "sep-2640-notification-silent/read" if message.method == "resources/read" => {
            RpcError::internal().envelope(&Value::Null)
        }
        "sep-2640-notification-silent/directory"
            if message.method == "resources/directory/read" =>
        {
            RpcError::internal().envelope(&Value::Null)
        }
        "sep-2640-notification-silent/late" => RpcError::internal().envelope(&Value::Null),
        "sep-2640-notification-silent/reply" => json!({"jsonrpc": "2.0", "id": null, "result": {}}),
        _ => return Answer::silence(),
    };
    Answer::json(200, &body)
}

/// Reacts to what is not JSON.
pub(super) fn malformed(id: &str, answer: Answer, error: &RpcError) -> Answer {
    let then = match id {
        "sep-2640-alive-after-malformed" => Then::Exit,
        "sep-2640-alive-after-malformed/hang" => Then::Hang,
        "sep-2640-alive-after-malformed/surrogate" if error.message.contains("hex escape") => {
            Then::Exit
        }
        _ => return answer,
    };
    if error.code != -32700 {
        return answer;
    }
    Answer {
        then,
        ..Answer::silence()
    }
}

pub(super) fn banner(id: &str) -> Option<&'static str> {
    (id == "sep-2640-stdout-clean").then_some("sep2640-reference is ready.")
}
