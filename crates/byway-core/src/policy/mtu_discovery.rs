//! Path MTU discovery by the transport itself (DPLPMTUD, RFC 8899 section 5, with the
//! probes of section 6.2.1: HEARTBEAT and PAD).
//!
//! Routers may drop packets that are too large without a word, so ICMP cannot be relied
//! upon. A path begins with a size that nearly every network passes. Probes of larger
//! sizes are heartbeats filled with PAD: an answered one raises the size, and its loss
//! costs no data and is no sign of congestion. When data stalls, a probe of the current
//! size and a small heartbeat leave together: if only the small one is answered, the
//! path has become a black hole for its size, and the size falls. RFC 9260 section 7.3
//! leaves the choice to the implementation; off by default, as the papers have one size.
//!
//! Sizes are those of IP packets, all headers included.

use crate::time::Duration;
use crate::units;
use serde::{Deserialize, Serialize};

/// The settings of path MTU discovery. The largest size that is probed is the MTU of the path's
/// interface, and not more than `pmtu`.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MtuDiscovery {
    /// The size that a path begins with (BASE_PLPMTU, 1200; section 5.1.2).
    pub base: u32,
    /// The size if even `base` does not pass (MIN_PLPMTU, 576).
    pub min: u32,
    /// How long after a search the next one begins (PMTU_RAISE_TIMER, 600 s).
    #[serde(with = "units::duration")]
    pub raise: Duration,
}

impl Default for MtuDiscovery {
    fn default() -> MtuDiscovery {
        MtuDiscovery {
            base: 1200,
            min: 576,
            raise: Duration::from_secs(600),
        }
    }
}

/// Lost probes of one size before it counts as too large (MAX_PROBES; section 5.1.2).
const MAX_PROBES: u8 = 3;

/// Lost probes of the current size before it counts as too large, if a small heartbeat
/// was answered in the meantime.
const MAX_CONFIRMATIONS: u8 = 2;

/// A search ends when no more than this is to be won, bytes.
const CLOSE: u32 = 16;

/// Usual sizes, tried before any other: jumbo frames, Ethernet, PPPoE, tunnels, WireGuard,
/// GRE over IPsec, and the least of IPv6.
const USUAL: [u32; 7] = [9000, ETHERNET, 1492, 1480, 1420, 1400, 1280];

/// What most networks pass, and few pass more: larger sizes are tried from there.
const ETHERNET: u32 = 1500;

/// What became of a probe.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing changed.
    Same,
    /// The path takes packets of this size.
    Raised(u32),
    /// The path no longer takes its packets; they are of this size now.
    Fell(u32),
}

/// The search for the largest size of one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Search {
    rule: MtuDiscovery,
    /// The largest size to try.
    most: u32,
    /// The size in use: an answered probe, or the base.
    size: u32,
    /// The least size that did not pass.
    too_large: u32,
    /// Probes lost in a row.
    lost: u8,
    /// The current size is in doubt. True when something smaller was answered since.
    doubt: Option<bool>,
}

impl Search {
    /// The search of a new path, up to packets of `most` bytes.
    #[must_use]
    pub fn new(rule: MtuDiscovery, most: u32) -> Search {
        Search {
            rule,
            most,
            size: rule.base.min(most),
            too_large: most + 1,
            lost: 0,
            doubt: None,
        }
    }

    /// The size in use.
    #[must_use]
    pub fn size(&self) -> u32 {
        self.size
    }

    /// Whether the size in use is not the base any more.
    #[must_use]
    pub fn has_moved(&self) -> bool {
        self.size != self.rule.base.min(self.most)
    }

    /// The largest size to try.
    #[must_use]
    pub fn most(&self) -> u32 {
        self.most
    }

    /// The size of the next probe; none if the search is over.
    #[must_use]
    pub fn next(&self) -> Option<u32> {
        if self.doubt.is_some() {
            return Some(self.size);
        }
        if self.too_large > self.most {
            let to = match self.size < ETHERNET {
                true => self.most.min(ETHERNET),
                false => self.most,
            };
            return (to > self.size).then_some(to);
        }
        let open = |s: &u32| *s > self.size && *s < self.too_large;
        let usual = USUAL.into_iter().find(open);
        let middle = self.size.midpoint(self.too_large) & !3;
        let wide = self.too_large - self.size > CLOSE;
        usual.or((wide && open(&middle)).then_some(middle))
    }

