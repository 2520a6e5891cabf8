//! Attacks on the way in by a ticket: what a side that waits does before it has let anybody in.

use crate::Target;
use crate::association::{Many, Outcomes, Stranger, end, run as run_all, say};
use anyhow::{Context, Result};
use byway::Association;
use byway_tls::{
    Answer, Expect, HANDSHAKE_PPID, Handshake, Opened, SEALED_PPID, Secret, SecretKey, Ticket,
};
use rand::RngExt;
use serde_json::Value;
use std::sync::Arc;
use std::time::Instant;

/// What is sent in place of a good request.
#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Way {
    /// Whole handshakes, and then a proof of another secret, without a pause
    WrongSecret,
    /// The first message of a handshake; its answer is thrown away, without a pause
    Half,
    /// The first message, and then nothing
    HalfAndSilent,
    /// Nothing at all after the set-up
    Silent,
    /// Random bytes where TLS is expected, without a pause
    Garbage,
    /// A handshake, and then random bytes where sealed messages are expected
    GarbageSealed,
}

/// Attacks the side that has made this ticket.
pub(crate) fn run(way: Way, ticket: &str, many: &Many) -> Result<Value> {
    let ticket = Ticket::parse(ticket).map_err(|e| anyhow::anyhow!("--ticket: {e}"))?;
    let target = Target {
        to: ticket.addresses.clone(),
        sctp_port: ticket.sctp_port,
    };
    let (outcomes, ticket) = (Arc::new(Outcomes::default()), Arc::new(ticket));
    let begun = Instant::now();
    run_all(&target, many, |mut stranger| {
        let (outcomes, ticket) = (outcomes.clone(), ticket.clone());
        async move {
            let key = SecretKey::generate()?;
            while !stranger.is_over() {
                let begun = Instant::now();
                let outcome = one(way, &mut stranger, &ticket, &key).await;
                outcomes.count(&outcome.unwrap_or_else(|e| format!("{e:#}")), begun);
            }
            Ok(())
        }
    })?;
    Ok(outcomes.json(begun.elapsed().as_secs_f64()))
}

/// One association; what came of it.
async fn one(
    way: Way,
    stranger: &mut Stranger,
    ticket: &Ticket,
    key: &SecretKey,
) -> Result<String> {
    let association = stranger.connect().await?;
    let expect = Expect::fingerprint(ticket.server);
    let mut handshake = Handshake::client(key, expect, ticket.service)?;
    let outcome = match way {
        Way::Silent => end(&association, stranger.until).await,
        Way::Garbage => {
            let bytes = [&[1, 0][..], &stranger.rng.random::<[u8; 512]>()].concat();
            say(&association, 0, HANDSHAKE_PPID, bytes).await;
            end(&association, stranger.until).await
        }
        Way::Half | Way::HalfAndSilent => {
            tell(&association, &mut handshake).await;
            match association.recv().await {
                Some(_) if way == Way::Half => "answered".to_owned(),
                _ => end(&association, stranger.until).await,
            }
        }
        Way::WrongSecret | Way::GarbageSealed => {
            if shake(&association, &mut handshake).await? {
                proof(way, &association, handshake, ticket, stranger).await?
            } else {
                end(&association, stranger.until).await
            }
        }
    };
    let _ = association.abort(b"enough");
    Ok(outcome)
}

async fn tell(association: &Association, handshake: &mut Handshake) {
    while let Some(bytes) = handshake.next_message() {
        say(association, 0, HANDSHAKE_PPID, bytes.to_vec()).await;
    }
}

/// Whether the handshake came to its end.
async fn shake(association: &Association, handshake: &mut Handshake) -> Result<bool> {
    loop {
        tell(association, handshake).await;
        if handshake.is_done() {
            return Ok(true);
        }
        let Some(received) = association.recv().await else {
            return Ok(false);
        };
        handshake.receive(&received.payload)?;
    }
}

/// What follows a whole handshake.
async fn proof(
    way: Way,
    association: &Association,
    handshake: Handshake,
    ticket: &Ticket,
    stranger: &mut Stranger,
) -> Result<String> {
    let mut session = handshake.finish()?;
    if way == Way::GarbageSealed {
        say(
            association,
            0,
            SEALED_PPID,
            stranger.rng.random::<[u8; 512]>().to_vec(),
        )
        .await;
        return Ok(end(association, stranger.until).await);
    }
    let wrong = Ticket {
        secret: Some(Secret::generate()?),
        ..ticket.clone()
    };
    let request = session.witness.request(Some(&wrong)).encode();
    let sealed = session.sealer.seal_admission(&request)?;
    say(association, 0, SEALED_PPID, sealed.to_vec()).await;
    session.sealer.sent(0);
    let Some(answer) = association.recv().await else {
        return Ok(end(association, stranger.until).await);
    };
    let opened = session.opener.open(0, &answer.payload)?;
    let Opened::Admission(plain) = opened else {
        return Ok("another sealed message".to_owned());
    };
    let answer = Answer::decode(&plain).context("an answer that cannot be read")?;
    Ok(match answer {
        Answer::Welcome(_) => "LET IN WITH A WRONG SECRET".to_owned(),
        Answer::Refused(why) => format!("refused: {why:?}"),
    })
}
