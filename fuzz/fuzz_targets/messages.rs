//! Messages above SCTP: those of files and folders, and the frames of a tunnel.
#![no_main]

#[path = "../../crates/byway-cli/src/net/entry.rs"]
#[expect(dead_code, reason = "reading and writing is what is asked here")]
mod entry;
#[path = "../../crates/byway-cli/src/net/tunnel/frame.rs"]
#[expect(dead_code, reason = "reading and writing is what is asked here")]
mod frame;
#[path = "../../crates/byway-cli/src/net/names.rs"]
#[expect(dead_code, reason = "reading and writing is what is asked here")]
mod names;
#[path = "../../crates/byway-cli/src/net/protocol.rs"]
#[expect(dead_code, reason = "reading and writing is what is asked here")]
mod protocol;

use bytes::Bytes;
use entry::What;
use frame::Frame;
use libfuzzer_sys::fuzz_target;
use protocol::Note;
use std::path::{Component, Path};

fuzz_target!(|data: &[u8]| {
    let Some((&how, data)) = data.split_first() else {
        return;
    };
    let message = Bytes::copy_from_slice(data);
    match how & 1 {
        0 => file(&message),
        _ => tunnel(message),
    }
});

/// What was read is read again as it was written, and leads nowhere but below the receiver's folder.
fn file(message: &Bytes) {
    let Ok(note) = Note::decode(message) else {
        return;
    };
    if let Note::Refuse { reason: text } | Note::Seen { addresses: text } = &note {
        // It is escaped as it is read, and may be longer then.
        assert!(!text.chars().any(steers), "{text:?}");
        return;
    }
    let again = Note::decode(&note.encode());
    assert_eq!(again.as_ref(), Ok(&note));
    match &note {
        Note::Offer { name, .. } | Note::Folder { name, .. } => {
            assert_eq!(below(name), Some(1), "{name:?}");
        }
        Note::Entry(entry) => {
            // The folder itself has no path.
            assert!(
                entry.path.is_empty() || below(&entry.path).is_some(),
                "{entry:?}"
            );
            if let What::Link { target } = &entry.what {
                assert!(stays_below(&entry.path, target), "{entry:?}");
            }
        }
        _ => {}
    }
}

/// How many names a path consists of that only leads down, without characters that steer a terminal or hide.
fn below(path: &str) -> Option<usize> {
    let plain = |c: Component<'_>| matches!(c, Component::Normal(_));
    let shows = !path.chars().any(steers);
    let path = Path::new(path);
    (shows && path.components().all(plain)).then(|| path.components().count())
}

/// Control characters, and those that turn the direction of a text or are not seen.
fn steers(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Whether a link at this path leads to a place below the folder.
fn stays_below(path: &str, target: &str) -> bool {
    let mut depth = Path::new(path).components().count().saturating_sub(1);
    Path::new(target).components().all(|c| match c {
        Component::Normal(_) => {
            depth += 1;
            true
        }
        Component::CurDir => true,
        Component::ParentDir => depth.checked_sub(1).is_some_and(|up| {
            depth = up;
            true
        }),
        Component::RootDir | Component::Prefix(_) => false,
    })
}

fn tunnel(message: Bytes) {
    if let Ok((connection, frame)) = Frame::decode(message) {
        let again = Frame::decode(frame.encode(connection));
        assert_eq!(again, Ok((connection, frame)));
    }
}
