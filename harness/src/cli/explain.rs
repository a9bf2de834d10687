//! `explain`: all that is known of one id.

use std::fmt::{self, Write as _};

use clap::Args;
use sep2640_reference::{Channel, Fault};

use super::list::{all_faults, print, side_of};
use crate::checks::{self, Needs};
use crate::exit::Exit;
use crate::report::text::{columns, escape, wrap};
use crate::scenario::outline::{Outline, outlines};
use crate::spec::{CheckSpec, Judged, Requirement, Since, Spec};
use crate::wire::Transport;

const PREFIX: &str = "sep-2640-";
/// How many ids are offered in place of an unknown one.
const OFFERED: usize = 5;

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Id of a check or a fault (sep-2640- may be left out), or name of a scenario.
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Runs `explain`.
pub fn run(args: &ExplainArgs) -> Exit {
    match explain(&args.id, columns()) {
        Ok(text) => print(&text),
        Err(closest) => {
            eprintln!("error: nothing is called `{}`", escape(&args.id));
            if closest.is_empty() {
                eprintln!("`list checks`, `list faults` and `list scenarios` show what there is");
            } else {
                eprintln!("did you mean one of these?");
                for id in closest {
                    eprintln!("  {id}");
                }
            }
            Exit::Usage
        }
    }
}

/// The explanation, or the ids that come closest.
fn explain(id: &str, width: usize) -> Result<String, Vec<String>> {
    let page =
        |result: Result<Page, fmt::Error>| result.map(|page| page.text).map_err(|_| Vec::new());
    let prefixed = format!("{PREFIX}{id}");
    for id in [id, &prefixed] {
        if checks::find(id).is_some() || Spec::get().check(id).is_some() {
            return page(Page::check(id, width));
        }
        if let Some(fault) = all_faults().find(|fault| fault.id == id) {
            return page(Page::fault(fault, width));
        }
        if let Some(scenario) = outlines().find(|scenario| scenario.name == id) {
            return page(Page::scenario(&scenario, width));
        }
    }
    Err(closest(id, &known()))
}

fn known() -> Vec<&'static str> {
    let mut ids: Vec<&str> = Spec::get().checks().into_keys().collect();
    ids.extend(all_faults().map(|fault| fault.id));
    ids.extend(outlines().map(|scenario| scenario.name));
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The ids that have the text in them, then those that are a few edits away.
fn closest(id: &str, known: &[&str]) -> Vec<String> {
    let wanted = id.to_lowercase();
    let wanted = wanted.strip_prefix(PREFIX).unwrap_or(&wanted);
    let mut ranked: Vec<(bool, usize, &str)> = known
        .iter()
        .filter_map(|known| {
            let name = known.strip_prefix(PREFIX).unwrap_or(known);
            let distance = strsim::damerau_levenshtein(wanted, name);
            let near = distance <= name.len().max(wanted.len()) / 3;
            let within = wanted.len() >= 3 && name.contains(wanted);
            (near || within).then_some((!within, distance, *known))
        })
        .collect();
    ranked.sort_unstable();
    ranked
        .into_iter()
        .take(OFFERED)
        .map(|(.., id)| id.to_owned())
        .collect()
}

/// A page of text in the making.
struct Page {
    text: String,
    width: usize,
}

impl Page {
    fn check(id: &str, width: usize) -> Result<Self, fmt::Error> {
        let mut page = Page::titled(id, width);
        let check = checks::find(id);
        let spec = Spec::get().check(id);
        page.properties(check, spec.as_ref())?;
        if let Some(spec) = &spec {
            for row in &spec.rows {
                page.requirement(row)?;
            }
        }
        let own: Vec<&Fault> = all_faults().filter(|fault| fault.check == id).collect();
        if !own.is_empty() {
            page.text
                .push_str("\nFaults of the reference that it notices\n");
            for fault in &own {
                writeln!(page.text, "  {}", fault.id)?;
                page.paragraph(fault.about, 4);
            }
        }
        let scenarios: Vec<&str> = outlines()
            .filter(|scenario| scenario.exercises(id))
            .map(|scenario| scenario.name)
            .collect();
        if !scenarios.is_empty() {
            writeln!(
                page.text,
                "\nScenarios that exercise it\n  {}",
                scenarios.join("\n  ")
            )?;
        }
        let plainest = own.iter().min_by_key(|fault| fault.id.len());
        if let Some(fault) = plainest {
            page.demonstration(fault)?;
        }
        Ok(page)
    }

