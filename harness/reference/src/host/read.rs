//! Reading files: of a skill that the host acts on, and of servers at large.

use serde_json::Value;

use super::address::{plain, resolve, root, scheme, within};
use super::context::{Kind, Message, Window};
use super::entry::{Entry, tools};
use super::limits;
use super::outcome::{Delivered, Key, Outcome, Refusal, refuse};
use super::state::Host;
use super::user::{Question, User};
use crate::frontmatter;

impl Host {
    /// The model reads a file while the host acts on a skill.
    pub async fn read(&mut self, user: &mut User, params: &Value, acting: &Key) -> Outcome {
        let Some(window) = self.window(acting).cloned() else {
            return self.read_without_window(params, acting).await;
        };
        let Some(entry) = &window.entry else {
            return self.read_of_local(user, params, acting).await;
        };
        let uri = self.target(params, acting, Some(entry))?;
        self.memory.by_reference = params["uri"].is_null();
        let named = params["server"]
            .as_str()
            .filter(|server| *server != acting.label());
        if let Some(other) = named {
            return self.read_across(user, acting, other, &uri).await;
        }
        if self.fault.on("host-reads-bound-to-origin")
            && let Some(other) = self.lister_of(&uri, acting.label())
        {
            return self.read_generic(&other, &uri, Kind::Resource).await;
        }
        let mut outcome = self.read_inside(user, &window, &uri, Kind::File).await;
        if outcome.is_err()
            && self.fault.on("host-reads-bound-to-origin/fallback")
            && let Some(other) = self.lister_of(&uri, acting.label())
        {
            outcome = self.read_generic(&other, &uri, Kind::Resource).await;
        }
        if self.fault.on("host-acting-window/short") && self.memory.tired_of(acting) {
            self.memory.closed.insert(acting.clone());
            self.windows.retain(|window| window.key != *acting);
        }
        outcome
    }

    /// The URI that is meant: as given, or where a reference leads to.
    fn target(
        &self,
        params: &Value,
        acting: &Key,
        entry: Option<&Entry>,
    ) -> Result<String, Refusal> {
        if let Some(uri) = params["uri"].as_str() {
            return Ok(uri.to_owned());
        }
        let Some(reference) = params["reference"].as_str() else {
            return refuse("not-found", "neither a URI nor a reference was given");
        };
        let outer = root(&acting.uri).unwrap_or(&acting.uri);
        let standing = params["in"].as_str().unwrap_or(&acting.uri);
        let mut base = innermost(standing, outer, entry);
        if self.fault.on("client-relative-reference-resolution/nested") {
            base = outer;
        }
        if self.fault.on("client-relative-reference-resolution") {
            let authority = base
                .find("://")
                .and_then(|at| base[at + 3..].find('/').map(|end| at + 3 + end));
            base = authority.map_or(base, |end| &base[..end]);
        }
        match resolve(base, reference) {
            Some(uri) => Ok(uri),
            None => refuse(
                "not-found",
                format!("the reference {reference} leads nowhere"),
            ),
        }
    }

