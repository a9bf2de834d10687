//! Connecting to servers, and what they publish: the walk through `skills/list`.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{CallError, Client, Target};
use super::entry::{Entry, Resources, Source};
use super::outcome::{Key, Refusal};
use super::server::{Listed, Listing, Server};
use super::state::Host;

/// A walk ends here, whatever the server still has to say.
const PAGES: usize = 10_000;
/// So does a walk that takes longer than this.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a walk brought, and for how long it may be relied on.
struct Walk {
    skills: Vec<Value>,
    fresh_until: Option<Instant>,
}

impl Host {
    /// Connects to a server under the label that the user has given it.
    pub async fn connect(&mut self, label: &str, target: Target) -> Result<(), String> {
        self.disconnect(label).await;
        let client = Client::connect(&target, self.hint, self.fault).await?;
        let mut server = match self.servers.iter().position(|server| server.label == label) {
            Some(at) => self.servers.remove(at),
            None => Server::new(label, target.clone()),
        };
        server.target = target;
        server.own_name = client.name.clone();
        server.client = Some(client);
        server.dead = false;
        let lists = server.serves_skills() && !self.ignores(&server)
            || self.fault.on("client-methods-gated");
        self.servers.push(server);
        if self.fault.on("client-no-private-methods")
            && let Ok(client) = self.client(label)
        {
            let _ = client.request("skills/search", json!({"query": ""})).await;
        }
        if lists {
            self.list_skills(label).await;
        }
        if self.fault.on("host-not-skill-by-scheme") {
            self.take_resources_for_skills(label).await;
        }
        if self.fault.on("host-no-prefetch") {
            self.fetch_all_texts(label).await;
        }
        if self.fault.on("host-no-prefetch/idle")
            && let Some(entry) = self
                .server(label)
                .and_then(|server| server.entries().next())
        {
            let due = Instant::now() + Duration::from_millis(1200);
            self.memory.later = Some((due, label.to_owned(), entry.clone()));
        }
        self.note_names();
        Ok(())
    }

    /// Whether the server is passed over although it declares the extension (a fault).
    pub fn ignores(&self, server: &Server) -> bool {
        let settings = server.client.as_ref().and_then(Client::settings);
        self.fault.on("host-empty-settings-supported")
            && settings.is_some_and(|settings| *settings == json!({}))
    }

    /// Ends the connection; the configuration stays, and so does what is known.
    pub async fn disconnect(&mut self, label: &str) {
        if self.fault.on("host-no-implicit-local-execution/disconnect") {
            let windows = self.windows.clone();
            for entry in windows.iter().filter_map(|window| window.entry.as_ref()) {
                super::exec::declared(entry, "SessionEnd").await;
            }
        }
        if let Ok(server) = self.server_mut(label)
            && let Some(client) = server.client.take()
        {
            client.end().await;
        }
    }

    /// Removes a server for good, with all that was kept of it.
    pub async fn remove(&mut self, label: &str) {
        self.disconnect(label).await;
        self.servers.retain(|server| server.label != label);
        // What is in context stays there, and so does the window that it holds open.
        self.ahead.retain(|key| key.label() != label);
        self.names.forget(label);
        self.approvals.forget(label);
        self.cache.forget(label);
    }

    /// Fetches the listings that are not fresh any more.
    pub async fn refresh_listings(&mut self) {
        let labels: Vec<String> = self
            .servers
            .iter()
            .filter(|server| server.serves_skills() && !server.dead && !self.ignores(server))
            .filter(|server| {
                let until = server.listing.fresh_until;
                let fresh =
                    until.is_some_and(|until| Instant::now() < until) && !server.listing.doubtful;
                let ever = until.is_some() && self.fault.on("client-ttl-honoured");
                !fresh && !ever
            })
            .map(|server| server.label.clone())
            .collect();
        for label in labels {
            self.list_skills(&label).await;
        }
    }

