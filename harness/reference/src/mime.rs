//! MIME types by file extension.

/// The type announced for a file. What is not known by its extension is judged
/// by its content, so that bytes that are not text are never called text.
pub(crate) fn of(name: &str, bytes: &[u8]) -> &'static str {
    let text = std::str::from_utf8(bytes).is_ok();
    let extension = name
        .rsplit_once('.')
        .map(|(_, extension)| extension.to_ascii_lowercase());
    let known = match extension.as_deref().unwrap_or("") {
        "md" | "markdown" => "text/markdown",
        "txt" => "text/plain",
        "py" => "text/x-python",
        "sh" => "text/x-shellscript",
        "js" | "mjs" => "text/javascript",
        "ts" => "text/x-typescript",
        "rs" => "text/x-rust",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "xml" => "application/xml",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "svg" => "image/svg+xml",
        "webp" => "image/webp",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        _ => "",
    };
    if !known.is_empty() && (text || !known.starts_with("text/")) {
        known
    } else if text {
        "text/plain"
    } else {
        "application/octet-stream"
    }
}

#[cfg(test)]
mod tests {
    use super::of;

    #[test]
    fn bytes_that_are_not_text_are_not_called_text() {
        assert_eq!(of("a.md", b"# x"), "text/markdown");
        assert_eq!(of("a.md", b"\xff\xfe"), "application/octet-stream");
        assert_eq!(of("logo.png", b"\x89PNG\xff"), "image/png");
        assert_eq!(of(".keep", b""), "text/plain");
    }
}
