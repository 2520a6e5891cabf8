//! The report of a real transfer: what one side saw of its associations and paths, over time.
//!
//! The page is that of [`report`](crate::report), with the charts of one side. What is kept of a transfer
//! has a bound, however long it takes: curves keep their extremes and lose detail.

use crate::report::{CSS, JS, UPLOT_CSS, UPLOT_JS, UPLOT_LICENSE, escape, fill, in_script};
use crate::result::{PathCondition, Stall};
use crate::series::{Buckets, Curve, seconds};
use crate::show;
use serde_json::{Value, json};
use std::fmt::Write;

const PAGE: &str = include_str!("../assets/transfer.html");

/// Points of a curve in the page.
const POINTS: usize = 2000;
/// Points of a curve while it grows.
const MOST_POINTS: usize = 8192;
/// Points of the curve of a rate.
const RATE_POINTS: u64 = 200;
/// The shortest time over which a rate is taken: what goes out in bursts has a rate, too.
const RATE_STEP: u64 = 20_000_000;
/// Timeouts of a path that are marked.
const MOST_MARKS: usize = 2000;
/// Events that are kept: the first and the last of an association.
const MOST_EVENTS: usize = 400;
/// Events that are labelled in the charts: more would cover them.
const LABELLED: usize = 12;

/// What a command carried.
#[derive(Clone, Debug, Default)]
pub struct Transfer {
    /// The command: "byway send".
    pub command: String,
    /// When it began, for people.
    pub begun: String,
    /// How long it took, seconds.
    pub length_s: f64,
    /// Why it failed; none if it did not.
    pub failure: Option<String>,
    /// Its associations, oldest first.
    pub associations: Vec<AssociationRecord>,
    /// Associations of which nothing was kept.
    pub left_out: u64,
}

/// One association. Times are nanoseconds since the command began.
#[derive(Clone, Debug, Default)]
pub struct AssociationRecord {
    /// Its number, from 1.
    pub number: u32,
    /// When it began and ended.
    pub from: u64,
    /// Its end; none while it lives.
    pub to: Option<u64>,
    /// How it ended; none while it lives.
    pub outcome: Option<String>,
    /// Whether it was lost.
    pub lost: bool,
    /// Its paths, in the order in which they came.
    pub paths: Vec<PathRecord>,
    /// DATA chunks that the peer has cumulatively acknowledged.
    pub acked: Curve,
    /// Chunks sent again: their places, counted from 0.
    pub resent: Curve,
    /// DATA chunks that arrived: their places, counted from 0.
    pub received: Curve,
    /// Chunks sent, once each.
    pub chunks_sent: u64,
    /// Chunks received, once each.
    pub chunks_received: u64,
    /// Payload bytes sent, once each.
    pub bytes_sent: u64,
    /// Payload bytes received, once each.
    pub bytes_received: u64,
    events: Events,
    /// Since when something waits for its acknowledgement.
    waits_since: Option<u64>,
    /// When the last new chunk came.
    came: Option<u64>,
    acked_chunks: u64,
    stall_sent: Option<(u64, u64)>,
    stall_received: Option<(u64, u64)>,
}

