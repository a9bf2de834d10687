use super::*;
use proptest::prelude::*;

#[test]
fn valid_uris() {
    for uri in [
        "skill://git-workflow/SKILL.md",
        "skill://acme/billing/refunds/SKILL.md",
        "skill://a/%20/%C3%A9?q#f",
        "skill://a/b:c@d;e=f,g!$&'()*+",
        "urn:isbn:1",
        "skill://u@h:80/x",
        "skill://[::1]/x",
        "skill:",
        "skill:///x",
    ] {
        assert_eq!(check(uri), Ok(()), "{uri}");
    }
}

#[test]
fn invalid_uris_say_where() {
    for (uri, at) in [
        ("", "has no scheme: it ends before any `:`"),
        ("SKILL.md", "has no scheme: it ends before any `:`"),
        ("a/b", "no scheme: `/` at byte 1"),
        ("1a:b", "no scheme: `1` at byte 0"),
        ("skill://a/b c", "a space at byte 11"),
        ("skill://a/é", "the character U+00E9 (`é`) at byte 10"),
        ("skill://a/😀", "the character U+1F600 at byte 10"),
        ("skill://a/\n", "the character U+000A at byte 10"),
        ("skill://a/%zz", "a stray `%` at byte 10"),
        ("skill://a/x%2", "a stray `%` at byte 11"),
        ("skill://a/x%", "a stray `%` at byte 11"),
        ("skill://a/[x]", "`[` at byte 10"),
        ("skill://a/x\\y", "`\\` at byte 11"),
        ("skill://a b/x", "a space at byte 9"),
        ("skill://a:b/x", "`b` at byte 10"),
        ("skill://[::g]/x", "byte"),
        ("skill://a/x#y#z", "`#` at byte 13"),
        ("skill://[::1", "ends too early"),
    ] {
        let error = check(uri).unwrap_err();
        assert!(error.contains(at), "{uri}: {error}");
    }
}

#[test]
fn faults_by_part() {
    // (uri, root, first, prefix, name_on)
    for (uri, root, first, prefix, name_on) in [
        ("skill://a/SKILL.md", "skill://a", "", "", ""),
        ("skill://acme/x/a/SKILL.md", "skill://acme/x/a", "", "", ""),
        (
            "skill://ac%20me/x@y:z/a/f",
            "skill://ac%20me/x@y:z/a",
            "",
            "",
            "",
        ),
        ("skill://a:80/f", "skill://a:80", "`:` at byte 9", "", ""),
        ("skill://u@a/f", "skill://u@a", "`@` at byte 9", "", ""),
        (
            "skill://[::1]/a/f",
            "skill://[::1]/a",
            "`[` at byte 8",
            "",
            "",
        ),
        (
            "skill://a b/f",
            "skill://a b",
            "space at byte 9",
            "",
            "space at byte 9",
        ),
        (
            "skill://a b/n/f",
            "skill://a b/n",
            "space at byte 9",
            "",
            "",
        ),
        (
            "skill://a:b:c/n/f",
            "skill://a:b:c/n",
            "`:` at byte 9",
            "",
            "",
        ),
        (
            "skill://a%/n/f",
            "skill://a%/n",
            "stray `%` at byte 9",
            "",
            "",
        ),
        (
            "skill://a/b c/n/f",
            "skill://a/b c/n",
            "",
            "space at byte 11",
            "",
        ),
        (
            "skill://a/é/n/f",
            "skill://a/é/n",
            "",
            "U+00E9 (`é`) at byte 10",
            "",
        ),
        (
            "skill://a/b%z/n/f",
            "skill://a/b%z/n",
            "",
            "stray `%` at byte 11",
            "",
        ),
        (
            "skill://a/b/n/f g",
            "skill://a/b/n",
            "",
            "",
            "space at byte 15",
        ),
        (
            "skill://a/b/n m/f",
            "skill://a/b/n m",
            "",
            "",
            "space at byte 13",
        ),
        (
            "skill://a/b/n/%4",
            "skill://a/b/n",
            "",
            "",
            "stray `%` at byte 14",
        ),
        (
            "skill://a/b/n/é",
            "skill://a/b/n",
            "",
            "",
            "U+00E9 (`é`) at byte 14",
        ),
        ("1kill://a/n/f", "1kill://a/n", "", "", "no scheme"),
        ("nothing", "skill://a/n", "", "", "no scheme"),
        ("skill://a", "skill://a/n", "", "", "fewer segments"),
        (
            "skill://a c/b c/n c/f",
            "skill://a c/b c/n c",
            "byte 9",
            "byte 13",
            "byte 17",
        ),
        ("skill:///n/f", "skill:///n", "", "", ""),
        ("skill:n/f", "skill:n", "", "", ""),
    ] {
        let found = faults(uri, root);
        for (part, got, want) in [
            ("first", &found.first, first),
            ("prefix", &found.prefix, prefix),
            ("name_on", &found.name_on, name_on),
        ] {
            match got {
                None => assert_eq!(want, "", "{uri}: {part}"),
                Some(text) => assert!(
                    !want.is_empty() && text.contains(want),
                    "{uri}: {part}: {text}"
                ),
            }
        }
        assert_eq!(
            found.is_empty(),
            [first, prefix, name_on].concat().is_empty()
        );
    }
}

