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

/// How much of the input goes into a report: it does so in a dozen places.
const SHOWN: usize = 64;

/// Whatever a target says, no report has a control or bidi character of it. The first byte chooses
/// the form of the report.
pub fn report(data: &[u8]) {
    let (form, text) = data.split_first().unwrap_or((&0, data));
    let text = String::from_utf8_lossy(&text[..text.len().min(SHOWN)]);
    let shown = match form % 4 {
        0 => terminal(&text, true),
        1 => terminal(&text, false),
        2 => {
            let json = pretty(&hostile(&text)).unwrap_or_else(|error| panic!("{error}"));
            let back: Result<serde_json::Value, _> = serde_json::from_str(&json);
            assert!(back.is_ok(), "{json}");
            json
        }
        _ => shell_quote(&text),
    };
    let hidden = |(_, c): &(usize, char)| is_hidden(*c) && *c != '\n';
    if let Some((at, c)) = shown.char_indices().find(hidden) {
        let line = shown[..at].rsplit('\n').next().unwrap_or_default();
        let start: String = line.chars().take(40).collect();
        panic!("{c:?} in a line that begins with {start:?}");
    }
}

fn terminal(text: &str, verbose: bool) -> String {
    let mut shown = Vec::new();
    let options = TerminalOptions {
        verbose,
        quiet: false,
        ..TerminalOptions::default()
    };
    if let Err(error) = Terminal::with_writer(options, &mut shown).finish(&hostile(text)) {
        panic!("{error}");
    }
    String::from_utf8(shown).unwrap_or_else(|error| panic!("{error}"))
}

fn hostile(text: &str) -> Report {
    let finding = FindingReport {
        at: Place {
            frame: 1,
            pointer: format!("/{text}"),
        },
        scenario: Some(text.to_owned()),
        subject: text.to_owned(),
        expected: text.to_owned(),
        actual: text.to_owned(),
        fingerprint: "c7f2a1".into(),
        replay: shell_quote(text),
    };
    let check = CheckReport {
        id: "sep-2640-resources-digest-accurate",
        level: "MUST".into(),
        severity: Severity::Fail,
        section: "#resources".into(),
        examined: 1,
        verdict: Verdict::Fail,
        reason: Some(text.to_owned()),
        findings: vec![finding],
    };
    let run = RunReport {
        protocol: "2026-07-28".into(),
        transport: "stdio".into(),
        server_info: json!({"name": text, "version": text}),
        host_info: json!({"name": text}),
        unimplemented: vec![text.to_owned()],
        duration_ms: 1,
        catalog: Catalog::default(),
        remarks: vec![Remark {
            kind: RemarkKind::ExtensionAbsent,
            text: text.to_owned(),
        }],
        checks: vec![check],
    };
    Report {
        schema: "sep2640-conform/report/v1",
        tool: Tool::THIS,
        side: Side::Server,
        target: TargetDescription {
            command: Some(vec![text.to_owned()]),
            url: None,
        },
        seed: 1,
        exit: 1,
        runs: vec![run],
        skipped: BTreeMap::from([(text.to_owned(), text.to_owned())]),
        stale: vec![text.to_owned()],
        summary: BTreeMap::from([(Verdict::Fail, 1)]),
    }
}
