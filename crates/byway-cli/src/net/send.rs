//! `byway send`.

mod files;
mod pace;
mod source;

use super::address;
use super::ending::Ending;
use super::exchange::FILES;
use super::identity::Identity;
use super::inspect;
use super::open::{Unacknowledged, abort_for, connect};
use super::patience::Patience;
use super::progress::Progress;
use super::protect::{Destination, PLAIN};
use super::protocol::{check_name, hex};
use super::retries::{Reached, Retries};
use super::stall::StallMeter;
use super::traffic::Traffic;
use super::watch::{GiveUp, Step, Watch};
use crate::args::SendArgs;
use crate::failure::{Failure, Kind};
use crate::settings::config;
use crate::terminal::{print, say};
use byway_lab::show;
use files::all_files;
use pace::Pace;
use source::Source;
use std::cell::RefCell;
use std::fmt::Write as _;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

/// What all attempts share.
struct Run<'a> {
    args: &'a SendArgs,
    there: &'a Destination,
    ending: &'a Ending,
    progress: &'a Progress,
    meter: &'a RefCell<StallMeter>,
    traffic: &'a Traffic,
    patience: Patience,
    reached: Reached,
}

pub(crate) async fn send(args: SendArgs, ending: Ending) -> Result<(), Failure> {
    let there = &args.there;
    let there = Destination::read(&there.to, there.port, &there.client, FILES)?;
    let mut sources = open_all(&args, &there)?;
    if args.dry_run {
        return dry_run(&args, &there, &sources);
    }
    inspect::begin("send", &args.here, &ending)?;
    let quiet = args.here.is_silent();
    let progress = Progress::new(quiet);
    let meter = RefCell::new(StallMeter::new());
    let traffic = Traffic::default();
    let begun = Instant::now();
    let run = Run {
        args: &args,
        there: &there,
        ending: &ending,
        progress: &progress,
        meter: &meter,
        traffic: &traffic,
        patience: Patience::of(&config(&args.here.settings)?),
        reached: Reached::new(),
    };
    let mut retries = Retries::new(&args);
    let outcome = loop {
        let timeout = retries.connect_timeout(&run.reached);
        let result = tokio::select! {
            result = once(&run, timeout, &mut sources) => result,
            failure = ending.told() => break Err(failure),
        };
        let Err((failure, was_up)) = result else {
            break Ok(());
        };
        let pause = match retries.after(failure, was_up, &run.reached) {
            Ok((pause, words)) => {
                progress.say(&words);
                pause
            }
            Err(failure) => break Err(failure),
        };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            failure = ending.told() => break Err(failure),
        }
    };
    progress.end();
    let told = report(
        &args,
        &sources,
        (&meter.borrow(), &traffic),
        begun.elapsed(),
        outcome.as_ref().err(),
        retries.attempts,
    );
    outcome.and(told)
}

/// Opens what shall be sent before anything is.
fn open_all(args: &SendArgs, there: &Destination) -> Result<Vec<Source>, Failure> {
    let identity = Identity::of_this_user()?;
    let to = there.names();
    let mut sources: Vec<Source> = Vec::new();
    for path in &args.files {
        let file = File::open(path).map_err(|e| Failure::file("read", path, &e))?;
        let metadata = file
            .metadata()
            .map_err(|e| Failure::file("read", path, &e))?;
        if !metadata.is_file() {
            return Err(Failure::wrong(format!(
                "{} is not a file; pack folders first, for instance: tar c {} | byway cat --to ADDR",
                path.display(),
                path.display()
            )));
        }
        let name = name_of(path)?;
        check_name(&name).map_err(|e| Failure::wrong(format!("cannot send {e}")))?;
        if sources.iter().any(|s| s.name == name) {
            return Err(Failure::wrong(format!(
                "two files are named \"{name}\"; send them one after the other"
            )));
        }
        sources.push(Source {
            path: path.clone(),
            sender: identity.sender(&to, path),
            name,
            size: metadata.len(),
            stored: None,
        });
    }
    Ok(sources)
}

/// The name under which a file arrives.
///
/// # Errors
/// When it is not text: the other side would get another name.
fn name_of(path: &Path) -> Result<String, Failure> {
    let name = path.file_name().unwrap_or_default();
    let text = name.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Failure::wrong(format!(
            "cannot send the file name \"{}\", which is not UTF-8; rename it, or send it with: tar c FILE | byway cat --to TICKET",
            name.as_encoded_bytes().escape_ascii()
        ))
    })
}

