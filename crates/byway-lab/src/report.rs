//! `report.html`: one file that needs nothing else, with interactive plots.
//!
//! The plots are drawn by uPlot 1.6.32 (MIT), which is part of the file, with
//! its licence. Curves are thinned so that the file stays below a few MB.

use crate::result::{Comparison, Outcome, RunResult};
use crate::series::seconds;
use crate::show;
use crate::table::summary;
use serde_json::{Value, json};
use std::fmt::Write;

const PAGE: &str = include_str!("../assets/report.html");
pub(crate) const CSS: &str = include_str!("../assets/report.css");
pub(crate) const JS: &str = include_str!("../assets/report.js");
pub(crate) const UPLOT_JS: &str = include_str!("../assets/uPlot-1.6.32.min.js");
pub(crate) const UPLOT_CSS: &str = include_str!("../assets/uPlot-1.6.32.min.css");
pub(crate) const UPLOT_LICENSE: &str = include_str!("../assets/uPlot-LICENSE.txt");

/// Points of a curve in the report.
const POINTS: usize = 3000;

/// The report as HTML.
#[must_use]
pub fn html(comparison: &Comparison) -> String {
    let scenario = &comparison.scenario;
    let fills = [
        ("{{TITLE}}", escape(&scenario.name)),
        ("{{DESCRIPTION}}", escape(&scenario.description)),
        ("{{SUMMARY}}", escape(&summary(comparison))),
        ("{{TABLE}}", table(comparison)),
        ("{{SCENARIO}}", scenario_list(comparison)),
        ("{{LICENSE}}", escape(UPLOT_LICENSE)),
        ("{{UPLOT_CSS}}", UPLOT_CSS.to_owned()),
        ("{{UPLOT_JS}}", UPLOT_JS.to_owned()),
        ("{{CSS}}", CSS.to_owned()),
        ("{{JS}}", JS.to_owned()),
        ("{{DATA}}", data(comparison)),
    ];
    fill(PAGE, &fills)
}

/// Replaces each mark once, in one pass, so that a filled-in text that looks
/// like a mark stays as it is.
pub(crate) fn fill(page: &str, fills: &[(&str, String)]) -> String {
    let mut out = String::new();
    let mut rest = page;
    while let Some(at) = rest.find("{{") {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        match fills.iter().find(|(mark, _)| rest.starts_with(mark)) {
            Some((mark, text)) => {
                out.push_str(text);
                rest = &rest[mark.len()..];
            }
            None => {
                out.push_str("{{");
                rest = &rest[2..];
            }
        }
    }
    out.push_str(rest);
    out
}

pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// JSON for a script element, whatever its strings are. `</script` would end the element, and after
/// `<!--<script` no end counts. JSON has `<` in strings only.
pub(crate) fn in_script(value: &Value) -> String {
    value
        .to_string()
        .replace('<', "\\u003c")
        // Ends of lines, where the element is a program.
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// What the plots draw.
fn data(comparison: &Comparison) -> String {
    let scenario = &comparison.scenario;
    let value = json!({
        "paths": scenario.paths.iter().map(|p| &p.name).collect::<Vec<_>>(),
        "events": scenario.events.iter().map(|e| json!({
            "at": e.at_s, "path": e.path, "words": e.words, "failure": e.failure,
        })).collect::<Vec<_>>(),
        "runs": comparison.results.iter().map(run).collect::<Vec<_>>(),
    });
    in_script(&value)
}

fn run(result: &RunResult) -> Value {
    let paths: Vec<Value> = result
        .series
        .paths
        .iter()
        .map(|p| {
            json!({
                "cwnd": p.cwnd.thinned(POINTS),
                "rto": p.rto.thinned(POINTS),
                "states": p.states.iter().map(|(t, s)| json!([seconds(*t), s])).collect::<Vec<_>>(),
                "timeouts": p.timeouts.iter().map(|t| seconds(*t)).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "policy": result.policy,
        "note": result.note,
        "end": result.end_s,
        "received": result.series.received.thinned(POINTS),
        "paths": paths,
    })
}

fn table(comparison: &Comparison) -> String {
    let mut out = String::from("<table><thead><tr><th>policy</th>");
    let detects = comparison.results.iter().any(|r| !r.detections.is_empty());
    let mut heads = vec![("transfer time", ""), ("longest stall", "at the receiver")];
    if detects {
        heads.extend([
            ("potentially failed", "after the failure"),
            ("inactive", "after the failure"),
        ]);
    }
    let head = |out: &mut String, title: &str, small: &str| {
        let small = if small.is_empty() {
            String::new()
        } else {
            format!("<small>{}</small>", escape(small))
        };
        out.push_str(&format!("<th>{}{small}</th>", escape(title)));
    };
    for (title, small) in heads {
        head(&mut out, title, small);
    }
    for path in &comparison.scenario.paths {
        head(&mut out, "sent", &format!("on {}", path.name));
    }
    for (title, small) in [
        ("resent", "chunks"),
        ("fast", "of these"),
        ("timeouts", ""),
        ("failovers", ""),
        ("spurious", "of these"),
    ] {
        head(&mut out, title, small);
    }
    out.push_str("</tr></thead><tbody>");
    for result in &comparison.results {
        row(&mut out, result, detects);
    }
    out.push_str("</tbody></table>");
    out
}

fn row(out: &mut String, result: &RunResult, detects: bool) {
    let note = if result.note.is_empty() {
        String::new()
    } else {
        format!("<small>{}</small>", escape(&result.note))
    };
    out.push_str(&format!("<tr><td>{}{note}</td>", escape(&result.policy)));
    out.push_str(&match &result.outcome {
        Outcome::Complete => format!("<td>{}</td>", show::maybe_time(result.transfer_s)),
        Outcome::Lost { reason } => format!(
            "<td class=\"bad\">lost<small>{}</small></td>",
            escape(reason)
        ),
        Outcome::OutOfTime | Outcome::OutOfEvents => "<td class=\"bad\">unfinished</td>".to_owned(),
    });
    let mut cells = vec![show::maybe_time(result.stall.map(|s| s.length_s))];
    if detects {
        let first = result.detections.first();
        cells.push(show::maybe_time(first.and_then(|d| d.suspect_after_s)));
        cells.push(show::maybe_time(first.and_then(|d| d.inactive_after_s)));
    }
    cells.extend(result.paths.iter().map(|p| show::bytes(p.bytes)));
    for count in [
        result.retransmissions,
        result.fast_retransmits,
        result.timeouts,
        result.failovers,
        result.spurious_failovers,
    ] {
        cells.push(count.to_string());
    }
    for cell in cells {
        // Writing to a string cannot fail.
        let _ = write!(out, "<td>{cell}</td>");
    }
    out.push_str("</tr>");
}

fn scenario_list(comparison: &Comparison) -> String {
    let s = &comparison.scenario;
    let mut items = vec![format!("traffic: {}", s.traffic)];
    items.extend(s.paths.iter().map(|p| format!("{}: {}", p.name, p.words)));
    items.extend(s.events.iter().map(|e| {
        let path = s.paths.get(e.path).map_or("?", |p| p.name.as_str());
        format!("after {}: {path} {}", show::time(e.at_s), e.words)
    }));
    items.push(format!(
        "seed {}; at most {} of simulated time",
        s.seed,
        show::time(s.limit_s)
    ));
    let items: String = items
        .iter()
        .map(|i| format!("<li>{}</li>", escape(i)))
        .collect();
    format!("<ul>{items}</ul>")
}

/// What the plots of a page draw.
#[cfg(test)]
pub(crate) fn data_of(page: &str) -> Value {
    let begin = "<script type=\"application/json\" id=\"data\">";
    let (_, data) = page.split_once(begin).unwrap();
    let (data, _) = data.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_stands_alone_and_bears_any_name() {
        let page = html(&crate::testing::comparison());
        for outside in ["src=\"http", "href=\"http", "@import", "fetch("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(!page.contains("{{"), "an unfilled mark");
        // A name with markup must stay text: the scripts end where they should.
        assert_eq!(page.matches("</script>").count(), 3);
        assert!(!page.contains("<b>lost</b>"));
        assert!(page.contains("The MIT License"));
        if let Some(dir) = std::env::var_os("BYWAY_TEST_REPORT") {
            std::fs::write(dir, &page).unwrap();
        }
    }

    /// A peer gives the reasons of a report of `send` or `recv`.
    #[test]
    fn no_text_ends_or_opens_a_script() {
        let text = "<!--<script> </script> <!-- --> \u{2028}\u{2029} \"\\u003c\"";
        let value = json!({ text: [text] });
        let written = in_script(&value);
        for mark in ['<', '\u{2028}', '\u{2029}'] {
            assert!(!written.contains(mark), "{written}");
        }
        assert_eq!(serde_json::from_str::<Value>(&written).unwrap(), value);

        let mut comparison = crate::testing::comparison();
        comparison.scenario.paths[0].name = text.to_owned();
        let page = html(&comparison);
        assert_eq!(page.matches("<script").count(), 3);
        assert_eq!(page.matches("</script>").count(), 3);
        let read = data_of(&page);
        assert_eq!(read["paths"][0], text);
    }

    #[test]
    fn a_long_run_makes_no_huge_report() {
        let mut comparison = crate::testing::comparison();
        for i in 0..300_000_u64 {
            comparison.results[0]
                .series
                .received
                .push(60_000_000_000 + i * 10_000, i as f64);
        }
        assert!(html(&comparison).len() < 1_500_000);
    }
}
