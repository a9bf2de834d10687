//! What fuzzing starts from: inputs that the generators make.

use std::fs;
use std::path::Path;

use sep2640_conform::generate::case::CasePlan;
use sep2640_conform::generate::frontmatter::{Field, FrontmatterPlan, block};
use sep2640_conform::generate::seed;
use sep2640_conform::generate::uri::UriPlan;
use sep2640_conform::generate::value::{AGREED, DIFFERENT, DISPUTED};
use sep2640_conform::verdict::Side;

use crate::LONGEST;
use crate::plans::PLAN;
use crate::rendering::{FORMS, PLACES};

/// Seeds of a target, each at most as long as targets look at.
pub fn seeds(target: &str) -> Vec<Vec<u8>> {
    let mut seeds: Vec<Vec<u8>> = match target {
        "baseline" => baselines().into_iter().map(String::into_bytes).collect(),
        "frame" => frames(),
        "frontmatter" => frontmatters(),
        "frontmatter_compare" => plans().collect(),
        "manifest" => plans().chain([1, 2, 4].map(at_the_limit)).collect(),
        "report" => reports(),
        "saved" => SAVED.iter().map(|text| text.as_bytes().to_vec()).collect(),
        "scenario" => files("server"),
        "script" => files("host"),
        "sse" => SSE.iter().map(|text| text.as_bytes().to_vec()).collect(),
        "uri" => uris(),
        "verifier_answer" => ANSWERS
            .iter()
            .map(|text| text.as_bytes().to_vec())
            .collect(),
        _ => Vec::new(),
    };
    seeds.retain(|seed| seed.len() <= LONGEST);
    seeds
}

fn baselines() -> Vec<String> {
    let ids: Vec<&str> = sep2640_conform::checks::all(Side::Server)
        .iter()
        .map(|check| check.id)
        .collect();
    vec![
        format!("server:\n  - {}\n  - server/directory-errors\n", ids[0]),
        format!("server: [{}]\nclient: []\n", ids.get(1).unwrap_or(&"x")),
        "client:\n  - host/nested\n".into(),
        "server:\n  - no-such-check\n".into(),
        "servers: {}\n".into(),
    ]
}

fn frames() -> Vec<Vec<u8>> {
    let mut frames: Vec<Vec<u8>> = [
        r#"{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","skills":[],"nextCursor":""}}"#,
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"unknown"}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"contents":[{"uri":"skill://a/x","text":"---\nname: a\n"}]}}"#,
        r#"{"jsonrpc":"2.0","id":2,"result":{"contents":[{"uri":"skill://a/x","blob":"AAECAw=="}]}}"#,
        r#"{"a":1,"a":2,"b":{"c":1,"c":1e400}}"#,
        r#"[{"jsonrpc":"2.0","method":"x"},18446744073709551616,-0.0,"\ud83d\ude00"]"#,
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    for number in 0..6 {
        let mut line = String::new();
        seed::plan::<CasePlan>(1, number)
            .build()
            .write(number, &mut line);
        frames.push(line.into_bytes());
    }
    frames
}

fn frontmatters() -> Vec<Vec<u8>> {
    let mut texts: Vec<Vec<u8>> = (0..12)
        .map(|number| {
            let plan: FrontmatterPlan = seed::plan(2, number);
            block(&plan.fields("name"), &plan.layout).into_bytes()
        })
        .collect();
    let tables = [AGREED, DIFFERENT, DISPUTED];
    for table in tables {
        let yaml: String = table
            .iter()
            .enumerate()
            .map(|(at, pair)| format!("k{at}:{}", Field::of_pair("k", *pair).yaml))
            .collect();
        texts.push(format!("---\n{yaml}---\n").into_bytes());
    }
    texts.push(b"a: &a [x, x]\nb: &b [*a, *a, *a]\nc: &c [*b, *b, *b]\nd: [*c, *c, *c]\n".to_vec());
    texts.push("[".repeat(200).into_bytes());
    texts.push("{a: ".repeat(100).into_bytes());
    texts
}

/// A byte that chooses, and a plan.
fn plans() -> impl Iterator<Item = Vec<u8>> {
    (0..48).map(|number| seed::bytes(1, number)[..=PLAN].to_vec())
}

/// A plan of a skill at the limit, which chance finds late: its bytes add up to one less than a
/// multiple of 512. The numbers are for different parties.
fn at_the_limit(number: u8) -> Vec<u8> {
    let rest = vec![255; usize::from(2 * number)];
    [vec![0, 0], rest, vec![2 * number - 1]].concat()
}

/// Each form with each place, the texts in turn.
fn reports() -> Vec<Vec<u8>> {
    let forms = (0..FORMS).flat_map(|form| (0..PLACES).map(move |place| [form, place]));
    forms
        .zip(HOSTILE.iter().cycle())
        .map(|(choice, text)| [&choice, text.as_bytes()].concat())
        .collect()
}

/// The scenarios of this repository.
fn files(side: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../scenarios")
        .join(side);
    let Ok(entries) = fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut paths: Vec<_> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths
        .iter()
        .filter_map(|path| fs::read(path).ok())
        .collect()
}

fn uris() -> Vec<Vec<u8>> {
    let roots = ["skill://acme/billing/refunds", "skill://refunds"];
    let pairs = roots
        .iter()
        .flat_map(|root| UriPlan::all().map(move |plan| (root, plan)));
    pairs
        .map(|(root, plan)| format!("{root}\n{}", plan.text(root)).into_bytes())
        .collect()
}

const HOSTILE: &[&str] = &[
    "plain",
    "\u{1b}[2J\u{1b}]0;title\u{7}",
    "\u{202e}reversed\u{2066}",
    "a\nb\r\nc\t",
    "\0\u{7f}\u{85}",
    "]]>&<\"'",
    "\u{200b}\u{feff}\u{e0001}",
    "`$(x)`; rm",
    "",
];

const SAVED: &[&str] = &[
    "scenario: verifier/a\nabout: x\nexpect: reject\nexercises: [verifier-size]\nseed: 1\ncase: 2\nentry:\n  uri: \"skill://a/SKILL.md\"\nfiles:\n  \"skill://a/SKILL.md\": { text: \"---\\n\" }\n  \"b\": { base64: \"AA==\" }\n",
    "scenario: server/b\nabout: y\nexercises: [x]\nsteps: []\n",
];

const SSE: &[&str] = &[
    "\u{3}data: {\"jsonrpc\":\"2.0\"}\n\n",
    "\u{1}id: 7\nevent: message\ndata: a\ndata: b\n\n",
    "\u{8}: comment\r\n\r\ndata\r\n\r\n",
    "\u{2}\u{feff}data: x\r\rretry: 1\n\n",
];

const ANSWERS: &[&str] = &[
    "{\"id\":1,\"verdict\":\"accept\"}",
    "{\"id\":2,\"verdict\":\"reject\",\"reason\":\"size\"}",
    "loading…",
    "{\"id\":-1,\"verdict\":\"maybe\"}",
    "{\"verdict\":\"accept\"}",
];
