//! The built-in tree: small, strictly conforming, and with one example of
//! everything a skill may look like.

use crate::tree::{COUNTER, SkillRoot, Tree};

/// URI of the built-in skill that is served without being listed.
pub const UNLISTED_SKILL: &str = "skill://internal/on-call/SKILL.md";

/// Builds the built-in tree.
pub(crate) fn tree() -> Tree {
    let mut tree = Tree::default();
    for (path, bytes) in FILES {
        tree.add(*path, *bytes);
    }
    tree.directories.insert("pdf-processing/drafts".to_owned());
    tree.skills = [
        "git-workflow",
        "acme/billing/refunds",
        "pdf-processing",
        "pdf-processing/merge-helper",
        "reports/daily",
        "release-notes",
        "triage-inbox",
    ]
    .map(SkillRoot::listed)
    .into();
    tree.skills.push(SkillRoot {
        listed: false,
        ..SkillRoot::listed("internal/on-call")
    });
    for skill in &mut tree.skills {
        skill.dynamic = skill.path == "reports/daily";
    }
    debug_assert!(
        tree.files["reports/daily/SKILL.md"]
            .windows(COUNTER.len())
            .any(|window| window == COUNTER.as_bytes())
    );
    tree
}

const FILES: &[(&str, &[u8])] = &[
    (
        "git-workflow/SKILL.md",
        b"---
name: git-workflow
description: Branch, commit and open pull requests the way this team does. Use when a change is about to be committed or pushed.
license: Apache-2.0
---
# Git workflow

1. Branch from `main` and name the branch after the ticket.
2. Keep each commit to one change and say why in its message.
3. Rebase before opening the pull request.
",
    ),
    (
        "acme/billing/refunds/SKILL.md",
        b"---
name: refunds
description: Handle customer refund requests within policy. Use when a customer asks for money back.
compatibility: Needs read access to the billing system
metadata:
  author: acme-billing
  version: \"1.0\"
allowed-tools: Read Bash(jq:*)
---
# Refunds

Look the order up, check that it is younger than 30 days, then write to the
customer along the lines of [the example](examples/email.md).
",
    ),
    (
        "acme/billing/refunds/examples/email.md",
        b"Hello,

your refund of 20 EUR is on its way and will arrive within five days.

Kind regards
",
    ),
    ("pdf-processing/SKILL.md", PDF.as_bytes()),
    (
        "pdf-processing/references/FORMS.md",
        b"# Forms\r\n\r\nField names are case-sensitive.\r\nFlatten a form only after it was filled.\r\n",
    ),
    (
        "pdf-processing/references/Quick start \u{e9}.md",
        "# Démarrage rapide\n\nOuvrez le fichier, puis lancez l'extraction — c'est tout.\n".as_bytes(),
    ),
    (
        "pdf-processing/scripts/extract.py",
        b"#!/usr/bin/env python3
\"\"\"Prints how many bytes a file has.\"\"\"
import sys

with open(sys.argv[1], \"rb\") as source:
    print(len(source.read()))
",
    ),
    (
        "pdf-processing/templates/invoice.md",
        b"# Invoice {{number}}\n\nTotal: {{total}}\n",
    ),
    (
        "pdf-processing/templates/purchase-order.md",
        b"# Purchase order {{number}}\n\nSupplier: {{supplier}}\n",
    ),
    (
        "pdf-processing/templates/regional/eu-invoice.md",
        b"# Invoice {{number}}\n\nVAT id: {{vat}}\nTotal: {{total}}\n",
    ),
    (
        "pdf-processing/assets/logo.png",
        b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89",
    ),
    ("pdf-processing/assets/empty.txt", b""),
    ("pdf-processing/assets/.keep", b"kept\n"),
    (
        "pdf-processing/merge-helper/SKILL.md",
        b"---
name: merge-helper
description: Merge several PDF files into one. Use when documents have to be combined.
---
# Merge helper

Follow [the steps](steps.md) in their order.
",
    ),
    (
        "pdf-processing/merge-helper/steps.md",
        b"1. Sort the files by name.\n2. Merge them.\n3. Check the page count.\n",
    ),
    (
        "reports/daily/SKILL.md",
        b"---
name: daily
description: Write the daily report from live figures. Use when somebody asks how today went.
---
# Daily report

Reading number {counter} of these instructions. The figures are in
[data.json](data.json).
",
    ),
    (
        "reports/daily/data.json",
        b"{\"visits\": 128, \"orders\": 7}\n",
    ),
    (
        "release-notes/SKILL.md",
        b"---
name: release-notes
description: Draft release notes from merged changes. Use when a version is about to be published.
license: MIT
metadata:
  audience: maintainers
---
# Release notes

Group the changes by kind and keep to [the style](references/style.md).
",
    ),
    (
        "release-notes/references/style.md",
        b"- Start with what changes for the reader.\n- One line per change.\n",
    ),
    (
        "release-notes/templates/minor.md",
        b"## {{version}}\n\n### Added\n\n### Fixed\n",
    ),
    (
        "triage-inbox/SKILL.md",
        b"---
name: triage-inbox
description: Sort incoming issues by urgency. Use when a queue of reports has to be worked through.
---
# Triage

Ask for a way to reproduce first, then set a label.
",
    ),
    (
        "internal/on-call/SKILL.md",
        b"---
name: on-call
description: What to do when the pager goes off. Use during an incident.
---
# On call

Work down [the checklist](checklist.md) and write down the time of each step.
",
    ),
    (
        "internal/on-call/checklist.md",
        b"- Acknowledge the page.\n- Open the incident channel.\n- Look at the last deployment.\n",
    ),
];

/// Its extra field holds a value of every YAML kind.
const PDF: &str = "---
name: pdf-processing
description: Extract text from PDF documents, fill forms and merge files. Use when a PDF has to be read or written.
license: Apache-2.0
compatibility: Needs Python 3.11 or newer
x-examples:
  languages:
    - de
    - fr
  pages: 12
  ratio: 0.75
  ocr: true
  fallback: null
  note: |
    The first line.
    The second line.
  greeting: \"Grüße, 世界\"
---
# PDF processing

Run `scripts/extract.py`, read [about forms](references/FORMS.md) before filling
one, and pick a template from `templates/`.
";
