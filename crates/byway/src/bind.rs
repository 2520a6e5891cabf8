//! The sockets of an endpoint: for each local address one of UDP, a raw one, or both.

use crate::encapsulation::Encapsulation;
use crate::error::BindError;
use crate::kernel_sctp;
use crate::socket::Socket;
use byway_core::config::MAX_PARTS;
use std::net::SocketAddr;

/// Attempts to find one port that is free on every address.
const PORT_TRIES: usize = 32;

/// The least of the ports that nobody registers (RFC 6335 section 6).
const FIRST_DYNAMIC_PORT: u16 = 49_152;

/// Binds the addresses, those of UDP first. Returns the sockets and the SCTP port: `sctp_port`,
/// or if that is 0 the first UDP port, or without UDP one that is free.
pub(crate) fn all(
    addresses: &[SocketAddr],
    encapsulation: Encapsulation,
    sctp_port: u16,
) -> Result<(Vec<Socket>, u16), BindError> {
    if !encapsulation.has_udp() {
        return all_raw(addresses, sctp_port);
    }
    let mut sockets = all_udp(addresses)?;
    let sctp_port = match (sctp_port, sockets.first()) {
        (0, Some(first)) => first.local().port(),
        (given, _) => given,
    };
    if encapsulation.has_raw() {
        let bound: Vec<SocketAddr> = sockets.iter().map(Socket::local).collect();
        for address in bound {
            sockets.push(Socket::bind_raw(address, sctp_port)?);
        }
    }
    Ok((sockets, sctp_port))
}

/// Binds an address that came later, with the ports of the others: the sockets of each worker.
pub(crate) fn another(
    address: SocketAddr,
    encapsulation: Encapsulation,
    sctp_port: u16,
    workers: usize,
) -> Result<Vec<Vec<Socket>>, BindError> {
    let (sockets, _) = all(&[address], encapsulation, sctp_port)?;
    for_workers(sockets, workers)
}

/// The sockets of so many workers: these, and for each further one as many of the same addresses.
pub(crate) fn for_workers(
    sockets: Vec<Socket>,
    workers: usize,
) -> Result<Vec<Vec<Socket>>, BindError> {
    let mut first = sockets;
    let mut further: Vec<Vec<Socket>> = (1..workers).map(|_| Vec::new()).collect();
    if workers > 1 {
        for socket in &mut first {
            let address = socket.local();
            let made = socket.for_workers(workers - 1);
            let made = made.map_err(|e| BindError::socket(address, e))?;
            for (worker, socket) in further.iter_mut().zip(made) {
                worker.push(socket);
            }
        }
    }
    further.insert(0, first);
    Ok(further)
}

/// Refuses a number of workers that cannot work.
pub(crate) fn check_workers(workers: usize, encapsulation: Encapsulation) -> Result<(), BindError> {
    if !(1..=MAX_PARTS as usize).contains(&workers) {
        return Err(BindError::Workers(workers));
    }
    match workers > 1 && encapsulation.has_raw() {
        true => Err(BindError::WorkersWithoutUdp(workers)),
        false => Ok(()),
    }
}

/// Refuses what cannot work without UDP: UDP ports, and the kernel's SCTP beside, unless that is
/// `allowed`.
pub(crate) fn check(
    addresses: &[SocketAddr],
    encapsulation: Encapsulation,
    allowed: bool,
) -> Result<(), BindError> {
    let with_port = addresses.iter().find(|a| a.port() != 0);
    if let Some(with_port) = with_port.filter(|_| !encapsulation.has_udp()) {
        return Err(BindError::UdpPort(*with_port));
    }
    check_loaded(encapsulation, allowed, kernel_sctp::is_loaded())
}

fn check_loaded(e: Encapsulation, allowed: bool, loaded: bool) -> Result<(), BindError> {
    match loaded && !allowed && e.has_raw() {
        true => Err(BindError::KernelSctp),
        false => Ok(()),
    }
}

/// Binds every address to UDP. Addresses with port 0 share one port that is free on all of
/// them, because a peer assumes one encapsulation port for all addresses of a host (RFC 6951
/// section 5.1).
fn all_udp(addresses: &[SocketAddr]) -> Result<Vec<Socket>, BindError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let mut chosen = 0;
        let mut sockets = Vec::with_capacity(addresses.len());
        for &address in addresses {
            let mut wanted = address;
            if address.port() == 0 {
                wanted.set_port(chosen);
            }
            match Socket::bind(wanted) {
                Ok(socket) => {
                    if address.port() == 0 {
                        chosen = socket.local().port();
                    }
                    sockets.push(socket);
                }
                Err(e) if wanted != address && e.in_use() && tries < PORT_TRIES => break,
                Err(e) => return Err(e),
            }
        }
        if sockets.len() == addresses.len() {
            return Ok(sockets);
        }
    }
}

