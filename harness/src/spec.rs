//! `sep-2640.yaml`: every normative statement, tied to a check or excluded with a reason.
//!
//! Level, wording and section of a check stand there and nowhere else.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use serde::{Deserialize, Serialize};

use crate::verdict::Severity;
use crate::wire::{Revision, Transport};

const TEXT: &str = include_str!("../../sep-2640.yaml");

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Number of the SEP.
    pub sep: u32,
    /// Address of the specification page; sections are anchors in it.
    pub spec_url: String,
    /// All rows, in the order of the page.
    pub requirements: Vec<Requirement>,
    /// Sentences that have a keyword and ask for nothing.
    #[serde(default)]
    pub non_normative: Vec<NonNormative>,
}

/// A sentence of the specification that has an RFC 2119 keyword and asks for nothing.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NonNormative {
    /// Its hash, as [`crate::drift::hash`] gives it.
    pub hash: String,
    /// Why it asks for nothing.
    pub why: String,
}

/// One normative statement.
#[derive(Debug, Clone, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Requirement {
    /// The check that has or will have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub check: Option<String>,
    /// Why no check can have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub excluded: Option<String>,
    /// How strongly the text binds.
    pub level: Level,
    /// Whom it binds.
    pub actor: Actor,
    /// Anchor in the specification page.
    pub section: String,
    /// The only text that has the statement, where it is not in all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Since>,
    /// Revisions on which it binds; empty for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub revisions: Vec<Revision>,
    /// The transport on which it binds; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// Severity, where it is lower than the level says; `note` tells why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub judged: Option<Judged>,
    /// The statement, in our words.
    pub text: String,
    /// How an unclear text is read here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Hashes ([`crate::drift::hash`]) of the sentences with a keyword that the row accounts for, in
    /// any version of the specification.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sentences: Vec<String>,
}

/// RFC 2119 keyword, or `implied` for statements made without one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
pub enum Level {
    /// MUST.
    #[serde(rename = "MUST")]
    Must,
    /// MUST NOT.
    #[serde(rename = "MUST NOT")]
    MustNot,
    /// REQUIRED.
    #[serde(rename = "REQUIRED")]
    Required,
    /// Stated without a keyword; binds like MUST unless `judged` says otherwise.
    #[serde(rename = "implied")]
    Implied,
    /// SHOULD.
    #[serde(rename = "SHOULD")]
    Should,
    /// SHOULD NOT.
    #[serde(rename = "SHOULD NOT")]
    ShouldNot,
    /// MAY.
    #[serde(rename = "MAY")]
    May,
}

impl Level {
    /// What breaking a statement of this level amounts to.
    pub fn severity(self) -> Severity {
        match self {
            Level::Must | Level::MustNot | Level::Required | Level::Implied => Severity::Fail,
            Level::Should | Level::ShouldNot => Severity::Warn,
            Level::May => Severity::Note,
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Level::Must => "MUST",
            Level::MustNot => "MUST NOT",
            Level::Required => "REQUIRED",
            Level::Implied => "implied",
            Level::Should => "SHOULD",
            Level::ShouldNot => "SHOULD NOT",
            Level::May => "MAY",
        })
    }
}

/// Whom a statement binds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Actor {
    /// A server, and the authors of what it serves.
    Server,
    /// A host.
    Host,
    /// Any client of the protocol.
    Client,
    /// A gateway between the two.
    Intermediary,
}

impl Actor {
    /// The name in the file.
    pub fn name(self) -> &'static str {
        match self {
            Actor::Server => "server",
            Actor::Host => "host",
            Actor::Client => "client",
            Actor::Intermediary => "intermediary",
        }
    }
}

/// The one text that has a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Since {
    /// Only the SEP as first submitted.
    Seed,
    /// Only the final specification page.
    Final,
}

/// A severity below the level's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Judged {
    /// Judged like a SHOULD.
    Warn,
    /// Judged like a MAY.
    Note,
}

impl Requirement {
    /// What breaking this statement amounts to.
    pub fn severity(&self) -> Severity {
        match self.judged {
            Some(Judged::Warn) => Severity::Warn,
            Some(Judged::Note) => Severity::Note,
            None => self.level.severity(),
        }
    }
}

