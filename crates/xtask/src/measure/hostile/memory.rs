//! Resident memory of `byway recv` at its ceiling and after, for each way of `byway-hostile hold`.

use super::super::Arguments;
use super::super::transfer::free_udp_port;
use super::Part;
use super::tools::{Running, Tools, number, rounded};
use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const MIB: f64 = 1024.0;
/// What the program may take beside it, and its allocator may keep in halves of pages: a fifth.
const BESIDE: f64 = 1.2;
/// Back to within this of the fresh process.
const BACK: f64 = 1.2;
/// The rules that let silent peers go take their time, and the allocator gives pages back within
/// ten seconds.
const SETTLE: Duration = Duration::from_secs(20);
/// Attacks that take longer are not waited for.
const LONGEST: Duration = Duration::from_secs(60);
/// Receivers that are attacked at the same time.
const AT_ONCE: usize = 3;
/// Each attack, and what the receiver is told for it.
const ATTACKS: [(&str, &[&str]); 12] = [
    ("gaps", &[]),
    ("beginnings", &[]),
    ("interleaved", &["--set", "streams.interleaving=true"]),
    ("ends-alone", &[]),
    ("errors", &[]),
    ("heartbeats", &[]),
    ("restart", &[]),
    ("closed-window", &[]),
    ("window-games", &[]),
    ("idle", &[]),
    ("silent", &[]),
    ("slow", &[]),
];
/// Those that make a receiver keep most, which come first.
const HOARDS: usize = 3;

/// A ceiling, in KiB, and what the receiver is told for it.
struct Ceiling {
    kib: f64,
    words: &'static [&'static str],
    /// The part of it that an attack must reach.
    least: f64,
}

const BY_DEFAULT: Ceiling = Ceiling {
    kib: 256.0 * MIB,
    words: &[],
    least: 0.0,
};
/// One that the attacks reach. Above seven eighths of the account chunks behind a gap are dropped, and the account has
/// more than is resident.
const LOW: Ceiling = Ceiling {
    kib: 64.0 * MIB,
    words: &["--max-memory", "64 MiB"],
    least: 0.7,
};

