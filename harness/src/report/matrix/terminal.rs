//! A matrix for people.

use std::fmt::Write as _;

use anstyle::Style;

use super::Matrix;
use crate::report::text::{escape, plural};
use crate::verdict::Side;

impl Matrix {
    /// For people, with colours; with `all` also the checks that nobody breaks.
    pub fn terminal(&self, all: bool) -> String {
        let bold = Style::new().bold();
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "{bold}{} {}{bold:#} · {} · {}\n",
            self.tool.name,
            self.tool.version,
            plural(self.targets.len(), "target"),
            self.date
        );
        let width = self.targets.iter().map(|t| chars(&t.name)).max();
        let width = width.unwrap_or(0);
        for target in &self.targets {
            let _ = writeln!(out, "{}  {}", pad(&target.name, width), target.words());
            for remark in target.remarks() {
                let _ = writeln!(out, "{}  {remark}", pad("", width));
            }
        }
        for side in [Side::Server, Side::Host] {
            let names = self.names(side);
            let rows = self.rows(side, all);
            if names.is_empty() {
                continue;
            }
            if !rows.is_empty() {
                let id = rows.iter().map(|row| row.id.len()).max().unwrap_or(0);
                let widths: Vec<usize> = names.iter().map(|name| chars(name).max(8)).collect();
                let _ = write!(out, "\n{bold}{}", pad(&format!("{side} checks"), id + 12));
                for (name, width) in names.iter().zip(&widths) {
                    let _ = write!(out, "  {}", pad(name, *width));
                }
                out.truncate(out.trim_end().len());
                let _ = writeln!(out, "{bold:#}");
                for row in &rows {
                    let _ = write!(out, "{}  {}", pad(&row.level, 10), pad(row.id, id));
                    for (name, width) in names.iter().zip(&widths) {
                        let (word, style) = row.shown(name);
                        let gap = width.saturating_sub(chars(&word));
                        let _ = write!(out, "  {style}{word}{style:#}{:gap$}", "");
                    }
                    out.truncate(out.trim_end().len());
                    out.push('\n');
                }
            }
            let _ = writeln!(out, "\n{}", self.rest(side, rows.len(), all));
        }
        let _ = writeln!(out, "\n{}", self.legend().join("\n"));
        out
    }
}

fn chars(text: &str) -> usize {
    escape(text).chars().count()
}

fn pad(text: &str, width: usize) -> String {
    format!("{:width$}", escape(text))
}
