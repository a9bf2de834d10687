//! The duties of hosts and clients: pure functions from scenes to findings.
//!
//! Each check looks at every scene, whatever the scenario was made for. Names of steps (`as: …`) say
//! how a situation was built, never what the right answer is.

pub mod integrity;
pub mod view;

use super::Check;

/// The checks of all files, in the order in which they are reported.
pub(super) const FILES: &[&[Check]] = &[integrity::CHECKS];
