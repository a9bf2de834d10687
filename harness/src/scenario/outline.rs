//! What a scenario of either side says of itself.

use super::file::Condition;
use crate::wire::Revision;

/// The head of a scenario.
#[derive(Debug, Clone, Copy)]
pub struct Outline {
    /// Its name, `server/…` or `host/…`.
    pub name: &'static str,
    /// What it does, in one sentence.
    pub about: &'static str,
    revisions: &'static [Revision],
    /// What must be the case for it to be played.
    pub when: Option<Condition>,
    /// Scenarios whose captured values it uses.
    pub needs: &'static [String],
    /// The checks that it gives something to judge.
    pub exercises: &'static [String],
}

impl Outline {
    /// The names of the revisions on which it is played.
    pub fn revisions(&self) -> Vec<&'static str> {
        Revision::ALL
            .into_iter()
            .filter(|revision| self.revisions.is_empty() || self.revisions.contains(revision))
            .map(Revision::name)
            .collect()
    }

    /// Whether it exercises a check.
    pub fn exercises(&self, check: &str) -> bool {
        self.exercises.iter().any(|id| id == check)
    }
}

/// All built-in scenarios, those of the server side first.
pub fn outlines() -> impl Iterator<Item = Outline> {
    let servers = super::built_in().iter().map(|scenario| Outline {
        name: &scenario.name,
        about: &scenario.about,
        revisions: &scenario.revisions,
        when: scenario.when,
        needs: &scenario.needs,
        exercises: &scenario.exercises,
    });
    let hosts = super::scripts().iter().map(|script| Outline {
        name: &script.name,
        about: &script.about,
        revisions: &script.revisions,
        when: None,
        needs: &[],
        exercises: &script.exercises,
    });
    servers.chain(hosts)
}
