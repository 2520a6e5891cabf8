//! Figures as tables.

use super::ladder::{Hop, Ladder};
use super::parts::{Figure, Panel};
use std::fmt::Write;

impl Figure {
    /// The name of a file for its numbers: `caro-2006-figure-5.csv`.
    #[must_use]
    pub fn file_name(&self) -> String {
        // A figure of somebody's own may have any name.
        let plain = |c: char| {
            if c.is_alphanumeric() || "-._".contains(c) {
                c
            } else {
                '-'
            }
        };
        self.name.chars().map(plain).collect::<String>() + ".csv"
    }

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
                let (low, high) = p
                    .interval
                    .map_or((String::new(), String::new()), |i| (short(i.0), short(i.1)));
                // Writing to a string cannot fail.
                let _ = writeln!(
                    out,
                    "{},{},{},{},{},{low},{high},{}",
                    quoted(&panel.title),
                    quoted(name),
                    line.source.name(),
                    short(p.x),
                    short(p.y),
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

/// A number to five significant digits; nothing where a mark of the paper has no such coordinate.
fn short(value: f64) -> String {
    match value {
        v if v.is_nan() => String::new(),
        v if v == 0.0 || !v.is_finite() => v.to_string(),
        v => {
            let decimals = (4 - v.abs().log10().floor() as i32).max(0) as usize;
            let text = format!("{v:.decimals$}");
            match text.contains('.') {
                true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
                false => text,
            }
        }
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