    /// A read on the server of the skill that is acted on.
    async fn read_inside(
        &mut self,
        user: &mut User,
        window: &Window,
        uri: &str,
        kind: Kind,
    ) -> Outcome {
        let label = window.key.label().to_owned();
        let Some(mut entry) = window.entry.clone() else {
            return refuse("not-found", "a local skill has no server");
        };
        let mut key = window.key.clone();
        let plainly = uri.split(['?', '#']).next().unwrap_or(uri);
        if plainly != uri
            && entry.item(plainly).is_some()
            && self.fault.on("host-unlisted-read/query")
        {
            return self.read_generic(&label, uri, kind).await;
        }
        if entry.item(uri).is_none() && !within(entry.root(), plainly) {
            // Another skill in use may hold the file to its own manifest.
            match self.window_around(&label, uri) {
                Some(around) => {
                    key = around.key.clone();
                    entry = around.entry.clone().unwrap_or(entry);
                }
                None if !reachable(&entry.uri, uri) => {
                    return refuse(
                        "unsupported",
                        format!("{uri} is no resource of the server \"{label}\""),
                    );
                }
                None => return self.read_neighbour(&label, uri).await,
            }
        }
        if entry.item(uri).is_none() && (!entry.is_dynamic() || !plain(uri)) {
            return self.read_unlisted(&label, &entry, uri).await;
        }
        let (file, current) = self.obtain(user, &label, &entry, uri).await?;
        let bytes = file.bytes.len() as u64;
        if let Some(window) = self.windows.iter_mut().find(|window| window.key == key) {
            if current.is_dynamic() && window.retrieved + bytes > limits::BYTES {
                return refuse(
                    "limit",
                    "more of the skill has been retrieved than is supported",
                );
            }
            window.retrieved += bytes;
            window.entry = Some(current.clone());
        }
        let file_key = Key::new(&label, &file.uri);
        let nested = file.uri != current.uri && file.uri.ends_with("/SKILL.md");
        let mut kind = kind;
        if nested && kind == Kind::File {
            kind = self.promote(&key, &file_key, &file.bytes).await;
        }
        let message = Message::from_server(
            kind,
            &self.origin(&label),
            &file_key,
            &file.bytes,
            self.fault,
        );
        self.context.push(message);
        Ok(Delivered {
            server: Some(self.presented(&label)),
            uri: file.uri,
            bytes: file.bytes,
            verified: Some(file.verified || self.fault.on("host-dynamic-not-content-bound/file")),
        })
    }

    /// Takes a nested SKILL.md that is read as a file for more than a file,
    /// which only faults do.
    async fn promote(&mut self, outer: &Key, nested: &Key, bytes: &[u8]) -> Kind {
        if self.fault.on("host-no-implicit-local-execution/nested")
            && let Ok(fields) = frontmatter::read(bytes)
            && let Some(hooks) = fields
                .get("metadata")
                .and_then(|metadata| metadata.get("hooks"))
        {
            super::exec::run_all(hooks).await;
        }
        let granted = self
            .window(outer)
            .is_some_and(|window| !window.granted.is_empty());
        if (self.fault.on("nested-skillmd-not-acted-on")
            || granted && self.fault.on("nested-skillmd-not-acted-on/granted"))
            && let Ok(fields) = frontmatter::read(bytes)
            && let Some(window) = self.windows.iter_mut().find(|window| window.key == *outer)
        {
            window
                .granted
                .extend(fields.get("allowed-tools").map(tools).unwrap_or_default());
        }
        if self.fault.on("nested-skillmd-not-acted-on/window") {
            let entry = self
                .server(nested.label())
                .and_then(|server| server.lookup(&nested.uri)?.ok().cloned());
            let held = entry.or_else(|| self.window(outer)?.entry.clone());
            self.windows.push(Window::new(nested.clone(), held));
        }
        if self.fault.on("nested-skillmd-not-acted-on/kind") {
            Kind::Skill
        } else {
            Kind::File
        }
    }

    /// A file inside the skill that the manifest does not list: a change of
    /// the skill, whoever mentions it. Nothing is requested.
    async fn read_unlisted(&mut self, label: &str, entry: &Entry, uri: &str) -> Outcome {
        let key = Key::new(label, uri);
        let ahead = self.ahead.contains(&key);
        if !ahead && self.fault.on("host-unlisted-read")
            || self.memory.by_reference && self.fault.on("host-unlisted-read/reference")
            || ahead && self.fault.on("directory-read-not-manifest-extension/read")
        {
            return self.read_generic(label, uri, Kind::File).await;
        }
        if !ahead && self.fault.on("host-unlisted-read/request-only") {
            let _ = self.request_resource(label, uri).await;
        }
        let skill = Key::new(label, &entry.uri);
        if ahead && self.fault.on("host-directory-change-presented") {
            return refuse("not-found", format!("{uri} cannot be read"));
        }
        if ahead {
            self.tell_changed(&skill, &entry.name);
            self.doubt(&skill);
            return refuse(
                "changed",
                format!(
                    "{uri} is new: the skill has changed and has to be loaded and approved again"
                ),
            );
        }
        refuse(
            "unlisted",
            format!("{uri} is not among the files of the skill {}", entry.uri),
        )
    }