/// Says what would be sent.
fn dry_run(args: &SendArgs, there: &Destination, sources: &[Source]) -> Result<(), Failure> {
    let addresses = there.addresses(args.here.below.encapsulation.default_port())?;
    let to: Vec<String> = addresses.iter().map(|a| address::shown(*a)).collect();
    let encrypted = there.credentials.is_some();
    if args.here.talk.json {
        let file = |s: &Source| serde_json::json!({"name": s.name, "bytes": s.size});
        let files: Vec<serde_json::Value> = sources.iter().map(file).collect();
        let result = serde_json::json!({
            "schema": "byway.send/1",
            "dry_run": true,
            "to": to,
            "encrypted": encrypted,
            "files": files,
        });
        return print(&format!("{result}\n"));
    }
    let mut text = String::new();
    for source in sources {
        let _ = writeln!(text, "{}: {}", source.name, show::bytes(source.size));
    }
    let total: u64 = sources.iter().map(|s| s.size).sum();
    let _ = writeln!(
        text,
        "would send {} to {}, {}",
        show::bytes(total),
        to.join(", "),
        if encrypted { "encrypted" } else { PLAIN }
    );
    print(&text)
}

/// One association; the failure comes with whether it was up.
async fn once(
    run: &Run<'_>,
    timeout: Duration,
    sources: &mut [Source],
) -> Result<(), (Failure, bool)> {
    let Run {
        args,
        there,
        ending,
        progress,
        reached,
        ..
    } = run;
    let (endpoint, channel) = connect(&args.here, there, timeout, ending, FILES)
        .await
        .map_err(|e| (e, false))?;
    let association = channel.association();
    reached.set_up();
    let mut watch = Watch::new(association, Some(run.traffic)).with_patience(run.patience);
    // Of what was handed over, what the receiver has acknowledged.
    let done = || {
        let stats = association.stats();
        reached.note(stats.bytes_queued.saturating_sub(stats.bytes_acked));
        Step {
            position: reached.position(),
            ..Step::of(reached.steps())
        }
    };
    let pace = Pace::new(args.limit);
    let work = all_files(&channel, sources, progress, reached, pace);
    let mut result = tokio::select! {
        result = work => result,
        failure = watch.run(|| Some(progress), run.meter, done, None, GiveUp::Refusing(args.give_up)) => Err(failure),
    };
    run.traffic.note(&association.paths());
    match &mut result {
        Ok(()) => {
            done();
            let steps = reached.steps();
            run.meter.borrow_mut().update(steps, || progress.place());
            // Every file is confirmed: how the association ends matters no more.
            let _ = channel.end().await;
            if let Err(lost) = association.shutdown().await {
                progress.say(&format!("all files are stored; then {lost}"));
            }
        }
        Err(failure) => {
            abort_for(association, failure);
            if failure.kind == Kind::Lost {
                failure.message += &format!("; {}", Unacknowledged::of(association));
            }
        }
    }
    run.traffic.next();
    drop(channel);
    ending.close(endpoint).await;
    result.map_err(|e| (e, true))
}

fn report(
    args: &SendArgs,
    sources: &[Source],
    (meter, traffic): (&StallMeter, &Traffic),
    took: Duration,
    failure: Option<&Failure>,
    attempts: u32,
) -> Result<(), Failure> {
    let total: u64 = sources
        .iter()
        .filter(|s| s.stored.is_some())
        .map(|s| s.size)
        .sum();
    if args.here.talk.json {
        let files: Vec<serde_json::Value> = sources
            .iter()
            .map(|s| {
                serde_json::json!({
                    "name": s.name,
                    "bytes": s.size,
                    "stored": s.stored.is_some(),
                    "sha256": s.stored.as_ref().map(|f| hex(&f.hash)),
                    "resumed_from": s.stored.as_ref().map(|f| f.resumed_from),
                })
            })
            .collect();
        let result = serde_json::json!({
            "schema": "byway.send/1",
            "ok": failure.is_none(),
            "error": failure.map(|f| f.message.clone()),
            "seconds": took.as_secs_f64(),
            "longest_stall_s": meter.longest().as_secs_f64(),
            "set_up_again": attempts,
            "paths": traffic.json(),
            "files": files,
        });
        return print(&format!("{result}\n"));
    }
    if failure.is_none() && !args.here.quiet {
        let rate = total as f64 * 8.0 / took.as_secs_f64().max(1e-6);
        say(format_args!(
            "sent {} in {} ({}), {}",
            show::bytes(total),
            show::time(took.as_secs_f64()),
            show::rate(rate),
            meter.words()
        ));
    }
    Ok(())
}
