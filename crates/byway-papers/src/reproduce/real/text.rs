//! The table for a terminal.

use super::record::{Arm, Experiment, Flow, Measured, Spread};
use byway_lab::terminal::Terminal;
use std::fmt::Write;

/// What the numbers are.
pub(super) const WHAT: &str = "Seconds from the unplugging to the first delivery over the other path, and to steady delivery: \
     the end of the last silence of more than 0.9 s.";
/// A value that is not there.
pub(super) const NONE: &str = "\u{2013}";

/// The table: a line for each arm; then what is to be said of single arms.
#[must_use]
pub fn render(experiment: &Experiment, terminal: Terminal) -> String {
    let arms = &experiment.arms;
    let width = arms.iter().map(|a| a.name.chars().count()).max();
    let width = width.unwrap_or(0);
    let mut out = format!("{WHAT}\n\n");
    let head = format!(
        "{:width$}  {:>5}  {:>9}  {:>12}  {:>11}  {:>12}",
        "sender", "paper", "simulated", "first", "least-most", "steady"
    );
    out.push_str(&terminal.paint("1", &head));
    out.push('\n');
    for arm in arms {
        let first = arm.spread(Flow::to_first_delivery);
        let steady = arm.spread(Flow::to_steady_delivery);
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            out,
            "{:width$}  {:>5}  {:>9}  {:>12}  {:>11}  {:>12}",
            arm.name,
            seconds(arm.paper_s),
            seconds(simulated(arm)),
            mean(first.as_ref()),
            range(first.as_ref()),
            mean(steady.as_ref()),
        );
    }
    out.push('\n');
    for arm in arms {
        let _ = writeln!(out, "{}: {}", arm.name, associations(arm));
    }
    out.push_str(&experiment.trust());
    out.push('\n');
    out
}

pub(super) fn simulated(arm: &Arm) -> Option<f64> {
    arm.simulated.as_ref().and_then(Flow::to_first_delivery)
}

pub(super) fn seconds(value: Option<f64>) -> String {
    value.map_or(NONE.to_owned(), |v| format!("{v:.1}"))
}

pub(super) fn mean(spread: Option<&Spread>) -> String {
    spread.map_or(NONE.to_owned(), |s| match s.half_width {
        Some(half) => format!("{:.2} \u{b1} {half:.2}", s.mean),
        None => format!("{:.2}", s.mean),
    })
}

pub(super) fn range(spread: Option<&Spread>) -> String {
    spread.map_or(NONE.to_owned(), |s| {
        format!("{:.2}-{:.2}", s.least, s.greatest)
    })
}

/// How many associations there were, and what became of them.
pub(super) fn associations(arm: &Arm) -> String {
    let flows = match &arm.measured {
        Measured::Flows(flows) => flows,
        Measured::Not(why) => return format!("not run: {why}"),
    };
    let again = arm.spread(Flow::to_first_delivery).map_or(0, |s| s.n);
    let uncertain = flows.iter().map(|f| f.uncertain_s).fold(0.0, f64::max);
    let known = format!("times to {:.0} ms", uncertain * 500.0);
    match flows.len() {
        all if all == again => format!("{all} associations, {known}"),
        all => format!(
            "{again} of {all} associations, {known}; the others were not interrupted, or delivered nothing more"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::record::{Arrival, SCHEMA};
    use super::*;

    #[test]
    fn each_arm_has_a_line_and_a_missing_one_its_reason() {
        let flow = |end| Flow {
            arrivals: vec![at(-0.1, 1), at(end, 2)],
            uncertain_s: 0.01,
        };
        let arm = |name: &str, measured| Arm {
            name: name.to_owned(),
            sender: String::new(),
            paper_s: Some(11.0),
            simulated: None,
            measured,
        };
        let experiment = Experiment {
            origin: None,
            schema: SCHEMA,
            late_s: 0.3,
            arms: vec![
                arm("decoupled", Measured::Flows(vec![flow(11.0), flow(11.2)])),
                arm("Linux", Measured::Not("no guest".to_owned())),
            ],
        };
        let terminal = Terminal {
            width: 80,
            colour: false,
        };
        let text = render(&experiment, terminal);
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[3].starts_with("decoupled"), "{text}");
        assert!(lines[3].contains("11.10 \u{b1} 1.27"), "{text}");
        assert_eq!(lines[6], "decoupled: 2 associations, times to 5 ms");
        assert_eq!(lines[7], "Linux: not run: no guest");
        assert!(
            lines[8].contains("300 ms late. The machine was busy"),
            "{text}"
        );
        assert!(
            lines[2..8].iter().all(|l| l.chars().count() <= 80),
            "{text}"
        );
    }

    fn at(after_s: f64, messages: u32) -> Arrival {
        Arrival { after_s, messages }
    }
}
