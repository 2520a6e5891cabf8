//! A dialect answers for itself only where the implementation that it stands for differs. Here it
//! differs nowhere, or in one place.

use crate::common::{A, Fate, Pair, Z, ms, plain};
use byway_core::config::ConcurrentConfig;
use byway_core::dialect::{Dialect, DialectRef, Inside, MAX_PATHS, StartDialect};
use byway_core::path::PathsView;
use byway_core::time::Instant;
use byway_core::{Config, Event, PathId, PathState};
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Starts a dialect from its deadline; the tests' dialects are small.
#[derive(Debug)]
struct Starts<D>(D);

impl<D: Dialect + Clone + Sync + 'static> StartDialect for Starts<D> {
    fn start(&self, _: &Config) -> Box<dyn Dialect> {
        Box::new(self.0.clone())
    }
}

fn dialect(of: impl Dialect + Clone + Sync + 'static) -> Option<DialectRef> {
    Some(DialectRef::new(Starts(of)))
}

/// Answers nothing itself.
#[derive(Clone, Debug)]
struct Silent;

impl Dialect for Silent {}

/// Losses, packets that arrive late and twice, a path that fails and comes back, and the end, with
/// everything that both sides sent and were told.
fn long_day(config: &Config, dialect: Option<DialectRef>) -> (Vec<String>, [Vec<Event>; 2]) {
    let mut p = Pair::up_with(2, config, dialect);
    p.timed = true;
    p.delay_ms = [10, 25, 0, 0];
    let mut n = 0;
    p.hand(move |q| {
        n += 1;
        match n % 13 {
            3 if q.text.contains("DATA") => Fate::Lose,
            5 => Fate::Late(40),
            9 => Fate::Twice,
            _ => Fate::Pass,
        }
    });
    p.send_many(A, 1400, 60);
    p.send_many(Z, 700, 40);
    p.run(5000);
    p.cut(&[0]);
    p.send_many(A, 1000, 30);
    p.send_many(Z, 1000, 5);
    p.run(60_000);
    assert_ne!(p.path_state(A, 0), PathState::Active);
    p.heal();
    p.run(120_000);
    p.send_many(A, 1000, 3);
    p.shutdown(A);
    p.run(10_000);
    assert_eq!((p.take_got(Z).len(), p.take_got(A).len()), (93, 45));
    let events = [A, Z].map(|side| p.take_events(side));
    (p.take_drawings(), events)
}

#[test]
fn a_dialect_that_leaves_every_question_open_is_rfc_9260() {
    let mut beating = plain();
    beating.hb.enabled = true;
    let mut concurrent = beating.clone();
    concurrent.concurrent = Some(ConcurrentConfig::default());
    for config in [plain(), beating, concurrent] {
        let (drawn, told) = long_day(&config, None);
        let (found, events) = long_day(&config, dialect(Silent));
        for (one, other) in found.iter().zip(&drawn) {
            assert_eq!(one, other);
        }
        assert_eq!((found.len(), events), (drawn.len(), told));
    }
}

/// Settings are compared, for example by a program that looks whether a file changed them.
#[test]
fn two_settings_have_the_same_dialect_if_it_is_the_same_object() {
    let one = dialect(Silent).unwrap();
    assert_eq!(one, one.clone());
    assert_ne!(one, dialect(Silent).unwrap());
    assert_eq!(format!("{one:?}"), "Starts(Silent)");
}

/// Has a timer of its own, and asks path 1 each time it expires.
#[derive(Clone, Debug)]
struct Asks {
    next: Instant,
}

impl Dialect for Asks {
    fn deadline(&self) -> Option<Instant> {
        Some(self.next)
    }

    fn on_deadline(&mut self, inside: &mut Inside<'_>) -> Option<PathId> {
        self.next = inside.now + ms(500);
        Some(PathId(1))
    }
}

#[test]
fn a_dialect_with_a_timer_decides_which_path_gets_a_heartbeat() {
    let next = Instant::from_millis(5000);
    let mut p = Pair::up_with(2, &plain(), dialect(Asks { next }));
    p.timed = true;
    p.run(1700);
    let mut drawn = p.take_drawings();
    drawn.retain(|d| d.contains("A -> HEARTBEAT -> Z"));
    let expected = [
        "5000 ms A -> HEARTBEAT -> Z (path 1)",
        "5500 ms A -> HEARTBEAT -> Z (path 1)",
    ];
    assert_eq!(drawn, expected);
}

/// Never lets a path fail.
#[derive(Clone, Debug)]
struct Trusts;

impl Dialect for Trusts {
    fn admits_failure(&mut self, _: &Inside<'_>, _: PathId, _: PathState) -> bool {
        false
    }
}

/// Moves data to path 1 at once when another path fails.
#[derive(Clone, Debug)]
struct Moves;

impl Dialect for Moves {
    fn on_failed(&self, _: &Config, _: &PathsView<'_>, path: PathId) -> Option<PathId> {
        (path != PathId(1)).then_some(PathId(1))
    }
}

#[test]
fn a_dialect_decides_whether_a_path_fails_and_where_its_data_goes() {
    let mut c = plain();
    c.failure.path_max_retrans = 1;
    c.failover.potentially_failed = None;
    for (of, state) in [
        (dialect(Trusts), PathState::Active),
        (dialect(Moves), PathState::Inactive),
        (None, PathState::Inactive),
    ] {
        let moves = format!("{of:?}").contains("Moves");
        let mut p = Pair::up_with(3, &c, of);
        p.cut(&[0]);
        for _ in 0..4 {
            p.send_many(A, 1000, 1);
            p.run(2500);
        }
        p.run(10_000);
        assert_eq!(p.path_state(A, 0), state);
        let to = p.take_events(A).into_iter().find_map(|e| match e {
            Event::DataPathChanged { to, .. } => Some(to),
            _ => None,
        });
        if moves {
            assert_eq!(to, Some(PathId(1)));
        }
        assert_eq!(p.take_got(Z).len(), 4);
    }
}

/// Sends data on path 1, and holds it while `holds` says so.
#[derive(Clone, Debug)]
struct Orders(Arc<AtomicBool>);

impl Dialect for Orders {
    fn concurrent_order(
        &self,
        _: &PathsView<'_>,
        _: PathId,
    ) -> Option<SmallVec<[PathId; MAX_PATHS]>> {
        Some(SmallVec::from_slice(&[PathId(1)]))
    }

    fn releases_new_data(&mut self, _: &mut Inside<'_>) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn a_dialect_decides_when_new_data_leaves_and_on_which_path() {
    let mut c = plain();
    c.concurrent = Some(ConcurrentConfig::default());
    let holds = Arc::new(AtomicBool::new(true));
    let mut p = Pair::up_with(2, &c, dialect(Orders(Arc::clone(&holds))));
    p.send_many(A, 1000, 2);
    p.run(500);
    assert_eq!(p.take_drawings_with(&["DATA"]), [""; 0]);
    holds.store(false, Ordering::Relaxed);
    p.send_many(A, 1000, 1);
    p.run(500);
    let drawn = p.take_drawings_with(&["A -> DATA"]);
    assert_eq!((drawn.len(), p.take_got(Z).len()), (3, 3));
    assert!(drawn.iter().all(|d| d.ends_with("(path 1)")), "{drawn:?}");
}