    /// A read that leads from one server's skill to another server. The user
    /// is asked each time.
    async fn read_across(
        &mut self,
        user: &mut User,
        acting: &Key,
        other: &str,
        uri: &str,
    ) -> Outcome {
        self.cross(user, acting, other, uri).await?;
        self.read_generic(other, uri, Kind::Resource).await
    }

    /// Asks whether a skill may reach another server.
    pub async fn cross(
        &mut self,
        user: &mut User,
        acting: &Key,
        other: &str,
        uri: &str,
    ) -> Result<(), Refusal> {
        self.server_mut(other)?;
        let pair = (acting.label().to_owned(), other.to_owned());
        let remembered = self.fault.on("host-cross-origin-read-approval/remembered");
        let crossing = (acting.label().to_owned(), other.to_owned(), uri.to_owned());
        if self.fault.on("host-cross-origin-read-approval/file")
            && self.memory.crossed.contains(&crossing)
        {
            return Ok(());
        }
        if self.fault.on("host-cross-origin-read-approval")
            || remembered && self.memory.crossings.contains(&pair)
        {
            return Ok(());
        }
        let unnamed = self.fault.on("host-cross-origin-read-approval/unnamed");
        let question = if unnamed {
            let detail = format!(
                "The skill {} of server \"{}\" reads {uri}. Allow it?",
                acting.uri,
                acting.label()
            );
            Question::new("cross-origin", acting, detail)
        } else {
            let detail = format!(
                "The skill {} of server \"{}\" reads {uri} from server \"{other}\". Allow it this time?",
                acting.uri,
                acting.label()
            );
            Question {
                other_server: Some(other.to_owned()),
                ..Question::new("cross-origin", acting, detail)
            }
        };
        user.ask(&question)
            .await
            .or_refuse("the read from the other server")?;
        self.memory.crossings.insert(pair);
        self.memory.crossed.insert(crossing);
        Ok(())
    }

    /// An ordinary read of a resource: unverified, and presented as such.
    async fn read_generic(&mut self, label: &str, uri: &str, kind: Kind) -> Outcome {
        let content = match self.request_resource(label, uri).await {
            Ok(content) => content,
            Err(error) => return Err(error.into()),
        };
        let key = Key::new(label, uri);
        let message =
            Message::from_server(kind, &self.origin(label), &key, &content.bytes, self.fault);
        self.context.push(message);
        Ok(Delivered {
            server: Some(self.presented(label)),
            uri: uri.to_owned(),
            bytes: content.bytes,
            verified: Some(false),
        })
    }

    /// A resource beside the skill that is acted on. Only faults take one that is a SKILL.md for more.
    async fn read_neighbour(&mut self, label: &str, uri: &str) -> Outcome {
        let skill_md = uri.ends_with("/SKILL.md");
        let skill = skill_md && self.fault.on("read-is-not-a-load/neighbour-kind");
        let kind = if skill { Kind::Skill } else { Kind::Resource };
        let outcome = self.read_generic(label, uri, kind).await;
        if skill_md && outcome.is_ok() {
            let key = Key::new(label, uri);
            if self.fault.on("read-is-not-a-load/neighbour") {
                let entry = self
                    .server(label)
                    .and_then(|server| server.lookup(uri)?.ok().cloned());
                self.windows.push(Window::new(key.clone(), entry));
            }
            if self.fault.on("read-is-not-a-load/neighbour-approval") {
                self.memory.read_as_resource.insert(key);
            }
        }
        outcome
    }

