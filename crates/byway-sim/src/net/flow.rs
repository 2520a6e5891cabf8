//! A cache of routes by pairs of addresses: the numbers of both addresses, and the links
//! over which packets between them are followed ahead of time. Without it every packet of
//! a flow would repeat the same lookups.

use super::hash::{SPREAD, folded};
use super::packet::Packet;
use std::net::SocketAddr;

/// Most links of a cached route. On a longer route the rest is looked up.
const LINKS: usize = 6;

/// The links that a packet takes first, one after the other.
#[derive(Copy, Clone, Debug, Default)]
pub(crate) struct Way {
    links: [u32; LINKS],
    count: u8,
    /// The route is complete: the arrival at the end of the last link is an event.
    pub(crate) whole: bool,
}

impl Way {
    /// Adds a link if there is room. Returns whether there was.
    pub(crate) fn push(&mut self, link: u32) -> bool {
        let Some(place) = self.links.get_mut(usize::from(self.count)) else {
            return false;
        };
        *place = link;
        self.count += 1;
        true
    }

    /// The links.
    #[inline]
    pub(crate) fn links(&self) -> &[u32] {
        &self.links[..usize::from(self.count).min(LINKS)]
    }

    /// The link at this place of the route, if it is cached.
    #[inline]
    pub(crate) fn get(&self, place: usize) -> Option<u32> {
        (place < usize::from(self.count)).then(|| self.links[place])
    }
}

/// Source and destination. Their ports are ignored.
pub(crate) type Ends<'a> = (&'a SocketAddr, &'a SocketAddr);

/// A pair of addresses as a hash key.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Key {
    /// Both addresses.
    V4(u64),
    /// A hash of both addresses.
    Other(u64),
}

impl Key {
    #[inline]
    pub(crate) fn of(ends: Ends<'_>) -> Key {
        match ends {
            (SocketAddr::V4(src), SocketAddr::V4(dst)) => {
                let (src, dst) = (src.ip().to_bits(), dst.ip().to_bits());
                Key::V4(u64::from(src) << 32 | u64::from(dst))
            }
            (src, dst) => Key::Other(folded(&src.ip()).rotate_left(32) ^ folded(&dst.ip())),
        }
    }
}

/// One pair of addresses.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Flow {
    pub(crate) ends: (SocketAddr, SocketAddr),
    pub(crate) key: Key,
    /// The addresses' numbers.
    pub(crate) src: u32,
    pub(crate) dst: u32,
    /// The column of `dst` in the routing table.
    pub(crate) column: u32,
    /// Bytes of the IP header.
    pub(crate) header: u32,
    pub(crate) way: Way,
}

impl Flow {
    /// Sets the addresses and the size of a packet whose bytes are in place.
    #[inline]
    pub(crate) fn address(&self, packet: &mut Packet) {
        packet.src = self.src;
        packet.dst = self.dst;
        packet.column = self.column;
        let length = packet.payload.len() + packet.tail.len();
        packet.wire_size = length as u32 + self.header;
    }
}

/// Flows by their addresses. Each place holds the last flow that hashed to it, so
/// the table never grows, and a flow that was replaced is looked up again.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    places: Vec<Option<Flow>>,
    shift: u32,
}

/// Places per address, because most hosts have few peers.
const PER_ADDRESS: usize = 4;
/// Most places: less than a megabyte. With more flows than that some are looked up
/// repeatedly.
const MOST_PLACES: usize = 1 << 13;

impl Flows {
    /// A table for a network with this number of addresses.
    pub(crate) fn new(addresses: usize) -> Flows {
        let size = (addresses * PER_ADDRESS).clamp(64, MOST_PLACES);
        let size = size.next_power_of_two();
        Flows {
            places: vec![None; size],
            shift: 64 - size.trailing_zeros(),
        }
    }

    #[inline]
    fn place(&self, key: Key) -> usize {
        let (Key::V4(bits) | Key::Other(bits)) = key;
        (bits.wrapping_mul(SPREAD) >> self.shift) as usize
    }

    /// The flow between two addresses, if it is cached.
    #[inline]
    pub(crate) fn find(&self, ends: Ends<'_>) -> Option<&Flow> {
        let key = Key::of(ends);
        let place = self.place(key);
        let at = |place: usize| {
            self.places[place].as_ref().filter(|f| {
                // The key holds both addresses of IPv4 completely.
                f.key == key && (matches!(key, Key::V4(_)) || same(&f.ends, ends))
            })
        };
        at(place).or_else(|| at(place ^ 1))
    }

    /// Adds a flow. The flow at its place moves to the neighbouring place, which is
    /// searched too.
    pub(crate) fn put(&mut self, flow: Flow) {
        let place = self.place(flow.key);
        self.places[place ^ 1] = self.places[place].replace(flow);
    }
}

/// Whether both pairs of addresses are equal. Ports are ignored.
fn same(known: &(SocketAddr, SocketAddr), ends: Ends<'_>) -> bool {
    known.0.ip() == ends.0.ip() && known.1.ip() == ends.1.ip()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    #[test]
    fn a_place_answers_for_its_own_pair_alone() {
        let [a, b]: [SocketAddr; 2] = [([10, 0, 0, 1], 0).into(), ([10, 0, 0, 2], 7).into()];
        let mapped = |a: SocketAddr| match a.ip() {
            IpAddr::V4(a) => SocketAddr::from((a.to_ipv6_mapped(), a.octets()[3].into())),
            IpAddr::V6(_) => unreachable!("given above"),
        };
        let flow = |ends: (SocketAddr, SocketAddr), src| Flow {
            ends,
            key: Key::of((&ends.0, &ends.1)),
            src,
            dst: 1,
            column: 1,
            header: 20,
            way: Way::default(),
        };
        for (a, b) in [(a, b), (mapped(a), mapped(b))] {
            let mut flows = Flows::new(1);
            assert!(flows.find((&a, &b)).is_none());
            flows.put(flow((a, b), 0));
            assert_eq!(flows.find((&a, &b)).map(|f| f.src), Some(0));
            assert!(flows.find((&b, &a)).is_none(), "whatever its place is");
            // Found in the neighbouring place after another flow took its place.
            let mut other = flow((b, a), 5);
            other.key = Key::of((&a, &b));
            flows.put(other);
            let found = flows.find((&a, &b)).map(|f| f.src);
            assert_eq!(found, Some(if a.is_ipv4() { 5 } else { 0 }));
        }
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
