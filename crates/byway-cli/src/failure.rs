//! How a command fails: with a sentence and an exit status.

use byway::text::shown;
use byway::{BindError, Closed, ConnectError, SendError};
use byway_lab::engine::EngineError;
use byway_lab::trouble::Trouble;
use byway_papers::reproduce::ReproduceError;
use std::fmt;
use std::path::Path;

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
            EngineError::Interrupted => Failure::interrupted(),
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
        Failure::new(Kind::Lost, shown(&closed.to_string()))
    }
}

impl From<SendError> for Failure {
    fn from(error: SendError) -> Failure {
        let kind = match &error {
            SendError::Ended(Closed::Lost { .. } | Closed::DriverGone) => Kind::Lost,
            _ => Kind::Failed,
        };
        Failure::new(kind, shown(&error.to_string()))
    }
}
