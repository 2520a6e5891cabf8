//! What is printed.

use super::flow::{Load, Stall};
use super::network::{QUEUE, RATE_MBIT};
use crate::series::{Spread, rounded};
use anyhow::{Result, ensure};
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

/// One round trip and load.
pub(super) struct Cell {
    rtt: Duration,
    load: Load,
    ours: Vec<Stall>,
    pub(super) peers: Vec<Peer>,
}

/// A peer's stalls.
pub(super) struct Peer {
    name: &'static str,
    stalls: Vec<Stall>,
}

impl Peer {
    pub(super) fn new(name: &'static str, stalls: Vec<Stall>) -> Peer {
        Peer { name, stalls }
    }

    pub(super) fn line(&self) -> String {
        format!("{}: {}", self.name, cell(&self.stalls))
    }

    fn never(&self) -> bool {
        self.stalls.iter().any(|s| s.never)
    }

    /// The median in milliseconds, in which a phase that never went on is longer than all others; `None` if that is the median.
    /// However early the watch of such a phase ended, it makes no peer better; and one such phase does not take a good peer out of
    /// the comparison.
    fn median(&self) -> Option<f64> {
        let ms = |s: &Stall| {
            if s.never {
                f64::INFINITY
            } else {
                s.seconds * 1e3
            }
        };
        let median = Spread::of(self.stalls.iter().map(ms).collect())?.median;
        median.is_finite().then_some(median)
    }
}

/// Median and extremes in milliseconds.
fn spread(stalls: &[Stall]) -> Option<Spread> {
    Spread::of(stalls.iter().map(|s| s.seconds * 1e3).collect())
}

fn cell(stalls: &[Stall]) -> String {
    let words = spread(stalls).map_or("-".to_owned(), Spread::cell);
    match stalls.iter().filter(|s| s.never).count() {
        0 => format!("{words} ms"),
        n => format!("{words} ms, {n} of {} never went on", stalls.len()),
    }
}

impl Cell {
    pub(super) fn new(rtt: Duration, load: Load, ours: Vec<Stall>) -> Cell {
        Cell {
            rtt,
            load,
            ours,
            peers: Vec::new(),
        }
    }

    /// Three round trips and 50 ms, where a round trip is that of the empty path.
    fn bound(&self) -> f64 {
        3e3 * self.rtt.as_secs_f64() + 50.0
    }

    fn over(&self) -> usize {
        let over = |s: &&Stall| s.never || s.seconds * 1e3 > self.bound();
        self.ours.iter().filter(over).count()
    }

    /// The best peer, and its stall over ours.
    fn best(&self) -> Option<(&'static str, f64)> {
        let ours = spread(&self.ours)?.median;
        let ratio = |p: &Peer| Some((p.name, p.median()? / ours));
        let ratios = self.peers.iter().filter_map(ratio);
        ratios.min_by(|a, b| a.1.total_cmp(&b.1))
    }

    pub(super) fn line(&self) -> String {
        let mut out = format!(
            "{} ms, {}: byway {}, bound {:.0} ms, {} of {} over it",
            self.rtt.as_millis(),
            self.load.name(),
            cell(&self.ours),
            self.bound(),
            self.over(),
            self.ours.len()
        );
        if let Some((name, ratio)) = self.best() {
            let _ = write!(out, "; the best peer, {name}, {ratio:.2} times that");
        }
        out
    }

    fn json(&self) -> Value {
        let peers = self.peers.iter().map(|p| {
            let figures =
                json!({"stall_ms": spread(&p.stalls).map(Spread::json), "never": p.never()});
            (p.name.to_owned(), figures)
        });
        json!({
            "rtt_ms": self.rtt.as_millis() as u64,
            "load": self.load.name(),
            "stall_ms": spread(&self.ours).map(Spread::json),
            "bound_ms": rounded(self.bound()),
            "over_bound": self.over(),
            "best_peer": self.best().map(|b| b.0),
            "ratio": self.best().map(|b| rounded(b.1)),
            "peers": peers.collect::<serde_json::Map<_, _>>(),
        })
    }
}

