//! Faults that only somebody who knows the served directory can see.

use super::Fault;
use super::pick::{victim, within};
use crate::tree::Tree;

pub(super) const FAULTS: &[Fault] = &[
    Fault::new(
        "sep-2640-root-skills-served",
        "does not serve one skill of the directory at all",
    )
    .needs(&["root"]),
    Fault::new(
        "sep-2640-root-skill-listed-or-served",
        "serves the files of one skill, but neither lists nor answers it",
    )
    .needs(&["root"]),
    Fault::new(
        "sep-2640-root-bytes-equal",
        "serves text with LF where the disk has CRLF",
    )
    .needs(&["root"]),
    Fault::new("sep-2640-root-files-served", "does not serve dotfiles").needs(&["root"]),
    Fault::new(
        "sep-2640-root-files-served/extra",
        "serves a file that is not in the directory",
    )
    .needs(&["root"]),
    Fault::new(
        "sep-2640-root-no-escape",
        "follows symbolic links out of the directory",
    )
    .needs(&["root"]),
];

pub(super) fn follows_links(id: &str) -> bool {
    id == "sep-2640-root-no-escape"
}

pub(super) fn tree(id: &str, tree: &mut Tree) {
    match id {
        "sep-2640-root-skills-served" => {
            if let Some(index) = victim(tree) {
                let root = tree.skills.remove(index).path;
                tree.files.retain(|path, _| !within(path, &root));
                tree.directories
                    .retain(|path| *path != root && !within(path, &root));
            }
        }
        "sep-2640-root-skill-listed-or-served" => {
            if let Some(index) = victim(tree) {
                tree.skills.remove(index);
            }
        }
        "sep-2640-root-bytes-equal" => {
            for bytes in tree.files.values_mut() {
                if let Ok(text) = std::str::from_utf8(bytes) {
                    *bytes = text.replace("\r\n", "\n").into_bytes();
                }
            }
        }
        "sep-2640-root-files-served" => {
            let hidden = |path: &str| path.split('/').any(|segment| segment.starts_with('.'));
            tree.files.retain(|path, _| !hidden(path));
            tree.directories.retain(|path| !hidden(path));
        }
        "sep-2640-root-files-served/extra" => {
            if let Some(index) = victim(tree) {
                let path = format!("{}/_manifest", tree.skills[index].path);
                tree.add(path, "{}\n");
            }
        }
        _ => {}
    }
}
