//! Smaller plans: what a case may lose one thing at a time.

use super::case::{CasePlan, Kind};
use super::frontmatter::Layout;
use super::skill::Content;
use super::text::{NamePlan, PathPlan, TextPlan};
use super::value::{Scalar, Style, ValuePlan};

/// Plans that are simpler than this one in one way each, the largest steps first. None is equal
/// to it, and following them always comes to an end.
pub fn simpler(plan: &CasePlan) -> Vec<CasePlan> {
    let mut found = Vec::new();
    let mut try_out = |change: &dyn Fn(&mut CasePlan)| {
        let mut other = plan.clone();
        change(&mut other);
        if other != *plan && !found.contains(&other) {
            found.push(other);
        }
    };
    if let Kind::Several(touches) = &plan.kind {
        for touch in touches {
            try_out(&|plan| plan.kind = Kind::One(touch.clone()));
        }
    }
    // A change for which the skill has nothing is none.
    try_out(&|plan| plan.kind = Kind::Valid);
    try_out(&|plan| plan.skill = Default::default());
    try_out(&|plan| plan.skill.frontmatter = Default::default());
    try_out(&|plan| plan.skill.files.clear());
    try_out(&|plan| plan.skill.nested = None);
    try_out(&|plan| plan.skill.body = TextPlan::default());
    try_out(&|plan| plan.skill.prefix.clear());
    try_out(&|plan| plan.skill.prefix = vec![0]);
    try_out(&|plan| plan.skill.scheme = 0);
    try_out(&|plan| plan.skill.name = NamePlan::default());
    try_out(&|plan| plan.rotation = 0);
    try_out(&|plan| plan.rotation = 1);
    let frontmatter = &plan.skill.frontmatter;
    try_out(&|plan| plan.skill.frontmatter.description = TextPlan::default());
    try_out(&|plan| plan.skill.frontmatter.style = Style::default());
    try_out(&|plan| plan.skill.frontmatter.layout = Layout::default());
    for flag in [
        |layout: &mut Layout| layout.crlf = false,
        |layout: &mut Layout| layout.comments = false,
        |layout: &mut Layout| layout.name_last = false,
        |layout: &mut Layout| layout.entry_reversed = false,
        |layout: &mut Layout| layout.quoted_keys = false,
        |layout: &mut Layout| layout.fence_blanks = false,
    ] {
        try_out(&|plan| flag(&mut plan.skill.frontmatter.layout));
    }
    for at in 0..frontmatter.known.len() {
        try_out(&|plan| drop(plan.skill.frontmatter.known.remove(at)));
        try_out(&|plan| plan.skill.frontmatter.known[at].1 = TextPlan::default());
        try_out(&|plan| plan.skill.frontmatter.known[at].2 = Style::default());
    }
    for at in 0..frontmatter.metadata.len() {
        try_out(&|plan| drop(plan.skill.frontmatter.metadata.remove(at)));
        try_out(&|plan| plan.skill.frontmatter.metadata[at] = (0, TextPlan::default()));
    }
    for at in 0..frontmatter.agreed.len() {
        try_out(&|plan| {
            plan.skill.frontmatter.agreed.remove(at);
        });
    }
    for at in 0..frontmatter.further.len() {
        try_out(&|plan| drop(plan.skill.frontmatter.further.remove(at)));
        for value in simpler_values(&frontmatter.further[at]) {
            try_out(&|plan| plan.skill.frontmatter.further[at] = value.clone());
        }
    }
    for at in 0..plan.skill.files.len() {
        try_out(&|plan| drop(plan.skill.files.remove(at)));
        try_out(&|plan| plan.skill.files[at].path = PathPlan::default());
        try_out(&|plan| plan.skill.files[at].path.directories.clear());
        try_out(&|plan| plan.skill.files[at].unread = false);
        try_out(&|plan| plan.skill.files[at].content = Content::Empty);
        try_out(&|plan| plan.skill.files[at].content = Content::Lines(TextPlan(vec![0])));
        if let Content::Bytes(bytes) = &plan.skill.files[at].content {
            for half in halves(bytes) {
                try_out(&|plan| plan.skill.files[at].content = Content::Bytes(half.clone()));
            }
        }
        if let Content::Broken(text) = &plan.skill.files[at].content
            && !text.0.is_empty()
        {
            try_out(&|plan| plan.skill.files[at].content = Content::Broken(TextPlan::default()));
        }
        if let Content::Lines(text)
        | Content::Crlf(text)
        | Content::Marked(text)
        | Content::Open(text) = &plan.skill.files[at].content
        {
            for half in halves(&text.0) {
                try_out(&|plan| {
                    if let Content::Lines(text)
                    | Content::Crlf(text)
                    | Content::Marked(text)
                    | Content::Open(text) = &mut plan.skill.files[at].content
                    {
                        text.0.clone_from(&half);
                    }
                });
            }
        }
    }
    for half in halves(&plan.skill.body.0) {
        try_out(&|plan| plan.skill.body.0.clone_from(&half));
    }
    for half in halves(&frontmatter.description.0) {
        try_out(&|plan| plan.skill.frontmatter.description.0.clone_from(&half));
    }
    for half in halves(&plan.skill.name.0) {
        try_out(&|plan| plan.skill.name.0.clone_from(&half));
    }
    // What is "simpler" must not lead back: a plan is either smaller in this order or dropped.
    let size = weight(plan);
    found.retain(|other| weight(other) < size);
    found
}

