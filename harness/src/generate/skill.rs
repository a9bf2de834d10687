//! A valid skill: where it lies, what its files hold, and the entry that describes it.

use arbitrary::Arbitrary;
use sha2::{Digest as _, Sha256};

use super::frontmatter::{Field, FrontmatterPlan, block};
use super::text::{NamePlan, PathPlan, TextPlan};

/// A valid skill.
#[derive(Debug, Clone, Default, PartialEq, Arbitrary)]
pub struct SkillPlan {
    /// The scheme of its URIs.
    pub scheme: u8,
    /// Segments before the name.
    pub prefix: Vec<u8>,
    /// Its name.
    pub name: NamePlan,
    /// The frontmatter of its SKILL.md.
    pub frontmatter: FrontmatterPlan,
    /// What follows the frontmatter.
    pub body: TextPlan,
    /// Supporting files.
    pub files: Vec<FilePlan>,
    /// A skill inside it: the directory is its name.
    pub nested: Option<NamePlan>,
}

/// A supporting file.
#[derive(Debug, Clone, Default, PartialEq, Arbitrary)]
pub struct FilePlan {
    /// Where it lies.
    pub path: PathPlan,
    /// What it holds.
    pub content: Content,
    /// Whether it is left unread: it is in the manifest only.
    pub unread: bool,
}

/// What a file holds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Arbitrary)]
pub enum Content {
    /// Nothing.
    #[default]
    Empty,
    /// Lines of text.
    Lines(TextPlan),
    /// Lines that end in CRLF.
    Crlf(TextPlan),
    /// Lines behind a byte-order mark.
    Marked(TextPlan),
    /// Text without a final line break.
    Open(TextPlan),
    /// Any bytes, most often not UTF-8.
    Bytes(Vec<u8>),
    /// Text with a byte that UTF-8 never has, and NUL.
    Broken(TextPlan),
    /// Digits and letters, many.
    Long(u8),
}

/// Schemes: none has a meaning of its own here.
const SCHEMES: &[&str] = &[
    "skill", "skill", "skill", "skill", "github", "repo", "x-y+z.1", "docs",
];

/// Segments before a name, each in normal form.
const PREFIX: &[&str] = &[
    "acme",
    "billing",
    "v2",
    "a.b",
    "team-1",
    "~me",
    "x_y",
    "%C3%A9quipe",
    "docs",
    "0",
];

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    /// Its URI.
    pub uri: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Whether it is left unread.
    pub unread: bool,
}

/// A skill: the first of its files is SKILL.md.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    /// URI of its directory.
    pub root: String,
    /// Its name.
    pub name: String,
    /// Fields of the frontmatter.
    pub fields: Vec<Field>,
    /// Its files.
    pub files: Vec<File>,
}

impl SkillPlan {
    /// URI of the skill's directory.
    pub fn root(&self) -> String {
        let mut root = format!("{}:/", SCHEMES[usize::from(self.scheme) % SCHEMES.len()]);
        for byte in self.prefix.iter().take(4) {
            root.push('/');
            root.push_str(PREFIX[usize::from(*byte) % PREFIX.len()]);
        }
        root.push('/');
        root.push_str(&self.name.text());
        root
    }

    /// The skill, with what `further` adds to its frontmatter.
    pub fn build(&self, further: Option<Field>) -> Skill {
        let (root, name) = (self.root(), self.name.text());
        let mut fields = self.frontmatter.fields(&name);
        fields.extend(further);
        let mut files = vec![File {
            uri: format!("{root}/SKILL.md"),
            bytes: self.skill_md(&fields),
            unread: false,
        }];
        for plan in self.files.iter().take(8) {
            let uri = format!("{root}/{}", plan.path.text());
            if files.iter().all(|file| file.uri != uri) {
                files.push(File {
                    uri,
                    bytes: plan.content.bytes(),
                    unread: plan.unread,
                });
            }
        }
        if let Some(nested) = &self.nested {
            let nested = nested.text();
            let text = format!(
                "---\nname: \"{nested}\"\ndescription: Inside.\nallowed-tools: Bash\n---\n"
            );
            files.push(File {
                uri: format!("{root}/nested/{nested}/SKILL.md"),
                bytes: text.into_bytes(),
                unread: false,
            });
        }
        Skill {
            root,
            name,
            fields,
            files,
        }
    }

    /// SKILL.md with these fields.
    pub fn skill_md(&self, fields: &[Field]) -> Vec<u8> {
        let mut text = block(fields, &self.frontmatter.layout);
        text.push_str(&self.body.lines("\n"));
        if self.frontmatter.layout.crlf {
            text = text.replace('\n', "\r\n");
        }
        text.into_bytes()
    }
}

impl Content {
    /// The bytes.
    pub fn bytes(&self) -> Vec<u8> {
        match self {
            Content::Empty => Vec::new(),
            Content::Lines(text) => text.lines("\n").into_bytes(),
            Content::Crlf(text) => text.lines("\r\n").into_bytes(),
            Content::Marked(text) => format!("\u{feff}{}", text.lines("\n")).into_bytes(),
            Content::Open(text) => text.line().into_bytes(),
            Content::Bytes(bytes) => bytes.clone(),
            Content::Broken(text) => [text.line().as_bytes(), &[0xff, 0, 0xc3]].concat(),
            Content::Long(length) => b"0123456789abcdef".repeat(usize::from(*length)),
        }
    }
}

/// The digest of a file as entries have it.
pub fn digest(bytes: &[u8]) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(71);
    text.push_str("sha256:");
    for byte in Sha256::digest(bytes) {
        text.push(char::from(HEX[usize::from(byte >> 4)]));
        text.push(char::from(HEX[usize::from(byte & 15)]));
    }
    text
}