/// One path.
#[derive(Clone, Debug, Default)]
pub struct PathRecord {
    /// Its addresses: "10.0.0.1 → 10.0.0.2".
    pub name: String,
    /// Congestion window, bytes.
    pub cwnd: Curve,
    /// Bytes in flight.
    pub flight: Curve,
    /// Round trips that were measured, seconds.
    pub rtt: Curve,
    /// Retransmission timeout, seconds.
    pub rto: Curve,
    /// SCTP bytes sent.
    pub sent: Buckets,
    /// SCTP bytes received.
    pub received: Buckets,
    /// States: from when, and which.
    pub states: Vec<(u64, PathCondition)>,
    /// Expirations of T3-rtx.
    pub timeouts: Vec<u64>,
    /// Packets sent.
    pub packets_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// SCTP bytes sent, headers included.
    pub bytes_sent: u64,
    /// SCTP bytes received, headers included.
    pub bytes_received: u64,
    /// Chunks that were sent on it because they had been lost.
    pub resent: u64,
    /// Expirations of T3-rtx.
    pub timeouts_count: u64,
    /// The least round trip, seconds.
    pub least_rtt_s: Option<f64>,
    /// The smoothed round trip at the end, seconds.
    pub srtt_s: Option<f64>,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub struct EventRecord {
    /// When.
    pub at: u64,
    /// The path's place, if it was one of a path.
    pub path: Option<usize>,
    /// What: "potentially failed".
    pub words: String,
    /// Why, as far as it is known.
    pub cause: String,
    /// Whether it is bad news.
    pub bad: bool,
    /// Whether a chart marks it: changes, and not what follows from them.
    pub marked: bool,
}

/// The first and the last events.
#[derive(Clone, Debug, Default)]
struct Events {
    first: Vec<EventRecord>,
    last: std::collections::VecDeque<EventRecord>,
    left_out: u64,
}

/// Adds a value and keeps the curve in its bound.
pub fn push(curve: &mut Curve, at: u64, value: f64) {
    curve.push_change(at, value);
    bound(curve);
}

fn bound(curve: &mut Curve) {
    if curve.points().len() > MOST_POINTS {
        *curve = curve.thinned(MOST_POINTS / 4);
    }
}

impl PathRecord {
    /// T3-rtx expired.
    pub fn timed_out(&mut self, at: u64) {
        self.timeouts_count += 1;
        if self.timeouts.len() < MOST_MARKS {
            self.timeouts.push(at);
        }
    }

    /// It has this state from now on.
    pub fn state(&mut self, at: u64, state: PathCondition) {
        // One that flaps for days: the first changes say it.
        if self.states.len() < MOST_MARKS {
            self.states.push((at, state));
        }
    }
}

impl AssociationRecord {
    /// The association of this number, which begins now.
    #[must_use]
    pub fn new(number: u32, from: u64) -> AssociationRecord {
        AssociationRecord {
            number,
            from,
            ..AssociationRecord::default()
        }
    }

    /// A chunk left, for the first time or again.
    pub fn data_sent(&mut self, at: u64, place: u64, bytes: u64, again: bool) {
        if again {
            self.resent.push(at, place as f64);
            bound(&mut self.resent);
            return;
        }
        self.chunks_sent = self.chunks_sent.max(place + 1);
        self.bytes_sent += bytes;
        if self.acked.points().is_empty() {
            self.acked.push(at, 0.0);
        }
        self.waits_since.get_or_insert(at);
    }

    /// So many chunks are cumulatively acknowledged.
    pub fn acknowledged(&mut self, at: u64, chunks: u64) {
        if chunks <= self.acked_chunks {
            return;
        }
        self.acked_chunks = chunks;
        push(&mut self.acked, at, chunks as f64);
        if let Some(since) = self.waits_since {
            longest(&mut self.stall_sent, since, at);
        }
        self.waits_since = (chunks < self.chunks_sent).then_some(at);
    }

    /// A chunk came for the first time.
    pub fn data_came(&mut self, at: u64, place: u64, bytes: u64) {
        push(&mut self.received, at, place as f64);
        self.chunks_received += 1;
        self.bytes_received += bytes;
        if let Some(before) = self.came.replace(at) {
            longest(&mut self.stall_received, before, at);
        }
    }

    /// Something happened.
    pub fn happened(&mut self, event: EventRecord) {
        let events = &mut self.events;
        if events.first.len() < MOST_EVENTS / 2 {
            events.first.push(event);
            return;
        }
        if events.last.len() == MOST_EVENTS / 2 {
            events.last.pop_front();
            events.left_out += 1;
        }
        events.last.push_back(event);
    }

    /// It has ended, or the command has.
    pub fn ended(&mut self, at: u64) {
        if let Some(since) = self.waits_since.take() {
            longest(&mut self.stall_sent, since, at);
        }
    }

