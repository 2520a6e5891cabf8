//! Attacks on the frames of a `byway serve` without protection, which carry TCP connections.

use crate::Target;
use crate::association::{Many, Outcomes, Stranger, end, run as run_all, say};
use anyhow::Result;
use byway::Association;
use chacha20::ChaCha8Rng;
use rand::RngExt;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// Payload protocol identifier of the frames.
const PPID: u32 = 0x6279_7401;
const OPEN: u8 = 1;
const OPENED: u8 = 2;
const DATA: u8 = 3;
const WINDOW_UPDATE: u8 = 4;
const END: u8 = 5;
const RESET: u8 = 6;

/// What the frames say.
#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Frames {
    /// Connections that are opened without end, and no answer is read
    Opens,
    /// Connections to targets that are not allowed, without end
    Forbidden,
    /// Connections that are opened and reset at once, without end
    Resets,
    /// More bytes than the window of a connection allows
    Overflow,
    /// A window that grows beyond what a window may have
    Grants,
    /// Frames of a direction after its END
    AfterEnd,
    /// OPENED of a connection that this side has opened
    Unasked,
    /// Random frames
    Garbage,
}

/// Attacks this `serve`.
pub(crate) fn run(frames: Frames, target: &Target, many: &Many) -> Result<Value> {
    let (outcomes, sent) = (Arc::new(Outcomes::default()), Arc::new(AtomicU64::new(0)));
    let begun = Instant::now();
    run_all(target, many, |mut stranger| {
        let (outcomes, sent) = (outcomes.clone(), sent.clone());
        async move {
            while !stranger.is_over() {
                let begun = Instant::now();
                let outcome = one(frames, &mut stranger, &sent).await;
                outcomes.count(&outcome.unwrap_or_else(|e| format!("{e:#}")), begun);
            }
            Ok(())
        }
    })?;
    let mut line = outcomes.json(begun.elapsed().as_secs_f64());
    line["frames"] = json!(sent.load(Ordering::Relaxed));
    Ok(line)
}

/// One association; how the other side has ended it.
async fn one(frames: Frames, stranger: &mut Stranger, sent: &AtomicU64) -> Result<String> {
    let association = stranger.connect().await?;
    let (until, rng) = (stranger.until, &mut stranger.rng);
    let attack = async {
        for n in 1_u32.. {
            let all = frames.turn(n, rng);
            for (kind, number, rest) in all {
                let frame = [&[kind][..], &number.to_be_bytes(), &rest].concat();
                if !say(&association, (number % 64) as u16, PPID, frame).await {
                    return;
                }
                sent.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    // Whoever reads nothing stands still when its own buffer is full.
    let reads = async {
        match frames {
            Frames::Opens => std::future::pending().await,
            _ => read(&association).await,
        }
    };
    let both = async { tokio::join!(attack, reads) };
    let _ = tokio::time::timeout_at(until.into(), both).await;
    let outcome = end(&association, until).await;
    let _ = association.abort(b"enough");
    Ok(outcome)
}

async fn read(association: &Association) {
    while association.recv().await.is_some() {}
}

impl Frames {
    /// The frames of turn `n`, from 1 on: kind, connection, and what follows.
    fn turn(self, n: u32, rng: &mut ChaCha8Rng) -> Vec<(u8, u32, Vec<u8>)> {
        let open = |number| (OPEN, number, Vec::new());
        let first = |frame| match n {
            1 => vec![open(1), frame],
            _ => vec![frame],
        };
        match self {
            Frames::Opens => vec![open(n)],
            Frames::Forbidden => vec![(OPEN, n, b"example.org:1".to_vec())],
            Frames::Resets => vec![open(n), (RESET, n, b"\0no".to_vec())],
            Frames::Overflow => first((DATA, 1, vec![7; 16 * 1024])),
            Frames::Grants => first((WINDOW_UPDATE, 1, u32::MAX.to_be_bytes().to_vec())),
            Frames::AfterEnd => first((END, 1, Vec::new())),
            Frames::Unasked => first((OPENED, 1, Vec::new())),
            Frames::Garbage => {
                let bytes: [u8; 64] = rng.random();
                let number = u32::from(bytes[1] % 4);
                vec![(
                    bytes[0] % 9,
                    number,
                    bytes[2..usize::from(2 + bytes[2] % 62)].to_vec(),
                )]
            }
        }
    }
}
