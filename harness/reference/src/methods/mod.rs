//! The methods of the server, as they are answered honestly.

mod directory;
mod handshake;
pub(crate) mod resources;
pub(crate) mod skills;

use serde_json::{Map, Value, json};

use crate::message::{Era, Message, RpcError};
use crate::server::Server;

pub(crate) use handshake::EXTENSION;

/// A result or an error.
pub(crate) type Outcome = Result<Value, RpcError>;

/// A request on its way through the server.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub method: String,
    pub params: Map<String, Value>,
    pub era: Era,
    /// The bearer token that came with it.
    pub token: Option<String>,
    /// Notes of a fault from request to answer.
    pub mark: usize,
}

impl Call {
    pub fn new(message: &Message, era: Era) -> Result<Call, RpcError> {
        let params = match &message.params {
            None => Map::new(),
            Some(Value::Object(params)) => params.clone(),
            Some(_) => return Err(RpcError::invalid_params("`params` is not an object")),
        };
        Ok(Call {
            method: message.method.clone(),
            params,
            era,
            token: None,
            mark: 0,
        })
    }

    /// The cursor as it stands there.
    pub fn cursor(&self) -> Option<&Value> {
        self.params.get("cursor")
    }

    /// `params.uri`, if it is a string with something in it.
    pub fn uri(&self) -> Result<&str, RpcError> {
        match self.params.get("uri") {
            Some(Value::String(uri)) if !uri.is_empty() => Ok(uri),
            Some(Value::String(_)) => Err(RpcError::invalid_params("`uri` is empty")),
            Some(_) => Err(RpcError::invalid_params("`uri` is not a string")),
            None => Err(RpcError::invalid_params("`uri` is missing")),
        }
    }
}

/// Answers a request honestly.
pub(crate) fn dispatch(server: &Server, call: &Call) -> Outcome {
    let method = call.method.as_str();
    let result = match (method, call.era) {
        ("initialize", Era::Legacy) => handshake::initialize(server),
        ("ping", Era::Legacy) => json!({}),
        ("server/discover", Era::Modern) => handshake::discover(server),
        ("skills/list", _) => skills::list(server, call)?,
        ("skills/get", _) => skills::get(server, call)?,
        ("resources/list", _) => resources::list(server, call)?,
        ("resources/templates/list", _) => resources::templates(call)?,
        ("resources/read", _) => resources::read(server, call)?,
        ("resources/directory/read", _) if server.options.directory_read => {
            directory::read(server, call)?
        }
        _ => return Err(RpcError::method_not_found(method)),
    };
    Ok(match call.era {
        Era::Modern => dress(server, method, result),
        Era::Legacy => result,
    })
}

/// A result with one member, which is moved into it: `json!` would copy it.
fn with(member: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(member.to_owned(), value)]))
}

/// Adds what results of the modern revision carry besides their content.
fn dress(server: &Server, method: &str, mut result: Value) -> Value {
    result["resultType"] = json!("complete");
    result["_meta"] = json!({"io.modelcontextprotocol/serverInfo": handshake::server_info()});
    if method != "resources/directory/read" {
        // Directory results have no caching attributes.
        result["ttlMs"] = json!(if method == "resources/read" {
            0
        } else {
            300_000
        });
        // What depends on who asks is for nobody else.
        let private = !server.options.private.is_empty();
        result["cacheScope"] = json!(if private { "private" } else { "public" });
    }
    result
}
