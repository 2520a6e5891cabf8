//! `byway send`.

use super::ending::Ending;
use super::exchange::{Exchange, strange};
use super::identity::Identity;
use super::open::{Unacknowledged, abort_for, connect};
use super::progress::{GiveUp, Progress, Step, Watch};
use super::protocol::{BLOCK, Hash, Note, check_name, hex};
use super::retries::{Reached, Retries};
use super::stall::StallMeter;
use crate::args::SendArgs;
use crate::failure::{Failure, Kind};
use byway::Association;
use byway_lab::show;
use sha2::{Digest, Sha256};
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::{Duration, Instant};

struct Source {
    path: PathBuf,
    /// Who begins it at this receiver.
    sender: [u8; 16],
    name: String,
    size: u64,
    stored: Option<Stored>,
}

/// A file that the receiver has confirmed.
struct Stored {
    hash: Hash,
    /// Bytes that were there before this association.
    resumed_from: u64,
}

/// What all attempts share.
struct Run<'a> {
    args: &'a SendArgs,
    ending: &'a Ending,
    progress: &'a Progress,
    meter: &'a RefCell<StallMeter>,
    reached: Reached,
}

pub(crate) async fn send(args: SendArgs, ending: Ending) -> Result<(), Failure> {
    let mut sources = open_all(&args)?;
    let quiet = args.here.quiet || args.here.json;
    let progress = Progress::new(quiet);
    let meter = RefCell::new(StallMeter::new());
    let begun = Instant::now();
    let run = Run {
        args: &args,
        ending: &ending,
        progress: &progress,
        meter: &meter,
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
    report(
        &args,
        &sources,
        &meter.borrow(),
        begun.elapsed(),
        outcome.as_ref().err(),
        retries.attempts,
    );
    outcome
}

/// Opens what shall be sent before anything is.
fn open_all(args: &SendArgs) -> Result<Vec<Source>, Failure> {
    let identity = Identity::of_this_user()?;
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
        let name = path
            .file_name()
            .map(|n| n.to_string_lossy().into_owned())
            .unwrap_or_default();
        check_name(&name).map_err(|e| Failure::wrong(format!("cannot send {e}")))?;
        if sources.iter().any(|s| s.name == name) {
            return Err(Failure::wrong(format!(
                "two files are named \"{name}\"; send them one after the other"
            )));
        }
        sources.push(Source {
            path: path.clone(),
            sender: identity.sender(&args.there.to, path),
            name,
            size: metadata.len(),
            stored: None,
        });
    }
    Ok(sources)
}

/// One association; the failure comes with whether it was up.
async fn once(
    run: &Run<'_>,
    timeout: Duration,
    sources: &mut [Source],
) -> Result<(), (Failure, bool)> {
    let Run {
        args,
        ending,
        progress,
        reached,
        ..
    } = run;
    let (endpoint, association) = connect(&args.here, &args.there, timeout, ending)
        .await
        .map_err(|e| (e, false))?;
    let taken = &reached.taken;
    taken.set(0);
    let watch = Watch::new(&association);
    // Of what was handed over, what the receiver has acknowledged; from the
    // start of the file on, so that the bar can show it.
    let done = || {
        let stats = association.stats();
        let waiting = stats.bytes_queued.saturating_sub(stats.bytes_acked);
        let done = taken.get().saturating_sub(waiting);
        reached.note(done);
        Step::of(done)
    };
    let work = all_files(&association, sources, progress, reached);
    let mut result = tokio::select! {
        result = work => result,
        failure = watch.run(|| Some(progress), run.meter, done, None, GiveUp::Never) => Err(failure),
    };
    match &mut result {
        Ok(()) => {
            // Every file is confirmed: how the association ends matters no more.
            if let Err(lost) = association.shutdown().await {
                progress.say(&format!("all files are stored; then {lost}"));
            }
        }
        Err(failure) => {
            abort_for(&association, failure);
            if failure.kind == Kind::Lost {
                failure.message += &format!("; {}", Unacknowledged::of(&association));
            }
        }
    }
    drop(association);
    ending.close(endpoint).await;
    result.map_err(|e| (e, true))
}

async fn all_files(
    association: &Association,
    sources: &mut [Source],
    progress: &Progress,
    reached: &Reached,
) -> Result<(), Failure> {
    let mut exchange = Exchange::new(association);
    for source in sources.iter_mut().filter(|s| s.stored.is_none()) {
        reached.taken.set(0);
        let stored = one_file(&mut exchange, source, progress, reached).await?;
        reached.stored();
        progress.say(&format!(
            "{}: {} stored and verified",
            source.name,
            show::bytes(source.size)
        ));
        source.stored = Some(stored);
    }
    Ok(())
}

