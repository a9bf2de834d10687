//! The stdio transport: one message per line.

use std::io::{self, Read, Write};
use std::sync::Arc;

use crate::message::{Channel, Then};
use crate::server::Server;

/// Serves standard input until it ends, answering in the order of the requests.
///
/// It also returns when a fault makes the server exit, and when the client
/// stops reading.
pub async fn serve_stdio(server: impl Into<Arc<Server>>) -> io::Result<()> {
    let server = server.into();
    // A thread of its own reads and writes. Asynchronous streams would hand
    // each read and each write over to another one, which takes longer than
    // most answers.
    let served = tokio::task::spawn_blocking(|| serve(server)).await;
    match served.map_err(io::Error::other)? {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

/// Answers to requests that came in together leave together, so that pipelined
/// requests cost few writes; but not more than this at once, in bytes, so that
/// the client has something to work on while the next ones are made.
const TOGETHER: usize = 4 * 1024;

fn serve(server: Arc<Server>) -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut output = io::stdout().lock();
    let mut lines = Lines::new(server);
    output.write_all(&lines.take())?;
    output.flush()?;
    let mut chunk = vec![0; 256 * 1024];
    while lines.then != Then::Exit {
        let count = match input.read(&mut chunk) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            count => count?,
        };
        if count == 0 {
            lines.end();
        }
        for line in chunk[..count].split_inclusive(|byte| *byte == b'\n') {
            lines.push(line);
            if lines.answers.len() >= TOGETHER {
                output.write_all(&lines.take())?;
                output.flush()?;
            }
        }
        output.write_all(&lines.take())?;
        output.flush()?;
        if count == 0 {
            break;
        }
    }
    Ok(())
}

/// Turns bytes as they come in into answers, line by line.
struct Lines {
    server: Arc<Server>,
    pending: Vec<u8>,
    answers: Vec<u8>,
    then: Then,
}

impl Lines {
    fn new(server: Arc<Server>) -> Lines {
        let mut answers = Vec::new();
        if let Some(banner) = server.sabotage.banner() {
            answers.extend_from_slice(banner.as_bytes());
            answers.push(b'\n');
        }
        Lines {
            server,
            pending: Vec::new(),
            answers,
            then: Then::GoOn,
        }
    }

    fn take(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.answers)
    }

    fn push(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            self.pending.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            self.end();
        }
        self.pending.extend_from_slice(rest);
    }

    /// The line is complete, or the input ended without a last newline.
    fn end(&mut self) {
        let line = std::mem::take(&mut self.pending);
        if self.then != Then::GoOn || line.trim_ascii().is_empty() {
            return;
        }
        let answer = self.server.handle(&line, Channel::Stdio);
        self.then = answer.then;
        if let Some(body) = answer.body {
            self.answers.extend_from_slice(&body);
            self.answers.push(b'\n');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn lines_may_arrive_in_pieces() {
        let server = Server::new(Options::default()).unwrap();
        let mut lines = Lines::new(Arc::new(server));
        lines.push(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"met");
        assert!(lines.take().is_empty());
        lines.push(b"hod\":\"ping\"}\r\n\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}");
        lines.end();
        let answers = String::from_utf8(lines.take()).unwrap();
        let ids: Vec<serde_json::Value> = answers
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["id"].take())
            .collect();
        assert_eq!(ids, [1, 2]);
    }

    #[test]
    fn only_the_fault_writes_a_banner() {
        for (fault, banner) in [(None, ""), (Some("sep-2640-stdout-clean"), "ready")] {
            let fault = fault.map(str::to_owned);
            let server = Server::new(Options {
                fault,
                ..Options::default()
            });
            let mut lines = Lines::new(Arc::new(server.unwrap()));
            let written = String::from_utf8(lines.take()).unwrap();
            assert_eq!(written.is_empty(), banner.is_empty());
            assert!(written.contains(banner));
        }
    }

    #[test]
    fn a_server_that_is_gone_says_nothing_more() {
        for (fault, then) in [
            ("sep-2640-alive-after-malformed", Then::Exit),
            ("sep-2640-alive-after-malformed/hang", Then::Hang),
        ] {
            let fault = Some(fault.to_owned());
            let server = Server::new(Options {
                fault,
                ..Options::default()
            });
            let mut lines = Lines::new(Arc::new(server.unwrap()));
            lines.push(b"{\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n");
            assert!(lines.take().is_empty());
            assert_eq!(lines.then, then);
        }
    }
}