    /// A probe of this size was answered. If it counted as lost before, larger ones are tried again. Where the
    /// current size is in doubt, a late answer to a larger probe leaves the larger one in doubt: it may have passed
    /// before the path changed.
    pub fn answered(&mut self, size: u32) -> Outcome {
        self.lost = 0;
        if size <= self.size {
            self.doubt = None;
            return Outcome::Same;
        }
        self.size = size;
        if size >= self.too_large {
            self.again();
        }
        Outcome::Raised(size)
    }

    /// A probe was lost.
    pub fn lost(&mut self) -> Outcome {
        self.lost += 1;
        match self.doubt {
            // Nothing passes: the path is dead, whatever the size.
            Some(false) if self.lost >= MAX_PROBES => {
                self.lost = 0;
                self.doubt = None;
                Outcome::Same
            }
            Some(true) if self.lost >= MAX_CONFIRMATIONS => self.fall(self.size),
            None if self.lost >= MAX_PROBES => {
                self.lost = 0;
                if let Some(size) = self.next() {
                    self.too_large = size;
                }
                Outcome::Same
            }
            _ => Outcome::Same,
        }
    }

    /// Data stalls: the current size is probed next. Answers whether this is new.
    pub fn doubt(&mut self) -> bool {
        if self.doubt.is_some() || self.size <= self.rule.min {
            return false;
        }
        self.lost = 0;
        self.doubt = Some(false);
        true
    }

    /// A DATA chunk that fills a packet of the current size arrived after the doubt arose, which
    /// ends it (RFC 8899 section 4.4: acknowledged data confirms the size). Answers whether
    /// there was one.
    pub fn data_passes(&mut self) -> bool {
        let doubted = self.doubt.take().is_some();
        if doubted {
            self.lost = 0;
        }
        doubted
    }

    /// A small heartbeat was answered.
    pub fn passes_small(&mut self) {
        if let Some(passes) = &mut self.doubt {
            *passes = true;
        }
    }

    /// This size certainly does not pass: the kernel or a router said so. Larger ones do
    /// not, either.
    pub fn refuse(&mut self, size: u32) -> Outcome {
        if size <= self.size {
            return self.fall(size);
        }
        if size < self.too_large {
            self.too_large = size;
            self.lost = 0;
        }
        Outcome::Same
    }

    /// The interface takes packets of up to `most` bytes from now on. None if that is not new.
    /// What did not pass is tried again when the bound is higher: it is another network.
    pub fn bound(&mut self, most: u32) -> Option<Outcome> {
        let most = most.max(self.rule.min);
        if most == self.most {
            return None;
        }
        let higher = most > self.most;
        self.most = most;
        self.lost = 0;
        if self.size > most {
            return Some(self.fall(most + 1));
        }
        let end = most + 1;
        self.too_large = if higher { end } else { self.too_large.min(end) };
        Some(Outcome::Same)
    }

    /// The raise timer: larger sizes are tried again.
    pub fn again(&mut self) {
        self.too_large = self.most + 1;
        self.lost = 0;
    }

