//! Entries of skills, as servers publish them, held against the rules before
//! anything is done with them.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::address::{directory, last_segment, normal, plain, root, within};
use super::faults::Switch;

/// Where an entry came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// `skills/list`.
    List,
    /// `skills/get`.
    Get,
    /// Nowhere: it was made up, which only faults do.
    Nowhere,
}

/// A valid entry.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub uri: String,
    pub name: String,
    pub description: String,
    pub frontmatter: Map<String, Value>,
    pub resources: Resources,
    pub source: Source,
    /// `_meta` claims that the content was verified. Only faults care.
    pub claims_verified: bool,
}

/// The files of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Resources {
    /// Every file.
    Manifest(Vec<Item>),
    /// Files that are made on demand.
    Dynamic,
}

/// A file of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub uri: String,
    pub digest: String,
    pub size: u64,
}

impl Entry {
    /// Reads an entry, or says what is wrong with it.
    pub fn read(value: &Value, source: Source, fault: Switch) -> Result<Entry, String> {
        let uri = text(value, "uri").ok_or("it has no string `uri`")?;
        let root = root(uri).ok_or("its `uri` does not end with /SKILL.md")?;
        if !plain(uri) || !uri.contains("://") {
            return Err("its `uri` is not the plain URI of a file".to_owned());
        }
        let Some(Value::Object(frontmatter)) = value.get("frontmatter") else {
            return Err("it has no object `frontmatter`".to_owned());
        };
        let field = |key: &str| match frontmatter.get(key) {
            Some(Value::String(text)) if !text.trim().is_empty() => Ok(text.clone()),
            _ => Err(format!("its frontmatter has no string `{key}`")),
        };
        let (name, description) = (field("name")?, field("description")?);
        if name != last_segment(root) {
            return Err(format!("its name `{name}` is not that of its directory"));
        }
        if fault.on("host-unknown-frontmatter-accepted")
            && let Some(key) = frontmatter
                .keys()
                .find(|key| !KNOWN.contains(&key.as_str()))
        {
            return Err(format!("its frontmatter has the unknown field `{key}`"));
        }
        if fault.on("host-reserved-metadata-ignored")
            && let Some(Value::Object(metadata)) = frontmatter.get("metadata")
            && metadata
                .keys()
                .any(|key| key.starts_with("io.modelcontextprotocol/"))
        {
            return Err("its metadata has an unknown reserved key".to_owned());
        }
        let resources = match value.get("resources") {
            Some(Value::String(word)) if word == "dynamic" => Resources::Dynamic,
            Some(Value::String(word))
                if word.eq_ignore_ascii_case("dynamic")
                    && fault.on("resources-invalid-entry/case") =>
            {
                Resources::Dynamic
            }
            Some(Value::Array(items))
                if items.is_empty() && fault.on("resources-invalid-entry/empty") =>
            {
                Resources::Dynamic
            }
            Some(Value::Array(items)) => Resources::Manifest(manifest(uri, root, items, fault)?),
            None if fault.on("resources-invalid-entry") => Resources::Dynamic,
            None if source == Source::Get && fault.on("resources-invalid-entry/get") => {
                Resources::Dynamic
            }
            Some(_) if fault.on("resources-invalid-entry/type") => Resources::Dynamic,
            None => return Err("it has no `resources`".to_owned()),
            Some(_) => return Err("its `resources` is neither an array nor \"dynamic\"".to_owned()),
        };
        Ok(Entry {
            uri: uri.to_owned(),
            name,
            description,
            frontmatter: frontmatter.clone(),
            resources,
            source,
            claims_verified: claims_verified(value),
        })
    }

    /// The skill's directory.
    pub fn root(&self) -> &str {
        root(&self.uri).unwrap_or(&self.uri)
    }

    pub fn is_dynamic(&self) -> bool {
        self.resources == Resources::Dynamic
    }

    /// The files of the manifest; none for a dynamic skill.
    pub fn items(&self) -> &[Item] {
        match &self.resources {
            Resources::Manifest(items) => items,
            Resources::Dynamic => &[],
        }
    }

    /// The file with this URI, also when it is spelled in an equivalent way.
    pub fn item(&self, uri: &str) -> Option<&Item> {
        let items = self.items();
        items.iter().find(|item| item.uri == uri).or_else(|| {
            let wanted = plain(uri).then(|| normal(uri))?;
            items.iter().find(|item| normal(&item.uri) == wanted)
        })
    }

    /// What an approval is bound to: every URI with its digest.
    pub fn set(&self) -> Vec<(String, String)> {
        let items = self.items().iter();
        items
            .map(|item| (item.uri.clone(), item.digest.clone()))
            .collect()
    }

    /// Whether the other entry has the same set of files.
    pub fn same_set(&self, other: &Entry) -> bool {
        let sorted = |entry: &Entry| {
            let mut set = entry.set();
            set.sort();
            set
        };
        self.is_dynamic() == other.is_dynamic() && sorted(self) == sorted(other)
    }

    /// The tools that the frontmatter asks for.
    pub fn allowed_tools(&self) -> Vec<String> {
        self.frontmatter
            .get("allowed-tools")
            .map(tools)
            .unwrap_or_default()
    }
}

const KNOWN: &[&str] = &[
    "name",
    "description",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];

