//! `coverage --spec`: how a copy of the specification differs from the requirements.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::drift;
use crate::exit::Exit;
use crate::report::text::{escape, plural, wrap};
use crate::spec::Spec;

/// How a copy of the specification differs from the requirements.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct SpecDrift {
    /// The copy.
    pub file: String,
    /// How many different sentences with a keyword it has.
    pub sentences: usize,
    /// How many of them the requirements account for.
    pub accounted: usize,
    /// The others, each once.
    pub new: Vec<NewSentence>,
    /// Requirements that account for sentences of other versions only.
    pub gone: Vec<GoneRow>,
}

/// A sentence that nothing accounts for.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct NewSentence {
    /// The line on which it begins, 1-based.
    pub line: usize,
    /// What it goes by in `sep-2640.yaml`.
    pub hash: String,
    /// The sentence without its markup.
    pub text: String,
}

/// A requirement none of whose sentences stands in the copy.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub struct GoneRow {
    /// Its check, if it has one.
    pub check: Option<String>,
    /// Its section.
    pub section: String,
    /// Its wording here.
    pub text: String,
}

impl SpecDrift {
    /// That of a copy on disk.
    ///
    /// # Errors
    ///
    /// A file that cannot be read, or that has no sentence to compare.
    pub fn of_file(file: &Path, spec: &Spec) -> Result<Self, String> {
        let name = file.display().to_string();
        let text = fs::read_to_string(file)
            .map_err(|error| format!("cannot read {}: {error}", escape(&name)))?;
        let drift = Self::of(name, &text, spec);
        if drift.sentences == 0 {
            return Err(format!(
                "{} has no sentence with an RFC 2119 keyword (MUST, SHOULD, MAY, …); is it the Markdown of the specification?",
                escape(&drift.file)
            ));
        }
        Ok(drift)
    }

    /// That of a text.
    pub fn of(file: String, text: &str, spec: &Spec) -> Self {
        let drift = drift::compare(text, spec.accounted());
        let absent: BTreeSet<&String> = drift.gone.iter().collect();
        let gone = spec.requirements.iter().filter(|row| {
            !row.sentences.is_empty() && row.sentences.iter().all(|hash| absent.contains(hash))
        });
        Self {
            file,
            sentences: drift.sentences,
            accounted: drift.sentences - drift.new.len(),
            gone: gone
                .map(|row| GoneRow {
                    check: row.check.clone(),
                    section: row.section.clone(),
                    text: row.text.clone(),
                })
                .collect(),
            new: drift
                .new
                .into_iter()
                .map(|sentence| NewSentence {
                    line: sentence.line,
                    hash: sentence.hash,
                    text: sentence.text,
                })
                .collect(),
        }
    }

    /// The same for people, with a list of the requirements that are gone if `verbose`.
    pub fn text(&self, width: usize, verbose: bool) -> String {
        let mut text = format!(
            "\n{} has {} with a keyword, {} accounted for\n",
            escape(&self.file),
            plural(self.sentences, "sentence"),
            self.accounted
        );
        if self.new.is_empty() {
            text.push_str("\nno drift\n");
        } else {
            let count = plural(self.new.len(), "sentence");
            text.push_str(&format!("\n{count} that no requirement accounts for:\n"));
        }
        for sentence in &self.new {
            let body = wrap(&escape(&sentence.text), 4, 4, width);
            text.push_str(&format!(
                "  line {} ({})\n{body}\n",
                sentence.line, sentence.hash
            ));
        }
        if !self.gone.is_empty() {
            let end = if verbose { ":" } else { "" };
            let title = format!(
                "{} whose sentences it lacks (reworded, stated without a keyword, or dropped){end}",
                plural(self.gone.len(), "requirement")
            );
            text.push_str(&format!("\n{}\n", wrap(&title, 0, 0, width)));
        }
        for row in self.gone.iter().filter(|_| verbose) {
            let check = row.check.as_deref().unwrap_or("(excluded)");
            let body = wrap(&row.text, 4, 4, width);
            text.push_str(&format!("  {check} · {}\n{body}\n", row.section));
        }
        text
    }

