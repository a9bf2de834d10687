//! Escapes of halves of surrogate pairs in JSON: servers that keep strings in UTF-16 send them back.

/// The escape of U+FFFD, without its `\u`.
const REPLACEMENT: &[u8] = b"fffd";

/// `json` with each half that stands alone as U+FFFD; nothing where there is none.
pub fn replace(json: &[u8]) -> Option<Vec<u8>> {
    let mut replaced = None;
    let mut at = 0;
    while at < json.len() {
        let Some(unit) = unit_at(json, at) else {
            // A backslash takes the byte behind it along, so that `\\ud800` is no escape.
            at += if json[at] == b'\\' { 2 } else { 1 };
            continue;
        };
        let pair = is_high(unit) && unit_at(json, at + 6).is_some_and(is_low);
        if !pair && (is_high(unit) || is_low(unit)) {
            let text = replaced.get_or_insert_with(|| json.to_vec());
            text[at + 2..at + 6].copy_from_slice(REPLACEMENT);
        }
        at += if pair { 12 } else { 6 };
    }
    replaced
}

/// The code unit whose escape begins here.
fn unit_at(json: &[u8], at: usize) -> Option<u16> {
    let digits = json.get(at..at + 6)?.strip_prefix(b"\\u")?;
    if !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}
