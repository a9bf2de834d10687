//! Plans of which most parts are left out.
//!
//! What takes the time of a case is how much of it there is to write, to read and to count. So a
//! byte says which part of a plan the bytes behind it describe, and the others stay empty. Only
//! rare inputs describe the whole.

use arbitrary::{Arbitrary, Result, Unstructured};
use sep2640_conform::generate::case::{CasePlan, Kind};
use sep2640_conform::generate::frontmatter::FrontmatterPlan;
use sep2640_conform::generate::skill::SkillPlan;

/// How much of the input a plan is made of: enough for several of everything in one part. Live
/// fuzzing takes 320 bytes, for whole plans.
pub const PLAN: usize = 64;

/// The bytes that a plan is made of.
pub fn bytes(data: &[u8]) -> &[u8] {
    &data[..data.len().min(PLAN)]
}

/// A case around a skill with one part, or a whole one.
pub fn case(data: &[u8]) -> Result<CasePlan> {
    let mut u = Unstructured::new(data);
    let mut plan = CasePlan {
        kind: Kind::arbitrary(&mut u)?,
        rotation: u8::arbitrary(&mut u)?,
        skill: if one_in(16, data) {
            SkillPlan::arbitrary(&mut u)?
        } else {
            skill(&mut u)?
        },
    };
    // That one takes as long as a hundred others.
    if plan.kind == Kind::AtTheLimit && !one_in(512, data) {
        plan.kind = Kind::Valid;
    }
    // Nothing could be said of a skill that is valid, but not plain.
    if matches!(plan.kind, Kind::Valid | Kind::AtTheLimit) {
        plan.skill.frontmatter.make_plain();
    }
    Ok(plan)
}

/// A number that decides what an input is for. Every byte has a say in it: by one byte, libFuzzer
/// would soon make little else than what has most to count, which is what takes longest.
pub fn lot(data: &[u8]) -> usize {
    data.iter().map(|byte| usize::from(*byte)).sum()
}

/// Whether this is the one input of so many for which something large is done.
fn one_in(many: usize, data: &[u8]) -> bool {
    lot(data) % many == many - 1
}

fn skill(u: &mut Unstructured) -> Result<SkillPlan> {
    let mut plan = SkillPlan::default();
    match u8::arbitrary(u)? % 4 {
        0 => {
            plan.scheme = u8::arbitrary(u)?;
            plan.prefix = Vec::arbitrary(u)?;
            plan.name = Arbitrary::arbitrary(u)?;
            plan.nested = Option::arbitrary(u)?;
        }
        1 => {
            plan.frontmatter.layout = Arbitrary::arbitrary(u)?;
            plan.body = Arbitrary::arbitrary(u)?;
            plan.files = Vec::arbitrary(u)?;
        }
        _ => plan.frontmatter = part_of_frontmatter(u)?,
    }
    Ok(plan)
}

/// A frontmatter with one part, or a whole one.
pub fn frontmatter(data: &[u8]) -> Result<FrontmatterPlan> {
    let mut u = Unstructured::new(data);
    if one_in(16, data) {
        FrontmatterPlan::arbitrary(&mut u)
    } else {
        part_of_frontmatter(&mut u)
    }
}

fn part_of_frontmatter(u: &mut Unstructured) -> Result<FrontmatterPlan> {
    let part = u8::arbitrary(u)?;
    let mut plan = FrontmatterPlan {
        layout: Arbitrary::arbitrary(u)?,
        ..FrontmatterPlan::default()
    };
    match part % 5 {
        0 => (plan.description, plan.style) = Arbitrary::arbitrary(u)?,
        1 => plan.known = Vec::arbitrary(u)?,
        2 => plan.metadata = Vec::arbitrary(u)?,
        3 => plan.further = Vec::arbitrary(u)?,
        _ => plan.agreed = Vec::arbitrary(u)?,
    }
    Ok(plan)
}
