//! Expressions over captured values: `$skills/*/uri | string | parent | append:/x`.

use std::collections::HashMap;
use std::fmt;

use serde::Deserialize;
use serde_json::Value;

/// Captured values by name.
pub type Variables = HashMap<String, Value>;

/// `$name`, then a JSON pointer in which `*` stands for every member, then filters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression {
    /// The captured value.
    pub variable: String,
    path: Vec<Token>,
    filters: Vec<Filter>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    Name(String),
    Every,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Filter {
    Strings,
    Parent,
    Append(String),
    Prepend(String),
    Ending(String),
    Without(String),
    Replace(String, String),
    Upper,
    Cut(usize),
    First(usize),
    Last,
}

const FILTERS: &str = "string, parent, append:TEXT, prepend:TEXT, ending:TEXT, without:TEXT, replace:FROM:TO, upper, cut:N, first:N, last";

impl Expression {
    /// Reads an expression.
    ///
    /// # Errors
    ///
    /// Says what was expected.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = text.split('|');
        let path = parts.next().unwrap_or_default().trim();
        let path = path.strip_prefix('$').ok_or_else(|| {
            format!("expected an expression like `$skills/*/uri`, found `{text}`")
        })?;
        let mut tokens = path.split('/');
        let variable = tokens.next().unwrap_or_default().to_owned();
        if variable.is_empty()
            || !variable
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        {
            return Err(format!("expected a name after `$` in `{text}`"));
        }
        let path = tokens
            .map(|token| match token {
                "*" => Token::Every,
                name => Token::Name(name.replace("~1", "/").replace("~0", "~")),
            })
            .collect();
        let filters = parts.map(Filter::parse).collect::<Result<_, _>>()?;
        Ok(Self {
            variable,
            path,
            filters,
        })
    }

    /// Every value that the expression stands for; none where the path leads nowhere.
    pub fn values(&self, variables: &Variables) -> Vec<Value> {
        let captured = variables.get(&self.variable);
        let found = captured.into_iter().flat_map(|value| self.parts(value));
        let mut values: Vec<Value> = found.cloned().collect();
        for filter in &self.filters {
            values = filter.apply(values);
        }
        values
    }

    /// The parts of a captured value that the path leads to, before the filters.
    pub fn parts<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let mut found = Vec::new();
        walk(value, &self.path, &mut found);
        found
    }
}

/// Collects what `path` leads to, in the order of the value.
fn walk<'a>(value: &'a Value, path: &[Token], found: &mut Vec<&'a Value>) {
    let Some((token, rest)) = path.split_first() else {
        found.push(value);
        return;
    };
    match (value, token) {
        (Value::Array(items), Token::Every) => {
            items.iter().for_each(|item| walk(item, rest, found));
        }
        (Value::Object(members), Token::Every) => {
            members
                .values()
                .for_each(|member| walk(member, rest, found));
        }
        (Value::Array(items), Token::Name(name)) => {
            if let Some(item) = name
                .parse::<usize>()
                .ok()
                .and_then(|index| items.get(index))
            {
                walk(item, rest, found);
            }
        }
        (Value::Object(members), Token::Name(name)) => {
            if let Some(member) = members.get(name) {
                walk(member, rest, found);
            }
        }
        _ => {}
    }
}

