//! `list`: what the suite has.

use std::fmt::Write as _;
use std::io::{self, Write as _};

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, ValueEnum};
use sep2640_reference::{Channel, Fault, faults, host_faults};
use serde_json::{Value, json};

use crate::checks;
use crate::exit::Exit;
use crate::report::json::pretty;
use crate::report::text::{columns, wrap};
use crate::scenario::outline::outlines;
use crate::spec::{Actor, Level, Requirement, Spec};
use crate::verdict::{Severity, Side};
use crate::wire::Transport;

/// Arguments of `list`.
#[derive(Debug, Args)]
pub struct ListArgs {
    /// What to list.
    #[arg(value_enum)]
    pub what: What,
    /// How to write it.
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Only what concerns one side.
    #[arg(long, value_name = "SIDE", value_parser = side_parser())]
    pub side: Option<Side>,
}

/// What `list` can list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum What {
    /// What is judged.
    Checks,
    /// What is sent.
    Scenarios,
    /// What the specification asks for.
    Requirements,
    /// What the reference can do wrong.
    Faults,
}

/// How an informational command writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Text,
    /// For programs.
    Json,
}

/// Takes `server` or `host` on the command line.
pub fn side_parser() -> impl TypedValueParser<Value = Side> {
    PossibleValuesParser::new(["server", "host"]).map(|side| match side.as_str() {
        "host" => Side::Host,
        _ => Side::Server,
    })
}

/// Runs `list`.
pub fn run(args: &ListArgs) -> Exit {
    let json = args.format == Format::Json;
    let width = columns();
    match args.what {
        What::Checks if json => print_json(&check_rows(args.side)),
        What::Checks => print(&check_table(&check_rows(args.side))),
        What::Scenarios if json => print_json(&scenario_rows(args.side)),
        What::Scenarios => print(&entries(&scenario_rows(args.side), width, |row| {
            (
                text_of(row, "name"),
                join(&row["revisions"]),
                text_of(row, "about"),
            )
        })),
        What::Requirements if json => print_json(&requirement_rows(args.side)),
        What::Requirements => print(&entries(&requirement_rows(args.side), width, |row| {
            let id = match row["check"].as_str() {
                Some(check) => check.to_owned(),
                None => "(excluded)".to_owned(),
            };
            let about = ["level", "actor", "section"].map(|key| text_of(row, key));
            (id, about.join(" · "), text_of(row, "text"))
        })),
        What::Faults if json => print_json(&fault_rows(args.side)),
        What::Faults => print(&entries(&fault_rows(args.side), width, |row| {
            (
                text_of(row, "id"),
                text_of(row, "side"),
                text_of(row, "about"),
            )
        })),
    }
}

/// Writes to standard output. A reader who has gone is no error.
pub fn print(text: &str) -> Exit {
    let mut stdout = io::stdout().lock();
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("error: cannot write to standard output: {error}");
            Exit::Harness
        }
        _ => Exit::Conformant,
    }
}

/// Writes a value as JSON to standard output.
pub fn print_json(value: &impl serde::Serialize) -> Exit {
    match pretty(value) {
        Ok(text) => print(&text),
        Err(error) => {
            eprintln!("error: {error}");
            Exit::Harness
        }
    }
}

/// The side of the wire on which an actor is.
pub fn side_of(actor: Actor) -> Side {
    match actor {
        Actor::Server => Side::Server,
        Actor::Host | Actor::Client | Actor::Intermediary => Side::Host,
    }
}

fn check_rows(side: Option<Side>) -> Vec<Value> {
    let specs = Spec::get().checks();
    let sides = [Side::Server, Side::Host].into_iter();
    sides
        .filter(|known| side.is_none_or(|wanted| wanted == *known))
        .flat_map(checks::all)
        .map(|check| {
            let spec = specs.get(check.id);
            let faults = all_faults().filter(|fault| fault.check == check.id);
            json!({
                "id": check.id,
                "side": check.side,
                "level": spec.map_or(Level::Implied, |spec| spec.level),
                "severity": spec.map_or(Severity::Fail, |spec| spec.severity),
                "section": spec.map_or("", |spec| spec.section()),
                "after": check.after,
                "faults": faults.map(|fault| fault.id).collect::<Vec<_>>(),
            })
        })
        .collect()
}

fn scenario_rows(side: Option<Side>) -> Vec<Value> {
    let on_side = |name: &str| side.is_none_or(|side| name.starts_with(&format!("{side}/")));
    outlines()
        .filter(|scenario| on_side(scenario.name))
        .map(|scenario| {
            json!({
                "name": scenario.name,
                "about": scenario.about,
                "revisions": scenario.revisions(),
                "when": scenario.when,
                "needs": scenario.needs,
                "exercises": scenario.exercises,
            })
        })
        .collect()
}

