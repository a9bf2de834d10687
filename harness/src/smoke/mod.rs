//! Tells a bad adapter from a bad host: speaks the adapter protocol with a small honest server, and
//! holds every line against the schema of the protocol.

mod doors;
mod exam;
mod schema;
mod talk;

use std::time::Duration;

use self::doors::{Doors, SERVED};
pub use self::schema::{SCHEMA, definition, document, validator};
use self::talk::Talk;
use crate::exit::Exit;
use crate::scenario::script::Script;
use crate::target::serve::stage::Stage;
use crate::target::{TargetError, TargetSpec};
use crate::wire::{Revision, Transport};

/// What to run.
#[derive(Debug)]
pub struct Plan {
    /// The adapter.
    pub target: TargetSpec,
    /// What the server speaks.
    pub revision: Revision,
    /// What carries the messages between host and server.
    pub transport: Transport,
    /// How long the adapter may take for one call.
    pub timeout: Duration,
}

/// One thing that was looked at.
#[derive(Debug, Clone)]
pub struct Row {
    /// What.
    pub what: String,
    /// What is wrong with it, if anything.
    pub wrong: Option<Wrong>,
    /// What a reader may want to know besides.
    pub note: Option<String>,
}

/// Something that an adapter may not do.
#[derive(Debug, Clone)]
pub struct Wrong {
    /// What the protocol asks for.
    pub expected: String,
    /// What came.
    pub actual: String,
    /// The line in which it came, as far as it is shown.
    pub line: Option<String>,
}

/// What came of it.
#[derive(Debug)]
pub struct Outcome {
    /// How the process should exit.
    pub exit: Exit,
    /// Why the adapter could not be started.
    pub trouble: Option<TargetError>,
    /// The end of what the adapter wrote to standard error.
    pub stderr: String,
}

/// Runs a plan; `tell` is given each row as it comes.
pub async fn run(plan: &Plan, tell: impl FnMut(&Row)) -> Outcome {
    let begun = async {
        let fail =
            |error: std::io::Error| TargetError::new(format!("cannot set the stage: {error}"));
        let stage = Stage::new(plan.revision, plan.transport);
        let script =
            Script::parse("smoke", SERVED).map_err(|error| TargetError::new(error.to_string()))?;
        let number = stage.set(&script.name, script.servers());
        let doors = Doors::open(plan.transport, &stage, number)
            .await
            .map_err(fail)?;
        let state = tempfile::Builder::new()
            .prefix("sep2640-")
            .tempdir()
            .map_err(fail)?;
        let talk = Talk::start(plan, tell)?;
        Ok::<_, TargetError>((doors, state, talk))
    };
    let (doors, state, mut talk) = match begun.await {
        Ok(begun) => begun,
        Err(error) => {
            return Outcome {
                exit: Exit::Target,
                trouble: Some(error),
                stderr: String::new(),
            };
        }
    };
    let verbs = talk.all(plan, &doors, state.path()).await;
    let stderr = talk.process.stderr_tail();
    let never_spoke = talk.gone && talk.lines_seen == 0;
    let faults = talk.faults;
    let trouble = match talk.process.exit_status(talk.gone).await {
        Some(status) if never_spoke => Some(TargetError::new(format!(
            "the adapter ended before it said anything ({status})"
        ))),
        _ => None,
    };
    talk.stdin = None;
    talk.process.stop(false).await;
    Outcome {
        exit: match (trouble.is_some(), faults, verbs) {
            (true, ..) => Exit::Target,
            (_, 0, 0) => Exit::Nothing,
            (_, 0, _) => Exit::Conformant,
            _ => Exit::Failed,
        },
        trouble,
        stderr,
    }
}
