//! The page: the table, figure 2, and how it was measured.

use super::UNPLUGGED_AFTER_S;
use super::record::{Arm, Arrival, Experiment, Flow};
use super::text::{WHAT, associations, mean, range, seconds, simulated};
use crate::reproduce::figure::{Figure, Line, Panel, Point, Source, Style};
use crate::reproduce::html::{escape, figure as write_figure};
use std::fmt::Write;

const CSS: &str = include_str!("../../../assets/reproduce.css");
const TITLE: &str = "cortes-2008 on real sockets";
/// The paper, and what the figure cannot tell.
const INTRODUCTION: &str = "Cortés et al., Decoupling path failure detection from congestion control to \
     improve SCTP failovers, IEEE Communications Letters 12 (11), 2008, section III: 40 bytes every \
     100 ms, and after 15 s nothing passes over the primary path any more. Neither end is told.";
/// Where this experiment is not the paper's.
const DEVIATIONS: &[&str] = &[
    "The hosts are network namespaces of one machine, or a guest with a Linux kernel and a namespace; their paths are virtual cables without a delay (paper: 1 ms, 100 Mbit/s).",
    "SCTP is carried in UDP (RFC 6951).",
    "The path is cut in the middle, in both directions (paper: the receiver's cable is pulled out of a hub). All associations are cut at the same moment; they differ in the time since their last message.",
    "The paper's kernel was Linux 2.6.18; it had no potentially failed state (RFC 7829), which the guest's kernel has on by default.",
];

/// One file that needs nothing else.
///
/// # Errors
/// A figure that cannot be drawn.
pub fn html(experiment: &Experiment, version: &str) -> Result<String, String> {
    let mut out = String::from(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n",
    );
    // Writing to a string cannot fail, here and below.
    let _ = writeln!(
        out,
        "<title>byway: {TITLE}</title>\n<style>{CSS}</style>\n</head>\n<body>\n<header>\n<h1>{TITLE}</h1>\n\
         <p>{INTRODUCTION}</p>\n<p class=\"quiet\">byway {}</p>\n</header>\n<main>",
        escape(version)
    );
    if let Some(origin) = &experiment.origin {
        let words = escape(&origin.words()).replace('`', "");
        let _ = writeln!(out, "<p class=\"quiet\">{words}</p>");
    }
    table(&mut out, &experiment.arms);
    let _ = writeln!(out, "<p class=\"quiet\">{}</p>", experiment.trust());
    write_figure(&mut out, &figure(&experiment.arms))?;
    out.push_str("<h2>What differs from the paper</h2>\n<ul>\n");
    for deviation in DEVIATIONS {
        let _ = writeln!(out, "<li>{}</li>", escape(deviation));
    }
    out.push_str("</ul>\n</main>\n</body>\n</html>\n");
    Ok(out)
}

fn table(out: &mut String, arms: &[Arm]) {
    let _ = writeln!(
        out,
        "<p>{WHAT}</p>\n<table><thead><tr><th>sender</th><th>paper</th><th>simulated</th>\
         <th>first delivery, mean with 95 % interval</th><th>least to most</th><th>steady delivery</th><th>associations</th></tr></thead>\n<tbody>"
    );
    for arm in arms {
        let first = arm.spread(Flow::to_first_delivery);
        let steady = arm.spread(Flow::to_steady_delivery);
        let name = format!(
            "{}<small>{}</small>",
            escape(&arm.name),
            escape(&arm.sender)
        );
        let cells = [
            seconds(arm.paper_s),
            seconds(simulated(arm)),
            mean(first.as_ref()),
            range(first.as_ref()),
            mean(steady.as_ref()),
        ];
        let _ = write!(out, "<tr><td>{name}</td>");
        for cell in cells {
            let _ = write!(out, "<td>{cell}</td>");
        }
        let last = escape(&associations(arm));
        let _ = writeln!(out, "<td>{last}</td></tr>");
    }
    out.push_str("</tbody></table>\n");
}

/// Figure 2: messages that have arrived, of the first association of each arm, and the
/// simulated ones. An arm has one colour.
fn figure(arms: &[Arm]) -> Figure {
    let mut lines = Vec::new();
    for (name, arm) in arms.iter().enumerate() {
        let simulated = arm.simulated.iter().map(|flow| (Style::Steps, flow));
        let real = arm.flows().first().map(|flow| (Style::Dots, flow));
        let both = simulated.chain(real);
        lines.extend(both.map(|(style, flow)| Line::new(name, Source::Byway, style, points(flow))));
    }
    Figure {
        name: "cortes-2008 figure 2".to_owned(),
        title: "messages that have arrived, by TSN".to_owned(),
        caption: "The first association of each sender. A dot is a moment at which the receiving \
                  application got messages; a line is the simulation with the same settings. The \
                  path is unplugged at 15 s."
            .to_owned(),
        panels: vec![Panel {
            title: String::new(),
            x: "time (s)".to_owned(),
            y: "TSN".to_owned(),
            lines,
            ladder: None,
        }],
        names: arms.iter().map(|a| a.name.clone()).collect(),
        command: String::new(),
    }
}

/// From the first message of the figure on, which is the one 15 s before the unplugging.
fn points(flow: &Flow) -> Vec<Point> {
    let earlier = |a: &&Arrival| a.after_s < -UNPLUGGED_AFTER_S;
    let before = flow.arrivals.iter().take_while(earlier);
    let first = before.last().map_or(0, |a| a.messages);
    let arrivals = flow.arrivals.iter().skip_while(earlier);
    arrivals
        .map(|a| Point {
            x: a.after_s + UNPLUGGED_AFTER_S,
            y: f64::from(a.messages - first),
            interval: None,
            n: 1,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_that_began_earlier_begins_with_the_others() {
        let at = |after_s, messages| Arrival { after_s, messages };
        let flow = Flow {
            arrivals: vec![at(-17.0, 1), at(-15.1, 20), at(-14.9, 21), at(1.0, 30)],
            uncertain_s: 0.0,
        };
        let points: Vec<(f64, f64)> = points(&flow).iter().map(|p| (p.x, p.y)).collect();
        assert_eq!(points[0].1, 1.0);
        assert_eq!(points[1], (16.0, 10.0));
        assert_eq!(points.len(), 2);
    }
}
