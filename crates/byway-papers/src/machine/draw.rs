//! Machines as text, for a terminal and for the two common programs that draw.

use super::model::{Cause, Edge, Event, Machine, PathEdge, Phase};
use byway_core::config::{AllPathsSuspect, Dormant, PrimarySwitch};
use byway_core::path::PathState;
use byway_core::policy::Detection;
use byway_core::units::format_duration;
use core::fmt::Write;

/// How a drawing is written.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Format {
    /// A table.
    Text,
    /// A Mermaid state diagram.
    Mermaid,
    /// Graphviz.
    Dot,
    /// JSON: `title`, `states` (`name`, `meaning`; it begins in the first) and `arcs` (`from`, `when`, `to`).
    Json,
}

/// A machine in words: states, and arcs between them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drawing {
    /// What it is.
    pub title: String,
    /// Names of one word, and what they mean; the first is where it begins.
    pub states: Vec<(String, String)>,
    /// From, event, to: states by name.
    pub arcs: Vec<(String, String, String)>,
}

impl Drawing {
    /// Everything of this drawing in one format, ending with a line feed.
    #[must_use]
    pub fn render(&self, format: Format) -> String {
        let mut out = String::new();
        // Writing to a String cannot fail.
        let _ = match format {
            Format::Text => self.text(&mut out),
            Format::Mermaid => self.mermaid(&mut out),
            Format::Dot => self.dot(&mut out),
            Format::Json => self.json(&mut out),
        };
        out
    }

    fn text(&self, out: &mut String) -> core::fmt::Result {
        writeln!(out, "{}\n", self.title)?;
        let width = |words: &mut dyn Iterator<Item = &String>| {
            words.map(|w| w.chars().count()).max().unwrap_or(0)
        };
        let name = width(&mut self.states.iter().map(|s| &s.0));
        for (state, meaning) in &self.states {
            writeln!(out, "{state:name$}  {meaning}")?;
        }
        let event = width(&mut self.arcs.iter().map(|a| &a.1));
        writeln!(out, "\n{:name$}  {:event$}  then", "in", "when")?;
        for (from, what, to) in &self.arcs {
            writeln!(out, "{from:name$}  {what:event$}  {to}")?;
        }
        Ok(())
    }

    fn json(&self, out: &mut String) -> core::fmt::Result {
        let states = self.states.iter();
        let states: Vec<_> = states
            .map(|(name, meaning)| serde_json::json!({"name": name, "meaning": meaning}))
            .collect();
        let arcs = self.arcs.iter();
        let arcs: Vec<_> = arcs
            .map(|(from, when, to)| serde_json::json!({"from": from, "when": when, "to": to}))
            .collect();
        let all = serde_json::json!({
            "schema": "byway.machine/1", "title": self.title, "states": states, "arcs": arcs,
        });
        writeln!(out, "{all:#}")
    }

    /// Arcs between the same two states as one, with several lines.
    fn joined(&self) -> Vec<(&str, &str, Vec<&str>)> {
        let mut joined: Vec<(&str, &str, Vec<&str>)> = Vec::new();
        for (from, what, to) in &self.arcs {
            match joined.iter_mut().find(|j| j.0 == from && j.1 == to) {
                Some(j) => j.2.push(what),
                None => joined.push((from, to, vec![what])),
            }
        }
        joined
    }

    fn mermaid(&self, out: &mut String) -> core::fmt::Result {
        writeln!(out, "stateDiagram-v2")?;
        for (state, meaning) in &self.states {
            // A colon or semicolon ends a label there.
            let meaning = meaning.replace(';', ",").replace(':', " -");
            writeln!(out, "    state \"{state}<br/>{meaning}\" as {state}")?;
        }
        if let Some((first, _)) = self.states.first() {
            writeln!(out, "    [*] --> {first}")?;
        }
        for (from, to, events) in self.joined() {
            let label = events.join("<br/>").replace(';', ",").replace(':', " -");
            writeln!(out, "    {from} --> {to}: {label}")?;
        }
        Ok(())
    }

    fn dot(&self, out: &mut String) -> core::fmt::Result {
        let quoted = |s: &str| s.replace('"', "'");
        writeln!(out, "digraph machine {{")?;
        writeln!(
            out,
            "  label=\"{}\"; labelloc=t; node [shape=box];",
            quoted(&self.title)
        )?;
        for (state, meaning) in &self.states {
            writeln!(out, "  {state} [label=\"{state}\\n{}\"];", quoted(meaning))?;
        }
        for (from, to, events) in self.joined() {
            writeln!(
                out,
                "  {from} -> {to} [label=\"{}\"];",
                quoted(&events.join("\\n"))
            )?;
        }
        writeln!(out, "}}")
    }
}

impl Machine {
    /// The association's machine in words. Commands of the user and the end of
    /// the association, which are possible everywhere, are left out unless
    /// `all`.
    #[must_use]
    pub fn drawing(&self, all: bool) -> Drawing {
        let shown = |e: &&Edge| all || !matches!(e.event, Event::UserPrimary | Event::Ends);
        let edges: Vec<&Edge> = self.edges.iter().filter(shown).collect();
        let phases = Phase::ALL.iter().filter(|p| {
            **p == Phase::OnPrimary || edges.iter().any(|e| e.from == **p || e.to == **p)
        });
        let arcs = edges.iter().map(|e| {
            let words = self.words(e.event, e.from);
            (e.from.name().to_owned(), words, e.to.name().to_owned())
        });
        Drawing {
            title: format!("Where new data goes, with {} destinations", self.paths),
            states: phases
                .map(|p| (p.name().to_owned(), self.meaning(*p)))
                .collect(),
            arcs: arcs.collect(),
        }
    }

