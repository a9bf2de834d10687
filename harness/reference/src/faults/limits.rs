//! Faults in the size of a skill, which is served truthfully all the same.

use super::Fault;
use super::pick::add_skill;
use crate::tree::Tree;

/// Files and bytes that every host accepts in one skill.
const FILES: usize = 512;
const BYTES: usize = 16 * 1024 * 1024;

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-limit-resources-per-skill",
        "serves a skill of 513 files",
    ),
    Fault::new(
        "sep-2640-limit-total-size",
        "serves a skill one byte larger than 16 MiB",
    ),
];

pub(super) fn tree(id: &str, tree: &mut Tree) {
    match id {
        "sep-2640-limit-resources-per-skill" => {
            add_skill(tree, "bulk/many-files");
            let there = tree.below("bulk/many-files").count();
            for number in 0..=FILES - there {
                let path = format!("bulk/many-files/data/{number:03}.txt");
                tree.add(path, format!("{number}\n"));
            }
        }
        "sep-2640-limit-total-size" => {
            add_skill(tree, "bulk/large-files");
            let there: usize = tree
                .below("bulk/large-files")
                .map(|(_, bytes)| bytes.len())
                .sum();
            let missing = BYTES + 1 - there;
            let line = b"0123456789abcdef 0123456789abcdef 0123456789abcdef 0123456789ab\n";
            for (number, size) in [missing / 2, missing - missing / 2].into_iter().enumerate() {
                let bytes: Vec<u8> = line.iter().copied().cycle().take(size).collect();
                tree.add(format!("bulk/large-files/data/{number}.txt"), bytes);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::Catalog;

    fn entry(id: &str) -> Vec<u64> {
        let mut built = Tree::default();
        tree(id, &mut built);
        let catalog = Catalog::new(&built);
        let rows = catalog.skills[0].entry["resources"].as_array().unwrap();
        rows.iter()
            .map(|row| row["size"].as_u64().unwrap())
            .collect()
    }

    #[test]
    fn each_limit_is_passed_by_one() {
        assert_eq!(entry("sep-2640-limit-resources-per-skill").len(), 513);
        let sizes = entry("sep-2640-limit-total-size");
        assert_eq!(sizes.iter().sum::<u64>(), 16_777_217);
    }
}
