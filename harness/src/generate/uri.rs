//! URIs around a skill, sorted by where they lead.
//!
//! Each is spelled out from the skill's root, so that where it leads is known without asking
//! anything that resolves URIs.

use arbitrary::Arbitrary;

/// Where a URI leads, seen from the root of a skill.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Leads {
    /// To a file within the skill.
    Within,
    /// Somewhere else, in every reading.
    Outside,
    /// That depends on how it is read, or on what the server makes of it.
    Disputed,
}

/// A URI, planned from the root of a skill.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Arbitrary)]
pub struct UriPlan(pub u8);

/// `{root}` is the root, `{name}` the last segment of it, `{up}` what stands before that,
/// `{rest}` what follows the scheme.
const SHAPES: &[(Leads, &str)] = &[
    (Leads::Outside, "{root}-2/guide.md"),
    (Leads::Outside, "{root}x"),
    (Leads::Outside, "{root}.md"),
    (Leads::Outside, "{root}/../guide.md"),
    (Leads::Outside, "{root}/../{name}-2/guide.md"),
    (Leads::Outside, "{root}/a/../../guide.md"),
    (Leads::Outside, "{root}/a/./../../guide.md"),
    (Leads::Outside, "{root}/../../../../etc/passwd"),
    (Leads::Outside, "{root}/%2e%2e/guide.md"),
    (Leads::Outside, "{root}/%2E%2E/guide.md"),
    (Leads::Outside, "{root}/.%2e/guide.md"),
    (Leads::Outside, "{root}/%2E./guide.md"),
    (Leads::Outside, "{root}/a/%2e%2E/../guide.md"),
    (Leads::Outside, "x-{root}/guide.md"),
    (Leads::Outside, "file://{rest}/guide.md"),
    (Leads::Outside, "https://{rest}/guide.md"),
    (Leads::Outside, "file:///etc/passwd"),
    (Leads::Outside, "skill://other-skill/SKILL.md"),
    (
        Leads::Outside,
        "skill://{name}.evil.example/{name}/guide.md",
    ),
    (Leads::Outside, "skill://evil.example/{rest}/guide.md"),
    (Leads::Outside, "skill://{rest}@evil.example/guide.md"),
    (Leads::Outside, "urn:skill:{name}"),
    (Leads::Outside, "mailto:{name}@example.com"),
    (Leads::Outside, "data:text/plain,{name}"),
    (Leads::Disputed, "guide.md"),
    (Leads::Disputed, "./guide.md"),
    (Leads::Outside, "../guide.md"),
    (Leads::Outside, "/etc/passwd"),
    (Leads::Disputed, "//{rest}/guide.md"),
    (Leads::Disputed, ""),
    (Leads::Within, "{root}/guide-2.md"),
    (Leads::Within, "{root}/a/b/c/d/e/f/g/h.md"),
    (Leads::Within, "{root}/..guide"),
    (Leads::Within, "{root}/....md"),
    (Leads::Within, "{root}/a..b/c..d"),
    (Leads::Within, "{root}/{name}/SKILL.md"),
    (Leads::Within, "{root}/nested/other/SKILL.md"),
    (Leads::Within, "{root}/%252e%252e/guide.md"),
    (Leads::Within, "{root}/%E2%80%AEguide"),
    (Leads::Disputed, "{root}/a/../guide-2.md"),
    (Leads::Disputed, "{root}/./guide-2.md"),
    (Leads::Disputed, "{root}//guide-2.md"),
    (Leads::Disputed, "{root}/guide-2.md?x=1"),
    (Leads::Disputed, "{root}/guide-2.md#top"),
    (Leads::Disputed, "{root}/guide-2.md/"),
    (Leads::Disputed, "{root}/..%2fguide.md"),
    (Leads::Disputed, "{root}/..%5cguide.md"),
    (Leads::Disputed, "{root}/%00"),
    (Leads::Disputed, "{root}/a%2Fb.md"),
    (Leads::Disputed, "{root}/%67uide-2.md"),
    (Leads::Disputed, "{root}/skill.md"),
    (Leads::Disputed, "{root}/guide 2.md"),
    (Leads::Disputed, "{root}/g\u{202e}uide"),
    (Leads::Disputed, "{root}/\u{0}"),
    (Leads::Disputed, "{root}/%zz"),
    (Leads::Disputed, "{root}/%"),
    (Leads::Disputed, "{root}/é"),
    (Leads::Disputed, "{root}"),
    (Leads::Disputed, "{root}/"),
    (Leads::Disputed, "{root}\\..\\guide.md"),
    (Leads::Disputed, " {root}/guide.md"),
    (Leads::Disputed, "{root}/[x]"),
];

impl UriPlan {
    /// Every shape once.
    pub fn all() -> impl Iterator<Item = UriPlan> {
        (0..SHAPES.len())
            .filter_map(|at| u8::try_from(at).ok())
            .map(UriPlan)
    }

    /// The plan of a URI that leads there; always one, whatever the number.
    pub fn leading(self, leads: Leads) -> UriPlan {
        let fitting = || {
            SHAPES
                .iter()
                .enumerate()
                .filter(|(_, (kind, _))| *kind == leads)
        };
        let wanted = usize::from(self.0) % fitting().count().max(1);
        let at = fitting().nth(wanted).map_or(0, |(at, _)| at);
        UriPlan(u8::try_from(at).unwrap_or_default())
    }

    /// Where it leads, from a skill's root.
    pub fn leads(self, root: &str) -> Leads {
        let (leads, pattern) = *self.shape();
        let top = root
            .split_once("://")
            .is_none_or(|(_, rest)| !rest.contains('/'));
        let climbs = pattern.contains("..") || pattern.to_ascii_lowercase().contains("%2e");
        // Above the first segment there is nothing, and RFC 3986 drops a climb that leads there.
        if leads == Leads::Outside && top && climbs {
            Leads::Disputed
        } else {
            leads
        }
    }

    /// The URI, from a skill's root.
    pub fn text(self, root: &str) -> String {
        let name = root.rsplit('/').next().unwrap_or(root);
        let rest = root.split_once("://").map_or(root, |(_, rest)| rest);
        let shape = self.shape().1;
        shape
            .replace("{root}", root)
            .replace("{name}", name)
            .replace("{rest}", rest)
    }

    /// How it is written, before a root is filled in.
    pub fn pattern(self) -> &'static str {
        self.shape().1
    }

    fn shape(self) -> &'static (Leads, &'static str) {
        &SHAPES[usize::from(self.0) % SHAPES.len()]
    }
}
