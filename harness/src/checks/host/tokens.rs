//! Tokens: words that stand in one version of one served file and nowhere else.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::Value;

use super::ask::member;
use crate::wire::scene::Served;

/// What every token of the suite begins with.
const TOKEN: &str = "KC-";
/// How many characters a token has.
const TOKEN_LENGTH: usize = 15;

/// The texts of a read result, blobs decoded.
pub(super) fn contents(served: &Served) -> impl Iterator<Item = String> {
    served
        .result
        .iter()
        .filter_map(|result| result.get("contents")?.as_array())
        .flatten()
        .map(text_of)
}

/// `text`, or `blob` decoded, of an item or an outcome.
pub fn text_of(item: &Value) -> String {
    if let Some(text) = member(item, "text") {
        return text.to_owned();
    }
    let blob = member(item, "blob").unwrap_or_default();
    String::from_utf8_lossy(&BASE64.decode(blob).unwrap_or_default()).into_owned()
}

/// The tokens of what an outcome or an item hands over.
pub fn tokens_of(item: &Value) -> BTreeSet<String> {
    tokens(text_of(item))
}

/// The tokens in a text.
pub fn tokens(text: impl AsRef<str>) -> BTreeSet<String> {
    let text = text.as_ref();
    text.match_indices(TOKEN)
        .filter_map(|(start, _)| text.get(start..start + TOKEN_LENGTH))
        .map(str::to_owned)
        .collect()
}
