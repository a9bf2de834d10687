//! A verifier: decides, from an entry and what arrived, whether a host may load the skill and use
//! the files.
//!
//! It reads JSON lines `{id, entry, files: {uri: base64}}` and answers each with
//! `{id, verdict: "accept" | "reject", reason?}`. Files of the manifest that are not among `files`
//! were not read, which is no reason to reject.

mod content;
mod faults;
mod manifest;

use std::io::{self, BufRead, Write};

use serde_json::{Map, Value, json};

use crate::options::StartError;

use faults::Switch;
pub use faults::verifier_faults;

/// What a verifier does wrong; honest by default.
#[derive(Debug, Clone, Default)]
pub struct VerifierOptions {
    /// The id of the rule that it breaks.
    pub fault: Option<String>,
}

/// A verifier.
#[derive(Debug, Clone, Copy)]
pub struct Verifier {
    fault: Switch,
}

impl Verifier {
    /// A verifier with these options.
    ///
    /// # Errors
    ///
    /// There is no such fault.
    pub fn new(options: &VerifierOptions) -> Result<Self, StartError> {
        let fault = Switch::new(options.fault.as_deref())?;
        Ok(Self { fault })
    }

    /// Whether the skill may be loaded and the files be used, or why not. `text` is the message
    /// that the two came in.
    ///
    /// # Errors
    ///
    /// Why the skill is not to be loaded, or a file not to be used.
    pub fn verify(&self, message: &Value, text: &str) -> Result<(), String> {
        let nothing = Map::new();
        let entry = &message["entry"];
        let files = message["files"].as_object().unwrap_or(&nothing);
        manifest::verify(entry, files, text, self.fault)
    }

    /// The answer to one line; `None` where none is given, which only faults do. One of them ends
    /// the process.
    pub fn answer(&self, line: &str) -> Option<String> {
        let message: Value = match serde_json::from_str(line) {
            Ok(message) => message,
            Err(error) => {
                let reason = format!("not JSON: {error}");
                return Some(
                    json!({"id": null, "verdict": "reject", "reason": reason}).to_string(),
                );
            }
        };
        let malformed = !message["entry"]["uri"].is_string();
        if malformed && self.fault.on("answer/silent") {
            return None;
        }
        if malformed && self.fault.on("answer/prose") {
            return Some("entry has no uri, skipping".to_owned());
        }
        if malformed && self.fault.on("answer/crash") {
            eprintln!("TypeError: cannot read properties of undefined (reading 'endsWith')");
            std::process::exit(101);
        }
        let id = &message["id"];
        Some(match self.verify(&message, line) {
            Ok(()) => format!("{{\"id\":{id},\"verdict\":\"accept\"}}"),
            Err(reason) => json!({"id": id, "verdict": "reject", "reason": reason}).to_string(),
        })
    }
}

/// Answers lines on standard input until it ends.
///
/// # Errors
///
/// There is no such fault, or standard input or output fail.
pub fn serve_verifier_stdio(options: &VerifierOptions) -> io::Result<()> {
    let verifier = Verifier::new(options).map_err(io::Error::other)?;
    let mut input = io::BufReader::with_capacity(1 << 16, io::stdin().lock());
    let mut output = io::BufWriter::with_capacity(1 << 16, io::stdout().lock());
    let mut line = String::new();
    while input.read_line(&mut line)? > 0 {
        if let Some(answer) = verifier.answer(line.trim_end()) {
            output.write_all(answer.as_bytes())?;
            output.write_all(b"\n")?;
        }
        // Nothing waits: as long as there is more to read, answers are gathered.
        if input.buffer().is_empty() {
            output.flush()?;
        }
        line.clear();
    }
    output.flush()
}

#[cfg(test)]
mod tests;
