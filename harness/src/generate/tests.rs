//! The generators against the model of this crate, which knows nothing of how a case was made.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use serde_json::Value;

use super::case::{Case, CasePlan, Expected, Kind};
use super::frontmatter::{Field, FrontmatterPlan, block};
use super::shrink::simpler;
use super::strategies::plans;
use super::uri::{Leads, UriPlan};
use super::value::{AGREED, DIFFERENT, DISPUTED};
use super::{Rule, seed};
use crate::model::frontmatter::{self, Kind as Differs};
use crate::model::uri;

fn differences(yaml: &str, json: &Value) -> Vec<frontmatter::Difference> {
    let document = frontmatter::read(yaml).unwrap_or_else(|error| panic!("{error}: {yaml}"));
    frontmatter::compare(&document, json)
}

#[test]
fn the_tables_hold_what_their_names_say() {
    let rendered = |pair| {
        let field = Field::of_pair("k", pair);
        let members = field.json.map(|json| ("k".to_owned(), json));
        let yaml = format!("k:{}z: 1\n", field.yaml);
        let all = members.into_iter().chain([("z".to_owned(), 1.into())]);
        (yaml, Value::Object(all.collect()))
    };
    for pair in AGREED {
        let (yaml, json) = rendered(*pair);
        assert_eq!(differences(&yaml, &json), [], "{yaml} {json}");
    }
    for pair in DIFFERENT {
        let (yaml, json) = rendered(*pair);
        let found = differences(&yaml, &json);
        let known =
            |d: &frontmatter::Difference| matches!(d.kind, Differs::Neither | Differs::LostDigits);
        assert!(found.iter().any(known), "{yaml} {json} {found:?}");
    }
    for (_, json) in AGREED.iter().chain(DIFFERENT).chain(DISPUTED) {
        let read: Result<Value, _> = serde_json::from_str(json.unwrap_or("null"));
        assert!(read.is_ok(), "{json:?}");
    }
}

#[test]
fn uris_lead_where_their_shape_says() {
    for root in [
        "skill://acme/billing/refunds",
        "skill://refunds",
        "github://a.b/x",
    ] {
        for plan in UriPlan::all() {
            let text = plan.text(root);
            match plan.leads(root) {
                Leads::Within => {
                    assert_eq!(uri::within(root, &text), Ok(()), "{text}");
                    assert_eq!(uri::check(&text), Ok(()));
                }
                Leads::Outside => assert!(uri::within(root, &text).is_err(), "{text}"),
                Leads::Disputed => drop(uri::within(root, &text)),
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn a_frontmatter_is_what_its_entry_says(plan in plans::<FrontmatterPlan>()) {
        let fields = plan.fields("name-1");
        let text = block(&fields, &plan.layout);
        let text = if plan.layout.crlf { text.replace('\n', "\r\n") } else { text };
        let yaml = frontmatter::block(text.as_bytes(), true).unwrap();
        let json = fields.iter().map(|field| (field.key.clone(), field.json.clone().unwrap())).collect();
        let found = differences(yaml, &Value::Object(json));
        prop_assert_eq!(found, vec![], "{}", text);
    }

    #[test]
    fn shrinking_comes_to_an_end(plan in plans::<CasePlan>()) {
        let mut plan = plan;
        for _ in 0..2_000 {
            let Some(next) = simpler(&plan).pop() else { return Ok(()) };
            plan = next;
        }
        prop_assert!(false, "still {plan:?}");
    }
}

fn cases(count: u64) -> impl Iterator<Item = (CasePlan, Case)> {
    (0..count).map(|number| {
        let plan: CasePlan = seed::plan(7, number);
        let case = plan.build();
        (plan, case)
    })
}

#[test]
fn a_seed_makes_the_same_cases_each_time() {
    for ((plan, case), (again, other)) in cases(200).zip(cases(200)) {
        assert_eq!(plan, again);
        assert_eq!(case, other);
    }
    assert_ne!(seed::plan::<CasePlan>(1, 0), seed::plan::<CasePlan>(2, 0));
}

#[test]
fn every_verdict_and_every_rule_comes_up() {
    let mut verdicts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut rules: BTreeMap<Rule, usize> = BTreeMap::new();
    let mut lengths = 0;
    let mut text = String::new();
    for (plan, case) in cases(10_000) {
        *verdicts.entry(case.expected.name()).or_default() += 1;
        for rule in &case.rules {
            *rules.entry(*rule).or_default() += 1;
        }
        if matches!(plan.kind, Kind::One(_)) {
            assert!(case.rules.len() <= 1);
        }
        assert_eq!(case.expected == Expected::Reject, !case.rules.is_empty());
        text.clear();
        case.write(0, &mut text);
        lengths += text.len();
        let read: Value =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        assert_eq!(read["files"], case.files_value());
    }
    let of_faults: BTreeSet<Rule> = rules.keys().copied().collect();
    let all: BTreeSet<Rule> = Rule::ALL
        .into_iter()
        .filter(|rule| *rule != Rule::Accept)
        .collect();
    assert_eq!(of_faults, all);
    assert!(rules.values().all(|count| *count > 25), "{rules:?}");
    assert!(
        verdicts["accept"] > 3_000 && verdicts["reject"] > 3_000,
        "{verdicts:?}"
    );
    assert!(verdicts["either"] > 150, "{verdicts:?}");
    assert!(lengths < 10_000 * 4_096, "{lengths}");
}
