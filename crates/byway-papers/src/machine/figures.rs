//! The machines that caro-2006 draws, and RFC 7829's, as tables; what the code
//! does is compared with them.
//!
//! The paper's figures name Phase I to III. Byway's phases are finer
//! ([`Phase`]): each figure says which of them are its own. What a
//! figure leaves out (the dormant state in figures 1 and 13) is left out here,
//! too; so is an alternate that answers while another alternate carries the
//! data, which changes nothing in the paper's phases.

use super::draw::Drawing;
use super::model::{Cause, Edge, Event, Machine, PathEdge, Phase, Role};
use byway_core::config::{Config, PrimarySwitch};
use byway_core::path::PathState;
use std::collections::BTreeSet;

/// A state of a figure: its name, what it means there, the phases of
/// byway that it covers.
type State = (&'static str, &'static str, &'static [Phase]);

/// A figure of caro-2006: an association's machine.
#[derive(Copy, Clone, Debug)]
pub struct Figure {
    /// What `byway machine` calls it.
    pub name: &'static str,
    /// Paper and section, with the figure's title.
    pub source: &'static str,
    /// The settings that are this machine.
    pub config: fn() -> Config,
    /// Its states; the first is where it begins.
    pub states: &'static [State],
    /// Its arcs: from, event, to, states by their place.
    pub arcs: &'static [(usize, Event, usize)],
}

const I: State = (
    "I",
    "Di is primary and active; new data goes to Di",
    &[Phase::OnPrimary],
);
const II: State = (
    "II",
    "Di is primary and failed, and probed; new data goes to Dj",
    &[Phase::PrimaryFailed],
);
const III: State = (
    "III",
    "dormant: all have failed; new data goes to the next one after each timeout",
    &[Phase::Dormant],
);

use Event::{Failed, Responds, Suspected, Switch, TimesOut};
use Role::{InUse as Dj, Other as Dk, Primary as Di};

/// The figures, in the paper's order.
pub const FIGURES: [Figure; 4] = [
    Figure {
        name: "caro2006-1",
        source: "caro-2006 section II, figure 1: the current failover mechanism",
        config: Config::caro2006,
        states: &[I, II],
        arcs: &[(0, Failed(Di), 1), (1, Failed(Dj), 1), (1, Responds(Di), 0)],
    },
    Figure {
        name: "caro2006-7",
        source: "caro-2006 section III.6, figure 7: Dormant Hop",
        config: Config::caro2006,
        states: &[I, II, III],
        arcs: &[
            (0, Failed(Di), 1),
            // The alternates failed before, in the background.
            (0, Failed(Di), 2),
            (1, Failed(Dj), 1),
            (1, Failed(Dj), 2),
            (1, Responds(Di), 0),
            (2, TimesOut(Di), 2),
            (2, TimesOut(Dj), 2),
            (2, Responds(Di), 0),
            (2, Responds(Dj), 1),
            (2, Responds(Dk), 1),
        ],
    },
    Figure {
        name: "caro2006-9",
        source: "caro-2006 section IV, figure 9: permanent failovers by CPT",
        config: permanent,
        states: &[I, II, III],
        arcs: &[
            (0, Failed(Di), 1),
            (0, Failed(Di), 2),
            (1, Failed(Dj), 1),
            (1, Failed(Dj), 2),
            (1, Responds(Di), 0),
            (1, Switch, 0),
            (2, TimesOut(Di), 2),
            (2, TimesOut(Dj), 2),
            (2, Responds(Di), 0),
            (2, Responds(Dj), 1),
            (2, Responds(Dk), 1),
            (2, Switch, 2),
        ],
    },
    Figure {
        name: "caro2006-13",
        source: "caro-2006 section V, figure 13: the proposed mechanism",
        config: Config::caro2006_proposed,
        states: &[
            I,
            (
                "II",
                "Di is primary, suspect and probed; new data goes to Dj, another one after each \
                 timeout",
                &[Phase::PrimarySuspect, Phase::NoneActive],
            ),
            (
                "III",
                "Di is primary and failed, and probed; new data goes to Dj, another one after each \
                 timeout",
                &[Phase::PrimaryFailed, Phase::SuspectAlternate],
            ),
        ],
        arcs: &[
            (0, Suspected(Di), 1),
            (1, Suspected(Dj), 1),
            (1, TimesOut(Di), 1),
            (1, TimesOut(Dj), 1),
            (1, Failed(Dj), 1),
            (1, Failed(Di), 2),
            (1, Responds(Di), 0),
            (2, Suspected(Dj), 2),
            (2, TimesOut(Dj), 2),
            (2, Failed(Dj), 2),
            (2, Responds(Di), 0),
        ],
    },
];

/// RFC 7829 section 3.2: a destination that becomes potentially failed.
pub const RFC_7829: [PathEdge; 4] = [
    // Rule 1: more than PFMR errors.
    PathEdge {
        from: PathState::Active,
        cause: Cause::ExceedsPfmr,
        to: PathState::PotentiallyFailed,
    },
    // Rule 8: PMR - PFMR more.
    PathEdge {
        from: PathState::PotentiallyFailed,
        cause: Cause::ExceedsPmr,
        to: PathState::Inactive,
    },
    // Rules 7 and 10.
    PathEdge {
        from: PathState::PotentiallyFailed,
        cause: Cause::Responds,
        to: PathState::Active,
    },
    // RFC 9260 section 8.2.
    PathEdge {
        from: PathState::Inactive,
        cause: Cause::Responds,
        to: PathState::Active,
    },
];

fn permanent() -> Config {
    let mut c = Config::caro2006();
    c.failure.path_max_retrans = 0;
    c.failover.primary_switch = PrimarySwitch::CptHeartbeats(5);
    c
}

impl Figure {
    /// The figure of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Figure> {
        FIGURES.iter().find(|f| f.name == name)
    }

    fn state_of(&self, phase: Phase) -> Option<usize> {
        self.states.iter().position(|s| s.2.contains(&phase))
    }

    /// What a machine is, seen as this figure: its edges between the figure's
    /// states, without commands of the user and the end of the association.
    #[must_use]
    pub fn view(&self, machine: &Machine) -> BTreeSet<(usize, Event, usize)> {
        let seen = |e: &Edge| {
            let (from, to) = (self.state_of(e.from)?, self.state_of(e.to)?);
            let beside = match e.event {
                Event::UserPrimary | Event::Ends => true,
                Event::Responds(_) => from == to,
                _ => false,
            };
            (!beside).then_some((from, e.event, to))
        };
        machine.edges.iter().filter_map(seen).collect()
    }

    /// The figure in words.
    #[must_use]
    pub fn drawing(&self) -> Drawing {
        let machine = Machine::of(&(self.config)(), 3);
        let name = |state: usize| self.states[state].0.to_owned();
        let arcs = self.arcs.iter().map(|&(from, event, to)| {
            let phase = self.states[from].2[0];
            (name(from), machine.words(event, phase), name(to))
        });
        Drawing {
            title: self.source.to_owned(),
            states: self
                .states
                .iter()
                .map(|s| (s.0.to_owned(), s.1.to_owned()))
                .collect(),
            arcs: arcs.collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_is(figure: &Figure, config: &Config) {
        for paths in [3, 4] {
            let found = figure.view(&Machine::of(config, paths));
            let drawn: BTreeSet<_> = figure.arcs.iter().copied().collect();
            let missing: Vec<_> = drawn.difference(&found).collect();
            let more: Vec<_> = found.difference(&drawn).collect();
            assert!(
                missing.is_empty() && more.is_empty(),
                "{}: drawn and not found {missing:?}, found and not drawn {more:?}",
                figure.name
            );
        }
    }

    #[test]
    fn what_the_deciders_do_is_what_the_figures_draw() {
        for figure in &FIGURES {
            assert_is(figure, &(figure.config)());
        }
    }

    #[test]
    fn figures_do_not_depend_on_their_thresholds() {
        for pmr in [0, 1, 3, 9] {
            let mut c = Config::caro2006();
            c.failure.path_max_retrans = pmr;
            assert_is(&FIGURES[0], &c);
            assert_is(&FIGURES[1], &c);
            let mut c = Config::caro2006_proposed();
            c.failure.path_max_retrans = pmr.max(1);
            assert_is(&FIGURES[3], &c);
        }
        // Figure 9 is both readings of CPT, as long as ns-2's is above PMR.
        for switch in [PrimarySwitch::Cpt(5), PrimarySwitch::CptHeartbeats(0)] {
            let mut c = permanent();
            c.failover.primary_switch = switch;
            assert_is(&FIGURES[2], &c);
        }
    }

    #[test]
    fn by_ns2s_count_no_failover_is_temporary_with_a_cpt_up_to_pmr() {
        // Trap 2: the errors of the failover itself exceed CPT.
        let mut c = permanent();
        c.failover.primary_switch = PrimarySwitch::Cpt(0);
        let found = FIGURES[2].view(&Machine::of(&c, 3));
        assert!(found.contains(&(1, Switch, 0)));
        assert!(!found.contains(&(1, Responds(Di), 0)), "II is left at once");
    }

    #[test]
    fn a_destination_is_that_of_rfc_7829() {
        let mut c = Config::rfc9260();
        // Dead data is byway's own.
        c.failure.dead_data = None;
        assert_eq!(Machine::of(&c, 3).path_edges, RFC_7829);
        assert_eq!(
            Machine::of(&Config::caro2006_proposed(), 3).path_edges,
            RFC_7829
        );
    }

    #[test]
    fn more_destinations_only_add_edges() {
        let mut probing = Config::rfc9260();
        probing.failover.probe_timeout = Some(Default::default());
        probing.failure.detection = byway_core::policy::Detection::Probing(Default::default());
        for config in [Config::rfc9260(), Config::rfc2960(), probing] {
            let of = |n| Machine::of(&config, n).edges;
            assert!(of(2).is_subset(&of(3)) && of(3).is_subset(&of(4)));
        }
    }

    #[test]
    fn drawings_name_states_and_thresholds() {
        use super::super::Format;
        let drawing = FIGURES[3].drawing();
        let text = drawing.render(Format::Text);
        assert!(
            text.contains("\nII   Di: more than PMR = 5 errors  III\n"),
            "{text}"
        );
        let mermaid = drawing.render(Format::Mermaid);
        assert!(
            mermaid.contains("    I --> II: Di - a timeout (PFMR = 0)\n"),
            "{mermaid}"
        );
        let dot = drawing.render(Format::Dot);
        assert!(
            dot.contains("  II -> III [label=\"Di: more than PMR = 5 errors\"];"),
            "{dot}"
        );
    }
}
