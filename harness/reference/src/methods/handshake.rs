//! `initialize` and `server/discover`: what the server says about itself.

use serde_json::{Value, json};

use crate::message::{LEGACY, MODERN};
use crate::server::Server;

/// Identifier of the extension.
pub(crate) const EXTENSION: &str = "io.modelcontextprotocol/skills";

pub(super) fn initialize(server: &Server) -> Value {
    // Whatever version the client asked for: this is the only one that starts
    // with a handshake here, and the client decides whether it can go on.
    json!({
        "protocolVersion": LEGACY,
        "capabilities": capabilities(server),
        "serverInfo": server_info(),
        "instructions": instructions(server),
    })
}

pub(super) fn discover(server: &Server) -> Value {
    json!({
        "supportedVersions": [MODERN, LEGACY],
        "capabilities": capabilities(server),
        "instructions": instructions(server),
    })
}

/// Name and version of this software.
pub(super) fn server_info() -> Value {
    json!({"name": "sep2640-reference", "version": env!("CARGO_PKG_VERSION")})
}

fn capabilities(server: &Server) -> Value {
    let settings = if server.options.directory_read {
        json!({"directoryRead": true})
    } else {
        json!({})
    };
    let mut capabilities = json!({"resources": {}, "extensions": {EXTENSION: settings}});
    server.sabotage.capabilities(&mut capabilities);
    capabilities
}

fn instructions(server: &Server) -> String {
    let mut text = "This server serves agent skills; skills/list names them.".to_owned();
    for skill in server.public().unlisted() {
        text.push_str(&format!(
            " One more skill, which no listing shows, is at {}.",
            skill.uri
        ));
    }
    text
}
