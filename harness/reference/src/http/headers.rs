//! The request headers that repeat what the body says, and `Origin`.

use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::message::{Message, RpcError};
use crate::uri::show;

pub(super) const VERSION: &str = "mcp-protocol-version";
pub(super) const SESSION: &str = "mcp-session-id";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// A header's value, if it has one in plain ASCII.
pub(super) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok()
}

/// The bearer token of a request, if it has one.
pub(super) fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Whether the request may come from where it says it comes from: pages of
/// other hosts must not reach a local server.
pub(super) fn origin_allowed(headers: &HeaderMap) -> bool {
    let Some(origin) = headers.get(header::ORIGIN) else {
        return true;
    };
    let host = origin
        .to_str()
        .ok()
        .and_then(|origin| origin.split_once("://"))
        .map(|(_, rest)| match rest.rsplit_once(':') {
            Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
            _ => rest,
        });
    matches!(host, Some("localhost" | "127.0.0.1" | "[::1]"))
}

/// Holds the headers of a modern request against its body.
pub(super) fn check(headers: &HeaderMap, message: &Message) -> Result<(), RpcError> {
    if let Some(Value::String(version)) = message.version() {
        // A missing version in the body is an error of the body, not of the header.
        same("MCP-Protocol-Version", text(headers, VERSION), version)?;
    }
    same("Mcp-Method", text(headers, METHOD), &message.method)?;
    let uri = message.params.as_ref().and_then(|params| params.get("uri"));
    let Some(Value::String(uri)) = uri else {
        return Ok(());
    };
    let required = match message.method.as_str() {
        "resources/read" => true,
        "skills/get" | "resources/directory/read" => false,
        _ => return Ok(()),
    };
    if !required && !headers.contains_key(NAME) {
        return Ok(());
    }
    let name = text(headers, NAME).map(decode).transpose()?;
    same("Mcp-Name", name.as_deref(), uri)
}

fn same(header: &str, value: Option<&str>, expected: &str) -> Result<(), RpcError> {
    match value {
        Some(value) if value == expected => Ok(()),
        Some(value) => Err(mismatch(format!(
            "the {header} header says {}, the body says {}",
            show(value),
            show(expected)
        ))),
        None => Err(mismatch(format!(
            "the {header} header is missing or not plain ASCII"
        ))),
    }
}

/// Values that a header cannot hold as they are come as `=?base64?…?=`.
fn decode(value: &str) -> Result<String, RpcError> {
    let encoded = value
        .strip_prefix("=?base64?")
        .and_then(|rest| rest.strip_suffix("?="));
    let Some(encoded) = encoded else {
        return Ok(value.to_owned());
    };
    STANDARD
        .decode(encoded)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| mismatch("the Mcp-Name header is not valid base64 of UTF-8".to_owned()))
}

fn mismatch(text: String) -> RpcError {
    RpcError::new(-32020, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Parsed;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()))
            .collect()
    }

    fn read(uri: &str) -> Message {
        let body = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {
            "uri": uri, "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}});
        match Message::parse(body.to_string().as_bytes()) {
            Parsed::Message(message) => message,
            _ => panic!("not a message"),
        }
    }

    #[test]
    fn headers_must_repeat_the_body() {
        let version = ("mcp-protocol-version", "2026-07-28");
        let method = ("mcp-method", "resources/read");
        let good = headers(&[version, method, ("mcp-name", "skill://é")]);
        assert!(
            check(&good, &read("skill://é")).is_err(),
            "raw UTF-8 is not ASCII"
        );
        let good = headers(&[version, method, ("mcp-name", "=?base64?c2tpbGw6Ly/DqQ==?=")]);
        assert_eq!(check(&good, &read("skill://é")), Ok(()));
        assert_eq!(check(&good, &read("skill://e")).unwrap_err().code, -32020);
        assert!(check(&headers(&[version, method]), &read("a")).is_err());
        assert!(check(&headers(&[method, ("mcp-name", "a")]), &read("a")).is_err());
        assert!(check(&headers(&[version, ("mcp-name", "a")]), &read("a")).is_err());
    }

    #[test]
    fn only_local_origins_pass() {
        for (origin, allowed) in [
            ("http://localhost:3000", true),
            ("http://127.0.0.1", true),
            ("http://[::1]:8080", true),
            ("http://[::1]", true),
            ("https://example.com", false),
            ("http://localhost.example.com", false),
            ("null", false),
        ] {
            assert_eq!(
                origin_allowed(&headers(&[("origin", origin)])),
                allowed,
                "{origin}"
            );
        }
        assert!(origin_allowed(&HeaderMap::new()));
    }
}
