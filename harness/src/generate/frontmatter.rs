//! The frontmatter of a skill: a block of YAML, and the JSON object that renders it.

use arbitrary::Arbitrary;
use serde_json::Value;

use super::text::TextPlan;
use super::value::{AGREED, Pair, Style, ValuePlan, write_text};

/// A frontmatter that agrees with its rendering.
#[derive(Debug, Clone, Default, PartialEq, Arbitrary)]
pub struct FrontmatterPlan {
    /// The description; never blank.
    pub description: TextPlan,
    /// How it is written.
    pub style: Style,
    /// Fields that the format knows, with strings for values.
    pub known: Vec<(u8, TextPlan, Style)>,
    /// Strings of `metadata`.
    pub metadata: Vec<(u8, TextPlan)>,
    /// Fields that it does not know, with values of any kind.
    pub further: Vec<ValuePlan>,
    /// Fields whose rendering is known from a table.
    pub agreed: Vec<u8>,
    /// How the block is laid out.
    pub layout: Layout,
}

/// How a block of frontmatter is laid out.
#[derive(Debug, Clone, Default, PartialEq, Eq, Arbitrary)]
pub struct Layout {
    /// Lines end in CRLF, in the whole file.
    pub crlf: bool,
    /// Comments and empty lines between the fields.
    pub comments: bool,
    /// The name stands last.
    pub name_last: bool,
    /// The entry has its fields the other way round.
    pub entry_reversed: bool,
    /// Keys stand in quotes.
    pub quoted_keys: bool,
    /// Blanks behind the fences.
    pub fence_blanks: bool,
}

/// Fields of the format whose value is any string.
const KNOWN: &[&str] = &["license", "compatibility", "allowed-tools"];

/// Most fields with values of any kind.
const FURTHER: usize = 4;

/// Keys of `metadata`.
const METADATA: &[&str] = &[
    "version",
    "author",
    "io.modelcontextprotocol/later",
    "a.b/c",
    "é",
];

/// A field: its key, its YAML behind the colon with the final line break, and its JSON.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The key.
    pub key: String,
    /// What stands behind `key:`, with the line break that ends it.
    pub yaml: String,
    /// What the entry has; `None` when it has no such field.
    pub json: Option<Value>,
}

impl FrontmatterPlan {
    /// The fields, name first.
    pub fn fields(&self, name: &str) -> Vec<Field> {
        let mut fields = vec![Field {
            key: "name".to_owned(),
            yaml: format!(" \"{name}\"\n"),
            json: Some(name.into()),
        }];
        let description = self.description.line_or("Does things.");
        let mut yaml = " ".to_owned();
        // A block scalar would add a line break; the description is the same in each style.
        let style = if self.style == Style::Literal {
            Style::Folded
        } else {
            self.style
        };
        write_text(&description, style, &mut yaml, Some(2));
        yaml.push('\n');
        fields.push(Field {
            key: "description".to_owned(),
            yaml,
            json: Some(description.into()),
        });
        for (which, text, style) in &self.known {
            let key = KNOWN[usize::from(*which) % KNOWN.len()];
            if fields.iter().all(|field| field.key != key) {
                let text = text.line_or("MIT");
                let mut yaml = " ".to_owned();
                let style = if *style == Style::Literal {
                    Style::Single
                } else {
                    *style
                };
                write_text(&text, style, &mut yaml, Some(2));
                yaml.push('\n');
                fields.push(Field {
                    key: key.to_owned(),
                    yaml,
                    json: Some(text.into()),
                });
            }
        }
        if !self.metadata.is_empty() {
            fields.push(self.metadata());
        }
        for (place, value) in self.further.iter().take(FURTHER).enumerate() {
            let mut yaml = String::new();
            value.write(&mut yaml, place, true);
            fields.push(Field {
                key: format!("x-{place}"),
                yaml,
                json: Some(value.json()),
            });
        }
        for (place, which) in self.agreed.iter().take(3).enumerate() {
            let pair = AGREED[usize::from(*which) % AGREED.len()];
            fields.push(Field::of_pair(&format!("agreed{place}"), pair));
        }
        fields
    }

    /// Whether it needs nothing of YAML that careful readers refuse. No text says how much of YAML a
    /// host has to read, and who refuses what it does not read does nothing unsafe.
    pub fn is_plain(&self) -> bool {
        let mut further = self.further.iter().take(FURTHER);
        !self.layout.fence_blanks && further.all(|value| value.plain().is_none())
    }

    /// Takes away what makes it not plain.
    pub fn make_plain(&mut self) {
        self.layout.fence_blanks = false;
        for value in &mut self.further {
            if let Some(plain) = value.plain() {
                *value = plain;
            }
        }
    }

    fn metadata(&self) -> Field {
        let mut members = serde_json::Map::new();
        let mut yaml = "\n".to_owned();
        for (which, text) in self.metadata.iter().take(4) {
            let key = METADATA[usize::from(*which) % METADATA.len()];
            if !members.contains_key(key) {
                let text = text.line();
                yaml.push_str(&format!("  {key}: "));
                write_text(&text, Style::Double, &mut yaml, None);
                yaml.push('\n');
                members.insert(key.to_owned(), text.into());
            }
        }
        Field {
            key: "metadata".to_owned(),
            yaml,
            json: Some(Value::Object(members)),
        }
    }
}

impl Field {
    /// A field from one of the tables.
    pub fn of_pair(key: &str, (yaml, json): Pair) -> Field {
        Field {
            key: key.to_owned(),
            yaml: format!(" {yaml}\n"),
            // The tables are read by a test; what does not parse would be no JSON at all.
            json: json.map(|json| serde_json::from_str(json).unwrap_or(Value::Null)),
        }
    }
}

/// Whether a block scalar ends the text: the last line break of such a one at the end of a
/// frontmatter belongs to the fence for some readers.
fn ends_open(yaml: &str) -> bool {
    [" |\n", " |+\n", " >\n"]
        .iter()
        .any(|start| yaml.contains(start))
}

/// The block between the fences, with both of them.
pub fn block(fields: &[Field], layout: &Layout) -> String {
    let fence = if layout.fence_blanks {
        "---  \n"
    } else {
        "---\n"
    };
    let mut text = fence.to_owned();
    let (name, others) = fields.split_at(fields.len().min(1));
    let open = fields.last().is_some_and(|field| ends_open(&field.yaml));
    let order: Vec<&Field> = if layout.name_last || open {
        others.iter().chain(name).collect()
    } else {
        fields.iter().collect()
    };
    for field in order {
        if layout.comments {
            text.push_str("# a comment: not a field\n\n");
        }
        let quote = if layout.quoted_keys { "\"" } else { "" };
        text.push_str(&format!("{quote}{}{quote}:{}", field.key, field.yaml));
    }
    text.push_str(fence);
    text
}
