//! `coverage`: which requirements have a check, and which checks have been seen to fail.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use clap::Args;
use serde::Serialize;

use super::list::{Format, aligned, all_faults, print, print_json};
use super::spec_drift::SpecDrift;
use crate::checks;
use crate::exit::Exit;
use crate::report::text::{columns, plural};
use crate::spec::{Actor, Level, Requirement, Spec};
use crate::verdict::Side;

/// Arguments of `coverage`.
#[derive(Debug, Args)]
pub struct CoverageArgs {
    /// How to write it.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Compare the requirements with a copy of the specification (Markdown or MDX).
    ///
    /// Each sentence of FILE that has an RFC 2119 keyword in capitals and that no requirement
    /// accounts for is shown with its line. Markup, punctuation, case and line breaks make no
    /// difference, other words do. Statements without a keyword are not compared. Exits with 0 when
    /// every sentence is accounted for, with 1 when one is not, with 2 when FILE cannot be read or
    /// has no such sentence.
    #[arg(long, value_name = "FILE")]
    pub spec: Option<PathBuf>,
    /// With --spec, list the requirements whose sentences FILE lacks, too.
    #[arg(long, short, requires = "spec")]
    pub verbose: bool,
}

/// How requirements, checks and faults cover each other.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Requirements of servers.
    pub server: ActorCoverage,
    /// Requirements of hosts.
    pub host: ActorCoverage,
    /// Requirements of clients in general.
    pub client: ActorCoverage,
    /// Requirements of what stands between the two.
    pub intermediary: ActorCoverage,
    /// Checks that no fault makes fail.
    pub checks_without_fault: Vec<String>,
    /// Faults whose check does not exist.
    pub faults_without_check: Vec<String>,
    /// Checks that no requirement names.
    pub checks_without_row: Vec<String>,
    /// Checks that requirements name and that do not exist yet.
    pub planned: Vec<String>,
    /// How a copy of the specification differs from the requirements.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drift: Option<SpecDrift>,
}

/// The requirements of one actor.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub struct ActorCoverage {
    /// All levels together.
    #[serde(flatten)]
    pub total: Counts,
    /// By level.
    pub levels: BTreeMap<Level, Counts>,
}

/// How many requirements there are, and what became of them.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Counts {
    /// All of them.
    pub rows: usize,
    /// Those with a check.
    pub checked: usize,
    /// Those that no check can have, for a stated reason.
    pub excluded: usize,
    /// Those that name a check that does not exist.
    pub unaccounted: usize,
}

/// Runs `coverage`.
pub fn run(args: &CoverageArgs) -> Exit {
    let mut coverage = Coverage::of_this_suite();
    if let Some(file) = &args.spec {
        match SpecDrift::of_file(file, Spec::get()) {
            Ok(drift) => coverage.drift = Some(drift),
            Err(error) => {
                eprintln!("error: {error}");
                return Exit::Usage;
            }
        }
    }
    let written = match args.format {
        Format::Json => print_json(&coverage),
        Format::Text => {
            let mut text = coverage.text();
            if let Some(drift) = &coverage.drift {
                text.push_str(&drift.text(columns(), args.verbose));
            }
            print(&text)
        }
    };
    written.worst(coverage.exit())
}

impl Coverage {
    /// That of what is compiled in.
    pub fn of_this_suite() -> Self {
        let live: Vec<&str> = [Side::Server, Side::Host]
            .into_iter()
            .flat_map(checks::all)
            .map(|check| check.id)
            .collect();
        let faults: Vec<(&str, &str)> = all_faults().map(|fault| (fault.id, fault.check)).collect();
        Self::of(&Spec::get().requirements, &live, &faults)
    }

    /// That of requirements, the ids of checks, and faults with the check that each has.
    pub fn of(rows: &[Requirement], live: &[&str], faults: &[(&str, &str)]) -> Self {
        let live_set: BTreeSet<&str> = live.iter().copied().collect();
        let named: BTreeSet<&str> = rows.iter().filter_map(|row| row.check.as_deref()).collect();
        let faulty: BTreeSet<&str> = faults.iter().map(|(_, check)| *check).collect();
        let of = |actor: Actor| {
            let mut coverage = ActorCoverage::default();
            for row in rows.iter().filter(|row| row.actor == actor) {
                coverage.total.add(row, &live_set);
                coverage
                    .levels
                    .entry(row.level)
                    .or_default()
                    .add(row, &live_set);
            }
            coverage
        };
        let without = |set: &BTreeSet<&str>| {
            let rest = live.iter().filter(|id| !set.contains(*id));
            rest.map(|id| (*id).to_owned()).collect()
        };
        Self {
            server: of(Actor::Server),
            host: of(Actor::Host),
            client: of(Actor::Client),
            intermediary: of(Actor::Intermediary),
            checks_without_fault: without(&faulty),
            faults_without_check: faults
                .iter()
                .filter(|(_, check)| !live_set.contains(check))
                .map(|(id, _)| (*id).to_owned())
                .collect(),
            checks_without_row: without(&named),
            planned: named
                .difference(&live_set)
                .map(|id| (*id).to_owned())
                .collect(),
            drift: None,
        }
    }

    /// A specification that has moved on is the one thing that this command fails for.
    fn exit(&self) -> Exit {
        let drift = self.drift.as_ref();
        drift.map_or(Exit::Conformant, SpecDrift::exit)
    }

