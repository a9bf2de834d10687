//! Nothing stands alone: requirement rows, checks, faults and scenarios name each other, both
//! ways. Asserted as equality of sets.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use sep2640_conform::checks::{self, Check};
use sep2640_conform::scenario;
use sep2640_conform::scenario::outline::outlines;
use sep2640_conform::spec::{Actor, Spec};
use sep2640_conform::verdict::Side;
use sep2640_reference::{Fault, faults, host_faults};

fn all() -> Vec<&'static Check> {
    let sides = [Side::Server, Side::Host].into_iter();
    sides.flat_map(checks::all).collect()
}

fn ids(side: Side) -> BTreeSet<&'static str> {
    let ids: BTreeSet<&str> = checks::all(side).iter().map(|check| check.id).collect();
    assert_eq!(ids.len(), checks::all(side).len(), "an id stands twice");
    ids
}

/// Both differences, so that a failure tells what is missing where.
fn assert_same(what: &str, left: &BTreeSet<&str>, right: &BTreeSet<&str>) {
    let only_left: Vec<_> = left.difference(right).collect();
    let only_right: Vec<_> = right.difference(left).collect();
    assert!(
        only_left.is_empty() && only_right.is_empty(),
        "{what}\nonly left: {only_left:#?}\nonly right: {only_right:#?}"
    );
}

fn rows(actors: &[Actor]) -> BTreeSet<&'static str> {
    Spec::get()
        .requirements
        .iter()
        .filter(|row| actors.contains(&row.actor))
        .filter_map(|row| row.check.as_deref())
        .collect()
}

#[test]
fn checks_are_those_that_rows_name() {
    let server = rows(&[Actor::Server, Actor::Intermediary]);
    assert_same("server checks / rows", &ids(Side::Server), &server);
    let host = rows(&[Actor::Host, Actor::Client]);
    assert_same("host checks / rows", &ids(Side::Host), &host);
}

#[test]
fn every_check_has_a_row() {
    for check in all() {
        assert!(Spec::get().check(check.id).is_some(), "{}", check.id);
    }
}

fn all_faults() -> impl Iterator<Item = &'static Fault> {
    faults().iter().chain(host_faults())
}

#[test]
fn every_check_has_a_fault_and_every_fault_a_check() {
    let of_faults: BTreeSet<&str> = all_faults().map(|fault| fault.check).collect();
    let live = all().iter().map(|check| check.id).collect();
    assert_same("checks / checks of faults", &live, &of_faults);
    let mut seen = BTreeSet::new();
    for fault in all_faults() {
        assert!(seen.insert(fault.id), "{} stands twice", fault.id);
        let variant = fault.id.strip_prefix(fault.check);
        let named = variant.is_some_and(|rest| {
            rest.is_empty() || rest.strip_prefix('/').is_some_and(|name| !name.is_empty())
        });
        assert!(named, "{} does not bear the id {}", fault.id, fault.check);
        let side = checks::find(fault.check).map(|check| check.side.to_string());
        assert_eq!(side.as_deref(), Some(fault.side), "{}", fault.id);
    }
}

#[test]
fn every_check_is_exercised_and_every_exercised_check_exists() {
    for side in [Side::Server, Side::Host] {
        let exercised: BTreeSet<&str> = outlines()
            .filter(|scenario| scenario.name.starts_with(&format!("{side}/")))
            .flat_map(|scenario| scenario.exercises.iter().map(String::as_str))
            .collect();
        assert_same("checks / exercised", &ids(side), &exercised);
    }
}

#[test]
fn scenarios_exercise_a_check_once() {
    for scenario in outlines() {
        let set: BTreeSet<&String> = scenario.exercises.iter().collect();
        assert_eq!(set.len(), scenario.exercises.len(), "{}", scenario.name);
        assert!(!set.is_empty(), "{} exercises nothing", scenario.name);
    }
}

