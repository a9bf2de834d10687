//! Honest answers of a scripted server.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use super::shelf::{File, Skill};
use super::spec::ServerSpec;
use crate::wire::Revision;
use crate::wire::jsonrpc::{EXTENSION, INVALID_PARAMS, METHOD_NOT_FOUND, RESOURCE_NOT_FOUND};

/// A server as it stands now.
#[derive(Debug, Clone)]
pub struct Server {
    /// The user's label for it.
    pub label: String,
    /// What the scenario says of it.
    pub spec: ServerSpec,
    /// Its skills, by key.
    pub skills: Vec<(String, Skill)>,
}

/// A result, or a code and a message.
pub type Answer = Result<Value, (i64, String)>;

impl Server {
    /// Builds a server.
    pub fn new(label: &str, spec: ServerSpec) -> Self {
        let skills = spec
            .skills
            .iter()
            .map(|(key, skill)| (key.clone(), Skill::new(label, key, skill.clone())))
            .collect();
        Self {
            label: label.to_owned(),
            spec,
            skills,
        }
    }

    /// Answers a request honestly, before anything is bent.
    ///
    /// # Errors
    ///
    /// JSON-RPC error codes of the base protocol and of the extension.
    pub fn answer(&self, revision: Revision, method: &str, params: &Value) -> Answer {
        let declared = !self.spec.settings.is_null();
        let directories = self.spec.settings.get("directoryRead") == Some(&json!(true));
        let modern = revision == Revision::Modern;
        let mut result = match method {
            "initialize" if !modern => json!({
                "protocolVersion": revision.name(),
                "capabilities": self.capabilities(),
                "serverInfo": self.info(),
                "instructions": self.spec.instructions,
            }),
            "ping" if !modern => json!({}),
            "server/discover" if modern => json!({
                "supportedVersions": [revision.name()],
                "capabilities": self.capabilities(),
                "instructions": self.spec.instructions,
            }),
            "skills/list" if declared => self.list(params)?,
            "skills/get" if declared => self.get(params)?,
            "resources/list" => self.resources(),
            "resources/templates/list" => json!({"resourceTemplates": []}),
            "resources/read" => self.read(revision, params)?,
            "resources/directory/read" if directories => self.directory(params)?,
            _ => return Err((METHOD_NOT_FOUND, format!("unknown method {method}"))),
        };
        if let Value::Object(members) = &mut result {
            members.retain(|_, value| !value.is_null());
            if modern {
                members.insert("resultType".into(), json!("complete"));
                members.insert(
                    "_meta".into(),
                    json!({"io.modelcontextprotocol/serverInfo": self.info()}),
                );
                // Directory reads need not have these, and there are clients that ask for them.
                let ttl = if method.ends_with("/read") {
                    0
                } else {
                    self.spec.ttl_ms
                };
                members.insert("ttlMs".into(), json!(ttl));
                members.insert("cacheScope".into(), json!(self.spec.scope));
            }
        }
        Ok(result)
    }

    fn info(&self) -> Value {
        json!({"name": self.spec.name, "version": "1.0.0"})
    }

    fn capabilities(&self) -> Value {
        let mut capabilities = json!({"resources": {}});
        if !self.spec.settings.is_null() {
            capabilities["extensions"] = json!({EXTENSION: self.spec.settings});
        }
        capabilities
    }

    /// Keys of the listed skills, page by page.
    fn pages(&self) -> Vec<Vec<String>> {
        if let Some(pages) = &self.spec.pages {
            return pages.clone();
        }
        let listed: Vec<String> = self
            .skills
            .iter()
            .filter(|(_, skill)| !skill.spec.unlisted)
            .map(|(key, _)| key.clone())
            .collect();
        let mut pages: Vec<Vec<String>> = listed
            .chunks(self.spec.page.max(1))
            .map(<[String]>::to_vec)
            .collect();
        if pages.is_empty() {
            pages.push(Vec::new());
        }
        pages
    }

    fn cursor(&self, page: usize) -> String {
        match self.spec.cursors.get(page - 1) {
            Some(cursor) => cursor.clone(),
            None => format!("page {page} of {}=", self.label),
        }
    }

    fn list(&self, params: &Value) -> Answer {
        let pages = self.pages();
        let page = match params.get("cursor") {
            None => 0,
            Some(cursor) => (1..pages.len())
                .find(|page| cursor.as_str() == Some(&self.cursor(*page)))
                .ok_or_else(|| (INVALID_PARAMS, format!("unknown cursor {cursor}")))?,
        };
        let entries: Vec<Value> = pages[page]
            .iter()
            .filter_map(|key| self.skill(key))
            .map(|skill| self.entry(skill, "skills/list"))
            .collect();
        let mut result = json!({"skills": entries});
        if page + 1 < pages.len() {
            result["nextCursor"] = json!(self.cursor(page + 1));
        }
        Ok(result)
    }

