//! Errors, malformed input, and what may be on the wire at all. Section "Error Handling".

use serde_json::Value;

use super::Check;
use super::entries::describe;
use super::evidence::Evidence;
use crate::verdict::Judgement;
use crate::wire::Transport;
use crate::wire::frame::{Direction, Frame, Parse};
use crate::wire::jsonrpc::{self, Kind, METHOD_NOT_FOUND};
use crate::wire::trace::{Exchange, Form, Outcome, Place, shorten};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server("sep-2640-error-wellformed", error_wellformed),
    Check::server("sep-2640-error-informative", error_informative),
    Check::server("sep-2640-error-leaks", error_leaks),
    Check::server("sep-2640-http-unknown-method", http_unknown_method),
    Check::server("sep-2640-http-envelope", http_envelope),
    Check::server("sep-2640-notification-silent", notification_silent),
    Check::server("sep-2640-alive-after-malformed", alive),
    Check::server("sep-2640-frame-duplicate-keys", duplicate_keys),
    Check::server("sep-2640-stdout-clean", stdout_clean),
];

/// Answers to requests, with the object that they are.
fn answers<'a>(
    trace: &'a Evidence<'_>,
) -> impl Iterator<Item = (&'a Exchange, &'a serde_json::Map<String, Value>)> {
    trace
        .exchanges
        .iter()
        .filter(|exchange| exchange.form == Form::Request)
        .filter_map(|exchange| Some((exchange, trace.answer(exchange)?.json()?.as_object()?)))
}

/// An error is an object with an integer code and a message, beside `result`, never inside it.
fn error_wellformed(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, answer) in answers(trace) {
        let fault = match (answer.get("error"), answer.get("result")) {
            (Some(_), Some(_)) => Some(("/error", "either `result` or `error`", "both".to_owned())),
            (Some(error), None) => error_fault(error),
            (None, Some(result)) => error_inside(result).map(|error| {
                (
                    "/result/error",
                    "an error beside `result`, not inside it",
                    describe(Some(error)),
                )
            }),
            (None, None) => None,
        };
        match fault {
            Some((pointer, expected, actual)) => {
                judgement.violated(
                    trace.place_at(exchange, pointer),
                    exchange.subject(),
                    expected,
                    actual,
                );
            }
            None if answer.contains_key("error") => judgement.holds(),
            None => {}
        }
    }
    judgement
}

fn error_fault(error: &Value) -> Option<(&'static str, &'static str, String)> {
    if !error.is_object() {
        return Some(("/error", "an error object", describe(Some(error))));
    }
    match error.get("code") {
        Some(Value::Number(code)) if code.as_f64().is_some_and(|code| code.fract() == 0.0) => {}
        other => return Some(("/error/code", "an integer", describe(other))),
    }
    match error.get("message") {
        Some(Value::String(_)) => None,
        other => Some(("/error/message", "a string", describe(other))),
    }
}

/// An error that stands in the place of the result's own members.
pub(super) fn error_inside(result: &Value) -> Option<&Value> {
    let result = result.as_object()?;
    let error = result.get("error")?;
    let others = result.keys().any(|key| {
        !matches!(
            key.as_str(),
            "error" | "resultType" | "_meta" | "ttlMs" | "cacheScope"
        )
    });
    (!others && error.get("code").is_some()).then_some(error)
}

fn errors<'a>(trace: &'a Evidence<'_>) -> impl Iterator<Item = (&'a Exchange, &'a Value, &'a str)> {
    answers(trace).filter_map(|(exchange, answer)| {
        let error = answer.get("error")?;
        Some((exchange, error, error.get("message")?.as_str()?))
    })
}

/// A message says what is wrong.
fn error_informative(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, _, message) in errors(trace) {
        let plain = message
            .trim()
            .trim_end_matches(['.', '!'])
            .to_ascii_lowercase();
        if matches!(
            plain.as_str(),
            "" | "error" | "an error occurred" | "unknown error"
        ) {
            judgement.violated(
                trace.place_at(exchange, "/error/message"),
                exchange.subject(),
                "a message that says what is wrong",
                format!("\"{message}\""),
            );
        } else {
            judgement.holds();
        }
    }
    judgement
}

