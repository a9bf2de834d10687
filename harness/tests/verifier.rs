//! The generated cases against verifiers: the reference, honest and with each of its faults, and
//! rmcp's types. Which verdict is right the generators know; nothing of the harness judges here.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sep2640_conform::fuzz::saved::Saved;
use sep2640_conform::fuzz::verifier::{Observed, Small, read_answer};
use sep2640_conform::fuzz::{Bounds, Outcome, Partition, Progress, verifier};
use sep2640_conform::generate::case::{Case, CasePlan, Expected, Kind};
use sep2640_conform::generate::{Rule, seed};
use sep2640_conform::target::TargetSpec;
use sep2640_reference::{Verifier, VerifierOptions, verifier_faults};
use serde_json::Value;

/// The bound that the project promises: each fault is found within as many cases.
const WITHIN: u64 = 20_000;

struct Made {
    case: Case,
    line: String,
    message: Value,
}

fn made(numbers: std::ops::Range<u64>) -> Vec<Made> {
    numbers
        .map(|number| {
            let case = seed::plan::<CasePlan>(1, number).build();
            let mut line = String::new();
            case.write(number, &mut line);
            let message = serde_json::from_str(&line).unwrap();
            Made {
                case,
                line,
                message,
            }
        })
        .collect()
}

fn verifier(fault: Option<&str>) -> Verifier {
    Verifier::new(&VerifierOptions {
        fault: fault.map(str::to_owned),
    })
    .unwrap()
}

#[test]
fn an_honest_verifier_is_right_each_time() {
    let honest = verifier(None);
    for made in made(0..4_000) {
        let verdict = honest.verify(&made.message, &made.line);
        assert!(
            made.case.agrees(verdict.is_ok()),
            "{verdict:?} {} {}",
            made.case.about,
            made.line
        );
    }
}

/// The smallest case that a verifier gets wrong by this rule, made from the first one.
fn first_finding(broken: &Verifier, rule: &str) -> Option<(u64, Small)> {
    let ask = async |lines: &[String]| {
        let answers = lines.iter().map(|line| match broken.answer(line) {
            Some(answer) => read_answer(answer.as_bytes()).1,
            None => Observed::Silence,
        });
        Some(answers.collect())
    };
    (0..WITHIN).find_map(|number| {
        let plan: CasePlan = seed::plan(1, number);
        let case = plan.build();
        let candidate = rule == verifier::ANSWER || case.rule().id() == rule;
        if !candidate || case.expected == Expected::Either {
            return None;
        }
        let small = futures::executor::block_on(verifier::smallest(plan, ask))?;
        let verdict = matches!(small.observed, Observed::Accept | Observed::Reject(_));
        (verdict != (rule == verifier::ANSWER)).then_some((number, small))
    })
}

/// Every fault is found within as many cases as the project promises, and the case that it is
/// shrunk to has that one violation and no other. One of the faults ends the process: what
/// [`a_finding_is_small_and_comes_again`] shows.
#[test]
fn each_fault_is_found_and_its_case_has_one_violation() {
    let faults = verifier_faults();
    assert!(faults.len() >= 25);
    let faults: Vec<_> = faults
        .iter()
        .filter(|fault| fault.id != "verifier-answer/crash")
        .collect();
    let honest = verifier(None);
    let look = |fault: &&sep2640_reference::Fault| {
        let begun = std::time::Instant::now();
        let (number, small) = first_finding(&verifier(Some(fault.id)), fault.check)
            .unwrap_or_else(|| panic!("{} is not found within {WITHIN} cases", fault.id));
        let Small { plan, case, .. } = small;
        let mut line = String::new();
        case.write(0, &mut line);
        println!(
            "{:42} {number:6} {:5} ms {:5} bytes  {}",
            fault.id,
            begun.elapsed().as_millis(),
            line.len(),
            case.about
        );
        let id = fault.id;
        let rules: Vec<&str> = case.rules.iter().map(|rule| rule.id()).collect();
        match plan.kind {
            Kind::One(_) if fault.check == verifier::ANSWER => assert_eq!(rules.len(), 1, "{id}"),
            Kind::One(_) => assert_eq!(rules, [fault.check], "{id}"),
            Kind::Valid | Kind::AtTheLimit => assert_eq!(fault.check, Rule::Accept.id(), "{id}"),
            other => panic!("{id}: {other:?}"),
        }
        // An honest verifier is right about it, and finds nothing where the violation is undone.
        let message = serde_json::from_str(&line).unwrap();
        assert!(case.agrees(honest.verify(&message, &line).is_ok()), "{id}");
        let kind = Kind::Valid;
        let valid = CasePlan { kind, ..plan }.build();
        line.clear();
        valid.write(0, &mut line);
        let message = serde_json::from_str(&line).unwrap();
        assert_eq!(honest.verify(&message, &line), Ok(()), "{id}");
    };
    let (one, other) = faults.split_at(faults.len() / 2);
    std::thread::scope(|scope| {
        scope.spawn(|| one.iter().for_each(look));
        other.iter().for_each(look);
    });
}

#[test]
fn faults_bear_the_id_of_a_rule_and_each_rule_has_one() {
    let rules = Rule::ALL
        .into_iter()
        .map(Rule::id)
        .chain([verifier::ANSWER]);
    let rules: std::collections::BTreeSet<&str> = rules.collect();
    let of_faults = verifier_faults().iter().map(|fault| fault.check).collect();
    assert_eq!(rules, of_faults);
}

