//! URIs of skills: validity, normal form, and what lies inside a skill.
//!
//! A skill is found at `scheme://PREFIX…/NAME/SKILL.md`. Its *root* is that URI without
//! `/SKILL.md`; the first segment after `//` is the authority of the URI, and where there is no
//! prefix the name itself stands there.

use std::borrow::Cow;

use fluent_uri::{ParseError, ParseErrorKind, Uri};
use percent_encoding::percent_decode_str;

mod parts;
mod plain;

use parts::{Parts, is_dot_segment, is_unreserved};

/// What an entry URI ends in, behind the root.
const ENTRY_SUFFIX: &str = "/SKILL.md";

/// Whether `uri` is an absolute RFC 3986 URI, that is, one with a scheme.
///
/// # Errors
///
/// Says where the URI goes wrong (byte offset) and with what character.
pub fn check(uri: &str) -> Result<(), String> {
    if plain::is_plain(uri) {
        return Ok(());
    }
    match Uri::parse(uri) {
        Ok(_) => Ok(()),
        Err(error) => Err(words(uri, error, 0)),
    }
}

/// What is wrong with the URI of a skill's file, by the part of the URI it is in.
///
/// The parts weigh differently: the name and what follows it must be right, while a server
/// is merely advised to keep its own prefix valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The first segment is no registered name (it may be one with a port or user information,
    /// or hold characters that no URI may hold there).
    pub first: Option<String>,
    /// A prefix segment behind the first one, and before the name, is no path segment.
    pub prefix: Option<String>,
    /// The URI is wrong from the name on, or has no scheme, or fewer segments than the root.
    pub name_on: Option<String>,
}

impl Faults {
    /// Whether there is no fault in any part.
    pub fn is_empty(&self) -> bool {
        self.first.is_none() && self.prefix.is_none() && self.name_on.is_none()
    }
}

/// Looks for faults in `uri`, the URI of a file of the skill at `root` (see [`skill_root`]).
///
/// The name is found by its place: it is the segment of `uri` at the place where `root` has
/// its last one. In `skill://NAME/…` it is also the first segment, and then a fault there
/// counts twice, as `first` and as `name_on`; something like `NAME:80`, a valid authority that
/// is no registered name, is a fault of `first` alone.
pub fn faults(uri: &str, root: &str) -> Faults {
    if uri.starts_with(root) && plain::is_plain(uri) {
        return Faults::default();
    }
    faults_of_any(uri, root)
}

/// The same, for URIs of any kind.
fn faults_of_any(uri: &str, root: &str) -> Faults {
    let mut faults = Faults::default();
    let (Some(start), Some(root_start)) = (authority_start(uri), authority_start(root)) else {
        faults.name_on = check(uri).err();
        return faults;
    };
    let name_place = root[root_start..].split('/').count() - 1;
    let mut at = start;
    let mut name_at = None;
    for (place, segment) in uri[start..].split('/').enumerate() {
        if place == 0 {
            faults.first = segment_fault(segment, at, Part::RegName);
        } else if place < name_place && faults.prefix.is_none() {
            faults.prefix = segment_fault(segment, at, Part::Segment);
        }
        if place == name_place {
            name_at = Some(at);
            break;
        }
        at += segment.len() + 1;
    }
    faults.name_on = match name_at {
        None => Some("has fewer segments than the skill's root".to_owned()),
        Some(at) if at == start => check(uri).err(),
        // A stand-in for the scheme and the prefix, which are judged on their own.
        Some(at) => {
            const FRONT: &str = "x://h/";
            let stand_in = format!("{FRONT}{}", &uri[at..]);
            match Uri::parse(stand_in.as_str()) {
                Ok(_) => scheme_fault(uri),
                Err(error) => Some(words(&stand_in, error, at as isize - FRONT.len() as isize)),
            }
        }
    };
    faults
}

/// The RFC 3986 normal form (section 6.2.2), or `None` for what is not a URI.
///
/// Scheme and host in lower case, percent-escapes in upper case or, where they hide an
/// unreserved character, resolved; dot segments removed, in plain and in escaped spelling.
/// An empty path stays empty, and nothing is done that only some schemes allow.
pub fn normalize(uri: &str) -> Option<Cow<'_, str>> {
    if plain::is_plain(uri) {
        return Some(Cow::Borrowed(uri));
    }
    Some(Cow::Owned(Parts::of(uri)?.to_uri()))
}

/// Whether both are URIs with the same normal form.
pub fn equivalent(a: &str, b: &str) -> bool {
    match (normalize(a), normalize(b)) {
        (Some(a), Some(b)) => a == b,
        _ => false,
    }
}

/// The root of the skill whose entry URI this is: the URI without its final `/SKILL.md`.
///
/// `None` when the URI does not end so (in this very spelling), or has no segment before it.
pub fn skill_root(entry_uri: &str) -> Option<&str> {
    let root = entry_uri.strip_suffix(ENTRY_SUFFIX)?;
    if root.contains(['?', '#']) || last_segment(root)?.is_empty() {
        return None;
    }
    Some(root)
}

