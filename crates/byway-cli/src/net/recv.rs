//! `byway recv`.

use super::ending::Ending;
use super::exchange::{Exchange, strange};
use super::open::{abort_for, serve};
use super::progress::{Progress, Watch};
use super::protocol::Note;
use super::send::hex;
use super::stall::StallMeter;
use super::store::Store;
use crate::args::RecvArgs;
use crate::failure::{Failure, Kind};
use byway::Association;
use byway_lab::show;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a sender that came back waits for its lost association to let go
/// of a file.
const TAKE_OVER: Duration = Duration::from_secs(5);

pub(crate) async fn recv(args: RecvArgs, ending: Ending) -> Result<(), Failure> {
    std::fs::create_dir_all(&args.dir)
        .map_err(|e| Failure::file("make the folder", &args.dir, &e))?;
    let endpoint = serve(&args.here, args.port, &ending)?;
    let args = Arc::new(args);
    let claims = Arc::new(Claims::default());
    loop {
        let association = tokio::select! {
            accepted = endpoint.accept() => accepted.ok_or_else(|| Failure::new(Kind::Failed, "the endpoint has ended"))?,
            failure = ending.told() => return Err(failure),
        };
        if !args.once {
            let (args, claims, ending) = (args.clone(), claims.clone(), ending.clone());
            // Its own thread: it writes files, and its state is not shared.
            let runtime = tokio::runtime::Handle::current();
            std::thread::spawn(move || {
                if let Err(failure) = runtime.block_on(serve_one(&args, &claims, association))
                    && !ending.has_begun()
                {
                    eprintln!("byway: {failure}");
                }
            });
            continue;
        }
        let result = tokio::select! {
            result = serve_one(&args, &claims, association) => result,
            failure = ending.told() => Err(failure),
        };
        ending.close(endpoint).await;
        return result;
    }
}

/// A file that has been stored.
struct Done {
    path: PathBuf,
    size: u64,
    hash: String,
    resumed_from: u64,
}

async fn serve_one(
    args: &RecvArgs,
    claims: &Claims,
    association: Association,
) -> Result<(), Failure> {
    let progress = Progress::new(args.here.quiet || args.here.json);
    let meter = RefCell::new(StallMeter::new());
    let from: Vec<String> = association
        .paths()
        .iter()
        .map(|p| p.remote.to_string())
        .collect();
    progress.say(&format!("association with {}", from.join(", ")));
    let here = Cell::new(0);
    let done = RefCell::new(Vec::new());
    let begun = Instant::now();
    let watch = Watch::new(&association, &progress);
    let result = tokio::select! {
        result = files(args, claims, &association, &progress, &here, &done) => result,
        failure = watch.run(&meter, || here.get(), Some(args.give_up)) => Err(failure),
    };
    if let Err(failure) = &result {
        abort_for(&association, failure);
    }
    progress.end();
    report(
        args,
        &done.borrow(),
        &meter.borrow(),
        begun.elapsed(),
        result.as_ref().err(),
    );
    result
}

async fn files(
    args: &RecvArgs,
    claims: &Claims,
    association: &Association,
    progress: &Progress,
    here: &Cell<u64>,
    done: &RefCell<Vec<Done>>,
) -> Result<(), Failure> {
    let mut exchange = Exchange::new(association);
    let mut refused = None;
    while let Some(note) = exchange.receive().await? {
        let Note::Offer { sender, size, name } = note else {
            return Err(strange(note.name()));
        };
        let offered = async {
            let _claim = claims.claim(&name, sender, association).await?;
            one_file(args, &mut exchange, &name, size, progress, here).await
        };
        match offered.await {
            Ok(file) => {
                progress.say(&format!(
                    "{}: {} stored and verified",
                    file.path.display(),
                    show::bytes(file.size)
                ));
                done.borrow_mut().push(file);
            }
            // The refusal goes to the sender, which ends the association.
            Err(failure) if failure.kind == Kind::Refused => {
                progress.say(&format!("refused: {failure}"));
                exchange
                    .send(&Note::Refuse {
                        reason: failure.message.clone(),
                    })
                    .await?;
                refused = Some(failure);
                // Bytes of the refused file may still be on their way.
                while exchange.receive().await.is_ok_and(|note| note.is_some()) {}
                break;
            }
            Err(failure) => return Err(failure),
        }
    }
    refused.map_or(Ok(()), Err)
}

