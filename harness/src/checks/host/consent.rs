//! What users agree to, and what their agreement covers. Sections "Nested Skills", "Resources",
//! "Security Considerations".

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::Check;
use super::ask::{
    LOADS, Outcome, acting_on, asks_about, asks_for, member, offered, outcome, place, result,
    target,
};
use super::integrity::spoilt;
use super::permissions::grants;
use super::tokens::tokens_of;
use super::view::{View, inside, sources, trusts};
use crate::verdict::Judgement;
use crate::wire::scene::{Ask, Consent};

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::host("sep-2640-host-user-policy", user_policy),
    Check::host("sep-2640-host-inspect-before-load", inspect),
    Check::host("sep-2640-host-nested-fresh-consent", nested),
    Check::host("sep-2640-host-content-bound-approval", content_bound),
    Check::host("sep-2640-host-dynamic-not-content-bound", dynamic),
];

/// A skill that the user's policy forbids is not loaded, nor one that the user has declined, unless
/// the user is asked again.
fn user_policy(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("load") {
        let Some((server, uri)) = target(ask) else {
            continue;
        };
        let policy = view
            .results("policy")
            .filter(|(policy, _)| policy.to < ask.from && target(policy) == Some((server, uri)));
        let forbidden = policy
            .last()
            .is_some_and(|(policy, _)| policy.params.get("allow") == Some(&Value::Bool(false)));
        let declined = view.scene.consents.iter().rfind(|consent| {
            consent.at < ask.to && asks_for(consent, LOADS) && asks_about(consent, server, uri)
        });
        let declined = declined.is_some_and(|last| !last.allowed && last.at < ask.from);
        let overruled = view.consents(ask).any(|consent| {
            consent.allowed && asks_for(consent, LOADS) && asks_about(consent, server, uri)
        });
        if overruled {
            continue;
        }
        let why = match (forbidden, declined) {
            (true, _) => "a refusal, since the user's policy forbids the skill",
            (_, true) => "a question or a refusal, since the user had declined the skill",
            _ => continue,
        };
        match outcome(ask) {
            Outcome::Ok(_) => judgement.violated(place(ask), uri, why, "it was loaded"),
            Outcome::Refused { .. } if view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}

/// The user can look at a skill before the model sees it.
fn inspect(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("inspect") {
        let uri = member(&ask.params, "uri").unwrap_or("inspect");
        match outcome(ask) {
            Outcome::Ok(result) if tokens_of(result).is_empty() => judgement.violated(
                place(ask),
                uri,
                "the content of the skill",
                "something else, or nothing",
            ),
            Outcome::Ok(_) => {
                let seen = view.results("context").any(|(context, result)| {
                    context.from > ask.to
                        && !view.loaded(
                            member(&ask.params, "server").unwrap_or_default(),
                            uri,
                            context.from,
                        )
                        && sources(view, &result.to_string())
                            .iter()
                            .any(|source| source.uri == uri)
                });
                if seen {
                    judgement.violated(
                        place(ask),
                        uri,
                        "a look before the content enters the context",
                        "the content entered it",
                    );
                } else {
                    judgement.holds();
                }
            }
            // Content that fails verification need not be shown.
            Outcome::Refused { .. } if spoilt(view, ask).is_some() => {}
            Outcome::Refused { reason, .. } if view.witnessed() => judgement.violated(
                place(ask),
                uri,
                "the content of the skill",
                format!("it was refused: {reason}"),
            ),
            _ => {}
        }
    }
}

/// A nested skill is not loaded under the approval of the skill around it.
fn nested(view: &View<'_>, judgement: &mut Judgement) {
    for ask in view.asks("load") {
        let Some((server, uri)) = target(ask) else {
            continue;
        };
        let outer_approved = view.scene.consents.iter().any(|consent| {
            consent.at < ask.from
                && consent.allowed
                && asks_for(consent, LOADS)
                && member(&consent.params, "server") == Some(server)
                && member(&consent.params, "uri")
                    .is_some_and(|outer| outer != uri && inside(outer, uri))
        }) || is_nested(view, server, uri, ask.to)
            && trusts(view, server, ask.to);
        if !outer_approved {
            continue;
        }
        let own = view.scene.consents.iter().rfind(|consent| {
            consent.at < ask.to && asks_for(consent, LOADS) && asks_about(consent, server, uri)
        });
        match (own, outcome(ask)) {
            (None, Outcome::Ok(_)) => judgement.violated(
                place(ask),
                uri,
                "fresh consent to this skill",
                "it was loaded under the approval of the skill around it",
            ),
            (Some(Consent { allowed: false, .. }), Outcome::Ok(_)) => judgement.violated(
                place(ask),
                uri,
                "a refusal, since the user had declined",
                "it was loaded",
            ),
            (Some(_), Outcome::Ok(_)) => judgement.holds(),
            (_, Outcome::Refused { .. }) if view.witnessed() => judgement.holds(),
            _ => {}
        }
    }
}

/// Whether a skill lies inside another one that the server handed out.
fn is_nested(view: &View<'_>, server: &str, uri: &str, before: usize) -> bool {
    view.deliveries().iter().any(|delivery| {
        delivery.at < before
            && delivery.server == server
            && member(delivery.entry, "uri").is_some_and(|outer| outer != uri && inside(outer, uri))
    })
}

/// The files of an entry with their digests, whatever their order; none for a dynamic skill.
fn set(entry: &Value) -> Option<BTreeSet<(&str, &str)>> {
    let items = entry.get("resources")?.as_array()?;
    Some(
        items
            .iter()
            .filter_map(|item| Some((member(item, "uri")?, member(item, "digest")?)))
            .collect(),
    )
}

/// Something that needs an approval where the host asks for one: what it does, and the kinds of
/// questions that cover it.
struct Gated<'a> {
    ask: &'a Ask,
    server: &'a str,
    uri: &'a str,
    kinds: &'static [&'static str],
}

