//! Traces as JSON lines: `{n, t_us, dir, channel, protocol, raw | raw_base64}`, one a frame.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Map, Value, json};

use crate::wire::frame::Direction;
use crate::wire::scene::Scene;
use crate::wire::trace::Trace;

/// Writes a trace down. Bodies that the trace keeps only the beginning of say so with `len`, the
/// length of the whole in bytes; HTTP answers carry `status`.
pub fn lines(trace: &Trace, redact: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for (index, frame) in trace.frames.iter().enumerate() {
        let mut line = Map::new();
        line.insert("n".into(), json!(index + 1));
        line.insert("t_us".into(), json!(frame.t_us));
        line.insert("dir".into(), json!(direction(frame.direction)));
        line.insert("channel".into(), json!(frame.transport));
        line.insert("protocol".into(), json!(trace.revision));
        if let Some(envelope) = &frame.envelope {
            line.insert("status".into(), json!(envelope.status));
        }
        push(&mut text, line, &frame.raw, frame.len, &redact);
    }
    text
}

/// Writes a scene with a host down: the same, with the scenario; the channel is `adapter` or the
/// label of a server.
pub fn scene_lines(scene: &Scene, redact: impl Fn(&str) -> String) -> String {
    let mut text = String::new();
    for (index, frame) in scene.frames.iter().enumerate() {
        let mut line = Map::new();
        line.insert("n".into(), json!(scene.base + index + 1));
        line.insert("t_us".into(), json!(frame.t_us));
        line.insert("dir".into(), json!(direction(frame.direction)));
        line.insert("channel".into(), json!(frame.channel));
        line.insert("protocol".into(), json!(scene.revision));
        line.insert("scenario".into(), json!(scene.scenario));
        push(&mut text, line, &frame.raw, frame.len, &redact);
    }
    text
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Sent => "sent",
        Direction::Received => "received",
    }
}

fn push(
    text: &mut String,
    mut line: Map<String, Value>,
    bytes: &[u8],
    len: usize,
    redact: impl Fn(&str) -> String,
) {
    let (key, value) = raw(bytes, len, redact);
    line.insert(key.into(), value);
    if bytes.len() < len {
        line.insert("len".into(), json!(len));
    }
    text.push_str(&Value::Object(line).to_string());
    text.push('\n');
}

fn raw(bytes: &[u8], len: usize, redact: impl Fn(&str) -> String) -> (&'static str, Value) {
    match std::str::from_utf8(bytes) {
        Ok(text) => ("raw", Value::from(redact(text))),
        // A body that was cut may end in half a character.
        Err(error) if bytes.len() < len && error.error_len().is_none() => {
            let whole = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            ("raw", Value::from(redact(&whole)))
        }
        Err(_) => ("raw_base64", Value::from(BASE64.encode(bytes))),
    }
}
