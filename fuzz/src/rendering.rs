//! Reports made of hostile text.

use std::collections::BTreeMap;

use sep2640_conform::event::{
    Catalog, CheckReport, FindingReport, Remark, RemarkKind, Report, RunReport, TargetDescription,
    Tool,
};
use sep2640_conform::report::Reporter;
use sep2640_conform::report::json::pretty;
use sep2640_conform::report::terminal::{Terminal, TerminalOptions};
use sep2640_conform::report::text::{is_hidden, shell_quote};
use sep2640_conform::verdict::{Severity, Side, Verdict};
use sep2640_conform::wire::trace::Place;
use serde_json::json;

/// How much of the input goes into a report.
const SHOWN: usize = 64;

/// How many forms of a report there are.
pub const FORMS: u8 = 4;

/// How many places of a report [`fill`] knows.
pub const PLACES: u8 = 18;

/// Whatever a target says, no report has a control or bidi character of it. The first byte chooses
/// the form of the report, the second one the place of the text: one place at a time, so that a
/// report is small and a place that leaks is not hidden behind another one.
pub fn report(data: &[u8]) {
    let [form, place, text @ ..] = data else {
        return;
    };
    let text = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]);
    let shown = match form % FORMS {
        0 => terminal(&hostile(*place, &text), true),
        1 => terminal(&hostile(*place, &text), false),
        2 => json(&hostile(*place, &text)),
        _ => shell_quote(&text),
    };
    let hidden = |(_, c): &(usize, char)| is_hidden(*c) && *c != '\n';
    if let Some((at, c)) = shown.char_indices().find(hidden) {
        let line = shown[..at].rsplit('\n').next().unwrap_or_default();
        let start: String = line.chars().take(40).collect();
        panic!("{c:?} in a line that begins with {start:?}");
    }
}

fn terminal(report: &Report, verbose: bool) -> String {
    let mut shown = Vec::new();
    let options = TerminalOptions {
        verbose,
        quiet: false,
        ..TerminalOptions::default()
    };
    if let Err(error) = Terminal::with_writer(options, &mut shown).finish(report) {
        panic!("{error}");
    }
    String::from_utf8(shown).unwrap_or_else(|error| panic!("{error}"))
}

fn json(report: &Report) -> String {
    let json = pretty(report).unwrap_or_else(|error| panic!("{error}"));
    let back: Result<serde_json::Value, _> = serde_json::from_str(&json);
    assert!(back.is_ok(), "{json}");
    json
}

/// A report with the text in one place.
fn hostile(place: u8, text: &str) -> Report {
    let mut report = harmless();
    fill(&mut report, place % PLACES, text.to_owned());
    report
}

fn fill(report: &mut Report, place: u8, text: String) {
    let run = &mut report.runs[0];
    let [failed, other] = &mut run.checks[..] else {
        return;
    };
    let finding = &mut failed.findings[0];
    match place {
        0 => finding.at.pointer = format!("/{text}"),
        1 => finding.scenario = Some(text),
        2 => finding.subject = text,
        3 => finding.expected = text,
        4 => finding.actual = text,
        5 => finding.replay = shell_quote(&text),
        6 => failed.reason = Some(text),
        7 => other.reason = Some(text),
        8 => run.server_info = json!({"name": text}),
        9 => run.server_info = json!({"name": "a", "version": text}),
        10 => run.host_info = json!({"name": text}),
        11 => run.host_info = json!({"title": text}),
        12 => run.unimplemented = vec![text],
        13 => run.remarks[0].text = text,
        14 => report.target.command = Some(vec![text]),
        15 => report.target.url = Some(text),
        16 => report.skipped = BTreeMap::from([(text.clone(), text)]),
        _ => report.stale = vec![text],
    }
}

/// A report with something to show in every part.
fn harmless() -> Report {
    let finding = FindingReport {
        at: Place {
            frame: 1,
            pointer: String::new(),
        },
        scenario: None,
        subject: "a".into(),
        expected: "b".into(),
        actual: "c".into(),
        fingerprint: "c7f2a1".into(),
        replay: String::new(),
    };
    let failed = check(
        "sep-2640-resources-digest-accurate",
        Verdict::Fail,
        vec![finding],
    );
    let other = check(
        "sep-2640-resources-size-accurate",
        Verdict::NotExercised,
        Vec::new(),
    );
    let run = RunReport {
        protocol: "2026-07-28".into(),
        transport: "stdio".into(),
        server_info: json!(null),
        host_info: json!(null),
        unimplemented: Vec::new(),
        duration_ms: 1,
        catalog: Catalog::default(),
        remarks: vec![Remark {
            kind: RemarkKind::ExtensionAbsent,
            text: String::new(),
        }],
        checks: vec![failed, other],
    };
    Report {
        schema: "sep2640-conform/report/v1",
        tool: Tool::THIS,
        side: Side::Server,
        target: TargetDescription::default(),
        seed: 1,
        exit: 1,
        runs: vec![run],
        skipped: BTreeMap::new(),
        stale: Vec::new(),
        summary: BTreeMap::from([(Verdict::Fail, 1)]),
    }
}

fn check(id: &'static str, verdict: Verdict, findings: Vec<FindingReport>) -> CheckReport {
    CheckReport {
        id,
        level: "MUST".into(),
        severity: Severity::Fail,
        section: "#resources".into(),
        examined: 1,
        verdict,
        reason: None,
        findings,
    }
}
