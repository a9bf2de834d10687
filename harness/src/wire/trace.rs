//! Everything a check may look at: the frames of a session, paired into exchanges.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::content::Content;
use super::disk::Disk;
use super::frame::Frame;
use super::json::{self, escape_token};
use super::jsonrpc::{HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION};
use super::{Revision, Transport};

/// A place in a trace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Frame number, counted from 1; 0 where no frame exists (a request never answered points at
    /// the request instead).
    pub frame: usize,
    /// JSON pointer into the frame; empty for the frame as a whole.
    pub pointer: String,
}

impl Place {
    /// A place below this one; `tokens` are escaped.
    pub fn child(&self, tokens: &[&dyn fmt::Display]) -> Place {
        let mut pointer = self.pointer.clone();
        for token in tokens {
            pointer.push('/');
            pointer.push_str(&escape_token(&token.to_string()));
        }
        Place {
            frame: self.frame,
            pointer,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frame {}", self.frame)?;
        if !self.pointer.is_empty() {
            write!(f, " {}", self.pointer)?;
        }
        Ok(())
    }
}

/// Why an exchange has no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unanswered {
    /// Nothing was expected (a notification, or bytes that are no request).
    NotExpected,
    /// The time for it ran out.
    TimedOut,
    /// The target closed the connection or exited.
    Lost,
}

/// How an exchange came to be, as far as checks may know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// An ordinary request.
    Request,
    /// A message without an id.
    Notification,
    /// Bytes written as they are.
    Raw,
}

/// Position of an exchange in a walk over pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// Which walk of the session.
    pub walk: usize,
    /// Which page of it, from 0.
    pub page: usize,
    /// Whether the harness stopped here although a further page was offered (a bound was hit).
    pub cut: bool,
}

/// What the harness sent and what came back.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// Index of the frame sent.
    pub sent: usize,
    /// The id that it was sent with; none for what is no request of ours.
    pub id: Option<u64>,
    /// Index of the frame that answers it.
    pub answer: Option<usize>,
    /// Indices of frames that came back for it besides the answer (a second answer, an answer to
    /// something that must not be answered).
    pub extra: Vec<usize>,
    /// Why there is no answer; `None` when there is one.
    pub unanswered: Option<Unanswered>,
    /// How it was sent.
    pub form: Form,
    /// The method, for messages that have one.
    pub method: Arc<str>,
    /// The parameters as the scenario gave them, before `_meta` was added.
    pub params: Option<Arc<Value>>,
    /// The scenario that sent it.
    pub scenario: Arc<str>,
    /// Which further identity sent it; none is the one that nearly all of a session is about.
    pub identity: Option<String>,
    /// The name that the scenario gave to this exchange.
    pub name: Option<Arc<str>>,
    /// Position in a walk over pages.
    pub page: Option<Page>,
    /// For a probe that must not kill the target: whether a request sent behind it was answered.
    pub alive_after: Option<bool>,
    /// Whether it was made again, since the target went away for another's sake: no evidence.
    pub superseded: bool,
}

impl Exchange {
    /// The `uri` parameter, when it is a string.
    pub fn uri(&self) -> Option<&str> {
        self.params.as_ref()?.get("uri")?.as_str()
    }

    /// What findings about this exchange are about: the method, and what it was asked.
    pub fn subject(&self) -> String {
        match (self.uri(), &self.params) {
            (Some(uri), _) => format!("{} {}", self.method, shorten(uri, 200)),
            (None, Some(params)) => {
                format!("{} {}", self.method, shorten(&params.to_string(), 200))
            }
            (None, None) if self.method.is_empty() => {
                self.name.as_deref().unwrap_or("raw bytes").to_owned()
            }
            (None, None) => format!("{} without params", self.method),
        }
    }

    /// The `cursor` parameter.
    pub fn cursor(&self) -> Option<&Value> {
        self.params.as_ref()?.get("cursor")
    }
}

/// A JSON-RPC error, read leniently.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RpcError<'a> {
    /// The whole `error` member.
    pub value: &'a Value,
    /// `code`, when it is an integer, also where it is spelled as a string: what the error means
    /// and how well it is written are judged apart.
    pub code: Option<i64>,
    /// `message`, when it is a string.
    pub message: Option<&'a str>,
}

/// What came of an exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome<'a> {
    /// A result.
    Result(&'a Value),
    /// An error.
    Error(RpcError<'a>),
    /// Something came back that is no JSON-RPC answer (the HTTP status, where there is one).
    NoRpc(Option<u16>),
    /// No answer within the time.
    TimedOut,
    /// The target went away.
    Lost,
    /// No answer was expected, and none came.
    Silent,
}

impl Outcome<'_> {
    /// The outcome in a few words, for the "actual" of a finding.
    pub fn words(&self) -> String {
        match self {
            Outcome::Result(_) => "a result".into(),
            Outcome::Error(error) => match (error.code, error.message) {
                (Some(code), Some(message)) => {
                    format!("error {code} \"{}\"", shorten(message, 120))
                }
                (Some(code), None) => format!("error {code} without a message"),
                (None, _) => format!(
                    "error without an integer code: {}",
                    shorten(&error.value.to_string(), 120)
                ),
            },
            Outcome::NoRpc(Some(status)) => {
                format!("HTTP status {status} without a JSON-RPC answer")
            }
            Outcome::NoRpc(None) => "bytes that are no JSON-RPC answer".into(),
            Outcome::TimedOut => "no answer in time".into(),
            Outcome::Lost => "no answer: the connection was closed".into(),
            Outcome::Silent => "no answer".into(),
        }
    }
}

fn code_of(code: &Value) -> Option<i64> {
    json::integer(code).or_else(|| code.as_str()?.trim().parse().ok())
}

