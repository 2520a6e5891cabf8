//! Addresses as numbers, and which interface each belongs to.

use super::hash::{SPREAD, folded};
use std::net::{IpAddr, SocketAddr};

/// An open-addressing hash table from addresses to numbers. A lookup costs a
/// multiplication and usually one comparison.
///
/// The addresses of interfaces come first. Others get a number when a packet
/// first uses them.
#[derive(Debug, Default)]
pub(crate) struct AddressTable {
    /// Each address, with port 0 as endpoints use it, and its vertex.
    known: Vec<(SocketAddr, u32)>,
    /// Numbers, or `EMPTY`; at least half of the slots are empty.
    slots: Vec<u32>,
    shift: u32,
}

const EMPTY: u32 = u32::MAX;

/// The vertex of an address that no interface has.
pub(crate) const NOWHERE: u32 = u32::MAX;

impl AddressTable {
    /// Builds the table from addresses and their vertices.
    ///
    /// # Errors
    /// The first address that occurs twice.
    pub(crate) fn new(addresses: &[(IpAddr, u32)]) -> Result<AddressTable, IpAddr> {
        let mut table = AddressTable::default();
        for &(address, vertex) in addresses {
            let before = table.known.len();
            if table.intern_at(address, vertex) as usize != before {
                return Err(address);
            }
        }
        Ok(table)
    }

    /// The number of an address. A new address gets a new number.
    #[inline]
    pub(crate) fn intern(&mut self, address: IpAddr) -> u32 {
        match self.find(&address) {
            Some(number) => number,
            None => self.intern_at(address, NOWHERE),
        }
    }

    /// The address with this number.
    pub(crate) fn address(&self, number: u32) -> IpAddr {
        self.known[number as usize].0.ip()
    }

    /// The address with this number and port 0.
    #[inline]
    pub(crate) fn socket(&self, number: u32) -> &SocketAddr {
        &self.known[number as usize].0
    }

    /// The interface's vertex of the address with this number, or `NOWHERE`.
    pub(crate) fn vertex_of(&self, number: u32) -> u32 {
        self.known[number as usize].1
    }

    /// Number of addresses.
    pub(crate) fn len(&self) -> usize {
        self.known.len()
    }

    /// The interface's vertex that has this address.
    pub(crate) fn vertex(&self, address: &IpAddr) -> Option<u32> {
        let vertex = self.vertex_of(self.find(address)?);
        (vertex != NOWHERE).then_some(vertex)
    }

    /// The address's number, if it has one.
    #[inline]
    pub(crate) fn find(&self, address: &IpAddr) -> Option<u32> {
        if self.slots.is_empty() {
            return None;
        }
        let mut at = self.start(address);
        loop {
            let number = self.slots[at];
            if number == EMPTY {
                return None;
            }
            if self.known[number as usize].0.ip() == *address {
                return Some(number);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
    }

    #[cold]
    fn intern_at(&mut self, address: IpAddr, vertex: u32) -> u32 {
        if let Some(number) = self.find(&address) {
            return number;
        }
        self.known.push(((address, 0).into(), vertex));
        if self.slots.len() < self.known.len() * 2 {
            let size = (self.known.len() * 4).next_power_of_two();
            self.shift = 64 - size.trailing_zeros();
            self.slots = vec![EMPTY; size];
            for number in 0..self.known.len() {
                self.place(number);
            }
        } else {
            self.place(self.known.len() - 1);
        }
        (self.known.len() - 1) as u32
    }

    fn place(&mut self, number: usize) {
        let mut at = self.start(&self.known[number].0.ip());
        while self.slots[at] != EMPTY {
            at = (at + 1) & (self.slots.len() - 1);
        }
        self.slots[at] = number as u32;
    }

    fn start(&self, address: &IpAddr) -> usize {
        (folded(address).wrapping_mul(SPREAD) >> self.shift) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_every_address_and_no_other() {
        let list: Vec<(IpAddr, u32)> = (0..2000u32)
            .map(|i| {
                let address: IpAddr = if i % 2 == 0 {
                    std::net::Ipv4Addr::from_bits(0x0A00_0000 + i).into()
                } else {
                    std::net::Ipv6Addr::from_bits((0xfd00 << 112) + u128::from(i)).into()
                };
                (address, i)
            })
            .collect();
        let mut table = AddressTable::new(&list).expect("no address twice");
        assert!(list.iter().all(|(a, v)| table.vertex(a) == Some(*v)));
        let foreign: IpAddr = "192.0.2.1".parse().expect("an address");
        assert_eq!(table.vertex(&foreign), None);
        let number = table.intern(foreign);
        assert_eq!(table.intern(foreign), number);
        assert_eq!(table.address(number), foreign);
        assert_eq!(table.vertex(&foreign), None);
        assert!(list.iter().all(|(a, v)| table.vertex(a) == Some(*v)));
    }

    #[test]
    fn names_the_address_that_occurs_twice() {
        let a: IpAddr = "10.0.0.1".parse().expect("an address");
        assert_eq!(AddressTable::new(&[(a, 0), (a, 1)]).unwrap_err(), a);
        let empty = AddressTable::new(&[]).expect("nothing twice");
        assert_eq!(empty.vertex(&a), None);
    }
}
