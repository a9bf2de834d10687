//! Faults of the verifier: what each does is written where it acts, with [`Switch::on`].

use crate::faults::{Fault, find_in};
use crate::options::StartError;

/// Every fault of the verifier, by the rule that it breaks.
pub fn verifier_faults() -> &'static [Fault] {
    FAULTS
}

/// The fault that is switched on, if any.
#[derive(Debug, Clone, Copy)]
pub(super) struct Switch(Option<&'static str>);

impl Switch {
    /// The switch for an id, or for none.
    pub fn new(id: Option<&str>) -> Result<Switch, StartError> {
        let found = id.map(|id| find_in(FAULTS, id)).transpose()?;
        Ok(Switch(
            found.and_then(|fault| fault.id.strip_prefix("verifier-")),
        ))
    }

    /// Whether this fault is switched on. The id is given without the prefix that all ids share.
    pub fn on(self, id: &str) -> bool {
        self.0 == Some(id)
    }
}

const FAULTS: &[Fault] = &[
    Fault::verifier("verifier-digest/ignored", "does not compare digests"),
    Fault::verifier(
        "verifier-digest/prefix",
        "compares eight digits of a digest",
    ),
    Fault::verifier("verifier-digest/case", "takes digests in upper case"),
    Fault::verifier("verifier-digest/bare", "takes digests without their prefix"),
    Fault::verifier(
        "verifier-digest/trimmed",
        "takes digests with blanks around them",
    ),
    Fault::verifier(
        "verifier-digest/longer",
        "takes what is longer than a digest",
    ),
    Fault::verifier(
        "verifier-digest/malformed",
        "takes a malformed digest for nothing to check",
    ),
    Fault::verifier(
        "verifier-digest/missing",
        "takes a missing digest for nothing to check",
    ),
    Fault::verifier(
        "verifier-digest/text",
        "hashes the decoded text instead of the bytes",
    ),
    Fault::verifier(
        "verifier-digest/line-breaks",
        "hashes text with CRLF made LF",
    ),
    Fault::verifier(
        "verifier-digest/mark",
        "hashes text without its byte-order mark",
    ),
    Fault::verifier(
        "verifier-digest/trim",
        "hashes text without the blanks at its end",
    ),
    Fault::verifier(
        "verifier-digest/skill-md-only",
        "compares only the digest of SKILL.md",
    ),
    Fault::verifier(
        "verifier-digest/files-only",
        "does not compare the digest of SKILL.md",
    ),
    Fault::verifier(
        "verifier-digest/text-only",
        "compares only the digests of text",
    ),
    Fault::verifier(
        "verifier-digest/any-listed",
        "takes bytes whose digest the manifest has for any file",
    ),
    Fault::verifier(
        "verifier-accept/first-block",
        "takes the first content that arrived for SKILL.md",
    ),
    Fault::verifier("verifier-size/ignored", "does not compare sizes"),
    Fault::verifier("verifier-size/zero", "takes a size of zero for unknown"),
    Fault::verifier(
        "verifier-size/at-most",
        "takes files that are shorter than they should be",
    ),
    Fault::verifier(
        "verifier-size/skill-md-only",
        "compares only the size of SKILL.md",
    ),
    Fault::verifier(
        "verifier-size/characters",
        "counts characters instead of bytes",
    ),
    Fault::verifier(
        "verifier-size/utf-16",
        "counts UTF-16 units instead of bytes",
    ),
    Fault::verifier("verifier-size/rounded", "rounds sizes that are no integers"),
    Fault::verifier(
        "verifier-frontmatter/ignored",
        "does not compare the frontmatter",
    ),
    Fault::verifier("verifier-frontmatter/name-only", "compares only the name"),
    Fault::verifier(
        "verifier-frontmatter/description",
        "compares only name and description",
    ),
    Fault::verifier("verifier-frontmatter/not-name", "does not compare the name"),
    Fault::verifier(
        "verifier-frontmatter/known-only",
        "does not compare fields that the format does not know",
    ),
    Fault::verifier(
        "verifier-frontmatter/missing",
        "ignores fields that only the entry has",
    ),
    Fault::verifier(
        "verifier-frontmatter/extra",
        "ignores fields that only SKILL.md has",
    ),
    Fault::verifier("verifier-frontmatter/nested", "does not look into mappings"),
    Fault::verifier("verifier-frontmatter/list", "does not look into lists"),
    Fault::verifier("verifier-frontmatter/list-order", "compares lists as sets"),
    Fault::verifier(
        "verifier-frontmatter/list-prefix",
        "compares lists as far as the shorter one goes",
    ),
    Fault::verifier("verifier-frontmatter/retyped", "compares scalars as text"),
    Fault::verifier(
        "verifier-frontmatter/falsy",
        "takes null, false, 0 and empty text for the same",
    ),
    Fault::verifier(
        "verifier-frontmatter/truncated",
        "compares numbers as integers",
    ),
    Fault::verifier("verifier-frontmatter/null-absent", "takes null for absent"),
    Fault::verifier(
        "verifier-frontmatter/key-case",
        "compares keys without regard to case",
    ),
    Fault::verifier(
        "verifier-accept/key-order",
        "wants the fields in the same order",
    ),
    Fault::verifier(
        "verifier-frontmatter/case",
        "compares text without regard to case",
    ),
    Fault::verifier(
        "verifier-frontmatter/trimmed",
        "compares text without blanks around it",
    ),
    Fault::verifier(
        "verifier-frontmatter/blanks",
        "compares text without regard to how much space it has",
    ),
    Fault::verifier(
        "verifier-frontmatter/ascii",
        "compares the ASCII of text only",
    ),
    Fault::verifier(
        "verifier-frontmatter/unreadable",
        "loads a SKILL.md without readable frontmatter",
    ),
    Fault::verifier(
        "verifier-frontmatter/last-block",
        "reads the last block that looks like frontmatter",
    ),
    Fault::verifier(
        "verifier-containment/unchecked",
        "does not ask where a file lies",
    ),
    Fault::verifier(
        "verifier-containment/prefix",
        "takes a sibling whose name begins alike for inside",
    ),
    Fault::verifier("verifier-containment/dotdot", "does not resolve `..`"),
    Fault::verifier(
        "verifier-containment/escaped-dotdot",
        "does not resolve `%2e%2e`",
    ),
    Fault::verifier(
        "verifier-containment/scheme",
        "ignores the scheme of a file",
    ),
    Fault::verifier(
        "verifier-containment/path",
        "looks for the name of the skill anywhere in the URI",
    ),
    Fault::verifier(
        "verifier-skill-md/unlisted",
        "loads a SKILL.md that the manifest lacks",
    ),
    Fault::verifier(
        "verifier-skill-md/empty",
        "loads a skill whose manifest is empty",
    ),
    Fault::verifier(
        "verifier-duplicate/first",
        "goes by the first of two digests of a file",
    ),
    Fault::verifier(
        "verifier-duplicate/last",
        "goes by the last of two digests of a file",
    ),
    Fault::verifier(
        "verifier-resources/missing",
        "takes missing resources for dynamic",
    ),
    Fault::verifier("verifier-resources/null", "takes null for dynamic"),
    Fault::verifier(
        "verifier-resources/any-string",
        "takes any word for dynamic",
    ),
    Fault::verifier("verifier-resources/case", "takes `Dynamic` for dynamic"),
    Fault::verifier("verifier-resources/object", "takes an object for dynamic"),
    Fault::verifier(
        "verifier-unlisted/used",
        "uses files that the manifest lacks",
    ),
    Fault::verifier(
        "verifier-unlisted/nested",
        "uses nested SKILL.md files that the manifest lacks",
    ),
    Fault::verifier("verifier-entry/uri", "accepts an entry without URI"),
    Fault::verifier(
        "verifier-entry/frontmatter",
        "accepts an entry without frontmatter",
    ),
    Fault::verifier(
        "verifier-accept/limit",
        "refuses skills of more than 256 files",
    ),
    Fault::verifier(
        "verifier-accept/nested",
        "refuses skills below more than two directories",
    ),
    Fault::verifier("verifier-accept/scheme", "refuses schemes other than skill"),
    Fault::verifier(
        "verifier-accept/unknown-field",
        "refuses fields that the format does not know",
    ),
    Fault::verifier("verifier-accept/escapes", "refuses URIs with escapes"),
    Fault::verifier(
        "verifier-accept/dots",
        "refuses names with two dots in them",
    ),
    Fault::verifier("verifier-accept/empty-file", "refuses empty files"),
    Fault::verifier("verifier-accept/binary", "refuses files that are no text"),
    Fault::verifier(
        "verifier-answer/silent",
        "does not answer to a malformed entry",
    ),
    Fault::verifier(
        "verifier-answer/prose",
        "answers to a malformed entry in prose",
    ),
    Fault::verifier("verifier-answer/crash", "ends at a malformed entry"),
];