fn gated<'a>(view: &View<'a>) -> Vec<Gated<'a>> {
    let loaded = || {
        view.asks("load").filter_map(|ask| {
            let (server, uri) = target(ask)?;
            matches!(outcome(ask), Outcome::Ok(_)).then_some(Gated {
                ask,
                server,
                uri,
                kinds: LOADS,
            })
        })
    };
    let runs = view.asks("run_tool").filter_map(|ask| {
        let (server, uri) = acting_on(ask)?;
        let ran = result(ask)?.get("ran") == Some(&Value::Bool(true));
        (ran && !view.turned_away(server, uri, ask.from)).then_some(Gated {
            ask,
            server,
            uri,
            kinds: &["execute"],
        })
    });
    let grants = view.results("tools").flat_map(|(ask, tools)| {
        let of_skill = move |load: Gated<'a>| {
            let entry = view.held(load.server, load.uri, ask.from)?;
            let granted = load.ask.to < ask.from && grants(tools, entry);
            let lingers = lingers(view, ask, (load.server, load.uri), entry);
            (granted && !lingers).then_some(Gated {
                ask,
                kinds: &["grant"],
                ..load
            })
        };
        loaded().filter_map(of_skill)
    });
    loaded().chain(runs).chain(grants).collect()
}

/// Whether what is in force at a call comes from a grant that did not end with an earlier release of
/// the skill, which is another check's.
fn lingers(view: &View<'_>, ask: &Ask, skill: (&str, &str), entry: &Value) -> bool {
    let of_skill = |other: &&Ask| other.to < ask.from && target(other) == Some(skill);
    let released = view.asks("release").filter(of_skill).last();
    let loaded = view
        .asks("load")
        .filter(|load| of_skill(load) && matches!(outcome(load), Outcome::Ok(_)))
        .last();
    let (Some(released), Some(loaded)) = (released, loaded) else {
        return false;
    };
    let between = |tools: &Ask| released.to < tools.from && tools.to < loaded.from;
    let before = view.results("tools");
    released.from > loaded.to
        || before
            .filter(|(tools, _)| between(tools))
            .any(|(_, tools)| grants(tools, entry))
}

/// Whether a question is one of these kinds; one that comes before a file is read, or that is about a
/// server as a whole, is none about a load.
fn covers(view: &View<'_>, consent: &Consent, kinds: &[&str]) -> bool {
    let of_a_file = view.under(consent.at).is_some_and(|ask| {
        ask.verb == "read" && member(&ask.params, "uri") != member(&consent.params, "uri")
    });
    let of_a_server = member(&consent.params, "kind") == Some("server");
    asks_for(consent, kinds) && !((of_a_file || of_a_server) && kinds == LOADS)
}

/// The frame by which it is settled what a question was about: a host may ask first and get the entry
/// then, as long as it has fetched no content.
fn settled(view: &View<'_>, consent: &Consent) -> usize {
    let Some(ask) = view.under(consent.at) else {
        return consent.at;
    };
    let read = view
        .during(ask)
        .find(|served| served.at > consent.at && served.method == "resources/read");
    read.map_or(ask.to, |served| served.at)
}

