//! `byway listen` and `byway cat`: bytes from one process to another.

use super::ending::{ALL_HAS_COME, Ending, last_packets};
use super::inspect;
use super::log::Log;
use super::open::{self, Unacknowledged, abort_for, connect, prefer, serve};
use super::patience::Patience;
use super::progress::Progress;
use super::protect::{Channel, Destination, Gate, Output, PLAIN, Purpose, To, Uses, admit};
use super::refused;
use super::stall::StallMeter;
use super::standstill::Limit;
use super::traffic::Traffic;
use super::watch::{GiveUp, Step, Watch};
use crate::below::WorkersArgs;
use crate::failure::{Failure, Kind};
use crate::net::args::{CatArgs, ListenArgs};
use crate::settings::config;
use crate::terminal::{say, say_json};
use byway::{Association, Closed, Endpoint, LossReason, Message};
use byway_lab::show;
use byway_tls::Service;
use std::cell::{Cell, RefCell};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

/// Bytes in a message.
const BLOCK: usize = 16 * 1024;

/// What these associations are for.
const PIPE: Purpose = Purpose {
    service: Service::Pipe,
    ppid: 0,
};

pub(crate) async fn listen(args: ListenArgs, ending: Ending) -> Result<(), Failure> {
    let patience = Patience::of(&config(&args.here.settings)?);
    inspect::begin("listen", &args.here, &ending)?;
    let endpoint = serve(&args.here, (args.called, WorkersArgs::ONE), &ending)?;
    let output = Output {
        data: true,
        json: args.here.talk.json,
        quiet: args.here.quiet,
    };
    let gate = Gate::open(&args.gate, Uses::AtMost(1), PIPE, &endpoint, output)?;
    if gate.is_none() && !args.here.is_silent() {
        say(PLAIN);
    }
    let gate = gate.map(Arc::new);
    let progress = Progress::new(args.here.is_silent());
    let meter = RefCell::new(StallMeter::new());
    let traffic = Traffic::default();
    let (bytes, writing) = (Cell::new(0), Cell::new(false));
    // The other side waits while the reader of standard output takes nothing.
    let step = || Step {
        ours: writing.get(),
        ..Step::of(bytes.get())
    };
    let work = async {
        let channel = accepted(&endpoint, gate.as_ref()).await?;
        prefer(&args.here, channel.association())?;
        let mut watch = Watch::new(channel.association(), Some(&traffic)).with_patience(patience);
        let result = tokio::select! {
            result = to_stdout(&channel, &bytes, &writing) => result,
            failure = watch.run(|| Some(&progress), &meter, step, None, GiveUp::NothingCame(Limit::of(args.give_up))) => Err(failure),
        };
        traffic.note(&channel.association().paths());
        result?;
        Ok(last_packets(channel.association()).await)
    };
    let result = tokio::select! {
        result = work => result,
        failure = ending.told() => Err(failure),
    };
    progress.end();
    let below = open::refused(&endpoint);
    match &result {
        Ok(true) => ending.close(endpoint).await,
        Ok(false) => ending.abort(endpoint, ALL_HAS_COME).await,
        Err(failure) => ending.abort(endpoint, failure.reason()).await,
    }
    report(
        args.here.talk.json,
        args.here.quiet,
        "received",
        bytes.get(),
        (&meter.borrow(), &traffic),
        (result.as_ref().err(), None),
        Some(below),
    );
    result.map(|_| ())
}

/// The first association that may send here.
async fn accepted(endpoint: &Endpoint, gate: Option<&Arc<Gate>>) -> Result<Channel, Failure> {
    let log = Log::new();
    let mut asking = JoinSet::new();
    loop {
        tokio::select! {
            association = endpoint.accept() => {
                let Some(association) = association else {
                    return Err(Failure::new(Kind::Failed, "the endpoint has ended"));
                };
                let Some(gate) = gate.cloned() else {
                    return Ok(Channel::plain(association));
                };
                // One that says nothing does not keep the others out.
                asking.spawn(async move { admitted(&gate, association).await });
            }
            Some(Ok(result)) = asking.join_next() => match result {
                Ok(channel) => return Ok(channel),
                Err((failure, peer)) => log.failed(&failure, peer),
            },
            failure = expired(gate) => return Err(failure),
        }
    }
}

async fn admitted(
    gate: &Gate,
    association: Association,
) -> Result<Channel, (Failure, Option<SocketAddr>)> {
    let peer = association.paths().first().map(|p| p.remote);
    match admit(gate, &association).await {
        Ok((channel, _)) => Ok(channel),
        Err(refused) => {
            abort_for(&association, &refused.failure);
            Err((refused.failure, peer))
        }
    }
}

async fn expired(gate: Option<&Arc<Gate>>) -> Failure {
    match gate {
        Some(gate) => gate.expired().await,
        None => std::future::pending().await,
    }
}

async fn to_stdout(
    channel: &Channel,
    bytes: &Cell<u64>,
    writing: &Cell<bool>,
) -> Result<(), Failure> {
    let mut stdout = tokio::io::stdout();
    let unwritable = |e: std::io::Error| {
        Failure::new(
            Kind::Failed,
            format!("cannot write to standard output: {e}"),
        )
    };
    while let Some(received) = channel.recv().await? {
        let written = async {
            stdout.write_all(&received.payload).await?;
            stdout.flush().await
        };
        writing.set(true);
        if let Err(e) = written.await {
            // Refused when it has ended already.
            let _ = channel.association().abort(b"the reader is gone");
            return Err(unwritable(e));
        }
        writing.set(false);
        bytes.set(bytes.get() + received.payload.len() as u64);
    }
    Ok(())
}

