//! What comes over the wire.

use bytes::Bytes;
use futures::StreamExt;
use sep2640_conform::fuzz::verifier;
use sep2640_conform::wire::Transport;
use sep2640_conform::wire::content::KEPT;
use sep2640_conform::wire::frame::{Direction, Frame, Parse};
use sep2640_conform::wire::jsonrpc;
use serde_json::value::RawValue;
use sse_stream::SseByteStream;

/// A frame is taken apart, agrees with another reader on what is JSON, and keeps no more than it
/// should.
pub fn frame(data: &[u8]) {
    let bytes = Bytes::copy_from_slice(data);
    let frame = Frame::new(0, Direction::Received, Transport::Stdio, None, bytes);
    assert!(frame.raw.len() <= KEPT && frame.len == data.len());
    if let Parse::Json(value) = &frame.parse {
        let _ = jsonrpc::kind(value);
        // By the grammar alone: half a surrogate pair is JSON, though no Unicode.
        let other: Result<Box<RawValue>, _> = serde_json::from_slice(data);
        assert!(other.is_ok(), "only one reader takes it for JSON");
        for pointer in &frame.repeated_keys {
            assert!(pointer.is_empty() || pointer.starts_with('/'), "{pointer}");
        }
    }
}

/// A stream of events means the same however it is cut into chunks.
pub fn sse(data: &[u8]) {
    let Some((first, rest)) = data.split_first() else {
        return;
    };
    let size = usize::from(*first % 64) + 1;
    let whole = events(vec![rest]);
    let cut = events(rest.chunks(size).collect());
    assert_eq!(whole, cut);
}

fn events(chunks: Vec<&[u8]>) -> Vec<(Option<String>, Option<String>)> {
    let chunks: Vec<Result<Bytes, std::io::Error>> = chunks
        .into_iter()
        .map(|chunk| Ok(Bytes::copy_from_slice(chunk)))
        .collect();
    let stream = SseByteStream::new(futures::stream::iter(chunks));
    let taken = stream.take_while(|event| std::future::ready(event.is_ok()));
    let events = taken.filter_map(|event| std::future::ready(event.ok()));
    futures::executor::block_on(events.map(|event| (event.id, event.data)).collect())
}

/// A line of a verifier is an answer or it is not; either way it is shown in bounds.
pub fn verifier_answer(data: &[u8]) {
    let (_, observed) = verifier::read_answer(data);
    assert!(!observed.word().is_empty());
}
