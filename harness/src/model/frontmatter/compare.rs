//! Whether a JSON object is the rendering of a frontmatter.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value};

use super::node::{Content, Document, Node, Style, push_segment};
use super::scalar::{self, Agreement, Reading};
use super::words::{list_words, node_words, quote, strings_words, value_words};

/// Most differences that are reported.
pub const MAX_DIFFERENCES: usize = 100;

/// How a rendered value differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// It is what YAML 1.1 makes of the value, but not what YAML 1.2 makes of it.
    Only11,
    /// It is what YAML 1.2 makes of the value, but not what YAML 1.1 makes of it.
    Only12,
    /// An integer that has gone through a 64-bit float and is not the same any more.
    LostDigits,
    /// The block scalar that ends the frontmatter, equal but for its last line breaks: some
    /// readers count the line break before the closing fence to the fence.
    FinalBreak,
    /// A plain scalar that is no string in either version of YAML (`1.0`, `true`, null), but is
    /// given as one, letter by letter. That is how readers without a type schema have it.
    Untyped,
    /// No reading of the frontmatter yields it.
    Neither,
}

/// One difference between a frontmatter and its rendering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// JSON Pointer of the value.
    pub pointer: String,
    /// How it differs.
    pub kind: Kind,
    /// What the frontmatter has, in words: `present` or `absent` for a whole field.
    pub expected: String,
    /// What the rendering has, in words: `missing` or `present` for a whole field.
    pub actual: String,
}

/// Every difference between a frontmatter and the JSON object that should render it, up to
/// [`MAX_DIFFERENCES`].
///
/// Key order is free, and so is the spelling of numbers. Keys are compared by their text.
/// Merge keys may be carried out or kept; where a key is duplicate, its first and its last
/// value are good. Null is a value: a key that has it must be there.
pub fn compare(document: &Document, entry: &Value) -> Vec<Difference> {
    let mut judge = Judge {
        final_block: document.final_block,
        pointer: String::new(),
        found: Vec::new(),
        key_trials: 10_000,
    };
    let nothing = document.root.reading() == Some(Reading::Null) && document.root.tag.is_none();
    if !(nothing && entry.as_object().is_some_and(Map::is_empty)) {
        judge.node(&document.root, entry);
    }
    judge.found
}

struct Judge {
    final_block: Option<(usize, usize)>,
    pointer: String,
    found: Vec<Difference>,
    /// How many keys may still be tried against others than their own text.
    key_trials: usize,
}

/// A key of a mapping, with all the values it may have.
struct Field<'a> {
    key: &'a Node,
    values: Vec<&'a Node>,
}

impl Judge {
    fn report(&mut self, kind: Kind, expected: impl Into<String>, actual: impl Into<String>) {
        if self.found.len() < MAX_DIFFERENCES {
            self.found.push(Difference {
                pointer: self.pointer.clone(),
                kind,
                expected: expected.into(),
                actual: actual.into(),
            });
        }
    }

    /// Judges something one level down.
    fn below(&mut self, segment: &str, judge: impl FnOnce(&mut Self)) {
        let length = self.pointer.len();
        push_segment(&mut self.pointer, segment);
        judge(self);
        self.pointer.truncate(length);
    }

    fn node(&mut self, node: &Node, value: &Value) {
        let tag = node.tag.as_deref();
        if let Some(tag) = tag.filter(|tag| !tag.starts_with("!!") && *tag != "!") {
            // Some readers keep a tag of one's own as an object with the tag for its key.
            if let Some(inner) = tagged(value, tag) {
                return self.content(node, inner);
            }
        }
        self.content(node, value);
    }

    fn content(&mut self, node: &Node, value: &Value) {
        match (&node.content, value) {
            (Content::Scalar { text, style }, _) => self.scalar(node, text, *style, value),
            // These tags have no one rendering in JSON.
            (_, Value::Array(_) | Value::Object(_))
                if matches!(node.tag.as_deref(), Some("!!set" | "!!omap" | "!!pairs")) => {}
            (Content::Sequence(items), Value::Array(values)) => self.sequence(items, values),
            (Content::Mapping(pairs), Value::Object(object)) => self.mapping(pairs, object),
            (_, value) => self.report(Kind::Neither, node_words(node), value_words(value)),
        }
    }

