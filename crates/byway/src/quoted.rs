//! What ICMP says of packets in UDP.
//!
//! The kernel keeps such messages for the socket whose port they quote (IP_RECVERR), with what
//! they quote behind the UDP header: the verification tag, which the core compares. The kernel
//! compares no tag, so a message of a stranger gets that far, and also becomes the error of the
//! next call on the socket, whatever that call is about. So no such error says anything by itself.

use crate::icmp::{self, Told};
use byway_core::IcmpMessage;
use nix::errno::Errno;
use nix::libc::{SO_EE_ORIGIN_ICMP, SO_EE_ORIGIN_ICMP6, sock_extended_err};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, SockaddrStorage, recvmsg};
use std::fmt;
use std::io::{self, IoSliceMut};
use std::net::SocketAddr;
use std::os::fd::AsRawFd;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Context;
use tokio::io::Interest;
use tokio::net::UdpSocket;

/// Messages that are read at once. A flood of them must not keep the driver.
const AT_ONCE: usize = 64;

/// Bytes of a quoted packet that are read: its header and its first chunk.
const QUOTED: usize = 64;

/// Room for the control messages of one: the error with the address of who sent it, and the
/// destination and the like that quinn-udp asks for with each packet.
const CONTROL: usize = 512;

/// Most messages that are kept until they are passed on.
const KEPT: usize = 256;

/// A message with what it quotes.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Quoted {
    destination: SocketAddr,
    bytes: [u8; QUOTED],
    len: usize,
    message: IcmpMessage,
}

impl Quoted {
    /// What it says.
    pub(crate) fn told(&self) -> Told<'_> {
        Told {
            destination: self.destination,
            quoted: &self.bytes[..self.len],
            message: self.message,
        }
    }
}

/// The error queue of a socket.
pub(crate) struct ErrorQueue {
    io: Arc<UdpSocket>,
    inner: Mutex<Inner>,
}

struct Inner {
    /// Ready when there are messages. It registers the waker of the driver.
    ready: Pin<Box<dyn Future<Output = ()> + Send>>,
    kept: Vec<Quoted>,
}

impl fmt::Debug for ErrorQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ErrorQueue").finish_non_exhaustive()
    }
}

impl ErrorQueue {
    /// The queue of this socket, for which messages are kept.
    pub(crate) fn of(io: Arc<UdpSocket>) -> ErrorQueue {
        let inner = Mutex::new(Inner {
            ready: ready(io.clone()),
            kept: Vec::new(),
        });
        ErrorQueue { io, inner }
    }

    /// Reads what has come, and wakes the task when more comes.
    pub(crate) fn poll(&self, cx: &mut Context<'_>) {
        let mut inner = self.inner();
        while inner.ready.as_mut().poll(cx).is_ready() {
            // The flag that something waits is cleared when nothing does.
            let drained = self.io.try_io(Interest::ERROR, || {
                match read_all(&*self.io, &mut inner.kept).messages {
                    0 => Err(io::ErrorKind::WouldBlock.into()),
                    n => Ok(n),
                }
            });
            inner.ready = ready(self.io.clone());
            if drained.is_ok_and(|n| n == AT_ONCE) {
                cx.waker().wake_by_ref();
                return;
            }
        }
    }

    /// Reads what has come. Whether a message of the network was among it.
    pub(crate) fn drain(&self) -> bool {
        read_all(&*self.io, &mut self.inner().kept).of_network
    }

