//! The kept trees of skills, and some that are written here since no repository should hold them:
//! served by the reference server, nothing in them makes a check fail, on either revision and over
//! either transport. What warns is pinned, with the reason.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::Lab;
use sep2640_conform::event::RunReport;
use sep2640_conform::verdict::Verdict;
use sep2640_conform::wire::{Revision, Transport};
use sep2640_reference::Options;

const UNIQUE: &str = "sep-2640-names-should-be-unique";

/// A tree, and the checks that warn of it, or note something.
type Tree = (&'static str, &'static [&'static str]);

/// Those in `fixtures/skills`.
const KEPT: &[Tree] = &[
    // Two skills are called `refunds`, below two prefixes.
    ("common", &[UNIQUE]),
    ("varied", &[UNIQUE]),
    // Its library reads neither version throughout: `0b1010` and `-0x1F` are numbers, `yes` a string.
    ("yaml", &["sep-2640-entry-frontmatter-one-reading"]),
    ("yaml-refused", &[]),
];

fn skills() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/skills")
}

/// The checks of a run that did not pass, with their verdicts.
fn broken(run: &RunReport) -> Vec<(&'static str, Verdict)> {
    let wrong = |verdict| {
        matches!(
            verdict,
            Verdict::Fail | Verdict::Warn | Verdict::Note | Verdict::Blocked
        )
    };
    let checks = run.checks.iter().filter(|check| wrong(check.verdict));
    checks.map(|check| (check.id, check.verdict)).collect()
}

/// Serves a directory in each way, and compares what is found with what is expected.
fn serve(lab: &Lab, name: &str, directory: &Path, expected: &[&str]) -> Vec<String> {
    let mut wrong = Vec::new();
    for transport in [Transport::Stdio, Transport::Http] {
        for revision in Revision::ALL {
            let options = Options {
                skills: Some(directory.to_owned()),
                ..Options::default()
            };
            let run = lab.judge_with(options, &["root"], transport, revision);
            let found = broken(&run);
            let failed = found
                .iter()
                .any(|(_, verdict)| matches!(verdict, Verdict::Fail | Verdict::Blocked));
            let ids: BTreeSet<&str> = found.iter().map(|(id, _)| *id).collect();
            if failed || ids != expected.iter().copied().collect() {
                let findings: Vec<_> = (run.checks.iter())
                    .flat_map(|check| check.findings.iter().take(2))
                    .collect();
                wrong.push(format!(
                    "{name} {transport} {revision}: {found:?} {findings:#?}"
                ));
            }
            if run.catalog.skills == 0 || run.catalog.files == 0 {
                wrong.push(format!("{name} {transport} {revision}: nothing is listed"));
            }
        }
    }
    wrong
}

#[test]
fn nothing_in_the_kept_trees_makes_a_check_fail() {
    let kept: BTreeSet<String> = (fs::read_dir(skills()).unwrap())
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.path().is_dir())
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    let known: BTreeSet<String> = KEPT.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(kept, known, "each tree is served here");
    let lab = Lab::new();
    let wrong = lab.in_parallel(KEPT.to_vec(), |lab, (name, expected)| {
        let wrong = serve(lab, name, &skills().join(name), expected);
        (!wrong.is_empty()).then(|| wrong.join("\n"))
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A directory in which trees are written.
struct Ground(tempfile::TempDir);

impl Ground {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn skill(&self, path: &str) {
        let name = path.rsplit('/').next().unwrap();
        let text = format!("---\nname: {name}\ndescription: About {name}.\n---\nSee the files.\n");
        self.write(&format!("{path}/SKILL.md"), text.as_bytes());
    }
}

#[test]
fn names_that_few_file_systems_hold() {
    let ground = Ground::new();
    ground.skill("names");
    for name in [
        "what?.md",
        "\"double\".md",
        "<angle>.md",
        "a|b.md",
        "*.md",
        "back\\slash.md",
        "a:b.md",
        "c:/drive.md",
        "trailing-dot.",
        "trailing-blank.md ",
        " leading-blank.md",
        "skill.md",
        "Skill.MD",
        "CON",
        // Composed and decomposed: two files.
        "caf\u{e9}.md",
        "cafe\u{301}.md",
        "\u{212b}ngstr\u{f6}m.md",
        "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}.md",
        "\u{202e}right-to-left.md",
        "\u{feff}mark.md",
        "tab\there.md",
        "line\nbreak.md",
        "bell\u{7}.md",
        "%00.md",
        "%ff.md",
        "%2e%2e/up.md",
        "~/home.md",
        "$(command).md",
    ] {
        ground.write(&format!("names/{name}"), name.as_bytes());
    }
    ground.write(&format!("names/{}.md", "long".repeat(60)), b"long\n");
    let wrong = serve(&Lab::new(), "names", ground.0.path(), &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn bytes_that_no_repository_should_hold() {
    let ground = Ground::new();
    ground.skill("bytes");
    let mebibyte: Vec<u8> = (0..1_u32 << 20)
        .map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    ground.write("bytes/noise.bin", &mebibyte);
    ground.write(
        "bytes/text.txt",
        "0123456789abcde\n".repeat(65_536).as_bytes(),
    );
    ground.write(
        "bytes/escapes.txt",
        "\u{1}\"\\\u{7f}".repeat(40_000).as_bytes(),
    );
    ground.write("bytes/nul.txt", &[0; 4096]);
    ground.write("bytes/cr.txt", b"a\rb\rc\r");
    ground.write("bytes/bom.txt", b"\xef\xbb\xbfa\r\n");
    ground.write("bytes/two-boms.txt", b"\xef\xbb\xbf\xef\xbb\xbfa");
    ground.write("bytes/surrogate.bin", b"\xed\xa0\x80");
    ground.write("bytes/overlong.bin", b"\xc0\xaf");
    ground.write("bytes/cut.bin", b"caf\xc3");
    ground.write("bytes/empty", b"");
    // As many files as every host must take.
    ground.skill("many");
    for index in 0..511 {
        ground.write(&format!("many/{index:03}.txt"), b"x");
    }
    let wrong = serve(&Lab::new(), "bytes", ground.0.path(), &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn skills_inside_skills_and_names_that_begin_alike() {
    let ground = Ground::new();
    for path in [
        "outer",
        "outer/middle",
        "outer/middle/inner",
        "outer/middle/inner/core",
        "a/b/c/d/e/deep",
        "report",
        "report-2",
        "reports",
        "x/y",
    ] {
        ground.skill(path);
    }
    ground.write("outer/middle/inner/core/a/b/c/d/leaf.md", b"leaf\n");
    ground.write("outer/middle/notes.md", b"notes\n");
    fs::create_dir_all(ground.0.path().join("outer/middle/empty/emptier")).unwrap();
    let name = "n".repeat(64);
    ground.skill(&name);
    // As long as it may be, in characters.
    let text = format!("---\nname: long\ndescription: {}\n---\n", "é".repeat(1024));
    ground.write("long/SKILL.md", text.as_bytes());
    let lab = Lab::new();
    let wrong = serve(&lab, "nested", ground.0.path(), &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    // The name of a prefix is nobody's business.
    ground.skill("Größe & Maß/100%/scales");
    ground.skill("手册/kanji");
    let wrong = serve(&lab, "prefixes", ground.0.path(), &[]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