/// All of it.
pub(super) struct Report {
    phases: u16,
    /// The peers that each cell must have.
    asked: Vec<&'static str>,
    pub(super) cells: Vec<Cell>,
    pub(super) notes: Vec<String>,
}

impl Report {
    pub(super) fn new(phases: u16, asked: Vec<&'static str>) -> Report {
        Report {
            phases,
            asked,
            cells: Vec::new(),
            notes: Vec::new(),
        }
    }

    pub(super) fn table(&self) -> String {
        let mut out = format!(
            "failover: the longest time without a delivery, when the path in use dies; median (least-most) of {} phases of byway\n\
             two paths of {RATE_MBIT} Mbit/s with queues of {QUEUE} packets\n\n",
            self.phases
        );
        for cell_ in &self.cells {
            let _ = writeln!(out, "{}", cell_.line());
            for peer in &cell_.peers {
                let _ = writeln!(out, "    {}", peer.line());
            }
        }
        for note in &self.notes {
            let _ = writeln!(out, "not measured, or about it: {note}");
        }
        out
    }

    /// The ratio is that of the cell in which it is least.
    pub(super) fn json(&self) -> Value {
        let ratios = self.cells.iter().filter_map(|c| c.best().map(|b| b.1));
        json!({
            "name": "failover",
            "ratio": ratios.min_by(f64::total_cmp).map(rounded),
            "of": "stall of the best peer over that of byway, medians, in the cell where it is least",
            "phases": self.phases,
            "over_bound": self.cells.iter().map(Cell::over).sum::<usize>(),
            "cells": self.cells.iter().map(Cell::json).collect::<Vec<_>>(),
            "notes": self.notes,
        })
    }

    /// What the figures do not show: a stall over the bound, a peer that was asked for and not measured, a
    /// peer with shorter stalls.
    fn short(&self) -> Vec<String> {
        let mut short = Vec::new();
        for cell in &self.cells {
            let at = format!("{} ms, {}", cell.rtt.as_millis(), cell.load.name());
            if cell.over() > 0 || cell.ours.is_empty() {
                short.push(format!(
                    "{at}: {} of {} stalls are longer than three round trips and 50 ms",
                    cell.over(),
                    cell.ours.len()
                ));
            }
            let measured = |name: &&str| {
                let its = cell.peers.iter().find(|p| p.name == *name);
                its.is_some_and(|p| !p.stalls.is_empty())
            };
            for name in self.asked.iter().filter(|name| !measured(name)) {
                short.push(format!("{at}: {name} was not measured"));
            }
            match cell.best() {
                Some((name, ratio)) if ratio < 1.0 => short.push(format!(
                    "{at}: the stall of {name} is {ratio:.2} times that of byway"
                )),
                // Then nothing is compared.
                None if cell.peers.iter().any(Peer::never) => {
                    short.push(format!("{at}: no peer went on"));
                }
                _ => {}
            }
        }
        if self.cells.is_empty() {
            short.push("no round trip was measured".to_owned());
        }
        short
    }

