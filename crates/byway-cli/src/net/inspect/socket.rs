//! The socket of `byway top`: it asks with a line and gets a line of JSON, as often as it likes.
//!
//! `look` is answered with a [`Process`](super::process::Process), and a [`Wish`] with what became of it.

use super::connections::{Connections, PAUSE};
use super::look::Looker;
use super::wish::Wish;
use byway::{AssocId, PathId};
use rustix::process::geteuid;
use serde_json::json;
use std::sync::Arc;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};

/// Longest line that is asked with.
const LONGEST: u64 = 128;

pub(super) async fn serve(listener: UnixListener, looker: &Arc<Looker>) {
    let mut connections = Connections::default();
    loop {
        let Ok((unix, _)) = listener.accept().await else {
            tokio::time::sleep(PAUSE).await;
            continue;
        };
        let looker = looker.clone();
        connections.add(async move {
            if is_ours(&unix) {
                // It may have gone.
                let _ = answer(unix, &looker).await;
            }
        });
    }
}

/// Whether this user asks, or root. The folder of the socket lets no other in.
fn is_ours(unix: &UnixStream) -> bool {
    let ours = geteuid().as_raw();
    unix.peer_cred()
        .is_ok_and(|peer| [0, ours].contains(&peer.uid()))
}

async fn answer(mut unix: UnixStream, looker: &Looker) -> std::io::Result<()> {
    let (read, mut write) = unix.split();
    let mut read = BufReader::new(read);
    loop {
        let mut line = Vec::new();
        (&mut read)
            .take(LONGEST)
            .read_until(b'\n', &mut line)
            .await?;
        if line.pop() != Some(b'\n') {
            // It has ended, or says too much.
            return Ok(());
        }
        let mut reply = reply(&String::from_utf8_lossy(&line), looker);
        reply.push('\n');
        write.write_all(reply.as_bytes()).await?;
    }
}

fn reply(line: &str, looker: &Looker) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let done = match words[..] {
        ["look"] => {
            // Writing to a string does not fail.
            return serde_json::to_string(&*looker.look()).unwrap_or_default();
        }
        [word, id, path] if let Some(wish) = Wish::parse(word) => {
            match (AssocId::parse(id), path.parse()) {
                (Some(id), Ok(path)) => looker.wish(wish, id, PathId(path)),
                _ => Err("an association and a path are numbers".to_owned()),
            }
        }
        _ => Err("it is asked with: look, or prefer, rest or use and ID PATH".to_owned()),
    };
    match done {
        Ok(()) => json!({"ok": true}),
        Err(why) => json!({"ok": false, "error": why}),
    }
    .to_string()
}
