//! The MCP client: negotiates a revision, sends requests, reads answers.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::faults::Switch;
use super::http::{Endpoint, PATIENCE};
use super::stdio::Process;
use crate::message::{CAPABILITIES_KEY, Era, LEGACY, MODERN, VERSION_KEY};

/// Identifier of the extension.
pub(super) const EXTENSION: &str = "io.modelcontextprotocol/skills";
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";
const SERVER_KEY: &str = "io.modelcontextprotocol/serverInfo";
/// The error for a protocol version that a server does not speak.
const UNSUPPORTED_VERSION: i64 = -32022;

/// Where a server is.
#[derive(Debug, Clone)]
pub(super) enum Target {
    Url(String),
    Command(Vec<String>),
}

/// Why a request has no result.
#[derive(Debug, Clone)]
pub(super) enum CallError {
    /// The server answered with an error.
    Rpc {
        code: i64,
        message: String,
        data: Value,
    },
    /// There is no answer.
    Transport(String),
    /// There is an answer, but none that can be used.
    Unusable(String),
}

impl CallError {
    /// Whether the error says that something does not exist. Before
    /// 2026-07-28 a resource that is not there had a code of its own, which
    /// is still understood.
    pub fn is_not_found(&self) -> bool {
        matches!(
            self,
            CallError::Rpc {
                code: -32602 | -32002,
                ..
            }
        )
    }

    /// Whether a server that answers so would answer a handshake no better.
    fn rules_out_handshake(&self) -> bool {
        matches!(self, CallError::Rpc { code: UNSUPPORTED_VERSION, data, .. } if !names(&data["supported"], LEGACY))
    }

    pub fn text(&self) -> String {
        match self {
            CallError::Rpc { code, message, .. } => {
                format!("the server answered with error {code}: {message}")
            }
            CallError::Transport(reason) | CallError::Unusable(reason) => reason.clone(),
        }
    }
}

/// A connection to a server.
#[derive(Debug)]
pub(super) struct Client {
    fault: Switch,
    channel: Channel,
    era: Era,
    session: Option<String>,
    last_id: u64,
    /// What the server said it can do.
    pub capabilities: Value,
    /// What the server calls itself.
    pub name: Option<String>,
}

#[derive(Debug)]
enum Channel {
    Http(Box<Endpoint>),
    Stdio(Box<Process>),
}

impl Client {
    /// Connects, beginning with the revision that the caller expects.
    pub async fn connect(
        target: &Target,
        hint: Option<Era>,
        fault: Switch,
    ) -> Result<Client, String> {
        let channel = match target {
            Target::Url(url) => Channel::Http(Box::new(Endpoint::new(url)?)),
            Target::Command(command) => Channel::Stdio(Box::new(Process::start(command)?)),
        };
        let mut client = Client {
            fault,
            channel,
            era: Era::Modern,
            session: None,
            last_id: 0,
            capabilities: Value::Null,
            name: None,
        };
        let outcome = if hint == Some(Era::Legacy) {
            match client.initialize().await {
                Err(CallError::Rpc { .. }) => client.discover().await,
                outcome => outcome,
            }
        } else {
            match client.discover().await {
                Err(error) if error.rules_out_handshake() => Err(error),
                // Over HTTP a server that says nothing has no more to say to a handshake.
                Err(error @ CallError::Transport(_)) if client.is_http() => Err(error),
                // A server that knows nothing of discovery starts with a handshake.
                Err(_) => client.initialize().await,
                outcome => outcome,
            }
        };
        outcome.map_err(|error| error.text())?;
        Ok(client)
    }

    async fn discover(&mut self) -> Result<(), CallError> {
        self.era = Era::Modern;
        let patience = match self.channel {
            Channel::Http(_) => PATIENCE,
            Channel::Stdio(_) => Duration::from_secs(4),
        };
        let result = self
            .exchange("server/discover", json!({}), patience)
            .await?;
        if !names(&result["supportedVersions"], MODERN) {
            let version = "the server's supportedVersions lack this revision".to_owned();
            return Err(CallError::Unusable(version));
        }
        self.capabilities = result["capabilities"].clone();
        self.name = result["_meta"][SERVER_KEY]["name"]
            .as_str()
            .map(str::to_owned);
        Ok(())
    }

    async fn initialize(&mut self) -> Result<(), CallError> {
        self.era = Era::Legacy;
        self.session = None;
        let params = json!({
            "protocolVersion": LEGACY,
            "capabilities": capabilities(),
            "clientInfo": client_info(),
        });
        let result = self.exchange("initialize", params, PATIENCE).await?;
        if result["protocolVersion"] != LEGACY {
            let version = format!(
                "the server answers {LEGACY} with {}",
                result["protocolVersion"]
            );
            return Err(CallError::Transport(version));
        }
        self.capabilities = result["capabilities"].clone();
        self.name = result["serverInfo"]["name"].as_str().map(str::to_owned);
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        let headers = self.headers("notifications/initialized", &Value::Null);
        let sent = match &mut self.channel {
            Channel::Http(endpoint) => endpoint
                .post(&headers, ready.to_string(), 0)
                .await
                .map(|_| ()),
            Channel::Stdio(process) => process.send(&ready).await,
        };
        sent.map_err(CallError::Transport)
    }

