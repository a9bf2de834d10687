//! The skills namespace as files and directories, before anything is said
//! about it on the wire.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::uri::encode_segment;

/// Marks where the body of a changing file carries its counter.
pub(crate) const COUNTER: &str = "{counter}";

/// A namespace of skills. Paths are relative, decoded and `/`-separated.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    /// Every file with its bytes.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Directories that exist without a file below them.
    pub directories: BTreeSet<String>,
    /// The skills, in the order of the listing.
    pub skills: Vec<SkillRoot>,
    /// URIs that are not spelled the regular way, by path; what lies below
    /// such a path is spelled from there on.
    pub spellings: BTreeMap<String, String>,
}

/// One skill of a tree.
#[derive(Debug, Clone)]
pub(crate) struct SkillRoot {
    /// Path of the skill's directory.
    pub path: String,
    /// Whether `skills/list` names it.
    pub listed: bool,
    /// Whether its `SKILL.md` is generated on each read.
    pub dynamic: bool,
    /// Frontmatter to publish in place of the one in the file (faults only).
    pub frontmatter: Option<Value>,
}

impl SkillRoot {
    /// A listed skill with fixed content.
    pub fn listed(path: &str) -> SkillRoot {
        SkillRoot {
            path: path.to_owned(),
            listed: true,
            dynamic: false,
            frontmatter: None,
        }
    }

    /// Path of the skill's `SKILL.md`.
    pub fn skill_md(&self) -> String {
        format!("{}/SKILL.md", self.path)
    }
}

impl Tree {
    /// The URI of a file or directory.
    pub fn uri(&self, path: &str) -> String {
        let mut uri = String::new();
        self.write_uri(path, &mut uri);
        uri
    }

    fn write_uri(&self, path: &str, uri: &mut String) {
        if let Some(spelling) = self.spellings.get(path) {
            uri.push_str(spelling);
            return;
        }
        let name = match path.rsplit_once('/') {
            Some((parent, name)) => {
                self.write_uri(parent, uri);
                uri.push('/');
                name
            }
            None => {
                uri.push_str("skill://");
                path
            }
        };
        uri.extend(encode_segment(name));
    }

    /// The files below a directory, with their paths, in order of path.
    pub fn below<'a>(
        &'a self,
        directory: &str,
    ) -> impl Iterator<Item = (&'a String, &'a Vec<u8>)> + use<'a> {
        let prefix = format!("{directory}/");
        self.files
            .range(prefix.clone()..)
            .take_while(move |(path, _)| path.starts_with(&prefix))
    }

    /// The tree without all that lies in these directories.
    pub fn without(&self, hidden: &[&str]) -> Tree {
        let shown = |path: &str| {
            !hidden.iter().any(|directory| {
                path.strip_prefix(directory)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            })
        };
        let mut tree = self.clone();
        tree.files.retain(|path, _| shown(path));
        tree.directories.retain(|path| shown(path));
        tree.skills.retain(|skill| shown(&skill.path));
        tree
    }

    /// Adds a file.
    pub fn add(&mut self, path: impl Into<String>, bytes: impl Into<Vec<u8>>) {
        self.files.insert(path.into(), bytes.into());
    }
}

/// The directory a path lies in.
pub(crate) fn parent(path: &str) -> Option<&str> {
    path.rsplit_once('/').map(|(parent, _)| parent)
}

/// The last segment of a path.
pub(crate) fn file_name(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}
