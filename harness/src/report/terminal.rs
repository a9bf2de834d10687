//! The report for people, on standard output.

use std::io::{self, Stdout, Write};

use anstream::AutoStream;
use clap::ColorChoice;

use super::Reporter;
use super::progress::Progress;
use super::text::columns;
use super::view::{Palette, View};
use crate::event::{Event, Report};
use crate::spec::Spec;

/// What to show, and how.
#[derive(Debug, Clone, Copy, Default)]
pub struct TerminalOptions {
    /// Every finding, whole values, and the names of the checks that passed.
    pub verbose: bool,
    /// Only failures and the closing line, and no progress.
    pub quiet: bool,
    /// Whether to use colours. `Auto` looks at the stream and at `NO_COLOR` and its kin.
    pub color: ColorChoice,
}

/// Writes for people: progress on standard error, the result to `W`.
pub struct Terminal<W: Write> {
    writer: W,
    options: TerminalOptions,
    palette: Palette,
    width: usize,
    spec: &'static Spec,
    progress: Progress,
}

impl Terminal<AutoStream<Stdout>> {
    /// A reporter on standard output.
    pub fn new(options: TerminalOptions) -> Self {
        let choice = match options.color {
            ColorChoice::Auto => AutoStream::choice(&io::stdout()),
            ColorChoice::Always => anstream::ColorChoice::Always,
            ColorChoice::Never => anstream::ColorChoice::Never,
        };
        Self {
            writer: AutoStream::new(io::stdout(), choice),
            palette: Palette::COLOURED,
            width: columns(),
            progress: Progress::new(options.quiet),
            options,
            spec: Spec::get(),
        }
    }
}

impl<W: Write> Terminal<W> {
    /// A reporter that writes elsewhere, without progress, in lines of 100 columns, with colours
    /// only if they are asked for.
    pub fn with_writer(options: TerminalOptions, writer: W) -> Self {
        Self {
            writer,
            palette: match options.color {
                ColorChoice::Always => Palette::COLOURED,
                _ => Palette::PLAIN,
            },
            width: 100,
            progress: Progress::new(true),
            options,
            spec: Spec::get(),
        }
    }

    fn view(&self) -> View<'_> {
        View {
            options: self.options,
            palette: self.palette,
            width: self.width,
            spec: self.spec,
        }
    }
}

impl<W: Write> Reporter for Terminal<W> {
    fn event(&mut self, event: &Event) {
        self.progress.event(event);
    }

