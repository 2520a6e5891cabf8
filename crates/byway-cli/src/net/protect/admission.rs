//! How two sides meet: the TLS handshake, then the request to be let in and its answer.
//!
//! Nothing else is said before that, and no file is named.

use super::Purpose;
use super::channel::Channel;
use super::commands;
use super::gate::{Gate, Place};
use super::to::Credentials;
use crate::failure::{Failure, Kind};
use crate::net::record;
use crate::net::refused;
use byway::{Association, Message};
use byway_tls::{
    Answer, HANDSHAKE_PPID, Handshake, HandshakeError, PublicKey, Refusal, Request, Session,
};
use std::time::Duration;

/// How long a client may take for all of it.
const MEETING: Duration = Duration::from_secs(20);
/// How long the other side may take to end the association after an answer that refuses it.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Memory of a handshake under way, in bytes.
const HANDSHAKE: usize = 32 << 10;

/// What a side is told that comes beyond the rate of handshakes.
const TOO_MANY: &str =
    "too many TLS handshakes in a short time, of this host or of all; try again in a minute";

/// Why an association was not let in.
#[derive(Debug)]
pub(in crate::net) struct NotAdmitted {
    pub(in crate::net) failure: Failure,
    /// Whether the other side speaks without TLS: then it can be told so.
    pub(in crate::net) plain: bool,
}

impl From<Failure> for NotAdmitted {
    fn from(failure: Failure) -> NotAdmitted {
        NotAdmitted {
            failure,
            plain: false,
        }
    }
}

/// Asks the other side to be let in.
pub(in crate::net) async fn enter(
    association: &Association,
    credentials: &Credentials,
    purpose: Purpose,
    timeout: Duration,
) -> Result<Channel, Failure> {
    let meeting = async {
        let expect = credentials.expect.clone();
        let secrets = record::of_session();
        let handshake = Handshake::client_logged(
            &credentials.key,
            expect,
            purpose.service,
            record::logged(&secrets),
        );
        let handshake = handshake.map_err(|e| failed(&e))?;
        let met = shake(association, handshake, || true).await;
        let session = met.map_err(|refused| credentials.explain(refused, purpose))?;
        record::keep(secrets);
        request(association, session, credentials, purpose).await
    };
    match tokio::time::timeout(timeout, meeting).await {
        Ok(result) => result,
        Err(_) => Err(Failure::new(
            Kind::Lost,
            format!(
                "the other side answered, and then not within {} to TLS; is it a {} that printed a ticket?",
                byway_lab::units::format_duration(timeout),
                commands(purpose.service).0,
            ),
        )),
    }
}

async fn request(
    association: &Association,
    session: Session,
    credentials: &Credentials,
    purpose: Purpose,
) -> Result<Channel, Failure> {
    let ticket = credentials.ticket.as_ref();
    let request = session.witness.request(ticket).encode();
    let (channel, witness) = Channel::sealed(association.clone(), session, purpose.ppid);
    channel.send_admission(&request).await?;
    let answer = channel.recv_admission().await?;
    match answer.as_deref().and_then(Answer::decode) {
        Some(Answer::Welcome(proof)) => {
            let secret = ticket.filter(|t| t.secret.is_some());
            let proved = match (secret, proof) {
                (Some(ticket), Some(proof)) => witness.proves(ticket, &proof),
                (None, _) => true,
                (Some(_), None) => false,
            };
            if proved {
                return Ok(channel);
            }
            Err(Failure::new(
                Kind::Refused,
                "the other side does not know the ticket's secret: somebody else answers there",
            ))
        }
        Some(Answer::Refused(why)) => Err(Failure::new(
            Kind::Refused,
            credentials.refused(why, purpose),
        )),
        None => Err(Failure::new(
            Kind::Failed,
            "the other side's answer to the ticket cannot be read: is it the same byway?",
        )),
    }
}

/// Lets an association in, or not.
pub(in crate::net) async fn admit<'a>(
    gate: &'a Gate,
    association: &Association,
) -> Result<(Channel, Place<'a>), NotAdmitted> {
    let met = meet(gate, association).await;
    met.inspect_err(|_| refused::Refused::NotLetIn.count())
}

