//! A good transfer, and handshakes, beside 10,000 idle associations, beside 1,000 that play with windows, beside
//! 1,000 of six kinds and beside 500 that want more memory than there is; the same by ticket beside 10,000 that were let in by it; and a transfer by ticket beside 1,000
//! strangers whose secret is wrong. The receiver has to tell before and after each round that it has them.

use super::super::Arguments;
use super::super::transfer::free_udp_port;
use super::Verdict;
use super::tools::{Running, Tools, json_of, median, number, rounded};
use crate::process::{last_json, run_quietly};
use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
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

/// Strangers whose secret is wrong: what is refused of them between two looks, at least. Their host may be refused
/// 25 a second.
const LEAST_REFUSED: u64 = 100;

/// A crowd of `hold`.
struct Kind {
    name: &'static str,
    what: &'static str,
    associations: &'static str,
    words: &'static [&'static str],
    /// What the receivers are told for it.
    told: &'static [&'static str],
    /// Packets a second that it has to send, all together.
    least: f64,
    /// The least share of it that has to be there, and is not let go.
    least_there: f64,
    /// Whether memory has to be scarce: DATA is dropped for it in each round.
    scarce: bool,
}

/// Each association of the last four sends ten times a second; a restart is two packets. The mixed ones reach three quarters of
/// the ceiling, where restarts are refused, or stay below it; there one of them may be under way. The hoarders want
/// more than there is, so some are let go for newcomers.
const KINDS: [Kind; 5] = [
    Kind {
        name: "idle",
        what: "idle",
        associations: "10000",
        words: &[],
        told: &[],
        least: 0.0,
        least_there: 1.0,
        scarce: false,
    },
    Kind {
        name: "window_games",
        what: "window-games",
        associations: "1000",
        words: &[],
        told: &[],
        least: 8000.0,
        least_there: 1.0,
        scarce: false,
    },
    Kind {
        name: "mixed",
        what: "mixed",
        associations: "1000",
        words: &["--burst", "1"],
        told: &[],
        least: 8000.0,
        least_there: 0.8,
        scarce: false,
    },
    Kind {
        name: "mixed_below_the_ceiling",
        what: "mixed",
        associations: "1000",
        words: &["--burst", "1"],
        told: &["--max-memory", "4 GiB"],
        least: 8000.0,
        least_there: 0.99,
        scarce: false,
    },
    Kind {
        name: "hoarders",
        what: "gaps",
        associations: "500",
        words: &["--burst", "1"],
        told: &[],
        least: 4000.0,
        least_there: 0.8,
        scarce: true,
    },
];

pub(super) fn measure(
    tools: &Tools,
    arguments: &Arguments,
    verdict: &mut Verdict,
) -> Result<Value> {
    let mut figures = Map::new();
    for kind in &KINDS {
        figures.insert(kind.name.into(), beside(tools, arguments, kind, verdict)?);
    }
    let by_ticket = idle_by_ticket(tools, arguments, verdict)?;
    figures.insert("idle_by_ticket".into(), by_ticket);
    let strangers = strangers_by_ticket(tools, arguments, verdict)?;
    figures.insert("handshakes_by_ticket".into(), strangers);
    Ok(Value::Object(figures))
}

/// What is left of the rates of transfers and of handshakes.
struct Shares {
    name: String,
    rates: Vec<f64>,
    hands: Vec<f64>,
}

impl Shares {
    /// Judges them; both medians.
    fn judge(&self, verdict: &mut Verdict) -> [f64; 2] {
        let Shares { name, rates, hands } = self;
        let (rate, hand) = (median(rates.clone()), median(hands.clone()));
        eprintln!(
            "  {name}: transfers {rate:.2} ({rates:.2?}), handshakes {hand:.2} ({hands:.2?})"
        );
        verdict.require(rate >= LEAST_RATE, || {
            format!("{name}: {rate:.2} of the rate of transfers are left, not {LEAST_RATE}")
        });
        verdict.require(hand >= LEAST_HANDSHAKES, || {
            format!("{name}: {hand:.2} of the rate of handshakes are left, not {LEAST_HANDSHAKES}")
        });
        [rate, hand].map(rounded)
    }
}

