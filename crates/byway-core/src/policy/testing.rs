//! Tables of paths for the tests of the deciders.

use crate::config::Config;
use crate::path::{Path, PathState, PathTable};
use crate::time::Instant;

/// A table of paths with these states and error counts.
pub(crate) fn table(states: &[(PathState, u32)], primary: u8, data: u8, last: u8) -> PathTable {
    let path = |i: usize, (state, errors): (PathState, u32)| {
        let addr = |net: usize| format!("10.{i}.0.{net}:0").parse().unwrap();
        let mut p = Path::new(
            addr(1),
            addr(2),
            state != PathState::Unconfirmed,
            &Config::default(),
            Instant::ZERO,
        );
        p.set_facts(state, errors, 0);
        p
    };
    let mut t = PathTable::new(path(0, states[0]));
    for (i, &s) in states.iter().enumerate().skip(1) {
        t.push(path(i, s));
    }
    t.give_roles(primary, data, last);
    t
}
