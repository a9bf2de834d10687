//! How the extension is declared. Section "Capability Negotiation".

use serde_json::Value;

use super::entries::describe;
use super::evidence::Evidence;
use super::{Check, Needs};
use crate::verdict::Judgement;
use crate::wire::jsonrpc::EXTENSION;
use crate::wire::trace::Place;

/// The checks of this file.
pub const CHECKS: &[Check] = &[
    Check::server("sep-2640-capability-extension-key", extension_key).needs(Needs::Nothing),
    Check::server("sep-2640-capability-empty-object", settings_object),
    Check::server("sep-2640-capability-declaration-inline", settings_inline),
    Check::server(
        "sep-2640-capability-directory-read-flag",
        directory_read_flag,
    ),
    Check::server("sep-2640-capability-requires-resources", resources_declared),
];

fn capabilities<'a>(trace: &'a Evidence<'_>) -> Option<(Place, &'a Value)> {
    let (exchange, declaration) = trace.declaration()?;
    let capabilities = declaration.get("capabilities")?;
    Some((
        trace.place_at(exchange, "/result/capabilities"),
        capabilities,
    ))
}

fn settings<'a>(trace: &'a Evidence<'_>) -> Option<(Place, &'a Value)> {
    let (at, capabilities) = capabilities(trace)?;
    let settings = capabilities.get("extensions")?.get(EXTENSION)?;
    Some((at.child(&[&"extensions", &EXTENSION]), settings))
}

/// The key stands in `capabilities.extensions`. A server that declares nothing of the kind does
/// not implement the extension; one that declares a look-alike elsewhere means to.
fn extension_key(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    if settings(trace).is_some() {
        judgement.holds();
        return judgement;
    }
    let Some((at, capabilities)) = capabilities(trace) else {
        return Judgement::not_applicable("the server declares no capabilities");
    };
    let places = [
        (capabilities.get("extensions"), at.child(&[&"extensions"])),
        (
            capabilities.get("experimental"),
            at.child(&[&"experimental"]),
        ),
        (Some(capabilities), at),
    ];
    for (object, place) in places {
        let Some(Value::Object(object)) = object else {
            continue;
        };
        if let Some(key) = object.keys().find(|key| looks_like_it(key)) {
            judgement.violated(
                place.child(&[key]),
                key,
                format!("{EXTENSION} in capabilities.extensions"),
                format!("{key} at {}", place.child(&[key]).pointer),
            );
            return judgement;
        }
    }
    Judgement::not_applicable("the extension is not declared")
}

/// Keys with which a server can only mean this extension; under a prefix of its own a vendor may
/// call anything `skills`.
fn looks_like_it(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    let (prefix, name) = key.rsplit_once('/').unwrap_or(("", &key));
    let ours = prefix.is_empty() || prefix.starts_with("io.modelcontextprotocol");
    ours && matches!(name.rsplit('.').next(), Some("skills" | "skill"))
}

/// The settings are an object.
fn settings_object(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    if let Some((at, settings)) = settings(trace) {
        if settings.is_object() {
            judgement.holds();
        } else {
            judgement.violated(
                at,
                EXTENSION,
                "a settings object, `{}` for none",
                describe(Some(settings)),
            );
        }
    }
    judgement
}

/// The settings stand directly under the key.
fn settings_inline(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let Some((at, Value::Object(settings))) = settings(trace) else {
        return judgement;
    };
    // An unknown setting is none of ours; what holds our setting, or everything, is an envelope.
    let envelope = settings.iter().find_map(|(key, value)| {
        let inside = value.as_object()?;
        let ours = inside.contains_key("directoryRead") && !settings.contains_key("directoryRead");
        let all = settings.len() == 1
            && matches!(key.as_str(), "config" | "settings" | "options" | "value");
        (ours || all).then_some(key)
    });
    match envelope {
        None => judgement.holds(),
        Some(key) => judgement.violated(
            at.child(&[key]),
            EXTENSION,
            "settings inline, as members of the extension's object",
            format!("an envelope `{key}`: {}", describe(settings.get(key))),
        ),
    }
    judgement
}

/// `directoryRead` is a boolean.
fn directory_read_flag(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    let Some((at, settings)) = settings(trace) else {
        return judgement;
    };
    match settings.get("directoryRead") {
        None | Some(Value::Bool(_)) => judgement.holds(),
        other => judgement.violated(
            at.child(&[&"directoryRead"]),
            "directoryRead",
            "a boolean",
            describe(other),
        ),
    }
    judgement
}

/// Skills are resources, so `resources` is declared too.
fn resources_declared(trace: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement::new();
    if let Some((at, capabilities)) = capabilities(trace) {
        match capabilities.get("resources") {
            Some(Value::Object(_)) => judgement.holds(),
            other => judgement.violated(
                at,
                "resources",
                "the `resources` capability, an object",
                describe(other),
            ),
        }
    }
    judgement
}