    fn fault(fault: &Fault, width: usize) -> Result<Self, fmt::Error> {
        let mut page = Page::titled(fault.id, width);
        page.property(
            "kind",
            format_args!("fault of the reference {}", fault.side),
        )?;
        page.property("check", fault.check)?;
        page.bounds(fault.revisions, fault.transport.map(transport))?;
        if !fault.needs.is_empty() {
            page.property("needs", fault.needs.join(", "))?;
        }
        page.text.push('\n');
        page.paragraph(fault.about, 0);
        if let Some(spec) = Spec::get().check(fault.check) {
            page.requirement(spec.rows[0])?;
        }
        page.demonstration(fault)?;
        Ok(page)
    }

    fn scenario(scenario: &Outline, width: usize) -> Result<Self, fmt::Error> {
        let mut page = Page::titled(scenario.name, width);
        page.property("kind", "scenario")?;
        page.property("revisions", scenario.revisions().join(", "))?;
        if let Some(when) = scenario.when {
            let when = serde_json::to_value(when).map_err(|_| fmt::Error)?;
            page.property("when", when.as_str().unwrap_or_default())?;
        }
        if !scenario.needs.is_empty() {
            page.property("needs", scenario.needs.join(", "))?;
        }
        page.text.push('\n');
        page.paragraph(scenario.about, 0);
        if !scenario.exercises.is_empty() {
            let exercises = scenario.exercises.join("\n  ");
            writeln!(page.text, "\nChecks that it exercises\n  {exercises}")?;
        }
        Ok(page)
    }

    fn titled(title: &str, width: usize) -> Self {
        Page {
            text: format!("{title}\n"),
            width,
        }
    }

    fn properties(
        &mut self,
        check: Option<&checks::Check>,
        spec: Option<&CheckSpec<'_>>,
    ) -> fmt::Result {
        let side = check
            .map(|check| check.side)
            .or_else(|| spec.map(|spec| side_of(spec.rows[0].actor)));
        let state = if check.is_some() {
            "check"
        } else {
            "planned check, without code yet"
        };
        self.property("kind", state)?;
        if let Some(side) = side {
            self.property("side", side)?;
        }
        if let Some(spec) = spec {
            self.property("level", spec.level)?;
            let weight = match spec.severity {
                crate::verdict::Severity::Fail => "fails",
                crate::verdict::Severity::Warn => "warns",
                crate::verdict::Severity::Note => "is noted",
            };
            self.property("a breach", weight)?;
            let names: Vec<&str> = spec.rows[0]
                .revisions
                .iter()
                .map(|revision| revision.name())
                .collect();
            self.bounds(&names, spec.rows[0].transport)?;
        }
        let Some(check) = check else { return Ok(()) };
        match check.needs {
            Needs::Nothing => {}
            Needs::Extension => self.property("needs", "the extension declared")?,
            Needs::DirectoryRead => {
                self.property("needs", "the extension declared with directoryRead")?
            }
            Needs::Identities => self.property(
                "needs",
                "two identities (--as), HTTP, and the extension declared",
            )?,
            Needs::Root => self.property("needs", "--root DIR, and the extension declared")?,
        }
        if !check.after.is_empty() {
            self.property("after", check.after.join(", "))?;
        }
        Ok(())
    }

    fn bounds(&mut self, revisions: &[&str], transport: Option<Transport>) -> fmt::Result {
        if !revisions.is_empty() {
            self.property("revisions", format_args!("{} only", revisions.join(", ")))?;
        }
        if let Some(transport) = transport {
            self.property("transport", format_args!("{transport} only"))?;
        }
        Ok(())
    }

    fn property(&mut self, name: &str, value: impl fmt::Display) -> fmt::Result {
        writeln!(self.text, "  {name:9}  {value}")
    }

