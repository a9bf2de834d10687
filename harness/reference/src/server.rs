//! The server behind the transports: one message in, one answer out.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use serde_json::{Value, json};

use crate::builtin;
use crate::catalog::Catalog;
use crate::faults::{Sabotage, find};
use crate::generated;
use crate::load;
use crate::message::{
    self, Answer, CAPABILITIES_KEY, Channel, Era, LEGACY, MODERN, Message, Parsed, RpcError, Then,
    VERSION_KEY,
};
use crate::methods::{self, Call, Outcome};
use crate::options::{Options, StartError};
use crate::tree::Tree;

/// A reference server. It is shared by reference and keeps its little state
/// to itself.
#[derive(Debug)]
pub struct Server {
    pub(crate) options: Options,
    /// Everything, whoever may see it.
    pub(crate) catalog: Catalog,
    /// What the holder of each token sees, and who has none (the last); empty if nothing is private.
    views: Vec<(Option<String>, Catalog)>,
    pub(crate) sabotage: Sabotage,
    /// Counts the reads of files that change with each read.
    pub(crate) reads: AtomicU64,
    /// Whether an `initialize` came in over standard input.
    initialized: AtomicBool,
    /// Set by a fault that makes the server exit or fall silent.
    gone: Mutex<Then>,
}

impl Server {
    /// Builds a server: reads or builds its tree and works out every digest.
    ///
    /// A `SKILL.md` below the skills directory that does not conform is left
    /// out, with a line on standard error that says why.
    pub fn new(options: Options) -> Result<Server, StartError> {
        let mut sabotage = Sabotage::new(options.fault.as_deref().map(find).transpose()?);
        if options.page_size == 0 {
            return Err(StartError::EmptyPages);
        }
        let mut tree = match (&options.skills, options.generate) {
            (Some(_), Some(_)) => return Err(StartError::TwoTrees),
            (Some(directory), None) => {
                let loaded = load::load(directory, sabotage.follows_links())?;
                for reason in &loaded.skipped {
                    eprintln!("sep2640-reference: skipped: {reason}");
                }
                loaded.tree
            }
            (None, Some(size)) => generated::tree(size),
            (None, None) => builtin::tree(),
        };
        sabotage.tree(&mut tree);
        let mut catalog = Catalog::new(&tree);
        sabotage.catalog(&mut catalog);
        let views = views(&tree, &options.private)?;
        let mut options = options;
        options.page_size = sabotage.page_size(options.page_size, catalog.listing.len());
        Ok(Server {
            options,
            catalog,
            views,
            sabotage,
            reads: AtomicU64::new(0),
            initialized: AtomicBool::new(false),
            gone: Mutex::new(Then::GoOn),
        })
    }

    /// Answers one message, given as the bytes of its JSON.
    pub fn handle(&self, message: &[u8], channel: Channel) -> Answer {
        match Message::parse(message) {
            Parsed::Bad { id, error } => self.refuse(400, &id, &error),
            Parsed::Response => Answer::silence(),
            Parsed::Message(message) => {
                let era = self.era(&message, channel);
                self.answer(&message, era, channel, None)
            }
        }
    }

    /// The revision a message is meant under. Over standard input a message
    /// without per-request metadata belongs to a handshake that came before.
    fn era(&self, message: &Message, channel: Channel) -> Result<Era, RpcError> {
        if message.is_modern() {
            return Ok(Era::Modern);
        }
        let greets = matches!(message.method.as_str(), "initialize" | "ping");
        let greeted = channel == Channel::Http || self.initialized.load(Ordering::Relaxed);
        if greets || greeted || message.id.is_none() {
            Ok(Era::Legacy)
        } else {
            Err(RpcError::invalid_params(format!(
                "the request names no {VERSION_KEY} in params._meta, and no initialize came before it"
            )))
        }
    }

