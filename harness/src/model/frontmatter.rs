//! The YAML frontmatter of a `SKILL.md`: finding it, reading it, comparing it with JSON.
//!
//! Comparison asks whether a JSON object *can* be the rendering of the frontmatter, whatever
//! YAML library made it. So a plain scalar may be read as YAML 1.1 or as YAML 1.2 has it, and
//! the result says which of the two it was.

use std::fmt;

mod compare;
mod node;
mod read;
mod scalar;
mod timestamp;
mod words;

pub use compare::{Difference, Kind, MAX_DIFFERENCES, compare};
pub use node::{Content, Document, Node, Style};
pub use read::{ErrorKind, MAX_DEPTH, MAX_NODES, YamlError, read};

/// Why a file has no frontmatter block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoBlock {
    /// The first line is no opening fence; the text says what is there instead.
    Missing(String),
    /// There is an opening fence, but no closing one.
    Unclosed,
    /// The block is not UTF-8.
    NotUtf8,
    /// The opening that was looked at ends before the closing fence.
    TooLong,
}

impl fmt::Display for NoBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(what) => write!(f, "does not begin with a line `---`: {what}"),
            Self::Unclosed => f.write_str("has frontmatter that no line `---` closes"),
            Self::NotUtf8 => f.write_str("has frontmatter that is not UTF-8"),
            Self::TooLong => f.write_str("has frontmatter longer than what was looked at"),
        }
    }
}

impl std::error::Error for NoBlock {}

/// The YAML between the two fences, with its last line break.
///
/// `bytes` are the opening of a file, the whole of it if `complete`. A fence is a line of
/// three hyphens, blanks behind them allowed; lines end in LF, CRLF or CR; a byte-order mark
/// before the first fence is passed over. Only the block itself has to be UTF-8.
///
/// # Errors
///
/// When there is no such block, or when it can't be told from the opening alone.
pub fn block(bytes: &[u8], complete: bool) -> Result<&str, NoBlock> {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let opening = line_end(text, 0);
    if !is_fence(&text[..opening.0]) {
        return Err(NoBlock::Missing(instead(&text[..opening.0], bytes)));
    }
    let start = opening.1;
    let mut at = start;
    while at < text.len() {
        let (end, next) = line_end(text, at);
        let whole = next > end || complete;
        if whole && is_fence(&text[at..end]) {
            return std::str::from_utf8(&text[start..at]).map_err(|_| NoBlock::NotUtf8);
        }
        at = next;
    }
    Err(if complete {
        NoBlock::Unclosed
    } else {
        NoBlock::TooLong
    })
}

/// Where the line that begins at `from` ends, and where the next one begins.
fn line_end(text: &[u8], from: usize) -> (usize, usize) {
    let rest = &text[from..];
    match rest.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
        None => (text.len(), text.len()),
        Some(length) => {
            let end = from + length;
            let pair = text[end..].starts_with(b"\r\n");
            (end, end + if pair { 2 } else { 1 })
        }
    }
}

fn is_fence(line: &[u8]) -> bool {
    line.strip_prefix(b"---")
        .is_some_and(|rest| rest.iter().all(|byte| matches!(byte, b' ' | b'\t')))
}

/// What stands in the place of the opening fence.
fn instead(line: &[u8], bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "it is empty".to_owned();
    }
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return "it looks like UTF-16".to_owned();
    }
    if line.is_empty() {
        return "its first line is empty".to_owned();
    }
    let text = String::from_utf8_lossy(&line[..line.len().min(160)]);
    let mut shown: String = text.chars().take(40).collect();
    if shown.len() < line.len() {
        shown.push('…');
    }
    format!("its first line is {shown:?}")
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
