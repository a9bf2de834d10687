//! What a specification says with RFC 2119 keywords, sentence by sentence, so that a new edition
//! shows up as work.
//!
//! A sentence is known by a hash of its words alone: markup, links, punctuation, case and line
//! breaks may change without making it a new one.

use std::collections::BTreeSet;

use sha2::{Digest, Sha256};

const KEYWORDS: [&str; 7] = [
    "MUST",
    "SHALL",
    "SHOULD",
    "MAY",
    "REQUIRED",
    "RECOMMENDED",
    "OPTIONAL",
];
const ABBREVIATIONS: [&str; 6] = ["e.g.", "i.e.", "etc.", "cf.", "vs.", "approx."];

/// A sentence with a keyword.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sentence {
    /// The line of the text on which it begins, 1-based.
    pub line: usize,
    /// Its text, without emphasis and link targets, white space folded; it has the same hash.
    pub text: String,
    /// The first twelve hexadecimal digits of the SHA-256 of its normalised form.
    pub hash: String,
}

/// How a text differs from what is accounted for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drift {
    /// How many different sentences the text has.
    pub sentences: usize,
    /// Sentences that nothing accounts for, each once.
    pub new: Vec<Sentence>,
    /// Known hashes of sentences that the text does not have.
    pub gone: Vec<String>,
}

/// Compares a text with the hashes that are accounted for.
pub fn compare<'a>(text: &str, known: impl IntoIterator<Item = &'a str>) -> Drift {
    let known: BTreeSet<&str> = known.into_iter().collect();
    let sentences = sentences(text);
    let present: BTreeSet<&str> = sentences
        .iter()
        .map(|sentence| sentence.hash.as_str())
        .collect();
    let gone = known
        .difference(&present)
        .map(|hash| (*hash).to_owned())
        .collect();
    let mut seen = BTreeSet::new();
    let new = sentences
        .iter()
        .filter(|sentence| !known.contains(sentence.hash.as_str()) && seen.insert(&sentence.hash))
        .cloned()
        .collect();
    Drift {
        sentences: present.len(),
        new,
        gone,
    }
}

/// The sentences of a Markdown or MDX text that have an RFC 2119 keyword in capitals. Code
/// blocks, comments and front matter hold none.
pub fn sentences(text: &str) -> Vec<Sentence> {
    let mut found = Vec::new();
    for block in blocks(text) {
        for (line, sentence) in split(&block) {
            if has_keyword(&sentence) {
                let hash = hash(&sentence);
                found.push(Sentence {
                    line,
                    text: sentence,
                    hash,
                });
            }
        }
    }
    found
}

