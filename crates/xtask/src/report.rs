//! The report of a measurement: ratios, the table and the line of JSON.

use crate::series::{Series, Spread, rounded};
use anyhow::{Result, bail};
use serde_json::{Map, Value, json};
use std::fmt::Write;

/// Which way a figure is good.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Better {
    /// A rate.
    Larger,
    /// A cost.
    Smaller,
}

/// A finished measurement.
pub(crate) struct Report {
    /// Name on the command line.
    pub(crate) name: &'static str,
    /// The setting whose ratio counts.
    pub(crate) headline: &'static str,
    /// The figure that is compared.
    pub(crate) figure: &'static str,
    /// Of this figure.
    pub(crate) unit: &'static str,
    /// Which way the figure is good.
    pub(crate) better: Better,
    /// Counted runs of each contender.
    pub(crate) runs: u32,
    /// One series a contender.
    pub(crate) series: Vec<Series>,
    /// Programs of ours that could not be run, and why.
    pub(crate) missing: Vec<String>,
    /// What was not measured, and why.
    pub(crate) notes: Vec<String>,
}

/// One of ours against a peer with the same setting.
struct Pair<'a> {
    ours: &'a str,
    peer: &'a str,
    /// By the medians; larger is better.
    ratio: f64,
}

impl Report {
    /// All of ours against all peers with the same setting: ours in their order, each with the
    /// best peer first.
    fn pairs(&self, setting: &str) -> Vec<Pair<'_>> {
        let medians = |ours: bool| {
            self.series
                .iter()
                .filter(move |s| s.setting == setting && s.ours == ours)
                .filter_map(|s| Some((s.name, s.spread(self.figure)?.median)))
        };
        let mut pairs = Vec::new();
        for (ours, of_ours) in medians(true) {
            let of_peers = medians(false).map(|(peer, of_peer)| {
                let ratio = match self.better {
                    Better::Larger => of_ours / of_peer,
                    Better::Smaller => of_peer / of_ours,
                };
                Pair { ours, peer, ratio }
            });
            let mut of_peers: Vec<_> = of_peers.collect();
            of_peers.sort_by(|a, b| a.ratio.total_cmp(&b.ratio));
            pairs.extend(of_peers);
        }
        pairs
    }

    /// The first of ours against the best peer with the same setting.
    fn ratio(&self, setting: &str) -> Option<f64> {
        self.pairs(setting).first().map(|pair| pair.ratio)
    }

    /// The median of the first of ours in the setting whose ratio counts.
    fn value(&self) -> Option<f64> {
        let of_headline = |s: &&Series| s.ours && s.setting == self.headline;
        let first = self.series.iter().find(of_headline)?;
        Some(first.spread(self.figure)?.median)
    }

    fn settings(&self) -> Vec<&'static str> {
        let mut settings: Vec<&'static str> = Vec::new();
        for series in &self.series {
            if !settings.contains(&series.setting) {
                settings.push(series.setting);
            }
        }
        settings
    }

    /// The table, for people.
    pub(crate) fn table(&self) -> String {
        let mut columns: Vec<&'static str> = Vec::new();
        for figure in self.series.iter().flat_map(Series::figures) {
            if !columns.contains(&figure) {
                columns.push(figure);
            }
        }
        let mut rows = vec![
            ["setting", "program"]
                .iter()
                .chain(&columns)
                .map(|c| (*c).to_string())
                .collect::<Vec<_>>(),
        ];
        for setting in self.settings() {
            for series in self.series.iter().filter(|s| s.setting == setting) {
                let mut row = vec![setting.to_string(), series.name.to_string()];
                let cell =
                    |figure: &&'static str| series.spread(figure).map_or("-".into(), Spread::cell);
                row.extend(columns.iter().map(cell));
                rows.push(row);
            }
        }
        let mut text = format!(
            "{}: median (smallest-largest) of {} runs\n\n",
            self.name, self.runs
        );
        text.push_str(&aligned(&rows));
        text.push('\n');
        for setting in self.settings() {
            for (index, pair) in self.pairs(setting).iter().enumerate() {
                let Pair { ours, peer, ratio } = pair;
                // A string takes every write.
                let _ = match index {
                    0 => writeln!(
                        text,
                        "{setting}: {ours} {ratio:.2} times as good as the best peer, {peer} ({})",
                        self.figure
                    ),
                    _ => writeln!(text, "    and {ours} {ratio:.2} times as good as {peer}"),
                };
            }
        }
        for note in &self.notes {
            let _ = writeln!(text, "not measured: {note}");
        }
        text
    }

    /// The line for programs.
    pub(crate) fn json(&self) -> Value {
        let mut ratios = Map::new();
        let mut pairs = Map::new();
        let mut figures = Map::new();
        for setting in self.settings() {
            let of_pairs = self.pairs(setting);
            let of_pairs = of_pairs.iter().map(|pair| {
                let name = format!("{} against {}", pair.ours, pair.peer);
                (name, rounded(pair.ratio).into())
            });
            pairs.insert(setting.into(), Value::Object(of_pairs.collect()));
            ratios.insert(setting.into(), self.ratio(setting).map(rounded).into());
            let mut programs = Map::new();
            for series in self.series.iter().filter(|s| s.setting == setting) {
                let all = series
                    .figures()
                    .filter_map(|f| Some((f.to_string(), series.spread(f)?.json())));
                programs.insert(series.name.into(), Value::Object(all.collect()));
            }
            figures.insert(setting.into(), Value::Object(programs));
        }
        json!({
            "name": self.name,
            "value": self.value().map(rounded),
            "unit": self.unit,
            "ratio": self.ratio(self.headline).map(rounded),
            "of": self.figure,
            "setting": self.headline,
            "runs": self.runs,
            "ratios": ratios,
            "pairs": pairs,
            "figures": figures,
            "missing": self.missing,
            "not_measured": self.notes,
        })
    }

    /// An error if a program of ours is missing, unless only peers were asked for.
    pub(crate) fn verdict(&self, peers_only: bool) -> Result<()> {
        if !self.missing.is_empty() {
            bail!(
                "no ratio, of our programs these did not run: {}",
                self.missing.join("; ")
            );
        }
        if self.ratio(self.headline).is_none() && !peers_only {
            bail!(
                "no ratio: no figure '{}' for setting '{}'",
                self.figure,
                self.headline
            );
        }
        Ok(())
    }
}

