//! The components of a URI in normal form, RFC 3986 section 6.2.2.

use fluent_uri::Uri;

/// The components of a valid URI, each in normal form.
pub(super) struct Parts {
    pub(super) scheme: String,
    pub(super) authority: Option<String>,
    pub(super) path: String,
    pub(super) query: Option<String>,
    pub(super) fragment: Option<String>,
    /// A `..` had nothing left to remove.
    pub(super) underflow: bool,
}

impl Parts {
    pub(super) fn of(uri: &str) -> Option<Self> {
        Uri::parse(uri).ok().map(Self::of_parsed)
    }

    pub(super) fn of_parsed(uri: Uri<&str>) -> Self {
        let authority = uri.authority().map(|authority| {
            let mut text = String::new();
            if let Some(user) = authority.userinfo() {
                text.push_str(&escapes(user.as_str(), false));
                text.push('@');
            }
            text.push_str(&escapes(authority.host(), true));
            if let Some(port) = authority.port() {
                text.push(':');
                text.push_str(port.as_str());
            }
            text
        });
        let (mut path, underflow) = without_dots(&escapes(uri.path().as_str(), false));
        if authority.is_none() && path.starts_with("//") {
            // Else the path would be taken for an authority.
            path.insert_str(0, "/.");
        }
        Self {
            scheme: uri.scheme().as_str().to_ascii_lowercase(),
            authority,
            path,
            query: uri.query().map(|query| escapes(query.as_str(), false)),
            fragment: uri.fragment().map(|part| escapes(part.as_str(), false)),
            underflow,
        }
    }

    pub(super) fn to_uri(&self) -> String {
        let mut text = format!("{}:", self.scheme);
        if let Some(authority) = &self.authority {
            text.push_str("//");
            text.push_str(authority);
        }
        text.push_str(&self.path);
        if let Some(query) = &self.query {
            text.push('?');
            text.push_str(query);
        }
        if let Some(fragment) = &self.fragment {
            text.push('#');
            text.push_str(fragment);
        }
        text
    }
}

/// Percent-escapes in normal form and, for a host, letters in lower case.
fn escapes(text: &str, lower: bool) -> String {
    let case = |c: char| if lower { c.to_ascii_lowercase() } else { c };
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('%') {
        out.extend(rest[..at].chars().map(case));
        let code = rest.get(at + 1..at + 3);
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(byte) if is_unreserved(byte) => out.push(case(char::from(byte))),
            Some(byte) => out.push_str(&format!("%{byte:02X}")),
            None => out.push('%'),
        }
        rest = rest.get(at + 3..).unwrap_or("");
    }
    out.extend(rest.chars().map(case));
    out
}

/// A path without its dot segments, and whether a `..` had nothing left to remove.
fn without_dots(path: &str) -> (String, bool) {
    if path.is_empty() {
        return (String::new(), false);
    }
    let (front, rest) = match path.strip_prefix('/') {
        Some(rest) => ("/", rest),
        None => ("", path),
    };
    let mut kept: Vec<&str> = Vec::new();
    let mut underflow = false;
    let mut segments = rest.split('/').peekable();
    while let Some(segment) = segments.next() {
        match segment {
            "." => {}
            ".." => underflow |= kept.pop().is_none(),
            _ => {
                kept.push(segment);
                continue;
            }
        }
        if segments.peek().is_none() {
            // A dot segment names a directory: what it leaves behind ends in a slash.
            kept.push("");
        }
    }
    (format!("{front}{}", kept.join("/")), underflow)
}

pub(super) fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// `.` or `..`, in plain or in escaped spelling.
pub(super) fn is_dot_segment(segment: &str) -> bool {
    [".", "..", "%2e", ".%2e", "%2e.", "%2e%2e"]
        .iter()
        .any(|dots| segment.eq_ignore_ascii_case(dots))
}
