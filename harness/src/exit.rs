//! Exit codes of the program, and which one wins when several apply.

use std::process::ExitCode;

/// How a run ended, as the process tells it to its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Exit {
    /// Every check that had something to judge passed (warnings and notes allowed).
    Conformant = 0,
    /// A check failed, or a baseline entry is stale.
    Failed = 1,
    /// Bad arguments, scenario or baseline.
    Usage = 2,
    /// The target could not be started, or was lost.
    Target = 3,
    /// Nothing was exercised.
    Nothing = 4,
    /// A fault of the harness itself.
    Harness = 70,
    /// Ended by Ctrl-C or SIGTERM before it was done.
    Interrupted = 130,
}

impl Exit {
    /// The worse of two outcomes, in the order 130, 70, 2, 3, 1, 4, 0.
    pub fn worst(self, other: Self) -> Self {
        if self.rank() >= other.rank() {
            self
        } else {
            other
        }
    }

    /// The number that the process exits with.
    pub fn code(self) -> u8 {
        self as u8
    }

    fn rank(self) -> u8 {
        match self {
            Exit::Conformant => 0,
            Exit::Nothing => 1,
            Exit::Failed => 2,
            Exit::Target => 3,
            Exit::Usage => 4,
            Exit::Harness => 5,
            Exit::Interrupted => 6,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        ExitCode::from(exit.code())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit::*;

    #[test]
    fn the_worst_outcome_wins() {
        let order = [
            Interrupted,
            Harness,
            Usage,
            Target,
            Failed,
            Nothing,
            Conformant,
        ];
        for (i, a) in order.iter().enumerate() {
            for b in &order[i..] {
                assert_eq!(a.worst(*b), *a);
                assert_eq!(b.worst(*a), *a);
            }
        }
    }
}
