//! Who the client is, said in the first sealed message of each side.
//!
//! A ticket's secret never leaves either side. Each proves that it knows it with an HMAC over keying
//! material of this very TLS session (RFC 8446 section 7.5, used as RFC 9266 does) and over the ticket without its addresses,
//! so a proof says nothing in any other session.

use crate::ticket::Ticket;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

/// Bytes of a proof.
const PROOF: usize = 32;

/// What the exporter of the session gives for proofs.
pub(crate) type Exported = zeroize::Zeroizing<[u8; 32]>;

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// To be let in with a ticket, whose secret it proves.
    Ticket([u8; PROOF]),
    /// To be let in with its key, which the handshake has proved.
    Key,
}

/// What a server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Come in; to the bearer of a ticket, with the server's proof of the same secret.
    Welcome(Option<[u8; PROOF]>),
    /// Not let in.
    Refused(Refusal),
}

/// Why a client is not let in.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The secret is not that of the ticket in force.
    WrongSecret,
    /// The ticket was used as often as it may be.
    Used,
    /// The ticket has expired.
    Expired,
    /// The key is not authorised.
    UnknownKey,
    /// Only keys are let in.
    NoTickets,
    /// Only tickets are.
    NoKeys,
}

const REFUSALS: [Refusal; 6] = [
    Refusal::WrongSecret,
    Refusal::Used,
    Refusal::Expired,
    Refusal::UnknownKey,
    Refusal::NoTickets,
    Refusal::NoKeys,
];

impl Request {
    /// As the payload of a sealed message: 1 byte 1 and the proof, or 1 byte 2.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Request::Ticket(proof) => [&[1][..], proof].concat(),
            Request::Key => vec![2],
        }
    }

    /// Reads it; none if it is of another form.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<Request> {
        match payload.split_first()? {
            (1, proof) => Some(Request::Ticket(proof.try_into().ok()?)),
            (2, []) => Some(Request::Key),
            _ => None,
        }
    }
}

impl Answer {
    /// As the payload of a sealed message: 1 byte 1 and perhaps the proof, or 1 byte 2 and 1 byte why.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Answer::Welcome(Some(proof)) => [&[1][..], proof].concat(),
            Answer::Welcome(None) => vec![1],
            Answer::Refused(why) => {
                let at = REFUSALS.iter().position(|r| r == why);
                // All are in the list.
                vec![2, at.map_or(0, |n| n as u8)]
            }
        }
    }

    /// Reads it; none if it is of another form.
    #[must_use]
    pub fn decode(payload: &[u8]) -> Option<Answer> {
        match payload.split_first()? {
            (1, []) => Some(Answer::Welcome(None)),
            (1, proof) => Some(Answer::Welcome(Some(proof.try_into().ok()?))),
            (2, [why]) => Some(Answer::Refused(*REFUSALS.get(usize::from(*why))?)),
            _ => None,
        }
    }
}

/// Which side proves.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Prover {
    Client,
    Server,
}

/// The HMAC of one side; none for a ticket without a secret.
fn mac(exported: &Exported, ticket: &Ticket, prover: Prover) -> Option<Hmac<Sha256>> {
    let secret = ticket.secret.as_ref()?;
    // HMAC takes keys of any length.
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.bytes()).ok()?;
    mac.update(match prover {
        Prover::Client => b"byway ticket client",
        Prover::Server => b"byway ticket server",
    });
    mac.update(&ticket.digest());
    mac.update(&**exported);
    Some(mac)
}

/// What this side proves.
pub(crate) fn prove(exported: &Exported, ticket: &Ticket, prover: Prover) -> Option<[u8; PROOF]> {
    Some(
        mac(exported, ticket, prover)?
            .finalize()
            .into_bytes()
            .into(),
    )
}

/// Whether the peer's proof is right, found in constant time.
pub(crate) fn proves(
    exported: &Exported,
    ticket: &Ticket,
    prover: Prover,
    proof: &[u8; PROOF],
) -> bool {
    mac(exported, ticket, prover).is_some_and(|mac| mac.verify_slice(proof).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_and_answers_are_read_as_they_were_written() {
        for request in [Request::Ticket([7; PROOF]), Request::Key] {
            assert_eq!(Request::decode(&request.encode()), Some(request));
        }
        let welcomes = [Answer::Welcome(None), Answer::Welcome(Some([7; PROOF]))];
        let refusals = REFUSALS.map(Answer::Refused);
        for answer in welcomes.into_iter().chain(refusals) {
            assert_eq!(Answer::decode(&answer.encode()), Some(answer));
        }
        for bytes in [&[][..], &[0], &[1, 2], &[2, 6], &[2], &[3]] {
            let strange = Answer::decode(bytes).is_none();
            assert!(strange, "{bytes:?}");
        }
        for bytes in [&[][..], &[1], &[2, 0], &[3]] {
            assert!(Request::decode(bytes).is_none(), "{bytes:?}");
        }
    }
}
