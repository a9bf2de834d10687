//! What came back for a request, held against what had to.

use serde_json::Value;

use crate::generate::request::Awaited;
use crate::wire::Revision;
use crate::wire::content::Body;
use crate::wire::frame::{Frame, Parse};
use crate::wire::json::excerpt;

/// A wrong answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrong {
    pub rule: &'static str,
    pub actual: String,
}

pub(super) const INVALID_PARAMS: &str = "server-invalid-params";
pub(super) const ENTRY: &str = "server-entry";
pub(super) const CONTENT: &str = "server-content";
pub(super) const MESSAGE: &str = "server-message";
pub(super) const LEAK: &str = "server-leak";
pub(super) const ALIVE: &str = "server-alive";

/// The check that tells more of a wrong answer to a request about `check`.
pub(super) fn check(rule: &str, check: &'static str) -> &'static str {
    match rule {
        LEAK => "sep-2640-read-traversal",
        MESSAGE | ALIVE => "sep-2640-alive-after-malformed",
        _ => check,
    }
}

/// A rule in one sentence.
pub(super) fn sentence(rule: &str) -> &'static str {
    match rule {
        INVALID_PARAMS => "What does not exist, or is malformed, is answered with -32602.",
        ENTRY => "skills/get answers for a listed skill, with the entry of the listing.",
        CONTENT => "A listed file is delivered as the manifest says.",
        LEAK => "Nothing outside the skills comes back.",
        MESSAGE => {
            "Every request is answered with one JSON-RPC message that has a result or an error."
        }
        _ => "The server goes on answering, whatever it was sent.",
    }
}

const INVALID: i64 = -32602;
/// How an unknown resource is answered on 2025-11-25.
const NOT_FOUND: i64 = -32002;
const INTERNAL: i64 = -32603;
const INVALID_REQUEST: i64 = -32600;
/// Errors of the base protocol, of a request that does not get as far as the method: over HTTP a URI
/// that is none has no right header either.
const TURNED_AWAY: std::ops::RangeInclusive<i64> = -32022..=-32020;

/// What is wrong with the answer, if anything.
pub(super) fn judge(frame: &Frame, awaited: &Awaited, revision: Revision) -> Option<Wrong> {
    let wrong = |rule, actual: String| Some(Wrong { rule, actual });
    let value = match &frame.parse {
        Parse::Json(value) => value,
        Parse::Broken(error) => return wrong(MESSAGE, format!("not JSON: {error}")),
        Parse::Empty | Parse::Sent => return wrong(MESSAGE, "an empty body".into()),
    };
    let (result, error) = (value.get("result"), value.get("error"));
    if result.is_some() == error.is_some() {
        return wrong(MESSAGE, excerpt(value, 300));
    }
    if leaks(frame) {
        return wrong(LEAK, excerpt(value, 300));
    }
    let code = error
        .and_then(|error| error.get("code"))
        .and_then(Value::as_i64);
    if error.is_some() && code.is_none() {
        return wrong(MESSAGE, excerpt(value, 300));
    }
    match awaited {
        Awaited::InvalidParams | Awaited::InvalidRequest => {
            let legacy = revision == Revision::Legacy && code == Some(NOT_FOUND);
            let request = *awaited == Awaited::InvalidRequest && code == Some(INVALID_REQUEST);
            let turned_away = code.is_some_and(|code| TURNED_AWAY.contains(&code));
            if code == Some(INVALID) || legacy || request || turned_away {
                None
            } else {
                wrong(INVALID_PARAMS, excerpt(value, 300))
            }
        }
        Awaited::Anything if code == Some(INTERNAL) => wrong(INVALID_PARAMS, excerpt(value, 300)),
        Awaited::Anything | Awaited::Silence => None,
        Awaited::Page => match result.and_then(|result| result.get("skills")) {
            Some(Value::Array(_)) => None,
            _ => wrong(MESSAGE, excerpt(value, 300)),
        },
        Awaited::Entry(entry) => match result.and_then(|result| result.get("skill")) {
            Some(skill) if same(skill, entry) => None,
            _ => wrong(ENTRY, excerpt(value, 300)),
        },
        Awaited::Content { digest, size } => {
            let right = frame.contents.iter().any(|content| {
                matches!(content.body, Body::Bytes { len, .. } if len == *size)
                    && content.digest().as_ref() == Some(digest)
            });
            if right {
                None
            } else {
                wrong(CONTENT, excerpt(value, 300))
            }
        }
    }
}

fn same(skill: &Value, entry: &Value) -> bool {
    ["uri", "frontmatter", "resources"]
        .iter()
        .all(|key| skill.get(key) == entry.get(key))
}

/// Whether the answer has what no skill has: the user database of the machine.
fn leaks(frame: &Frame) -> bool {
    let raw = String::from_utf8_lossy(&frame.raw);
    raw.contains("root:x:0:0:") || raw.contains("cm9vdDp4OjA6MDo")
}
