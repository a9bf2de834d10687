//! The import rule of `src/lib.rs`: its table is read, and every file is held against it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

/// What a check must not see: whatever is not in the trace.
const OUT_OF_SIGHT: &[&str] = &[
    "std::env",
    "std::fs",
    "std::net",
    "std::process",
    "std::thread",
    "std::time",
    "futures",
    "process_wrap",
    "reqwest",
    "sse_stream",
    "tokio",
    "tokio_util",
];

/// One file, without comments, strings and test modules.
struct Source {
    path: PathBuf,
    /// Where it stands in the crate: `["report", "json"]`.
    module: Vec<String>,
    code: String,
}

fn sources(root: &Path) -> Vec<Source> {
    let mut paths = Vec::new();
    collect(root, &mut paths);
    paths.sort();
    let mut found = Vec::new();
    let mut only_for_tests = BTreeSet::new();
    for path in paths {
        let text = fs::read_to_string(&path).unwrap();
        let mut module: Vec<String> = path
            .strip_prefix(root)
            .unwrap()
            .with_extension("")
            .iter()
            .map(|part| part.to_str().unwrap().to_owned())
            .collect();
        if ["mod", "lib", "main"].contains(&module.last().unwrap().as_str()) {
            module.pop();
        }
        let (text, test_modules) = without_test_items(&text);
        for name in test_modules {
            only_for_tests.insert([module.clone(), vec![name]].concat());
        }
        let code = without_comments_and_strings(&text);
        found.push(Source { path, module, code });
    }
    found.retain(|source| !only_for_tests.contains(&source.module));
    found
}

fn collect(directory: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            paths.push(path);
        }
    }
}

/// The text without items under `#[cfg(test)]`, and the names of modules that were declared
/// there. Relies on the layout of rustfmt.
fn without_test_items(text: &str) -> (String, Vec<String>) {
    let mut kept = String::new();
    let mut modules = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        if line.trim() != "#[cfg(test)]" {
            kept.push_str(line);
            kept.push('\n');
            continue;
        }
        let indent = &line[..line.len() - line.trim_start().len()];
        let closing = format!("{indent}}}");
        let mut first = true;
        for line in lines.by_ref() {
            if first && line.trim_start().starts_with("#[") {
                continue;
            }
            if first
                && let Some((_, name)) = line.split_once("mod ")
                && let Some(name) = name.strip_suffix(';')
            {
                modules.push(name.to_owned());
            }
            if line == closing || (first && (line.ends_with(';') || line.ends_with('}'))) {
                break;
            }
            first = false;
        }
    }
    (kept, modules)
}

fn without_comments_and_strings(text: &str) -> String {
    let mut code = String::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n')
        } else if rest.starts_with("/*") {
            rest.find("*/").map(|end| end + 2)
        } else if rest.starts_with("'\"'") || rest.starts_with("'\\\"'") {
            rest[1..].find('\'').map(|end| end + 2)
        } else if rest.starts_with("r\"") || rest.starts_with("r#") {
            let hashes = rest[1..].bytes().take_while(|b| *b == b'#').count();
            let opening = 1 + hashes + 1;
            let closing = format!("\"{}", "#".repeat(hashes));
            rest[opening..]
                .find(&closing)
                .map(|end| opening + end + closing.len())
        } else if c == '"' {
            let mut escaped = false;
            rest.char_indices().skip(1).find_map(|(at, c)| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends.then_some(at + 1)
            })
        } else {
            code.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        code.push(' ');
        rest = &rest[skipped.unwrap_or(rest.len())..];
    }
    code
}

/// Every path in the code with more than one segment, use trees taken apart.
fn paths(code: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut before = ' ';
    let mut rest = code;
    while let Some(c) = rest.chars().next() {
        if is_word(c) && !is_word(before) && before != ':' {
            let mut tree = rest;
            let mut paths = Vec::new();
            take_tree(&mut tree, &[], &mut paths);
            found.extend(paths.into_iter().filter(|path| path.len() > 1));
        }
        before = c;
        rest = &rest[c.len_utf8()..];
    }
    found
}

fn take_tree(rest: &mut &str, prefix: &[String], found: &mut Vec<Vec<String>>) {
    *rest = rest.trim_start();
    if let Some(group) = rest.strip_prefix('{') {
        *rest = group;
        loop {
            *rest = rest.trim_start_matches([' ', '\n', ',']);
            match rest.strip_prefix('}') {
                Some(after) => {
                    *rest = after;
                    return;
                }
                None if rest.is_empty() => return,
                None => take_tree(rest, prefix, found),
            }
            *rest = rest.trim_start();
            if let Some(renamed) = rest.strip_prefix("as ") {
                *rest = renamed.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
            }
        }
    }
    let end = rest
        .find(|c: char| !c.is_alphanumeric() && c != '_' && c != '*')
        .unwrap_or(rest.len())
        .max(1)
        .min(rest.len());
    let path = [prefix, &[rest[..end].to_owned()]].concat();
    *rest = &rest[end..];
    match rest.strip_prefix("::") {
        Some(more) if !more.starts_with('<') => {
            *rest = more;
            take_tree(rest, &path, found);
        }
        _ => found.push(path),
    }
}

/// The top-level modules that a file imports.
fn imports(source: &Source) -> BTreeSet<String> {
    paths(&source.code)
        .into_iter()
        .filter_map(|path| {
            let up = path.iter().take_while(|part| *part == "super").count();
            let target = match (path[0].as_str(), source.module.len()) {
                ("crate", _) => path.get(1),
                (_, depth) if up > 0 && up >= depth => path.get(up),
                _ => None,
            };
            target.cloned()
        })
        .filter(|target| Some(target) != source.module.first())
        .collect()
}