pub(super) fn measure(tools: &Tools, _: &Arguments) -> Result<Part> {
    // The build of users: how much of a program's file is in memory depends on the profile.
    let byway = tools.released()?;
    let mut holds = true;
    let mut run = |attacks: &[(&'static str, &[&str])], ceiling: &Ceiling| {
        let mut figures = Map::new();
        for group in attacks.chunks(AT_ONCE) {
            for (what, told) in attacked(tools, &byway, group, ceiling)? {
                eprintln!("  {:.0} MiB, {what}: {}", ceiling.kib / MIB, told.words());
                holds &= told.holds(ceiling);
                figures.insert(what.into(), told.json(ceiling));
            }
        }
        anyhow::Ok(Value::Object(figures))
    };
    let by_default = run(&ATTACKS, &BY_DEFAULT)?;
    let at_its_ceiling = run(&ATTACKS[..HOARDS], &LOW)?;
    Ok(Part {
        name: "memory",
        figures: json!({ "by_default": by_default, "at_its_ceiling": at_its_ceiling }),
        holds,
    })
}

/// Resident memory in KiB: all, and without the program's file.
struct Memory {
    all: f64,
    own: f64,
}

impl Memory {
    fn of(receiver: &Running) -> Result<Memory> {
        Ok(Memory {
            all: receiver.resident()?,
            own: receiver.anonymous()?,
        })
    }

    fn json(&self) -> Value {
        json!({ "kib": self.all, "anonymous_kib": self.own })
    }
}

/// What a receiver took.
struct Told {
    fresh: Memory,
    /// After a round of the same attack by 50 peers: what any first associations take.
    before: Memory,
    most: f64,
    after: Memory,
    alive: bool,
    attack: Value,
}

impl Told {
    fn holds(&self, ceiling: &Ceiling) -> bool {
        let reached = self.most >= ceiling.kib * ceiling.least && self.most <= ceiling.kib * BESIDE;
        self.alive && reached && self.after.all <= self.fresh.all * BACK
    }

    fn words(&self) -> String {
        let [fresh, before, after] = [&self.fresh, &self.before, &self.after];
        format!(
            "{:.0} KiB at first, {:.0} before, {:.0} at most, {:.0} after; without the program's file {:.0}, {:.0} \
             and {:.0}; {:.2} of the fresh process",
            fresh.all,
            before.all,
            self.most,
            after.all,
            fresh.own,
            before.own,
            after.own,
            after.all / fresh.all
        )
    }

    fn json(&self, ceiling: &Ceiling) -> Value {
        json!({
            "at_first": self.fresh.json(),
            "before": self.before.json(),
            "kib_most": self.most,
            "after": self.after.json(),
            "after_to_fresh": rounded(self.after.all / self.fresh.all),
            "most_to_ceiling": rounded(self.most / ceiling.kib),
            "alive": self.alive,
            "attack": self.attack,
        })
    }
}

/// A receiver for each attack, attacked at the same time.
fn attacked<'a>(
    tools: &Tools,
    byway: &Path,
    attacks: &[(&'a str, &[&str])],
    ceiling: &Ceiling,
) -> Result<Vec<(&'a str, Told)>> {
    let mut receivers = Vec::new();
    for (what, words) in attacks {
        let to = format!("127.0.0.1:{}", free_udp_port()?);
        let words = [&["--unprotected", "--give-up", "5s"], ceiling.words, words].concat();
        let receiver = tools.receiver_by(byway, &to, &words)?;
        receivers.push((*what, to, receiver));
    }
    let memory = || -> Result<Vec<Memory>> {
        let each = receivers
            .iter()
            .map(|(_, _, receiver)| Memory::of(receiver));
        each.collect()
    };
    let begin = |associations: &str, seconds: &str| -> Result<Vec<Running>> {
        let each = receivers.iter().map(|(what, to, _)| {
            let mut attack = tools.hostile(&["hold", what, "--to", to, "--sources", "16"]);
            attack.args(["--associations", associations, "--seconds", seconds]);
            start(attack)
        });
        each.collect()
    };
    let fresh = memory()?;
    begin("50", "2")?
        .into_iter()
        .try_for_each(|attack| attack.finish().map(|_| ()))?;
    std::thread::sleep(SETTLE);
    let before = memory()?;
    let attacks = begin("400", "15")?;
    let mut most = vec![0.0_f64; receivers.len()];
    let begun = Instant::now();
    while begun.elapsed() < LONGEST && attacks.iter().any(runs) {
        std::thread::sleep(Duration::from_millis(100));
        for (most, memory) in most.iter_mut().zip(memory()?) {
            *most = most.max(memory.all);
        }
    }
    let lines = attacks.into_iter().map(Running::finish);
    let lines = lines.collect::<Result<Vec<Value>>>()?;
    std::thread::sleep(SETTLE);
    let after = memory()?;
    let mut told = Vec::new();
    let rest = fresh.into_iter().zip(before).zip(most).zip(after);
    for (((what, _, mut receiver), attack), rest) in receivers.into_iter().zip(lines).zip(rest) {
        let up = number(&attack, "established")?;
        ensure!(up >= 100.0, "{what}: {up} of 400 were set up");
        let (((fresh, before), most), after) = rest;
        let alive = receiver.is_alive()?;
        told.push((
            what,
            Told {
                fresh,
                before,
                most,
                after,
                alive,
                attack,
            },
        ));
    }
    Ok(told)
}

fn start(mut attack: Command) -> Result<Running> {
    attack.stdout(Stdio::piped());
    Running::start(attack)
}

/// One that has ended has no memory.
fn runs(attack: &Running) -> bool {
    attack.resident().is_ok_and(|kib| kib > 0.0)
}
