//! One conversation with a target: requests, notifications and raw bytes, all recorded.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bytes::Bytes;
use serde_json::Value;
use tokio::sync::Semaphore;

use super::handshake;
use super::recorder::Recorder;
use super::{Identity, Limits, TargetError, TargetSpec, http, stdio};
use crate::wire::frame::Direction;
use crate::wire::jsonrpc::{self, ClientIdentity};
use crate::wire::trace::{Exchange, Form, Page, Trace, Unanswered};
use crate::wire::{Revision, Transport};

/// Timeouts in a row after which a target counts as stuck.
const STUCK: usize = 3;

/// What is to be sent, and what the trace shall say of it.
///
/// A trace of thousands of exchanges shares all this with the steps that they come from.
#[derive(Debug, Clone)]
pub struct Call {
    /// The method.
    pub method: Arc<str>,
    /// The parameters, of any JSON type; `None` leaves the member out.
    pub params: Option<Arc<Value>>,
    /// The scenario that sends it.
    pub scenario: Arc<str>,
    /// A name for checks to find it by.
    pub name: Option<Arc<str>>,
    /// Position in a walk over pages.
    pub page: Option<Page>,
    /// Whether the client capabilities name the extension (2026-07-28 only; on 2025-11-25 that is
    /// settled by the handshake).
    pub declares_extension: bool,
}

impl Call {
    /// A plain request.
    pub fn new(
        scenario: impl Into<Arc<str>>,
        method: impl Into<Arc<str>>,
        params: Option<Value>,
    ) -> Self {
        Self {
            method: method.into(),
            params: params.map(Arc::new),
            scenario: scenario.into(),
            name: None,
            page: None,
            declares_extension: true,
        }
    }
}

/// What became of a call.
#[derive(Debug, Clone)]
pub struct Reply {
    /// Index of the exchange.
    pub exchange: usize,
    /// Index of the answering frame.
    pub answer: Option<usize>,
    /// Why there is none.
    pub unanswered: Option<Unanswered>,
    /// What the transport said, when the target could not be reached.
    pub error: Option<String>,
}

#[derive(Debug)]
enum Link {
    Stdio(stdio::Link),
    Http(Box<http::Link>),
}

impl Link {
    fn open(
        spec: &TargetSpec,
        revision: Revision,
        recorder: &Recorder,
        limits: &Limits,
    ) -> Result<Self, TargetError> {
        Ok(match spec {
            TargetSpec::Command { .. } => Link::Stdio(stdio::Link::start(spec, recorder, limits)?),
            TargetSpec::Url { .. } => {
                Link::Http(Box::new(http::Link::new(spec, revision, recorder, limits)?))
            }
        })
    }

    async fn stop(self, listens: bool) {
        match self {
            Link::Stdio(link) => link.stop(listens).await,
            Link::Http(link) => link.stop().await,
        }
    }
}

/// A conversation with a target on one revision.
#[derive(Debug)]
pub struct Session {
    spec: TargetSpec,
    /// As whom requests are sent, if not as the target's headers say.
    identity: Option<Identity>,
    limits: Limits,
    revision: Revision,
    recorder: Recorder,
    link: Link,
    next_id: AtomicU64,
    in_flight: Semaphore,
    sent: AtomicUsize,
    answered: AtomicUsize,
    hung: bool,
    /// Requests that timed out since the last answer.
    timeouts: AtomicUsize,
    obituaries: Vec<String>,
}

impl Session {
    /// Connects and goes through the revision's opening.
    ///
    /// # Errors
    ///
    /// The target cannot be reached, or does not speak the revision.
    pub async fn open(
        spec: &TargetSpec,
        revision: Revision,
        limits: Limits,
    ) -> Result<Self, handshake::Refusal> {
        let transport = match spec {
            TargetSpec::Command { .. } => Transport::Stdio,
            TargetSpec::Url { .. } => Transport::Http,
        };
        let recorder = Recorder::new(transport, limits.bytes);
        let link = Link::open(spec, revision, &recorder, &limits)
            .map_err(handshake::Refusal::Unreachable)?;
        let mut session = Self {
            spec: spec.clone(),
            identity: None,
            limits,
            revision,
            recorder,
            link,
            next_id: AtomicU64::new(1),
            in_flight: Semaphore::new(limits.in_flight),
            sent: AtomicUsize::new(0),
            answered: AtomicUsize::new(0),
            hung: false,
            timeouts: AtomicUsize::new(0),
            obituaries: Vec::new(),
        };
        match handshake::shake(&mut session).await {
            Ok(()) => Ok(session),
            Err(refusal) => {
                let listens = !session.is_lost() && session.timeouts.load(Ordering::Relaxed) == 0;
                session.link.stop(listens).await;
                Err(refusal)
            }
        }
    }

