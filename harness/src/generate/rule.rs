//! The rules that a case can break, or that refusing it would break.

use std::fmt;

/// A rule for whoever decides whether a skill may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rule {
    /// What arrives has the digest of the manifest, in the form that the specification gives it.
    Digest,
    /// What arrives is as long as the manifest says.
    Size,
    /// The frontmatter of SKILL.md is that of the entry, field by field.
    Frontmatter,
    /// Files of the manifest lie within the skill.
    Containment,
    /// The manifest lists SKILL.md.
    SkillMd,
    /// The manifest lists a file once.
    Duplicate,
    /// `resources` is a list or `"dynamic"`.
    Resources,
    /// Only files of the manifest are files of the skill.
    Unlisted,
    /// The entry has a URI and a frontmatter.
    Entry,
    /// What breaks no rule is accepted.
    Accept,
}

impl Rule {
    /// All of them.
    pub const ALL: [Rule; 10] = [
        Rule::Digest,
        Rule::Size,
        Rule::Frontmatter,
        Rule::Containment,
        Rule::SkillMd,
        Rule::Duplicate,
        Rule::Resources,
        Rule::Unlisted,
        Rule::Entry,
        Rule::Accept,
    ];

    /// The id under which verifiers are judged by it.
    pub fn id(self) -> &'static str {
        match self {
            Rule::Digest => "verifier-digest",
            Rule::Size => "verifier-size",
            Rule::Frontmatter => "verifier-frontmatter",
            Rule::Containment => "verifier-containment",
            Rule::SkillMd => "verifier-skill-md",
            Rule::Duplicate => "verifier-duplicate",
            Rule::Resources => "verifier-resources",
            Rule::Unlisted => "verifier-unlisted",
            Rule::Entry => "verifier-entry",
            Rule::Accept => "verifier-accept",
        }
    }

    /// The check of a whole host that the rule comes from; `explain` tells more of it.
    pub fn check(self) -> &'static str {
        match self {
            Rule::Digest => "sep-2640-host-verify-digest",
            Rule::Size => "sep-2640-host-size-mismatch-failure",
            Rule::Frontmatter => "sep-2640-host-frontmatter-comparison",
            Rule::Containment | Rule::SkillMd | Rule::Duplicate | Rule::Resources | Rule::Entry => {
                "sep-2640-resources-invalid-entry"
            }
            Rule::Unlisted => "sep-2640-host-unlisted-read",
            Rule::Accept => "sep-2640-limit-host-support",
        }
    }

    /// The rule in one sentence.
    pub fn words(self) -> &'static str {
        match self {
            Rule::Digest => "Content whose digest is not that of the manifest is not used.",
            Rule::Size => "Content whose length is not that of the manifest is not used.",
            Rule::Frontmatter => {
                "A skill whose SKILL.md has another frontmatter than its entry is not loaded."
            }
            Rule::Containment => "Files outside the skill are no files of it.",
            Rule::SkillMd => "A skill whose manifest lacks its SKILL.md is not loaded.",
            Rule::Duplicate => "A file with two digests is not used.",
            Rule::Resources => {
                "An entry whose resources are neither a list nor \"dynamic\" is not loaded."
            }
            Rule::Unlisted => "A file that the manifest lacks is not used.",
            Rule::Entry => "An entry without URI or frontmatter is not loaded.",
            Rule::Accept => "A skill that keeps every rule is accepted.",
        }
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
