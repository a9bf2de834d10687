//! Verdicts and findings: what a check says about a trace.

use std::fmt;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::wire::trace::Place;

/// Which side of the wire a check judges.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// A server that publishes skills.
    Server,
    /// A host (agent, client) that loads them.
    Host,
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Side::Server => "server",
            Side::Host => "host",
        })
    }
}

/// What a violated check amounts to; follows from the level of its requirement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// MAY rows and observations.
    Note,
    /// SHOULD and SHOULD NOT.
    Warn,
    /// MUST, MUST NOT, REQUIRED.
    Fail,
}

/// The outcome of one check on one trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Something was examined and all of it holds.
    Pass,
    /// A MUST is broken.
    Fail,
    /// A SHOULD is broken.
    Warn,
    /// An observation without weight.
    Note,
    /// What was found follows from the failure of another check.
    Blocked,
    /// The trace holds nothing to judge. Never green.
    NotExercised,
    /// The requirement does not bind here (capability not declared, other revision).
    NotApplicable,
    /// Broken as the baseline says.
    Expected,
}

impl Verdict {
    /// All verdicts, in the order of the summary line.
    pub const ALL: [Verdict; 8] = [
        Verdict::Pass,
        Verdict::Fail,
        Verdict::Warn,
        Verdict::Note,
        Verdict::Expected,
        Verdict::Blocked,
        Verdict::NotExercised,
        Verdict::NotApplicable,
    ];

    /// The name used in machine formats (`not_exercised`).
    pub fn key(self) -> &'static str {
        match self {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Warn => "warn",
            Verdict::Note => "note",
            Verdict::Blocked => "blocked",
            Verdict::NotExercised => "not_exercised",
            Verdict::NotApplicable => "not_applicable",
            Verdict::Expected => "expected",
        }
    }

    /// The name used for people (`not exercised`).
    pub fn words(self) -> String {
        self.key().replace('_', " ")
    }
}

impl From<Severity> for Verdict {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Fail => Verdict::Fail,
            Severity::Warn => Verdict::Warn,
            Severity::Note => Verdict::Note,
        }
    }
}

/// One violation, with the place where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Frame number and JSON pointer.
    pub at: Place,
    /// What the finding is about (a URI, a method).
    pub subject: String,
    /// What findings of checks that depend on each other are joined by; the subject, unless the
    /// check knows better.
    #[serde(skip)]
    pub cause: String,
    /// The scenario in which it was seen, where each has a trace of its own.
    #[serde(skip)]
    pub scenario: Option<String>,
    /// What the specification asks for.
    pub expected: String,
    /// What the trace shows.
    pub actual: String,
}

impl Finding {
    /// Six hexadecimal digits that stay the same from run to run: made of the check, the subject
    /// and the member that is concerned, not of frame numbers or of values that change.
    pub fn fingerprint(&self, check: &str) -> String {
        let mut hash = Sha256::new();
        let member = self
            .at
            .pointer
            .rsplit('/')
            .find(|token| token.parse::<usize>().is_err());
        for part in [check, &self.subject, member.unwrap_or_default()] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        hash.finalize()[..3]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// What a check makes of a trace. With nothing examined the verdict is "not exercised".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// How many things were looked at.
    pub examined: usize,
    /// Those that do not hold.
    pub findings: Vec<Finding>,
    /// Why the requirement does not bind on this trace, if it does not.
    pub inapplicable: Option<String>,
    /// Why nothing was examined, where the check can say more than "nothing in the trace".
    pub unexercised: Option<String>,
}

impl Judgement {
    /// An empty judgement.
    pub fn new() -> Self {
        Self::default()
    }

    /// The requirement does not bind here.
    pub fn not_applicable(why: impl Into<String>) -> Self {
        Self {
            inapplicable: Some(why.into()),
            ..Self::default()
        }
    }

    /// Counts one thing that holds.
    pub fn holds(&mut self) {
        self.examined += 1;
    }

    /// Counts one thing that does not hold.
    pub fn violated(
        &mut self,
        at: Place,
        subject: impl Into<String>,
        expected: impl Into<String>,
        actual: impl Into<String>,
    ) {
        self.examined += 1;
        let subject = subject.into();
        self.findings.push(Finding {
            at,
            cause: subject.clone(),
            scenario: None,
            subject,
            expected: expected.into(),
            actual: actual.into(),
        });
    }

    /// Names the cause of the finding that was added last.
    pub fn because(&mut self, cause: impl Into<String>) {
        if let Some(finding) = self.findings.last_mut() {
            finding.cause = cause.into();
        }
    }
}
