//! Building URIs from paths, and showing foreign URIs in messages.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, PercentEncode, utf8_percent_encode};

/// Everything but RFC 3986 "unreserved" is encoded. Stricter than a path
/// segment needs, but right in the authority component as well, where the
/// first segment of a skill path ends up.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');

/// One path segment, percent-encoded.
pub(crate) fn encode_segment(segment: &str) -> PercentEncode<'_> {
    utf8_percent_encode(segment, SEGMENT)
}

/// A URI fit for an error message: control characters escaped, long ones cut.
pub(crate) fn show(uri: &str) -> String {
    const LIMIT: usize = 120;
    let mut shown = String::new();
    for (count, character) in uri.chars().enumerate() {
        if count == LIMIT {
            shown.push_str("… (");
            shown.push_str(&uri.len().to_string());
            shown.push_str(" bytes)");
            break;
        }
        if character.is_control() {
            shown.extend(character.escape_unicode());
        } else {
            shown.push(character);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_encoded() {
        assert_eq!(
            encode_segment("Quick start é.md").to_string(),
            "Quick%20start%20%C3%A9.md"
        );
        assert_eq!(encode_segment("a@b:c/d%").to_string(), "a%40b%3Ac%2Fd%25");
        assert_eq!(encode_segment("A-z.0_9~").to_string(), "A-z.0_9~");
    }

    #[test]
    fn long_and_wild_uris_stay_readable() {
        assert_eq!(show("skill://a\nb\0"), "skill://a\\u{a}b\\u{0}");
        let shown = show(&"x".repeat(70_000));
        assert!(
            shown.len() < 200 && shown.contains("70000 bytes"),
            "{shown}"
        );
    }
}
