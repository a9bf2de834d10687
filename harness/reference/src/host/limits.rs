//! How large a skill may be.

use super::entry::Entry;
use super::faults::Switch;
use super::outcome::{Refusal, refuse};

/// Files of a skill, SKILL.md included.
const FILES: usize = 512;
/// Bytes of a skill.
pub(super) const BYTES: u64 = 16 << 20;

/// Declines a skill that is larger than the extension asks a host to support.
/// The entry alone tells.
pub(super) fn check(entry: &Entry, fault: Switch) -> Result<(), Refusal> {
    let files = entry.items().len();
    let bytes = entry
        .items()
        .iter()
        .fold(0_u64, |sum, item| sum.saturating_add(item.size));
    let most_files = if fault.on("limit-host-support") {
        256
    } else {
        FILES
    };
    let most_bytes = if fault.on("limit-host-support/total") {
        BYTES / 2
    } else {
        BYTES
    };
    let reason = if files > most_files {
        format!(
            "the skill {} has {files} files, more than the {most_files} that are supported",
            entry.uri
        )
    } else if bytes > most_bytes {
        format!(
            "the skill {} has {bytes} bytes, more than the {most_bytes} that are supported",
            entry.uri
        )
    } else {
        return Ok(());
    };
    if fault.on("host-limit-decline-explained") {
        return refuse("limit", "");
    }
    refuse("limit", reason)
}
