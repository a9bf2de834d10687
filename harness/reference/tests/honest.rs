//! The honest server on both revisions, without a transport.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{Client, LEGACY, MODERN};
use sep2640_reference::{Channel, Generate, Options, Server, StartError};
use serde_json::{Value, json};

const BOTH: [&str; 2] = [MODERN, LEGACY];

#[test]
fn the_listing_has_every_skill_once_over_three_pages() {
    for revision in BOTH {
        let client = Client::honest(revision);
        let pages = client.pages("skills/list", &json!({}));
        assert_eq!(pages.len(), 3);
        let uris: Vec<String> = client
            .skills()
            .iter()
            .map(|entry| entry["uri"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            uris,
            [
                "skill://git-workflow/SKILL.md",
                "skill://acme/billing/refunds/SKILL.md",
                "skill://pdf-processing/SKILL.md",
                "skill://pdf-processing/merge-helper/SKILL.md",
                "skill://reports/daily/SKILL.md",
                "skill://release-notes/SKILL.md",
                "skill://triage-inbox/SKILL.md",
            ]
        );
        for page in &pages {
            let modern = revision == MODERN;
            for member in ["resultType", "ttlMs", "cacheScope", "_meta"] {
                assert_eq!(page.get(member).is_some(), modern, "{member}");
            }
        }
    }
}

#[test]
fn cursors_are_good_for_their_list_only() {
    for revision in BOTH {
        let client = Client::honest(revision);
        let cursor = client.result("skills/list", json!({}))["nextCursor"].take();
        let page = |cursor: &Value| client.call("skills/list", json!({"cursor": cursor}));
        assert_eq!(page(&cursor), page(&cursor));
        for bad in [json!("x"), json!(""), json!(5), json!(null), json!({})] {
            assert_eq!(client.code("skills/list", json!({"cursor": bad})), -32602);
        }
        assert_eq!(
            client.code("resources/list", json!({"cursor": cursor})),
            -32602
        );
        let directory = json!({"uri": "skill://pdf-processing", "cursor": cursor});
        assert_eq!(client.code("resources/directory/read", directory), -32602);
    }
}

#[test]
fn get_answers_listed_and_unlisted_skills_and_nothing_else() {
    for revision in BOTH {
        let client = Client::honest(revision);
        for entry in client.skills() {
            let result = client.result("skills/get", json!({"uri": entry["uri"]}));
            assert_eq!(result["skill"], entry);
            assert!(result.get("nextCursor").is_none());
            assert_eq!(result.get("ttlMs").is_some(), revision == MODERN);
        }
        let unlisted = "skill://internal/on-call/SKILL.md";
        let result = client.result("skills/get", json!({"uri": unlisted}));
        assert_eq!(result["skill"]["frontmatter"]["name"], "on-call");
        for uri in [
            json!("skill://nobody/SKILL.md"),
            json!("skill://pdf-processing/merge-helper/steps.md"),
            json!("skill://pdf-processing"),
            json!("docs://readme"),
            json!("skill://pdf-processing/./SKILL.md"),
            json!("skill://%zz"),
            json!(""),
            json!(null),
            json!(7),
            json!([]),
        ] {
            assert_eq!(
                client.code("skills/get", json!({"uri": uri})),
                -32602,
                "{uri}"
            );
        }
        assert_eq!(client.code("skills/get", json!({})), -32602);
    }
}

#[test]
fn reads_give_the_bytes_the_manifest_speaks_of() {
    for revision in BOTH {
        let client = Client::honest(revision);
        let uri = "skill://pdf-processing/references/Quick%20start%20%C3%A9.md";
        assert!(client.read(uri).is_some());
        let logo = json!({"uri": "skill://pdf-processing/assets/logo.png"});
        let logo = client.result("resources/read", logo);
        assert!(
            logo["contents"][0]["blob"].is_string() && logo["contents"][0].get("text").is_none()
        );
        let empty = json!({"uri": "skill://pdf-processing/assets/empty.txt"});
        assert_eq!(
            client.result("resources/read", empty)["contents"][0]["text"],
            ""
        );
        let gone = if revision == MODERN { -32602 } else { -32002 };
        for uri in [
            "skill://pdf-processing/none.md",
            "skill://pdf-processing",
            "x:",
        ] {
            assert_eq!(client.code("resources/read", json!({"uri": uri})), gone);
        }
        assert_eq!(client.code("resources/read", json!({"uri": 1})), -32602);
    }
}

#[test]
fn dynamic_skills_change_with_each_read() {
    let client = Client::honest(MODERN);
    let uri = "skill://reports/daily/SKILL.md";
    let entry = client.result("skills/get", json!({"uri": uri}));
    assert_eq!(entry["skill"]["resources"], "dynamic");
    assert_ne!(client.read(uri), client.read(uri));
    let data = "skill://reports/daily/data.json";
    assert_eq!(client.read(data), client.read(data));
}

#[test]
fn directories_show_what_manifests_list() {
    for revision in BOTH {
        let client = Client::honest(revision);
        let root = "skill://pdf-processing";
        let found = client.walk(root);
        let files: BTreeSet<&str> = found
            .iter()
            .filter(|(_, child)| child["mimeType"] != "inode/directory")
            .map(|(uri, _)| uri.as_str())
            .collect();
        let entry = client.result("skills/get", json!({"uri": format!("{root}/SKILL.md")}));
        let listed: BTreeSet<&str> = (entry["skill"]["resources"].as_array().unwrap().iter())
            .map(|row| row["uri"].as_str().unwrap())
            .collect();
        assert_eq!(files, listed);
        let drafts = json!({"uri": "skill://pdf-processing/drafts"});
        let drafts = client.result("resources/directory/read", drafts);
        assert_eq!(drafts["resources"], json!([]));
        assert!(drafts.get("ttlMs").is_none() && drafts.get("cacheScope").is_none());
        for uri in [
            "skill://acme",
            "skill://acme/billing",
            "skill://internal/on-call",
        ] {
            client.result("resources/directory/read", json!({"uri": uri}));
        }
        for uri in [
            "skill://pdf-processing/",
            "skill://pdf-processing/SKILL.md",
            "skill://nobody",
            "skill://",
        ] {
            assert_eq!(
                client.code("resources/directory/read", json!({"uri": uri})),
                -32602,
                "{uri}"
            );
        }
    }
}

#[test]
fn resources_list_shows_skills_with_their_metadata() {
    let client = Client::honest(MODERN);
    let resources = client.all("resources/list", "resources", &json!({}));
    let by_uri: BTreeMap<&str, &Value> = (resources.iter())
        .map(|resource| (resource["uri"].as_str().unwrap(), resource))
        .collect();
    assert_eq!((resources.len(), by_uri.len()), (8, 8));
    let git = by_uri["skill://git-workflow/SKILL.md"];
    assert_eq!(git["name"], "git-workflow");
    assert_eq!(git["mimeType"], "text/markdown");
    assert_eq!(
        git["_meta"],
        json!({"io.modelcontextprotocol.skills/license": "Apache-2.0"})
    );
    assert!(git["description"].is_string() && git["size"].is_u64());
    let templates = client.result("resources/templates/list", json!({}));
    assert_eq!(templates["resourceTemplates"], json!([]));
}

#[test]
fn each_revision_has_its_own_opening() {
    let modern = Client::honest(MODERN);
    let discovered = modern.result("server/discover", json!({}));
    assert_eq!(discovered["supportedVersions"], json!([MODERN, LEGACY]));
    let instructions = discovered["instructions"].as_str().unwrap();
    assert!(instructions.contains("skill://internal/on-call/SKILL.md"));
    assert_eq!(modern.code("ping", json!({})), -32601);
    assert_eq!(modern.code("initialize", json!({})), -32601);

    let legacy = Client::honest(LEGACY);
    let greeted = legacy.result("initialize", json!({"protocolVersion": "2024-11-05"}));
    assert_eq!(greeted["protocolVersion"], LEGACY);
    assert_eq!(greeted["capabilities"], discovered["capabilities"]);
    assert_eq!(
        greeted["capabilities"],
        json!({"resources": {}, "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": true}}})
    );
    assert_eq!(legacy.result("ping", json!({})), json!({}));
    assert_eq!(legacy.code("server/discover", json!({})), -32601);
}

