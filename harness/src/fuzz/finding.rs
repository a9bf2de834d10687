//! What was found: one wrong answer, made small.

use sha2::{Digest as _, Sha256};

use crate::spec::Spec;
use crate::verdict::Severity;

/// What it amounts to when this check finds something.
pub fn severity(check: &str) -> Severity {
    let spec = Spec::get().check(check);
    spec.map_or(Severity::Fail, |spec| spec.severity)
}

/// A finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The rule that was broken.
    pub rule: String,
    /// The check that tells more of it; empty where none does.
    pub check: String,
    /// What it amounts to.
    pub severity: Severity,
    /// The rule in a sentence.
    pub sentence: String,
    /// What was done, in words that stay the same from run to run.
    pub about: String,
    /// What would have been right.
    pub expected: String,
    /// What came.
    pub actual: String,
    /// Number of the case that it was made from.
    pub number: u64,
    /// The case as a scenario, without `seed` and `case`.
    pub scenario: String,
}

impl Finding {
    /// Six hexadecimal digits made of the rule and what was done; the same from run to run.
    pub fn fingerprint(&self) -> String {
        let mut hash = Sha256::new();
        for part in [&self.rule, &self.about, &self.expected] {
            hash.update(part.as_bytes());
            hash.update([0]);
        }
        hash.finalize()[..3]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }

    /// What the saved case exercises, as YAML.
    pub fn exercises(&self) -> String {
        match self.check.as_str() {
            "" => format!("[{}]", self.rule),
            check => format!("[{}, {check}]", self.rule),
        }
    }

    /// The file in which it is saved.
    pub fn file(&self, seed: u64) -> String {
        format!(
            "# {}\n# Found by fuzzing; play it again with `sep2640-conform replay FILE -- COMMAND`.\nseed: {seed}\ncase: {}\n{}",
            self.sentence, self.number, self.scenario
        )
    }
}
