//! SOCKS version 5 (RFC 1928), CONNECT only and without authentication.
//!
//! ```text
//! client                          proxy
//! 5, methods             --->
//!                        <---     5, 0        or  5, 0xff: not without authentication
//! 5, CONNECT, target     --->                 the other side connects to it
//!                        <---     5, reply, 0.0.0.0:0
//! ```
//! The address in the reply is where the connection to the target begins. That is at the other side, and
//! not told: only BIND has a use for it.

use super::super::frame::Cause;
use super::client::{Client, Found, Refusal, target};
use std::net::{Ipv4Addr, Ipv6Addr};

const VERSION: u8 = 5;
/// No authentication.
const NONE: u8 = 0;
/// None of the client's methods.
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// Replies (section 6).
const SUCCEEDED: u8 = 0;
const FAILED: u8 = 1;
const NOT_ALLOWED: u8 = 2;
const NETWORK_UNREACHABLE: u8 = 3;
const HOST_UNREACHABLE: u8 = 4;
const REFUSED: u8 = 5;
const COMMAND_NOT_SUPPORTED: u8 = 7;
const ADDRESS_NOT_SUPPORTED: u8 = 8;

/// Reads where a client wants to go, HOST:PORT.
///
/// # Errors
/// What it is told that does not speak this protocol, or asks for something else.
pub(super) async fn request(client: &mut Client) -> Result<String, Refusal> {
    client.read(methods).await?;
    let gone = |why| Refusal {
        reply: Vec::new(),
        why,
    };
    client.say(&[VERSION, NONE]).await.map_err(gone)?;
    client.read(connect).await
}

/// The reply when the target has accepted the connection.
pub(super) fn opened() -> Vec<u8> {
    reply(SUCCEEDED)
}

/// The reply when there is no connection to the target.
pub(super) fn failed(cause: Cause) -> Vec<u8> {
    reply(match cause {
        Cause::NotAllowed => NOT_ALLOWED,
        Cause::NetworkUnreachable => NETWORK_UNREACHABLE,
        // There is no reply for a name without an address, nor for silence.
        Cause::UnknownHost | Cause::HostUnreachable | Cause::TimedOut => HOST_UNREACHABLE,
        Cause::Refused => REFUSED,
        Cause::Failed | Cause::Busy => FAILED,
    })
}

fn reply(code: u8) -> Vec<u8> {
    let mut reply = vec![VERSION, code, 0, IPV4];
    reply.extend([0; 4 + 2]);
    reply
}

/// Reads the version and the methods of authentication.
fn methods(bytes: &[u8]) -> Found<()> {
    let refused = |reply: &[u8], why: String| {
        let reply = reply.to_vec();
        Err(Refusal { reply, why })
    };
    match bytes {
        [] | [VERSION] => Ok(None),
        [VERSION, count, methods @ ..] => match methods.get(..usize::from(*count)) {
            None => Ok(None),
            Some(offered) if offered.contains(&NONE) => Ok(Some(((), 2 + offered.len()))),
            Some(_) => refused(
                &[VERSION, NO_METHOD],
                "the client wants authentication, and this proxy has none".to_owned(),
            ),
        },
        [4, ..] => refused(
            &[],
            "the client speaks SOCKS version 4; set it to version 5".to_owned(),
        ),
        [b'A'..=b'Z', ..] => refused(
            &[],
            "the client seems to speak HTTP, which --http is for".to_owned(),
        ),
        [other, ..] => refused(
            &[],
            format!("the client does not speak SOCKS5: it begins with {other:#04x}"),
        ),
    }
}

/// Reads a request: its target.
fn connect(bytes: &[u8]) -> Found<String> {
    let refused = |code: u8, why: String| {
        let reply = reply(code);
        Err(Refusal { reply, why })
    };
    // What is wrong already needs no more bytes.
    for (at, byte) in bytes.iter().take(4).enumerate() {
        match (at, *byte) {
            (0, VERSION) | (1, CONNECT) | (2, 0) | (3, IPV4 | NAME | IPV6) => {}
            (0, other) => return refused(FAILED, format!("a request of SOCKS version {other}")),
            (1, other) => {
                let why = format!("the client asks for command {other}; only CONNECT is known");
                return refused(COMMAND_NOT_SUPPORTED, why);
            }
            (2, other) => {
                return refused(FAILED, format!("{other} where SOCKS5 requests have a 0"));
            }
            (_, other) => {
                return refused(ADDRESS_NOT_SUPPORTED, format!("an address of type {other}"));
            }
        }
    }
    let Some((host, port, used)) = address(bytes) else {
        return Ok(None);
    };
    match target(&host, port) {
        Some(target) => Ok(Some((target, used))),
        None => refused(FAILED, format!("{host:?} port {port} is no target")),
    }
}

