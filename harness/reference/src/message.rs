//! JSON-RPC messages: reading requests and shaping answers.

use serde_json::{Map, Value, json};

/// The key of the protocol version in a request's `_meta`.
pub(crate) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of the client's capabilities in a request's `_meta`.
pub(crate) const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";
/// The revision with per-request metadata.
pub(crate) const MODERN: &str = "2026-07-28";
/// The revision with an `initialize` handshake.
pub(crate) const LEGACY: &str = "2025-11-25";

/// The channel a message came over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Standard input and output.
    Stdio,
    /// Streamable HTTP.
    Http,
}

/// The revision a request is served under.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// 2026-07-28.
    Modern,
    /// 2025-11-25.
    Legacy,
}

impl Era {
    /// The revision's date.
    pub fn revision(self) -> &'static str {
        match self {
            Era::Modern => MODERN,
            Era::Legacy => LEGACY,
        }
    }
}

/// What the server says to one message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status that goes with it.
    pub status: u16,
    /// HTTP content type that goes with it.
    pub content_type: &'static str,
    /// The message, or nothing for what is not answered.
    pub body: Option<Vec<u8>>,
    /// What the server does afterwards.
    pub then: Then,
}

/// What a server does after an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It goes on.
    GoOn,
    /// It ends (a fault).
    Exit,
    /// It stays alive but never answers again (a fault).
    Hang,
}

impl Answer {
    /// An answer that consists of nothing.
    pub(crate) fn silence() -> Answer {
        Answer {
            status: 202,
            content_type: "application/json",
            body: None,
            then: Then::GoOn,
        }
    }

    /// An answer with a JSON body.
    pub(crate) fn json(status: u16, body: &Value) -> Answer {
        Answer {
            status,
            body: Some(serde_json::to_vec(body).unwrap_or_default()),
            ..Answer::silence()
        }
    }

    /// The same with a second message on a line of its own (a fault).
    pub(crate) fn and(mut self, message: &[u8]) -> Answer {
        if let Some(body) = &mut self.body {
            body.push(b'\n');
            body.extend_from_slice(message);
        }
        self
    }

    /// An error answer.
    pub(crate) fn error(status: u16, id: &Value, error: &RpcError) -> Answer {
        Answer::json(status, &error.envelope(id))
    }
}

/// The envelope of a result, which is moved into it: `json!` would copy it.
pub(crate) fn result(id: &Value, result: Value) -> Value {
    Value::Object(Map::from_iter([
        ("jsonrpc".to_owned(), json!("2.0")),
        ("id".to_owned(), id.clone()),
        ("result".to_owned(), result),
    ]))
}

/// A JSON-RPC error.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RpcError {
    pub code: i64,
    pub message: String,
    pub data: Option<Value>,
}

impl RpcError {
    pub fn new(code: i64, message: impl Into<String>) -> RpcError {
        RpcError {
            code,
            message: message.into(),
            data: None,
        }
    }

    pub fn invalid_request(message: impl Into<String>) -> RpcError {
        RpcError::new(-32600, message)
    }

    pub fn method_not_found(method: &str) -> RpcError {
        let shown = crate::uri::show(method);
        RpcError::new(-32601, format!("method not found: {shown}"))
    }

    pub fn invalid_params(message: impl Into<String>) -> RpcError {
        RpcError::new(-32602, message)
    }

    pub fn internal() -> RpcError {
        RpcError::new(-32603, "internal error while handling the request")
    }

    pub fn with_data(mut self, data: Value) -> RpcError {
        self.data = Some(data);
        self
    }

    /// The error as a whole JSON-RPC message.
    pub fn envelope(&self, id: &Value) -> Value {
        let mut error = json!({"code": self.code, "message": self.message});
        if let Some(data) = &self.data {
            error["data"] = data.clone();
        }
        json!({"jsonrpc": "2.0", "id": id, "error": error})
    }
}

/// A message that is well-formed enough to be dealt with.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// The id, or nothing for a notification.
    pub id: Option<Value>,
    pub method: String,
    /// Whatever stands there; `None` when absent.
    pub params: Option<Value>,
}

/// The outcome of reading bytes.
pub(crate) enum Parsed {
    Message(Message),
    /// A response, which a server has no use for.
    Response,
    /// Not a message: the error to send, and the id it goes to.
    Bad {
        id: Value,
        error: RpcError,
    },
}

impl Message {
    pub fn parse(bytes: &[u8]) -> Parsed {
        let value: Value = match serde_json::from_slice(bytes) {
            Ok(value) => value,
            Err(error) => {
                let text = format!("the message is not valid JSON: {error}");
                return bad(Value::Null, RpcError::new(-32700, text));
            }
        };
        let mut object = match value {
            Value::Object(object) => object,
            Value::Array(_) => {
                let text = "batches are not supported: send each message by itself";
                return bad(Value::Null, RpcError::invalid_request(text));
            }
            _ => {
                let text = "a message is a JSON object";
                return bad(Value::Null, RpcError::invalid_request(text));
            }
        };
        let id = object.remove("id");
        if id.as_ref().is_some_and(|id| !valid_id(id)) {
            let text = "an id is a string or an integer";
            return bad(Value::Null, RpcError::invalid_request(text));
        }
        let reply_to = id.clone().unwrap_or(Value::Null);
        let method = match object.remove("method") {
            Some(Value::String(method)) => method,
            Some(_) => {
                let text = "`method` is not a string";
                return bad(reply_to, RpcError::invalid_request(text));
            }
            None if object.contains_key("result") || object.contains_key("error") => {
                return Parsed::Response;
            }
            None => {
                let text = "the message has no `method`";
                return bad(reply_to, RpcError::invalid_request(text));
            }
        };
        if id.is_some() && object.get("jsonrpc") != Some(&json!("2.0")) {
            let text = "`jsonrpc` is not \"2.0\"";
            return bad(reply_to, RpcError::invalid_request(text));
        }
        Parsed::Message(Message {
            id,
            method,
            params: object.remove("params"),
        })
    }

    /// The request's `_meta`, if it has one.
    pub fn meta(&self) -> Option<&Map<String, Value>> {
        self.params.as_ref()?.get("_meta")?.as_object()
    }

    /// The protocol version the request names in its `_meta`.
    pub fn version(&self) -> Option<&Value> {
        self.meta()?.get(VERSION_KEY)
    }

    /// Whether the request is shaped like one of the modern revision: it names
    /// a version other than the legacy one, or other per-request fields.
    pub fn is_modern(&self) -> bool {
        match self.version() {
            Some(version) => version != LEGACY,
            None => self
                .meta()
                .is_some_and(|meta| meta.contains_key(CAPABILITIES_KEY)),
        }
    }
}

fn bad(id: Value, error: RpcError) -> Parsed {
    Parsed::Bad { id, error }
}

fn valid_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}
