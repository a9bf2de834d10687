//! What a URI is to the server, so that a fault can wait for its occasion.

use crate::catalog::{Catalog, README, Skill};

/// What a URI stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The `SKILL.md` of a skill.
    Skill,
    /// Another file of a skill.
    File,
    /// A directory.
    Directory,
    /// A resource that is no skill's.
    Plain,
    /// A `..` segment, raw or encoded.
    Traversal,
    /// Something no sane client sends: broken escapes, control characters,
    /// tens of kilobytes.
    Hostile,
    /// Another spelling of something that is served.
    Variant,
    /// Nothing the server knows.
    Unknown,
}

impl Kind {
    pub fn of(catalog: &Catalog, uri: &str) -> Kind {
        if catalog.skill(uri).is_some() {
            Kind::Skill
        } else if uri == README {
            Kind::Plain
        } else if catalog.files.contains_key(uri) {
            Kind::File
        } else if catalog.directories.contains_key(uri) {
            Kind::Directory
        } else if dot_dot(&decoded_dots(uri)) {
            Kind::Traversal
        } else if hostile(uri) {
            Kind::Hostile
        } else if variant_of(catalog, uri).is_some() || served_elsewhere(catalog, uri) {
            Kind::Variant
        } else {
            Kind::Unknown
        }
    }
}

/// Whether a URI lies in a directory of a skill that is not the skill's own.
pub(super) fn is_deep(catalog: &Catalog, uri: &str) -> bool {
    let parent = uri.rsplit_once('/').map_or("", |(parent, _)| parent);
    catalog.directories.contains_key(parent)
        && catalog
            .skills
            .iter()
            .any(|skill| uri.starts_with(&skill.root))
        && !catalog.skills.iter().any(|skill| skill.root == parent)
}

/// The skill that this is another spelling of: other case, a trailing slash,
/// dot segments, encoded letters.
pub(super) fn variant_of<'a>(catalog: &'a Catalog, uri: &str) -> Option<&'a Skill> {
    if catalog.skill(uri).is_some() {
        return None;
    }
    let plain = plain(uri);
    catalog
        .skills
        .iter()
        .find(|skill| self::plain(&skill.uri) == plain)
}

/// The same for other files and for directories.
fn served_elsewhere(catalog: &Catalog, uri: &str) -> bool {
    let wanted = plain(uri);
    let mut known = catalog.files.keys().chain(catalog.directories.keys());
    known.any(|known| plain(known) == wanted)
}

/// A form in which all spellings of a URI agree.
fn plain(uri: &str) -> String {
    let decoded = percent_encoding::percent_decode_str(uri).decode_utf8_lossy();
    let lower = decoded.to_lowercase();
    normalise(lower.trim_end_matches('/'))
}

/// The URI without dot segments. The first segment counts as one like any
/// other, as it does for a client that takes the whole for a path.
pub(super) fn normalise(uri: &str) -> String {
    let (scheme, rest) = uri.split_once("://").unwrap_or(("", uri));
    let mut segments: Vec<&str> = Vec::new();
    for segment in rest.split('/') {
        match segment {
            "." => {}
            ".." => {
                segments.pop();
            }
            _ => segments.push(segment),
        }
    }
    format!("{scheme}://{}", segments.join("/"))
}

/// Whether a segment is `..`.
pub(super) fn dot_dot(uri: &str) -> bool {
    uri.split(['/', '\\']).any(|segment| segment == "..")
}

/// Encoded dots and separators written out.
pub(super) fn decoded_dots(uri: &str) -> String {
    let mut text = uri.to_owned();
    for (encoded, plain) in [
        ("%2e", "."),
        ("%2E", "."),
        ("%2f", "/"),
        ("%2F", "/"),
        ("%5c", "\\"),
        ("%5C", "\\"),
    ] {
        text = text.replace(encoded, plain);
    }
    text
}

/// Whether every `%` starts an escape.
pub(super) fn broken_escape(uri: &str) -> bool {
    uri.split('%').skip(1).any(|rest| {
        let digits = rest.as_bytes().get(..2);
        !digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    })
}

fn hostile(uri: &str) -> bool {
    broken_escape(uri) || uri.contains("%00") || uri.contains(char::is_control) || uri.len() > 4096
}