#[test]
fn normal_forms() {
    for (uri, normal) in [
        ("SKILL://Acme/A", "skill://acme/A"),
        ("skill://A%4Db/x", "skill://amb/x"),
        ("skill://a%c3%a9/%e9%7e%41%2f", "skill://a%C3%A9/%E9~A%2F"),
        ("skill://U%41@H:80/x", "skill://UA@h:80/x"),
        ("skill://a", "skill://a"),
        ("skill://a/", "skill://a/"),
        ("skill://a/b/../c", "skill://a/c"),
        ("skill://a/b/%2e%2E/c", "skill://a/c"),
        ("skill://a/b/.%2e/./c", "skill://a/c"),
        ("skill://a/b/..", "skill://a/"),
        ("skill://a/b/.", "skill://a/b/"),
        ("skill://a/..", "skill://a/"),
        ("skill://a/../../c", "skill://a/c"),
        ("skill://a//b//../c", "skill://a//b/c"),
        ("skill://a/...", "skill://a/..."),
        ("skill://a/x?A%3d/../b#%7E", "skill://a/x?A%3D/../b#~"),
        ("skill:/a/..//b", "skill:/.//b"),
        ("skill:a/../b", "skill:b"),
        ("skill:///x", "skill:///x"),
    ] {
        assert_eq!(normalize(uri).as_deref(), Some(normal), "{uri}");
        assert!(equivalent(uri, normal), "{uri}");
    }
    for uri in ["", "a/b", "skill://a b", "skill://a/%", "//a/b"] {
        assert_eq!(normalize(uri), None, "{uri}");
        assert!(!equivalent(uri, uri), "{uri}");
    }
    for (a, b) in [
        ("skill://a/B", "skill://a/b"),
        ("skill://a/%2F", "skill://a//"),
        ("skill://a", "skill://a/"),
        ("skill://a/x", "skill://a/x?"),
    ] {
        assert!(!equivalent(a, b), "{a} {b}");
    }
}

#[test]
fn roots_and_names() {
    for (uri, root, name) in [
        ("skill://n/SKILL.md", "skill://n", "n"),
        ("skill://a/b/n/SKILL.md", "skill://a/b/n", "n"),
        ("github://o/r/n/SKILL.md", "github://o/r/n", "n"),
        ("skill://a/%6E%20o/SKILL.md", "skill://a/%6E%20o", "n o"),
        ("skill:///n/SKILL.md", "skill:///n", "n"),
        ("skill:n/SKILL.md", "skill:n", "n"),
        ("skill:/n/SKILL.md", "skill:/n", "n"),
        ("skill://SKILL.md/SKILL.md", "skill://SKILL.md", "SKILL.md"),
        ("skill://n:80/SKILL.md", "skill://n:80", "n:80"),
    ] {
        assert_eq!(skill_root(uri), Some(root), "{uri}");
        assert_eq!(skill_name(uri).as_deref(), Some(name), "{uri}");
    }
    for uri in [
        "",
        "/SKILL.md",
        "n/SKILL.md",
        "skill://SKILL.md",
        "skill:SKILL.md",
        "skill:/SKILL.md",
        "skill:///SKILL.md",
        "skill://a//SKILL.md",
        "skill://n/skill.md",
        "skill://n/SKILL.md/",
        "skill://n/SKILL.md?x",
        "skill://n/x?/SKILL.md",
        "skill://n#/SKILL.md",
        "skill://nSKILL.md",
    ] {
        assert_eq!(skill_root(uri), None, "{uri}");
        assert_eq!(skill_name(uri), None, "{uri}");
    }
    assert_eq!(skill_root("skill://%FF/SKILL.md"), Some("skill://%FF"));
    assert_eq!(skill_name("skill://%FF/SKILL.md"), None);
}

