//! Endpoints and associations of the commands, and how they end for a failure.

use super::address;
use super::ending::Ending;
use super::protect::{Channel, Destination, PLAIN, Purpose, enter};
use crate::args::HereArgs;
use crate::below::EncapsulationArg;
use crate::failure::{Failure, Kind};
use crate::settings::config;
use crate::terminal::say;
use byway::{
    Association, Closed, CommandError, Config, ConnectError, Endpoint, LossReason, SendError,
};
use byway_lab::show;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// An endpoint that waits for others.
pub(super) fn serve(here: &HereArgs, port: u16, ending: &Ending) -> Result<Endpoint, Failure> {
    serve_with(here, port, ending, |config| config)
}

/// [`serve`] with other settings.
pub(super) fn serve_with(
    here: &HereArgs,
    port: u16,
    ending: &Ending,
    change: impl FnOnce(Config) -> Config,
) -> Result<Endpoint, Failure> {
    let below = here.below;
    let udp_port = below.encapsulation.default_port();
    let local = if here.bind.is_empty() {
        address::of_default_route(udp_port)?
    } else {
        address::parse_all("--bind", &here.bind, udp_port)?
    };
    let options = below
        .options(local)
        .sctp_port(port)
        .config(change(config(&here.settings)?));
    let endpoint = Endpoint::bind(options)?;
    ending.aborts(&endpoint);
    let shown: Vec<String> = endpoint
        .local_addresses()
        .iter()
        .map(|a| address::shown(*a))
        .collect();
    if !here.quiet {
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
        if shown.len() == 1 {
            say(
                "warning: no redundancy, a failed path stops the transfer: this side has one address only; name more with --bind",
            );
        }
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
    connect_with(here, there, timeout, ending, (purpose, |config| config)).await
}

/// [`connect`] with other settings.
pub(super) async fn connect_with(
    here: &HereArgs,
    there: &Destination,
    timeout: Duration,
    ending: &Ending,
    (purpose, change): (Purpose, impl FnOnce(Config) -> Config),
) -> Result<(Endpoint, Channel), Failure> {
    let (endpoint, association) = set_up(here, there, timeout, ending, change).await?;
    let Some(credentials) = &there.credentials else {
        if !(here.quiet || here.json) {
            say(PLAIN);
        }
        return Ok((endpoint, Channel::plain(association)));
    };
    match enter(&association, credentials, purpose, timeout).await {
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
    change: impl FnOnce(Config) -> Config,
) -> Result<(Endpoint, Association), Failure> {
    let below = here.below;
    let remote = there.addresses(below.encapsulation.default_port())?;
    let local = if here.bind.is_empty() {
        address::by_routes(&remote)?
    } else {
        address::parse_all("--bind", &here.bind, 0)?
    };
    let mut options = below.options(local).config(change(config(&here.settings)?));
    options.accept = false;
    let endpoint = Endpoint::bind(options)?;
    ending.aborts(&endpoint);
    let setup = endpoint.connect(&remote, there.sctp_port());
    let failure = match tokio::time::timeout(timeout, setup).await {
        Ok(Ok(association)) => {
            if !(here.quiet || here.json) {
                warn_of_one(&endpoint, &association);
            }
            if let Err(failure) = prefer(here, &association) {
                abort_for(&association, &failure);
                return Err(failure);
            }
            return Ok((endpoint, association));
        }
        Ok(Err(e)) => {
            // Another stack has nothing to say of a wrong port; who has no room says so.
            let aborted = matches!(
                &e,
                ConnectError::Failed {
                    closed: Closed::Lost {
                        reason: LossReason::AbortedByPeer(why),
                        ..
                    },
                    ..
                } if why.is_empty() || why == byway::NOTHING_LISTENS
            );
            let mut failure = Failure::from(e);
            if aborted {
                failure.message += &format!(
                    "; SCTP port {} was refused: --port must be the SCTP port that the other side listens on",
                    there.sctp_port()
                );
            }
            failure
        }
        Err(_) => {
            let ended = match there.is_ticket() {
                true => "; the ticket ends with the command that has printed it",
                false => "",
            };
            let shown: Vec<String> = remote.iter().map(|a| address::shown(*a)).collect();
            Failure::new(
                Kind::Lost,
                format!(
                    "{}, SCTP port {}: no answer within {}; is `byway recv` or `byway listen` running there, and {}?{ended}",
                    shown.join(", "),
                    there.sctp_port(),
                    byway_lab::units::format_duration(timeout),
                    passes(&remote)
                ),
            )
        }
    };
    // The next attempt may need the same ports.
    ending.abort(endpoint, b"given up").await;
    Err(failure)
}

/// What must pass for these addresses to answer.
fn passes(remote: &[SocketAddr]) -> &'static str {
    let without_udp = remote.iter().filter(|a| a.port() == 0).count();
    match without_udp {
        0 => "does UDP pass",
        n if n == remote.len() => {
            "does protocol 132 pass (--encapsulation udp there and here goes without)"
        }
        _ => "do UDP and protocol 132 pass",
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
            if !(here.quiet || here.json) {
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

/// Says it when no path could take over.
fn warn_of_one(endpoint: &Endpoint, association: &Association) {
    let mut remote: Vec<_> = association.paths().iter().map(|p| p.remote).collect();
    remote.sort();
    remote.dedup();
    let what = match (endpoint.local_addresses().len(), remote.len()) {
        (_, 1) => "the other side has one address only; give it more with --bind there",
        (1, _) => "this side has one address only; name more with --bind",
        _ => return,
    };
    say(format_args!(
        "warning: no redundancy, a failed path stops the transfer: {what}"
    ));
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
