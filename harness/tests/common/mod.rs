//! Runs the suite against the reference server inside the test process (HTTP) or as a subprocess
//! (stdio).

#![allow(dead_code)]

pub mod host;
pub mod program;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sep2640_conform::baseline::Baseline;
use sep2640_conform::checks;
use sep2640_conform::cli::server::needed;
use sep2640_conform::disk;
use sep2640_conform::event::{RunReport, TargetDescription};
use sep2640_conform::outcome::Rules;
use sep2640_conform::run::{self, Outcome, Plan, Protocols};
use sep2640_conform::scenario::{self, play::Bounds};
use sep2640_conform::target::{Identity, Limits, TargetSpec};
use sep2640_conform::verdict::{Side, Verdict};
use sep2640_conform::wire::{Revision, Transport};
use sep2640_reference::{Fault, Options, Server, UNLISTED_SKILL, serve_http};

/// The program under test.
pub const PROGRAM: &str = env!("CARGO_BIN_EXE_sep2640-conform");

/// A place to run things in.
pub struct Lab {
    runtime: tokio::runtime::Runtime,
    tree: tempfile::TempDir,
}

impl Lab {
    pub fn new() -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let tree = tempfile::tempdir().unwrap();
        grow(tree.path());
        Self { runtime, tree }
    }

    /// Judges the reference server, with a fault or without one.
    pub fn judge(
        &self,
        fault: Option<&str>,
        needs: &[&str],
        transport: Transport,
        revision: Revision,
    ) -> RunReport {
        let options = self.options(fault, needs);
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
        self.run_only(None, options, needs, transport, revision)
    }

    /// What `--filter CHECK` shows of a fault, as the lines under findings say.
    pub fn replay(&self, fault: &Fault, transport: Transport, revision: Revision) -> RunReport {
        let options = self.options(Some(fault.id), fault.needs);
        let only = Some(fault.check);
        single(self.run_only(only, options, fault.needs, transport, revision))
    }

    fn options(&self, fault: Option<&str>, needs: &[&str]) -> Options {
        Options {
            fault: fault.map(str::to_owned),
            skills: needs
                .contains(&"root")
                .then(|| self.tree.path().join("skills")),
            private: match needs.contains(&"identities") {
                true => vec![("release-notes".to_owned(), "alices-token".to_owned())],
                false => Vec::new(),
            },
            ..Options::default()
        }
    }

    fn run_only(
        &self,
        only: Option<&str>,
        options: Options,
        needs: &[&str],
        transport: Transport,
        revision: Revision,
    ) -> Outcome {
        let root = options.skills.clone();
        let root = root.as_deref().filter(|_| needs.contains(&"root"));
        let plan = |target| {
            let mut plan = plan(target, needs, Protocols::One(revision), root);
            if let Some(check) = only.and_then(checks::find) {
                plan.checks = vec![check];
                plan.scenarios = needed(&plan.checks);
            }
            plan
        };
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
                    run::run(&plan(target), |_| {}).await
                }
                Transport::Http => {
                    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
                    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
                    let server = Server::new(options).unwrap();
                    let serving = tokio::spawn(serve_http(server, listener));
                    let target = TargetSpec::Url {
                        url: url.parse().unwrap(),
                        headers: bearer(needs, "alices-token"),
                    };
                    let outcome = run::run(&plan(target), |_| {}).await;
                    serving.abort();
                    outcome
                }
            }
        })
    }

    /// Runs everything that a reference server cannot be told: against any target.
    pub fn run_target(&self, target: TargetSpec, protocols: Protocols) -> Outcome {
        let mut plan = plan(target, &[], protocols, None);
        plan.named_skills.clear();
        self.runtime.block_on(run::run(&plan, |_| {}))
    }

    /// Does the jobs on two threads; keeps what comes of them, in their order.
    pub fn in_parallel<J: Send, T: Send>(
        &self,
        jobs: Vec<J>,
        work: impl Fn(&Lab, J) -> Option<T> + Sync,
    ) -> Vec<T> {
        thread_local! {
            static LAB: Lab = Lab::new();
        }
        in_parallel(jobs, |job| LAB.with(|lab| work(lab, job)))
    }
}