    /// # Errors
    /// What the figures do not show.
    pub(super) fn verdict(&self) -> Result<()> {
        let short = self.short();
        ensure!(short.is_empty(), "{}", short.join("\n"));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stalls(ms: &[u64], never: bool) -> Vec<Stall> {
        let stall = |&ms: &u64| Stall {
            seconds: ms as f64 / 1e3,
            never,
        };
        ms.iter().map(stall).collect()
    }

    #[test]
    fn the_bound_and_the_best_peer() {
        let mut report = Report::new(3, vec!["gone", "slow", "fair"]);
        let mut cell = Cell::new(
            Duration::from_millis(20),
            Load::Paced,
            stalls(&[40, 50, 111], false),
        );
        // One that does not go on is not the best, however early the watch ended.
        cell.peers.push(Peer::new("gone", stalls(&[10], true)));
        cell.peers.push(Peer::new("slow", stalls(&[1000], false)));
        cell.peers.push(Peer::new("fair", stalls(&[100], false)));
        report.cells.push(cell);
        let json = report.json();
        assert_eq!(json["over_bound"], 1, "{json}");
        assert_eq!(json["ratio"], 2.0, "{json}");
        assert_eq!(json["cells"][0]["best_peer"], "fair");
        assert_eq!(report.short().len(), 1, "{:?}", report.short());
        assert!(report.verdict().is_err());
    }

    /// Stalls in ms, and how many more phases never went on: the best peer and its ratio to 50 ms.
    #[test]
    fn a_phase_that_never_went_on_is_the_longest() {
        type Phases<'a> = (&'a [u64], usize);
        type Best = Option<(&'static str, f64)>;
        let rows: [(Phases<'_>, Phases<'_>, Best); 5] = [
            // The good one stays in the comparison.
            ((&[20, 25], 1), (&[100, 100, 100], 0), Some(("a", 0.5))),
            ((&[20], 2), (&[100, 100, 100], 0), Some(("b", 2.0))),
            ((&[20, 25], 2), (&[100], 0), Some(("b", 2.0))),
            ((&[], 3), (&[100, 150, 200], 0), Some(("b", 3.0))),
            ((&[], 3), (&[], 1), None),
        ];
        for (a, b, best) in rows {
            let rtt = Duration::from_millis(20);
            let mut cell = Cell::new(rtt, Load::Paced, stalls(&[50], false));
            for (name, (ms, never)) in [("a", a), ("b", b)] {
                let mut all = stalls(ms, false);
                all.extend(stalls(&vec![10; never], true));
                cell.peers.push(Peer::new(name, all));
            }
            assert_eq!(cell.best(), best, "{a:?} {b:?}");
            let lines: Vec<String> = cell.peers.iter().map(Peer::line).collect();
            assert!(lines[0].contains("never went on"), "{lines:?}");
            let mut report = Report::new(3, vec!["a", "b"]);
            report.cells.push(cell);
            let worse = best.is_none_or(|b| b.1 < 1.0);
            assert_eq!(report.verdict().is_err(), worse, "{:?}", report.short());
        }
    }

    /// Our stalls, those of the peers, and what is said.
    #[test]
    fn what_was_not_shown_is_told() {
        type Peers<'a> = &'a [(&'static str, &'a [u64])];
        let good: Peers<'_> = &[("a", &[100]), ("b", &[60])];
        let rows: [(&[u64], Peers<'_>, Option<&str>); 6] = [
            (&[40, 50, 60], good, None),
            (&[40, 50, 111], good, Some("1 of 3 stalls")),
            (&[], good, Some("0 of 0 stalls")),
            (&[40], &[("a", &[100])], Some("b was not measured")),
            (
                &[40],
                &[("a", &[100]), ("b", &[])],
                Some("b was not measured"),
            ),
            (
                &[70],
                good,
                Some("the stall of b is 0.86 times that of byway"),
            ),
        ];
        for (ours, peers, said) in rows {
            let mut report = Report::new(3, vec!["a", "b"]);
            let rtt = Duration::from_millis(20);
            let mut cell = Cell::new(rtt, Load::Bulk, stalls(ours, false));
            for &(name, theirs) in peers {
                cell.peers.push(Peer::new(name, stalls(theirs, false)));
            }
            report.cells.push(cell);
            let short = report.short();
            assert_eq!(short.len(), usize::from(said.is_some()), "{short:?}");
            assert!(said.is_none_or(|s| short[0].contains(s)), "{short:?}");
            assert_eq!(report.verdict().is_err(), said.is_some());
        }
        assert!(Report::new(3, Vec::new()).verdict().is_err());
    }
}
