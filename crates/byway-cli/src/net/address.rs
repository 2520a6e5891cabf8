//! Addresses as they are written, and those that the kernel would choose.

use crate::failure::{Failure, Kind};
pub(super) use byway::shown_host;
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
        // An IPv4 address in the clothes of IPv6 leaves by IPv4.
        for address in &mut named {
            address.set_ip(address.ip().to_canonical());
        }
        if let Some(bare) = named.iter().find(|address| lacks_card(address)) {
            let ip = bare.ip();
            return Err(Failure::wrong(format!(
                "{option} {text}: {ip} is an address of one link; name the card, too, as in {ip}%eth0 (`ip link` lists them)"
            )));
        }
        named.retain(|address| !found.contains(address));
        if named.is_empty() {
            return Err(Failure::wrong(format!("{option} {text}: is listed twice")));
        }
        found.append(&mut named);
    }
    Ok(found)
}

/// The same for a peer: each is the address of one host.
pub(super) fn of_peer(list: &[String], default_port: u16) -> Result<Vec<SocketAddr>, Failure> {
    let found = parse_all("--to", list, default_port)?;
    for address in &found {
        let ip = address.ip();
        let what = match ip {
            _ if ip.is_unspecified() => {
                "the wildcard address, which means any address of this host"
            }
            _ if ip.is_multicast() => "a multicast address, which means many hosts",
            _ if is_broadcast(*address) => {
                "a broadcast address, which means all hosts of a network"
            }
            _ => continue,
        };
        return Err(Failure::wrong(format!(
            "--to {}: {what}; name an address of the other host",
            shown(*address)
        )));
    }
    Ok(found)
}

fn lacks_card(address: &SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(a) if a.ip().is_unicast_link_local() && a.scope_id() == 0)
}

/// Whether the kernel takes it for a broadcast address of one of its networks: it lets a socket
/// have that as its peer if the socket asks for it, and only then. A route of the kind `prohibit`
/// lets nobody.
fn is_broadcast(address: SocketAddr) -> bool {
    let lets = |wanted: bool| {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?;
        socket.set_broadcast(wanted)?;
        socket.connect(address)
    };
    let denied = |e: std::io::Error| e.kind() == std::io::ErrorKind::PermissionDenied;
    match address.ip() {
        IpAddr::V4(ip) => ip.is_broadcast() || lets(false).is_err_and(denied) && lets(true).is_ok(),
        IpAddr::V6(_) => false,
    }
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
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) => match port.parse::<u16>() {
            Ok(port) => (host, port),
            Err(_) => return Err(format!("\"{port}\" is not a UDP port; {RIGHT}")),
        },
        None => (text, default_port),
    };
    if is_numbers(host) {
        return Err(format!(
            "\"{host}\" is not an IPv4 address: that is four numbers from 0 to 255 without leading zeros, which would mean octal; {RIGHT}"
        ));
    }
    let resolved = (host, port).to_socket_addrs();
    let mut all: Vec<SocketAddr> = Vec::new();
    for address in resolved.into_iter().flatten() {
        if !all.contains(&address) {
            all.push(address);
        }
    }
    // A name may have addresses of one link besides, of which nobody knows the card.
    if !all.iter().all(lacks_card) {
        all.retain(|address| !lacks_card(address));
    }
    if all.is_empty() {
        return Err(format!("neither an address nor a known host; {RIGHT}"));
    }
    Ok(all)
}

/// An address or name as it is written, without its port.
pub(super) fn host(text: &str) -> &str {
    if let Some((host, _)) = text.strip_prefix('[').and_then(|t| t.split_once(']')) {
        return host;
    }
    match text.split_once(':') {
        Some((host, port)) if !port.contains(':') => host,
        // Of IPv6, without a port.
        _ => text,
    }
}

/// What the resolver would read as an IPv4 address in the notation of `inet_aton`: 010.0.0.1 is
/// 8.0.0.1 there, 10.1 is 10.0.0.1, and 0x7f.1 is 127.0.0.1.
fn is_numbers(host: &str) -> bool {
    let is_number = |part: &str| match part.strip_prefix("0x").or(part.strip_prefix("0X")) {
        Some(hex) => hex.bytes().all(|b| b.is_ascii_hexdigit()),
        None => !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()),
    };
    host.split('.').all(is_number)
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
            Ok(address) => {
                if !local.contains(&address) {
                    local.push(address);
                }
            }
            Err(e) => unreachable.push(format!("{}: {e}", shown(*to))),
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
    let all: Vec<String> = others.iter().map(|a| shown_host(**a)).collect();
    Some(format!(
        "not used now: {}, as this side has no address of {family} (a wildcard in --bind, or no --bind, takes one \
         that comes)",
        all.join(", ")
    ))
}