/// Requires that the receiver has this share of the crowd.
fn there(
    receiver: &Running,
    (crowd, share): (u64, f64),
    name: &str,
    verdict: &mut Verdict,
) -> Result<u64> {
    let there = receiver.associations()?;
    verdict.require(there as f64 >= crowd as f64 * share, || {
        format!("{name}: the receiver has {there} associations, and the crowd {crowd}")
    });
    Ok(there)
}

/// Waits until memory is scarce, if it is to be. Returns how many DATA chunks were dropped for that.
fn full(receiver: &Running, kind: &Kind) -> Result<u64> {
    let begun = Instant::now();
    loop {
        let dropped = receiver.refused("data_shed")?;
        if !kind.scarce || dropped > 0 {
            return Ok(dropped);
        }
        let name = kind.name;
        ensure!(
            begun.elapsed() < Duration::from_secs(60),
            "{name}: memory is not scarce after a minute"
        );
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What transfers and handshakes keep beside a crowd.
fn beside(
    tools: &Tools,
    arguments: &Arguments,
    kind: &Kind,
    verdict: &mut Verdict,
) -> Result<Value> {
    let ports = [free_udp_port()?, free_udp_port()?];
    let [alone, beside] = ports.map(|port| format!("127.0.0.1:{port}"));
    let words = [&["--give-up", "1h"], kind.told].concat();
    let _alone = tools.recv(&alone, &words)?;
    let receiver = tools.recv(&beside, &words)?;
    let name = kind.name;
    let crowd = Crowd::gather(tools, &beside, kind)?;
    let (up, wanted): (u64, u64) = (crowd.up, kind.associations.parse()?);
    verdict.require(up == wanted, || {
        format!("{name}: {up} of {wanted} associations were set up")
    });
    let mut rounds = Vec::new();
    let all = (up, kind.least_there);
    let mut least_there = there(&receiver, all, name, verdict)?;
    let mut dropped = full(&receiver, kind)?;
    for _ in 0..arguments.runs {
        let both = [&alone[..], &beside];
        let transfers = in_turn(both, |to| transfer(tools, to))?;
        let handshakes = in_turn(both, |to| handshakes(tools, to))?;
        rounds.push((transfers, handshakes));
        least_there = least_there.min(there(&receiver, all, name, verdict)?);
        let before = std::mem::replace(&mut dropped, receiver.refused("data_shed")?);
        verdict.require(!kind.scarce || dropped > before, || {
            format!("{name}: memory was not scarce in a round")
        });
    }
    let told = crowd.end()?;
    let ended = number(&told, "ended_by_the_other_side")?;
    verdict.require(ended <= up as f64 * (1.0 - kind.least_there), || {
        format!("{name}: {ended} of {up} were let go: {}", told["reasons"])
    });
    let packets = number(&told, "packets_per_second")?;
    verdict.require(packets >= kind.least, || {
        let least = kind.least;
        format!("{name}: the crowd sent {packets:.0} packets a second, not {least}")
    });
    let shares = Shares {
        name: name.to_owned(),
        rates: rounds.iter().map(|(t, _)| t[1] / t[0]).collect(),
        hands: rounds.iter().map(|(_, h)| h[1] / h[0]).collect(),
    };
    let [rate, hand] = shares.judge(verdict);
    eprintln!("  {name}: {packets:.0} packets a second, {least_there} there at least");
    Ok(json!({
        "associations": up,
        "associations_there_at_least": least_there,
        "packets_per_second": packets.round(),
        "data_dropped_for_memory": dropped,
        "ended": ended,
        "transfer_ratio": rate,
        "handshake_ratio": hand,
        "mb_per_s_alone": median(rounds.iter().map(|(t, _)| t[0]).collect()).round(),
        "handshakes_per_s_alone": median(rounds.iter().map(|(_, h)| h[0]).collect()).round(),
    }))
}

/// What a transfer by ticket, and newcomers by ticket, keep beside those who were let in by it and say nothing.
fn idle_by_ticket(tools: &Tools, arguments: &Arguments, verdict: &mut Verdict) -> Result<Value> {
    let ports = [free_udp_port()?, free_udp_port()?];
    let [alone, beside] = ports.map(|port| (port, format!("127.0.0.1:{port}")));
    let words = ["--give-up", "1h"];
    let (_first, alone_ticket) = tools.recv_by_ticket(&alone.1, &words)?;
    let (receiver, beside_ticket) = tools.recv_by_ticket(&beside.1, &words)?;
    let mut crowd = Vec::new();
    for _ in 0..PROCESSES {
        crowd.push(Crowd::start(let_in(tools, &beside, IN_EACH), |line| {
            let took = line["took"].as_array();
            Ok(took.context("no times of the crowd")?.len() as u64)
        })?);
    }
    let (up, name) = (crowd.iter().map(|c| c.up).sum(), "idle by ticket");
    let mut least_there = there(&receiver, (up, 1.0), name, verdict)?;
    let (mut rates, mut hands, mut of_alone) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..arguments.runs {
        let both = [&alone_ticket[..], &beside_ticket];
        let [one, two] = in_turn(both, |to| transfer(tools, to))?;
        let [first, second] = [newcomers(tools, &alone)?, newcomers(tools, &beside)?];
        rates.push(two / one);
        hands.push(second / first);
        of_alone.push((one, first));
        least_there = least_there.min(there(&receiver, (up, 1.0), name, verdict)?);
    }
    let mut alive = 0.0;
    for part in crowd {
        alive += number(&part.end()?, "alive")?;
    }
    verdict.require(alive == up as f64, || {
        format!("{name}: {alive} of the {up} peers say that they are still there")
    });
    let shares = Shares {
        name: name.to_owned(),
        rates,
        hands,
    };
    let [rate, hand] = shares.judge(verdict);
    Ok(json!({
        "associations": up,
        "associations_there_at_least": least_there,
        "alive_at_the_end": alive,
        "transfer_ratio": rate,
        "handshake_ratio": hand,
        "mb_per_s_alone": median(of_alone.iter().map(|a| a.0).collect()).round(),
        "let_in_per_s_alone": median(of_alone.iter().map(|a| a.1).collect()).round(),
    }))
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
fn strangers_by_ticket(
    tools: &Tools,
    arguments: &Arguments,
    verdict: &mut Verdict,
) -> Result<Value> {
    let ports = [free_udp_port()?, free_udp_port()?];
    let [alone, beside] = ports.map(|port| format!("127.0.0.1:{port}"));
    let (_first, alone) = tools.recv_by_ticket(&alone, &[])?;
    let (receiver, beside) = tools.recv_by_ticket(&beside, &[])?;
    let quiet = transfer(tools, &alone)?;
    let mut attack = tools.hostile(&["tls", "wrong-secret", "--ticket", &beside]);
    attack.args(["--associations", "1000", "--sources", "16"]);
    attack.args(["--seconds", "600"]).stdout(Stdio::null());
    let mut attack = Running::start(attack)?;
    std::thread::sleep(Duration::from_secs(3));
    let refused = || receiver.refused("handshakes_refused");
    let (mut rounds, mut before, mut least_refused) = (Vec::new(), refused()?, u64::MAX);
    for _ in 0..arguments.runs {
        rounds.push(in_turn([&alone, &beside], |to| transfer(tools, to))?);
        let now = refused()?;
        least_refused = least_refused.min(now - before);
        before = now;
    }
    let refused = before;
    verdict.require(least_refused >= LEAST_REFUSED, || {
        format!(
            "by ticket: {least_refused} handshakes were refused in a round, not {LEAST_REFUSED}"
        )
    });
    ensure!(
        attack.is_alive()?,
        "the strangers ended before the measurement"
    );
    let rates: Vec<f64> = rounds.iter().map(|t| t[1] / t[0]).collect();
    let rate = median(rates.clone());
    let unrelated = median(rounds.iter().map(|t| t[0]).collect()).round();
    eprintln!(
        "  by ticket, 1000 with a wrong secret: transfers {rate:.2} ({rates:.2?}), {unrelated} MB/s where \
         they attack another receiver, {quiet:.0} without them; {refused} handshakes refused"
    );
    verdict.require(rate >= LEAST_RATE, || {
        format!("by ticket, beside strangers: {rate:.2} of the rate are left, not {LEAST_RATE}")
    });
    Ok(json!({
        "strangers": 1000,
        "handshakes_refused": refused,
        "handshakes_refused_in_a_round_at_least": least_refused,
        "transfer_ratio": rounded(rate),
        "mb_per_s_unrelated": unrelated,
        "mb_per_s_without": quiet.round(),
    }))
}

/// The mean of a figure of two receivers, measured in turn several times, so that what else the machine does meets both
/// alike. It is 0 where it cannot be had of the second one, which is beside the crowd.
fn in_turn(both: [&str; 2], figure: impl Fn(&str) -> Result<f64>) -> Result<[f64; 2]> {
    let mut sums = [0.0; 2];
    for turn in 0..TURNS {
        let first = turn % 2;
        for which in [first, 1 - first] {
            match figure(both[which]) {
                Ok(figure) => sums[which] += figure,
                // Nothing is left of it.
                Err(error) if which == 1 => eprintln!("  beside: {error:#}"),
                Err(error) => return Err(error),
            }
        }
    }
    Ok(sums.map(|sum| sum / TURNS as f64))
}

/// The rate of `byway send` in megabytes a second, set-up and SHA-256 included.
fn transfer(tools: &Tools, to: &str) -> Result<f64> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // Of a file whose name the receiver has not seen: what it has of a sender is not sent again.
    let name = format!("crowd-{}.bin", NEXT.fetch_add(1, Ordering::Relaxed));
    let (file, came) = (tools.folder.join(&name), tools.inbox().join(&name));
    std::fs::File::create(&file)?.set_len(MEGABYTES * 1_000_000)?;
    let begun = Instant::now();
    let mut send = Command::new(&tools.byway);
    run_quietly(
        send.args(["send", "--quiet", "--retries", "0", "--to", to])
            .arg(&file),
    )?;
    let took = begun.elapsed().as_secs_f64();
    let length = std::fs::metadata(&came)?.len();
    ensure!(length == MEGABYTES * 1_000_000, "{length} bytes came");
    std::fs::remove_file(file)?;
    std::fs::remove_file(came)?;
    Ok(MEGABYTES as f64 / took)
}

/// Handshakes a second, one after the other.
fn handshakes(tools: &Tools, to: &str) -> Result<f64> {
    let line = tools.attack(&["handshakes", "--to", to, "--seconds", "1"])?;
    number(&line, "per_second")
}

/// The associations beside which is measured: a process that ends with its standard input.
pub(super) struct Crowd {
    child: Option<Child>,
    says: BufReader<ChildStdout>,
    /// How many came up.
    pub(super) up: u64,
}

impl Crowd {
    /// Starts it and waits until all are up.
    fn gather(tools: &Tools, to: &str, kind: &Kind) -> Result<Crowd> {
        Crowd::hold(tools, to, kind.what, kind.associations, kind.words)
    }

    /// So many that do nothing.
    pub(super) fn idle(tools: &Tools, to: &str, associations: u64) -> Result<Crowd> {
        Crowd::hold(tools, to, "idle", &associations.to_string(), &[])
    }

    fn hold(tools: &Tools, to: &str, what: &str, all: &str, words: &[&str]) -> Result<Crowd> {
        let mut command = tools.hostile(&["hold", what, "--to", to, "--ready"]);
        command.args(["--associations", all, "--sources", "16"]);
        command.args(["--seconds", "600"]).args(words);
        Crowd::start(command, |line| Ok(number(line, "ready")? as u64))
    }

    /// One that says in its first line how many are up.
    fn start(mut command: Command, up: impl Fn(&Value) -> Result<u64>) -> Result<Crowd> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().context("cannot start the crowd")?;
        let says = BufReader::new(child.stdout.take().context("no output")?);
        let mut crowd = Crowd {
            child: Some(child),
            says,
            up: 0,
        };
        let mut first = String::new();
        crowd.says.read_line(&mut first)?;
        crowd.up = up(&serde_json::from_str(&first).context("the crowd is not up")?)?;
        Ok(crowd)
    }

    /// Ends it; what it says last. One that has ended before is an error.
    pub(super) fn end(mut self) -> Result<Value> {
        let child = self.child.as_mut().context("it was ended")?;
        ensure!(
            child.try_wait()?.is_none(),
            "the crowd ended before the measurement"
        );
        drop(child.stdin.take());
        let mut rest = String::new();
        self.says.read_to_string(&mut rest)?;
        let status = child.wait()?;
        self.child = None;
        ensure!(status.success(), "the crowd ended with {status}");
        last_json(&rest).context("no last line of the crowd")
    }
}

impl Drop for Crowd {
    fn drop(&mut self) {
        if let Some(child) = self.child.take() {
            drop(Running::of(child));
        }
    }
}
