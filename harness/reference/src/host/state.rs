//! The host as a whole: what it keeps in memory, and how one finds one's way in it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::PathBuf;

use super::approvals::Approvals;
use super::cache::Cache;
use super::client::Client;
use super::context::{Message, Window};
use super::entry::{Entry, nests};
use super::faults::Switch;
use super::local::{self, Local};
use super::names::{Named, Names, handles};
use super::outcome::{Key, Refusal, refuse};
use super::server::Server;
use crate::message::Era;

/// A host.
#[derive(Debug)]
pub(super) struct Host {
    pub fault: Switch,
    /// Where everything is kept that outlives the process.
    pub directory: PathBuf,
    /// The revision that servers are expected to speak.
    pub hint: Option<Era>,
    /// The configured servers, the one connected last at the end.
    pub servers: Vec<Server>,
    pub locals: Vec<Local>,
    pub names: Names,
    pub approvals: Approvals,
    pub cache: Cache,
    pub windows: Vec<Window>,
    pub context: Vec<Message>,
    pub notices: Vec<String>,
    /// Files that a directory has shown and the held manifest lacks.
    pub ahead: BTreeSet<Key>,
    /// The host has been started before with this directory.
    pub restarted: bool,
    pub memory: Memory,
}

/// What only faults remember.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// The first result of `skills/get` of each server.
    pub first_get: HashMap<String, serde_json::Value>,
    /// Servers that may be read without asking again.
    pub crossings: BTreeSet<(String, String)>,
    /// Skills that were read as resources.
    pub read_as_resource: BTreeSet<Key>,
    /// Permissions that stay in force without a window.
    pub permissions: Vec<String>,
    /// The skills that a tool has been allowed for.
    pub tool_allowed: BTreeSet<Key>,
    /// The skills whose windows were closed before their time.
    pub closed: BTreeSet<Key>,
    /// Skills whose SKILL.md came out of the cache when it was loaded last.
    pub from_cache: BTreeSet<Key>,
    /// Commands that the user has allowed.
    pub commands: BTreeSet<String>,
    /// Cross-origin reads that the user has allowed: the servers, and the URI.
    pub crossed: BTreeSet<(String, String, String)>,
    /// The load under way is one by handle.
    pub by_handle: bool,
    /// The read under way is one by relative reference.
    pub by_reference: bool,
    /// Skills about which the user has been asked before.
    pub declined: BTreeSet<Key>,
    /// When to fetch the files of a skill unasked.
    pub later: Option<(std::time::Instant, String, Entry)>,
    /// How many files were asked for in the window of a skill.
    pub reads: HashMap<Key, usize>,
}

impl Memory {
    /// Counts a read in the window of a skill; whether it is the fifth one, or a later one.
    pub fn tired_of(&mut self, skill: &Key) -> bool {
        let reads = self.reads.entry(skill.clone()).or_default();
        *reads += 1;
        *reads >= 5
    }
}

impl Host {
    /// Starts a host on a directory.
    pub fn start(directory: PathBuf, hint: Option<Era>, restarted: bool, fault: Switch) -> Host {
        let mut host = Host {
            fault,
            hint,
            servers: Vec::new(),
            locals: Vec::new(),
            names: Names::default(),
            approvals: Approvals::open(&directory, fault),
            cache: Cache::open(&directory, fault),
            windows: Vec::new(),
            context: Vec::new(),
            notices: Vec::new(),
            ahead: BTreeSet::new(),
            restarted,
            memory: Memory::default(),
            directory,
        };
        host.discover();
        host
    }

    /// Where local skills are discovered.
    pub fn discovery(&self) -> PathBuf {
        self.directory.join("skills")
    }

    /// Looks for local skills.
    pub fn discover(&mut self) {
        self.locals = local::discover(&self.discovery());
        if self.fault.on("host-cache-excluded-from-discovery") && self.restarted {
            let texts = self
                .cache
                .files()
                .filter(|(_, key)| key.uri.ends_with("/SKILL.md"));
            let found: Vec<Local> = texts
                .filter_map(|(path, _)| Local::read(path.clone()))
                .collect();
            self.locals.extend(found);
        }
    }

    pub fn server(&self, label: &str) -> Option<&Server> {
        self.servers.iter().find(|server| server.label == label)
    }

    pub fn server_mut(&mut self, label: &str) -> Result<&mut Server, Refusal> {
        let found = self.servers.iter_mut().find(|server| server.label == label);
        found.ok_or_else(|| Refusal {
            kind: None,
            reason: format!("no server is configured as \"{label}\""),
        })
    }

    pub fn client(&mut self, label: &str) -> Result<&mut Client, Refusal> {
        Ok(self.server_mut(label)?.client()?)
    }

    pub fn is_connected(&self, label: &str) -> bool {
        self.server(label)
            .is_some_and(|server| server.client.is_some())
    }