pub(crate) async fn cat(args: CatArgs, ending: Ending) -> Result<(), Failure> {
    let there = &args.there;
    if args.file == Path::new("-") && there.to.iter().any(To::is_stdin) {
        return Err(Failure::wrong(
            "standard input cannot be both the data and the ticket: --to @FILE reads the ticket from a file",
        ));
    }
    let there = Destination::read(&there.to, there.port, &there.client, PIPE)?;
    let patience = Patience::of(&config(&args.here.settings)?);
    // Opened before the association is set up.
    let mut input: Box<dyn AsyncRead + Unpin> = if args.file == Path::new("-") {
        Box::new(tokio::io::stdin())
    } else {
        let file = tokio::fs::File::open(&args.file).await;
        Box::new(file.map_err(|e| Failure::file("read", &args.file, &e))?)
    };
    inspect::begin("cat", &args.here, &ending)?;
    let progress = Progress::new(args.here.is_silent());
    let meter = RefCell::new(StallMeter::new());
    let traffic = Traffic::default();
    let bytes = Cell::new(0);
    let unacknowledged = Cell::new(None);
    let work = async {
        let timeout = args.there.connect_timeout;
        let (endpoint, channel) = connect(&args.here, &there, timeout, &ending, PIPE).await?;
        let association = channel.association();
        let mut watch = Watch::new(association, Some(&traffic)).with_patience(patience);
        let result = tokio::select! {
            result = from_input(&args, &mut input, &channel, &bytes) => result,
            failure = watch.run(|| Some(&progress), &meter, || Step::of(association.stats().bytes_acked), None, GiveUp::NothingTaken(Limit::of(args.give_up))) => Err(failure),
        };
        traffic.note(&association.paths());
        let result = result.map_err(|mut failure| {
            abort_for(association, &failure);
            let left = Unacknowledged::of(association);
            failure.message += &format!("; {left}");
            unacknowledged.set(Some(left.all));
            failure
        });
        drop(channel);
        match &result {
            Ok(()) => ending.close(endpoint).await,
            Err(failure) => ending.abort(endpoint, failure.reason()).await,
        }
        result
    };
    let result = tokio::select! {
        result = work => result,
        failure = ending.told() => Err(failure),
    };
    progress.end();
    report(
        args.here.talk.json,
        args.here.quiet,
        "sent",
        bytes.get(),
        (&meter.borrow(), &traffic),
        (result.as_ref().err(), unacknowledged.get()),
        None,
    );
    result
}

async fn from_input(
    args: &CatArgs,
    input: &mut (dyn AsyncRead + Unpin),
    channel: &Channel,
    bytes: &Cell<u64>,
) -> Result<(), Failure> {
    let association = channel.association();
    let mut block = vec![0; BLOCK];
    loop {
        // A peer that has gone is noticed even while there is nothing to send.
        let n = tokio::select! {
            n = input.read(&mut block) => n.map_err(|e| Failure::file("read", &args.file, &e))?,
            closed = association.closed() => return Err(match closed {
                Closed::Gracefully => Failure::new(Kind::Failed, "the other side ended before all was sent"),
                lost => lost.into(),
            }),
        };
        if n == 0 {
            break;
        }
        channel.send(Message::new(0, block[..n].to_vec())).await?;
        bytes.set(bytes.get() + n as u64);
    }
    channel.end().await?;
    match association.shutdown().await {
        // SHUTDOWN ACK was lost, again and again.
        Err(lost) if has_all(&lost) => Ok(()),
        ended => ended.map_err(Failure::from),
    }
}

/// Whether the other side ended because it had everything.
fn has_all(lost: &Closed) -> bool {
    matches!(lost, Closed::Lost { reason: LossReason::AbortedByPeer(why), undelivered_messages: 0 } if why.as_bytes() == ALL_HAS_COME)
}

fn report(
    json: bool,
    quiet: bool,
    verb: &str,
    bytes: u64,
    (meter, traffic): (&StallMeter, &Traffic),
    (failure, unacknowledged): (Option<&Failure>, Option<u64>),
    refused_below: Option<serde_json::Value>,
) {
    if json {
        // Standard output carries the data of `listen`: the result goes beside it.
        let mut result = serde_json::json!({
            "schema": "byway.pipe/1",
            "ok": failure.is_none(),
            "error": failure.map(|f| f.message.clone()),
            "bytes": bytes,
            "unacknowledged_bytes": unacknowledged,
            "longest_stall_s": meter.longest().as_secs_f64(),
            "paths": traffic.json(),
        });
        if let Some(below) = refused_below {
            result["refused_by_endpoint"] = below;
            result["refused_by_command"] = serde_json::json!(refused::counts());
        }
        say_json(&result);
    } else if !quiet && failure.is_none() {
        say(format_args!(
            "{verb} {}, {}",
            show::bytes(bytes),
            meter.words()
        ));
    }
}