/// Host, port and length of a request up to them, if all of them is there.
fn address(bytes: &[u8]) -> Option<(String, u16, usize)> {
    let (head, rest) = bytes.split_at_checked(4)?;
    let (host, rest) = match head[3] {
        IPV4 => {
            let (octets, rest) = rest.split_first_chunk::<4>()?;
            (Ipv4Addr::from(*octets).to_string(), rest)
        }
        IPV6 => {
            let (octets, rest) = rest.split_first_chunk::<16>()?;
            (Ipv6Addr::from(*octets).to_string(), rest)
        }
        _ => {
            let (length, rest) = rest.split_first()?;
            let (name, rest) = rest.split_at_checked(usize::from(*length))?;
            // A character that stands for what is no text is no part of a name.
            let name = String::from_utf8_lossy(name).replace('\u{fffd}', "\0");
            (name, rest)
        }
    };
    let (port, rest) = rest.split_first_chunk::<2>()?;
    Some((host, u16::from_be_bytes(*port), bytes.len() - rest.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A request for this address.
    fn asks(kind: u8, address: &[u8], port: u16) -> Vec<u8> {
        [&[5, 1, 0, kind], address, &port.to_be_bytes()].concat()
    }

    fn code<T>(found: Found<T>) -> Option<u8> {
        let refusal = found.err()?;
        assert!(!refusal.why.is_empty());
        refusal.reply.get(1).copied()
    }

    #[test]
    fn requests_are_read_once_all_of_them_is_there() {
        let v6 = "2001:db8::7".parse::<Ipv6Addr>().unwrap().octets();
        for (request, target) in [
            (asks(IPV4, &[10, 0, 0, 1], 80), "10.0.0.1:80"),
            (asks(IPV6, &v6, 443), "[2001:db8::7]:443"),
            (asks(NAME, b"\x0adb.example", 0), ""),
            (asks(NAME, b"\x0adb.example", 5432), "db.example:5432"),
            // Some clients write addresses as names.
            (asks(NAME, b"\x03::1", 22), "[::1]:22"),
        ] {
            for cut in 0..request.len() {
                assert_eq!(
                    connect(&request[..cut]),
                    Ok(None),
                    "{request:?} cut at {cut}"
                );
            }
            let more = [&request[..], b"early"].concat();
            let whole = Ok(Some((target.to_owned(), request.len())));
            match target {
                "" => assert_eq!(code(connect(&more)), Some(FAILED)),
                _ => assert_eq!(connect(&more), whole),
            }
        }
    }

    #[test]
    fn what_is_wrong_in_a_request_has_its_reply() {
        let sound = asks(IPV4, &[10, 0, 0, 1], 80);
        for (at, good, reply) in [
            (0, &[5][..], FAILED),
            (1, &[1], COMMAND_NOT_SUPPORTED),
            (2, &[0], FAILED),
            (3, &[1, 3, 4], ADDRESS_NOT_SUPPORTED),
        ] {
            for byte in (0..=255).filter(|byte| !good.contains(byte)) {
                let mut wrong = sound.clone();
                wrong[at] = byte;
                // At once: the rest may never come.
                assert_eq!(code(connect(&wrong[..=at])), Some(reply), "{byte} at {at}");
                assert_eq!(code(connect(&wrong)), Some(reply), "{byte} at {at}");
            }
        }
        for name in [
            &b"\0"[..],
            b"\x03a b",
            b"\x01\xff",
            b"\x03a\r\n",
            b"\x04a:80",
            b"\x01*",
        ] {
            assert_eq!(
                code(connect(&asks(NAME, name, 80))),
                Some(FAILED),
                "{name:?}"
            );
        }
    }

    #[test]
    fn without_authentication_or_not_at_all() {
        for (greeting, used) in [
            (&[5, 1, 0][..], 3),
            (&[5, 3, 2, 1, 0], 5),
            (&[5, 1, 0, 5, 1, 0, 1], 3),
        ] {
            for cut in 0..used {
                assert_eq!(methods(&greeting[..cut]), Ok(None));
            }
            assert_eq!(methods(greeting), Ok(Some(((), used))));
        }
        for greeting in [&[5, 0][..], &[5, 1, 2], &[5, 2, 1, 2]] {
            assert_eq!(code(methods(greeting)), Some(NO_METHOD), "{greeting:?}");
        }
        for first in (0..=255).filter(|first| *first != VERSION) {
            let refusal = methods(&[first]).unwrap_err();
            assert!(refusal.reply.is_empty(), "{first}");
        }
        assert!(methods(b"GET ").unwrap_err().why.contains("--http"));
        assert!(methods(&[4, 1]).unwrap_err().why.contains("version 4"));
    }

    #[test]
    fn each_cause_has_its_reply() {
        for (cause, code) in [
            (Cause::Failed, 1),
            (Cause::NotAllowed, 2),
            (Cause::NetworkUnreachable, 3),
            (Cause::HostUnreachable, 4),
            (Cause::UnknownHost, 4),
            (Cause::TimedOut, 4),
            (Cause::Refused, 5),
            (Cause::Busy, 1),
        ] {
            assert_eq!(failed(cause), [5, code, 0, 1, 0, 0, 0, 0, 0, 0]);
        }
        assert_eq!(opened(), [5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    }
}
