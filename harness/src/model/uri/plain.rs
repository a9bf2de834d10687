//! URIs that are their own normal form, as nearly all are: told by a look at each byte, without
//! taking them apart.

use super::below;
use super::parts::is_unreserved;

/// Whether `uri` is `scheme://…` with nothing in it that normalisation touches: lower-case scheme
/// and first segment, unreserved characters and slashes only, no dot segments behind the first.
///
/// Such a URI is valid, and its own normal form.
pub(super) fn is_plain(uri: &str) -> bool {
    let Some((scheme, rest)) = uri.split_once("://") else {
        return false;
    };
    let (first, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    is_scheme(scheme)
        && first
            .bytes()
            .all(|byte| is_unreserved(byte) && !byte.is_ascii_uppercase())
        && path.bytes().all(|byte| is_unreserved(byte) || byte == b'/')
        && !path.split('/').any(|segment| matches!(segment, "." | ".."))
}

fn is_scheme(scheme: &str) -> bool {
    scheme.starts_with(|first: char| first.is_ascii_lowercase())
        && scheme
            .bytes()
            .all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'+' | b'-' | b'.'))
}

/// The part of `uri` below `root`, where both are plain and a look at them shows that `uri` is a
/// file inside; `None` does not say that it is not.
pub(super) fn relative<'a>(root: &str, uri: &'a str) -> Option<&'a str> {
    let rest = below(root, uri)?;
    (is_plain(root) && is_plain(uri) && !rest.split('/').any(str::is_empty)).then_some(rest)
}
