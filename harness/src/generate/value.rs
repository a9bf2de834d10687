//! Values of a frontmatter: what is written in YAML, and what JSON renders it, side by side.
//!
//! A value is planned once and written twice, so that the two are the same by construction. Only
//! what YAML 1.1 and 1.2 read alike is written here; the tables at the end have what they do not.

use arbitrary::Arbitrary;
use serde_json::{Map, Number, Value};

use super::text::TextPlan;

/// How a string is written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Arbitrary)]
pub enum Style {
    /// In double quotes, with escapes where they are needed.
    #[default]
    Double,
    /// In double quotes, everything that is not ASCII escaped.
    Escaped,
    /// In single quotes, where it can be.
    Single,
    /// Without quotes, where it can be.
    Plain,
    /// As a literal block with a final line break.
    Literal,
    /// As a folded block without a final line break.
    Folded,
}

/// A value that holds no others.
#[derive(Debug, Clone, PartialEq, Arbitrary)]
pub enum Scalar {
    /// A string.
    Text(TextPlan, Style),
    /// An integer that no reader rounds.
    Integer(i32),
    /// A number of sixteenths, with a point.
    Sixteenths(i16),
    /// A truth value.
    Bool(bool),
    /// Nothing, in one of its spellings.
    Null(u8),
    /// A string that would be something else without its quotes.
    Quoted(u8, bool),
}

impl Default for Scalar {
    fn default() -> Self {
        Self::Integer(0)
    }
}

/// A value.
#[derive(Debug, Clone, PartialEq, Arbitrary)]
pub enum ValuePlan {
    /// One that holds no others.
    One(Scalar),
    /// A list; in flow style or in block style.
    List(Vec<Scalar>, bool),
    /// A mapping; in flow style or in block style.
    Mapping(Vec<(u8, Scalar)>, bool),
    /// Lists and mappings in each other, so deep.
    Deep(u8, Scalar),
    /// The same value twice, by anchor and alias.
    Twice(Scalar),
}

impl Default for ValuePlan {
    fn default() -> Self {
        Self::One(Scalar::default())
    }
}

/// What is no string without quotes.
const LOOKS_TYPED: &[&str] = &[
    "1.0",
    "1",
    "true",
    "null",
    "~",
    "",
    "2026-01-31",
    "0x1F",
    "1e3",
    "yes",
    "017",
    ".inf",
    "-0",
    "12:30:45",
    "[a]",
    "{a: b}",
    "*a",
    "&a",
    "- a",
    "a: b",
    "a #b",
    "!t",
    "---",
];

/// Keys of nested mappings, each another one in any reading.
const KEYS: &[&str] = &[
    "a",
    "b",
    "version",
    "x-y",
    "É",
    "a b",
    "io.modelcontextprotocol/x",
    "k.1",
];

/// Most members of a list or mapping.
const MEMBERS: usize = 6;

impl Scalar {
    /// Writes it in YAML; `block` says whether block scalars may stand here, and how far their
    /// lines are indented.
    pub fn write(&self, out: &mut String, block: Option<usize>) {
        match self {
            Scalar::Text(text, style) => write_text(&text.line(), *style, out, block),
            Scalar::Integer(number) => out.push_str(&number.to_string()),
            Scalar::Sixteenths(number) => {
                out.push_str(&format!("{:?}", f64::from(*number) / 16.0));
            }
            Scalar::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Scalar::Null(way) => out.push_str(["null", "~"][usize::from(*way) % 2]),
            Scalar::Quoted(which, single) => {
                let quote = if *single { '\'' } else { '"' };
                out.push(quote);
                out.push_str(LOOKS_TYPED[usize::from(*which) % LOOKS_TYPED.len()]);
                out.push(quote);
            }
        }
    }

    /// What JSON has for it.
    pub fn json(&self) -> Value {
        match self {
            Scalar::Text(text, style) => {
                let text = text.line();
                let literal = *style == Style::Literal && is_block(&text);
                Value::String(if literal { text + "\n" } else { text })
            }
            Scalar::Integer(number) => Value::from(*number),
            Scalar::Sixteenths(number) => {
                Number::from_f64(f64::from(*number) / 16.0).map_or(Value::Null, Value::Number)
            }
            Scalar::Bool(value) => Value::Bool(*value),
            Scalar::Null(_) => Value::Null,
            Scalar::Quoted(which, _) => LOOKS_TYPED[usize::from(*which) % LOOKS_TYPED.len()].into(),
        }
    }
}

