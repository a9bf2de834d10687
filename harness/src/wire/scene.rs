//! What went between a host, its adapter and the servers of one scenario.
//!
//! The frames of all channels stand in one order, so that "before the approval" and "while the
//! skill was loaded" are comparisons of frame numbers.

use bytes::Bytes;
use serde_json::Value;

use super::content::Content;
use super::frame::Direction;
use super::{Revision, Transport};

/// One message on one of the channels of a scene.
#[derive(Debug, Clone)]
pub struct Crossing {
    /// Microseconds since the run began.
    pub t_us: u64,
    /// `adapter`, or the label of a server.
    pub channel: String,
    /// Who sent it, seen from the harness.
    pub direction: Direction,
    /// The bytes, or the beginning of them.
    pub raw: Bytes,
    /// How many bytes there were.
    pub len: usize,
}

/// What came of a call to the adapter.
#[derive(Debug, Clone, PartialEq)]
pub enum Reply {
    /// A result.
    Result(Value),
    /// The adapter does not implement the verb.
    Unimplemented,
    /// An error: the adapter is in trouble, or the host could not connect.
    Error(String),
    /// No answer in time.
    TimedOut,
    /// The adapter went away.
    Lost,
}

/// A call to the adapter.
#[derive(Debug, Clone)]
pub struct Ask {
    /// The verb.
    pub verb: String,
    /// Its parameters.
    pub params: Value,
    /// The name that the scenario gave to the step.
    pub name: Option<String>,
    /// What came of it.
    pub reply: Reply,
    /// Number of the frame that called, from 1.
    pub from: usize,
    /// Number of the last frame before anything else was asked.
    pub to: usize,
}

/// The user was asked.
#[derive(Debug, Clone)]
pub struct Consent {
    /// Number of the frame that asked.
    pub at: usize,
    /// The parameters of `approve`.
    pub params: Value,
    /// Whether the user agreed.
    pub allowed: bool,
    /// Whether the answer was to be kept.
    pub remember: bool,
}

/// What a server answered to a request of the host.
#[derive(Debug, Clone)]
pub struct Served {
    /// Number of the frame with the request.
    pub at: usize,
    /// Number of the frame with the answer; the request's where there was none.
    pub to: usize,
    /// Label of the server.
    pub server: String,
    /// The method.
    pub method: String,
    /// The parameters, without `_meta`.
    pub params: Value,
    /// The result, file bodies cut; none for an error or where nothing was answered.
    pub result: Option<Value>,
    /// The error code, if it was an error.
    pub error: Option<i64>,
    /// The files that the result holds, folded.
    pub contents: Vec<Content>,
}

/// Something that no host may reach was reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Touched {
    /// How many frames there were before it was seen.
    pub at: usize,
    /// What was reached.
    pub what: Bait,
}

/// What no host may reach.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bait {
    /// A TCP connection to an address that only skill URIs name.
    Connection,
    /// A connection to the web address under which a skill has its URIs.
    Http,
    /// A command ran; its name in the scenario.
    Command(String),
}

/// The host's cache files as they stood on disk when the adapter named them.
#[derive(Debug, Clone)]
pub struct CacheLook {
    /// How many frames there were then.
    pub at: usize,
    /// One for each file that exists.
    pub files: Vec<CachedFile>,
}

/// One cached file on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CachedFile {
    /// The path that the adapter gave.
    pub path: String,
    /// SHA-256 in the form that manifests use.
    pub digest: String,
    /// Identifies the file, whatever it holds, where the file system tells when it was made: inodes
    /// are used again.
    pub identity: Option<String>,
    /// Whether other users may write to it or to a directory on its path below the state directory.
    pub writable_by_others: bool,
}

/// Everything that a host check may look at: one scenario, played once.
#[derive(Debug, Clone)]
pub struct Scene {
    /// The scenario.
    pub scenario: String,
    /// The checks that the scenario gives something to judge.
    pub exercises: Vec<String>,
    /// Its name in the official suite, where a driver made for that ran the host: there was no adapter.
    pub official: Option<String>,
    /// The revision that the servers spoke.
    pub revision: Revision,
    /// What carried the messages between host and servers.
    pub transport: Transport,
    /// Number of the first frame less one: frames are numbered through the whole run.
    pub base: usize,
    /// All frames.
    pub frames: Vec<Crossing>,
    /// Calls to the adapter, in order.
    pub asks: Vec<Ask>,
    /// Questions to the user, in order.
    pub consents: Vec<Consent>,
    /// Requests to servers, in order.
    pub served: Vec<Served>,
    /// What was reached that should not be.
    pub touched: Vec<Touched>,
    /// Looks at the cache on disk.
    pub cache: Vec<CacheLook>,
    /// Bodies that the cache was tampered with: how many frames there were, path and new digest.
    pub tampered: Vec<Tampered>,
}

/// A cached file was changed behind the host's back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tampered {
    /// How many frames there were before.
    pub at: usize,
    /// Label of the server that the file came from.
    pub server: String,
    /// The file's URI.
    pub uri: String,
    /// The token that the changed file holds.
    pub token: String,
}
