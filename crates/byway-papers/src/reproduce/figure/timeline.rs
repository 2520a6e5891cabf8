//! Packets of single runs as timelines, as the papers draw them.

use super::ladder::{Hop, Ladder};
use super::layout::Data;
use super::parts::{Figure, Panel};
use super::pick::{Pick, Single};
use byway_core::observe::{Observation, Timer};
use byway_lab::live::{Live, Load, Passage, Side};
use byway_lab::scenario::Scenario;
use serde::Deserialize;
use std::time::Duration;

/// A panel for each run, with the packets between the hosts' interfaces.
#[derive(Clone, Debug, Deserialize)]
pub struct Timeline {
    /// The runs.
    runs: Vec<Single>,
    /// From when on packets are shown, seconds since the start.
    from_s: f64,
    /// Up to when they are sent.
    until_s: f64,
    /// The paths that are shown, counted from 1; all without it.
    #[serde(default)]
    paths: Vec<usize>,
}

/// What packets carry, in the order of their colours.
const KINDS: [&str; 4] = [
    "DATA",
    "DATA sent again",
    "SACK",
    "heartbeat and its answer",
];

impl Timeline {
    pub(super) fn draw(&self, data: Data<'_>) -> Result<Figure, String> {
        let mut figure = Figure::empty();
        figure.names = KINDS.map(str::to_owned).to_vec();
        let mut picks = Vec::new();
        for single in self.runs.iter().filter(|s| s.is_at(data.at)) {
            let pick = single.pick(data)?;
            let scenario = data.runs.scenario(&pick.place, pick.seed)?;
            figure.panels.push(Panel {
                title: single.name.clone(),
                x: String::new(),
                y: String::new(),
                lines: Vec::new(),
                ladder: Some(self.watch(&scenario)?),
            });
            picks.push(pick);
        }
        figure.caption = format!(
            "{} {} Time runs downwards, not to scale; seconds since the start stand beside. D: DATA with its \
             TSN, S: SACK with its cumulative TSN and first gap block, H: heartbeat, h: its answer, \
             T3: a timeout. A cross is a lost packet.",
            data.runs.study.what,
            Pick::words(&picks)
        );
        Ok(figure)
    }

    /// Runs the scenario and notes its packets.
    fn watch(&self, scenario: &Scenario) -> Result<Ladder, String> {
        let scenario = &*scenario.drawn();
        let mut live = Live::new(scenario, 0).map_err(|e| e.to_string())?;
        let end = Duration::try_from_secs_f64(self.until_s).map_err(|e| e.to_string())?;
        let mut expired = Vec::new();
        let mut see = |side: Side, o: &byway_core::observe::Observed| {
            if let (
                Side::Sender,
                Observation::TimerFired {
                    timer: Timer::T3Rtx,
                    path: Some(path),
                },
            ) = (side, &o.what)
            {
                expired.push((o.at.as_nanos() as f64 / 1e9, *path));
            }
        };
        // What leaves in time may still be on its way to the bottleneck.
        let until = end + Duration::from_secs(1);
        while !live
            .run_to(until, 4096, &mut see)
            .map_err(|e| e.to_string())?
        {}
        let shown: Vec<usize> = match self.paths.is_empty() {
            true => (0..scenario.paths.len()).collect(),
            false => self.paths.iter().map(|n| n.saturating_sub(1)).collect(),
        };
        let place = |path: usize| shown.iter().position(|p| *p == path);
        let during = |t: f64| (self.from_s..=self.until_s).contains(&t);
        let timeouts = expired.into_iter().filter_map(|(at, path)| {
            let path = place(live.path(path))?;
            during(at).then_some((at, path))
        });
        let timeouts = timeouts.collect();
        let hops = live.passages().filter_map(|p| {
            let access = scenario.paths.get(p.path)?.access;
            let hop = hop(
                &p,
                place(p.path)?,
                access.map_or(0.0, |a| a.delay.as_secs_f64()),
            )?;
            during(hop.from).then_some(hop)
        });
        let mut hops: Vec<Hop> = hops.collect();
        hops.sort_by(|a, b| a.from.total_cmp(&b.from));
        let names = shown.iter().filter_map(|p| scenario.paths.get(*p));
        Ok(Ladder {
            paths: names.map(|p| p.name.clone()).collect(),
            hops,
            timeouts,
        })
    }
}

/// A packet on its way between the hosts; none for set-up and shutdown.
fn hop(p: &Passage, path: usize, access: f64) -> Option<Hop> {
    let (kind, letter) = match p.load {
        Load::Data => (0, "D"),
        Load::Retransmission => (1, "D"),
        Load::Sack => (2, "S"),
        Load::Heartbeat => (3, "H"),
        Load::HeartbeatAck => (3, "h"),
        Load::Control => return None,
    };
    let mut label = letter.to_owned();
    if p.tsn > 0 {
        label.push_str(&p.tsn.to_string());
    }
    match p.gap {
        Some((a, b)) if a == b => label.push_str(&format!(", {a}")),
        Some((a, b)) => label.push_str(&format!(", {a}\u{2013}{b}")),
        None => {}
    }
    let seconds = |nanos: u64| nanos as f64 / 1e9;
    Some(Hop {
        path,
        forward: p.forward,
        label,
        kind,
        from: seconds(p.from) - access,
        to: seconds(p.to) + if p.lost.is_some() { 0.0 } else { access },
        lost: p.lost.is_some(),
    })
}
