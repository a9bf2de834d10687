//! Requests that wait for their answers, and the patience to wait with.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::recorder::Recorder;
use crate::wire::json;
use crate::wire::trace::Unanswered;

/// The moment of the target's last answer. Waiting counts from there, so that a target that
/// answers slowly, one request after the other, is not taken for a dead one.
#[derive(Debug, Clone)]
pub struct Pulse(Arc<Mutex<Instant>>);

impl Default for Pulse {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Instant::now())))
    }
}

impl Pulse {
    /// The target has just answered something.
    pub fn beat(&self) {
        *lock(&self.0) = Instant::now();
    }

    /// Comes back once the target has been silent for `timeout`, counted from now at the earliest.
    pub async fn silence(&self, timeout: Duration) {
        let begun = Instant::now();
        loop {
            let until = begun.max(*lock(&self.0)) + timeout;
            if until <= Instant::now() {
                return;
            }
            tokio::time::sleep_until(until).await;
        }
    }
}

/// The requests under way on one stdio connection.
#[derive(Debug, Clone)]
pub struct Pending {
    recorder: Recorder,
    pulse: Pulse,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    waiting: HashMap<u64, (usize, oneshot::Sender<usize>)>,
    answered: HashMap<u64, usize>,
    bracket: Option<usize>,
    lost: bool,
}

impl Pending {
    /// Nothing under way.
    pub fn new(recorder: Recorder) -> Self {
        Self {
            recorder,
            pulse: Pulse::default(),
            inner: Arc::default(),
        }
    }

    /// Announces request `id` of `exchange`.
    pub fn expect(&self, id: u64, exchange: usize) -> Waiting {
        let (sender, receiver) = oneshot::channel();
        let mut inner = lock(&self.inner);
        if !inner.lost {
            inner.waiting.insert(id, (exchange, sender));
        }
        Waiting {
            id,
            receiver,
            pending: self.clone(),
        }
    }

    /// Takes in an answer that stands in frame `frame`: it ends the request that it names, or is
    /// booked as a further frame of the exchange that it belongs to.
    pub fn arrive(&self, id: Option<&Value>, frame: usize) {
        let id = id
            .and_then(json::integer)
            .and_then(|id| u64::try_from(id).ok());
        let mut inner = lock(&self.inner);
        if let Some((exchange, sender)) = id.and_then(|id| inner.waiting.remove(&id)) {
            inner.answered.insert(id.unwrap_or_default(), exchange);
            drop(inner);
            self.pulse.beat();
            // The receiver is gone when the time ran out; the frame stays in the trace.
            let _ = sender.send(frame);
            return;
        }
        let owner = id
            .and_then(|id| inner.answered.get(&id).copied())
            .or(inner.bracket);
        drop(inner);
        if let Some(exchange) = owner {
            self.recorder
                .update(exchange, |exchange| exchange.extra.push(frame));
        }
    }

    /// From now on, frames that answer nothing belong to `exchange`.
    pub fn open_bracket(&self, exchange: usize) {
        lock(&self.inner).bracket = Some(exchange);
    }

    /// Frames that answer nothing belong to nobody again.
    pub fn close_bracket(&self) {
        lock(&self.inner).bracket = None;
    }

    /// The connection is gone: every request under way is lost.
    pub fn lose(&self) {
        let mut inner = lock(&self.inner);
        inner.lost = true;
        inner.waiting.clear();
    }

    /// Whether the connection is gone.
    pub fn is_lost(&self) -> bool {
        lock(&self.inner).lost
    }
}

/// A request under way.
#[derive(Debug)]
pub struct Waiting {
    id: u64,
    receiver: oneshot::Receiver<usize>,
    pending: Pending,
}

impl Waiting {
    /// Waits for the answer; returns its frame.
    pub async fn answer(self, timeout: Duration) -> Result<usize, Unanswered> {
        tokio::select! {
            biased;
            answer = self.receiver => answer.map_err(|_| Unanswered::Lost),
            () = self.pending.pulse.silence(timeout) => {
                lock(&self.pending.inner).waiting.remove(&self.id);
                Err(Unanswered::TimedOut)
            }
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(|poisoned| poisoned.into_inner())
}
