//! Which interface an address belongs to: a fixed open-addressing table.

use std::net::IpAddr;

/// Address to vertex number. Built once; looking up costs a multiplication
/// and, as a rule, one comparison.
#[derive(Debug, Default)]
pub(crate) struct AddressTable {
    slots: Vec<Option<(IpAddr, u32)>>,
    shift: u32,
}

impl AddressTable {
    /// Builds the table, or names the first address that occurs twice.
    pub(crate) fn new(addresses: &[(IpAddr, u32)]) -> Result<AddressTable, IpAddr> {
        let size = (addresses.len() * 2).next_power_of_two().max(2);
        let mut table = AddressTable {
            slots: vec![None; size],
            shift: 64 - size.trailing_zeros(),
        };
        for &(address, vertex) in addresses {
            let mut at = table.start(&address);
            while let Some((other, _)) = table.slots[at] {
                if other == address {
                    return Err(address);
                }
                at = (at + 1) & (size - 1);
            }
            table.slots[at] = Some((address, vertex));
        }
        Ok(table)
    }

    pub(crate) fn vertex(&self, address: &IpAddr) -> Option<u32> {
        let mut at = self.start(address);
        // At least half of the slots are empty, so the search ends.
        while let Some((other, vertex)) = &self.slots[at] {
            if other == address {
                return Some(*vertex);
            }
            at = (at + 1) & (self.slots.len() - 1);
        }
        None
    }

    fn start(&self, address: &IpAddr) -> usize {
        let folded = match address {
            IpAddr::V4(a) => u64::from(a.to_bits()),
            IpAddr::V6(a) => {
                let bits = a.to_bits();
                (bits as u64) ^ ((bits >> 64) as u64).rotate_left(29) ^ 1
            }
        };
        (folded.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> self.shift) as usize
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
        let table = AddressTable::new(&list).expect("no address twice");
        assert!(list.iter().all(|(a, v)| table.vertex(a) == Some(*v)));
        assert_eq!(
            table.vertex(&"192.0.2.1".parse().expect("an address")),
            None
        );
        assert_eq!(AddressTable::default_lookup_is_safe(), None);
    }

    impl AddressTable {
        fn default_lookup_is_safe() -> Option<u32> {
            let empty = AddressTable::new(&[]).expect("nothing twice");
            empty.vertex(&"::1".parse().expect("an address"))
        }
    }

    #[test]
    fn names_the_address_that_occurs_twice() {
        let a: IpAddr = "10.0.0.1".parse().expect("an address");
        assert_eq!(AddressTable::new(&[(a, 0), (a, 1)]).unwrap_err(), a);
    }
}
