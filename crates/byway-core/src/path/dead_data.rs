//! Whether a path that answers heartbeats carries data (`failure.dead_data`).

use crate::policy::dead_data::{DeadData, Trial};

/// Whether a path that answers heartbeats carries data (`failure.dead_data`).
#[derive(Clone, Debug, Default)]
pub(crate) struct DeadDataTrial {
    /// What happened to its data since the last acknowledgement.
    trial: Trial,
    /// It answers, but acknowledges no data. It returns only when a heartbeat as large
    /// as its packets is answered, or data is acknowledged.
    dead: bool,
}

impl DeadDataTrial {
    /// T3-rtx expired; `largest` is the size of the largest chunk in flight.
    pub(crate) fn on_timeout(&mut self, largest: u32) {
        self.trial.on_timeout(largest);
    }

    /// A heartbeat was answered. `full_sized`: it was as large as the path's packets.
    pub(crate) fn on_answer(&mut self, full_sized: bool) {
        self.trial.on_answer(full_sized);
        self.dead &= !full_sized;
    }

    /// A chunk of this number of bytes was acknowledged that was sent to this path only.
    pub(crate) fn on_acknowledged(&mut self, bytes: u32) {
        self.trial.on_acknowledged(bytes);
        self.dead &= !self.trial.is_clear();
    }

    /// The peer had no room for the data: the earlier evidence says nothing, unless the
    /// path is dead already.
    pub(crate) fn forget(&mut self) {
        if !self.dead {
            self.trial = Trial::default();
        }
    }

    /// Whether the path becomes dead for data now. It is dead then.
    pub(crate) fn dies(&mut self, rule: &DeadData) -> bool {
        let dies = !self.dead && self.trial.is_dead(rule);
        self.dead |= dies;
        dies
    }

    /// Whether the path answers, but acknowledges no data.
    #[inline]
    pub(crate) fn is_dead(&self) -> bool {
        self.dead
    }

    /// Whether there is no evidence against the path.
    #[inline]
    pub(crate) fn is_clear(&self) -> bool {
        self.trial.is_clear()
    }

    /// Whether something arrived since the first expiration.
    pub(crate) fn was_answered(&self) -> bool {
        self.trial.was_answered()
    }
}