    /// The revision that is spoken.
    pub fn revision(&self) -> Revision {
        self.revision
    }

    /// What carries the frames.
    pub fn transport(&self) -> Transport {
        match &self.link {
            Link::Stdio(_) => Transport::Stdio,
            Link::Http(_) => Transport::Http,
        }
    }

    /// How many requests may be under way at once.
    pub fn width(&self) -> usize {
        self.limits.in_flight
    }

    /// The growing trace.
    pub fn recorder(&self) -> &Recorder {
        &self.recorder
    }

    /// Requests sent and requests over, so far.
    pub fn progress(&self) -> (usize, usize) {
        (
            self.sent.load(Ordering::Relaxed),
            self.answered.load(Ordering::Relaxed),
        )
    }

    /// Sends a request and waits for what becomes of it. Any number may be under way at once.
    pub async fn call(&self, call: &Call) -> Reply {
        let permit = self.in_flight.acquire().await;
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let client = ClientIdentity {
            declares_extension: call.declares_extension,
        };
        let params = jsonrpc::params(self.revision, call.params.as_deref(), &client);
        let bytes = Bytes::from(jsonrpc::request(id, &call.method, params.as_deref()));
        let exchange = self.book(Form::Request, Some(id), call, bytes.clone());
        self.sent.fetch_add(1, Ordering::Relaxed);
        let mut reply = Reply {
            exchange,
            answer: None,
            unanswered: None,
            error: None,
        };
        let mut extra = Vec::new();
        match &self.link {
            Link::Stdio(link) => match link.request(id, exchange, bytes).await {
                Ok(frame) => reply.answer = Some(frame),
                Err(why) => reply.unanswered = Some(why),
            },
            Link::Http(link) => {
                let exchanged = link
                    .post(Some(id), &call.method, call.params.as_deref(), bytes)
                    .await;
                reply.answer = exchanged.answer;
                reply.unanswered = exchanged.unanswered;
                reply.error = exchanged.error;
                extra = exchanged.extra;
            }
        }
        drop(permit);
        match reply.unanswered {
            Some(Unanswered::TimedOut) => self.timeouts.fetch_add(1, Ordering::Relaxed),
            _ => self.timeouts.swap(0, Ordering::Relaxed),
        };
        self.answered.fetch_add(1, Ordering::Relaxed);
        self.recorder.update(exchange, |exchange| {
            exchange.answer = reply.answer;
            exchange.unanswered = reply.unanswered;
            exchange.extra.append(&mut extra);
        });
        reply
    }

    /// Sends a message without an id.
    pub async fn notify(&self, call: &Call) {
        let client = ClientIdentity {
            declares_extension: call.declares_extension,
        };
        let params = jsonrpc::params(self.revision, call.params.as_deref(), &client);
        let bytes = Bytes::from(jsonrpc::notification(&call.method, params.as_deref()));
        let exchange = self.book(Form::Notification, None, call, bytes.clone());
        let mut answer = None;
        match &self.link {
            Link::Stdio(link) => link.write(bytes),
            Link::Http(link) => {
                answer = link
                    .post(None, &call.method, call.params.as_deref(), bytes)
                    .await
                    .answer
            }
        }
        self.recorder.update(exchange, |exchange| {
            exchange.answer = answer;
            exchange.unanswered = Some(Unanswered::NotExpected);
        });
    }

    /// Sends something that may stay unanswered, and a liveness request behind it: whatever comes
    /// back in between belongs to the probe.
    ///
    /// With `bytes` these are sent as they are; otherwise the call is sent without an id.
    pub async fn probe(&mut self, call: &Call, bytes: Option<Bytes>) {
        let form = if bytes.is_some() {
            Form::Raw
        } else {
            Form::Notification
        };
        let client = ClientIdentity {
            declares_extension: call.declares_extension,
        };
        let params = jsonrpc::params(self.revision, call.params.as_deref(), &client);
        let bytes =
            bytes.unwrap_or_else(|| jsonrpc::notification(&call.method, params.as_deref()).into());
        let exchange = self.book(form, None, call, bytes.clone());
        let mut answer = None;
        match &self.link {
            Link::Stdio(link) => link.begin_probe(exchange, bytes),
            Link::Http(link) => {
                answer = link
                    .post(None, &call.method, call.params.as_deref(), bytes)
                    .await
                    .answer
            }
        }
        let alive = self.alive(&call.scenario).await;
        if let Link::Stdio(link) = &self.link {
            link.end_probe();
        }
        self.recorder.update(exchange, |exchange| {
            exchange.answer = answer;
            exchange.unanswered = Some(Unanswered::NotExpected);
            exchange.alive_after = Some(alive);
        });
    }

