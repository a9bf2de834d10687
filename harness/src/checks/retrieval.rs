//! `skills/get`. Section "Getting a Skill".

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::entries::{Entry, describe};
use super::evidence::Evidence;
use super::robustness::error_inside;
use super::{Check, conversation};
use crate::model::{format, uri};
use crate::verdict::Judgement;
use crate::wire::jsonrpc::INVALID_PARAMS;
use crate::wire::trace::{Exchange, Outcome};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server("sep-2640-skills-get-implemented", implemented),
    Check::server("sep-2640-skills-get-answers-listed", answers_listed).after(&[IMPLEMENTED]),
    Check::server("sep-2640-skills-get-answers-unlisted", answers_unlisted).after(&[IMPLEMENTED]),
    Check::server("sep-2640-skills-get-entry-shape", entry_shape).after(&[IMPLEMENTED]),
    Check::server("sep-2640-skills-get-no-cursor", no_cursor).after(&[IMPLEMENTED]),
    Check::server("sep-2640-skills-get-uri-echo", uri_echo).after(&[IMPLEMENTED]),
    Check::server("sep-2640-skills-get-equals-list", equals_list).after(&[
        IMPLEMENTED,
        "sep-2640-skills-get-uri-echo",
        "sep-2640-skills-list-entry-atomic",
    ]),
    Check::server(UNKNOWN, |trace| refused(trace, "absent-skill")).after(&[
        IMPLEMENTED,
        "sep-2640-error-wellformed",
        "sep-2640-alive-after-malformed",
    ]),
    Check::server("sep-2640-skills-get-file-invalid-params", |trace| {
        refused(trace, "get-file")
    })
    .after(PROBE_AFTER),
    Check::server("sep-2640-skills-get-directory-invalid-params", |trace| {
        refused(trace, "get-directory")
    })
    .after(PROBE_AFTER),
    Check::server("sep-2640-skills-get-non-skill-invalid-params", |trace| {
        refused(trace, "get-non-skill")
    })
    .after(PROBE_AFTER),
    Check::server("sep-2640-skills-get-malformed-params", |trace| {
        refused(trace, "get-malformed")
    })
    .after(PROBE_AFTER),
    Check::server(HOSTILE, |trace| refused(trace, "get-hostile")).after(PROBE_AFTER),
    Check::server("sep-2640-skills-get-uri-variant", uri_variant).after(&[HOSTILE]),
];

const GET: &str = "skills/get";
const IMPLEMENTED: &str = "sep-2640-skills-get-implemented";
const UNKNOWN: &str = "sep-2640-skills-get-unknown-uri-invalid-params";
const HOSTILE: &str = "sep-2640-skills-get-hostile-uri";
const PROBE_AFTER: &[&str] = &[UNKNOWN];
/// Statuses with which HTTP itself may turn away what is too long.
const TOO_LONG: [u16; 3] = [413, 414, 431];

/// Names of the calls for skills that the listing has.
const OF_LISTED: [&str; 2] = ["get-listed", "first-on-connection"];

/// Calls for skills that the listing has.
fn of_listed<'e, 'a>(trace: &'e Evidence<'a>) -> impl Iterator<Item = &'a Exchange> + use<'e, 'a> {
    let named = OF_LISTED.iter().flat_map(|name| trace.named(name));
    named.filter(|exchange| &*exchange.method == GET)
}

/// Well-formed calls, for which "method not found" cannot be the answer of a server that has it.
fn well_formed<'a>(trace: &Evidence<'a>) -> impl Iterator<Item = &'a Exchange> {
    trace.calls(GET).filter(|exchange| {
        matches!(
            exchange.name.as_deref(),
            Some("get-listed" | "get-named" | "absent-skill")
        )
    })
}

fn is_implemented(trace: &Evidence<'_>) -> bool {
    conversation::is_known(trace, well_formed(trace))
}

/// The method is there, whatever the listing holds.
fn implemented(trace: &Evidence<'_>) -> Judgement {
    let promise = "the method, as the declaration promises";
    conversation::method_known(trace, well_formed(trace), promise)
}

