//! The reference host: it speaks the adapter protocol to whoever plays the
//! user and the model, and MCP to servers. Without a fault it keeps every duty
//! that the extension lays on hosts and clients.

mod adapter;
pub(crate) mod address;
mod approvals;
mod cache;
mod client;
mod connect;
mod context;
mod directory;
mod entry;
mod exec;
mod faults;
mod fetch;
mod frontmatter;
mod http;
mod limits;
mod load;
mod local;
mod names;
mod outcome;
mod read;
mod resolve;
mod server;
mod state;
mod stdio;
mod user;
mod views;

use std::io;

use tokio::io::{AsyncBufRead, AsyncWrite, BufReader};

use crate::options::StartError;

pub use faults::host_faults;

/// Settings of a reference host.
#[derive(Debug, Clone, Default)]
pub struct HostOptions {
    /// Id of the fault to switch on (see [`host_faults`]).
    pub fault: Option<String>,
}

impl HostOptions {
    /// Says what is wrong with the settings, before anything is served.
    pub fn check(&self) -> Result<(), StartError> {
        faults::Switch::new(self.fault.as_deref()).map(|_| ())
    }
}

/// Serves the adapter protocol until the input ends.
///
/// A fault that does not exist is an error of kind `InvalidInput`; see
/// [`HostOptions::check`].
pub async fn serve_host(
    options: HostOptions,
    input: impl AsyncBufRead + Unpin + Send + 'static,
    output: impl AsyncWrite + Unpin + Send + 'static,
) -> io::Result<()> {
    let fault = faults::Switch::new(options.fault.as_deref())
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
    adapter::serve(user::User::new(Box::new(input), Box::new(output)), fault).await
}

/// Serves the adapter protocol on standard input and output.
pub async fn serve_host_stdio(options: HostOptions) -> io::Result<()> {
    serve_host(
        options,
        BufReader::new(tokio::io::stdin()),
        tokio::io::stdout(),
    )
    .await
}
