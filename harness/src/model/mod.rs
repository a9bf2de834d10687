//! What a skill is made of: its URIs, its frontmatter and the format rules for both.
//!
//! Pure functions over text. Nothing here knows of servers, hosts or the wire, so the same
//! rules serve the checks of both sides.

pub mod format;
pub mod frontmatter;
pub mod uri;
