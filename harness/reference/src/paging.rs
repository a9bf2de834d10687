//! Cursors: opaque strings that are good for one method and one list only.

use std::fmt::Write;

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::message::RpcError;

/// A list that is handed out in pages.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pages<'a> {
    pub method: &'a str,
    /// Tells lists of the same method apart, such as the directory's URI.
    pub scope: &'a str,
    pub total: usize,
    pub size: usize,
}

impl Pages<'_> {
    /// Where the page begins that the request asks for.
    pub fn start(&self, cursor: Option<&Value>) -> Result<usize, RpcError> {
        let cursor = match cursor {
            None => return Ok(0),
            Some(Value::String(cursor)) => cursor,
            Some(_) => return Err(RpcError::invalid_params("`cursor` is not a string")),
        };
        self.offset(cursor).ok_or_else(|| {
            let shown = crate::uri::show(cursor);
            let method = self.method;
            RpcError::invalid_params(format!(
                "unknown cursor `{shown}` for {method}: take cursors from `nextCursor` of the same list"
            ))
        })
    }

    /// Whether this is a cursor of this list.
    pub fn knows(&self, cursor: &Value) -> bool {
        self.start(Some(cursor)).is_ok()
    }

    /// The cursor of the page after the one that begins at `start`.
    pub fn next(&self, start: usize) -> Option<String> {
        let next = start + self.size;
        (next < self.total).then(|| self.cursor(next))
    }

    /// The end of the page that begins at `start`.
    pub fn end(&self, start: usize) -> usize {
        (start + self.size).min(self.total)
    }

    fn offset(&self, cursor: &str) -> Option<usize> {
        let offset = usize::from_str_radix(cursor.get(16..)?, 16).ok()?;
        (offset < self.total && cursor == self.cursor(offset)).then_some(offset)
    }

    /// The tag in front ties the offset to method and list, so that a cursor
    /// of another list is unknown here.
    fn cursor(&self, offset: usize) -> String {
        let digest = Sha256::new()
            .chain_update(self.method)
            .chain_update([0])
            .chain_update(self.scope)
            .chain_update([0])
            .chain_update(offset.to_string())
            .finalize();
        let mut cursor = hex(&digest[..8]);
        let _ = write!(cursor, "{offset:x}");
        cursor
    }
}

/// Lower-case hexadecimal digits of bytes.
pub(crate) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .map(|digit| char::from(DIGITS[usize::from(digit)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn cursors_are_bound_to_their_list() {
        let pages = Pages {
            method: "skills/list",
            scope: "",
            total: 7,
            size: 3,
        };
        let cursor = json!(pages.next(0).unwrap());
        assert_eq!(pages.start(Some(&cursor)).unwrap(), 3);
        assert_eq!(pages.next(6), None);
        for other in [
            Pages {
                method: "resources/list",
                ..pages
            },
            Pages {
                scope: "x",
                ..pages
            },
            Pages { total: 3, ..pages },
        ] {
            assert!(other.start(Some(&cursor)).is_err());
        }
        for bad in [
            json!(""),
            json!("x"),
            json!(5),
            json!(null),
            json!("é".repeat(9)),
        ] {
            assert!(pages.start(Some(&bad)).is_err(), "{bad}");
        }
    }
}
