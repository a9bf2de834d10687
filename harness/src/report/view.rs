//! A report in words and colours: what the terminal reporter writes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

use super::target_name;
use super::terminal::TerminalOptions;
use super::text::{clip, escape, plural, shell_line, thousands, wrap};
use crate::event::{CheckReport, FindingReport, RemarkKind, Report, RunReport};
use crate::spec::Spec;
use crate::verdict::Verdict;

/// How many findings of a check are shown unless all are wanted.
const FINDINGS: usize = 3;
/// How many characters of a value are shown unless all are wanted.
const CHARACTERS: usize = 300;

/// The styles of what is told.
#[derive(Debug, Clone, Copy)]
pub(super) struct Palette {
    title: Style,
    good: Style,
    fail: Style,
    warn: Style,
    note: Style,
    dim: Style,
}

impl Palette {
    pub(super) const PLAIN: Palette = Palette {
        title: Style::new(),
        good: Style::new(),
        fail: Style::new(),
        warn: Style::new(),
        note: Style::new(),
        dim: Style::new(),
    };
    pub(super) const COLOURED: Palette = Palette {
        title: Style::new().bold(),
        good: AnsiColor::Green.on_default().bold(),
        fail: AnsiColor::Red.on_default().bold(),
        warn: AnsiColor::Yellow.on_default().bold(),
        note: AnsiColor::Cyan.on_default(),
        dim: Style::new().dimmed(),
    };
}

/// Everything that is needed to put a report into words.
pub(super) struct View<'a> {
    pub(super) options: TerminalOptions,
    pub(super) palette: Palette,
    pub(super) width: usize,
    /// What the checks are about.
    pub(super) spec: &'a Spec,
}

/// Writing to a string cannot fail.
type Done = std::fmt::Result;

