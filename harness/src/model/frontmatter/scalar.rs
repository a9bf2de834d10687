//! What a plain scalar means: the YAML 1.2 core schema, and YAML 1.1 as it was practised.

use serde_json::{Number, Value};

use super::timestamp::{self, Instant};

/// A typed scalar.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reading {
    Null,
    Bool(bool),
    Int(i128),
    /// Also integers too large for `Int`, and `.inf` and `.nan`.
    Float(f64),
    /// A date or a time (YAML 1.1 only).
    Timestamp(Instant),
    Str,
}

/// Whether a JSON value shows a reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    No,
    Yes,
    /// Only after rounding an integer to a 64-bit float.
    Rounded,
}

/// The largest integer up to which floats hold every one.
const FLOAT_EXACT: u128 = 1 << 53;

/// The reading of the YAML 1.2 core schema.
pub(super) fn core(text: &str) -> Reading {
    if !may_be_typed(text) {
        return Reading::Str;
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Reading::Null,
        "true" | "True" | "TRUE" => return Reading::Bool(true),
        "false" | "False" | "FALSE" => return Reading::Bool(false),
        _ => {}
    }
    if let Some(number) = special_float(text) {
        return number;
    }
    if let Some(digits) = text.strip_prefix("0o") {
        return integer(digits, 8, false);
    }
    if let Some(digits) = text.strip_prefix("0x") {
        return integer(digits, 16, false);
    }
    let (negative, digits) = sign(text);
    if all_digits(digits) {
        return integer(digits, 10, negative);
    }
    decimal_float(text, false)
}

/// The reading of YAML 1.1.
///
/// Where libraries of that age disagree with the letter (`y` and `n`, signed floats without a
/// leading digit), see also [`old_is_also_text`].
pub(super) fn old(text: &str) -> Reading {
    if !may_be_typed(text) {
        return Reading::Str;
    }
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Reading::Null,
        "true" | "True" | "TRUE" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "y" | "Y" => {
            return Reading::Bool(true);
        }
        "false" | "False" | "FALSE" | "no" | "No" | "NO" | "off" | "Off" | "OFF" | "n" | "N" => {
            return Reading::Bool(false);
        }
        _ => {}
    }
    if let Some(number) = special_float(text) {
        return number;
    }
    if let Some(instant) = timestamp::of_yaml(text) {
        return Reading::Timestamp(instant);
    }
    let (negative, unsigned) = sign(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return Reading::Str;
    }
    let digits = unsigned.replace('_', "");
    if unsigned.contains(':') {
        return sexagesimal(unsigned, &digits, negative);
    }
    if let Some(binary) = digits.strip_prefix("0b") {
        return integer(binary, 2, negative);
    }
    if let Some(hex) = digits.strip_prefix("0x") {
        return integer(hex, 16, negative);
    }
    if all_digits(&digits) {
        return match digits.strip_prefix('0') {
            Some("") | None => integer(&digits, 10, negative),
            Some(octal) => integer(octal, 8, negative),
        };
    }
    let body = if negative {
        format!("-{digits}")
    } else {
        digits
    };
    decimal_float(&body, true)
}

/// Whether libraries for YAML 1.1 also read this plain scalar as a string, its other type
/// notwithstanding.
pub(super) fn old_is_also_text(text: &str) -> bool {
    // Underscores group digits, and of `._1` only some say that there are any before them.
    matches!(text, "y" | "Y" | "n" | "N")
        || text.starts_with("-.")
        || text.starts_with("+.")
        || text.starts_with("._")
}

/// Whether `value` shows the reading of a scalar spelled `text`.
pub(super) fn agrees(reading: &Reading, text: &str, value: &Value) -> Agreement {
    let yes = match (reading, value) {
        (Reading::Null, Value::Null) => true,
        (Reading::Bool(a), Value::Bool(b)) => a == b,
        (Reading::Str, Value::String(b)) => text == b,
        (Reading::Int(a), Value::Number(b)) => return integers_agree(*a, b),
        (Reading::Float(a), Value::Number(b)) => Some(*a) == b.as_f64(),
        // JSON has no number for these.
        (Reading::Float(a), Value::Null) => !a.is_finite(),
        (Reading::Float(a), Value::String(b)) => !a.is_finite() && text == b,
        (Reading::Timestamp(a), Value::String(b)) => {
            text == b || timestamp::of_json(b).is_some_and(|b| timestamp::same(*a, b))
        }
        _ => false,
    };
    if yes { Agreement::Yes } else { Agreement::No }
}

