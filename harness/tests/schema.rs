//! The published schema: it is valid itself, accepts all that the honest reference server says,
//! and rejects what is broken, for the reason that it is broken for.

use std::collections::{BTreeSet, HashMap};

use jsonschema::Validator;
use sep2640_conform::checks::schema;
use sep2640_reference::{Channel, Options, Server, UNLISTED_SKILL};
use serde_json::{Value, json};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";

/// Validators by definition.
struct Library(HashMap<String, Validator>);

impl Library {
    fn new() -> Self {
        let definitions = schema::document()["$defs"].as_object().unwrap();
        let compiled = definitions
            .keys()
            .map(|name| (name.clone(), schema::validator(name).unwrap()));
        Self(compiled.collect())
    }

    /// The places in an instance and in the schema where the two disagree.
    fn errors(&self, definition: &str, instance: &Value) -> Vec<String> {
        self.0[definition]
            .iter_errors(instance)
            .map(|error| format!("{} {}", error.instance_path(), error.schema_path()))
            .collect()
    }

    fn accepts(&self, definition: &str, instance: &Value) {
        let errors = self.errors(definition, instance);
        assert!(errors.is_empty(), "{definition}: {errors:#?}\n{instance}");
    }
}

#[test]
fn the_schema_is_a_schema() {
    let document = schema::document();
    assert_eq!(
        document["$schema"],
        "https://json-schema.org/draft/2020-12/schema"
    );
    if let Err(error) = jsonschema::draft202012::meta::validate(document) {
        panic!("{error} at {}", error.instance_path());
    }
    Library::new();
}

#[test]
fn every_definition_is_used_or_published() {
    let text = schema::TEXT;
    let docs = include_str!("../../docs/schema.md");
    for name in schema::document()["$defs"].as_object().unwrap().keys() {
        let used = text.contains(&format!("\"#/$defs/{name}\""));
        let base = name.trim_end_matches("-2025-11-25");
        let published = docs.contains(&format!("`{base}`"));
        assert!(used || published || name.ends_with("-rest"), "{name}");
    }
}

/// The reference server, asked without a transport.
struct Client {
    server: Server,
    revision: &'static str,
    library: Library,
}

impl Client {
    fn definition(&self, name: &str) -> String {
        if self.revision == LEGACY {
            format!("{name}-{LEGACY}")
        } else {
            name.to_owned()
        }
    }

    fn call(&self, method: &str, mut params: Value) -> Value {
        if self.revision == MODERN {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            });
        }
        let names = [
            ("skills/list", "ListSkillsParams"),
            ("skills/get", "GetSkillParams"),
            ("resources/directory/read", "ReadResourceDirectoryParams"),
        ];
        for (_, definition) in names.iter().filter(|(name, _)| *name == method) {
            self.library.accepts(&self.definition(definition), &params);
        }
        let request = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let answer = self
            .server
            .handle(request.to_string().as_bytes(), Channel::Stdio);
        serde_json::from_slice(&answer.body.unwrap()).unwrap()
    }

    /// A result that the schema accepts in full and in part.
    fn result(&self, method: &str, definition: &str, params: Value) -> Value {
        let mut answer = self.call(method, params);
        self.library.accepts("ResultResponse", &answer);
        let result = answer["result"].take();
        self.library.accepts(&self.definition(definition), &result);
        self.library.accepts(&format!("{definition}-rest"), &result);
        result
    }

    /// The items of all pages.
    fn pages(&self, method: &str, definition: &str, member: &str, params: &Value) -> Vec<Value> {
        let mut params = params.clone();
        let mut items = Vec::new();
        loop {
            let mut page = self.result(method, definition, params.clone());
            items.extend(page[member].take().as_array().unwrap().clone());
            match page.get("nextCursor") {
                Some(cursor) => params["cursor"] = cursor.clone(),
                None => return items,
            }
        }
    }
}