async fn one_file(
    args: &RecvArgs,
    exchange: &mut Exchange<'_>,
    name: &str,
    size: u64,
    progress: &Progress,
    here: &Cell<u64>,
) -> Result<Done, Failure> {
    let refuse = |reason: String| Failure::new(Kind::Refused, reason);
    let mut store = Store::open(&args.dir, name, size, args.force).map_err(refuse)?;
    let found = store.found();
    exchange
        .send(&Note::Have {
            offset: found.have,
            hash: found.hash,
        })
        .await?;
    let resumed_from = match exchange.expect("START").await? {
        Note::Start { offset } => {
            store.start(offset).map_err(refuse)?;
            offset
        }
        other => return Err(strange(other.name())),
    };
    here.set(resumed_from);
    progress.begin(name, size, resumed_from);
    loop {
        match exchange.expect("END").await? {
            Note::Data(bytes) => {
                store.write(&bytes).map_err(refuse)?;
                here.set(store.written());
            }
            Note::End { hash } => {
                let path = store.finish(&hash).map_err(refuse)?;
                exchange.send(&Note::Stored).await?;
                return Ok(Done {
                    path,
                    size,
                    hash: hex(&hash),
                    resumed_from,
                });
            }
            other => return Err(strange(other.name())),
        }
    }
}

/// Which association writes which file. A sender that comes back after a loss
/// takes its file over from its own lost association, which this side may not
/// have noticed to be lost.
#[derive(Default)]
struct Claims(Mutex<BTreeMap<String, ([u8; 16], Association)>>);

struct Claim<'a>(&'a Claims, String);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        self.0.map().remove(&self.1);
    }
}

impl Claims {
    fn map(&self) -> std::sync::MutexGuard<'_, BTreeMap<String, ([u8; 16], Association)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn claim(
        &self,
        name: &str,
        sender: [u8; 16],
        association: &Association,
    ) -> Result<Claim<'_>, Failure> {
        let begun = Instant::now();
        loop {
            {
                let mut map = self.map();
                match map.get(name) {
                    None => {
                        map.insert(name.to_owned(), (sender, association.clone()));
                        return Ok(Claim(self, name.to_owned()));
                    }
                    Some((owner, lost)) if *owner == sender => {
                        // Refused when it has ended already.
                        let _ = lost.abort(b"the sender came back");
                    }
                    Some(_) => {
                        return Err(Failure::new(
                            Kind::Refused,
                            format!("{name} is being received from another sender"),
                        ));
                    }
                }
            }
            if begun.elapsed() > TAKE_OVER {
                return Err(Failure::new(
                    Kind::Refused,
                    format!("{name} is still held by an earlier association"),
                ));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

fn report(
    args: &RecvArgs,
    done: &[Done],
    meter: &StallMeter,
    took: Duration,
    failure: Option<&Failure>,
) {
    if args.here.json {
        let files: Vec<serde_json::Value> = done
            .iter()
            .map(|f| {
                serde_json::json!({
                    "path": f.path.display().to_string(),
                    "bytes": f.size,
                    "sha256": f.hash,
                    "resumed_from": f.resumed_from,
                })
            })
            .collect();
        let result = serde_json::json!({
            "schema": "byway.recv/1",
            "ok": failure.is_none(),
            "error": failure.map(|f| f.message.clone()),
            "seconds": took.as_secs_f64(),
            "longest_stall_s": meter.longest().as_secs_f64(),
            "files": files,
        });
        println!("{result}");
    } else if !args.here.quiet && failure.is_none() {
        let total: u64 = done.iter().map(|f| f.size).sum();
        eprintln!(
            "received {} in {} ({}), {}",
            show::bytes(total),
            show::time(took.as_secs_f64()),
            show::rate(total as f64 * 8.0 / took.as_secs_f64().max(1e-6)),
            meter.words()
        );
    }
}