/// A measure that every step makes smaller: how much there is to say of the plan, where what is
/// usual counts for nothing.
fn weight(plan: &CasePlan) -> usize {
    let said = format!("{plan:?}")
        .replace("false", "")
        .replace("Double", "");
    let prefix = plan.skill.prefix.iter().map(|byte| usize::from(*byte));
    said.len() * 4
        + usize::from(plan.rotation)
        + usize::from(plan.skill.scheme)
        + prefix.sum::<usize>()
        + kind_weight(&plan.kind)
}

fn kind_weight(kind: &Kind) -> usize {
    match kind {
        Kind::Valid => 0,
        Kind::AtTheLimit => 40,
        Kind::One(_) | Kind::Disputed(_) => 100,
        Kind::Several(_) => 1000,
    }
}

fn simpler_values(value: &ValuePlan) -> Vec<ValuePlan> {
    let plain = ValuePlan::One(Scalar::Integer(0));
    let mut found = vec![plain];
    match value {
        ValuePlan::One(Scalar::Text(..)) => {
            found.push(ValuePlan::One(Scalar::Text(
                TextPlan(vec![0]),
                Style::Double,
            )));
        }
        ValuePlan::One(_) => {}
        ValuePlan::List(items, flow) => {
            found.extend(items.iter().cloned().map(ValuePlan::One));
            for at in 0..items.len() {
                let mut items = items.clone();
                items.remove(at);
                found.push(ValuePlan::List(items, *flow));
            }
        }
        ValuePlan::Mapping(members, flow) => {
            found.extend(
                members
                    .iter()
                    .map(|(_, value)| ValuePlan::One(value.clone())),
            );
            for at in 0..members.len() {
                let mut members = members.clone();
                members.remove(at);
                found.push(ValuePlan::Mapping(members, *flow));
            }
        }
        ValuePlan::Deep(depth, scalar) => {
            found.push(ValuePlan::One(scalar.clone()));
            found.extend((*depth > 1).then(|| ValuePlan::Deep(1, scalar.clone())));
        }
        ValuePlan::Twice(scalar) => found.push(ValuePlan::One(scalar.clone())),
    }
    found
}

fn halves(bytes: &[u8]) -> Vec<Vec<u8>> {
    if bytes.len() < 2 {
        return Vec::new();
    }
    let middle = bytes.len() / 2;
    vec![bytes[..middle].to_vec(), bytes[middle..].to_vec()]
}