#[test]
fn the_honest_server_is_accepted() {
    for revision in [MODERN, LEGACY] {
        let client = Client {
            server: Server::new(Options::default()).unwrap(),
            revision,
            library: Library::new(),
        };
        let opening = if revision == LEGACY {
            client.call("initialize", json!({"protocolVersion": LEGACY}))
        } else {
            client.call("server/discover", json!({}))
        };
        let capabilities = &opening["result"]["capabilities"];
        client.library.accepts("ServerCapabilities", capabilities);

        let skills = client.pages("skills/list", "ListSkillsResult", "skills", &json!({}));
        assert_eq!(skills.len(), 7);
        let mut uris = vec![UNLISTED_SKILL];
        uris.extend(skills.iter().map(|skill| skill["uri"].as_str().unwrap()));
        let mut files = BTreeSet::new();
        let mut directories = Vec::new();
        for uri in uris {
            let result = client.result("skills/get", "GetSkillResult", json!({"uri": uri}));
            let items = result["skill"]["resources"].as_array();
            let named = items.into_iter().flatten();
            files.extend(named.map(|item| item["uri"].as_str().unwrap().to_owned()));
            files.insert(uri.to_owned());
            directories.push(uri.strip_suffix("/SKILL.md").unwrap().to_owned());
        }
        let (mut seen, reading) = (0, "resources/directory/read");
        while let Some(uri) = directories.pop() {
            let params = json!({"uri": uri});
            let definition = "ReadResourceDirectoryResult";
            for child in client.pages(reading, definition, "resources", &params) {
                seen += 1;
                if child["mimeType"] == "inode/directory" {
                    directories.push(child["uri"].as_str().unwrap().to_owned());
                }
            }
        }
        assert!(seen > 20, "{seen}");
        for uri in &files {
            client.result("resources/read", "ReadResourceResult", json!({"uri": uri}));
        }
        assert!(files.len() > 15, "{}", files.len());
        client.pages(
            "resources/list",
            "ListResourcesResult",
            "resources",
            &json!({}),
        );

        for (method, uri) in [
            ("skills/get", "skill://nobody/SKILL.md"),
            ("resources/read", "skill://nobody/SKILL.md"),
            (reading, "skill://nobody"),
            ("no/such/method", ""),
        ] {
            let answer = client.call(method, json!({"uri": uri}));
            client.library.accepts("ErrorResponse", &answer);
        }
        let unread = client.server.handle(b"{", Channel::Stdio).body.unwrap();
        let unread = serde_json::from_slice(&unread).unwrap();
        client.library.accepts("ErrorResponse", &unread);
    }
}

/// An instance that a definition accepts.
fn good(definition: &str) -> Value {
    let uri = "skill://acme/refunds/SKILL.md";
    let meta = json!({"io.modelcontextprotocol/serverInfo": {"name": "x", "version": "1"}});
    let skill = json!({
        "uri": uri,
        "frontmatter": {
            "name": "refunds", "description": "Refunds.", "license": "MIT",
            "compatibility": "any", "metadata": {"version": "1"}, "allowed-tools": "Read",
        },
        "resources": [{"uri": uri, "digest": format!("sha256:{}", "0a".repeat(32)), "size": 5}],
        "_meta": {},
    });
    let resource = json!({
        "uri": uri, "name": "refunds", "title": "Refunds", "description": "Refunds.",
        "mimeType": "text/markdown", "size": 5, "icons": [{"src": "https://x.example/i.png"}],
        "annotations": {"audience": ["user"], "priority": 1, "lastModified": "2026-01-01"},
        "_meta": {},
    });
    let mut value = match definition {
        "ListSkillsResult" => json!({"skills": [skill], "nextCursor": ""}),
        "GetSkillResult" => json!({"skill": skill}),
        "ReadResourceDirectoryResult" | "ListResourcesResult" => {
            json!({"resources": [resource], "nextCursor": "2"})
        }
        "ReadResourceResult" => json!({"contents": [
            {"uri": uri, "mimeType": "text/markdown", "text": "", "_meta": {}},
            {"uri": uri, "blob": "aGk="},
        ]}),
        "InputRequiredResult" => return json!({"resultType": "input_required", "requestState": ""}),
        "ServerCapabilities" => {
            return json!({
                "resources": {},
                "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": true}},
            });
        }
        "ListSkillsParams" | "GetSkillParams" | "ReadResourceDirectoryParams" => {
            return json!({"uri": uri, "cursor": "", "_meta": {
                "io.modelcontextprotocol/protocolVersion": MODERN,
                "io.modelcontextprotocol/clientCapabilities": {},
            }});
        }
        "ResultResponse" => return json!({"jsonrpc": "2.0", "id": "a", "result": {}}),
        "ErrorResponse" => {
            return json!({"jsonrpc": "2.0", "error": {"code": -32602, "message": "", "data": 1}});
        }
        other => panic!("{other}"),
    };
    value["resultType"] = json!("complete");
    value["_meta"] = meta;
    if definition != "ReadResourceDirectoryResult" {
        value["ttlMs"] = json!(0);
        value["cacheScope"] = json!("private");
    }
    value
}