impl ValuePlan {
    /// Writes it behind `key:`, with the line break that ends it. `anchor` is a name that no
    /// other value has.
    pub fn write(&self, out: &mut String, anchor: usize, block: bool) {
        let indent = block.then_some(2);
        match self {
            ValuePlan::One(scalar) => {
                out.push(' ');
                scalar.write(out, indent);
                out.push('\n');
            }
            ValuePlan::List(items, flow) if *flow || items.is_empty() || !block => {
                out.push_str(" [");
                for (place, item) in items.iter().take(MEMBERS).enumerate() {
                    out.push_str(if place > 0 { ", " } else { "" });
                    item.write(out, None);
                }
                out.push_str("]\n");
            }
            ValuePlan::List(items, _) => {
                out.push('\n');
                for item in items.iter().take(MEMBERS) {
                    out.push_str("  - ");
                    item.write(out, Some(4));
                    out.push('\n');
                }
            }
            ValuePlan::Mapping(members, flow) => {
                let members = distinct(members);
                if *flow || members.is_empty() || !block {
                    out.push_str(" {");
                    for (place, (key, value)) in members.iter().enumerate() {
                        out.push_str(if place > 0 { ", " } else { "" });
                        out.push_str(&format!("{key}: "));
                        value.write(out, None);
                    }
                    out.push_str("}\n");
                } else {
                    out.push('\n');
                    for (key, value) in members {
                        out.push_str(&format!("  {key}: "));
                        value.write(out, Some(4));
                        out.push('\n');
                    }
                }
            }
            ValuePlan::Deep(depth, scalar) => {
                let depth = usize::from(depth % 8);
                out.push(' ');
                for level in 0..depth {
                    out.push_str(if level % 2 == 0 { "{a: " } else { "[" });
                }
                scalar.write(out, None);
                for level in (0..depth).rev() {
                    out.push(if level % 2 == 0 { '}' } else { ']' });
                }
                out.push('\n');
            }
            ValuePlan::Twice(scalar) => {
                out.push_str(&format!(" [&n{anchor} "));
                scalar.write(out, None);
                out.push_str(&format!(", *n{anchor} ]\n"));
            }
        }
    }

    /// Something like it without anchors and aliases, if it has any.
    pub fn plain(&self) -> Option<ValuePlan> {
        match self {
            ValuePlan::Twice(scalar) => Some(ValuePlan::One(scalar.clone())),
            _ => None,
        }
    }

    /// What JSON has for it.
    pub fn json(&self) -> Value {
        match self {
            ValuePlan::One(scalar) => scalar.json(),
            ValuePlan::List(items, _) => items.iter().take(MEMBERS).map(Scalar::json).collect(),
            ValuePlan::Mapping(members, _) => {
                let members = distinct(members).into_iter();
                let members: Map<String, Value> = members
                    .map(|(key, value)| (key.to_owned(), value.json()))
                    .collect();
                Value::Object(members)
            }
            ValuePlan::Deep(depth, scalar) => {
                let mut value = scalar.json();
                for level in (0..usize::from(depth % 8)).rev() {
                    value = if level % 2 == 0 {
                        Value::Object(Map::from_iter([("a".to_owned(), value)]))
                    } else {
                        Value::Array(vec![value])
                    };
                }
                value
            }
            ValuePlan::Twice(scalar) => Value::Array(vec![scalar.json(), scalar.json()]),
        }
    }
}

