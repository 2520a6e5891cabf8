//! `byway recv`.

mod aside;
mod file;
mod outcome;
mod reading;
mod tree;

use super::claims::Claims;
use super::descriptors;
use super::ending::{Ending, last_packets};
use super::exchange::{Exchange, FILES};
use super::inbox::Folder;
use super::inspect;
use super::log::Log;
use super::open::{self, abort_for, prefer, serve};
use super::parts::{Limits, Parts};
use super::patience::Patience;
use super::progress::Progress;
use super::protect::{Channel, Gate, Output, PLAIN, Place, admit};
use super::protocol::Note;
use super::refused::{self, Refused};
use super::slots::{Slot, Slots};
use super::stall::StallMeter;
use super::standstill::Limit;
use super::traffic::Traffic;
use super::tree::Tree;
use super::turns::Turns;
use super::watch::{GiveUp, Step, Watch};
use super::workers::Workers;
use crate::failure::{Failure, Kind};
use crate::net::args::RecvArgs;
use crate::settings::config;
use crate::terminal::{print, say};
use aside::aside;
use byway::{Association, Charge, Endpoint};
use byway_lab::show;
use outcome::{Done, FilesDone, FolderDone, FolderOffer, REASONS};
use std::cell::{Cell, OnceCell, RefCell};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Notify, mpsc};

/// What a stranger is told whose host breaks the file protocol again and again. At most 100 bytes are
/// sent.
const BREAKS_PROTOCOL: &str =
    "your host has broken the file protocol too often; try again in a minute";

/// Memory of the task that serves an association, in bytes.
const TASK: usize = 1280;

/// How long a sender whose file was refused may take to end the association.
const LINGER: Duration = Duration::from_secs(5);

/// A transfer that did not get on for so long is not looked at any more.
const STILL: Duration = Duration::from_secs(2);

/// How long associations that a signal aborted may take to write their files, and those that had ended to print their
/// results.
const LAST_WRITES: Duration = Duration::from_millis(500);

/// Between two looks at the age of partial files.
const AGES: Duration = Duration::from_secs(600);

/// How an association ended.
enum Served {
    /// All of its files are stored.
    Completed {
        /// Nobody else can come.
        last: bool,
    },
    /// A file was refused for good, or what was stored could not be told.
    Failed(Failure),
    /// Its sender may come back, or it never sent anything.
    Other,
}

pub(crate) async fn recv(args: RecvArgs, ending: Ending) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.dir)
        .map_err(|e| Failure::file("make the folder", &args.dir, &e))?;
    descriptors::raise_limit();
    inspect::begin("recv", &args.here, &ending)?;
    let endpoint = serve(&args.here, (args.called, args.workers), &ending)?;
    let files = Arc::new(Files::new(&args, &endpoint)?);
    let args = Arc::new(args);
    let mut ages = tokio::time::interval(AGES);
    let (ends, mut ended) = mpsc::unbounded_channel();
    let mut workers = Workers::start()
        .map_err(|e| Failure::new(Kind::Failed, format!("no thread to serve senders: {e}")))?;
    loop {
        let association = tokio::select! {
            accepted = endpoint.accept() => accepted.ok_or_else(|| Failure::new(Kind::Failed, "the endpoint has ended"))?,
            Some(served) = ended.recv() => match served {
                Served::Completed { last } if args.once || last => {
                    let why: &[u8] = match args.once {
                        true => b"another transfer was completed (--once)",
                        false => b"the ticket is used up",
                    };
                    files.end(endpoint, &ending, why).await;
                    return Ok(());
                }
                Served::Failed(failure) if args.once => {
                    files.end(endpoint, &ending, failure.reason()).await;
                    return Err(failure);
                }
                _ => continue,
            },
            failure = files.expired() => {
                files.end(endpoint, &ending, b"the ticket has expired").await;
                return Err(failure);
            },
            _ = ages.tick() => {
                files.parts.keep_to_limits();
                continue;
            }
            failure = ending.told() => {
                drop(ends);
                let all = async { while ended.recv().await.is_some() {} };
                // What is not written in time is sent again.
                let _ = tokio::time::timeout(LAST_WRITES, all).await;
                files.log.flush();
                return Err(failure);
            }
        };
        let (args, files, ending) = (args.clone(), files.clone(), ending.clone());
        let ends = ends.clone();
        workers.run(move || async move {
            if let Some(served) = one(&args, &files, &ending, association).await {
                // Nobody waits for it when the command ends.
                let _ = ends.send(served);
            }
        });
    }
}

