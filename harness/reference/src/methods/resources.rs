//! `resources/list`, `resources/templates/list` and `resources/read`.

use std::sync::atomic::Ordering;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::{Call, Outcome, with};
use crate::catalog::File;
use crate::message::{Era, RpcError};
use crate::paging::Pages;
use crate::server::Server;
use crate::tree::COUNTER;
use crate::uri::show;

/// The pages of `resources/list`.
pub(crate) fn pages(server: &Server) -> Pages<'static> {
    Pages {
        method: "resources/list",
        scope: "",
        total: server.catalog.resources.len(),
        size: server.options.page_size,
    }
}

pub(super) fn list(server: &Server, call: &Call) -> Outcome {
    let resources = &server.view(call).resources;
    let pages = Pages {
        total: resources.len(),
        ..pages(server)
    };
    page(&pages, resources, call)
}

/// A page of resource metadata.
pub(super) fn page(pages: &Pages<'_>, resources: &[Value], call: &Call) -> Outcome {
    let start = pages.start(call.cursor())?;
    let resources = resources[start..pages.end(start)].to_vec();
    let mut result = with("resources", Value::Array(resources));
    if let Some(cursor) = pages.next(start) {
        result["nextCursor"] = json!(cursor);
    }
    Ok(result)
}

pub(super) fn templates(call: &Call) -> Outcome {
    let pages = Pages {
        method: "resources/templates/list",
        scope: "",
        total: 0,
        size: 1,
    };
    pages.start(call.cursor())?;
    Ok(json!({"resourceTemplates": []}))
}

pub(super) fn read(server: &Server, call: &Call) -> Outcome {
    let uri = call.uri()?;
    let Some(file) = server.view(call).files.get(uri) else {
        return Err(not_found(uri, call.era));
    };
    let contents = vec![content(server, uri, file)];
    Ok(with("contents", Value::Array(contents)))
}

/// The error for a resource that does not exist.
pub(crate) fn not_found(uri: &str, era: Era) -> RpcError {
    let code = match era {
        Era::Modern => -32602,
        Era::Legacy => -32002,
    };
    RpcError::new(code, format!("no resource has the URI {}", show(uri)))
}

/// A file as an item of `contents`. Only what is valid UTF-8 is sent as text:
/// everything else would not survive.
pub(crate) fn content(server: &Server, uri: &str, file: &File) -> Value {
    let mut content = json!({"uri": uri, "mimeType": file.mime});
    match std::str::from_utf8(&file.bytes) {
        Ok(text) if file.changing => {
            let count = server.reads.fetch_add(1, Ordering::Relaxed) + 1;
            content["text"] = json!(text.replace(COUNTER, &format!("{count:06}")));
        }
        Ok(text) => content["text"] = json!(text),
        Err(_) => content["blob"] = json!(STANDARD.encode(&file.bytes)),
    }
    content
}
