use std::collections::BTreeSet;

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;

fn message(yaml: &str, frontmatter: &Value) -> Value {
    let file = format!("---\n{yaml}\n---\n");
    let uri = "skill://acme/a/SKILL.md";
    let digest = content::hash(file.as_bytes(), Switch::new(None).unwrap());
    json!({"id": 7, "entry": {"uri": uri, "frontmatter": frontmatter, "resources": [
        {"uri": uri, "digest": format!("sha256:{digest}"), "size": file.len()}]},
        "files": {uri: BASE64.encode(file)}})
}

fn verdict(fault: Option<&str>, message: &Value) -> String {
    let options = VerifierOptions {
        fault: fault.map(str::to_owned),
    };
    let answer = Verifier::new(&options)
        .unwrap()
        .answer(&message.to_string())
        .unwrap();
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["id"], 7);
    answer["verdict"].as_str().unwrap().to_owned()
}

#[test]
fn an_honest_verifier_accepts_and_rejects() {
    let good = message(
        "name: a\ndescription: d",
        &json!({"name": "a", "description": "d"}),
    );
    assert_eq!(verdict(None, &good), "accept");
    let other = message(
        "name: a\ndescription: d",
        &json!({"name": "a", "description": "e"}),
    );
    assert_eq!(verdict(None, &other), "reject");
    assert_eq!(
        verdict(Some("verifier-frontmatter/name-only"), &other),
        "accept"
    );
    let mut tampered = good.clone();
    tampered["entry"]["resources"][0]["size"] = 1.into();
    assert_eq!(verdict(None, &tampered), "reject");
    assert_eq!(verdict(Some("verifier-size/ignored"), &tampered), "accept");
}

#[test]
fn each_fault_acts_somewhere_and_nothing_else_does() {
    let text = [
        include_str!("mod.rs"),
        include_str!("manifest.rs"),
        include_str!("content.rs"),
    ]
    .concat();
    let acting: BTreeSet<String> = text
        .split(".on(\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .map(|id| format!("verifier-{id}"))
        .collect();
    let listed: BTreeSet<String> = verifier_faults().iter().map(|f| f.id.to_owned()).collect();
    assert_eq!(acting, listed);
    assert_eq!(listed.len(), verifier_faults().len(), "an id stands twice");
    assert!(
        verifier_faults()
            .iter()
            .all(|fault| fault.side == "verifier")
    );
}