/// The table in the documentation of `lib.rs`; `None` stands for everything.
fn table() -> Vec<(String, Option<BTreeSet<String>>)> {
    let text = fs::read_to_string(Path::new(CRATE).join("src/lib.rs")).unwrap();
    let mut rows = Vec::new();
    for line in text.lines().filter(|line| line.starts_with("//!")) {
        let Some((modules, allowed)) = line[3..].split_once("<-") else {
            continue;
        };
        let names = |list: &str| -> Vec<String> {
            list.split(',').map(|name| name.trim().to_owned()).collect()
        };
        let allowed = match allowed.trim() {
            "everything" => None,
            "nothing" => Some(BTreeSet::new()),
            list => Some(names(list).into_iter().collect()),
        };
        rows.extend(
            names(modules)
                .into_iter()
                .map(|module| (module, allowed.clone())),
        );
    }
    rows
}

#[test]
fn the_table_names_each_module_and_points_upward_only() {
    let text = fs::read_to_string(Path::new(CRATE).join("src/lib.rs")).unwrap();
    let declared: BTreeSet<String> = text
        .lines()
        .filter_map(|line| {
            line.trim_start_matches("pub ")
                .strip_prefix("mod ")?
                .strip_suffix(';')
        })
        .map(str::to_owned)
        .collect();
    let rows = table();
    let named: BTreeSet<String> = rows.iter().map(|(module, _)| module.clone()).collect();
    assert_eq!(named.len(), rows.len(), "a module stands twice");
    assert_eq!(named, declared);
    for (index, (module, allowed)) in rows.iter().enumerate() {
        let above: BTreeSet<&String> = rows[..index].iter().map(|(module, _)| module).collect();
        for name in allowed.iter().flatten() {
            assert!(above.contains(name), "{module} <- {name}: not above it");
        }
    }
}

#[test]
fn modules_import_what_the_table_allows() {
    let table: BTreeMap<_, _> = table().into_iter().collect();
    let mut seen = 0;
    let mut wrong = Vec::new();
    for source in sources(&Path::new(CRATE).join("src")) {
        let Some(module) = source.module.first() else {
            continue;
        };
        let imports = imports(&source);
        seen += imports.len();
        let Some(allowed) = &table[module] else {
            continue;
        };
        for import in imports.difference(allowed) {
            wrong.push(format!("{}: {module} <- {import}", source.path.display()));
        }
    }
    assert!(
        seen > 50,
        "only {seen} imports found: is the reader broken?"
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn checks_see_nothing_but_the_trace() {
    let mut files = 0;
    let mut wrong = Vec::new();
    for source in sources(&Path::new(CRATE).join("src/checks")) {
        files += 1;
        for path in paths(&source.code) {
            let path = path.join("::");
            let starts = |out: &&&str| {
                path.strip_prefix(**out)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
            };
            if let Some(out) = OUT_OF_SIGHT.iter().find(starts) {
                wrong.push(format!("{}: {out}", source.path.display()));
            }
        }
    }
    assert!(files > 5);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn only_the_command_line_knows_the_reference() {
    for source in sources(&Path::new(CRATE).join("src")) {
        if source.module.first().is_none_or(|module| module != "cli") {
            let named = source.code.contains("sep2640_reference");
            assert!(!named, "{}", source.path.display());
        }
    }
}

#[test]
fn the_reference_shares_nothing_with_the_harness() {
    let root = Path::new(CRATE).join("reference");
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    assert!(!manifest.contains("sep2640-conform"));
    assert!(!manifest.contains("path ="), "a dependency by path");
    let sources = sources(&root.join("src"));
    assert!(sources.len() > 20);
    for source in sources {
        let text = fs::read_to_string(&source.path).unwrap();
        // Tests have paths as their subject.
        let text = text.split("#[cfg(test)]").next().unwrap();
        for shared in ["sep2640_conform", "#[path", "include!", "../.."] {
            assert!(!text.contains(shared), "{}", source.path.display());
        }
    }
}

#[test]
fn the_reader_finds_what_is_imported() {
    let (text, modules) = without_test_items(
        "use crate::wire::{self, Revision, trace::{Place, Trace as T}};\n\
         use super::super::verdict;\n\
         // use crate::comment;\n\
         const X: &str = \"crate::string\"; const Q: char = '\"'; const R: &str = r#\"crate::raw\"#;\n\
         fn f() { crate::inline::g::<u8>(); std::fs::read(Verdict::Pass) }\n\
         #[cfg(test)]\nmod outside;\n\
         #[cfg(test)]\nmod tests {\n    use crate::inside;\n}\n\
         use crate::{after, last::*};\n",
    );
    assert_eq!(modules, ["outside"]);
    let source = Source {
        path: PathBuf::new(),
        module: vec!["checks".into(), "x".into()],
        code: without_comments_and_strings(&text),
    };
    let found: Vec<_> = imports(&source).into_iter().collect();
    assert_eq!(found, ["after", "inline", "last", "verdict", "wire"]);
    let paths: Vec<_> = paths(&source.code)
        .iter()
        .map(|path| path.join("::"))
        .collect();
    for path in [
        "crate::wire::trace::Trace",
        "std::fs::read",
        "crate::last::*",
    ] {
        assert!(paths.contains(&path.to_owned()), "{path}: {paths:?}");
    }
}