impl Filter {
    fn parse(text: &str) -> Result<Self, String> {
        // Blanks around a filter are layout; those of a quoted argument are kept.
        let text = text.trim();
        let mut parts = text.splitn(2, ':');
        let (name, argument) = (parts.next().unwrap_or_default(), parts.next().map(unquote));
        match (name, argument) {
            ("string", None) => Ok(Filter::Strings),
            ("parent", None) => Ok(Filter::Parent),
            ("upper", None) => Ok(Filter::Upper),
            ("last", None) => Ok(Filter::Last),
            ("append", Some(text)) => Ok(Filter::Append(text.to_owned())),
            ("prepend", Some(text)) => Ok(Filter::Prepend(text.to_owned())),
            ("ending", Some(text)) => Ok(Filter::Ending(text.to_owned())),
            ("without", Some(text)) => Ok(Filter::Without(text.to_owned())),
            ("replace", Some(text)) => text
                .split_once(':')
                .map(|(from, to)| Filter::Replace(from.to_owned(), to.to_owned()))
                .ok_or_else(|| format!("expected `replace:FROM:TO`, found `{name}:{text}`")),
            ("first" | "cut", Some(number)) => {
                let filter = if name == "cut" {
                    Filter::Cut
                } else {
                    Filter::First
                };
                let number = number.parse().map(filter);
                number.map_err(|_| format!("expected a number in `{text}`"))
            }
            _ => Err(format!(
                "expected one of the filters {FILTERS}; found `{text}`"
            )),
        }
    }

    fn apply(&self, values: Vec<Value>) -> Vec<Value> {
        match self {
            Filter::Strings => values.into_iter().filter(Value::is_string).collect(),
            Filter::Ending(ending) => values
                .into_iter()
                .filter(|value| ends_with(value, ending))
                .collect(),
            Filter::Without(ending) => values
                .into_iter()
                .filter(|value| !ends_with(value, ending))
                .collect(),
            Filter::First(count) => values.into_iter().take(*count).collect(),
            Filter::Last => values.into_iter().last().into_iter().collect(),
            _ => values
                .into_iter()
                .filter_map(|value| self.map(value.as_str()?))
                .collect(),
        }
    }

    fn map(&self, text: &str) -> Option<Value> {
        Some(match self {
            Filter::Parent => Value::from(text.rsplit_once('/')?.0),
            Filter::Append(tail) => Value::from(format!("{text}{tail}")),
            Filter::Prepend(head) => Value::from(format!("{head}{text}")),
            Filter::Replace(from, to) => Value::from(text.replace(from, to)),
            Filter::Upper => Value::from(text.to_uppercase()),
            Filter::Cut(count) => {
                let (last, _) = text.char_indices().rev().nth(count.checked_sub(1)?)?;
                Value::from(&text[..last])
            }
            Filter::Strings
            | Filter::First(_)
            | Filter::Last
            | Filter::Ending(_)
            | Filter::Without(_) => return None,
        })
    }
}

impl fmt::Display for Expression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}", self.variable)
    }
}

fn ends_with(value: &Value, ending: &str) -> bool {
    value.as_str().is_some_and(|text| text.ends_with(ending))
}

/// An argument may stand in double quotes, to keep blanks at its ends.
fn unquote(text: &str) -> &str {
    text.strip_prefix('"')
        .and_then(|text| text.strip_suffix('"'))
        .unwrap_or(text)
}

/// A string that would be tedious to write out.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    text: String,
    times: usize,
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
}

/// A JSON value in which some strings are expressions: those that begin with `$`. A string that
/// begins with `$$` stands for itself, less one `$`.
#[derive(Debug, Clone, PartialEq)]
pub enum Template {
    /// Taken as it stands.
    Literal(Value),
    /// Replaced by the value of an expression.
    Expression(Expression),
    /// A long string: `{ $repeat: { text, times, before, after } }`.
    Repeat(Repeat),
    /// An array of templates.
    Array(Vec<Template>),
    /// An object of templates.
    Object(Vec<(String, Template)>),
}

