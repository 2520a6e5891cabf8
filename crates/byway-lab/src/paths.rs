//! Maps the paths of an association to those of the scenario, by address.
//!
//! An association numbers its paths itself. If the first
//! address does not answer and set-up uses the second one, the second is its path 0.

use byway_core::observe::{Observation, Observed};
use byway_core::{AssocId, Endpoint, PathId};
use std::net::IpAddr;

/// The state of an initiator that knows the addresses of its peer.
const KNOWS_ADDRESSES: &str = "COOKIE-ECHOED";

/// How one end numbers the paths of the scenario.
pub(crate) struct PathNames {
    /// The other end's addresses, in the order of the scenario's paths.
    addresses: Vec<IpAddr>,
    /// The scenario's number of each path of the association, once they are
    /// known.
    numbers: Option<Vec<PathId>>,
    /// Whether what is observed now is numbered so: an initiator numbers its
    /// paths as the user gave them until it knows the peer's addresses.
    begun: bool,
}

impl PathNames {
    /// Of the end that sets the association up.
    pub(crate) fn of_initiator(paths: usize, address: fn(usize) -> IpAddr) -> PathNames {
        PathNames {
            addresses: (0..paths).map(address).collect(),
            numbers: None,
            begun: false,
        }
    }

    /// Of the end that accepts it.
    pub(crate) fn of_acceptor(paths: usize, address: fn(usize) -> IpAddr) -> PathNames {
        PathNames {
            begun: true,
            ..PathNames::of_initiator(paths, address)
        }
    }

    /// Learns the numbers of the paths, as soon as they are final.
    pub(crate) fn learn(&mut self, endpoint: &Endpoint, association: Option<AssocId>) {
        let Some(id) = association.filter(|_| self.numbers.is_none()) else {
            return;
        };
        if matches!(
            endpoint.state_name(id),
            None | Some("CLOSED" | "COOKIE-WAIT")
        ) {
            return;
        }
        let paths = endpoint.paths(id);
        let number = |ip: IpAddr| self.addresses.iter().position(|a| *a == ip);
        let numbers = paths.iter().map(|p| match number(p.remote.ip()) {
            Some(i) => PathId(i as u8),
            None => p.path,
        });
        self.numbers = Some(numbers.collect());
    }

    /// The scenario's number of a path.
    pub(crate) fn number(&self, path: PathId) -> PathId {
        let numbers = self.numbers.as_ref().filter(|_| self.begun);
        let known = numbers.and_then(|n| n.get(usize::from(path.0)));
        known.copied().unwrap_or(path)
    }

    /// The observation with the scenario's numbers; none if it has them.
    pub(crate) fn renumbered(&mut self, o: &Observed) -> Option<Observed> {
        if let Observation::State { name } = o.what {
            self.begun |= name == KNOWS_ADDRESSES;
        }
        let numbers = self.numbers.as_ref().filter(|_| self.begun)?;
        let differs = |(i, n): (usize, &PathId)| usize::from(n.0) != i;
        if !numbers.iter().enumerate().any(differs) {
            return None;
        }
        let mut o = o.clone();
        if let Some(path) = path_mut(&mut o.what) {
            *path = self.number(*path);
        }
        Some(o)
    }
}

/// The path that an observation names.
fn path_mut(what: &mut Observation) -> Option<&mut PathId> {
    match what {
        Observation::PacketSent { path, .. }
        | Observation::DataSent { path, .. }
        | Observation::DataReceived { path, .. }
        | Observation::SackSent { path, .. }
        | Observation::HeartbeatSent { path }
        | Observation::HeartbeatAcked { path, .. }
        | Observation::Rto { path, .. }
        | Observation::Window { path, .. }
        | Observation::Errors { path, .. }
        | Observation::PathState { path, .. }
        | Observation::DeadForData { path }
        | Observation::ProbeSent { path, .. }
        | Observation::Estimate { path, .. }
        | Observation::SpuriousFailover { path }
        | Observation::DataPath { to: path }
        | Observation::Primary { to: path } => Some(path),
        Observation::PacketReceived { path, .. } | Observation::TimerFired { path, .. } => {
            path.as_mut()
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::run::{RunOptions, run};
    use crate::scenario::Scenario;

    #[test]
    fn figures_are_those_of_the_addresses_when_the_second_one_answers() {
        let run_with = |first: &str| {
            let text = format!(
                "limit = \"100 s\"\n[traffic]\nkind = \"bulk\"\nsize = \"100 kB\"\n\
                 [[path]]\nname = \"first\"\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n{first}\n\
                 [[path]]\nname = \"second\"\nrate = \"5 Mbit/s\"\ndelay = \"40 ms\"\n"
            );
            let scenario = Scenario::parse("small", &text).unwrap_or_else(|e| panic!("{e}"));
            let done = run(&scenario, RunOptions::default());
            done.unwrap().results.remove(0)
        };
        // The first packet that the first path carries each way is INIT.
        let result = run_with("loss = { packets = [1, 2] }");
        let [first, second] = result.paths.as_slice() else {
            panic!("{:?}", result.paths);
        };
        assert_eq!(
            (first.name.as_str(), second.name.as_str()),
            ("first", "second")
        );
        assert_eq!((first.data_bytes, second.data_bytes), (0, 100_000));
        assert_eq!(result.failovers, 0, "all went to the second path");
        let measures = &result.measures.paths;
        assert!(measures[1].forward_loss < 0.05, "{measures:?}");
        let sent = |i: usize| result.series.paths[i].sent.between(0, u64::MAX / 2);
        assert!(sent(0) < 2e3 && sent(1) > 1e5, "{} {}", sent(0), sent(1));
        // Without that loss all goes to the first.
        let whole = run_with("");
        assert_eq!(whole.paths[0].data_bytes, 100_000);
    }
}
