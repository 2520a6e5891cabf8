//! Figures as tables.

use super::ladder::{Hop, Ladder};
use super::parts::{Figure, Panel};
use std::fmt::Write;

impl Figure {
    /// Its numbers as a table with a heading.
    #[must_use]
    pub fn csv(&self) -> String {
        if self.panels.iter().any(|p| p.ladder.is_some()) {
            return self.packets();
        }
        let mut out = String::from("panel,line,source,x,y,low_95,high_95,runs\n");
        for panel in &self.panels {
            self.lines(panel, &mut out);
        }
        out
    }

    fn lines(&self, panel: &Panel, out: &mut String) {
        for line in &panel.lines {
            let name = self.names.get(line.name).map_or("", String::as_str);
            for p in &line.points {
                let (low, high) = p.interval.map_or((String::new(), String::new()), |i| {
                    (i.0.to_string(), i.1.to_string())
                });
                // Writing to a string cannot fail.
                let _ = writeln!(
                    out,
                    "{},{},{},{},{},{low},{high},{}",
                    quoted(&panel.title),
                    quoted(name),
                    line.source.name(),
                    p.x,
                    p.y,
                    p.n
                );
            }
        }
    }

    /// A row for each packet.
    fn packets(&self) -> String {
        let mut out = String::from("panel,path,direction,packet,sent_s,arrives_s,lost\n");
        for panel in &self.panels {
            let ladder = panel.ladder.as_ref();
            let (hops, paths) =
                ladder.map_or((&[][..], &[][..]), |l: &Ladder| (&l.hops[..], &l.paths[..]));
            for hop in hops {
                let Hop { from, to, .. } = hop;
                let _ = writeln!(
                    out,
                    "{},{},{},{},{from},{to},{}",
                    quoted(&panel.title),
                    quoted(paths.get(hop.path).map_or("", String::as_str)),
                    if hop.forward {
                        "to receiver"
                    } else {
                        "to sender"
                    },
                    quoted(&hop.label),
                    hop.lost
                );
            }
        }
        out
    }
}

/// A field of a table, in quotes where it needs them.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}
