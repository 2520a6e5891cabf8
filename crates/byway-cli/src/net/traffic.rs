//! What each path has carried, over all associations of a command.

use byway::{PathId, PathStats, shown_address, shown_host};
use byway_lab::show;
use serde_json::{Value, json};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// What each pair of addresses has carried. A path that moves to another address of this side
/// counts there from then on.
#[derive(Debug, Default)]
pub(super) struct Traffic(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    pairs: Vec<Pair>,
    /// What the paths of the association under way have carried at the last look.
    last: Vec<(PathId, Bytes)>,
}

/// Bytes sent and received, and those of data that was sent again.
type Bytes = [u64; 3];

#[derive(Debug)]
struct Pair {
    /// Without its port, which each association has its own.
    local: SocketAddr,
    remote: SocketAddr,
    bytes: Bytes,
}

impl Traffic {
    /// The paths of the association as they are now.
    pub(super) fn note(&self, paths: &[PathStats]) {
        let mut inner = self.inner();
        for path in paths {
            let total = [
                path.bytes_sent,
                path.bytes_received,
                path.data_bytes_retransmitted,
            ];
            let mut local = path.local;
            local.set_port(0);
            inner.add(path.path, (local, path.remote), total);
        }
    }

    /// The association has ended; another one may follow.
    pub(super) fn next(&self) {
        self.inner().last.clear();
    }

    /// For programs.
    pub(super) fn json(&self) -> Value {
        let inner = self.inner();
        let pairs = inner.pairs.iter().map(|pair| {
            json!({
                "local": shown_host(pair.local),
                "remote": shown_address(pair.remote),
                "bytes_sent": pair.bytes[0],
                "bytes_received": pair.bytes[1],
                "data_bytes_retransmitted": pair.bytes[2],
            })
        });
        Value::Array(pairs.collect())
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Nothing panics while it is held.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn add(&mut self, id: PathId, (local, remote): (SocketAddr, SocketAddr), total: Bytes) {
        let at = self.last.iter().position(|(path, _)| *path == id);
        let before = at.map_or(Bytes::default(), |at| self.last[at].1);
        // The number of a path that was removed may be given again.
        let is_new = (0..total.len()).any(|i| total[i] < before[i]);
        let before = if is_new { Bytes::default() } else { before };
        match at {
            Some(at) => self.last[at].1 = total,
            None => self.last.push((id, total)),
        }
        let pair = self
            .pairs
            .iter()
            .position(|p| (p.local, p.remote) == (local, remote));
        let pair = pair.unwrap_or_else(|| {
            self.pairs.push(Pair {
                local,
                remote,
                bytes: Bytes::default(),
            });
            self.pairs.len() - 1
        });
        for i in 0..total.len() {
            self.pairs[pair].bytes[i] += total[i] - before[i];
        }
    }
}

/// "12 MB out, 340 kB in".
pub(super) fn words(path: &PathStats) -> String {
    format!(
        "{} out, {} in",
        show::bytes(path.bytes_sent),
        show::bytes(path.bytes_received)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_where_they_went() {
        let traffic = Traffic::default();
        let pair = |local: u8, remote: u8| {
            let at = |n, port| SocketAddr::from(([10, 0, 0, n], port));
            (at(local, 0), at(remote, 9))
        };
        let add = |id, pair, total| traffic.inner().add(PathId(id), pair, total);
        add(0, pair(1, 11), [100, 10, 0]);
        add(1, pair(2, 12), [5, 5, 5]);
        add(0, pair(1, 11), [300, 20, 8]);
        // The path leaves from another address, and later it is another path.
        add(0, pair(3, 11), [450, 30, 9]);
        add(0, pair(1, 13), [7, 7, 0]);
        traffic.next();
        // Another association.
        add(0, pair(1, 11), [1, 1, 1]);
        let expected = [
            ("10.0.0.1", "10.0.0.11:9", 301, 21, 9),
            ("10.0.0.2", "10.0.0.12:9", 5, 5, 5),
            ("10.0.0.3", "10.0.0.11:9", 150, 10, 1),
            ("10.0.0.1", "10.0.0.13:9", 7, 7, 0),
        ]
        .map(|(local, remote, sent, received, again)| {
            json!({
                "local": local, "remote": remote, "bytes_sent": sent, "bytes_received": received,
                "data_bytes_retransmitted": again,
            })
        });
        assert_eq!(traffic.json(), Value::Array(expected.into()));
    }
}
