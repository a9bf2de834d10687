//! The points at which a fault can act, and who acts there.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use serde_json::Value;

use super::pick::Picked;
use super::{
    Fault, capability, directory, entry, envelope, errors, format, get, identity, integrity,
    limits, list, metadata, naming, read, root, wire,
};
use crate::catalog::Catalog;
use crate::message::{Answer, Channel, Era, Message, RpcError};
use crate::methods::{Call, Outcome, dispatch};
use crate::server::Server;
use crate::tree::Tree;

/// The fault that is switched on, if any, and what it remembers.
#[derive(Debug)]
pub(crate) struct Sabotage {
    fault: Option<&'static Fault>,
    picked: Picked,
    memory: Mutex<Memory>,
}

/// What a fault remembers from one request to the next.
#[derive(Debug, Default)]
pub(super) struct Memory {
    /// `skills/list` has been called.
    pub listed: bool,
    /// `skills/get` has been asked for an unlisted skill.
    pub named: bool,
    /// Walks through the listing that were begun.
    pub walks: usize,
    /// Cursors that are good for one use, with the cursor they stand for.
    pub cursors: HashMap<String, Value>,
    /// How many of those were handed out.
    pub issued: usize,
    /// What is said too late, and after how many more answers.
    pub late: Option<(usize, Vec<u8>)>,
}

/// A request under the eyes of a fault.
pub(super) struct Scene<'a> {
    pub id: &'static str,
    pub server: &'a Server,
    pub call: &'a Call,
    pub picked: &'a Picked,
    memory: &'a Mutex<Memory>,
}

impl Scene<'_> {
    pub fn catalog(&self) -> &Catalog {
        &self.server.catalog
    }

    pub fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(self.memory)
    }

    /// `params.uri`, if it is fit to be looked up.
    pub fn uri(&self) -> Option<&str> {
        self.call.uri().ok()
    }

    /// The honest answer to the same request with another parameter, or
    /// without it.
    pub fn redo(&self, param: &str, value: Option<&str>) -> Outcome {
        let mut call = self.call.clone();
        match value {
            Some(value) => call.params.insert(param.to_owned(), value.into()),
            None => call.params.remove(param),
        };
        dispatch(self.server, &call)
    }
}

impl Sabotage {
    pub fn new(fault: Option<&'static Fault>) -> Sabotage {
        Sabotage {
            fault,
            picked: Picked::default(),
            memory: Mutex::default(),
        }
    }

    /// The id of the fault, where it acts on anything before there are requests.
    fn id(&self) -> Option<&'static str> {
        self.fault.map(|fault| fault.id)
    }

    /// The id of the fault, if it acts in this revision and on this channel.
    fn acting(&self, era: Era, channel: Channel) -> Option<&'static str> {
        let fault = self.fault?;
        let here = fault.transport.is_none_or(|transport| transport == channel);
        let now = fault.revisions.is_empty() || fault.revisions.contains(&era.revision());
        (here && now).then_some(fault.id)
    }

    /// Whether symbolic links in the skills directory are followed.
    pub fn follows_links(&self) -> bool {
        self.id().is_some_and(root::follows_links)
    }

    /// Point one: the tree, before anything is worked out from it.
    pub fn tree(&self, tree: &mut Tree) {
        let Some(id) = self.id() else { return };
        format::tree(id, tree);
        naming::tree(id, tree);
        limits::tree(id, tree);
        integrity::tree(id, tree);
        entry::tree(id, tree);
        root::tree(id, tree);
    }

    /// Point two: entries, metadata and directory listings.
    pub fn catalog(&mut self, catalog: &mut Catalog) {
        let Some(id) = self.id() else { return };
        self.picked = Picked::of(catalog);
        entry::catalog(id, &self.picked, catalog);
        integrity::catalog(id, &self.picked, catalog);
        read::catalog(id, catalog);
        directory::catalog(id, &self.picked, catalog);
        metadata::catalog(id, catalog);
    }

    /// A page size that gives faults of the listing a second page to act on.
    pub fn page_size(&self, size: usize, listed: usize) -> usize {
        let paged = self.id().is_some_and(list::needs_pages);
        if paged && listed > 1 && listed <= size {
            listed.div_ceil(2)
        } else {
            size
        }
    }

    /// Point three: the declared capabilities.
    pub fn capabilities(&self, capabilities: &mut Value) {
        if let Some(id) = self.id() {
            capability::capabilities(id, capabilities);
        }
    }

    /// Point four: a request, before it is answered.
    pub fn request(&self, server: &Server, call: &mut Call, channel: Channel) {
        if let Some(id) = self.acting(call.era, channel) {
            list::request(id, server, &mut lock(&self.memory), call);
            directory::request(id, server, call);
        }
    }

    /// Point five: the outcome of a method.
    pub fn outcome(&self, server: &Server, call: &Call, channel: Channel, outcome: &mut Outcome) {
        let Some(id) = self.acting(call.era, channel) else {
            return;
        };
        let scene = Scene {
            id,
            server,
            call,
            picked: &self.picked,
            memory: &self.memory,
        };
        capability::outcome(&scene, outcome);
        match call.method.as_str() {
            "skills/list" => list::outcome(&scene, outcome),
            "skills/get" => get::outcome(&scene, outcome),
            "resources/read" => read::outcome(&scene, outcome),
            "resources/directory/read" => directory::outcome(&scene, outcome),
            _ => {}
        }
        envelope::outcome(&scene, outcome);
        identity::outcome(&scene, outcome);
        errors::outcome(&scene, outcome);
    }

    /// Point six: the finished message, before it becomes bytes.
    pub fn wire(
        &self,
        server: &Server,
        call: &Call,
        channel: Channel,
        status: u16,
        envelope: Value,
    ) -> Answer {
        let Some(id) = self.acting(call.era, channel) else {
            return Answer::json(status, &envelope);
        };
        let answer = wire::bytes(id, &server.catalog, call, status, envelope);
        let mut memory = lock(&self.memory);
        match memory.late.take() {
            Some((0, late)) => answer.and(&late),
            Some((more, late)) => {
                memory.late = Some((more - 1, late));
                answer
            }
            None => answer,
        }
    }

    /// Point seven: a message that is not to be answered.
    pub fn notification(&self, message: &Message) -> Answer {
        let Some(id) = self.id() else {
            return Answer::silence();
        };
        let answer = wire::notification(id, message);
        if id == "sep-2640-notification-silent/late"
            && let Some(late) = answer.body
        {
            lock(&self.memory).late = Some((1, late));
            return Answer::silence();
        }
        answer
    }

    /// Point eight: what came in is not a message.
    pub fn malformed(&self, answer: Answer, error: &RpcError) -> Answer {
        match self.id() {
            Some(id) => wire::malformed(id, answer, error),
            None => answer,
        }
    }

    /// What is written to standard output before the first answer.
    pub fn banner(&self) -> Option<&'static str> {
        self.id().and_then(wire::banner)
    }
}

/// A memory is of use even if a thread died over it.
fn lock(memory: &Mutex<Memory>) -> MutexGuard<'_, Memory> {
    memory.lock().unwrap_or_else(|poison| poison.into_inner())
}
