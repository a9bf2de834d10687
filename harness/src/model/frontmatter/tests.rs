use super::*;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

fn doc(yaml: &str) -> Document {
    match read(yaml) {
        Ok(document) => document,
        Err(error) => panic!("{error} in {yaml:?}"),
    }
}

/// The kinds of difference between a YAML text and a JSON value.
fn kinds(yaml: &str, entry: &Value) -> Vec<Kind> {
    let found = compare(&doc(yaml), entry);
    found.iter().map(|difference| difference.kind).collect()
}

#[test]
fn blocks_that_are_there() {
    for (file, yaml) in [
        ("---\nname: a\n---\nbody", "name: a\n"),
        ("---\n---\n", ""),
        ("---\n---", ""),
        ("---  \t\na: 1\n--- \t\n", "a: 1\n"),
        ("---\r\na: 1\r\n---\r\nx", "a: 1\r\n"),
        ("---\ra: 1\r---\rx", "a: 1\r"),
        ("\u{feff}---\na: 1\n---\n", "a: 1\n"),
        ("---\n--- a\n ---\n----\n---\n", "--- a\n ---\n----\n"),
        ("---\na: 1\n---\n\n---\nb", "a: 1\n"),
        ("---\na: é\n---\n", "a: é\n"),
    ] {
        assert_eq!(block(file.as_bytes(), true), Ok(yaml), "{file:?}");
        let longer = format!("{file}\n rest");
        assert_eq!(block(longer.as_bytes(), false), Ok(yaml), "{file:?}");
    }
    assert_eq!(block(b"---\na: 1\n---\n\xff\xfe", true), Ok("a: 1\n"));
}

#[test]
fn blocks_that_are_not_there() {
    let missing = |file: &[u8]| match block(file, true) {
        Err(NoBlock::Missing(what)) => what,
        other => panic!("{other:?}"),
    };
    assert_eq!(missing(b""), "it is empty");
    assert_eq!(missing(b"\n---\n---\n"), "its first line is empty");
    assert_eq!(missing(b"# Title\n"), "its first line is \"# Title\"");
    assert_eq!(missing(b"--- # x\n---\n"), "its first line is \"--- # x\"");
    assert_eq!(missing(b" ---\n---\n"), "its first line is \" ---\"");
    assert_eq!(missing(b"----\n---\n"), "its first line is \"----\"");
    assert_eq!(missing(b"\xff\xfe-\0"), "it looks like UTF-16");
    assert!(missing(&[b'x'; 500]).ends_with("…\""));
    for (file, complete, error) in [
        (&b"---"[..], true, NoBlock::Unclosed),
        (b"---\n", true, NoBlock::Unclosed),
        (b"---\na: 1\n...\n", true, NoBlock::Unclosed),
        (b"---\na: 1\n", false, NoBlock::TooLong),
        // The rest of this line is not known.
        (b"---\na: 1\n---", false, NoBlock::TooLong),
        (b"---\na: \xff\n---\n", true, NoBlock::NotUtf8),
        (b"---\na: \xed\xa0\x80\n---\n", true, NoBlock::NotUtf8),
    ] {
        assert_eq!(block(file, complete), Err(error.clone()));
        assert!(!error.to_string().is_empty());
    }
}

#[test]
fn documents_are_read() {
    let document = doc("name: a-b\ndescription: >-\n  one\n  two\n'q': \"1.0\"\nn: 1\nl: [a, ~]\n");
    assert_eq!(document.get("name").and_then(Node::as_str), Some("a-b"));
    assert_eq!(
        document.get("description").and_then(Node::as_str),
        Some("one two")
    );
    assert_eq!(document.get("q").and_then(Node::as_str), Some("1.0"));
    assert_eq!(document.get("n").and_then(Node::as_str), None);
    assert_eq!(document.get("n").and_then(Node::text), Some("1"));
    assert_eq!(document.get("x"), None);
    assert_eq!(document.mapping().map(<[_]>::len), Some(5));
    let items = document.get("l").and_then(Node::items);
    assert_eq!(items.map(<[_]>::len), Some(2));
    let name = document.get("name").map(|node| (node.line, node.column));
    assert_eq!(name, Some((1, 7)));
    assert_eq!(doc("").root.type_words(), "null");
    assert_eq!(doc("# nothing\n").root.type_words(), "null");
    assert_eq!(doc("a: 1\n...\n").mapping().map(<[_]>::len), Some(1));
    assert_eq!(
        doc("\u{feff}a: 1\n").get("a").and_then(Node::text),
        Some("1")
    );
}

