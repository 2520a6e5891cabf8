//! Resident memory of `byway recv` and `serve`, at the ceiling and after, for the attacks of `byway-hostile` that make
//! them keep something: two equal rounds of each, and a third one if the second has left more than the first.

use super::super::Arguments;
use super::super::transfer::free_udp_port;
use super::Verdict;
use super::tools::{Running, Tools, number, rounded};
use anyhow::Result;
use serde_json::{Map, Value, json};
use std::net::TcpListener;
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
/// KiB that a process may have filled itself after a round more than after the one before, which was the same: a leak
/// of a kilobyte a peer shows, in each.
const MORE: f64 = 400.0;
/// Peers of a round.
const PEERS: u32 = 400;

/// Who is attacked.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Whom {
    Recv,
    /// A `recv` by ticket.
    Ticket,
    /// A `serve` without protection, whose target never answers.
    Serve,
}

/// An attack.
struct Attack {
    words: &'static [&'static str],
    whom: Whom,
    /// What the receiver is told for it.
    told: &'static [&'static str],
    /// What a round has to have done at least: these fields of the attack's line are at least as large.
    least: &'static [(&'static str, f64)],
}

impl Attack {
    const fn hold(words: &'static [&'static str], least: &'static [(&'static str, f64)]) -> Attack {
        Attack {
            words,
            whom: Whom::Recv,
            told: &[],
            least,
        }
    }

    const fn above(
        words: &'static [&'static str],
        whom: Whom,
        least: &'static [(&'static str, f64)],
    ) -> Attack {
        Attack {
            words,
            whom,
            told: &[],
            least,
        }
    }

    fn name(&self) -> String {
        let words = match self.words {
            ["hold", rest @ ..] => rest,
            all => all,
        };
        words.join("-")
    }
}

/// Those who make a receiver keep much have the ceiling against them before all are up.
const MANY: (&str, f64) = ("established", 100.0);
const ALL: (&str, f64) = ("established", PEERS as f64);
/// A receiver lets those go at once who break its protocol.
const ONE_EACH: (&str, f64) = ("packets", PEERS as f64);
const PACKETS: (&str, f64) = ("packets", 20_000.0);

