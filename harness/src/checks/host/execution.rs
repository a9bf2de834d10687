//! What skills may have run on the host. Section "Security Considerations".

use serde_json::Value;

use super::super::Check;
use super::ask::{
    Outcome, acting_on, asks_about, asks_for, at, member, names_skill, offered, outcome, place,
    result,
};
use super::cache::{imposters, restarted};
use super::tokens::text_of;
use super::view::{Source, View, sources, trusts};
use crate::verdict::Judgement;
use crate::wire::scene::{Ask, Bait, Consent};

const EXEC_GATE: &str = "sep-2640-host-exec-gate-while-acting";

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host(EXEC_GATE, exec_gate),
    Check::host("sep-2640-host-no-implicit-local-execution", no_execution).after(&[EXEC_GATE]),
    Check::host("sep-2640-host-cache-durable-origin", durable_origin).after(&[EXEC_GATE]),
];

/// Steps that other checks judge.
const OTHERS: [&str; 3] = ["annotated", "run-other", "durable-run"];

fn ran(ask: &Ask) -> Option<bool> {
    result(ask)?.get("ran")?.as_bool()
}

/// Whether the user has agreed that code is run for a skill.
pub(super) fn may_run(view: &View<'_>, ask: &Ask, server: &str, uri: &str) -> bool {
    view.scene.consents.iter().any(|consent| {
        consent.at < ask.to
            && consent.allowed
            && asks_for(consent, &["execute"])
            && asks_about(consent, server, uri)
            && (consent.remember || consent.at > ask.from)
    })
}

/// Code that is run while a skill is acted on passes the user's approval.
fn exec_gate(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("run_tool") {
        let other = ask
            .name
            .as_deref()
            .is_some_and(|name| OTHERS.contains(&name));
        // A refusal that was passed over, and trust in a server, are judged apart.
        if other || declined(view, ask) || trusted(view, ask) {
            continue;
        }
        if acting_on(ask).is_none() {
            unattributed(view, judgement, ask);
            continue;
        }
        judge_run(view, judgement, ask, "it ran without a question");
    }
}

/// A call that names no skill, while the host itself says that it acts on one: who tells the model
/// what to do then is not known, and the gate stays shut.
fn unattributed(view: &View<'_>, judgement: &mut Judgement, ask: &Ask) {
    let acting = view.last("acting", ask.from).map(|(_, acting)| acting);
    let acts =
        acting.is_some_and(|acting| offered(acting).iter().any(|(server, ..)| server.is_some()));
    // The skill may be any that is acted on, and is none that was released.
    let about = |consent: &Consent| {
        let server = member(&consent.params, "server").unwrap_or_default();
        let uri = member(&consent.params, "uri");
        uri.is_none_or(|uri| acting.is_some_and(|acting| names_skill(acting, server, uri)))
    };
    let agreed = view.scene.consents.iter().any(|consent| {
        // Trust in a server as a whole is judged apart.
        let execute = asks_for(consent, &["execute"]) && (consent.at > ask.from || about(consent));
        consent.at < ask.to && consent.allowed && (execute || asks_for(consent, &["server"]))
    });
    match ran(ask) {
        Some(true) if acts && !agreed => {
            judgement.violated(
                place(ask),
                "a command while a skill is acted on",
                "the user's approval before code is run",
                "it ran without a question",
            );
            judgement.because("run_tool");
        }
        Some(_) if acts && view.witnessed() => judgement.holds(),
        _ => {}
    }
}

/// Whether the user declined to run code in this call.
fn declined(view: &View<'_>, ask: &Ask) -> bool {
    view.scene.consents.iter().any(|consent| {
        ask.from < consent.at
            && consent.at < ask.to
            && !consent.allowed
            && asks_for(consent, &["execute"])
    })
}

/// Whether the user was asked to trust the server as a whole, and agreed.
fn trusted(view: &View<'_>, ask: &Ask) -> bool {
    acting_on(ask).is_some_and(|(server, _)| trusts(view, server, ask.to))
}

fn judge_run(view: &View<'_>, judgement: &mut Judgement, ask: &Ask, actual: &str) {
    let Some((server, uri)) = acting_on(ask) else {
        return;
    };
    if view.turned_away(server, uri, ask.from) {
        return;
    }
    match ran(ask) {
        Some(true) if !may_run(view, ask, server, uri) => {
            judgement.violated(
                place(ask),
                format!("a command of {uri}"),
                "the user's approval of this skill before its code is run",
                actual,
            );
            judgement.because("run_tool");
        }
        Some(_) if view.witnessed() => judgement.holds(),
        _ => {}
    }
}