#[test]
fn types_in_words() {
    for (yaml, words) in [
        ("yes", "a string"),
        ("true", "a boolean"),
        ("12", "an integer"),
        ("1.5", "a number"),
        (".inf", "a number"),
        ("~", "null"),
        ("2026-01-31", "a string"),
        ("!!timestamp 2026-01-31", "a timestamp"),
        ("'12'", "a string"),
        ("!!str 12", "a string"),
        ("! 12", "a string"),
        ("!!int '12'", "an integer"),
        ("!own 12", "an integer"),
        ("[]", "a list"),
        ("{}", "a mapping"),
    ] {
        assert_eq!(doc(yaml).root.type_words(), words, "{yaml}");
    }
}

#[test]
fn remarks() {
    let document = doc(
        "a: 1\nb: {x: 1, y: 2, 'x': 3}\na: 2\nbase: &b {k: 1}\nm:\n  <<: *b\n  <<: *b\n1: x\n\
         true: y\nyes: z\n? [p]\n: q\nt: !own 1\nu: !!str 2\nl: [{'a/~': 1, 'a/~': 2}]\n",
    );
    assert_eq!(document.duplicate_keys, ["/b/x", "/a", "/l/0/a~1~0"]);
    assert_eq!(document.merge_keys, ["/m/<<", "/m/<<"]);
    assert_eq!(document.non_string_keys, ["/1", "/true", "/?"]);
    let tags = [("/t", "!own"), ("/u", "!!str")];
    let tags = tags.map(|(pointer, tag)| (pointer.to_owned(), tag.to_owned()));
    assert_eq!(document.tags, tags);
    assert_eq!(document.aliases, 2);
    assert_eq!(document.get("a").and_then(Node::text), Some("2"));
}

#[test]
fn errors_say_where() {
    for (yaml, kind, line) in [
        ("a: b: c\n", ErrorKind::Syntax, 1),
        ("a: 1\nb: [1\n", ErrorKind::Syntax, 3),
        ("a: 1\n\tb: 2\n", ErrorKind::Syntax, 1),
        ("a: *nope\n", ErrorKind::Syntax, 1),
        ("a: \"x\n", ErrorKind::Syntax, 1),
        ("a: 1\n...\nb: 2\n", ErrorKind::Syntax, 3),
        ("a: 1\nb\nc: 2\n", ErrorKind::Syntax, 3),
        ("description: Use when: asked\n", ErrorKind::Syntax, 1),
        ("a: \"x\ny\"\n", ErrorKind::Undecided, 1),
        ("a: \"x\"#y\n", ErrorKind::Undecided, 1),
        ("a: &x [*x]\n", ErrorKind::Undecided, 1),
        ("a: \"\\ud83d\\ude00\"\n", ErrorKind::Undecided, 1),
    ] {
        match read(yaml) {
            Ok(document) => panic!("{yaml:?} reads as {:?}", document.root),
            Err(error) => {
                assert_eq!((error.kind, error.line), (kind, line), "{yaml:?}: {error}");
                assert!(error.column > 0);
            }
        }
    }
}