/// Every listed skill is answered.
fn answers_listed(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    if !is_implemented(trace) {
        return judgement;
    }
    let last: BTreeSet<&str> = trace
        .listings()
        .last()
        .into_iter()
        .flatten()
        .filter_map(Entry::uri)
        .collect();
    for exchange in trace.named("get-listed") {
        match trace.outcome(exchange) {
            Outcome::Result(_) => judgement.holds(),
            // A skill that left the catalog meanwhile need not be answered.
            _ if exchange.uri().is_some_and(|uri| !last.contains(uri)) => {}
            other => judgement.violated(
                trace.place(exchange),
                exchange.subject(),
                "the listed skill's entry",
                other.words(),
            ),
        }
    }
    judgement
}

/// The entries of skills that the user named and no listing has: they are served all the same.
pub(super) fn unlisted<'e, 'a>(trace: &'e Evidence<'a>) -> Vec<&'e Entry<'a>> {
    let listed = listed_uris(trace);
    let named = trace.entries().iter().filter(|entry| {
        entry.exchange.name.as_deref() == Some("get-named")
            // The entry of another skill is judged by `sep-2640-skills-get-uri-echo`.
            && match (entry.uri(), entry.exchange.uri()) {
                (Some(uri), Some(asked)) => uri == asked || uri::equivalent(uri, asked),
                _ => false,
            }
    });
    named
        .filter(|entry| entry.uri().is_some_and(|uri| !listed.contains(uri)))
        .collect()
}

/// Skills that the user named are answered, listed or not.
fn answers_unlisted(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    judgement.unexercised = Some("no unlisted skill was named with --skill".to_owned());
    if !is_implemented(trace) {
        return judgement;
    }
    let listed = listed_uris(trace);
    for exchange in trace.named("get-named") {
        if exchange.uri().is_some_and(|uri| listed.contains(uri)) {
            continue;
        }
        match trace.outcome(exchange) {
            Outcome::Result(_) => judgement.holds(),
            other => judgement.violated(
                trace.place(exchange),
                exchange.subject(),
                "the skill's entry",
                other.words(),
            ),
        }
    }
    judgement
}

/// Results of `skills/get` that are not requests for input.
fn results<'a>(trace: &'a Evidence<'_>) -> impl Iterator<Item = (&'a Exchange, &'a Value)> {
    trace
        .calls(GET)
        .filter_map(|exchange| Some((exchange, trace.result(exchange)?)))
        .filter(|(_, result)| {
            result.get("resultType").and_then(Value::as_str) != Some("input_required")
        })
}

/// The entry stands under `skill`.
fn entry_shape(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, result) in results(trace) {
        // What a probe should have been refused for is judged there.
        if !exchange
            .name
            .as_deref()
            .is_some_and(|name| name == "get-named" || OF_LISTED.contains(&name))
        {
            continue;
        }
        match result.get("skill") {
            Some(Value::Object(_)) => judgement.holds(),
            other => judgement.violated(
                trace.place_at(exchange, "/result"),
                exchange.subject(),
                "a `skill` object",
                format!("`skill` is {}", describe(other)),
            ),
        }
    }
    judgement
}

/// One entry has no further page.
fn no_cursor(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, result) in results(trace) {
        match result.get("nextCursor") {
            None | Some(Value::Null) => judgement.holds(),
            other => judgement.violated(
                trace.place_at(exchange, "/result/nextCursor"),
                GET,
                "no nextCursor",
                describe(other),
            ),
        }
    }
    judgement
}

/// The entry is that of the skill that was asked for.
fn uri_echo(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for exchange in of_listed(trace).chain(trace.named("get-named")) {
        let (Some(entry), Some(asked)) = (trace.got(exchange), exchange.uri()) else {
            continue;
        };
        match entry.uri() {
            None => {}
            Some(uri) if uri == asked => judgement.holds(),
            // What the user named may be spelled in another, equivalent way.
            Some(uri)
                if exchange.name.as_deref() == Some("get-named") && uri::equivalent(uri, asked) =>
            {
                judgement.holds()
            }
            Some(uri) => judgement.violated(entry.at.child(&[&"uri"]), asked, asked, uri),
        }
    }
    judgement
}

