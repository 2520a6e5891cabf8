//! The state machines as text and as the page `docs/machines.md`.

use super::draw::Format;
use super::figures::{FIGURES, Figure};
use super::model::Machine;
use byway_core::Config;
use std::fmt::Write;

/// Destinations that are looked at: with three every role is filled.
const PATHS: u8 = 3;

/// What there is to print, with what it is: the papers' figures, then the two
/// machines of the settings at hand.
#[must_use]
pub fn names() -> Vec<(&'static str, &'static str)> {
    let figures = FIGURES.iter().map(|f| (f.name, f.source));
    figures
        .chain([
            (
                "association",
                "where new data goes, with the settings at hand",
            ),
            (
                "destination",
                "the states of a destination, with the settings at hand",
            ),
        ])
        .collect()
}

/// One machine.
///
/// # Errors
/// When there is none of that name; the message lists those there are.
pub fn render(name: &str, config: &Config, format: Format) -> Result<String, String> {
    let drawing = match name {
        "association" => Machine::of(config, PATHS).drawing(false),
        "destination" => Machine::of(config, PATHS).path_drawing(),
        _ => match Figure::named(name) {
            Some(figure) => figure.drawing(),
            None => {
                let all: Vec<&str> = names().iter().map(|n| n.0).collect();
                return Err(format!(
                    "{name}: no such machine; there are {}",
                    all.join(", ")
                ));
            }
        },
    };
    Ok(drawing.render(format))
}

/// The page of the documentation that draws them all.
#[must_use]
pub fn page() -> String {
    let mut out = String::from(
        "# The failover as state machines\n\n\
         Written by `byway machine --page`; a test holds this page against the code. What the paper \
         draws is a table in `byway_papers::machine::figures`; what byway does is found by asking its \
         failover policy about every table of paths that can come about; tests compare the two, and \
         let associations walk along the edges in the simulator. The paper's drawings are read from \
         its text.\n\n\
         Di is the primary, Dj the destination in use when it is another, Dk any other one. Left out \
         of all drawings: commands of the user, and the end of the association, both possible \
         everywhere.\n",
    );
    for figure in &FIGURES {
        section(
            &mut out,
            figure.source,
            &figure.drawing().render(Format::Mermaid),
        );
    }
    let machine = Machine::of(&Config::rfc9260(), PATHS);
    section(
        &mut out,
        "RFC 7829 section 3.2 and byway's dead data: a destination with the default settings",
        &machine.path_drawing().render(Format::Mermaid),
    );
    section(
        &mut out,
        "Where new data goes with the default settings",
        &machine.drawing(false).render(Format::Mermaid),
    );
    out.push_str(REMARKS);
    out
}

/// Readings and findings that the drawings do not show.
const REMARKS: &str = "\n## Readings\n\n\
- **Figure 13** lets each timeout redirect data to \"a different destination (skipping failed ones)\". \
  byway also skips suspect ones while an active one is left, as RFC 7829 section 3.2 asks; an alternate \
  that answers takes over from a suspect one.\n\
- **Figure 9, permanent failover.** `Cpt(n)` counts as ns-2 does: all consecutive errors of the primary, \
  those of the failover included, so no n up to PMR differs from another, and Phase II is left at once. \
  `CptHeartbeats(n)` counts as the paper's text says: heartbeats sent after the failover and lost. The \
  published gains (88 %, 76 %) match the first.\n\
- **Figure 8** is a test for each scenario and PMR (`crates/byway-core/tests/protocol/failover.rs`). Three \
  things differ from the paper's words, and the RFC is right: in scenario 2 the fourth missing report \
  repeats TSN 1 before its second timeout; in scenario 4 a sender with PMR 1 is not blocked, as the \
  acknowledgement of TSN 1 opens its window for one packet a round trip; and there a failed alternate \
  that is probed, as ns-2 probes it, answers before a delayed SACK, so that the transfer goes on there.\n\
- **Equations (2) to (10)** are `byway_papers::analysis`, where the slips in print are named.\n";

fn section(out: &mut String, title: &str, drawing: &str) {
    // Writing to a String cannot fail.
    let _ = write!(out, "\n## {title}\n\n```mermaid\n{drawing}```\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_in_the_docs_is_what_the_code_draws() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/machines.md");
        let kept = std::fs::read_to_string(file).unwrap_or_default();
        if kept != page() {
            // `byway machine --page` prints the same.
            std::fs::write(file, page()).unwrap();
            panic!("docs/machines.md was out of date and has been rewritten; look at it");
        }
    }

    #[test]
    fn an_unknown_machine_lists_those_there_are() {
        let e = render("caro2006-8", &Config::default(), Format::Text).unwrap_err();
        assert!(
            e.contains("caro2006-13") && e.contains("association"),
            "{e}"
        );
    }
}
