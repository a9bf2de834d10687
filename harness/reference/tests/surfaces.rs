//! The surfaces of the honest reference agree with each other, as a client that knows nothing of
//! the suite sees them. Every fault is shown by the twins of the suite.

mod common;

use std::collections::BTreeSet;

use common::{Client, LEGACY, MODERN};
use sep2640_reference::Options;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

/// Which of the rules between the surfaces do not hold.
fn broken(client: &Client) -> BTreeSet<&'static str> {
    let mut broken = BTreeSet::new();
    let mut hold = |rule: &'static str, holds: bool| {
        if !holds {
            broken.insert(rule);
        }
    };
    for entry in client.skills() {
        let Some(uri) = entry["uri"].as_str() else {
            continue;
        };
        let got = client.call("skills/get", json!({"uri": uri}));
        hold("get", got["result"]["skill"] == entry);
        let bytes = client.read(uri);
        hold("readable", bytes.is_some());
        let text = bytes
            .map(|bytes| String::from_utf8(bytes).unwrap())
            .unwrap_or_default();
        let yaml = text
            .strip_prefix("---\n")
            .and_then(|rest| rest.split_once("\n---\n"));
        let fields = yaml.and_then(|(yaml, _)| serde_yaml::from_str::<Value>(yaml).ok());
        hold(
            "frontmatter",
            fields.as_ref() == Some(&entry["frontmatter"]),
        );
        let Some(root) = uri.strip_suffix("/SKILL.md") else {
            continue;
        };
        let walked = client.walk(root);
        let is_file = |child: &Value| child["mimeType"] != "inode/directory";
        let mut listed = BTreeSet::new();
        for row in entry["resources"].as_array().into_iter().flatten() {
            let Some(uri) = row["uri"].as_str() else {
                continue;
            };
            hold("once", listed.insert(uri.to_owned()));
            let bytes = client.read(uri);
            hold("readable", bytes.is_some());
            let bytes = bytes.unwrap_or_default();
            let digest: String = Sha256::digest(&bytes)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            hold("digest", row["digest"] == format!("sha256:{digest}"));
            hold("size", row["size"] == bytes.len());
            let shown = walked.get(uri).and_then(|child| child.get("size"));
            hold("metadata", shown.is_none_or(|size| *size == row["size"]));
        }
        if entry["resources"].is_array() {
            let walked: BTreeSet<String> = (walked.iter())
                .filter(|(_, child)| is_file(child))
                .map(|(uri, _)| uri.clone())
                .collect();
            hold("walk", walked == listed);
        }
    }
    broken
}

#[test]
fn honest_surfaces_agree() {
    for revision in [MODERN, LEGACY] {
        assert_eq!(broken(&Client::honest(revision)), BTreeSet::new());
    }
}

#[test]
fn a_fault_acts_in_small_listings_too() {
    let fault = Some("sep-2640-skills-list-each-once".to_owned());
    let client = Client::new(
        MODERN,
        Options {
            fault,
            page_size: 100,
            ..Options::default()
        },
    );
    assert_eq!(client.skills().len(), 8);
}
