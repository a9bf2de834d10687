//! From YAML text to a [`Document`], within a budget.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Tag};
use serde::de::IgnoredAny;

use super::node::{Content, Document, Node, Style, push_segment};
use super::scalar::Reading;

/// Deepest nesting that is read, aliases resolved.
pub const MAX_DEPTH: usize = 100;

/// Most nodes that are read, aliases resolved.
pub const MAX_NODES: usize = 200_000;

/// Longest list of remarks of one sort.
const MAX_REMARKS: usize = 100;

/// What sort of thing keeps a text from being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// It is not YAML, or more than one document.
    Syntax,
    /// It is more than this reader takes on (size, depth, an alias to itself), or something
    /// that another reader is known to accept. It is no proof that the text is invalid.
    Undecided,
}

/// Why a text was not read as YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlError {
    /// What sort of error it is.
    pub kind: ErrorKind,
    /// Line, from 1, counted from the first line of the YAML.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            column,
            message,
            ..
        } = self;
        write!(f, "line {line}, column {column}: {message}")
    }
}

impl std::error::Error for YamlError {}

impl YamlError {
    fn at(mark: Marker, kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            line: mark.line(),
            column: mark.col() + 1,
            message: message.into(),
        }
    }
}

/// An error of the parser in our terms, after a second opinion: libyaml, on which many
/// readers are built, forgives some slips of indentation and spacing.
fn parse_error(error: &ScanError, yaml: &str) -> YamlError {
    let info = error.info();
    // Halves of surrogate pairs, which JSON-minded readers join, and very deep nesting.
    let disputed = info.contains("Unicode character escape") || info.contains("recursion");
    let kind = if disputed || serde_yaml::from_str::<IgnoredAny>(yaml).is_ok() {
        ErrorKind::Undecided
    } else {
        ErrorKind::Syntax
    };
    YamlError::at(*error.marker(), kind, info)
}

/// Reads one YAML document; nothing but comments reads as null.
///
/// # Errors
///
/// When the text is not YAML, holds several documents, or exceeds the budget
/// ([`MAX_DEPTH`], [`MAX_NODES`]).
pub fn read(yaml: &str) -> Result<Document, YamlError> {
    let mut builder = Builder::default();
    let mut documents = 0;
    for event in Parser::new_from_str(yaml) {
        let (event, span) = event.map_err(|error| parse_error(&error, yaml))?;
        let mark = span.start;
        match event {
            Event::DocumentStart(_) => {
                documents += 1;
                if documents > 1 {
                    let message = "a second document begins here";
                    return Err(YamlError::at(mark, ErrorKind::Syntax, message));
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted => Style::Quoted,
                    ScalarStyle::Literal | ScalarStyle::Folded => Style::Block,
                };
                let text = Arc::from(text.as_ref());
                builder.scalar(text, style, anchor, tag.as_deref(), mark)?;
            }
            Event::SequenceStart(anchor, tag) => {
                builder.open(Open::Sequence(Vec::new()), anchor, tag.as_deref(), mark)?;
            }
            Event::MappingStart(anchor, tag) => {
                let open = Open::Mapping(Vec::new(), None);
                builder.open(open, anchor, tag.as_deref(), mark)?;
            }
            Event::SequenceEnd | Event::MappingEnd => builder.close(mark)?,
            Event::Alias(anchor) => builder.alias(anchor, mark)?,
            Event::StreamEnd => break,
            Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
        }
    }
    Ok(builder.finish())
}

/// A collection that is not closed yet.
enum Open {
    Sequence(Vec<Node>),
    Mapping(Vec<(Node, Node)>, Option<Node>),
}

struct Frame {
    open: Open,
    anchor: usize,
    tag: Option<Arc<str>>,
    mark: Marker,
    measure: Measure,
}

/// Size of a subtree with its aliases resolved.
#[derive(Clone, Copy)]
struct Measure {
    nodes: usize,
    height: usize,
}

#[derive(Default)]
struct Builder {
    frames: Vec<Frame>,
    anchors: HashMap<usize, (Node, Measure)>,
    nodes: usize,
    aliases: usize,
    root: Option<Node>,
    final_block: Option<(usize, usize)>,
}

impl Builder {
    fn scalar(
        &mut self,
        text: Arc<str>,
        style: Style,
        anchor: usize,
        tag: Option<&Tag>,
        mark: Marker,
    ) -> Result<(), YamlError> {
        let node = Node {
            content: Content::Scalar { text, style },
            tag: tag.map(tag_text),
            line: mark.line(),
            column: mark.col() + 1,
        };
        self.final_block = (style == Style::Block).then_some((node.line, node.column));
        let measure = Measure {
            nodes: 1,
            height: 1,
        };
        self.spend(measure, mark)?;
        self.place(node, anchor, measure);
        Ok(())
    }

    fn open(
        &mut self,
        open: Open,
        anchor: usize,
        tag: Option<&Tag>,
        mark: Marker,
    ) -> Result<(), YamlError> {
        let measure = Measure {
            nodes: 1,
            height: 1,
        };
        self.spend(measure, mark)?;
        self.frames.push(Frame {
            open,
            anchor,
            tag: tag.map(tag_text),
            mark,
            measure,
        });
        Ok(())
    }

