//! The growing trace of a session.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use bytes::Bytes;

use crate::wire::frame::{Direction, Envelope, Frame};
use crate::wire::trace::{Exchange, Trace};
use crate::wire::{Revision, Transport};

/// Shared handle on the frames and exchanges of a session.
#[derive(Debug, Clone)]
pub struct Recorder {
    started: Instant,
    transport: Transport,
    bytes: bool,
    inner: Arc<Mutex<Recording>>,
}

#[derive(Debug, Default)]
struct Recording {
    frames: Vec<Frame>,
    exchanges: Vec<Exchange>,
}

impl Recorder {
    /// An empty recording that begins now; with `bytes`, frames keep theirs in any case.
    pub fn new(transport: Transport, bytes: bool) -> Self {
        Self {
            started: Instant::now(),
            transport,
            bytes,
            inner: Arc::default(),
        }
    }

    /// Adds a frame; returns its index. The frame is parsed before the lock is taken.
    pub fn frame(&self, direction: Direction, envelope: Option<Envelope>, bytes: Bytes) -> usize {
        let t_us = u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let mut frame = Frame::new(t_us, direction, self.transport, envelope, bytes);
        if !self.bytes {
            frame.forget_bytes();
        }
        let mut recording = self.lock();
        recording.frames.push(frame);
        recording.frames.len() - 1
    }

    /// Adds an exchange whose answer is not there yet; returns its index.
    pub fn exchange(&self, exchange: Exchange) -> usize {
        let mut recording = self.lock();
        recording.exchanges.push(exchange);
        recording.exchanges.len() - 1
    }

    /// Changes an exchange.
    pub fn update(&self, index: usize, change: impl FnOnce(&mut Exchange)) {
        change(&mut self.lock().exchanges[index]);
    }

    /// Looks at a frame.
    pub fn with_frame<T>(&self, index: usize, look: impl FnOnce(&Frame) -> T) -> T {
        look(&self.lock().frames[index])
    }

    /// A copy of the trace so far.
    pub fn snapshot(&self, revision: Revision) -> Trace {
        let recording = self.lock();
        Trace {
            revision,
            transport: self.transport,
            frames: recording.frames.clone(),
            exchanges: recording.exchanges.clone(),
            sampled: false,
            identities: false,
            disk: None,
        }
    }

    /// Takes the trace out; what arrives later is lost.
    pub fn finish(&self, revision: Revision) -> Trace {
        let recording = std::mem::take(&mut *self.lock());
        Trace {
            revision,
            transport: self.transport,
            frames: recording.frames,
            exchanges: recording.exchanges,
            sampled: false,
            identities: false,
            disk: None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Recording> {
        // A panic while the lock is held leaves whole frames behind, never half ones.
        self.inner
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}
