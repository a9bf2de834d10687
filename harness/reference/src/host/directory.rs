//! Listing directories: what the held manifest says of a skill in use, and
//! what a server shows of everything else.

use std::collections::{BTreeMap, HashSet};

use serde_json::{Value, json};

use super::address::{last_segment, within};
use super::client::{Client, EXTENSION};
use super::context::Window;
use super::entry::Entry;
use super::outcome::{Key, Refusal, refuse};
use super::state::Host;
use super::user::User;

/// A child of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Child {
    pub uri: String,
    pub name: String,
    pub directory: bool,
}

impl Child {
    pub fn json(&self) -> Value {
        json!({"uri": self.uri, "name": self.name, "directory": self.directory})
    }
}

impl Host {
    /// Lists a directory of a server, or of a skill in use.
    pub async fn list_directory(
        &mut self,
        user: &mut User,
        label: &str,
        uri: &str,
        acting: Option<&Key>,
    ) -> Result<Vec<Child>, Refusal> {
        let uri = uri.strip_suffix('/').unwrap_or(uri);
        if let Some(acting) =
            acting.filter(|acting| acting.server.is_some() && acting.label() != label)
        {
            self.cross(user, acting, label, uri).await?;
        }
        let declared = self
            .server(label)
            .and_then(|server| server.client.as_ref())
            .is_some_and(|client| client.reads_directories() || self.reads_undeclared(client));
        let held = acting
            .filter(|acting| acting.label() == label)
            .and_then(|acting| self.window(acting));
        let held = held
            .filter(|window| {
                window
                    .entry
                    .as_ref()
                    .is_some_and(|entry| within(entry.root(), uri))
            })
            .or_else(|| self.window_around(label, uri))
            .cloned();
        let manifest = held.filter(|window| {
            window
                .entry
                .as_ref()
                .is_some_and(|entry| !entry.is_dynamic())
        });
        if declared && self.fault.on("host-surface-directory-read") {
            return refuse("unsupported", "directories of servers cannot be listed");
        }
        match manifest {
            Some(window) => self.list_of_skill(label, uri, &window, declared).await,
            None if declared => self.request_directory(label, uri).await,
            None => {
                self.client(label)?;
                refuse(
                    "unsupported",
                    format!("the server \"{label}\" does not declare that it lists directories"),
                )
            }
        }
    }

    /// Whether a fault calls the method although it is not declared.
    fn reads_undeclared(&self, client: &Client) -> bool {
        let settings = client.capabilities["extensions"].get(EXTENSION);
        match settings.map(|settings| settings.get("directoryRead")) {
            None => self.fault.on("client-directory-read-gated/no-extension"),
            Some(None) => self.fault.on("client-directory-read-gated"),
            Some(Some(Value::Bool(_))) => self.fault.on("client-directory-read-gated/false"),
            Some(Some(_)) => self.fault.on("client-directory-read-gated/words"),
        }
    }

    /// What the manifest lists in a directory. The server's own view is a
    /// sign of change at most; it adds nothing.
    async fn list_of_skill(
        &mut self,
        label: &str,
        uri: &str,
        window: &Window,
        declared: bool,
    ) -> Result<Vec<Child>, Refusal> {
        let Some(entry) = &window.entry else {
            return refuse("not-found", "a local skill has no server");
        };
        let listed = children(entry, uri);
        if !declared {
            return if listed.is_empty() {
                refuse("not-found", format!("the skill has no directory {uri}"))
            } else {
                Ok(listed)
            };
        }
        let seen = self.request_directory(label, uri).await?;
        let known: HashSet<&str> = listed.iter().map(|child| child.uri.as_str()).collect();
        let (shown, ahead): (Vec<Child>, Vec<Child>) = seen.into_iter().partition(|child| {
            known.contains(child.uri.as_str())
                || child.directory && !children(entry, &child.uri).is_empty()
        });
        // A directory without files has no place in a manifest.
        let mut new = Vec::new();
        for child in &ahead {
            if !child.directory || self.has_files(label, &child.uri).await {
                new.push(child.clone());
            }
        }
        if !new.is_empty() && !self.fault.on("host-directory-change-presented") {
            self.tell_changed(&window.key, &entry.name);
            self.doubt(&window.key);
        }
        self.ahead
            .extend(new.iter().map(|child| Key::new(label, &child.uri)));
        if self.fault.on("directory-read-not-manifest-extension") {
            return Ok(shown.into_iter().chain(ahead).collect());
        }
        Ok(shown)
    }

    /// Whether the server shows anything in a directory.
    async fn has_files(&mut self, label: &str, uri: &str) -> bool {
        matches!(self.request_directory(label, uri).await, Ok(children) if !children.is_empty())
    }

    /// Sends `resources/directory/read`, page by page.
    async fn request_directory(&mut self, label: &str, uri: &str) -> Result<Vec<Child>, Refusal> {
        let fault = self.fault;
        let asked = match fault.on("client-directory-read-request") {
            true => format!("{uri}/"),
            false => uri.to_owned(),
        };
        let mut found = Vec::new();
        let mut cursor: Option<String> = None;
        let mut seen = HashSet::new();
        for _ in 0..10_000 {
            let params = match &cursor {
                None => json!({"uri": asked}),
                Some(cursor) if fault.on("client-directory-read-request/page") => {
                    json!({"cursor": cursor})
                }
                Some(cursor) => json!({"uri": asked, "cursor": cursor}),
            };
            let page = self
                .client(label)?
                .request("resources/directory/read", params)
                .await?;
            for resource in page["resources"].as_array().into_iter().flatten() {
                let Some(uri) = resource["uri"].as_str() else {
                    continue;
                };
                found.push(Child {
                    uri: uri.to_owned(),
                    name: match resource["name"].as_str() {
                        Some(name) => name.to_owned(),
                        None => last_segment(uri),
                    },
                    directory: resource["mimeType"] == "inode/directory",
                });
            }
            match page["nextCursor"].as_str() {
                Some(next) if seen.insert(next.to_owned()) => cursor = Some(next.to_owned()),
                _ => break,
            }
        }
        Ok(found)
    }
}

/// The direct children of a directory, as the manifest has them.
fn children(entry: &Entry, directory: &str) -> Vec<Child> {
    let mut found: BTreeMap<String, bool> = BTreeMap::new();
    for item in entry.items() {
        let below = item
            .uri
            .strip_prefix(directory)
            .and_then(|rest| rest.strip_prefix('/'));
        match below.map(|below| below.split_once('/')) {
            Some(Some((directory, _))) => {
                found.insert(directory.to_owned(), true);
            }
            Some(None) => {
                let name = item.uri.rsplit('/').next().unwrap_or_default();
                found.insert(name.to_owned(), false);
            }
            None => {}
        }
    }
    found
        .into_iter()
        .map(|(name, is_directory)| Child {
            uri: format!("{directory}/{name}"),
            name: last_segment(&name),
            directory: is_directory,
        })
        .collect()
}