/// An address for people: without a port if it has none, as it is without UDP.
pub(super) fn shown(address: SocketAddr) -> String {
    match address.port() {
        0 => shown_host(address),
        _ => byway::shown_address(address),
    }
}

/// The local address, with any free port, from which the kernel's routes reach this one, by the same card if that is of
/// one link. Connecting a UDP socket sends nothing; it makes the kernel choose.
pub(super) fn source_for(to: SocketAddr) -> std::io::Result<SocketAddr> {
    let any: IpAddr = if to.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect(to)?;
    let mut address = SocketAddr::new(socket.local_addr()?.ip(), 0);
    if let (SocketAddr::V6(from), SocketAddr::V6(to)) = (&mut address, to) {
        from.set_scope_id(to.scope_id());
    }
    Ok(address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_from_its_port() {
        for (text, expected) in [
            ("10.0.0.1", "10.0.0.1"),
            ("10.0.0.1:9", "10.0.0.1"),
            ("both.example:9", "both.example"),
            ("::1", "::1"),
            ("[::1]:9", "::1"),
            ("fe80::1%eth0", "fe80::1%eth0"),
        ] {
            assert_eq!(host(text), expected);
        }
    }

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
        for text in [
            "010.93.0.2",
            "010.93.0.2:7",
            "10.1",
            "10.0.0.256",
            "0x7f.1",
            "2130706433",
        ] {
            let wrong = parse(text, 9899).unwrap_err();
            assert!(wrong.contains("four numbers"), "{text}: {wrong}");
        }
        let twice = ["127.0.0.1".to_owned(), "127.0.0.1".to_owned()];
        assert_eq!(
            parse_all("--to", &twice, 1).unwrap_err().message,
            "--to 127.0.0.1: is listed twice"
        );
    }

    #[test]
    fn an_address_of_a_peer_is_that_of_one_host() {
        let read = |text: &str| of_peer(&[text.to_owned()], 9899);
        for (text, expected) in [
            ("::ffff:10.93.0.2", "10.93.0.2:9899"),
            ("[::ffff:127.0.0.1]:7", "127.0.0.1:7"),
        ] {
            assert_eq!(read(text).unwrap(), [expected.parse().unwrap()], "{text}");
        }
        for (text, wrong) in [
            ("fe80::1", "fe80::1%eth0"),
            ("[fe80::1]:7", "fe80::1%eth0"),
            ("0.0.0.0", "wildcard"),
            ("::", "wildcard"),
            ("::ffff:0.0.0.0", "wildcard"),
            ("224.0.0.1", "multicast"),
            ("ff02::1%lo", "multicast"),
            ("127.255.255.255", "broadcast"),
            ("255.255.255.255", "broadcast"),
        ] {
            let failure = read(text).unwrap_err();
            assert_eq!(failure.kind, Kind::Wrong, "{text}");
            assert!(failure.message.contains(wrong), "{text}: {failure}");
        }
        // This host may be bound to all its addresses.
        let all = ["0.0.0.0".to_owned(), "::".to_owned()];
        assert_eq!(parse_all("--bind", &all, 0).unwrap().len(), 2);
    }

    #[test]
    fn what_is_shown_can_be_written() {
        for text in ["10.0.0.1:7", "[::1]:7", "[fe80::1%lo]:7", "10.0.0.1:0"] {
            let address = parse(text, 9899).unwrap()[0];
            let (text, port) = (text.trim_end_matches(":0"), address.port());
            assert_eq!(shown(address), text);
            let host = shown_host(address);
            assert_eq!(parse(&host, port).unwrap(), [address], "{host}");
        }
    }

    #[test]
    fn an_address_that_is_left_out_has_its_card() {
        let remote = ["10.0.0.1:7", "[fe80::1%1]:7"].map(|a| a.parse().unwrap());
        let words = left_out(&["10.0.0.2:7".parse().unwrap()], &remote).unwrap();
        assert!(words.starts_with("not used now: fe80::1%lo, as"), "{words}");
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
