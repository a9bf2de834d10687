//! Loading a skill: the only way in which one becomes active.

use std::time::Duration;

use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::context::{Kind, Message, Window};
use super::entry::{Entry, tools};
use super::exec;
use super::limits;
use super::outcome::{Delivered, Key, Outcome, Refusal, refuse};
use super::state::Host;
use super::user::{Question, User};

impl Host {
    /// Loads the skill that is asked for.
    pub async fn load(&mut self, user: &mut User, params: &Value) -> Outcome {
        let key = self.resolve(params).await?;
        self.memory.by_handle = params["name"].is_string();
        self.memory.by_reference = false;
        if self.approvals.forbidden(&key) && !self.fault.on("host-user-policy") {
            return refuse("policy", "the user's policy forbids this skill");
        }
        if key.server.is_none() {
            return self.load_local(&key);
        }
        self.load_from_server(user, key).await
    }

    fn load_local(&mut self, key: &Key) -> Outcome {
        let local = self.local(&key.uri)?;
        let bytes = match local.text() {
            Ok(bytes) => bytes,
            Err(error) => return refuse("not-found", format!("{}: {error}", key.uri)),
        };
        let mut window = Window::new(key.clone(), None);
        window.granted = local.allowed_tools;
        let message = Message::local(Kind::Skill, key, &bytes);
        self.enter(window, message);
        Ok(Delivered {
            server: None,
            uri: key.uri.clone(),
            bytes,
            verified: None,
        })
    }

    async fn load_from_server(&mut self, user: &mut User, key: Key) -> Outcome {
        let label = key.label().to_owned();
        if self.fault.on("client-authority-not-resolved") {
            knock(&key.uri).await;
        }
        let entry = self.entry(&key).await?;
        let within_limits = limits::check(&entry, self.fault);
        if !self.fault.on("host-limit-enforced") {
            within_limits.clone()?;
        }
        if self.fault.on("host-no-prefetch/approve") {
            let _ = self.request_resource(&label, &entry.uri).await;
            self.fetch_others(&label, &entry).await;
        }
        let asked = self.permit(user, &key, &entry).await?;
        if let Err(refusal) = within_limits {
            let _ = self.request_resource(&label, &entry.uri).await;
            return Err(refusal);
        }
        let (file, entry) = self.obtain(user, &label, &entry, &entry.uri).await?;
        let retrieved = file.bytes.len() as u64;
        if entry.is_dynamic() && retrieved > limits::BYTES {
            return refuse(
                "limit",
                format!("{} has {retrieved} bytes, more than are supported", key.uri),
            );
        }
        if self.memory.from_cache.contains(&key) && self.fault.on("host-no-prefetch/reload") {
            self.fetch_all_texts(&label).await;
        }
        if self.fault.on("host-no-prefetch/load") {
            self.fetch_others(&label, &entry).await;
        }
        let mut window = Window::new(key.clone(), Some(entry.clone()));
        window.retrieved = retrieved;
        if self.fault.on("host-no-implicit-permission-grants") {
            for field in ["permissions", "additional-directories"] {
                window
                    .granted
                    .extend(entry.frontmatter.get(field).map(tools).unwrap_or_default());
            }
        }
        if self.fault.on("host-no-implicit-permission-grants/metadata")
            && let Some(metadata) = entry.frontmatter.get("metadata")
        {
            window.granted.extend(tools(&metadata["allowed-tools"]));
        }
        if self.fault.on("host-no-implicit-local-execution") {
            exec::hooks(&entry, "load").await;
        }
        if self.fault.on("host-no-implicit-local-execution/body") {
            exec::fill_in(&file.bytes).await;
        }
        if self.fault.on("host-no-prefetch/later") {
            let due = std::time::Instant::now() + Duration::from_millis(50);
            self.memory.later = Some((due, label.clone(), entry.clone()));
        }
        let message = Message::from_server(
            Kind::Skill,
            &self.origin(&label),
            &key,
            &file.bytes,
            self.fault,
        );
        self.enter(window, message);
        let granted = self.grant(user, &key, &entry, asked).await;
        if let Some(window) = self.windows.iter_mut().find(|window| window.key == key) {
            window.granted.extend(granted);
        }
        let adopted = self
            .server(&label)
            .is_some_and(|server| self.adopts(server));
        Ok(Delivered {
            server: (!adopted).then(|| self.presented(&label)),
            uri: file.uri,
            bytes: file.bytes,
            verified: Some(file.verified || self.fault.on("host-dynamic-not-content-bound")),
        })
    }

