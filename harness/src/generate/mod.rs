//! Generators of skills, and of what is wrong with them.
//!
//! A *plan* is a small struct that any bytes describe, so that property tests, live fuzzing and
//! libFuzzer make the same cases. From a plan a *case* is built, and with it the right verdict:
//! a valid skill is written down twice (as files, and as the entry that describes them), and one
//! known thing is then done to it. Nothing here asks the code under test what is right.

mod absent;
mod alter;
pub mod case;
pub mod disputed;
pub mod draft;
pub mod entry;
mod features;
pub mod frontmatter;
pub mod request;
pub mod rule;
pub mod seed;
pub mod shrink;
pub mod skill;
#[cfg(test)]
pub mod strategies;
pub mod text;
pub mod touch;
pub mod uri;
pub mod value;

pub use case::{Case, CasePlan, Expected, Kind};
pub use rule::Rule;

#[cfg(test)]
mod tests;