fn manifest(uri: &str, root: &str, items: &[Value], fault: Switch) -> Result<Vec<Item>, String> {
    let mut files = Vec::with_capacity(items.len());
    let mut seen: BTreeMap<String, String> = BTreeMap::new();
    for value in items {
        let file = text(value, "uri").ok_or("a file of its manifest has no string `uri`")?;
        let inside = plain(file) && within(root, file) && file.starts_with(root);
        if !(inside || fault.on("resources-invalid-entry/outside")) {
            return Err(format!(
                "its manifest lists {file}, which is no file of the skill"
            ));
        }
        let digest = match text(value, "digest") {
            Some(digest) if well_formed(digest) => digest,
            _ if fault.on("host-verify-digest/malformed") => "",
            Some(digest)
                if fault.on("host-verify-digest/algorithm") && !digest.starts_with("sha256:") =>
            {
                ""
            }
            Some(digest)
                if fault.on("host-verify-digest/short") && digest.starts_with("sha256:") =>
            {
                digest
            }
            _ => return Err(format!("its manifest has no well-formed digest for {file}")),
        };
        let size = value
            .get("size")
            .and_then(Value::as_u64)
            .ok_or_else(|| format!("its manifest has no size for {file}"))?;
        if seen.insert(normal(file), digest.to_owned()).is_some()
            && !fault.on("resources-invalid-entry/duplicate")
        {
            return Err(format!("its manifest lists {file} twice"));
        }
        files.push(Item {
            uri: file.to_owned(),
            digest: digest.to_owned(),
            size,
        });
    }
    let complete = files.iter().any(|item| item.uri == uri);
    if !complete && !fault.on("resources-invalid-entry/no-skillmd") {
        return Err("its manifest does not list its SKILL.md".to_owned());
    }
    Ok(files)
}

fn well_formed(digest: &str) -> bool {
    digest.strip_prefix("sha256:").is_some_and(|hex| {
        hex.len() == 64 && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

fn text<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    value.get(key)?.as_str()
}

/// Whether the `_meta` of an object has a key that ends in `/verified` and is true.
pub(super) fn claims_verified(value: &Value) -> bool {
    let Some(Value::Object(meta)) = value.get("_meta") else {
        return false;
    };
    meta.iter()
        .any(|(key, value)| key.ends_with("/verified") && value == &Value::Bool(true))
}

/// Tool patterns from a list, or from text with blanks or commas between
/// them; what stands in parentheses belongs to one pattern.
pub(super) fn tools(value: &Value) -> Vec<String> {
    let text = match value {
        Value::String(text) => text,
        Value::Array(items) => return items.iter().flat_map(tools).collect(),
        _ => return Vec::new(),
    };
    let (mut tools, mut depth) = (vec![String::new()], 0_i32);
    for character in text.chars() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth <= 0 && (character.is_whitespace() || character == ',') {
            tools.push(String::new());
        } else if let Some(last) = tools.last_mut() {
            last.push(character);
        }
    }
    tools.retain(|tool| !tool.is_empty());
    tools
}

/// Whether a URI lies below the directory of the entry without being its own SKILL.md.
pub(super) fn nests(outer: &Entry, uri: &str) -> bool {
    outer.uri != uri && within(outer.root(), directory(uri)) && directory(uri) != outer.root()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn entry() -> Value {
        let digest = format!("sha256:{}", "a".repeat(64));
        json!({
            "uri": "skill://acme/refunds/SKILL.md",
            "frontmatter": {"name": "refunds", "description": "d", "allowed-tools": "Read Bash(jq: *), Write"},
            "resources": [
                {"uri": "skill://acme/refunds/SKILL.md", "digest": digest, "size": 1},
                {"uri": "skill://acme/refunds/a%20b.md", "digest": digest, "size": 0},
            ],
        })
    }

    fn read(value: &Value) -> Result<Entry, String> {
        Entry::read(value, Source::List, Switch::new(None).unwrap())
    }

    #[test]
    fn a_valid_entry_is_read() {
        let entry = read(&entry()).unwrap();
        assert_eq!(entry.root(), "skill://acme/refunds");
        assert_eq!(entry.allowed_tools(), ["Read", "Bash(jq: *)", "Write"]);
        assert!(entry.item("SKILL://acme/refunds/%61%20b.md").is_some());
        assert!(entry.item("skill://acme/refunds/x/../a%20b.md").is_none());
        assert!(nests(&entry, "skill://acme/refunds/inner/SKILL.md"));
        assert!(!nests(&entry, "skill://acme/refunds/SKILL.md"));
        assert!(!nests(&entry, "skill://acme/refunds-2/SKILL.md"));
    }

    #[test]
    fn invalid_entries_are_refused() {
        let spoil = |pointer: &str, value: Value| {
            let mut entry = entry();
            *entry.pointer_mut(pointer).unwrap() = value;
            entry
        };
        for bad in [
            json!({}),
            spoil("/uri", json!("skill://acme/refunds")),
            spoil("/frontmatter/name", json!("other")),
            spoil("/frontmatter/description", json!(1)),
            spoil("/resources", json!("static")),
            spoil("/resources", json!([])),
            spoil("/resources/1/uri", json!("skill://acme/refunds/../x")),
            spoil("/resources/1/uri", json!("skill://acme/refunds/SKILL.md")),
            spoil("/resources/1/digest", json!("sha256:AA")),
            spoil("/resources/1/size", json!(-1)),
        ] {
            assert!(read(&bad).is_err(), "{bad}");
        }
        let mut bare = entry();
        bare.as_object_mut().unwrap().remove("resources");
        assert!(read(&bare).is_err());
        assert!(
            read(&spoil("/resources", json!("dynamic")))
                .unwrap()
                .is_dynamic()
        );
    }
}
