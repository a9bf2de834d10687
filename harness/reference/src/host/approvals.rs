//! What the user has allowed for good, and what the user's policy says. Both
//! are kept on disk, by server and URI; an approval holds for the set of
//! files that the skill had when it was given.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::address::root;
use super::entry::{Entry, Source};
use super::faults::Switch;
use super::outcome::Key;

/// The approvals and policies of one host.
#[derive(Debug)]
pub(super) struct Approvals {
    fault: Switch,
    path: PathBuf,
    records: Vec<Record>,
    policies: Vec<(Key, bool)>,
    /// Commands that were allowed for good, by skill, which only a fault keeps.
    commands: Vec<(Key, String)>,
    /// What was found to be covered since the start, which only a fault remembers.
    covered: BTreeSet<(Key, String)>,
}

#[derive(Debug, Clone)]
struct Record {
    key: Key,
    /// The files and their digests, or nothing for a dynamic skill.
    set: Vec<(String, String)>,
    kinds: BTreeSet<String>,
    /// The skill has changed since, and the user has to be asked again.
    revoked: bool,
}

impl Approvals {
    /// Reads what was stored in the directory.
    pub fn open(directory: &Path, fault: Switch) -> Approvals {
        let path = directory.join("approvals.json");
        let stored: Value = std::fs::read(&path)
            .ok()
            .and_then(|bytes| serde_json::from_slice(&bytes).ok())
            .unwrap_or(Value::Null);
        let rows = |name: &str| stored[name].as_array().cloned().unwrap_or_default();
        Approvals {
            fault,
            path,
            records: rows("approvals").iter().map(record).collect(),
            policies: rows("policies")
                .iter()
                .map(|row| (key(row), row["allow"] == true))
                .collect(),
            commands: rows("commands")
                .iter()
                .map(|row| {
                    (
                        key(row),
                        row["command"].as_str().unwrap_or_default().to_owned(),
                    )
                })
                .collect(),
            covered: BTreeSet::new(),
        }
    }

    fn save(&self) -> io::Result<()> {
        let approvals = self.records.iter().map(|record| {
            json!({"server": record.key.server, "uri": record.key.uri, "set": record.set,
                "kinds": record.kinds, "revoked": record.revoked})
        });
        let policies = self
            .policies
            .iter()
            .map(|(key, allow)| json!({"server": key.server, "uri": key.uri, "allow": allow}));
        let commands = self.commands.iter().map(
            |(key, command)| json!({"server": key.server, "uri": key.uri, "command": command}),
        );
        let stored = json!({
            "commands": commands.collect::<Vec<_>>(),
            "approvals": approvals.collect::<Vec<_>>(),
            "policies": policies.collect::<Vec<_>>(),
        });
        let next = self.path.with_extension("new");
        std::fs::write(&next, stored.to_string())?;
        std::fs::rename(next, &self.path)
    }

    fn find(&self, key: &Key) -> Option<usize> {
        self.records.iter().position(|record| record.key == *key)
    }

    /// Whether the user has allowed this for good, for the files that the
    /// entry has.
    pub fn covers(&mut self, key: &Key, kind: &str, entry: &Entry) -> bool {
        let once = self.fault.on("host-content-bound-approval/session");
        let this = (key.clone(), kind.to_owned());
        if once && self.covered.contains(&this) {
            return true;
        }
        let covers = self.covers_now(key, kind, entry);
        if covers && once {
            self.covered.insert(this);
        }
        covers
    }

    fn covers_now(&self, key: &Key, kind: &str, entry: &Entry) -> bool {
        let unkeyed = match kind {
            "execute" => self
                .fault
                .on("host-no-implicit-local-execution/other-server"),
            "grant" => self.fault.on("host-ignore-allowed-tools/other-server"),
            _ => self.fault.on("host-skill-identity-pair/approval"),
        };
        if unkeyed
            && self
                .records
                .iter()
                .any(|record| record.key.uri == key.uri && record.kinds.contains(kind))
        {
            return true;
        }
        let Some(record) = self.find(key).map(|at| &self.records[at]) else {
            return false;
        };
        if !record.kinds.contains(kind) {
            return false;
        }
        if self.is_unbound(kind) {
            return true;
        }
        if entry.is_dynamic() {
            return match record.set.is_empty() {
                true => self.keeps_dynamic(kind),
                false => self.fault.on("host-content-bound-approval/dynamic"),
            };
        }
        !record.revoked && self.bound_to(&record.set, entry)
    }

    /// Whether approvals of this kind outlive a change of the skill (faults).
    fn is_unbound(&self, kind: &str) -> bool {
        match kind {
            "execute" => self.fault.on("host-content-bound-approval/execute"),
            "grant" => self.fault.on("host-content-bound-approval/grant"),
            _ => false,
        }
    }

