//! One parameter of the papers' settings at a time, for what hangs on it.

use byway_core::config::FastRecovery;
use byway_lab::scenario::{LinkSpec, LossSpec, Scenario};
use byway_lab::units::QueueLimit;
use std::time::Duration;

/// Missing reports that cause a fast retransmission.
const REPORTS: [u8; 2] = [3, 4];
/// Events from then on are failures of an experiment; earlier ones are losses by script.
const FAILURES_FROM: Duration = Duration::from_secs(1);

/// A parameter and what it is in place of its value.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Vary {
    /// Fast retransmission at the third report, one exit point of fast recovery.
    ThirdWithExit,
    /// At the third, without an exit point.
    ThirdWithoutExit,
    /// At the fourth, with one.
    FourthWithExit,
    /// At the fourth, without.
    FourthWithoutExit,
    /// Half of the queue of each link.
    QueueHalf,
    /// Twice.
    QueueDouble,
    /// Half of the receive buffer.
    WindowHalf,
    /// Twice.
    WindowDouble,
    /// Random loss on the way to the receiver alone.
    LossForward,
    /// Random loss on the way back alone.
    LossBack,
    /// Half of the time until the first failure; later events move with it.
    FailureHalf,
    /// Twice.
    FailureDouble,
}

impl Vary {
    /// The matrix of missing reports and exit points.
    pub const MATRIX: [Vary; 4] = [
        Vary::ThirdWithExit,
        Vary::ThirdWithoutExit,
        Vary::FourthWithExit,
        Vary::FourthWithoutExit,
    ];
    /// What no paper, or not each, names: halved and doubled.
    pub const SENSITIVITY: [Vary; 8] = [
        Vary::QueueHalf,
        Vary::QueueDouble,
        Vary::WindowHalf,
        Vary::WindowDouble,
        Vary::LossForward,
        Vary::LossBack,
        Vary::FailureHalf,
        Vary::FailureDouble,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Vary::ThirdWithExit => "3, exit point",
            Vary::ThirdWithoutExit => "3, none",
            Vary::FourthWithExit => "4, exit point",
            Vary::FourthWithoutExit => "4, none",
            Vary::QueueHalf => "queue halved",
            Vary::QueueDouble => "queue doubled",
            Vary::WindowHalf => "window halved",
            Vary::WindowDouble => "window doubled",
            Vary::LossForward => "loss of data alone",
            Vary::LossBack => "loss of SACKs alone",
            Vary::FailureHalf => "failure at half the time",
            Vary::FailureDouble => "failure at twice the time",
        }
    }

    /// The name that a table of parameters has for it.
    #[must_use]
    pub fn parameter(self) -> &'static str {
        match self {
            Vary::QueueHalf | Vary::QueueDouble => "queue",
            Vary::WindowHalf | Vary::WindowDouble => "window",
            Vary::LossForward | Vary::LossBack => "direction of loss",
            Vary::FailureHalf | Vary::FailureDouble => "failure",
            _ => "fast retransmission",
        }
    }

    pub(super) fn apply<'a>(
        self,
        scenario: &mut Scenario,
        mut axes: impl Iterator<Item = &'a str>,
    ) {
        match self {
            Vary::ThirdWithExit => reports(scenario, REPORTS[0], true),
            Vary::ThirdWithoutExit => reports(scenario, REPORTS[0], false),
            Vary::FourthWithExit => reports(scenario, REPORTS[1], true),
            Vary::FourthWithoutExit => reports(scenario, REPORTS[1], false),
            Vary::QueueHalf => links(scenario, |link, _| queue(link, 1, 2)),
            Vary::QueueDouble => links(scenario, |link, _| queue(link, 2, 1)),
            // An experiment that varies the buffer keeps what it varies.
            Vary::WindowHalf if !axes.any(|a| a == "buffer") => windows(scenario, 1, 2),
            Vary::WindowDouble if !axes.any(|a| a == "buffer") => windows(scenario, 2, 1),
            Vary::WindowHalf | Vary::WindowDouble => {}
            Vary::LossForward => links(scenario, |link, forward| lossless(link, !forward)),
            Vary::LossBack => links(scenario, lossless),
            Vary::FailureHalf => failure(scenario, 0.5),
            Vary::FailureDouble => failure(scenario, 2.0),
        }
    }
}

