//! The entry of a skill, in a form that can be malformed in any way.

use serde_json::{Map, Value};

use super::skill::{Skill, digest};

/// An entry.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its `uri`.
    pub uri: Option<Value>,
    /// Its `frontmatter`.
    pub frontmatter: Frontmatter,
    /// Its `resources`.
    pub resources: Resources,
}

/// The `frontmatter` of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Frontmatter {
    /// An object, its members in the order in which they are sent.
    Fields(Vec<(String, Value)>),
    /// Something else; nothing for no such member.
    Other(Option<Value>),
}

/// The `resources` of an entry.
#[derive(Debug, Clone, PartialEq)]
pub enum Resources {
    /// A manifest.
    Files(Vec<Resource>),
    /// Something else; nothing for no such member.
    Other(Option<Value>),
}

/// A file of a manifest.
#[derive(Debug, Clone, PartialEq)]
pub struct Resource {
    /// Its `uri`.
    pub uri: String,
    /// Its `digest`.
    pub digest: Option<Value>,
    /// Its `size`.
    pub size: Option<Value>,
}

impl Resource {
    /// What describes these bytes.
    pub fn of(uri: impl Into<String>, bytes: &[u8]) -> Self {
        Self {
            uri: uri.into(),
            digest: Some(digest(bytes).into()),
            size: Some(bytes.len().into()),
        }
    }
}

impl Entry {
    /// The entry that describes a skill.
    pub fn of(skill: &Skill, reversed: bool) -> Self {
        let with_value = |field: &super::frontmatter::Field| {
            field.json.clone().map(|json| (field.key.clone(), json))
        };
        let mut fields: Vec<(String, Value)> = skill.fields.iter().filter_map(with_value).collect();
        let files = skill.files.iter();
        let mut resources: Vec<Resource> = files
            .map(|file| Resource::of(&file.uri, &file.bytes))
            .collect();
        if reversed {
            fields.reverse();
            resources.reverse();
        }
        Self {
            uri: Some(format!("{}/SKILL.md", skill.root).into()),
            frontmatter: Frontmatter::Fields(fields),
            resources: Resources::Files(resources),
        }
    }

    /// The entry as JSON, written into `out`. Members keep their order, which a parsed value would
    /// lose.
    pub fn write(&self, out: &mut String) {
        out.push('{');
        let mut separator = "";
        if let Some(uri) = &self.uri {
            out.push_str("\"uri\":");
            out.push_str(&uri.to_string());
            separator = ",";
        }
        match &self.frontmatter {
            Frontmatter::Other(None) => {}
            Frontmatter::Other(Some(value)) => {
                out.push_str(&format!("{separator}\"frontmatter\":{value}"));
                separator = ",";
            }
            Frontmatter::Fields(fields) => {
                out.push_str(separator);
                out.push_str("\"frontmatter\":{");
                for (place, (key, value)) in fields.iter().enumerate() {
                    out.push_str(if place > 0 { "," } else { "" });
                    write_string(key, out);
                    out.push(':');
                    write_value(value, out);
                }
                out.push('}');
                separator = ",";
            }
        }
        match &self.resources {
            Resources::Other(None) => {}
            Resources::Other(Some(value)) => {
                out.push_str(&format!("{separator}\"resources\":{value}"));
            }
            Resources::Files(files) => {
                out.push_str(separator);
                out.push_str("\"resources\":[");
                for (place, file) in files.iter().enumerate() {
                    out.push_str(if place > 0 { ",{\"uri\":" } else { "{\"uri\":" });
                    write_string(&file.uri, out);
                    for (key, value) in [("digest", &file.digest), ("size", &file.size)] {
                        if let Some(value) = value {
                            out.push_str(",\"");
                            out.push_str(key);
                            out.push_str("\":");
                            write_value(value, out);
                        }
                    }
                    out.push('}');
                }
                out.push(']');
            }
        }
        out.push('}');
    }

    /// The entry as a value.
    pub fn to_value(&self) -> Value {
        let mut text = String::new();
        self.write(&mut text);
        serde_json::from_str(&text).unwrap_or_else(|_| Value::Object(Map::new()))
    }
}

/// Writes a JSON value.
fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => write_string(text, out),
        other => out.push_str(&other.to_string()),
    }
}

/// Writes a JSON string.
pub fn write_string(text: &str, out: &mut String) {
    let plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if text.as_bytes().iter().all(plain) {
        out.push('"');
        out.push_str(text);
        out.push('"');
    } else {
        out.push_str(&Value::from(text).to_string());
    }
}