    fn unbound(&self) -> Vec<&'static str> {
        let mut kinds = vec!["execute", "grant"];
        kinds.retain(|kind| self.is_unbound(kind));
        kinds
    }

    /// Whether approvals of this kind are kept for dynamic skills (faults).
    fn keeps_dynamic(&self, kind: &str) -> bool {
        self.fault.on("host-dynamic-not-content-bound/stored")
            || kind == "execute" && self.fault.on("host-dynamic-not-content-bound/execute")
            || kind == "grant" && self.fault.on("host-dynamic-not-content-bound/grant")
    }

    /// Whether the user had allowed an earlier state of the skill.
    pub fn outdated(&self, key: &Key, entry: &Entry) -> bool {
        self.find(key)
            .map(|at| &self.records[at])
            .is_some_and(|record| {
                record.revoked || !entry.is_dynamic() && !self.bound_to(&record.set, entry)
            })
    }

    /// Keeps an approval, unless the skill has no content that it could be
    /// bound to.
    pub fn store(&mut self, key: &Key, kind: &str, entry: &Entry) {
        if entry.is_dynamic() && !self.keeps_dynamic(kind) {
            return;
        }
        let at = self.find(key).unwrap_or_else(|| {
            self.records.push(Record {
                key: key.clone(),
                set: entry.set(),
                kinds: BTreeSet::new(),
                revoked: false,
            });
            self.records.len() - 1
        });
        let outdated = self.outdated(key, entry);
        let unbound = self.unbound();
        let record = &mut self.records[at];
        if outdated {
            record.kinds.retain(|kind| unbound.contains(&kind.as_str()));
        }
        record.set = entry.set();
        record.revoked = false;
        record.kinds.insert(kind.to_owned());
        self.keep();
    }

    /// Takes notice of an entry, whatever it was fetched for. Says whether it
    /// ends an approval.
    pub fn observe(&mut self, key: &Key, entry: &Entry) -> bool {
        let Some(at) = self.find(key) else {
            return false;
        };
        let record = &self.records[at];
        let kept = entry.is_dynamic()
            && (record.set.is_empty() || self.fault.on("host-content-bound-approval/dynamic"));
        if record.revoked || kept || self.bound_to(&record.set, entry) {
            return false;
        }
        let unbound = self.unbound();
        let record = &mut self.records[at];
        record.revoked = true;
        record.kinds.retain(|kind| unbound.contains(&kind.as_str()));
        self.keep();
        true
    }

    /// Whether an approval of this set is one of what the entry has.
    fn bound_to(&self, approved: &[(String, String)], entry: &Entry) -> bool {
        let fault = |variant: &str| match variant {
            "list" => {
                self.fault.on("host-content-bound-approval/list") && entry.source == Source::List
            }
            _ => self.fault.on("host-content-bound-approval/get") && entry.source == Source::Get,
        };
        if fault("list") || fault("get") {
            return true;
        }
        let now = entry.set();
        let inner: Vec<&str> = now
            .iter()
            .chain(approved)
            .filter_map(|(uri, _)| root(uri))
            .filter(|directory| *directory != entry.root())
            .collect();
        let set = |pairs: &[(String, String)]| -> BTreeSet<(String, String)> {
            let nested = |uri: &str| {
                inner
                    .iter()
                    .any(|directory| super::address::within(directory, uri))
            };
            pairs
                .iter()
                .filter(|(uri, _)| {
                    !(self.fault.on("host-content-bound-approval/nested") && nested(uri))
                })
                .map(|(uri, digest)| {
                    if self.fault.on("host-content-bound-approval") {
                        (uri.clone(), String::new())
                    } else if self.fault.on("host-content-bound-approval/names") {
                        (String::new(), digest.clone())
                    } else {
                        (uri.clone(), digest.clone())
                    }
                })
                .collect()
        };
        let (approved, now) = (set(approved), set(&now));
        approved == now
            || self.fault.on("host-content-bound-approval/added") && approved.is_subset(&now)
            || self.fault.on("host-content-bound-approval/removed") && now.is_subset(&approved)
    }

    /// Keeps a command as allowed for a skill, whatever becomes of the skill (a fault).
    pub fn keep_command(&mut self, key: &Key, command: &str) {
        self.commands.push((key.clone(), command.to_owned()));
        self.keep();
    }

    /// Whether a command was kept for a skill (a fault).
    pub fn has_command(&self, key: &Key, command: &str) -> bool {
        self.commands
            .iter()
            .any(|(of, kept)| of == key && kept == command)
    }

    /// Whether the user's policy forbids the skill.
    pub fn forbidden(&self, key: &Key) -> bool {
        self.policies
            .iter()
            .any(|(ruled, allow)| self.same(ruled, key) && !allow)
    }

    /// Whether a rule for one skill is one for the other.
    fn same(&self, ruled: &Key, key: &Key) -> bool {
        ruled == key || ruled.uri == key.uri && self.fault.on("host-user-policy/uri")
    }

    /// Sets the user's policy for a skill.
    pub fn rule(&mut self, key: Key, allow: bool) {
        let mut policies = std::mem::take(&mut self.policies);
        policies.retain(|(ruled, _)| !self.same(ruled, &key));
        self.policies = policies;
        self.policies.push((key, allow));
        self.keep();
    }

    /// Forgets what was allowed for a server that is removed. Whoever gets
    /// its label later is somebody else.
    pub fn forget(&mut self, server: &str) {
        self.records
            .retain(|record| record.key.server.as_deref() != Some(server));
        self.keep();
    }

    fn keep(&self) {
        if let Err(error) = self.save() {
            eprintln!("sep2640-reference: cannot store approvals: {error}");
        }
    }
}

fn key(row: &Value) -> Key {
    Key {
        server: row["server"].as_str().map(str::to_owned),
        uri: row["uri"].as_str().unwrap_or_default().to_owned(),
    }
}

fn record(row: &Value) -> Record {
    let pairs = row["set"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Record {
        key: key(row),
        set: pairs.map(|pair| (text(&pair[0]), text(&pair[1]))).collect(),
        kinds: row["kinds"]
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect(),
        revoked: row["revoked"] == true,
    }
}
