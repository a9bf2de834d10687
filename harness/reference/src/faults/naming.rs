//! Faults in names and URIs. URI, file and entry agree wherever the fault is
//! not about their disagreeing; added skills are right in everything else.

use super::Fault;
use super::pick::{add_skill, set_field, victim};
use crate::tree::{Tree, file_name};

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-names-should-be-unique",
        "lists two skills of the same name",
    ),
    Fault::new(
        "sep-2640-final-segment-equals-name",
        "serves a skill whose file and entry carry another name than its URI",
    ),
    Fault::new(
        "sep-2640-name-naming-rules",
        "serves a skill named PDF_Tools",
    ),
    Fault::new(
        "sep-2640-name-naming-rules/long",
        "serves a skill with a name of 65 characters",
    ),
    Fault::new(
        "sep-2640-name-naming-rules/double",
        "serves a skill with a double hyphen in its name",
    ),
    Fault::new(
        "sep-2640-name-naming-rules/leading",
        "serves a skill whose name begins with a hyphen",
    ),
    Fault::new(
        "sep-2640-name-ascii",
        "serves a skill with a letter beyond ASCII in its name",
    ),
    Fault::new(
        "sep-2640-entry-uri-names-skillmd",
        "publishes one skill as skill.md in lower case",
    ),
    Fault::new(
        "sep-2640-entry-uri-names-skillmd/root",
        "publishes one skill under the URI of its directory",
    ),
    Fault::new(
        "sep-2640-skill-uri-scheme",
        "serves one skill under github://",
    ),
    Fault::new("sep-2640-uri-valid", "writes a space into a file's URI"),
    Fault::new(
        "sep-2640-uri-valid/nonascii",
        "writes a letter beyond ASCII into a file's URI",
    ),
    Fault::new(
        "sep-2640-uri-valid/percent",
        "writes a percent sign that escapes nothing into a file's URI",
    ),
    Fault::new(
        "sep-2640-authority-reg-name",
        "serves a skill with user information in its first segment",
    ),
    Fault::new(
        "sep-2640-authority-reg-name/port",
        "serves a skill with a port in its first segment",
    ),
    Fault::new(
        "sep-2640-prefix-segments-valid",
        "writes a space into the prefix of a skill's URI",
    ),
];

pub(super) fn tree(id: &str, tree: &mut Tree) {
    match id {
        "sep-2640-names-should-be-unique" => {
            let name = victim(tree).map(|skill| file_name(&tree.skills[skill].path).to_owned());
            add_skill(tree, &format!("archive/{}", name.unwrap_or_default()));
        }
        "sep-2640-name-naming-rules" => {
            add_skill(tree, "tools/PDF_Tools");
        }
        "sep-2640-name-naming-rules/long" => {
            add_skill(tree, &format!("tools/{}", "a".repeat(65)));
        }
        "sep-2640-name-naming-rules/double" => {
            add_skill(tree, "tools/pdf--tools");
        }
        "sep-2640-name-naming-rules/leading" => {
            add_skill(tree, "tools/-pdf-tools");
        }
        "sep-2640-name-ascii" => {
            add_skill(tree, "tools/übersicht");
        }
        "sep-2640-skill-uri-scheme" => {
            add_spelled(
                tree,
                "octo-org/skills/ledger",
                "octo-org",
                "github://octo-org",
            );
        }
        "sep-2640-authority-reg-name" => {
            add_spelled(tree, "team@octo/ledger", "team@octo", "skill://team@octo");
        }
        "sep-2640-authority-reg-name/port" => {
            add_spelled(
                tree,
                "localhost:8080/ledger",
                "localhost:8080",
                "skill://localhost:8080",
            );
        }
        "sep-2640-prefix-segments-valid" => {
            add_spelled(
                tree,
                "octo/big team/ledger",
                "octo/big team",
                "skill://octo/big team",
            );
        }
        _ => {
            if let Some(skill) = victim(tree) {
                victims(id, tree, skill);
            }
        }
    }
}

fn add_spelled(tree: &mut Tree, path: &str, node: &str, spelling: &str) {
    add_skill(tree, path);
    tree.spellings.insert(node.to_owned(), spelling.to_owned());
}

/// Faults that change a skill which is there anyway.
fn victims(id: &str, tree: &mut Tree, skill: usize) {
    let root = tree.skills[skill].path.clone();
    let root_uri = tree.uri(&root);
    let mut spelled_file = |name: &str| {
        let path = format!("{root}/{name}");
        tree.add(path.as_str(), "Side notes.\n");
        tree.spellings.insert(path, format!("{root_uri}/{name}"));
    };
    match id {
        "sep-2640-uri-valid" => spelled_file("side notes.md"),
        "sep-2640-uri-valid/nonascii" => spelled_file("café.md"),
        "sep-2640-uri-valid/percent" => spelled_file("100%.md"),
        "sep-2640-final-segment-equals-name" => set_field(tree, skill, "name", "name: returns"),
        "sep-2640-entry-uri-names-skillmd" => {
            let skill_md = tree.skills[skill].skill_md();
            tree.spellings
                .insert(skill_md, format!("{root_uri}/skill.md"));
        }
        "sep-2640-entry-uri-names-skillmd/root" => {
            let skill_md = tree.skills[skill].skill_md();
            tree.spellings.insert(skill_md, root_uri);
        }
        _ => {}
    }
}