    /// How much it carried, for choosing which to keep.
    #[must_use]
    pub fn weight(&self) -> u64 {
        self.bytes_sent + self.bytes_received
    }

    /// Whether this side sent most of it.
    fn sends(&self) -> bool {
        self.bytes_sent >= self.bytes_received
    }

    /// The longest time in which nothing of what waited was acknowledged; at a side that receives, the
    /// longest time without a new chunk between two of them.
    #[must_use]
    pub fn stall(&self) -> Option<Stall> {
        let (from, length) = match self.sends() {
            true => self.stall_sent?,
            false => self.stall_received?,
        };
        Some(Stall {
            from_s: seconds(from),
            length_s: seconds(length),
        })
    }

    fn name(&self) -> String {
        let remotes = self.paths.iter().filter_map(|p| p.name.rsplit(' ').next());
        let mut remotes: Vec<&str> = remotes.collect();
        remotes.dedup();
        match remotes.first() {
            Some(first) if remotes.len() > 1 => {
                format!("{}: {first} and {} more", self.number, remotes.len() - 1)
            }
            Some(first) => format!("{}: {first}", self.number),
            None => self.number.to_string(),
        }
    }
}

fn longest(stall: &mut Option<(u64, u64)>, from: u64, to: u64) {
    let length = to.saturating_sub(from);
    if stall.is_none_or(|(_, longest)| length > longest) {
        *stall = Some((from, length));
    }
}

impl Events {
    fn all(&self) -> impl Iterator<Item = &EventRecord> {
        self.first.iter().chain(&self.last)
    }
}

/// The report as HTML.
#[must_use]
pub fn html(transfer: &Transfer) -> String {
    let fills = [
        ("{{TITLE}}", escape(&title(transfer))),
        ("{{COMMAND}}", escape(&transfer.command)),
        ("{{BEGUN}}", escape(&transfer.begun)),
        ("{{SUMMARY}}", escape(&summary(transfer))),
        ("{{ALERT}}", alert(transfer)),
        ("{{TABLE}}", table(transfer)),
        ("{{EVENTS}}", events(transfer)),
        ("{{LICENSE}}", escape(UPLOT_LICENSE)),
        ("{{UPLOT_CSS}}", UPLOT_CSS.to_owned()),
        ("{{UPLOT_JS}}", UPLOT_JS.to_owned()),
        ("{{CSS}}", CSS.to_owned()),
        ("{{JS}}", JS.to_owned()),
        ("{{DATA}}", data(transfer)),
    ];
    fill(PAGE, &fills)
}

fn title(transfer: &Transfer) -> String {
    let mut peers: Vec<&str> = transfer
        .associations
        .iter()
        .flat_map(|a| &a.paths)
        .filter_map(|p| p.name.rsplit(' ').next())
        .collect();
    peers.sort_unstable();
    peers.dedup();
    match peers.len() {
        0 => format!("{}: no association", transfer.command),
        n @ 1..=4 => format!("{} with {}", transfer.command, peers[..n].join(", ")),
        n => format!("{} with {n} addresses", transfer.command),
    }
}

/// One sentence.
fn summary(transfer: &Transfer) -> String {
    let all = &transfer.associations;
    if all.is_empty() {
        return format!(
            "No association was set up in {}.",
            show::time(transfer.length_s)
        );
    }
    let sum = |f: fn(&AssociationRecord) -> u64| all.iter().map(f).sum::<u64>();
    let (sent, received) = (sum(|a| a.bytes_sent), sum(|a| a.bytes_received));
    let carried = match (sent, received) {
        (s, r) if r * 20 < s => format!("{} sent", show::bytes(s)),
        (s, r) if s * 20 < r => format!("{} received", show::bytes(r)),
        (s, r) => format!("{} sent and {} received", show::bytes(s), show::bytes(r)),
    };
    let paths: usize = all.iter().map(|a| a.paths.len()).max().unwrap_or(0);
    let mut out = format!(
        "{carried} in {}, over {} and {}",
        show::time(transfer.length_s),
        counted(all.len(), "association", "associations"),
        counted(paths, "path", "paths"),
    );
    let stalls = all.iter().filter_map(|a| Some((a.stall()?, a)));
    let worst = stalls.max_by(|a, b| a.0.length_s.total_cmp(&b.0.length_s));
    if let Some((stall, association)) = worst {
        let what = match association.sends() {
            true => "longest time without an acknowledgement of what waited",
            false => "longest time without new data",
        };
        let _ = write!(
            out,
            "; {what}: {} from {}",
            show::time(stall.length_s),
            show::time(stall.from_s)
        );
    }
    let bad: usize = all
        .iter()
        .flat_map(|a| &a.paths)
        .filter(|p| p.states.iter().any(|s| fails(s.1)))
        .count();
    let resent: u64 = all.iter().flat_map(|a| &a.paths).map(|p| p.resent).sum();
    let _ = match bad {
        0 => write!(out, "; no path failed"),
        n => write!(out, "; {} failed", counted(n, "path", "paths")),
    };
    out.push_str(&match resent {
        0 => "; nothing was sent again.".to_owned(),
        n => format!("; {} sent again.", counted(n as usize, "chunk", "chunks")),
    });
    out
}

fn fails(state: PathCondition) -> bool {
    matches!(
        state,
        PathCondition::PotentiallyFailed | PathCondition::Inactive
    )
}

fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

fn alert(transfer: &Transfer) -> String {
    match &transfer.failure {
        Some(why) => format!("<p class=\"alert\">{}</p>", escape(why)),
        None => String::new(),
    }
}

fn table(transfer: &Transfer) -> String {
    let heads = [
        ("path", ""),
        ("at the end", ""),
        ("sent", "bytes"),
        ("received", "bytes"),
        ("sent", "packets"),
        ("sent again", "chunks"),
        ("timeouts", "T3-rtx"),
        ("round trip", "least"),
        ("round trip", "smoothed"),
    ];
    let mut out = String::from("<table><thead><tr>");
    for (head, small) in heads {
        let _ = write!(out, "<th>{head}<small>{small}</small></th>");
    }
    out.push_str("</tr></thead>");
    for a in &transfer.associations {
        let outcome = a.outcome.as_deref().unwrap_or("still up at the end");
        let class = if a.lost { " class=\"bad\"" } else { "" };
        let _ = write!(
            out,
            "<tbody><tr class=\"group\"><td colspan=\"{}\">association {}, from {}<small{class}>{}</small></td></tr>",
            heads.len(),
            a.number,
            show::time(seconds(a.from)),
            escape(outcome),
        );
        for p in &a.paths {
            let state = p.states.last().map(|s| s.1);
            let bad = if state.is_some_and(fails) {
                " class=\"bad\""
            } else {
                ""
            };
            let _ = write!(
                out,
                "<tr><td>{}</td><td{bad}>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
                escape(&p.name),
                state.map_or("-", words_of),
                show::bytes(p.bytes_sent),
                show::bytes(p.bytes_received),
                p.packets_sent,
                p.resent,
                p.timeouts_count,
                round_trip(p.least_rtt_s),
                round_trip(p.srtt_s),
            );
        }
        out.push_str("</tbody>");
    }
    out.push_str("</table>");
    if transfer.left_out > 0 {
        let _ = write!(
            out,
            "<p class=\"quiet\">{} carried less, or came when there were {} others, and are not shown.</p>",
            counted(transfer.left_out as usize, "association", "associations"),
            transfer.associations.len()
        );
    }
    out
}

/// A round trip: on a host of its own it takes microseconds.
fn round_trip(time_s: Option<f64>) -> String {
    match time_s {
        Some(time) if time < 0.01 => format!("{:.2} ms", time * 1e3),
        other => show::maybe_time(other),
    }
}

const fn words_of(state: PathCondition) -> &'static str {
    match state {
        PathCondition::Unconfirmed => "unconfirmed",
        PathCondition::Active => "active",
        PathCondition::PotentiallyFailed => "potentially failed",
        PathCondition::Inactive => "inactive",
    }
}

