//! How a command fails: with a sentence and an exit status.

use crate::signals::{self, Told};
use byway::text::shown;
use byway::{BindError, Closed, ConnectError, LossReason, SendError};
use byway_lab::engine::EngineError;
use byway_lab::trouble::Trouble;
use byway_papers::reproduce::ReproduceError;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// What a command has to end by itself after a second signal.
const LAST: Duration = Duration::from_secs(3);

/// Why a command failed.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) kind: Kind,
    pub(crate) message: String,
}

/// The exit statuses, as `byway --help` lists them.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Failed = 1,
    Wrong = 2,
    Lost = 3,
    Refused = 4,
    HungUp = 129,
    Interrupted = 130,
    Terminated = 143,
}

impl Failure {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Failure {
        Failure {
            kind,
            message: message.into(),
        }
    }

    pub(crate) fn wrong(message: impl Into<String>) -> Failure {
        Failure::new(Kind::Wrong, message)
    }

    /// A file could not be read or written.
    pub(crate) fn file(doing: &str, path: &Path, error: &std::io::Error) -> Failure {
        Failure::new(
            Kind::Failed,
            format!("cannot {doing} {}: {error}", path.display()),
        )
    }

    /// What the other side is told of it: the first bytes.
    pub(crate) fn reason(&self) -> &[u8] {
        let reason = self.message.as_bytes();
        &reason[..reason.len().min(100)]
    }

    pub(crate) fn interrupted() -> Failure {
        Failure::new(Kind::Interrupted, "interrupted")
    }

    /// What a signal has ended.
    pub(crate) fn told(signal: Told) -> Failure {
        match signal {
            Told::Interrupt => Failure::interrupted(),
            Told::Terminate => Failure::new(Kind::Terminated, "terminated"),
            Told::HangUp => Failure::new(Kind::HungUp, "the terminal was closed (SIGHUP)"),
        }
    }

    /// What a signal has ended that [`Failure::watch_signals`] looks for.
    pub(crate) fn signal() -> Failure {
        Failure::told(signals::told().unwrap_or(Told::Interrupt))
    }

    /// Sets `cancel` at SIGINT, SIGTERM and SIGHUP; a second one ends the process at once.
    pub(crate) fn watch_signals(cancel: &Arc<AtomicBool>) -> Result<(), Failure> {
        Failure::watch_signals_and(cancel, || Failure::signal().kind as i32)
    }

    /// The same; at the second one `last` is done first, and says the status. With [`Failure::last_signal`] for commands
    /// that have something to remove.
    pub(crate) fn watch_signals_and(
        cancel: &Arc<AtomicBool>,
        last: fn() -> i32,
    ) -> Result<(), Failure> {
        signals::watch(cancel, last)
            .map_err(|e| Failure::new(Kind::Failed, format!("cannot watch for signals: {e}")))
    }

    /// For [`Failure::watch_signals_and`]: sleeps 3 s, in which the main thread removes what must not stay and ends the
    /// process. Then something hangs, and this is the status. A second signal often follows the first at once.
    pub(crate) fn last_signal() -> i32 {
        std::thread::sleep(LAST);
        Failure::signal().kind as i32
    }

    /// What was watched for with `cancel` is done: fails if a signal came before, and from now on the first one ends
    /// the process.
    pub(crate) fn watched_to_the_end(cancel: &AtomicBool) -> Result<(), Failure> {
        signals::end_at_once();
        match cancel.load(Ordering::SeqCst) {
            true => Err(Failure::signal()),
            false => Ok(()),
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        let kind = match trouble {
            Trouble::File { .. } => Kind::Failed,
            Trouble::Foreign { .. } => Kind::Wrong,
        };
        Failure::new(kind, trouble.to_string())
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Failure {
        match error {
            EngineError::Interrupted => Failure::signal(),
            EngineError::File(trouble) => trouble.into(),
            EngineError::Refused { .. } => Failure::new(Kind::Failed, error.to_string()),
        }
    }
}

impl From<ReproduceError> for Failure {
    fn from(error: ReproduceError) -> Failure {
        match error {
            ReproduceError::Unknown(why) => Failure::wrong(why),
            ReproduceError::Failed(why) => Failure::new(Kind::Failed, why),
            ReproduceError::File(trouble) => trouble.into(),
        }
    }
}

impl From<BindError> for Failure {
    fn from(error: BindError) -> Failure {
        let kind = if matches!(error, BindError::Config(_) | BindError::UdpPort(_)) {
            Kind::Wrong
        } else {
            Kind::Failed
        };
        Failure::new(kind, error.to_string())
    }
}

impl From<ConnectError> for Failure {
    fn from(error: ConnectError) -> Failure {
        use ConnectError::{NoUdpPort, Refused, UdpPort};
        let kind = if matches!(error, Refused(_) | NoUdpPort(_) | UdpPort(_)) {
            Kind::Wrong
        } else {
            Kind::Lost
        };
        // The reason of an ABORT is the other side's text.
        Failure::new(kind, shown(&error.to_string()))
    }
}

impl From<Closed> for Failure {
    fn from(closed: Closed) -> Failure {
        let words = format!("{}{}", shown(&closed.to_string()), remedy(&closed));
        Failure::new(Kind::Lost, words)
    }
}

/// What to do about an association that was lost.
fn remedy(closed: &Closed) -> &'static str {
    let Closed::Lost { reason, .. } = closed else {
        return "";
    };
    match reason {
        LossReason::PeerUnreachable => {
            "; is the other side up, and a network between? `byway doctor` looks at each path. An \
             outage of all paths may last as long as failure.association_max_retrans lets it (20, \
             which is about 12 minutes with two paths and 16 with one); `send --retry-for 1h` goes \
             on after a longer one"
        }
        LossReason::DataUnacknowledged => {
            "; do packets of their size pass? They need 576 bytes at least. `byway doctor` finds \
             what passes, and --set pmtu=1280 sends no larger ones"
        }
        LossReason::PortUnreachable => {
            "; the program there has ended, or a firewall rejects its port"
        }
        _ => "",
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Failure {
        match error {
            SendError::Ended(closed @ (Closed::Lost { .. } | Closed::DriverGone)) => closed.into(),
            _ => Failure::new(Kind::Failed, shown(&error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_association_says_what_to_do() {
        for (reason, remedy) in [
            (
                LossReason::PeerUnreachable,
                "failure.association_max_retrans",
            ),
            (LossReason::PeerUnreachable, "--retry-for"),
            (LossReason::DataUnacknowledged, "pmtu=1280"),
            (LossReason::DataUnacknowledged, "576 bytes"),
            (LossReason::PortUnreachable, "firewall"),
        ] {
            let closed = Closed::Lost {
                reason,
                undelivered_messages: 0,
            };
            for failure in [
                Failure::from(closed.clone()),
                SendError::Ended(closed).into(),
            ] {
                assert!(failure.message.contains(remedy), "{failure}");
                assert_eq!(failure.kind, Kind::Lost);
            }
        }
    }
}
