//! What no server has, and bytes that are no request.

/// Whether a text is a URI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// It is: of a resource that does not exist.
    Valid,
    /// It is none, or longer than some take, or none that every reader takes for one.
    Malformed,
}

/// URIs of what no server has; `{pad}` is something long, and counts as malformed.
const ABSENT: &[(Form, &str)] = &[
    (Form::Valid, "skill://no-such-skill-8d1f/{file}"),
    (Form::Malformed, "skill://no-such-skill-8d1f%00/{file}"),
    (Form::Malformed, "skill://no-such-skill-8d1f\0/{file}"),
    (Form::Malformed, "skill://no-such-skill-8d1f%zz/{file}"),
    (Form::Malformed, "skill://no-such-skill-8d1f/{pad}/{file}"),
    (
        Form::Valid,
        "skill://no-such-skill-8d1f/../../../../etc/passwd",
    ),
    (
        Form::Valid,
        "skill://no-such-skill-8d1f/%2e%2e/%2e%2e/{file}",
    ),
    (Form::Valid, "file:///etc/passwd"),
    (Form::Valid, "file:///etc/{file}"),
    (Form::Malformed, ""),
    (Form::Malformed, "/"),
    (Form::Malformed, "/etc/passwd"),
    (Form::Malformed, "{file}"),
    (Form::Malformed, "skill:"),
    (Form::Malformed, "skill://"),
    (Form::Malformed, "skill:///"),
    (Form::Malformed, "://"),
    (Form::Valid, "no-such-scheme-8d1f://a/{file}"),
    (Form::Valid, "skill://no-such-skill-8d1f/{file}?a=b"),
    (Form::Valid, "skill://no-such-skill-8d1f/{file}#top"),
    (
        Form::Malformed,
        "skill://user:secret@no-such-skill-8d1f:99999/{file}",
    ),
    (Form::Valid, "skill://[::1]/no-such-skill-8d1f/{file}"),
    (Form::Malformed, "skill://no-such-skill-8d1f/\u{202e}{file}"),
    (Form::Malformed, "skill://no-such-skill-8d1f/\u{feff}{file}"),
    (Form::Malformed, "skill://no-such-skill-8d1f/😀/{file}"),
    (Form::Valid, "http://127.0.0.1:1/no-such-skill-8d1f/{file}"),
    (
        Form::Malformed,
        "skill://no-such-skill-8d1f/{file}\r\nX-Injected: 1",
    ),
    (
        Form::Malformed,
        "skill://no-such-skill-8d1f/'; DROP TABLE skills; --/{file}",
    ),
    (
        Form::Malformed,
        "skill://no-such-skill-8d1f/${jndi:ldap://x}/{file}",
    ),
    (Form::Malformed, "skill://{pad}{pad}{pad}{pad}/{file}"),
    (
        Form::Malformed,
        "skill://no-such-skill-8d1f\\..\\..\\{file}",
    ),
    (Form::Valid, "data:text/plain,no-such-skill-8d1f"),
    (Form::Valid, "urn:no-such-skill-8d1f"),
    (Form::Valid, "skill://no-such-skill-8d1f//{file}"),
    (Form::Valid, "skill://no-such-skill-8d1f/./{file}"),
];

/// A URI of something that no server has, its shape, and whether it is one.
pub(super) fn absent(shape: u8, pad: u8, file: &str) -> (String, &'static str, Form) {
    let (form, shape) = ABSENT[usize::from(shape) % ABSENT.len()];
    let long = "a".repeat(usize::from(pad) * 64);
    let text = shape.replace("{file}", file).replace("{pad}", &long);
    (text, shape, form)
}

/// Bytes that are no request.
pub(super) const RAW: &[&str] = &[
    "{",
    "]",
    "null",
    "\"text\"",
    "[]",
    "{}",
    "{\"jsonrpc\":\"2.0\"}",
    "\u{0}",
    "{\"jsonrpc\":\"2.0\",\"id\":",
    "{\"jsonrpc\":\"1.0\",\"method\":\"skills/list\"}",
    "[[[[[[[[[[",
    "{\"a\":\"\\ud800\"}",
    "1e999",
    "{\"jsonrpc\":\"2.0\",\"method\":7}",
    "{\"jsonrpc\":\"2.0\",\"method\":\"skills/get\",\"params\":[]}",
    "GET / HTTP/1.1",
    "\u{feff}{}",
    "{\"jsonrpc\":\"2.0\",\"result\":{}}",
];
