//! Files that users write.

use sep2640_conform::baseline::Baseline;
use sep2640_conform::fuzz::saved::Saved;
use sep2640_conform::scenario::file::Scenario;
use sep2640_conform::scenario::script::Script;
use sep2640_conform::verdict::Side;

use crate::text;

/// A baseline is read, or the error names the file.
pub fn baseline(data: &[u8]) {
    let Some(text) = text(data) else { return };
    for side in [Side::Server, Side::Host] {
        if let Err(error) = Baseline::parse("known.yaml", text, side) {
            assert!(error.contains("known.yaml"), "{error}");
        }
    }
}

/// The number of the line behind a text's last one, as YAML counts lines: what is missing at the
/// end is missing there.
fn lines(text: &str) -> usize {
    let is_break = |c: &char| matches!(c, '\n' | '\r' | '\u{85}' | '\u{2028}' | '\u{2029}');
    text.chars().filter(is_break).count() + 2
}

/// A scenario is read, or the error names a line of the file.
pub fn scenario(data: &[u8]) {
    let Some(text) = text(data) else { return };
    if let Err(error) = Scenario::parse("x.yaml", text) {
        assert!(error.line <= lines(text), "{error}");
    }
}

/// The same for scenarios of hosts.
pub fn script(data: &[u8]) {
    let Some(text) = text(data) else { return };
    match Script::parse("x.yaml", text) {
        Ok(script) => drop(script.servers()),
        Err(error) => assert!(error.line <= lines(text), "{error}"),
    }
}

/// A saved case is read, and what it sends is one line of JSON.
pub fn saved(data: &[u8]) {
    let Some(text) = text(data) else { return };
    let Ok(saved) = Saved::parse(text) else {
        return;
    };
    if let Ok(line) = saved.verifier_line() {
        assert!(!line.contains('\n'), "{line}");
        let read: Result<serde_json::Value, _> = serde_json::from_str(&line);
        assert!(read.is_ok(), "{line}");
    }
}
