//! Conformance suite for SEP-2640, the Skills extension of the Model Context Protocol.
//!
//! A *scenario* drives a *target* and leaves a *trace*; *checks* judge the trace; reporters
//! render the verdicts. `docs/architecture.md` has the picture.
//!
//! Import rule, enforced by `tests/layers.rs`, which reads this table: a module may import only
//! what stands on its right-hand side, and that stands above it.
//!
//! ```text
//! wire, model, exit, drift <- nothing
//! verdict                  <- wire
//! disk                     <- wire
//! generate                 <- model
//! spec                     <- verdict, wire
//! checks                   <- model, verdict, wire
//! judge                    <- checks, spec, verdict, wire
//! target                   <- wire
//! scenario                 <- target, wire
//! event                    <- verdict, wire
//! transcript               <- wire
//! baseline                 <- scenario, checks, verdict
//! catalog                  <- checks, event, wire
//! outcome                  <- baseline, catalog, checks, event, judge, verdict, wire, exit
//! run                      <- outcome, event, judge, scenario, target, checks, spec, verdict, wire, exit
//! host_run                 <- outcome, event, judge, scenario, target, checks, spec, verdict, wire, exit
//! smoke                    <- checks, scenario, target, wire, exit
//! report                   <- event, spec, verdict
//! fuzz                     <- generate, report, target, scenario, spec, verdict, model, wire
//! cli                      <- everything
//! ```
//!
//! Only `cli` may know the reference server; checks see no clock, file system, network or runtime.
pub mod baseline;
pub mod catalog;
pub mod checks;
pub mod cli;
pub mod disk;
pub mod drift;
pub mod event;
pub mod exit;
pub mod fuzz;
pub mod generate;
pub mod host_run;
pub mod judge;
pub mod model;
pub mod outcome;
pub mod report;
pub mod run;
pub mod scenario;
pub mod smoke;
pub mod spec;
pub mod target;
pub mod transcript;
pub mod verdict;
pub mod wire;
