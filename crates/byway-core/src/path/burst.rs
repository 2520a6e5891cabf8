//! How much the current event may still release on a path (RFC 9260 section 6.1, D).

/// How much the current event may still release (section 6.1, D).
#[derive(Copy, Clone, Debug)]
pub(crate) struct Burst {
    /// Packets of new data.
    packets_left: u32,
    /// New data may leave up to this flight size; none before the event's first packet.
    flight_limit: Option<u32>,
}

impl Default for Burst {
    fn default() -> Burst {
        Burst {
            packets_left: u32::MAX,
            flight_limit: None,
        }
    }
}

impl Burst {
    /// An event begins. It may release this number of packets.
    pub(crate) fn begin(&mut self, packets: u32) {
        self.packets_left = packets;
        self.flight_limit = None;
    }

    /// The event may not release any more new data.
    pub(crate) fn end(&mut self) {
        self.packets_left = 0;
        self.flight_limit = Some(0);
    }

    /// A packet of new data left.
    #[inline]
    pub(crate) fn packet_left(&mut self) {
        self.packets_left = self.packets_left.saturating_sub(1);
    }

    /// Whether the event may release another packet.
    #[inline]
    pub(crate) fn allows_packet(&self) -> bool {
        self.packets_left > 0
    }

    /// The flight size up to which new data may leave. At the event's first packet it
    /// is `limit`.
    pub(crate) fn flight_limit(&mut self, limit: u32) -> u32 {
        *self.flight_limit.get_or_insert(limit)
    }
}
