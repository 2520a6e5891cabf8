//! How long `byway recv` keeps peers that make no progress.

use super::super::Arguments;
use super::super::loopback::free_udp_port;
use super::Part;
use super::tools::Tools;
use anyhow::{Result, ensure};
use serde_json::{Map, Value};

/// The time that `--give-up` says, in seconds.
const GIVE_UP: f64 = 3.0;
/// Peers of each kind.
const ASSOCIATIONS: u64 = 50;
/// It is looked at from time to time.
const LATEST: f64 = 2.0 * GIVE_UP;

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
    Ok(Part {
        name: "patience",
        figures: Value::Object(figures),
        holds,
    })
}
