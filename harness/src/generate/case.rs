//! A case for whoever verifies skills: an entry, what arrived, and the right verdict.

use arbitrary::{Arbitrary, Unstructured};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};

use super::disputed::Disputed;
use super::draft::Draft;
use super::entry::{Entry, Resource, write_string};
use super::frontmatter::Field;
use super::rule::Rule;
use super::skill::SkillPlan;
use super::touch::{FIELD, Touch};

/// A case, planned.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CasePlan {
    /// What is done to the skill.
    pub kind: Kind,
    /// The skill.
    pub skill: SkillPlan,
    /// How far the files that arrive are rotated.
    pub rotation: u8,
}

/// What is done to a skill.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Kind {
    /// Nothing.
    #[default]
    Valid,
    /// Nothing, but it is as large as every host must support.
    AtTheLimit,
    /// One violation.
    One(Touch),
    /// Several, of different rules.
    Several(Vec<Touch>),
    /// Something on whose verdict fair readings differ.
    Disputed(Disputed),
}

impl<'a> Arbitrary<'a> for Kind {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        Ok(match u16::arbitrary(u)? % 1024 {
            0 => Kind::AtTheLimit,
            1..400 => Kind::Valid,
            400..600 => Kind::One(Touch::Field {
                pair: u8::arbitrary(u)?,
            }),
            600..920 => Kind::One(Touch::arbitrary(u)?),
            920..970 => Kind::Several(vec![Touch::arbitrary(u)?, Touch::arbitrary(u)?]),
            _ => Kind::Disputed(Disputed::arbitrary(u)?),
        })
    }
}

impl<'a> Arbitrary<'a> for CasePlan {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let kind = Kind::arbitrary(u)?;
        let plain = u8::arbitrary(u)? >= 16;
        let rotation = u8::arbitrary(u)?;
        let mut skill = SkillPlan::arbitrary(u)?;
        if plain && matches!(kind, Kind::Valid | Kind::AtTheLimit) {
            skill.frontmatter.make_plain();
        }
        Ok(Self {
            kind,
            skill,
            rotation,
        })
    }
}

/// What a verifier has to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expected {
    /// The skill keeps every rule.
    Accept,
    /// It breaks one.
    Reject,
    /// Either: readings differ.
    Either,
}

impl Expected {
    /// The word for it.
    pub fn name(self) -> &'static str {
        match self {
            Expected::Accept => "accept",
            Expected::Reject => "reject",
            Expected::Either => "either",
        }
    }
}

/// A case.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The entry.
    pub entry: Entry,
    /// What arrives for the files that are read, by URI. Files of the manifest that are not here
    /// were not read.
    pub files: Vec<(String, Vec<u8>)>,
    /// The right verdict.
    pub expected: Expected,
    /// The rules that are broken.
    pub rules: Vec<Rule>,
    /// What was done, in a few words.
    pub about: String,
}

/// Most files of a skill that every host has to support.
const FILES: usize = 512;
/// Most bytes of such a skill.
const BYTES: u64 = 16 * 1024 * 1024;

impl CasePlan {
    /// The case.
    pub fn build(&self) -> Case {
        let further = self.further_field();
        let reversed = self.skill.frontmatter.layout.entry_reversed;
        let mut draft = Draft::new(self.skill.build(further), reversed);
        let (mut rules, mut about) = (Vec::new(), Vec::new());
        let mut expected = Expected::Accept;
        match &self.kind {
            Kind::Valid => {}
            Kind::AtTheLimit => fill(&mut draft),
            Kind::One(touch) => apply(touch, &mut draft, &mut rules, &mut about),
            Kind::Several(touches) => {
                // What changes SKILL.md comes first, since its digest and size change with it; before
                // the rest of these what it has a field for.
                let mut touches: Vec<&Touch> = touches.iter().collect();
                touches.sort_by_key(|touch| {
                    (touch.rule() != Rule::Frontmatter, touch.pair().is_none())
                });
                for touch in touches {
                    if !rules.contains(&touch.rule()) {
                        apply(touch, &mut draft, &mut rules, &mut about);
                    }
                }
            }
            Kind::Disputed(disputed) => {
                if disputed.apply(&mut draft) {
                    expected = Expected::Either;
                    about.push("disputed".to_owned());
                }
            }
        }
        if !rules.is_empty() {
            expected = Expected::Reject;
        } else if !self.skill.frontmatter.is_plain() {
            expected = Expected::Either;
        }
        let count = draft.files.len();
        if count > 0 {
            draft.files.rotate_left(usize::from(self.rotation) % count);
        }
        Case {
            entry: draft.entry,
            files: draft.files,
            expected,
            rules,
            about: about.join(", "),
        }
    }

    /// The field that SKILL.md needs for what is done to it.
    fn further_field(&self) -> Option<Field> {
        let pair = match &self.kind {
            Kind::One(touch) => touch.pair(),
            Kind::Several(touches) => touches.iter().find_map(Touch::pair),
            Kind::Disputed(disputed) => disputed.pair(),
            Kind::Valid | Kind::AtTheLimit => None,
        };
        pair.map(|pair| Field::of_pair(FIELD, pair))
    }
}

fn apply(touch: &Touch, draft: &mut Draft, rules: &mut Vec<Rule>, about: &mut Vec<String>) {
    if touch.apply(draft) {
        rules.push(touch.rule());
        about.push(touch.words());
    }
}

/// Adds files that nobody reads until the skill is as large as hosts must support.
fn fill(draft: &mut Draft) {
    let root = draft.skill.root.clone();
    let Some(files) = draft.manifest() else {
        return;
    };
    for number in files.len()..FILES {
        files.push(Resource::of(format!("{root}/fill/{number}.bin"), b""));
    }
    let used: u64 = files
        .iter()
        .filter_map(|file| file.size.as_ref()?.as_u64())
        .sum();
    if let Some(last) = files.last_mut() {
        last.size = Some(json!(BYTES - used));
    }
}

impl Case {
    /// The case as the line that a verifier gets, without its line break.
    pub fn write(&self, id: u64, out: &mut String) {
        out.push_str("{\"id\":");
        out.push_str(&id.to_string());
        out.push_str(",\"entry\":");
        self.entry.write(out);
        out.push_str(",\"files\":{");
        for (place, (uri, bytes)) in self.files.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            write_string(uri, out);
            out.push_str(":\"");
            BASE64.encode_string(bytes, out);
            out.push('"');
        }
        out.push_str("}}");
    }

    /// Whether the verdict is the right one.
    pub fn agrees(&self, accepted: bool) -> bool {
        match self.expected {
            Expected::Accept => accepted,
            Expected::Reject => !accepted,
            Expected::Either => true,
        }
    }

    /// The rule by which a wrong verdict is wrong.
    pub fn rule(&self) -> Rule {
        self.rules.first().copied().unwrap_or(Rule::Accept)
    }

    /// What arrives, as a JSON object.
    pub fn files_value(&self) -> Value {
        let files = self.files.iter();
        files
            .map(|(uri, bytes)| (uri.clone(), Value::from(BASE64.encode(bytes))))
            .collect()
    }
}
