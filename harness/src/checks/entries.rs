//! Skill entries and manifest items, wherever they stand in a trace.

use std::sync::Arc;

use serde_json::Value;

use crate::wire::json;
use crate::wire::trace::{Exchange, Place};

/// A skill entry, wherever it stands.
#[derive(Debug, Clone)]
pub struct Entry<'a> {
    /// The entry; not always an object.
    pub value: &'a Value,
    /// Where it stands.
    pub at: Place,
    /// The answer that holds it.
    pub exchange: &'a Exchange,
    /// Its position in a page of the listing; none in an answer of `skills/get`.
    pub index: Option<usize>,
    uri: Option<&'a str>,
    items: Arc<[Item<'a>]>,
}

/// An item of an entry's `resources` array.
#[derive(Debug, Clone)]
pub struct Item<'a> {
    /// The item; not always an object.
    pub value: &'a Value,
    /// Its members, looked up once: nearly every check asks for them.
    uri: Option<&'a str>,
    digest: Option<&'a str>,
    size: Option<u64>,
    frame: usize,
    entry: Option<usize>,
    index: usize,
}

impl<'a> Entry<'a> {
    /// The entry that stands `at`, in the answer of `exchange`.
    pub fn new(value: &'a Value, at: Place, index: Option<usize>, exchange: &'a Exchange) -> Self {
        let items = value.get("resources").and_then(Value::as_array);
        let item = |(place, value): (usize, &'a Value)| {
            let digest = value.get("digest").and_then(Value::as_str);
            Item {
                value,
                uri: value.get("uri").and_then(Value::as_str),
                digest: digest.filter(|digest| is_digest(digest)),
                size: value.get("size").and_then(size_of),
                frame: at.frame,
                entry: index,
                index: place,
            }
        };
        Self {
            value,
            uri: value.get("uri").and_then(Value::as_str),
            items: items.into_iter().flatten().enumerate().map(item).collect(),
            at,
            exchange,
            index,
        }
    }

    /// `uri`, when it is a string.
    pub fn uri(&self) -> Option<&'a str> {
        self.uri
    }

    /// What findings about this entry are about: its URI, or its place in the listing.
    pub fn subject(&self) -> String {
        self.uri()
            .map_or_else(|| format!("entry at {}", self.at.pointer), str::to_owned)
    }

    /// The URI, or the whole entry as text where it has none.
    pub fn subject_uri(&self) -> String {
        self.uri()
            .map_or_else(|| self.value.to_string(), str::to_owned)
    }

    /// `frontmatter`, when it is an object.
    pub fn frontmatter(&self) -> Option<&'a Value> {
        self.value
            .get("frontmatter")
            .filter(|value| value.is_object())
    }

    /// Whether `resources` is the string `"dynamic"`.
    pub fn is_dynamic(&self) -> bool {
        self.value.get("resources").and_then(Value::as_str) == Some("dynamic")
    }

    /// The items of `resources`, when it is an array.
    pub fn items(&self) -> &[Item<'a>] {
        &self.items
    }
}

impl<'a> Item<'a> {
    /// Where it stands; written out only when it is asked for, since manifests are long.
    pub fn at(&self) -> Place {
        let entry = match self.entry {
            Some(entry) => format!("skills/{entry}"),
            None => "skill".to_owned(),
        };
        Place {
            frame: self.frame,
            pointer: format!("/result/{entry}/resources/{}", self.index),
        }
    }

    /// `uri`, when it is a string.
    pub fn uri(&self) -> Option<&'a str> {
        self.uri
    }

    /// `digest`, when it has the form that the SEP asks for.
    pub fn digest(&self) -> Option<&'a str> {
        self.digest
    }

    /// `size`, when it is a non-negative integer.
    pub fn size(&self) -> Option<u64> {
        self.size
    }

    /// What findings about this item are about: its URI, or its place.
    pub fn subject(&self) -> String {
        self.uri()
            .map_or_else(|| format!("item at {}", self.at().pointer), str::to_owned)
    }
}

/// Whether a digest is written as `sha256:` and 64 lower-case hexadecimal digits.
pub fn is_digest(digest: &str) -> bool {
    digest.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64
            && hex
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// A non-negative integer, also when it is spelled `2314.0`: JSON does not tell the two apart.
pub fn size_of(value: &Value) -> Option<u64> {
    value
        .as_u64()
        .or_else(|| json::integer(value)?.try_into().ok())
}

/// What a member is, for the "actual" of a finding.
pub fn describe(value: Option<&Value>) -> String {
    match value {
        None => "absent".to_owned(),
        Some(value) if value.is_null() => "null".to_owned(),
        Some(value) => format!("{}: {}", json::type_name(value), json::excerpt(value, 100)),
    }
}
