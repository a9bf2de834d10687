//! What can be done to a valid skill so that fair readings differ on whether it may be used.
//!
//! Such cases are sent, because they must not bring anything down, and never judged.

use arbitrary::Arbitrary;
use serde_json::{Value, json};

use super::draft::Draft;
use super::entry::{Resource, Resources};
use super::touch::FIELD;
use super::uri::{Leads, UriPlan};
use super::value::{DISPUTED, Pair};

/// A change on whose weight readings differ.
#[derive(Debug, Clone, PartialEq, Eq, Arbitrary)]
#[expect(
    missing_docs,
    reason = "the numbers choose; what among, the variants say"
)]
pub enum Disputed {
    /// A field whose rendering depends on the version of YAML, or that has none.
    Field { pair: u8 },
    /// A file listed twice with the same digest.
    Twice,
    /// A file whose URI may or may not lie within the skill.
    Uri { uri: UriPlan },
    /// A size that is missing, or no integer, or of another type.
    Size { form: u8 },
    /// The skill is dynamic: a host may decline it.
    Dynamic,
    /// The name is not that of the directory, in the entry and in SKILL.md alike.
    Name,
    /// More files than every host supports; seldom, since such a case is as long as a hundred others.
    TooMany { seldom: u8 },
    /// A byte-order mark before the frontmatter.
    Mark,
    /// A SKILL.md whose body is not UTF-8.
    Broken,
    /// A manifest with something that is no file.
    NoFile { form: u8 },
}

impl Disputed {
    /// The pair of the table that SKILL.md needs for it.
    pub fn pair(&self) -> Option<Pair> {
        match self {
            Disputed::Field { pair } => Some(DISPUTED[usize::from(*pair) % DISPUTED.len()]),
            _ => None,
        }
    }

    /// Does it; `false` when the skill has nothing of the kind.
    pub fn apply(&self, draft: &mut Draft) -> bool {
        self.try_apply(draft).is_some()
    }

    fn try_apply(&self, draft: &mut Draft) -> Option<()> {
        let root = draft.skill.root.clone();
        match *self {
            Disputed::Field { .. } => {
                let mut fields = draft.skill.fields.iter();
                fields.find(|field| field.key == FIELD)?;
            }
            Disputed::Twice => {
                let files = draft.manifest()?;
                let first = files.first()?.clone();
                files.push(first);
            }
            Disputed::Uri { uri } => {
                let uri = uri.leading(Leads::Disputed).text(&root);
                draft.manifest()?.push(Resource::of(uri.clone(), b"?"));
                draft.files.push((uri, b"?".to_vec()));
            }
            Disputed::Size { form } => {
                let file = draft.manifest()?.first_mut()?;
                let right = file.size.clone()?;
                file.size = match form % 4 {
                    0 => None,
                    1 => Some(Value::Null),
                    2 => Some(right.to_string().into()),
                    _ => Some(json!(right.as_f64()?)),
                };
            }
            Disputed::Dynamic => {
                draft.entry.resources = Resources::Other(Some("dynamic".into()));
            }
            Disputed::Name => {
                let other = format!("{root}-renamed");
                draft.entry.uri = Some(format!("{other}/SKILL.md").into());
                for file in draft.manifest()? {
                    file.uri = file.uri.replacen(&root, &other, 1);
                }
                for (uri, _) in &mut draft.files {
                    *uri = uri.replacen(&root, &other, 1);
                }
            }
            Disputed::TooMany { seldom } if seldom >= 16 => return None,
            Disputed::TooMany { .. } => {
                let files = draft.manifest()?;
                for number in files.len()..=512 {
                    files.push(Resource::of(format!("{root}/fill/{number}.bin"), b""));
                }
            }
            Disputed::Mark => draft.rewrite(|text| Some(format!("\u{feff}{text}")))?,
            Disputed::Broken => {
                let (uri, bytes) = draft.files.first_mut()?;
                bytes.extend([0xff, 0xfe, 0]);
                let new = Resource::of(uri.clone(), bytes);
                let mut files = draft.manifest()?.iter_mut();
                let known = files.find(|file| file.uri == new.uri)?;
                *known = new;
            }
            Disputed::NoFile { form } => {
                let values = [json!(null), json!("x"), json!({}), json!([])];
                let mut list = draft.entry.to_value().get("resources")?.as_array()?.clone();
                list.push(values[usize::from(form) % values.len()].clone());
                draft.entry.resources = Resources::Other(Some(Value::Array(list)));
            }
        }
        Some(())
    }
}
