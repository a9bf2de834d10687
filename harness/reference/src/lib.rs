//! Reference server and reference host for SEP-2640 (the Skills extension of
//! the Model Context Protocol), with named, switchable faults.
//!
//! Without a fault both are meant to be beyond reproach: they are the targets
//! a conformance suite must be silent about. With one fault switched on they
//! break one rule and, as far as that can be done, only that one, so that the
//! suite can show that it notices.
//!
//! Both speak revision 2026-07-28 (per-request metadata) and revision
//! 2025-11-25 (`initialize` handshake), over stdio and over Streamable HTTP.

mod builtin;
mod catalog;
mod faults;
mod frontmatter;
mod generated;
mod host;
mod http;
mod load;
mod message;
mod methods;
mod mime;
mod options;
mod paging;
mod server;
mod stdio;
mod tree;
mod uri;
mod verifier;

pub use builtin::UNLISTED_SKILL;
pub use faults::{Fault, faults};
pub use host::{HostOptions, host_faults, serve_host, serve_host_stdio};
pub use http::serve_http;
pub use message::{Answer, Channel, Then};
pub use options::{Generate, Options, StartError};
pub use server::Server;
pub use stdio::serve_stdio;
pub use verifier::{Verifier, VerifierOptions, serve_verifier_stdio, verifier_faults};
