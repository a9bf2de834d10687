//! Values in words, for the report of a difference.

use serde_json::Value;

use super::node::{Content, Node, Style};
use super::scalar::{self, Reading};

/// A YAML value in words; of a plain scalar, what both versions of YAML make of it.
pub(super) fn node_words(node: &Node) -> String {
    let Content::Scalar { text, style } = &node.content else {
        return match &node.content {
            Content::Sequence(items) => list_words(items.len()),
            _ => "a mapping".to_owned(),
        };
    };
    let new = reading_words(&node.reading().unwrap_or(Reading::Str), text);
    if *style != Style::Plain || node.tag.is_some() {
        return new;
    }
    let old = reading_words(&scalar::old(text), text);
    if new == old {
        new
    } else {
        format!("{new} (in YAML 1.1: {old})")
    }
}

fn reading_words(reading: &Reading, text: &str) -> String {
    match reading {
        Reading::Null => "null".to_owned(),
        Reading::Bool(value) => format!("the boolean {value}"),
        Reading::Int(value) => format!("the number {value}"),
        Reading::Float(_) => format!("the number {}", excerpt(text, 0)),
        Reading::Timestamp(_) => format!("the time {}", excerpt(text, 0)),
        Reading::Str => format!("the string {}", quote(text, 0)),
    }
}

/// A JSON value in words.
pub(super) fn value_words(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => format!("the boolean {value}"),
        Value::Number(number) => format!("the number {number}"),
        Value::String(text) => format!("the string {}", quote(text, 0)),
        Value::Array(values) => list_words(values.len()),
        Value::Object(_) => "a mapping".to_owned(),
    }
}

/// Two strings in words; of long ones, the part where they part.
pub(super) fn strings_words(a: &str, b: &str) -> (String, String) {
    let common = a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let from = if common < 40 { 0 } else { common - 20 };
    let words = |text: &str| format!("the string {}", quote(text, from));
    (words(a), words(b))
}

pub(super) fn list_words(length: usize) -> String {
    match length {
        1 => "a list of 1 item".to_owned(),
        length => format!("a list of {length} items"),
    }
}

/// A piece of a text in quotes, `from` counted in characters.
pub(super) fn quote(text: &str, from: usize) -> String {
    Value::String(excerpt(text, from)).to_string()
}

fn excerpt(text: &str, from: usize) -> String {
    const LONGEST: usize = 60;
    let mut rest = text.chars().skip(from);
    let mut piece = String::new();
    if from > 0 {
        piece.push('…');
    }
    piece.extend(rest.by_ref().take(LONGEST));
    if rest.next().is_some() {
        piece.push('…');
    }
    piece
}