    /// Answers a parsed message under a revision already settled.
    pub(crate) fn answer(
        &self,
        message: &Message,
        era: Result<Era, RpcError>,
        channel: Channel,
        token: Option<&str>,
    ) -> Answer {
        let Some(id) = &message.id else {
            return self.sabotage.notification(message);
        };
        let era = match era {
            Ok(era) => era,
            Err(error) => return Answer::error(400, id, &error),
        };
        if era == Era::Modern
            && let Err(error) = check_metadata(message)
        {
            return Answer::error(400, id, &error);
        }
        let mut call = match Call::new(message, era) {
            Ok(call) => call,
            Err(error) => return Answer::error(200, id, &error),
        };
        call.token = token.map(str::to_owned);
        self.sabotage.request(self, &mut call, channel);
        let mut outcome = methods::dispatch(self, &call);
        self.sabotage.outcome(self, &call, channel, &mut outcome);
        if era == Era::Legacy && call.method == "initialize" && channel == Channel::Stdio {
            self.initialized.store(true, Ordering::Relaxed);
        }
        let status = status(era, &outcome);
        let envelope = match outcome {
            Ok(result) => message::result(id, result),
            Err(error) => error.envelope(id),
        };
        self.sabotage.wire(self, &call, channel, status, envelope)
    }

    /// What the sender of a call may see.
    pub(crate) fn view(&self, call: &Call) -> &Catalog {
        let own = |(token, _): &&(Option<String>, Catalog)| token.is_none() || *token == call.token;
        let view = self.views.iter().find(own);
        view.map_or(&self.catalog, |(_, catalog)| catalog)
    }

    /// What everybody may see.
    pub(crate) fn public(&self) -> &Catalog {
        self.views
            .last()
            .map_or(&self.catalog, |(_, catalog)| catalog)
    }

    /// Answers something that is not a message.
    pub(crate) fn refuse(&self, status: u16, id: &Value, error: &RpcError) -> Answer {
        let answer = Answer::error(status, id, error);
        let answer = self.sabotage.malformed(answer, error);
        if answer.then != Then::GoOn {
            *self.lock() = answer.then;
        }
        answer
    }

    /// Whether the server has exited or fallen silent (a fault).
    pub(crate) fn gone(&self) -> Then {
        *self.lock()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Then> {
        self.gone
            .lock()
            .unwrap_or_else(|poison| poison.into_inner())
    }
}

/// A catalog for each token, and one for who has none.
fn views(
    tree: &Tree,
    private: &[(String, String)],
) -> Result<Vec<(Option<String>, Catalog)>, StartError> {
    if let Some((path, _)) = private
        .iter()
        .find(|(path, _)| !tree.skills.iter().any(|skill| skill.path == *path))
    {
        return Err(StartError::NoSuchSkill(path.clone()));
    }
    let mut tokens: Vec<Option<String>> = private
        .iter()
        .map(|(_, token)| Some(token.clone()))
        .collect();
    tokens.sort();
    tokens.dedup();
    if !private.is_empty() {
        tokens.push(None);
    }
    let view = |token: Option<String>| {
        let hidden: Vec<&str> = private
            .iter()
            .filter(|(path, key)| {
                Some(key) != token.as_ref()
                    && !private
                        .iter()
                        .any(|(same, other)| same == path && Some(other) == token.as_ref())
            })
            .map(|(path, _)| path.as_str())
            .collect();
        let catalog = Catalog::new(&tree.without(&hidden));
        (token, catalog)
    };
    Ok(tokens.into_iter().map(view).collect())
}

/// The metadata every modern request has to carry.
fn check_metadata(message: &Message) -> Result<(), RpcError> {
    let Some(Value::String(version)) = message.version() else {
        return Err(RpcError::invalid_params(format!(
            "params._meta has no string {VERSION_KEY}"
        )));
    };
    if version != MODERN {
        return Err(unsupported(version));
    }
    match message.meta().and_then(|meta| meta.get(CAPABILITIES_KEY)) {
        Some(Value::Object(_)) => Ok(()),
        _ => Err(RpcError::invalid_params(format!(
            "params._meta has no object {CAPABILITIES_KEY}"
        ))),
    }
}

/// The error for a protocol version this server does not speak.
pub(crate) fn unsupported(version: &str) -> RpcError {
    let shown = crate::uri::show(version);
    RpcError::new(-32022, format!("unsupported protocol version {shown}"))
        .with_data(json!({"supported": [MODERN, LEGACY], "requested": version}))
}

/// The HTTP status that goes with an outcome.
fn status(era: Era, outcome: &Outcome) -> u16 {
    match outcome {
        Err(error) if era == Era::Modern => match error.code {
            -32601 => 404,
            -32021 => 400,
            _ => 200,
        },
        _ => 200,
    }
}
