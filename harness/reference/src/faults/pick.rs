//! Picking what a fault acts on. In the built-in tree each choice has a single
//! right answer; in other trees the first one that fits is taken.

use serde_json::Value;

use crate::catalog::Catalog;
use crate::frontmatter;
use crate::tree::{SkillRoot, Tree, file_name};

/// Whether a path lies within another one.
pub(super) fn within(path: &str, directory: &str) -> bool {
    path.strip_prefix(directory)
        .is_some_and(|rest| rest.starts_with('/'))
}

/// What decides whether a skill can stand for all.
struct Candidate<'a> {
    path: &'a str,
    /// It is listed and its content is fixed.
    fit: bool,
    /// It has supporting files.
    rich: bool,
}

/// The skill that stands for all: listed, with fixed content and supporting
/// files, neither inside another skill nor around one.
fn choose(candidates: &[Candidate<'_>]) -> Option<usize> {
    let alone = |one: &Candidate<'_>| {
        candidates
            .iter()
            .all(|other| !within(one.path, other.path) && !within(other.path, one.path))
    };
    let first = |test: &dyn Fn(&Candidate<'_>) -> bool| candidates.iter().position(test);
    first(&|one| one.fit && one.rich && alone(one))
        .or_else(|| first(&|one| one.fit && alone(one)))
        .or_else(|| first(&|one| one.fit))
}

/// The skill that stands for all in a tree.
pub(super) fn victim(tree: &Tree) -> Option<usize> {
    let candidates: Vec<Candidate<'_>> = (tree.skills.iter())
        .map(|skill| Candidate {
            path: &skill.path,
            fit: skill.listed && !skill.dynamic,
            rich: tree.below(&skill.path).nth(1).is_some(),
        })
        .collect();
    choose(&candidates)
}

/// What per-request faults act on, chosen once.
#[derive(Debug, Clone, Default)]
pub(super) struct Picked {
    /// Place of the skill that stands for all.
    pub skill: Option<usize>,
    /// URI of its first supporting file (or of its only file).
    pub file: Option<String>,
    /// Places of a skill and of one nested in it.
    pub nested: Option<(usize, usize)>,
}

impl Picked {
    pub fn of(catalog: &Catalog) -> Picked {
        let candidates: Vec<Candidate<'_>> = (catalog.skills.iter())
            .map(|skill| {
                let rows = rows(&skill.entry).map_or(0, Vec::len);
                Candidate {
                    path: &skill.path,
                    fit: rows > 0 && skill.listed,
                    rich: rows > 1,
                }
            })
            .collect();
        let skill = choose(&candidates);
        let file = skill.and_then(|index| {
            let rows = rows(&catalog.skills[index].entry)?;
            let row = rows.get(1).or(rows.first())?;
            Some(row["uri"].as_str()?.to_owned())
        });
        Picked {
            skill,
            file,
            nested: nested(catalog),
        }
    }

    /// The entry of the skill that stands for all.
    pub fn entry<'a>(&self, catalog: &'a mut Catalog) -> Option<&'a mut Value> {
        Some(&mut catalog.skills[self.skill?].entry)
    }
}

/// The manifest of an entry, if it has one.
pub(super) fn rows(entry: &Value) -> Option<&Vec<Value>> {
    entry["resources"].as_array()
}

/// The manifest of an entry, to be changed.
pub(super) fn rows_mut(entry: &mut Value) -> Option<&mut Vec<Value>> {
    entry.get_mut("resources")?.as_array_mut()
}

/// The first supporting file's row in the manifest, or the only row.
pub(super) fn supporting_row(entry: &mut Value) -> Option<&mut Value> {
    let rows = rows_mut(entry)?;
    let index = usize::from(rows.len() > 1);
    rows.get_mut(index)
}

/// The listed skills that lie within another listed skill, and around one.
fn nested(catalog: &Catalog) -> Option<(usize, usize)> {
    for inner in &catalog.listing {
        for outer in &catalog.listing {
            if within(&catalog.skills[*inner].path, &catalog.skills[*outer].path)
                && rows(&catalog.skills[*outer].entry).is_some()
            {
                return Some((*outer, *inner));
            }
        }
    }
    None
}

/// Makes the entry keep the frontmatter the file has now, whatever becomes of
/// the file.
pub(super) fn keep_entry(tree: &mut Tree, index: usize) {
    let skill_md = tree.skills[index].skill_md();
    if let Ok(fields) = frontmatter::read(&tree.files[&skill_md]) {
        tree.skills[index].frontmatter = Some(Value::Object(fields));
    }
}

/// Rewrites the text of a skill's `SKILL.md`.
pub(super) fn rewrite(tree: &mut Tree, index: usize, change: impl FnOnce(&str) -> String) {
    let skill_md = tree.skills[index].skill_md();
    if let Some(bytes) = tree.files.get_mut(&skill_md)
        && let Ok(text) = std::str::from_utf8(bytes)
    {
        *bytes = change(text).into_bytes();
    }
}

/// Replaces a top-level field of the frontmatter by lines of YAML, or adds
/// them at its end. Nothing else in the file moves.
pub(super) fn set_field(tree: &mut Tree, index: usize, field: &str, yaml: &str) {
    rewrite(tree, index, |text| {
        let mut lines: Vec<&str> = text.lines().collect();
        let close = (lines.iter().skip(1))
            .position(|line| line.trim_end() == "---")
            .map_or(lines.len(), |at| at + 1);
        let start = lines[..close]
            .iter()
            .position(|line| {
                line.strip_prefix(field)
                    .is_some_and(|rest| rest.starts_with(':'))
            })
            .unwrap_or(close);
        let length = lines[start..close]
            .iter()
            .skip(1)
            .take_while(|line| line.is_empty() || line.starts_with([' ', '-', '\t']))
            .count();
        let end = if start == close {
            close
        } else {
            start + 1 + length
        };
        lines.splice(start..end, yaml.lines());
        lines.join("\n") + "\n"
    });
}

/// Adds a key to `metadata` in the frontmatter.
pub(super) fn add_metadata(tree: &mut Tree, index: usize, line: &str) {
    let skill_md = tree.skills[index].skill_md();
    let has_block = frontmatter::read(&tree.files[&skill_md])
        .is_ok_and(|fields| fields.get("metadata").is_some_and(Value::is_object));
    if has_block {
        rewrite(tree, index, |text| {
            let at = text.find("\nmetadata:").map_or(0, |at| at + 1);
            let next = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
            let indent: String = text[next..].chars().take_while(|c| *c == ' ').collect();
            format!("{}{indent}{line}\n{}", &text[..next], &text[next..])
        });
    } else {
        set_field(tree, index, "metadata", &format!("metadata:\n  {line}"));
    }
}

/// Adds a listed skill that is right in every way but the one its path or URI
/// is made for.
pub(super) fn add_skill(tree: &mut Tree, path: &str) -> usize {
    let name = file_name(path);
    tree.add(
        format!("{path}/SKILL.md"),
        format!(
            "---\nname: \"{name}\"\ndescription: Keep a ledger of what was done. Use when the work is to be written down.\n---\n# Ledger\n\nSee [the notes](notes.md).\n"
        ),
    );
    tree.add(format!("{path}/notes.md"), "One line per day.\n");
    tree.skills.push(SkillRoot::listed(path));
    tree.skills.len() - 1
}