/// The hash of one sentence, whatever its markup.
pub fn hash(sentence: &str) -> String {
    let digest = Sha256::digest(normalise(&plain(sentence)).as_bytes());
    digest[..6]
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Lines that belong together (a paragraph, a list item, a table cell), with their numbers.
type Block = Vec<(usize, String)>;

fn blocks(text: &str) -> Vec<Block> {
    let text = without_comments(text);
    let mut blocks: Vec<Block> = vec![Vec::new()];
    let mut fence: Option<(char, usize)> = None;
    let mut front_matter = text.starts_with("---\n");
    for (index, line) in text.lines().enumerate() {
        let mut line = line.trim();
        if front_matter {
            front_matter = index == 0 || line != "---";
            continue;
        }
        while let Some(rest) = line.strip_prefix('>') {
            line = rest.trim_start();
        }
        if let Some((mark, length)) = fence {
            let run = line.chars().take_while(|c| *c == mark).count();
            if run >= length && run == line.chars().count() {
                fence = None;
            }
            continue;
        }
        fence = opened_fence(line);
        let import = line.starts_with("import ") && line.contains(" from ");
        if fence.is_some() || line.is_empty() || is_rule(line) || import {
            blocks.push(Vec::new());
        } else if line.starts_with('|') {
            let cells = line.trim_matches('|').split(" |");
            blocks.extend(cells.map(|cell| vec![(index + 1, cell.to_owned())]));
            blocks.push(Vec::new());
        } else if let Some(heading) = line.strip_prefix('#') {
            blocks.push(vec![(
                index + 1,
                heading.trim_start_matches('#').to_owned(),
            )]);
            blocks.push(Vec::new());
        } else {
            let item = list_item(line);
            if item.is_some() {
                blocks.push(Vec::new());
            }
            if let Some(block) = blocks.last_mut() {
                block.push((index + 1, item.unwrap_or(line).to_owned()));
            }
        }
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// The text with comments blanked out; line numbers stay.
fn without_comments(text: &str) -> String {
    let mut text = text.replace("\r\n", "\n");
    for (open, close) in [("<!--", "-->"), ("{/*", "*/}")] {
        let mut from = 0;
        while let Some(start) = text[from..].find(open).map(|at| from + at) {
            let end = text[start..]
                .find(close)
                .map_or(text.len(), |at| start + at + close.len());
            let lines = text[start..end].matches('\n').count();
            text.replace_range(start..end, &"\n".repeat(lines));
            from = start;
        }
    }
    text
}

fn opened_fence(line: &str) -> Option<(char, usize)> {
    let mark = line.chars().next().filter(|c| ['`', '~'].contains(c))?;
    let length = line.chars().take_while(|c| *c == mark).count();
    let inline = mark == '`' && line[length..].contains('`');
    (length >= 3 && !inline).then_some((mark, length))
}

/// A thematic break, or the line under a heading.
fn is_rule(line: &str) -> bool {
    ['-', '*', '_', '=']
        .iter()
        .any(|mark| line.chars().all(|c| c == *mark || c == ' '))
}

fn list_item(line: &str) -> Option<&str> {
    let rest = match line.strip_prefix(['-', '*', '+']) {
        Some(rest) => rest,
        None => line
            .trim_start_matches(|c: char| c.is_ascii_digit())
            .strip_prefix(['.', ')'])?,
    };
    let numbered_or_bullet = rest.starts_with(' ') && !line.starts_with(['.', ')']);
    numbered_or_bullet.then(|| rest.trim_start())
}

/// The sentences of a block, each with the line on which it begins.
fn split(block: &Block) -> Vec<(usize, String)> {
    let mut sentences = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    let mut start = 0;
    let all: Vec<(usize, &str)> = block
        .iter()
        .flat_map(|(line, text)| text.split_whitespace().map(move |word| (*line, word)))
        .collect();
    for (index, (line, word)) in all.iter().enumerate() {
        if words.is_empty() {
            start = *line;
        }
        words.push(word);
        let next = all.get(index + 1).map(|(_, word)| *word);
        if next.is_none_or(|next| ends_sentence(word, next)) {
            sentences.push((start, fold(&plain(&words.join(" ")))));
            words.clear();
        }
    }
    sentences
}

fn ends_sentence(word: &str, next: &str) -> bool {
    let closing = |c: char| "*_`\"'”’)]".contains(c);
    let bare = word.trim_end_matches(closing);
    let opening = next.trim_start_matches(|c: char| "*_`\"'“‘([<".contains(c));
    let abbreviated = ABBREVIATIONS.contains(
        &bare
            .trim_start_matches(['(', '*', '_'])
            .to_lowercase()
            .as_str(),
    );
    let new = opening.is_empty()
        || opening.starts_with(|c: char| !c.is_lowercase() && !c.is_ascii_punctuation())
        || next.starts_with('`');
    bare.ends_with(['.', '!', '?']) && !abbreviated && new
}

/// Drops emphasis, tags and link targets. Code stays as it is, ticks included.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let tail = &rest[c.len_utf8()..];
        if c == '`' {
            let ticks = rest.len() - rest.trim_start_matches('`').len();
            let end = rest[ticks..]
                .find(&rest[..ticks])
                .map_or(ticks, |at| at + 2 * ticks);
            out.push_str(&rest[..end]);
            rest = &rest[end..];
            continue;
        }
        let skipped = match c {
            '*' => Some(0),
            '_' if !(out.ends_with(char::is_alphanumeric)
                && tail.starts_with(char::is_alphanumeric)) =>
            {
                Some(0)
            }
            '!' if tail.starts_with('[') => Some(0),
            '[' => Some(0),
            ']' => Some(match tail.chars().next() {
                Some('(') => closed(tail, '(', ')'),
                Some('[') => closed(tail, '[', ']'),
                _ => 0,
            }),
            '<' if tail.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') => {
                tail.find('>').map(|end| end + 1)
            }
            '\\' if tail.starts_with(|c: char| c.is_ascii_punctuation() && c != '<') => Some(0),
            _ => None,
        };
        match skipped {
            Some(length) => rest = &tail[length..],
            None => {
                out.push(c);
                rest = tail;
            }
        }
    }
    out
}

