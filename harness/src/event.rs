//! What a run tells its reporters: events while it goes on, and the report at its end.
//!
//! The report is the stable machine format `sep2640-conform/report/v1`; fields are only ever added.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::verdict::{Severity, Side, Verdict};
use crate::wire::trace::Place;

/// Something that happened during a run, in order.
#[derive(Debug, Clone)]
pub enum Event {
    /// The run of one revision begins.
    RunStarted {
        /// Revision on the wire.
        protocol: String,
        /// `stdio` or `http`.
        transport: String,
        /// How many scenarios will be played.
        scenarios: usize,
    },
    /// A scenario begins.
    ScenarioStarted {
        /// Its name.
        name: String,
        /// 1-based position.
        index: usize,
    },
    /// Another request of the scenario was answered.
    Progress {
        /// Requests answered since the run began.
        answered: usize,
        /// Requests sent since the run began.
        sent: usize,
    },
    /// A revision was not run, and why.
    RevisionSkipped {
        /// The revision.
        protocol: String,
        /// The reason.
        why: String,
    },
    /// The run of one revision is over and judged.
    RunFinished(Box<RunReport>),
}

/// The outcome of the whole command.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// `sep2640-conform/report/v1`.
    pub schema: &'static str,
    /// Name and version of this program.
    pub tool: Tool,
    /// What was tested.
    pub side: Side,
    /// How it was reached.
    pub target: TargetDescription,
    /// Seed of everything random in this run.
    pub seed: u64,
    /// The exit code.
    pub exit: u8,
    /// One for each revision that was run.
    pub runs: Vec<RunReport>,
    /// Revisions that were not run, with the reason.
    pub skipped: BTreeMap<String, String>,
    /// Baseline entries that expect what did not happen.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stale: Vec<String>,
    /// How often each verdict was given, over all runs.
    pub summary: BTreeMap<Verdict, usize>,
}

/// Name and version of the program that wrote a report.
#[derive(Debug, Clone, Serialize)]
pub struct Tool {
    /// `sep2640-conform`.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

impl Tool {
    /// This program.
    pub const THIS: Tool = Tool {
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
    };
}

/// How the target was reached; exactly one of the two is there. Header and environment values
/// are never part of it.
#[derive(Debug, Clone, Default, Serialize)]
pub struct TargetDescription {
    /// Command and arguments of a subprocess.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// URL of a Streamable HTTP endpoint, without credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
}

/// The outcome on one revision.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// Revision on the wire.
    pub protocol: String,
    /// `stdio` or `http`.
    pub transport: String,
    /// What the target says of itself (name, version); `null` when it says nothing.
    pub server_info: Value,
    /// Wall time in milliseconds.
    pub duration_ms: u64,
    /// What was found in the listing; empty for hosts.
    pub catalog: Catalog,
    /// What an adapter says of its host (name, version); absent for servers.
    #[serde(skip_serializing_if = "Value::is_null")]
    pub host_info: Value,
    /// Verbs that the adapter does not implement, as far as scenarios asked for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unimplemented: Vec<String>,
    /// Anything a reader must know to read the verdicts: deadline reached, target lost, bounds hit.
    pub remarks: Vec<Remark>,
    /// One row a check, in the order of the specification.
    pub checks: Vec<CheckReport>,
}

/// A fact about the run as a whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Machine-readable kind.
    pub kind: RemarkKind,
    /// For people.
    pub text: String,
}

/// Kinds of remarks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RemarkKind {
    /// The target went away and did not come back.
    TargetLost,
    /// The target was lost and came back when it was started again, or a driver was killed.
    Restarted,
    /// The target does not declare the extension.
    ExtensionAbsent,
    /// `--deadline` was reached.
    Deadline,
    /// A base-protocol problem kept requests from reaching the extension.
    BaseProtocol,
    /// A bound was hit, so not everything was looked at.
    Bounded,
    /// The adapter does not implement some verbs.
    Unimplemented,
    /// A verb that `--require` names is not implemented.
    Required,
    /// The host loaded no skill in any scenario, or a driver left open what drivers can show.
    NoWitness,
    /// `--fail-fast` ended the playing.
    Stopped,
}

/// What the listing held.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Catalog {
    /// Listed skills.
    pub skills: usize,
    /// Distinct files in their manifests.
    pub files: usize,
    /// Bytes of content read.
    pub bytes: u64,
    /// Whether only a sample of the files was read.
    pub sampled: bool,
}

/// The outcome of one check.
#[derive(Debug, Clone, Serialize)]
pub struct CheckReport {
    /// Check id.
    pub id: &'static str,
    /// Level of the requirement (`MUST`, `SHOULD`, …).
    pub level: String,
    /// What a violation of it amounts to.
    #[serde(skip)]
    pub severity: Severity,
    /// Section anchor in the specification.
    pub section: String,
    /// How many things were examined.
    pub examined: usize,
    /// The verdict.
    pub verdict: Verdict,
    /// Why, for blocked, not exercised and not applicable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Violations, with places.
    pub findings: Vec<FindingReport>,
}

/// One violation.
#[derive(Debug, Clone, Serialize)]
pub struct FindingReport {
    /// Frame and JSON pointer.
    pub at: Place,
    /// The scenario in which it was seen, for hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scenario: Option<String>,
    /// What it is about (URI or method).
    pub subject: String,
    /// What the specification asks for.
    pub expected: String,
    /// What the trace shows.
    pub actual: String,
    /// Stable name of this finding (six hexadecimal digits).
    pub fingerprint: String,
    /// A command that shows it again.
    pub replay: String,
}

impl FindingReport {
    /// Where it stands, in words; empty where no frame exists.
    pub fn place(&self) -> String {
        match (self.at.frame, &self.scenario) {
            (0, None) => String::new(),
            (0, Some(scenario)) => scenario.clone(),
            (_, None) => self.at.to_string(),
            (_, Some(scenario)) => format!("{} in {scenario}", self.at),
        }
    }
}
