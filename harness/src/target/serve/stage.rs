//! All servers of one scenario, and the record of everything that passes.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use bytes::Bytes;
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::bend::Rule;
use super::methods::Server;
use super::shelf::Change;
use crate::wire::content::{Content, KEPT};
use crate::wire::frame::Direction;
use crate::wire::jsonrpc::{self, Kind, PARSE_ERROR};
use crate::wire::scene::{
    Ask, Bait, CacheLook, Consent, Crossing, Scene, Served, Tampered, Touched,
};
use crate::wire::{Revision, Transport, json as wire_json};

/// Most requests of a host in one scene: one that follows pages without an end would fill the record for
/// as long as it is let.
const MOST: usize = 20_000;

/// Shared handle on the servers and the record.
#[derive(Debug, Clone)]
pub struct Stage {
    started: Instant,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    number: usize,
    servers: Vec<(Server, Vec<Rule>)>,
    scene: Scene,
    flood: Arc<Notify>,
}

/// What is sent back to a host.
#[derive(Debug, Clone, Default)]
pub struct Response {
    /// The bytes; none where nothing is answered.
    pub body: Option<Bytes>,
    /// How long to wait before.
    pub delay: Duration,
    /// Whether a session begins here (2025-11-25).
    pub opens_session: bool,
}

/// The end of a record that is not there.
fn nothing(revision: Revision, transport: Transport, base: usize) -> Scene {
    Scene {
        scenario: String::new(),
        exercises: Vec::new(),
        official: None,
        revision,
        transport,
        base,
        frames: Vec::new(),
        asks: Vec::new(),
        consents: Vec::new(),
        served: Vec::new(),
        touched: Vec::new(),
        cache: Vec::new(),
        tampered: Vec::new(),
    }
}

impl Stage {
    /// An empty stage for servers that speak this revision.
    pub fn new(revision: Revision, transport: Transport) -> Self {
        Self {
            started: Instant::now(),
            inner: Arc::new(Mutex::new(Inner {
                number: 0,
                servers: Vec::new(),
                scene: nothing(revision, transport, 0),
                flood: Arc::default(),
            })),
        }
    }

    /// Puts up the servers of a scenario; returns the number of the scene, which is part of their
    /// addresses, so that what belongs to an earlier scene does not get into this one.
    pub fn set(&self, scenario: &str, servers: Vec<(Server, Vec<Rule>)>) -> usize {
        let mut inner = self.lock();
        inner.number += 1;
        inner.servers = servers;
        inner.flood = Arc::default();
        scenario.clone_into(&mut inner.scene.scenario);
        inner.number
    }

    /// Takes the servers away and the record out.
    pub fn strike(&self) -> Scene {
        let mut inner = self.lock();
        inner.servers.clear();
        inner.number += 1;
        let base = inner.scene.base + inner.scene.frames.len();
        let empty = nothing(inner.scene.revision, inner.scene.transport, base);
        std::mem::replace(&mut inner.scene, empty)
    }

    /// The revision that the servers speak.
    pub fn revision(&self) -> Revision {
        self.lock().scene.revision
    }

    /// What carries the messages.
    pub fn transport(&self) -> Transport {
        self.lock().scene.transport
    }

    /// Adds a frame of the adapter; returns its number.
    pub fn adapter_frame(&self, direction: Direction, bytes: &[u8]) -> usize {
        self.lock().frame(self.started, "adapter", direction, bytes)
    }

    /// Adds a call to the adapter.
    pub fn asked(&self, ask: Ask) {
        self.lock().scene.asks.push(ask);
    }

    /// Adds a question to the user.
    pub fn consented(&self, consent: Consent) {
        self.lock().scene.consents.push(consent);
    }

    /// Something was reached that should not be.
    pub fn touched(&self, what: Bait) {
        let mut inner = self.lock();
        let at = inner.here();
        let touched = Touched { at, what };
        if !inner.scene.touched.contains(&touched) {
            inner.scene.touched.push(touched);
        }
    }

    /// Adds a look at the cache on disk.
    pub fn looked(&self, look: impl FnOnce(usize) -> CacheLook) {
        let mut inner = self.lock();
        let look = look(inner.here());
        inner.scene.cache.push(look);
    }

    /// A cached file was changed.
    pub fn tampered(&self, server: &str, uri: &str, token: &str) {
        let mut inner = self.lock();
        let tampered = Tampered {
            at: inner.here(),
            server: server.to_owned(),
            uri: uri.to_owned(),
            token: token.to_owned(),
        };
        inner.scene.tampered.push(tampered);
    }