#[test]
fn budgets_hold() {
    let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert!(read(&deep(MAX_DEPTH)).is_ok());
    assert!(matches!(read(&deep(MAX_DEPTH + 1)), Err(error) if error.kind == ErrorKind::Undecided));

    let mut bomb = String::from("l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n");
    for level in 1..30 {
        let alias = format!("*l{}", level - 1);
        bomb.push_str(&format!(
            "l{level}: &l{level} [{}]\n",
            vec![alias; 10].join(", ")
        ));
    }
    assert!(matches!(read(&bomb), Err(error) if error.kind == ErrorKind::Undecided));

    let mut tower = String::from("l0: &l0 [x]\n");
    for level in 1..200 {
        tower.push_str(&format!("l{level}: &l{level} [*l{}]\n", level - 1));
    }
    assert!(matches!(read(&tower), Err(error) if error.message.contains("levels")));

    // Long texts that aliases repeat cost nothing.
    let long = format!(
        "a: &a {{{}: 1}}\nb: [{}]\n",
        "k".repeat(900),
        "*a, ".repeat(60_000)
    );
    let begin = Instant::now();
    let document = doc(&long);
    assert!(!compare(&document, &json!({"a": [], "b": [1]})).is_empty());
    assert!(begin.elapsed() < Duration::from_secs(5));
}

#[test]
fn values_that_agree() {
    for (yaml, entry) in [
        ("text", json!("text")),
        ("v1.2.3", json!("v1.2.3")),
        ("1.2.3", json!("1.2.3")),
        ("Apache-2.0", json!("Apache-2.0")),
        ("Read, Write", json!("Read, Write")),
        ("'yes'", json!("yes")),
        ("\"1.0\"", json!("1.0")),
        ("''", json!("")),
        ("", json!(null)),
        ("~", json!(null)),
        ("NULL", json!(null)),
        ("nUll", json!("nUll")),
        ("true", json!(true)),
        ("False", json!(false)),
        ("tRUE", json!("tRUE")),
        ("1", json!(1)),
        ("1", json!(1.0)),
        ("+1", json!(1)),
        ("-1", json!(-1)),
        ("0", json!(0)),
        ("-0", json!(-0.0)),
        ("1.0", json!(1)),
        ("1.0", json!(1.0)),
        ("1.", json!(1)),
        (".5", json!(0.5)),
        ("-.5", json!(-0.5)),
        ("._1", json!("._1")),
        ("0.1", json!(0.1)),
        ("6.02e+23", json!(6.02e23)),
        ("0x1F", json!(31)),
        ("18446744073709551615", json!(18446744073709551615_u64)),
        ("-9223372036854775808", json!(-9223372036854775808_i64)),
        ("9007199254740993", json!(9007199254740993_i64)),
        ("1152921504606846976", json!(1152921504606846976.0)),
        ("18446744073709551616", json!(18446744073709551616.0)),
        ("100000000000000000000000000000000000000000", json!(1e41)),
        (".inf", json!(null)),
        (".inf", json!(".inf")),
        (".nan", json!(null)),
        ("1.0e+999", json!(null)),
        ("2026-01-31", json!("2026-01-31")),
        ("2026-01-31T10:00:00Z", json!("2026-01-31T10:00:00Z")),
        ("y", json!("y")),
        ("=", json!("=")),
        ("<<", json!("<<")),
        ("+", json!("+")),
        (".", json!(".")),
        ("1e", json!("1e")),
        ("0b2", json!("0b2")),
        ("1:75", json!("1:75")),
        ("2026-02-30", json!("2026-02-30")),
        ("!!str 1", json!("1")),
        ("!!str", json!("")),
        ("! 1", json!("1")),
        ("!!int '7'", json!(7)),
        ("!!float 1", json!(1.0)),
        ("!!bool yes", json!(true)),
        ("!!null x", json!(null)),
        ("!!int x", json!("x")),
        ("!!timestamp 2026-01-31", json!("2026-01-31T00:00:00Z")),
        ("!!binary aGk=", json!("hi")),
        ("!<tag:yaml.org,2002:str> 1", json!("1")),
        ("!own 1", json!(1)),
        ("!own 1", json!("1")),
        ("!own 1", json!({"!own": 1})),
        ("!own {a: 1}", json!({"own": {"a": 1}})),
        ("!own {a: 1}", json!({"a": 1})),
        ("!!set {a, b}", json!(["a", "b"])),
        ("!!set {a, b}", json!({"a": null, "b": null})),
        ("[a, 1, [x]]", json!(["a", 1, ["x"]])),
        ("- a\n- b: c", json!(["a", {"b": "c"}])),
        ("|\n  one\n  two\n", json!("one\ntwo\n")),
        ("|-\n  one\n  two\n", json!("one\ntwo")),
        ("|+\n  one\n\n", json!("one\n\n")),
        (">\n  one\n  two\n", json!("one two\n")),
        ("|\r\n  one\r\n  two\r\n", json!("one\ntwo\n")),
        ("\"a\\u00e9\\n\"", json!("aé\n")),
        ("one\n  two", json!("one two")),
    ] {
        let sep = if yaml.starts_with("- ") { "\n" } else { " " };
        let yaml = format!("k:{sep}{yaml}");
        let found = compare(&doc(&yaml), &json!({"k": entry}));
        assert_eq!(found, [], "{yaml:?}");
    }
}

