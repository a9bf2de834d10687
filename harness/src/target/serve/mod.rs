//! The servers of a host scenario: honest ones, whose answers the scenario then bends.
//!
//! [`spec`] is what a scenario says of a server, [`shelf`] the skills that follow from it,
//! [`methods`] the honest answers, [`bend`] what is done to them; [`stage`] holds all servers of one
//! scenario and records what passes; [`http`] and [`relay`] carry the messages.

pub mod bait;
pub mod bend;
pub mod http;
pub mod methods;
pub mod relay;
pub mod shelf;
pub mod spec;
pub mod stage;