/// Serves one association; none if it was not let in.
async fn one(
    args: &RecvArgs,
    files: &Files,
    ending: &Ending,
    association: Association,
) -> Option<Served> {
    // In a box that goes with it: what waits afterwards, for hours perhaps, would keep the room of a TLS
    // handshake.
    let (channel, place) = Box::pin(files.admit(association, ending)).await?;
    let job = Job::new(args, files, &channel);
    Some(match job.serve().await {
        Ok(()) if job.done.borrow().count == 0 && job.folders.borrow().is_empty() => Served::Other,
        Ok(()) => Served::Completed {
            last: place.is_some_and(|place| place.done()),
        },
        Err(failure) => {
            let lacks = job.lacking.get();
            let last =
                job.untold.get() || lacks || failure.kind == Kind::Refused && !job.yields.get();
            // The last one is the command's.
            if !(ending.has_begun() || args.once && last) {
                files.log.failed(&failure, job.peer);
            }
            match last {
                true => Served::Failed(failure),
                false => Served::Other,
            }
        }
    })
}

/// What all associations share.
struct Files {
    /// None without protection.
    gate: Option<Gate>,
    /// For its counters.
    endpoint: Endpoint,
    claims: Claims,
    parts: Parts,
    slots: Slots,
    folder: Arc<Folder>,
    /// Of those who make this side read and hash.
    turns: Turns,
    log: Log,
    patience: Patience,
    /// Who writes to standard output.
    printing: tokio::sync::Mutex<()>,
}

impl Files {
    fn new(args: &RecvArgs, endpoint: &Endpoint) -> Result<Files, Failure> {
        let output = Output {
            data: false,
            json: args.here.talk.json,
            quiet: args.here.quiet,
        };
        let gate = Gate::open(&args.gate, args.uses, FILES, endpoint, output)?;
        if gate.is_none() && !args.here.is_silent() {
            say(PLAIN);
        }
        let log = Log::new();
        let limits = Limits {
            age: args.keep_partial,
            files: args.keep_partial_files,
            bytes: args.keep_partial_bytes.map(|size| size.0),
        };
        let parts = Parts::of_folder(&args.dir, limits, log.clone())
            .map_err(|e| Failure::file("read the folder", &args.dir, &e))?;
        Ok(Files {
            gate,
            endpoint: endpoint.clone(),
            parts,
            claims: Claims::default(),
            slots: Slots::of_process(endpoint.local_addresses().len() * args.workers.count()),
            folder: Arc::new(Folder {
                dir: args.dir.clone(),
                force: args.force,
                naming: Mutex::new(()),
            }),
            turns: Turns::new(),
            log,
            patience: Patience::of(&config(&args.here.settings)?),
            printing: tokio::sync::Mutex::default(),
        })
    }

    /// Lets a sender in, or logs why not and who it was.
    async fn admit(
        &self,
        association: Association,
        ending: &Ending,
    ) -> Option<(Channel, Option<Place<'_>>)> {
        let peer = association.paths().first().map(|p| p.remote);
        // Before the sender knows: whoever sees it refused finds it in the log, though this ends at once.
        let log = |failure: &Failure| {
            if !ending.has_begun() {
                self.log.failed(failure, peer);
            }
        };
        let Some(gate) = &self.gate else {
            if association.bars_violator() {
                let failure = Failure::new(Kind::Refused, BREAKS_PROTOCOL);
                log(&failure);
                abort_for(&association, &failure);
                return None;
            }
            return Some((Channel::plain(association), None));
        };
        let refused = match admit(gate, &association).await {
            Ok((channel, place)) => return Some((channel, Some(place))),
            Err(refused) => refused,
        };
        log(&refused.failure);
        if refused.plain {
            // A sender in plain mode reads it; what it has offered is not looked at.
            let channel = Channel::plain(association.clone());
            let reason = refused.failure.message.clone();
            let told = async {
                let exchange = Exchange::new(&channel);
                exchange.send(&Note::Refuse { reason }).await.ok();
                // It ends the association when it has read that.
                while association.recv().await.is_some() {}
            };
            let _ = tokio::time::timeout(LINGER, told).await;
        }
        abort_for(&association, &refused.failure);
        None
    }

