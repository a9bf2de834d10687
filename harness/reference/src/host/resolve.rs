//! Which skill is meant: by server and URI, by the URI alone, or by name.

use serde_json::Value;

use super::entry::{Entry, Resources, Source};
use super::outcome::{Key, Refusal, refuse};
use super::state::Host;

impl Host {
    /// The skill that a load asks for.
    pub async fn resolve(&mut self, params: &Value) -> Result<Key, Refusal> {
        if let Some(name) = params["name"].as_str() {
            return self.by_name(name);
        }
        let Some(uri) = params["uri"].as_str() else {
            return refuse("not-found", "neither a name nor a URI was given");
        };
        match params.get("server") {
            Some(Value::String(label)) => Ok(self.by_pair(label, uri)),
            Some(Value::Null) => Ok(Key {
                server: None,
                uri: uri.to_owned(),
            }),
            _ => self.by_uri(uri, params["source"].as_str()).await,
        }
    }

    fn by_pair(&self, label: &str, uri: &str) -> Key {
        let named = self.named();
        let asked = Key::new(label, uri);
        let name = named
            .iter()
            .find(|skill| skill.key == asked)
            .map(|skill| &skill.name);
        if self.fault.on("names-not-unique") {
            let mut same = named
                .iter()
                .filter(|skill| skill.key.server == asked.server && Some(&skill.name) == name);
            return same.next_back().map_or(asked, |skill| skill.key.clone());
        }
        if self.fault.on("host-cross-origin-no-shadow/uri")
            && let Some(local) = self.locals.iter().find(|local| Some(&local.name) == name)
        {
            return Key {
                server: None,
                uri: local.uri.clone(),
            };
        }
        if self.fault.on("host-skill-identity-pair") {
            let last = self
                .servers
                .iter()
                .rev()
                .find(|server| server.lookup(uri).is_some());
            return last.map_or(asked, |server| Key::new(&server.label, uri));
        }
        asked
    }

    /// The URI alone is enough where one origin has it.
    async fn by_uri(&mut self, uri: &str, source: Option<&str>) -> Result<Key, Refusal> {
        let listing = self
            .servers
            .iter()
            .filter(|server| server.lookup(uri).is_some());
        let mut candidates: Vec<Key> = listing.map(|server| Key::new(&server.label, uri)).collect();
        if self.locals.iter().any(|local| local.uri == uri) {
            candidates.push(Key {
                server: None,
                uri: uri.to_owned(),
            });
        }
        if candidates.is_empty() {
            let gate = !self.fault.on("client-methods-gated/get");
            let asked = self
                .servers
                .iter()
                .filter(|server| server.serves_skills() || !gate && server.client.is_some());
            candidates = asked.map(|server| Key::new(&server.label, uri)).collect();
            // Text of one server must not send the host round the others.
            if candidates.len() > 1 && matches!(source, None | Some("user")) {
                let mut serving = Vec::new();
                for key in candidates {
                    if let Ok(entry) = self.get_entry(key.label(), uri).await {
                        self.keep_entry(key.label(), &entry);
                        serving.push(key);
                    }
                }
                candidates = serving;
            }
        }
        match candidates.as_slice() {
            [] => refuse(
                "not-a-skill",
                format!("no connected server serves {uri} as a skill"),
            ),
            [key] => Ok(key.clone()),
            [first, ..] if self.fault.on("host-skill-identity-pair/pick") => Ok(first.clone()),
            several => {
                let labels: Vec<&str> = several.iter().map(Key::label).collect();
                refuse(
                    "ambiguous",
                    format!(
                        "{uri} may be meant of several servers: {}",
                        labels.join(", ")
                    ),
                )
            }
        }
    }

    fn by_name(&self, name: &str) -> Result<Key, Refusal> {
        let handles = self.handles();
        if let Some((skill, _)) = handles.iter().find(|(_, handle)| handle == name) {
            return Ok(skill.key.clone());
        }
        let mut bare = name;
        if self.fault.on("host-cross-origin-no-shadow/substitute") {
            bare = name.split_once(':').map_or(name, |(_, bare)| bare);
        }
        let candidates: Vec<&Key> = handles
            .iter()
            .filter(|(skill, _)| skill.name == bare)
            .map(|(skill, _)| &skill.key)
            .collect();
        let one_server = candidates
            .windows(2)
            .all(|pair| pair[0].server == pair[1].server);
        match candidates.as_slice() {
            [] => refuse("not-found", format!("there is no skill \"{name}\"")),
            [key] => Ok((*key).clone()),
            [first, ..]
                if one_server && self.fault.on("host-disambiguate-listing-collision/first") =>
            {
                Ok((*first).clone())
            }
            [.., last] if !one_server && self.fault.on("host-cross-origin-no-shadow") => {
                Ok((*last).clone())
            }
            _ => {
                let shown = handles
                    .iter()
                    .filter(|(skill, _)| skill.name == bare)
                    .map(|(_, handle)| handle.as_str());
                let shown: Vec<&str> = shown.collect();
                refuse(
                    "ambiguous",
                    format!("\"{name}\" may mean any of {}", shown.join(", ")),
                )
            }
        }
    }

    /// The entry of a skill of a server: the one that is held, or else the
    /// one that the server gives.
    pub async fn entry(&mut self, key: &Key) -> Result<Entry, Refusal> {
        let (label, uri) = (key.label(), key.uri.as_str());
        let made_up = || Entry {
            uri: uri.to_owned(),
            name: super::address::last_segment(super::address::directory(uri)),
            description: String::new(),
            frontmatter: serde_json::Map::new(),
            resources: Resources::Dynamic,
            source: Source::Nowhere,
            claims_verified: false,
        };
        let server = self.server_mut(label)?;
        let listing = (server.listing.entries.is_empty(), server.listing.failed);
        // No listing keeps the entry of an unlisted skill up to date.
        let listed = !server.known.contains_key(uri);
        let held = match server.lookup(uri) {
            Some(Ok(entry)) if entry.source != Source::Nowhere => Some(entry.clone()),
            Some(Ok(_)) => None,
            Some(Err(reason)) => {
                return refuse(
                    "invalid-entry",
                    format!("the entry of {uri} is invalid: {reason}"),
                );
            }
            None => None,
        };
        if let Some(entry) = &held {
            let behind = self.ahead.iter().any(|ahead| {
                ahead.label() == label && super::address::within(entry.root(), &ahead.uri)
            });
            if listed && !behind {
                return Ok(entry.clone());
            }
        } else {
            let missing = match listing {
                (false, _) => self.fault.on("host-load-by-uri"),
                (true, true) => self.fault.on("host-no-empty-listing-assumption/failed"),
                (true, false) => self.fault.on("host-no-empty-listing-assumption"),
            };
            if missing {
                return refuse(
                    "not-found",
                    format!("the server \"{label}\" lists no skill {uri}"),
                );
            }
            if self.fault.on("host-reference-confirmed") {
                return Ok(made_up());
            }
        }
        match self.get_entry(label, uri).await {
            Ok(entry) => {
                self.keep_entry(label, &entry);
                Ok(entry)
            }
            Err(refusal)
                if refusal.kind == Some("not-a-skill")
                    && self.fault.on("host-reference-confirmed/error") =>
            {
                Ok(made_up())
            }
            // Without a connection, what is held is all there is.
            Err(refusal) if refusal.kind == Some("transport") => held.ok_or(refusal),
            Err(refusal) => Err(refusal),
        }
    }
}
