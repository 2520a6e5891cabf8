//! The table, for 80 columns and for wide terminals.

use super::ask::{Found, Key, Unanswered};
use super::rates::{Rate, Rates};
use crate::net::inspect::{AssociationNow, ConnectionsNow, PathNow, Process};
use crate::terminal::counted;
use byway::text::shown;
use byway_lab::show;
use byway_lab::terminal::Terminal;
use console::truncate_str;

/// From so many columns on, paths have both addresses, and words are whole.
const WIDE: usize = 120;

/// When there is nothing to see.
pub(super) const NOBODY: &str = "no send, recv, listen, cat, forward or serve of this user runs";

/// What a line is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Kind {
    Process,
    Association,
    /// Over the paths.
    Head,
    Path,
    /// A path that is in doubt.
    Doubted,
    Note,
}

/// A line.
#[derive(Debug)]
pub(super) struct Line {
    kind: Kind,
    text: String,
    /// The path that it is about.
    pub(super) path: Option<Key>,
}

impl Line {
    /// With the colours of the terminal, if it has some.
    pub(super) fn painted(&self, terminal: Terminal, chosen: bool) -> String {
        if chosen {
            // Without colours, too.
            let marked = format!(">{}", self.text.get(1..).unwrap_or_default());
            return terminal.paint("7", &marked);
        }
        match self.kind {
            Kind::Process => terminal.paint("1", &self.text),
            Kind::Head => terminal.paint("2", &self.text),
            Kind::Doubted => terminal.paint("31", &self.text),
            Kind::Association | Kind::Path | Kind::Note => self.text.clone(),
        }
    }
}

/// All lines, none longer than `width` columns.
pub(super) fn lines(found: &Found, rates: &Rates, width: usize) -> Vec<Line> {
    let mut table = Table {
        width,
        lines: Vec::new(),
    };
    for process in &found.processes {
        table.process(process, rates);
    }
    for Unanswered { pid, why } in &found.unanswered {
        table.add(Kind::Note, &format!("process {pid}: {why}"));
    }
    table.lines
}

struct Table {
    width: usize,
    lines: Vec<Line>,
}

impl Table {
    fn add(&mut self, kind: Kind, text: &str) {
        // Others have a part in some of it.
        let text = truncate_str(&shown(text), self.width, "…").into_owned();
        let path = None;
        self.lines.push(Line { kind, text, path });
    }

    fn process(&mut self, process: &Process, rates: &Rates) {
        if !self.lines.is_empty() {
            self.add(Kind::Note, "");
        }
        self.add(Kind::Process, &title(process));
        if process.associations.is_empty() {
            return;
        }
        let columns = Columns::of(self.width);
        self.add(Kind::Head, &columns.head());
        for association in &process.associations {
            self.association(process.pid, association, &columns, rates);
        }
    }

    fn association(
        &mut self,
        pid: u32,
        association: &AssociationNow,
        columns: &Columns,
        rates: &Rates,
    ) {
        self.add(Kind::Association, &summary(association));
        for path in &association.paths {
            let key = (pid, association.id.clone(), path.path);
            let kind = match path.state.as_str() {
                "active" | "unconfirmed" => Kind::Path,
                _ => Kind::Doubted,
            };
            self.add(kind, &columns.row(path, rates.of(&key)));
            if let Some(line) = self.lines.last_mut() {
                line.path = Some(key);
            }
            if let Some(trouble) = &path.trouble {
                let errors = match path.errors {
                    0 => String::new(),
                    n => format!(", {}", counted(n as usize, "error", "errors")),
                };
                self.add(kind, &format!("     in doubt: {trouble}{errors}"));
            }
        }
        if let Some(latest) = &association.latest {
            let ago = show::time(latest.ago_s);
            self.add(Kind::Note, &format!("     {ago} ago: {}", latest.what));
        }
    }
}

/// "recv (process 4242): 2 associations, 130 refused; 10.0.0.1:9899, 10.1.0.1:9899, SCTP port 5001".
fn title(process: &Process) -> String {
    let name = format!("{} (process {})", process.command, process.pid);
    let Some(endpoint) = &process.endpoint else {
        return format!("{name}: sets up an association");
    };
    let associations = usize::try_from(endpoint.associations).unwrap_or(usize::MAX);
    let mut text = format!(
        "{name}: {}",
        counted(associations, "association", "associations")
    );
    if endpoint.unlisted > 0 {
        text += &format!(", {} with least traffic not listed", endpoint.unlisted);
    }
    // Of one association they stand there.
    if let Some(tunnel) = process.tunnel.filter(|_| endpoint.associations != 1) {
        text += &format!(", {}", connections(tunnel));
    }
    let refused = endpoint.refused.values().chain(process.refused.values());
    match refused.sum::<u64>() {
        0 => {}
        refused => text += &format!(", {refused} refused"),
    }
    let addresses = endpoint.addresses.join(", ");
    text + &format!("; {addresses}, SCTP port {}", endpoint.sctp_port)
}

/// "3 TCP connections open, 17 so far".
fn connections(of: ConnectionsNow) -> String {
    let open = usize::try_from(of.connections).unwrap_or(usize::MAX);
    format!(
        "{} open, {} so far",
        counted(open, "TCP connection", "TCP connections"),
        of.connections_opened
    )
}

fn summary(association: &AssociationNow) -> String {
    let mut text = format!("  #{} {}", association.number, association.state);
    if let Some(tunnel) = association.tunnel {
        text += &format!(", {}", connections(tunnel));
    }
    let moves = match association.moves {
        1 => "moved once".to_owned(),
        n => format!("moved {n} times"),
    };
    for (shown, words) in [
        (
            association.waiting() > 0,
            format!("{} wait", show::bytes(association.waiting())),
        ),
        (association.moves > 0, moves),
        (
            association.chunks_retransmitted > 0,
            format!("{} chunks sent again", association.chunks_retransmitted),
        ),
    ] {
        if shown {
            text += ", ";
            text += &words;
        }
    }
    text
}