fn aligned(rows: &[Vec<String>]) -> String {
    let columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(name: &'static str, ours: bool, values: &[f64]) -> Series {
        let mut series = Series::new(name, "plain", ours);
        for value in values {
            series.push(vec![("mb_per_s", *value)]);
        }
        series
    }

    fn report(better: Better, series: Vec<Series>) -> Report {
        Report {
            name: "test",
            headline: "plain",
            figure: "mb_per_s",
            unit: "MB/s",
            better,
            runs: 3,
            series,
            missing: Vec::new(),
            notes: Vec::new(),
        }
    }

    #[test]
    fn ratio_is_against_the_best_peer_and_larger_is_better() {
        let all = || {
            vec![
                series("byway", true, &[90.0, 100.0, 500.0]),
                series("slow", false, &[10.0, 10.0, 10.0]),
                series("fast", false, &[50.0, 50.0, 50.0]),
            ]
        };
        assert_eq!(report(Better::Larger, all()).ratio("plain"), Some(2.0));
        assert_eq!(report(Better::Smaller, all()).ratio("plain"), Some(0.1));
    }

    #[test]
    fn the_first_of_ours_counts_and_every_pair_is_named() {
        let mut all = report(
            Better::Smaller,
            vec![
                series("trained", true, &[2.0]),
                series("plain", true, &[4.0]),
                series("logging", false, &[20.0]),
                series("silent", false, &[16.0]),
            ],
        );
        all.notes.push("another, for a reason".into());
        let json = all.json();
        assert_eq!(json["ratio"], 8.0);
        assert_eq!(
            json["pairs"]["plain"],
            json!({
                "trained against silent": 8.0,
                "trained against logging": 10.0,
                "plain against silent": 4.0,
                "plain against logging": 5.0,
            })
        );
        assert_eq!(json["not_measured"], json!(["another, for a reason"]));
        let table = all.table();
        for line in [
            "plain: trained 8.00 times as good as the best peer, silent (mb_per_s)",
            "    and trained 10.00 times as good as logging",
            "    and plain 4.00 times as good as silent",
            "not measured: another, for a reason",
        ] {
            assert!(table.lines().any(|l| l == line), "'{line}' in\n{table}");
        }
        assert!(all.verdict(false).is_ok());
    }

    #[test]
    fn without_ours_there_is_no_ratio_and_an_error() {
        let mut alone = report(Better::Larger, vec![series("peer", false, &[1.0])]);
        assert_eq!(alone.json()["ratio"], Value::Null);
        assert!(alone.verdict(false).is_err());
        assert!(alone.verdict(true).is_ok());
        alone.missing.push("byway: no program".into());
        assert!(alone.verdict(false).is_err());
    }
}
