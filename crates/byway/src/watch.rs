//! Follows the addresses and the routes of this host.
//!
//! A netlink socket tells that links, addresses or routes changed. What it says is not read:
//! all paths ask for their routes again, and where an endpoint is bound to a wildcard address,
//! the addresses are listed again. That is right also where messages were lost. Without
//! netlink the list is read every two seconds.

use crate::bind;
use crate::encapsulation::Encapsulation;
use crate::shared::Shared;
use crate::socket::Socket;
use crate::wildcard;
use crate::workers::Workers;
use std::future::poll_fn;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// Changes come in groups: a link, its address, its routes. The list is read when none came
/// for this time.
const QUIET: Duration = Duration::from_millis(50);
/// An address that cannot be bound yet (IPv6: duplicate address detection) is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// How an endpoint is bound.
pub(crate) struct Bound {
    /// What the user named, with its wildcards.
    pub(crate) wanted: Vec<SocketAddr>,
    pub(crate) encapsulation: Encapsulation,
    pub(crate) sctp_port: u16,
}

/// Follows the addresses until the drivers end.
pub(crate) async fn follow(workers: Workers, bound: Bound) {
    let mut news = News::open();
    let gone = poll_fn(|cx| workers.poll_gone(cx.waker()));
    let mut gone = std::pin::pin!(gone);
    let mut retry = false;
    loop {
        let again = async {
            if retry {
                tokio::time::sleep(AGAIN).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        tokio::select! {
            () = &mut gone => return,
            () = news.wait() => {}
            () = again => {}
        }
        for worker in workers.iter() {
            worker.with(|state| state.core.forget_routes());
        }
        retry = wildcard::any(&bound.wanted) && update(&workers, &bound);
        for worker in workers.iter() {
            reroute(worker);
        }
    }
}

/// Every association asks for the routes of its paths again, a few under one lock.
fn reroute(shared: &Shared) {
    let mut from = Some(0);
    while let Some(place) = from {
        from = shared.with(|state| state.ask_routes_again(shared.now(), place));
    }
}

/// Adopts the addresses that this host has now. Returns whether one could not be bound.
fn update(workers: &Workers, bound: &Bound) -> bool {
    let now_local = workers.first().with(|state| state.local_addresses());
    let port = |family: SocketAddr| {
        let same = now_local.iter().find(|l| l.is_ipv4() == family.is_ipv4());
        same.or(now_local.first()).map_or(0, SocketAddr::port)
    };
    let listed = match wildcard::expand(&bound.wanted) {
        Ok(listed) => listed,
        Err(error) => {
            tracing::warn!(%error, "cannot list the addresses of this host");
            return true;
        }
    };
    let listed = without_fallback(listed, &now_local);
    let is_new = |a: &&SocketAddr| !now_local.iter().any(|l| l.ip() == a.ip());
    let (mut failed, mut came) = (false, 0);
    let mut sockets: Vec<Vec<Socket>> = workers.iter().map(|_| Vec::new()).collect();
    for address in listed.iter().filter(is_new) {
        let mut address = *address;
        if address.port() == 0 {
            address.set_port(port(address));
        }
        match bind::another(address, bound.encapsulation, bound.sctp_port, workers.len()) {
            Ok(bound) => {
                came += 1;
                for (all, new) in sockets.iter_mut().zip(bound) {
                    all.extend(new);
                }
            }
            Err(error) => {
                tracing::debug!(%address, %error, "an address that came cannot be bound yet");
                failed = true;
            }
        }
    }
    let is_gone = |l: &&SocketAddr| !listed.iter().any(|a| a.ip() == l.ip());
    let gone: Vec<IpAddr> = now_local
        .iter()
        .filter(is_gone)
        .map(SocketAddr::ip)
        .collect();
    if came + now_local.len() == gone.len() {
        // None is left. The last ones stay until another comes.
        return failed;
    }
    if came > 0 || !gone.is_empty() {
        for (worker, sockets) in workers.iter().zip(sockets) {
            worker.with(|state| state.change_addresses(worker.now(), sockets, &gone));
        }
    }
    failed
}

/// A host without any network has its loopback addresses left. No peer elsewhere reaches them: who
/// had others waits for the next ones.
fn without_fallback(listed: Vec<SocketAddr>, now_local: &[SocketAddr]) -> Vec<SocketAddr> {
    let loops = |all: &[SocketAddr]| all.iter().all(|a| a.ip().is_loopback());
    if loops(&listed) && !loops(now_local) {
        return Vec::new();
    }
    listed
}

#[cfg(target_os = "linux")]
mod netlink {
    use super::{QUIET, io};
    use rustix::net::netlink::SocketAddrNetlink;
    use rustix::net::{AddressFamily, SocketFlags, SocketType};
    use std::os::unix::net::UnixDatagram as RawSocket;
    use tokio::net::UnixDatagram;

    /// Groups of rtnetlink(7): links, addresses and routes of IPv4 and IPv6.
    const GROUPS: u32 = 0x1 | 0x10 | 0x40 | 0x100 | 0x400;

    /// A socket that becomes readable when something changes.
    #[derive(Debug)]
    pub(crate) struct News(Option<UnixDatagram>);

    impl News {
        pub(crate) fn open() -> News {
            match subscribe() {
                Ok(fd) => News(Some(fd)),
                Err(error) => {
                    tracing::warn!(%error, "no netlink here; addresses are listed every 2 s");
                    News(None)
                }
            }
        }

        /// Waits until something changed, and nothing more for a short time.
        pub(crate) async fn wait(&mut self) {
            let Some(fd) = &self.0 else {
                return tokio::time::sleep(std::time::Duration::from_secs(2)).await;
            };
            if read_all(fd).await.is_err() {
                self.0 = None;
                return;
            }
            while let Ok(Ok(())) = tokio::time::timeout(QUIET, read_all(fd)).await {}
        }
    }

    /// The socket is kept as a Unix one, which tokio can wait for; only `recv` is called.
    fn subscribe() -> io::Result<UnixDatagram> {
        let fd = rustix::net::socket_with(
            AddressFamily::NETLINK,
            SocketType::RAW,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            None, // NETLINK_ROUTE is 0
        )?;
        rustix::net::bind(&fd, &SocketAddrNetlink::new(0, GROUPS))?;
        UnixDatagram::from_std(RawSocket::from(fd))
    }

    /// Waits for messages and reads all that are there. ENOBUFS means that some were lost,
    /// which is news, too.
    async fn read_all(socket: &UnixDatagram) -> io::Result<()> {
        const ENOBUFS: i32 = 105;
        let mut buffer = [0_u8; 8192];
        socket.readable().await?;
        loop {
            match socket.try_recv(&mut buffer) {
                Ok(_) => {}
                Err(e) if e.raw_os_error() == Some(ENOBUFS) => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
    }
}

#[cfg(target_os = "linux")]
use netlink::News;

/// Without netlink: the list is read now and then.
#[cfg(not(target_os = "linux"))]
#[derive(Debug)]
struct News;

#[cfg(not(target_os = "linux"))]
impl News {
    fn open() -> News {
        News
    }

    async fn wait(&mut self) {
        tokio::time::sleep(QUIET.max(Duration::from_secs(2))).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_lost_its_networks_does_not_offer_loopback() {
        let all = |texts: &[&str]| -> Vec<SocketAddr> {
            texts.iter().map(|t| t.parse().unwrap()).collect()
        };
        let (here, net) = (
            ["127.0.0.1:9", "[::1]:9"],
            ["10.0.0.1:9", "[2001:db8::1]:9"],
        );
        let of = |listed: &[&str], now: &[&str]| without_fallback(all(listed), &all(now));
        assert_eq!(of(&here, &net), []);
        assert_eq!(of(&here, &here), all(&here), "there was nothing else");
        assert_eq!(of(&net, &here), all(&net));
        assert_eq!(of(&net[1..], &net), all(&net[1..]));
    }
}
