//! A tree of any size with deterministic content, for load tests.

use crate::options::Generate;
use crate::tree::{SkillRoot, Tree};

/// Builds `gen-0001`, `gen-0002`, … with equally many files of equal size.
pub(crate) fn tree(size: Generate) -> Tree {
    let mut tree = Tree::default();
    for skill in 1..=size.skills {
        let name = format!("gen-{skill:04}");
        tree.add(
            format!("{name}/SKILL.md"),
            format!(
                "---\nname: {name}\ndescription: Generated skill number {skill} for load tests.\n---\n\
                 # Generated skill {skill}\n\nIts files lie in `data/`.\n"
            ),
        );
        for file in 1..=size.files {
            tree.add(
                format!("{name}/data/file-{file:04}.txt"),
                content(skill, file, size.bytes),
            );
        }
        tree.skills.push(SkillRoot::listed(&name));
    }
    tree
}

/// Lines that differ from file to file, cut to the wanted length.
fn content(skill: usize, file: usize, bytes: usize) -> Vec<u8> {
    let line = format!("skill {skill} file {file}: the quick brown fox jumps over the lazy dog\n");
    line.bytes().cycle().take(bytes).collect()
}