    fn fall(&mut self, too_large: u32) -> Outcome {
        self.lost = 0;
        self.doubt = None;
        self.too_large = too_large;
        let base = self.rule.base;
        self.size = if base < too_large {
            base
        } else {
            self.rule.min
        };
        self.size = self.size.min(self.most);
        Outcome::Fell(self.size)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a search over a path that passes packets up to `passes`; answers with the
    /// size found and the number of probes.
    fn search(most: u32, passes: u32) -> (u32, u32) {
        let mut s = Search::new(MtuDiscovery::default(), most);
        let mut probes = 0;
        while let Some(size) = s.next() {
            probes += 1;
            if size <= passes {
                s.answered(size);
            } else {
                s.lost();
            }
            assert!(probes < 100, "it ends");
        }
        (s.size(), probes)
    }

    #[test]
    fn the_size_is_found_for_usual_and_odd_networks() {
        // most, passes, found, probes
        for (most, passes, found, probes) in [
            (1500, 1500, 1500, 1),
            (1500, 1492, 1492, 4),
            (1500, 1480, 1480, 7),
            (1500, 1400, 1400, 16),
            (1500, 1280, 1280, 28),
            (9000, 9000, 9000, 2),
            (8900, 8900, 8900, 2),
            (9000, 1500, 1500, 40),
            (1200, 1200, 1200, 0),
        ] {
            let (size, count) = search(most, passes);
            assert!(
                size <= passes && passes - size < CLOSE,
                "{most} {passes}: {size}"
            );
            assert_eq!(size / CLOSE, found / CLOSE, "{most} {passes}");
            assert!(count <= probes, "{most} {passes}: {count} probes");
        }
    }

    #[test]
    fn a_black_hole_is_told_from_a_dead_path() {
        let mut s = Search::new(MtuDiscovery::default(), 1500);
        assert_eq!(s.answered(1500), Outcome::Raised(1500));
        // Nothing is answered: the path is dead, the size stays.
        assert!(s.doubt());
        assert!(!s.doubt(), "once");
        assert!(s.data_passes(), "large data arrives: no black hole");
        assert!(!s.data_passes() && s.next().is_none());
        assert!(s.doubt());
        for _ in 0..3 {
            assert_eq!(s.lost(), Outcome::Same);
        }
        assert_eq!((s.size(), s.next()), (1500, None));
        // Something small is.
        s.doubt();
        s.passes_small();
        assert_eq!(s.next(), Some(1500));
        assert_eq!(s.lost(), Outcome::Same);
        assert_eq!(s.lost(), Outcome::Fell(1200));
        assert_eq!(s.next(), Some(1492), "and the search begins below");
        // Not even the base.
        s.doubt();
        s.passes_small();
        s.lost();
        assert_eq!(s.lost(), Outcome::Fell(576));
        assert!(!s.doubt(), "there is nothing below");
    }

    #[test]
    fn what_the_kernel_refuses_needs_no_probes() {
        let mut s = Search::new(MtuDiscovery::default(), 9000);
        assert_eq!(s.next(), Some(1500));
        assert_eq!(s.answered(1500), Outcome::Raised(1500));
        assert_eq!(s.next(), Some(9000));
        assert_eq!(s.refuse(9000), Outcome::Same);
        assert_eq!(s.next(), Some(5248));
        assert_eq!(s.refuse(1500), Outcome::Fell(1200));
        s.again();
        assert_eq!(s.next(), Some(1500));
    }

    #[test]
    fn an_interface_bounds_the_search_at_once() {
        let mut s = Search::new(MtuDiscovery::default(), 1500);
        assert_eq!(s.bound(1500), None, "nothing new");
        s.answered(1500);
        assert_eq!(s.next(), None);
        assert_eq!(s.bound(9000), Some(Outcome::Same));
        assert_eq!(s.next(), Some(9000));
        s.answered(9000);
        assert_eq!(s.bound(1400), Some(Outcome::Fell(1200)));
        assert_eq!(s.next(), Some(1400));
        // No smaller than the least size, which no interface of IPv4 or IPv6 is.
        assert_eq!(s.bound(100), Some(Outcome::Fell(576)));
        assert_eq!(s.next(), None);
        // What a lower bound has ruled out stays so; what is above a higher one is new.
        let mut s = Search::new(MtuDiscovery::default(), 9000);
        s.answered(1500);
        (0..3).for_each(|_| assert_eq!(s.lost(), Outcome::Same));
        assert_eq!(s.next(), Some(5248));
        assert_eq!(s.bound(8900), Some(Outcome::Same));
        assert_eq!(s.next(), Some(8900), "that was never tried");
        (0..3).for_each(|_| assert_eq!(s.lost(), Outcome::Same));
        assert_eq!(s.refuse(2000), Outcome::Same);
        assert_eq!(s.bound(4000), Some(Outcome::Same));
        assert_eq!(s.next(), Some(1748));
        assert_eq!(s.bound(4001), Some(Outcome::Same));
        assert_eq!(s.next(), Some(4001));
    }
}
