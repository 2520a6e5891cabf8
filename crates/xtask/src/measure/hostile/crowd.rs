//! A good transfer, and handshakes, beside 10,000 idle and beside 1,000 hostile associations; the same by
//! ticket beside 10,000 that were let in by it; and a transfer by ticket beside 1,000 strangers whose secret
//! is wrong.

use super::super::Arguments;
use super::super::transfer::free_udp_port;
use super::Part;
use super::tools::{Running, Tools, json_of, median, number, rounded};
use crate::process::run_quietly;
use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The least shares that are left.
const LEAST_RATE: f64 = 0.9;
const LEAST_HANDSHAKES: f64 = 0.8;
const MEGABYTES: u64 = 500;
/// Measurements of each receiver in a round.
const TURNS: usize = 5;
/// Processes that hold those who were let in by a ticket, and how many each: they need four descriptors each.
const PROCESSES: usize = 10;
const IN_EACH: usize = 1000;
/// Newcomers by ticket of one round. A host may ask 256 at once and 20 a second.
const NEWCOMERS: usize = 100;

pub(super) fn measure(tools: &Tools, arguments: &Arguments) -> Result<Part> {
    let mut figures = Map::new();
    let mut holds = true;
    for (name, what, associations) in [
        ("idle", "idle", "10000"),
        ("hostile", "window-games", "1000"),
    ] {
        let ports = [free_udp_port()?, free_udp_port()?];
        let [alone, beside] = ports.map(|port| format!("127.0.0.1:{port}"));
        let words = ["--give-up", "1h"];
        let _receivers = [tools.recv(&alone, &words)?, tools.recv(&beside, &words)?];
        let mut crowd = Crowd::gather(tools, &beside, what, associations)?;
        let wanted: u64 = associations.parse()?;
        ensure!(
            crowd.up == wanted,
            "{} of {wanted} associations were set up",
            crowd.up
        );
        let mut rounds = Vec::new();
        for _ in 0..arguments.runs {
            let both = [&alone[..], &beside];
            let transfers = in_turn(both, |to| transfer(tools, to))?;
            let handshakes = in_turn(both, |to| handshakes(tools, to))?;
            rounds.push((transfers, handshakes));
        }
        ensure!(crowd.is_alive()?, "the crowd ended before the measurement");
        crowd.end();
        let rates: Vec<f64> = rounds.iter().map(|(t, _)| t[1] / t[0]).collect();
        let hands: Vec<f64> = rounds.iter().map(|(_, h)| h[1] / h[0]).collect();
        let (rate, hand) = (median(rates.clone()), median(hands.clone()));
        holds &= rate >= LEAST_RATE && hand >= LEAST_HANDSHAKES;
        eprintln!(
            "  {name}: transfers {rate:.2} ({rates:.2?}), handshakes {hand:.2} ({hands:.2?})"
        );
        figures.insert(
            name.into(),
            json!({
                "associations": crowd.up,
                "transfer_ratio": rounded(rate),
                "handshake_ratio": rounded(hand),
                "mb_per_s_alone": median(rounds.iter().map(|(t, _)| t[0]).collect()).round(),
                "handshakes_per_s_alone": median(rounds.iter().map(|(_, h)| h[0]).collect()).round(),
            }),
        );
    }
    let (rate, hand, figure) = idle_by_ticket(tools, arguments)?;
    holds &= rate >= LEAST_RATE && hand >= LEAST_HANDSHAKES;
    figures.insert("idle_by_ticket".into(), figure);
    let (rate, figure) = by_ticket(tools, arguments)?;
    holds &= rate >= LEAST_RATE;
    figures.insert("handshakes_by_ticket".into(), figure);
    Ok(Part {
        name: "crowd",
        figures: Value::Object(figures),
        holds,
    })
}

/// What a transfer by ticket, and newcomers by ticket, keep beside those who were let in by it and say nothing.
fn idle_by_ticket(tools: &Tools, arguments: &Arguments) -> Result<(f64, f64, Value)> {
    let ports = [free_udp_port()?, free_udp_port()?];
    let [alone, beside] = ports.map(|port| (port, format!("127.0.0.1:{port}")));
    let words = ["--give-up", "1h"];
    let (_first, alone_ticket) = tools.recv_by_ticket(&alone.1, &words)?;
    let (_second, beside_ticket) = tools.recv_by_ticket(&beside.1, &words)?;
    let mut crowd = Vec::new();
    for _ in 0..PROCESSES {
        let mut command = let_in(tools, &beside, IN_EACH);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let child = command.spawn().context("cannot start the crowd")?;
        crowd.push(Crowd::of(child, |line| {
            let took = line["took"].as_array();
            Ok(took.context("no times of the crowd")?.len() as u64)
        })?);
    }
    let up: u64 = crowd.iter().map(|c| c.up).sum();
    let (mut rates, mut hands, mut of_alone) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..arguments.runs {
        let both = [&alone_ticket[..], &beside_ticket];
        let [one, two] = in_turn(both, |to| transfer(tools, to))?;
        let [first, second] = [newcomers(tools, &alone)?, newcomers(tools, &beside)?];
        rates.push(two / one);
        hands.push(second / first);
        of_alone.push((one, first));
    }
    for part in &mut crowd {
        ensure!(part.is_alive()?, "the crowd ended before the measurement");
    }
    let (rate, hand) = (median(rates.clone()), median(hands.clone()));
    eprintln!(
        "  idle, by ticket: transfers {rate:.2} ({rates:.2?}), let in {hand:.2} ({hands:.2?})"
    );
    let figure = json!({
        "associations": up,
        "transfer_ratio": rounded(rate),
        "handshake_ratio": rounded(hand),
        "mb_per_s_alone": median(of_alone.iter().map(|a| a.0).collect()).round(),
        "let_in_per_s_alone": median(of_alone.iter().map(|a| a.1).collect()).round(),
    });
    Ok((rate, hand, figure))
}

