//! `resources/directory/read`.

use super::{Call, Outcome, resources};
use crate::message::RpcError;
use crate::paging::Pages;
use crate::server::Server;
use crate::uri::show;

pub(super) fn read(server: &Server, call: &Call) -> Outcome {
    let uri = call.uri()?;
    let catalog = server.view(call);
    let Some(directory) = catalog.directories.get(uri) else {
        let shown = show(uri);
        return Err(RpcError::invalid_params(
            if catalog.files.contains_key(uri) {
                format!("{shown} is a file, not a directory")
            } else {
                format!("no directory has the URI {shown}")
            },
        ));
    };
    let pages = Pages {
        method: "resources/directory/read",
        scope: uri,
        total: directory.children.len(),
        size: server.options.page_size,
    };
    resources::page(&pages, &directory.children, call)
}