#[test]
fn inside() {
    for (root, uri) in [
        ("skill://r", "skill://r/SKILL.md"),
        ("skill://r", "SKILL://R/a/b"),
        ("skill://r", "skill://r/a/../b"),
        ("skill://r", "skill://r/%2E/b"),
        ("skill://a/r", "skill://a/r/../r/x"),
        ("skill://a/r", "skill://a/%72/x"),
        ("skill://a/r", "skill://a/r/%2520/%2e%2e/x"),
        ("skill://a/r", "skill://a/r/%252e%252e/x"),
        ("skill://a/r", "skill://a/r/a%2Fb"),
        ("skill://a/r", "skill://a/r/.hidden/..x/..."),
        ("skill://a b/r", "skill://a b/r/x"),
        ("skill:r", "skill:r/x"),
    ] {
        assert_eq!(within(root, uri), Ok(()), "{root} {uri}");
    }
    for (root, uri, why) in [
        (
            "skill://refunds",
            "skill://refunds-shared/x",
            "first segment",
        ),
        ("skill://a/refunds", "skill://a/refunds-shared/x", "outside"),
        ("skill://r", "skill://r", "is the root"),
        ("skill://r", "skill://r/", "is the root"),
        ("skill://r", "skill://r/a/..", "is the root"),
        ("skill://r", "skill://r/a/", "ends in a slash"),
        ("skill://r", "skill://r/a/.", "ends in a slash"),
        ("skill://r", "skill://r//x", "empty segment"),
        ("skill://r", "skill://r/a//x", "empty segment"),
        ("skill://r", "skill://r/x?q", "query"),
        ("skill://r", "skill://r/x?", "query"),
        ("skill://r", "skill://r/x#f", "fragment"),
        ("skill://r", "file://r/x", "scheme `file`"),
        ("skill://r", "skill://s/x", "first segment"),
        ("skill://r", "skill://r:80/x", "first segment"),
        ("skill://r", "skill://r/../x", "climbs out"),
        ("skill://r", "skill://r/%2e%2E/x", "climbs out"),
        ("skill://r", "skill://r/a/../../x", "climbs out"),
        ("skill://a/r", "skill://a/r/../x", "outside"),
        ("skill://a/r", "skill://a/r/.%2e/x", "outside"),
        ("skill://a/r", "skill://a/R/x", "outside"),
        ("skill://a/r", "skill://a/r/..%2fx", "escaped separator"),
        (
            "skill://a/r",
            "skill://a/r/b/..%2F..%2fx",
            "escaped separator",
        ),
        ("skill://a/r", "skill://a/r/..%5cx", "escaped separator"),
        (
            "skill://a/r",
            "skill://a/r/b c",
            "not a URI: has a space at byte 13",
        ),
        ("skill://a/r", "SKILL.md", "not a URI"),
        ("skill://a b/r", "skill://a b/s/x", "does not start"),
        ("skill://a b/r", "skill://a b/r/../x", "climbs out"),
        ("skill://a b/r", "skill://a b/r/x y", "not a URI"),
        ("skill://a?b", "skill://a?b/x", "root with a query"),
    ] {
        let error = within(root, uri).unwrap_err();
        assert!(error.contains(why), "{root} {uri}: {error}");
    }
}

#[test]
fn directories() {
    for (root, file, dirs) in [
        ("skill://r", "skill://r/SKILL.md", vec!["skill://r"]),
        (
            "skill://p/r",
            "skill://p/r/a/b%20c/f",
            vec!["skill://p/r", "skill://p/r/a", "skill://p/r/a/b%20c"],
        ),
        ("skill://r", "skill://r/a/../f", vec!["skill://r"]),
        (
            "skill://r",
            "SKILL://r/%61/f",
            vec!["skill://r", "skill://r/a"],
        ),
        (
            "skill://a b/r",
            "skill://a b/r/x/f",
            vec!["skill://a b/r", "skill://a b/r/x"],
        ),
        ("skill://r", "skill://s/f", vec![]),
        ("skill://r", "skill://r", vec![]),
    ] {
        assert_eq!(parent_dirs(root, file), dirs, "{root} {file}");
    }
}

#[test]
fn children() {
    for (dir, child, segment) in [
        ("skill://r", "skill://r/a", Some("a")),
        ("skill://r", "skill://r/a/", Some("a")),
        ("skill://r/", "skill://r/a", Some("a")),
        ("skill://r/a", "SKILL://R/%61/%20b", Some("%20b")),
        ("skill://r", "skill://r/a/b", None),
        ("skill://r", "skill://r", None),
        ("skill://r", "skill://r/", None),
        ("skill://r", "skill://r//", None),
        ("skill://r", "skill://rr/a", None),
        ("skill://r", "skill://r/..", None),
        ("skill://r", "skill://r/%2e%2E/", None),
        ("skill://r", "skill://r/a?b", None),
        ("skill://r", "skill://r/a#b", None),
        ("skill://r", "a", None),
    ] {
        assert_eq!(child_segment(dir, child), segment, "{dir} {child}");
    }
}