fn events(transfer: &Transfer) -> String {
    let mut out = String::from(
        "<table class=\"events\"><thead><tr><th>time</th><th>association</th><th>path</th><th>what</th><th>why</th></tr></thead><tbody>",
    );
    for a in &transfer.associations {
        let row = |e: &EventRecord| {
            let path = e.path.and_then(|i| a.paths.get(i));
            format!(
                "<tr><td>{:.3} s</td><td>{}</td><td>{}</td><td{}>{}</td><td>{}</td></tr>",
                seconds(e.at),
                a.number,
                path.map_or(String::new(), |p| escape(&p.name)),
                if e.bad { " class=\"bad\"" } else { "" },
                escape(&e.words),
                escape(&e.cause),
            )
        };
        // Chunks that were sent again are told when a second is over.
        let in_order = |events: &mut dyn Iterator<Item = &EventRecord>| {
            let mut events: Vec<&EventRecord> = events.collect();
            events.sort_by_key(|e| e.at);
            events.into_iter().map(row).collect::<String>()
        };
        out.push_str(&in_order(&mut a.events.first.iter()));
        if a.events.left_out > 0 {
            let _ = write!(
                out,
                "<tr><td></td><td>{}</td><td></td><td>{} left out here</td><td></td></tr>",
                a.number,
                counted(a.events.left_out as usize, "event", "events")
            );
        }
        out.push_str(&in_order(&mut a.events.last.iter()));
    }
    out.push_str("</tbody></table>");
    out
}

