//! The errors of this crate.

use crate::scoped::{shown_address, shown_host};
use byway_core::config::MAX_PARTS;
use byway_core::{CommandError, LossReason};
use std::io;
use std::net::{IpAddr, SocketAddr};

/// Why [`Endpoint::bind`](crate::Endpoint::bind) failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BindError {
    /// A socket could not be created or bound.
    #[error("cannot bind UDP {}: {source}{}", shown_address(*address), remedy(source))]
    Socket {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A raw socket, for SCTP without UDP, could not be created or bound.
    #[error(
        "cannot bind SCTP without UDP on {}: {source}{}",
        shown_host(*address),
        remedy_of_raw(source)
    )]
    Raw {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: io::Error,
    },
    /// Another endpoint of this host has this SCTP port of the address without UDP.
    #[error(
        "another byway on this host has SCTP port {port} of {address} without UDP: choose another \
         SCTP port, or end that one"
    )]
    SctpPortInUse {
        /// The address.
        address: IpAddr,
        /// The SCTP port.
        port: u16,
    },
    /// An address has a UDP port, but the endpoint shall be without UDP.
    #[error(
        "{} has a UDP port, but the encapsulation is none: leave the port out, or use UDP or both",
        shown_address(*.0)
    )]
    UdpPort(SocketAddr),
    /// The kernel's own SCTP would answer the packets of peers with ABORT.
    #[error(
        "this kernel has SCTP of its own loaded (sctp.ko), which gets the same packets and answers \
         them with ABORT: unload it (`modprobe -r sctp`), use UDP instead, or keep its ABORTs back \
         by a filter and then say that it is allowed (`beside_kernel_sctp`, --beside-kernel-sctp); \
         docs/networks.md has the filter"
    )]
    KernelSctp,
    /// There cannot be so many workers.
    #[error("{0} workers: give 1 to {MAX_PARTS}; as many as there are processors is enough")]
    Workers(usize),
    /// Several workers, and not every packet in UDP.
    #[error(
        "{0} workers need UDP: without it each of them would get every packet. Use UDP alone, or 1 worker"
    )]
    WorkersWithoutUdp(usize),
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

/// The same for raw sockets.
fn remedy_of_raw(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::PermissionDenied => {
            "; raw sockets need CAP_NET_RAW: grant it with `setcap cap_net_raw+ep PROGRAM`, run the \
             program as root, or use UDP instead"
        }
        _ => remedy(error),
    }
}

impl BindError {
    pub(crate) fn raw(address: SocketAddr, source: io::Error) -> BindError {
        BindError::Raw { address, source }
    }

    pub(crate) fn socket(address: SocketAddr, source: io::Error) -> BindError {
        BindError::Socket { address, source }
    }

    pub(crate) fn in_use(&self) -> bool {
        match self {
            BindError::Socket { source, .. } => source.kind() == io::ErrorKind::AddrInUse,
            BindError::SctpPortInUse { .. } => true,
            _ => false,
        }
    }
}

/// How an association ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Closed {
    /// By a graceful shutdown: each side has received all that the other sent (RFC
    /// 9260 section 9.2). So it is where the peer has shut down and is gone, and only
    /// its last packet, SHUTDOWN COMPLETE, did not arrive.
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

impl Closed {
    /// Bytes of memory that its text takes beside itself.
    pub(crate) fn text_memory(&self) -> usize {
        match self {
            Closed::Lost { reason, .. } => reason.text_memory(),
            Closed::Gracefully | Closed::DriverGone => 0,
        }
    }
}

/// Why [`Endpoint::connect`](crate::Endpoint::connect) failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// An address or a setting cannot work.
    #[error(transparent)]
    Refused(#[from] byway_core::ConnectError),
    /// An address lacks its UDP port.
    #[error(
        "{} has UDP port 0; give the peer's encapsulation port, 9899 unless it chose another, or \
         bind this side without UDP, too",
        shown_host(*.0)
    )]
    NoUdpPort(SocketAddr),
    /// An address has a UDP port, but this endpoint is without UDP.
    #[error(
        "{} has a UDP port, but this endpoint has none: leave the port out, or use UDP or both",
        shown_address(*.0)
    )]
    UdpPort(SocketAddr),
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
    let texts: Vec<String> = addresses.iter().map(|a| shown_address(*a)).collect();
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
    fn without_udp_the_remedies_are_others() {
        let address = "10.0.0.1:0".parse().unwrap();
        let text = |kind: io::ErrorKind| BindError::raw(address, kind.into()).to_string();
        let denied = text(io::ErrorKind::PermissionDenied);
        assert!(denied.contains("on 10.0.0.1:"), "{denied}");
        assert!(denied.contains("setcap cap_net_raw+ep"), "{denied}");
        assert!(denied.contains("use UDP"), "{denied}");
        assert!(text(io::ErrorKind::AddrNotAvailable).contains("ip address"));
        let kernel = BindError::KernelSctp.to_string();
        for remedy in ["modprobe -r sctp", "use UDP", "filter"] {
            assert!(kernel.contains(remedy), "{kernel}");
        }
        let taken = BindError::SctpPortInUse {
            address: address.ip(),
            port: 5001,
        };
        assert!(taken.to_string().contains("SCTP port 5001 of 10.0.0.1"));
        assert!(taken.in_use());
    }

    #[test]
    fn an_address_of_one_link_is_named_with_its_card() {
        let peer: SocketAddr = "[fe80::2%1]:9899".parse().unwrap();
        let card = shown_host(peer).replace("fe80::2", "");
        assert!(card.starts_with('%'), "{card}");
        let failed = ConnectError::Failed {
            remote: vec![peer],
            port: 7,
            closed: Closed::DriverGone,
        };
        let missing = || io::ErrorKind::AddrNotAvailable.into();
        for (error, words) in [
            (failed.to_string(), format!("[fe80::2{card}]:9899, SCTP")),
            (
                BindError::socket(peer, missing()).to_string(),
                format!("UDP [fe80::2{card}]:9899:"),
            ),
            (
                BindError::raw(peer, missing()).to_string(),
                format!("on fe80::2{card}:"),
            ),
        ] {
            assert!(error.contains(&words), "{error}");
        }
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
