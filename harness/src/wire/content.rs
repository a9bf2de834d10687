//! A file's content as it came in a `resources/read` result, folded to what checks need.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// How much of a body stays in the trace, in bytes.
pub const KEPT: usize = 64 * 1024;

/// How much of a body that opens like frontmatter is kept to be parsed, in bytes.
const OPENING: usize = 1024 * 1024;

/// Strict alphabet, padding required: what "base64" means in the base protocol's schema.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::RequireCanonical),
);

/// One item of `contents`, folded.
#[derive(Debug, Clone)]
pub struct Content {
    /// Where the bytes came from, or why there are none.
    pub body: Body,
    /// The first mebibyte of a body that opens like a frontmatter block (`---`, after an
    /// optional byte-order mark); empty for all other bodies.
    pub opening: Vec<u8>,
    /// Whether the bytes cannot be text, in whatever charset.
    pub binary: bool,
}

/// The bytes of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Body {
    /// `text`, as UTF-8, or `blob`, decoded.
    Bytes {
        /// Length in bytes.
        len: u64,
        /// SHA-256 of the bytes.
        sha256: [u8; 32],
        /// Whether it came as `blob`.
        blob: bool,
        /// Whether the bytes are valid UTF-8.
        utf8: bool,
    },
    /// There are no bytes to be had, and why.
    Unreadable(String),
}

impl Content {
    /// Folds one item of `contents`; strings longer than [`KEPT`] are shortened in place, so that
    /// the trace stays small.
    pub fn fold(item: &mut Value) -> Self {
        let body = match (item.get("text"), item.get("blob")) {
            (Some(_), Some(_)) => Err("both `text` and `blob` are present".to_owned()),
            (Some(Value::String(text)), None) => Ok((text.clone().into_bytes(), false)),
            (None, Some(Value::String(blob))) => match BASE64.decode(blob.as_bytes()) {
                Ok(bytes) => Ok((bytes, true)),
                Err(error) => Err(format!("`blob` is not valid base64: {error}")),
            },
            (None, None) => Err("neither `text` nor `blob` is present".to_owned()),
            (Some(_), None) => Err("`text` is not a string".to_owned()),
            (None, Some(_)) => Err("`blob` is not a string".to_owned()),
        };
        for member in ["text", "blob"] {
            if let Some(Value::String(text)) = item.get_mut(member)
                && text.len() > KEPT
            {
                let whole = (0..=KEPT).rev().find(|cut| text.is_char_boundary(*cut));
                text.truncate(whole.unwrap_or(0));
                text.shrink_to_fit();
            }
        }
        match body {
            Err(why) => Self {
                body: Body::Unreadable(why),
                opening: Vec::new(),
                binary: false,
            },
            Ok((bytes, blob)) => Self {
                opening: opening(&bytes),
                binary: is_binary(&bytes),
                body: Body::Bytes {
                    len: bytes.len() as u64,
                    sha256: Sha256::digest(&bytes).into(),
                    blob,
                    utf8: !blob || std::str::from_utf8(&bytes).is_ok(),
                },
            },
        }
    }

    /// The digest in the form that manifests use, when there are bytes.
    pub fn digest(&self) -> Option<String> {
        match &self.body {
            Body::Bytes { sha256, .. } => Some(digest_string(sha256)),
            Body::Unreadable(_) => None,
        }
    }
}

/// `sha256:` and 64 lower-case hexadecimal digits.
pub fn digest_string(sha256: &[u8; 32]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(7 + 64);
    text.push_str("sha256:");
    for byte in sha256 {
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

fn opening(bytes: &[u8]) -> Vec<u8> {
    let body = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if body.starts_with(b"---") {
        bytes[..bytes.len().min(OPENING)].to_vec()
    } else {
        Vec::new()
    }
}

/// Whether bytes hold what no text holds. Without a byte-order mark of UTF-16 or UTF-32 these are
/// control characters other than white space and the escape character, which the charsets of
/// ISO 2022 use.
fn is_binary(bytes: &[u8]) -> bool {
    const MARKS: [&[u8]; 3] = [b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff"];
    !MARKS.iter().any(|mark| bytes.starts_with(mark))
        && bytes
            .iter()
            .any(|byte| matches!(byte, 0x00..=0x08 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn text_and_blob_fold_to_the_same_digest() {
        let mut text = json!({"uri": "x", "text": "héllo"});
        let mut blob = json!({"uri": "x", "blob": "aMOpbGxv"});
        let (text, blob) = (Content::fold(&mut text), Content::fold(&mut blob));
        assert_eq!(text.digest(), blob.digest());
        assert!(matches!(
            text.body,
            Body::Bytes {
                len: 6,
                blob: false,
                ..
            }
        ));
        assert!(matches!(
            blob.body,
            Body::Bytes {
                len: 6,
                blob: true,
                utf8: true,
                ..
            }
        ));
    }

    #[test]
    fn anything_else_has_no_bytes() {
        for item in [
            json!({"text": "a", "blob": "YQ=="}),
            json!({"blob": "YQ"}),
            json!({"blob": "Y Q=="}),
            json!({"text": 1}),
            json!({}),
            json!("text"),
        ] {
            let folded = Content::fold(&mut item.clone());
            assert!(matches!(folded.body, Body::Unreadable(_)), "{item}");
        }
    }

    #[test]
    fn long_bodies_leave_the_trace() {
        let mut item = json!({"text": "é".repeat(KEPT)});
        let folded = Content::fold(&mut item);
        assert!(matches!(folded.body, Body::Bytes { len, .. } if len == 2 * KEPT as u64));
        assert!(item["text"].as_str().unwrap().len() <= KEPT);
        assert!(folded.opening.is_empty());
    }

    #[test]
    fn text_in_any_charset_is_not_binary() {
        let texts: [&[u8]; 6] = [
            b"",
            b"plain\r\n\ttext\x0c",
            "h\u{e9}llo".as_bytes(),
            b"caf\xe9",
            b"\xff\xfea\0",
            b"\x1b$B4A\x1b(B",
        ];
        assert!(texts.iter().all(|text| !is_binary(text)));
        let others: [&[u8]; 3] = [b"\x89PNG\r\n\x1a\n", b"a\0b", b"\x7fELF"];
        assert!(others.iter().all(|other| is_binary(other)));
    }
}