/// Those who are let in by the ticket of the receiver at this port and address, one after the other.
fn let_in(tools: &Tools, (port, at): &(u16, String), associations: usize) -> Command {
    let mut command = Command::new(&tools.bench);
    command.args(["idle-crowd", "--port", &port.to_string()]);
    command.args(["--associations", &associations.to_string(), "--ticket"]);
    command.arg(tools.ticket_file(at));
    command
}

/// How many newcomers are let in a second, one after the other.
fn newcomers(tools: &Tools, to: &(u16, String)) -> Result<f64> {
    let line = json_of(let_in(tools, to, NEWCOMERS).arg("--leave"))?;
    number(&line, "per_second")
}

/// What a transfer by ticket keeps beside strangers who shake hands without a pause and do not know the
/// secret. They are there as well while the receiver that is left alone is measured, as they take processors
/// themselves.
fn by_ticket(tools: &Tools, arguments: &Arguments) -> Result<(f64, Value)> {
    let ports = [free_udp_port()?, free_udp_port()?];
    let [alone, beside] = ports.map(|port| format!("127.0.0.1:{port}"));
    let (_first, alone) = tools.recv_by_ticket(&alone, &[])?;
    let (_second, beside) = tools.recv_by_ticket(&beside, &[])?;
    let quiet = transfer(tools, &alone)?;
    let mut attack = tools.hostile(&["tls", "wrong-secret", "--ticket", &beside]);
    attack.args(["--associations", "1000", "--sources", "16"]);
    attack.args(["--seconds", "600"]).stdout(Stdio::null());
    let mut attack = Running::start(attack)?;
    std::thread::sleep(Duration::from_secs(3));
    let mut rounds = Vec::new();
    for _ in 0..arguments.runs {
        rounds.push(in_turn([&alone, &beside], |to| transfer(tools, to))?);
    }
    ensure!(
        attack.is_alive()?,
        "the strangers ended before the measurement"
    );
    let rates: Vec<f64> = rounds.iter().map(|t| t[1] / t[0]).collect();
    let rate = median(rates.clone());
    let unrelated = median(rounds.iter().map(|t| t[0]).collect()).round();
    eprintln!(
        "  by ticket, 1000 with a wrong secret: transfers {rate:.2} ({rates:.2?}), {unrelated} MB/s where \
         they attack another receiver, {quiet:.0} without them"
    );
    let figure = json!({
        "strangers": 1000,
        "transfer_ratio": rounded(rate),
        "mb_per_s_unrelated": unrelated,
        "mb_per_s_without": quiet.round(),
    });
    Ok((rate, figure))
}

/// The mean of a figure of two receivers, measured in turn several times, so that what else the machine does meets both
/// alike.
fn in_turn(both: [&str; 2], figure: impl Fn(&str) -> Result<f64>) -> Result<[f64; 2]> {
    let mut sums = [0.0; 2];
    for turn in 0..TURNS {
        let first = turn % 2;
        for which in [first, 1 - first] {
            sums[which] += figure(both[which])?;
        }
    }
    Ok(sums.map(|sum| sum / TURNS as f64))
}

/// The rate of `byway send` in megabytes a second, set-up and SHA-256 included.
fn transfer(tools: &Tools, to: &str) -> Result<f64> {
    let file = tools.folder.join("crowd.bin");
    std::fs::File::create(&file)?.set_len(MEGABYTES * 1_000_000)?;
    let begun = Instant::now();
    let mut send = Command::new(&tools.byway);
    run_quietly(send.args(["send", "--quiet", "--to", to]).arg(&file))?;
    Ok(MEGABYTES as f64 / begun.elapsed().as_secs_f64())
}

/// Handshakes a second, one after the other.
fn handshakes(tools: &Tools, to: &str) -> Result<f64> {
    let line = tools.attack(&["handshakes", "--to", to, "--seconds", "1"])?;
    number(&line, "per_second")
}

/// The associations beside which is measured.
struct Crowd {
    child: Option<Child>,
    up: u64,
}

impl Crowd {
    /// Starts it and waits until all are up.
    fn gather(tools: &Tools, to: &str, what: &str, associations: &str) -> Result<Crowd> {
        let mut command = tools.hostile(&["hold", what, "--to", to, "--ready"]);
        command.args(["--associations", associations, "--sources", "16"]);
        command.args(["--seconds", "600"]).stdout(Stdio::piped());
        let child = command.spawn().context("cannot start the crowd")?;
        Crowd::of(child, |line| Ok(number(line, "ready")? as u64))
    }

    /// One that was started, and says in its first line how many are up.
    fn of(mut child: Child, up: impl Fn(&Value) -> Result<u64>) -> Result<Crowd> {
        let output = child.stdout.take().context("no output")?;
        let mut crowd = Crowd {
            child: Some(child),
            up: 0,
        };
        let mut first = String::new();
        BufReader::new(output).read_line(&mut first)?;
        crowd.up = up(&serde_json::from_str(&first).context("the crowd is not up")?)?;
        Ok(crowd)
    }

    /// Whether it still holds its associations.
    fn is_alive(&mut self) -> Result<bool> {
        let child = self.child.as_mut().context("it was ended")?;
        Ok(child.try_wait()?.is_none())
    }

    fn end(&mut self) {
        if let Some(child) = self.child.take() {
            drop(Running::of(child));
        }
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        self.end();
    }
}
