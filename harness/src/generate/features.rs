//! What is unusual about a plan, in words that stay the same from run to run.

use super::case::{CasePlan, Kind};
use super::skill::Content;
use super::value::ValuePlan;

impl CasePlan {
    /// What distinguishes the plan from the simplest one, as a list of words. Of a case that was
    /// made small it tells what matters.
    pub fn features(&self) -> String {
        let skill = &self.skill;
        let frontmatter = &skill.frontmatter;
        let layout = &frontmatter.layout;
        let mut words: Vec<String> = Vec::new();
        let mut note = |present: bool, word: &str| {
            if present && !words.iter().any(|known| known == word) {
                words.push(word.to_owned());
            }
        };
        note(self.kind == Kind::AtTheLimit, "512 files of 16 MiB");
        note(
            skill.root().split(':').next() != Some("skill"),
            "another scheme",
        );
        note(!skill.prefix.is_empty(), "a prefix");
        note(!skill.name.0.is_empty(), "a name");
        note(!skill.body.0.is_empty(), "a body");
        note(skill.nested.is_some(), "a nested skill");
        note(!frontmatter.description.0.is_empty(), "a description");
        note(
            frontmatter.style != Default::default(),
            "a style of strings",
        );
        note(!frontmatter.known.is_empty(), "a field of the format");
        note(!frontmatter.metadata.is_empty(), "metadata");
        note(!frontmatter.agreed.is_empty(), "a field");
        for value in &frontmatter.further {
            note(
                true,
                match value {
                    ValuePlan::One(_) => "a further field",
                    ValuePlan::List(..) => "a list",
                    ValuePlan::Mapping(..) => "a mapping",
                    ValuePlan::Deep(..) => "a deep value",
                    ValuePlan::Twice(_) => "an alias",
                },
            );
        }
        note(layout.crlf, "CRLF");
        note(layout.comments, "comments");
        note(layout.name_last, "name last");
        note(layout.entry_reversed, "another order in the entry");
        note(layout.quoted_keys, "keys in quotes");
        note(layout.fence_blanks, "blanks behind fences");
        for file in &skill.files {
            note(file.unread, "a file that is not read");
            note(!file.path.directories.is_empty(), "a directory");
            note(file.path.text().contains('%'), "a URI with escapes");
            note(file.path.text().contains(".."), "a name with two dots");
            note(
                true,
                match &file.content {
                    Content::Empty => "an empty file",
                    Content::Bytes(bytes) if std::str::from_utf8(bytes).is_ok() => "a file",
                    Content::Bytes(_) | Content::Broken(_) => "a file that is no UTF-8",
                    Content::Crlf(_) => "a file with CRLF",
                    Content::Marked(_) => "a file with a byte-order mark",
                    Content::Lines(_) | Content::Open(_) | Content::Long(_) => "a file",
                },
            );
        }
        note(self.rotation != 0, "files in another order");
        if words.is_empty() {
            words.push("the simplest skill".to_owned());
        }
        words.join(", ")
    }
}
