//! Calls the program as a user would, and makes what it says comparable.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::PROGRAM;

/// What came of one call of the program.
pub struct Ran {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
    pub took: Duration,
}

impl Ran {
    /// All of it, for snapshots.
    pub fn all(&self) -> String {
        let mut text = format!("exit code {}\n", self.code);
        for (name, stream) in [("stdout", &self.stdout), ("stderr", &self.stderr)] {
            if !stream.is_empty() {
                text.push_str(&format!("--- {name}\n{stream}"));
            }
        }
        stable(&text)
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).expect(&self.stdout)
    }
}

pub fn conform(args: &[&str]) -> Ran {
    conform_in(Path::new("."), args)
}

pub fn conform_in(directory: &Path, args: &[&str]) -> Ran {
    let begun = Instant::now();
    let output = Command::new(PROGRAM)
        .args(args)
        .current_dir(directory)
        .env("COLUMNS", "100")
        .env("NO_COLOR", "1")
        .env_remove("CLICOLOR_FORCE")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Ran {
        code: output.status.code().expect("ended by a signal"),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
        took: begun.elapsed(),
    }
}

/// A server given as a shell script; `$0` is the program.
pub fn sh(options: &[&str], script: &str) -> Ran {
    conform(&[&["server"], options, &["--", "sh", "-c", script, PROGRAM]].concat())
}

/// Takes out what changes from run to run and from version to version.
pub fn stable(text: &str) -> String {
    let mut text = text
        .replace(PROGRAM, "[program]")
        .replace(env!("CARGO_PKG_VERSION"), "[version]");
    for (before, after) in [
        (" · ", " ms"),
        ("frame ", ""),
        ("\"frame\": ", ""),
        ("\"duration_ms\": ", ""),
    ] {
        text = without_number(&text, before, after);
    }
    text
}

/// Writes `[n]` for a number between the two texts.
fn without_number(text: &str, before: &str, after: &str) -> String {
    let mut result = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(before) {
        let (head, tail) = rest.split_at(at + before.len());
        result.push_str(head);
        let end = tail
            .find(|c: char| !c.is_ascii_digit() && c != ',')
            .unwrap_or(tail.len());
        let number = &tail[..end].trim_end_matches(',');
        rest = tail;
        if !number.is_empty() && tail[number.len()..].starts_with(after) {
            result.push_str("[n]");
            rest = &tail[number.len()..];
        }
    }
    result + rest
}

pub fn head(text: &str, lines: usize) -> String {
    let lines: Vec<&str> = text.lines().take(lines).collect();
    lines.join("\n")
}
