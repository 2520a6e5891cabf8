//! `byway send`.

mod files;
mod pace;
mod source;
mod tree;
mod under;
mod walk;

use super::address;
use super::ending::Ending;
use super::entry::{Entry, What};
use super::exchange::FILES;
use super::identity::Identity;
use super::inspect;
use super::names::check_name;
use super::open::{Unacknowledged, abort_for, connect};
use super::patience::Patience;
use super::progress::Progress;
use super::protect::{Destination, PLAIN};
use super::protocol::{MAX_FOLDERS, hex};
use super::retries::{Reached, Retries};
use super::stall::StallMeter;
use super::traffic::Traffic;
use super::watch::{GiveUp, Step, Watch};
use crate::failure::{Failure, Kind};
use crate::net::args::SendArgs;
use crate::settings::config;
use crate::terminal::{print, say};
use byway_lab::show;
use files::all_files;
use pace::Pace;
use source::Source;
use std::cell::RefCell;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};
use walk::{Failed, Folder, Found, Sums, Walk};

/// What shall be sent.
struct Sources {
    files: Vec<Source>,
    folders: Vec<Folder>,
}

impl Sources {
    fn has(&self, name: &str) -> bool {
        self.files.iter().any(|s| s.name == name) || self.folders.iter().any(|f| f.name == name)
    }

    /// What did not arrive of folders that were sent to their end.
    fn lacking(&self) -> Option<Failure> {
        let lacking = self.folders.iter().filter(|f| f.failed.count > 0);
        let each = lacking.map(|f| match f.failed.count {
            1 => format!("1 entry of {} did not arrive", f.name),
            n => format!("{n} entries of {} did not arrive", f.name),
        });
        let each: Vec<String> = each.collect();
        let words = || format!("{} (named above)", each.join(", "));
        (!each.is_empty()).then(|| Failure::new(Kind::Failed, words()))
    }
}

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
            break sources.lacking().map_or(Ok(()), Err);
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

/// Looks at what shall be sent before anything is.
fn open_all(args: &SendArgs, there: &Destination) -> Result<Sources, Failure> {
    let identity = Identity::of_this_user()?;
    let (to, hosts) = (there.names(), there.hosts());
    let mut sources = Sources {
        files: Vec::new(),
        folders: Vec::new(),
    };
    for path in &args.files {
        let metadata = std::fs::metadata(path).map_err(|e| Failure::file("read", path, &e))?;
        let name = name_of(path)?;
        check_name(&name).map_err(|e| Failure::wrong(format!("cannot send {e}")))?;
        if sources.has(&name) {
            return Err(Failure::wrong(format!(
                "two files are named \"{name}\"; send them one after the other"
            )));
        }
        if metadata.is_dir() {
            sources.folders.push(Folder {
                path: path.clone(),
                sender: identity.sender(&hosts, path),
                all: count(path, &name)?,
                name,
                stored: Sums::default(),
                there: Sums::default(),
                done: false,
                failed: Failed::default(),
                left_out: Failed::default(),
            });
            continue;
        }
        if !metadata.is_file() {
            return Err(Failure::wrong(format!(
                "{} is not a file or a folder; send what it has with: byway cat {0} --to TICKET",
                path.display()
            )));
        }
        File::open(path).map_err(|e| Failure::file("read", path, &e))?;
        sources.files.push(Source {
            path: path.clone(),
            sender: identity.sender(&to, path),
            name,
            size: metadata.len(),
            stored: None,
        });
    }
    if sources.folders.len() > MAX_FOLDERS {
        return Err(Failure::wrong(format!(
            "{} folders at once; at most {MAX_FOLDERS}. Send the folder that they are in",
            sources.folders.len()
        )));
    }
    Ok(sources)
}

/// What a folder has of files.
fn count(folder: &Path, name: &str) -> Result<Sums, Failure> {
    let walk = Walk::new(folder, name, false);
    let mut all = Sums::default();
    for step in walk.map_err(|e| Failure::file("read the folder", folder, &e))? {
        if let Found::Entry(_, entry) = step
            && let What::File { size } = entry.what
        {
            all.add(size);
        }
    }
    Ok(all)
}

/// The name under which a file arrives.
///
/// # Errors
/// When it is not text: the other side would get another name.
fn name_of(path: &Path) -> Result<String, Failure> {
    // "." and ".." have names, too.
    let whole = match path.file_name() {
        Some(_) => path.to_owned(),
        None => path
            .canonicalize()
            .map_err(|e| Failure::file("read", path, &e))?,
    };
    let name = whole.file_name().unwrap_or_default();
    let text = name.to_str().map(str::to_owned);
    text.ok_or_else(|| {
        Failure::wrong(format!(
            "cannot send the file name \"{}\", which is not UTF-8; rename it, or send it with: tar c FILE | byway cat --to TICKET",
            name.as_encoded_bytes().escape_ascii()
        ))
    })
}

