//! What receiving applications saw of associations whose path in use was unplugged.

use crate::reproduce::Origin;
use byway_lab::stats::Sample;
use serde::Serialize;

/// The form of [`Experiment`] as JSON.
pub const SCHEMA: &str = "byway.real/1";
/// What arrives so soon after the unplugging was on its way, or is a reader that was late,
/// seconds. No failover is as fast: the least RTO of every arm is 1 s.
const ON_ITS_WAY_S: f64 = 0.5;
/// A silence that a timeout ended, seconds: the least RTO less the time between two messages.
const SILENCE_S: f64 = 0.9;
/// From here on a machine is too busy for times of silence, seconds.
const TOO_LATE_S: f64 = 0.25;
/// Confidence of intervals.
const CONFIDENCE: f64 = 0.95;

/// The whole experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Experiment {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// By what it was made; none if nobody said.
    pub origin: Option<Origin>,
    /// How late the measuring process was woken at most, seconds.
    pub late_s: f64,
    /// The senders, in the order of the table.
    pub arms: Vec<Arm>,
}

/// One sender with its settings.
#[derive(Clone, Debug, Serialize)]
pub struct Arm {
    /// Its name.
    pub name: String,
    /// Who sends, and with which settings.
    pub sender: String,
    /// What the paper's figure 2 shows for it, seconds.
    pub paper_s: Option<f64>,
    /// The same experiment in the simulator, with byway's settings of that arm.
    pub simulated: Option<Flow>,
    /// The associations, or why there are none.
    pub measured: Measured,
}

/// An arm's associations.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measured {
    /// One for each phase.
    Flows(Vec<Flow>),
    /// It could not be run here, and why.
    Not(String),
}

/// The messages of one association.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Flow {
    /// In order of time.
    pub arrivals: Vec<Arrival>,
    /// How long the unplugging took, seconds: no time is known better.
    pub uncertain_s: f64,
}

/// A moment at which messages had arrived.
#[derive(Copy, Clone, Debug, PartialEq, Serialize)]
pub struct Arrival {
    /// Seconds after the unplugging; negative before it.
    pub after_s: f64,
    /// Messages by then.
    pub messages: u32,
}

/// Least, mean and greatest of the times of an arm.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Spread {
    /// How many.
    pub n: usize,
    /// The least, seconds.
    pub least: f64,
    /// The mean, seconds.
    pub mean: f64,
    /// Half the width of the mean's 95 % interval, seconds; none for a single one.
    pub half_width: Option<f64>,
    /// The greatest, seconds.
    pub greatest: f64,
}

impl Experiment {
    /// How far the times can be trusted.
    pub(super) fn trust(&self) -> String {
        let late = format!(
            "The measuring process was woken at most {:.0} ms late.",
            self.late_s * 1000.0
        );
        if self.late_s < TOO_LATE_S {
            return late;
        }
        format!("{late} The machine was busy: a silence may be its own, not the protocol's.")
    }
}

impl Flow {
    /// Seconds from the unplugging to the first delivery over the other path. None if nothing
    /// arrived any more, or if nothing was interrupted.
    #[must_use]
    pub fn to_first_delivery(&self) -> Option<f64> {
        let later = |a: &&Arrival| a.after_s > ON_ITS_WAY_S;
        let first = self.arrivals.iter().find(later)?.after_s;
        let before = self.arrivals.iter().take_while(|a| !later(a));
        let silence = first - before.last()?.after_s;
        (silence > ON_ITS_WAY_S).then_some(first)
    }

    /// Seconds from the unplugging to the end of the last silence of more than 0.9 s: from then on
    /// delivery is steady. A silence that a timeout ends is longer: the least RTO is 1 s. None if nothing
    /// was interrupted, or silence was the end.
    #[must_use]
    pub fn to_steady_delivery(&self) -> Option<f64> {
        self.to_first_delivery()?;
        let mut pairs = self.arrivals.windows(2).rev();
        let silence = |pair: &&[Arrival]| pair[1].after_s - pair[0].after_s > SILENCE_S;
        pairs.find(silence).map(|pair| pair[1].after_s)
    }
}

impl Arm {
    /// The associations; none where it could not be run.
    #[must_use]
    pub fn flows(&self) -> &[Flow] {
        match &self.measured {
            Measured::Flows(flows) => flows,
            Measured::Not(_) => &[],
        }
    }

    /// A time of those associations that have it, such as [`Flow::to_first_delivery`].
    #[must_use]
    pub fn spread(&self, time: fn(&Flow) -> Option<f64>) -> Option<Spread> {
        let times: Vec<f64> = self.flows().iter().filter_map(time).collect();
        let sample = Sample::of(&times);
        (sample.n > 0).then(|| Spread {
            n: times.len(),
            least: times.iter().copied().fold(f64::INFINITY, f64::min),
            mean: sample.mean,
            half_width: sample.half_width(CONFIDENCE),
            greatest: times.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(times: &[f64]) -> Flow {
        let arrivals = times.iter().zip(1..).map(|(t, n)| Arrival {
            after_s: *t,
            messages: n,
        });
        Flow {
            arrivals: arrivals.collect(),
            uncertain_s: 0.0,
        }
    }

    #[test]
    fn the_first_delivery_is_the_end_of_the_silence() {
        let cases = [
            // what was on its way, then the failover
            (&[-0.2, -0.1, 0.001, 11.0, 11.001][..], Some(11.0)),
            // no failover ever
            (&[-0.2, -0.1][..], None),
            // a path that nobody unplugged
            (&[-0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.51, 0.6][..], None),
            // nothing arrived before: no silence to end
            (&[3.0][..], None),
        ];
        for (times, expected) in cases {
            assert_eq!(flow(times).to_first_delivery(), expected, "{times:?}");
        }
    }

    #[test]
    fn delivery_is_steady_after_the_last_silence() {
        let cases = [
            // retransmissions alone come over the other path at first
            (
                &[-0.1, 1.0, 1.1, 3.0, 7.0, 63.0, 63.1, 63.2][..],
                Some(63.0),
            ),
            (&[-0.1, 11.0, 11.1, 11.2][..], Some(11.0)),
            (&[-0.1, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6][..], None),
        ];
        for (times, expected) in cases {
            assert_eq!(flow(times).to_steady_delivery(), expected, "{times:?}");
        }
    }

    #[test]
    fn an_association_without_a_delivery_is_not_in_the_mean() {
        let arm = |flows| Arm {
            name: String::new(),
            sender: String::new(),
            paper_s: None,
            simulated: None,
            measured: Measured::Flows(flows),
        };
        let spread = arm(vec![
            flow(&[-0.1, 11.0]),
            flow(&[-0.1, 12.0]),
            flow(&[-0.1]),
        ]);
        let spread = spread.spread(Flow::to_first_delivery).expect("two times");
        assert_eq!((spread.n, spread.mean), (2, 11.5));
        assert_eq!((spread.least, spread.greatest), (11.0, 12.0));
        assert_eq!(
            arm(vec![flow(&[-0.1])]).spread(Flow::to_first_delivery),
            None
        );
    }
}