    /// Changes a skill of a server; the scenario has made sure that both exist.
    pub fn change(&self, label: &str, key: &str, change: &Change) {
        let mut inner = self.lock();
        for (server, _) in &mut inner.servers {
            if server.label == label {
                for (other, skill) in &mut server.skills {
                    if other == key {
                        skill.change(label, change);
                    }
                }
            }
        }
    }

    /// Bends the answers of a server from now on.
    pub fn add_rule(&self, label: &str, rule: &Rule) {
        let mut inner = self.lock();
        for (server, rules) in &mut inner.servers {
            if server.label == label {
                rules.push(rule.clone());
            }
        }
    }

    /// Answers a message of the host; `None` when no such server is on stage.
    pub fn answer(&self, number: usize, label: &str, bytes: &[u8]) -> Option<Response> {
        let mut guard = self.lock();
        let inner = &mut *guard;
        if inner.number != number
            || !inner
                .servers
                .iter()
                .any(|(server, _)| server.label == label)
        {
            return None;
        }
        let at = inner.frame(self.started, label, Direction::Received, bytes);
        let message = match wire_json::parse(bytes) {
            Ok((message, _)) => message,
            Err(error) => {
                let text = error_text(&Value::Null, PARSE_ERROR, &error.to_string());
                inner.frame(self.started, label, Direction::Sent, text.as_bytes());
                return Some(Response {
                    body: Some(text.into()),
                    ..Response::default()
                });
            }
        };
        let (id, method) = match jsonrpc::kind(&message) {
            Kind::Request { id, method } => (id.clone(), method.to_owned()),
            _ => return Some(Response::default()),
        };
        let mut params = message.get("params").cloned().unwrap_or(Value::Null);
        if let Value::Object(members) = &mut params {
            members.remove("_meta");
        }
        let revision = inner.scene.revision;
        let (server, rules) = inner
            .servers
            .iter_mut()
            .find(|(server, _)| server.label == label)?;
        let mut answer = server.answer(revision, &method, &params);
        let mut response = Response {
            opens_session: method == "initialize",
            ..Response::default()
        };
        let mut raw = None;
        for rule in rules {
            if !rule.takes(&method, &params) {
                continue;
            }
            response.delay += Duration::from_millis(rule.delay_ms);
            if let Some(uri) = &rule.answer_for {
                answer = server.answer(revision, &method, &json!({"uri": uri}));
            }
            raw = rule.raw.clone().or(raw);
            if let Some(failure) = &rule.error {
                answer = Err((failure.code, failure.message.clone()));
            }
            if let Ok(result) = &mut answer {
                rule.bend.apply(result);
                let text = result.pointer_mut("/contents/0/text");
                if let (Some(Value::String(text)), Some(more)) = (text, &rule.append) {
                    text.push_str(more);
                }
            }
        }
        let mut served = Served {
            at,
            to: at,
            server: label.to_owned(),
            method,
            params,
            result: None,
            error: None,
            contents: Vec::new(),
        };
        let text = match (raw, answer) {
            (Some(raw), _) => raw,
            (None, Ok(mut result)) => {
                let text = json!({"jsonrpc": "2.0", "id": id, "result": result}).to_string();
                if let Some(Value::Array(items)) = result.pointer_mut("/contents") {
                    served.contents = items.iter_mut().map(Content::fold).collect();
                }
                served.result = Some(result);
                text
            }
            (None, Err((code, message))) => {
                served.error = Some(code);
                error_text(&id, code, &message)
            }
        };
        served.to = inner.frame(self.started, label, Direction::Sent, text.as_bytes());
        inner.scene.served.push(served);
        if inner.is_flooded() {
            inner.flood.notify_one();
        }
        response.body = Some(text.into());
        Some(response)
    }

    /// Waits until the host has sent more requests in this scene than any purpose needs.
    pub async fn flooded(&self) {
        let flood = Arc::clone(&self.lock().flood);
        flood.notified().await;
    }

    /// How many requests were too many, if they were.
    pub fn flood(&self) -> Option<usize> {
        self.lock().is_flooded().then_some(MOST)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // A panic while the lock is held leaves whole records behind, never half ones.
        self.inner
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Inner {
    /// Number of the last frame.
    fn here(&self) -> usize {
        self.scene.base + self.scene.frames.len()
    }

    fn is_flooded(&self) -> bool {
        self.scene.served.len() >= MOST
    }

    fn frame(
        &mut self,
        started: Instant,
        channel: &str,
        direction: Direction,
        bytes: &[u8],
    ) -> usize {
        self.scene.frames.push(Crossing {
            t_us: u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX),
            channel: channel.to_owned(),
            direction,
            raw: Bytes::copy_from_slice(&bytes[..bytes.len().min(KEPT)]),
            len: bytes.len(),
        });
        self.here()
    }
}

fn error_text(id: &Value, code: i64, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}
