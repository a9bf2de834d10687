//! What a URI says: where a skill's directory is, what lies within it, and
//! where a relative reference leads.

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

/// What may not stand in a path as it is.
const ILLEGAL: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'<')
    .add(b'>')
    .add(b'\\')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

/// The directory of a skill, given the URI of its SKILL.md.
pub(super) fn root(skill_md: &str) -> Option<&str> {
    skill_md.strip_suffix("/SKILL.md")
}

/// The directory that a URI lies in.
pub(super) fn directory(uri: &str) -> &str {
    uri.rsplit_once('/').map_or(uri, |(directory, _)| directory)
}

/// The last segment, decoded.
pub(super) fn last_segment(uri: &str) -> String {
    let last = uri.rsplit('/').next().unwrap_or(uri);
    percent_decode_str(last).decode_utf8_lossy().into_owned()
}

/// The scheme, in lower case.
pub(super) fn scheme(uri: &str) -> Option<String> {
    let (scheme, _) = uri.split_once(':')?;
    let mut bytes = scheme.bytes();
    let well_formed = bytes.next().is_some_and(|b| b.is_ascii_alphabetic())
        && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    well_formed.then(|| scheme.to_ascii_lowercase())
}

/// The URI in a form in which equivalent URIs are equal: scheme and authority
/// in lower case, escapes of ordinary characters resolved, dot segments removed.
pub(crate) fn normal(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else {
        return unescape(uri);
    };
    let mut segments = rest.split('/');
    let authority = segments.next().unwrap_or("").to_ascii_lowercase();
    let mut kept: Vec<String> = Vec::new();
    for segment in segments {
        match unescape(segment).as_str() {
            "." => {}
            ".." => {
                kept.pop();
            }
            other => kept.push(other.to_owned()),
        }
    }
    let mut text = format!("{}://{}", scheme.to_ascii_lowercase(), unescape(&authority));
    for segment in kept {
        text.push('/');
        text.push_str(&segment);
    }
    text
}

/// Resolves the escapes of unreserved characters and writes others alike.
fn unescape(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let escape = bytes
            .get(at + 1..at + 3)
            .filter(|_| bytes[at] == b'%')
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escape {
            Some(byte) if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) => {
                out.push(byte);
                at += 3;
            }
            Some(byte) => {
                out.extend_from_slice(format!("%{byte:02X}").as_bytes());
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Whether the URI lies in the directory, however it is spelled. A URI that
/// starts out within and climbs out again counts as within, so that it is
/// held against the manifest.
pub(crate) fn within(root: &str, uri: &str) -> bool {
    let inside = |root: &str, uri: &str| {
        uri.strip_prefix(root)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']))
    };
    inside(root, uri) || inside(&normal(root), &normal(uri))
}

/// Whether the URI is one that a file can have: without query, fragment, and
/// segments that mean something else than a name.
pub(crate) fn plain(uri: &str) -> bool {
    let path = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    !uri.contains(['?', '#', '\\'])
        && !uri.contains(|character: char| character.is_control() || character.is_whitespace())
        && path
            .split('/')
            .all(|segment| !matches!(unescape(segment).as_str(), "" | "." | ".."))
}

/// The URI that a reference leads to from a directory, or nothing when it
/// leads nowhere. What a link says after `#` is a place within the file.
pub(super) fn resolve(directory: &str, reference: &str) -> Option<String> {
    if scheme(reference).is_some() {
        return Some(reference.to_owned());
    }
    let reference = reference.split('#').next().unwrap_or("");
    if reference.is_empty() || reference.starts_with("//") {
        return None;
    }
    let (start, rest) = directory.split_once("://")?;
    let mut segments: Vec<String> = rest.split('/').map(str::to_owned).collect();
    if reference.starts_with('/') {
        segments.truncate(1);
    }
    for segment in reference.trim_start_matches('/').split('/') {
        match segment {
            "" | "." => {}
            ".." if segments.len() > 1 => {
                segments.pop();
            }
            ".." => {}
            name => segments.push(encode(name)),
        }
    }
    Some(format!("{start}://{}", segments.join("/")))
}

/// A segment as written in a text, with what a URI cannot carry encoded.
fn encode(segment: &str) -> String {
    let mut text = String::new();
    for (at, part) in segment.split('%').enumerate() {
        if at > 0 {
            let escape = part.len() >= 2
                && part.is_char_boundary(2)
                && part[..2].bytes().all(|byte| byte.is_ascii_hexdigit());
            text.push_str(if escape { "%" } else { "%25" });
        }
        text.extend(utf8_percent_encode(part, ILLEGAL));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_resolve_against_the_directory() {
        let root = "skill://acme/billing/refunds";
        for (reference, target) in [
            (
                "examples/email.md",
                "skill://acme/billing/refunds/examples/email.md",
            ),
            ("./a/../b.md#top", "skill://acme/billing/refunds/b.md"),
            ("../x.md", "skill://acme/billing/x.md"),
            ("../../../../x.md", "skill://acme/x.md"),
            ("/x.md", "skill://acme/x.md"),
            (
                "a b é 5%.md",
                "skill://acme/billing/refunds/a%20b%20%C3%A9%205%25.md",
            ),
            ("a%20b.md", "skill://acme/billing/refunds/a%20b.md"),
            ("https://x/y", "https://x/y"),
        ] {
            assert_eq!(
                resolve(root, reference).as_deref(),
                Some(target),
                "{reference}"
            );
        }
        assert_eq!(resolve(root, "//host/x"), None);
        assert_eq!(resolve(root, "#top"), None);
    }

    #[test]
    fn nothing_within_escapes_notice() {
        let root = "skill://acme/refunds";
        for uri in [
            "skill://acme/refunds/a",
            "skill://acme/refunds/../x",
            "skill://acme/refunds/%2e%2e/x",
            "skill://acme/x/../refunds/a",
            "SKILL://ACME/%72efunds/a",
            "skill://acme/refunds?x",
        ] {
            assert!(within(root, uri), "{uri}");
        }
        assert!(!within(root, "skill://acme/refunds-2/a"));
        assert!(!within(root, "skill://acme/other/a"));
        assert!(plain("skill://acme/refunds/a%20b.md"));
        for uri in [
            "skill://a/../b",
            "skill://a/%2E/b",
            "skill://a//b",
            "skill://a/b?c",
            "skill://a/b#c",
        ] {
            assert!(!plain(uri), "{uri}");
        }
    }
}
