//! How a scenario bends answers: edits of JSON, and rules for when they apply.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};

/// Edits of a JSON value, by pointer, in the order `duplicate`, `remove`, `set`, `insert`, `alter`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Bend {
    /// The method to whose answers alone the edits of an entry apply.
    pub via: Option<String>,
    /// Items of arrays to put in a second time, before themselves.
    pub duplicate: Vec<String>,
    /// Members to take out.
    pub remove: Vec<String>,
    /// Members to put in or to replace.
    pub set: BTreeMap<String, Value>,
    /// Items to put into an array, before the item that the pointer names.
    pub insert: BTreeMap<String, Value>,
    /// Values to change: `upper`, `wrong` (the last character, of a text the last before its final
    /// line break), `reverse` (an array), or a number to add.
    pub alter: BTreeMap<String, Value>,
}

impl Bend {
    /// Whether it applies to an entry in an answer to `method`.
    pub fn applies(&self, method: &str) -> bool {
        self.via.as_deref().is_none_or(|via| via == method)
    }

    /// Does the edits; what a pointer does not lead to is left alone.
    pub fn apply(&self, value: &mut Value) {
        for pointer in &self.duplicate {
            if let Some((Value::Array(items), last)) = parent(value, pointer)
                && let Ok(index) = last.parse::<usize>()
                && let Some(item) = items.get(index).cloned()
            {
                items.insert(index, item);
            }
        }
        for pointer in &self.remove {
            if let Some((parent, last)) = parent(value, pointer) {
                match parent {
                    Value::Object(members) => {
                        members.remove(&last);
                    }
                    Value::Array(items) => {
                        if let Ok(index) = last.parse::<usize>()
                            && index < items.len()
                        {
                            items.remove(index);
                        }
                    }
                    _ => {}
                }
            }
        }
        for (pointer, new) in &self.set {
            match parent(value, pointer) {
                Some((Value::Object(members), last)) => {
                    members.insert(last, new.clone());
                }
                Some((Value::Array(items), last)) => {
                    let index = last.parse::<usize>().ok();
                    if let Some(item) = index.and_then(|index| items.get_mut(index)) {
                        *item = new.clone();
                    }
                }
                _ if pointer.is_empty() => *value = new.clone(),
                _ => {}
            }
        }
        for (pointer, new) in &self.insert {
            if let Some((Value::Array(items), last)) = parent(value, pointer) {
                let index = last.parse::<usize>().unwrap_or(items.len());
                items.insert(index.min(items.len()), new.clone());
            }
        }
        for (pointer, how) in &self.alter {
            if let Some(old) = value.pointer_mut(pointer) {
                *old = altered(old, how);
            }
        }
    }
}

/// The value that holds what a pointer leads to, and the last token.
fn parent<'a>(value: &'a mut Value, pointer: &str) -> Option<(&'a mut Value, String)> {
    let (path, last) = pointer.rsplit_once('/')?;
    let last = last.replace("~1", "/").replace("~0", "~");
    Some((value.pointer_mut(path)?, last))
}

fn altered(old: &Value, how: &Value) -> Value {
    match (old, how) {
        (Value::Number(number), Value::Number(add)) => {
            json!(number.as_i64().unwrap_or(0) + add.as_i64().unwrap_or(0))
        }
        (Value::String(text), Value::String(how)) => match how.as_str() {
            "upper" => match text.split_once(':') {
                Some((scheme, digits)) => json!(format!("{scheme}:{}", digits.to_uppercase())),
                None => json!(text.to_uppercase()),
            },
            "wrong" => {
                let body = text.trim_end();
                let (mut changed, end) = (body.to_owned(), &text[body.len()..]);
                let last = changed.pop();
                changed.push(if last == Some('0') { '1' } else { '0' });
                json!(changed + end)
            }
            _ => old.clone(),
        },
        (Value::Array(items), Value::String(how)) if how == "reverse" => {
            items.iter().rev().cloned().collect()
        }
        _ => old.clone(),
    }
}

/// What is done to answers to some requests.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// The method.
    pub request: String,
    /// The `uri` that the request must name.
    pub uri: Option<String>,
    /// The cursor that the request must carry.
    pub cursor: Option<String>,
    /// Which of these requests, from 1; all when left out.
    #[serde(default)]
    pub nth: Vec<usize>,
    /// The URI for which the answer is given in place of the one asked for.
    pub answer_for: Option<String>,
    /// Edits of the result.
    #[serde(default, rename = "result")]
    pub bend: Bend,
    /// Text that is put behind the text of the first file of the result.
    pub append: Option<String>,
    /// An error in the place of the result.
    pub error: Option<Failure>,
    /// Waits before the answer, in milliseconds.
    #[serde(default)]
    pub delay_ms: u64,
    /// Bytes in the place of the answer.
    pub raw: Option<String>,
    /// How often such a request came.
    #[serde(skip)]
    pub seen: usize,
}

/// A JSON-RPC error.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Failure {
    /// Its code.
    pub code: i64,
    /// Its message.
    #[serde(default = "message")]
    pub message: String,
}

fn message() -> String {
    "the scenario asks for this error".into()
}

impl Rule {
    /// Whether the rule applies to a request, which is counted if it is one of the rule's.
    pub fn takes(&mut self, method: &str, params: &Value) -> bool {
        let member = |name: &str| params.get(name).and_then(Value::as_str);
        let same = |wanted: &Option<String>, name: &str| {
            wanted
                .as_deref()
                .is_none_or(|wanted| member(name) == Some(wanted))
        };
        if self.request != method || !same(&self.uri, "uri") || !same(&self.cursor, "cursor") {
            return false;
        }
        self.seen += 1;
        self.nth.is_empty() || self.nth.contains(&self.seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_reach_what_they_name_and_nothing_else() {
        let bend: Bend = serde_json::from_value(json!({
            "remove": ["/a"],
            "set": {"/b/c": 1, "/list/0": "x"},
            "insert": {"/list/0": "first"},
            "alter": {"/n": 2, "/d": "upper", "/missing": "upper"},
        }))
        .unwrap();
        let mut value = json!({"a": 1, "b": {}, "list": ["y"], "n": 1, "d": "sha256:ab"});
        bend.apply(&mut value);
        assert_eq!(
            value,
            json!({"b": {"c": 1}, "list": ["first", "x"], "n": 3, "d": "sha256:AB"})
        );
    }

    #[test]
    fn a_rule_counts_its_own_requests() {
        let mut rule: Rule =
            serde_json::from_value(json!({"request": "resources/read", "uri": "u", "nth": [2]}))
                .unwrap();
        let params = json!({"uri": "u"});
        assert!(!rule.takes("resources/read", &json!({"uri": "v"})));
        assert!(!rule.takes("resources/read", &params));
        assert!(rule.takes("resources/read", &params));
        assert!(!rule.takes("resources/read", &params));
    }
}
