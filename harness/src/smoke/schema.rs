//! The schema of the adapter protocol, and what disagrees with it.

use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::Value;

use crate::checks::schema::compile;

/// The schema file of the protocol.
pub const SCHEMA: &str = include_str!("../../schema/adapter-protocol.schema.json");

/// The schema of the protocol.
pub fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| serde_json::from_str(SCHEMA).expect("the schema file is JSON"))
}

/// A validator for one of its definitions.
///
/// # Errors
///
/// There is no such definition.
pub fn validator(definition: &str) -> Result<Validator, String> {
    compile(document(), definition)
}

/// The definition for the result of a verb: `ListDirectoryResult` for `list_directory`.
pub fn definition(verb: &str) -> String {
    let words = verb.split('_').map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    words.collect::<String>() + "Result"
}

/// What is wrong with a value under a definition, if anything.
pub(super) fn disagreement(definition: &str, value: &Value) -> Option<String> {
    let validator = match validator(definition) {
        Ok(validator) => validator,
        Err(error) => return Some(error),
    };
    let error = validator.iter_errors(value).next()?;
    let place = error.instance_path().to_string();
    let place = if place.is_empty() { "/" } else { &place };
    Some(format!("at {place}: {error}"))
}