/// What an association says to be let in.
async fn meet<'a>(
    gate: &'a Gate,
    association: &Association,
) -> Result<(Channel, Place<'a>), NotAdmitted> {
    let from = association.paths().first().map(|p| p.remote.ip());
    let Some(from) = from else {
        // It has no path any more.
        return Err(Failure::from(association.closed().await).into());
    };
    let place = gate.meetings().place(from);
    let mut charge = association.charge();
    charge.set(HANDSHAKE);
    let meeting = async {
        let purpose = gate.purpose();
        let secrets = record::of_session();
        let handshake =
            Handshake::server_logged(gate.key(), purpose.service, record::logged(&secrets));
        let handshake = handshake.map_err(|e| failed(&e))?;
        let may = || association.take_handshake();
        let met = shake(association, handshake, may).await;
        let session = met.map_err(|refused| NotAdmitted {
            plain: matches!(refused, Refused::Plain(_)),
            failure: refused.at_gate(purpose),
        })?;
        let admitted = answer(gate, association, session).await?;
        record::keep(secrets);
        Ok(admitted)
    };
    let met = tokio::select! {
        met = tokio::time::timeout(MEETING, meeting) => met,
        () = place.gives_way() => {
            let words = "too many are asking to be let in at once; try again later";
            return Err(Failure::new(Kind::Failed, words).into());
        }
    };
    match met {
        Ok(result) => result,
        Err(_) => Err(Failure::new(
            Kind::Lost,
            // Up to the 100th byte it is told to the other side.
            format!(
                "no TLS within {} s: {} needs --to TICKET here; or start this side with --unprotected",
                MEETING.as_secs(),
                commands(gate.purpose().service).1
            ),
        )
        .into()),
    }
}

async fn answer<'a>(
    gate: &'a Gate,
    association: &Association,
    session: Session,
) -> Result<(Channel, Place<'a>), NotAdmitted> {
    let (peer, ppid) = (session.peer, gate.purpose().ppid);
    let (channel, witness) = Channel::sealed(association.clone(), session, ppid);
    let asked = channel.recv_admission().await?;
    let Some(request) = asked.as_deref().and_then(Request::decode) else {
        return Err(Failure::new(Kind::Failed, "a request that cannot be read").into());
    };
    match gate.decide(&request, peer, &witness) {
        Ok(place) => {
            association.give_handshake_back();
            let welcome = witness.welcome(match request {
                Request::Ticket(_) => gate.ticket(),
                Request::Key => None,
            });
            channel.send_admission(&welcome.encode()).await?;
            // Whoever was let in speaks first, if at all.
            channel.rest();
            Ok((channel, place))
        }
        Err((why, words)) => {
            let refusal = Answer::Refused(why).encode();
            channel.send_admission(&refusal).await?;
            // It is lost with an abort that comes before it was read.
            let _ = tokio::time::timeout(LAST_WORDS, association.closed()).await;
            Err(Failure::new(Kind::Refused, words).into())
        }
    }
}

/// Why there is no session.
pub(super) enum Refused {
    /// The handshake has failed.
    Tls(HandshakeError),
    /// The other side sent something else.
    Plain(u32),
    /// Too many were begun in a short time.
    TooMany,
    /// The association has ended.
    Ended(Failure),
}

impl Refused {
    /// In the words of a side that waits.
    fn at_gate(self, purpose: Purpose) -> Failure {
        match self {
            Refused::Tls(error) => failed(&error),
            // Up to the 100th byte it is told to the other side.
            Refused::Plain(_) => Failure::new(
                Kind::Refused,
                format!(
                    "no TLS: {} needs --to TICKET here; or start this side with --unprotected",
                    commands(purpose.service).1
                ),
            ),
            Refused::TooMany => Failure::new(Kind::Failed, TOO_MANY),
            Refused::Ended(failure) => failure,
        }
    }
}