    fn sequence(&mut self, items: &[Node], values: &[Value]) {
        if items.len() != values.len() {
            let (expected, actual) = (list_words(items.len()), list_words(values.len()));
            return self.report(Kind::Neither, expected, actual);
        }
        for (index, (item, value)) in items.iter().zip(values).enumerate() {
            if self.found.len() >= MAX_DIFFERENCES {
                return;
            }
            self.below(&index.to_string(), |judge| judge.node(item, value));
        }
    }

    fn mapping(&mut self, pairs: &[(Node, Node)], object: &Map<String, Value>) {
        let mut fields = Fields::default();
        fields.collect(pairs, !object.contains_key("<<"));
        let mut matched: HashSet<&str> = HashSet::with_capacity(object.len());
        let mut astray = Vec::new();
        for field in &fields.list {
            let text = field.key.text().unwrap_or_default();
            match object.get_key_value(text) {
                Some((key, value)) => {
                    matched.insert(key);
                    self.below(text, |judge| judge.field(field, value));
                }
                None => astray.push(field),
            }
        }
        for field in astray {
            let text = field.key.text().unwrap_or_default();
            match self.find_key(field.key, text, object, &matched) {
                Some((key, kind)) => {
                    matched.insert(key);
                    self.below(text, |judge| {
                        if let Some(kind) = kind {
                            let (expected, actual) = (quote(text, 0), quote(key, 0));
                            judge.report(kind, format!("the key {expected}"), actual);
                        }
                        judge.field(field, &object[key]);
                    });
                }
                None => self.below(text, |judge| {
                    judge.report(Kind::Neither, "present", "missing");
                }),
            }
        }
        // A list or a mapping as a key: any rendering of it will do.
        let extra = object.len() - matched.len();
        if extra <= fields.complex {
            return;
        }
        for key in object.keys().filter(|key| !matched.contains(key.as_str())) {
            self.below(key, |judge| {
                judge.report(Kind::Neither, "absent", "present");
            });
        }
    }

    /// The key of `object` that renders a YAML key which is not there by its text.
    fn find_key<'o>(
        &mut self,
        node: &Node,
        text: &str,
        object: &'o Map<String, Value>,
        matched: &HashSet<&str>,
    ) -> Option<(&'o str, Option<Kind>)> {
        let new = node.reading()?;
        let plain = matches!(
            node.content,
            Content::Scalar {
                style: Style::Plain,
                ..
            }
        );
        let old = if plain && node.tag.is_none() {
            scalar::old(text)
        } else {
            Reading::Str
        };
        if new == Reading::Str && old == Reading::Str {
            return None;
        }
        for key in object.keys().filter(|key| !matched.contains(key.as_str())) {
            self.key_trials = self.key_trials.checked_sub(1)?;
            if scalar::key_agrees(&new, text, key) {
                return Some((key, None));
            }
            if scalar::key_agrees(&old, text, key) {
                return Some((key, Some(Kind::Only11)));
            }
        }
        None
    }

    /// Judges a value against those that a key may have, and keeps the kindest verdict.
    fn field(&mut self, field: &Field, value: &Value) {
        let [only] = field.values[..] else {
            let before = std::mem::take(&mut self.found);
            let mut best: Option<Vec<Difference>> = None;
            for node in field.values.iter().rev() {
                self.node(node, value);
                let found = std::mem::take(&mut self.found);
                if best
                    .as_ref()
                    .is_none_or(|best| weight(&found) < weight(best))
                {
                    best = Some(found);
                }
            }
            self.found = before;
            self.found.extend(best.unwrap_or_default());
            self.found.truncate(MAX_DIFFERENCES);
            return;
        };
        self.node(only, value);
    }

    fn scalar(&mut self, node: &Node, text: &str, style: Style, value: &Value) {
        if let Some(kind) = self.scalar_kind(node, text, style, value) {
            let (expected, actual) = match (node.as_str(), value) {
                // Equal strings differ in what YAML 1.1 makes of the scalar, which must be told.
                (Some(a), Value::String(b)) if a != b => strings_words(a, b),
                _ => (node_words(node), value_words(value)),
            };
            self.report(kind, expected, actual);
        }
    }

    fn scalar_kind(&self, node: &Node, text: &str, style: Style, value: &Value) -> Option<Kind> {
        let string = value.as_str();
        let plain = style == Style::Plain;
        let (new, old) = match node.tag.as_deref() {
            Some("!!binary") if string.is_some() => return None,
            Some(tag) if tag.starts_with("!!") || tag == "!" => {
                let reading = node.reading().unwrap_or(Reading::Str);
                (reading.clone(), reading)
            }
            // A tag of one's own may make a string of anything.
            Some(_) if string == Some(text) => return None,
            _ if plain => (scalar::core(text), scalar::old(text)),
            _ => (Reading::Str, Reading::Str),
        };
        let old_agrees = match scalar::agrees(&old, text, value) {
            Agreement::No if plain && string == Some(text) && scalar::old_is_also_text(text) => {
                Agreement::Yes
            }
            agreement => agreement,
        };
        match (scalar::agrees(&new, text, value), old_agrees) {
            (Agreement::Yes, Agreement::Yes) => None,
            (Agreement::Yes, _) => Some(Kind::Only12),
            (_, Agreement::Yes) => Some(Kind::Only11),
            (Agreement::Rounded, _) | (_, Agreement::Rounded) => Some(Kind::LostDigits),
            _ => match string {
                Some(string) if plain && node.tag.is_none() && string == text => {
                    Some(Kind::Untyped)
                }
                Some(string) if new == Reading::Str && self.is_final_block(node) => {
                    let same = string.trim_end_matches('\n') == text.trim_end_matches('\n');
                    Some(if same {
                        Kind::FinalBreak
                    } else {
                        Kind::Neither
                    })
                }
                Some(string) if new == Reading::Str && same_but_old_breaks(text, string) => {
                    Some(Kind::Only11)
                }
                _ => Some(Kind::Neither),
            },
        }
    }

    fn is_final_block(&self, node: &Node) -> bool {
        self.final_block == Some((node.line, node.column))
    }
}