    /// Ends for those that are still here, and writes what is left to say.
    async fn end(&self, endpoint: Endpoint, ending: &Ending, why: &[u8]) {
        ending.abort(endpoint, why).await;
        self.log.flush();
    }

    /// Prints a result. Who reads it may stand still: then those that have ended wait, in one thread for all, and no
    /// transfer does.
    async fn print(&self, text: String) -> Result<(), Failure> {
        let _alone = self.printing.lock().await;
        aside(move || print(&text))
            .await
            .and_then(|printed| printed)
    }

    async fn expired(&self) -> Failure {
        match &self.gate {
            Some(gate) => gate.expired().await,
            None => std::future::pending().await,
        }
    }
}

/// An offer of a file.
struct Offer {
    sender: [u8; 16],
    size: u64,
    name: String,
}

/// One association being served.
struct Job<'a> {
    args: &'a RecvArgs,
    files: &'a Files,
    channel: &'a Channel,
    association: &'a Association,
    /// For the log: later the association may be gone.
    peer: Option<SocketAddr>,
    progress: OnceCell<Box<Progress>>,
    meter: RefCell<StallMeter>,
    traffic: Traffic,
    /// Bytes that are here of the file under way.
    here: Cell<u64>,
    /// Bytes that have come, of all files, and files that were stored.
    steps: Cell<u64>,
    /// When the sender made the last step: bytes that count, or a file or folder that began or ended.
    /// Moved on by the time for which it waited for this side.
    moved: Cell<Instant>,
    /// Whether the sender waits for what this side reads and hashes.
    ours: Cell<bool>,
    /// Whether a file has its place, and bytes of it have come.
    under_way: Cell<bool>,
    /// Tells that a transfer begins, or goes on after a pause.
    moves: Notify,
    done: RefCell<FilesDone>,
    /// For what that takes.
    charge: RefCell<Charge>,
    folders: RefCell<Vec<FolderDone>>,
    /// Refused entries of folders whose reasons may still be kept.
    reasons: Cell<usize>,
    /// Folders that are complete, and the names of their journals.
    closed: RefCell<Vec<(Arc<Tree>, String)>>,
    /// Whether the transfer came to its end, and not all of a folder is here.
    lacking: Cell<bool>,
    /// Whether a file was refused in favour of another association.
    yields: Cell<bool>,
    /// Whether all is stored and standard output could not be written.
    untold: Cell<bool>,
}

