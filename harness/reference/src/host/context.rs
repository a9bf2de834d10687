//! What the model sees, and the skills that the host acts on.

use serde_json::{Value, json};

use super::entry::Entry;
use super::faults::Switch;
use super::outcome::Key;

/// A message in the model's context.
#[derive(Debug, Clone)]
pub(super) struct Message {
    pub role: &'static str,
    pub text: String,
    /// The label of the server that the text came from.
    pub origin: Option<String>,
    pub kind: Kind,
    pub trusted: bool,
    pub key: Key,
}

/// As what a message is presented.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Skill,
    File,
    Resource,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Kind::Skill => "skill",
            Kind::File => "file",
            Kind::Resource => "resource",
        }
    }
}

impl Message {
    /// Content from a server, labelled with where it came from.
    pub fn from_server(
        kind: Kind,
        origin: &str,
        key: &Key,
        bytes: &[u8],
        fault: Switch,
    ) -> Message {
        let skill = kind == Kind::Skill;
        if skill && fault.on("host-origin-tag-visible/local") {
            return Message {
                trusted: false,
                ..Message::local(kind, key, bytes)
            };
        }
        let bare = skill && fault.on("host-origin-tag-visible")
            || kind == Kind::File && fault.on("host-origin-tag-visible/file");
        let shown = as_text(bytes);
        Message {
            role: match () {
                () if skill && fault.on("host-skills-are-data") => "system",
                () if skill && fault.on("host-skills-are-data/developer") => "developer",
                () => "tool",
            },
            text: match bare {
                true => shown,
                false => format!(
                    "[{} from server \"{origin}\": {}]\n\n{shown}",
                    kind.word(),
                    printable(&key.uri)
                ),
            },
            origin: (!bare).then(|| origin.to_owned()),
            kind,
            trusted: skill && fault.on("host-untrusted-input"),
            key: key.clone(),
        }
    }

    /// A local skill or a file of one.
    pub fn local(kind: Kind, key: &Key, bytes: &[u8]) -> Message {
        Message {
            role: "tool",
            text: format!("[{}]\n\n{}", kind.word(), as_text(bytes)),
            origin: None,
            kind,
            trusted: true,
            key: key.clone(),
        }
    }

    pub fn json(&self) -> Value {
        let mut value = json!({
            "role": self.role,
            "text": self.text,
            "kind": self.kind.word(),
            "trusted": self.trusted,
        });
        if let Some(origin) = &self.origin {
            value["origin"] = origin.as_str().into();
        }
        value
    }
}

/// A URI that cannot end the label that it stands in.
fn printable(uri: &str) -> String {
    uri.replace(
        |character: char| character.is_control() || character == ']',
        "?",
    )
}

fn as_text(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => format!("(binary content, {} bytes)", bytes.len()),
    }
}

/// From the load of a skill until its SKILL.md leaves the context: the entry
/// that it was loaded from, and what holds for as long.
#[derive(Debug, Clone)]
pub(super) struct Window {
    pub key: Key,
    /// The entry; nothing for a local skill.
    pub entry: Option<Entry>,
    /// The permissions that are in force.
    pub granted: Vec<String>,
    /// Bytes of a dynamic skill that have been retrieved.
    pub retrieved: u64,
}

impl Window {
    pub fn new(key: Key, entry: Option<Entry>) -> Window {
        Window {
            key,
            entry,
            granted: Vec::new(),
            retrieved: 0,
        }
    }
}