fn requirement_rows(side: Option<Side>) -> Vec<Value> {
    let spec = Spec::get();
    let on_side = |row: &&Requirement| side.is_none_or(|side| side == side_of(row.actor));
    spec.requirements
        .iter()
        .filter(on_side)
        .map(|row| {
            let mut value = json!(row);
            value["url"] = spec.url(&row.section).into();
            value
        })
        .collect()
}

/// What the reference server and the reference host can do wrong.
pub fn all_faults() -> impl Iterator<Item = &'static Fault> {
    faults().iter().chain(host_faults())
}

fn fault_rows(side: Option<Side>) -> Vec<Value> {
    all_faults()
        .filter(|fault| side.is_none_or(|side| side.to_string() == fault.side))
        .map(|fault| {
            json!({
                "id": fault.id,
                "check": fault.check,
                "side": fault.side,
                "about": fault.about,
                "revisions": fault.revisions,
                "transport": fault.transport.map(|channel| match channel {
                    Channel::Stdio => Transport::Stdio,
                    Channel::Http => Transport::Http,
                }),
                "needs": fault.needs,
            })
        })
        .collect()
}

/// One line a check, in columns.
fn check_table(rows: &[Value]) -> String {
    let lines: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            let faults = row["faults"].as_array().map_or(0, Vec::len);
            let faults = match faults {
                0 => "no fault".to_owned(),
                1 => "1 fault".to_owned(),
                more => format!("{more} faults"),
            };
            let [id, side, level, section] =
                ["id", "side", "level", "section"].map(|key| text_of(row, key));
            [id, side, level, faults, section]
        })
        .collect();
    aligned(&lines)
}

/// Rows as lines with aligned columns, two spaces between them.
pub fn aligned<const N: usize>(rows: &[[String; N]]) -> String {
    let mut widths = [0; N];
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(line, "{cell:width$}  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// Rows as a line with name and attributes, and their text below, wrapped.
fn entries(
    rows: &[Value],
    width: usize,
    parts: impl Fn(&Value) -> (String, String, String),
) -> String {
    let parts: Vec<_> = rows.iter().map(parts).collect();
    let longest = parts
        .iter()
        .map(|(name, ..)| name.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (name, attributes, about) in parts {
        let _ = writeln!(
            text,
            "{name:longest$}  {attributes}\n{}",
            wrap(&about, 4, 4, width)
        );
    }
    text
}

fn text_of(row: &Value, key: &str) -> String {
    row[key].as_str().unwrap_or_default().to_owned()
}

fn join(values: &Value) -> String {
    let names = values
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(row: &Value) -> Vec<&str> {
        let mut keys: Vec<&str> = row
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        keys.sort_unstable();
        keys
    }

    #[test]
    fn the_keys_are_the_documented_ones() {
        let checks = check_rows(None);
        assert_eq!(
            keys(&checks[0]),
            [
                "after", "faults", "id", "level", "section", "severity", "side"
            ]
        );
        assert_eq!(
            keys(&fault_rows(None)[0]),
            [
                "about",
                "check",
                "id",
                "needs",
                "revisions",
                "side",
                "transport"
            ]
        );
        let scenarios = scenario_rows(None);
        assert_eq!(
            keys(&scenarios[0]),
            ["about", "exercises", "name", "needs", "revisions", "when"]
        );
        let requirement = &requirement_rows(None)[0];
        assert!(requirement["url"].as_str().unwrap().starts_with("https://"));
        assert!(requirement["level"].is_string() && requirement["text"].is_string());
    }

    #[test]
    fn a_side_is_a_part_of_the_whole() {
        for rows in [check_rows, scenario_rows, requirement_rows, fault_rows] {
            let (all, server, host) =
                (rows(None), rows(Some(Side::Server)), rows(Some(Side::Host)));
            assert!(server.len() + host.len() <= all.len() && !server.is_empty());
            assert!(server.iter().chain(&host).all(|row| all.contains(row)));
        }
    }

    #[test]
    fn columns_line_up() {
        let rows = [["a".into(), "bb".into()], ["ccc".into(), "d".into()]];
        assert_eq!(aligned(&rows), "a    bb\nccc  d\n");
        let rows = [json!({"id": "x", "about": "one two three"})];
        let text = entries(&rows, 11, |row| {
            (text_of(row, "id"), "server".into(), text_of(row, "about"))
        });
        assert_eq!(text, "x  server\n    one two\n    three\n");
    }
}