    /// Whether the target still answers.
    pub async fn alive(&mut self, scenario: &str) -> bool {
        let mut call = Call::new(scenario, handshake::liveness_method(self.revision), None);
        call.name = Some("liveness".into());
        let reply = self.call(&call).await;
        self.hung = reply.unanswered == Some(Unanswered::TimedOut);
        reply.answer.is_some()
    }

    /// Records whether the target was alive after `exchange`.
    pub fn mark_alive(&self, exchange: usize, alive: bool) {
        self.recorder
            .update(exchange, |exchange| exchange.alive_after = Some(alive));
    }

    /// Whether the target has gone away or stopped answering.
    pub fn is_lost(&self) -> bool {
        self.hung
            || match &self.link {
                Link::Stdio(link) => link.is_lost(),
                Link::Http(link) => link.is_lost(),
            }
    }

    /// Whether so many requests timed out in a row that sending more would only take time.
    pub fn is_stuck(&self) -> bool {
        self.timeouts.load(Ordering::Relaxed) >= STUCK
    }

    /// Takes exchanges out of the evidence: they are made again.
    pub fn supersede(&self, exchanges: &[usize]) {
        for index in exchanges {
            self.recorder
                .update(*index, |exchange| exchange.superseded = true);
        }
    }

    /// Starts the target again (stdio), or connects again (HTTP), in the same trace.
    ///
    /// # Errors
    ///
    /// As for [`Session::open`].
    pub async fn reopen(&mut self) -> Result<(), handshake::Refusal> {
        let spec = match (&self.spec, &self.identity) {
            (TargetSpec::Url { url, .. }, Some(identity)) => TargetSpec::Url {
                url: url.clone(),
                headers: identity.headers.clone(),
            },
            (spec, _) => spec.clone(),
        };
        let link = Link::open(&spec, self.revision, &self.recorder, &self.limits)
            .map_err(handshake::Refusal::Unreachable)?;
        let listens = !self.is_lost() && !self.is_stuck();
        if !listens {
            let words = self.last_words().await;
            self.obituaries.extend(words);
        }
        std::mem::replace(&mut self.link, link).stop(listens).await;
        self.hung = false;
        self.timeouts.store(0, Ordering::Relaxed);
        handshake::shake(self).await
    }

    /// Goes on as another identity, in the same trace; as the first one without.
    ///
    /// # Errors
    ///
    /// As for [`Session::open`].
    pub async fn become_identity(
        &mut self,
        identity: Option<&Identity>,
    ) -> Result<(), handshake::Refusal> {
        self.identity = identity.cloned();
        self.reopen().await
    }

    /// How the target ended and the last it said on standard error, for people; nothing when it
    /// said nothing.
    pub async fn last_words(&mut self) -> Option<String> {
        let Link::Stdio(link) = &mut self.link else {
            return None;
        };
        let status = link.exit_status().await;
        let stderr = link.stderr_tail();
        let last = stderr.lines().rev().find(|line| !line.trim().is_empty());
        match (status, last) {
            (None, None) => None,
            (Some(status), None) => Some(status),
            (None, Some(line)) => Some(format!("last on standard error: {line}")),
            (Some(status), Some(line)) => Some(format!("{status}; last on standard error: {line}")),
        }
    }

    /// How the target's process ended, if it is one and has.
    pub async fn exit_status(&mut self) -> Option<String> {
        match &mut self.link {
            Link::Stdio(link) => link.exit_status().await,
            Link::Http(_) => None,
        }
    }

    /// The end of what the target wrote to standard error.
    pub fn stderr_tail(&self) -> String {
        match &self.link {
            Link::Stdio(link) => link.stderr_tail(),
            Link::Http(_) => String::new(),
        }
    }

    /// What became of the target each time that it was lost and started again.
    pub fn obituaries(&self) -> &[String] {
        &self.obituaries
    }

    /// Ends the conversation and the target's process, and returns the trace.
    pub async fn close(self) -> Trace {
        let listens = !self.is_lost() && !self.is_stuck();
        self.link.stop(listens).await;
        self.recorder.finish(self.revision)
    }

    fn book(&self, form: Form, id: Option<u64>, call: &Call, bytes: Bytes) -> usize {
        let sent = self.recorder.frame(Direction::Sent, None, bytes);
        self.recorder.exchange(Exchange {
            sent,
            id,
            answer: None,
            extra: Vec::new(),
            unanswered: None,
            form,
            method: call.method.clone(),
            params: call.params.clone(),
            scenario: call.scenario.clone(),
            identity: self.identity.as_ref().map(|identity| identity.name.clone()),
            name: call.name.clone(),
            page: call.page,
            alive_after: None,
            superseded: false,
        })
    }
}
