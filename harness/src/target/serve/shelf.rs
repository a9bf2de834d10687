//! The skills of a scripted server: their files, tokens, digests and entries.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use percent_encoding::utf8_percent_encode;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::spec::{FileSpec, SkillSpec};
use crate::wire::content::digest_string;
use crate::wire::mapping::LENIENT;

/// What every token begins with: text that no host writes by itself.
pub const TOKEN: &str = "KC-";

/// One file.
#[derive(Debug, Clone)]
pub struct File {
    /// Its content.
    pub bytes: Bytes,
    /// Its digest, as manifests give it.
    pub digest: String,
    /// Whether it is served as `blob`.
    pub blob: bool,
}

impl File {
    fn new(bytes: Vec<u8>, blob: bool) -> Self {
        Self {
            digest: digest_string(&Sha256::digest(&bytes).into()),
            bytes: bytes.into(),
            blob,
        }
    }
}

/// One skill as it stands now.
#[derive(Debug, Clone)]
pub struct Skill {
    /// What the scenario says of it.
    pub spec: SkillSpec,
    /// URI of its directory.
    pub root: String,
    /// Its frontmatter, as the entry gives it.
    pub frontmatter: Value,
    /// Its files by URI, in the order of the manifest: SKILL.md first.
    pub files: Vec<(String, File)>,
    /// Files that are served though the manifest lacks them.
    pub ahead: Vec<(String, File)>,
    versions: BTreeMap<String, usize>,
}

/// A change of a skill in the course of a scenario.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Change {
    /// Files that are added or rotated.
    pub put: BTreeMap<String, FileSpec>,
    /// Files that are taken away.
    pub remove: Vec<String>,
    /// Fields of the frontmatter that are added or changed.
    pub frontmatter: Map<String, Value>,
    /// Another body for SKILL.md.
    pub body: Option<String>,
    /// Whether the listing leaves the skill out from now on.
    pub unlisted: Option<bool>,
    /// Whether the entry says `"dynamic"` from now on.
    pub dynamic: Option<bool>,
    /// Files that are served from now on though the manifest lacks them.
    pub ahead: BTreeMap<String, FileSpec>,
    /// Edits of the entry from now on, in place of the former ones.
    pub entry: Option<Vec<super::bend::Bend>>,
}

impl Skill {
    /// Builds a skill of the server with this label.
    pub fn new(label: &str, key: &str, spec: SkillSpec) -> Self {
        let root = spec
            .root
            .clone()
            .unwrap_or_else(|| format!("skill://{key}"));
        let mut skill = Self {
            spec,
            root,
            frontmatter: Value::Null,
            files: Vec::new(),
            ahead: Vec::new(),
            versions: BTreeMap::new(),
        };
        skill.build(label);
        skill
    }

    /// The URI of its SKILL.md.
    pub fn uri(&self) -> String {
        format!("{}/SKILL.md", self.root)
    }

    /// Changes it.
    pub fn change(&mut self, label: &str, change: &Change) {
        for (path, file) in &change.put {
            self.spec.files.insert(path.clone(), file.clone());
            *self.versions.entry(path.clone()).or_default() += 1;
        }
        for path in &change.remove {
            self.spec.files.remove(path);
        }
        if !change.frontmatter.is_empty() || change.body.is_some() {
            *self.versions.entry("SKILL.md".into()).or_default() += 1;
        }
        self.spec.frontmatter.extend(change.frontmatter.clone());
        if let Some(body) = &change.body {
            self.spec.body = Some(body.clone());
        }
        if let Some(unlisted) = change.unlisted {
            self.spec.unlisted = unlisted;
        }
        if let Some(dynamic) = change.dynamic {
            self.spec.dynamic = dynamic;
        }
        self.spec.ahead.extend(change.ahead.clone());
        if let Some(entry) = &change.entry {
            self.spec.entry.clone_from(entry);
        }
        self.build(label);
    }

