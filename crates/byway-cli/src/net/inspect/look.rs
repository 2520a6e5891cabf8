//! Looks at the endpoint of this process.

use super::metrics;
use super::process::{
    AssociationNow, ConnectionsNow, EndpointNow, LatestNow, PathNow, Process, SCHEMA,
};
use super::wish::Wish;
use super::words;
use crate::net::address::shown;
use crate::net::ending::Ending;
use crate::net::refused;
use crate::net::tally::{Connections, PROCESS};
use byway::{AssocId, Endpoint, Overview, PathId, PathStats, SendError};
use std::cmp::Reverse;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Most associations that are listed.
pub(super) const MOST: usize = 256;

/// Associations that are looked at while the transfers wait: some tens of microseconds.
const PAGE: usize = 16;

/// A look serves all who ask within this time, and within [`SHARE`] times the processor time that it took: however
/// many ask, it takes a twentieth of a processor at most. Time in which others have the processor does not count, so
/// beside much other work what is told is no older.
const FRESH: Duration = Duration::from_millis(100);
const SHARE: u32 = 20;

/// Looks at the endpoint that the command has at present.
pub(super) struct Looker {
    command: &'static str,
    ending: Ending,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    numbers: Numbers,
    last: Option<Look>,
}

/// The last look.
struct Look {
    process: Arc<Process>,
    /// Its metrics, if somebody has asked for them.
    text: Option<Arc<str>>,
    /// Until then it is fresh.
    until: Instant,
}

impl Looker {
    pub(super) fn new(command: &'static str, ending: Ending) -> Looker {
        Looker {
            command,
            ending,
            kept: Mutex::default(),
        }
    }

    /// What the process does now, or did a moment ago.
    pub(super) fn look(&self) -> Arc<Process> {
        self.with_fresh(|look| look.process.clone())
    }

    /// The same as metrics.
    pub(super) fn metrics(&self) -> Arc<str> {
        self.with_fresh(|look| {
            let process = &look.process;
            let text = look.text.get_or_insert_with(|| metrics::text(process));
            text.clone()
        })
    }

    /// What somebody makes of a look that is fresh. It stays fresh for as long as both were worth.
    fn with_fresh<T>(&self, work: impl FnOnce(&mut Look) -> T) -> T {
        // Nothing panics while it is held.
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let Kept { numbers, last } = &mut *kept;
        let cost = Cost::begin();
        let mut look = match last.take() {
            Some(look) if cost.begun < look.until => look,
            _ => Look {
                process: Arc::new(self.process(numbers)),
                text: None,
                until: cost.begun + FRESH,
            },
        };
        let made = work(&mut look);
        look.until = look.until.max(cost.worth_until());
        *last = Some(look);
        made
    }

    /// Does what the user wants of a path.
    ///
    /// # Errors
    /// When the endpoint or the association is gone, or the path cannot be it.
    pub(super) fn wish(&self, wish: Wish, id: AssocId, path: PathId) -> Result<(), String> {
        let endpoint = self.ending.current().ok_or("there is no association now")?;
        let done = match wish {
            Wish::Prefer => endpoint.set_primary(id, path),
            Wish::Rest => endpoint.set_backup(id, path, true),
            Wish::Use => endpoint.set_backup(id, path, false),
        };
        done.map_err(|e: SendError| byway::text::shown(&e.to_string()))
    }

    fn process(&self, numbers: &mut Numbers) -> Process {
        let endpoint = self.ending.current();
        let (all, listed) = endpoint.as_ref().map_or((0, Vec::new()), busiest);
        let ids: Vec<AssocId> = listed.iter().map(|o| o.id).collect();
        let named = numbers.of(&ids).into_iter().zip(&listed);
        let mut associations: Vec<AssociationNow> = named.map(association).collect();
        associations.sort_by_key(|a| a.number);
        Process {
            schema: SCHEMA.to_owned(),
            pid: std::process::id(),
            command: self.command.to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            tunnel: matches!(self.command, "forward" | "serve").then(|| connections(PROCESS.all())),
            refused: refused::counts(),
            endpoint: endpoint.map(|e| endpoint_now(&e, all, listed.len())),
            associations,
        }
    }
}

/// What a look costs.
struct Cost {
    begun: Instant,
    spent: Duration,
}

impl Cost {
    fn begin() -> Cost {
        Cost {
            begun: Instant::now(),
            spent: processor_time(),
        }
    }

    /// How long a look must serve that has cost so much by now.
    fn worth_until(&self) -> Instant {
        let took = processor_time().saturating_sub(self.spent);
        self.begun + took * SHARE
    }
}

/// What this thread has taken of a processor.
fn processor_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.try_into()
        .expect("a clock of a processor is not below zero")
}

/// How many associations there are, and at most [`MOST`] of them: those that carried most.
fn busiest(endpoint: &Endpoint) -> (usize, Vec<Overview>) {
    let carried = |o: &Overview| {
        let bytes = |p: &PathStats| p.bytes_sent + p.bytes_received;
        (Reverse(o.paths.iter().map(bytes).sum::<u64>()), o.id)
    };
    let (mut all, mut listed, mut after) = (0, Vec::new(), None);
    loop {
        let page = endpoint.overview(after, PAGE);
        let Some(last) = page.last() else {
            listed.sort_by_key(carried);
            listed.truncate(MOST);
            return (all, listed);
        };
        after = Some(last.id);
        all += page.len();
        listed.extend(page);
        if listed.len() >= 4 * MOST {
            listed.sort_by_key(carried);
            listed.truncate(MOST);
        }
    }
}