    fn close(&mut self, mark: Marker) -> Result<(), YamlError> {
        let Some(frame) = self.frames.pop() else {
            let message = "a collection ends that was never begun";
            return Err(YamlError::at(mark, ErrorKind::Undecided, message));
        };
        let content = match frame.open {
            Open::Sequence(items) => Content::Sequence(items.into()),
            Open::Mapping(pairs, _) => Content::Mapping(pairs.into()),
        };
        let node = Node {
            content,
            tag: frame.tag,
            line: frame.mark.line(),
            column: frame.mark.col() + 1,
        };
        self.place(node, frame.anchor, frame.measure);
        Ok(())
    }

    fn alias(&mut self, anchor: usize, mark: Marker) -> Result<(), YamlError> {
        self.final_block = None;
        self.aliases += 1;
        let Some((node, measure)) = self.anchors.get(&anchor).cloned() else {
            let message = "an alias stands inside the node it repeats";
            return Err(YamlError::at(mark, ErrorKind::Undecided, message));
        };
        self.spend(measure, mark)?;
        self.place(node, 0, measure);
        Ok(())
    }

    /// Counts nodes about to be placed, and stops where there are too many.
    fn spend(&mut self, measure: Measure, mark: Marker) -> Result<(), YamlError> {
        self.nodes = self.nodes.saturating_add(measure.nodes);
        if self.nodes > MAX_NODES {
            let message = format!("more than {MAX_NODES} nodes once aliases are resolved");
            return Err(YamlError::at(mark, ErrorKind::Undecided, message));
        }
        if self.frames.len() + measure.height > MAX_DEPTH {
            let message = format!("nested more than {MAX_DEPTH} levels deep");
            return Err(YamlError::at(mark, ErrorKind::Undecided, message));
        }
        Ok(())
    }

    fn place(&mut self, node: Node, anchor: usize, measure: Measure) {
        if anchor > 0 {
            self.anchors.insert(anchor, (node.clone(), measure));
        }
        let Some(frame) = self.frames.last_mut() else {
            self.root = Some(node);
            return;
        };
        frame.measure.nodes = frame.measure.nodes.saturating_add(measure.nodes);
        frame.measure.height = frame.measure.height.max(measure.height + 1);
        match &mut frame.open {
            Open::Sequence(items) => items.push(node),
            Open::Mapping(pairs, key) => match key.take() {
                Some(key) => pairs.push((key, node)),
                None => *key = Some(node),
            },
        }
    }

    fn finish(self) -> Document {
        let root = self.root.unwrap_or_else(|| Node {
            content: Content::Scalar {
                text: Arc::from(""),
                style: Style::Plain,
            },
            tag: None,
            line: 1,
            column: 1,
        });
        let mut document = Document {
            root: root.clone(),
            duplicate_keys: Vec::new(),
            merge_keys: Vec::new(),
            non_string_keys: Vec::new(),
            tags: Vec::new(),
            aliases: self.aliases,
            final_block: self.final_block,
        };
        remark(
            &root,
            &mut String::new(),
            &mut document,
            &mut HashSet::new(),
        );
        document
    }
}

/// The tag as [`Node::tag`] gives it.
fn tag_text(tag: &Tag) -> Arc<str> {
    let full = format!("{}{}", tag.handle, tag.suffix);
    match full.strip_prefix("tag:yaml.org,2002:") {
        Some(name) => format!("!!{name}").into(),
        None => full.into(),
    }
}

/// Notes what is unusual below a node; `done` are the collections already seen, since aliases
/// bring them up again.
fn remark(
    node: &Node,
    pointer: &mut String,
    document: &mut Document,
    done: &mut HashSet<*const u8>,
) {
    fn note<T>(list: &mut Vec<T>, item: impl FnOnce() -> T) {
        if list.len() < MAX_REMARKS {
            list.push(item());
        }
    }
    if let Some(tag) = &node.tag {
        note(&mut document.tags, || (pointer.clone(), tag.to_string()));
    }
    let length = pointer.len();
    match &node.content {
        Content::Scalar { .. } => {}
        Content::Sequence(items) => {
            if !done.insert(Arc::as_ptr(items).cast()) {
                return;
            }
            for (index, item) in items.iter().enumerate() {
                push_segment(pointer, &index.to_string());
                remark(item, pointer, document, done);
                pointer.truncate(length);
            }
        }
        Content::Mapping(pairs) => {
            if !done.insert(Arc::as_ptr(pairs).cast()) {
                return;
            }
            let mut seen = HashSet::new();
            for (key, value) in pairs.iter() {
                push_segment(pointer, key.text().unwrap_or("?"));
                let text = key.text();
                if key.is_merge_key() {
                    note(&mut document.merge_keys, || pointer.clone());
                } else if text.is_some_and(|text| !seen.insert(text)) {
                    note(&mut document.duplicate_keys, || pointer.clone());
                }
                if key.reading() != Some(Reading::Str) {
                    note(&mut document.non_string_keys, || pointer.clone());
                }
                if let Some(tag) = &key.tag {
                    note(&mut document.tags, || (pointer.clone(), tag.to_string()));
                }
                remark(value, pointer, document, done);
                pointer.truncate(length);
            }
        }
    }
}
