//! What arrived: its digest, and the frontmatter of SKILL.md.

use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::faults::Switch;
use crate::frontmatter;

/// The digest of a file, in hexadecimal.
pub(super) fn hash(bytes: &[u8], fault: Switch) -> String {
    let text = || String::from_utf8_lossy(bytes);
    let digest = if fault.on("digest/text") {
        Sha256::digest(text().as_bytes())
    } else if fault.on("digest/line-breaks") {
        Sha256::digest(text().replace("\r\n", "\n").as_bytes())
    } else if fault.on("digest/mark") {
        Sha256::digest(bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes))
    } else if fault.on("digest/trim") {
        Sha256::digest(bytes.trim_ascii_end())
    } else {
        Sha256::digest(bytes)
    };
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let digits = digest
        .iter()
        .flat_map(|byte| [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
    digits.map(char::from).collect()
}

/// Holds the frontmatter of SKILL.md against that of the entry.
pub(super) fn compare(
    bytes: &[u8],
    listed: &Map<String, Value>,
    text: &str,
    fault: Switch,
) -> Result<(), String> {
    if fault.on("frontmatter/ignored") || fault.on("entry/frontmatter") && listed.is_empty() {
        return Ok(());
    }
    let written = match read(bytes, fault) {
        Ok(written) => written,
        Err(_) if fault.on("frontmatter/unreadable") => return Ok(()),
        Err(reason) => return Err(format!("SKILL.md: {reason}")),
    };
    let skipped = |key: &str| {
        fault.on("frontmatter/name-only") && key != "name"
            || fault.on("frontmatter/description") && !matches!(key, "name" | "description")
            || fault.on("frontmatter/not-name") && key == "name"
            || fault.on("frontmatter/known-only") && key.starts_with("x-")
    };
    let absent = |key: &str, value: &Value| {
        skipped(key) || fault.on("frontmatter/null-absent") && value.is_null()
    };
    for (key, value) in listed {
        match written.get(key) {
            Some(written) if skipped(key) || same(written, value, fault) => {}
            Some(_) => return Err(format!("`{key}` differs from SKILL.md")),
            None if absent(key, value) || fault.on("frontmatter/missing") => {}
            None if fault.on("frontmatter/key-case")
                && written.keys().any(|known| known.eq_ignore_ascii_case(key)) => {}
            None => return Err(format!("SKILL.md has no `{key}`")),
        }
    }
    for (key, value) in &written {
        let known = listed.contains_key(key)
            || fault.on("frontmatter/key-case")
                && listed.keys().any(|known| known.eq_ignore_ascii_case(key));
        if !known && !absent(key, value) && !fault.on("frontmatter/extra") {
            return Err(format!("the entry has no `{key}`"));
        }
    }
    if fault.on("accept/key-order") && !same_order(bytes, listed, text) {
        return Err("the fields stand in another order".to_owned());
    }
    Ok(())
}

fn read(bytes: &[u8], fault: Switch) -> Result<Map<String, Value>, String> {
    if fault.on("frontmatter/last-block") {
        let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
        let blocks: Vec<&str> = text.split("---\n").collect();
        let last = blocks.iter().rev().find(|block| block.contains("name:"));
        let block = format!("---\n{}---\n", last.unwrap_or(&""));
        return frontmatter::read(block.as_bytes());
    }
    frontmatter::read(bytes)
}

/// Whether the fields of the message stand in the order of the file.
fn same_order(bytes: &[u8], listed: &Map<String, Value>, text: &str) -> bool {
    let Ok((yaml, _)) = frontmatter::split(bytes) else {
        return true;
    };
    let text = text
        .split_once("\"frontmatter\":")
        .map_or("", |(_, rest)| rest);
    let place = |text: &str, key: &str| {
        text.find(&format!("{key}\":"))
            .or_else(|| text.find(&format!("{key}:")))
    };
    let order = |text: &str| {
        let mut keys: Vec<_> = listed.keys().map(|key| (place(text, key), key)).collect();
        keys.sort();
        keys.into_iter().map(|(_, key)| key).collect::<Vec<_>>()
    };
    order(yaml) == order(text)
}

/// Whether two values say the same; numbers by their value.
fn same(written: &Value, listed: &Value, fault: Switch) -> bool {
    match (written, listed) {
        (Value::Object(_), Value::Object(_)) if fault.on("frontmatter/nested") => true,
        (Value::Array(_), Value::Array(_)) if fault.on("frontmatter/list") => true,
        (Value::Object(written), Value::Object(listed)) => {
            let absent = |value: &Value| value.is_null() && fault.on("frontmatter/null-absent");
            let found = |key: &String, value: &Value| match listed.get(key) {
                Some(other) => same(value, other, fault),
                None => absent(value),
            };
            let all = written.iter().all(|(key, value)| found(key, value));
            let mut unknown = listed
                .iter()
                .filter(|(key, value)| !written.contains_key(*key) && !absent(value));
            all && unknown.next().is_none()
        }
        (Value::Array(written), Value::Array(listed)) => {
            if fault.on("frontmatter/list-order") {
                return written.len() == listed.len()
                    && written
                        .iter()
                        .all(|one| listed.iter().any(|other| same(one, other, fault)));
            }
            let short = fault.on("frontmatter/list-prefix") && listed.len() <= written.len();
            (written.len() == listed.len() || short)
                && written
                    .iter()
                    .zip(listed)
                    .all(|(one, other)| same(one, other, fault))
        }
        (Value::Object(_) | Value::Array(_), _) | (_, Value::Object(_) | Value::Array(_)) => false,
        (Value::String(one), Value::String(other)) => {
            one == other
                || fault.on("frontmatter/trimmed") && one.trim() == other.trim()
                || fault.on("frontmatter/case") && one.to_lowercase() == other.to_lowercase()
                || fault.on("frontmatter/ascii") && ascii(one) == ascii(other)
                || fault.on("frontmatter/blanks")
                    && one.split_whitespace().eq(other.split_whitespace())
        }
        (Value::Number(one), Value::Number(other)) => {
            one == other
                || one.as_f64() == other.as_f64() && (one.is_f64() || other.is_f64())
                || fault.on("frontmatter/truncated") && truncated(one) == truncated(other)
        }
        (one, other) if fault.on("frontmatter/retyped") => as_text(one) == as_text(other),
        (one, other) if fault.on("frontmatter/falsy") => one == other || falsy(one) && falsy(other),
        (one, other) => one == other,
    }
}

fn ascii(text: &str) -> String {
    text.chars().filter(char::is_ascii).collect()
}

fn truncated(number: &serde_json::Number) -> Option<i64> {
    number.as_f64().map(|number| number as i64)
}

fn as_text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn falsy(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Array(_) | Value::Object(_) => false,
    }
}
