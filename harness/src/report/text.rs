//! Text for people: escapes, quoting, wrapping, counting.

use std::fmt::Write as _;

/// Writes out everything in a text that a reader could not see or that would change what is
/// around it: control characters, line breaks, bidi controls, invisible and format characters,
/// unusual spaces, variation selectors, tags.
///
/// Reporters pass each string through it that may come from a target.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => escaped.push_str("\\n"),
            '\r' => escaped.push_str("\\r"),
            '\t' => escaped.push_str("\\t"),
            c if is_hidden(c) => {
                let _ = write!(escaped, "\\u{{{:x}}}", u32::from(c));
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Whether a character must not reach a reader as it is.
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control();
    }
    c.is_control()
        || (c.is_whitespace() && c != '\u{3000}')
        || u32::from(c) & 0xfffe == 0xfffe
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{600}'..='\u{605}'
                | '\u{61c}'
                | '\u{6dd}'
                | '\u{70f}'
                | '\u{890}'..='\u{891}'
                | '\u{8e2}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{2800}'
                | '\u{3164}'
                | '\u{fdd0}'..='\u{fdef}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{110bd}'
                | '\u{110cd}'
                | '\u{13430}'..='\u{1343f}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

/// Escapes, and cuts what is longer than `limit` characters with a word on how long it was.
pub fn clip(text: &str, limit: usize) -> String {
    match text.char_indices().nth(limit) {
        None => escape(text),
        Some((end, _)) => {
            let all = thousands(text.chars().count() as u64);
            format!("{}… ({all} characters)", escape(&text[..end]))
        }
    }
}

/// One word of a shell command, quoted only where it has to be.
pub fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_@%+:,./-".contains(c);
    let option = word.starts_with('-');
    if !word.is_empty() && word.chars().all(|c| plain(c) || (option && c == '=')) {
        return word.to_owned();
    }
    if !word.chars().any(is_hidden) {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut quoted = String::from("$'");
    for c in word.chars() {
        let _ = match c {
            '\n' => write!(quoted, "\\n"),
            '\t' => write!(quoted, "\\t"),
            '\'' | '\\' => write!(quoted, "\\{c}"),
            c if c.is_ascii_control() => write!(quoted, "\\{:03o}", u32::from(c)),
            c if is_hidden(c) => write!(quoted, "\\U{:08x}", u32::from(c)),
            c => write!(quoted, "{c}"),
        };
    }
    quoted.push('\'');
    quoted
}

/// A shell command from its words.
pub fn shell_line<S: AsRef<str>>(words: &[S]) -> String {
    let words: Vec<String> = words
        .iter()
        .map(|word| shell_quote(word.as_ref()))
        .collect();
    words.join(" ")
}

/// A number with separators: `91,231`.
pub fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A number and its noun: `1 skill`, `12 skills`.
pub fn plural(number: usize, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", thousands(number as u64))
}

/// Breaks a text at its spaces into lines of at most `width` columns: the first one behind
/// `first` spaces, the others behind `rest`. A word that is longer stands on a line of its own.
pub fn wrap(text: &str, first: usize, rest: usize, width: usize) -> String {
    let mut lines = String::new();
    let mut used = 0;
    let mut indent = first;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length <= width {
            lines.push(' ');
            used += 1 + length;
        } else {
            if used > 0 {
                lines.push('\n');
            }
            lines.extend(std::iter::repeat_n(' ', indent));
            used = indent + length;
            indent = rest;
        }
        lines.push_str(word);
    }
    lines
}

/// The columns to wrap to: what `COLUMNS` says, or 80 on a terminal, or 100.
pub fn columns() -> usize {
    use std::io::IsTerminal as _;
    let said = std::env::var("COLUMNS")
        .ok()
        .and_then(|text| text.parse().ok());
    let usual = if std::io::stdout().is_terminal() {
        80
    } else {
        100
    };
    said.unwrap_or(usual).clamp(40, 120)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        for (text, escaped) in [
            (
                "plain, naïve 日本語 \\ \u{3000}",
                "plain, naïve 日本語 \\ \u{3000}",
            ),
            ("a\nb\r\n\tc", "a\\nb\\r\\n\\tc"),
            ("\u{1b}[31mred\u{7f}\0", "\\u{1b}[31mred\\u{7f}\\u{0}"),
            ("\u{85}\u{9b}2J", "\\u{85}\\u{9b}2J"),
            (
                "\u{202e}txt.exe\u{2066}\u{2069}",
                "\\u{202e}txt.exe\\u{2066}\\u{2069}",
            ),
            ("\u{200e}\u{200f}\u{61c}", "\\u{200e}\\u{200f}\\u{61c}"),
            (
                "a\u{200b}b\u{200d}c\u{2060}d\u{ad}",
                "a\\u{200b}b\\u{200d}c\\u{2060}d\\u{ad}",
            ),
            ("\u{feff}x", "\\u{feff}x"),
            ("a\u{a0}b\u{2028}c", "a\\u{a0}b\\u{2028}c"),
            (
                "\u{e0041}\u{fe0f}\u{ffff}\u{10ffff}",
                "\\u{e0041}\\u{fe0f}\\u{ffff}\\u{10ffff}",
            ),
        ] {
            assert_eq!(escape(text), escaped);
        }
    }

    #[test]
    fn every_bidi_control_is_hidden() {
        let controls = [
            '\u{202a}'..='\u{202e}',
            '\u{2066}'..='\u{2069}',
            '\u{200e}'..='\u{200f}',
        ];
        assert!(controls.into_iter().flatten().all(is_hidden));
    }

    #[test]
    fn clipping_counts_characters() {
        assert_eq!(clip("äöü", 3), "äöü");
        assert_eq!(clip("äöü\n", 2), "äö… (4 characters)");
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, quoted) in [
            ("./my-server", "./my-server"),
            ("--x=1", "--x=1"),
            ("x=1", "'x=1'"),
            ("", "''"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("$HOME;`id`", "'$HOME;`id`'"),
            ("~", "'~'"),
            ("a\n'\u{1b}\u{202e}", r"$'a\n\'\033\U0000202e'"),
        ] {
            assert_eq!(shell_quote(word), quoted);
        }
        assert_eq!(shell_line(&["a", "b c"]), "a 'b c'");
    }

    #[test]
    fn lines_are_broken_at_spaces() {
        assert_eq!(wrap("one two  three", 2, 4, 9), "  one two\n    three");
        assert_eq!(wrap("incomprehensible a", 0, 0, 4), "incomprehensible\na");
        assert_eq!(wrap("", 4, 4, 10), "");
    }

    #[test]
    fn numbers_are_readable() {
        assert_eq!(thousands(0), "0");
        assert_eq!(thousands(999), "999");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(
            (plural(1, "skill"), plural(0, "skill")),
            ("1 skill".into(), "0 skills".into())
        );
    }
}
