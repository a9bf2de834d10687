//! A YAML document as a tree that still knows how each value was written.

use std::sync::Arc;

use super::scalar::{self, Reading};

/// How a scalar was written; only a plain one can be anything but a string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// Without quotes.
    Plain,
    /// In single or double quotes.
    Quoted,
    /// As a literal (`|`) or folded (`>`) block.
    Block,
}

/// What a node holds. Shared, because an alias repeats the node it stands for.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text with quotes, escapes and folding resolved, but not yet typed.
    Scalar {
        /// The text.
        text: Arc<str>,
        /// How it was written.
        style: Style,
    },
    /// A list.
    Sequence(Arc<[Node]>),
    /// A mapping, in the order of the document, duplicate and merge keys included.
    Mapping(Arc<[(Node, Node)]>),
}

/// One value of a YAML document; aliases are resolved.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// What it holds.
    pub content: Content,
    /// The explicit tag: `!!str` and the like for those of YAML itself, else the full tag
    /// (`!local`, `tag:example.org,2000:x`, or `!` alone).
    pub tag: Option<Arc<str>>,
    /// Line in the YAML, from 1. Of an alias: where its target stands.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
}

impl Node {
    /// The string, if this is one: a quoted or block scalar, or a plain one to which YAML 1.2
    /// gives no other type (so `yes` is one, `true` and `1.0` are not).
    pub fn as_str(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } if self.reading() == Some(Reading::Str) => Some(text),
            _ => None,
        }
    }

    /// The text of a scalar, whatever its type.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Scalar { text, .. } => Some(text),
            _ => None,
        }
    }

    /// The items, if this is a list.
    pub fn items(&self) -> Option<&[Node]> {
        match &self.content {
            Content::Sequence(items) => Some(items),
            _ => None,
        }
    }

    /// The pairs, if this is a mapping.
    pub fn pairs(&self) -> Option<&[(Node, Node)]> {
        match &self.content {
            Content::Mapping(pairs) => Some(pairs),
            _ => None,
        }
    }

    /// The value of a key of this mapping. The last one counts where there are several; merge
    /// keys are not followed.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let (_, value) = self
            .pairs()?
            .iter()
            .rfind(|(name, _)| name.text() == Some(key))?;
        Some(value)
    }

    /// The type in words ("a string", "a mapping"), as YAML 1.2 has it.
    pub fn type_words(&self) -> &'static str {
        match &self.content {
            Content::Sequence(_) => "a list",
            Content::Mapping(_) => "a mapping",
            Content::Scalar { .. } => match self.reading() {
                Some(Reading::Null) => "null",
                Some(Reading::Bool(_)) => "a boolean",
                Some(Reading::Int(_)) => "an integer",
                Some(Reading::Float(_)) => "a number",
                Some(Reading::Timestamp(_)) => "a timestamp",
                Some(Reading::Str) | None => "a string",
            },
        }
    }

    /// Whether every value can be shown in JSON as every library does: no infinity, no integer of
    /// more than 64 bits.
    pub fn fits_json(&self) -> bool {
        match &self.content {
            Content::Scalar { .. } => match self.reading() {
                Some(Reading::Int(value)) => {
                    (i128::from(i64::MIN)..=i128::from(u64::MAX)).contains(&value)
                }
                Some(Reading::Float(value)) => value.is_finite(),
                _ => true,
            },
            Content::Sequence(items) => items.iter().all(Node::fits_json),
            Content::Mapping(pairs) => pairs.iter().all(|(_, value)| value.fits_json()),
        }
    }

    /// What YAML 1.2 makes of this scalar, its tag included.
    pub(super) fn reading(&self) -> Option<Reading> {
        let Content::Scalar { text, style } = &self.content else {
            return None;
        };
        let typed = |fits: fn(&Reading) -> bool| {
            [scalar::core(text), scalar::old(text)]
                .into_iter()
                .find(fits)
                .unwrap_or(Reading::Str)
        };
        Some(match self.tag.as_deref() {
            Some("!!str" | "!" | "!!binary") => Reading::Str,
            Some("!!null") => Reading::Null,
            Some("!!bool") => typed(|reading| matches!(reading, Reading::Bool(_))),
            Some("!!int") => typed(|reading| matches!(reading, Reading::Int(_))),
            Some("!!float") => {
                typed(|reading| matches!(reading, Reading::Float(_) | Reading::Int(_)))
            }
            Some("!!timestamp") => typed(|reading| matches!(reading, Reading::Timestamp(_))),
            _ if *style != Style::Plain => Reading::Str,
            _ => scalar::core(text),
        })
    }

    /// Whether this is the key that asks for a merge of its value.
    pub(super) fn is_merge_key(&self) -> bool {
        matches!(&self.content, Content::Scalar { text, style: Style::Plain } if &**text == "<<")
    }
}

/// A YAML document, and what is unusual about it.
///
/// The lists hold JSON Pointers, in document order, and stop after a hundred.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The value of the document; null if there is nothing in it.
    pub root: Node,
    /// Keys that an earlier key of the same mapping has used, compared by their text.
    pub duplicate_keys: Vec<String>,
    /// Merge keys (`<<`).
    pub merge_keys: Vec<String>,
    /// Keys that are no strings in YAML 1.2 (`1`, `true`, `null`, lists).
    pub non_string_keys: Vec<String>,
    /// Values with an explicit tag, and the tag.
    pub tags: Vec<(String, String)>,
    /// How many aliases there are.
    pub aliases: usize,
    /// Line and column of the block scalar that ends the document, if one does.
    pub(super) final_block: Option<(usize, usize)>,
}

impl Document {
    /// The pairs of the document, if it is a mapping.
    pub fn mapping(&self) -> Option<&[(Node, Node)]> {
        self.root.pairs()
    }

    /// The value of a top-level key (see [`Node::get`]).
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.root.get(key)
    }
}

/// Appends a segment to a JSON Pointer; of a very long one, only its beginning.
pub(super) fn push_segment(pointer: &mut String, segment: &str) {
    const LONGEST: usize = 100;
    pointer.push('/');
    for (count, c) in segment.chars().enumerate() {
        match c {
            _ if count == LONGEST => {
                pointer.push('…');
                break;
            }
            '~' => pointer.push_str("~0"),
            '/' => pointer.push_str("~1"),
            c => pointer.push(c),
        }
    }
}
