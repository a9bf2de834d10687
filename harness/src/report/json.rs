//! The report as JSON, format `sep2640-conform/report/v1`.

use std::io;

use serde::Serialize;
use serde_json::ser::{Formatter, PrettyFormatter, Serializer};

use super::Reporter;
use super::output::Output;
use super::text::is_hidden;
use crate::event::{Event, Report};

/// Writes the whole report as JSON.
pub struct Json {
    output: Output,
}

impl Json {
    /// A reporter that writes to `output`.
    pub fn new(output: Output) -> Self {
        Self { output }
    }
}

impl Reporter for Json {
    fn event(&mut self, _: &Event) {}

    fn finish(&mut self, report: &Report) -> io::Result<()> {
        self.output.write(pretty(report)?.as_bytes())
    }
}

/// Any value as indented JSON with a line break at its end. Hidden characters in strings are
/// written as `\u` escapes, so that the text is safe to show while the values stay what they are.
///
/// # Errors
///
/// The value has no JSON form.
pub fn pretty<T: Serialize>(value: &T) -> io::Result<String> {
    let mut bytes = Vec::new();
    value.serialize(&mut Serializer::with_formatter(
        &mut bytes,
        Visible::default(),
    ))?;
    bytes.push(b'\n');
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// The pretty formatter of serde_json, with hidden characters escaped.
#[derive(Default)]
struct Visible {
    inner: PrettyFormatter<'static>,
}

impl Formatter for Visible {
    fn write_string_fragment<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        let mut plain = 0;
        for (index, c) in fragment.char_indices().filter(|(_, c)| is_hidden(*c)) {
            writer.write_all(&fragment.as_bytes()[plain..index])?;
            for unit in c.encode_utf16(&mut [0; 2]) {
                write!(writer, "\\u{unit:04x}")?;
            }
            plain = index + c.len_utf8();
        }
        writer.write_all(&fragment.as_bytes()[plain..])
    }

    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_array(writer)
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_array(writer)
    }

    fn begin_array_value<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.inner.begin_array_value(writer, first)
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_array_value(writer)
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_object(writer)
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_object(writer)
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.inner.begin_object_key(writer, first)
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.begin_object_value(writer)
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.inner.end_object_value(writer)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::report::sample;

    #[test]
    fn hidden_characters_are_escaped_and_values_kept() {
        let value = json!({"a\u{202e}": ["x\u{1b}\u{7f}\u{e0041}\"\n", [], {}, 1.5, "ü"]});
        let text = pretty(&value).unwrap();
        assert!(text.chars().all(|c| c == '\n' || !is_hidden(c)), "{text}");
        assert!(
            text.ends_with("}\n") && text.contains("\\u202e") && text.contains("\\udb40\\udc41")
        );
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }

    #[test]
    fn a_report_has_the_documented_shape() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("report.json");
        Json::new(Output::to(&path).unwrap())
            .finish(&sample::report())
            .unwrap();
        let value: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
        assert_eq!(value["schema"], "sep2640-conform/report/v1");
        assert_eq!(value["summary"]["not_exercised"], 3);
        let check = &value["runs"][0]["checks"][1];
        assert_eq!(check["verdict"], "fail");
        assert_eq!(check["findings"][0]["at"]["pointer"], "/result/contents/0");
    }
}