    /// The same for people, without the drift.
    pub fn text(&self) -> String {
        let mut rows = vec![["", "rows", "checked", "excluded", "unaccounted"].map(str::to_owned)];
        for (actor, coverage) in [
            (Actor::Server, &self.server),
            (Actor::Host, &self.host),
            (Actor::Client, &self.client),
            (Actor::Intermediary, &self.intermediary),
        ] {
            rows.push(coverage.total.cells(actor.name().to_owned()));
            for (level, counts) in &coverage.levels {
                rows.push(counts.cells(format!("  {level}")));
            }
        }
        let mut text = aligned(&right_aligned(rows));
        for (title, ids) in [
            ("without a fault", &self.checks_without_fault),
            ("without a requirement", &self.checks_without_row),
            ("named by requirements and not written yet", &self.planned),
        ] {
            push_list(
                &mut text,
                &format!("{} {title}", plural(ids.len(), "check")),
                ids,
            );
        }
        let faults = &self.faults_without_check;
        push_list(
            &mut text,
            &format!("{} without a check", plural(faults.len(), "fault")),
            faults,
        );
        text
    }
}

impl Counts {
    fn add(&mut self, row: &Requirement, live: &BTreeSet<&str>) {
        self.rows += 1;
        match row.check.as_deref() {
            None => self.excluded += 1,
            Some(id) if live.contains(id) => self.checked += 1,
            Some(_) => self.unaccounted += 1,
        }
    }

    fn cells(&self, name: String) -> [String; 5] {
        let [rows, checked, excluded, unaccounted] =
            [self.rows, self.checked, self.excluded, self.unaccounted]
                .map(|count| count.to_string());
        [name, rows, checked, excluded, unaccounted]
    }
}

/// Numbers stand under the end of their heading.
fn right_aligned(mut rows: Vec<[String; 5]>) -> Vec<[String; 5]> {
    for column in 1..5 {
        let cells = rows.iter().map(|row| row[column].len());
        let width = cells.max().unwrap_or(0);
        for row in &mut rows {
            row[column] = format!("{:>width$}", row[column]);
        }
    }
    rows
}

fn push_list(text: &mut String, title: &str, ids: &[String]) {
    if ids.is_empty() {
        text.push_str(&format!("\n{title}\n").replace("\n0 ", "\nno "));
        return;
    }
    text.push_str(&format!("\n{title}:\n"));
    for id in ids {
        text.push_str(&format!("  {id}\n"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> Vec<Requirement> {
        let text = "\
sep: 2640
spec_url: https://example.org/
requirements:
  - {check: a, level: MUST, actor: server, section: s, text: One}
  - {check: a, level: MUST NOT, actor: server, section: s, text: Two}
  - {check: b, level: SHOULD, actor: server, section: s, text: Three}
  - {excluded: why, level: MAY, actor: server, section: s, text: Four}
  - {check: h, level: MUST, actor: host, section: s, text: Five}
  - {check: a, level: MUST, actor: client, section: s, text: Six}
";
        Spec::parse(text).unwrap().requirements
    }

    fn coverage() -> Coverage {
        Coverage::of(
            &rows(),
            &["a", "h", "x"],
            &[("a", "a"), ("a/2", "a"), ("b", "b"), ("x", "x")],
        )
    }

    #[test]
    fn rows_are_counted_once() {
        let coverage = coverage();
        let counts = |rows, checked, excluded, unaccounted| Counts {
            rows,
            checked,
            excluded,
            unaccounted,
        };
        assert_eq!(coverage.server.total, counts(4, 2, 1, 1));
        assert_eq!(coverage.host.total, counts(1, 1, 0, 0));
        assert_eq!(coverage.client.total, counts(1, 1, 0, 0));
        assert_eq!(coverage.intermediary.total, counts(0, 0, 0, 0));
        let levels = &coverage.server.levels;
        assert_eq!(
            (levels[&Level::Should], levels[&Level::May]),
            (counts(1, 0, 0, 1), counts(1, 0, 1, 0))
        );
    }

    #[test]
    fn what_lacks_its_counterpart_is_named() {
        let coverage = coverage();
        assert_eq!(coverage.checks_without_fault, ["h"]);
        assert_eq!(coverage.faults_without_check, ["b"]);
        assert_eq!(coverage.checks_without_row, ["x"]);
        assert_eq!(coverage.planned, ["b"]);
    }

    #[test]
    fn the_totals_add_up_for_this_suite() {
        let coverage = Coverage::of_this_suite();
        let mut all = 0;
        for actor in [
            &coverage.server,
            &coverage.host,
            &coverage.client,
            &coverage.intermediary,
        ] {
            let total = actor.total;
            assert_eq!(
                total.rows,
                total.checked + total.excluded + total.unaccounted
            );
            assert_eq!(
                total.rows,
                actor
                    .levels
                    .values()
                    .map(|counts| counts.rows)
                    .sum::<usize>()
            );
            all += total.rows;
        }
        assert_eq!(all, Spec::get().requirements.len());
    }

    #[test]
    fn json_and_text_have_the_same_numbers() {
        let value = serde_json::to_value(coverage()).unwrap();
        assert_eq!(value["server"]["rows"], 4);
        assert_eq!(value["server"]["levels"]["MUST NOT"]["checked"], 1);
        let text = coverage().text();
        assert!(
            text.contains("server           4        2         1            1\n"),
            "{text}"
        );
        assert!(text.contains("\n1 check without a fault:\n  h\n"), "{text}");
        assert!(
            Coverage::of(&[], &[], &[])
                .text()
                .contains("\nno checks without a fault\n")
        );
    }

    #[test]
    fn without_a_copy_there_is_no_drift() {
        assert_eq!(coverage().exit(), Exit::Conformant);
        let value = serde_json::to_value(coverage()).unwrap();
        assert_eq!(value.get("drift"), None);
    }
}
