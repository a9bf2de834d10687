//! Faults in the `SKILL.md` itself. The entry agrees with the file unless the
//! file can no longer be read as the entry needs it.

use super::Fault;
use super::pick::{add_metadata, keep_entry, rewrite, set_field, victim};
use crate::tree::Tree;

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-skillmd-frontmatter",
        "puts a heading before the frontmatter of one SKILL.md",
    ),
    Fault::new(
        "sep-2640-skillmd-frontmatter/unclosed",
        "never closes the frontmatter of one SKILL.md",
    ),
    Fault::new(
        "sep-2640-skillmd-frontmatter/invalid",
        "writes frontmatter that is no YAML",
    ),
    Fault::new(
        "sep-2640-skillmd-frontmatter-undisputed",
        "writes a comment into frontmatter without the blank that YAML wants before it",
    ),
    Fault::new(
        "sep-2640-skillmd-frontmatter-undisputed/deep",
        "writes frontmatter that is nested a hundred and one levels deep",
    ),
    Fault::new(
        "sep-2640-skillmd-frontmatter-unique-keys",
        "writes one key of the frontmatter twice",
    ),
    Fault::new(
        "sep-2640-format-name-required",
        "leaves the name out of one SKILL.md",
    ),
    Fault::new(
        "sep-2640-format-name-required/list",
        "writes the name of one SKILL.md as a list",
    ),
    Fault::new(
        "sep-2640-format-description-required",
        "leaves the description out of one SKILL.md",
    ),
    Fault::new(
        "sep-2640-format-description-length",
        "writes a description of 1025 characters",
    ),
    Fault::new(
        "sep-2640-format-description-length/empty",
        "writes an empty description",
    ),
    Fault::new(
        "sep-2640-format-compatibility-length",
        "writes a compatibility of 501 characters",
    ),
    Fault::new(
        "sep-2640-format-compatibility-length/empty",
        "writes an empty compatibility",
    ),
    Fault::new(
        "sep-2640-format-metadata-strings",
        "writes a number into metadata",
    ),
    Fault::new(
        "sep-2640-format-allowed-tools-string",
        "writes allowed-tools as a list",
    ),
    Fault::new(
        "sep-2640-metadata-reserved-prefix",
        "uses a metadata key under io.modelcontextprotocol/",
    ),
];

pub(super) fn tree(id: &str, tree: &mut Tree) {
    let Some(skill) = victim(tree) else { return };
    match id {
        "sep-2640-skillmd-frontmatter" => {
            keep_entry(tree, skill);
            rewrite(tree, skill, |text| format!("# Read me first\n\n{text}"));
        }
        "sep-2640-skillmd-frontmatter/unclosed" => {
            keep_entry(tree, skill);
            rewrite(tree, skill, |text| {
                let lines = text.lines().enumerate();
                lines
                    .filter(|(number, line)| *number == 0 || line.trim_end() != "---")
                    .map(|(_, line)| format!("{line}\n"))
                    .collect()
            });
        }
        "sep-2640-skillmd-frontmatter/invalid" => {
            keep_entry(tree, skill);
            set_field(tree, skill, "x-broken", "x-broken: [one, {two");
        }
        "sep-2640-skillmd-frontmatter-undisputed" => {
            set_field(tree, skill, "x-origin", "x-origin: \"the wiki\"#page 7");
        }
        "sep-2640-skillmd-frontmatter-undisputed/deep" => {
            let deep = format!("x-origin: {}{}", "[".repeat(101), "]".repeat(101));
            set_field(tree, skill, "x-origin", &deep);
        }
        "sep-2640-skillmd-frontmatter-unique-keys" => {
            set_field(tree, skill, "x-origin", "x-origin: the wiki");
            keep_entry(tree, skill);
            rewrite(tree, skill, |text| {
                text.replacen("x-origin:", "x-origin: a mail\nx-origin:", 1)
            });
        }
        "sep-2640-format-name-required" => {
            keep_entry(tree, skill);
            set_field(tree, skill, "name", "");
        }
        "sep-2640-format-name-required/list" => {
            let name = crate::tree::file_name(&tree.skills[skill].path).to_owned();
            keep_entry(tree, skill);
            set_field(tree, skill, "name", &format!("name: [{name}]"));
        }
        "sep-2640-format-description-required" => {
            keep_entry(tree, skill);
            set_field(tree, skill, "description", "");
        }
        "sep-2640-format-description-length" => {
            let text = sentence(1025);
            set_field(tree, skill, "description", &format!("description: {text}"));
        }
        "sep-2640-format-description-length/empty" => {
            set_field(tree, skill, "description", "description: \"\"");
        }
        "sep-2640-format-compatibility-length" => {
            let text = sentence(501);
            set_field(
                tree,
                skill,
                "compatibility",
                &format!("compatibility: {text}"),
            );
        }
        "sep-2640-format-compatibility-length/empty" => {
            set_field(tree, skill, "compatibility", "compatibility: \"\"");
        }
        "sep-2640-format-metadata-strings" => add_metadata(tree, skill, "priority: 3"),
        "sep-2640-format-allowed-tools-string" => {
            set_field(
                tree,
                skill,
                "allowed-tools",
                "allowed-tools:\n  - Read\n  - Grep",
            );
        }
        "sep-2640-metadata-reserved-prefix" => {
            add_metadata(tree, skill, "io.modelcontextprotocol/priority: high");
        }
        _ => {}
    }
}

/// Words of exactly this many characters in all.
fn sentence(length: usize) -> String {
    let mut text: String = "use this skill ".chars().cycle().take(length - 1).collect();
    text.push('x');
    text
}
