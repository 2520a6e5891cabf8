//! What was found out about a pair of addresses: the numbers of both, and the
//! links over which packets between them can be followed ahead. Packets of a flow come in trains, so each packet would look
//! up the same again.

use std::net::{IpAddr, SocketAddr};

/// Links of a way that are remembered; on a longer way the rest is looked up.
const LINKS: usize = 6;

/// The links that a packet takes first, one after the other.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Way {
    links: [u32; LINKS],
    count: u8,
}

impl Way {
    /// Adds a link, if there is room; whether there was.
    pub(crate) fn push(&mut self, link: u32) -> bool {
        let Some(place) = self.links.get_mut(usize::from(self.count)) else {
            return false;
        };
        *place = link;
        self.count += 1;
        true
    }

    /// The link at this place of the way, if it is remembered.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<u32> {
        (place < usize::from(self.count)).then(|| self.links[place])
    }
}

/// Two addresses; their ports do not count.
pub(crate) type Ends<'a> = (&'a SocketAddr, &'a SocketAddr);

/// Whether the addresses are the same, whatever their ports: compared where they
/// stand, as this happens for every packet.
#[inline]
fn same(a: &SocketAddr, b: &SocketAddr) -> bool {
    match (a, b) {
        (SocketAddr::V4(a), SocketAddr::V4(b)) => a.ip() == b.ip(),
        (SocketAddr::V6(a), SocketAddr::V6(b)) => a.ip() == b.ip(),
        _ => false,
    }
}

/// One pair of addresses.
#[derive(Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) ends: (SocketAddr, SocketAddr),
    /// The addresses' numbers.
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// Where `dst` lives, as a column of the routing table; none if nowhere else.
    pub(crate) column: Option<u32>,
    pub(crate) way: Way,
}

/// Flows by their addresses. A place holds the last flow that fell on it: the
/// table never grows, and what it forgets is looked up again.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    places: Vec<Option<Flow>>,
    shift: u32,
}

/// Places for so many flows per address, as most hosts talk to few.
const PER_ADDRESS: usize = 4;
/// Places at most, less than a megabyte: with more flows than that at once some
/// are looked up again and again.
const MOST_PLACES: usize = 1 << 13;

impl Flows {
    /// A table for a network with so many addresses.
    pub(crate) fn new(addresses: usize) -> Flows {
        let size = (addresses * PER_ADDRESS).clamp(64, MOST_PLACES);
        let size = size.next_power_of_two();
        Flows {
            places: vec![None; size],
            shift: 64 - size.trailing_zeros(),
        }
    }

    /// The place of a pair of addresses.
    #[inline]
    pub(crate) fn place(&self, (src, dst): Ends<'_>) -> usize {
        let both = folded(&src.ip()).rotate_left(32) ^ folded(&dst.ip());
        (both.wrapping_mul(SPREAD) >> self.shift) as usize
    }

    /// The flow at a place, if it is the one between these addresses.
    #[inline]
    pub(crate) fn get(&self, place: usize, (src, dst): Ends<'_>) -> Option<&Flow> {
        let wanted = |f: &&Flow| same(&f.ends.0, src) && same(&f.ends.1, dst);
        let at = |place: usize| self.places[place].as_ref().filter(wanted);
        at(place).or_else(|| at(place ^ 1))
    }

    /// What stands at the place moves to the one beside it, which serves as well.
    pub(crate) fn put(&mut self, place: usize, flow: Flow) -> &Flow {
        self.places[place ^ 1] = self.places[place].take();
        self.places[place].insert(flow)
    }
}

/// An odd number near 2^64 divided by the golden ratio: multiplying by it spreads
/// close numbers over the upper bits.
pub(crate) const SPREAD: u64 = 0x9E37_79B9_7F4A_7C15;

/// An address in 64 bits; those of IPv4 as they are.
#[inline]
pub(crate) fn folded(address: &IpAddr) -> u64 {
    match address {
        IpAddr::V4(a) => u64::from(a.to_bits()),
        IpAddr::V6(a) => {
            let bits = a.to_bits();
            (bits as u64) ^ ((bits >> 64) as u64).rotate_left(29) ^ 1
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_answers_for_its_own_pair_alone() {
        let mut flows = Flows::new(1);
        let [a, b]: [SocketAddr; 2] = [([10, 0, 0, 1], 0).into(), ([10, 0, 0, 2], 7).into()];
        let flow = Flow {
            ends: (a, b),
            src: 0,
            dst: 1,
            column: Some(1),
            way: Way::default(),
        };
        let place = flows.place((&a, &b));
        flows.put(place, flow);
        assert!(flows.get(place, (&a, &b)).is_some());
        assert!(
            flows.get(place, (&b, &a)).is_none(),
            "whatever its place is"
        );
    }

    #[test]
    fn a_way_remembers_its_first_links() {
        let mut way = Way::default();
        let taken = (0..9).take_while(|link| way.push(10 + link)).count();
        assert_eq!(taken, LINKS);
        assert_eq!(way.get(LINKS - 1), Some(15));
        assert_eq!(way.get(LINKS), None);
    }
}