    fn build(&mut self, label: &str) {
        if let Some(given) = &self.spec.given {
            let file = |body: &String| {
                let bytes = BASE64.decode(body).unwrap_or_default();
                let blob = std::str::from_utf8(&bytes).is_err();
                File::new(bytes, blob)
            };
            self.frontmatter = given.entry["frontmatter"].clone();
            let files = given.files.iter();
            self.files = files.map(|(uri, body)| (uri.clone(), file(body))).collect();
            return;
        }
        let name = self.root.rsplit('/').next().unwrap_or_default();
        let mut frontmatter = Map::new();
        frontmatter.insert("name".into(), json!(name));
        frontmatter.insert("description".into(), json!(format!("What {name} is for.")));
        frontmatter.extend(self.spec.frontmatter.clone());
        frontmatter.retain(|_, value| !value.is_null());
        let mut real = frontmatter.clone();
        real.extend(self.spec.really.clone());
        real.retain(|_, value| !value.is_null());
        self.frontmatter = Value::Object(frontmatter);

        let yaml = serde_yaml::to_string(&real).unwrap_or_default();
        let body = self.spec.body.as_deref().unwrap_or("Do as you are told.");
        let skill_md = format!("---\n{yaml}---\n\n{body}");
        let mut files = vec![(
            self.uri(),
            self.file(label, "SKILL.md", &FileSpec::Text(skill_md)),
        )];
        for (path, spec) in &self.spec.files {
            files.push((self.child(path), self.file(label, path, spec)));
        }
        if let Some(fill) = self.spec.fill {
            let missing = fill.files.saturating_sub(files.len());
            let have: u64 = files.iter().map(|(_, file)| file.bytes.len() as u64).sum();
            let bytes = fill.bytes.unwrap_or(have).saturating_sub(have);
            let each = bytes / missing.max(1) as u64;
            let last = bytes - each * (missing.max(1) as u64 - 1);
            let filler = |len: u64| File::new(vec![b'x'; usize::try_from(len).unwrap_or(0)], false);
            let common = filler(each);
            for number in 1..=missing {
                let file = if number == missing {
                    filler(last)
                } else {
                    common.clone()
                };
                files.push((self.child(&format!("fill/{number:03}.txt")), file));
            }
        }
        self.files = files;
        self.ahead = self
            .spec
            .ahead
            .iter()
            .map(|(path, spec)| (self.child(path), self.file(label, path, spec)))
            .collect();
    }

    fn child(&self, path: &str) -> String {
        let mut uri = self.root.clone();
        for segment in path.split('/') {
            uri.push('/');
            uri.extend(utf8_percent_encode(segment, LENIENT));
        }
        uri
    }

    fn file(&self, label: &str, path: &str, spec: &FileSpec) -> File {
        let version = self.versions.get(path).copied().unwrap_or(0);
        let marked = |text: &str| {
            let token = token(label, &self.child(path), version);
            format!("{}\n\n{token}\n", text.trim_end()).into_bytes()
        };
        match spec {
            FileSpec::Text(text) => File::new(marked(text), false),
            FileSpec::Exact(text) => File::new(text.clone().into_bytes(), false),
            FileSpec::Blob(text) => File::new(marked(text), true),
        }
    }
}

/// A word that stands in one version of one file and nowhere else.
pub fn token(label: &str, uri: &str, version: usize) -> String {
    let mut hash = Sha256::new();
    for part in [label, uri, &version.to_string()] {
        hash.update(part.as_bytes());
        hash.update([0]);
    }
    let hex: String = hash.finalize()[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    format!("{TOKEN}{hex}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn skill(spec: Value) -> Skill {
        Skill::new(
            "docs",
            "acme/refunds",
            serde_json::from_value(spec).unwrap(),
        )
    }

    #[test]
    fn a_fill_reaches_its_numbers_exactly() {
        let skill =
            skill(json!({"files": {"a b.md": "x"}, "fill": {"files": 512, "bytes": 16_777_216}}));
        let bytes: usize = skill.files.iter().map(|(_, file)| file.bytes.len()).sum();
        assert_eq!((skill.files.len(), bytes), (512, 16_777_216));
        assert_eq!(skill.files[1].0, "skill://acme/refunds/a%20b.md");
    }

    #[test]
    fn a_rotated_file_has_another_token_and_digest() {
        let mut skill = skill(json!({"files": {"a.md": "x", "b.md": "y"}}));
        let before = skill.clone();
        let change = Change {
            put: BTreeMap::from([("a.md".to_owned(), FileSpec::Text("x".into()))]),
            ..Change::default()
        };
        skill.change("docs", &change);
        assert_ne!(before.files[1].1.digest, skill.files[1].1.digest);
        assert_eq!(before.files[2].1.digest, skill.files[2].1.digest);
    }

    #[test]
    fn what_skill_md_really_says_may_differ() {
        let skill =
            skill(json!({"frontmatter": {"license": "MIT"}, "really": {"license": null, "x": 1}}));
        let text = String::from_utf8(skill.files[0].1.bytes.to_vec()).unwrap();
        assert!(!text.contains("license") && text.contains("x: 1"), "{text}");
        assert_eq!(skill.frontmatter["license"], "MIT");
    }
}
