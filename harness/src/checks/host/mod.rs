//! The duties of hosts and clients: pure functions from scenes to findings.
//!
//! Each check looks at every scene, whatever the scenario was made for. Names of steps (`as: …`) say
//! how a situation was built, never what the right answer is.

pub mod activation;
pub mod ask;
pub mod cache;
pub mod consent;
pub mod context;
pub mod directories;
pub mod discovery;
pub mod driven;
pub mod execution;
pub mod fetching;
pub mod identity;
pub mod integrity;
pub mod manifest;
pub mod names;
pub mod origin;
pub mod paging;
pub mod permissions;
pub mod requests;
pub mod tokens;
pub mod view;

use super::Check;

/// The checks of all files, in the order in which they are reported.
pub(super) const FILES: &[&[Check]] = &[
    requests::CHECKS,
    paging::CHECKS,
    discovery::CHECKS,
    identity::CHECKS,
    names::CHECKS,
    fetching::CHECKS,
    integrity::CHECKS,
    manifest::CHECKS,
    directories::CHECKS,
    origin::CHECKS,
    context::CHECKS,
    consent::CHECKS,
    execution::CHECKS,
    permissions::CHECKS,
    activation::CHECKS,
    cache::CHECKS,
];
