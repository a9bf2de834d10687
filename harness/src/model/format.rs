//! The rules of the Agent Skills format that do not depend on MCP.

/// Longest `name`, in code points.
pub const NAME_MAX: usize = 64;

/// Longest `description`, in code points.
pub const DESCRIPTION_MAX: usize = 1024;

/// Longest `compatibility`, in code points.
pub const COMPATIBILITY_MAX: usize = 500;

/// Everything that is wrong with a skill name; empty when nothing is.
///
/// Letters outside ASCII pass as long as they are not upper-case (letters of scripts without
/// case pass too): the format speaks of Unicode and of `a-z` in one breath, so only
/// [`name_is_ascii`] tells the two readings apart.
pub fn name_faults(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    let length = name.chars().count();
    if length == 0 {
        return vec!["is empty".to_owned()];
    }
    if length > NAME_MAX {
        faults.push(format!(
            "has {length} characters, more than the {NAME_MAX} allowed"
        ));
    }
    let mut foreign: Vec<char> = Vec::new();
    let mut upper: Vec<char> = Vec::new();
    for c in name.chars() {
        if c == '-' || is_lower_alphanumeric(c) {
            continue;
        }
        let list = if c.is_alphanumeric() {
            &mut upper
        } else {
            &mut foreign
        };
        if !list.contains(&c) && list.len() < 8 {
            list.push(c);
        }
    }
    if !upper.is_empty() {
        faults.push(format!("has upper-case letters: {}", quoted(&upper)));
    }
    if !foreign.is_empty() {
        faults.push(format!(
            "has characters other than letters, digits and hyphens: {}",
            quoted(&foreign)
        ));
    }
    if name.starts_with('-') {
        faults.push("starts with a hyphen".to_owned());
    }
    if name.ends_with('-') {
        faults.push("ends with a hyphen".to_owned());
    }
    if name.contains("--") {
        faults.push("has two hyphens in a row".to_owned());
    }
    faults
}

/// Whether the name keeps to ASCII, as the narrow reading of the format wants.
pub fn name_is_ascii(name: &str) -> bool {
    name.is_ascii()
}

/// A letter or digit that lower-casing leaves alone.
fn is_lower_alphanumeric(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    c.is_alphanumeric() && c.to_lowercase().eq([c])
}

fn quoted(list: &[char]) -> String {
    let words: Vec<String> = list
        .iter()
        .map(|c| format!("`{}`", c.escape_debug()))
        .collect();
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn good_names() {
        let longest = "a".repeat(NAME_MAX);
        for name in [
            "a",
            "7",
            "pdf-processing",
            "a-b-c",
            "2fa",
            "größe",
            "навык",
            "技能",
            longest.as_str(),
            &"ä".repeat(NAME_MAX),
        ] {
            assert_eq!(name_faults(name), Vec::<String>::new(), "{name}");
        }
    }

    #[test]
    fn bad_names() {
        for (name, words) in [
            ("", "empty"),
            ("PDF", "upper-case letters: `P`, `D`, `F`"),
            ("Ärger", "upper-case letters: `Ä`"),
            ("-a", "starts with a hyphen"),
            ("a-", "ends with a hyphen"),
            ("a--b", "two hyphens"),
            ("a_b", "other than letters, digits and hyphens: `_`"),
            ("a b", "other than letters"),
            ("a/b", "other than letters"),
            ("a.b", "other than letters"),
            ("a\n", "`\\n`"),
            ("🦀", "other than letters"),
        ] {
            let faults = name_faults(name);
            assert_eq!(faults.len(), 1, "{name}: {faults:?}");
            assert!(faults[0].contains(words), "{name}: {faults:?}");
        }
        assert!(name_faults(&"a".repeat(NAME_MAX + 1))[0].contains("65 characters"));
        assert!(name_faults(&"ä".repeat(NAME_MAX + 1))[0].contains("65 characters"));
        assert_eq!(name_faults("-").len(), 2);
        assert_eq!(name_faults("--").len(), 3);
    }

    #[test]
    fn ascii_is_told_apart() {
        assert!(name_is_ascii("a-1"));
        assert!(!name_is_ascii("größe"));
    }
}