/// Exchanges the messages of a handshake. `may` is asked once, when the first message of the other
/// side has come and before anything is computed for it.
async fn shake(
    association: &Association,
    mut handshake: Handshake,
    may: impl FnOnce() -> bool,
) -> Result<Session, Refused> {
    let mut may = Some(may);
    loop {
        tell(association, &mut handshake).await?;
        if handshake.is_done() {
            return handshake.finish().map_err(Refused::Tls);
        }
        let Some(received) = association.recv().await else {
            let closed = association.closed().await;
            return Err(Refused::Ended(Failure::from(closed)));
        };
        let whole = received.first && received.last && !received.unordered;
        if received.ppid != HANDSHAKE_PPID || received.stream != 0 || !whole {
            return Err(Refused::Plain(received.ppid));
        }
        if may.take().is_some_and(|may| !may()) {
            return Err(Refused::TooMany);
        }
        if let Err(error) = handshake.receive(&received.payload) {
            // The alert, which is lost with an abort that comes before it was read.
            let told = async {
                tell(association, &mut handshake).await.ok();
                association.closed().await;
            };
            if !matches!(error, HandshakeError::Alert(_)) {
                let _ = tokio::time::timeout(LAST_WORDS, told).await;
            }
            return Err(Refused::Tls(error));
        }
    }
}

async fn tell(association: &Association, handshake: &mut Handshake) -> Result<(), Refused> {
    while let Some(bytes) = handshake.next_message() {
        let mut message = Message::new(0, bytes);
        message.ppid = HANDSHAKE_PPID;
        let sent = association.send(message).await;
        sent.map_err(|e| Refused::Ended(Failure::from(e)))?;
    }
    Ok(())
}

fn failed(error: &HandshakeError) -> Failure {
    Failure::new(Kind::Refused, error.to_string())
}

impl Credentials {
    /// Why the handshake has failed, in the words of a side that connects.
    fn explain(&self, refused: Refused, purpose: Purpose) -> Failure {
        let (server, _) = commands(purpose.service);
        let words = match refused {
            Refused::Tls(HandshakeError::UnexpectedKey(key)) => self.other_key(&key, server),
            Refused::Tls(error) => error.to_string(),
            Refused::Plain(ppid) => format!(
                "the other side does not encrypt (payload protocol identifier {ppid:#x}); is it a {server} that printed a ticket?"
            ),
            Refused::TooMany => TOO_MANY.to_owned(),
            Refused::Ended(failure) => {
                return Failure::new(
                    failure.kind,
                    format!(
                        "{failure}, in place of its part of TLS; is it a {server} that printed a ticket?"
                    ),
                );
            }
        };
        Failure::new(Kind::Refused, words)
    }

    fn other_key(&self, key: &PublicKey, server: &str) -> String {
        match (&self.ticket, &self.authorized) {
            (None, Some(file)) => format!(
                "the other side has the key {}, which is not in {}; if it is the right one, add this line: {}",
                key.fingerprint(),
                file.display(),
                key.to_line("")
            ),
            _ => format!(
                "the ticket is old or wrong: {} is not the key that it names; it is of an earlier run of {server}, or \
                 somebody else answers there; ask for a new ticket",
                key.fingerprint()
            ),
        }
    }

    fn refused(&self, why: Refusal, purpose: Purpose) -> String {
        let (server, _) = commands(purpose.service);
        match why {
            Refusal::WrongSecret => {
                format!(
                    "the ticket is old or wrong: {server} there has made another one; ask for it"
                )
            }
            Refusal::Used => {
                "the ticket was used already, by another sender or to the end; ask for a new one"
                    .to_owned()
            }
            Refusal::Expired => "the ticket has expired; ask for a new one".to_owned(),
            Refusal::UnknownKey => format!(
                "your key {} is not authorised there: the other side must add this line to the file of its --authorized: {}",
                self.key.public_key().fingerprint(),
                self.key.public_key().to_line("")
            ),
            Refusal::NoTickets => {
                format!(
                    "{server} there lets in authorised keys only, and no ticket with a secret; ask for its new ticket"
                )
            }
            Refusal::NoKeys => {
                format!("{server} there lets in tickets only, and no keys: ask for its ticket")
            }
        }
    }
}
