//! Endpoints and associations of the commands, and how they end for a failure.

use super::address;
use super::ending::Ending;
use super::protect::{Channel, Destination, PLAIN, Purpose, enter};
use crate::below::{EncapsulationArg, WorkersArgs};
use crate::failure::{Failure, Kind};
use crate::give_back;
use crate::net::args::{CalledArgs, HereArgs};
use crate::settings::{Usage, config_for};
use crate::terminal::{say, say_json};
use byway::{Association, Closed, CommandError, ConnectError, Endpoint, LossReason, SendError};
use byway_lab::show;
use byway_lab::units::format_duration;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::fmt;
use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

/// An endpoint that waits for others, with its workers.
pub(super) fn serve(
    here: &HereArgs,
    served: (CalledArgs, WorkersArgs),
    ending: &Ending,
) -> Result<Endpoint, Failure> {
    serve_with(here, served, ending, Usage::PLAIN)
}

/// Associations that wait until they are accepted: those of `listen`, which serves one. As many as one host may have.
const BACKLOG: usize = 16_384;

/// [`serve`] with other settings.
pub(super) fn serve_with(
    here: &HereArgs,
    (called, workers): (CalledArgs, WorkersArgs),
    ending: &Ending,
    usage: Usage,
) -> Result<Endpoint, Failure> {
    let below = here.below;
    let udp_port = below.encapsulation.default_port();
    let local = if here.bind.is_empty() {
        address::of_this_host(udp_port)
    } else {
        address::parse_all("--bind", &here.bind, udp_port)?
    };
    let mut options = below
        .options(local.clone())
        .sctp_port(called.port)
        .workers(workers.count())
        .config(config_for(&here.settings, usage)?);
    options.max_memory = usize::try_from(called.max_memory.0).unwrap_or(usize::MAX);
    options.backlog = BACKLOG;
    let endpoint = Endpoint::bind(ending.record().watches(options))?;
    ending.aborts(&endpoint);
    give_back::follow(&endpoint);
    let shown: Vec<String> = endpoint
        .local_addresses()
        .iter()
        .map(|a| address::shown(*a))
        .collect();
    if here.quiet {
        return Ok(endpoint);
    }
    if here.talk.json {
        say_json(&serde_json::json!({
            "schema": "byway.listening/1",
            "addresses": shown,
            "sctp_port": endpoint.sctp_port(),
        }));
    } else {
        say(format_args!(
            "listening on {}, SCTP port {}{}",
            shown.join(", "),
            endpoint.sctp_port(),
            match below.encapsulation {
                EncapsulationArg::Udp => "",
                EncapsulationArg::None => ", without UDP",
                EncapsulationArg::Both => ", with UDP and without",
            }
        ));
    }
    if shown.len() == 1 {
        say(format_args!(
            "{ALONE}this side has one address only{}",
            more(&local)
        ));
    }
    Ok(endpoint)
}

/// An association with the other side that has let this one in, on a new endpoint: its SCTP
/// port is new, so a peer that has not noticed a loss sees no restart of the
/// lost association.
pub(super) async fn connect(
    here: &HereArgs,
    there: &Destination,
    timeout: Duration,
    ending: &Ending,
    purpose: Purpose,
) -> Result<(Endpoint, Channel), Failure> {
    connect_with(here, there, timeout, ending, (purpose, Usage::PLAIN)).await
}

/// [`connect`] with other settings.
pub(super) async fn connect_with(
    here: &HereArgs,
    there: &Destination,
    timeout: Duration,
    ending: &Ending,
    (purpose, usage): (Purpose, Usage),
) -> Result<(Endpoint, Channel), Failure> {
    let (endpoint, association) = set_up(here, there, timeout, ending, usage).await?;
    let Some(credentials) = &there.credentials else {
        if !here.is_silent() {
            say(PLAIN);
        }
        return Ok((endpoint, Channel::plain(association)));
    };
    let entered = enter(&association, credentials, purpose, timeout);
    let unanswered = || {
        say_unless(here.is_silent(), || {
            format!(
                "the other side answered, and then not within {} to TLS; is it a `byway` that printed a \
                 ticket, and do packets of 576 bytes pass? Waiting for {}",
                format_duration(SILENCE),
                format_duration(timeout)
            )
        });
    };
    match meanwhile(entered, unanswered).await {
        Ok(channel) => Ok((endpoint, channel)),
        Err(failure) => {
            abort_for(&association, &failure);
            // The next attempt may need the same ports.
            ending.abort(endpoint, failure.reason()).await;
            Err(failure)
        }
    }
}

