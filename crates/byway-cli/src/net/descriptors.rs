//! How many descriptors the process may have, and how many of them strangers may take: what else needs
//! some must find them.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Descriptors for what comes and goes: a file that is read, a log, a socket of a path.
const SPARE: usize = 16;

/// Descriptors of peers that the library gives a socket of their own, for one local address.
const BUSY_PEERS: usize = 32;

/// Raises the limit of descriptors to the highest that the process may set. The lower one that it is
/// started with, often 1024, is for programs that use `select`, which this one does not.
pub(super) fn raise_limit() {
    let most = getrlimit(Resource::Nofile).maximum;
    let limit = Rlimit {
        current: most,
        maximum: most,
    };
    // Where the system does not let it, there are as many as before: [`for_strangers`] looks.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Descriptors for strangers behind so many local addresses; at least one.
pub(super) fn for_strangers(local_addresses: usize) -> usize {
    let limit = getrlimit(Resource::Nofile).current;
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