/// What the plots draw.
fn data(transfer: &Transfer) -> String {
    let end = transfer.length_s.max(1e-3);
    let lines: Vec<Value> = transfer
        .associations
        .iter()
        .flat_map(|a| lines(a, transfer))
        .collect();
    let runs: Vec<Value> = transfer
        .associations
        .iter()
        .map(|a| run(a, transfer))
        .collect();
    let value = json!({ "end": end, "paths": [], "events": [], "lines": lines, "runs": runs });
    in_script(&value)
}

fn end_of(a: &AssociationRecord, transfer: &Transfer) -> f64 {
    a.to.map_or(transfer.length_s, seconds)
}

/// What got through, in each direction in which something did.
fn lines(a: &AssociationRecord, transfer: &Transfer) -> Vec<Value> {
    let end = end_of(a, transfer);
    let mut out = Vec::new();
    let alone = transfer.associations.len() == 1;
    let name = |what: &str| match alone {
        true => what.to_owned(),
        false => format!("{}: {what}", a.number),
    };
    // What only answers is left out.
    let matters = |n: u64| n * 50 >= a.chunks_sent + a.chunks_received && n > 0;
    if matters(a.chunks_sent) {
        out.push(json!({
            "name": name("sent and acknowledged"),
            "end": end,
            "line": a.acked.thinned(POINTS),
            "dots": a.resent.thinned(POINTS),
        }));
    }
    if matters(a.chunks_received) {
        let mut top = Curve::default();
        let mut late = Curve::default();
        let mut most = -1.0;
        for &(at, place) in a.received.thinned(POINTS).points() {
            if place > most {
                most = place;
                top.push(at, place);
            } else {
                late.push(at, place);
            }
        }
        out.push(json!({ "name": name("received"), "end": end, "line": top, "dots": late }));
    }
    out
}