/// A message tells nothing of the machine it comes from.
fn error_leaks(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, error, message) in errors(trace) {
        let mut text = format!(
            "{message}\n{}",
            error.get("data").map_or_else(String::new, Value::to_string)
        );
        // What the request itself said may be said back.
        if let Some(Value::String(asked)) = exchange
            .params
            .as_ref()
            .and_then(|params| params.get("uri"))
        {
            text = text.replace(asked.as_str(), "");
            if let Some((_, path)) = asked.split_once("://") {
                text = text.replace(path.trim_start_matches("..").trim_start_matches('/'), "");
            }
        }
        match leak(&text) {
            None => judgement.holds(),
            Some(leak) => judgement.violated(
                trace.place_at(exchange, "/error"),
                exchange.subject(),
                "a message without paths of the server's machine and without a stack trace",
                shorten(leak, 120),
            ),
        }
    }
    judgement
}

/// The part of an error text that gives something away.
fn leak(text: &str) -> Option<&str> {
    const TRACES: [&str; 6] = [
        "Traceback (most recent call last)",
        "\n    at ",
        "\\n    at ",
        "panicked at ",
        "goroutine ",
        "stack backtrace:",
    ];
    const PATHS: [&str; 9] = [
        "/home/",
        "/root/",
        "/Users/",
        "/usr/",
        "/var/",
        "/srv/",
        "/opt/",
        "/tmp/",
        ":\\Users\\",
    ];
    let trace = TRACES.iter().filter_map(|mark| text.find(mark));
    let path = PATHS.iter().filter_map(|mark| {
        let at = text.find(mark)?;
        // Inside a URI such as skill://usr/… it is no path of the machine.
        let inside = text[..at]
            .chars()
            .next_back()
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '/' | ':' | '.' | '_' | '-'));
        (!inside).then_some(at)
    });
    trace.chain(path).min().map(|at| &text[at..])
}

/// Over HTTP an unknown method is a 404 with a JSON-RPC body.
fn http_unknown_method(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for exchange in trace.named("unknown-method") {
        let status = trace
            .answer(exchange)
            .and_then(|frame| frame.envelope.as_ref())
            .map(|envelope| envelope.status);
        let code = trace.error_code(exchange);
        if status == Some(404) && code == Some(METHOD_NOT_FOUND) {
            judgement.holds();
        } else {
            let status = status.map_or_else(
                || "no HTTP answer".to_owned(),
                |status| format!("HTTP {status}"),
            );
            judgement.violated(
                trace.place(exchange),
                exchange.subject(),
                "HTTP 404 with error -32601 in the body",
                format!("{status}, {}", trace.outcome(exchange).words()),
            );
        }
    }
    judgement
}

/// Over HTTP an answer comes as JSON or as an event stream, and a result with a status of success.
fn http_envelope(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, answer) in answers(trace) {
        let Some(envelope) = trace
            .answer(exchange)
            .and_then(|frame| frame.envelope.as_ref())
        else {
            continue;
        };
        let success = (200..300).contains(&envelope.status);
        let kind = envelope.content_type.as_deref();
        // What HTTP itself, or a proxy, says with another status may come in any form.
        let fault = if !success && answer.contains_key("result") {
            Some((
                "a status of success with a result",
                format!("HTTP {}", envelope.status),
            ))
        } else if success && !matches!(kind, Some("application/json" | "text/event-stream")) {
            Some((
                "Content-Type application/json or text/event-stream",
                kind.unwrap_or("none").to_owned(),
            ))
        } else {
            None
        };
        match fault {
            None => judgement.holds(),
            Some((expected, actual)) => {
                judgement.violated(trace.place(exchange), &*exchange.method, expected, actual);
            }
        }
    }
    judgement
}

