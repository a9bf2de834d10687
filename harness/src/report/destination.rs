//! A report that the user asked for: its format, and where it goes.

use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use super::Reporter;
use super::json::Json;
use super::junit::Junit;
use super::output::Output;
use crate::event::Report;

/// A value of `--report`: `json=FILE`, or `json` for standard output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Destination {
    format: Format,
    file: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Json,
    Junit,
}

impl Destination {
    /// Whether the report goes to standard output, where nothing else should be written then.
    pub fn is_stdout(&self) -> bool {
        self.file.is_none()
    }

    /// Writes the report.
    ///
    /// # Errors
    ///
    /// It cannot be written there; the message names the file.
    pub fn write(&self, report: &Report) -> io::Result<()> {
        let output = match &self.file {
            None => Output::stdout(),
            Some(file) => Output::to(file)?,
        };
        match self.format {
            Format::Json => Json::new(output).finish(report),
            Format::Junit => Junit::new(output).finish(report),
        }
    }
}

impl FromStr for Destination {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (format, file) = match text.split_once('=') {
            Some((_, "")) => return Err("expected a file after `=`".into()),
            Some((format, file)) => (format, Some(file)),
            None => (text, None),
        };
        let format = match format {
            "json" => Format::Json,
            "junit" => Format::Junit,
            _ => return Err(format!("unknown format `{format}`; known: json, junit")),
        };
        let file = file.filter(|file| *file != "-").map(PathBuf::from);
        if let Some(file) = &file {
            check(file)?;
        }
        Ok(Self { format, file })
    }
}

fn check(file: &Path) -> Result<(), String> {
    Output::to(file)
        .map(drop)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn formats_and_files_are_told_apart() {
        let stdout = |text: &str| text.parse::<Destination>().unwrap().is_stdout();
        assert!(stdout("json") && stdout("junit=-") && !stdout("json=report.json"));
        for (text, why) in [
            ("xml", "known: json, junit"),
            ("json=", "expected a file"),
            ("json=/no/such/place.json", "/no/such/place.json"),
        ] {
            assert!(text.parse::<Destination>().unwrap_err().contains(why));
        }
    }

    #[test]
    fn each_format_is_written() {
        let directory = tempfile::tempdir().unwrap();
        for (format, begin) in [("json", "{\n  \"schema\""), ("junit", "<?xml")] {
            let path = directory.path().join(format);
            let destination: Destination = format!("{format}={}", path.display()).parse().unwrap();
            destination.write(&sample::report()).unwrap();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(
                text.starts_with(begin) && text.ends_with(">\n") | text.ends_with("}\n"),
                "{text}"
            );
        }
    }
}
