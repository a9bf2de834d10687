//! One line of a verifier's answers.

use std::{fmt, io};

use serde::Deserialize;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// What came for a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Observed {
    /// Accepted.
    Accept,
    /// Rejected, with the reason that was given.
    Reject(String),
    /// A line that is no answer.
    NoAnswer(String),
    /// Nothing, though later cases were answered.
    Silence,
    /// The verifier ended.
    Ended(String),
    /// The verifier did not answer in time.
    Hang,
    /// Not known, because the verifier had ended before.
    Unknown,
}

impl Observed {
    /// What it is, in a word.
    pub fn word(&self) -> &'static str {
        match self {
            Observed::Accept => "accept",
            Observed::Reject(_) => "reject",
            Observed::NoAnswer(_) => "prose",
            Observed::Silence => "silence",
            Observed::Ended(_) => "end",
            Observed::Hang => "hang",
            Observed::Unknown => "unknown",
        }
    }
}

impl fmt::Display for Observed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Observed::Accept => f.write_str("accept"),
            Observed::Reject(reason) if reason.is_empty() => f.write_str("reject"),
            Observed::Reject(reason) => write!(f, "reject: {reason}"),
            Observed::NoAnswer(line) => write!(f, "not an answer: {line}"),
            Observed::Silence => f.write_str("no answer"),
            Observed::Ended(how) => write!(f, "the verifier ended: {how}"),
            Observed::Hang => f.write_str("no answer in time"),
            Observed::Unknown => f.write_str("unknown"),
        }
    }
}

#[derive(Deserialize)]
struct Answer {
    id: u64,
    verdict: Verdict,
    #[serde(default)]
    reason: Option<serde_json::Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Accept,
    Reject,
}

/// How much of a line that is no answer is kept.
const KEPT: usize = 200;

/// Longest line that is read as one: what is longer is no answer.
const LONGEST: u64 = 1 << 20;

/// Reads up to the end of a line, or as much of it as is read as one; nothing at the end.
pub(super) async fn next(
    reader: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<usize> {
    reader.take(LONGEST).read_until(b'\n', line).await
}

/// Reads a line: the case that it answers, if it says so, and the answer.
pub fn read(line: &[u8]) -> (Option<u64>, Observed) {
    match serde_json::from_slice::<Answer>(line) {
        Ok(answer) => {
            let observed = match answer.verdict {
                Verdict::Accept => Observed::Accept,
                Verdict::Reject => Observed::Reject(match answer.reason {
                    Some(serde_json::Value::String(reason)) => reason,
                    _ => String::new(),
                }),
            };
            (Some(answer.id), observed)
        }
        Err(_) => {
            let text = String::from_utf8_lossy(line);
            let text: String = text.trim_end().chars().take(KEPT).collect();
            let id = serde_json::from_slice::<serde_json::Value>(line);
            let id = id.ok().and_then(|value| value.get("id")?.as_u64());
            (id, Observed::NoAnswer(text))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_told_from_prose() {
        assert_eq!(
            read(br#"{"id":3,"verdict":"accept"}"#),
            (Some(3), Observed::Accept)
        );
        let (id, observed) = read(br#"{"verdict":"reject","reason":"no","id":4,"more":[]}"#);
        assert_eq!((id, observed), (Some(4), Observed::Reject("no".into())));
        assert_eq!(read(b"loading").1.word(), "prose");
        let (id, observed) = read(br#"{"id":5,"verdict":"maybe"}"#);
        assert_eq!((id, observed.word()), (Some(5), "prose"));
    }
}
