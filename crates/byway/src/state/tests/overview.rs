//! What displays are told.

use super::stranger::Stranger;
use super::{State, at, state};
use byway_core::{AssocId, CommandError, Event, PathId, PathState};
use std::net::SocketAddr;

fn crowd(state: &mut State, associations: u8) -> Vec<Stranger> {
    let from = |n| SocketAddr::from(([10, 0, 1, n], 2000));
    let up = |n| Stranger::up(state, at(u64::from(n) * 10), from(n));
    (0..associations).map(up).collect()
}

/// All of them, so many at a time.
fn in_pages(state: &State, most: usize) -> Vec<(AssocId, SocketAddr)> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let page = state.overview(at(5000), after, most);
        assert!(page.len() <= most);
        let Some(last) = page.last() else {
            return all;
        };
        after = Some(last.id);
        all.extend(page.iter().map(|o| (o.id, o.paths[0].remote)));
    }
}

#[test]
fn pages_have_each_living_association_once() {
    let mut state = state(64, |_| {});
    let strangers = crowd(&mut state, 20);
    let whole = in_pages(&state, 100);
    let remotes: Vec<_> = whole.iter().map(|(_, remote)| *remote).collect();
    assert_eq!(
        remotes,
        strangers.iter().map(|s| s.address).collect::<Vec<_>>()
    );
    for most in [1, 7, 19, 20] {
        assert_eq!(in_pages(&state, most), whole, "{most}");
    }
    // The last of a page ends before the next page is asked for.
    let page = state.overview(at(5000), None, 3);
    strangers[2].send(&mut state, at(5000), |b| b.abort(false, |_| {}));
    let next = state.overview(at(5000), page.last().map(|o| o.id), 1);
    assert_eq!(next[0].id, whole[3].0);
    assert_eq!(in_pages(&state, 100).len(), 19);
}

#[test]
fn the_latest_event_is_told_however_often_and_whoever_reads_the_events() {
    let mut state = state(8, |_| {});
    crowd(&mut state, 1);
    let id = state.overview(at(0), None, 1)[0].id;
    while state.next_event(id).is_some() {}
    for _ in 0..2 {
        let one = &state.overview(at(5000), None, 1)[0];
        assert_eq!((one.state, one.paths.len()), ("ESTABLISHED", 1));
        assert_eq!(one.paths[0].state, PathState::Active);
        let latest = one.latest.as_ref().unwrap();
        assert!(matches!(latest.event, Event::Up { accepted: true, .. }));
        assert_eq!((latest.ago.as_millis(), latest.trouble), (5000, None));
    }
}

#[test]
fn a_primary_is_set_by_a_number_that_was_told() {
    let mut state = state(8, |_| {});
    crowd(&mut state, 1);
    let told = state.overview(at(0), None, 1)[0].id.to_string();
    let mut set = |id: &str, path| {
        let id = AssocId::parse(id).unwrap();
        let set = state.command(at(1), id, |core| core.set_primary(at(1), id, PathId(path)));
        set.map_err(|e| e.to_string())
    };
    assert_eq!(set(&told, 0), Ok(()));
    assert!(set(&told, 1).is_err());
    let gone = CommandError::Gone.to_string();
    assert!(set("7.1", 0).unwrap_err().contains(&gone));
    for wrong in ["", "0", "0.", ".1", "0.1.2", "-1.1", "0.99999999999", "a.b"] {
        assert_eq!(AssocId::parse(wrong), None, "{wrong}");
    }
}
