//! What the host says to a request: content that is handed over, or a refusal.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::client::CallError;

/// A skill, or a file of one: the label of its server, or nothing for what is
/// local, and its URI. Neither half is enough.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key {
    pub server: Option<String>,
    pub uri: String,
}

impl Key {
    pub fn new(server: &str, uri: &str) -> Key {
        Key {
            server: Some(server.to_owned()),
            uri: uri.to_owned(),
        }
    }

    /// The server's label; empty for what is local.
    pub fn label(&self) -> &str {
        self.server.as_deref().unwrap_or("")
    }
}

/// Content that is handed over.
#[derive(Debug, Clone)]
pub(super) struct Delivered {
    pub server: Option<String>,
    pub uri: String,
    pub bytes: Vec<u8>,
    /// Whether it is presented as verified; nothing for what is local.
    pub verified: Option<bool>,
}

/// A request that is declined.
#[derive(Debug, Clone)]
pub(super) struct Refusal {
    pub kind: Option<&'static str>,
    pub reason: String,
}

pub(super) type Outcome = Result<Delivered, Refusal>;

pub(super) fn refuse<T>(kind: &'static str, reason: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal {
        kind: Some(kind),
        reason: reason.into(),
    })
}

impl From<CallError> for Refusal {
    fn from(error: CallError) -> Refusal {
        let kind = match &error {
            _ if error.is_not_found() => Some("not-found"),
            CallError::Transport(_) | CallError::Unusable(_) => Some("transport"),
            CallError::Rpc { .. } => None,
        };
        Refusal {
            kind,
            reason: error.text(),
        }
    }
}

impl Refusal {
    pub fn json(&self) -> Value {
        let mut value = json!({"outcome": "refused", "reason": self.reason});
        if let Some(kind) = self.kind {
            value["kind"] = kind.into();
        }
        value
    }
}

/// An outcome as the adapter protocol writes it.
pub(super) fn json_of(outcome: Outcome) -> Value {
    match outcome {
        Err(refusal) => refusal.json(),
        Ok(delivered) => {
            let mut value = json!({
                "outcome": "ok",
                "server": delivered.server,
                "uri": delivered.uri,
            });
            if let Some(verified) = delivered.verified {
                value["verified"] = verified.into();
            }
            match String::from_utf8(delivered.bytes) {
                Ok(text) => value["text"] = text.into(),
                Err(error) => value["blob"] = STANDARD.encode(error.as_bytes()).into(),
            }
            value
        }
    }
}
