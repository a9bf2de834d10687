//! What the host shows of itself: skills, files, permissions.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::cache::segment;
use super::entry::nests;
use super::outcome::Key;
use super::server::Server;
use super::state::Host;

impl Host {
    /// The skills that are offered now.
    pub async fn list(&mut self) -> Value {
        self.discover();
        self.refresh_listings().await;
        if self.fault.on("host-registry-no-fetch") {
            let labels: Vec<String> = self
                .servers
                .iter()
                .map(|server| server.label.clone())
                .collect();
            for label in labels {
                self.fetch_all_texts(&label).await;
            }
        }
        if self.fault.on("host-no-implicit-local-execution/session") {
            let entries = self.servers.iter().flat_map(|server| server.entries());
            for entry in entries.cloned().collect::<Vec<_>>() {
                super::exec::declared(&entry, "SessionStart").await;
            }
        }
        self.note_names();
        let handles: HashMap<Key, String> = self
            .handles()
            .into_iter()
            .map(|(skill, handle)| (skill.key, handle))
            .collect();
        let mut rows = Vec::new();
        for local in &self.locals {
            let key = Key {
                server: None,
                uri: local.uri.clone(),
            };
            let listed = self
                .servers
                .iter()
                .flat_map(|server| server.entries())
                .any(|entry| entry.name == local.name);
            let Some(handle) = handles
                .get(&key)
                .filter(|_| !(listed && self.fault.on("host-cross-origin-no-shadow/vanish")))
            else {
                continue;
            };
            let description = one_line(&local.description);
            rows.push(json!({
                "server": null, "uri": local.uri, "name": local.name, "description": local.description,
                "shown_as": handle, "line": format!("{handle}: {description} (local)"),
            }));
        }
        for (at, server) in self
            .servers
            .iter()
            .enumerate()
            .filter(|(_, server)| server.client.is_some() || self.adopts(server))
        {
            let adopted = self.adopts(server);
            for entry in server.entries() {
                let key = Key::new(&server.label, &entry.uri);
                let Some(handle) = handles.get(&key) else {
                    continue;
                };
                let hidden = self.fault.on("host-nested-entry-separate")
                    && server.entries().any(|outer| nests(outer, &entry.uri));
                let replaced = self.fault.on("host-skill-identity-pair")
                    && self.servers[at + 1..]
                        .iter()
                        .any(|later| later.lookup(&entry.uri).is_some());
                if hidden || replaced {
                    continue;
                }
                let label = self.presented(&server.label);
                let description = one_line(&entry.description);
                let line = match self.fault.on("host-origin-shown") {
                    true => format!("{handle}: {description}"),
                    false => format!("{handle}: {description} (from server \"{label}\")"),
                };
                rows.push(json!({
                    "server": (!adopted).then_some(label), "uri": entry.uri, "name": entry.name, "description": entry.description,
                    "shown_as": handle, "line": line,
                    "verified": !entry.is_dynamic() || self.fault.on("host-dynamic-not-content-bound"),
                }));
            }
        }
        json!({"skills": rows})
    }

    /// Whether the skills of a server are taken for the host's own when it is disconnected (a fault).
    pub fn adopts(&self, server: &Server) -> bool {
        server.client.is_none() && self.fault.on("host-cache-durable-origin/adopted")
    }

    /// The permissions that are in force now.
    pub fn tools(&self) -> Value {
        let mut allowed: Vec<&String> = self
            .windows
            .iter()
            .flat_map(|window| &window.granted)
            .collect();
        allowed.extend(&self.memory.permissions);
        allowed.sort();
        allowed.dedup();
        json!({"allowed": allowed})
    }

    /// The cached files.
    pub fn cached(&self) -> Value {
        let files = self
            .cache
            .files()
            .map(|(path, key)| json!({"path": path, "server": key.server, "uri": key.uri}));
        json!({
            "files": files.collect::<Vec<_>>(),
            "host_only": true,
            "discovery": [self.discovery()],
        })
    }

    /// The paths under which the model sees the files of skills. Nothing is
    /// fetched for them.
    pub async fn mount(&mut self) -> Value {
        let mut files = Vec::new();
        for server in self.servers.iter().filter(|server| server.client.is_some()) {
            for entry in server.entries() {
                let own = entry.is_dynamic().then_some(entry.uri.as_str());
                for uri in entry
                    .items()
                    .iter()
                    .map(|item| item.uri.as_str())
                    .chain(own)
                {
                    files.push((server.label.clone(), uri.to_owned()));
                }
            }
        }
        files.sort();
        files.dedup();
        if self.fault.on("host-virtual-mount-lazy") {
            for (label, uri) in &files {
                let _ = self.request_resource(label, uri).await;
            }
        }
        let rows = files.iter().map(|(label, uri)| {
            let mut path = "/mcp".to_owned();
            let origin =
                (!self.fault.on("host-cache-path-encodes-origin/mount")).then_some(label.as_str());
            for part in origin
                .into_iter()
                .chain(uri.split('/'))
                .filter(|part| !part.is_empty())
            {
                path.push('/');
                path.push_str(&segment(part));
            }
            json!({"path": path, "server": label, "uri": uri})
        });
        json!({"files": rows.collect::<Vec<_>>()})
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