/// Binds a raw socket to every address, all with one SCTP port.
fn all_raw(addresses: &[SocketAddr], sctp_port: u16) -> Result<(Vec<Socket>, u16), BindError> {
    let mut tries = 0;
    loop {
        tries += 1;
        let port = if sctp_port == 0 {
            dynamic_port()?
        } else {
            sctp_port
        };
        let bound: Result<Vec<Socket>, BindError> = addresses
            .iter()
            .map(|a| Socket::bind_raw(*a, port))
            .collect();
        match bound {
            Err(e) if sctp_port == 0 && e.in_use() && tries < PORT_TRIES => {}
            Err(e) => return Err(e),
            Ok(sockets) => return Ok((sockets, port)),
        }
    }
}

/// A random port, so that a peer which has not noticed the end of an association sees no restart
/// of it.
fn dynamic_port() -> Result<u16, BindError> {
    let mut random = [0; 2];
    getrandom::fill(&mut random).map_err(|e| BindError::Random(e.to_string()))?;
    Ok(FIRST_DYNAMIC_PORT | u16::from_ne_bytes(random))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn any(ips: &[&str]) -> Vec<SocketAddr> {
        ips.iter()
            .map(|ip| SocketAddr::new(ip.parse().unwrap(), 0))
            .collect()
    }

    fn udp(addresses: &[SocketAddr]) -> Result<Vec<Socket>, BindError> {
        all(addresses, Encapsulation::Udp, 7).map(|(sockets, _)| sockets)
    }

    #[tokio::test]
    async fn port_0_becomes_one_port_on_all_addresses() {
        let mut ips = vec!["127.0.0.1", "127.0.0.2"];
        if std::net::UdpSocket::bind("[::1]:0").is_ok() {
            ips.push("::1");
        }
        let sockets = udp(&any(&ips)).unwrap();
        let port = sockets[0].local().port();
        assert_ne!(port, 0);
        assert!(sockets.iter().all(|s| s.local().port() == port));
    }

    #[tokio::test]
    async fn the_sctp_port_is_the_first_udp_port_if_none_is_given() {
        let (sockets, port) = all(&any(&["127.0.0.1"]), Encapsulation::Udp, 0).unwrap();
        assert_eq!(port, sockets[0].local().port());
        assert_eq!(
            all(&any(&["127.0.0.1"]), Encapsulation::Udp, 5).unwrap().1,
            5
        );
    }

    #[tokio::test]
    async fn a_port_in_use_is_reported_with_its_address() {
        let first = Socket::bind(any(&["127.0.0.1"])[0]).unwrap();
        let error = udp(&[first.local()]).unwrap_err();
        assert!(error.in_use());
        assert!(
            error.to_string().contains(&first.local().to_string()),
            "{error}"
        );
    }

    #[tokio::test]
    async fn each_worker_has_a_socket_of_each_address_and_no_other_process_has_one() {
        let sockets = udp(&any(&["127.0.0.1", "127.0.0.2"])).unwrap();
        let bound: Vec<SocketAddr> = sockets.iter().map(Socket::local).collect();
        let workers = for_workers(sockets, 3).unwrap();
        assert_eq!(workers.len(), 3);
        for worker in &workers {
            let places: Vec<SocketAddr> = worker.iter().map(Socket::local).collect();
            assert_eq!(places, bound);
        }
        // Another endpoint with workers asks for the port as this one did: alone.
        assert!(udp(&bound).unwrap_err().in_use());
        drop(workers);
        udp(&bound).expect("all are closed");
    }

    #[test]
    fn workers_need_udp_and_have_a_limit() {
        use Encapsulation::{Both, None, Udp};
        for (workers, encapsulation, words) in [
            (1, None, ""),
            (64, Udp, ""),
            (0, Udp, "0 workers: give 1 to 64"),
            (65, Udp, "65 workers: give 1 to 64"),
            (2, None, "need UDP"),
            (2, Both, "need UDP"),
        ] {
            let said = check_workers(workers, encapsulation);
            let said = said.map_or_else(|e| e.to_string(), |()| String::new());
            assert!(said.contains(words), "{said}");
            assert_eq!(said.is_empty(), words.is_empty(), "{said}");
        }
    }

    #[test]
    fn without_udp_a_udp_port_has_no_meaning() {
        let address = "127.0.0.1:9899".parse().unwrap();
        let error = check(&[address], Encapsulation::None, true).unwrap_err();
        assert!(matches!(error, BindError::UdpPort(a) if a == address));
        check(&[address], Encapsulation::Both, true).unwrap();
    }

    #[test]
    fn beside_the_kernels_sctp_udp_is_needed_or_a_word() {
        for (encapsulation, allowed, loaded, refused) in [
            (Encapsulation::Udp, false, true, false),
            (Encapsulation::None, false, false, false),
            (Encapsulation::None, false, true, true),
            (Encapsulation::Both, false, true, true),
            (Encapsulation::None, true, true, false),
        ] {
            let checked = check_loaded(encapsulation, allowed, loaded);
            let is = matches!(checked, Err(BindError::KernelSctp));
            assert_eq!(is, refused, "{encapsulation:?} {allowed} {loaded}");
        }
    }

    #[test]
    fn a_port_of_its_own_is_one_that_nobody_registers() {
        for _ in 0..100 {
            assert!(dynamic_port().unwrap() >= FIRST_DYNAMIC_PORT);
        }
    }
}