/// Definition, place, what stands there (`null` takes the member away), and the keyword that
/// says so.
fn broken() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let (list, get, directory) = (
        "ListSkillsResult",
        "GetSkillResult",
        "ReadResourceDirectoryResult",
    );
    let (read, declared) = ("ReadResourceResult", "ServerCapabilities");
    let mut table = vec![
        (list, "/resultType", Value::Null, "required"),
        (list, "/resultType", json!("input_required"), "const"),
        (list, "/ttlMs", Value::Null, "required"),
        (list, "/ttlMs", json!(-1), "minimum"),
        (list, "/ttlMs", json!(1.5), "type"),
        (list, "/ttlMs", json!("0"), "type"),
        (list, "/cacheScope", Value::Null, "required"),
        (list, "/cacheScope", json!("shared"), "enum"),
        (list, "/nextCursor", json!(5), "type"),
        (list, "/_meta", json!("x"), "type"),
        (
            list,
            "/_meta/io.modelcontextprotocol~1serverInfo",
            json!({"name": "x"}),
            "required",
        ),
        (list, "/skills", Value::Null, "required"),
        (list, "/skills", json!({}), "type"),
        (list, "/skills/0", json!("x"), "type"),
        (list, "/skills/0/uri", Value::Null, "required"),
        (list, "/skills/0/uri", json!("skill://refunds"), "pattern"),
        (list, "/skills/0/_meta", json!([]), "type"),
        (list, "/skills/0/frontmatter", Value::Null, "required"),
        (list, "/skills/0/frontmatter", json!("name: x"), "type"),
        (list, "/skills/0/frontmatter/name", Value::Null, "required"),
        (
            list,
            "/skills/0/frontmatter/description",
            json!(" "),
            "pattern",
        ),
        (
            list,
            "/skills/0/frontmatter/description",
            json!("x".repeat(1025)),
            "maxLength",
        ),
        (
            list,
            "/skills/0/frontmatter/compatibility",
            json!(""),
            "minLength",
        ),
        (
            list,
            "/skills/0/frontmatter/metadata",
            json!({"a": 1}),
            "type",
        ),
        (
            list,
            "/skills/0/frontmatter/allowed-tools",
            json!(["Read"]),
            "type",
        ),
        (list, "/skills/0/resources", Value::Null, "required"),
        (list, "/skills/0/resources", json!("static"), "const"),
        (list, "/skills/0/resources", json!({}), "const"),
        (list, "/skills/0/resources", json!([]), "contains"),
        (
            list,
            "/skills/0/resources/0/uri",
            json!("skill://refunds/x?y/SKILL.md"),
            "pattern",
        ),
        (
            list,
            "/skills/0/resources/0/digest",
            Value::Null,
            "required",
        ),
        (
            list,
            "/skills/0/resources/0/digest",
            json!("sha256:00"),
            "pattern",
        ),
        (
            list,
            "/skills/0/resources/0/digest",
            json!(format!("sha256:{}", "0A".repeat(32))),
            "pattern",
        ),
        (list, "/skills/0/resources/0/size", Value::Null, "required"),
        (list, "/skills/0/resources/0/size", json!("5"), "type"),
        (list, "/skills/0/resources/0/size", json!(-5), "minimum"),
        (get, "/skill", Value::Null, "required"),
        (get, "/skill", json!([]), "type"),
        (get, "/nextCursor", json!("x"), "not"),
        (get, "/ttlMs", Value::Null, "required"),
        (directory, "/resources", json!(["x"]), "type"),
        (directory, "/resources/0/name", Value::Null, "required"),
        (directory, "/resources/0/uri", json!(5), "type"),
        (directory, "/resources/0/size", json!(2.5), "type"),
        (directory, "/resources/0/mimeType", json!(5), "type"),
        (directory, "/resources/0/icons/0", json!({}), "required"),
        (
            directory,
            "/resources/0/annotations/priority",
            json!(2),
            "maximum",
        ),
        (
            directory,
            "/resources/0/annotations/audience",
            json!(["all"]),
            "enum",
        ),
        (directory, "/resultType", Value::Null, "required"),
        (
            "ListResourcesResult",
            "/cacheScope",
            Value::Null,
            "required",
        ),
        (read, "/contents", json!([]), "minItems"),
        (read, "/contents/0/uri", Value::Null, "required"),
        (read, "/contents/0/text", Value::Null, "oneOf"),
        (read, "/contents/0/blob", json!("aGk="), "oneOf"),
        (read, "/contents/0/text", json!(5), "type"),
        (read, "/contents/1/blob", json!("aGk"), "pattern"),
        (read, "/contents/1/_meta", json!("x"), "type"),
        (read, "/ttlMs", Value::Null, "required"),
        ("InputRequiredResult", "/requestState", Value::Null, "anyOf"),
        (
            "InputRequiredResult",
            "/resultType",
            json!("complete"),
            "const",
        ),
        (declared, "/resources", Value::Null, "required"),
        (
            declared,
            "/extensions/io.modelcontextprotocol~1skills",
            Value::Null,
            "required",
        ),
        (
            declared,
            "/extensions/io.modelcontextprotocol~1skills",
            json!(true),
            "type",
        ),
        (
            declared,
            "/extensions/io.modelcontextprotocol~1skills/directoryRead",
            json!(1),
            "type",
        ),
        ("ListSkillsParams", "/cursor", json!(5), "type"),
        ("ListSkillsParams", "/_meta", Value::Null, "required"),
        ("GetSkillParams", "/uri", Value::Null, "required"),
        ("GetSkillParams", "/uri", json!(5), "type"),
        (
            "ReadResourceDirectoryParams",
            "/uri",
            Value::Null,
            "required",
        ),
        ("ReadResourceDirectoryParams", "/cursor", json!({}), "type"),
        ("ResultResponse", "/jsonrpc", json!("1.0"), "const"),
        ("ResultResponse", "/id", json!(true), "type"),
        ("ResultResponse", "/result", Value::Null, "required"),
        ("ResultResponse", "/error", json!({}), "not"),
        ("ErrorResponse", "/error/code", json!("-32602"), "type"),
        ("ErrorResponse", "/error/message", Value::Null, "required"),
        ("ErrorResponse", "/result", json!({}), "not"),
    ];
    for name in ["PDF", "a--b", "-a", "a-", "a_b", "a b", "a.b", "ä/b", ""] {
        let keyword = if name.is_empty() {
            "minLength"
        } else {
            "pattern"
        };
        table.push((get, "/skill/frontmatter/name", json!(name), keyword));
    }
    table
}

