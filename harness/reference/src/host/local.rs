//! Skills on the host's own file system.

use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use super::entry::tools;
use crate::frontmatter;
use crate::uri::encode_segment;

/// A local skill.
#[derive(Debug, Clone)]
pub(super) struct Local {
    pub name: String,
    pub description: String,
    pub directory: PathBuf,
    /// `file:` URI of its SKILL.md.
    pub uri: String,
    pub allowed_tools: Vec<String>,
    /// Where its text is, for what only looks like a local skill.
    skill_md: PathBuf,
}

impl Local {
    /// Reads the skill whose text is in a file.
    pub fn read(skill_md: PathBuf) -> Option<Local> {
        let fields = frontmatter::read(&fs::read(&skill_md).ok()?).ok()?;
        let text = |key: &str| fields.get(key).and_then(Value::as_str).map(str::to_owned);
        let directory = skill_md.parent()?.to_owned();
        Some(Local {
            name: text("name")?,
            description: text("description").unwrap_or_default(),
            uri: file_uri(&skill_md),
            allowed_tools: fields.get("allowed-tools").map(tools).unwrap_or_default(),
            directory,
            skill_md,
        })
    }

    /// The text of its SKILL.md.
    pub fn text(&self) -> io::Result<Vec<u8>> {
        fs::read(&self.skill_md)
    }

    /// A file below its directory, by relative path.
    pub fn file(&self, path: &str) -> io::Result<(String, Vec<u8>)> {
        let path = inside(&self.directory, path)?;
        Ok((file_uri(&path), fs::read(path)?))
    }
}

/// Every skill in a directory, by name of its own directory.
pub(super) fn discover(directory: &Path) -> Vec<Local> {
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("SKILL.md"))
        .filter(|path| path.is_file())
        .collect();
    paths.sort();
    paths.into_iter().filter_map(Local::read).collect()
}

/// Puts a skill into the directory.
pub(super) fn install(directory: &Path, name: &str, files: &[(String, String)]) -> io::Result<()> {
    let home = inside(directory, name)?;
    for (path, text) in files {
        let path = inside(&home, path)?;
        fs::create_dir_all(path.parent().unwrap_or(&home))?;
        fs::write(path, text)?;
    }
    Ok(())
}

/// A path below a directory, which must not lead out of it.
fn inside(directory: &Path, path: &str) -> io::Result<PathBuf> {
    let relative = Path::new(path);
    let plain = relative
        .components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    if path.is_empty() || !plain {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "the path leads out of its directory",
        ));
    }
    Ok(directory.join(relative))
}

/// The `file:` URI of a path.
pub(super) fn file_uri(path: &Path) -> String {
    let segments = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(encode_segment(&name.to_string_lossy()).to_string()),
        _ => None,
    });
    format!("file:///{}", segments.collect::<Vec<_>>().join("/"))
}
