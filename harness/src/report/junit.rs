//! The report as JUnit XML, for continuous integration: one suite a run, one case a check.

use std::fmt::Write as _;
use std::io;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Property, TestCase, TestCaseStatus, TestSuite};

use super::output::Output;
use super::{Reporter, escape, target_name};
use crate::event::{CheckReport, Event, Report, RunReport};
use crate::verdict::Verdict;

/// Writes JUnit XML.
pub struct Junit {
    output: Output,
}

impl Junit {
    /// A reporter that writes to `output`.
    pub fn new(output: Output) -> Self {
        Self { output }
    }
}

impl Reporter for Junit {
    fn event(&mut self, _: &Event) {}

    fn finish(&mut self, report: &Report) -> io::Result<()> {
        let mut text = document(report).to_string().map_err(io::Error::other)?;
        if !text.ends_with('\n') {
            text.push('\n');
        }
        self.output.write(text.as_bytes())
    }
}

fn document(report: &Report) -> quick_junit::Report {
    let mut document = quick_junit::Report::new(report.tool.name);
    let time = report.runs.iter().map(|run| run.duration_ms).sum();
    document.set_time(Duration::from_millis(time));
    for run in &report.runs {
        document.add_test_suite(suite(report, run));
    }
    for (protocol, why) in &report.skipped {
        let mut suite = TestSuite::new(format!("{} {protocol}", report.side));
        suite.set_system_out(format!("not run: {}", escape(why)));
        document.add_test_suite(suite);
    }
    document
}

fn suite(report: &Report, run: &RunReport) -> TestSuite {
    let mut suite = TestSuite::new(format!(
        "{} {} {}",
        report.side, run.protocol, run.transport
    ));
    suite.set_time(Duration::from_millis(run.duration_ms));
    let name = target_name(run);
    for (key, value) in [
        (
            "tool",
            format!("{} {}", report.tool.name, report.tool.version),
        ),
        ("seed", report.seed.to_string()),
        ("target", name),
    ] {
        if !value.is_empty() {
            suite.add_property(Property::new(key, value));
        }
    }
    if !run.remarks.is_empty() {
        let remarks: Vec<String> = run
            .remarks
            .iter()
            .map(|remark| escape(&remark.text))
            .collect();
        suite.set_system_out(remarks.join("\n"));
    }
    let class = format!("{}.{}.{}", report.side, run.protocol, run.transport);
    for check in &run.checks {
        let mut case = case(check);
        case.set_classname(class.as_str())
            .set_assertions(check.examined);
        suite.add_test_case(case);
    }
    suite
}

fn case(check: &CheckReport) -> TestCase {
    let headline = format!("{} {}", check.level, check.section);
    match check.verdict {
        Verdict::Pass => TestCase::new(check.id, TestCaseStatus::success()),
        Verdict::Warn | Verdict::Note => {
            let mut case = TestCase::new(check.id, TestCaseStatus::success());
            case.set_system_out(format!(
                "{} · {headline}\n{}",
                check.verdict.words(),
                findings(check)
            ));
            case
        }
        Verdict::Fail => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            let places = check.findings.len();
            status
                .set_message(format!(
                    "{headline} · {places} of {}",
                    check.examined.max(places)
                ))
                .set_type(check.level.as_str())
                .set_description(findings(check));
            TestCase::new(check.id, status)
        }
        Verdict::Expected => {
            let mut status = TestCaseStatus::skipped();
            status
                .set_message(format!("expected by the baseline · {headline}"))
                .set_description(findings(check));
            TestCase::new(check.id, status)
        }
        Verdict::Blocked | Verdict::NotExercised | Verdict::NotApplicable => {
            let mut status = TestCaseStatus::skipped();
            status.set_message(match &check.reason {
                Some(reason) => format!("{}: {}", check.verdict.words(), escape(reason)),
                None => check.verdict.words(),
            });
            TestCase::new(check.id, status)
        }
    }
}

fn findings(check: &CheckReport) -> String {
    let mut text = String::new();
    for finding in &check.findings {
        let _ = writeln!(
            text,
            "{}\n  expected  {}\n  actual    {}\n  at        {}\n  again     {}",
            escape(&finding.subject),
            escape(&finding.expected),
            escape(&finding.actual),
            escape(&finding.place()),
            escape(&finding.replay),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    fn xml() -> String {
        document(&sample::report()).to_string().unwrap()
    }

    #[test]
    fn each_verdict_has_its_status() {
        let report = sample::report();
        let document = document(&report);
        let suite = &document.test_suites[0];
        assert_eq!(suite.name.as_str(), "server 2026-07-28 stdio");
        assert_eq!(suite.test_cases.len(), report.runs[0].checks.len());
        for (case, check) in suite.test_cases.iter().zip(&report.runs[0].checks) {
            assert_eq!(case.name.as_str(), check.id);
            let right = match check.verdict {
                Verdict::Pass | Verdict::Warn | Verdict::Note => {
                    matches!(case.status, TestCaseStatus::Success { .. })
                }
                Verdict::Fail => matches!(
                    case.status,
                    TestCaseStatus::NonSuccess {
                        kind: NonSuccessKind::Failure,
                        ..
                    }
                ),
                _ => matches!(case.status, TestCaseStatus::Skipped { .. }),
            };
            assert!(right, "{}", check.id);
        }
        assert!(
            suite.test_cases[2]
                .system_out
                .as_ref()
                .unwrap()
                .as_str()
                .contains("b before a")
        );
    }

    #[test]
    fn what_a_target_says_cannot_break_the_document() {
        let mut report = sample::report();
        report.runs[0].checks[1].findings[0].actual =
            "]]></failure><x a='\"\u{0}\u{b}\u{fffe}&".into();
        report.runs[1].remarks[0].text = "<\u{1}>".into();
        let text = document(&report).to_string().unwrap();
        assert!(
            text.chars()
                .all(|c| c == '\n' || !super::super::text::is_hidden(c)),
            "{text}"
        );
        assert!(
            !text.contains("<x") && text.contains("\\u{0}\\u{b}\\u{fffe}"),
            "{text}"
        );
        let back = quick_junit::Report::deserialize_from_str(&text).unwrap();
        assert_eq!(back.test_suites.len(), 3);
    }

    #[test]
    fn reasons_and_skipped_revisions_are_told() {
        let text = xml();
        assert!(
            text.contains("not exercised: the listing has one page"),
            "{text}"
        );
        assert!(
            text.contains("blocked: follows from sep-2640-digest"),
            "{text}"
        );
        assert!(
            text.contains("not run: the target\\ndoes not speak it"),
            "{text}"
        );
        assert!(text.contains("MUST #resources · 4 of 40"), "{text}");
    }
}