/// Small numbers of associations, so that however many come and go there are no more than [`MOST`]
/// labels.
#[derive(Debug, Default)]
struct Numbers(Vec<Option<AssocId>>);

impl Numbers {
    /// The numbers of these, at most [`MOST`]. Each keeps its number while it is among them.
    fn of(&mut self, ids: &[AssocId]) -> Vec<usize> {
        for held in &mut self.0 {
            if held.is_some_and(|id| !ids.contains(&id)) {
                *held = None;
            }
        }
        let each = ids.iter().map(|id| self.one(*id));
        each.collect()
    }

    fn one(&mut self, id: AssocId) -> usize {
        let place = |is: Option<AssocId>| move |held: &Option<AssocId>| *held == is;
        let has = self.0.iter().position(place(Some(id)));
        let number = has.or_else(|| self.0.iter().position(place(None)));
        let number = number.unwrap_or_else(|| {
            self.0.push(None);
            self.0.len() - 1
        });
        self.0[number] = Some(id);
        number
    }
}

fn endpoint_now(endpoint: &Endpoint, all: usize, listed: usize) -> EndpointNow {
    let sockets = endpoint.driver_stats();
    let refused = endpoint.stats().refusals;
    let addresses = endpoint.local_addresses();
    EndpointNow {
        addresses: addresses.into_iter().map(shown).collect(),
        sctp_port: endpoint.sctp_port(),
        associations: all as u64,
        unlisted: (all - listed) as u64,
        memory_bytes: endpoint.memory() as u64,
        datagrams_received: sockets.datagrams_received,
        datagrams_sent: sockets.datagrams_sent,
        datagrams_unsent: sockets.datagrams_refused,
        dropped_by_kernel: endpoint.dropped_by_kernel(),
        refused: refused
            .iter()
            .map(|(rule, count)| (rule.name().to_owned(), count))
            .collect(),
    }
}

fn connections(Connections { open, opened }: Connections) -> ConnectionsNow {
    ConnectionsNow {
        connections: open,
        connections_opened: opened,
    }
}

fn association((number, overview): (usize, &Overview)) -> AssociationNow {
    let stats = &overview.stats;
    AssociationNow {
        number,
        id: overview.id.to_string(),
        state: overview.state.to_owned(),
        bytes_queued: stats.bytes_queued,
        bytes_acked: stats.bytes_acked,
        bytes_delivered: stats.bytes_delivered,
        chunks_retransmitted: stats.data_chunks_retransmitted,
        timeouts: stats.timeouts,
        moves: stats.failovers,
        suspicions: stats.suspicions,
        tunnel: PROCESS.of(overview.id).map(connections),
        latest: overview.latest.as_ref().map(|latest| LatestNow {
            ago_s: latest.ago.as_secs_f64(),
            what: words::event(&latest.event, latest.trouble, &overview.paths),
        }),
        paths: overview.paths.iter().map(path).collect(),
    }
}

fn path(path: &PathStats) -> PathNow {
    PathNow {
        path: path.path.0,
        local: shown(path.local),
        remote: shown(path.remote),
        state: path.state.name().to_owned(),
        trouble: path.trouble.map(|t| t.to_string()),
        errors: path.error_count,
        primary: path.primary,
        in_use: path.in_use,
        backup: path.backup,
        srtt_s: path.srtt.map(|t| t.as_secs_f64()),
        rto_s: path.rto.as_secs_f64(),
        cwnd_bytes: path.cwnd,
        flight_bytes: path.flight,
        pmtu_bytes: path.pmtu,
        bytes_sent: path.bytes_sent,
        bytes_received: path.bytes_received,
        data_bytes_sent: path.data_bytes_sent,
        data_bytes_retransmitted: path.data_bytes_retransmitted,
        data_bytes_lost: path.data_bytes_lost,
        timeouts: path.timeouts,
        failures: path.failures,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_that_waited_for_the_processor_serves_no_longer() {
        let cost = Cost::begin();
        std::thread::sleep(Duration::from_millis(20));
        assert!(cost.worth_until() < cost.begun + FRESH);
        // What is computed does count.
        let busy = processor_time() + Duration::from_millis(10);
        while processor_time() < busy {}
        assert!(cost.worth_until() > cost.begun + FRESH);
    }

    #[test]
    fn however_many_come_and_go_the_numbers_stay_small_and_each_keeps_its_own() {
        let id = |n: u32| AssocId::parse(&format!("0.{n}")).unwrap();
        let mut numbers = Numbers::default();
        assert_eq!(numbers.of(&[id(1), id(2), id(3)]), [0, 1, 2]);
        assert_eq!(numbers.of(&[id(3), id(1)]), [2, 0]);
        assert_eq!(numbers.of(&[id(4), id(3), id(1), id(5)]), [1, 2, 0, 3]);
        for n in 10..10_000 {
            let now: Vec<AssocId> = (n..n + 4).map(id).collect();
            let all = numbers.of(&now);
            assert!(all.iter().all(|n| *n < 4), "{all:?}");
        }
        assert!(numbers.of(&[]).is_empty());
    }
}
