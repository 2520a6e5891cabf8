//! How long `byway recv` keeps peers that make no progress, and why it lets them go.

use super::super::Arguments;
use super::super::transfer::free_udp_port;
use super::Verdict;
use super::tools::{Tools, json_of};
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// The time that `--give-up` says, in seconds.
const GIVE_UP: f64 = 3.0;
/// Peers of each kind.
const ASSOCIATIONS: u64 = 50;
/// It is looked at from time to time.
const LATEST: f64 = 2.0 * GIVE_UP;
/// A peer counts from its end of the set-up, which is a moment later than the receiver's.
const MOMENT: f64 = 0.1;
/// The reason of `--give-up`.
const NOTHING_CAME: &str = "(--give-up)";
/// Kinds of peers, and the reason for which they are let go: those that send a message send no name of a file, and are
/// let go at once.
const KINDS: [(&str, &str); 8] = [
    ("idle", NOTHING_CAME),
    ("silent", NOTHING_CAME),
    ("slow", NO_FILE),
    ("offers", NOTHING_CAME),
    ("begun-files", NOTHING_CAME),
    ("heartbeats", NOTHING_CAME),
    ("closed-window", NOTHING_CAME),
    ("window-games", NOTHING_CAME),
];
const NO_FILE: &str = "payload protocol identifier";
/// A receiver by ticket gives those who do not prove who they are 20 seconds.
const BY_TICKET: f64 = 20.0;
/// Seconds for which they are there.
const LATEST_BY_TICKET: &str = "24";
const NO_TLS: &str = "no TLS within";
/// What the attack says of those that were there at its end.
const STAYS: &str = "it stays";

pub(super) fn measure(tools: &Tools, _: &Arguments, verdict: &mut Verdict) -> Result<Value> {
    let mut figures = Map::new();
    for (what, reason) in KINDS {
        let port = free_udp_port()?;
        let to = format!("127.0.0.1:{port}");
        let _receiver = tools.recv(&to, &["--give-up", &format!("{GIVE_UP}s")])?;
        let all = ASSOCIATIONS.to_string();
        let words = ["hold", what, "--to", &to, "--associations", &all];
        let mut command = tools.hostile(&words);
        command.args(["--burst", "2", "--seconds", &(LATEST + 2.0).to_string()]);
        let line = json_of(&mut command)?;
        let seconds = |which: &str| line[format!("seconds_until_ended_{which}")].as_f64();
        let let_go = LetGo {
            up: line["established"].as_u64().context("no number")?,
            reasons: &line["reasons"],
            times: seconds("first").zip(seconds("last")),
        };
        let earliest = match reason {
            NO_FILE => 0.0,
            _ => GIVE_UP,
        };
        let_go.judge(what, reason, (earliest, LATEST), verdict);
        figures.insert(what.into(), line);
    }
    for way in ["silent", "half-and-silent"] {
        let line = by_ticket(tools, way)?;
        // Two numbers for each reason. Who was let go comes again, and stays until the end.
        let took = line["outcomes_took"].as_object().into_iter().flatten();
        let took = took.filter(|(why, _)| *why != STAYS);
        let took = took.filter_map(|(_, t)| t[0].as_f64().zip(t[1].as_f64()));
        let times = took.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
        let let_go = LetGo {
            up: ASSOCIATIONS,
            reasons: &line["outcomes"],
            times,
        };
        let latest: f64 = LATEST_BY_TICKET.parse()?;
        let name = format!("ticket-{way}");
        let_go.judge(&name, NO_TLS, (BY_TICKET, latest), verdict);
        let figure = json!({ "within_seconds": LATEST_BY_TICKET, "attack": line });
        figures.insert(name, figure);
    }
    Ok(Value::Object(figures))
}

/// How peers were let go.
struct LetGo<'a> {
    up: u64,
    /// How many for which reason.
    reasons: &'a Value,
    /// Seconds until the first one and the last one.
    times: Option<(f64, f64)>,
}

impl LetGo<'_> {
    /// All have to go for this reason, in this time.
    fn judge(
        &self,
        what: &str,
        reason: &str,
        (earliest, latest): (f64, f64),
        verdict: &mut Verdict,
    ) {
        let reasons = self.reasons.as_object().into_iter().flatten();
        let good = reasons.filter(|(why, _)| why.contains(reason));
        let good: u64 = good.filter_map(|(_, times)| times.as_u64()).sum();
        let up = self.up;
        eprintln!(
            "  {what}: {good} of {up} let go for '{reason}', after {:.2?} s",
            self.times
        );
        verdict.require(up == ASSOCIATIONS, || {
            format!("{what}: {up} of {ASSOCIATIONS} were set up")
        });
        verdict.require(good == up, || {
            let why = self.reasons;
            format!("{what}: {good} of {up} were let go for '{reason}'; the ends: {why}")
        });
        let (first, last) = self.times.unwrap_or((f64::NAN, f64::NAN));
        verdict.require(first >= earliest - MOMENT, || {
            format!("{what}: the first was let go after {first:.2} s, before {earliest} s")
        });
        verdict.require(last <= latest, || {
            format!("{what}: the last was let go after {last:.2} s, later than {latest} s")
        });
    }
}

/// Strangers who stop before they have proved anything.
fn by_ticket(tools: &Tools, way: &str) -> Result<Value> {
    let bind = format!("127.0.0.1:{}", free_udp_port()?);
    let (_receiver, ticket) = tools.recv_by_ticket(&bind, &[])?;
    let all = ASSOCIATIONS.to_string();
    let words = ["tls", way, "--ticket", &ticket, "--associations", &all];
    json_of(tools.hostile(&words).args(["--seconds", LATEST_BY_TICKET]))
}