    fn finish(&mut self, report: &Report) -> io::Result<()> {
        self.progress.finish();
        let mut out = String::new();
        // Writing to a string does not fail.
        let _ = self.view().report(&mut out, report);
        self.writer.write_all(out.as_bytes())?;
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;
    use crate::verdict::Verdict;

    fn shown(options: TerminalOptions, report: &Report) -> String {
        let mut bytes = Vec::new();
        let mut terminal = Terminal::with_writer(options, &mut bytes);
        terminal.spec = sample::spec();
        terminal.finish(report).unwrap();
        String::from_utf8(bytes)
            .unwrap()
            .replace(env!("CARGO_PKG_VERSION"), "VERSION")
    }

    #[test]
    fn a_report_in_full() {
        let text = shown(TerminalOptions::default(), &sample::report());
        insta::assert_snapshot!(text, @r"
        sep2640-conform VERSION · server · `./my-server 'a b'`

        2026-07-28 over stdio · my\u{200b}server 1.2.0 · 12 skills, 40 files, 91,231 bytes · 41 ms
          FAIL  sep-2640-digest · MUST · #resources · 4 of 40
                The digest is that of the bytes.
                skill://refunds/1.md
                  expected  sha256:aa
                  actual    sha256:bb
                  at        frame 9 /result/contents/0
                skill://refunds/2.md
                  expected  sha256:aa
                  actual    evil\u{202e}\u{1b}[2J\nbytes
                  at        frame 10 /result/contents/0
                skill://refunds/3.md
                  expected  sha256:aa
                  actual    none
                  at        frame 11 /result/contents/0
                … and 1 more place (--verbose shows all)
                again     sep2640-conform server --protocol 2026-07-28 --filter sep-2640-digest -- ./my-server
          WARN  sep-2640-sorted · SHOULD · #listing · 1 of 1
                The listing is in order.
                skill://refunds/1.md
                  expected  sha256:aa
                  actual    b before a
                  at        frame 9 /result/contents/0
                again     sep2640-conform server --protocol 2026-07-28 --filter sep-2640-digest -- ./my-server
          expected by the baseline (1)
                sep-2640-e
          blocked (1)
                follows from sep-2640-digest: sep-2640-d
          not exercised (3)
                nothing in the trace to judge: sep-2640-a, sep-2640-c
                the listing has one page: sep-2640-b
          1 passed · 1 failed · 1 warning · 1 expected · 1 blocked · 3 not exercised

        2025-11-25 over stdio · 41 ms
          !     the server does not declare the extension
          not applicable (2)
                the extension is not declared: 2 checks
          2 not applicable

        2024-11-05 was not run: the target\ndoes not speak it
        Not conformant: 1 check failed on 2026-07-28. (exit code 1)
        ");
    }

    #[test]
    fn quiet_shows_failures_and_the_outcome() {
        let quiet = TerminalOptions {
            quiet: true,
            ..TerminalOptions::default()
        };
        let mut report = sample::report();
        let text = shown(quiet, &report);
        assert!(text.starts_with(
            "2026-07-28 over stdio · my\\u{200b}server 1.2.0\n  FAIL  sep-2640-digest"
        ));
        assert!(
            text.ends_with("\n\nNot conformant: 1 check failed on 2026-07-28. (exit code 1)\n"),
            "{text}"
        );
        for other in ["WARN", "blocked", "passed", "2025-11-25", "2024-11-05"] {
            assert!(!text.contains(other), "{text}");
        }
        for check in &mut report.runs[0].checks {
            check.verdict = Verdict::Pass;
        }
        report.exit = 0;
        assert_eq!(
            shown(quiet, &report),
            // Nothing was judged on the other revision.
            "Conformant on 2026-07-28. (exit code 0)\n"
        );
    }

    #[test]
    fn verbose_shows_all_of_it() {
        let mut report = sample::report();
        report.runs[0].checks[1].findings[3].actual = "x".repeat(1000);
        let verbose = TerminalOptions {
            verbose: true,
            ..TerminalOptions::default()
        };
        let text = shown(verbose, &report);
        assert!(
            text.contains("skill://refunds/4.md") && text.contains(&"x".repeat(1000)),
            "{text}"
        );
        assert!(
            text.contains("passed (1)\n        sep-2640-good\n"),
            "{text}"
        );
        assert!(
            text.contains("the extension is not declared: sep-2640-good, sep-2640-digest"),
            "{text}"
        );
        report.runs[0].checks[1].findings.swap(0, 3);
        let text = shown(TerminalOptions::default(), &report);
        assert!(text.contains("xxx… (1,000 characters)"), "{text}");
    }

    #[test]
    fn each_exit_code_has_its_closing_line() {
        let mut report = sample::report();
        for (exit, said) in [
            (0, "Conformant on"),
            (1, "Not conformant: 1 check failed on 2026-07-28."),
            (2, "cannot be used"),
            (
                3,
                "The target was lost; before that, 1 check failed on 2026-07-28.",
            ),
            (4, "Nothing was exercised"),
            (70, "fault of the harness"),
        ] {
            report.exit = exit;
            let text = shown(TerminalOptions::default(), &report);
            let last = text.lines().last().unwrap();
            assert!(
                last.contains(said) && last.ends_with(&format!("(exit code {exit})")),
                "{last}"
            );
        }
        report.runs.clear();
        for (exit, stale, said) in [
            (1, vec!["sep-2640-a".to_owned()], "Not as the baseline says"),
            (1, Vec::new(), "Not what was required"),
            (3, Vec::new(), "The target could not be started"),
        ] {
            report.exit = exit;
            report.stale = stale;
            assert!(shown(TerminalOptions::default(), &report).contains(said));
        }
    }

    #[test]
    fn colours_come_only_when_asked_for() {
        let mut report = sample::report();
        assert!(!shown(TerminalOptions::default(), &report).contains('\u{1b}'));
        let coloured = TerminalOptions {
            color: ColorChoice::Always,
            ..TerminalOptions::default()
        };
        report.runs[0].checks.truncate(1);
        let text = shown(coloured, &report);
        assert!(
            text.contains("\u{1b}[1m\u{1b}[32m1 passed\u{1b}[0m"),
            "{text:?}"
        );
    }
}
