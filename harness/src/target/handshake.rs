//! The opening of a conversation, on each revision.

use serde_json::{Value, json};

use super::TargetError;
use super::session::{Call, Reply, Session};
use crate::wire::Revision;
use crate::wire::frame::Direction;
use crate::wire::json;
use crate::wire::jsonrpc::{self, ClientIdentity, Kind};
use crate::wire::trace::{Unanswered, shorten};

/// Why a conversation did not begin.
#[derive(Debug, Clone)]
pub enum Refusal {
    /// The target is there but does not speak the revision.
    NotSpoken(String),
    /// The target cannot be started, reached, or does not answer at all.
    Unreachable(TargetError),
}

/// The scenario name under which the opening is recorded.
pub const SCENARIO: &str = "opening";

/// A request that every server of the revision answers, whatever else it can do.
pub fn liveness_method(revision: Revision) -> &'static str {
    match revision {
        Revision::Modern => "server/discover",
        Revision::Legacy => "ping",
    }
}

/// Goes through the revision's opening.
pub(super) async fn shake(session: &mut Session) -> Result<(), Refusal> {
    match session.revision() {
        Revision::Modern => discover(session).await,
        Revision::Legacy => initialize(session).await,
    }
}

async fn discover(session: &mut Session) -> Result<(), Refusal> {
    let call = Call::new(SCENARIO, "server/discover", None);
    let reply = tokio::select! {
        reply = session.call(&call) => reply,
        // Some legacy servers say nothing to a method that they do not know, but answer a ping.
        () = legacy_pulse(session) => {
            return Err(not_spoken("answers `ping` but not `server/discover`"));
        }
    };
    let Some(message) = answer(session, &reply) else {
        return Err(unanswered(session, "server/discover", &reply).await);
    };
    if let Some(result) = message.get("result") {
        let versions = result.get("supportedVersions").and_then(Value::as_array);
        return match versions {
            Some(versions) if !versions.contains(&json!(Revision::Modern.name())) => {
                Err(not_spoken(&format!(
                    "`server/discover` lists {} as supported",
                    Value::from(versions.clone())
                )))
            }
            // Left out, it is a base-protocol fault; the revision was spoken all the same.
            _ => Ok(()),
        };
    }
    Err(not_spoken(&format!(
        "`server/discover` was answered with {}",
        error_words(&message)
    )))
}

/// Comes back when a ping, sent a little later than the first request, is answered with a result.
async fn legacy_pulse(session: &Session) {
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let mut call = Call::new(SCENARIO, "ping", None);
    call.name = Some("legacy-pulse".into());
    let reply = session.call(&call).await;
    let result = answer(session, &reply).is_some_and(|message| message.get("result").is_some());
    if !result {
        std::future::pending::<()>().await;
    }
    // The answer to the first request may be behind: a server that speaks both may take its time.
    tokio::time::sleep(std::time::Duration::from_secs(4)).await;
}

async fn initialize(session: &mut Session) -> Result<(), Refusal> {
    let client = ClientIdentity {
        declares_extension: true,
    };
    let params = json!({
        "protocolVersion": Revision::Legacy.name(),
        "capabilities": client.capabilities(),
        "clientInfo": ClientIdentity::info(),
    });
    let reply = session
        .call(&Call::new(SCENARIO, "initialize", Some(params)))
        .await;
    let Some(message) = answer(session, &reply) else {
        return Err(unanswered(session, "initialize", &reply).await);
    };
    let Some(result) = message.get("result") else {
        return Err(not_spoken(&format!(
            "`initialize` was answered with {}",
            error_words(&message)
        )));
    };
    match result.get("protocolVersion").and_then(Value::as_str) {
        Some(version) if version == Revision::Legacy.name() => {}
        Some(version) => {
            return Err(not_spoken(&format!(
                "`initialize` was answered with version {}",
                shorten(version, 40)
            )));
        }
        None => {
            return Err(not_spoken(
                "`initialize` was answered without a protocolVersion",
            ));
        }
    }
    session
        .notify(&Call::new(SCENARIO, "notifications/initialized", None))
        .await;
    Ok(())
}

fn answer(session: &Session, reply: &Reply) -> Option<Value> {
    let frame = reply.answer?;
    let message = session.recorder().with_frame(frame, |frame| {
        let status = frame.envelope.as_ref().map(|envelope| envelope.status);
        match frame.json() {
            Some(value @ Value::Object(_)) => value.clone(),
            _ => json!({"error": {"code": Value::Null, "message": format!("HTTP status {}", status.unwrap_or(0))}}),
        }
    });
    Some(message)
}

/// The id of an answer that belongs to no request.
fn stray_answer(session: &Session) -> Option<Value> {
    let trace = session.recorder().snapshot(session.revision());
    let sent: Vec<u64> = trace.exchanges.iter().filter_map(|own| own.id).collect();
    let received = trace
        .frames
        .iter()
        .filter(|frame| frame.direction == Direction::Received);
    received
        .filter_map(|frame| match jsonrpc::kind(frame.json()?) {
            Kind::Response { id } => id,
            _ => None,
        })
        .find(|id| {
            let number = json::integer(id).and_then(|id| u64::try_from(id).ok());
            number.is_none_or(|number| !sent.contains(&number))
        })
        .cloned()
}

fn error_words(message: &Value) -> String {
    let error = &message["error"];
    let text = error
        .get("message")
        .and_then(Value::as_str)
        .unwrap_or("no message");
    match error.get("code").and_then(json::integer) {
        Some(jsonrpc::UNSUPPORTED_VERSION) => format!(
            "error {} (supported: {})",
            jsonrpc::UNSUPPORTED_VERSION,
            error.pointer("/data/supported").unwrap_or(&Value::Null)
        ),
        Some(code) => format!("error {code} \"{}\"", shorten(text, 120)),
        None => shorten(text, 120),
    }
}

fn not_spoken(why: &str) -> Refusal {
    Refusal::NotSpoken(why.to_owned())
}

async fn unanswered(session: &mut Session, method: &str, reply: &Reply) -> Refusal {
    let why = match (&reply.error, reply.unanswered) {
        (Some(error), _) => error.clone(),
        (None, Some(Unanswered::TimedOut)) => {
            let mut why = format!("no answer to {method} in time (see --timeout)");
            if let Some(id) = stray_answer(session) {
                let id = shorten(&id.to_string(), 40);
                why.push_str(&format!(
                    "; an answer came with the id {id}, which no request had"
                ));
            }
            why
        }
        _ => match session.exit_status().await {
            Some(status) => format!("it ended before it answered {method} ({status})"),
            None => format!("it closed the connection before it answered {method}"),
        },
    };
    let stderr = session.stderr_tail();
    Refusal::Unreachable(TargetError {
        message: why,
        stderr,
    })
}
