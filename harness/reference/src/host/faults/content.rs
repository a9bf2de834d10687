//! Faults in how content is fetched, verified, read and kept.

use crate::faults::Fault;

pub(super) const FAULTS: &[Fault] = &[
    Fault::host(
        "sep-2640-directory-read-not-manifest-extension",
        "shows children of a directory that the held manifest lacks",
    ),
    Fault::host(
        "sep-2640-directory-read-not-manifest-extension/read",
        "reads children of a directory that the held manifest lacks",
    ),
    Fault::host(
        "sep-2640-host-acting-window",
        "ends the window of a skill when another is loaded",
    ),
    Fault::host(
        "sep-2640-host-acting-window/short",
        "ends the window of a skill after five reads",
    ),
    Fault::host(
        "sep-2640-host-cache-excluded-from-discovery",
        "keeps its cache where it discovers local skills",
    ),
    Fault::host(
        "sep-2640-host-cache-path-encodes-origin/label",
        "makes cache paths from labels that lose case and signs",
    ),
    Fault::host(
        "sep-2640-host-cache-path-encodes-origin/uri",
        "makes cache paths from URIs that lose signs",
    ),
    Fault::host(
        "sep-2640-host-cache-path-encodes-origin",
        "makes cache paths from the URI alone",
    ),
    Fault::host(
        "sep-2640-host-cache-path-encodes-origin/mount",
        "makes mount paths from the URI alone",
    ),
    Fault::host(
        "sep-2640-host-cache-removal-on-server-removal",
        "keeps the cached files of a removed server",
    ),
    Fault::host(
        "sep-2640-host-cache-reverified",
        "serves cached files without hashing them",
    ),
    Fault::host(
        "sep-2640-host-cache-reverified/label",
        "compares the digest stored beside a cached file",
    ),
    Fault::host(
        "sep-2640-host-cache-stale-refetched",
        "serves cached files whose digest the entry no longer has",
    ),
    Fault::host(
        "sep-2640-host-cache-verified-content",
        "fetches a file each time it is read",
    ),
    Fault::host(
        "sep-2640-host-cache-write-isolation",
        "lets everyone write to the cache that it calls its own",
    ),
    Fault::host(
        "sep-2640-host-cache-write-isolation/in-place",
        "rewrites cached files in place",
    ),
    Fault::host(
        "sep-2640-host-directory-change-presented",
        "refuses files that only a directory shows as not found",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison",
        "compares only the name in the frontmatter",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison/case",
        "compares the frontmatter without regard to case",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison/value",
        "compares only name and description in the frontmatter",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison/blob",
        "compares the frontmatter of text only, not of blobs",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison/cache",
        "does not compare the frontmatter of a cached SKILL.md",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison/unreadable",
        "passes over frontmatter that cannot be read",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison/extra",
        "ignores fields that only SKILL.md has",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison/missing",
        "ignores fields that only the entry has",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison/nested",
        "does not look into metadata",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison/retyped",
        "compares scalars of the frontmatter as text",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison/dynamic",
        "does not compare the frontmatter of dynamic skills",
    ),
    Fault::host(
        "sep-2640-host-frontmatter-comparison/get",
        "does not compare the frontmatter of entries from skills/get",
    ),
    Fault::host(
        "sep-2640-host-generic-read-presentation",
        "presents a SKILL.md read as a resource like a loaded skill",
    ),
    Fault::host(
        "sep-2640-host-inspect-before-load",
        "shows only name and description of a skill that is not loaded",
    ),
    Fault::host(
        "sep-2640-host-limit-decline-explained",
        "declines oversized skills without a reason",
    ),
    Fault::host(
        "sep-2640-host-limit-enforced",
        "fetches SKILL.md before it declines an oversized skill",
    ),
    Fault::host(
        "sep-2640-host-no-prefetch",
        "reads each SKILL.md on connecting",
    ),
    Fault::host(
        "sep-2640-host-no-prefetch/load",
        "reads the supporting files when a skill is loaded",
    ),
    Fault::host(
        "sep-2640-host-no-prefetch/later",
        "reads all files a moment after the load",
    ),
    Fault::host(
        "sep-2640-host-no-prefetch/idle",
        "reads files a second after it was connected, when nobody asks for anything",
    ),
    Fault::host(
        "sep-2640-host-no-prefetch/reload",
        "reads each SKILL.md when one is loaded from the cache",
    ),
    Fault::host(
        "sep-2640-host-no-prefetch/approve",
        "fetches a skill before its load is approved",
    ),
    Fault::host(
        "sep-2640-host-reads-via-resources-read",
        "decodes the percent escapes of a URI before it reads it",
    ),
    Fault::host(
        "sep-2640-host-reads-via-resources-read/native",
        "fetches files of http skills with GET",
    ),
    Fault::host(
        "sep-2640-host-recovery-by-refresh",
        "repeats a read three times before it refreshes the entry",
    ),
    Fault::host(
        "sep-2640-host-recovery-by-refresh/old-set",
        "goes by the old set after a refresh",
    ),
    Fault::host(
        "sep-2640-host-registry-no-fetch",
        "fetches each SKILL.md for list",
    ),
    Fault::host(
        "sep-2640-host-size-mismatch-failure",
        "does not compare sizes",
    ),
    Fault::host(
        "sep-2640-host-size-mismatch-failure/reference",
        "does not compare the sizes of files that are read by a relative reference",
    ),
    Fault::host(
        "sep-2640-host-size-mismatch-failure/zero",
        "does not compare a size of zero",
    ),
    Fault::host(
        "sep-2640-host-surface-directory-read",
        "does not offer directory reading",
    ),
    Fault::host(
        "sep-2640-host-unlisted-read",
        "reads unlisted files of a skill",
    ),
    Fault::host(
        "sep-2640-host-unlisted-read/query",
        "asks for a listed file with a query, and does not verify it",
    ),
    Fault::host(
        "sep-2640-host-unlisted-read/reference",
        "reads unlisted files to which a relative reference leads",
    ),
    Fault::host(
        "sep-2640-host-unlisted-read/request-only",
        "requests unlisted files of a skill and throws them away",
    ),
    Fault::host(
        "sep-2640-host-verify-digest",
        "does not compare the digest of SKILL.md",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/file",
        "does not compare the digests of supporting files",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/blob",
        "does not compare the digests of binary content",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/get",
        "does not compare digests of skills known from skills/get only",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/prefix",
        "compares eight digits of a digest",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/by-handle",
        "does not verify skills that are loaded by handle",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/reference",
        "does not compare the digests of files that are read by a relative reference",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/line-ends",
        "hashes files with plain line feeds for line ends",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/mark",
        "hashes files without a byte order mark",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/composed",
        "hashes files in composed Unicode",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/open-end",
        "hashes files with a line feed at their end",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/malformed",
        "takes a malformed or missing digest for nothing to check",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/inspect",
        "shows the user content that fails verification as verified",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/other-blocks",
        "hands over all content of an answer when that of the file is right",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/short",
        "compares as many digits as the listed digest has",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/algorithm",
        "passes over digests of other algorithms",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/first-block",
        "takes the first block of content, whatever its URI",
    ),
    Fault::host(
        "sep-2640-host-verify-digest/cache",
        "keeps content that failed and hands it over the next time",
    ),
    Fault::host(
        "sep-2640-host-virtual-mount-lazy",
        "fetches all files for a mount",
    ),
    Fault::host(
        "sep-2640-limit-host-support",
        "declines skills of more than 256 files",
    ),
    Fault::host(
        "sep-2640-limit-host-support/total",
        "declines skills of more than 8 MiB",
    ),
    Fault::host(
        "sep-2640-nested-skillmd-not-acted-on",
        "grants the tools of a nested SKILL.md that is read as a file",
    ),
    Fault::host(
        "sep-2640-nested-skillmd-not-acted-on/granted",
        "grants the tools of a nested SKILL.md that is read when those of the outer skill are granted",
    ),
    Fault::host(
        "sep-2640-nested-skillmd-not-acted-on/window",
        "opens an acting window for a nested SKILL.md that is read as a file",
    ),
    Fault::host(
        "sep-2640-nested-skillmd-not-acted-on/kind",
        "presents a nested SKILL.md that is read as a file like a loaded skill",
    ),
    Fault::host(
        "sep-2640-read-is-not-a-load",
        "opens an acting window for a SKILL.md read as a resource",
    ),
    Fault::host(
        "sep-2640-read-is-not-a-load/inspect",
        "takes a look at a skill for the approval of its load",
    ),
    Fault::host(
        "sep-2640-read-is-not-a-load/neighbour",
        "opens an acting window for another skill's SKILL.md that is read as a file",
    ),
    Fault::host(
        "sep-2640-read-is-not-a-load/neighbour-approval",
        "counts reading another skill's SKILL.md as a file for the approval of its load",
    ),
    Fault::host(
        "sep-2640-read-is-not-a-load/neighbour-kind",
        "presents another skill's SKILL.md that is read as a file like a loaded skill",
    ),
    Fault::host(
        "sep-2640-read-is-not-a-load/approval",
        "counts reading a SKILL.md as approval of its load",
    ),
];
