//! Addresses as they are written, and those that the kernel would choose.

use crate::failure::{Failure, Kind};
use byway_tls::Ticket;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs, UdpSocket};

/// Reads a list of addresses: `10.0.0.1`, `10.0.0.1:9899`, `::1`, `[::1]:9899`
/// or a host's name with or without a port, which means all of its addresses.
pub(super) fn parse_all(
    option: &str,
    list: &[String],
    default_port: u16,
) -> Result<Vec<SocketAddr>, Failure> {
    let mut found: Vec<SocketAddr> = Vec::new();
    for text in list {
        check_length(option, text)?;
        let mut named = parse(text.trim(), default_port)
            .map_err(|e| Failure::wrong(format!("{option} {text}: {e}")))?;
        named.retain(|address| !found.contains(address));
        if named.is_empty() {
            return Err(Failure::wrong(format!("{option} {text}: is listed twice")));
        }
        found.append(&mut named);
    }
    Ok(found)
}

/// No address is so long, and no name of a host without a dot (RFC 1035). It may be a part of a ticket, which no error quotes.
fn check_length(option: &str, text: &str) -> Result<(), Failure> {
    const LONGEST: usize = 63;
    let what = match Ticket::is_meant(text) {
        true => "a ticket, where addresses are wanted".to_owned(),
        false if text.len() > LONGEST && !text.contains(['.', ':']) => format!(
            "{} characters, which are neither an address nor a whole ticket",
            text.len()
        ),
        false => return Ok(()),
    };
    Err(Failure::wrong(format!("{option}: {what}")))
}

fn parse(text: &str, default_port: u16) -> Result<Vec<SocketAddr>, String> {
    const RIGHT: &str = "write an address such as 10.0.0.1, 10.0.0.1:9899 or [2001:db8::1]:9899";
    if text.is_empty() {
        return Err(format!("an address is missing; {RIGHT}"));
    }
    if let Ok(address) = text.parse::<SocketAddr>() {
        return Ok(vec![address]);
    }
    if let Ok(ip) = text.trim_matches(['[', ']']).parse::<IpAddr>() {
        return Ok(vec![SocketAddr::new(ip, default_port)]);
    }
    if let Some((ip, scope)) = text.trim_matches(['[', ']']).split_once('%') {
        return scoped(ip, scope, default_port).map(|a| vec![a]);
    }
    let resolved = match text.rsplit_once(':') {
        Some((host, port)) => match port.parse::<u16>() {
            Ok(port) => (host, port).to_socket_addrs(),
            Err(_) => return Err(format!("\"{port}\" is not a UDP port; {RIGHT}")),
        },
        None => (text, default_port).to_socket_addrs(),
    };
    let mut all: Vec<SocketAddr> = Vec::new();
    for address in resolved.into_iter().flatten() {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    if all.is_empty() {
        return Err(format!("neither an address nor a known host; {RIGHT}"));
    }
    Ok(all)
}

/// A link-local address with its card: `fe80::1%eth0`, `[fe80::1%eth0]:9899`.
fn scoped(ip: &str, scope: &str, default_port: u16) -> Result<SocketAddr, String> {
    let (card, port) = match scope.split_once("]:") {
        Some((card, port)) => {
            let port = port
                .parse()
                .map_err(|_| format!("\"{port}\" is not a UDP port"))?;
            (card, port)
        }
        None => (scope, default_port),
    };
    let ip: Ipv6Addr = ip.parse().map_err(|_| {
        format!("\"{ip}\" is not an IPv6 address; a card is named as in fe80::1%eth0")
    })?;
    let index = card.parse().ok().or_else(|| index_of(card));
    let index = index.ok_or_else(|| format!("there is no card \"{card}\"; see `ip link`"))?;
    Ok(SocketAddrV6::new(ip, port, 0, index).into())
}

/// The number of a card, as the kernel lists it.
fn index_of(card: &str) -> Option<u32> {
    let sound = !card.is_empty() && !card.contains(['/', '.']);
    let path = format!("/sys/class/net/{card}/ifindex");
    let text = sound.then(|| std::fs::read_to_string(path).ok())??;
    text.trim().parse().ok()
}

/// The local addresses from which the kernel's routes reach `remote`, each
/// once, in that order, with any free port.
pub(super) fn by_routes(remote: &[SocketAddr]) -> Result<Vec<SocketAddr>, Failure> {
    let mut local: Vec<SocketAddr> = Vec::new();
    let mut unreachable = Vec::new();
    for to in remote {
        match source_for(*to) {
            Ok(ip) => {
                let mut address = SocketAddr::new(ip, 0);
                if let (SocketAddr::V6(from), SocketAddr::V6(to)) = (&mut address, to) {
                    from.set_scope_id(to.scope_id());
                }
                if !local.contains(&address) {
                    local.push(address);
                }
            }
            Err(e) => unreachable.push(format!("{to}: {e}")),
        }
    }
    if local.is_empty() {
        return Err(Failure::new(
            Kind::Failed,
            format!(
                "no route to any address ({}): is the network up, does `ip route` show a way there, and is --to right?",
                unreachable.join("; ")
            ),
        ));
    }
    Ok(local)
}

/// The addresses of this host, with this UDP port, for a receiver that names none: they come and
/// go as the host's do.
pub(super) fn of_this_host(port: u16) -> Vec<SocketAddr> {
    vec![
        (Ipv4Addr::UNSPECIFIED, port).into(),
        (Ipv6Addr::UNSPECIFIED, port).into(),
    ]
}

/// The same for a side that begins, and names none. Loopback and link-local addresses of the peer
/// are reached from those of their kind only: then it is what the kernel chooses, and stays.
///
/// # Errors
/// When there is no route to any address of the peer.
pub(super) fn towards(remote: &[SocketAddr]) -> Result<Vec<SocketAddr>, Failure> {
    let chosen = by_routes(remote)?;
    let is_special = |a: &SocketAddr| match a.ip() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_link_local(),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unicast_link_local(),
    };
    match chosen.iter().any(is_special) {
        true => Ok(chosen),
        false => Ok(of_this_host(0)),
    }
}

