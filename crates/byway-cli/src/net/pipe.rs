//! `byway listen` and `byway cat`: bytes from one process to another.

use super::ending::Ending;
use super::exchange::ended;
use super::open::{Unacknowledged, abort_for, connect, prefer, serve};
use super::progress::Progress;
use super::stall::StallMeter;
use super::watch::{GiveUp, Step, Watch};
use crate::args::{CatArgs, ListenArgs};
use crate::failure::{Failure, Kind};
use crate::terminal::say;
use byway::{Association, Closed, Message};
use byway_lab::show;
use std::cell::{Cell, RefCell};
use std::path::Path;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};

/// Bytes in a message.
const BLOCK: usize = 16 * 1024;

pub(crate) async fn listen(args: ListenArgs, ending: Ending) -> Result<(), Failure> {
    let endpoint = serve(&args.here, args.port, &ending)?;
    let progress = Progress::new(args.here.quiet || args.here.json);
    let meter = RefCell::new(StallMeter::new());
    let (bytes, writing) = (Cell::new(0), Cell::new(false));
    // The other side waits while the reader of standard output takes nothing.
    let step = || Step {
        ours: writing.get(),
        ..Step::of(bytes.get())
    };
    let work = async {
        let Some(association) = endpoint.accept().await else {
            return Err(Failure::new(Kind::Failed, "the endpoint has ended"));
        };
        prefer(&args.here, &association)?;
        let watch = Watch::new(&association);
        tokio::select! {
            result = to_stdout(&association, &bytes, &writing) => result,
            failure = watch.run(|| Some(&progress), &meter, step, None, GiveUp::NothingCame(args.give_up)) => Err(failure),
        }
    };
    let result = tokio::select! {
        result = work => result,
        failure = ending.told() => Err(failure),
    };
    progress.end();
    match &result {
        Ok(()) => ending.close(endpoint).await,
        Err(failure) => ending.abort(endpoint, failure.reason()).await,
    }
    report(
        args.here.json,
        args.here.quiet,
        "received",
        bytes.get(),
        &meter.borrow(),
        (result.as_ref().err(), None),
    );
    result
}

async fn to_stdout(
    association: &Association,
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
    while let Some(received) = association.recv().await {
        let written = async {
            stdout.write_all(&received.payload).await?;
            stdout.flush().await
        };
        writing.set(true);
        if let Err(e) = written.await {
            // Refused when it has ended already.
            let _ = association.abort(b"the reader is gone");
            return Err(unwritable(e));
        }
        writing.set(false);
        bytes.set(bytes.get() + received.payload.len() as u64);
    }
    match association.closed().await {
        Closed::Gracefully => Ok(()),
        lost => Err(lost.into()),
    }
}

pub(crate) async fn cat(args: CatArgs, ending: Ending) -> Result<(), Failure> {
    // Opened before the association is set up.
    let mut input: Box<dyn AsyncRead + Unpin> = if args.file == Path::new("-") {
        Box::new(tokio::io::stdin())
    } else {
        let file = tokio::fs::File::open(&args.file).await;
        Box::new(file.map_err(|e| Failure::file("read", &args.file, &e))?)
    };
    let progress = Progress::new(args.here.quiet || args.here.json);
    let meter = RefCell::new(StallMeter::new());
    let bytes = Cell::new(0);
    let unacknowledged = Cell::new(None);
    let work = async {
        let timeout = args.there.connect_timeout;
        let (endpoint, association) = connect(&args.here, &args.there, timeout, &ending).await?;
        let watch = Watch::new(&association);
        let result = tokio::select! {
            result = from_input(&args, &mut input, &association, &bytes) => result,
            failure = watch.run(|| Some(&progress), &meter, || Step::of(association.stats().bytes_acked), None, GiveUp::NothingTaken(args.give_up)) => Err(failure),
        };
        let result = result.map_err(|mut failure| {
            abort_for(&association, &failure);
            let left = Unacknowledged::of(&association);
            failure.message += &format!("; {left}");
            unacknowledged.set(Some(left.all));
            failure
        });
        drop(association);
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
        args.here.json,
        args.here.quiet,
        "sent",
        bytes.get(),
        &meter.borrow(),
        (result.as_ref().err(), unacknowledged.get()),
    );
    result
}

async fn from_input(
    args: &CatArgs,
    input: &mut (dyn AsyncRead + Unpin),
    association: &Association,
    bytes: &Cell<u64>,
) -> Result<(), Failure> {
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
        association
            .send(Message::new(0, block[..n].to_vec()))
            .await
            .map_err(ended)?;
        bytes.set(bytes.get() + n as u64);
    }
    association.shutdown().await.map_err(Failure::from)
}

fn report(
    json: bool,
    quiet: bool,
    verb: &str,
    bytes: u64,
    meter: &StallMeter,
    (failure, unacknowledged): (Option<&Failure>, Option<u64>),
) {
    if json {
        // Standard output carries the data of `listen`: the result goes beside it.
        let result = serde_json::json!({
            "schema": "byway.pipe/1",
            "ok": failure.is_none(),
            "error": failure.map(|f| f.message.clone()),
            "bytes": bytes,
            "unacknowledged_bytes": unacknowledged,
            "longest_stall_s": meter.longest().as_secs_f64(),
        });
        say(result);
    } else if !quiet && failure.is_none() {
        say(format_args!(
            "{verb} {}, {}",
            show::bytes(bytes),
            meter.words()
        ));
    }
}