async fn set_up(
    here: &HereArgs,
    there: &Destination,
    timeout: Duration,
    ending: &Ending,
    usage: Usage,
) -> Result<(Endpoint, Association), Failure> {
    let below = here.below;
    let remote = there.addresses(below.encapsulation.default_port())?;
    let local = if here.bind.is_empty() {
        address::towards(&remote)?
    } else {
        address::parse_all("--bind", &here.bind, 0)?
    };
    let mut options = below
        .options(local.clone())
        .config(config_for(&here.settings, usage)?);
    options.accept = false;
    let endpoint = Endpoint::bind(ending.record().watches(options))?;
    ending.aborts(&endpoint);
    give_back::after(&endpoint);
    if !here.is_silent()
        && let Some(words) = address::left_out(&endpoint.local_addresses(), &remote)
    {
        say(format_args!("{words}"));
    }
    let refused = Cell::new(None);
    let setup = persistently(&endpoint, &remote, there.sctp_port(), |by| {
        let first = refused.replace(Some(by)).is_none() && there.may_say_refusal();
        if first && !here.is_silent() {
            say(format_args!(
                "{}; trying for {}",
                nobody_there(&remote),
                format_duration(timeout)
            ));
        }
    });
    let unanswered = || {
        say_unless(here.is_silent() || refused.get().is_some(), || {
            format!(
                "still trying, for {}: {}",
                format_duration(timeout),
                silence(&endpoint, &remote, there, SILENCE)
            )
        });
    };
    let setup = meanwhile(tokio::time::timeout(timeout, setup), unanswered);
    let failure = match setup.await {
        Ok(Ok(association)) => {
            if !here.is_silent() {
                warn_of_one(&endpoint, &local, &association);
            }
            if let Err(failure) = prefer(here, &association) {
                abort_for(&association, &failure);
                return Err(failure);
            }
            return Ok((endpoint, association));
        }
        Ok(Err(e)) => refusal(e, there),
        Err(_) => {
            let words = match refused.get() {
                Some(by) => nobody_came(by, &remote),
                None => silence(&endpoint, &remote, there, timeout),
            };
            Failure::new(Kind::Lost, with_end_of_ticket(words, there))
        }
    };
    // The next attempt may need the same ports.
    ending.abort(endpoint, b"given up").await;
    Err(failure)
}

/// Why a set-up ended before its time, and what to do.
fn refusal(error: ConnectError, there: &Destination) -> Failure {
    let advice = match &error {
        ConnectError::Failed {
            closed: Closed::Lost { reason, .. },
            ..
        } => match reason {
            // Another stack has nothing to say of a wrong port; who has no room says so.
            LossReason::AbortedByPeer(why) if why.is_empty() || why == byway::NOTHING_LISTENS => {
                format!(
                    "; SCTP port {} was refused: --port must be the SCTP port that the other side listens on",
                    there.sctp_port()
                )
            }
            _ => String::new(),
        },
        _ => String::new(),
    };
    let mut failure = Failure::from(error);
    failure.message += &advice;
    failure
}

/// Which message of the other side's host says that nobody is there.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Refused {
    /// Nothing has the UDP port.
    Port,
    /// Nothing takes SCTP without UDP.
    Protocol,
}