    /// How a server is named where it is presented.
    pub fn presented(&self, label: &str) -> String {
        let own = |server: &Server| server.own_name.clone();
        let name = self.server(label).and_then(own);
        let alike = self.servers.iter().filter(|server| own(server) == name);
        match name {
            Some(name) if self.fault.on("host-label-not-serverinfo-name") && alike.count() > 1 => {
                name
            }
            _ => label.to_owned(),
        }
    }

    /// How a server is named in the label of content.
    pub fn origin(&self, label: &str) -> String {
        let own = self
            .server(label)
            .and_then(|server| server.own_name.clone());
        match own {
            Some(name) if self.fault.on("host-label-not-serverinfo-name/context") => name,
            _ => label.to_owned(),
        }
    }

    pub fn window(&self, key: &Key) -> Option<&Window> {
        self.windows.iter().find(|window| window.key == *key)
    }

    /// The window of a skill of this server in whose directory the URI lies;
    /// of several, the innermost.
    pub fn window_around(&self, label: &str, uri: &str) -> Option<&Window> {
        self.windows
            .iter()
            .filter(|window| window.key.label() == label && window.key.server.is_some())
            .filter(|window| {
                let entry = window.entry.as_ref();
                entry.is_some_and(|entry| super::address::within(entry.root(), uri))
            })
            .max_by_key(|window| window.key.uri.len())
    }

    /// Whether the skill lies inside another one of its server.
    pub fn is_nested(&self, key: &Key) -> bool {
        self.outer(key).is_some()
    }

    /// A skill of the same server that the skill lies inside.
    pub fn outer(&self, key: &Key) -> Option<&Entry> {
        let held = self
            .windows
            .iter()
            .filter(|window| window.key.server == key.server);
        let known = self
            .server(key.label())
            .into_iter()
            .flat_map(Server::entries);
        held.filter_map(|window| window.entry.as_ref())
            .chain(known)
            .find(|outer| nests(outer, &key.uri))
    }

    /// Every skill that has a name: local ones, and those of configured
    /// servers, also of disconnected ones, so that their names stay theirs.
    pub fn named(&self) -> Vec<Named> {
        let mut named: Vec<Named> = Vec::new();
        let mut seen: HashSet<Key> = HashSet::new();
        for local in &self.locals {
            named.push(Named {
                key: Key {
                    server: None,
                    uri: local.uri.clone(),
                },
                name: local.name.clone(),
            });
        }
        for server in &self.servers {
            if self.fault.on("host-cross-origin-no-shadow/substitute") && server.client.is_none() {
                continue;
            }
            for entry in server.entries() {
                let key = Key::new(&server.label, &entry.uri);
                let known = !seen.insert(key.clone());
                if !known {
                    named.push(Named {
                        key,
                        name: entry.name.clone(),
                    });
                }
            }
        }
        named
    }

    /// The handle of every skill.
    pub fn handles(&self) -> Vec<(Named, String)> {
        let named = self.named();
        let handles = handles(&named, &self.names, self.fault);
        let mut rows: Vec<(Named, String)> = named.into_iter().zip(handles).collect();
        if self.fault.on("host-disambiguate-listing-collision") {
            let mut taken = HashSet::new();
            rows.retain(|(skill, _)| {
                let listed = skill.key.server.is_some();
                taken.insert((skill.key.server.clone(), skill.name.clone())) || !listed
            });
        }
        rows
    }

    /// Notes collisions of names and tells the user about new ones.
    pub fn note_names(&mut self) {
        let named = self.named();
        let handles = handles(&named, &self.names, self.fault);
        let notices = self.names.show(&named, &handles);
        let mut quiet: Vec<String> = Vec::new();
        if self.fault.on("host-cross-origin-no-shadow/later") {
            let locals = self.locals.iter().map(|local| &local.name);
            let taken = locals.filter(|name| self.names.was_shown(name));
            quiet.extend(taken.map(|name| format!("\"{name}\"")));
        }
        let told = |text: &&String| !quiet.iter().any(|name| text.contains(name));
        if !self.fault.on("host-collisions-surfaced") {
            self.notices.extend(notices.iter().filter(told).cloned());
        }
    }

    /// Takes notice of an entry and tells the user when it ends an approval.
    pub fn observe(&mut self, label: &str, entry: &Entry) {
        let key = Key::new(label, &entry.uri);
        if self.approvals.observe(&key, entry) {
            self.tell_changed(&key, &entry.name);
        }
    }

    /// Tells the user that a skill has changed.
    pub fn tell_changed(&mut self, key: &Key, name: &str) {
        let text = format!(
            "The skill \"{name}\" of server \"{}\" ({}) has changed and needs approval",
            key.label(),
            key.uri
        );
        if !self.notices.contains(&text) {
            self.notices.push(text);
        }
    }

    /// The local skill with this URI.
    pub fn local(&self, uri: &str) -> Result<Local, Refusal> {
        match self.locals.iter().find(|local| local.uri == uri) {
            Some(local) => Ok(local.clone()),
            None => refuse("not-found", format!("there is no local skill {uri}")),
        }
    }
}