    fn requirement(&mut self, row: &Requirement) -> fmt::Result {
        let since = match row.since {
            Some(Since::Seed) => " · only in the first text of the SEP",
            Some(Since::Final) => " · only in the final text",
            None => "",
        };
        let judged = match row.judged {
            Some(Judged::Warn) => " · judged as a warning",
            Some(Judged::Note) => " · judged as a note",
            None => "",
        };
        writeln!(
            self.text,
            "\n{} · {}{since}{judged}",
            row.level,
            row.actor.name()
        )?;
        writeln!(self.text, "  {}", Spec::get().url(&row.section))?;
        self.paragraph(&row.text, 2);
        if let Some(note) = &row.note {
            self.paragraph(&format!("Note: {note}"), 2);
        }
        Ok(())
    }

    fn paragraph(&mut self, text: &str, indent: usize) {
        self.text.push_str(&wrap(text, indent, indent, self.width));
        self.text.push('\n');
    }

    /// The commands that show the fault at work, once there is a check that notices it.
    fn demonstration(&mut self, fault: &Fault) -> fmt::Result {
        if checks::find(fault.check).is_none() {
            return Ok(());
        }
        self.text.push_str("\nTo see it\n");
        for line in demonstration(fault) {
            writeln!(self.text, "  {line}")?;
        }
        Ok(())
    }
}

/// The commands that show a fault being noticed.
fn demonstration(fault: &Fault) -> Vec<String> {
    let mut command = format!("sep2640-conform {} --filter {}", fault.side, fault.check);
    if let [revision] = fault.revisions {
        command.push_str(&format!(" --protocol {revision}"));
    }
    if fault.needs.contains(&"probe-undeclared") {
        command.push_str(" --probe-undeclared");
    }
    if fault.needs.contains(&"unlisted-skill") {
        command.push_str(" --skill skill://internal/on-call/SKILL.md");
    }
    let mut reference = format!("sep2640-conform reference {}", fault.side);
    if fault.needs.contains(&"root") {
        command.push_str(" --root DIR");
        reference.push_str(" --skills DIR");
    }
    match fault.transport {
        Some(Channel::Http) => vec![
            format!("{reference} --http 127.0.0.1:8080 --fault {} &", fault.id),
            format!("{command} --url http://127.0.0.1:8080/mcp"),
        ],
        _ => vec![format!("{command} -- {reference} --fault {}", fault.id)],
    }
}

fn transport(channel: Channel) -> Transport {
    match channel {
        Channel::Stdio => Transport::Stdio,
        Channel::Http => Transport::Http,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_id_is_explained() {
        for id in known() {
            let text = explain(id, 80).unwrap_or_else(|_| panic!("{id}"));
            assert!(text.starts_with(&format!("{id}\n")), "{text}");
            let short = id.strip_prefix(PREFIX).unwrap_or(id);
            assert_eq!(explain(short, 80), Ok(text));
        }
    }

    #[test]
    fn an_explanation_tells_all_rows() {
        for (id, spec) in Spec::get().checks() {
            let text = explain(id, 100).unwrap();
            assert!(
                spec.rows
                    .iter()
                    .all(|row| text.contains(&wrap(&row.text, 2, 2, 100))),
                "{text}"
            );
        }
    }

    #[test]
    fn a_fault_comes_with_its_command() {
        for fault in all_faults() {
            let text = explain(fault.id, 80).unwrap();
            let shown = text.contains(&format!("--fault {}", fault.id));
            assert_eq!(shown, checks::find(fault.check).is_some(), "{text}");
        }
    }

    #[test]
    fn unknown_ids_are_met_with_the_closest() {
        let known = [
            "sep-2640-skills-list-stable",
            "sep-2640-skills-get-unknown",
            "server/catalog",
        ];
        assert_eq!(closest("sep-2640-skills-list-stabel", &known), [known[0]]);
        assert_eq!(closest("Skills-List-Stable", &known), [known[0]]);
        assert_eq!(closest("skills", &known), [known[1], known[0]]);
        assert_eq!(closest("server/catalogue", &known), [known[2]]);
        assert!(closest("zz", &known).is_empty());
        assert!(explain("no-such-thing-at-all", 80).is_err());
    }
}