#[test]
fn scenarios_need_what_is_played_before_them() {
    let mut before: BTreeSet<&str> = BTreeSet::new();
    for scenario in scenario::built_in() {
        for need in &scenario.needs {
            assert!(
                before.contains(need.as_str()),
                "{} needs {need}, which is not played before it",
                scenario.name
            );
        }
        assert!(before.insert(&scenario.name), "{} twice", scenario.name);
    }
}

#[test]
fn every_scenario_file_is_built_in() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scenarios");
    let mut files = BTreeSet::new();
    for side in ["server", "host"] {
        let Ok(entries) = fs::read_dir(root.join(side)) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            let name = path.file_stem().unwrap().to_str().unwrap();
            files.insert(format!("{side}/{name}"));
        }
    }
    let files = files.iter().map(String::as_str).collect();
    let named = outlines().map(|scenario| scenario.name).collect();
    assert_same("files / scenarios", &files, &named);
}

#[test]
fn checks_come_after_others_of_their_side_without_a_circle() {
    let after: BTreeMap<&str, &[&str]> = all()
        .into_iter()
        .map(|check| (check.id, check.after))
        .collect();
    for check in all() {
        for id in check.after {
            let earlier = checks::find(id);
            assert!(earlier.is_some(), "{} after {id}: no such check", check.id);
            assert_eq!(earlier.map(|earlier| earlier.side), Some(check.side));
        }
        let mut open = check.after.to_vec();
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            assert_ne!(id, check.id, "{} comes after itself", check.id);
            if seen.insert(id) {
                open.extend(after[id]);
            }
        }
    }
}

#[test]
fn ids_have_one_form() {
    let rows = Spec::get().checks();
    let live = all().into_iter().map(|check| check.id);
    for id in rows.into_keys().chain(live) {
        let name = id.strip_prefix("sep-2640-").unwrap_or("");
        let plain = name.split('-').all(|word| {
            !word.is_empty()
                && word
                    .bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        });
        assert!(plain, "{id}");
    }
}

#[test]
fn the_table_of_defects_names_what_there_is() {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/defects.md"));
    let text = text.unwrap();
    let of_server = || faults().iter().filter(|fault| fault.side == "server");
    let variants: BTreeSet<&str> = of_server()
        .filter_map(|fault| fault.id.split_once('/').map(|(_, variant)| variant))
        .collect();
    let checks: BTreeSet<&str> = of_server().map(|fault| fault.check).collect();
    let mut told: BTreeSet<&str> = BTreeSet::new();
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.split(" | ").collect();
        let quoted = |cell: &'_ str| -> Vec<String> {
            cell.split('`')
                .skip(1)
                .step_by(2)
                .map(str::to_owned)
                .collect()
        };
        let [_, names, variations] = cells[..] else {
            panic!("{line}");
        };
        for name in quoted(names) {
            // `skills-get-` and `-get-` stand for ids that are like the first one of the cell.
            let whole = !name.starts_with('-') && !name.ends_with('-');
            let id = format!("sep-2640-{name}");
            assert!(!whole || checks.contains(id.as_str()), "{id}: {line}");
            told.extend(checks.get(id.as_str()));
        }
        for variant in quoted(variations) {
            assert!(variants.contains(variant.as_str()), "{variant}: {line}");
        }
    }
    assert!(told.len() > 90, "{}", told.len());
}

#[test]
fn links_of_the_documents_lead_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let docs = fs::read_dir(root.join("docs")).unwrap();
    let mut pages: Vec<_> = docs.map(|entry| entry.unwrap().path()).collect();
    for page in [
        "README.md",
        "fuzz/README.md",
        "fixtures/peers/README.md",
        "fixtures/adapters/README.md",
    ] {
        pages.push(root.join(page));
    }
    let mut dead = Vec::new();
    for page in pages {
        let text = fs::read_to_string(&page).unwrap();
        for rest in text.split("](").skip(1) {
            let target = rest.split([')', '#']).next().unwrap();
            let elsewhere = target.is_empty() || target.contains(':');
            if !elsewhere && !page.parent().unwrap().join(target).exists() {
                dead.push(format!("{}: {target}", page.display()));
            }
        }
    }
    assert_eq!(dead, Vec::<String>::new());
}