impl<'a> Job<'a> {
    fn new(args: &'a RecvArgs, files: &'a Files, channel: &'a Channel) -> Job<'a> {
        let association = channel.association();
        let mut charge = association.charge();
        charge.set(TASK);
        Job {
            args,
            files,
            channel,
            association,
            peer: association.paths().first().map(|p| p.remote),
            progress: OnceCell::new(),
            meter: RefCell::new(StallMeter::new()),
            traffic: Traffic::default(),
            here: Cell::new(0),
            steps: Cell::new(0),
            moved: Cell::new(Instant::now()),
            ours: Cell::new(false),
            under_way: Cell::new(false),
            moves: Notify::new(),
            done: RefCell::default(),
            charge: RefCell::new(charge),
            folders: RefCell::default(),
            reasons: Cell::new(REASONS),
            closed: RefCell::default(),
            lacking: Cell::new(false),
            yields: Cell::new(false),
            untold: Cell::new(false),
        }
    }

    /// What a person sees of it. Thousands that only wait have none.
    fn progress(&self) -> &Progress {
        let here = &self.args.here;
        self.progress.get_or_init(|| {
            let progress = Progress::new(here.is_silent()).with_log(self.files.log.clone());
            Box::new(progress)
        })
    }

    /// An offer has come: it is a step, as one file or folder must end before the next is offered. The
    /// first one begins the transfer.
    fn offered(&self) {
        self.advance();
        if self.progress.get().is_none() {
            self.progress().say_association(&self.association.paths());
            self.made(0);
        }
    }

    /// Steps of the transfer, seen here and not at the next look, so that a stall is as long as it
    /// was. Before `here` is set: a stall was at the place before.
    fn made(&self, steps: u64) {
        self.steps.set(self.steps.get() + steps);
        let progress = self.progress();
        let mut meter = self.meter.borrow_mut();
        meter.update(self.steps.get(), || progress.place_of(self.here.get()));
        // A message without a byte is no step.
        if steps > 0 {
            self.advance();
        }
    }

    /// Bytes of a file, or of a hole in it, have come, and are written.
    fn came(&self, bytes: u64, slot: &Slot<'_>) {
        self.made(bytes);
        self.here.set(self.here.get() + bytes);
        slot.came(usize::try_from(bytes).unwrap_or(usize::MAX));
        if bytes > 0 {
            self.under_way.set(true);
        }
    }

    /// The sender has made a step.
    fn advance(&self) {
        if self.is_still() {
            self.moves.notify_one();
        }
        self.moved.set(Instant::now());
    }

    /// Whether nobody looks, even on a terminal.
    fn is_still(&self) -> bool {
        self.moved.get().elapsed() > STILL
    }

    /// Runs what the sender has to wait for. That is no step, and the time does not count.
    async fn ours<T>(&self, work: impl Future<Output = T>) -> T {
        let begun = Instant::now();
        self.ours.set(true);
        let done = work.await;
        self.ours.set(false);
        self.moved.set(self.moved.get() + begun.elapsed());
        done
    }

    fn step(&self) -> Step {
        Step {
            done: self.steps.get(),
            position: self.here.get(),
            at: Some(self.moved.get()),
            seen: self.progress.get().is_some_and(|p| p.is_seen()) && !self.is_still(),
            ours: self.ours.get(),
            under_way: self.under_way.get(),
        }
    }

    async fn serve(&self) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut watch =
            Watch::new(self.association, Some(&self.traffic)).with_patience(self.files.patience);
        let give_up = GiveUp::NoProgress(Limit::of(self.args.give_up));
        let show = || self.progress.get().map(|p| &**p);
        let result = tokio::select! {
            result = self.files() => result,
            failure = watch.run(show, &self.meter, || self.step(), Some(&self.moves), give_up) => Err(failure),
        };
        self.traffic.note(&self.association.paths());
        let ended_well = result.is_ok();
        let result = match result {
            Ok(()) => {
                let lacking = outcome::lacking(&self.folders.borrow());
                self.lacking.set(lacking.is_some());
                lacking.map_or(Ok(()), Err)
            }
            Err(failure) => {
                abort_for(self.association, &failure);
                Err(failure)
            }
        };
        if let Some(progress) = self.progress.get() {
            progress.end();
        }
        // Who offered nothing is nobody's transfer.
        let text = self.progress.get().and_then(|progress| {
            report(
                (self.args, &self.files.endpoint),
                progress,
                (&self.done.borrow(), &self.folders.borrow()),
                (&self.meter.borrow(), &self.traffic),
                begun.elapsed(),
                result.as_ref().err(),
            )
        });
        let told = match text {
            Some(text) => self.files.print(text).await,
            None => Ok(()),
        };
        self.untold.set(result.is_ok() && told.is_err());
        if ended_well {
            last_packets(self.association).await;
        }
        result.and(told)
    }

    async fn files(&self) -> Result<(), Failure> {
        prefer(&self.args.here, self.association)?;
        let mut exchange = Exchange::new(self.channel);
        while let Some(note) = exchange.receive().await? {
            // In a box: what only waits for an offer needs none of its room.
            Box::pin(self.note(&mut exchange, note)).await?;
        }
        self.forget_journals();
        Ok(())
    }