    /// A specification that has moved on is a failure.
    pub fn exit(&self) -> Exit {
        if self.new.is_empty() {
            Exit::Conformant
        } else {
            Exit::Failed
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COPY: &str = "\
# Rules

A server **MUST** answer `skills/list`.
It may rest.

- Hosts **SHOULD NOT** guess\u{202e}, and
  a host that is not sure what a resource is **MUST** ask the server that serves it before it goes on.
- Keys are OPTIONAL.
- Hosts SHOULD NOT guess\u{202e}, and a host that is not sure what a resource is MUST ask the server \
that serves it before it goes on.

The words MUST and SHOULD have a meaning.
";

    fn spec() -> Spec {
        let hash = drift::hash;
        Spec::parse(&format!(
            "\
sep: 2640
spec_url: https://example.org/
requirements:
  - {{check: a, level: MUST, actor: server, section: '#rules', text: One, sentences: ['{}']}}
  - {{check: a, level: MUST, actor: server, section: '#rules', text: Two, sentences: ['{}', '{}']}}
  - {{check: b, level: MAY, actor: host, section: '#rules', text: Hosts may sing., sentences: ['{}']}}
  - {{excluded: why, level: MAY, actor: server, section: '#past', text: Servers may dance., sentences: ['{}']}}
  - {{check: b, level: MAY, actor: host, section: '#rules', text: From elsewhere}}
non_normative:
  - {{hash: '{}', why: It explains the keywords.}}
",
            hash("A server MUST answer `skills/list`."),
            hash("Keys are OPTIONAL."),
            hash("Keys MAY be left out."),
            hash("Hosts MAY sing."),
            hash("Servers MAY dance."),
            hash("The words MUST and SHOULD have a meaning."),
        ))
        .unwrap()
    }

    #[test]
    fn a_new_sentence_is_shown_with_its_line() {
        let drift = SpecDrift::of("copy\u{1b}.md".to_owned(), COPY, &spec());
        insta::assert_snapshot!(drift.text(80, true), @r"

        copy\u{1b}.md has 4 sentences with a keyword, 3 accounted for

        1 sentence that no requirement accounts for:
          line 6 (1d163b0be74b)
            Hosts SHOULD NOT guess\u{202e}, and a host that is not sure what a resource
            is MUST ask the server that serves it before it goes on.

        2 requirements whose sentences it lacks (reworded, stated without a keyword, or
        dropped):
          b · #rules
            Hosts may sing.
          (excluded) · #past
            Servers may dance.
        ");
        insta::assert_snapshot!(drift.text(80, false), @r"

        copy\u{1b}.md has 4 sentences with a keyword, 3 accounted for

        1 sentence that no requirement accounts for:
          line 6 (1d163b0be74b)
            Hosts SHOULD NOT guess\u{202e}, and a host that is not sure what a resource
            is MUST ask the server that serves it before it goes on.

        2 requirements whose sentences it lacks (reworded, stated without a keyword, or
        dropped)
        ");
        let value = serde_json::to_value(&drift).unwrap();
        let text = "Hosts SHOULD NOT guess\u{202e}, and a host that is not sure what a resource is \
                    MUST ask the server that serves it before it goes on.";
        assert_eq!(
            value,
            serde_json::json!({
                "file": "copy\u{1b}.md",
                "sentences": 4,
                "accounted": 3,
                "new": [{"line": 6, "hash": drift::hash(text), "text": text}],
                "gone": [
                    {"check": "b", "section": "#rules", "text": "Hosts may sing."},
                    {"check": null, "section": "#past", "text": "Servers may dance."},
                ],
            })
        );
        assert_eq!(drift.exit(), Exit::Failed);
    }

    #[test]
    fn a_copy_that_is_accounted_for_is_no_drift() {
        let drift = SpecDrift::of("copy.md".to_owned(), "Keys are **OPTIONAL**!", &spec());
        insta::assert_snapshot!(drift.text(80, false), @r"

        copy.md has 1 sentence with a keyword, 1 accounted for

        no drift

        3 requirements whose sentences it lacks (reworded, stated without a keyword, or
        dropped)
        ");
        assert_eq!(drift.exit(), Exit::Conformant);
    }

    #[test]
    fn what_cannot_be_compared_is_an_error() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("copy.md");
        let missing = SpecDrift::of_file(&file, &spec()).unwrap_err();
        assert!(missing.starts_with("cannot read "), "{missing}");
        fs::write(&file, "<html><p>You must not.</p></html>\n").unwrap();
        let empty = SpecDrift::of_file(&file, &spec()).unwrap_err();
        assert!(
            empty.contains("copy.md has no sentence with an RFC 2119 keyword"),
            "{empty}"
        );
        fs::write(&file, "Keys are OPTIONAL.").unwrap();
        assert_eq!(SpecDrift::of_file(&file, &spec()).unwrap().accounted, 1);
    }
}