/// The length of the bracketed text that `text` begins with; 0 if it is not closed.
fn closed(text: &str, open: char, close: char) -> usize {
    let mut depth = 0;
    for (index, c) in text.char_indices() {
        if c == open {
            depth += 1;
        } else if c == close {
            depth -= 1;
            if depth == 0 {
                return index + 1;
            }
        }
    }
    0
}

fn has_keyword(sentence: &str) -> bool {
    sentence
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .any(|word| KEYWORDS.contains(&word))
}

/// Lower case, letters and digits only, one space between words.
fn normalise(text: &str) -> String {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect();
    words.join(" ")
}

fn fold(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(usize, String)> {
        sentences(text)
            .into_iter()
            .map(|sentence| (sentence.line, sentence.text))
            .collect()
    }

    #[test]
    fn sentences_are_found_with_their_lines() {
        let text = "\
---
title: You MUST not see this
---
import { Note } from 'x'

# What servers MUST do

A server **MUST** answer `skills/list`. It may rest. Hosts
SHOULD NOT guess (e.g. by name), i.e. they MAY ask. See
[the page](https://x.y/MUST).

{/* This MUST
go. */}

- Each entry **MUST NOT** lie
  about [its digest](#a(b)c).
- Nothing here.
1. Files are REQUIRED.

> Clients SHALL wait.

| key | meaning |
| --- | --- |
| `uri` | MUST be absolute. `size` is OPTIONAL. |

```json
{\"MUST\": \"no\"}
```
<Note>Readers MAY leave. MUSTARD is no keyword.</Note>
";
        let expected = [
            (6, "What servers MUST do"),
            (8, "A server MUST answer `skills/list`."),
            (
                8,
                "Hosts SHOULD NOT guess (e.g. by name), i.e. they MAY ask.",
            ),
            (15, "Each entry MUST NOT lie about its digest."),
            (18, "Files are REQUIRED."),
            (20, "Clients SHALL wait."),
            (24, "MUST be absolute."),
            (24, "`size` is OPTIONAL."),
            (29, "Readers MAY leave."),
        ];
        let expected: Vec<_> = expected.map(|(line, text)| (line, text.to_owned())).into();
        assert_eq!(texts(text), expected);
    }

    #[test]
    fn hashes_see_words_only() {
        let one = hash("A server **MUST** answer `skills/list`, at [once](#now).");
        assert_eq!(one, hash("a server must\n answer skills/list at once"));
        assert_ne!(one, hash("A server MUST NOT answer skills/list at once."));
        assert_eq!(one.len(), 12);
        assert_eq!(hash(""), "e3b0c44298fc");
        let found = sentences("A server **MUST** answer `skills/list`, at [once](#now).");
        assert_eq!(found[0].hash, one);
    }

    #[test]
    fn a_hash_is_that_of_the_text_shown() {
        assert_eq!(
            texts("The `<id>` of `_meta` MUST `a*b`.")[0].1,
            "The `<id>` of `_meta` MUST `a*b`."
        );
        for sentence in sentences(
            "Use `snake_case` **MUST** _be_ [x][y] \\*kept\\*. Files MUST <b>not</b> 2 < 3. `<id>` MUST\\<x.",
        ) {
            assert_eq!(hash(&sentence.text), sentence.hash, "{}", sentence.text);
        }
    }

    #[test]
    fn drift_is_what_is_new_and_what_is_gone() {
        let text = "You MUST go. You MUST stay. You must rest. You MUST stay!";
        let (go, old) = (hash("you must go"), hash("you must fly"));
        let drift = compare(text, [go.as_str(), old.as_str()]);
        assert_eq!((drift.sentences, drift.new.len()), (2, 1));
        assert_eq!(drift.new[0].text, "You MUST stay.");
        assert_eq!(drift.gone, [old]);
    }

    #[test]
    fn odd_texts_do_no_harm() {
        for text in [
            "",
            "---\n",
            "```",
            "<!-- MUST",
            "[MUST](",
            "]((((",
            "| MUST",
            "> > -",
            "é**MUST**é. É",
            "<MUST",
        ] {
            let _ = sentences(text);
        }
    }
}
