//! Everything the server can say about a tree, worked out once at the start:
//! entries with digests, resource metadata, directory listings.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::frontmatter;
use crate::mime;
use crate::paging::hex;
use crate::tree::{SkillRoot, Tree, file_name, parent};

/// The resource that is not part of any skill.
pub(crate) const README: &str = "docs://readme";
const README_TEXT: &str = "# Reference server\n\nServes agent skills over MCP. This text is an ordinary resource, not a skill.\n";
/// MIME type of directories.
pub(crate) const DIRECTORY: &str = "inode/directory";

/// What the server serves.
#[derive(Debug, Clone, Default)]
pub(crate) struct Catalog {
    /// Every skill, listed ones in the order of the listing.
    pub skills: Vec<Skill>,
    /// Every readable file by URI.
    pub files: HashMap<String, File>,
    /// Every directory by URI.
    pub directories: HashMap<String, Directory>,
    /// What `resources/list` shows.
    pub resources: Vec<Value>,
    /// Positions in `skills` of what `skills/list` shows.
    pub listing: Vec<usize>,
    by_uri: HashMap<String, usize>,
}

/// A skill.
#[derive(Debug, Clone)]
pub(crate) struct Skill {
    /// URI of its `SKILL.md`.
    pub uri: String,
    /// URI of its directory.
    pub root: String,
    /// Path of its directory.
    pub path: String,
    /// Whether `skills/list` names it.
    pub listed: bool,
    /// Whether its `SKILL.md` is generated on each read.
    pub dynamic: bool,
    /// The entry as `skills/list` and `skills/get` give it.
    pub entry: Value,
}

/// A readable file.
#[derive(Debug, Clone)]
pub(crate) struct File {
    pub path: String,
    pub bytes: Vec<u8>,
    pub mime: String,
    /// Whether its bytes change with each read.
    pub changing: bool,
}

/// A directory.
#[derive(Debug, Clone)]
pub(crate) struct Directory {
    pub path: String,
    /// Resource metadata of its direct children, in order of name.
    pub children: Vec<Value>,
}

impl Catalog {
    pub fn new(tree: &Tree) -> Catalog {
        let mut catalog = Catalog::default();
        for root in &tree.skills {
            if root.listed {
                catalog.listing.push(catalog.skills.len());
            }
            let skill = skill(tree, root);
            catalog
                .by_uri
                .insert(skill.uri.clone(), catalog.skills.len());
            catalog.skills.push(skill);
        }
        let skills: BTreeMap<String, usize> = (tree.skills.iter().enumerate())
            .map(|(index, root)| (root.skill_md(), index))
            .collect();
        let mut metadata = BTreeMap::new();
        for (path, bytes) in &tree.files {
            let uri = tree.uri(path);
            let skill = skills.get(path).map(|index| &catalog.skills[*index]);
            let file = File {
                path: path.clone(),
                bytes: bytes.clone(),
                mime: mime::of(file_name(path), bytes).to_owned(),
                changing: skill.is_some_and(|skill| skill.dynamic),
            };
            metadata.insert(path.as_str(), resource(&uri, &file, skill));
            catalog.files.insert(uri, file);
        }
        catalog.add_resources(&metadata);
        catalog.add_directories(tree, metadata);
        catalog
    }

    fn add_directories(&mut self, tree: &Tree, metadata: BTreeMap<&str, Value>) {
        let mut directories: BTreeSet<&str> = BTreeSet::new();
        for path in tree.files.keys().map(String::as_str) {
            directories.extend(ancestors(path));
        }
        for path in &tree.directories {
            directories.insert(path);
            directories.extend(ancestors(path));
        }
        let mut children: BTreeMap<&str, BTreeMap<&str, Value>> = BTreeMap::new();
        for path in &directories {
            children.entry(path).or_default();
            if let Some(parent) = parent(path) {
                let name = file_name(path);
                let child = json!({"uri": tree.uri(path), "name": name, "mimeType": DIRECTORY});
                children.entry(parent).or_default().insert(name, child);
            }
        }
        for (path, child) in metadata {
            if let Some(parent) = parent(path) {
                let siblings = children.entry(parent).or_default();
                siblings.insert(file_name(path), child);
            }
        }
        for (path, children) in children {
            let directory = Directory {
                path: path.to_owned(),
                children: children.into_values().collect(),
            };
            self.directories.insert(tree.uri(path), directory);
        }
    }