#[test]
fn what_is_not_a_request_is_met_properly() {
    let client = Client::honest(MODERN);
    let code = |message: &[u8]| {
        let answer = client.server.handle(message, Channel::Stdio);
        let answer: Value = serde_json::from_slice(&answer.body.unwrap()).unwrap();
        (
            answer["error"]["code"].as_i64().unwrap(),
            answer["id"].clone(),
        )
    };
    assert_eq!(code(b"{"), (-32700, Value::Null));
    assert_eq!(code(b"\xff"), (-32700, Value::Null));
    assert_eq!(code(b"[]"), (-32600, Value::Null));
    assert_eq!(code(b"7"), (-32600, Value::Null));
    assert_eq!(
        code(br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#),
        (-32600, Value::Null)
    );
    assert_eq!(code(br#"{"jsonrpc":"2.0","id":4}"#), (-32600, json!(4)));
    assert_eq!(code(br#"{"id":4,"method":"ping"}"#), (-32600, json!(4)));
    assert_eq!(
        code(br#"{"jsonrpc":"2.0","id":4,"method":"skills/list"}"#),
        (-32602, json!(4))
    );
    for silent in [
        &br#"{"jsonrpc":"2.0","method":"skills/list"}"#[..],
        br#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
        br#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
    ] {
        assert_eq!(client.server.handle(silent, Channel::Stdio).body, None);
    }
}

#[test]
fn modern_metadata_is_required_and_versions_are_checked() {
    let client = Client::honest(MODERN);
    let call = |meta: Value| {
        let message =
            json!({"jsonrpc": "2.0", "id": 1, "method": "skills/list", "params": {"_meta": meta}});
        let answer = client
            .server
            .handle(message.to_string().as_bytes(), Channel::Http);
        let body: Value = serde_json::from_slice(&answer.body.unwrap()).unwrap();
        (answer.status, body["error"].clone())
    };
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    let (status, error) = call(json!({version: MODERN}));
    assert_eq!((status, error["code"].as_i64()), (400, Some(-32602)));
    let (status, error) = call(json!({capabilities: {}}));
    assert_eq!((status, error["code"].as_i64()), (400, Some(-32602)));
    let (status, error) = call(json!({version: "1999-01-01", capabilities: {}}));
    assert_eq!((status, error["code"].as_i64()), (400, Some(-32022)));
    assert_eq!(
        error["data"],
        json!({"supported": [MODERN, LEGACY], "requested": "1999-01-01"})
    );
}

#[test]
fn errors_name_the_uri_briefly() {
    let client = Client::honest(MODERN);
    let long = format!("skill://a\n{}", "x".repeat(65_536));
    let answer = client.call("skills/get", json!({"uri": long}));
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(
        message.contains("skill://a\\u{a}xxx") && message.len() < 300,
        "{message}"
    );
}

#[test]
fn directory_reads_can_be_left_out() {
    let options = Options {
        directory_read: false,
        ..Options::default()
    };
    let client = Client::new(MODERN, options);
    let discovered = client.result("server/discover", json!({}));
    assert_eq!(
        discovered["capabilities"]["extensions"],
        json!({"io.modelcontextprotocol/skills": {}})
    );
    assert_eq!(
        client.code("resources/directory/read", json!({"uri": "skill://acme"})),
        -32601
    );
}

#[test]
fn two_servers_say_the_same() {
    let (one, two) = (Client::honest(MODERN), Client::honest(MODERN));
    assert_eq!(one.skills(), two.skills());
    assert_eq!(
        one.walk("skill://pdf-processing"),
        two.walk("skill://pdf-processing")
    );
}

#[test]
fn generated_trees_have_the_wanted_size() {
    let generate = Some(Generate {
        skills: 5,
        files: 4,
        bytes: 1000,
    });
    let client = Client::new(
        MODERN,
        Options {
            generate,
            ..Options::default()
        },
    );
    let skills = client.skills();
    assert_eq!(skills.len(), 5);
    for entry in skills {
        let rows = entry["resources"].as_array().unwrap();
        assert_eq!(rows.len(), 5);
        assert!(rows[1..].iter().all(|row| row["size"] == 1000));
    }
}

#[test]
fn refusals_to_start_say_what_to_do() {
    let message = |options: Options| Server::new(options).err().unwrap().to_string();
    let skills = Some("/no/such/directory".into());
    let text = message(Options {
        skills,
        ..Options::default()
    });
    assert!(
        text.contains("/no/such/directory") && text.contains("readable"),
        "{text}"
    );
    let fault = Some("sep-2640-skill-list-stable".to_owned());
    let text = message(Options {
        fault,
        ..Options::default()
    });
    assert!(
        text.contains("closest one is `sep-2640-skills-list-stable`"),
        "{text}"
    );
    let error = Server::new(Options {
        page_size: 0,
        ..Options::default()
    });
    assert!(matches!(error, Err(StartError::EmptyPages)));
}
