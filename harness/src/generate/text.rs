//! Texts, names and file names, made of fragments that have caused trouble before.

use arbitrary::Arbitrary;

/// A text of fragments; each byte stands for one. May be empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Arbitrary)]
pub struct TextPlan(pub Vec<u8>);

/// Fragments of texts: plain words, what means something in YAML, JSON, URIs and Markdown, what
/// takes several bytes or UTF-16 units, what is not seen, what has two normal forms.
const FRAGMENTS: &[&str] = &[
    "refund",
    "the customer",
    "Process",
    "a",
    "42",
    "line one",
    "x y",
    "end.",
    "é",
    "e\u{301}",
    "漢字",
    "😀",
    "ß",
    "İ",
    "\u{202e}rtl",
    "\u{200b}",
    "\u{feff}",
    "\u{a0}",
    ": ",
    " #",
    "- ",
    "'",
    "\"",
    "\\",
    "\\n",
    "%",
    "{x}",
    "[y]",
    "&z",
    "*w",
    "!t",
    "|",
    ">",
    "@",
    "`",
    "null",
    "true",
    "1.0",
    "0x1F",
    "yes",
    "---",
    "...",
    "<<",
    "=",
    "?",
    "~",
    "$ref",
    "../",
    "%2e%2e",
    "<b>",
    "&amp;",
    "</script>",
    "{{.}}",
    "${HOME}",
    "\u{7f}",
    "\u{85}",
    "\u{2028}",
    "tab\there",
    "trailing ",
    " leading",
    "UPPER",
    "Ünï",
    "👩‍👩‍👧",
    "ﬁ",
];

/// Most fragments of a text: no description grows beyond what is legal.
const LENGTH: usize = 40;

impl TextPlan {
    /// The text on one line, fragments with spaces between them; `fallback` when it would be
    /// empty or blank.
    pub fn line_or(&self, fallback: &str) -> String {
        let text = self.line();
        if text.trim().is_empty() {
            fallback.to_owned()
        } else {
            text
        }
    }

    /// The text on one line; without fragments, nothing.
    pub fn line(&self) -> String {
        let mut text = String::new();
        for (place, byte) in self.0.iter().take(LENGTH).enumerate() {
            if place > 0 {
                text.push(' ');
            }
            text.push_str(FRAGMENTS[usize::from(*byte) % FRAGMENTS.len()]);
        }
        text
    }

    /// The text as the lines of a file.
    pub fn lines(&self, line_break: &str) -> String {
        let mut text = String::new();
        for byte in self.0.iter().take(LENGTH) {
            text.push_str(FRAGMENTS[usize::from(*byte) % FRAGMENTS.len()]);
            text.push_str(line_break);
        }
        text
    }
}

/// The name of a skill: parts joined by hyphens. Always a legal one.
#[derive(Debug, Clone, Default, PartialEq, Eq, Arbitrary)]
pub struct NamePlan(pub Vec<u8>);

const NAME_PARTS: &[&str] = &[
    "refunds",
    "pdf",
    "a",
    "0",
    "git",
    "x1",
    "2fa",
    "skill",
    "md",
    "acme",
    "billing",
    "z9z",
    "processing",
    "long-but-legal-name-of-a-skill-that-goes-on",
    "1",
    "con",
];

/// Most characters of a name.
const NAME_LIMIT: usize = 64;

impl NamePlan {
    /// The name.
    pub fn text(&self) -> String {
        let parts: Vec<&str> = self
            .0
            .iter()
            .map(|byte| NAME_PARTS[usize::from(*byte) % NAME_PARTS.len()])
            .collect();
        if parts.is_empty() {
            return "skill".to_owned();
        }
        let mut name = parts.join("-");
        name.truncate(NAME_LIMIT);
        name.trim_end_matches('-').to_owned()
    }
}

/// Where a supporting file lies: directories, and the file's own name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Arbitrary)]
pub struct PathPlan {
    /// Directories from the root of the skill down.
    pub directories: Vec<u8>,
    /// The file's own name.
    pub name: u8,
}

/// Directories; none of them is also a file.
const DIRECTORIES: &[&str] = &[
    "references",
    "scripts",
    "a",
    "deep",
    ".git",
    "..d",
    "%20",
    "assets-2",
    "%C3%A9",
    "x.y",
];

/// Files as they are spelled in a URI, each in normal form and each another one.
const FILES: &[&str] = &[
    "guide.md",
    "run.py",
    "notes.txt",
    "read%20me.md",
    "%C3%A9t%C3%A9.md",
    "50%25.md",
    "%2520.md",
    "q%3F.md",
    "h%23.md",
    "a+b&c=d;e.md",
    "%E6%BC%A2.md",
    "%F0%9F%98%80",
    ".hidden",
    "..a.md",
    "...",
    "a..b",
    "SKILL.md.bak",
    "README",
    "data.json",
    "x@y:z",
    "~tilde",
    "UPPER.MD",
    "(paren)!*'",
    "no-ext",
    "comma,file",
    "e%CC%81.md",
];

/// Most directories above a file.
const DEPTH: usize = 6;

impl PathPlan {
    /// The path below the skill's root.
    pub fn text(&self) -> String {
        let mut path = String::new();
        for byte in self.directories.iter().take(DEPTH) {
            path.push_str(DIRECTORIES[usize::from(*byte) % DIRECTORIES.len()]);
            path.push('/');
        }
        path.push_str(FILES[usize::from(self.name) % FILES.len()]);
        path
    }
}