impl View<'_> {
    /// The whole report.
    pub(super) fn report(&self, out: &mut String, report: &Report) -> Done {
        let title = self.palette.title;
        if !self.options.quiet {
            write!(
                out,
                "{title}{} {}{title:#} · {}",
                report.tool.name, report.tool.version, report.side
            )?;
            match (&report.target.command, &report.target.url) {
                (Some(command), _) => writeln!(out, " · `{}`", escape(&shell_line(command)))?,
                (None, Some(url)) => writeln!(out, " · {}", escape(url))?,
                (None, None) => out.push('\n'),
            }
            out.push('\n');
        }
        for run in &report.runs {
            let failed = run
                .checks
                .iter()
                .any(|check| check.verdict == Verdict::Fail);
            if !self.options.quiet || failed || report.exit > 1 {
                self.run(out, run, report.exit)?;
                out.push('\n');
            }
        }
        if !self.options.quiet {
            for (protocol, why) in report.skipped.iter().rev() {
                writeln!(out, "{} was not run: {}", escape(protocol), escape(why))?;
            }
        }
        self.closing(out, report)
    }

    fn run(&self, out: &mut String, run: &RunReport, exit: u8) -> Done {
        let Palette { title, warn, .. } = self.palette;
        write!(
            out,
            "{title}{}{title:#} over {}",
            run.protocol, run.transport
        )?;
        let name = target_name(run);
        if !name.is_empty() {
            write!(out, " · {name}")?;
        }
        if !self.options.quiet {
            let catalog = &run.catalog;
            if catalog.skills > 0 || catalog.files > 0 {
                let sampled = if catalog.sampled { " (sampled)" } else { "" };
                let (skills, files) = (
                    plural(catalog.skills, "skill"),
                    plural(catalog.files, "file"),
                );
                write!(out, " · {skills}, {files}{sampled}")?;
                if catalog.bytes > 0 {
                    write!(out, ", {} bytes", thousands(catalog.bytes))?;
                }
            }
            write!(out, " · {} ms", thousands(run.duration_ms))?;
        }
        out.push('\n');
        if !self.options.quiet || exit > 1 {
            for remark in &run.remarks {
                writeln!(out, "  {warn}!{warn:#}     {}", escape(&remark.text))?;
            }
        }
        let shown: &[Verdict] = if self.options.quiet {
            &[Verdict::Fail]
        } else {
            &[Verdict::Fail, Verdict::Warn, Verdict::Note]
        };
        for verdict in shown {
            for check in run.checks.iter().filter(|check| check.verdict == *verdict) {
                self.check(out, check)?;
            }
        }
        if self.options.quiet {
            return Ok(());
        }
        if self.options.verbose {
            self.groups(out, run, Verdict::Pass)?;
        }
        for verdict in [
            Verdict::Expected,
            Verdict::Blocked,
            Verdict::NotExercised,
            Verdict::NotApplicable,
        ] {
            self.groups(out, run, verdict)?;
        }
        writeln!(out, "  {}", self.counts(run))
    }

    fn check(&self, out: &mut String, check: &CheckReport) -> Done {
        let (label, style) = match check.verdict {
            Verdict::Fail => ("FAIL", self.palette.fail),
            Verdict::Warn => ("WARN", self.palette.warn),
            _ => ("note", self.palette.note),
        };
        let Palette { title, dim, .. } = self.palette;
        let places = check.findings.len();
        writeln!(
            out,
            "  {style}{label}{style:#}  {title}{}{title:#} · {} · {} · {} of {}",
            check.id,
            check.level,
            check.section,
            thousands(places as u64),
            thousands(check.examined.max(places) as u64),
        )?;
        if let Some(sentence) = self.spec.sentence(check.id) {
            writeln!(out, "{}", wrap(sentence, 8, 8, self.width))?;
        }
        let shown = if self.options.verbose {
            places
        } else {
            FINDINGS
        };
        for (index, finding) in check.findings.iter().take(shown).enumerate() {
            let new = index == 0 || check.findings[index - 1].subject != finding.subject;
            self.finding(out, finding, new)?;
        }
        if places > shown {
            let more = plural(places - shown, "more place");
            writeln!(
                out,
                "        {dim}… and {more} (--verbose shows all){dim:#}"
            )?;
        }
        if let Some(finding) = check
            .findings
            .first()
            .filter(|finding| !finding.replay.is_empty())
        {
            writeln!(
                out,
                "        {dim}again{dim:#}     {}",
                escape(&finding.replay)
            )?;
        }
        Ok(())
    }

    fn finding(&self, out: &mut String, finding: &FindingReport, new_subject: bool) -> Done {
        let dim = self.palette.dim;
        let limit = if self.options.verbose {
            usize::MAX
        } else {
            CHARACTERS
        };
        if new_subject && !finding.subject.is_empty() {
            writeln!(out, "        {}", clip(&finding.subject, limit))?;
        }
        let place = finding.place();
        for (key, value) in [
            ("expected", &finding.expected),
            ("actual", &finding.actual),
            ("at", &place),
        ] {
            if !value.is_empty() {
                writeln!(out, "          {dim}{key:8}{dim:#}  {}", clip(value, limit))?;
            }
        }
        Ok(())
    }

    /// The checks with one of the verdicts that say nothing of the target, by reason.
    fn groups(&self, out: &mut String, run: &RunReport, verdict: Verdict) -> Done {
        let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
        for check in run.checks.iter().filter(|check| check.verdict == verdict) {
            let reason = check.reason.as_deref().unwrap_or_default();
            match groups.iter_mut().find(|(known, _)| *known == reason) {
                Some((_, ids)) => ids.push(check.id),
                None => groups.push((reason, vec![check.id])),
            }
        }
        if groups.is_empty() {
            return Ok(());
        }
        let dim = self.palette.dim;
        let total: usize = groups.iter().map(|(_, ids)| ids.len()).sum();
        let words = match verdict {
            Verdict::Expected => "expected by the baseline".to_owned(),
            Verdict::Pass => "passed".to_owned(),
            other => other.words(),
        };
        writeln!(out, "  {dim}{words} ({total}){dim:#}")?;
        let said = |kind| run.remarks.iter().any(|remark| remark.kind == kind);
        // A remark has told of all of them.
        let told = match verdict {
            Verdict::NotApplicable => said(RemarkKind::ExtensionAbsent),
            Verdict::NotExercised => said(RemarkKind::Stopped),
            _ => false,
        };
        for (reason, ids) in groups {
            let whole = told || ids.len() == run.checks.len();
            let names = if whole && ids.len() > 1 && !self.options.verbose {
                plural(ids.len(), "check")
            } else {
                ids.join(", ")
            };
            let line = match reason {
                "" => names,
                reason => format!("{}: {names}", escape(reason)),
            };
            writeln!(out, "{}", wrap(&line, 8, 10, self.width))?;
        }
        Ok(())
    }

    fn counts(&self, run: &RunReport) -> String {
        let mut counts: BTreeMap<Verdict, usize> = BTreeMap::new();
        for check in &run.checks {
            *counts.entry(check.verdict).or_default() += 1;
        }
        let parts: Vec<String> = Verdict::ALL
            .into_iter()
            .filter_map(|verdict| counts.get(&verdict).map(|count| (verdict, *count)))
            .map(|(verdict, count)| {
                let (text, style) = match verdict {
                    Verdict::Pass => (format!("{count} passed"), self.palette.good),
                    Verdict::Fail => (format!("{count} failed"), self.palette.fail),
                    Verdict::Warn => (plural(count, "warning"), self.palette.warn),
                    Verdict::Note => (plural(count, "note"), self.palette.note),
                    other => (format!("{count} {}", other.words()), self.palette.dim),
                };
                format!("{style}{text}{style:#}")
            })
            .collect();
        if parts.is_empty() {
            return "no checks".into();
        }
        parts.join(" · ")
    }

    fn closing(&self, out: &mut String, report: &Report) -> Done {
        let failed: Vec<String> = report
            .runs
            .iter()
            .map(|run| {
                (
                    run,
                    run.checks
                        .iter()
                        .filter(|check| check.verdict == Verdict::Fail)
                        .count(),
                )
            })
            .filter(|(_, count)| *count > 0)
            .map(|(run, count)| format!("{} failed on {}", plural(count, "check"), run.protocol))
            .collect();
        let failed = failed.join(", ");
        let judged = |run: &&RunReport| {
            let told = [
                Verdict::Pass,
                Verdict::Warn,
                Verdict::Note,
                Verdict::Expected,
            ];
            run.checks.iter().any(|check| told.contains(&check.verdict))
        };
        let ran: BTreeSet<&str> = report
            .runs
            .iter()
            .filter(judged)
            .map(|run| run.protocol.as_str())
            .collect();
        let ran: Vec<&str> = ran.into_iter().rev().collect();
        let text = match report.exit {
            0 => format!("Conformant on {}.", ran.join(" and ")),
            1 if failed.is_empty() && report.stale.is_empty() => {
                "Not what was required: the adapter lacks verbs that --require names.".into()
            }
            1 if failed.is_empty() => {
                "Not as the baseline says: what it expects to fail did not.".into()
            }
            1 => format!("Not conformant: {failed}."),
            2 => "The arguments, a scenario or the baseline cannot be used.".into(),
            3 if failed.is_empty() => "The target could not be started, or was lost.".into(),
            3 => format!("The target was lost; before that, {failed}."),
            4 if too_little(report) => {
                "Too little was exercised: what passed says nothing of the rest.".into()
            }
            4 => "Nothing was exercised: this run says nothing of the target.".into(),
            130 => "Interrupted: the verdicts are incomplete.".into(),
            _ => "A fault of the harness itself, not of the target; please report it.".into(),
        };
        if !report.stale.is_empty() {
            let names = escape(&report.stale.join(", "));
            writeln!(out, "Stale in the baseline, since it did not fail: {names}")?;
        }
        let style = match report.exit {
            0 => self.palette.good,
            4 => self.palette.warn,
            _ => self.palette.fail,
        };
        let dim = self.palette.dim;
        writeln!(
            out,
            "{style}{text}{style:#} {dim}(exit code {}){dim:#}",
            report.exit
        )
    }
}

/// Whether some checks passed in a run whose host gave the others nothing to judge.
fn too_little(report: &Report) -> bool {
    let passed = |run: &RunReport| {
        run.checks
            .iter()
            .any(|check| check.verdict == Verdict::Pass)
    };
    let lacks = |run: &RunReport| {
        let mut remarks = run.remarks.iter();
        remarks.any(|remark| remark.kind == RemarkKind::NoWitness)
    };
    report.runs.iter().any(|run| passed(run) && lacks(run))
}