    /// Does what a sender asks for.
    async fn note(&self, exchange: &mut Exchange<'_>, note: Note) -> Result<(), Failure> {
        let taken = match note {
            Note::Offer { sender, size, name } => {
                self.offered();
                let offer = Offer { sender, size, name };
                let file = self.one_file(exchange, &offer).await;
                file.map(|file| self.file_is_done(file))
            }
            Note::Folder {
                sender,
                files,
                bytes,
                name,
            } => {
                self.offered();
                let offer = FolderOffer {
                    sender,
                    files,
                    bytes,
                    name,
                };
                // In a box: files alone need none of its room.
                let folder = Box::pin(self.folder(exchange, &offer)).await;
                folder.map(|folder| {
                    self.progress().say(&folder.words());
                    self.folders.borrow_mut().push(folder);
                })
            }
            Note::Ask => return self.asked(exchange).await,
            other => return Err(exchange.strange(other.name())),
        };
        match taken {
            Ok(()) => Ok(()),
            // The refusal goes to the sender, which ends the association.
            Err(failure) if failure.kind == Kind::Refused => {
                Refused::File.count();
                self.progress().say(&format!("refused: {failure}"));
                Err(turned_away(exchange, failure).await)
            }
            Err(failure) => Err(failure),
        }
    }

    fn file_is_done(&self, file: Done) {
        self.made(1);
        self.progress().say(&format!(
            "{}: {} stored and verified",
            file.path.display(),
            show::bytes(file.size)
        ));
        let mut done = self.done.borrow_mut();
        done.add(file, self.args.here.talk.json);
        self.charge.borrow_mut().set(TASK + done.memory());
    }

    /// Tells `byway doctor` where its packets come from, and takes what it sends to measure
    /// a rate.
    async fn asked(&self, exchange: &mut Exchange<'_>) -> Result<(), Failure> {
        let paths = self.association.paths();
        let heard = paths.iter().filter(|p| p.last_heard.is_some());
        let seen: Vec<String> = heard.map(|p| p.remote.to_string()).collect();
        let addresses = seen.join(",");
        exchange.send(&Note::Seen { addresses }).await?;
        loop {
            match exchange.receive().await? {
                Some(Note::Data(_)) => {}
                Some(Note::End { .. }) => return exchange.send(&Note::Stored).await,
                Some(other) => return Err(exchange.strange(other.name())),
                None => return Ok(()),
            }
        }
    }
}

/// Tells a sender that its file is not taken. Returns how the association ends then.
async fn turned_away(exchange: &mut Exchange<'_>, failure: Failure) -> Failure {
    let reason = failure.message.clone();
    if let Err(lost) = exchange.send(&Note::Refuse { reason }).await {
        return lost;
    }
    // Bytes of the refused file may still be on their way.
    let rest = async { while exchange.receive().await.is_ok_and(|note| note.is_some()) {} };
    // A sender that is gone is aborted.
    let _ = tokio::time::timeout(LINGER, rest).await;
    failure
}

fn refuse(reason: String) -> Failure {
    Failure::new(Kind::Refused, reason)
}

/// Tells of a transfer that has ended. Returns what goes to standard output.
fn report(
    (args, endpoint): (&RecvArgs, &Endpoint),
    progress: &Progress,
    (done, folders): (&FilesDone, &[FolderDone]),
    (meter, traffic): (&StallMeter, &Traffic),
    took: Duration,
    failure: Option<&Failure>,
) -> Option<String> {
    if args.here.talk.json {
        let (files, left_out) = done.json();
        let folders: Vec<serde_json::Value> = folders.iter().map(FolderDone::json).collect();
        let result = serde_json::json!({
            "schema": "byway.recv/1",
            "ok": failure.is_none(),
            "error": failure.map(|f| f.message.clone()),
            "seconds": took.as_secs_f64(),
            "longest_stall_s": meter.longest().as_secs_f64(),
            "files": files,
            "files_not_named": left_out,
            "folders": folders,
            "paths": traffic.json(),
            "refused_by_endpoint": open::refused(endpoint),
            "refused_by_command": refused::counts(),
        });
        return Some(format!("{result}\n"));
    }
    if failure.is_none() {
        let total = done.bytes + folders.iter().map(|f| f.bytes).sum::<u64>();
        progress.say(&format!(
            "received {} in {} ({}), {}",
            show::bytes(total),
            show::time(took.as_secs_f64()),
            show::rate(total as f64 * 8.0 / took.as_secs_f64().max(1e-6)),
            meter.words()
        ));
    }
    None
}
