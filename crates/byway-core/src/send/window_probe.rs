//! Probes of the peer's closed window (RFC 9260 section 6.1, A).

/// Probes of the peer's closed window (section 6.1, A).
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct WindowProbe {
    /// One chunk may ignore rwnd.
    due: bool,
    /// The chunk under way is a window probe.
    under_way: bool,
    /// A SACK has arrived since the probe left, so the peer is alive.
    answered: bool,
}

impl WindowProbe {
    /// The window probe timer expired: one chunk may ignore rwnd.
    pub(crate) fn fall_due(&mut self) {
        self.due = true;
    }

    /// Whether one chunk may ignore rwnd.
    pub(crate) fn is_due(&self) -> bool {
        self.due
    }

    /// A packet of new data leaves. Returns whether it is a window probe.
    #[inline]
    pub(crate) fn packet_leaves(&mut self) -> bool {
        let probes = core::mem::take(&mut self.due);
        if probes {
            self.under_way = true;
            self.answered = false;
        }
        probes
    }

    /// A SACK arrived.
    #[inline]
    pub(crate) fn on_sack(&mut self) {
        self.answered = true;
    }

    /// New data was acknowledged: no probe is under way.
    #[inline]
    pub(crate) fn data_acknowledged(&mut self) {
        self.under_way = false;
    }

    /// T3-rtx expired while the peer's window was `closed` or not. Returns whether the
    /// peer answers and has no room.
    pub(super) fn timed_out(&mut self, closed: bool) -> bool {
        let answered = core::mem::take(&mut self.answered);
        (self.under_way || closed) && answered
    }
}
