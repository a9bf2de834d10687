//! Other values and texts than the right ones, near them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

/// Forms of a digest that are none; `{hex}` is the right one, `{base64}` the same in base64.
pub(super) const FORMS: &[&str] = &[
    "{hex}",
    "sha-256:{hex}",
    "SHA256:{hex}",
    "Sha256:{hex}",
    "sha256-{base64}",
    "sha256:{base64}",
    "sha256={hex}",
    "sha256:{hex}0",
    "sha256:{short}",
    "sha256:{hex}\n",
    " sha256:{hex}",
    "sha256: {hex}",
    "sha256:0x{hex}",
    "sha256:",
    "",
    "sha512:{hex}{hex}",
    "md5:{md5}",
    "sha256:*",
    "sha256",
    "sha256:{eight}",
];

/// The digest in one of the [`FORMS`].
pub(super) fn digest_form(form: &str, hex: &str) -> String {
    let bytes: Vec<u8> = (0..hex.len() / 2)
        .filter_map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok())
        .collect();
    form.replace("{hex}", hex)
        .replace("{short}", &hex[..hex.len() - 1])
        .replace("{eight}", &hex[..8])
        .replace("{md5}", &hex[..32])
        .replace("{base64}", &BASE64.encode(bytes))
}

/// What a reader of text makes of the bytes before it hashes them.
pub(super) fn as_text(bytes: &[u8], way: u8) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(bytes);
    Some(match way % 5 {
        0 => text.into_owned().into_bytes(),
        1 => text.replace("\r\n", "\n").into_bytes(),
        2 => text.strip_prefix('\u{feff}')?.as_bytes().to_vec(),
        3 => text.trim_end().as_bytes().to_vec(),
        _ => text.replace('\n', "\r\n").into_bytes(),
    })
}

/// How long a reader of text takes the bytes to be.
pub(super) fn size_of_text(bytes: &[u8], way: u8) -> Option<usize> {
    let text = String::from_utf8_lossy(bytes);
    Some(match way % 4 {
        0 => text.chars().count(),
        1 => text.encode_utf16().count(),
        2 => text.len(),
        _ => BASE64.encode(bytes).len(),
    })
}

/// Another value, near this one.
pub(super) fn changed(value: &Value, way: u8) -> Value {
    match value {
        Value::Null => [json!(false), json!({}), json!([]), json!(0)][usize::from(way % 4)].clone(),
        Value::Bool(value) => {
            [json!(!value), json!([value]), json!(null)][usize::from(way % 3)].clone()
        }
        Value::Number(number) => match way % 3 {
            0 => json!([number]),
            1 => json!(number.as_f64().unwrap_or_default() + 1.0),
            _ => json!(null),
        },
        Value::String(text) => match way % 5 {
            0 => json!(format!("{text}x")),
            1 => json!(format!("{text} ")),
            2 => json!(null),
            3 => json!([text]),
            _ => json!(format!("X{text}")),
        },
        Value::Array(items) if !items.is_empty() => {
            let mut items = items.clone();
            let last = items.len() - 1;
            match way % 3 {
                0 => items.push(json!(null)),
                1 => items[last] = changed(&items[last], way / 3),
                _ => items.truncate(last),
            }
            json!(items)
        }
        Value::Object(members) if !members.is_empty() => {
            let mut members = members.clone();
            let Some(key) = members.keys().next().cloned() else {
                return json!(null);
            };
            match way % 3 {
                0 => {
                    members.insert("x-inner".to_owned(), json!(null));
                }
                1 => {
                    let inner = changed(&members[&key], way / 3);
                    members.insert(key, inner);
                }
                _ => {
                    members.remove(&key);
                }
            }
            Value::Object(members)
        }
        Value::Array(_) => [json!({}), json!(null), json!([null])][usize::from(way % 3)].clone(),
        Value::Object(_) => {
            [json!([]), json!(null), json!({"x": null})][usize::from(way % 3)].clone()
        }
    }
}

/// SKILL.md with a frontmatter that no reader reads.
pub(super) fn unreadable(text: &str, way: u8) -> Option<String> {
    let line_break = if text.contains("\r\n") { "\r\n" } else { "\n" };
    Some(match way % 5 {
        0 => text.replacen("---", "# no fence", 1),
        1 => format!("# A title{line_break}{text}"),
        2 => {
            let end = body_start(text.as_bytes())?;
            text[..end].trim_end().trim_end_matches('-').to_owned() + line_break
        }
        3 => text.replacen(
            line_break,
            &format!("{line_break}x-open: [a, b{line_break}"),
            1,
        ),
        _ => String::new(),
    })
}

/// Where the body of SKILL.md begins: behind the second fence.
pub(super) fn body_start(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    let mut fences = 0;
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        fences += usize::from(line.starts_with(b"---"));
        if fences == 2 {
            return Some(at);
        }
    }
    None
}