const ATTACKS: [Attack; 21] = [
    Attack::hold(&["hold", "gaps"], &[MANY, PACKETS]),
    Attack::hold(&["hold", "beginnings"], &[MANY, PACKETS]),
    Attack {
        told: &["--set", "streams.interleaving=true"],
        ..Attack::hold(&["hold", "interleaved"], &[MANY, PACKETS])
    },
    Attack::hold(&["hold", "ends-alone"], &[ALL, ONE_EACH]),
    Attack::hold(&["hold", "errors"], &[ALL, PACKETS]),
    Attack::hold(&["hold", "heartbeats"], &[ALL, PACKETS]),
    Attack::hold(&["hold", "restart"], &[ALL, PACKETS]),
    // It acknowledges what comes, and nothing comes.
    Attack::hold(&["hold", "closed-window"], &[ALL]),
    Attack::hold(&["hold", "window-games"], &[ALL, PACKETS]),
    Attack::hold(&["hold", "idle"], &[ALL]),
    Attack::hold(&["hold", "silent"], &[ALL]),
    Attack::hold(&["hold", "slow"], &[ALL, ONE_EACH]),
    Attack::hold(&["hold", "begun-files"], &[ALL, ONE_EACH]),
    Attack::above(
        &["tls", "wrong-secret"],
        Whom::Ticket,
        &[("associations", 1000.0)],
    ),
    Attack::above(&["tls", "half"], Whom::Ticket, &[("associations", 1000.0)]),
    Attack::above(
        &["tls", "silent"],
        Whom::Ticket,
        &[("associations", PEERS as f64)],
    ),
    Attack::above(
        &["tls", "garbage"],
        Whom::Ticket,
        &[("associations", 1000.0)],
    ),
    Attack::above(&["tunnel", "opens"], Whom::Serve, &[("frames", 20_000.0)]),
    Attack::above(
        &["tunnel", "overflow"],
        Whom::Serve,
        &[("frames", 10_000.0)],
    ),
    Attack::above(&["tunnel", "resets"], Whom::Serve, &[("frames", 20_000.0)]),
    Attack::above(
        &["asconf", "addresses"],
        Whom::Recv,
        &[("packets", 5000.0), ("answers", 5000.0)],
    ),
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
/// One that the attacks reach. Above seven eighths of the account DATA beyond a share is dropped, and the account has
/// more than is resident.
const LOW: Ceiling = Ceiling {
    kib: 64.0 * MIB,
    words: &["--max-memory", "64 MiB"],
    least: 0.7,
};

pub(super) fn measure(tools: &Tools, _: &Arguments, verdict: &mut Verdict) -> Result<Value> {
    // The build of users: how much of a program's file is in memory depends on the profile.
    let byway = tools.released()?;
    let mut run = |attacks: &[Attack], ceiling: &Ceiling| {
        let mut figures = Map::new();
        for group in attacks.chunks(AT_ONCE) {
            for (attack, told) in group.iter().zip(attacked(tools, &byway, group, ceiling)?) {
                let name = format!("{:.0} MiB, {}", ceiling.kib / MIB, attack.name());
                eprintln!("  {name}: {}", told.words());
                told.judge(&name, attack, ceiling, verdict);
                figures.insert(attack.name(), told.json(ceiling));
            }
        }
        anyhow::Ok(Value::Object(figures))
    };
    let by_default = run(&ATTACKS, &BY_DEFAULT)?;
    let at_its_ceiling = run(&ATTACKS[..HOARDS], &LOW)?;
    Ok(json!({ "by_default": by_default, "at_its_ceiling": at_its_ceiling }))
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
    rounds: Vec<Round>,
    alive: bool,
}

/// A round of all peers.
struct Round {
    most: f64,
    after: Memory,
    attack: Value,
}

impl Told {
    fn judge(&self, name: &str, attack: &Attack, ceiling: &Ceiling, verdict: &mut Verdict) {
        verdict.require(self.alive, || format!("{name}: the receiver has ended"));
        for (n, round) in (1..).zip(&self.rounds) {
            let Round { most, after, .. } = round;
            let name = format!("{name}, round {n}");
            for (field, least) in attack.least {
                let did = number(&round.attack, field).unwrap_or(f64::NAN);
                verdict.require(did >= *least, || {
                    format!("{name}: {did} {field}, which shows less than {least} would")
                });
            }
            let (least, highest) = (ceiling.kib * ceiling.least, ceiling.kib * BESIDE);
            verdict.require(*most >= least, || {
                format!(
                    "{name}: {most:.0} KiB at most, and the ceiling is reached from {least:.0} on"
                )
            });
            verdict.require(*most <= highest, || {
                format!("{name}: {most:.0} KiB at most, and {highest:.0} are allowed")
            });
            let back = after.all / self.fresh.all;
            verdict.require(back <= BACK, || {
                format!("{name}: {back:.2} of the fresh process stay, and {BACK} may")
            });
        }
        let more = more(&self.rounds);
        verdict.require(more <= MORE, || {
            format!("{name}: {more:.0} KiB more after each further round, and {MORE} may be")
        });
    }

    fn words(&self) -> String {
        let [fresh, before] = [&self.fresh, &self.before];
        let mut words = format!(
            "{:.0} KiB at first, {:.0} before; of them its own {:.0} and {:.0}",
            fresh.all, before.all, fresh.own, before.own
        );
        for round in &self.rounds {
            let Round { most, after, .. } = round;
            words += &format!(
                "; {most:.0} at most, {:.0} after, its own {:.0}, {:.2} of the fresh process",
                after.all,
                after.own,
                after.all / fresh.all
            );
        }
        words
    }

    fn json(&self, ceiling: &Ceiling) -> Value {
        let rounds = self.rounds.iter().map(|round| {
            json!({
                "kib_most": round.most,
                "most_to_ceiling": rounded(round.most / ceiling.kib),
                "after": round.after.json(),
                "after_to_fresh": rounded(round.after.all / self.fresh.all),
                "attack": round.attack,
            })
        });
        json!({
            "at_first": self.fresh.json(),
            "before": self.before.json(),
            "rounds": rounds.collect::<Vec<_>>(),
            "alive": self.alive,
        })
    }
}

/// A receiver under attack.
struct Attacked<'a> {
    attack: &'a Attack,
    receiver: Running,
    to: String,
    ticket: Option<String>,
}

impl<'a> Attacked<'a> {
    fn start(
        tools: &Tools,
        byway: &Path,
        attack: &'a Attack,
        ceiling: &Ceiling,
        target: &str,
    ) -> Result<Attacked<'a>> {
        let to = format!("127.0.0.1:{}", free_udp_port()?);
        let file = tools.ticket_file(&to).display().to_string();
        let (command, words) = match attack.whom {
            Whom::Recv => ("recv", vec!["--unprotected"]),
            Whom::Ticket => ("recv", vec!["--uses", "any", "--ticket-to", &file]),
            Whom::Serve => ("serve", vec!["--unprotected", "--allow", target]),
        };
        let words = [&words[..], &["--give-up", "5s"], ceiling.words, attack.told].concat();
        let receiver = tools.waiting(byway, command, &to, &words)?;
        let ticket = (attack.whom == Whom::Ticket).then(|| tools.ticket(&to));
        Ok(Attacked {
            attack,
            receiver,
            ticket: ticket.transpose()?,
            to,
        })
    }

    /// Begins a round of so many peers and seconds.
    fn begin(&self, tools: &Tools, peers: u32, seconds: &str) -> Result<Running> {
        let mut attack = tools.hostile(self.attack.words);
        match &self.ticket {
            Some(ticket) => attack.args(["--ticket", ticket]),
            None => attack.args(["--to", &self.to]),
        };
        // Changes of addresses are those of one.
        if self.attack.words[0] != "asconf" {
            attack.args(["--associations", &peers.to_string(), "--sources", "16"]);
        }
        attack.args(["--seconds", seconds]);
        start(attack)
    }
}