/// The name of the skill whose entry URI this is: the last segment of its root, with
/// percent-escapes resolved. `None` without a root, or when the name is not UTF-8.
pub fn skill_name(entry_uri: &str) -> Option<String> {
    let segment = last_segment(skill_root(entry_uri)?)?;
    let name = percent_decode_str(segment).decode_utf8().ok()?;
    Some(name.into_owned())
}

/// Whether `uri` is a file inside the skill at `root`, after normalisation of both.
///
/// Dot segments are judged by where they lead; one that climbs above the top of the URI leads
/// outside, also where RFC 3986 would quietly drop it. Where the root itself is no valid URI
/// (its prefix need not be), a URI that starts with it letter by letter is judged by the rest.
///
/// # Errors
///
/// Says why `uri` is not inside.
pub fn within(root: &str, uri: &str) -> Result<(), String> {
    relative(root, uri).map(drop)
}

/// The directories that a file inside the skill implies, from the root down: for
/// `root/a/b/file` these are `root`, `root/a` and `root/a/b`.
///
/// Empty when the file is not inside. The spelling is that of `root` and of the file.
pub fn parent_dirs<'a>(root: &'a str, file_uri: &'a str) -> Vec<Cow<'a, str>> {
    let Ok(normal) = relative(root, file_uri) else {
        return Vec::new();
    };
    let mut dirs = vec![Cow::Borrowed(root)];
    match below(root, file_uri).filter(|rest| !rest.split('/').any(is_dot_segment)) {
        Some(spelled) => {
            let start = file_uri.len() - spelled.len();
            let ends = spelled.match_indices('/').map(|(at, _)| start + at);
            dirs.extend(ends.map(|end| Cow::Borrowed(&file_uri[..end])));
        }
        None => {
            let ends = normal.match_indices('/').map(|(at, _)| at);
            dirs.extend(ends.map(|end| Cow::Owned(format!("{root}/{}", &normal[..end]))));
        }
    }
    dirs
}

/// The one segment that `child` has more than `dir`, when it is a direct child of it.
///
/// One trailing slash is tolerated on either. A child whose own segment is a dot segment, or
/// that has a query or a fragment, is none.
pub fn child_segment<'a>(dir: &str, child: &'a str) -> Option<&'a str> {
    let dir = dir.strip_suffix('/').unwrap_or(dir);
    let child = child.strip_suffix('/').unwrap_or(child);
    let (parent, segment) = child.rsplit_once('/')?;
    let proper = !segment.is_empty() && !segment.contains(['?', '#']) && !is_dot_segment(segment);
    (proper && (parent == dir || equivalent(parent, dir))).then_some(segment)
}

/// The part of `uri` below `root`, in normal form.
fn relative<'a>(root: &str, uri: &'a str) -> Result<Cow<'a, str>, String> {
    match plain::relative(root, uri) {
        Some(rest) => Ok(Cow::Borrowed(rest)),
        None => relative_of_any(root, uri).map(Cow::Owned),
    }
}

/// The same, for URIs of any kind.
fn relative_of_any(root: &str, uri: &str) -> Result<String, String> {
    let Some(root_parts) = Parts::of(root) else {
        // A root of one segment, above which no `..` can climb unnoticed.
        const STAND_IN: &str = "x://h";
        return match below(root, uri) {
            Some(rest) => relative_of_any(STAND_IN, &format!("{STAND_IN}/{rest}")),
            None => Err("does not start with the skill's root".to_owned()),
        };
    };
    let parts = match Uri::parse(uri) {
        Ok(parsed) => Parts::of_parsed(parsed),
        Err(error) => return Err(format!("is not a URI: {}", words(uri, error, 0))),
    };
    if root_parts.query.is_some() || root_parts.fragment.is_some() {
        return Err("has a skill root with a query or a fragment".to_owned());
    }
    if parts.query.is_some() {
        return Err("has a query".to_owned());
    }
    if parts.fragment.is_some() {
        return Err("has a fragment".to_owned());
    }
    if parts.scheme != root_parts.scheme {
        return Err(format!(
            "has the scheme `{}`, the skill has `{}`",
            parts.scheme, root_parts.scheme
        ));
    }
    if parts.authority != root_parts.authority {
        return Err("begins with another first segment than the skill's root".to_owned());
    }
    if parts.underflow {
        return Err("climbs out with `..`".to_owned());
    }
    if parts.path == root_parts.path {
        return Err("is the root of the skill, not a file in it".to_owned());
    }
    let Some(rest) = below(&root_parts.path, &parts.path) else {
        return Err("leads outside the skill's root".to_owned());
    };
    if rest.is_empty() {
        return Err("is the root of the skill with a trailing slash, not a file in it".to_owned());
    }
    if rest.ends_with('/') {
        return Err("ends in a slash".to_owned());
    }
    if rest.split('/').any(str::is_empty) {
        return Err("has an empty segment".to_owned());
    }
    if climbs(rest) {
        return Err("climbs out with `..` behind an escaped separator".to_owned());
    }
    Ok(rest.to_owned())
}