    /// Moves what was read to `into`.
    pub(crate) fn take(&self, into: &mut Vec<Quoted>) {
        into.append(&mut self.inner().kept);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Nothing panics while it is held.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn ready(io: Arc<UdpSocket>) -> Pin<Box<dyn Future<Output = ()> + Send>> {
    Box::pin(async move {
        // An error means that the runtime ends.
        if io.ready(Interest::ERROR).await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

/// What was read at once.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
struct Read {
    /// Messages, those that say nothing included.
    messages: usize,
    /// Whether one of them came from the network. Others say what a call has said already.
    of_network: bool,
}

/// Reads the messages that wait for a socket.
fn read_all(socket: &impl AsRawFd, kept: &mut Vec<Quoted>) -> Read {
    let mut control = vec![0; CONTROL];
    let mut read = Read::default();
    while read.messages < AT_ONCE {
        match read_one(socket, &mut control, kept) {
            Ok(Some(of_network)) => {
                read.messages += 1;
                read.of_network |= of_network;
            }
            Ok(None) => break,
            Err(error) => {
                tracing::debug!(%error, "cannot read the error queue");
                break;
            }
        }
    }
    read
}

/// Reads one message, if there is one. True if it came from the network.
fn read_one(
    socket: &impl AsRawFd,
    control: &mut [u8],
    kept: &mut Vec<Quoted>,
) -> io::Result<Option<bool>> {
    let mut bytes = [0; QUOTED];
    let mut parts = [IoSliceMut::new(&mut bytes)];
    let flags = MsgFlags::MSG_ERRQUEUE | MsgFlags::MSG_DONTWAIT;
    let got = loop {
        match recvmsg::<SockaddrStorage>(socket.as_raw_fd(), &mut parts, Some(control), flags) {
            Err(Errno::EINTR) => {}
            Err(Errno::EAGAIN) => return Ok(None),
            other => break other?,
        }
    };
    let error = got.cmsgs()?.find_map(|c| match c {
        ControlMessageOwned::Ipv4RecvErr(error, _) => Some(error),
        ControlMessageOwned::Ipv6RecvErr(error, _) => Some(error),
        _ => None,
    });
    let destination = got.address.as_ref().and_then(address);
    let len = got.bytes.min(QUOTED);
    if let (Some(error), Some(destination)) = (error, destination)
        && let Some(message) = meaning(&error)
        && kept.len() < KEPT
    {
        kept.push(Quoted {
            destination,
            bytes,
            len,
            message,
        });
    }
    Ok(Some(error.is_some_and(|e| is_of_network(&e))))
}

fn is_of_network(error: &sock_extended_err) -> bool {
    matches!(error.ee_origin, SO_EE_ORIGIN_ICMP | SO_EE_ORIGIN_ICMP6)
}

/// What a message of the queue says; none if it comes from this host itself, whose calls fail by
/// themselves, or is to be ignored.
fn meaning(error: &sock_extended_err) -> Option<IcmpMessage> {
    let (kind, code, mtu) = (error.ee_type, error.ee_code, error.ee_info);
    match error.ee_origin {
        SO_EE_ORIGIN_ICMP => icmp::meaning_in_udp_v4(kind, code, mtu),
        SO_EE_ORIGIN_ICMP6 => icmp::meaning_in_udp_v6(kind, code, mtu),
        _ => None,
    }
}

fn address(address: &SockaddrStorage) -> Option<SocketAddr> {
    if let Some(v4) = address.as_sockaddr_in() {
        return Some(SocketAddr::V4((*v4).into()));
    }
    let v6 = address.as_sockaddr_in6()?;
    Some(SocketAddr::V6((*v6).into()))
}

/// Whether an error of a call may come from an ICMP message about an earlier packet, by the
/// kernel's tables `icmp_err_convert` and `icmpv6_err_convert`.
pub(crate) fn may_be_told(error: &io::Error) -> bool {
    let Some(number) = error.raw_os_error() else {
        return false;
    };
    matches!(
        Errno::from_raw(number),
        Errno::ECONNREFUSED
            | Errno::ECONNRESET
            | Errno::EHOSTUNREACH
            | Errno::ENETUNREACH
            | Errno::EHOSTDOWN
            | Errno::ENONET
            | Errno::ENOPROTOOPT
            | Errno::EOPNOTSUPP
            | Errno::EMSGSIZE
            | Errno::EPROTO
            | Errno::EACCES
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skipped::skipped;
    use quinn_udp::{UdpSockRef, UdpSocketState};
    use std::net::UdpSocket;
    use std::time::{Duration, Instant};

    #[test]
    fn a_closed_port_is_told_with_the_packet_that_it_got() {
        for here in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(socket) = UdpSocket::bind(here) else {
                skipped("::1, this machine has no IPv6");
                continue;
            };
            let state = UdpSocketState::new(UdpSockRef::from(&socket)).unwrap();
            state
                .enable_transport_errors(UdpSockRef::from(&socket))
                .unwrap();
            // Bound and closed again, so nothing listens there.
            let closed = UdpSocket::bind(here).unwrap().local_addr().unwrap();
            let packet = [7; 40];
            socket.send_to(&packet, closed).unwrap();
            let mut found = Vec::new();
            let began = Instant::now();
            while found.is_empty() && began.elapsed() < Duration::from_secs(10) {
                read_all(&socket, &mut found);
            }
            let told: Vec<Told<'_>> = found.iter().map(Quoted::told).collect();
            let expected = Told {
                destination: closed,
                quoted: &packet,
                message: IcmpMessage::PortUnreachable,
            };
            assert_eq!(told, [expected], "{here}");
            assert_eq!(read_all(&socket, &mut found), Read::default());
        }
    }

    /// A packet above the MTU of loopback: the call says so, and the queue says it again. No
    /// message of the network made the call fail, so it is not made again.
    #[test]
    fn what_the_kernel_itself_refuses_came_from_no_network() {
        let Ok(socket) = UdpSocket::bind("[::1]:0") else {
            skipped("::1, this machine has no IPv6");
            return;
        };
        let state = UdpSocketState::new(UdpSockRef::from(&socket)).unwrap();
        state
            .enable_transport_errors(UdpSockRef::from(&socket))
            .unwrap();
        let to = socket.local_addr().unwrap();
        // The most that UDP can say; with its headers it is more than 65536 bytes.
        let error = socket.send_to(&[0; 65_527], to).unwrap_err();
        assert!(may_be_told(&error), "{error}");
        let expected = Read {
            messages: 1,
            of_network: false,
        };
        assert_eq!(read_all(&socket, &mut Vec::new()), expected);
    }

    #[test]
    fn errors_that_icmp_may_have_made() {
        for (number, expected) in [
            (111, true),
            (113, true),
            (90, true),
            (1, false),
            (105, false),
        ] {
            assert_eq!(
                may_be_told(&io::Error::from_raw_os_error(number)),
                expected,
                "{number}"
            );
        }
    }
}