/// List and get say the same of a skill.
fn equals_list(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let mut listed: HashMap<&str, Vec<&Entry<'_>>> = HashMap::new();
    for entry in trace.listings().iter().flatten() {
        if let Some(uri) = entry.uri() {
            listed.entry(uri).or_default().push(entry);
        }
    }
    for exchange in of_listed(trace) {
        let (Some(got), Some(asked)) = (trace.got(exchange), exchange.uri()) else {
            continue;
        };
        // A catalog may move between list and get: agreeing with one of the walks is enough.
        let listed = listed.get(asked).into_iter().flatten().copied();
        let mut difference = None;
        let mut agrees = false;
        for entry in listed {
            match differs(entry, &got) {
                None => agrees = true,
                Some(found) => difference = difference.or(Some(found)),
            }
        }
        if agrees {
            judgement.holds();
        } else if let Some((pointer, expected, actual)) = difference {
            judgement.violated(
                trace.place_at(exchange, &format!("/result/skill{pointer}")),
                asked,
                format!("as in skills/list: {expected}"),
                actual,
            );
        }
    }
    judgement
}

/// The first difference between a listed entry and the one from `skills/get`: where, and both
/// sides. The order of files and of members does not matter.
fn differs(listed: &Entry<'_>, got: &Entry<'_>) -> Option<(String, String, String)> {
    let both = |name: &str| (listed.value.get(name), got.value.get(name));
    let (a, b) = both("frontmatter");
    if !same_json(a, b) {
        return Some(("/frontmatter".into(), describe(a), describe(b)));
    }
    let (a, b) = both("resources");
    if a == b {
        // Nearly always; what follows takes longer.
        return None;
    }
    let (Some(Value::Array(a_items)), Some(Value::Array(b_items))) = (a, b) else {
        return (!same_json(a, b)).then(|| ("/resources".into(), describe(a), describe(b)));
    };
    let key = |item: &Value| {
        let member = |name: &str| item.get(name).map_or_else(String::new, Value::to_string);
        let size = item
            .get("size")
            .and_then(super::entries::size_of)
            .map_or_else(|| member("size"), |size| size.to_string());
        (member("uri"), member("digest"), size)
    };
    let (a_set, b_set): (BTreeSet<_>, BTreeSet<_>) = (
        a_items.iter().map(key).collect(),
        b_items.iter().map(key).collect(),
    );
    let words =
        |(uri, digest, size): &(String, String, String)| format!("{uri} {digest} {size} bytes");
    if let Some(missing) = a_set.difference(&b_set).next() {
        let other = b_set
            .iter()
            .find(|(uri, ..)| *uri == missing.0)
            .map_or_else(|| "no such file".into(), words);
        return Some(("/resources".into(), words(missing), other));
    }
    let extra = b_set.difference(&a_set).next()?;
    Some(("/resources".into(), "no further file".into(), words(extra)))
}

/// Equality of JSON values; numbers count by their value, not by their spelling.
fn same_json(a: Option<&Value>, b: Option<&Value>) -> bool {
    match (a, b) {
        (Some(Value::Number(a)), Some(Value::Number(b))) => {
            a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_json(Some(a), Some(b)))
        }
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, value)| same_json(Some(value), b.get(key)))
        }
        (a, b) => a == b,
    }
}