/// What `uri` has behind `root` and a slash, letter by letter.
fn below<'a>(root: &str, uri: &'a str) -> Option<&'a str> {
    uri.strip_prefix(root)?.strip_prefix('/')
}

/// Whether a path leads above its start once escaped separators are taken for separators.
fn climbs(path: &str) -> bool {
    if !path.contains('%') {
        return false;
    }
    let decoded: Vec<u8> = percent_decode_str(path).collect();
    let mut depth = 0_usize;
    for segment in decoded.split(|byte| matches!(byte, b'/' | b'\\')) {
        match segment {
            b"" | b"." => {}
            b".." if depth == 0 => return true,
            b".." => depth -= 1,
            _ => depth += 1,
        }
    }
    false
}

/// Where the authority of `scheme://…` begins.
fn authority_start(uri: &str) -> Option<usize> {
    let colon = uri.find(':')?;
    (!uri[..colon].contains(['/', '?', '#']) && uri[colon..].starts_with("://"))
        .then_some(colon + 3)
}

/// The last segment of a root; `None` where the text ends before its first segment.
fn last_segment(root: &str) -> Option<&str> {
    let path = match authority_start(root) {
        Some(start) => &root[start..],
        None => {
            let (_, path) = root.split_once(':')?;
            // `scheme:/` is what is left of an authority that happens to be spelled `SKILL.md`.
            if path == "/" {
                return None;
            }
            path
        }
    };
    path.rsplit('/').next()
}

/// What kind of text a single segment has to be.
#[derive(Clone, Copy)]
enum Part {
    RegName,
    Segment,
}

/// The first fault of one segment that begins at byte `at` of its URI.
fn segment_fault(segment: &str, at: usize, part: Part) -> Option<String> {
    let mut skip = 0;
    for (offset, c) in segment.char_indices() {
        if skip > 0 {
            skip -= 1;
            continue;
        }
        let place = at + offset;
        if c == '%' {
            if !starts_with_escape(&segment[offset..]) {
                return Some(format!("has a stray `%` at byte {place}"));
            }
            skip = 2;
            continue;
        }
        let fits = u8::try_from(c).is_ok_and(|byte| {
            is_unreserved(byte)
                || b"!$&'()*+,;=".contains(&byte)
                || matches!(part, Part::Segment) && matches!(byte, b':' | b'@')
        });
        if !fits {
            let what = match part {
                Part::RegName => "a registered name, which the first segment should be",
                Part::Segment => "a path segment",
            };
            return Some(format!(
                "has {} at byte {place}, which cannot stand in {what}",
                shown(c)
            ));
        }
    }
    None
}

fn starts_with_escape(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 3 && bytes[0] == b'%' && bytes[1..3].iter().all(u8::is_ascii_hexdigit)
}

/// The fault of the scheme of a URI that has `://`.
fn scheme_fault(uri: &str) -> Option<String> {
    let scheme = uri.split(':').next().unwrap_or("");
    check(&format!("{scheme}:")).err()
}

/// A parse error in words; `shift` leads from its offset to the one people look for.
fn words(uri: &str, error: ParseError, shift: isize) -> String {
    let index = error.index();
    let place = index as isize + shift;
    let next = uri.get(index..).and_then(|rest| rest.chars().next());
    let in_scheme = !uri
        .get(..index)
        .is_some_and(|before| before.contains(':') && index > 0);
    match (error.kind(), next) {
        (ParseErrorKind::InvalidPctEncodedOctet, _) => {
            format!("has a stray `%` at byte {place}, no two hexadecimal digits follow it")
        }
        (ParseErrorKind::InvalidIpv6Addr, _) => {
            format!("has an invalid IPv6 address at byte {place}")
        }
        (ParseErrorKind::UnexpectedChar, None) if in_scheme => {
            "has no scheme: it ends before any `:`".to_owned()
        }
        (ParseErrorKind::UnexpectedChar, None) => "ends too early".to_owned(),
        (ParseErrorKind::UnexpectedChar, Some(c)) if in_scheme => format!(
            "has no scheme: {} at byte {place} cannot stand in one",
            shown(c)
        ),
        (ParseErrorKind::UnexpectedChar, Some(c)) => {
            format!("has {} at byte {place}, which cannot stand there", shown(c))
        }
    }
}

/// A character for people, invisible ones by their names or numbers.
fn shown(c: char) -> String {
    match c {
        ' ' => "a space".to_owned(),
        '`' => "a backtick".to_owned(),
        c if c.is_control() || c.is_whitespace() || (c as u32) > 0x7e => {
            let glyph = if c.is_alphanumeric() {
                format!(" (`{c}`)")
            } else {
                String::new()
            };
            format!("the character U+{:04X}{glyph}", c as u32)
        }
        c => format!("`{c}`"),
    }
}

#[cfg(test)]
mod tests;