fn reports(scenario: &mut Scenario, reports: u8, exit: bool) {
    for policy in &mut scenario.policies {
        let congestion = &mut policy.config.core.congestion;
        congestion.fast_retransmit_threshold = reports;
        congestion.fast_recovery = match (exit, congestion.fast_recovery) {
            (false, _) => FastRecovery::Off,
            (true, FastRecovery::Off) => FastRecovery::default(),
            (true, own) => own,
        };
    }
}

fn links(scenario: &mut Scenario, change: impl Fn(&mut LinkSpec, bool)) {
    for path in &mut scenario.paths {
        change(&mut path.forward, true);
        change(&mut path.reverse, false);
    }
}

fn queue(link: &mut LinkSpec, times: u32, of: u32) {
    link.queue = match link.queue {
        QueueLimit::Packets(n) => QueueLimit::Packets((n * times / of).max(1)),
        QueueLimit::Bytes(n) => QueueLimit::Bytes(n * u64::from(times) / u64::from(of)),
    };
}

fn lossless(link: &mut LinkSpec, chosen: bool) {
    if chosen && matches!(link.loss, LossSpec::Random(_) | LossSpec::Burst { .. }) {
        link.loss = LossSpec::Nothing;
    }
}

fn windows(scenario: &mut Scenario, times: u32, of: u32) {
    for policy in &mut scenario.policies {
        let buffer = &mut policy.config.core.buffer.receive;
        *buffer = *buffer * times / of;
    }
}

fn failure(scenario: &mut Scenario, times: f64) {
    let Some(first) = scenario.events.iter().map(|e| e.at).min() else {
        return;
    };
    if first < FAILURES_FROM {
        return;
    }
    let moved = first.mul_f64(times);
    for event in &mut scenario.events {
        event.at = moved + (event.at - first);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario() -> Scenario {
        let text = "limit = \"60 s\"\n[traffic]\nkind = \"bulk\"\nsize = \"1 MB\"\n\
            [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"45 ms\"\nloss = \"5 %\"\n\
            [[event]]\nat = \"4 s\"\npath = 1\ndo = \"down\"\n\
            [[event]]\nat = \"9 s\"\npath = 1\ndo = \"up\"\n[protocol]\npreset = \"ns2\"\n";
        Scenario::parse("test", text).unwrap_or_else(|e| panic!("{e}"))
    }

    fn varied(vary: Vary, axes: &[&str]) -> Scenario {
        let mut scenario = scenario();
        vary.apply(&mut scenario, axes.iter().copied());
        scenario
    }

    #[test]
    fn one_parameter_is_another_one_and_nothing_else() {
        let own = scenario();
        let queue = |s: &Scenario| s.paths[0].forward.queue;
        assert_eq!(queue(&own), QueueLimit::Packets(50));
        assert_eq!(
            queue(&varied(Vary::QueueHalf, &[])),
            QueueLimit::Packets(25)
        );
        assert_eq!(
            queue(&varied(Vary::QueueDouble, &[])),
            QueueLimit::Packets(100)
        );
        let window = |s: &Scenario| s.policies[0].config.core.buffer.receive;
        assert_eq!(window(&varied(Vary::WindowDouble, &[])), 2 * window(&own));
        assert_eq!(
            window(&varied(Vary::WindowDouble, &["buffer"])),
            window(&own)
        );
        let losses = |s: Scenario| {
            [
                s.paths[0].forward.loss.clone(),
                s.paths[0].reverse.loss.clone(),
            ]
        };
        let [data, sacks] = losses(varied(Vary::LossForward, &[]));
        assert!(matches!(
            (data, sacks),
            (LossSpec::Random(_), LossSpec::Nothing)
        ));
        let [data, sacks] = losses(varied(Vary::LossBack, &[]));
        assert!(matches!(
            (data, sacks),
            (LossSpec::Nothing, LossSpec::Random(_))
        ));
        let times = |s: Scenario| s.events.iter().map(|e| e.at.as_secs()).collect::<Vec<_>>();
        assert_eq!(times(varied(Vary::FailureHalf, &[])), [2, 7]);
        assert_eq!(times(varied(Vary::FailureDouble, &[])), [8, 13]);
        for vary in Vary::MATRIX {
            let s = varied(vary, &[]);
            let congestion = &s.policies[0].config.core.congestion;
            let fourth = vary.name().starts_with('4');
            assert_eq!(
                congestion.fast_retransmit_threshold,
                if fourth { 4 } else { 3 }
            );
            let off = congestion.fast_recovery == FastRecovery::Off;
            assert_eq!(off, vary.name().ends_with("none"));
            assert_eq!(queue(&s), queue(&own));
        }
    }
}
