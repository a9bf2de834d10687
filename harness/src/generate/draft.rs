//! A skill under way to a case: what it was, and what its entry and its files have become.

use serde_json::Value;

use super::entry::{Entry, Frontmatter, Resource, Resources};
use super::skill::Skill;

/// A skill under way to a case.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The skill as it was planned.
    pub skill: Skill,
    /// The entry.
    pub entry: Entry,
    /// What is delivered for the files that are read.
    pub files: Vec<(String, Vec<u8>)>,
}

impl Draft {
    /// What a skill and its entry start from: everything that is read arrives as it is.
    pub fn new(skill: Skill, reversed: bool) -> Self {
        let entry = Entry::of(&skill, reversed);
        let read = skill.files.iter().filter(|file| !file.unread);
        let files = read
            .map(|file| (file.uri.clone(), file.bytes.clone()))
            .collect();
        Self {
            skill,
            entry,
            files,
        }
    }

    /// The manifest, if there is one.
    pub fn manifest(&mut self) -> Option<&mut Vec<Resource>> {
        match &mut self.entry.resources {
            Resources::Files(files) => Some(files),
            Resources::Other(_) => None,
        }
    }

    /// The fields of the entry's frontmatter, if there are any.
    pub fn fields(&mut self) -> Option<&mut Vec<(String, Value)>> {
        match &mut self.entry.frontmatter {
            Frontmatter::Fields(fields) => Some(fields),
            Frontmatter::Other(_) => None,
        }
    }

    /// The URI of one of the files of the skill that are read.
    pub(super) fn read_uri(&self, which: u8) -> Option<String> {
        let read: Vec<&str> = self
            .skill
            .files
            .iter()
            .filter(|file| !file.unread)
            .map(|file| file.uri.as_str())
            .collect();
        read.get(usize::from(which) % read.len().max(1))
            .map(|uri| (*uri).to_owned())
    }

    pub(super) fn bytes(&self, uri: &str) -> Option<&[u8]> {
        let file = self.files.iter().find(|(known, _)| known == uri)?;
        Some(&file.1)
    }

    pub(super) fn delivered(&mut self, which: u8) -> Option<&mut Vec<u8>> {
        let uri = self.read_uri(which)?;
        let file = self.files.iter_mut().find(|(known, _)| *known == uri)?;
        Some(&mut file.1)
    }

    /// A supporting file that is read, with its bytes.
    pub(super) fn supporting(&self, which: u8) -> Option<(String, Vec<u8>)> {
        let files: Vec<_> = self
            .skill
            .files
            .iter()
            .skip(1)
            .filter(|file| !file.unread)
            .collect();
        let file = files.get(usize::from(which) % files.len().max(1))?;
        Some((file.uri.clone(), file.bytes.clone()))
    }

    pub(super) fn resource(&mut self, uri: &str) -> Option<&mut Resource> {
        self.manifest()?.iter_mut().find(|file| file.uri == uri)
    }

    /// The right digest of a file that is read, without the prefix.
    pub(super) fn hex(&mut self, which: u8) -> Option<String> {
        let uri = self.read_uri(which)?;
        let value = self.resource(&uri)?.digest.as_ref()?.as_str()?;
        let hex = value.strip_prefix("sha256:")?;
        (hex.len() == 64).then(|| hex.to_owned())
    }

    pub(super) fn set_digest(&mut self, which: u8, value: Value) -> Option<()> {
        let uri = self.read_uri(which)?;
        self.resource(&uri)?.digest = Some(value);
        Some(())
    }

    /// Changes SKILL.md, and the manifest with it.
    pub fn rewrite(&mut self, change: impl FnOnce(&str) -> Option<String>) -> Option<()> {
        let uri = format!("{}/SKILL.md", self.skill.root);
        let text = change(std::str::from_utf8(self.bytes(&uri)?).ok()?)?;
        let new = Resource::of(uri.clone(), text.as_bytes());
        *self.resource(&uri)? = new;
        self.files.iter_mut().find(|(known, _)| *known == uri)?.1 = text.into_bytes();
        Some(())
    }
}