/// The fields of a mapping, by the text of their keys.
#[derive(Default)]
struct Fields<'a> {
    list: Vec<Field<'a>>,
    places: HashMap<&'a str, usize>,
    /// Keys that are no scalars.
    complex: usize,
}

impl<'a> Fields<'a> {
    fn collect(&mut self, pairs: &'a [(Node, Node)], merging: bool) {
        let mut merges = Vec::new();
        for (key, value) in pairs {
            let Some(text) = key.text() else {
                self.complex += 1;
                continue;
            };
            if merging && key.is_merge_key() && is_mergeable(value) {
                merges.push(value);
                continue;
            }
            match self.places.get(text) {
                Some(&place) => {
                    let values = &mut self.list[place].values;
                    values.truncate(1);
                    values.push(value);
                }
                None => self.add(text, key, value),
            }
        }
        for value in merges {
            match &value.content {
                Content::Mapping(pairs) => self.merge(pairs),
                Content::Sequence(items) => {
                    for pairs in items.iter().filter_map(Node::pairs) {
                        self.merge(pairs);
                    }
                }
                Content::Scalar { .. } => {}
            }
        }
    }

    /// Merged values yield to a field's own ones; but some libraries have it the other way
    /// round, so that either is good.
    fn merge(&mut self, pairs: &'a [(Node, Node)]) {
        let mut merged = Fields::default();
        merged.collect(pairs, true);
        self.complex += merged.complex;
        for field in merged.list {
            let text = field.key.text().unwrap_or_default();
            match self.places.get(text) {
                Some(&place) => self.list[place].values.extend(field.values),
                None => {
                    self.places.insert(text, self.list.len());
                    self.list.push(field);
                }
            }
        }
    }

    fn add(&mut self, text: &'a str, key: &'a Node, value: &'a Node) {
        self.places.insert(text, self.list.len());
        self.list.push(Field {
            key,
            values: vec![value],
        });
    }
}

fn is_mergeable(value: &Node) -> bool {
    match &value.content {
        Content::Mapping(_) => true,
        Content::Sequence(items) => items.iter().all(|item| item.pairs().is_some()),
        Content::Scalar { .. } => false,
    }
}

/// What an object with the tag for its only key holds.
fn tagged<'v>(value: &'v Value, tag: &str) -> Option<&'v Value> {
    let object = value.as_object().filter(|object| object.len() == 1)?;
    object
        .get(tag)
        .or_else(|| object.get(tag.strip_prefix('!')?))
}

fn weight(found: &[Difference]) -> (Option<Kind>, usize) {
    let worst = found.iter().map(|difference| difference.kind).max();
    (worst, found.len())
}

/// YAML 1.1 counts three more characters as line breaks, and folds them away.
fn same_but_old_breaks(text: &str, string: &str) -> bool {
    let is_old_break = |c: char| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}');
    let solid = |text: &str| -> String {
        let kept = text.chars();
        kept.filter(|c| !c.is_whitespace() && !is_old_break(*c))
            .collect()
    };
    text.contains(is_old_break) && solid(text) == solid(string)
}
