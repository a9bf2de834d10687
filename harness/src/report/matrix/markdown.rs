//! A matrix as a page for documentation.

use std::fmt::Write as _;

use super::{Matrix, Row};
use crate::report::text::{clip, escape, plural};
use crate::verdict::{Side, Verdict};

/// How many characters of a value are shown.
const CHARACTERS: usize = 160;

impl Matrix {
    /// A page for documentation.
    pub fn markdown(&self, all: bool) -> String {
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = writeln!(
            out,
            "# SEP-2640 conformance of {}\n\nJudged on {} with {} {}.\n",
            plural(self.targets.len(), "implementation"),
            self.date,
            self.tool.name,
            self.tool.version
        );
        out.push_str(
            "| | implementation | side | revisions | pass | fail | warn | note | – | other | exit |\n",
        );
        out.push_str("|---|---|---|---|--:|--:|--:|--:|--:|--:|--:|\n");
        for target in &self.targets {
            let count = |verdict| target.summary.get(&verdict).copied().unwrap_or(0);
            let told = [
                Verdict::Pass,
                Verdict::Fail,
                Verdict::Warn,
                Verdict::Note,
                Verdict::NotExercised,
            ]
            .map(count);
            let all: usize = target.summary.values().sum();
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {} | {} |",
                markdown(&target.name),
                markdown(&target.title()),
                target.side,
                markdown(&target.revisions()),
                told.map(|count| count.to_string()).join(" | "),
                all - told.iter().sum::<usize>(),
                target.exit,
            );
        }
        let remarks: Vec<String> = (self.targets.iter())
            .flat_map(|target| {
                let remarks = target.remarks().into_iter();
                remarks
                    .map(|remark| format!("- {}: {}\n", markdown(&target.name), markdown(&remark)))
            })
            .collect();
        if !remarks.is_empty() {
            let _ = write!(out, "\n{}", remarks.concat());
        }
        for side in [Side::Server, Side::Host] {
            let names = self.names(side);
            if names.is_empty() {
                continue;
            }
            let rows = self.rows(side, all);
            let _ = writeln!(out, "\n## Checks of the {side} side\n");
            if !rows.is_empty() {
                let heads = names.iter().map(|name| format!(" {} |", markdown(name)));
                let _ = writeln!(out, "| check | level |{}", heads.collect::<String>());
                let _ = writeln!(out, "|---|---|{}", "---|".repeat(names.len()));
                for row in &rows {
                    let cells = names.iter().map(|name| match row.shown(name).0 {
                        word if word.starts_with("FAIL") => format!(" **{word}** |"),
                        word => format!(" {word} |"),
                    });
                    let cells: String = cells.collect();
                    let _ = writeln!(out, "| `{}` | {} |{cells}", row.id, row.level);
                }
                out.push('\n');
            }
            let _ = writeln!(out, "{}", self.rest(side, rows.len(), all));
            let found: String = rows.iter().map(|row| row.found()).collect();
            if !found.is_empty() {
                let _ = write!(out, "\n### What was found\n\n{found}");
            }
        }
        let _ = writeln!(out, "\n{}", self.legend().join(" · "));
        out
    }
}

impl Row {
    /// The findings of the row as a list, for Markdown.
    fn found(&self) -> String {
        let mut lines = String::new();
        for cell in &self.cells {
            let Some(first) = &cell.first else { continue };
            let clip = |text: &str| markdown_raw(&clip(text, CHARACTERS));
            let _ = write!(
                lines,
                "  - {}: {}: expected {}, found {}",
                markdown(&cell.target),
                clip(&first.subject),
                clip(&first.expected),
                clip(&first.actual)
            );
            if cell.findings > 1 {
                let _ = write!(lines, " (and {} more)", cell.findings - 1);
            }
            if cell.verdict == Verdict::Fail {
                let _ = write!(lines, "; again: {}", code(&escape(&first.replay)));
            }
            lines.push('\n');
        }
        if lines.is_empty() {
            return lines;
        }
        let text = markdown(&self.text.split_whitespace().collect::<Vec<_>>().join(" "));
        format!("- `{}` ({}): {text}\n{lines}", self.id, self.level)
    }
}

/// Text for Markdown, in which nothing is markup.
fn markdown(text: &str) -> String {
    markdown_raw(&escape(text))
}

/// Text that stands as it is, whatever is in it.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    match longest {
        0 => format!("{fence}{text}{fence}"),
        _ => format!("{fence} {text} {fence}"),
    }
}

fn markdown_raw(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '~' => {
                escaped.push('\\');
                escaped.push(c);
            }
            c => escaped.push(c),
        }
    }
    escaped
}
