//! The errors of this crate.

use byway_core::{CommandError, LossReason};
use std::io;
use std::net::SocketAddr;

/// Why [`Endpoint::bind`](crate::Endpoint::bind) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// A socket could not be created or bound.
    #[error("cannot bind UDP {address}: {source}{}", remedy(source))]
    Socket {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The addresses of this host could not be listed.
    #[error("cannot list the addresses of this host: {0}; name them instead of a wildcard")]
    Addresses(io::Error),
    /// A wildcard stands for no address.
    #[error(
        "this host has no address of that family on a card that is up; see `ip address`, or name one"
    )]
    NoAddress,
    /// A setting cannot work.
    #[error(transparent)]
    Config(#[from] byway_core::ConfigError),
    /// There is no tokio runtime to run the driver.
    #[error("no tokio runtime here; call Endpoint::bind inside of one, with IO and time enabled")]
    NoRuntime,
    /// The system's random number generator failed.
    #[error("the system's random generator failed: {0}")]
    Random(String),
}

/// What to do about the usual reasons for a failed bind.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "; another socket has this port: choose another, or port 0 for any that is free"
        }
        io::ErrorKind::AddrNotAvailable => {
            "; this host does not have the address: list those it has with `ip address`"
        }
        io::ErrorKind::PermissionDenied => {
            "; ports below 1024 need a privilege: choose a higher one"
        }
        _ => "",
    }
}

impl BindError {
    pub(crate) fn socket(address: SocketAddr, source: io::Error) -> BindError {
        BindError::Socket { address, source }
    }

    pub(crate) fn in_use(&self) -> bool {
        matches!(self, BindError::Socket { source, .. } if source.kind() == io::ErrorKind::AddrInUse)
    }
}

/// How an association ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Closed {
    /// By a graceful shutdown: each side has received all that the other sent (RFC
    /// 9260 section 9.2).
    #[error("the association was shut down gracefully")]
    Gracefully,
    /// It was aborted, or the peer could not be reached any more.
    #[error(
        "the association was lost: {reason}; {undelivered_messages} messages were not acknowledged"
    )]
    Lost {
        /// Why.
        reason: LossReason,
        /// Messages sent that the peer has not completely acknowledged.
        undelivered_messages: u64,
    },
    /// The tokio runtime that ran the endpoint's driver has ended.
    #[error(
        "the runtime that drove the endpoint has ended; keep it alive until Endpoint::close is done"
    )]
    DriverGone,
}

/// Why [`Endpoint::connect`](crate::Endpoint::connect) failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// An address or a setting cannot work.
    #[error(transparent)]
    Refused(#[from] byway_core::ConnectError),
    /// An address lacks its UDP port.
    #[error("{0} has UDP port 0; give the peer's encapsulation port, 9899 unless it chose another")]
    NoUdpPort(SocketAddr),
    /// The association was not established.
    #[error("no association with {}, SCTP port {port}: {closed}", list(remote))]
    Failed {
        /// The peer's addresses.
        remote: Vec<SocketAddr>,
        /// The peer's SCTP port.
        port: u16,
        /// How it ended.
        closed: Closed,
    },
    /// The endpoint is closed or closing.
    #[error("the endpoint is closed; bind another")]
    EndpointClosed,
}

fn list(addresses: &[SocketAddr]) -> String {
    let texts: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    texts.join(", ")
}

/// Why a message or a command was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// Refused. The association continues.
    #[error(transparent)]
    Refused(#[from] CommandError),
    /// The association has ended.
    #[error("{0}")]
    Ended(Closed),
}

impl From<SendError> for io::Error {
    fn from(error: SendError) -> io::Error {
        let kind = match &error {
            SendError::Refused(CommandError::WouldBlock { .. }) => io::ErrorKind::WouldBlock,
            SendError::Refused(CommandError::ShuttingDown | CommandError::Gone) => {
                io::ErrorKind::BrokenPipe
            }
            SendError::Refused(_) => io::ErrorKind::InvalidInput,
            SendError::Ended(Closed::Gracefully) => io::ErrorKind::BrokenPipe,
            SendError::Ended(_) => io::ErrorKind::ConnectionAborted,
        };
        io::Error::new(kind, error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_bind_names_the_address_and_the_remedy() {
        let address = "127.0.0.1:9899".parse().unwrap();
        let text = |kind: io::ErrorKind| BindError::socket(address, kind.into()).to_string();
        assert!(text(io::ErrorKind::AddrInUse).contains("127.0.0.1:9899"));
        assert!(text(io::ErrorKind::AddrInUse).contains("choose another"));
        assert!(text(io::ErrorKind::AddrNotAvailable).contains("ip address"));
        assert!(text(io::ErrorKind::PermissionDenied).contains("higher"));
    }

    #[test]
    fn a_failed_connect_names_the_peer() {
        let error = ConnectError::Failed {
            remote: vec!["127.0.0.1:1".parse().unwrap(), "[::1]:1".parse().unwrap()],
            port: 7,
            closed: Closed::Lost {
                reason: LossReason::SetupTimedOut,
                undelivered_messages: 0,
            },
        };
        let text = error.to_string();
        assert!(text.contains("127.0.0.1:1, [::1]:1, SCTP port 7"), "{text}");
        assert!(text.contains("did not answer"), "{text}");
    }
}