/// Whether a load finds the skill in the context, and nothing is loaded.
fn is_there(view: &View<'_>, ask: &Ask, skill: (&str, &str)) -> bool {
    let of_skill = |load: &&Ask| load.to < ask.from && target(load) == Some(skill);
    let earlier = view.asks("load").filter(of_skill);
    let loaded = earlier.filter(|load| matches!(outcome(load), Outcome::Ok(_)));
    let read = view
        .during(ask)
        .any(|served| served.method == "resources/read");
    !read
        && loaded
            .last()
            .is_some_and(|load| view.stays(skill, load.to, ask))
}

/// An approval that is kept holds for the files that the entry had at that moment, and for no
/// others.
fn content_bound(view: &View<'_>, judgement: &mut Judgement) {
    for Gated {
        ask,
        server,
        uri,
        kinds,
    } in gated(view)
    {
        let Some(now) = view.held(server, uri, ask.to) else {
            continue;
        };
        if kinds == LOADS && is_there(view, ask, (server, uri)) {
            continue;
        }
        let mut given = view.scene.consents.iter().filter(|consent| {
            consent.at < ask.to
                && consent.allowed
                && covers(view, consent, kinds)
                && asks_about(consent, server, uri)
        });
        let Some(consent) = given.next_back() else {
            continue;
        };
        // What a host keeps for the session alone is not bound to content; what it keeps longer is.
        let persisted = view
            .asks("restart")
            .any(|restart| consent.at < restart.from && restart.to < ask.from);
        if !persisted && consent.at < ask.from {
            continue;
        }
        let then = view.held(server, uri, settled(view, consent));
        let (then, now) = (then.and_then(set), set(now));
        // What was approved as dynamic is another check's.
        if then.is_none() && now.is_none() {
            continue;
        }
        if then != now {
            judgement.violated(
                place(ask),
                uri,
                "the user asked again, since the skill's files are others than those approved",
                format!("`{}` under the former approval", ask.verb),
            );
        } else {
            judgement.holds();
        }
    }
}

/// A dynamic skill is not presented as verified, and no kept approval covers what it is now.
fn dynamic(view: &View<'_>, judgement: &mut Judgement) {
    let is_dynamic = |server: &str, uri: &str, before: usize| {
        view.held(server, uri, before)
            .is_some_and(|entry| member(entry, "resources") == Some("dynamic"))
    };
    let verified = |value: &Value| value.get("verified").and_then(Value::as_bool);
    for (ask, list) in view.results("list") {
        for (server, uri, item) in offered(list) {
            let Some(server) = server.filter(|server| is_dynamic(server, uri, ask.to)) else {
                continue;
            };
            match verified(item) {
                Some(true) => judgement.violated(
                    place(ask),
                    uri,
                    format!("a dynamic skill of {server} told apart from verified ones"),
                    "it is presented as verified",
                ),
                Some(false) => judgement.holds(),
                None => {}
            }
        }
    }
    let reads = view.uses().into_iter();
    for used in reads.filter(|used| is_dynamic(used.server, used.skill, used.ask.to)) {
        let Outcome::Ok(result) = used.outcome else {
            continue;
        };
        match verified(result) {
            Some(true) => judgement.violated(
                place(used.ask),
                used.uri,
                "content that is not presented as verified",
                "it is",
            ),
            Some(false) => judgement.holds(),
            None => {}
        }
    }
    for Gated {
        ask,
        server,
        uri,
        kinds,
    } in gated(view)
    {
        // Within a session a host may remember; what it keeps on disk must not count.
        let restarts = view.asks("restart").filter(|other| other.to < ask.from);
        let Some(restart) = restarts.last() else {
            continue;
        };
        let about = |consent: &&Consent| {
            consent.at < ask.to && covers(view, consent, kinds) && asks_about(consent, server, uri)
        };
        let mut consents = view.scene.consents.iter().filter(about);
        // What was approved as a set of files is another check's.
        let kept = consents.clone().any(|consent| {
            consent.at < restart.from && consent.allowed && is_dynamic(server, uri, consent.at)
        });
        if !kept || !is_dynamic(server, uri, ask.to) {
            continue;
        }
        if consents.any(|consent| consent.at > restart.to) {
            judgement.holds();
        } else {
            judgement.violated(
                place(ask),
                uri,
                "a question to the user, whatever was approved before",
                format!("`{}` under a kept approval", ask.verb),
            );
        }
    }
}