/// Writes a directory with everything that its server may get wrong: nested skills, odd names,
/// bytes that are easily changed on the way, links. Only `skills` is served.
fn grow(top: &Path) {
    let write = |path: &str, bytes: &[u8]| {
        let path = top.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let skill = |path: &str| {
        let name = path.rsplit('/').next().unwrap();
        let text = format!(
            "---\nname: {name}\ndescription: About {name}.\nlicense: MIT\ncompatibility: any\n\
             allowed-tools: Read\nmetadata:\n  version: \"1.0\"\n---\nSee the files.\n"
        );
        write(&format!("skills/{path}/SKILL.md"), text.as_bytes());
    };
    skill("alpha");
    write("skills/alpha/notes one é.md", b"a\r\nb\r\n");
    write("skills/alpha/.hidden", b"h\n");
    write("skills/alpha/assets/logo.png", b"\x89PNG\r\n\x1a\n\0");
    write("skills/alpha/assets/deep/er/empty.txt", b"");
    write("skills/alpha/100%/%20.txt", b"percent\n");
    skill("team/beta");
    skill("team/beta/inner");
    write("skills/team/beta/inner/steps.md", b"\xef\xbb\xbf1. Go.\r\n");
    fs::create_dir_all(top.join("skills/team/beta/empty")).unwrap();
    skill("gamma");
    write("skills/gamma/references/style.md", b"- Be brief.\n");
    // Nobody has to serve these.
    write(
        "skills/bad/SKILL.md",
        b"---\nname: other\ndescription: x\n---\n",
    );
    write("skills/stray.txt", b"no skill's\n");
    write("outside/secret.txt", b"outside\n");
    write("outside/more/key.txt", b"outside, too\n");
    let link = |target: &str, path: &str| {
        std::os::unix::fs::symlink(target, top.join(path)).unwrap();
    };
    link("../../outside/secret.txt", "skills/alpha/secret.txt");
    link("../../outside/more", "skills/alpha/more");
    link("../gamma/references/style.md", "skills/alpha/style.md");
    link("nowhere", "skills/alpha/gone");
}

/// A plan with everything in it; `root` is the directory that is served.
pub fn plan(target: TargetSpec, needs: &[&str], protocols: Protocols, root: Option<&Path>) -> Plan {
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
        identities: match needs.contains(&"identities") {
            true => vec![Identity {
                name: "bob".to_owned(),
                headers: bearer(needs, "bobs-token"),
            }],
            false => Vec::new(),
        },
        keep_traces: true,
        fail_fast: false,
        rules: Rules {
            strict: false,
            baseline: Baseline::default(),
            replay: Box::new(|revision, check| format!("replay {revision} {check}")),
            secrets: Vec::new(),
        },
        // A directory that is served has no unlisted skill.
        named_skills: match root {
            None => vec![UNLISTED_SKILL.to_owned()],
            Some(_) => Vec::new(),
        },
        disk: root.map(|root| Arc::new(disk::read(root).unwrap())),
    }
}

/// The headers of an identity, where a run has more than one.
fn bearer(needs: &[&str], token: &str) -> Vec<(String, String)> {
    let header = ("authorization".to_owned(), format!("Bearer {token}"));
    match needs.contains(&"identities") {
        true => vec![header],
        false => Vec::new(),
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

/// Does jobs on two threads; what comes of them stands in the order of the jobs.
pub fn in_parallel<J: Send, T: Send>(jobs: Vec<J>, work: impl Fn(J) -> Option<T> + Sync) -> Vec<T> {
    let queue = Mutex::new(jobs.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some((index, job)) = queue.lock().unwrap().next() else {
                        return;
                    };
                    if let Some(result) = work(job) {
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