/// Probes of this name are refused with -32602.
fn refused(trace: &Evidence<'_>, name: &str) -> Judgement {
    let mut judgement = Judgement::new();
    if !is_implemented(trace) {
        return judgement;
    }
    let skills = listed_uris(trace);
    for exchange in trace.named(name) {
        // A nested SKILL.md is a supporting file and a skill.
        if exchange.uri().is_some_and(|uri| skills.contains(uri)) {
            continue;
        }
        match trace.outcome(exchange) {
            // Generated on demand, any valid name may be a skill: the entry then says so.
            Outcome::Result(_) if name == "absent-skill" && is_generated(trace, exchange) => {}
            // Another spelling of a listed one is judged by `sep-2640-skills-get-uri-variant`.
            Outcome::Result(_) if exchange.uri().is_some_and(|uri| is_listed(&skills, uri)) => {}
            Outcome::Error(_) if conversation::refuses_params(trace, exchange) => judgement.holds(),
            Outcome::NoRpc(Some(status)) if TOO_LONG.contains(&status) => judgement.holds(),
            other => {
                judgement.violated(
                    trace.place(exchange),
                    exchange.subject(),
                    "error -32602",
                    other.words(),
                );
                judgement.because(cause(&other, exchange));
            }
        }
    }
    judgement
}

/// The URIs of all skills that any walk over the listing shows.
fn listed_uris<'a>(trace: &Evidence<'a>) -> BTreeSet<&'a str> {
    let entries = trace.listings().iter().flatten();
    entries.filter_map(Entry::uri).collect()
}

/// Whether a URI is equivalent to that of a listed skill.
fn is_listed(skills: &BTreeSet<&str>, uri: &str) -> bool {
    skills.iter().any(|listed| uri::equivalent(listed, uri))
}

/// Whether an answer is the entry of a skill at just the URI that was asked for, of a valid name
/// that is also the one in its frontmatter.
fn is_generated(trace: &Evidence<'_>, exchange: &Exchange) -> bool {
    let name = exchange.uri().and_then(uri::skill_name);
    let Some(name) = name.filter(|name| format::name_faults(name).is_empty()) else {
        return false;
    };
    trace.got(exchange).is_some_and(|entry| {
        let own = entry.frontmatter().and_then(|fields| fields.get("name"));
        entry.uri() == exchange.uri() && own.and_then(Value::as_str) == Some(&*name)
    })
}

/// Why a URI that names no skill was not refused as it should be: a server that has one wrong
/// answer for all of them has one fault, not one for each kind of URI.
fn cause(outcome: &Outcome<'_>, exchange: &Exchange) -> String {
    match outcome {
        Outcome::Error(error) if error.code.is_some() => {
            format!(
                "skills/get: error {} in place of -32602",
                error.code.unwrap_or_default()
            )
        }
        // An error in the place of a result is judged by `sep-2640-error-wellformed`.
        Outcome::Result(result) if error_inside(result).is_some() => exchange.subject(),
        Outcome::Result(result) if !result.get("skill").is_some_and(Value::is_object) => {
            "skills/get: a result without a skill".to_owned()
        }
        _ => exchange.subject(),
    }
}

/// Another spelling of a listed URI is refused, or answered with the skill that it is equivalent to.
fn uri_variant(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    if !is_implemented(trace) {
        return judgement;
    }
    let skills = listed_uris(trace);
    for exchange in trace.named("get-variant") {
        let Some(asked) = exchange.uri() else {
            continue;
        };
        let outcome = trace.outcome(exchange);
        let Outcome::Result(_) = outcome else {
            if trace.error_code(exchange) == Some(INVALID_PARAMS) {
                judgement.holds();
            } else {
                judgement.violated(
                    trace.place(exchange),
                    exchange.subject(),
                    "error -32602",
                    outcome.words(),
                );
                judgement.because(cause(&outcome, exchange));
            }
            continue;
        };
        let answered = trace.got(exchange).and_then(|entry| entry.uri());
        let same = |answered: &str| answered == asked || uri::equivalent(asked, answered);
        if answered.is_some_and(same) && is_listed(&skills, asked) {
            judgement.holds();
        } else {
            judgement.violated(
                trace.place_at(exchange, "/result/skill/uri"),
                exchange.subject(),
                "error -32602, or a skill whose URI is equivalent to the one asked for",
                answered.unwrap_or("a result without a skill URI"),
            );
            judgement.because(cause(&outcome, exchange));
        }
    }
    judgement
}
