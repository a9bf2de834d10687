//! Runs the suite against the reference host.

use std::collections::BTreeSet;
use std::time::Duration;

use sep2640_conform::baseline::Baseline;
use sep2640_conform::checks;
use sep2640_conform::event::{RunReport, TargetDescription};
use sep2640_conform::host_run::{self, HostOutcome, HostPlan};
use sep2640_conform::outcome::Rules;
use sep2640_conform::scenario;
use sep2640_conform::scenario::perform::Via;
use sep2640_conform::scenario::script::Script;
use sep2640_conform::target::TargetSpec;
use sep2640_conform::verdict::{Side, Verdict};
use sep2640_conform::wire::{Revision, Transport};

use super::PROGRAM;

/// Runs the built-in scenarios, or some of them, against the reference host.
pub async fn run(
    fault: Option<&str>,
    transport: Transport,
    revision: Revision,
    wanted: impl Fn(&Script) -> bool,
) -> HostOutcome {
    let mut argv = vec![PROGRAM.to_owned(), "reference".into(), "host".into()];
    if let Some(fault) = fault {
        argv.extend(["--fault".to_owned(), fault.to_owned()]);
    }
    let plan = HostPlan {
        target: TargetSpec::Command {
            argv,
            cwd: None,
            env: Vec::new(),
        },
        via: Via::Adapter,
        description: TargetDescription::default(),
        revisions: vec![revision],
        transport,
        program: PROGRAM.to_owned(),
        timeout: Duration::from_secs(20),
        deadline: Duration::from_secs(120),
        scripts: scenario::scripts()
            .iter()
            .filter(|script| wanted(script))
            .cloned()
            .collect(),
        checks: checks::all(Side::Host),
        require: Vec::new(),
        keep_scenes: false,
        fail_fast: false,
        rules: Rules {
            strict: false,
            baseline: Baseline::default(),
            replay: Box::new(|_, _| String::new()),
            secrets: Vec::new(),
        },
    };
    host_run::run(&plan, |_| {}).await
}

/// The checks that are broken in a run.
pub fn broken(report: &RunReport) -> BTreeSet<&str> {
    report
        .checks
        .iter()
        .filter(|check| matches!(check.verdict, Verdict::Fail | Verdict::Warn | Verdict::Note))
        .map(|check| check.id)
        .collect()
}
