//! What the base protocol asks of every result since 2026-07-28: `resultType` and caching members.

use serde_json::Value;

use super::Check;
use super::entries::describe;
use super::evidence::Evidence;
use super::robustness::error_inside;
use crate::verdict::Judgement;
use crate::wire::Revision;
use crate::wire::trace::{Exchange, Trace};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server("sep-2640-skills-list-result-type", |trace| {
        result_type(trace, "skills/list")
    }),
    Check::server("sep-2640-skills-get-result-type", |trace| {
        result_type(trace, "skills/get")
    }),
    Check::server("sep-2640-read-result-type", |trace| {
        result_type(trace, "resources/read")
    }),
    Check::server("sep-2640-directory-read-result-type", |trace| {
        result_type(trace, "resources/directory/read")
    })
    .needs(super::Needs::DirectoryRead),
    Check::server("sep-2640-no-input-required", no_input_required),
    Check::server("sep-2640-skills-list-cache-attributes", |trace| {
        cache_attributes(trace, "skills/list")
    }),
    Check::server("sep-2640-skills-get-cache-attributes", |trace| {
        cache_attributes(trace, "skills/get")
    }),
    Check::server("sep-2640-read-cache-attributes", |trace| {
        cache_attributes(trace, "resources/read")
    }),
    Check::server("sep-2640-cache-ttl-valid", ttl_valid),
    Check::server("sep-2640-cache-scope-valid", scope_valid),
    Check::server("sep-2640-cache-scope-consistent", scope_consistent)
        .after(&["sep-2640-cache-scope-valid"]),
];

const CACHED: [&str; 3] = ["skills/list", "skills/get", "resources/read"];
const INPUT_REQUIRED: &str = "input_required";

fn results<'a>(
    trace: &'a Evidence<'_>,
    method: &'a str,
) -> impl Iterator<Item = (&'a Exchange, &'a Value)> {
    trace
        .calls(method)
        .filter_map(|exchange| Some((exchange, trace.result(exchange)?)))
        // An error in the place of a result is judged by `sep-2640-error-wellformed`.
        .filter(|(_, result)| error_inside(result).is_none())
}

/// Whether a result asks for input instead of being one; only 2026-07-28 has that.
pub(super) fn asks_for_input(trace: &Trace, result: &Value) -> bool {
    trace.revision == Revision::Modern
        && result.get("resultType").and_then(Value::as_str) == Some(INPUT_REQUIRED)
}

/// Each result of the method is `complete`.
fn result_type(trace: &Evidence<'_>, method: &str) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, result) in results(trace, method) {
        match result.get("resultType") {
            Some(Value::String(kind)) if kind == "complete" => judgement.holds(),
            // Judged by `sep-2640-no-input-required`; a read may ask for input.
            _ if asks_for_input(trace, result) => {}
            other => judgement.violated(
                trace.place_at(exchange, "/result"),
                method,
                "`resultType` \"complete\"",
                describe(other),
            ),
        }
    }
    judgement
}

/// The methods of the extension never ask for input.
fn no_input_required(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for method in ["skills/list", "skills/get", "resources/directory/read"] {
        for (exchange, result) in results(trace, method) {
            if asks_for_input(trace, result) {
                judgement.violated(
                    trace.place_at(exchange, "/result/resultType"),
                    exchange.subject(),
                    "a complete result",
                    INPUT_REQUIRED,
                );
            } else {
                judgement.holds();
            }
        }
    }
    judgement
}

/// Each result of the method has both caching members.
fn cache_attributes(trace: &Evidence<'_>, method: &str) -> Judgement {
    let mut judgement = Judgement::new();
    for (exchange, result) in results(trace, method) {
        if asks_for_input(trace, result) {
            continue;
        }
        let missing: Vec<&str> = ["ttlMs", "cacheScope"]
            .into_iter()
            .filter(|member| result.get(*member).is_none())
            .collect();
        if missing.is_empty() {
            judgement.holds();
        } else {
            judgement.violated(
                trace.place_at(exchange, "/result"),
                method,
                "`ttlMs` and `cacheScope` in the result",
                format!("{} absent", missing.join(" and ")),
            );
        }
    }
    judgement
}

/// Every `ttlMs` is an integer, not below zero.
fn ttl_valid(trace: &Evidence<'_>) -> Judgement {
    member_valid(
        trace,
        "ttlMs",
        "an integer of milliseconds, 0 or more",
        |ttl| super::entries::size_of(ttl).is_some(),
    )
}

/// Every `cacheScope` is one of the two.
fn scope_valid(trace: &Evidence<'_>) -> Judgement {
    member_valid(trace, "cacheScope", "\"public\" or \"private\"", |scope| {
        matches!(scope.as_str(), Some("public" | "private"))
    })
}

fn member_valid(
    trace: &Evidence<'_>,
    member: &str,
    expected: &str,
    valid: fn(&Value) -> bool,
) -> Judgement {
    let mut judgement = Judgement::new();
    for method in CACHED {
        for (exchange, result) in results(trace, method) {
            match result.get(member) {
                None => {}
                Some(value) if valid(value) => judgement.holds(),
                other => judgement.violated(
                    trace.place_at(exchange, &format!("/result/{member}")),
                    method,
                    expected,
                    describe(other),
                ),
            }
        }
    }
    judgement
}

/// All pages of one walk have the same `cacheScope`.
fn scope_consistent(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    for method in ["skills/list", "resources/list"] {
        for pages in trace.walks(method) {
            let scopes: Vec<(&Exchange, &str)> = pages
                .iter()
                .filter_map(|page| Some((*page, trace.result(page)?.get("cacheScope")?.as_str()?)))
                .collect();
            let Some((_, first)) = scopes.first() else {
                continue;
            };
            match scopes.iter().find(|(_, scope)| scope != first) {
                None => judgement.holds(),
                Some((page, scope)) => judgement.violated(
                    trace.place_at(page, "/result/cacheScope"),
                    method,
                    format!("{first} on every page, as on the first"),
                    *scope,
                ),
            }
        }
    }
    judgement
}