#[test]
fn equal_strings_are_told_apart_by_their_readings() {
    let found = compare(&doc("k: yes"), &json!({"k": "yes"}));
    assert_eq!(
        found[0].expected,
        "the string \"yes\" (in YAML 1.1: the boolean true)"
    );
}

#[test]
fn values_that_differ() {
    use Kind::*;
    for (yaml, entry, kind) in [
        // One of the two readings.
        ("yes", json!(true), Only11),
        ("yes", json!("yes"), Only12),
        ("Off", json!(false), Only11),
        ("y", json!(true), Only11),
        ("017", json!(15), Only11),
        ("017", json!(17), Only12),
        ("0o17", json!(15), Only12),
        ("0o17", json!("0o17"), Only11),
        ("08", json!(8), Only12),
        ("08", json!("08"), Only11),
        ("0b101", json!(5), Only11),
        ("0b101", json!("0b101"), Only12),
        ("-0x10", json!(-16), Only11),
        ("1_000", json!(1000), Only11),
        ("1_000.5", json!(1000.5), Only11),
        ("1_000", json!("1_000"), Only12),
        ("12:30:45", json!(45045), Only11),
        ("12:30:45", json!("12:30:45"), Only12),
        ("1:30.5", json!(90.5), Only11),
        ("-1:30", json!(-90), Only11),
        ("1e3", json!(1000), Only12),
        ("1e3", json!("1e3"), Only11),
        ("1.5e3", json!(1500), Only12),
        ("-.5", json!("-.5"), Only11),
        ("2026-01-31", json!("2026-01-31T00:00:00"), Only11),
        ("2026-01-31", json!("2026-01-31T00:00:00Z"), Only11),
        ("2026-01-31", json!("2026-01-31T00:00:00+00:00"), Only11),
        ("2026-01-31", json!("2026-01-31T00:00:00.000Z"), Only11),
        ("2026-01-31", json!("2026-01-31 00:00:00"), Only11),
        ("2026-01-31", json!("2026-01-31 00:00:00 UTC"), Only11),
        (
            "2026-01-31 10:00:00 +2",
            json!("2026-01-31T08:00:00Z"),
            Only11,
        ),
        (
            "2026-01-31T10:00:00.123456Z",
            json!("2026-01-31T10:00:00.123Z"),
            Only11,
        ),
        ("\"a\u{2028}b\"", json!("a b"), Only11),
        // Neither reading, but the text.
        ("1.0", json!("1.0"), Untyped),
        ("true", json!("true"), Untyped),
        ("", json!(""), Untyped),
        ("~", json!("~"), Untyped),
        // Digits lost.
        ("9007199254740993", json!(9007199254740992_i64), LostDigits),
        ("9007199254740993", json!(9007199254740992.0), LostDigits),
        (
            "18446744073709551615",
            json!(18446744073709552000.0),
            LostDigits,
        ),
        // The last line break.
        ("|\n  one\n", json!("one"), FinalBreak),
        ("|+\n  one\n\n", json!("one\n"), FinalBreak),
        (">\n  one\n", json!("one"), FinalBreak),
        // Wrong.
        ("|\n  one\n", json!("on"), Neither),
        ("|\n  one\nj: 1\n", json!("one"), Neither),
        ("text", json!("Text"), Neither),
        ("\"1.0\"", json!(1.0), Neither),
        ("\"1.0\"", json!("1"), Neither),
        ("\"yes\"", json!(true), Neither),
        ("'null'", json!(null), Neither),
        ("'2026-01-31'", json!("2026-01-31T00:00:00Z"), Neither),
        ("''", json!(null), Neither),
        ("\"é\"", json!("e\u{301}"), Neither),
        ("1.0", json!("1"), Neither),
        ("1.0", json!(1.1), Neither),
        ("1", json!(2), Neither),
        ("1", json!(true), Neither),
        ("true", json!(1), Neither),
        ("true", json!(false), Neither),
        ("~", json!(0), Neither),
        ("~", json!(false), Neither),
        ("~", json!({}), Neither),
        ("2026-01-31", json!("2026-02-01"), Neither),
        ("2026-01-31", json!(20260131), Neither),
        ("9007199254740993", json!(9007199254740995_i64), Neither),
        ("!!str 1", json!(1), Neither),
        ("!!int '7'", json!("8"), Neither),
        ("!own 1", json!("2"), Neither),
        ("!own 1", json!({"!other": 1}), Neither),
        ("[a]", json!("a"), Neither),
        ("[a]", json!([]), Neither),
        ("[a, b]", json!(["a"]), Neither),
        ("{a: 1}", json!([1]), Neither),
        ("a b", json!("a  b"), Neither),
    ] {
        let yaml = format!("k: {yaml}");
        let mut entry = json!({"k": entry});
        if yaml.contains("\nj:") {
            entry["j"] = json!(1);
        }
        let found = compare(&doc(&yaml), &entry);
        assert_eq!(found.len(), 1, "{yaml:?}: {found:?}");
        assert_eq!(
            (found[0].kind, found[0].pointer.as_str()),
            (kind, "/k"),
            "{yaml:?}"
        );
    }
}

