//! One message as it crossed the wire.

use bytes::Bytes;
use serde_json::Value;

use super::content::{Content, KEPT};
use super::jsonrpc::{self, Kind};
use super::{Transport, json};

/// Who sent a frame, seen from the harness.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the harness to the target.
    Sent,
    /// From the target to the harness.
    Received,
}

/// The HTTP envelope of a received frame.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Envelope {
    /// Status code.
    pub status: u16,
    /// `Content-Type`, without parameters, in lower case.
    pub content_type: Option<String>,
}

/// The parse of a frame, or why it did not parse.
#[derive(Debug, Clone)]
pub enum Parse {
    /// A JSON value; what it means is for `jsonrpc` to say.
    Json(Value),
    /// Not JSON.
    Broken(String),
    /// An HTTP answer without a body.
    Empty,
    /// What the harness sent itself; its exchange knows what that was.
    Sent,
}

/// One message as it crossed the wire.
#[derive(Debug, Clone)]
pub struct Frame {
    /// Microseconds since the session began.
    pub t_us: u64,
    /// Who sent it.
    pub direction: Direction,
    /// What carried it.
    pub transport: Transport,
    /// The HTTP envelope, on received HTTP frames.
    pub envelope: Option<Envelope>,
    /// The bytes, or the first [`KEPT`] of them; none where they were [forgotten](Self::forget_bytes).
    pub raw: Bytes,
    /// How many bytes there were.
    pub len: usize,
    /// The parse of all of them.
    pub parse: Parse,
    /// JSON pointers of repeated object keys.
    pub repeated_keys: Vec<String>,
    /// `/result/contents/*`, folded.
    pub contents: Vec<Content>,
}

impl Frame {
    /// Takes a message apart. File bodies are folded, so that what stays in memory is bounded.
    pub fn new(
        t_us: u64,
        direction: Direction,
        transport: Transport,
        envelope: Option<Envelope>,
        bytes: Bytes,
    ) -> Self {
        let len = bytes.len();
        let mut repeated_keys = Vec::new();
        let mut parse = if direction == Direction::Sent {
            Parse::Sent
        } else if bytes.is_empty() && transport == Transport::Http {
            Parse::Empty
        } else {
            match json::parse(&bytes) {
                Ok((value, repeated)) => {
                    repeated_keys = repeated;
                    Parse::Json(value)
                }
                Err(error) => Parse::Broken(error.to_string()),
            }
        };
        let contents = match &mut parse {
            Parse::Json(value) => fold(value),
            _ => Vec::new(),
        };
        let raw = if len > KEPT {
            Bytes::copy_from_slice(&bytes[..KEPT])
        } else {
            bytes
        };
        Self {
            t_us,
            direction,
            transport,
            envelope,
            raw,
            len,
            parse,
            repeated_keys,
            contents,
        }
    }

    /// Lets go of the bytes where the parse says as much, or, of what was sent, the exchange: in a
    /// large trace they are a tenth of it. What is no message keeps them, to be shown.
    pub fn forget_bytes(&mut self) {
        let told = match &self.parse {
            Parse::Json(value) => jsonrpc::kind(value) != Kind::Other,
            Parse::Sent | Parse::Empty => true,
            Parse::Broken(_) => false,
        };
        if told {
            self.raw = Bytes::new();
        }
    }

    /// The JSON value, if the frame parsed.
    pub fn json(&self) -> Option<&Value> {
        match &self.parse {
            Parse::Json(value) => Some(value),
            _ => None,
        }
    }
}

fn fold(message: &mut Value) -> Vec<Content> {
    match message.pointer_mut("/result/contents") {
        Some(Value::Array(items)) => items.iter_mut().map(Content::fold).collect(),
        _ => Vec::new(),
    }
}