    /// Puts a SKILL.md into context and opens its window.
    fn enter(&mut self, window: Window, message: Message) {
        if self.fault.on("host-acting-window") {
            let others = self.windows.drain(..).map(|window| window.key);
            self.memory
                .closed
                .extend(others.filter(|key| *key != window.key));
        }
        self.leave(&window.key);
        self.memory.closed.remove(&window.key);
        self.windows.push(window);
        self.context.push(message);
    }

    /// Takes a SKILL.md out of context and closes its window.
    fn leave(&mut self, key: &Key) {
        self.windows.retain(|window| window.key != *key);
        self.context
            .retain(|message| !(message.kind == Kind::Skill && message.key == *key));
    }

    /// SKILL.md leaves the model's context.
    pub async fn release(&mut self, key: &Key) {
        let window = self.window(key).cloned();
        self.leave(key);
        self.memory.closed.remove(key);
        let Some(window) = window else { return };
        if self.fault.on("host-ignore-allowed-tools/others") {
            self.memory
                .permissions
                .extend(window.granted.iter().cloned());
        }
        if self
            .fault
            .on("host-no-implicit-local-execution/after-release")
            && let Some(entry) = &window.entry
        {
            exec::hooks(entry, "release").await;
        }
    }

    /// Asks whether the skill may be loaded, unless the user has allowed it
    /// for good. Says whether there was a question.
    async fn permit(&mut self, user: &mut User, key: &Key, entry: &Entry) -> Result<bool, Refusal> {
        let label = key.label();
        let outer = self.outer(key).cloned();
        // What lies within an approved skill is asked for afresh each time.
        if outer.is_none() && self.approvals.covers(key, "load", entry) {
            return Ok(false);
        }
        if let Some(outer) = outer
            .as_ref()
            .filter(|_| self.fault.on("host-nested-fresh-consent"))
        {
            let outer_key = Key::new(label, &outer.uri);
            if self.window(&outer_key).is_some() || self.approvals.covers(&outer_key, "load", outer)
            {
                return Ok(false);
            }
        }
        if let Some(outer) = outer
            .as_ref()
            .filter(|_| self.fault.on("host-nested-fresh-consent/released"))
        {
            let outer_key = Key::new(label, &outer.uri);
            if self.window(&outer_key).is_none() && self.approvals.covers(&outer_key, "load", outer)
            {
                return Ok(false);
            }
        }
        if self.fault.on("host-user-policy/declined") && !self.memory.declined.insert(key.clone()) {
            return Ok(false);
        }
        if (self.fault.on("read-is-not-a-load/approval")
            || self.fault.on("read-is-not-a-load/inspect")
            || self.fault.on("read-is-not-a-load/neighbour-approval"))
            && self.memory.read_as_resource.contains(key)
        {
            return Ok(false);
        }
        let (name, uri) = (&entry.name, &key.uri);
        let (kind, detail) = if let Some(outer) = &outer {
            let text = format!(
                "Load the skill \"{name}\" of server \"{label}\" ({uri}), which lies inside {}?",
                outer.uri
            );
            ("nested", text)
        } else if self.approvals.outdated(key, entry) {
            let text = format!(
                "The skill \"{name}\" of server \"{label}\" ({uri}) has changed since it was approved. Load it?"
            );
            ("changed", text)
        } else {
            (
                "load",
                format!("Load the skill \"{name}\" of server \"{label}\" ({uri})?"),
            )
        };
        let decision = user
            .ask(&Question::new(kind, key, detail))
            .await
            .or_refuse("the load")?;
        if decision.remember && outer.is_none() {
            self.approvals.store(key, "load", entry);
        }
        Ok(true)
    }