    /// A destination's machine in words.
    #[must_use]
    pub fn path_drawing(&self) -> Drawing {
        let name = |s: PathState| {
            match s {
                PathState::Unconfirmed => "Unconfirmed",
                PathState::Active => "Active",
                PathState::PotentiallyFailed => "PotentiallyFailed",
                PathState::Inactive => "Inactive",
            }
            .to_owned()
        };
        let mut states = vec![(name(PathState::Active), "in order".to_owned())];
        let suspect = |e: &PathEdge| e.to == PathState::PotentiallyFailed;
        if self.path_edges.iter().any(suspect) {
            let meaning = "data goes elsewhere, a heartbeat once per RTO".to_owned();
            states.push((name(PathState::PotentiallyFailed), meaning));
        }
        let probes = match self.config.hb.failed {
            byway_core::config::FailedProbes::AtInterval => {
                "a heartbeat once per HB.interval and RTO"
            }
            byway_core::config::FailedProbes::OncePerRto => "a heartbeat once per RTO",
        };
        states.push((name(PathState::Inactive), format!("given up; {probes}")));
        let arcs = self.path_edges.iter().map(|e| {
            let words = match e.cause {
                Cause::ExceedsPfmr => self.more_than_pfmr(),
                Cause::ExceedsPmr => self.more_than_pmr(),
                Cause::Overdue => "its acknowledgement is overdue".to_owned(),
                Cause::Dmax => self.dmax(),
                Cause::DeadData => "answers, but acknowledges no data".to_owned(),
                Cause::Responds => self.answer(e.from),
            };
            (name(e.from), words, name(e.to))
        });
        Drawing {
            title: "The state of a destination".to_owned(),
            arcs: arcs.collect(),
            states,
        }
    }

    fn meaning(&self, phase: Phase) -> String {
        let f = &self.config.failover;
        match phase {
            Phase::NoneActive | Phase::SuspectAlternate => {
                let rule = match f.all_paths_suspect {
                    AllPathsSuspect::Hop => "the next one after each timeout",
                    _ => "the one with the fewest errors",
                };
                format!("{}: {rule}", phase.meaning())
            }
            Phase::Dormant => {
                let rule = match f.dormant {
                    Dormant::LeastErrors => "to the one with the fewest errors",
                    Dormant::Hop => "to the next one after each timeout",
                    Dormant::Primary => "to Di",
                    Dormant::Last => "to the last one that was active",
                };
                format!("all are inactive; new data goes {rule}")
            }
            _ => phase.meaning().to_owned(),
        }
    }

    pub(super) fn words(&self, event: Event, from: Phase) -> String {
        match event {
            Event::Suspected(r) => format!("{}: {}", r.letter(), self.suspicion()),
            Event::Failed(r) => format!("{}: {}", r.letter(), self.failure()),
            Event::TimesOut(r) => format!("{}: another timeout", r.letter()),
            Event::Responds(r) => format!("{} responds", r.letter()),
            Event::Switch => match self.config.failover.primary_switch {
                PrimarySwitch::Cpt(n) => format!("Di: more than CPT = {n} errors; Di := Dj"),
                PrimarySwitch::CptHeartbeats(n) => {
                    format!("Di: more than CPT = {n} heartbeats lost; Di := Dj")
                }
                PrimarySwitch::Psmr(n) => format!("Di: more than PSMR = {n} errors; Di := Dj"),
                _ => "Di := Dj".to_owned(),
            },
            Event::UserPrimary => "the user chooses Di".to_owned(),
            Event::Ends if from == Phase::Closed => "it stays so".to_owned(),
            Event::Ends => format!(
                "more than AMR = {} errors, or ended by a user",
                self.config.failure.association_max_retrans
            ),
        }
    }

    fn suspicion(&self) -> String {
        let overdue = self.config.failover.probe_timeout.is_some();
        let pf = self.config.failover.potentially_failed.is_some();
        match (pf, overdue) {
            (true, true) => format!("{}, or overdue", self.more_than_pfmr()),
            (true, false) => self.more_than_pfmr(),
            _ => "overdue".to_owned(),
        }
    }

    fn failure(&self) -> String {
        let mut causes = Vec::new();
        let detection = self.config.failure.detection;
        if detection.counts_timeouts() {
            causes.push(self.more_than_pmr());
        }
        if detection != Detection::ErrorCount {
            causes.push(self.dmax());
        }
        if self.config.failure.dead_data.is_some() {
            causes.push("no data acknowledged".to_owned());
        }
        causes.join(", or ")
    }

    fn more_than_pfmr(&self) -> String {
        let pf = self.config.failover.potentially_failed.as_ref();
        match pf.map_or(0, |pf| pf.max_retrans) {
            0 => "a timeout (PFMR = 0)".to_owned(),
            n => format!("more than PFMR = {n} errors"),
        }
    }

    fn more_than_pmr(&self) -> String {
        match self.config.failure.path_max_retrans {
            0 => "a timeout (PMR = 0)".to_owned(),
            n => format!("more than PMR = {n} errors"),
        }
    }

    fn dmax(&self) -> String {
        match self.config.failure.detection {
            Detection::Probing(p) => format!("no answer for Dmax = {}", format_duration(p.dmax)),
            Detection::ErrorCount => "no answer".to_owned(),
        }
    }

    fn answer(&self, from: PathState) -> String {
        let pf = self.config.failover.potentially_failed.as_ref();
        let heartbeat_alone =
            pf.is_some_and(|pf| pf.clear == byway_core::config::PfClear::HeartbeatAck);
        if from == PathState::PotentiallyFailed && heartbeat_alone {
            "HEARTBEAT ACK".to_owned()
        } else {
            "HEARTBEAT ACK, or SACK of data sent there alone".to_owned()
        }
    }
}