/// Says what would be sent.
fn dry_run(args: &SendArgs, there: &Destination, sources: &Sources) -> Result<(), Failure> {
    let addresses = there.addresses(args.here.below.encapsulation.default_port())?;
    let to: Vec<String> = addresses.iter().map(|a| address::shown(*a)).collect();
    let encrypted = there.credentials.is_some();
    let mut would = Would::new(args.here.talk.json);
    for source in &sources.files {
        would.file(source.name.clone(), source.size)?;
    }
    for folder in &sources.folders {
        let walk = Walk::new(&folder.path, &folder.name, true);
        for step in walk.map_err(|e| Failure::file("read the folder", &folder.path, &e))? {
            match step {
                Found::Skipped(words, lacks) => would.skip(words, lacks),
                Found::Entry(_, entry) => would.entry(&folder.name, &entry)?,
            }
        }
    }
    if args.here.talk.json {
        let result = serde_json::json!({
            "schema": "byway.send/1",
            "dry_run": true,
            "to": to,
            "encrypted": encrypted,
            "files": would.files,
            "not_sent": would.skipped,
        });
        return print(&format!("{result}\n"));
    }
    for words in &would.skipped {
        say(words);
    }
    print(&format!(
        "would send {} to {}, {}\n",
        show::bytes(would.bytes),
        to.join(", "),
        if encrypted { "encrypted" } else { PLAIN }
    ))
}

/// What would be sent.
struct Would {
    json: bool,
    /// For programs.
    files: Vec<serde_json::Value>,
    bytes: u64,
    skipped: Vec<String>,
}

impl Would {
    fn new(json: bool) -> Would {
        Would {
            json,
            files: Vec::new(),
            bytes: 0,
            skipped: Vec::new(),
        }
    }

    fn file(&mut self, name: String, size: u64) -> Result<(), Failure> {
        self.bytes += size;
        if self.json {
            let file = serde_json::json!({"name": name, "bytes": size});
            self.files.push(file);
            return Ok(());
        }
        print(&format!("{name}: {}\n", show::bytes(size)))
    }

    /// Files, links, and folders, which end with a slash.
    fn entry(&mut self, folder: &str, entry: &Entry) -> Result<(), Failure> {
        let (below, path) = (if entry.path.is_empty() { "" } else { "/" }, &entry.path);
        let name = format!("{folder}{below}{path}");
        match &entry.what {
            What::File { size } => self.file(name, *size),
            _ if self.json => Ok(()),
            What::Folder { .. } => print(&format!("{name}/\n")),
            What::Link { target } => print(&format!("{name} -> {target}\n")),
        }
    }

    fn skip(&mut self, words: String, lacks: bool) {
        self.skipped.push(match lacks {
            true => format!("cannot be sent: {words}"),
            false => words,
        });
    }
}

/// One association; the failure comes with whether it was up.
async fn once(
    run: &Run<'_>,
    timeout: Duration,
    sources: &mut Sources,
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
    let sources = (&mut *sources.files, &mut *sources.folders);
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
    sources: &Sources,
    (meter, traffic): (&StallMeter, &Traffic),
    took: Duration,
    failure: Option<&Failure>,
    attempts: u32,
) -> Result<(), Failure> {
    if args.here.talk.json {
        let files: Vec<serde_json::Value> = sources
            .files
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
        let folders: Vec<serde_json::Value> = sources.folders.iter().map(folder_json).collect();
        let result = serde_json::json!({
            "schema": "byway.send/1",
            "ok": failure.is_none(),
            "error": failure.map(|f| f.message.clone()),
            "seconds": took.as_secs_f64(),
            "longest_stall_s": meter.longest().as_secs_f64(),
            "set_up_again": attempts,
            "paths": traffic.json(),
            "files": files,
            "folders": folders,
        });
        return print(&format!("{result}\n"));
    }
    if failure.is_none() && !args.here.quiet {
        let files = sources.files.iter().filter(|s| s.stored.is_some());
        let files: u64 = files.map(|s| s.size).sum();
        let of_folders = sources.folders.iter();
        let total = files
            + of_folders
                .map(|f| f.stored.bytes - f.there.bytes)
                .sum::<u64>();
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

fn folder_json(folder: &Folder) -> serde_json::Value {
    serde_json::json!({
        "name": folder.name,
        "files": folder.all.files,
        "bytes": folder.all.bytes,
        "stored": folder.done && folder.failed.count == 0,
        "files_stored": folder.stored.files,
        "files_were_there": folder.there.files,
        "bytes_stored": folder.stored.bytes,
        "entries_failed": folder.failed.count,
        "first_failures": folder.failed.first,
        "left_out": folder.left_out.count,
        "first_left_out": folder.left_out.first,
    })
}
