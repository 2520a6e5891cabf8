//! The states of RFC 9260 section 4.

/// The state of an association. Data that exists only in one state is stored in it.
#[derive(Debug)]
pub(crate) enum State {
    /// INIT sent.
    CookieWait,
    /// COOKIE ECHO sent. Holds the cookie for its retransmission.
    CookieEchoed(Box<[u8]>),
    /// Data flows both ways.
    Established,
    /// The user shut down; some data is not acknowledged yet.
    ShutdownPending,
    /// SHUTDOWN sent: all our data is acknowledged.
    ShutdownSent,
    /// SHUTDOWN received; some of our data is not acknowledged yet.
    ShutdownReceived,
    /// SHUTDOWN ACK sent.
    ShutdownAckSent,
    /// The association has ended.
    Closed,
}

impl State {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            State::CookieWait => "COOKIE-WAIT",
            State::CookieEchoed(_) => "COOKIE-ECHOED",
            State::Established => "ESTABLISHED",
            State::ShutdownPending => "SHUTDOWN-PENDING",
            State::ShutdownSent => "SHUTDOWN-SENT",
            State::ShutdownReceived => "SHUTDOWN-RECEIVED",
            State::ShutdownAckSent => "SHUTDOWN-ACK-SENT",
            State::Closed => "CLOSED",
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        matches!(self, State::Closed)
    }

    /// Whether the user may send messages.
    pub(crate) fn takes_messages(&self) -> bool {
        matches!(
            self,
            State::CookieWait | State::CookieEchoed(_) | State::Established
        )
    }

    /// Whether DATA may leave (section 6).
    pub(crate) fn sends_data(&self) -> bool {
        matches!(
            self,
            State::Established | State::ShutdownPending | State::ShutdownReceived
        )
    }

    /// Whether DATA is accepted (section 6).
    pub(crate) fn takes_data(&self) -> bool {
        matches!(
            self,
            State::Established | State::ShutdownPending | State::ShutdownSent
        )
    }

    /// Whether arrived DATA may be acknowledged.
    pub(crate) fn acks_data(&self) -> bool {
        self.takes_data() || matches!(self, State::ShutdownReceived)
    }

    /// Whether heartbeats are sent (section 8.3: until SHUTDOWN or its ACK).
    pub(crate) fn sends_heartbeats(&self) -> bool {
        self.sends_data()
    }

    /// Whether heartbeats are answered.
    pub(crate) fn answers_heartbeats(&self) -> bool {
        !matches!(self, State::CookieWait | State::Closed)
    }
}
