//! Runs the suite against the reference server inside the test process (HTTP) or as a subprocess
//! (stdio).

#![allow(dead_code)]

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use sep2640_conform::baseline::Baseline;
use sep2640_conform::checks;
use sep2640_conform::event::{RunReport, TargetDescription};
use sep2640_conform::outcome::Rules;
use sep2640_conform::run::{self, Outcome, Plan, Protocols};
use sep2640_conform::scenario::{self, play::Bounds};
use sep2640_conform::target::{Limits, TargetSpec};
use sep2640_conform::verdict::{Side, Verdict};
use sep2640_conform::wire::{Revision, Transport};
use sep2640_reference::{Options, Server, UNLISTED_SKILL, serve_http};

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_sep2640-conform");

/// A place to run things in.
pub struct Lab {
    runtime: tokio::runtime::Runtime,
}

impl Lab {
    pub fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        Self { runtime }
    }

    /// Judges the reference server, with a fault or without one.
    pub fn judge(
        &self,
        fault: Option<&str>,
        needs: &[&str],
        transport: Transport,
        revision: Revision,
    ) -> RunReport {
        let options = Options {
            fault: fault.map(str::to_owned),
            ..Options::default()
        };
        self.judge_with(options, needs, transport, revision)
    }

    /// Judges a reference server with these options.
    pub fn judge_with(
        &self,
        options: Options,
        needs: &[&str],
        transport: Transport,
        revision: Revision,
    ) -> RunReport {
        single(self.run(options, needs, transport, revision))
    }

    /// Runs everything against a reference server with these options.
    pub fn run(
        &self,
        options: Options,
        needs: &[&str],
        transport: Transport,
        revision: Revision,
    ) -> Outcome {
        self.runtime.block_on(async {
            match transport {
                Transport::Stdio => {
                    let mut argv = vec![PROGRAM.to_owned(), "reference".into(), "server".into()];
                    if let Some(fault) = &options.fault {
                        argv.extend(["--fault".to_owned(), fault.clone()]);
                    }
                    if let Some(skills) = &options.skills {
                        argv.extend(["--skills".to_owned(), skills.display().to_string()]);
                    }
                    let target = TargetSpec::Command {
                        argv,
                        cwd: None,
                        env: Vec::new(),
                    };
                    run::run(&plan(target, needs, Protocols::One(revision)), |_| {}).await
                }
                Transport::Http => {
                    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
                    let server = Server::new(options).unwrap();
                    let serving = tokio::spawn(serve_http(server, listener));
                    let target = TargetSpec::Url {
                        url: url.parse().unwrap(),
                        headers: Vec::new(),
                    };
                    let outcome =
                        run::run(&plan(target, needs, Protocols::One(revision)), |_| {}).await;
                    serving.abort();
                    outcome
                }
            }
        })
    }

    /// Runs everything that a reference server cannot be told: against any target.
    pub fn run_target(&self, target: TargetSpec, protocols: Protocols) -> Outcome {
        let mut plan = plan(target, &[], protocols);
        plan.named_skills.clear();
        self.runtime.block_on(run::run(&plan, |_| {}))
    }

    /// Does the jobs on two threads; keeps what comes of them, in their order.
    pub fn in_parallel<J: Send, T: Send>(
        &self,
        jobs: Vec<J>,
        work: impl Fn(&Lab, J) -> Option<T> + Sync,
    ) -> Vec<T> {
        let queue = Mutex::new(jobs.into_iter().enumerate());
        let done = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let lab = Lab::new();
                    loop {
                        let Some((index, job)) = queue.lock().unwrap().next() else {
                            return;
                        };
                        if let Some(result) = work(&lab, job) {
                            done.lock().unwrap().push((index, result));
                        }
                    }
                });
            }
        });
        let mut done = done.into_inner().unwrap();
        done.sort_by_key(|(index, _)| *index);
        done.into_iter().map(|(_, result)| result).collect()
    }
}

/// A plan with everything in it.
pub fn plan(target: TargetSpec, needs: &[&str], protocols: Protocols) -> Plan {
    Plan {
        target,
        description: TargetDescription::default(),
        protocols,
        limits: Limits {
            timeout: Duration::from_secs(2),
            ..Limits::default()
        },
        bounds: Bounds::default(),
        deadline: Duration::from_secs(120),
        scenarios: scenario::built_in().iter().collect(),
        checks: checks::all(Side::Server),
        probe_undeclared: needs.contains(&"probe-undeclared"),
        named_skills: vec![UNLISTED_SKILL.to_owned()],
        fail_fast: false,
        rules: Rules {
            strict: false,
            baseline: Baseline::default(),
            replay: Box::new(|revision, check| format!("replay {revision} {check}")),
            secrets: Vec::new(),
        },
    }
}

fn single(outcome: Outcome) -> RunReport {
    assert!(outcome.unreachable.is_none(), "{:?}", outcome.unreachable);
    let mut runs = outcome.report.runs;
    assert_eq!(runs.len(), 1, "{:?}", outcome.report.skipped);
    runs.remove(0)
}

/// The checks that found something wrong, whatever its weight.
pub fn broken(report: &RunReport) -> BTreeSet<&'static str> {
    let wrong = |verdict| {
        matches!(
            verdict,
            Verdict::Fail | Verdict::Warn | Verdict::Note | Verdict::Expected
        )
    };
    report
        .checks
        .iter()
        .filter(|check| wrong(check.verdict))
        .map(|check| check.id)
        .collect()
}