/// Sets an association up, again and again while the other side's host says that nobody is there: somebody
/// may be about to begin. `refused` is called each time.
async fn persistently(
    endpoint: &Endpoint,
    remote: &[SocketAddr],
    port: u16,
    refused: impl Fn(Refused),
) -> Result<Association, ConnectError> {
    const PAUSE: Duration = Duration::from_millis(250);
    loop {
        match endpoint.connect(remote, port).await {
            Err(ConnectError::Failed {
                closed:
                    Closed::Lost {
                        reason: LossReason::PortUnreachable,
                        ..
                    },
                ..
            }) => refused(Refused::Port),
            Err(ConnectError::Failed {
                closed:
                    Closed::Lost {
                        reason: LossReason::ProtocolUnreachable,
                        ..
                    },
                ..
            }) => refused(Refused::Protocol),
            other => return other,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// So long a set-up says nothing of its own accord.
const SILENCE: Duration = Duration::from_secs(3);

/// Does `work`, and `unanswered` once if it takes long: nobody shall sit before a silent command.
async fn meanwhile<T>(work: impl Future<Output = T>, unanswered: impl FnOnce()) -> T {
    let mut work = pin!(work);
    tokio::select! {
        done = &mut work => return done,
        () = tokio::time::sleep(SILENCE) => unanswered(),
    }
    work.await
}

fn say_unless(silent: bool, words: impl FnOnce() -> String) {
    if !silent {
        say(words());
    }
}

/// What is the matter when nobody has answered for so long.
fn silence(
    endpoint: &Endpoint,
    remote: &[SocketAddr],
    there: &Destination,
    waited: Duration,
) -> String {
    if endpoint.driver_stats().datagrams_sent == 0 {
        return format!(
            "the kernel of this host sends nothing to {}: there is no route (`ip route get ADDR` \
             names it), or a filter here forbids it",
            listed(remote)
        );
    }
    format!(
        "{}, SCTP port {}: no answer within {}; is `byway recv` or `byway listen` running there, {}",
        listed(remote),
        there.sctp_port(),
        format_duration(waited),
        passes(remote)
    )
}

/// And why nobody may be there any more.
fn with_end_of_ticket(words: String, there: &Destination) -> String {
    let stop = match words.ends_with('?') {
        true => "",
        false => ".",
    };
    match there.is_ticket() {
        true => words + stop + " The ticket ends with the command that has printed it",
        false => words,
    }
}

fn listed(remote: &[SocketAddr]) -> String {
    let shown: Vec<String> = remote.iter().map(|a| address::shown(*a)).collect();
    shown.join(", ")
}

/// "nothing listens on UDP port 9898 of 10.0.0.1", "nothing takes SCTP without UDP at 10.0.0.1".
fn nobody_there(remote: &[SocketAddr]) -> String {
    let (without_udp, in_udp): (Vec<&SocketAddr>, _) = remote.iter().partition(|a| a.port() == 0);
    let port = |a: &&SocketAddr| format!("UDP port {} of {}", a.port(), address::shown_host(**a));
    let host = |a: &&SocketAddr| address::shown_host(**a);
    let kind = |what: &str, each: Vec<String>| match each.is_empty() {
        true => None,
        false => Some(format!("nothing {what} {}", each.join(" and "))),
    };
    let all = [
        kind("listens on", in_udp.iter().map(port).collect()),
        kind(
            "takes SCTP without UDP at",
            without_udp.iter().map(host).collect(),
        ),
    ];
    all.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// The same at the end, and what to do.
fn nobody_came(by: Refused, remote: &[SocketAddr]) -> String {
    let nobody = nobody_there(remote);
    match by {
        Refused::Port => format!(
            "{nobody} (ICMP: port unreachable): is `byway recv` or `byway listen` running there, with \
             another UDP port (--to ADDR:PORT), or does a firewall reject it?"
        ),
        Refused::Protocol => format!(
            "{nobody} (ICMP: protocol unreachable): is `byway recv --encapsulation none` running there? \
             A receiver in UDP is reached with --encapsulation udp, at its UDP port (--to ADDR:PORT)"
        ),
    }
}

/// What must pass for these addresses to answer.
fn passes(remote: &[SocketAddr]) -> &'static str {
    let without_udp = remote.iter().filter(|a| a.port() == 0).count();
    match without_udp {
        0 => "and does UDP pass? What waits without UDP is reached with --encapsulation none.",
        n if n == remote.len() => {
            "is that its SCTP port (--port; to a wrong one nothing is answered without UDP), and does protocol \
             132 pass? --encapsulation udp there and here goes without it."
        }
        _ => "is that its SCTP port (--port), and do UDP and protocol 132 pass?",
    }
}

/// Asks the other side for the address of `--prefer`. One that cannot be asked is no failure:
/// it sends where it wants to.
pub(super) fn prefer(here: &HereArgs, association: &Association) -> Result<(), Failure> {
    let Some(address) = here.prefer else {
        return Ok(());
    };
    match association.set_peer_primary(address) {
        Ok(()) => Ok(()),
        Err(SendError::Refused(CommandError::AddressChangesUnsupported)) => {
            if !here.is_silent() {
                say(format_args!(
                    "warning: --prefer {address}: the other side takes no such request (RFC 5061) and sends where it wants to"
                ));
            }
            Ok(())
        }
        Err(SendError::Refused(e)) => Err(Failure::wrong(format!("--prefer {address}: {e}"))),
        Err(e) => Err(e.into()),
    }
}

/// Where no path could take over.
const ALONE: &str = "warning: no redundancy, a failed path stops the transfer: ";

/// How this side gets more addresses.
fn more(local: &[SocketAddr]) -> &'static str {
    match local.iter().any(|a| a.ip().is_unspecified()) {
        true => "; a second network is used as soon as it is there",
        false => "; name more with --bind",
    }
}

/// Says it when no path could take over. Other cards of this side stand in for the only path to a
/// peer with one address, but not for that peer's link.
fn warn_of_one(endpoint: &Endpoint, local: &[SocketAddr], association: &Association) {
    let paths = association.paths();
    let local_of_paths = distinct(paths.iter().map(|p| p.local));
    let remote_of_paths = distinct(paths.iter().map(|p| p.remote));
    // What packets to the one address could leave from.
    let fits = |a: &SocketAddr| paths.iter().any(|p| p.remote.is_ipv4() == a.is_ipv4());
    let sources = || distinct(endpoint.local_addresses().into_iter().filter(fits));
    match (local_of_paths, remote_of_paths) {
        (_, 1) if sources() > 1 => say(format_args!(
            "warning: half redundancy, the other side has one address only, and a failure of its link \
             stops the transfer; give it more with --bind there"
        )),
        (_, 1) => say(format_args!(
            "{ALONE}the other side has one address only; give it more with --bind there"
        )),
        (1, _) => say(format_args!(
            "{ALONE}all paths leave from one address of this side{}",
            more(local)
        )),
        _ => {}
    }
}

/// How many addresses, whatever the ports.
fn distinct(all: impl Iterator<Item = SocketAddr>) -> usize {
    all.map(|a| a.ip()).collect::<BTreeSet<_>>().len()
}

/// What of the messages of a lost association was not acknowledged, in bytes.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Unacknowledged {
    /// All of it. A part may have arrived.
    pub(super) all: u64,
    /// What never left.
    pub(super) unsent: u64,
}

impl Unacknowledged {
    /// Takes it from an association that has ended.
    pub(super) fn of(association: &Association) -> Unacknowledged {
        let mut sum = Unacknowledged::default();
        while let Some(message) = association.take_undelivered() {
            let bytes = message.payload.len() as u64;
            sum.all += bytes;
            sum.unsent += if message.sent { 0 } else { bytes };
        }
        sum
    }
}

impl fmt::Display for Unacknowledged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (all, unsent) = (show::bytes(self.all), show::bytes(self.unsent));
        write!(
            f,
            "{all} were not acknowledged, {unsent} of them never left"
        )
    }
}

