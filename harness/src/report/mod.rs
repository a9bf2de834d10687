//! Reporters: they turn events and the report into something to read.
//!
//! What a target says is hostile until proven otherwise: it goes through [`escape`] on its way
//! into anything that people or XML parsers look at.

pub mod destination;
pub mod json;
pub mod junit;
pub mod matrix;
pub mod output;
pub mod progress;
pub mod terminal;
pub mod text;
mod view;

#[cfg(test)]
pub(crate) mod sample;

use std::io;

use anstream::AutoStream;
use serde_json::Value;

use crate::event::{Event, Report, RunReport};
pub use destination::Destination;
pub use text::{escape, shell_quote};

/// Something that shows a run.
pub trait Reporter {
    /// Takes note of an event, in order; most reporters wait for the end instead.
    fn event(&mut self, event: &Event);

    /// Shows the outcome. It is called once, last.
    ///
    /// # Errors
    ///
    /// The report cannot be written where it should go.
    fn finish(&mut self, report: &Report) -> io::Result<()>;
}

/// The usual reporter: for people, on standard output, with colours where they are welcome.
pub fn terminal(verbose: bool, quiet: bool) -> terminal::Terminal<AutoStream<io::Stdout>> {
    terminal::Terminal::new(terminal::TerminalOptions {
        verbose,
        quiet,
        color: clap::ColorChoice::Auto,
    })
}

/// What the target of a run says of itself in one phrase (`my-server 1.2.0`), escaped; empty if it
/// says nothing.
pub fn target_name(run: &RunReport) -> String {
    let info = match &run.host_info {
        Value::Null => &run.server_info,
        host => host,
    };
    let part = |key: &str| {
        info.get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
    };
    let name = part("name").or_else(|| part("title"));
    let parts: Vec<String> = [name, part("version")]
        .into_iter()
        .flatten()
        .map(|text| text::clip(text, 60))
        .collect();
    parts.join(" ")
}
