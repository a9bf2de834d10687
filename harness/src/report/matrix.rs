//! Several targets side by side: checks are rows, targets are columns.
//!
//! Children write it down: for the terminal, and as Markdown. The JSON form is the stable machine format `sep2640-conform/matrix/v1`; fields are only ever added.

mod markdown;
mod terminal;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use serde_json::Value;

use super::text::{clip, escape, shell_line, thousands};
use super::{json, target_name};
use crate::event::{
    Catalog, CheckReport, FindingReport, Remark, RemarkKind, Report, RunReport, TargetDescription,
    Tool,
};
use crate::spec::Spec;
use crate::verdict::{Side, Verdict};

/// Several targets side by side.
#[derive(Debug, Serialize)]
pub struct Matrix {
    schema: &'static str,
    tool: Tool,
    /// The day of the runs, `YYYY-MM-DD`.
    date: String,
    /// The worst exit code.
    exit: u8,
    targets: Vec<Column>,
    /// All checks of the sides that were judged, in the order of the specification.
    checks: Vec<Row>,
}

/// A target, whatever its checks say.
#[derive(Debug, Serialize)]
struct Column {
    name: String,
    side: Side,
    target: TargetDescription,
    exit: u8,
    runs: Vec<ColumnRun>,
    /// Revisions that were not run, with the reason.
    skipped: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stale: Vec<String>,
    summary: BTreeMap<Verdict, usize>,
}

/// The run of a target on one revision, without its checks.
#[derive(Debug, Serialize)]
struct ColumnRun {
    protocol: String,
    transport: String,
    server_info: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    host_info: Value,
    duration_ms: u64,
    catalog: Catalog,
    remarks: Vec<Remark>,
    /// What the target calls itself, for people.
    #[serde(skip)]
    title: String,
}

/// A check.
#[derive(Debug, Serialize)]
struct Row {
    id: &'static str,
    side: Side,
    level: String,
    section: String,
    /// The requirement.
    text: String,
    cells: Vec<Cell>,
}

/// What a check says of a target.
#[derive(Debug, Serialize)]
struct Cell {
    target: String,
    /// The worst of the verdicts.
    verdict: Verdict,
    /// The verdict on each revision.
    verdicts: BTreeMap<String, Verdict>,
    /// How many findings there are, over all revisions.
    findings: usize,
    /// The first of them on the revision with the worst verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    first: Option<FindingReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl Matrix {
    /// Puts named reports side by side.
    pub fn new(date: String, exit: u8, reports: Vec<(String, Report)>) -> Self {
        let specs = Spec::get().checks();
        let mut checks: Vec<Row> = Vec::new();
        for side in [Side::Server, Side::Host] {
            let of_side = || reports.iter().filter(|(_, report)| report.side == side);
            let mut seen = BTreeSet::new();
            let all = of_side().flat_map(|(_, report)| report.runs.iter().flat_map(|r| &r.checks));
            for check in all.filter(|check| seen.insert(check.id)) {
                let cells = of_side().filter_map(|(name, report)| cell(name, report, check.id));
                checks.push(Row {
                    id: check.id,
                    side,
                    level: check.level.clone(),
                    section: check.section.clone(),
                    text: specs
                        .get(check.id)
                        .map_or_else(String::new, |spec| spec.rows[0].text.clone()),
                    cells: cells.collect(),
                });
            }
        }
        Self {
            schema: "sep2640-conform/matrix/v1",
            tool: Tool::THIS,
            date,
            exit,
            targets: reports.into_iter().map(column).collect(),
            checks,
        }
    }

    /// The machine format; it always has all checks.
    ///
    /// # Errors
    ///
    /// There are none.
    pub fn json(&self) -> io::Result<String> {
        json::pretty(self)
    }

    fn names(&self, side: Side) -> Vec<&str> {
        let of_side = self.targets.iter().filter(|target| target.side == side);
        of_side.map(|target| target.name.as_str()).collect()
    }

    fn rows(&self, side: Side, all: bool) -> Vec<&Row> {
        self.checks
            .iter()
            .filter(|row| row.side == side && (all || !row.is_quiet()))
            .collect()
    }

