//! The size of a path's packets, and the search for a larger one (RFC 8899;
//! `policy/mtu_discovery.rs`).

use crate::config::Config;
use crate::policy::mtu_discovery::{Outcome, Search};

/// The size of a path's packets.
#[derive(Clone, Debug)]
pub(crate) struct PathMtu {
    /// Largest IP packet, bytes.
    pmtu: u32,
    /// Bytes of each packet that DATA chunks leave free for a TIMESTAMP.
    beside_data: u32,
    /// Bytes of each packet that all other chunks leave free for an AUTH chunk.
    for_auth: u32,
    /// The search for a larger size, if it is configured.
    discovery: Option<Box<Discovery>>,
    /// Whether the search keeps to the MTU of the path's interface.
    bounded: bool,
    /// That MTU, if it is known.
    interface: Option<u32>,
}

#[derive(Clone, Debug)]
struct Discovery {
    search: Search,
    /// Nonce and size of the probe that is not answered yet.
    probe: Option<(u64, u32)>,
    /// The same of the last sizes whose probes were taken for lost. On a slow link an answer may only be late.
    lost: [Option<(u64, u32)>; LATE],
}

/// How many sizes are remembered whose probes were lost.
const LATE: usize = 4;

impl PathMtu {
    pub(super) fn new(cfg: &Config) -> PathMtu {
        let most = cfg.pmtu.over(None);
        let discovery = cfg.mtu_discovery.map(|rule| Discovery {
            search: Search::new(rule, most),
            probe: None,
            lost: [None; LATE],
        });
        PathMtu {
            pmtu: discovery.as_ref().map_or(most, |d| d.search.size()),
            beside_data: 0,
            for_auth: 0,
            discovery: discovery.map(Box::new),
            bounded: false,
            interface: None,
        }
    }

    /// Whether the MTU of the path's interface is to be asked for: there is a search that
    /// does not keep to it yet.
    pub(crate) fn wants_bound(&self) -> bool {
        self.discovery.is_some() && !self.bounded
    }

    /// The MTU of the interface may have changed.
    pub(crate) fn forget_bound(&mut self) {
        self.bounded = false;
    }

    /// The search keeps to packets of `most` bytes over an interface of this MTU. None if it
    /// did so before.
    pub(crate) fn bound(&mut self, interface: Option<u32>, most: u32) -> Option<Outcome> {
        self.bounded = true;
        self.interface = interface;
        self.search_mut()?.bound(most)
    }

    /// The MTU of the path's interface, if there is a search. It counts as the search's bound
    /// where nobody knows it.
    pub(crate) fn interface(&self) -> Option<u32> {
        let search = self.search()?;
        Some(self.interface.unwrap_or(search.most()))
    }

    /// Largest IP packet, bytes.
    pub(crate) fn pmtu(&self) -> u32 {
        self.pmtu
    }

    pub(super) fn set_pmtu(&mut self, bytes: u32) {
        self.pmtu = bytes;
    }

    /// Bytes of each packet that DATA chunks leave free for a TIMESTAMP.
    pub(super) fn beside_data(&self) -> u32 {
        self.beside_data
    }

    /// Bytes of each packet that all other chunks leave free for an AUTH chunk.
    pub(super) fn for_auth(&self) -> u32 {
        self.for_auth
    }

    pub(super) fn keep_beside_data(&mut self, timestamp: u32, auth: u32) {
        self.beside_data = timestamp;
        self.for_auth = auth;
    }

    /// The search, if it is configured.
    pub(crate) fn search(&self) -> Option<&Search> {
        self.discovery.as_ref().map(|d| &d.search)
    }

    /// The search, to change.
    pub(crate) fn search_mut(&mut self) -> Option<&mut Search> {
        self.discovery.as_mut().map(|d| &mut d.search)
    }

    /// A probe of this size leaves: its nonce. All probes of a size share one, `fresh` for the first, so
    /// that the answer of each counts however late it is.
    pub(crate) fn probe_leaves(&mut self, fresh: u64, size: u32) -> u64 {
        let Some(d) = &mut self.discovery else {
            return fresh;
        };
        let earlier = d.lost.iter().flatten().find(|(_, s)| *s == size);
        let nonce = earlier.map_or(fresh, |(n, _)| *n);
        d.probe = Some((nonce, size));
        nonce
    }

    /// Whether a probe is not answered yet.
    pub(crate) fn has_probe(&self) -> bool {
        self.discovery.as_ref().is_some_and(|d| d.probe.is_some())
    }

    /// Ends the search's probe with this nonce, also one that was taken for lost; its size if there is
    /// one. The others are given up: whatever became of them, this is newer.
    pub(crate) fn probe_answered(&mut self, nonce: u64) -> Option<u32> {
        let d = self.discovery.as_mut()?;
        let mut all = d.probe.iter().chain(d.lost.iter().flatten());
        let (_, size) = *all.find(|(n, _)| *n == nonce)?;
        self.end_probe();
        Some(size)
    }

    /// The probe under way is taken for lost, or another one comes first.
    pub(super) fn lose_probe(&mut self) {
        if let Some(d) = &mut self.discovery
            && let Some(probe) = d.probe.take()
            && !d.lost.contains(&Some(probe))
        {
            d.lost.rotate_right(1);
            d.lost[0] = Some(probe);
        }
    }

    /// Late answers to probes of up to this size count no more.
    pub(crate) fn forget_lost(&mut self, size: u32) {
        if let Some(d) = &mut self.discovery {
            for lost in &mut d.lost {
                *lost = lost.filter(|(_, s)| *s > size);
            }
        }
    }

    /// Whether the search has found a size, and does not wait for its first answer.
    pub(crate) fn is_found(&self) -> bool {
        self.search().is_none_or(Search::has_moved)
    }

    /// All probes are given up: late answers count no more.
    pub(super) fn end_probe(&mut self) {
        if let Some(d) = &mut self.discovery {
            (d.probe, d.lost) = (None, [None; LATE]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(size: u32) -> PathMtu {
        let mut mtu = PathMtu::new(&Config::byway());
        mtu.probe_leaves(7, size);
        mtu.lose_probe();
        mtu
    }

    #[test]
    fn an_answer_counts_however_late_it_is_and_once() {
        let mut mtu = lost(1500);
        // The next probe of the same size has the same nonce.
        assert_eq!(mtu.probe_leaves(8, 1500), 7);
        assert_eq!(mtu.probe_answered(8), None);
        assert_eq!(mtu.probe_answered(7), Some(1500));
        assert_eq!(mtu.probe_answered(7), None);
    }

    /// A doubt about a size forgets the probes of that size, whose answers are older than the doubt, and a
    /// refusal or another network forgets all.
    #[test]
    fn what_was_sent_before_a_doubt_does_not_end_it() {
        let mut mtu = lost(1500);
        mtu.forget_lost(1400);
        assert_eq!(mtu.probe_answered(7), Some(1500));
        let mut mtu = lost(1500);
        mtu.forget_lost(1500);
        assert_eq!(mtu.probe_answered(7), None);
        assert_eq!(mtu.probe_leaves(8, 1500), 8);
        let mut mtu = lost(1500);
        mtu.end_probe();
        assert_eq!(mtu.probe_answered(7), None);
    }
}
