//! Heartbeats of a path (RFC 9260 section 8.3).

use crate::time::Instant;

/// A heartbeat that has not been answered yet.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Probe {
    /// 64 random bits that the answer must carry (RFC 9260 section 5.4).
    pub(crate) nonce: u64,
    pub(crate) sent: Instant,
    /// When the first heartbeat with this nonce left.
    pub(crate) first_sent: Instant,
    /// It is as large as the path's packets.
    pub(crate) full_sized: bool,
}

/// Heartbeats of a path (section 8.3).
#[derive(Clone, Debug)]
pub(crate) struct Heartbeat {
    /// The one that is not answered yet.
    under_way: Option<Probe>,
    /// The last one that was lost. Its answer may only be late: the RTO was too short.
    lost: Option<Box<Probe>>,
    /// Whether the user wants heartbeats here.
    enabled: bool,
    /// One may leave to an address that gets no others (`assoc/listed.rs`).
    owed: bool,
}

impl Heartbeat {
    pub(super) fn new(enabled: bool) -> Heartbeat {
        Heartbeat {
            under_way: None,
            lost: None,
            enabled,
            owed: false,
        }
    }

    /// One may leave, although the address gets no others.
    pub(crate) fn owe(&mut self) {
        self.owed = true;
    }

    /// Whether one may leave, although the address gets no others.
    pub(crate) fn is_owed(&self) -> bool {
        self.owed
    }

    /// A heartbeat leaves. Returns whether it was owed.
    pub(crate) fn take_owed(&mut self) -> bool {
        core::mem::take(&mut self.owed)
    }

    /// Whether the user wants heartbeats here.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// The user turns heartbeats on or off.
    pub(crate) fn enable(&mut self, on: bool) {
        self.enabled = on;
    }

    /// The heartbeat that is not answered yet.
    pub(crate) fn under_way(&self) -> Option<Probe> {
        self.under_way
    }

    /// A HEARTBEAT ACK with this nonce arrived. Gives the heartbeat that it answers: the one
    /// under way, or the last one that was lost. Neither is answered again.
    pub(super) fn answered(&mut self, nonce: u64) -> Option<Probe> {
        let is_it = |p: &mut Probe| p.nonce == nonce;
        let in_time = self.under_way.take_if(is_it);
        if in_time.is_some() {
            self.lost = None;
        }
        in_time.or_else(|| self.lost.take_if(|p| is_it(p)).map(|p| *p))
    }

    /// A heartbeat leaves.
    pub(crate) fn begin(&mut self, probe: Probe) {
        self.under_way = Some(probe);
    }

    /// The heartbeat under way is lost.
    pub(super) fn lose(&mut self) -> Option<Probe> {
        let probe = self.under_way.take();
        if let Some(probe) = probe {
            self.lost = Some(Box::new(probe));
        }
        probe
    }

    /// No answer is waited for any more.
    pub(super) fn end(&mut self) {
        (self.under_way, self.lost) = (None, None);
    }
}
