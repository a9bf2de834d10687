//! JSON-RPC 2.0 as MCP uses it: what a frame means, and how requests are written.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::{Value, json};

use super::Revision;

/// Parse error.
pub const PARSE_ERROR: i64 = -32700;
/// The message is no request.
pub const INVALID_REQUEST: i64 = -32600;
/// The method is not known.
pub const METHOD_NOT_FOUND: i64 = -32601;
/// The parameters are wrong, among them a URI that names nothing.
pub const INVALID_PARAMS: i64 = -32602;
/// The server failed.
pub const INTERNAL_ERROR: i64 = -32603;
/// "Resource not found" of 2025-11-25 and earlier.
pub const RESOURCE_NOT_FOUND: i64 = -32002;
/// Headers and body disagree (2026-07-28, HTTP).
pub const HEADER_MISMATCH: i64 = -32020;
/// The client lacks a capability that the server requires (2026-07-28).
pub const MISSING_CAPABILITY: i64 = -32021;
/// The server does not speak the revision (2026-07-28).
pub const UNSUPPORTED_VERSION: i64 = -32022;

/// The extension's identifier.
pub const EXTENSION: &str = "io.modelcontextprotocol/skills";

/// What a message is, by its members.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind<'a> {
    /// A call with an id.
    Request {
        /// Its id.
        id: &'a Value,
        /// Its method.
        method: &'a str,
    },
    /// A call without an id.
    Notification {
        /// Its method.
        method: &'a str,
    },
    /// An answer; `id` is absent when the answered message could not be read.
    Response {
        /// Id of the request that it answers.
        id: Option<&'a Value>,
    },
    /// None of these.
    Other,
}

/// Tells what a JSON value is as a JSON-RPC message.
pub fn kind(message: &Value) -> Kind<'_> {
    let Value::Object(object) = message else {
        return Kind::Other;
    };
    if object.contains_key("result") || object.contains_key("error") {
        return Kind::Response {
            id: object.get("id").filter(|id| !id.is_null()),
        };
    }
    match (object.get("method"), object.get("id")) {
        (Some(Value::String(method)), Some(id)) => Kind::Request { id, method },
        (Some(Value::String(method)), None) => Kind::Notification { method },
        _ => Kind::Other,
    }
}

/// How the harness introduces itself.
#[derive(Debug, Clone)]
pub struct ClientIdentity {
    /// Whether the client capabilities name the extension.
    pub declares_extension: bool,
}

impl ClientIdentity {
    /// The client capabilities object.
    pub fn capabilities(&self) -> Value {
        if self.declares_extension {
            json!({"extensions": {EXTENSION: {}}})
        } else {
            json!({})
        }
    }

    /// What requests of 2026-07-28 carry in `_meta`; made once, since every request has it.
    fn meta(&self) -> &'static Value {
        static METAS: OnceLock<[Value; 2]> = OnceLock::new();
        let metas = METAS.get_or_init(|| {
            [false, true].map(|declares_extension| {
                let client = ClientIdentity { declares_extension };
                json!({
                    "io.modelcontextprotocol/protocolVersion": Revision::Modern.name(),
                    "io.modelcontextprotocol/clientInfo": ClientIdentity::info(),
                    "io.modelcontextprotocol/clientCapabilities": client.capabilities(),
                })
            })
        });
        &metas[usize::from(self.declares_extension)]
    }

    /// Name and version of the harness.
    pub fn info() -> Value {
        json!({"name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION")})
    }
}

/// The text of `params`, with what the revision asks each request to carry.
///
/// On 2026-07-28 that is `_meta` with the protocol version, the client's identity and its
/// capabilities; `params` that are not an object are left alone, since they are sent to be wrong.
pub fn params(
    revision: Revision,
    params: Option<&Value>,
    client: &ClientIdentity,
) -> Option<String> {
    let mut members: BTreeMap<&str, &Value> = match params {
        _ if revision == Revision::Legacy => return serde_json::to_string(params?).ok(),
        None => BTreeMap::new(),
        Some(Value::Object(own)) => own.iter().map(|(key, own)| (key.as_str(), own)).collect(),
        Some(other) => return serde_json::to_string(other).ok(),
    };
    let merged;
    match members.get("_meta") {
        None => {
            members.insert("_meta", client.meta());
        }
        Some(Value::Object(own)) => {
            let mut meta = client.meta().clone();
            if let Value::Object(meta) = &mut meta {
                meta.extend(own.clone());
            }
            merged = meta;
            members.insert("_meta", &merged);
        }
        Some(_) => {}
    }
    serde_json::to_string(&members).ok()
}

/// A request as it is sent; members stand in the customary order. `params` is JSON.
pub fn request(id: u64, method: &str, params: Option<&str>) -> Vec<u8> {
    message(Some(id), method, params)
}

/// A notification as it is sent.
pub fn notification(method: &str, params: Option<&str>) -> Vec<u8> {
    message(None, method, params)
}

fn message(id: Option<u64>, method: &str, params: Option<&str>) -> Vec<u8> {
    let mut text = String::with_capacity(80 + method.len() + params.map_or(0, str::len));
    text.push_str(r#"{"jsonrpc":"2.0""#);
    if let Some(id) = id {
        text.push_str(r#","id":"#);
        text.push_str(&id.to_string());
    }
    text.push_str(r#","method":"#);
    text.push_str(&Value::from(method).to_string());
    if let Some(params) = params {
        text.push_str(r#","params":"#);
        text.push_str(params);
    }
    text.push('}');
    text.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart() {
        assert!(matches!(
            kind(&json!({"id": 1, "method": "a"})),
            Kind::Request { .. }
        ));
        assert!(matches!(
            kind(&json!({"method": "a"})),
            Kind::Notification { .. }
        ));
        assert_eq!(
            kind(&json!({"id": null, "error": {}})),
            Kind::Response { id: None }
        );
        assert_eq!(kind(&json!([])), Kind::Other);
    }

    #[test]
    fn requests_look_like_this() {
        let client = ClientIdentity {
            declares_extension: true,
        };
        let asked = json!({"uri": "skill://a/SKILL.md"});
        let sent = params(Revision::Modern, Some(&asked), &client);
        let bytes = request(7, "skills/get", sent.as_deref());
        let (value, repeated) = crate::wire::json::parse(&bytes).unwrap();
        assert!(repeated.is_empty());
        assert_eq!(
            value["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"],
            "2026-07-28"
        );
        assert_eq!(value["id"], 7);
        let legacy = params(Revision::Legacy, None, &client);
        assert_eq!(
            request(1, "ping", legacy.as_deref()),
            br#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#
        );
    }

    #[test]
    fn a_meta_of_its_own_is_kept() {
        let client = ClientIdentity {
            declares_extension: false,
        };
        let sent = |own: Value| {
            let text = params(Revision::Modern, Some(&own), &client).unwrap();
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let version = "io.modelcontextprotocol/protocolVersion";
        let merged = sent(json!({"_meta": {version: "x", "y": 1}, "uri": "u"}));
        assert_eq!(merged["uri"], "u");
        assert_eq!(merged["_meta"][version], "x");
        assert_eq!(merged["_meta"]["y"], 1);
        assert_eq!(merged["_meta"].as_object().unwrap().len(), 4);
        for own in [json!({"_meta": 5}), json!([1]), json!("x")] {
            assert_eq!(sent(own.clone()), own);
        }
    }
}
