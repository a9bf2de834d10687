//! Traces as JSON lines: `{n, t_us, dir, channel, protocol, raw | raw_base64}`, one a frame.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use crate::wire::frame::{Direction, Frame};
use crate::wire::trace::Trace;

/// Writes a trace down. Bodies that the trace keeps only the beginning of say so with `len`, the
/// length of the whole in bytes; HTTP answers carry `status`.
pub fn lines(trace: &Trace, redact: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for (index, frame) in trace.frames.iter().enumerate() {
        let mut line = Map::new();
        line.insert("n".into(), json!(index + 1));
        line.insert("t_us".into(), json!(frame.t_us));
        line.insert(
            "dir".into(),
            json!(match frame.direction {
                Direction::Sent => "sent",
                Direction::Received => "received",
            }),
        );
        line.insert("channel".into(), json!(frame.transport));
        line.insert("protocol".into(), json!(trace.revision));
        if let Some(envelope) = &frame.envelope {
            line.insert("status".into(), json!(envelope.status));
        }
        let (key, raw) = raw(frame, &redact);
        line.insert(key.into(), raw);
        if frame.raw.len() < frame.len {
            line.insert("len".into(), json!(frame.len));
        }
        text.push_str(&Value::Object(line).to_string());
        text.push('\n');
    }
    text
}

fn raw(frame: &Frame, redact: impl Fn(&str) -> String) -> (&'static str, Value) {
    match std::str::from_utf8(&frame.raw) {
        Ok(text) => ("raw", Value::from(redact(text))),
        // A body that was cut may end in half a character.
        Err(error) if frame.raw.len() < frame.len && error.error_len().is_none() => {
            let whole = String::from_utf8_lossy(&frame.raw[..error.valid_up_to()]);
            ("raw", Value::from(redact(&whole)))
        }
        Err(_) => ("raw_base64", Value::from(BASE64.encode(&frame.raw))),
    }
}
