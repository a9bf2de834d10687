//! Cases made small by playing smaller ones.

use super::is_wrong;
use super::line::Observed;
use crate::generate::case::{Case, CasePlan};
use crate::generate::shrink::simpler;

/// The smallest case of a kind that is answered wrongly.
#[derive(Debug, Clone, PartialEq)]
pub struct Small {
    /// What it was built from.
    pub plan: CasePlan,
    /// The case.
    pub case: Case,
    /// The wrong answer.
    pub observed: Observed,
}

/// Makes a case small: as long as a simpler one is answered wrongly in the same way, it goes on from
/// there. Where the verdict is wrong, a simpler one breaks no other rule. `ask` plays lines and says what came for each. Nothing when
/// the wrong answer does not come again.
pub async fn smallest(
    plan: CasePlan,
    mut ask: impl AsyncFnMut(&[String]) -> Option<Vec<Observed>>,
) -> Option<Small> {
    let case = plan.build();
    let observed = ask(&[line_of(&case)]).await?.into_iter().next()?;
    if !is_wrong(case.expected, &observed) {
        return None;
    }
    let first = Small {
        plan,
        case,
        observed,
    };
    let verdict = matches!(first.observed, Observed::Accept | Observed::Reject(_));
    let mut small = first.clone();
    loop {
        let candidates: Vec<(CasePlan, Case)> = simpler(&small.plan)
            .into_iter()
            .map(|plan| {
                let case = plan.build();
                (plan, case)
            })
            .filter(|(_, case)| !verdict || is_of_kind(case, &first.case))
            .collect();
        let lines: Vec<String> = candidates.iter().map(|(_, case)| line_of(case)).collect();
        let answers = if lines.is_empty() {
            Vec::new()
        } else {
            ask(&lines).await?
        };
        let mut played = candidates.into_iter().zip(answers);
        let wrong = played.find(|((_, case), observed)| {
            is_alike(&first.observed, observed) && is_wrong(case.expected, observed)
        });
        let Some(((plan, case), observed)) = wrong else {
            break;
        };
        small = Small {
            plan,
            case,
            observed,
        };
    }
    // Among others a case may be answered otherwise than alone, as it is replayed.
    let alone = ask(&[line_of(&small.case)]).await?.into_iter().next()?;
    let again = is_alike(&first.observed, &alone) && is_wrong(small.case.expected, &alone);
    Some(if again { small } else { first })
}

fn is_of_kind(case: &Case, first: &Case) -> bool {
    case.expected == first.expected
        && case.rules.is_empty() == first.rules.is_empty()
        && case.rules.iter().all(|rule| first.rules.contains(rule))
}

fn is_alike(one: &Observed, other: &Observed) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// The line of a case, with the id 0.
pub fn line_of(case: &Case) -> String {
    let mut line = String::new();
    case.write(0, &mut line);
    line
}