/// Widths of the columns after the first, each with a space before it.
struct Columns {
    wide: bool,
    path: usize,
    rest: [usize; 7],
}

/// Over the paths where rates have no room for their unit; the longest that fits.
const HEADS_OF_PATHS: [&str; 3] = ["path to (rates: bit/s)", "path to (bit/s)", "path to"];

const HEADS: [&str; 7] = ["state", "RTT", "cwnd", "flight", "out", "in", "loss"];

impl Columns {
    fn of(width: usize) -> Columns {
        let wide = width >= WIDE;
        let rest = match wide {
            true => [18, 7, 8, 8, 11, 11, 6],
            false => [10, 6, 7, 7, 6, 6, 6],
        };
        // The marks, and a space for each column.
        let taken = 3 + rest.len() + rest.iter().sum::<usize>();
        Columns {
            wide,
            path: width.saturating_sub(taken).max(8),
            rest,
        }
    }

    fn head(&self) -> String {
        let fits = |head: &&str| head.len() <= self.path;
        let first = match self.wide {
            true => "path",
            false => HEADS_OF_PATHS.into_iter().find(fits).unwrap_or("path to"),
        };
        self.line("   ", first, &HEADS.map(str::to_owned))
    }

    fn row(&self, path: &PathNow, rate: Option<Rate>) -> String {
        let mark = |is, mark| if is { mark } else { ' ' };
        let role = match path.backup {
            true => 'b',
            false => mark(path.primary, 'p'),
        };
        let marks = format!(" {role}{}", mark(path.in_use, '*'));
        let ends = match self.wide {
            true => format!("{} -> {}", path.local, path.remote),
            false => path.remote.clone(),
        };
        let bits = |x: f64| if self.wide { show::rate(x) } else { short(x) };
        let rate_of = |x: fn(Rate) -> f64| rate.map_or("-".to_owned(), |r| bits(x(r)));
        let loss = rate.and_then(|r| r.lost);
        let cells = [
            self.state(&path.state),
            path.srtt_s.map_or("-".to_owned(), round_trip),
            show::bytes(path.cwnd_bytes.into()),
            show::bytes(path.flight_bytes.into()),
            rate_of(|r| r.sent),
            rate_of(|r| r.received),
            loss.map_or("-".to_owned(), |share| format!("{:.1} %", share * 100.0)),
        ];
        self.line(&marks, &ends, &cells)
    }

    fn state(&self, state: &str) -> String {
        match state {
            "potentially failed" if !self.wide => "pot.failed",
            "unconfirmed" if !self.wide => "unconf.",
            whole => whole,
        }
        .to_owned()
    }

    /// The first two columns begin at the left, the others end at the right.
    fn line(&self, marks: &str, first: &str, cells: &[String; 7]) -> String {
        let first = middle_out(first, self.path);
        let mut text = format!("{marks}{first:<path$}", path = self.path);
        for (i, (cell, width)) in cells.iter().zip(self.rest).enumerate() {
            match i {
                0 => text += &format!(" {cell:<width$}"),
                _ => text += &format!(" {cell:>width$}"),
            }
        }
        text
    }
}

/// In at most `width` characters; what is left out is in the middle: ports are at the end.
fn middle_out(text: &str, width: usize) -> String {
    let all: Vec<char> = text.chars().collect();
    if all.len() <= width {
        return text.to_owned();
    }
    let kept = width.saturating_sub(1);
    let (head, tail) = (kept / 2, kept - kept / 2);
    let mut short: String = all[..head].iter().collect();
    short.push('…');
    short.extend(&all[all.len() - tail..]);
    short
}

/// A round trip: on one host it takes microseconds.
fn round_trip(seconds: f64) -> String {
    match seconds < 0.001 {
        true => format!("{:.0} µs", seconds * 1e6),
        false => show::time(seconds),
    }
}

/// A rate in five characters: "9.73M".
fn short(bits: f64) -> String {
    let text = show::rate(bits);
    let Some((number, unit)) = text.split_once(' ') else {
        return text;
    };
    match unit.strip_suffix("bit/s") {
        Some(prefix) => format!("{number}{prefix}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_long_keeps_both_ends() {
        assert_eq!(middle_out("[2001:db8::1]:9899", 18), "[2001:db8::1]:9899");
        assert_eq!(middle_out("[2001:db8::1]:9899", 12), "[2001…]:9899");
        assert_eq!(middle_out("abc", 0), "…");
    }

    #[test]
    fn the_unit_of_rates_is_said_at_every_width() {
        for (width, head) in [
            (60, "path to"),
            (75, "path to (bit/s)"),
            (80, "path to (rates: bit/s)"),
            (119, "path to (rates: bit/s)"),
            (120, "path"),
        ] {
            let columns = Columns::of(width);
            let text = columns.head();
            let (first, _) = text.split_once(" state ").unwrap();
            assert_eq!(first.trim(), head, "{width}");
            if width >= 75 {
                assert_eq!(text.chars().count(), width);
            }
        }
        // There each rate has its own.
        assert_eq!(show::rate(9_730_000.0), "9.73 Mbit/s");
    }

    #[test]
    fn rates_are_short() {
        for (rate, text) in [
            (0.0, "0"),
            (999.0, "999"),
            (9_730_000.0, "9.73M"),
            (1e11, "100G"),
        ] {
            assert_eq!(short(rate), text);
        }
    }
}
