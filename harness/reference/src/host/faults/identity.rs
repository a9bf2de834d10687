//! Faults in which skills there are, and what they are called.

use crate::faults::Fault;

pub(super) const FAULTS: &[Fault] = &[
    Fault::host(
        "sep-2640-host-collisions-surfaced",
        "says nothing when skills of two origins share a name",
    ),
    Fault::host(
        "sep-2640-host-cross-origin-no-shadow",
        "gives a bare name to the server that was connected last",
    ),
    Fault::host(
        "sep-2640-host-cross-origin-no-shadow/local",
        "gives an MCP skill the handle of a local skill",
    ),
    Fault::host(
        "sep-2640-host-cross-origin-no-shadow/later",
        "gives the handle of an MCP skill to a local skill that comes later, without a word",
    ),
    Fault::host(
        "sep-2640-host-cross-origin-no-shadow/substitute",
        "gives the name of a disconnected server's skill to another server's skill",
    ),
    Fault::host(
        "sep-2640-host-cross-origin-no-shadow/uri",
        "loads the local skill where an MCP skill of its name was asked for by URI",
    ),
    Fault::host(
        "sep-2640-host-cross-origin-no-shadow/vanish",
        "hides a local skill when a server lists its name",
    ),
    Fault::host(
        "sep-2640-host-disambiguate-listing-collision",
        "drops the second of two skills of one name in a listing",
    ),
    Fault::host(
        "sep-2640-host-disambiguate-listing-collision/same-handle",
        "shows two skills of a listing under one handle",
    ),
    Fault::host(
        "sep-2640-host-disambiguate-listing-collision/first",
        "loads the first of two skills of one name in a listing",
    ),
    Fault::host(
        "sep-2640-host-empty-settings-supported",
        "ignores servers whose settings are empty",
    ),
    Fault::host(
        "sep-2640-host-invalid-entry-isolated",
        "loses the whole listing over one invalid entry",
    ),
    Fault::host(
        "sep-2640-host-label-not-serverinfo-name",
        "names servers that call themselves alike by what they call themselves",
    ),
    Fault::host(
        "sep-2640-host-label-not-serverinfo-name/context",
        "labels content with what the server calls itself",
    ),
    Fault::host(
        "sep-2640-host-load-by-uri",
        "refuses URIs that the listing lacks",
    ),
    Fault::host(
        "sep-2640-host-moving-catalog",
        "registers an entry twice that stands on two pages",
    ),
    Fault::host(
        "sep-2640-host-nested-entry-separate",
        "hides entries that lie below another entry's directory",
    ),
    Fault::host(
        "sep-2640-host-no-empty-listing-assumption",
        "refuses URIs of a server whose listing is empty",
    ),
    Fault::host(
        "sep-2640-host-no-empty-listing-assumption/failed",
        "refuses URIs of a server whose listing failed",
    ),
    Fault::host(
        "sep-2640-host-not-skill-by-scheme",
        "takes each skill://…/SKILL.md of resources/list for a skill",
    ),
    Fault::host(
        "sep-2640-host-origin-shown",
        "does not name the server where it shows a skill",
    ),
    Fault::host(
        "sep-2640-host-reference-confirmed",
        "loads URIs that no listing has without asking skills/get",
    ),
    Fault::host(
        "sep-2640-host-reference-confirmed/error",
        "loads the raw content when skills/get answers with an error",
    ),
    Fault::host(
        "sep-2640-host-reference-confirmed/other",
        "loads an entry whose URI is another",
    ),
    Fault::host(
        "sep-2640-host-reserved-metadata-ignored",
        "refuses skills with unknown keys in the reserved part of metadata",
    ),
    Fault::host(
        "sep-2640-host-skill-identity-pair",
        "keys the registry by the URI alone",
    ),
    Fault::host(
        "sep-2640-host-skill-identity-pair/approval",
        "keys approvals of loads by the URI alone",
    ),
    Fault::host(
        "sep-2640-host-skill-identity-pair/cache",
        "looks content up in the cache by the URI alone",
    ),
    Fault::host(
        "sep-2640-host-skill-identity-pair/pick",
        "takes the first server when several have the URI",
    ),
    Fault::host(
        "sep-2640-host-unknown-frontmatter-accepted",
        "refuses entries with frontmatter fields that it does not know",
    ),
    Fault::host(
        "sep-2640-names-not-unique",
        "loads the last of two skills of one name for either URI",
    ),
    Fault::host(
        "sep-2640-resources-invalid-entry",
        "takes a missing resources for a dynamic skill",
    ),
    Fault::host(
        "sep-2640-resources-invalid-entry/get",
        "loads skills whose entry from skills/get has no resources",
    ),
    Fault::host(
        "sep-2640-resources-invalid-entry/type",
        "takes any value of resources but an array for a dynamic skill",
    ),
    Fault::host(
        "sep-2640-resources-invalid-entry/empty",
        "takes an empty manifest for that of a dynamic skill",
    ),
    Fault::host(
        "sep-2640-resources-invalid-entry/case",
        "takes \"Dynamic\" for \"dynamic\"",
    ),
    Fault::host(
        "sep-2640-resources-invalid-entry/no-skillmd",
        "loads SKILL.md unverified when the manifest lacks it",
    ),
    Fault::host(
        "sep-2640-resources-invalid-entry/outside",
        "reads files outside the skill that the manifest lists",
    ),
    Fault::host(
        "sep-2640-resources-invalid-entry/duplicate",
        "accepts either of two digests for one URI",
    ),
];
