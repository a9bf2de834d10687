//! Conformance suite for SEP-2640, the Skills extension of the Model Context Protocol.
//!
//! A *scenario* drives a *target* and leaves a *trace*; *checks* judge the trace; reporters
//! render the verdicts. `docs/architecture.md` has the picture.
//!
//! Import rule, enforced by `tests/layers.rs`; a module may import only what stands on its
//! right-hand side:
//!
//! ```text
//! wire, model     <- nothing above them
//! verdict         <- wire
//! disk            <- wire
//! spec            <- verdict
//! checks          <- model, wire, verdict
//! judge           <- checks, spec, verdict, wire
//! target          <- wire
//! scenario        <- target, wire
//! event           <- verdict, wire
//! catalog         <- checks, event, wire
//! run             <- catalog, scenario, target, judge, checks, spec, event, verdict, wire
//! report          <- event, spec, verdict
//! cli             <- everything
//! ```
pub mod catalog;
pub mod checks;
pub mod cli;
pub mod disk;
pub mod drift;
pub mod event;
pub mod exit;
pub mod judge;
pub mod model;
pub mod report;
pub mod run;
pub mod scenario;
pub mod spec;
pub mod target;
pub mod verdict;
pub mod wire;
