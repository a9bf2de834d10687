//! Faults in what the server declares, and in living up to it.

use serde_json::{Value, json};

use super::Fault;
use super::sabotage::Scene;
use crate::message::{CAPABILITIES_KEY, RpcError};
use crate::methods::{EXTENSION, Outcome};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-capability-extension-key",
        "declares the extension under capabilities.experimental",
    ),
    Fault::new(
        "sep-2640-capability-extension-key/misspelled",
        "declares io.modelcontextprotocol/skill, without the s",
    ),
    Fault::new(
        "sep-2640-capability-extension-key/top-level",
        "declares the extension directly under capabilities",
    ),
    Fault::new(
        "sep-2640-capability-empty-object",
        "declares the extension with an array in place of an object",
    ),
    Fault::new(
        "sep-2640-capability-empty-object/true",
        "declares the extension with true in place of an object",
    ),
    Fault::new(
        "sep-2640-capability-empty-object/null",
        "declares the extension with null in place of an object",
    ),
    Fault::new(
        "sep-2640-capability-declaration-inline",
        "wraps the settings of the extension in a config member",
    ),
    Fault::new(
        "sep-2640-capability-directory-read-flag",
        "declares directoryRead as the string \"true\"",
    ),
    Fault::new(
        "sep-2640-capability-directory-read-flag/number",
        "declares directoryRead as the number 1",
    ),
    Fault::new(
        "sep-2640-capability-requires-resources",
        "does not declare the resources capability",
    ),
    Fault::new(
        "sep-2640-client-declaration-not-required",
        "refuses clients that do not declare the extension themselves",
    )
    .modern(),
    Fault::new(
        "sep-2640-directory-read-method-registered",
        "declares directoryRead but does not know the method",
    ),
    Fault::new(
        "sep-2640-directory-read-undeclared",
        "answers directory reads without declaring them",
    )
    .needs(&["probe-undeclared"]),
    Fault::new(
        "sep-2640-resources-list-implemented",
        "does not know resources/list",
    ),
    Fault::new(
        "sep-2640-stateless-methods",
        "answers skills/get only after skills/list was called",
    )
    .modern()
    .stdio(),
];

pub(super) fn capabilities(id: &str, capabilities: &mut Value) {
    let settings = capabilities["extensions"][EXTENSION].clone();
    let extension = &mut capabilities["extensions"][EXTENSION];
    match id {
        "sep-2640-capability-extension-key" => {
            drop_extensions(capabilities);
            capabilities["experimental"] = json!({EXTENSION: settings});
        }
        "sep-2640-capability-extension-key/misspelled" => {
            capabilities["extensions"] = json!({"io.modelcontextprotocol/skill": settings});
        }
        "sep-2640-capability-extension-key/top-level" => {
            drop_extensions(capabilities);
            capabilities[EXTENSION] = settings;
        }
        "sep-2640-capability-empty-object" => *extension = json!([]),
        "sep-2640-capability-empty-object/true" => *extension = json!(true),
        "sep-2640-capability-empty-object/null" => *extension = Value::Null,
        "sep-2640-capability-declaration-inline" => *extension = json!({"config": settings}),
        "sep-2640-capability-directory-read-flag" => {
            *extension = json!({"directoryRead": "true"});
        }
        "sep-2640-capability-directory-read-flag/number" => {
            *extension = json!({"directoryRead": 1});
        }
        "sep-2640-directory-read-undeclared" => *extension = json!({}),
        "sep-2640-capability-requires-resources" => {
            if let Some(capabilities) = capabilities.as_object_mut() {
                capabilities.remove("resources");
            }
        }
        _ => {}
    }
}

fn drop_extensions(capabilities: &mut Value) {
    if let Some(capabilities) = capabilities.as_object_mut() {
        capabilities.remove("extensions");
    }
}

pub(super) fn outcome(scene: &Scene<'_>, outcome: &mut Outcome) {
    let method = scene.call.method.as_str();
    if method == "skills/list" {
        scene.memory().listed = true;
    }
    let extension_method = matches!(
        method,
        "skills/list" | "skills/get" | "resources/directory/read"
    );
    let refused = match scene.id {
        "sep-2640-client-declaration-not-required" if extension_method && !declared(scene) => {
            let required = json!({"extensions": {EXTENSION: {}}});
            RpcError::new(-32021, format!("the client does not declare {EXTENSION}"))
                .with_data(json!({"requiredCapabilities": required}))
        }
        "sep-2640-directory-read-method-registered" if method == "resources/directory/read" => {
            RpcError::method_not_found(method)
        }
        "sep-2640-resources-list-implemented" if method == "resources/list" => {
            RpcError::method_not_found(method)
        }
        "sep-2640-stateless-methods" if method == "skills/get" && !scene.memory().listed => {
            RpcError::invalid_params("no listing has been made yet")
        }
        _ => return,
    };
    *outcome = Err(refused);
}

/// Whether the client names the extension among its own capabilities.
fn declared(scene: &Scene<'_>) -> bool {
    let meta = scene.call.params.get("_meta");
    let capabilities = meta.and_then(|meta| meta.get(CAPABILITIES_KEY));
    let extensions = capabilities.and_then(|capabilities| capabilities.get("extensions"));
    extensions.is_some_and(|extensions| extensions.get(EXTENSION).is_some())
}
