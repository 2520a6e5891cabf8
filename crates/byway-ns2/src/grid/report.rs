//! The table, what disagrees, and a line of JSON.

use super::verdict::{Figure, Measured, Pairs, Pool, Verdict, judge, pairs, pools};
use byway_lab::stats::Sample;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Share of the cells that must agree.
const REQUIRED: f64 = 0.95;

/// All that was found.
#[derive(Debug)]
pub struct Report {
    measured: Vec<Measured>,
    not_built: usize,
    seeds: u32,
    pools: Vec<Pool>,
    pairs: Pairs,
}

/// Counts of an experiment.
#[derive(Copy, Clone, Default)]
struct Count {
    cells: usize,
    agreeing: usize,
    /// Sum of byway's means by ns-2's.
    ratios: f64,
}

impl Report {
    /// Of these cells, besides so many lines that are not built.
    #[must_use]
    pub fn new(measured: Vec<Measured>, not_built: usize, seeds: u32) -> Report {
        Report {
            pools: pools(&measured),
            pairs: pairs(&measured),
            measured,
            not_built,
            seeds,
        }
    }

    /// Whether enough cells and all pools agree, and nothing is reversed.
    #[must_use]
    pub fn is_good(&self) -> bool {
        let total = self.total();
        total.agreeing as f64 >= REQUIRED * total.cells as f64
            && self.pools.iter().all(Pool::agrees)
            && self.pairs.reversed.is_empty()
    }

    fn counts(&self) -> BTreeMap<(&str, &str, Figure), Count> {
        let mut counts: BTreeMap<(&str, &str, Figure), Count> = BTreeMap::new();
        for (m, figure, ns2, ours) in self.figures() {
            let verdict = judge(&ns2, &ours);
            if verdict == Verdict::Pooled {
                continue;
            }
            let c = counts
                .entry((&m.cell.experiment, &m.cell.variant, figure))
                .or_default();
            c.cells += 1;
            c.agreeing += usize::from(verdict == Verdict::Agrees);
            c.ratios += ours.mean / ns2.mean;
        }
        counts
    }

    fn total(&self) -> Count {
        let mut total = Count::default();
        for c in self.counts().values() {
            total.cells += c.cells;
            total.agreeing += c.agreeing;
            total.ratios += c.ratios;
        }
        total
    }

    fn figures(&self) -> impl Iterator<Item = (&Measured, Figure, Sample, Sample)> {
        self.measured.iter().flat_map(|m| {
            [Figure::Transfer, Figure::Detection]
                .into_iter()
                .filter_map(move |f| m.figure(f).map(|(ns2, ours)| (m, f, ns2, ours)))
        })
    }

    /// A line for each figure of each cell, or only for those that differ.
    #[must_use]
    pub fn table(&self, only_misses: bool) -> String {
        let mut text = String::new();
        for (m, figure, ns2, ours) in self.figures() {
            let word = match judge(&ns2, &ours) {
                Verdict::Differs => "DIFFERS",
                _ if only_misses => continue,
                Verdict::Agrees => "agrees",
                Verdict::Pooled => "pooled",
            };
            let show = |s: Sample| format!("{:9.3} ± {:7.3} ({:2})", s.mean, s.sd, s.n);
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{word:7} {:9} ns-2 {}  byway {}  x{:.3}  {}",
                figure.name(),
                show(ns2),
                show(ours),
                ours.mean / ns2.mean,
                m.cell
            );
        }
        text
    }

    /// What each experiment comes to, with the pairs that are reversed.
    #[must_use]
    pub fn summary(&self) -> String {
        let mut text = String::new();
        for ((experiment, variant, figure), c) in self.counts() {
            let _ = writeln!(
                text,
                "{experiment:14} {variant:15} {:9} {:4} of {:4} cells agree, mean ratio {:.4}",
                figure.name(),
                c.agreeing,
                c.cells,
                c.ratios / c.cells as f64
            );
        }
        for pool in &self.pools {
            let (experiment, variant, figure) = &pool.name;
            let _ = writeln!(
                text,
                "{experiment:14} {variant:15} {:9} pool of {:4} cells, mean ratio {:.4}{}",
                figure.name(),
                pool.cells,
                pool.ratio,
                if pool.agrees() { "" } else { " DIFFERS" }
            );
        }
        for (a, b, figure) in &self.pairs.reversed {
            let (Some(a), Some(b)) = (self.measured.get(*a), self.measured.get(*b)) else {
                continue;
            };
            let _ = writeln!(
                text,
                "REVERSED {}: {} and {}",
                figure.name(),
                a.cell,
                b.cell
            );
        }
        text
    }

    /// The same for programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let total = self.total();
        let pools: Vec<Value> = self
            .pools
            .iter()
            .map(|p| {
                json!({
                    "experiment": p.name.0,
                    "variant": p.name.1,
                    "figure": p.name.2.name(),
                    "cells": p.cells,
                    "ratio": (p.ratio * 1e4).round() / 1e4,
                    "agrees": p.agrees(),
                })
            })
            .collect();
        json!({
            "measurement": "ns2-grid",
            "cells": total.cells,
            "agreeing": total.agreeing,
            "reversed": self.pairs.reversed.len(),
            "opposite": self.pairs.opposite,
            "significant_pairs": self.pairs.significant,
            "pools": pools,
            "not_built": self.not_built,
            "seeds": self.seeds,
        })
    }
}
