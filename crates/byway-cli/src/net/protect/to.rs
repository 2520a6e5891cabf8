//! What --to names: addresses, a ticket, or a file with one of them.

use super::args::ClientArgs;
use super::{Purpose, commands, keys, offer};
use crate::failure::Failure;
use crate::net::address;
use crate::net::identity::Identity;
use byway_tls::{Expect, SecretKey, Ticket};
use std::fmt;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use zeroize::Zeroizing;

/// Longest text with a ticket that is read.
const LONGEST: u64 = 4096;

/// A word of --to. It may be a ticket, so it is never shown.
#[derive(Clone)]
pub(crate) struct To(Zeroizing<String>);

impl From<&str> for To {
    fn from(text: &str) -> To {
        To(Zeroizing::new(text.to_owned()))
    }
}

impl To {
    /// Whether it is read from standard input.
    pub(in crate::net) fn is_stdin(&self) -> bool {
        self.0.as_str() == "-"
    }
}

impl fmt::Debug for To {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("To(..)")
    }
}

/// Where to connect, and how to be let in there.
pub(in crate::net) struct Destination {
    hosts: Hosts,
    sctp_port: u16,
    /// None in plain mode.
    pub(in crate::net) credentials: Option<Credentials>,
    /// Whether it was said that nothing listens there.
    refusal_said: AtomicBool,
}

enum Hosts {
    /// As the user wrote them: names are looked up each time.
    Named(Vec<String>),
    OfTicket(Vec<SocketAddr>),
}

/// How a side that connects is let in.
pub(in crate::net) struct Credentials {
    pub(super) key: SecretKey,
    pub(super) expect: Expect,
    pub(super) ticket: Option<Ticket>,
    /// The file of the keys that are expected.
    pub(super) authorized: Option<PathBuf>,
}

impl Destination {
    /// Reads --to, and what it takes to be let in.
    pub(in crate::net) fn read(
        to: &[To],
        sctp_port: u16,
        args: &ClientArgs,
        purpose: Purpose,
    ) -> Result<Destination, Failure> {
        let text = text(to)?;
        if !Ticket::is_meant(&text) {
            return of_addresses(&text, sctp_port, args);
        }
        let ticket =
            Ticket::parse(&text).map_err(|e| Failure::wrong(format!("the ticket is {e}")))?;
        if ticket.service != purpose.service {
            let (made, takes) = commands(ticket.service);
            let (_, here) = commands(purpose.service);
            return Err(Failure::wrong(format!(
                "this is a ticket of `{made}`, which is for `{takes}` and not for `{here}`"
            )));
        }
        if let Some(expired) = offer::has_expired(&ticket) {
            return Err(expired);
        }
        if args.authorized.is_some() {
            return Err(Failure::wrong(
                "--authorized is for --to ADDR: a ticket names the key of the other side itself",
            ));
        }
        let key = match (&args.key, &ticket.secret) {
            (Some(file), _) => keys::read(file)?,
            (None, None) => keys::own().map_err(|mut failure| {
                failure.message += "; this ticket has no secret and lets in authorised keys only";
                failure
            })?,
            (None, Some(_)) => Identity::of_this_user()?.key_for(&ticket)?,
        };
        Ok(Destination {
            hosts: Hosts::OfTicket(ticket.addresses.iter().map(unmapped).collect()),
            sctp_port: ticket.sctp_port,
            credentials: Some(Credentials {
                key,
                expect: Expect::fingerprint(ticket.server),
                ticket: Some(ticket),
                authorized: None,
            }),
            refusal_said: AtomicBool::new(false),
        })
    }

    /// Whether it is to be said that nothing listens there: once.
    pub(in crate::net) fn may_say_refusal(&self) -> bool {
        !self.refusal_said.swap(true, Ordering::Relaxed)
    }

    /// The addresses, with this UDP port where none is named.
    pub(in crate::net) fn addresses(&self, udp_port: u16) -> Result<Vec<SocketAddr>, Failure> {
        match &self.hosts {
            Hosts::Named(names) => address::of_peer(names, udp_port),
            Hosts::OfTicket(addresses) => Ok(addresses.clone()),
        }
    }

    /// The same for each ticket of the same receiver: what was begun with one goes on with the next.
    pub(in crate::net) fn names(&self) -> Vec<String> {
        match &self.hosts {
            Hosts::Named(names) => names.clone(),
            Hosts::OfTicket(addresses) => addresses.iter().map(SocketAddr::to_string).collect(),
        }
    }

    /// The hosts of those, without ports: a receiver that is started again may have another one.
    pub(in crate::net) fn hosts(&self) -> Vec<String> {
        let mut hosts: Vec<String> = match &self.hosts {
            Hosts::Named(names) => {
                let hosts = names.iter().map(|name| address::host(name).to_owned());
                hosts.collect()
            }
            Hosts::OfTicket(addresses) => addresses.iter().map(|a| a.ip().to_string()).collect(),
        };
        hosts.sort();
        hosts.dedup();
        hosts
    }

    pub(in crate::net) fn is_ticket(&self) -> bool {
        matches!(self.hosts, Hosts::OfTicket(_))
    }

    pub(in crate::net) fn sctp_port(&self) -> u16 {
        self.sctp_port
    }
}

/// What was written, or what the file has that was named.
fn text(to: &[To]) -> Result<Zeroizing<String>, Failure> {
    let words: Vec<&str> = to.iter().map(|word| word.0.as_str()).collect();
    let written = Zeroizing::new(words.join(","));
    let mut read = Zeroizing::new(String::with_capacity(LONGEST as usize));
    let result = match written.as_str() {
        "-" => std::io::stdin().take(LONGEST).read_to_string(&mut read),
        text => match text.strip_prefix('@') {
            None => return Ok(written),
            Some(file) => std::fs::File::open(file)
                .and_then(|opened| opened.take(LONGEST).read_to_string(&mut read)),
        },
    };
    match result {
        Ok(_) if read.trim().is_empty() => Err(Failure::wrong(format!(
            "--to {}: nothing is in it, neither a ticket nor an address; whoever writes it may not have done so yet",
            &*written
        ))),
        Ok(_) => Ok(Zeroizing::new(read.trim().to_owned())),
        Err(e) => Err(Failure::wrong(format!("--to {}: {e}", &*written))),
    }
}

/// An IPv4 address that is mapped into IPv6 is the IPv4 address.
fn unmapped(address: &SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(v4) => (v4, address.port()).into(),
        IpAddr::V6(_) => *address,
    }
}

fn of_addresses(text: &str, sctp_port: u16, args: &ClientArgs) -> Result<Destination, Failure> {
    let credentials = match (&args.key, &args.authorized) {
        (None, None) => None,
        (Some(_), None) => {
            return Err(Failure::wrong(
                "--key with --to ADDR needs --authorized FILE, too: the public key of the other side must be in it",
            ));
        }
        (key, Some(file)) => {
            let expected = keys::authorized(file)?;
            if expected.is_empty() {
                return Err(Failure::wrong(format!(
                    "{} has no key: add the line that `byway key show` prints on the other side",
                    file.display()
                )));
            }
            Some(Credentials {
                key: match key {
                    Some(key) => keys::read(key)?,
                    None => keys::own()?,
                },
                expect: Expect::one_of(expected),
                ticket: None,
                authorized: Some(file.clone()),
            })
        }
    };
    Ok(Destination {
        hosts: Hosts::Named(text.split(',').map(str::to_owned).collect()),
        sctp_port,
        credentials,
        refusal_said: AtomicBool::new(false),
    })
}