/// A receiver for each attack, attacked at the same time.
/// KiB of its own that each further round has added at least.
fn more(rounds: &[Round]) -> f64 {
    let steps = rounds
        .windows(2)
        .map(|two| two[1].after.own - two[0].after.own);
    steps.reduce(f64::min).unwrap_or(0.0)
}

fn attacked(
    tools: &Tools,
    byway: &Path,
    attacks: &[Attack],
    ceiling: &Ceiling,
) -> Result<Vec<Told>> {
    // Nobody takes the connections: after the first ones the system lets them wait.
    let target = TcpListener::bind("127.0.0.1:0")?;
    let at = target.local_addr()?.to_string();
    let all = attacks
        .iter()
        .map(|attack| Attacked::start(tools, byway, attack, ceiling, &at));
    let all = all.collect::<Result<Vec<_>>>()?;
    let memory =
        || -> Result<Vec<Memory>> { all.iter().map(|a| Memory::of(&a.receiver)).collect() };
    let begin = |peers, seconds| -> Result<Vec<Running>> {
        all.iter().map(|a| a.begin(tools, peers, seconds)).collect()
    };
    let fresh = memory()?;
    for attack in begin(50, "2")? {
        attack.finish()?;
    }
    std::thread::sleep(SETTLE);
    let before = memory()?;
    let mut rounds = [const { Vec::<Round>::new() }; AT_ONCE];
    for round in 0..3 {
        if round == 2 && rounds.iter().all(|rounds| more(rounds) <= MORE) {
            break;
        }
        let attacks = begin(PEERS, "15")?;
        let mut most = vec![0.0_f64; all.len()];
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
        let of_each = most.into_iter().zip(memory()?).zip(lines);
        for (rounds, ((most, after), attack)) in rounds.iter_mut().zip(of_each) {
            rounds.push(Round {
                most,
                after,
                attack,
            });
        }
    }
    let of_each = fresh.into_iter().zip(before).zip(rounds);
    let told = all.into_iter().zip(of_each);
    let told = told.map(|(mut attacked, ((fresh, before), rounds))| {
        anyhow::Ok(Told {
            fresh,
            before,
            rounds,
            alive: attacked.receiver.is_alive()?,
        })
    });
    told.collect()
}

fn start(mut attack: Command) -> Result<Running> {
    attack.stdout(Stdio::piped());
    Running::start(attack)
}

/// One that has ended has no memory.
fn runs(attack: &Running) -> bool {
    attack.resident().is_ok_and(|kib| kib > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ATTACK: Attack = Attack::hold(&["hold", "gaps"], &[MANY, PACKETS]);

    fn memory(own: f64) -> Memory {
        Memory {
            all: 10_000.0 + own,
            own,
        }
    }

    /// A receiver that keeps a megabyte of its own after each round.
    fn good() -> Told {
        let round = || Round {
            most: 160_000.0,
            after: memory(2000.0),
            attack: json!({ "established": 400, "packets": 20_000 }),
        };
        Told {
            fresh: memory(1000.0),
            before: memory(1500.0),
            rounds: vec![round(), round()],
            alive: true,
        }
    }

    impl Told {
        /// So much stays after each of three rounds.
        fn grows(&mut self, own: [f64; 3]) {
            self.rounds = own
                .map(|own| Round {
                    after: memory(own),
                    ..good().rounds.remove(0)
                })
                .into();
        }
    }

    fn short(change: impl FnOnce(&mut Told), ceiling: &Ceiling) -> Vec<String> {
        let (mut told, mut verdict) = (good(), Verdict::default());
        change(&mut told);
        told.judge("gaps", &ATTACK, ceiling, &mut verdict);
        verdict.0
    }

    #[test]
    fn each_goal_of_memory_can_be_missed() {
        assert_eq!(short(|_| {}, &BY_DEFAULT), [""; 0]);
        type Change = fn(&mut Told);
        // What stays once is no leak.
        assert_eq!(
            short(|t| t.grows([2000.0, 2900.0, 2950.0]), &BY_DEFAULT),
            [""; 0]
        );
        let missed: [(Change, &str); 7] = [
            (|t| t.alive = false, "ended"),
            (|t| t.rounds[0].attack["packets"] = json!(19), "19 packets"),
            (
                |t| t.rounds[1].attack["established"] = json!(0),
                "0 established",
            ),
            (|t| t.rounds[1].most = 320_000.0, "are allowed"),
            (|t| t.rounds[0].after = memory(3300.0), "1.21 of the fresh"),
            // More than a kilobyte for each peer.
            (|t| t.rounds[1].after = memory(2450.0), "450 KiB more"),
            (|t| t.grows([2000.0, 2500.0, 3000.0]), "500 KiB more"),
        ];
        for (change, word) in missed {
            let short = short(change, &BY_DEFAULT);
            assert!(short.iter().any(|s| s.contains(word)), "{word}: {short:?}");
        }
        let far = short(|t| t.rounds[0].most = 30_000.0, &LOW);
        assert!(far.iter().any(|s| s.contains("is reached from")), "{far:?}");
    }
}