/// Text that is close to a URI, so that the interesting branches are reached.
fn near_uri() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "(skill|SKILL|x):(//)?[a-zA-Z0-9.%/@:?#\\[\\]é ~-]{0,40}(/SKILL\\.md)?",
        "skill://([a-cA-C]|%[0-9a-fA-F]{2}|\\.|%2[eE]|/|//|%2[fF]){0,20}",
        "x:([ab]|\\.|%2e|/){0,16}",
    ]
}

/// One path segment that is neither empty nor a dot segment.
fn segment() -> impl Strategy<Value = String> {
    "([A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2}){1,8}".prop_filter("dots or separators", |text| {
        !is_dot_segment(text) && !["%2F", "%5C"].iter().any(|code| text.contains(code))
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn normal_form_is_stable(uri in near_uri()) {
        if let Some(normal) = normalize(&uri) {
            let again = normalize(&normal);
            prop_assert_eq!(again.as_deref(), Some(normal.as_ref()));
        }
        prop_assert_eq!(normalize(&uri).is_some(), check(&uri).is_ok());
    }

    #[test]
    fn equivalence_is_symmetric(a in near_uri(), b in near_uri()) {
        prop_assert_eq!(equivalent(&a, &b), equivalent(&b, &a));
    }

    #[test]
    fn nothing_panics(a in near_uri(), b in near_uri()) {
        let _ = (check(&a), faults(&a, &b), faults(&a, &a), within(&a, &b), parent_dirs(&a, &b));
        let _ = (child_segment(&a, &b), skill_name(&a));
        let _ = within(&a, &format!("{a}/{b}"));
        if let Some(root) = skill_root(&a) {
            prop_assert_eq!(a.strip_suffix(ENTRY_SUFFIX), Some(root));
            let _ = faults(&b, root);
        }
    }

    #[test]
    fn a_path_below_is_within(
        prefix in prop::collection::vec("[a-z0-9-]{1,6}", 1..4),
        path in prop::collection::vec(segment(), 1..5),
    ) {
        let root = format!("skill://{}", prefix.join("/"));
        let file = format!("{root}/{}", path.join("/"));
        prop_assert_eq!(within(&root, &file), Ok(()));
        prop_assert!(faults(&file, &root).is_empty());
        let dirs = parent_dirs(&root, &file);
        prop_assert_eq!(dirs.len(), path.len());
        prop_assert_eq!(child_segment(&dirs[path.len() - 1], &file), Some(path[path.len() - 1].as_str()));
    }

    #[test]
    fn a_path_that_climbs_out_is_not_within(
        prefix in prop::collection::vec("[a-z]{1,3}", 1..4),
        down in prop::collection::vec("[A-Z]{1,3}", 0..3),
        dots in prop_oneof![
            Just(".."), Just("%2e."), Just(".%2E"), Just("%2e%2e")
        ],
        extra in 1_usize..3,
        target in "[0-9]{1,3}",
    ) {
        let root = format!("skill://{}", prefix.join("/"));
        let mut file = root.clone();
        for segment in &down {
            file.push('/');
            file.push_str(segment);
        }
        for _ in 0..down.len() + extra {
            file.push('/');
            file.push_str(dots);
        }
        let file = format!("{file}/{target}");
        prop_assert!(within(&root, &file).is_err(), "{}", file);
    }

    #[test]
    fn plain_uris_are_judged_like_any_others(
        root in "(skill|Skill|x\\+y)://[a.B~]{0,3}(/[a.B~]{0,3}){0,3}",
        rest in "[/a.B~%:]{0,9}",
    ) {
        let uri = format!("{root}{rest}");
        for uri in [&root, &uri].into_iter().filter(|uri| plain::is_plain(uri)) {
            let parts = Parts::of(uri);
            prop_assert!(parts.as_ref().is_some_and(|parts| !parts.underflow));
            prop_assert_eq!(parts.map(|parts| parts.to_uri()), Some(uri.clone()));
            prop_assert!(faults_of_any(uri, &root).is_empty(), "{}", uri);
        }
        if let Some(rest) = plain::relative(&root, &uri) {
            prop_assert_eq!(relative_of_any(&root, &uri), Ok(rest.to_owned()));
        }
    }

    #[test]
    fn what_is_within_starts_with_the_root(root in near_uri(), uri in near_uri()) {
        if within(&root, &uri).is_ok() {
            let root = normalize(&root).unwrap_or(Cow::Borrowed(&root));
            let uri = normalize(&uri).unwrap_or(Cow::Borrowed(&uri));
            let rest = uri.strip_prefix(root.as_ref());
            prop_assert!(rest.is_some_and(|rest| rest.starts_with('/')));
        }
    }
}
