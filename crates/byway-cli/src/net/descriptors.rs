//! How many descriptors of the process strangers may take: what else needs some must find them.

/// Descriptors for what comes and goes: a file that is read, a log, a socket of a path.
const SPARE: usize = 16;

/// Descriptors of peers that the library gives a socket of their own, for one local address.
const BUSY_PEERS: usize = 32;

/// Descriptors for strangers behind so many local addresses; at least one.
pub(super) fn for_strangers(local_addresses: usize) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let limit = limit.map_or(usize::MAX, |n| usize::try_from(n).unwrap_or(usize::MAX));
    let open = std::fs::read_dir("/proc/self/fd").map_or(SPARE, Iterator::count);
    within(limit, open, local_addresses)
}

/// The same for a process with such a limit of descriptors, of which so many are open.
fn within(limit: usize, open: usize, local_addresses: usize) -> usize {
    let room = limit.saturating_sub(open + SPARE);
    let busy = (BUSY_PEERS * local_addresses).min(room / 4);
    (room - busy).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_else_needs_a_descriptor_has_one() {
        let rows = [
            // (limit, open, local addresses, for strangers)
            (1024, 24, 2, 920),
            (1024, 24, 8, 738),
            (64, 24, 1, 18),
            (32, 24, 1, 1),
            (8, 24, 1, 1),
        ];
        for (limit, open, local, strangers) in rows {
            assert_eq!(within(limit, open, local), strangers, "{limit}");
            if limit > 40 {
                assert!(open + strangers < limit);
            }
        }
        assert!(within(usize::MAX, 24, 8) > 1_000_000);
    }
}
