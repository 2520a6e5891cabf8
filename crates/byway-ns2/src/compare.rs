//! Where two traces differ first.

use crate::trace::{Happening, Kind, Row, StreamName, Trace};
use std::fmt;

/// Two times are the same within this many seconds: the traces are printed to
/// the microsecond.
pub const TOLERANCE_S: f64 = 2e-6;

/// The first difference of two traces.
#[derive(Clone, Debug)]
pub struct Difference {
    /// In which stream.
    pub stream: StreamName,
    /// At which row of it, from 0.
    pub row: usize,
    /// What ns-2 did; none when it did nothing more.
    pub expected: Option<Row>,
    /// What byway did; none when it did nothing more.
    pub found: Option<Row>,
}

impl Difference {
    /// When the traces part.
    fn time_s(&self) -> f64 {
        let of = |r: &Option<Row>| r.map_or(f64::INFINITY, |r| r.time_s);
        of(&self.expected).min(of(&self.found))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, from, to) = self.stream;
        write!(f, "{} {from}->{to} row {}: ns-2 ", what.name(), self.row)?;
        show(f, self.expected)?;
        write!(f, ", byway ")?;
        show(f, self.found)
    }
}

fn show(f: &mut fmt::Formatter<'_>, row: Option<Row>) -> fmt::Result {
    let Some(row) = row else {
        return write!(f, "nothing");
    };
    let kind = match row.chunk.kind {
        Kind::Data => "DATA",
        Kind::Sack => "SACK",
    };
    write!(
        f,
        "{kind} {} of {} bytes at {:.6} s",
        row.chunk.tsn, row.size, row.time_s
    )?;
    match row.chunk.stream {
        Some((stream, ssn)) => write!(f, " (stream {stream}, SSN {ssn})"),
        None => Ok(()),
    }
}

/// What a comparison found.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// Rows that agree.
    pub agreeing: usize,
    /// Rows of the reference.
    pub rows: usize,
    /// The earliest difference.
    pub first: Option<Difference>,
}

/// Compares every stream of two traces, row by row.
#[must_use]
pub fn compare(expected: &Trace, found: &Trace) -> Comparison {
    let mut result = Comparison {
        agreeing: 0,
        rows: expected.values().map(Vec::len).sum(),
        first: None,
    };
    let mut names: Vec<&StreamName> = expected.keys().chain(found.keys()).collect();
    names.sort_unstable();
    names.dedup();
    for name in names {
        let (e, f) = (&in_order(expected, name), &in_order(found, name));
        let same = e.iter().zip(f).take_while(|(e, f)| agree(e, f)).count();
        result.agreeing += same;
        if same == e.len() && same == f.len() {
            continue;
        }
        let difference = Difference {
            stream: *name,
            row: same,
            expected: e.get(same).copied(),
            found: f.get(same).copied(),
        };
        let earlier = |d: &Difference| d.time_s() <= difference.time_s();
        if !result.first.as_ref().is_some_and(earlier) {
            result.first = Some(difference);
        }
    }
    result
}

/// The rows of a stream. What a link loses at one instant, as it goes down, has no
/// order of its own: it is put in that of the chunks.
fn in_order(trace: &Trace, name: &StreamName) -> Vec<Row> {
    let mut rows = trace.get(name).cloned().unwrap_or_default();
    if name.0 == Happening::Drop {
        let instant = |r: &Row| (r.time_s / TOLERANCE_S).round() as i64;
        rows.sort_by_key(|r| (instant(r), r.chunk.kind == Kind::Sack, r.chunk.tsn));
    }
    rows
}

fn agree(a: &Row, b: &Row) -> bool {
    a.chunk == b.chunk && a.size == b.size && (a.time_s - b.time_s).abs() <= TOLERANCE_S
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Chunk;

    fn trace(rows: &[(f64, u32, u32)]) -> Trace {
        let row = |&(time_s, tsn, size): &(f64, u32, u32)| Row {
            time_s,
            chunk: Chunk {
                kind: Kind::Data,
                tsn,
                stream: Some((0, 0)),
            },
            size,
        };
        let rows = rows.iter().map(row).collect();
        Trace::from([((Happening::Send, 0, 1), rows)])
    }

    #[test]
    fn the_first_row_that_differs_is_reported_with_both_sides() {
        let expected = [(1.0, 1, 1500), (2.0, 2, 1500)];
        for (found, first) in [
            (vec![(1.000_001, 1, 1500), (2.0, 2, 1500)], None),
            (vec![(1.0, 1, 1500), (2.000_01, 2, 1500)], Some(1)),
            (vec![(1.0, 1, 1500), (2.0, 3, 1500)], Some(1)),
            (vec![(1.0, 1, 1480), (2.0, 2, 1500)], Some(0)),
            (vec![(1.0, 1, 1500)], Some(1)),
            (vec![], Some(0)),
        ] {
            let c = compare(&trace(&expected), &trace(&found));
            assert_eq!(c.first.as_ref().map(|d| d.row), first, "{found:?}");
            assert_eq!(c.agreeing, first.unwrap_or(2));
        }
        let c = compare(&trace(&expected), &trace(&[(1.0, 7, 1500)]));
        assert_eq!(
            c.first.unwrap().to_string(),
            "send 0->1 row 0: ns-2 DATA 1 of 1500 bytes at 1.000000 s (stream 0, SSN 0), \
             byway DATA 7 of 1500 bytes at 1.000000 s (stream 0, SSN 0)"
        );
    }
}
