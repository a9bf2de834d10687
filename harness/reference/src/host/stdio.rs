//! MCP over the standard streams of a child process, from the client's side.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

use super::http::LIMIT;

/// A server that runs as a child process.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Process {
    pub fn start(command: &[String]) -> Result<Process, String> {
        let (program, arguments) = command.split_first().ok_or("the command is empty")?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("cannot start {program}: {error}"))?;
        let input = child.stdin.take().ok_or("the child has no input")?;
        let output = child.stdout.take().ok_or("the child has no output")?;
        Ok(Process {
            child,
            input,
            output: BufReader::new(output),
        })
    }

    /// Sends a message that is not answered.
    pub async fn send(&mut self, message: &Value) -> Result<(), String> {
        let line = format!("{message}\n");
        let write = async {
            self.input.write_all(line.as_bytes()).await?;
            self.input.flush().await
        };
        match timeout(Duration::from_secs(10), write).await {
            Ok(written) => written.map_err(|error| error.to_string()),
            Err(_) => Err("the server does not read".to_owned()),
        }
    }

    /// Sends a request and waits for its answer.
    pub async fn ask(&mut self, request: &Value, patience: Duration) -> Result<Value, String> {
        self.send(request).await?;
        match timeout(patience, self.answer_to(&request["id"])).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("no answer within {} s", patience.as_secs())),
        }
    }

    async fn answer_to(&mut self, id: &Value) -> Result<Value, String> {
        loop {
            let mut line = Vec::new();
            let mut limited = (&mut self.output).take(LIMIT as u64);
            let read = limited.read_until(b'\n', &mut line).await;
            match read.map_err(|error| error.to_string())? {
                0 => return Err("the server has ended".to_owned()),
                _ if line.last() != Some(&b'\n') && line.len() >= LIMIT => {
                    return Err(format!("the answer has more than {LIMIT} bytes"));
                }
                _ => {}
            }
            let Ok(message) = serde_json::from_slice::<Value>(&line) else {
                continue;
            };
            if message.get("method").is_none() {
                if message.get("id") == Some(id) {
                    return Ok(message);
                }
            } else if let Some(asked) = message.get("id") {
                self.send(&answer(&message, asked)).await?;
            }
        }
    }

    /// Ends the process: its input is closed, and after a while it is killed.
    pub async fn end(mut self) {
        drop(self.input);
        if timeout(Duration::from_secs(1), self.child.wait())
            .await
            .is_err()
        {
            let _ = self.child.kill().await;
        }
    }
}

/// The answer to a request of the server: pings are answered, for anything
/// else no capability was declared.
fn answer(request: &Value, id: &Value) -> Value {
    if request["method"] == "ping" {
        json!({"jsonrpc": "2.0", "id": id, "result": {}})
    } else {
        json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "not supported"}})
    }
}