/// The members with different keys.
fn distinct(members: &[(u8, Scalar)]) -> Vec<(&'static str, &Scalar)> {
    let mut kept: Vec<(&'static str, &Scalar)> = Vec::new();
    for (key, value) in members.iter().take(MEMBERS) {
        let key = KEYS[usize::from(*key) % KEYS.len()];
        if kept.iter().all(|(other, _)| *other != key) {
            kept.push((key, value));
        }
    }
    kept
}

/// Writes a string in the style, or in double quotes where that would change it.
pub fn write_text(text: &str, style: Style, out: &mut String, block: Option<usize>) {
    match (style, block) {
        (Style::Plain, _) if is_plain(text) => out.push_str(text),
        (Style::Single, _) if text.chars().all(is_printable) => {
            out.push('\'');
            out.push_str(&text.replace('\'', "''"));
            out.push('\'');
        }
        (Style::Literal, Some(indent)) if is_block(text) => {
            out.push_str(&format!("|\n{:indent$}{text}", ""));
        }
        (Style::Folded, Some(indent)) if is_block(text) => {
            out.push_str(&format!(">-\n{:indent$}{text}", ""));
        }
        // A literal block has one more line break than the text; where none can stand, an escape
        // does.
        (Style::Literal, None) if is_block(text) => write_quoted(&format!("{text}\n"), false, out),
        _ => write_quoted(text, style == Style::Escaped, out),
    }
}

fn write_quoted(text: &str, ascii: bool, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => {
                out.push('\\');
                out.push(c);
            }
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if !is_printable(c) || ascii && !c.is_ascii() => {
                out.push_str(&format!("\\U{:08X}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether every YAML reader takes the character as it stands, on one line.
fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~' | '\u{a0}'..='\u{2027}' | '\u{202a}'..='\u{d7ff}' | '\u{e000}'..='\u{fdff}' | '\u{1f300}'..='\u{1f9ff}')
}

/// Whether the text is a string without quotes, in every reading.
fn is_plain(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c.is_ascii_alphabetic());
    let typed = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    starts
        && !typed.contains(&text.to_ascii_lowercase().as_str())
        && !text.ends_with(' ')
        && text
            .chars()
            .all(|c| c == ' ' || c == '.' || c == '\'' || c.is_alphanumeric() && is_printable(c))
}

/// Whether the text can be the one line of a block scalar.
fn is_block(text: &str) -> bool {
    !text.is_empty()
        && text.starts_with(|c: char| c.is_alphanumeric())
        && !text.ends_with(' ')
        && text.chars().all(is_printable)
}

/// A field as `SKILL.md` writes it, and as an entry has it; both as text. Nothing for the entry
/// means that it has no such field.
pub type Pair = (&'static str, Option<&'static str>);

/// What every reading of YAML renders so.
pub const AGREED: &[Pair] = &[
    ("0x1F", Some("31")),
    ("+7", Some("7")),
    ("-0.5", Some("-0.5")),
    ("1.5e+3", Some("1500.0")),
    ("True", Some("true")),
    ("NULL", Some("null")),
    ("", Some("null")),
    ("[]", Some("[]")),
    ("{}", Some("{}")),
    ("\"\\u00e9\"", Some("\"é\"")),
    ("'it''s'", Some("\"it's\"")),
    ("a b # c", Some("\"a b\"")),
    ("{b: 1, a: 2}", Some("{\"a\":2,\"b\":1}")),
    ("|\n  a\n   b\n  c", Some("\"a\\n b\\nc\\n\"")),
    (">-\n  a\n  b\n\n  c", Some("\"a b\\nc\"")),
    ("|+\n  a\n", Some("\"a\\n\\n\"")),
    ("[a, [b, {c: d}]]", Some("[\"a\",[\"b\",{\"c\":\"d\"}]]")),
    ("\n  - a\n  -\n    - b", Some("[\"a\",[\"b\"]]")),
    ("multi\n  line", Some("\"multi line\"")),
    ("http://x.y/z", Some("\"http://x.y/z\"")),
    ("a#b", Some("\"a#b\"")),
    ("1.2.3", Some("\"1.2.3\"")),
    ("{\"a\": \"b\"}", Some("{\"a\":\"b\"}")),
    ("\"\\x41\\t\"", Some("\"A\\t\"")),
    ("9007199254740991", Some("9007199254740991")),
];

/// What no reading of YAML renders so.
pub const DIFFERENT: &[Pair] = &[
    ("\"1.0\"", Some("1.0")),
    ("'1'", Some("1")),
    ("1", Some("2")),
    ("1", Some("[1]")),
    ("[1]", Some("1")),
    ("true", Some("false")),
    ("true", Some("1")),
    ("'true'", Some("true")),
    ("'yes'", Some("true")),
    ("no", Some("true")),
    ("yes", Some("1")),
    ("017", Some("\"15\"")),
    ("null", None),
    ("~", None),
    ("", None),
    ("null", Some("\"\"")),
    ("null", Some("false")),
    ("'null'", Some("null")),
    ("''", Some("null")),
    ("''", None),
    ("0", Some("false")),
    ("0", Some("null")),
    ("[]", Some("{}")),
    ("[]", Some("null")),
    ("[]", None),
    ("{}", None),
    ("[1, 2]", Some("[2,1]")),
    ("[1, 2]", Some("[1]")),
    ("[1]", Some("[1,2]")),
    ("[1, null]", Some("[1]")),
    ("[a]", Some("[\"A\"]")),
    ("{a: 1}", Some("{\"a\":2}")),
    ("{a: 1}", Some("{\"a\":1,\"b\":2}")),
    ("{a: 1, b: 2}", Some("{\"a\":1}")),
    ("{a: null}", Some("{}")),
    ("{}", Some("{\"a\":null}")),
    ("{a: {b: 1}}", Some("{\"a\":{\"b\":2}}")),
    ("{a: [1, {b: x}]}", Some("{\"a\":[1,{\"b\":\"y\"}]}")),
    ("{a: '1'}", Some("{\"a\":1}")),
    ("{a: b}", Some("{\"b\":\"a\"}")),
    ("text", Some("\"Text\"")),
    ("text", Some("\"text \"")),
    ("text", Some("\"text\\n\"")),
    ("text", Some("\"\"")),
    ("text", Some("null")),
    ("text", None),
    ("a b", Some("\"a  b\"")),
    ("\"\\u00e9\"", Some("\"e\u{301}\"")),
    ("\"a\\u200bb\"", Some("\"ab\"")),
    ("\"K\\u212A\"", Some("\"KK\"")),
    ("|\n  a\n  b", Some("\"a b\"")),
    (">\n  a\n  b\n", Some("\"a\\nb\\n\"")),
    ("2026-01-31", Some("\"2026-01-30\"")),
    ("0.1", Some("0.2")),
    ("1.5", Some("1")),
    ("-1", Some("1")),
    ("9007199254740991", Some("9007199254740990")),
    ("1_000", Some("\"1000\"")),
    ("12:30:45", Some("\"12:30\"")),
    ("0b11", Some("\"3\"")),
];

/// What some reading of YAML renders so, and another one does not; or what has no rendering.
pub const DISPUTED: &[Pair] = &[
    ("1.0", Some("\"1.0\"")),
    ("1", Some("\"1\"")),
    ("true", Some("\"true\"")),
    ("null", Some("\"null\"")),
    ("yes", Some("true")),
    ("yes", Some("\"yes\"")),
    ("off", Some("false")),
    ("y", Some("true")),
    ("017", Some("17")),
    ("017", Some("15")),
    ("0o17", Some("15")),
    ("0o17", Some("\"0o17\"")),
    ("1_000", Some("1000")),
    ("1_000", Some("\"1_000\"")),
    ("0b11", Some("3")),
    ("12:30:45", Some("45045")),
    ("2026-01-31", Some("\"2026-01-31\"")),
    ("2026-01-31", Some("\"2026-01-31T00:00:00.000Z\"")),
    ("1e3", Some("1000.0")),
    ("1e3", Some("\"1e3\"")),
    ("1.0", Some("1")),
    ("1", Some("1.0")),
    (".nan", Some("null")),
    (".inf", Some("\".inf\"")),
    ("18446744073709551616", Some("18446744073709552000")),
    ("9007199254740993", Some("9007199254740992")),
    ("!x 1", Some("1")),
    ("!!str 1", Some("\"1\"")),
    ("\"a\\\n    b\"", Some("\"ab\"")),
    ("!x {a: b}", Some("{\"a\":\"b\"}")),
    ("!!binary aGk=", Some("\"aGk=\"")),
    ("!!set {a, b}", Some("{\"a\":null,\"b\":null}")),
    ("{1: a}", Some("{\"1\":\"a\"}")),
    ("{true: a}", Some("{\"true\":\"a\"}")),
    ("{[1]: a}", Some("{\"1\":\"a\"}")),
    ("{<<: {a: 1}, b: 2}", Some("{\"a\":1,\"b\":2}")),
    ("{a: 1, a: 2}", Some("{\"a\":2}")),
    ("\"a\u{2028}b\"", Some("\"a\\u2028b\"")),
    ("=", Some("\"=\"")),
    ("\"\u{85}\"", Some("\" \"")),
];