/// What to say of addresses of the peer whose family this side has no address of. They become paths
/// when it gets one. Nothing if it has none for all of them: then nothing can be set up.
pub(super) fn left_out(local: &[SocketAddr], remote: &[SocketAddr]) -> Option<String> {
    let reached = |to: &SocketAddr| local.iter().any(|a| a.is_ipv4() == to.is_ipv4());
    let (some, others): (Vec<&SocketAddr>, Vec<&SocketAddr>) =
        remote.iter().partition(|to| reached(to));
    let first = others.first().filter(|_| !some.is_empty())?;
    let family = if first.is_ipv4() { "IPv4" } else { "IPv6" };
    let all: Vec<String> = others.iter().map(|a| a.ip().to_string()).collect();
    Some(format!(
        "not used now: {}, as this side has no address of {family} (a wildcard in --bind, or no --bind, takes one \
         that comes)",
        all.join(", ")
    ))
}

/// An address for people: without a port if it has none, as it is without UDP.
pub(super) fn shown(address: SocketAddr) -> String {
    match address {
        _ if address.port() != 0 => address.to_string(),
        SocketAddr::V6(a) if a.scope_id() != 0 => format!("{}%{}", a.ip(), a.scope_id()),
        _ => address.ip().to_string(),
    }
}

/// Connecting a UDP socket sends nothing; it makes the kernel choose.
pub(super) fn source_for(to: SocketAddr) -> std::io::Result<IpAddr> {
    let any: IpAddr = if to.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(to)?;
    Ok(socket.local_addr()?.ip())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        for (text, expected) in [
            ("10.0.0.1", "10.0.0.1:9899"),
            ("10.0.0.1:7", "10.0.0.1:7"),
            ("::1", "[::1]:9899"),
            ("[::1]", "[::1]:9899"),
            ("[::1]:7", "[::1]:7"),
            ("fe80::1%1", "[fe80::1%1]:9899"),
            ("fe80::1%lo", "[fe80::1%1]:9899"),
            ("[fe80::1%lo]:7", "[fe80::1%1]:7"),
        ] {
            assert_eq!(
                parse(text, 9899).unwrap(),
                [expected.parse::<SocketAddr>().unwrap()],
                "{text}"
            );
        }
        assert!(
            parse("10.0.0.1:udp", 9899)
                .unwrap_err()
                .contains("\"udp\" is not a UDP port")
        );
        for (text, wrong) in [
            ("fe80::1%nothing", "no card \"nothing\""),
            ("10.0.0.1%lo", "not an IPv6 address"),
            ("[fe80::1%lo]:x", "not a UDP port"),
        ] {
            assert!(parse(text, 9899).unwrap_err().contains(wrong), "{text}");
        }
        let twice = ["127.0.0.1".to_owned(), "127.0.0.1".to_owned()];
        assert_eq!(
            parse_all("--to", &twice, 1).unwrap_err().message,
            "--to 127.0.0.1: is listed twice"
        );
    }

    #[test]
    fn without_udp_an_address_is_shown_without_a_port() {
        for (address, expected) in [
            ("10.0.0.1:9899", "10.0.0.1:9899"),
            ("10.0.0.1:0", "10.0.0.1"),
            ("[::1]:0", "::1"),
            ("[fe80::1%3]:0", "fe80::1%3"),
        ] {
            assert_eq!(shown(address.parse().unwrap()), expected);
        }
    }

    #[test]
    fn without_bind_this_host_is_followed_but_for_loopback() {
        let at = |text: &str| -> SocketAddr { text.parse().unwrap() };
        let here = towards(&[at("127.0.0.1:9899")]).unwrap();
        assert_eq!(here, [at("127.0.0.1:0")]);
        let both = ["0.0.0.0:7", "[::]:7"].map(at);
        assert_eq!(of_this_host(7), both);
    }

    #[test]
    fn the_kernel_names_a_source() {
        assert_eq!(
            by_routes(&[
                "127.0.0.1:9899".parse().unwrap(),
                "127.0.0.2:9899".parse().unwrap()
            ])
            .unwrap(),
            ["127.0.0.1:0".parse().unwrap()]
        );
    }
}