/// Whether the user had agreed to execution for the skill that declares a command.
fn approved(view: &View<'_>, command: &str, before: usize) -> bool {
    let declares = |entry: &Value| {
        let frontmatter = entry.get("frontmatter").map(Value::to_string);
        frontmatter.is_some_and(|text| text.contains(command))
    };
    let declared = |server: &str, uri: &str| view.held(server, uri, before).is_some_and(declares);
    let anywhere = view
        .deliveries()
        .iter()
        .any(|delivery| declares(delivery.entry));
    view.scene.consents.iter().any(|consent| {
        let server = member(&consent.params, "server").unwrap_or_default();
        let uri = member(&consent.params, "uri").unwrap_or_default();
        consent.at < before
            && consent.allowed
            && asks_for(consent, &["execute"])
            && (declared(server, uri) || !anywhere)
    })
}

/// Nothing that a skill says is run without the user's approval of that skill: neither what its
/// frontmatter declares nor what its body asks for.
fn no_execution(view: &View<'_>, judgement: &mut Judgement) {
    for touched in &view.scene.touched {
        let Bait::Command(name) = &touched.what else {
            continue;
        };
        if name.starts_with("hook") && !approved(view, name, touched.at) {
            judgement.violated(
                at(touched.at),
                format!("the command `{name}` of a skill's frontmatter"),
                "no execution without approval",
                "it ran",
            );
        }
    }
    for ask in &view.scene.asks {
        match ask.name.as_deref().unwrap_or_default() {
            "hooked" if view.witnessed() && matches!(outcome(ask), Outcome::Ok(_)) => {
                judgement.holds()
            }
            "run-other" => judge_run(
                view,
                judgement,
                ask,
                "it ran under the approval of another skill",
            ),
            "annotated" | "durable-run" => {}
            _ if ask.verb == "run_tool" && declined(view, ask) => {
                judge_run(
                    view,
                    judgement,
                    ask,
                    "it ran although the user had declined",
                );
            }
            _ if ask.verb == "run_tool" && trusted(view, ask) => {
                judge_run(
                    view,
                    judgement,
                    ask,
                    "it ran since the server as a whole was trusted",
                );
            }
            _ => {}
        }
        if ask.verb == "run_tool" && ran(ask) == Some(false) {
            let command = view.scene.touched.iter().find(|touched| {
                matches!(&touched.what, Bait::Command(name) if name.starts_with("tool"))
                    && touched.at == ask.to
            });
            if command.is_some() {
                judgement.violated(
                    place(ask),
                    "run_tool",
                    "no execution of what was not approved",
                    "the command ran, though the host said that it did not",
                );
            }
        }
    }
}

/// What came over MCP stays what it is, from a cache, after a restart and without its server.
fn durable_origin(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.named("durable-run") {
        // Where the content has left the context, nothing is acted on.
        let seen = acting_on(ask).is_some_and(|(server, uri)| {
            view.last("context", ask.from).is_some_and(|(_, context)| {
                sources(view, &context.to_string()).contains(&Source { server, uri })
            })
        });
        // A refusal that was passed over, and trust in a server, are judged apart.
        let apart = declined(view, ask) || trusted(view, ask);
        if !seen || ran(ask) == Some(true) && apart {
            continue;
        }
        judge_run(
            view,
            judgement,
            ask,
            "cached content was run like a local skill's",
        );
    }
    // What a restart brings to light is the check's that asks where the cache lies.
    let gone = |ask: &Ask| {
        let mut left = view.results("disconnect").map(|(ask, _)| ask);
        let left = left.find(|left| left.to < ask.from && !restarted(view, ask));
        left.is_some_and(|left| {
            let server = member(&left.params, "server").unwrap_or_default();
            !view.connected(server, ask.from)
        })
    };
    for (ask, list) in view.results("list").filter(|(ask, _)| gone(ask)) {
        let imposters = imposters(view, list);
        for (uri, name) in &imposters {
            judgement.violated(
                place(ask),
                *uri,
                format!("no local skill \"{name}\", which came over MCP"),
                "it is offered as a local skill since its server is disconnected",
            );
        }
        if imposters.is_empty() && view.witnessed() {
            judgement.holds();
        }
    }
    for ask in view.asks("load").filter(|ask| gone(ask)) {
        if let Outcome::Ok(result) = outcome(ask) {
            let origin = sources(view, &text_of(result)).into_iter().next();
            match (origin, result.get("server")) {
                (Some(source), Some(Value::Null)) => judgement.violated(
                    place(ask),
                    source.uri,
                    format!("a skill of {}", source.server),
                    "it was loaded as a local skill since its server is disconnected",
                ),
                (Some(_), _) => judgement.holds(),
                (None, _) => {}
            }
        }
    }
}