    fn add_resources(&mut self, metadata: &BTreeMap<&str, Value>) {
        let readme = File {
            path: String::new(),
            bytes: README_TEXT.into(),
            mime: "text/markdown".to_owned(),
            changing: false,
        };
        self.resources.push(json!({
            "uri": README, "name": "readme", "mimeType": readme.mime, "size": readme.bytes.len(),
            "description": "What this server is for.",
        }));
        self.files.insert(README.to_owned(), readme);
        for index in &self.listing {
            let path = format!("{}/SKILL.md", self.skills[*index].path);
            self.resources.extend(metadata.get(path.as_str()).cloned());
        }
    }

    /// The skill with this `SKILL.md`.
    pub fn skill(&self, uri: &str) -> Option<&Skill> {
        self.by_uri.get(uri).map(|index| &self.skills[*index])
    }

    /// The skills of the listing.
    pub fn listed(&self) -> impl Iterator<Item = &Skill> {
        self.listing.iter().map(|index| &self.skills[*index])
    }

    /// The skills that are served without being listed.
    pub fn unlisted(&self) -> impl Iterator<Item = &Skill> {
        self.skills.iter().filter(|skill| !skill.listed)
    }
}

/// The directories above a path, nearest first.
fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(parent(path), |path| parent(path))
}

fn skill(tree: &Tree, root: &SkillRoot) -> Skill {
    let skill_md = root.skill_md();
    let uri = tree.uri(&skill_md);
    let bytes = tree.files.get(&skill_md).map_or(&[][..], Vec::as_slice);
    let frontmatter = root
        .frontmatter
        .clone()
        .unwrap_or_else(|| Value::Object(frontmatter::read(bytes).unwrap_or_default()));
    let resources = if root.dynamic {
        json!("dynamic")
    } else {
        let mut rows = vec![row(&uri, bytes)];
        rows.extend(
            (tree.below(&root.path))
                .filter(|(path, _)| **path != skill_md)
                .map(|(path, bytes)| row(&tree.uri(path), bytes)),
        );
        Value::Array(rows)
    };
    Skill {
        entry: json!({"uri": uri, "frontmatter": frontmatter, "resources": resources}),
        root: tree.uri(&root.path),
        uri,
        path: root.path.clone(),
        listed: root.listed,
        dynamic: root.dynamic,
    }
}

/// A line of a manifest.
pub(crate) fn row(uri: &str, bytes: &[u8]) -> Value {
    json!({"uri": uri, "digest": digest(bytes), "size": bytes.len()})
}

/// The digest of a file's bytes.
pub(crate) fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", hex(&Sha256::digest(bytes)))
}

/// Resource metadata of a file, for `resources/list` and directory reads.
fn resource(uri: &str, file: &File, skill: Option<&Skill>) -> Value {
    let mut resource = Map::new();
    resource.insert("uri".to_owned(), json!(uri));
    resource.insert("name".to_owned(), json!(file_name(&file.path)));
    resource.insert("mimeType".to_owned(), json!(file.mime));
    if !file.changing {
        // The size of what is generated anew on each read is nobody's to know.
        resource.insert("size".to_owned(), json!(file.bytes.len()));
    }
    let frontmatter = skill.and_then(|skill| skill.entry["frontmatter"].as_object());
    if let Some(frontmatter) = frontmatter {
        for field in ["name", "description"] {
            if let Some(value) = frontmatter.get(field).filter(|value| value.is_string()) {
                resource.insert(field.to_owned(), value.clone());
            }
        }
        if let Some(license) = frontmatter.get("license") {
            let meta = json!({"io.modelcontextprotocol.skills/license": license});
            resource.insert("_meta".to_owned(), meta);
        }
    }
    Value::Object(resource)
}