    /// A sentence on the rows that are not shown.
    fn rest(&self, side: Side, shown: usize, all: bool) -> String {
        let count = self.checks.iter().filter(|row| row.side == side).count();
        match count - shown {
            _ if count == 0 => format!("No check of the {side} side was run."),
            0 => format!("All {count} checks are shown."),
            hidden if !all => {
                let mut text =
                    format!("{hidden} of {count} checks are not shown: no target breaks them");
                let of_side = self.checks.iter().filter(|row| row.side == side);
                let idle = of_side.filter(|row| row.is_idle()).count();
                if idle > 0 {
                    let _ = write!(
                        text,
                        ", {idle} of them since no target gave anything to judge"
                    );
                }
                text + "."
            }
            _ => String::new(),
        }
    }

    fn legend(&self) -> Vec<String> {
        let cells = || self.checks.iter().flat_map(|row| &row.cells);
        let mut parts = vec![
            "FAIL: a MUST is broken".to_owned(),
            "warn: a SHOULD is broken, or a MUST by the strict reading".to_owned(),
            "note: an observation without weight".to_owned(),
        ];
        let mut also = |verdict, words: &str| {
            if cells().any(|cell| cell.verdict == verdict) {
                parts.push(words.to_owned());
            }
        };
        also(Verdict::Expected, "expected: broken as the baseline says");
        also(
            Verdict::Blocked,
            "blocked: follows from another check's failure",
        );
        also(
            Verdict::NotExercised,
            "–: not exercised, nothing was there to judge",
        );
        also(Verdict::NotApplicable, "n/a: does not apply to the target");
        for (revision, mark) in MARKS {
            if cells().any(|cell| cell.mark() == mark) {
                parts.push(format!("{mark}: on {revision} only"));
            }
        }
        parts
    }
}

/// What marks a verdict that was given on one of two revisions.
const MARKS: [(&str, &str); 2] = [("2026-07-28", "¹"), ("2025-11-25", "²")];

impl Column {
    /// What the target calls itself on its first run, or how it was reached.
    fn title(&self) -> String {
        let named = self.runs.iter().find(|run| !run.title.is_empty());
        match (named, &self.target.command, &self.target.url) {
            (Some(run), ..) => run.title.clone(),
            (None, Some(command), _) => escape(&shell_line(command)),
            (None, None, Some(url)) => escape(url),
            (None, None, None) => String::new(),
        }
    }

    fn revisions(&self) -> String {
        let names: Vec<&str> = self.runs.iter().map(|run| run.protocol.as_str()).collect();
        match self.runs.first() {
            None => "none".to_owned(),
            Some(run) => format!("{} over {}", names.join(", "), run.transport),
        }
    }

    fn words(&self) -> String {
        let mut counts = Vec::new();
        for verdict in Verdict::ALL {
            if let Some(count) = self.summary.get(&verdict) {
                counts.push(format!("{} {}", thousands(*count as u64), verdict.words()));
            }
        }
        let mut parts = vec![
            self.side.to_string(),
            self.title(),
            self.revisions(),
            counts.join(", "),
            format!("exit {}", self.exit),
        ];
        parts.retain(|part| !part.is_empty());
        parts.join(" · ")
    }

    /// What a reader must know to read the verdicts.
    fn remarks(&self) -> Vec<String> {
        // What holds on each revision is said once.
        let mut told: Vec<(Vec<&str>, &str)> = Vec::new();
        for run in &self.runs {
            let kept = |remark: &&Remark| remark.kind != RemarkKind::Restarted;
            for remark in run.remarks.iter().filter(kept) {
                match told.iter_mut().find(|(_, text)| *text == remark.text) {
                    Some((revisions, _)) => revisions.push(&run.protocol),
                    None => told.push((vec![&run.protocol], &remark.text)),
                }
            }
        }
        let mut remarks: Vec<String> = told
            .into_iter()
            .map(|(revisions, text)| format!("{}: {}", revisions.join(", "), clip(text, 300)))
            .collect();
        for (protocol, why) in self.skipped.iter().rev() {
            remarks.push(format!("{protocol} was not run: {}", clip(why, 300)));
        }
        for stale in &self.stale {
            remarks.push(format!(
                "the baseline expects {}, which did not fail",
                escape(stale)
            ));
        }
        remarks
    }
}

