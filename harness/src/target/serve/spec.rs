//! What a host scenario says of the servers that it needs.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use super::bend::{Bend, Rule};

/// One server.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSpec {
    /// The extension's settings; `null` for a server that does not declare it.
    #[serde(default = "directory_read")]
    pub settings: Value,
    /// What the server calls itself.
    #[serde(default = "server_name")]
    pub name: String,
    /// Its instructions.
    pub instructions: Option<String>,
    /// Entries on a page of the listing.
    #[serde(default = "page_size")]
    pub page: usize,
    /// The pages of the listing, as keys of `skills`; pages of `page` entries when left out.
    pub pages: Option<Vec<Vec<String>>>,
    /// The cursor that leads to the second page, to the third, and so on.
    #[serde(default)]
    pub cursors: Vec<String>,
    /// Freshness of the listing in milliseconds (2026-07-28).
    #[serde(default = "ttl")]
    pub ttl_ms: u64,
    /// Who may share the answers (2026-07-28).
    #[serde(default = "scope")]
    pub scope: String,
    /// Its skills.
    #[serde(default)]
    pub skills: BTreeMap<String, SkillSpec>,
    /// Further resources, by URI: their text.
    #[serde(default)]
    pub resources: BTreeMap<String, String>,
    /// What is done to its answers.
    #[serde(default)]
    pub rules: Vec<Rule>,
}

fn directory_read() -> Value {
    serde_json::json!({"directoryRead": true})
}

fn server_name() -> String {
    "scripted-server".into()
}

fn page_size() -> usize {
    1_000
}

fn ttl() -> u64 {
    60_000
}

fn scope() -> String {
    "private".into()
}

/// One skill; its key is its path below `skill://` unless `root` says otherwise.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SkillSpec {
    /// URI of the skill's directory.
    pub root: Option<String>,
    /// Fields of the frontmatter besides `name` and `description`, or instead of these.
    pub frontmatter: Map<String, Value>,
    /// What SKILL.md says in place of the frontmatter of the entry; `null` takes a field out.
    pub really: Map<String, Value>,
    /// The body of SKILL.md.
    pub body: Option<String>,
    /// Supporting files by path.
    pub files: BTreeMap<String, FileSpec>,
    /// Files that only make the skill large.
    pub fill: Option<Fill>,
    /// Whether the listing leaves the skill out.
    pub unlisted: bool,
    /// Whether the entry says `"dynamic"`.
    pub dynamic: bool,
    /// What is done to the skill's entry, wherever it is answered.
    pub entry: Vec<Bend>,
    /// Files that are served and shown by directory reads, though the manifest lacks them.
    pub ahead: BTreeMap<String, FileSpec>,
    /// The entry and the files as they are, in place of all that is made of the members above.
    pub given: Option<Given>,
}

/// A skill that is served as it stands, whatever is wrong with it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    /// The entry.
    pub entry: Value,
    /// What is served, by URI, in base64; what is UTF-8 goes out as text.
    pub files: BTreeMap<String, String>,
}

/// One file.
#[derive(Debug, Clone)]
pub enum FileSpec {
    /// Text, to which the stage adds a token of its own.
    Text(String),
    /// Text as it is.
    Exact(String),
    /// The same text as `Text`, served as a blob.
    Blob(String),
}

impl<'de> Deserialize<'de> for FileSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Long {
            exact: Option<String>,
            blob: Option<String>,
        }
        #[derive(Deserialize)]
        #[serde(
            untagged,
            expecting = "expected a text, `{ exact: TEXT }` or `{ blob: TEXT }`"
        )]
        enum Any {
            Text(String),
            Long(Long),
        }
        match Any::deserialize(deserializer)? {
            Any::Text(text) => Ok(FileSpec::Text(text)),
            Any::Long(Long {
                exact: Some(text),
                blob: None,
            }) => Ok(FileSpec::Exact(text)),
            Any::Long(Long {
                exact: None,
                blob: Some(text),
            }) => Ok(FileSpec::Blob(text)),
            Any::Long(_) => Err(serde::de::Error::custom(
                "expected exactly one of `exact` and `blob`",
            )),
        }
    }
}

/// Files that make a skill reach a size.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// How many files the skill has in the end, SKILL.md included.
    pub files: usize,
    /// How many bytes they have together; no more than they need when left out.
    pub bytes: Option<u64>,
}
