//! Faults in whom the host trusts, what it asks, and what it runs.

use crate::faults::Fault;

pub(super) const FAULTS: &[Fault] = &[
    Fault::host(
        "sep-2640-host-annotations-no-semantics",
        "skips verification where _meta says verified",
    ),
    Fault::host(
        "sep-2640-host-annotations-no-semantics/approval",
        "skips the question before execution where _meta says verified",
    ),
    Fault::host(
        "sep-2640-host-cache-durable-origin",
        "runs tools unasked for cached skills after a restart",
    ),
    Fault::host(
        "sep-2640-host-cache-durable-origin/adopted",
        "offers the skills of a disconnected server as its own",
    ),
    Fault::host(
        "sep-2640-host-cache-durable-origin/disconnected",
        "runs tools unasked for skills whose server is disconnected",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval",
        "binds approvals to URIs and not to digests",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval/added",
        "keeps approvals when files are added",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval/removed",
        "keeps approvals when files are removed",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval/nested",
        "leaves files of nested skills out of the comparison",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval/list",
        "does not compare entries from skills/list",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval/get",
        "does not compare entries from skills/get",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval/command",
        "keeps allowed commands when a skill has changed",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval/execute",
        "keeps the approval to execute when a skill has changed",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval/dynamic",
        "keeps approvals when a skill becomes dynamic",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval/names",
        "binds approvals to digests and not to URIs",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval/session",
        "compares an approval with the entry only once in a session",
    ),
    Fault::host(
        "sep-2640-host-content-bound-approval/grant",
        "keeps the grant of tools when a skill has changed",
    ),
    Fault::host(
        "sep-2640-host-cross-origin-read-approval",
        "reads from another server without asking",
    ),
    Fault::host(
        "sep-2640-host-cross-origin-read-approval/file",
        "asks once for each file of another server",
    ),
    Fault::host(
        "sep-2640-host-cross-origin-read-approval/remembered",
        "asks once for all reads from another server",
    ),
    Fault::host(
        "sep-2640-host-cross-origin-read-approval/unnamed",
        "does not name the other server when it asks",
    ),
    Fault::host(
        "sep-2640-host-dynamic-not-content-bound",
        "presents dynamic skills as verified",
    ),
    Fault::host(
        "sep-2640-host-dynamic-not-content-bound/grant",
        "stores grants of dynamic skills",
    ),
    Fault::host(
        "sep-2640-host-dynamic-not-content-bound/stored",
        "stores approvals of dynamic skills",
    ),
    Fault::host(
        "sep-2640-host-dynamic-not-content-bound/file",
        "presents files of dynamic skills as verified",
    ),
    Fault::host(
        "sep-2640-host-dynamic-not-content-bound/execute",
        "stores approvals to execute for dynamic skills",
    ),
    Fault::host(
        "sep-2640-host-exec-gate-while-acting/bundled",
        "runs commands unasked that name a file of the skill",
    ),
    Fault::host(
        "sep-2640-host-exec-gate-while-acting",
        "runs tools unasked while it acts on an MCP skill",
    ),
    Fault::host(
        "sep-2640-host-exec-gate-while-acting/released",
        "runs tools on the approval of a skill that has left the context when the call names no skill",
    ),
    Fault::host(
        "sep-2640-host-exec-gate-while-acting/unattributed",
        "runs tools unasked when the call names no skill",
    ),
    Fault::host(
        "sep-2640-host-ignore-allowed-tools",
        "puts allowed-tools in force on loading",
    ),
    Fault::host(
        "sep-2640-host-ignore-allowed-tools/others",
        "keeps a grant in force after the skill it was for is released",
    ),
    Fault::host(
        "sep-2640-host-ignore-allowed-tools/other-server",
        "keys grants by the URI alone",
    ),
    Fault::host(
        "sep-2640-host-ignore-allowed-tools/outer",
        "puts the tools of a nested skill in force when those of the outer skill are granted",
    ),
    Fault::host(
        "sep-2640-host-ignore-allowed-tools/more",
        "grants all tools that a skill asks for when the user was asked for one",
    ),
    Fault::host(
        "sep-2640-host-ignore-allowed-tools/load-approval",
        "counts the approval of a load as a grant",
    ),
    Fault::host(
        "sep-2640-host-ignore-allowed-tools/nested",
        "grants the tools of a nested skill unasked",
    ),
    Fault::host(
        "sep-2640-host-nested-fresh-consent",
        "loads nested skills under the approval of the outer skill",
    ),
    Fault::host(
        "sep-2640-host-nested-fresh-consent/released",
        "loads nested skills unasked when the approved outer skill is released",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution",
        "runs a hook of the frontmatter on loading",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/command",
        "runs for any skill a command that was allowed for one",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/approved-tool",
        "runs the hooks of all skills around an allowed tool",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/disconnect",
        "runs a hook of the frontmatter on disconnecting",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/denied",
        "runs tools although the user has denied it",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/other-skill",
        "runs tools for one skill on the approval of another",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/other-server",
        "keys approvals to execute by the URI alone",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/outer",
        "runs tools for a nested skill on the approval of the outer skill",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/server",
        "runs tools on the approval of the server",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/after-release",
        "runs a hook of the frontmatter on release",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/body",
        "runs commands that the text of a skill has filled in",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/nested",
        "runs hooks of a nested SKILL.md that is read as a file",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/session",
        "runs a hook of the frontmatter when skills are listed",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-local-execution/tool",
        "runs a hook of the frontmatter before a tool",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-permission-grants",
        "puts permissions and additional-directories in force on loading",
    ),
    Fault::host(
        "sep-2640-host-no-implicit-permission-grants/metadata",
        "puts tools in force that metadata names",
    ),
    Fault::host(
        "sep-2640-host-origin-tag-visible",
        "puts SKILL.md into context without its origin",
    ),
    Fault::host(
        "sep-2640-host-origin-tag-visible/file",
        "puts supporting files into context without their origin",
    ),
    Fault::host(
        "sep-2640-host-origin-tag-visible/local",
        "presents MCP skills like local ones",
    ),
    Fault::host(
        "sep-2640-host-reads-bound-to-origin",
        "reads from whichever server lists a skill with the URI",
    ),
    Fault::host(
        "sep-2640-host-reads-bound-to-origin/fallback",
        "reads from another server what its own lacks",
    ),
    Fault::host(
        "sep-2640-host-skills-are-data",
        "puts skills into context in the role of the system",
    ),
    Fault::host(
        "sep-2640-host-skills-are-data/developer",
        "puts skills into context in the role of the developer",
    ),
    Fault::host(
        "sep-2640-host-untrusted-input",
        "marks skills from servers as trusted",
    ),
    Fault::host(
        "sep-2640-host-user-policy",
        "loads skills that the user's policy forbids",
    ),
    Fault::host(
        "sep-2640-host-user-policy/uri",
        "keeps the user's policy by the URI alone",
    ),
    Fault::host(
        "sep-2640-host-user-policy/declined",
        "loads a declined skill when it is asked for again",
    ),
];