/// What carries no id is not answered.
fn notification_silent(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let late = late_answer(trace);
    for exchange in trace.named("notification-form") {
        let answered = match trace.outcome(exchange) {
            Outcome::Result(_) => trace.answer(exchange).map(|_| trace.place(exchange)),
            // HTTP may refuse the POST with an error that has no id.
            Outcome::Error(_) if refused_post(trace, exchange) => None,
            Outcome::Error(_) => Some(trace.place(exchange)),
            _ => exchange
                .extra
                .iter()
                .find(|index| is_answer(&trace.frames[**index]))
                .map(|index| Place {
                    frame: index + 1,
                    pointer: String::new(),
                }),
        };
        match answered {
            None if late.is_none() => judgement.holds(),
            None => {}
            Some(at) => answered_notification(
                trace,
                &mut judgement,
                at,
                format!("{} without an id", exchange.method),
            ),
        }
    }
    if let Some(at) = late.filter(|_| judgement.findings.is_empty()) {
        let subject = "messages without an id".to_owned();
        answered_notification(trace, &mut judgement, at, subject);
    }
    judgement
}

fn answered_notification(
    trace: &Evidence<'_>,
    judgement: &mut Judgement,
    at: Place,
    subject: String,
) {
    let frame = &trace.frames[at.frame - 1];
    let actual = frame.json().map_or_else(String::new, Value::to_string);
    judgement.violated(
        at,
        subject,
        "no answer to a message without an id",
        shorten(&actual, 120),
    );
}

/// An answer without an id that belongs to nothing, between the first message without an id and the
/// first bytes that are no message: only a message without an id can be meant.
fn late_answer(trace: &Evidence<'_>) -> Option<Place> {
    let first = trace.named("notification-form").next()?.sent;
    let raw = trace
        .exchanges
        .iter()
        .filter(|exchange| exchange.form == Form::Raw && exchange.sent > first)
        .map(|exchange| exchange.sent);
    let last = raw.min().unwrap_or(trace.frames.len());
    let owned = |index: usize| {
        trace
            .exchanges
            .iter()
            .any(|exchange| exchange.answer == Some(index) || exchange.extra.contains(&index))
    };
    let orphan = (first..last).find(|index| {
        let frame = &trace.frames[*index];
        let message = frame
            .json()
            .filter(|_| frame.direction == Direction::Received);
        matches!(
            message.map(jsonrpc::kind),
            Some(Kind::Response { id: None })
        ) && !owned(*index)
    })?;
    Some(Place {
        frame: orphan + 1,
        pointer: String::new(),
    })
}

fn refused_post(trace: &Evidence<'_>, exchange: &Exchange) -> bool {
    trace.answer(exchange).is_some_and(|frame| {
        let status = frame
            .envelope
            .as_ref()
            .is_some_and(|envelope| (400..500).contains(&envelope.status));
        let id = frame
            .json()
            .and_then(|answer| answer.get("id"))
            .is_some_and(|id| !id.is_null());
        status && !id
    })
}

fn is_answer(frame: &Frame) -> bool {
    matches!(frame.json().map(jsonrpc::kind), Some(Kind::Response { .. }))
}

/// The server still answers after every malformed message.
fn alive(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for exchange in &trace.exchanges {
        match exchange.alive_after {
            None => {}
            Some(true) => judgement.holds(),
            Some(false) => judgement.violated(
                Place {
                    frame: exchange.sent + 1,
                    pointer: String::new(),
                },
                exchange.subject(),
                "a server that goes on answering",
                "no answer to the request sent behind it",
            ),
        }
    }
    judgement
}

/// No object repeats a key.
fn duplicate_keys(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (index, frame) in trace.frames.iter().enumerate() {
        if frame.direction != Direction::Received || !matches!(frame.parse, Parse::Json(_)) {
            continue;
        }
        match frame.repeated_keys.first() {
            None => judgement.holds(),
            Some(pointer) => judgement.violated(
                Place {
                    frame: index + 1,
                    pointer: pointer.clone(),
                },
                pointer,
                "each key once in an object",
                format!("{} repeated", frame.repeated_keys.join(", ")),
            ),
        }
    }
    judgement
}

/// Standard output carries messages only.
fn stdout_clean(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (index, frame) in trace.frames.iter().enumerate() {
        if frame.direction != Direction::Received || frame.transport != Transport::Stdio {
            continue;
        }
        match frame.json().map(jsonrpc::kind) {
            Some(Kind::Other) | None => judgement.violated(
                Place {
                    frame: index + 1,
                    pointer: String::new(),
                },
                "standard output",
                "JSON-RPC messages only",
                shorten(&String::from_utf8_lossy(&frame.raw), 100),
            ),
            Some(_) => judgement.holds(),
        }
    }
    judgement
}
