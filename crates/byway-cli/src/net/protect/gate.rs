//! Whom a side that waits lets in.

use super::args::{GateArgs, Uses};
use super::meetings::Meetings;
use super::{Purpose, keys, offer};
use crate::failure::{Failure, Kind};
use byway::Endpoint;
use byway_lab::units::format_duration;
use byway_tls::{PublicKey, Refusal, Request, Secret, SecretKey, Ticket, Witness};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

/// Whom a side that waits lets in.
pub(in crate::net) struct Gate {
    purpose: Purpose,
    key: SecretKey,
    ticket: Ticket,
    uses: Uses,
    /// When the ticket expires, and after which time that is.
    expiry: Option<(Instant, Duration)>,
    authorized: Option<PathBuf>,
    users: Mutex<Users>,
    meetings: Meetings,
}

/// Who uses the ticket, by keys.
#[derive(Default)]
struct Users {
    /// May come back.
    present: Vec<PublicKey>,
    /// Have done what they came for.
    done: Vec<PublicKey>,
}

impl Users {
    fn are_none(&self) -> bool {
        self.present.is_empty() && self.done.is_empty()
    }
}

/// The place of one that was let in.
pub(in crate::net) struct Place<'a> {
    gate: &'a Gate,
    peer: PublicKey,
}

impl Place<'_> {
    /// It has done what it came for; whether nobody else can come.
    pub(in crate::net) fn done(&self) -> bool {
        self.gate.done(self.peer)
    }
}

impl Gate {
    /// The gate of an endpoint, and its ticket where the user sees it; none if unprotected.
    pub(in crate::net) fn open(
        args: &GateArgs,
        uses: Uses,
        purpose: Purpose,
        endpoint: &Endpoint,
        output: offer::Output,
    ) -> Result<Option<Gate>, Failure> {
        if args.unprotected {
            return Ok(None);
        }
        let random = |e: byway_tls::KeyError| Failure::new(Kind::Failed, e.to_string());
        let key = match (&args.key, &args.authorized) {
            (Some(file), _) => keys::read(file)?,
            (None, Some(_)) => keys::own()?,
            (None, None) => SecretKey::generate().map_err(random)?,
        };
        if let Some(file) = &args.authorized {
            // What is wrong in it is told now.
            keys::authorized(file)?;
        }
        let secret = match args.authorized {
            Some(_) => None,
            None => Some(Secret::generate().map_err(random)?),
        };
        let ticket = Ticket {
            service: purpose.service,
            sctp_port: endpoint.sctp_port(),
            server: key.public_key().fingerprint().short(),
            secret,
            expires: args
                .valid_for
                .map(|time| offer::now().saturating_add(time.as_secs())),
            addresses: offer::addresses(&endpoint.local_addresses())?,
        };
        offer::tell(&ticket, uses, args, output)?;
        Ok(Some(Gate {
            purpose,
            key,
            ticket,
            uses,
            expiry: args
                .valid_for
                .and_then(|time| Some((Instant::now().checked_add(time)?, time))),
            authorized: args.authorized.clone(),
            users: Mutex::default(),
            meetings: Meetings::default(),
        }))
    }

    /// Those that are asking.
    pub(super) fn meetings(&self) -> &Meetings {
        &self.meetings
    }

    pub(super) fn purpose(&self) -> Purpose {
        self.purpose
    }

    pub(super) fn key(&self) -> &SecretKey {
        &self.key
    }

    pub(super) fn ticket(&self) -> Option<&Ticket> {
        Some(&self.ticket).filter(|t| t.secret.is_some())
    }

    /// Whether one that asks is let in; why not, for it and for the log.
    pub(super) fn decide(
        &self,
        request: &Request,
        peer: PublicKey,
        witness: &Witness,
    ) -> Result<Place<'_>, (Refusal, String)> {
        let place = Place { gate: self, peer };
        // Who came in time may come back.
        let expired = self.ticket.expires.is_some_and(|at| offer::now() >= at);
        if expired && !self.users().present.contains(&peer) {
            return Err((Refusal::Expired, "the ticket has expired".to_owned()));
        }
        match (request, &self.authorized) {
            (Request::Key, Some(file)) => {
                let keys = keys::authorized(file);
                match keys {
                    Ok(keys) if keys.contains(&peer) => Ok(place),
                    Ok(_) => Err((Refusal::UnknownKey, unknown(&peer, file))),
                    Err(failure) => Err((Refusal::UnknownKey, failure.message)),
                }
            }
            (Request::Ticket(proof), None) => {
                if !witness.proves(&self.ticket, proof) {
                    let words = "it has another ticket than the one in force";
                    return Err((Refusal::WrongSecret, words.to_owned()));
                }
                match self.may_use(peer) {
                    true => Ok(place),
                    false => Err((Refusal::Used, "the ticket was used already".to_owned())),
                }
            }
            (Request::Ticket(_), Some(_)) => Err((
                Refusal::NoTickets,
                "it has a ticket with a secret, and --authorized lets in keys only".to_owned(),
            )),
            (Request::Key, None) => Err((
                Refusal::NoKeys,
                "it has a key and no ticket; --authorized FILE lets keys in".to_owned(),
            )),
        }
    }

    fn may_use(&self, peer: PublicKey) -> bool {
        let Uses::AtMost(most) = self.uses else {
            return true;
        };
        let mut users = self.users();
        if users.present.contains(&peer) {
            return true;
        }
        let room = users.present.len() + users.done.len() < most as usize;
        let may = room && !users.done.contains(&peer);
        if may {
            users.present.push(peer);
        }
        may
    }

    fn done(&self, peer: PublicKey) -> bool {
        let (Uses::AtMost(most), None) = (self.uses, &self.authorized) else {
            return false;
        };
        let mut users = self.users();
        if let Some(at) = users.present.iter().position(|p| *p == peer) {
            users.present.swap_remove(at);
            users.done.push(peer);
        }
        users.done.len() >= most as usize
    }

    /// Waits until the ticket has expired and nobody has come with it.
    pub(in crate::net) async fn expired(&self) -> Failure {
        let Some((at, time)) = self.expiry else {
            return std::future::pending().await;
        };
        tokio::time::sleep_until(at).await;
        if self.uses == Uses::Any || !self.users().are_none() {
            return std::future::pending().await;
        }
        let time = format_duration(time);
        Failure::new(
            Kind::Failed,
            format!("nobody came with the ticket within {time} (--valid-for)"),
        )
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn unknown(peer: &PublicKey, file: &std::path::Path) -> String {
    format!(
        "its key {} is not authorised; to let it in, add this line to {}: {}",
        peer.fingerprint(),
        file.display(),
        peer.to_line("")
    )
}