fn run(a: &AssociationRecord, transfer: &Transfer) -> Value {
    let end = end_of(a, transfer);
    let paths: Vec<Value> = a
        .paths
        .iter()
        .map(|p| {
            json!({
                "cwnd": p.cwnd.thinned(POINTS),
                "flight": p.flight.thinned(POINTS),
                "rtt": p.rtt.thinned(POINTS),
                "rto": p.rto.thinned(POINTS),
                "rate": rate(&p.sent, &p.received, a, end),
                "states": p.states.iter().map(|(t, s)| json!([seconds(*t), s])).collect::<Vec<_>>(),
                "timeouts": p.timeouts.iter().map(|t| seconds(*t)).collect::<Vec<_>>(),
            })
        })
        .collect();
    let marked: Vec<&EventRecord> = a.events.all().filter(|e| e.marked).collect();
    let labelled = marked.len() <= LABELLED;
    let events: Vec<Value> = marked
        .iter()
        .filter_map(|e| {
            Some(json!({
                "at": seconds(e.at), "path": e.path?, "failure": e.bad, "label": labelled,
                // Of a change the state that it led to.
                "words": e.words.rsplit(" → ").next(),
            }))
        })
        .collect();
    json!({
        "policy": a.name(),
        "note": a.outcome.as_deref().unwrap_or("still up at the end"),
        "start": seconds(a.from),
        "end": end,
        "names": a.paths.iter().map(|p| &p.name).collect::<Vec<_>>(),
        // For labels in the charts.
        "short": a.paths.iter().map(|p| p.name.rsplit(' ').next()).collect::<Vec<_>>(),
        "events": events,
        "paths": paths,
    })
}

