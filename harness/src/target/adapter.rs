//! An adapter: the program that gives a host a common control surface (docs/adapter-protocol.md).

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::{ChildStdin, ChildStdout};
use tokio_util::codec::{AnyDelimiterCodec, FramedRead};

use super::process::Process;
use super::serve::stage::Stage;
use super::{TargetError, TargetSpec};
use crate::wire::frame::Direction;
use crate::wire::json as wire_json;
use crate::wire::jsonrpc::{self, Kind, METHOD_NOT_FOUND};
use crate::wire::scene::{Ask, Consent, Reply};

/// The longest line that is taken in, in bytes: a file of 16 MiB in base64, and then some.
const LONGEST: usize = 64 * 1024 * 1024;

/// What the user answers to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether the user agrees.
    pub allow: bool,
    /// Whether the answer is to be kept.
    pub remember: bool,
}

/// A running adapter.
#[derive(Debug)]
pub struct Adapter {
    process: Process,
    stdin: Option<ChildStdin>,
    lines: FramedRead<ChildStdout, AnyDelimiterCodec>,
    stage: Stage,
    next_id: u64,
    lost: bool,
}

impl Adapter {
    /// Starts the adapter; what passes is recorded on the stage.
    ///
    /// # Errors
    ///
    /// The command cannot be started.
    pub fn start(spec: &TargetSpec, stage: &Stage) -> Result<Self, TargetError> {
        let (process, stdin, stdout) = Process::start(spec)?;
        let codec = AnyDelimiterCodec::new_with_max_length(b"\n".into(), b"\n".into(), LONGEST);
        Ok(Self {
            process,
            stdin: Some(stdin),
            lines: FramedRead::with_capacity(stdout, codec, 64 * 1024),
            stage: stage.clone(),
            next_id: 1,
            lost: false,
        })
    }

    /// Calls a verb and waits for its answer; questions that come meanwhile are answered by `user`.
    /// The call is recorded under `name`.
    pub async fn ask(
        &mut self,
        verb: &str,
        params: Value,
        name: Option<&str>,
        timeout: Duration,
        user: &(dyn Fn(&Value) -> Decision + Sync),
    ) -> Reply {
        let id = self.next_id;
        self.next_id += 1;
        let call = json!({"jsonrpc": "2.0", "id": id, "method": verb, "params": params});
        let from = self.send(&call).await;
        let stage = self.stage.clone();
        let (reply, to) = tokio::select! {
            biased;
            waited = self.wait(id, user) => waited,
            () = stage.flooded() => (Reply::TimedOut, from),
            () = tokio::time::sleep(timeout) => (Reply::TimedOut, from),
        };
        self.stage.asked(Ask {
            verb: verb.to_owned(),
            params,
            name: name.map(str::to_owned),
            reply: reply.clone(),
            from,
            to: if to == from { usize::MAX } else { to },
        });
        reply
    }

    /// How a call went to which the adapter has not answered.
    pub fn silence(&self, verb: &str, timeout: Duration) -> String {
        match self.stage.flood() {
            Some(requests) => {
                format!("the host sent {requests} requests and had not finished `{verb}`")
            }
            None => format!(
                "the adapter did not answer `{verb}` within {}",
                humantime::format_duration(timeout)
            ),
        }
    }

    /// Whether the adapter has ended or no longer answers.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// How the adapter ended, and the end of what it wrote to standard error.
    pub async fn obituary(&mut self) -> TargetError {
        let status = self.process.exit_status(self.lost).await;
        TargetError {
            message: match status {
                Some(status) => format!("the adapter ended ({status})"),
                None => "the adapter closed its output".to_owned(),
            },
            stderr: self.process.stderr_tail(),
        }
    }

    /// Ends the adapter.
    pub async fn stop(mut self) {
        self.stdin = None;
        let listens = !self.lost;
        self.process.stop(listens).await;
    }

    async fn send(&mut self, message: &Value) -> usize {
        let mut bytes = message.to_string().into_bytes();
        let frame = self.stage.adapter_frame(Direction::Sent, &bytes);
        bytes.push(b'\n');
        if let Some(stdin) = &mut self.stdin
            && (stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err())
        {
            self.lost = true;
        }
        frame
    }

    /// The answer to a call, and the number of its frame.
    async fn wait(
        &mut self,
        id: u64,
        user: &(dyn Fn(&Value) -> Decision + Sync),
    ) -> (Reply, usize) {
        loop {
            let Some(Ok(line)) = self.lines.next().await else {
                self.lost = true;
                return (Reply::Lost, usize::MAX);
            };
            if line.iter().all(u8::is_ascii_whitespace) {
                continue;
            }
            let at = self.stage.adapter_frame(Direction::Received, &line);
            let Some(message) = parse(&line) else {
                continue;
            };
            match jsonrpc::kind(&message) {
                Kind::Response { id: Some(other) } if *other == json!(id) => {
                    return (reply(&message), at);
                }
                Kind::Request { id, method } => {
                    let id = id.clone();
                    let answer = if method == "approve" {
                        let params = message.get("params").cloned().unwrap_or(Value::Null);
                        let Decision { allow, remember } = user(&params);
                        self.stage.consented(Consent {
                            at,
                            params,
                            allowed: allow,
                            remember,
                        });
                        let decision = if allow { "allow" } else { "deny" };
                        json!({"jsonrpc": "2.0", "id": id,
                            "result": {"decision": decision, "remember": remember}})
                    } else {
                        json!({"jsonrpc": "2.0", "id": id, "error":
                            {"code": METHOD_NOT_FOUND, "message": "the suite offers `approve` only"}})
                    };
                    self.send(&answer).await;
                }
                _ => {}
            }
        }
    }
}

fn parse(line: &Bytes) -> Option<Value> {
    wire_json::parse(line).ok().map(|(value, _)| value)
}

fn reply(message: &Value) -> Reply {
    match (message.get("error"), message.get("result")) {
        (None, Some(result)) => Reply::Result(result.clone()),
        (Some(error), _) => {
            let code = error.get("code").and_then(Value::as_i64);
            if code == Some(METHOD_NOT_FOUND) {
                return Reply::Unimplemented;
            }
            let text = error.get("message").and_then(Value::as_str);
            Reply::Error(text.unwrap_or("an error without a message").to_owned())
        }
        (None, None) => Reply::Error("neither a result nor an error".to_owned()),
    }
}
