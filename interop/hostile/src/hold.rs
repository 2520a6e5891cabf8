//! Associations that are set up and then misused, many at once.

use crate::Target;
use crate::file;
use crate::flood::counted;
use crate::peer::{End, Peer, Wish};
use anyhow::{Context, Result};
use byway_wire::{CauseWriter, Data, IData, Tsn};
use chacha20::ChaCha8Rng;
use chacha20::rand_core::SeedableRng;
use rand::RngExt;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read;
use std::net::{IpAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Streams on which messages begin.
const BEGUN_STREAMS: u16 = 2048;

/// What is done with an association that is up.
#[derive(Copy, Clone, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Misuse {
    /// Nothing but answers to heartbeats
    Idle,
    /// Nothing at all: heartbeats go unanswered
    Silent,
    /// One message of one byte a second
    Slow,
    /// An offer of a file in the protocol of `byway recv`, whose answer is not used
    Offers,
    /// The same, and the file begins: one byte of it comes
    BegunFiles,
    /// Everything that comes is acknowledged with a window of 0
    ClosedWindow,
    /// Windows that open by one byte and close again
    WindowGames,
    /// Fragments that end messages which never began
    EndsAlone,
    /// Messages of one byte, all but the first missing one
    Gaps,
    /// Messages that begin on every stream and never end
    Beginnings,
    /// The same in I-DATA (RFC 8260), several on a stream, for a receiver that takes it, such as `byway serve`
    Interleaved,
    /// ERRORs with long reasons, and packets of 360 empty ones
    Errors,
    /// HEARTBEATs without a pause
    Heartbeats,
    /// The peer restarts, again and again
    Restart,
    /// One after the other: window-games, gaps, beginnings, errors, heartbeats, restart
    Mixed,
}

impl Misuse {
    /// What the association number `n` of a crowd does.
    fn of(self, n: u32) -> Misuse {
        const MIXED: [Misuse; 6] = [
            Misuse::WindowGames,
            Misuse::Gaps,
            Misuse::Beginnings,
            Misuse::Errors,
            Misuse::Heartbeats,
            Misuse::Restart,
        ];
        match self {
            Misuse::Mixed => MIXED[n as usize % MIXED.len()],
            other => other,
        }
    }
}

/// How many associations, from where, for how long.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Crowd {
    /// First source address; the following ones are counted up from it
    #[arg(long, default_value = "127.88.0.1")]
    from: IpAddr,
    /// Source addresses
    #[arg(long, default_value_t = 1)]
    sources: u32,
    /// Associations, spread over the source addresses
    #[arg(long, default_value_t = 100)]
    associations: u32,
    /// Seconds for which they are kept
    #[arg(long, default_value_t = 10.0)]
    seconds: f64,
    /// Packets of each association in a turn, where the attack sends without a pause
    #[arg(long, default_value_t = 20)]
    burst: u32,
    /// Milliseconds of a turn [default: 1000 for idle and silent, else 100]
    #[arg(long)]
    turn: Option<u64>,
    /// Print a line as soon as all are up, and end with standard input
    #[arg(long)]
    ready: bool,
}

/// One association of the crowd.
struct Member {
    what: Misuse,
    peer: Option<Peer>,
    wish: Wish,
    up: Instant,
    /// Seconds until the other side ended it, and how.
    ended: Option<(f64, String)>,
    sent: u64,
}

impl Member {
    fn end(&mut self, why: String) {
        self.ended = Some((self.up.elapsed().as_secs_f64(), why));
        self.peer = None;
    }
}