#[test]
fn fields_come_and_go() {
    let yaml = "name: a\nmetadata:\n  author: x\n  empty:\n";
    let good = json!({"metadata": {"empty": null, "author": "x"}, "name": "a"});
    assert_eq!(kinds(yaml, &good), []);
    for (entry, pointer, expected, actual) in [
        (json!({"name": "a"}), "/metadata", "present", "missing"),
        (
            json!({"name": "a", "metadata": {"author": "x"}}),
            "/metadata/empty",
            "present",
            "missing",
        ),
        (
            json!({"name": "a", "metadata": {"author": "x", "empty": null, "a/b": 1}}),
            "/metadata/a~1b",
            "absent",
            "present",
        ),
        (
            json!({"name": "a", "metadata": {"author": "y", "empty": null}}),
            "/metadata/author",
            "the string \"x\"",
            "the string \"y\"",
        ),
        (json!([]), "", "a mapping", "a list of 0 items"),
        (json!(null), "", "a mapping", "null"),
    ] {
        let found = compare(&doc(yaml), &entry);
        let difference = Difference {
            pointer: pointer.to_owned(),
            kind: Kind::Neither,
            expected: expected.to_owned(),
            actual: actual.to_owned(),
        };
        assert_eq!(found, [difference]);
    }
    let renamed = json!({"Name": "a", "metadata": {"author": "x", "empty": null}});
    assert_eq!(kinds(yaml, &renamed), [Kind::Neither, Kind::Neither]);
    assert_eq!(kinds("", &json!({})), []);
    assert_eq!(kinds("a", &json!({})), [Kind::Neither]);
    let many: serde_json::Map<String, Value> =
        (0..500).map(|n| (n.to_string(), json!(n))).collect();
    assert_eq!(kinds("{}", &Value::Object(many)).len(), MAX_DIFFERENCES);
}