    fn skill(&self, key: &str) -> Option<&Skill> {
        let found = self.skills.iter().find(|(other, _)| other == key);
        found.map(|(_, skill)| skill)
    }

    fn get(&self, params: &Value) -> Answer {
        let uri = uri(params)?;
        let skill = self.skills.iter().find(|(_, skill)| skill.uri() == uri);
        match skill {
            Some((_, skill)) => Ok(json!({"skill": self.entry(skill, "skills/get")})),
            None => Err((INVALID_PARAMS, format!("no skill is served at {uri}"))),
        }
    }

    fn entry(&self, skill: &Skill, method: &str) -> Value {
        if let Some(given) = &skill.spec.given {
            return given.entry.clone();
        }
        let resources = if skill.spec.dynamic {
            json!("dynamic")
        } else {
            let item = |(uri, file): &(String, File)| json!({"uri": uri, "digest": file.digest, "size": file.bytes.len()});
            // The files of a nested skill are files of the skill around it.
            let below = format!("{}/", skill.root);
            let nested = self
                .skills
                .iter()
                .filter(|(_, other)| other.root.starts_with(&below))
                .flat_map(|(_, other)| other.files.iter());
            Value::Array(skill.files.iter().chain(nested).map(item).collect())
        };
        let mut entry = json!({
            "uri": skill.uri(),
            "frontmatter": skill.frontmatter,
            "resources": resources,
        });
        for bend in skill.spec.entry.iter().filter(|bend| bend.applies(method)) {
            bend.apply(&mut entry);
        }
        entry
    }

    /// Every file that is served, by URI.
    fn files(&self) -> impl Iterator<Item = (&str, &File)> {
        self.skills
            .iter()
            .flat_map(|(_, skill)| skill.files.iter().chain(&skill.ahead))
            .map(|(uri, file)| (uri.as_str(), file))
    }

    fn resources(&self) -> Value {
        let plain = self
            .spec
            .resources
            .keys()
            .map(|uri| json!({"uri": uri, "name": uri.rsplit('/').next()}));
        json!({"resources": plain.collect::<Vec<_>>()})
    }

    fn read(&self, revision: Revision, params: &Value) -> Answer {
        let uri = uri(params)?;
        if let Some(text) = self.spec.resources.get(uri) {
            return Ok(
                json!({"contents": [{"uri": uri, "mimeType": "text/markdown", "text": text}]}),
            );
        }
        let Some((_, file)) = self.files().find(|(served, _)| *served == uri) else {
            let code = match revision {
                Revision::Modern => INVALID_PARAMS,
                Revision::Legacy => RESOURCE_NOT_FOUND,
            };
            return Err((code, format!("no resource is served at {uri}")));
        };
        let mut item = Map::new();
        item.insert("uri".into(), json!(uri));
        item.insert("mimeType".into(), json!("text/markdown"));
        if file.blob {
            item.insert("blob".into(), json!(BASE64.encode(&file.bytes)));
        } else {
            item.insert("text".into(), json!(String::from_utf8_lossy(&file.bytes)));
        }
        Ok(json!({"contents": [item]}))
    }

    fn directory(&self, params: &Value) -> Answer {
        let uri = uri(params)?;
        let below = format!("{uri}/");
        let mut children: Vec<(String, bool)> = Vec::new();
        for (file, _) in self.files() {
            if let Some(rest) = file.strip_prefix(&below) {
                let child = match rest.split_once('/') {
                    None => (file.to_owned(), false),
                    Some((first, _)) => (format!("{below}{first}"), true),
                };
                if !children.contains(&child) {
                    children.push(child);
                }
            }
        }
        if children.is_empty() {
            return Err((INVALID_PARAMS, format!("no directory is served at {uri}")));
        }
        // Two children on a page, so that clients have to turn pages.
        let page = match params.get("cursor") {
            None => 0,
            Some(cursor) => cursor
                .as_str()
                .and_then(|cursor| cursor.strip_prefix("children from "))
                .and_then(|number| number.parse::<usize>().ok())
                .filter(|number| *number < children.len())
                .ok_or_else(|| (INVALID_PARAMS, format!("unknown cursor {cursor}")))?,
        };
        const PAGE: usize = 2;
        let shown: Vec<Value> = children
            .iter()
            .skip(page)
            .take(PAGE)
            .map(|(uri, directory)| {
                let name = uri.rsplit('/').next().unwrap_or_default();
                let kind = if *directory {
                    "inode/directory"
                } else {
                    "text/markdown"
                };
                json!({"uri": uri, "name": name, "mimeType": kind})
            })
            .collect();
        let mut result = json!({"resources": shown});
        if page + PAGE < children.len() {
            result["nextCursor"] = json!(format!("children from {}", page + PAGE));
        }
        Ok(result)
    }
}

fn uri(params: &Value) -> Result<&str, (i64, String)> {
    params
        .get("uri")
        .and_then(Value::as_str)
        .ok_or_else(|| (INVALID_PARAMS, "`uri` is missing or not a string".into()))
}