/// Puts a value at a place, or takes it away.
fn put(instance: &mut Value, pointer: &str, value: Value) {
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    let last = last.replace("~1", "/");
    match instance.pointer_mut(parent).unwrap() {
        Value::Object(object) if value.is_null() => drop(object.remove(&last)),
        Value::Object(object) => drop(object.insert(last, value)),
        Value::Array(items) => items[last.parse::<usize>().unwrap()] = value,
        _ => panic!("{pointer}"),
    }
}

#[test]
fn broken_instances_are_rejected_for_their_reason() {
    let library = Library::new();
    for (definition, pointer, value, keyword) in broken() {
        let mut instance = good(definition);
        library.accepts(definition, &instance);
        put(&mut instance, pointer, value);
        let errors = library.errors(definition, &instance);
        // Of a missing member the parent tells, of a wrong one the member itself or what it holds.
        let parent = pointer.rsplit_once('/').unwrap().0;
        let named = errors.iter().any(|error| {
            let (at, rule) = error.split_once(' ').unwrap();
            rule.ends_with(&format!("/{keyword}"))
                && (at == parent || at == pointer || at.starts_with(&format!("{pointer}/")))
        });
        assert!(
            named,
            "{definition} {pointer} {keyword}: {errors:?}\n{instance}"
        );
    }
}

#[test]
fn names_beyond_ascii_and_unknown_members_are_accepted() {
    let library = Library::new();
    for name in ["übersicht", "日本", "a", "a-1", "0"] {
        let mut result = good("GetSkillResult");
        put(&mut result, "/skill/frontmatter/name", json!(name));
        library.accepts("GetSkillResult", &result);
    }
    for definition in [
        "ListSkillsResult",
        "GetSkillResult",
        "ReadResourceDirectoryResult",
        "ReadResourceResult",
        "ErrorResponse",
    ] {
        let mut value = good(definition);
        value["x-more"] = json!([1]);
        library.accepts(definition, &value);
    }
    let mut result = good("ListSkillsResult");
    put(&mut result, "/skills/0/resources", json!("dynamic"));
    library.accepts("ListSkillsResult", &result);
}

#[test]
fn the_older_form_needs_no_result_type_and_no_caching_members() {
    let library = Library::new();
    for definition in [
        "ListSkillsResult",
        "GetSkillResult",
        "ReadResourceDirectoryResult",
        "ReadResourceResult",
        "ListResourcesResult",
    ] {
        let mut result = good(definition);
        for member in ["resultType", "ttlMs", "cacheScope", "_meta"] {
            result.as_object_mut().unwrap().remove(member);
        }
        library.accepts(&format!("{definition}-{LEGACY}"), &result);
        assert!(!library.errors(definition, &result).is_empty());
        // What that revision does not define means nothing there.
        result["ttlMs"] = json!("soon");
        library.accepts(&format!("{definition}-{LEGACY}"), &result);
        result["_meta"] = json!("x");
        assert!(
            !library
                .errors(&format!("{definition}-{LEGACY}"), &result)
                .is_empty()
        );
    }
}