#[test]
fn keys_by_their_text() {
    for (yaml, entry, expected) in [
        ("1: a", json!({"1": "a"}), vec![]),
        ("1.0: a", json!({"1": "a"}), vec![]),
        ("0x10: a", json!({"16": "a"}), vec![]),
        ("true: a", json!({"true": "a"}), vec![]),
        ("True: a", json!({"true": "a"}), vec![]),
        ("~: a", json!({"null": "a"}), vec![]),
        ("~: a", json!({"": "a"}), vec![]),
        ("yes: a", json!({"yes": "a"}), vec![]),
        ("yes: a", json!({"true": "a"}), vec![Kind::Only11]),
        (
            "on: b",
            json!({"true": "a"}),
            vec![Kind::Only11, Kind::Neither],
        ),
        (
            "2026-01-31: a",
            json!({"2026-01-31T00:00:00Z": "a"}),
            vec![Kind::Only11],
        ),
        (
            "'yes': a",
            json!({"true": "a"}),
            vec![Kind::Neither, Kind::Neither],
        ),
        (
            "1: a",
            json!({"2": "a"}),
            vec![Kind::Neither, Kind::Neither],
        ),
        ("? [a, b]\n: c", json!({"a,b": "c"}), vec![]),
        ("? [a, b]\n: c", json!({}), vec![]),
        (
            "? [a, b]\n: c",
            json!({"a,b": "c", "d": 1}),
            vec![Kind::Neither, Kind::Neither],
        ),
    ] {
        assert_eq!(kinds(yaml, &entry), expected, "{yaml} {entry}");
    }
}

#[test]
fn merges_and_duplicates() {
    let yaml = "base: &b {x: 1, y: 2}\nm:\n  <<: *b\n  y: 3\n";
    let base = json!({"x": 1, "y": 2});
    for (m, good) in [
        (json!({"x": 1, "y": 3}), true),
        (json!({"<<": {"x": 1, "y": 2}, "y": 3}), true),
        (json!({"x": 1, "y": 2}), true),
        (json!({"x": 1, "y": 4}), false),
        (json!({"y": 3}), false),
        (json!({"<<": {"x": 1}, "y": 3}), false),
        (json!({"x": 1, "y": 3, "z": 1}), false),
    ] {
        let found = kinds(yaml, &json!({"base": base, "m": m}));
        assert_eq!(found.is_empty(), good, "{m}: {found:?}");
    }
    let yaml = "m: {<<: [{a: 1, <<: {c: 3}}, {a: 2, b: 2}]}";
    assert_eq!(kinds(yaml, &json!({"m": {"a": 1, "b": 2, "c": 3}})), []);
    assert_eq!(
        kinds(yaml, &json!({"m": {"a": 1, "b": 2}})),
        [Kind::Neither]
    );
    let yaml = "m: {<<: text}";
    assert_eq!(kinds(yaml, &json!({"m": {"<<": "text"}})), []);

    let yaml = "a: 1\na: 2\na: {x: 1, y: 1}\n";
    assert_eq!(kinds(yaml, &json!({"a": 1})), []);
    assert_eq!(kinds(yaml, &json!({"a": {"x": 1, "y": 1}})), []);
    assert_eq!(kinds(yaml, &json!({"a": 2})), [Kind::Neither]);
    assert_eq!(
        kinds(yaml, &json!({"a": {"x": 2, "y": 2}})),
        [Kind::Neither]
    );
    let yaml = "a: &a {x: [1, 2]}\nb: *a\nc: [*a, *a]\n";
    let a = json!({"x": [1, 2]});
    assert_eq!(kinds(yaml, &json!({"a": a, "b": a, "c": [a, a]})), []);
}

#[test]
fn long_strings_are_shown_where_they_part() {
    let text = "word ".repeat(200);
    let found = compare(
        &doc(&format!("k: \"{text}a end\"")),
        &json!({"k": format!("{text}b end")}),
    );
    assert_eq!(
        found[0].expected,
        "the string \"…word word word word a end\""
    );
    assert_eq!(found[0].actual, "the string \"…word word word word b end\"");
}

#[test]
fn repeated_openers_do_not_run_long() {
    for piece in [
        "[", "{", "- ", "? ", "a: ", "[a, ", "{a: ", "!x ", "&a ", "'", "\"", "|\n", "- [", "*a ",
        "%", "-\n ",
    ] {
        let begin = Instant::now();
        let text = piece.repeat(4096 / piece.len());
        if let Ok(document) = read(&text) {
            let _ = compare(&document, &json!({}));
        }
        let elapsed = begin.elapsed();
        assert!(elapsed < Duration::from_secs(2), "{piece:?}: {elapsed:?}");
    }
}
