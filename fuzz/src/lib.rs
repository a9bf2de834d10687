//! The bodies of the fuzz targets: functions of bytes that panic when something is wrong.
//!
//! `fuzz_targets/` hands them to libFuzzer; the test `corpus` of the suite plays the committed
//! corpus through them on stable.

mod files;
mod manifest;
mod plans;
mod rendering;
pub mod seeds;
mod values;
mod wire;

pub use files::{baseline, saved, scenario, script};
pub use manifest::manifest;
pub use rendering::report;
pub use values::{frontmatter, frontmatter_compare, uri};
pub use wire::{frame, sse, verifier_answer};

/// A target: its name, which is also that of its corpus, and what it does with bytes.
pub type Target = (&'static str, fn(&[u8]));

/// Every target.
pub const TARGETS: &[Target] = &[
    ("baseline", baseline),
    ("frame", frame),
    ("frontmatter", frontmatter),
    ("frontmatter_compare", frontmatter_compare),
    ("manifest", manifest),
    ("report", report),
    ("saved", saved),
    ("scenario", scenario),
    ("script", script),
    ("sse", sse),
    ("uri", uri),
    ("verifier_answer", verifier_answer),
];

/// Longest input that is looked at: YAML readers take quadratic time for some inputs, and what
/// is found in longer ones is found in shorter ones.
pub const LONGEST: usize = 4096;

/// The input as text, if it is short enough to be looked at.
fn text(data: &[u8]) -> Option<&str> {
    std::str::from_utf8(data.get(..data.len().min(LONGEST))?).ok()
}