    /// Fetches the listing of a server. If that fails, what was known before stays.
    pub async fn list_skills(&mut self, label: &str) {
        let walk = match self.walk(label).await {
            Ok(walk) => walk,
            Err(refusal) => {
                if let Ok(server) = self.server_mut(label) {
                    server.listing.failed = true;
                }
                self.notices.push(format!(
                    "The listing of server \"{label}\" failed: {}",
                    refusal.reason
                ));
                return;
            }
        };
        let mut listing = Listing {
            fresh_until: walk.fresh_until,
            poll_at: walk
                .fresh_until
                .filter(|_| self.fault.on("client-ttl-honoured/poll")),
            ..Listing::default()
        };
        let mut places: HashMap<String, usize> = HashMap::new();
        for value in &walk.skills {
            let listed = Listed {
                uri: value["uri"].as_str().unwrap_or_default().to_owned(),
                entry: Entry::read(value, Source::List, self.fault),
            };
            if let Err(reason) = &listed.entry {
                let uri = crate::uri::show(&listed.uri);
                self.notices.push(format!(
                    "An entry of server \"{label}\" ({uri}) is invalid: {reason}"
                ));
                if self.fault.on("host-invalid-entry-isolated") {
                    listing.entries.clear();
                    listing.failed = true;
                    break;
                }
            }
            // A catalog that moves may show an entry on two pages: the later one counts.
            match places.insert(listed.uri.clone(), listing.entries.len()) {
                Some(earlier) if !self.fault.on("host-moving-catalog") => {
                    places.insert(listed.uri.clone(), earlier);
                    listing.entries[earlier] = listed;
                }
                _ => listing.entries.push(listed),
            }
        }
        let entries: Vec<Entry> = listing
            .entries
            .iter()
            .filter_map(|listed| listed.entry.clone().ok())
            .collect();
        for entry in &entries {
            self.observe(label, entry);
        }
        self.ahead.retain(|key| key.label() != label);
        if let Ok(server) = self.server_mut(label) {
            server.known.retain(|uri, _| !places.contains_key(uri));
            server.listing = listing;
        }
    }

    async fn walk(&mut self, label: &str) -> Result<Walk, Refusal> {
        match self.pages(label).await {
            // A cursor that was good has become invalid: begin again, once.
            Err(Stop::Cursor(_)) => self.pages(label).await.map_err(Stop::into_refusal),
            walk => walk.map_err(Stop::into_refusal),
        }
    }

    async fn pages(&mut self, label: &str) -> Result<Walk, Stop> {
        let fault = self.fault;
        let mut walk = Walk {
            skills: Vec::new(),
            fresh_until: None,
        };
        let mut until: Option<Instant> = None;
        let mut cursor = self.stored_cursor(label);
        let mut seen = HashSet::new();
        let begun = Instant::now();
        for number in 0..PAGES {
            let params = cursor
                .as_ref()
                .map_or(json!({}), |cursor| json!({"cursor": cursor}));
            let client = self.client(label).map_err(Stop::Other)?;
            let modern = client.is_modern();
            let page = match client.request("skills/list", params).await {
                Ok(page) => page,
                Err(error)
                    if cursor.is_some() && matches!(error, CallError::Rpc { code: -32602, .. }) =>
                {
                    if fault.on("client-cursor-invalid-restart") {
                        walk.fresh_until = until;
                        return Ok(walk);
                    }
                    return Err(Stop::Cursor(error.into()));
                }
                Err(error) => return Err(Stop::Other(error.into())),
            };
            let Some(Value::Array(skills)) = page.get("skills") else {
                return Err(Stop::Other(
                    CallError::Unusable("the result has no array `skills`".to_owned()).into(),
                ));
            };
            walk.skills.extend(skills.iter().cloned());
            let ttl = page["ttlMs"].as_u64().filter(|_| modern).unwrap_or(0);
            let fresh = Instant::now() + Duration::from_millis(ttl.min(1 << 40));
            until = Some(until.map_or(fresh, |earlier| earlier.min(fresh)));
            let empty = skills.is_empty() && fault.on("client-pagination-followed");
            let Some(Value::String(next)) = page.get("nextCursor").filter(|_| !empty) else {
                if let Some(last) = cursor.filter(|_| fault.on("client-pagination-end")) {
                    let client = self.client(label).map_err(Stop::Other)?;
                    let _ = client.request("skills/list", json!({"cursor": last})).await;
                }
                break;
            };
            self.store_cursor(label, next);
            if next.is_empty() && fault.on("client-pagination-followed/empty-cursor") {
                break;
            }
            if !seen.insert(next.clone()) {
                self.notices.push(format!(
                    "The listing of server \"{label}\" repeats a cursor and was cut short"
                ));
                break;
            }
            let pages = number + 1;
            if pages == PAGES || begun.elapsed() > PATIENCE {
                self.notices.push(format!(
                    "The listing of server \"{label}\" does not end and was cut after {pages} pages"
                ));
                break;
            }
            let rewritten = fault.on("client-pagination-followed/rewritten");
            cursor = Some(match rewritten {
                true => next
                    .trim_matches(|c: char| c.is_whitespace() || c == '=')
                    .to_owned(),
                false => next.clone(),
            });
        }
        walk.fresh_until = until.filter(|until| *until > Instant::now());
        Ok(walk)
    }