impl Row {
    /// Whether nobody breaks it: passed, or not exercised, or not applicable.
    fn is_quiet(&self) -> bool {
        let quiet = |cell: &Cell| cell.verdict == Verdict::Pass || cell.is_idle();
        self.cells.iter().all(quiet)
    }

    /// Whether nobody gave it anything to judge.
    fn is_idle(&self) -> bool {
        self.cells.iter().all(Cell::is_idle)
    }

    fn cell(&self, target: &str) -> Option<&Cell> {
        self.cells.iter().find(|cell| cell.target == target)
    }

    /// The word for a target, and how it looks.
    fn shown(&self, target: &str) -> (String, Style) {
        let Some(cell) = self.cell(target) else {
            return ("not run".to_owned(), Style::new().dimmed());
        };
        let (word, style) = match cell.verdict {
            Verdict::Pass => ("pass", AnsiColor::Green.on_default()),
            Verdict::Fail => ("FAIL", AnsiColor::Red.on_default().bold()),
            Verdict::Warn => ("warn", AnsiColor::Yellow.on_default().bold()),
            Verdict::Note => ("note", AnsiColor::Cyan.on_default()),
            Verdict::Expected => ("expected", AnsiColor::Yellow.on_default()),
            Verdict::Blocked => ("blocked", Style::new().dimmed()),
            Verdict::NotExercised => ("–", Style::new().dimmed()),
            Verdict::NotApplicable => ("n/a", Style::new().dimmed()),
        };
        (format!("{word}{}", cell.mark()), style)
    }
}

impl Cell {
    fn is_idle(&self) -> bool {
        matches!(self.verdict, Verdict::NotExercised | Verdict::NotApplicable)
    }

    /// A mark where the verdict was given on one of two revisions.
    fn mark(&self) -> &'static str {
        let on = |revision: &str| self.verdicts.get(revision) == Some(&self.verdict);
        let plain = matches!(self.verdict, Verdict::Pass | Verdict::NotApplicable);
        if plain || self.verdicts.len() < 2 {
            return "";
        }
        let mut only = MARKS.iter().filter(|(revision, _)| on(revision));
        match (only.next(), only.next()) {
            (Some((_, mark)), None) => mark,
            _ => "",
        }
    }
}

fn column((name, report): (String, Report)) -> Column {
    let run = |run: RunReport| ColumnRun {
        title: target_name(&run),
        protocol: run.protocol,
        transport: run.transport,
        server_info: run.server_info,
        host_info: run.host_info,
        duration_ms: run.duration_ms,
        catalog: run.catalog,
        remarks: run.remarks,
    };
    Column {
        name,
        side: report.side,
        target: report.target,
        exit: report.exit,
        runs: report.runs.into_iter().map(run).collect(),
        skipped: report.skipped,
        stale: report.stale,
        summary: report.summary,
    }
}

fn cell(name: &str, report: &Report, id: &str) -> Option<Cell> {
    let of_run = |run: &'_ RunReport| -> Option<CheckReport> {
        run.checks.iter().find(|check| check.id == id).cloned()
    };
    let judged: Vec<(&str, CheckReport)> = report
        .runs
        .iter()
        .filter_map(|run| Some((run.protocol.as_str(), of_run(run)?)))
        .collect();
    let (_, worst) = judged.iter().max_by_key(|(_, check)| rank(check.verdict))?;
    Some(Cell {
        target: name.to_owned(),
        verdict: worst.verdict,
        verdicts: judged
            .iter()
            .map(|(protocol, check)| ((*protocol).to_owned(), check.verdict))
            .collect(),
        findings: judged.iter().map(|(_, check)| check.findings.len()).sum(),
        first: worst.findings.first().cloned(),
        reason: worst.reason.clone(),
    })
}

/// Which of the verdicts on two revisions stands for both.
fn rank(verdict: Verdict) -> usize {
    const ORDER: [Verdict; 8] = [
        Verdict::NotApplicable,
        Verdict::Pass,
        Verdict::NotExercised,
        Verdict::Note,
        Verdict::Expected,
        Verdict::Blocked,
        Verdict::Warn,
        Verdict::Fail,
    ];
    ORDER.iter().position(|one| *one == verdict).unwrap_or(0)
}