fn fuzz(fault: Option<&str>, cases: u64) -> Outcome {
    let mut argv = vec![env!("CARGO_BIN_EXE_sep2640-conform").to_owned()];
    argv.extend(["reference", "verifier"].map(str::to_owned));
    if let Some(fault) = fault {
        argv.extend(["--fault".to_owned(), fault.to_owned()]);
    }
    play(argv, cases)
}

fn play(argv: Vec<String>, cases: u64) -> Outcome {
    play_within(argv, cases, Duration::from_secs(20))
}

fn play_within(argv: Vec<String>, cases: u64, timeout: Duration) -> Outcome {
    let spec = TargetSpec::Command {
        argv,
        cwd: None,
        env: Vec::new(),
    };
    let bounds = Bounds {
        cases,
        max_time: None,
        seed: 1,
        jobs: 2,
        partition: Partition::default(),
        timeout,
        stop: Arc::default(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(verifier::run(
        &spec,
        &bounds,
        &Arc::new(Progress::default()),
    ))
}

#[test]
fn a_finding_is_small_and_comes_again() {
    for (fault, cases) in [
        ("verifier-size/ignored", 1_000),
        ("verifier-containment/dotdot", 2_000),
        ("verifier-duplicate/first", 2_000),
        ("verifier-unlisted/used", 2_000),
        ("verifier-accept/escapes", 500),
        ("verifier-answer/crash", 2_000),
        ("verifier-answer/silent", 2_000),
        ("verifier-answer/prose", 2_000),
    ] {
        let (first, second) = (fuzz(Some(fault), cases), fuzz(Some(fault), cases));
        assert_eq!(first.findings, second.findings, "{fault}");
        let rule = fault.split('/').next().unwrap();
        assert!(
            first.findings.iter().any(|finding| finding.rule == rule),
            "{fault}: {:?}",
            first.findings
        );
        for finding in &first.findings {
            if finding.rule == verifier::ANSWER {
                // Not one of those whose answers were lost with it.
                assert_eq!(finding.about, "malformed entry", "{fault}");
            }
            let file = finding.file(1);
            assert!(file.len() < 2_500, "{fault}: {file}");
            let saved = Saved::parse(&file).unwrap();
            let line = saved.verifier_line().unwrap();
            let message = serde_json::from_str(&line).unwrap();
            let honest = verifier(None).verify(&message, &line);
            assert_eq!(
                honest.is_ok(),
                saved.expect == "accept",
                "{fault}: {honest:?} {file}"
            );
        }
    }
}

#[test]
fn what_is_no_verifier_is_told_from_a_wrong_one() {
    let lost = play(vec!["/bin/true".into()], 100).lost;
    assert!(lost.unwrap().message.contains("no verifier"));
    let lost = play(vec!["/no/such/command".into()], 100).lost;
    assert!(lost.unwrap().message.contains("cannot start"));
}

/// Whatever a command does, the run ends, and says so.
#[test]
fn a_verifier_that_misbehaves_is_reported() {
    let script = |text: &str| vec!["/bin/sh".into(), "-c".into(), text.to_owned()];
    for (text, message) in [
        ("exec sleep 600", "answers nothing"),
        ("head -c 9 >/dev/null; kill -9 $$", "signal: 9"),
    ] {
        let outcome = play_within(script(text), 300, Duration::from_millis(400));
        let lost = outcome.lost.unwrap().message;
        assert!(lost.contains(message), "{text}: {lost}");
    }
    for text in ["exec yes junk", "exec cat /dev/zero", "exec cat"] {
        let outcome = play_within(script(text), 30, Duration::from_secs(20));
        // The same of every case, so that it is one finding.
        let found: Vec<_> = outcome.findings.iter().collect();
        assert_eq!(found.len(), 1, "{text}: {found:#?}");
        assert_eq!(found[0].rule, verifier::ANSWER);
        assert_eq!(found[0].about, "the simplest skill");
    }
}

/// What rmcp makes of a case; `None` where it has no opinion, since it does not read SKILL.md.
fn rmcp_accepts(made: &Made) -> Option<bool> {
    if made.case.rules.contains(&Rule::Frontmatter) || made.case.rules.contains(&Rule::Unlisted) {
        return None;
    }
    let Ok(skill) = serde_json::from_value::<rmcp::model::Skill>(made.message["entry"].clone())
    else {
        return Some(false);
    };
    if skill.validate().is_err() {
        return Some(false);
    }
    let rmcp::model::SkillResources::Files(files) = &skill.resources else {
        return Some(true);
    };
    Some(made.case.files.iter().all(|(uri, bytes)| {
        let mut listed = files.iter().filter(|file| file.uri == *uri);
        listed.any(|file| file.verify(bytes).is_ok())
    }))
}

/// Where rmcp 3.11 and the generators differ, by what was done. A list to be looked at, not a
/// judgement: it changes when rmcp does.
#[test]
fn rmcp_differs_where_it_is_known_to() {
    let mut differing: BTreeMap<String, usize> = BTreeMap::new();
    let mut asked = 0;
    for made in made(0..4_000) {
        if made.case.expected == Expected::Either {
            continue;
        }
        let Some(accepted) = rmcp_accepts(&made) else {
            continue;
        };
        asked += 1;
        if !made.case.agrees(accepted) {
            *differing
                .entry(format!("{}: {}", made.case.rule(), made.case.about))
                .or_default() += 1;
        }
    }
    assert!(asked > 2_000, "{asked}");
    let differing: Vec<&str> = differing.keys().map(String::as_str).collect();
    assert_eq!(differing, RMCP_DIFFERS, "{differing:#?}");
}

const RMCP_DIFFERS: &[&str] = &[];