    fn is_http(&self) -> bool {
        matches!(self.channel, Channel::Http(_))
    }

    pub fn is_modern(&self) -> bool {
        self.era == Era::Modern
    }

    /// The settings of the extension, if the server declares it.
    pub fn settings(&self) -> Option<&Value> {
        self.capabilities["extensions"]
            .get(EXTENSION)
            .filter(|settings| settings.is_object())
    }

    /// Whether the server declares that it can read directories.
    pub fn reads_directories(&self) -> bool {
        self.settings()
            .is_some_and(|settings| settings["directoryRead"] == Value::Bool(true))
    }

    /// Sends a request. A session that the server has ended is begun anew, once.
    pub async fn request(&mut self, method: &str, params: Value) -> Result<Value, CallError> {
        let answer = self.exchange(method, params.clone(), PATIENCE).await;
        match answer {
            Err(CallError::Transport(reason)) if reason == ENDED && self.session.is_some() => {
                self.initialize().await?;
                self.exchange(method, params, PATIENCE).await
            }
            answer => answer,
        }
    }

    async fn exchange(
        &mut self,
        method: &str,
        mut params: Value,
        patience: Duration,
    ) -> Result<Value, CallError> {
        self.last_id += 1;
        let id = self.last_id;
        if self.era == Era::Modern {
            params["_meta"] = json!({
                VERSION_KEY: MODERN,
                CLIENT_KEY: client_info(),
                CAPABILITIES_KEY: capabilities(),
            });
        }
        let headers = self.headers(method, &params["uri"]);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = match &mut self.channel {
            Channel::Stdio(process) => process
                .ask(&request, patience)
                .await
                .map_err(CallError::Transport)?,
            Channel::Http(endpoint) => {
                let reply = endpoint
                    .post(&headers, request.to_string(), id)
                    .await
                    .map_err(CallError::Transport)?;
                if reply.status == 404 && self.session.is_some() {
                    return Err(CallError::Transport(ENDED.to_owned()));
                }
                if method == "initialize" {
                    self.session = reply.session;
                }
                reply.message.ok_or_else(|| {
                    CallError::Unusable(format!(
                        "the server answered with status {} and no message",
                        reply.status
                    ))
                })?
            }
        };
        self.result(id, method, answer)
    }

    fn result(&self, id: u64, method: &str, mut answer: Value) -> Result<Value, CallError> {
        if let Some(error) = answer.get("error").filter(|error| error.is_object()) {
            return Err(CallError::Rpc {
                code: error["code"].as_i64().unwrap_or(0),
                message: error["message"].as_str().unwrap_or_default().to_owned(),
                data: error["data"].clone(),
            });
        }
        let unusable = |reason: &str| Err(CallError::Unusable(reason.to_owned()));
        if answer["id"] != id || !answer["result"].is_object() {
            return unusable("the server's answer is not one to the request");
        }
        if self.era == Era::Modern {
            match answer["result"].get("resultType") {
                // Servers of earlier revisions do not say that a result is whole.
                None => {}
                Some(kind) if kind == "complete" => {}
                Some(_) if self.fault.on("client-result-type") => {}
                Some(_)
                    if self.fault.on("client-result-type/entries")
                        && method.starts_with("skills/") => {}
                Some(kind) => {
                    return unusable(&format!(
                        "the result has the type {kind}, which is not supported"
                    ));
                }
            }
        }
        Ok(answer["result"].take())
    }

    fn headers(&self, method: &str, uri: &Value) -> Vec<(&'static str, String)> {
        if self.era == Era::Legacy {
            let mut headers = Vec::new();
            if method != "initialize" {
                headers.push(("mcp-protocol-version", LEGACY.to_owned()));
            }
            headers.extend(
                self.session
                    .iter()
                    .map(|session| ("mcp-session-id", session.clone())),
            );
            return headers;
        }
        let mut headers = vec![
            ("mcp-protocol-version", MODERN.to_owned()),
            ("mcp-method", method.to_owned()),
        ];
        if let ("resources/read", Some(uri)) = (method, uri.as_str()) {
            headers.push(("mcp-name", header_value(uri)));
        }
        headers
    }

    /// Ends the connection.
    pub async fn end(mut self) {
        let headers = self.headers("", &Value::Null);
        match self.channel {
            Channel::Http(mut endpoint) if self.session.take().is_some() => {
                endpoint.delete(&headers).await
            }
            Channel::Http(_) => {}
            Channel::Stdio(process) => process.end().await,
        }
    }
}

const ENDED: &str = "the server has ended the session";

fn names(list: &Value, version: &str) -> bool {
    list.as_array()
        .is_some_and(|list| list.iter().any(|known| known == version))
}

fn capabilities() -> Value {
    json!({"extensions": {EXTENSION: {}}})
}

fn client_info() -> Value {
    json!({"name": "sep2640-reference-host", "version": env!("CARGO_PKG_VERSION")})
}

/// The value as a header can carry it.
fn header_value(value: &str) -> String {
    let plain = value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if plain && value.trim() == value && !value.starts_with("=?base64?") {
        value.to_owned()
    } else {
        format!("=?base64?{}?=", STANDARD.encode(value))
    }
}
