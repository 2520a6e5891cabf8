//! What an association is for: both sides must mean the same.

/// What an association is for. It is the ALPN of the handshake (RFC 7301), so both sides know that
/// they mean the same before anything is said.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// `byway send` to `byway recv`.
    Files,
    /// `byway cat` to `byway listen`.
    Pipe,
    /// `byway forward` to `byway serve`.
    Tunnel,
}

impl Service {
    /// All of them.
    pub const ALL: [Service; 3] = [Service::Files, Service::Pipe, Service::Tunnel];

    /// The name of the protocol for ALPN.
    #[must_use]
    pub fn alpn(self) -> &'static [u8] {
        match self {
            Service::Files => b"byway-files/1",
            Service::Pipe => b"byway-pipe/1",
            Service::Tunnel => b"byway-tunnel/1",
        }
    }

    /// The number in a ticket.
    pub(crate) fn number(self) -> u8 {
        match self {
            Service::Files => 1,
            Service::Pipe => 2,
            Service::Tunnel => 3,
        }
    }

    pub(crate) fn of_number(number: u8) -> Option<Service> {
        Service::ALL.into_iter().find(|s| s.number() == number)
    }
}