    /// The host's general tool for reading resources. It loads nothing.
    pub async fn read_resource(&mut self, user: &mut User, label: &str, uri: &str) -> Outcome {
        let key = Key::new(label, uri);
        let skill_md = uri.ends_with("/SKILL.md");
        let skill = skill_md && self.fault.on("host-generic-read-presentation");
        let kind = if skill { Kind::Skill } else { Kind::Resource };
        let around = self.window_around(label, uri).cloned();
        let outcome = match around.filter(|window| {
            window
                .entry
                .as_ref()
                .is_some_and(|entry| !entry.is_dynamic())
        }) {
            Some(window) => self.read_inside(user, &window, uri, kind).await,
            None => self.read_generic(label, uri, kind).await,
        };
        if outcome.is_ok() && skill_md && !self.fault.on("read-is-not-a-load/inspect") {
            self.memory.read_as_resource.insert(key.clone());
            if self.fault.on("read-is-not-a-load") {
                let entry = self
                    .server(label)
                    .and_then(|server| server.lookup(uri)?.ok().cloned());
                self.windows.push(Window::new(key, entry));
            }
        }
        outcome
    }

    /// A read in the name of a skill that the host does not act on.
    async fn read_without_window(&mut self, params: &Value, acting: &Key) -> Outcome {
        if self.memory.closed.contains(acting) {
            let uri = self.target(params, acting, None)?;
            let label = params["server"]
                .as_str()
                .unwrap_or(acting.label())
                .to_owned();
            return self.read_generic(&label, &uri, Kind::File).await;
        }
        Err(Refusal {
            kind: None,
            reason: format!(
                "the host does not act on the skill {}; it has to be loaded first",
                acting.uri
            ),
        })
    }

    /// A read in the name of a local skill: its own files, or a resource of a
    /// server that the user's own skill names.
    async fn read_of_local(&mut self, user: &mut User, params: &Value, acting: &Key) -> Outcome {
        if let (Some(server), Some(uri)) = (params["server"].as_str(), params["uri"].as_str()) {
            return self.read_resource(user, server, uri).await;
        }
        let local = self.local(&acting.uri)?;
        let uri = self.target(params, acting, None)?;
        let directory = super::local::file_uri(&local.directory);
        let path = uri
            .strip_prefix(&directory)
            .and_then(|rest| rest.strip_prefix('/'));
        let path = path.map(|path| {
            percent_encoding::percent_decode_str(path)
                .decode_utf8_lossy()
                .into_owned()
        });
        let Some(path) = path else {
            return refuse("unlisted", format!("{uri} is no file of the skill"));
        };
        match local.file(&path) {
            Ok((uri, bytes)) => {
                let key = Key { server: None, uri };
                self.context.push(Message::local(Kind::File, &key, &bytes));
                Ok(Delivered {
                    server: None,
                    uri: key.uri,
                    bytes,
                    verified: None,
                })
            }
            Err(error) => refuse("not-found", format!("{uri}: {error}")),
        }
    }

    /// The first server but one that lists a skill with this URI inside (a fault).
    fn lister_of(&self, uri: &str, but: &str) -> Option<String> {
        let others = self
            .servers
            .iter()
            .filter(|server| server.label != but && server.client.is_some());
        let mut listing =
            others.filter(|server| server.entries().any(|entry| within(entry.root(), uri)));
        listing.next().map(|server| server.label.clone())
    }
}

/// The directory that references in a file are relative to: that of the
/// innermost SKILL.md above it.
fn innermost<'a>(file: &'a str, outer: &'a str, entry: Option<&Entry>) -> &'a str {
    if !file.starts_with(outer) {
        return outer;
    }
    if let Some(own) = root(file) {
        return own;
    }
    let mut directory = file;
    while let Some((parent, _)) = directory.rsplit_once('/') {
        if parent.len() <= outer.len() {
            break;
        }
        directory = parent;
        let skill_md = format!("{directory}/SKILL.md");
        if entry.is_some_and(|entry| entry.items().iter().any(|item| item.uri == skill_md)) {
            return directory;
        }
    }
    outer
}

/// Whether a URI can be one of the server's resources at all. Files of this
/// machine and places on the web are not, unless the skill itself lies there.
fn reachable(skill: &str, uri: &str) -> bool {
    match scheme(uri).as_deref() {
        None | Some("file") => false,
        Some(web @ ("http" | "https" | "ftp" | "data" | "javascript")) => {
            scheme(skill).as_deref() == Some(web)
        }
        Some(_) => true,
    }
}