    /// The tools that are put in force for a skill: those that it asks for,
    /// if the user grants them.
    async fn grant(
        &mut self,
        user: &mut User,
        key: &Key,
        entry: &Entry,
        asked: bool,
    ) -> Vec<String> {
        let wanted = entry.allowed_tools();
        if wanted.is_empty() {
            return wanted;
        }
        if self.fault.on("host-ignore-allowed-tools")
            || self.fault.on("host-ignore-allowed-tools/load-approval") && asked
            || self.fault.on("host-ignore-allowed-tools/nested") && self.is_nested(key)
            || self.fault.on("host-ignore-allowed-tools/outer") && self.outer_has(key, "grant")
            || self.approvals.covers(key, "grant", entry)
        {
            return wanted;
        }
        let mut named = wanted.clone();
        if self.fault.on("host-ignore-allowed-tools/more") {
            named.drain(..named.len() - 1);
        }
        let detail = format!(
            "The skill \"{}\" of server \"{}\" ({}) asks for the use of {}. Grant it while the skill is in use?",
            entry.name,
            key.label(),
            key.uri,
            named.join(", ")
        );
        let question = Question {
            tools: named,
            ..Question::new("grant", key, detail)
        };
        let decision = user.ask(&question).await;
        if decision.allow && decision.remember && !self.is_nested(key) {
            self.approvals.store(key, "grant", entry);
        }
        if decision.allow { wanted } else { Vec::new() }
    }

    /// Whether the user has allowed this for good for the skill around another one, which only faults
    /// ask.
    pub fn outer_has(&mut self, key: &Key, kind: &str) -> bool {
        let Some(outer) = self.outer(key).cloned() else {
            return false;
        };
        let outer_key = Key::new(key.label(), &outer.uri);
        self.approvals.covers(&outer_key, kind, &outer)
    }

    /// Reads the supporting files of a skill (a fault).
    pub async fn fetch_others(&mut self, label: &str, entry: &Entry) {
        for item in entry.items().iter().filter(|item| item.uri != entry.uri) {
            let _ = self.request_resource(label, &item.uri).await;
        }
    }

    /// The content of a skill that is not loaded, for the user.
    pub async fn inspect(&mut self, user: &mut User, key: &Key) -> Outcome {
        if key.server.is_none() {
            let bytes = self.local(&key.uri)?.text();
            return match bytes {
                Ok(bytes) => Ok(Delivered {
                    server: None,
                    uri: key.uri.clone(),
                    bytes,
                    verified: None,
                }),
                Err(error) => refuse("not-found", error.to_string()),
            };
        }
        let label = key.label();
        let entry = self.entry(key).await?;
        limits::check(&entry, self.fault)?;
        let obtained = self.obtain(user, label, &entry, &entry.uri).await;
        if obtained.is_err() && self.fault.on("host-verify-digest/inspect") {
            let content = self.request_resource(label, &entry.uri).await?;
            return Ok(Delivered {
                server: Some(self.presented(label)),
                uri: entry.uri,
                bytes: content.bytes,
                verified: Some(true),
            });
        }
        if self.fault.on("read-is-not-a-load/inspect") {
            self.memory.read_as_resource.insert(key.clone());
        }
        let (file, entry) = obtained?;
        let bytes = if self.fault.on("host-inspect-before-load") {
            format!("{}: {}", entry.name, entry.description).into_bytes()
        } else {
            file.bytes
        };
        Ok(Delivered {
            server: Some(self.presented(label)),
            uri: file.uri,
            bytes,
            verified: Some(file.verified),
        })
    }
}

/// Connects to the host and port in the authority of a URI (a fault).
async fn knock(uri: &str) {
    let authority = uri
        .split_once("://")
        .and_then(|(_, rest)| rest.split('/').next());
    if let Some(authority) =
        authority.filter(|authority| uri.starts_with("skill:") && authority.contains(':'))
    {
        let _ = timeout(Duration::from_secs(2), TcpStream::connect(authority)).await;
    }
}
