//! A subprocess that speaks MCP on its standard streams.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt;
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWriteExt};
use tokio::process::ChildStdin;
use tokio::sync::mpsc;
use tokio_util::codec::{AnyDelimiterCodec, AnyDelimiterCodecError, FramedRead};

use super::pending::Pending;
use super::process::Process;
use super::recorder::Recorder;
use super::{Limits, TargetError, TargetSpec};
use crate::wire::frame::Direction;
use crate::wire::jsonrpc::{self, Kind, METHOD_NOT_FOUND};
use crate::wire::trace::Unanswered;

/// A running subprocess.
#[derive(Debug)]
pub struct Link {
    process: Process,
    outgoing: Option<mpsc::UnboundedSender<Bytes>>,
    pending: Pending,
    timeout: Duration,
}

impl Link {
    /// Starts the command in a process group of its own.
    ///
    /// # Errors
    ///
    /// The command cannot be started; the message names it.
    pub fn start(
        spec: &TargetSpec,
        recorder: &Recorder,
        limits: &Limits,
    ) -> Result<Self, TargetError> {
        let (process, stdin, stdout) = Process::start(spec)?;
        let (outgoing, queue) = mpsc::unbounded_channel();
        let pending = Pending::new(recorder.clone());
        tokio::spawn(write(stdin, queue));
        let reader = Reader {
            recorder: recorder.clone(),
            pending: pending.clone(),
            outgoing: outgoing.downgrade(),
        };
        tokio::spawn(reader.run(stdout, limits.message));
        Ok(Self {
            process,
            outgoing: Some(outgoing),
            pending,
            timeout: limits.timeout,
        })
    }

    /// Sends a request and waits for its answer; returns the answer's frame.
    pub async fn request(
        &self,
        id: u64,
        exchange: usize,
        bytes: Bytes,
    ) -> Result<usize, Unanswered> {
        let waiting = self.pending.expect(id, exchange);
        self.write(bytes);
        waiting.answer(self.timeout).await
    }

    /// Sends bytes that expect no answer; what comes back unasked from now on, until
    /// [`Link::end_probe`], belongs to `exchange`.
    pub fn begin_probe(&self, exchange: usize, bytes: Bytes) {
        self.pending.open_bracket(exchange);
        self.write(bytes);
    }

    /// Ends a probe.
    pub fn end_probe(&self) {
        self.pending.close_bracket();
    }

    /// Sends bytes that expect no answer.
    pub fn write(&self, mut bytes: Bytes) {
        if !bytes.ends_with(b"\n") {
            bytes = [bytes.as_ref(), b"\n"].concat().into();
        }
        if let Some(outgoing) = &self.outgoing {
            // The writer is gone when the process is; the reader then reports the loss.
            let _ = outgoing.send(bytes);
        }
    }

    /// Whether the process has closed its output.
    pub fn is_lost(&self) -> bool {
        self.pending.is_lost()
    }

    /// The end of what the process wrote to standard error.
    pub fn stderr_tail(&self) -> String {
        self.process.stderr_tail()
    }

    /// How the process ended, if it has. The end of its output can be seen a moment before its
    /// exit status.
    pub async fn exit_status(&mut self) -> Option<String> {
        let lost = self.is_lost();
        self.process.exit_status(lost).await
    }

    /// Ends the process: closes its input, waits (unless the process has shown that it does not
    /// listen), terminates the whole group, kills it.
    pub async fn stop(mut self, listens: bool) {
        self.outgoing = None;
        self.process.stop(listens).await;
    }
}

async fn write(mut stdin: ChildStdin, mut queue: mpsc::UnboundedReceiver<Bytes>) {
    let mut batch = Vec::new();
    while queue.recv_many(&mut batch, 64).await > 0 {
        let bytes = batch.concat();
        batch.clear();
        if stdin.write_all(&bytes).await.is_err() || stdin.flush().await.is_err() {
            return;
        }
    }
}

struct Reader {
    recorder: Recorder,
    pending: Pending,
    outgoing: mpsc::WeakUnboundedSender<Bytes>,
}

impl Reader {
    async fn run(self, stdout: impl AsyncRead + Unpin, longest: usize) {
        let codec = AnyDelimiterCodec::new_with_max_length(b"\n".into(), b"\n".into(), longest);
        let mut lines = FramedRead::with_capacity(stdout, codec, 64 * 1024);
        while let Some(line) = lines.next().await {
            match line {
                Ok(line) => {
                    let line = line
                        .strip_suffix(b"\r")
                        .map_or(line.clone(), |rest| line.slice_ref(rest));
                    if !line.iter().all(u8::is_ascii_whitespace) {
                        self.take(line);
                    }
                }
                Err(AnyDelimiterCodecError::MaxChunkLengthExceeded) => {
                    let note = format!("(a line longer than {longest} bytes was dropped)");
                    self.recorder.frame(Direction::Received, None, note.into());
                }
                Err(AnyDelimiterCodecError::Io(_)) => break,
            }
        }
        self.pending.lose();
    }

    fn take(&self, line: Bytes) {
        let frame = self.recorder.frame(Direction::Received, None, line);
        enum Meaning {
            Answer(Option<Value>),
            Request(Value, bool),
            Nothing,
        }
        let meaning =
            self.recorder
                .with_frame(frame, |frame| match frame.json().map(jsonrpc::kind) {
                    Some(Kind::Response { id }) => Meaning::Answer(id.cloned()),
                    Some(Kind::Request { id, method }) => {
                        Meaning::Request(id.clone(), method == "ping")
                    }
                    _ => Meaning::Nothing,
                });
        match meaning {
            Meaning::Answer(id) => self.pending.arrive(id.as_ref(), frame),
            Meaning::Request(id, ping) => {
                let answer = answer_to_server(&id, ping);
                self.recorder.frame(Direction::Sent, None, answer.clone());
                if let Some(outgoing) = self.outgoing.upgrade() {
                    let _ = outgoing.send([answer.as_ref(), b"\n"].concat().into());
                }
            }
            Meaning::Nothing => self.pending.arrive(None, frame),
        }
    }
}

/// What the harness answers to a request of the server: `ping` is alive, everything else is not
/// offered by this client.
pub fn answer_to_server(id: &Value, ping: bool) -> Bytes {
    let answer = if ping {
        json!({"jsonrpc": "2.0", "id": id, "result": {}})
    } else {
        let error =
            json!({"code": METHOD_NOT_FOUND, "message": "this client does not offer the method"});
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    };
    answer.to_string().into()
}