    /// The cursor that an earlier run has left, if a fault keeps any.
    fn stored_cursor(&self, label: &str) -> Option<String> {
        let kept = self.fault.on("client-cursor-not-persisted") && self.restarted;
        let stored = fs::read(self.directory.join("cursors.json"))
            .ok()
            .filter(|_| kept)?;
        let stored: Value = serde_json::from_slice(&stored).ok()?;
        stored[label].as_str().map(str::to_owned)
    }

    fn store_cursor(&self, label: &str, cursor: &str) {
        if self.fault.on("client-cursor-not-persisted")
            && !self.directory.join("cursors.json").exists()
        {
            let _ = fs::write(
                self.directory.join("cursors.json"),
                json!({label: cursor}).to_string(),
            );
        }
    }

    /// Registers every resource that looks like a skill (a fault).
    async fn take_resources_for_skills(&mut self, label: &str) {
        let Ok(client) = self.client(label) else {
            return;
        };
        let Ok(page) = client.request("resources/list", json!({})).await else {
            return;
        };
        for resource in page["resources"].as_array().into_iter().flatten() {
            let Some(uri) = resource["uri"]
                .as_str()
                .filter(|uri| uri.starts_with("skill://"))
            else {
                continue;
            };
            let Some(root) = super::address::root(uri) else {
                continue;
            };
            let Ok(server) = self.server_mut(label) else {
                return;
            };
            if server.lookup(uri).is_none() {
                server.update(Entry {
                    uri: uri.to_owned(),
                    name: super::address::last_segment(root),
                    description: resource["description"]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned(),
                    frontmatter: serde_json::Map::new(),
                    resources: Resources::Dynamic,
                    source: Source::Nowhere,
                    claims_verified: false,
                });
            }
        }
    }

    /// Reads the SKILL.md of each skill of a server (a fault).
    pub async fn fetch_all_texts(&mut self, label: &str) {
        let uris: Vec<String> = match self.server(label) {
            Some(server) => server.entries().map(|entry| entry.uri.clone()).collect(),
            None => Vec::new(),
        };
        for uri in uris {
            let _ = self.request_resource(label, &uri).await;
        }
    }

    /// When a listing is fetched again unasked, if a fault does that.
    pub fn next_poll(&self) -> Option<Instant> {
        self.servers
            .iter()
            .filter(|server| server.serves_skills())
            .filter_map(|server| server.listing.poll_at)
            .chain(self.memory.later.as_ref().map(|(at, ..)| *at))
            .min()
    }

    /// Fetches the listings that are due (a fault).
    pub async fn poll(&mut self) {
        if let Some((_, label, entry)) = self.memory.later.take_if(|(at, ..)| *at <= Instant::now())
        {
            self.fetch_others(&label, &entry).await;
        }
        let due = |server: &&Server| {
            server
                .listing
                .poll_at
                .is_some_and(|at| at <= Instant::now())
        };
        let labels: Vec<String> = self
            .servers
            .iter()
            .filter(due)
            .map(|server| server.label.clone())
            .collect();
        for label in labels {
            self.list_skills(&label).await;
        }
    }

    /// Notes that a skill seems to have changed, so that the next use of its
    /// listing fetches it again.
    pub fn doubt(&mut self, key: &Key) {
        if let Ok(server) = self.server_mut(key.label()) {
            server.listing.doubtful = true;
        }
    }
}

/// Why a walk stopped.
enum Stop {
    /// A cursor that the server itself gave out is invalid now.
    Cursor(Refusal),
    Other(Refusal),
}

impl Stop {
    fn into_refusal(self) -> Refusal {
        match self {
            Stop::Cursor(refusal) | Stop::Other(refusal) => refusal,
        }
    }
}
