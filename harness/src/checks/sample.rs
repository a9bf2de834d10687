//! Traces made by hand, for the tests of checks.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use crate::wire::frame::{Direction, Frame};
use crate::wire::trace::{Exchange, Form, Page, Trace};
use crate::wire::{Revision, Transport};

/// An empty trace of 2026-07-28 over stdio.
pub fn trace() -> Trace {
    Trace {
        revision: Revision::Modern,
        transport: Transport::Stdio,
        frames: Vec::new(),
        exchanges: Vec::new(),
        sampled: false,
        identities: false,
        disk: None,
    }
}

impl Trace {
    /// Adds a request and what came back for it.
    pub fn add(&mut self, name: Option<&str>, method: &str, params: Value, answer: &Value) {
        let walk = self.exchanges.len();
        let received = Bytes::from(answer.to_string());
        for (direction, bytes) in [
            (Direction::Sent, Bytes::from(method.to_owned())),
            (Direction::Received, received),
        ] {
            let frame = Frame::new(0, direction, self.transport, None, bytes);
            self.frames.push(frame);
        }
        let sent = self.frames.len() - 2;
        self.exchanges.push(Exchange {
            sent,
            id: Some(1),
            answer: Some(sent + 1),
            extra: Vec::new(),
            unanswered: None,
            form: Form::Request,
            method: method.into(),
            params: Some(params)
                .filter(|params| !params.is_null())
                .map(Arc::new),
            identity: None,
            scenario: "".into(),
            name: name.map(Arc::from),
            page: Some(Page {
                walk,
                page: 0,
                cut: false,
            }),
            alive_after: None,
            superseded: false,
        });
    }

    /// Adds a request that has a result.
    pub fn answered(&mut self, name: Option<&str>, method: &str, params: Value, result: &Value) {
        let answer = json!({"jsonrpc": "2.0", "id": 1, "result": result});
        self.add(name, method, params, &answer);
    }
}