async fn one_file(
    exchange: &mut Exchange<'_>,
    source: &Source,
    progress: &Progress,
    reached: &Reached,
) -> Result<Stored, Failure> {
    let file = File::open(&source.path).map_err(|e| unreadable(source, &e))?;
    let (have, theirs) = offer(exchange, source).await?;
    let mut hashed = Hashed {
        file,
        hasher: Sha256::new(),
        at: 0,
    };
    if have > 0 && have <= source.size {
        let resumed = hashed.resume(have, theirs);
        if resumed.map_err(|e| unreadable(source, &e))? {
            progress.say(&format!(
                "{}: resumes at {}",
                source.name,
                show::bytes(have)
            ));
        }
    }
    let resumed_from = hashed.at;
    progress.begin(&source.name, source.size, resumed_from);
    reached.begin(resumed_from);
    let start = Note::Start {
        offset: resumed_from,
    };
    exchange.send(&start).await?;
    send_rest(exchange, source, &mut hashed, &reached.taken).await?;
    let hash = Hash::from(hashed.hasher.finalize());
    exchange.send(&Note::End { hash }).await?;
    match exchange.expect("confirmation").await? {
        Note::Stored => Ok(Stored { hash, resumed_from }),
        Note::Refuse { reason } => Err(refused(&source.name, &reason)),
        other => Err(strange(other.name())),
    }
}

/// Offers the file; how much of it the receiver has, and the hash of that.
async fn offer(exchange: &mut Exchange<'_>, source: &Source) -> Result<(u64, Hash), Failure> {
    let offer = Note::Offer {
        sender: source.sender,
        size: source.size,
        name: source.name.clone(),
    };
    exchange.send(&offer).await?;
    match exchange.expect("answer to the offer").await? {
        Note::Have { offset, hash } => Ok((offset, hash)),
        Note::Refuse { reason } => Err(refused(&source.name, &reason)),
        other => Err(strange(other.name())),
    }
}

/// A file that is read and hashed up to `at`.
struct Hashed {
    file: File,
    hasher: Sha256,
    at: u64,
}

impl Hashed {
    /// Skips the first `len` bytes if their hash is `theirs`; else nothing. Whether
    /// it skipped them.
    fn resume(&mut self, len: u64, theirs: Hash) -> std::io::Result<bool> {
        hash_front(&mut self.file, len, &mut self.hasher)?;
        let same = Hash::from(self.hasher.clone().finalize()) == theirs;
        if same {
            self.at = len;
        } else {
            self.hasher = Sha256::new();
            self.file.seek(SeekFrom::Start(0))?;
        }
        Ok(same)
    }
}

/// Sends the file from where it was read to.
async fn send_rest(
    exchange: &mut Exchange<'_>,
    source: &Source,
    hashed: &mut Hashed,
    taken: &Cell<u64>,
) -> Result<(), Failure> {
    let mut block = vec![0; BLOCK];
    while hashed.at < source.size {
        let rest = usize::try_from(source.size - hashed.at).unwrap_or(BLOCK);
        let want = block.len().min(rest);
        let read = hashed.file.read(&mut block[..want]);
        let n = read.map_err(|e| unreadable(source, &e))?;
        if n == 0 {
            return Err(Failure::new(
                Kind::Failed,
                format!(
                    "{} became shorter while it was sent ({} of {} bytes)",
                    source.path.display(),
                    hashed.at,
                    source.size
                ),
            ));
        }
        hashed.hasher.update(&block[..n]);
        let note = Note::Data(block[..n].to_vec().into());
        send_unless_refused(exchange, &note, &source.name).await?;
        hashed.at += n as u64;
        taken.set(hashed.at);
    }
    Ok(())
}

fn unreadable(source: &Source, e: &std::io::Error) -> Failure {
    Failure::file("read", &source.path, e)
}

/// Sends, unless the receiver says meanwhile that it takes no more.
async fn send_unless_refused(
    exchange: &mut Exchange<'_>,
    note: &Note,
    name: &str,
) -> Result<(), Failure> {
    // Both are cancel safe. Sending goes first: an answer is rare.
    let answer = {
        let mut other = Exchange::new(exchange.association());
        tokio::select! {
            biased;
            sent = exchange.send(note) => return sent,
            answer = other.receive() => answer,
        }
    };
    match answer? {
        Some(Note::Refuse { reason }) => Err(refused(name, &reason)),
        Some(other) => Err(strange(other.name())),
        None => Err(Failure::new(
            Kind::Failed,
            "the other side ended in the middle of a file",
        )),
    }
}

fn refused(name: &str, reason: &str) -> Failure {
    Failure::new(Kind::Refused, format!("{name} was refused: {reason}"))
}

fn hash_front(file: &mut File, len: u64, hasher: &mut Sha256) -> std::io::Result<()> {
    let mut block = vec![0; 1 << 16];
    let mut front = file.take(len);
    loop {
        match front.read(&mut block)? {
            0 => return Ok(()),
            n => hasher.update(&block[..n]),
        }
    }
}

fn report(
    args: &SendArgs,
    sources: &[Source],
    meter: &StallMeter,
    took: Duration,
    failure: Option<&Failure>,
    attempts: u32,
) {
    let total: u64 = sources
        .iter()
        .filter(|s| s.stored.is_some())
        .map(|s| s.size)
        .sum();
    if args.here.json {
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
            "files": files,
        });
        println!("{result}");
    } else if failure.is_none() && !args.here.quiet {
        let rate = total as f64 * 8.0 / took.as_secs_f64().max(1e-6);
        eprintln!(
            "sent {} in {} ({}), {}",
            show::bytes(total),
            show::time(took.as_secs_f64()),
            show::rate(rate),
            meter.words()
        );
    }
}
