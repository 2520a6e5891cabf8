//! How a command ends for SIGINT (Ctrl-C), SIGTERM and SIGHUP: its associations are
//! aborted, so that the other sides know at once, and no silent one is waited
//! for.

use super::place;
use super::record::Record;
use crate::failure::{Failure, Kind};
use crate::signals::{Signals, Told};
use crate::terminal::{finish_saying, say, say_beside};
use byway::{Association, Endpoint};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::sync::watch;

/// How long the ABORTs may take. Usually they are with the kernel at once.
const ABORTS: Duration = Duration::from_millis(300);

/// After this the process ends, whatever still runs: reading and hashing a
/// long file cannot be cancelled.
const GRACE: Duration = Duration::from_millis(600);

/// SHUTDOWN COMPLETE is not repeated: a side that waits for it does so for this long. Where SHUTDOWN ACK is lost, the
/// other side repeats SHUTDOWN, and is answered in this time.
const LAST_PACKETS: Duration = Duration::from_secs(15);

/// The reason for a side that has missed SHUTDOWN ACK.
pub(super) const ALL_HAS_COME: &[u8] = b"all has come";

/// Waits for the last packets of an association whose other side has shut down. Whether it has ended.
pub(super) async fn last_packets(association: &Association) -> bool {
    let ended = association.closed();
    tokio::time::timeout(LAST_PACKETS, ended).await.is_ok()
}

/// For the other side.
fn reason(told: Told) -> &'static [u8] {
    match told {
        Told::Interrupt => b"interrupted by its user",
        Told::Terminate => b"terminated by its system",
        Told::HangUp => b"its terminal was closed",
    }
}

fn exit(told: Told) -> ! {
    place::end();
    finish_saying();
    std::process::exit(Failure::told(told).kind as i32)
}

/// Where all parts of a command learn that it shall end, and what ends with it.
#[derive(Clone)]
pub(crate) struct Ending(Arc<Inner>);

struct Inner {
    /// The endpoint in use.
    endpoint: Mutex<Option<Endpoint>>,
    /// Which signal came.
    signal: OnceLock<Told>,
    /// The same, once the associations are aborted.
    told: watch::Sender<Option<Told>>,
    /// Whether the ABORTs are sent.
    aborted: watch::Sender<bool>,
    /// What it leaves behind.
    record: Record,
}

impl Ending {
    /// Takes the signals over. Must be called inside a runtime with another
    /// thread than this: it works while this one is busy. Nobody waits for who reads standard error from now on.
    pub(crate) fn begin(record: Record) -> Result<Ending, Failure> {
        let signals = Signals::take()
            .map_err(|e| Failure::new(Kind::Failed, format!("cannot handle signals: {e}")))?;
        say_beside();
        let ending = Ending(Arc::new(Inner {
            endpoint: Mutex::new(None),
            signal: OnceLock::new(),
            told: watch::Sender::new(None),
            aborted: watch::Sender::new(false),
            record,
        }));
        tokio::spawn(ending.clone().obey(signals));
        Ok(ending)
    }

    async fn obey(self, mut signals: Signals) {
        let told = signals.next().await;
        let told = *self.0.signal.get_or_init(|| told);
        let work = async {
            // First the ABORTs: what waits is dropped next, and would shut down.
            let endpoint = self.endpoint().clone();
            if let Some(endpoint) = endpoint {
                let abort = endpoint.abort(reason(told));
                tokio::pin!(abort);
                // Polled once, the associations have ended.
                let sent = polled_once(abort.as_mut()).await;
                self.0.told.send_replace(Some(told));
                if !sent {
                    // Not sent in time: the other side finds out by itself.
                    let _ = tokio::time::timeout(ABORTS, abort).await;
                }
            }
            self.0.told.send_replace(Some(told));
            self.0.aborted.send_replace(true);
            tokio::time::sleep(GRACE).await;
        };
        tokio::select! {
            () = work => {
                say(format_args!("byway: {}", Failure::told(told)));
                self.0.record.finish(Some(&Failure::told(told)));
                exit(told)
            }
            // Once more: at once.
            again = signals.next() => exit(again),
        }
    }

    fn endpoint(&self) -> std::sync::MutexGuard<'_, Option<Endpoint>> {
        let endpoint = &self.0.endpoint;
        endpoint.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The endpoint in use, if there is one.
    pub(super) fn current(&self) -> Option<Endpoint> {
        self.endpoint().clone()
    }

    /// What the command leaves behind.
    pub(super) fn record(&self) -> &Record {
        &self.0.record
    }

    /// This endpoint is aborted for a signal.
    pub(super) fn aborts(&self, endpoint: &Endpoint) {
        *self.endpoint() = Some(endpoint.clone());
    }

    /// Closes the endpoint in good order.
    pub(super) async fn close(&self, endpoint: Endpoint) {
        endpoint.close().await;
        *self.endpoint() = None;
    }

    /// Closes the endpoint without waiting for any other side.
    pub(super) async fn abort(&self, endpoint: Endpoint, reason: &[u8]) {
        // Not sent in time: the other sides find out by themselves.
        let _ = tokio::time::timeout(ABORTS, endpoint.abort(reason)).await;
        *self.endpoint() = None;
    }

    /// Waits for a signal. By then all associations are aborted.
    pub(super) async fn told(&self) -> Failure {
        let mut told = self.0.told.subscribe();
        // The sender lives as long as `self`.
        let told = told.wait_for(Option::is_some).await.map_or(None, |t| *t);
        Failure::told(told.unwrap_or(Told::Interrupt))
    }

    /// Whether a signal has come: what fails from now on is no news.
    pub(super) fn has_begun(&self) -> bool {
        self.0.signal.get().is_some()
    }

    /// The result of a command: that of its work, unless a signal ended it.
    pub(crate) async fn result<T>(&self, of_work: Result<T, Failure>) -> Result<T, Failure> {
        let Some(&told) = self.0.signal.get() else {
            return of_work;
        };
        // The sender lives as long as `self`.
        let _ = self.0.aborted.subscribe().wait_for(|sent| *sent).await;
        Err(Failure::told(told))
    }
}

/// Polls once; whether it was ready.
async fn polled_once(mut future: std::pin::Pin<&mut impl Future<Output = ()>>) -> bool {
    std::future::poll_fn(|cx| std::task::Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}