impl Template {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// As for [`Expression::parse`].
    pub fn parse(value: Value) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) if text.starts_with("$$") => {
                Template::Literal(Value::from(&text[1..]))
            }
            Value::String(text) if text.starts_with('$') => {
                Template::Expression(Expression::parse(&text)?)
            }
            Value::Array(items) => Template::Array(
                items
                    .into_iter()
                    .map(Template::parse)
                    .collect::<Result<_, _>>()?,
            ),
            Value::Object(members) if members.len() == 1 && members.contains_key("$repeat") => {
                let repeat = members.into_values().next().unwrap_or_default();
                let repeat: Repeat = serde_json::from_value(repeat)
                    .map_err(|error| format!("in `$repeat`: {error}"))?;
                if repeat.times > 1 << 24 {
                    return Err("expected at most 16777216 `times` in `$repeat`".into());
                }
                Template::Repeat(repeat)
            }
            Value::Object(members) => Template::Object(
                members
                    .into_iter()
                    .map(|(key, value)| Ok((key, Template::parse(value)?)))
                    .collect::<Result<_, String>>()?,
            ),
            value => Template::Literal(value),
        })
    }

    /// The variables that it uses.
    pub fn variables(&self) -> Vec<&str> {
        match self {
            Template::Literal(_) | Template::Repeat(_) => Vec::new(),
            Template::Expression(expression) => vec![&expression.variable],
            Template::Array(items) => items.iter().flat_map(Template::variables).collect(),
            Template::Object(members) => members
                .iter()
                .flat_map(|(_, value)| value.variables())
                .collect(),
        }
    }

    /// The value, or `None` when an expression stands for nothing: the step has no object then and
    /// is left out.
    pub fn fill(&self, variables: &Variables) -> Option<Value> {
        match self {
            Template::Literal(value) => Some(value.clone()),
            Template::Repeat(repeat) => Some(Value::from(format!(
                "{}{}{}",
                repeat.before,
                repeat.text.repeat(repeat.times),
                repeat.after
            ))),
            Template::Expression(expression) => expression.values(variables).into_iter().next(),
            Template::Array(items) => items.iter().map(|item| item.fill(variables)).collect(),
            Template::Object(members) => members
                .iter()
                .map(|(key, value)| Some((key.clone(), value.fill(variables)?)))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn values(expression: &str) -> Vec<Value> {
        let skills = json!([
            {"uri": "skill://a/SKILL.md", "resources": [{"uri": "skill://a/SKILL.md"}, {"uri": 5}]},
            {"uri": "skill://b/SKILL.md", "resources": "dynamic"},
        ]);
        let variables = HashMap::from([("skills".to_owned(), skills)]);
        Expression::parse(expression).unwrap().values(&variables)
    }

    #[test]
    fn paths_and_filters() {
        assert_eq!(
            values("$skills/*/uri"),
            [json!("skill://a/SKILL.md"), json!("skill://b/SKILL.md")]
        );
        assert_eq!(
            values("$skills/*/resources/*/uri | string"),
            [json!("skill://a/SKILL.md")]
        );
        assert_eq!(
            values("$skills/1/uri | parent | append:/./SKILL.md"),
            [json!("skill://b/./SKILL.md")]
        );
        assert_eq!(
            values("$skills/*/uri | last | replace:SKILL:skill"),
            [json!("skill://b/skill.md")]
        );
        assert_eq!(values("$skills/0/uri | cut:3"), [json!("skill://a/SKILL")]);
        assert_eq!(values("$skills/0/uri | cut:99"), Vec::<Value>::new());
        assert_eq!(values("$skills/9/uri"), Vec::<Value>::new());
        assert_eq!(values("$other"), Vec::<Value>::new());
    }

    #[test]
    fn errors_say_what_was_expected() {
        for (text, expected) in [
            ("skills", "expected an expression"),
            ("$", "expected a name"),
            ("$a | shout", "expected one of the filters"),
            ("$a | first:x", "expected a number"),
            ("$a | cut:x", "expected a number"),
            ("$a | replace:x", "expected `replace:FROM:TO`"),
        ] {
            assert!(
                Expression::parse(text).unwrap_err().contains(expected),
                "{text}"
            );
        }
    }

    #[test]
    fn a_template_without_its_value_is_left_out() {
        let template = Template::parse(json!({"uri": "$x/uri", "n": [1, "$$5"]})).unwrap();
        let variables = HashMap::from([("x".to_owned(), json!({"uri": "u"}))]);
        assert_eq!(
            template.fill(&variables),
            Some(json!({"uri": "u", "n": [1, "$5"]}))
        );
        assert_eq!(template.fill(&HashMap::new()), None);
    }
}
