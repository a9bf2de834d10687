//! Faults in what the client sends and how it reads answers.

use crate::faults::Fault;

pub(super) const FAULTS: &[Fault] = &[
    Fault::host(
        "sep-2640-client-authority-not-resolved",
        "connects to the host and port in the authority of a skill's URI before it loads the skill",
    ),
    Fault::host(
        "sep-2640-client-cache-reuse",
        "answers a second skills/get from the result of the first, whatever its uri",
    )
    .modern(),
    Fault::host(
        "sep-2640-client-cursor-invalid-restart",
        "keeps a partial listing when a cursor has become invalid",
    )
    .modern(),
    Fault::host(
        "sep-2640-client-cursor-not-persisted",
        "keeps a cursor on disk and lists from there after a restart",
    )
    .legacy(),
    Fault::host(
        "sep-2640-client-directory-read-gated",
        "sends resources/directory/read to a server whose settings are empty",
    ),
    Fault::host(
        "sep-2640-client-directory-read-gated/false",
        "sends resources/directory/read to a server that declares directoryRead false",
    ),
    Fault::host(
        "sep-2640-client-directory-read-gated/no-extension",
        "sends resources/directory/read to a server without the extension",
    ),
    Fault::host(
        "sep-2640-client-directory-read-gated/words",
        "sends resources/directory/read to a server that declares directoryRead \"true\" or 1",
    ),
    Fault::host(
        "sep-2640-client-directory-read-request",
        "writes a directory's URI with a trailing slash",
    ),
    Fault::host(
        "sep-2640-client-directory-read-request/page",
        "asks for the next page of a directory without its URI",
    ),
    Fault::host(
        "sep-2640-client-get-uri-skillmd",
        "asks skills/get for the directory of a skill before it asks for the skill",
    ),
    Fault::host(
        "sep-2640-client-legacy-not-found",
        "takes -32002 for the end of the connection",
    ),
    Fault::host(
        "sep-2640-client-methods-gated",
        "sends skills/list to servers without the extension",
    ),
    Fault::host(
        "sep-2640-client-methods-gated/get",
        "sends skills/get to servers without the extension",
    ),
    Fault::host(
        "sep-2640-client-no-private-methods",
        "sends skills/search on connecting",
    ),
    Fault::host(
        "sep-2640-client-pagination-end",
        "sends the last cursor once more after the last page",
    ),
    Fault::host(
        "sep-2640-client-pagination-followed",
        "takes an empty page for the last one",
    ),
    Fault::host(
        "sep-2640-client-pagination-followed/empty-cursor",
        "takes an empty cursor for the end",
    ),
    Fault::host(
        "sep-2640-client-pagination-followed/rewritten",
        "trims cursors before it sends them back",
    ),
    Fault::host(
        "sep-2640-client-relative-reference-resolution",
        "resolves references against the root of the scheme",
    ),
    Fault::host(
        "sep-2640-client-relative-reference-resolution/nested",
        "resolves the references of a nested SKILL.md against the outer skill",
    ),
    Fault::host(
        "sep-2640-client-result-type/entries",
        "takes listings and entries of unknown result types",
    )
    .modern(),
    Fault::host(
        "sep-2640-client-result-type",
        "uses results whose resultType it does not know",
    )
    .modern(),
    Fault::host(
        "sep-2640-client-ttl-honoured",
        "goes on using a listing after its ttlMs has run out",
    )
    .modern(),
    Fault::host(
        "sep-2640-client-ttl-honoured/poll",
        "lists again by itself whenever ttlMs has run out",
    )
    .modern(),
];