/// `text` cut at `limit` characters.
pub fn shorten(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => text.to_owned(),
        Some((cut, _)) => format!("{}…", &text[..cut]),
    }
}

/// The frames of a session, paired into exchanges.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The revision that was spoken.
    pub revision: Revision,
    /// What carried the frames.
    pub transport: Transport,
    /// All frames, in order; frame number `n` of a [`Place`] is `frames[n - 1]`.
    pub frames: Vec<Frame>,
    /// All exchanges, in the order in which they were sent.
    pub exchanges: Vec<Exchange>,
    /// Whether only a sample of the files was read.
    pub sampled: bool,
    /// Whether the user named further identities.
    pub identities: bool,
    /// The directory that the server serves, as it was before the session, where it is known.
    pub disk: Option<Arc<Disk>>,
}

impl Trace {
    /// The exchanges of one method that were sent as ordinary requests.
    pub fn calls<'a>(&'a self, method: &'a str) -> impl Iterator<Item = &'a Exchange> {
        self.evidence()
            .filter(move |exchange| exchange.form == Form::Request && &*exchange.method == method)
    }

    /// The exchanges that scenarios gave this name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Exchange> {
        self.evidence()
            .filter(move |exchange| exchange.name.as_deref() == Some(name))
    }

    /// The exchanges that reached what they were for and were not made again, of the identity that
    /// the session is about.
    pub fn evidence(&self) -> impl Iterator<Item = &Exchange> {
        self.usable().filter(|exchange| exchange.identity.is_none())
    }

    /// The same of the further identities.
    pub fn of_others(&self) -> impl Iterator<Item = &Exchange> {
        self.usable().filter(|exchange| exchange.identity.is_some())
    }

    fn usable(&self) -> impl Iterator<Item = &Exchange> {
        self.exchanges
            .iter()
            .filter(|exchange| !exchange.superseded && self.base_refusal(exchange).is_none())
    }

    /// The base protocol's own error, where it kept a request from reaching the extension (a
    /// header or a version that the server does not accept, a capability that it demands). That
    /// says nothing of the extension, except where a probe asks for just this.
    pub fn base_refusal(&self, exchange: &Exchange) -> Option<RpcError<'_>> {
        const CODES: [i64; 3] = [HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION];
        if matches!(
            exchange.name.as_deref(),
            Some("undeclared-client" | "read-malformed")
        ) {
            return None;
        }
        if exchange.form != Form::Request {
            return None;
        }
        match self.outcome(exchange) {
            Outcome::Error(error) if error.code.is_some_and(|code| CODES.contains(&code)) => {
                Some(error)
            }
            _ => None,
        }
    }

    /// The answering frame.
    pub fn answer(&self, exchange: &Exchange) -> Option<&Frame> {
        Some(&self.frames[exchange.answer?])
    }

    /// What came of an exchange.
    pub fn outcome<'a>(&'a self, exchange: &Exchange) -> Outcome<'a> {
        let Some(frame) = self.answer(exchange) else {
            return match exchange.unanswered {
                Some(Unanswered::TimedOut) => Outcome::TimedOut,
                Some(Unanswered::Lost) => Outcome::Lost,
                _ => Outcome::Silent,
            };
        };
        let status = frame.envelope.as_ref().map(|envelope| envelope.status);
        match frame.json() {
            Some(Value::Object(object)) => match (object.get("result"), object.get("error")) {
                (_, Some(error)) => Outcome::Error(RpcError {
                    value: error,
                    code: error.get("code").and_then(code_of),
                    message: error.get("message").and_then(Value::as_str),
                }),
                (Some(result), None) => Outcome::Result(result),
                (None, None) => Outcome::NoRpc(status),
            },
            _ => Outcome::NoRpc(status),
        }
    }

    /// The result of an exchange, if it has one.
    pub fn result<'a>(&'a self, exchange: &Exchange) -> Option<&'a Value> {
        match self.outcome(exchange) {
            Outcome::Result(result) => Some(result),
            _ => None,
        }
    }

    /// The error code of an exchange, if it has one.
    pub fn error_code(&self, exchange: &Exchange) -> Option<i64> {
        match self.outcome(exchange) {
            Outcome::Error(error) => error.code,
            _ => None,
        }
    }

    /// The folded contents of a `resources/read` answer.
    pub fn contents(&self, exchange: &Exchange) -> &[Content] {
        self.answer(exchange).map_or(&[], |frame| &frame.contents)
    }

    /// Where an exchange's answer stands; its request when there is no answer.
    pub fn place(&self, exchange: &Exchange) -> Place {
        Place {
            frame: exchange.answer.unwrap_or(exchange.sent) + 1,
            pointer: String::new(),
        }
    }

    /// A place inside an exchange's answer.
    pub fn place_at(&self, exchange: &Exchange, pointer: &str) -> Place {
        Place {
            pointer: pointer.to_owned(),
            ..self.place(exchange)
        }
    }

    /// The answer that declares the server's capabilities (`server/discover` or `initialize`).
    pub fn declaration(&self) -> Option<(&Exchange, &Value)> {
        ["server/discover", "initialize"]
            .into_iter()
            .flat_map(|method| self.calls(method))
            .find_map(|exchange| Some((exchange, self.result(exchange)?)))
    }

    /// What the server declares under the extension's key, of whatever type.
    pub fn extension(&self) -> Option<&Value> {
        self.declaration()?
            .1
            .get("capabilities")?
            .get("extensions")?
            .get(super::jsonrpc::EXTENSION)
    }

    /// Whether the server declares `directoryRead: true`.
    pub fn directory_read(&self) -> bool {
        self.extension()
            .and_then(|settings| settings.get("directoryRead"))
            .is_some_and(|flag| flag == &Value::Bool(true))
    }
}