/// The rate of a path, bit/s, in the direction in which the association carried most.
fn rate(sent: &Buckets, received: &Buckets, a: &AssociationRecord, end_s: f64) -> Curve {
    let bytes = if a.sends() { sent } else { received };
    let end = (end_s * 1e9) as u64;
    let step = (end.saturating_sub(a.from) / RATE_POINTS).max(RATE_STEP);
    let mut curve = Curve::default();
    let mut at = a.from;
    while at < end {
        let to = (at + step).min(end);
        // The last step may be a short one.
        let rate = bytes.between(at, to) * 8e9 / (to - at).max(step / 4) as f64;
        curve.push_change(at, (rate / 1e3).round() * 1e3);
        at = to;
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::data_of;

    const S: u64 = 1_000_000_000;

    fn path(name: &str) -> PathRecord {
        let mut path = PathRecord {
            name: name.to_owned(),
            bytes_sent: 5_000_000,
            ..PathRecord::default()
        };
        path.state(0, PathCondition::Active);
        path
    }

    /// Sends for four seconds; its first path dies after one, and nothing gets through for half a second.
    fn association() -> AssociationRecord {
        let mut a = AssociationRecord {
            number: 1,
            paths: vec![path("10.0.0.1 → 10.0.0.2"), path("10.1.0.1 → 10.1.0.2")],
            ..AssociationRecord::default()
        };
        for i in 0..4000 {
            let at = i * S / 1000;
            let dead = (S..S + S / 2).contains(&at);
            let on = usize::from(at >= S);
            a.data_sent(at, i, 1000, false);
            a.paths[on].sent.add(at, 1000);
            push(&mut a.paths[on].cwnd, at, 10_000.0 + i as f64);
            push(&mut a.paths[on].rtt, at, 0.02);
            if !dead {
                a.acknowledged(at + S / 50, i);
            }
        }
        a.paths[0].state(S + S / 5, PathCondition::PotentiallyFailed);
        a.paths[0].timed_out(S + S / 5);
        a.happened(EventRecord {
            at: S + S / 5,
            path: Some(0),
            words: "active -> potentially failed".to_owned(),
            cause: "T3-rtx expired </script><b>".to_owned(),
            bad: true,
            marked: true,
        });
        a.acknowledged(4 * S, 4000);
        a.ended(4 * S);
        a
    }

    fn transfer() -> Transfer {
        Transfer {
            command: "byway send".to_owned(),
            begun: "2026-11-26 04:52:27 UTC".to_owned(),
            length_s: 4.0,
            associations: vec![association()],
            ..Transfer::default()
        }
    }

    #[test]
    fn the_page_stands_alone_and_bears_any_text() {
        let mut t = transfer();
        t.failure = Some("lost <b>".to_owned());
        let page = html(&t);
        for outside in ["src=\"http", "href=\"http", "@import", "fetch("] {
            assert!(!page.contains(outside), "{outside}");
        }
        assert!(!page.contains("{{"), "an unfilled mark");
        assert_eq!(page.matches("</script>").count(), 3);
        assert!(!page.contains("</script><b>"));
        assert!(page.contains("lost &lt;b&gt;"));
        if let Some(file) = std::env::var_os("BYWAY_TEST_REPORT") {
            std::fs::write(file, &page).unwrap();
        }
    }

    /// The peer gives the reason of an ABORT. After `<!--<script>` no end of the element counts, and the page was blank.
    #[test]
    fn the_reason_of_a_peer_takes_no_script_away() {
        let reason = "aborted by peer: <!--<script>";
        let mut t = transfer();
        t.associations[0].outcome = Some(reason.to_owned());
        let page = html(&t);
        assert_eq!(page.matches("<script").count(), 3);
        assert_eq!(page.matches("</script>").count(), 3);
        assert!(!page.contains("<!--"), "a comment");
        assert_eq!(data_of(&page)["runs"][0]["note"], reason);
    }

    #[test]
    fn the_stall_is_what_waited_and_not_what_was_idle() {
        let mut a = association();
        let stall = a.stall().unwrap();
        // From the last acknowledgement, at 1.019 s, to that of the chunk of 1.5 s.
        assert!((stall.from_s - 1.019).abs() < 1e-6, "{stall:?}");
        assert!((stall.length_s - 0.501).abs() < 1e-6, "{stall:?}");
        // Nothing waits for an hour, and then a chunk for a tenth of a second.
        a.data_sent(3604 * S, 4000, 1000, false);
        a.acknowledged(3604 * S + S / 10, 4001);
        assert_eq!(a.stall(), Some(stall));
        // What is still waiting at the end counts.
        a.data_sent(3605 * S, 4001, 1000, false);
        a.ended(3607 * S);
        assert!((a.stall().unwrap().length_s - 2.0).abs() < 1e-6);
    }

    #[test]
    fn the_summary_says_what_was_carried_and_what_failed() {
        assert_eq!(
            summary(&transfer()),
            "4.00 MB sent in 4.00 s, over 1 association and 2 paths; longest time without an \
             acknowledgement of what waited: 501 ms from 1.02 s; 1 path failed; nothing was sent again."
        );
        let nothing = Transfer {
            length_s: 20.0,
            ..Transfer::default()
        };
        assert_eq!(summary(&nothing), "No association was set up in 20.0 s.");
    }

    #[test]
    fn a_transfer_of_a_day_makes_no_huge_page_and_keeps_its_extremes() {
        let mut t = transfer();
        t.length_s = 86_400.0;
        let a = &mut t.associations[0];
        for i in 4000..400_000_u64 {
            let at = i * S / 5;
            a.data_sent(at, i, 1000, false);
            a.data_sent(at, i, 1000, true);
            a.acknowledged(at, i);
            let p = &mut a.paths[1];
            push(&mut p.cwnd, at, if i == 123_456 { 9e9 } else { i as f64 });
            push(&mut p.rtt, at, 0.02 + (i % 100) as f64 / 1e4);
            p.sent.add(at, 1000);
            p.timed_out(at);
            p.state(at, PathCondition::Active);
            a.happened(EventRecord {
                at,
                path: Some(1),
                words: "moved".to_owned(),
                cause: String::new(),
                bad: false,
                marked: true,
            });
        }
        let p = &a.paths[1];
        assert!(p.cwnd.points().len() <= MOST_POINTS);
        assert!(p.cwnd.points().iter().any(|point| point.1 == 9e9));
        assert_eq!(p.timeouts_count, 396_000);
        assert!(p.timeouts.len() + p.states.len() <= 2 * MOST_MARKS + 1);
        assert_eq!(a.events.all().count(), MOST_EVENTS);
        assert!(html(&t).len() < 2_000_000);
    }
}