/// Whether a JSON key, which is always a string, shows the reading of a YAML key.
pub(super) fn key_agrees(reading: &Reading, text: &str, key: &str) -> bool {
    match reading {
        Reading::Null => matches!(key, "" | "~" | "null" | "None" | "nil"),
        Reading::Bool(true) => matches!(key, "true" | "True"),
        Reading::Bool(false) => matches!(key, "false" | "False"),
        Reading::Int(a) => key.parse() == Ok(*a),
        Reading::Float(a) => match key.parse::<f64>() {
            Ok(b) => *a == b || a.is_nan() && b.is_nan(),
            Err(_) => false,
        },
        Reading::Timestamp(_) => {
            agrees(reading, text, &Value::String(key.to_owned())) == Agreement::Yes
        }
        Reading::Str => text == key,
    }
}

fn integers_agree(a: i128, number: &Number) -> Agreement {
    let exact = number
        .as_i64()
        .map(i128::from)
        .or_else(|| number.as_u64().map(i128::from));
    let rounded = number.as_f64() == Some(a as f64);
    match exact {
        Some(b) if a == b => Agreement::Yes,
        None if !rounded => Agreement::No,
        // Floats this large hold integers only; one that is the very integer loses nothing.
        None if number.as_f64().is_some_and(|b| b as i128 == a) => Agreement::Yes,
        None if i64::try_from(a).is_err() && u64::try_from(a).is_err() => Agreement::Yes,
        _ if rounded && a.unsigned_abs() > FLOAT_EXACT => Agreement::Rounded,
        _ => Agreement::No,
    }
}

/// Quick way out: whether the first character can begin anything but a string.
fn may_be_typed(text: &str) -> bool {
    match text.as_bytes().first() {
        None => true,
        Some(byte) => byte.is_ascii_digit() || b"+-.~nNtTfFyYoO".contains(byte),
    }
}

fn sign(text: &str) -> (bool, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    }
}

fn all_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Digits of a base, or a string if they are none.
fn integer(digits: &str, base: u32, negative: bool) -> Reading {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(base)) {
        return Reading::Str;
    }
    match i128::from_str_radix(digits, base) {
        Ok(value) => Reading::Int(if negative { -value } else { value }),
        Err(_) => {
            let mut value = 0.0_f64;
            if base == 10 {
                value = digits.parse().unwrap_or(f64::INFINITY);
            } else {
                for digit in digits.chars().filter_map(|c| c.to_digit(base)) {
                    value = value * f64::from(base) + f64::from(digit);
                }
            }
            Reading::Float(if negative { -value } else { value })
        }
    }
}

fn special_float(text: &str) -> Option<Reading> {
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(Reading::Float(f64::NAN));
    }
    let (negative, rest) = sign(text);
    matches!(rest, ".inf" | ".Inf" | ".INF").then_some(Reading::Float(if negative {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    }))
}

/// A decimal float. YAML 1.1 (`strict`) wants a point in it, and a sign in its exponent.
fn decimal_float(text: &str, strict: bool) -> Reading {
    let (_, unsigned) = sign(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let well_formed = digits(whole)
        && fraction.is_none_or(digits)
        && !(whole.is_empty() && fraction.is_none_or(str::is_empty))
        && exponent.is_none_or(|exponent| all_digits(sign(exponent).1));
    let old_enough =
        fraction.is_some() && exponent.is_none_or(|exponent| exponent.starts_with(['+', '-']));
    if !well_formed || strict && !old_enough {
        return Reading::Str;
    }
    text.parse().map_or(Reading::Str, Reading::Float)
}

/// `12:30:45` and `12:30:45.6`, in base 60; `digits` is `unsigned` without underscores.
fn sexagesimal(unsigned: &str, digits: &str, negative: bool) -> Reading {
    let (whole, fraction) = match digits.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (digits, None),
    };
    if fraction.is_none() && unsigned.starts_with('0') {
        return Reading::Str;
    }
    let mut value = 0_i128;
    for (place, part) in whole.split(':').enumerate() {
        let Ok(number) = part.parse::<u64>() else {
            return Reading::Str;
        };
        if !all_digits(part) || place > 0 && (part.len() > 2 || number > 59) || place > 12 {
            return Reading::Str;
        }
        value = value * 60 + i128::from(number);
    }
    match fraction {
        None => Reading::Int(if negative { -value } else { value }),
        Some(digits) if digits.is_empty() || all_digits(digits) => {
            let part = format!("0.{digits}0").parse().unwrap_or(0.0);
            let value = value as f64 + part;
            Reading::Float(if negative { -value } else { value })
        }
        Some(_) => Reading::Str,
    }
}
