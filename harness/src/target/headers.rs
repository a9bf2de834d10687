//! Header values in the base protocol's encoding.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use reqwest::header::HeaderValue;

/// A header value that carries `text`: as it is where HTTP allows it, in the base protocol's
/// base64 form otherwise.
pub(super) fn header_value(text: &str) -> Option<HeaderValue> {
    let plain = text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) && text.trim() == text;
    let sentinel = text.starts_with("=?base64?") && text.ends_with("?=");
    if plain && !sentinel {
        HeaderValue::from_str(text).ok()
    } else {
        HeaderValue::try_from(format!("=?base64?{}?=", BASE64.encode(text))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::header_value;

    #[test]
    fn header_values_follow_the_encoding_rules() {
        for (text, value) in [
            ("skill://a/SKILL.md", "skill://a/SKILL.md"),
            ("", ""),
            (" padded ", "=?base64?IHBhZGRlZCA=?="),
            ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
            ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
        ] {
            assert_eq!(header_value(text).unwrap(), value);
        }
    }
}
