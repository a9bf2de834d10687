//! A conversation with an adapter, of which every line is looked at.

use std::time::Duration;

use futures::StreamExt;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio_util::codec::{AnyDelimiterCodec, FramedRead};

use super::schema::disagreement;
use super::{Plan, Row, Wrong};
use crate::target::TargetError;
use crate::target::process::Process;
use crate::wire::json as wire_json;
use crate::wire::jsonrpc::METHOD_NOT_FOUND;

/// The longest line that is taken in, in bytes.
const LONGEST: usize = 64 * 1024 * 1024;
/// How much of a line is shown, in characters.
const SHOWN: usize = 160;

/// An answer, with the line that it came in.
pub(super) struct Answered {
    pub(super) message: Value,
    pub(super) line: String,
}

/// A conversation with an adapter.
pub(super) struct Talk<F> {
    pub(super) process: Process,
    pub(super) stdin: Option<ChildStdin>,
    pub(super) lines: FramedRead<ChildStdout, AnyDelimiterCodec>,
    pub(super) timeout: Duration,
    next_id: u64,
    pub(super) lines_seen: usize,
    pub(super) gone: bool,
    pub(super) faults: usize,
    tell: F,
}

impl<F: FnMut(&Row)> Talk<F> {
    /// Starts the adapter.
    pub(super) fn start(plan: &Plan, tell: F) -> Result<Self, TargetError> {
        let (process, stdin, stdout) = Process::start(&plan.target)?;
        let codec = AnyDelimiterCodec::new_with_max_length(b"\n".into(), b"\n".into(), LONGEST);
        Ok(Talk {
            process,
            stdin: Some(stdin),
            lines: FramedRead::with_capacity(stdout, codec, 64 * 1024),
            timeout: plan.timeout,
            next_id: 1,
            lines_seen: 0,
            gone: false,
            faults: 0,
            tell,
        })
    }

    /// Makes a call and waits for its answer; whatever else comes is looked at. None where there is
    /// no answer, which is told.
    pub(super) async fn ask(
        &mut self,
        what: &str,
        method: &str,
        params: &Value,
    ) -> Option<Answered> {
        let id = self.next_id;
        self.next_id += 1;
        let call = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&call).await;
        let limit = self.timeout;
        match tokio::time::timeout(limit, self.wait(what, id)).await {
            Ok(answered) => answered,
            Err(_) => {
                let actual = format!("nothing within {}", humantime::format_duration(limit));
                self.wrong(what, format!("an answer to call {id}"), actual, None);
                // What would come now belongs to nothing.
                self.gone = true;
                None
            }
        }
    }

    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(line.as_bytes()).await;
            let _ = stdin.flush().await;
        }
    }

    async fn wait(&mut self, what: &str, id: u64) -> Option<Answered> {
        loop {
            let Some(Ok(bytes)) = self.lines.next().await else {
                self.gone = true;
                let status = self.process.exit_status(true).await;
                let actual = match status {
                    Some(status) => format!("the adapter ended ({status})"),
                    None => "the adapter closed its output".to_owned(),
                };
                self.wrong(what, format!("an answer to call {id}"), actual, None);
                return None;
            };
            self.lines_seen += 1;
            let line = excerpt(&bytes);
            let message = match wire_json::parse(&bytes) {
                Ok((message, _)) if message.is_object() => message,
                Ok(_) => {
                    self.wrong(
                        what,
                        "one JSON object a line",
                        "JSON of another kind",
                        Some(&line),
                    );
                    continue;
                }
                Err(error) => {
                    let expected =
                        "nothing but messages on standard output, one JSON object a line";
                    if line.trim().is_empty() {
                        self.wrong(what, expected, "an empty line", None);
                    } else {
                        self.wrong(what, expected, error.to_string(), Some(&line));
                    }
                    continue;
                }
            };
            if message.get("method").is_some() {
                self.called_back(what, &message, &line).await;
                continue;
            }
            let kind = if message.get("error").is_some() {
                "Error"
            } else {
                "Result"
            };
            if let Some(why) = disagreement(kind, &message) {
                let expected = "{\"jsonrpc\": \"2.0\", \"id\": ID, \"result\": {…}} or \"error\"";
                self.wrong(what, expected, why, Some(&line));
            }
            match message.get("id") {
                Some(other) if *other == json!(id) => return Some(Answered { message, line }),
                Some(other) => {
                    let actual = format!("an answer to {other}");
                    self.wrong(
                        what,
                        format!("the id {id} as it was sent"),
                        actual,
                        Some(&line),
                    );
                    // It answers this call all the same, unless it answers an earlier one.
                    if other.as_u64().is_none_or(|other| other >= id) {
                        return Some(Answered { message, line });
                    }
                }
                None => return Some(Answered { message, line }),
            }
        }
    }

    /// Looks at a call of the adapter, and says yes to it.
    async fn called_back(&mut self, what: &str, message: &Value, line: &str) {
        let Some(id) = message.get("id") else {
            self.wrong(what, "calls with an id", "a notification", Some(line));
            return;
        };
        let what = format!("{what}: approve");
        let answer = if message["method"] == "approve" {
            match disagreement("Approve", message) {
                Some(why) => self.wrong(&what, "a question (schema Approve)", why, Some(line)),
                None => self.ok(&what, message.pointer("/params/kind").map(Value::to_string)),
            }
            json!({"jsonrpc": "2.0", "id": id, "result": {"decision": "allow", "remember": false}})
        } else {
            let actual = format!("a call of {}", message["method"]);
            self.wrong(&what, "`approve`, the only call back", actual, Some(line));
            json!({"jsonrpc": "2.0", "id": id, "error":
                {"code": METHOD_NOT_FOUND, "message": "the suite offers `approve` only"}})
        };
        self.send(&answer).await;
    }

    pub(super) fn ok(&mut self, what: &str, note: Option<String>) {
        (self.tell)(&Row {
            what: what.to_owned(),
            wrong: None,
            note,
        });
    }

    pub(super) fn wrong(
        &mut self,
        what: &str,
        expected: impl Into<String>,
        actual: impl Into<String>,
        line: Option<&str>,
    ) {
        self.faults += 1;
        (self.tell)(&Row {
            what: what.to_owned(),
            wrong: Some(Wrong {
                expected: expected.into(),
                actual: actual.into(),
                line: line.map(str::to_owned),
            }),
            note: None,
        });
    }
}

/// The beginning of a line, safe to show.
pub(super) fn excerpt(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * SHOWN)]).into_owned();
    let short: String = text.chars().take(SHOWN).collect();
    let more = if short.len() < bytes.len() { "…" } else { "" };
    format!(
        "{}{more}",
        short.escape_debug().to_string().replace("\\\"", "\"")
    )
}