/// Aborts an association because of a failure of ours; the other side gets
/// the first 100 bytes of the message.
pub(super) fn abort_for(association: &Association, failure: &Failure) {
    // Refused when it has ended already, which is what is wanted.
    let _ = association.abort(failure.reason());
}

/// What the endpoint has refused, put off and shed since the command began, of all peers: a count for
/// each rule, and what the kernel dropped before.
pub(super) fn refused(endpoint: &Endpoint) -> serde_json::Value {
    let stats = endpoint.stats();
    let rules = stats.refusals.iter();
    let mut all: serde_json::Map<_, serde_json::Value> = rules
        .map(|(rule, count)| (rule.name().to_owned(), count.into()))
        .collect();
    all.insert("associations".to_owned(), stats.refused.into());
    all.insert(
        "dropped_by_kernel".to_owned(),
        endpoint.dropped_by_kernel().into(),
    );
    all.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_nobody_is_there_each_address_is_named_as_it_was_tried() {
        for (remote, words) in [
            (
                &["10.0.0.1:9898"][..],
                "nothing listens on UDP port 9898 of 10.0.0.1",
            ),
            (
                &["[fe80::2%1]:9898", "10.0.0.1:7"],
                "nothing listens on UDP port 9898 of fe80::2%lo and UDP port 7 of 10.0.0.1",
            ),
            (
                &["10.0.0.1:0", "[fe80::2%1]:0"],
                "nothing takes SCTP without UDP at 10.0.0.1 and fe80::2%lo",
            ),
            (
                &["10.0.0.1:0", "10.1.0.1:9899"],
                "nothing listens on UDP port 9899 of 10.1.0.1, nothing takes SCTP without UDP at 10.0.0.1",
            ),
        ] {
            let remote: Vec<SocketAddr> = remote.iter().map(|a| a.parse().unwrap()).collect();
            assert_eq!(nobody_there(&remote), words);
        }
    }
}