/// Sets the crowd up, lets it misbehave, and reports how the other side took it.
pub(crate) fn run(what: Misuse, target: &Target, crowd: &Crowd) -> Result<Value> {
    let mut rng = ChaCha8Rng::from_seed([13; 32]);
    let (mut members, mut refusals) = (Vec::new(), BTreeMap::new());
    let begun = Instant::now();
    for n in 0..crowd.associations {
        let ip = counted(crowd.from, n % crowd.sources.max(1)).context("no such source")?;
        let socket = UdpSocket::bind((ip, 0)).with_context(|| format!("cannot bind {ip}"))?;
        let what = what.of(n);
        let wish = wish_of(what, &mut rng);
        match Peer::connect(socket, target, &wish, &mut rng) {
            Ok(peer) => members.push(Member {
                what,
                peer: Some(peer),
                wish,
                up: Instant::now(),
                ended: None,
                sent: 0,
            }),
            Err(error) => count(&mut refusals, error.to_string()),
        }
        if n % 64 == 63 {
            turn(&mut members, target, crowd, &mut rng)?;
        }
    }
    let set_up = begun.elapsed().as_secs_f64();
    let refused: u64 = refusals.values().sum();
    let over = Arc::new(AtomicBool::new(false));
    if crowd.ready {
        println!("{}", json!({ "ready": members.len(), "refused": refused }));
        let over = over.clone();
        std::thread::spawn(move || {
            // An error ends it as well.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            over.store(true, Ordering::Relaxed);
        });
    }
    let time = Duration::try_from_secs_f64(crowd.seconds)?;
    let pace = Duration::from_millis(crowd.turn.unwrap_or(match what {
        Misuse::Idle | Misuse::Silent => 1000,
        _ => 100,
    }));
    let packets = |members: &[Member]| members.iter().map(|m| m.sent).sum::<u64>();
    let (held, before, mut most_a_turn) = (Instant::now(), packets(&members), 0.0_f64);
    while held.elapsed() < time && !over.load(Ordering::Relaxed) {
        let begun = Instant::now();
        turn(&mut members, target, crowd, &mut rng)?;
        let took = begun.elapsed();
        most_a_turn = most_a_turn.max(took.as_secs_f64());
        let next = begun + pace;
        while Instant::now() < next && !over.load(Ordering::Relaxed) {
            let left = next.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
    }
    let seconds = held.elapsed().as_secs_f64();
    let sent = packets(&members);
    // What came meanwhile.
    for member in &mut members {
        listen(member)?;
    }
    let mut ends: Vec<f64> = Vec::new();
    let mut reasons = BTreeMap::new();
    for (seconds, why) in members.iter().filter_map(|m| m.ended.as_ref()) {
        ends.push(*seconds);
        count(&mut reasons, why.clone());
    }
    ends.sort_by(f64::total_cmp);
    Ok(json!({
        "established": members.len(),
        "refused": refused,
        "refusals": refusals,
        "set_up_seconds": set_up,
        "seconds": seconds,
        "packets": sent,
        "packets_per_second": (sent - before) as f64 / seconds,
        "ended_by_the_other_side": ends.len(),
        "reasons": reasons,
        "seconds_until_ended_first": ends.first(),
        "seconds_until_ended_median": ends.get(ends.len() / 2),
        "seconds_until_ended_last": ends.last(),
        "longest_turn": most_a_turn,
    }))
}

/// Counts a text, which is the other side's.
fn count(all: &mut BTreeMap<String, u64>, text: String) {
    if all.len() < 64 || all.contains_key(&text) {
        *all.entry(text).or_default() += 1;
    }
}

/// Reads what has come to a member, without an answer.
fn listen(member: &mut Member) -> Result<()> {
    if let Some(peer) = &mut member.peer
        && !peer.is_open()?
    {
        let why = peer.ended.as_ref().map(End::text).unwrap_or_default();
        member.end(why);
    }
    Ok(())
}

fn wish_of(what: Misuse, rng: &mut ChaCha8Rng) -> Wish {
    Wish {
        sctp_port: rng.random_range(1024..65_000),
        a_rwnd: match what {
            Misuse::ClosedWindow | Misuse::WindowGames => 1500,
            _ => 1 << 20,
        },
        streams: match what {
            Misuse::Beginnings | Misuse::Interleaved => BEGUN_STREAMS,
            _ => 10,
        },
        listed: Vec::new(),
        keyed: false,
        interleaved: what == Misuse::Interleaved,
    }
}

/// Every living member does its part.
fn turn(
    members: &mut [Member],
    target: &Target,
    crowd: &Crowd,
    rng: &mut ChaCha8Rng,
) -> Result<()> {
    for member in members {
        let what = member.what;
        let Some(peer) = &mut member.peer else {
            continue;
        };
        let window = match what {
            Misuse::ClosedWindow => Some(0),
            Misuse::WindowGames => Some(u32::from(rng.random_bool(0.5))),
            _ => Some(1 << 20),
        };
        match what {
            // It reads in order to learn of its end, but answers nothing.
            Misuse::Silent => listen(member)?,
            Misuse::Restart => {
                // An end that came before this turn is one; the restart would begin anew.
                listen(member)?;
                restart(member, target, rng)?;
            }
            _ if peer.live(window)? => act(peer, what, crowd, &mut member.sent)?,
            _ => {
                let why = peer.ended.as_ref().map(End::text).unwrap_or_default();
                member.end(why);
            }
        }
    }
    Ok(())
}

/// One turn of a misuse.
fn act(peer: &mut Peer, what: Misuse, crowd: &Crowd, sent: &mut u64) -> Result<()> {
    let times = match what {
        Misuse::Offers | Misuse::BegunFiles => u32::from(*sent == 0),
        Misuse::Slow => u32::from(sent.is_multiple_of(10)),
        Misuse::EndsAlone | Misuse::Gaps => crowd.burst,
        Misuse::Beginnings | Misuse::Interleaved => crowd.burst,
        Misuse::Errors | Misuse::Heartbeats => crowd.burst,
        Misuse::WindowGames => 1,
        _ => 0,
    };
    for _ in 0..times {
        match what {
            Misuse::Slow => peer.say(b"x")?,
            Misuse::Offers => file::offer(peer)?,
            Misuse::BegunFiles => {
                file::offer(peer)?;
                file::begin(peer)?;
            }
            Misuse::WindowGames => peer.acknowledge((*sent % 2) as u32)?,
            Misuse::EndsAlone => fragments(peer, 1, |d| (d.begin, d.end) = (false, true))?,
            // A beginning right behind another one would be a violation that shows.
            Misuse::Beginnings => fragments(peer, 2, |d| {
                (d.begin, d.end) = (true, false);
                d.stream_id = (d.tsn.0 / 2 % u32::from(BEGUN_STREAMS)) as u16;
            })?,
            Misuse::Interleaved => interleaved(peer, *sent as u32)?,
            Misuse::Gaps => {
                if *sent == 0 {
                    // The first chunk never comes.
                    peer.next = Tsn(peer.next.0.wrapping_add(1));
                }
                fragments(peer, 1, |d| d.ssn = (d.tsn.0 as u16).max(1))?;
            }
            Misuse::Errors if sent.is_multiple_of(2) => peer.send(|p| p.error(long_reasons))?,
            Misuse::Errors => peer.send(|p| {
                for _ in 0..360 {
                    p.error(|_| {});
                }
            })?,
            Misuse::Heartbeats => peer.send(|p| p.heartbeat(&[0x41; 1300]))?,
            _ => {}
        }
        *sent += 1;
    }
    if what == Misuse::Slow && times == 0 {
        *sent += 1;
    }
    Ok(())
}

/// As much as an event takes: four causes of control characters, each of which is shown as five.
fn long_reasons(causes: &mut CauseWriter<'_>) {
    for _ in 0..4 {
        causes.protocol_violation(&[1; 300]);
    }
}

/// A packet of 60 chunks of one byte, changed by `change`; their TSNs are `step` apart.
fn fragments(peer: &mut Peer, step: u32, change: impl Fn(&mut Data<'_>)) -> Result<()> {
    let first = peer.next.0;
    peer.send(|p| {
        for n in 0..60 {
            let tsn = Tsn(first.wrapping_add(n * step));
            let mut data = crate::packets::message(tsn, 0, b"x");
            change(&mut data);
            p.data(&data);
        }
    })?;
    peer.next = Tsn(first.wrapping_add(60 * step));
    Ok(())
}

/// A packet of 60 beginnings in I-DATA, the how-many-th of its association.
fn interleaved(peer: &mut Peer, sent: u32) -> Result<()> {
    let first = peer.next.0;
    peer.send(|p| {
        for n in 0..60 {
            let message = sent.wrapping_mul(60).wrapping_add(n);
            p.i_data(&IData {
                tsn: Tsn(first.wrapping_add(n)),
                stream_id: (message % u32::from(BEGUN_STREAMS)) as u16,
                mid: message / u32::from(BEGUN_STREAMS),
                ppid_or_fsn: 0,
                unordered: false,
                begin: true,
                end: false,
                immediate: false,
                payload: b"x",
            });
        }
    })?;
    peer.next = Tsn(first.wrapping_add(60));
    Ok(())
}

/// Sets the association up again from the same socket and SCTP port.
fn restart(member: &mut Member, target: &Target, rng: &mut ChaCha8Rng) -> Result<()> {
    let Some(peer) = &member.peer else {
        return Ok(());
    };
    let socket = peer.socket.try_clone()?;
    socket.set_nonblocking(false)?;
    match Peer::connect(socket, target, &member.wish, rng) {
        Ok(peer) => member.peer = Some(peer),
        Err(error) => member.end(error.to_string()),
    }
    member.sent += 2;
    Ok(())
}
