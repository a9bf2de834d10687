//! The line to whoever plays the user: requests come in, answers and
//! questions go out.

use std::fmt;
use std::io;

use serde_json::{Value, json};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, Lines};

use super::outcome::{Key, Refusal, refuse};

/// Both directions of the adapter protocol.
pub(super) struct User {
    lines: Lines<Box<dyn AsyncBufRead + Unpin + Send>>,
    output: Box<dyn AsyncWrite + Unpin + Send>,
    asked: u64,
}

impl fmt::Debug for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("User")
            .field("asked", &self.asked)
            .finish_non_exhaustive()
    }
}

/// A question to the user.
#[derive(Debug, Clone)]
pub(super) struct Question {
    pub kind: &'static str,
    pub key: Key,
    pub other_server: Option<String>,
    pub tools: Vec<String>,
    pub detail: String,
}

impl Question {
    pub fn new(kind: &'static str, key: &Key, detail: String) -> Question {
        Question {
            kind,
            key: key.clone(),
            other_server: None,
            tools: Vec::new(),
            detail,
        }
    }
}

/// What the user said.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decision {
    pub allow: bool,
    /// The answer is to be kept.
    pub remember: bool,
}

impl Decision {
    /// Goes on if the user allowed it.
    pub fn or_refuse(self, what: &str) -> Result<Decision, Refusal> {
        if self.allow {
            Ok(self)
        } else {
            refuse("denied", format!("the user did not allow {what}"))
        }
    }
}

impl User {
    pub fn new(
        input: Box<dyn AsyncBufRead + Unpin + Send>,
        output: Box<dyn AsyncWrite + Unpin + Send>,
    ) -> User {
        User {
            lines: input.lines(),
            output,
            asked: 0,
        }
    }

    /// The next message, or nothing when the input has ended. Nothing is lost
    /// when the future is dropped.
    pub async fn next(&mut self) -> io::Result<Option<Value>> {
        while let Some(line) = self.lines.next_line().await? {
            if line.trim().is_empty() {
                continue;
            }
            match serde_json::from_str(&line) {
                Ok(message) => return Ok(Some(message)),
                Err(error) => eprintln!("sep2640-reference: not JSON: {error}"),
            }
        }
        Ok(None)
    }

    pub async fn send(&mut self, message: &Value) -> io::Result<()> {
        self.output
            .write_all(format!("{message}\n").as_bytes())
            .await?;
        self.output.flush().await
    }

    /// Asks the user. No answer is a no.
    pub async fn ask(&mut self, question: &Question) -> Decision {
        let no = Decision {
            allow: false,
            remember: false,
        };
        self.asked += 1;
        let id = format!("ask-{}", self.asked);
        let mut params = json!({
            "kind": question.kind,
            "server": question.key.server,
            "uri": question.key.uri,
            "detail": question.detail,
        });
        if let Some(other) = &question.other_server {
            params["other_server"] = other.as_str().into();
        }
        if !question.tools.is_empty() {
            params["tools"] = json!(question.tools);
        }
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "approve", "params": params});
        if self.send(&request).await.is_err() {
            return no;
        }
        while let Ok(Some(message)) = self.next().await {
            if message["id"] != id.as_str() || message.get("method").is_some() {
                continue;
            }
            let result = &message["result"];
            return Decision {
                allow: result["decision"] == "allow",
                remember: result["remember"] == Value::Bool(true),
            };
        }
        no
    }
}