/// What the file says of one check: its rows joined.
#[derive(Debug)]
pub struct CheckSpec<'a> {
    /// Severity of a violation (the highest of the rows).
    pub severity: Severity,
    /// The strongest level of the rows.
    pub level: Level,
    /// The rows.
    pub rows: Vec<&'a Requirement>,
}

impl CheckSpec<'_> {
    /// Section of the first row.
    pub fn section(&self) -> &str {
        &self.rows[0].section
    }

    /// Why the check does not bind on this revision and transport, if it does not.
    pub fn inapplicable(&self, revision: Revision, transport: Transport) -> Option<String> {
        let revisions = &self.rows[0].revisions;
        if !revisions.is_empty() && !revisions.contains(&revision) {
            let names: Vec<_> = revisions.iter().map(|revision| revision.name()).collect();
            return Some(format!("binds on {} only", names.join(", ")));
        }
        match self.rows[0].transport {
            Some(bound) if bound != transport => Some(format!("binds on {bound} only")),
            _ => None,
        }
    }
}

impl Spec {
    /// The file that is compiled in.
    pub fn get() -> &'static Spec {
        static SPEC: OnceLock<Spec> = OnceLock::new();
        SPEC.get_or_init(|| {
            Spec::parse(TEXT).unwrap_or_else(|error| panic!("sep-2640.yaml: {error}"))
        })
    }

    /// Reads a file of this form.
    ///
    /// # Errors
    ///
    /// Malformed YAML, unknown keys, a row with both or neither of `check` and `excluded`, a row
    /// with `judged` but no `note`, a hash of a sentence that cannot be one, rows of one check that
    /// differ in severity or in where they bind. The message names line and column, or the text of
    /// the row.
    pub fn parse(text: &str) -> Result<Spec, String> {
        let spec: Spec = serde_yaml::from_str(text).map_err(|error| error.to_string())?;
        for row in &spec.requirements {
            if row.check.is_some() == row.excluded.is_some() {
                return Err(format!(
                    "row \"{}\": exactly one of `check` and `excluded` is needed",
                    row.text
                ));
            }
            if row.judged.is_some() && row.note.is_none() {
                return Err(format!(
                    "row \"{}\": `judged` needs a `note` that says why",
                    row.text
                ));
            }
            if let Some(hash) = row.sentences.iter().find(|hash| !is_hash(hash)) {
                return Err(format!("row \"{}\": {}", row.text, not_a_hash(hash)));
            }
        }
        for sentence in &spec.non_normative {
            if !is_hash(&sentence.hash) {
                return Err(format!("non_normative: {}", not_a_hash(&sentence.hash)));
            }
        }
        for (id, check) in spec.checks() {
            let first = check.rows[0];
            for row in &check.rows {
                if row.severity() != first.severity() {
                    return Err(format!(
                        "check {id}: its rows differ in severity (\"{}\")",
                        row.text
                    ));
                }
                if row.revisions != first.revisions || row.transport != first.transport {
                    return Err(format!(
                        "check {id}: its rows differ in where they bind (\"{}\")",
                        row.text
                    ));
                }
            }
        }
        Ok(spec)
    }

    /// All checks that the rows name, each with its rows.
    pub fn checks(&self) -> BTreeMap<&str, CheckSpec<'_>> {
        let mut checks: BTreeMap<&str, CheckSpec<'_>> = BTreeMap::new();
        for row in &self.requirements {
            let Some(id) = row.check.as_deref() else {
                continue;
            };
            let check = checks.entry(id).or_insert_with(|| CheckSpec {
                severity: row.severity(),
                level: row.level,
                rows: Vec::new(),
            });
            check.severity = check.severity.max(row.severity());
            check.level = check.level.min(row.level);
            check.rows.push(row);
        }
        checks
    }

    /// What the rows say of one check.
    pub fn check(&self, id: &str) -> Option<CheckSpec<'_>> {
        self.checks().remove(id)
    }

    /// The first requirement of one check, in words.
    pub fn sentence(&self, id: &str) -> Option<&str> {
        let mut rows = self.requirements.iter();
        let first = rows.find(|row| row.check.as_deref() == Some(id))?;
        Some(&first.text)
    }

    /// The hashes of all sentences that are accounted for.
    pub fn accounted(&self) -> impl Iterator<Item = &str> {
        let rows = self.requirements.iter().flat_map(|row| &row.sentences);
        let others = self.non_normative.iter().map(|sentence| &sentence.hash);
        rows.chain(others).map(String::as_str)
    }

    /// The address of a section.
    pub fn url(&self, section: &str) -> String {
        format!("{}{section}", self.spec_url)
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 12 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn not_a_hash(text: &str) -> String {
    format!("`{text}` is not the hash of a sentence (12 lower-case hexadecimal digits)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(rows: &str) -> Result<Spec, String> {
        Spec::parse(&format!(
            "sep: 2640\nspec_url: https://example.org/\nrequirements:\n{rows}"
        ))
    }

    const ROW: &str = "  - {check: a, level: MUST, actor: server, section: '#x', text: One}\n";

    #[test]
    fn rows_of_a_check_are_joined() {
        let spec = parse(&format!(
            "{ROW}  - {{check: a, level: implied, actor: server, section: '#y', text: Two}}\n"
        ))
        .unwrap();
        let check = spec.check("a").unwrap();
        assert_eq!(
            (check.rows.len(), check.level, check.section()),
            (2, Level::Must, "#x")
        );
    }

    #[test]
    fn sentences_are_accounted_for() {
        let spec = parse(
            "  - {check: a, level: MUST, actor: server, section: s, text: One, sentences: [0123456789ab, \"012345678901\"]}
  - {check: a, level: MUST, actor: server, section: s, text: Two}
non_normative:
  - {hash: fedcba987654, why: It explains the keywords.}
",
        )
        .unwrap();
        let accounted: Vec<&str> = spec.accounted().collect();
        assert_eq!(accounted, ["0123456789ab", "012345678901", "fedcba987654"]);
        let row = serde_json::to_value(&spec.requirements[1]).unwrap();
        assert_eq!(row.get("sentences"), None);
    }

    #[test]
    fn what_cannot_be_right_is_refused() {
        for (row, why) in [
            (
                "  - {check: a, excluded: b, level: MUST, actor: server, section: s, text: One}\n",
                "exactly one",
            ),
            (
                "  - {level: MUST, actor: server, section: s, text: One}\n",
                "exactly one",
            ),
            (
                "  - {check: a, level: MUST, actor: server, section: s, text: One, colour: red}\n",
                "unknown field",
            ),
            (
                "  - {check: a, level: must, actor: server, section: s, text: One}\n",
                "unknown variant",
            ),
            (
                "  - {check: a, level: MUST, actor: server, section: s, text: One, judged: warn}\n",
                "needs a `note`",
            ),
            (
                "  - {check: a, level: MUST, actor: server, section: s, text: One, sentences: [0123456789a]}\n",
                "row \"One\": `0123456789a` is not the hash",
            ),
            (
                "  - {check: a, level: MUST, actor: server, section: s, text: One, sentences: [0123456789aB]}\n",
                "row \"One\": `0123456789aB` is not the hash",
            ),
            (
                "  - {check: a, level: MUST, actor: server, section: s, text: One, sentences: 0123456789ab}\n",
                "expected a sequence",
            ),
            (
                "  - {check: a, level: MUST, actor: server, section: s, text: One}\nnon_normative:\n  - {hash: 0123456789xy, why: It explains.}\n",
                "non_normative: `0123456789xy` is not the hash",
            ),
            (
                "  - {check: a, level: MUST, actor: server, section: s, text: One}\nnon_normative:\n  - {hash: 0123456789ab}\n",
                "missing field `why`",
            ),
        ] {
            let error = parse(row).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
        let two =
            format!("{ROW}  - {{check: a, level: SHOULD, actor: server, section: s, text: Two}}\n");
        assert!(parse(&two).unwrap_err().contains("differ in severity"));
    }
}
