//! How long `byway recv` keeps peers that make no progress.

use super::super::Arguments;
use super::super::transfer::free_udp_port;
use super::Part;
use super::tools::Tools;
use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};

/// The time that `--give-up` says, in seconds.
const GIVE_UP: f64 = 3.0;
/// Peers of each kind.
const ASSOCIATIONS: u64 = 50;
/// It is looked at from time to time.
const LATEST: f64 = 2.0 * GIVE_UP;
/// Seconds in which a receiver by ticket lets go who does not prove who it is: it gives them 20.
const LATEST_BY_TICKET: &str = "24";

pub(super) fn measure(tools: &Tools, _: &Arguments) -> Result<Part> {
    let mut figures = Map::new();
    let mut holds = true;
    for what in [
        "idle",
        "silent",
        "slow",
        "heartbeats",
        "closed-window",
        "window-games",
    ] {
        let port = free_udp_port()?;
        let to = format!("127.0.0.1:{port}");
        let _receiver = tools.recv(&to, &["--give-up", &format!("{GIVE_UP}s")])?;
        let all = ASSOCIATIONS.to_string();
        let words = ["hold", what, "--to", &to, "--associations", &all];
        let mut command = tools.hostile(&words);
        command.args(["--burst", "2", "--seconds", &(LATEST + 2.0).to_string()]);
        let line = super::tools::json_of(&mut command)?;
        let (up, ended) = (&line["established"], &line["ended_by_the_other_side"]);
        let last = line["seconds_until_ended_last"].as_f64();
        ensure!(
            up == ASSOCIATIONS,
            "{what}: {up} of {ASSOCIATIONS} were set up"
        );
        holds &= up == ended && last.is_some_and(|s| s <= LATEST);
        eprintln!("  {what}: {ended} of {up} let go, the last after {last:?} s");
        figures.insert(what.into(), line);
    }
    for way in ["silent", "half-and-silent"] {
        let (line, let_go) = by_ticket(tools, way)?;
        holds &= let_go == ASSOCIATIONS;
        eprintln!(
            "  by ticket, {way}: {let_go} of {ASSOCIATIONS} let go within {LATEST_BY_TICKET} s"
        );
        let figure =
            json!({ "let_go": let_go, "within_seconds": LATEST_BY_TICKET, "attack": line });
        figures.insert(format!("ticket-{way}"), figure);
    }
    Ok(Part {
        name: "patience",
        figures: Value::Object(figures),
        holds,
    })
}

/// Strangers who stop before they have proved anything: how many of them were let go.
fn by_ticket(tools: &Tools, way: &str) -> Result<(Value, u64)> {
    let bind = format!("127.0.0.1:{}", free_udp_port()?);
    let (_receiver, ticket) = tools.recv_by_ticket(&bind, &[])?;
    let all = ASSOCIATIONS.to_string();
    let words = ["tls", way, "--ticket", &ticket, "--associations", &all];
    let mut command = tools.hostile(&words);
    let line = super::tools::json_of(command.args(["--seconds", LATEST_BY_TICKET]))?;
    let outcomes = line["outcomes"].as_object();
    let told = outcomes.into_iter().flatten();
    let let_go = told.filter(|(why, _)| why.contains("no TLS within"));
    let let_go = let_go.filter_map(|(_, times)| times.as_u64()).sum();
    Ok((line, let_go))
}
