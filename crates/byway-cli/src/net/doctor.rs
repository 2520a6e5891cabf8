//! `byway doctor`: what the network does between two hosts, pair by pair of addresses.

mod findings;
mod host;
mod measure;
mod report;

use super::address;
use super::ending::Ending;
use super::exchange::FILES;
use super::protect::{ClientArgs, Destination, To};
use crate::args::SettingArgs;
use crate::below::BelowArgs;
use crate::failure::{Failure, Kind};
use crate::net::args::{Talk, time_to_wait};
use crate::settings::config;
use crate::terminal::{print, print_json, say_part};
use clap::Args;
use findings::Protocol132;
use host::Host;
use measure::{Effort, Pair};
use serde_json::Value;
use std::net::SocketAddr;
use std::time::Duration;

pub(crate) const DOCTOR_EXAMPLES: &str = "\
On the other host: byway recv, whose ticket doctor takes and does not use up.

Examples:
  byway doctor --to TICKET

  # beside a `byway recv --unprotected`
  byway doctor --to 10.0.0.1,10.1.0.1
  byway doctor --to 10.0.0.1,10.1.0.1 --bind 10.0.0.2,10.1.0.2

  # does protocol 132 pass?
  byway doctor --to 10.0.0.1,10.1.0.1 --encapsulation none

  # settings for what was measured
  byway doctor --to 10.0.0.1,10.1.0.1 --json > doctor.json
  byway advise --paths doctor.json

Exit status 0 if a pair of addresses answers, else 1.";

/// More pairs take too long, and say nothing more.
const MOST_PAIRS: usize = 32;
/// What is taken if nothing is said.
const WAIT: Duration = Duration::from_secs(4);
const HEARTBEATS: u32 = 50;

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// The ticket of a `byway recv` on the other side (@FILE or - read it), which is not used up.
    /// Or the other side's addresses, separated by commas, each with a UDP port if not 9899
    #[arg(
        long,
        value_name = "TICKET|ADDR[,ADDR]",
        value_delimiter = ',',
        required = true
    )]
    to: Vec<To>,
    #[command(flatten)]
    client: ClientArgs,
    /// Local addresses, separated by commas; each is tried with each of --to. Without it, the
    /// addresses that the kernel's routes choose
    #[arg(long, value_name = "ADDR[,ADDR]", value_delimiter = ',')]
    bind: Vec<String>,
    /// The other side's SCTP port; a ticket names it itself
    #[arg(long, value_name = "PORT", default_value_t = 5001, value_parser = clap::value_parser!(u16).range(1..))]
    port: u16,
    /// How long to wait for an answer of each pair
    #[arg(long, value_name = "TIME", default_value = "4 s", value_parser = time_to_wait)]
    wait: Duration,
    /// Heartbeats to each address that answers: more show smaller losses
    #[arg(long, value_name = "N", default_value_t = HEARTBEATS, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    heartbeats: u32,
    /// Send heartbeats only. Without it, the rate is measured with up to 4 MB, for at most a
    /// second, and the receiver is asked what it sees: that needs a `byway recv`, with its ticket
    /// or --unprotected
    #[arg(long)]
    heartbeats_only: bool,
    #[command(flatten)]
    below: BelowArgs,
    #[command(flatten)]
    settings: SettingArgs,
    #[command(flatten)]
    pub(crate) talk: Talk,
}

/// What was found.
struct Found {
    pairs: Vec<Pair>,
    protocol_132: Protocol132,
    host: Host,
    findings: Vec<String>,
}

impl Found {
    fn json(&self) -> Value {
        report::json(&self.pairs, self.protocol_132, &self.host, &self.findings)
    }

    fn answers(&self) -> Result<(), Failure> {
        match self.pairs.iter().any(|p| p.answer.is_ok()) {
            true => Ok(()),
            false => Err(Failure::new(Kind::Failed, "no pair of addresses answers")),
        }
    }
}

pub(crate) async fn doctor(args: DoctorArgs, ending: Ending) -> Result<(), Failure> {
    let found = look(&args, &ending).await?;
    if args.talk.json {
        print_json(&found.json())?;
    } else {
        print(&report::text(&found.pairs, &found.findings))?;
    }
    found.answers()
}

/// Measures the pairs of `to`, from the sources that the kernel chooses, for `byway advise`:
/// what [`doctor`] prints as JSON. `quiet` is without a line of progress.
pub(crate) async fn measured(
    to: Vec<String>,
    bind: Vec<String>,
    port: u16,
    quiet: bool,
    ending: Ending,
) -> Result<String, Failure> {
    let args = DoctorArgs {
        to: to.iter().map(|text| To::from(text.as_str())).collect(),
        client: ClientArgs::default(),
        bind,
        port,
        wait: WAIT,
        heartbeats: HEARTBEATS,
        heartbeats_only: false,
        below: BelowArgs::default(),
        settings: SettingArgs::default(),
        talk: Talk {
            json: quiet,
            verbose: 0,
        },
    };
    let found = look(&args, &ending).await?;
    found.answers().map_err(|failure| {
        let why = found.findings.iter().map(|f| format!("\n  {f}"));
        Failure::new(
            failure.kind,
            format!("{failure}:{}", why.collect::<String>()),
        )
    })?;
    Ok(found.json().to_string())
}

async fn look(args: &DoctorArgs, ending: &Ending) -> Result<Found, Failure> {
    let there = Destination::read(&args.to, args.port, &args.client, FILES)?;
    let remote = there.addresses(args.below.encapsulation.default_port())?;
    let wanted = pairs(args, &remote)?;
    let mut config = config(&args.settings)?;
    // Losses are what is measured: they must not end the association.
    config.failure.association_max_retrans = 250;
    config.failure.path_max_retrans = 100;
    let effort = Effort {
        port: there.sctp_port(),
        credentials: there.credentials,
        wait: args.wait,
        heartbeats: args.heartbeats,
        asks: !args.heartbeats_only,
        below: args.below,
        config,
    };
    let mut pairs: Vec<Pair> = Vec::new();
    for (i, (local, remote)) in wanted.iter().enumerate() {
        if !args.talk.json {
            let doing = format!(
                "pair {} of {}: {} to {}",
                i + 1,
                wanted.len(),
                address::shown_host(*local),
                address::shown(*remote)
            );
            say_part(&format!("\r{doing:78}"));
        }
        pairs.push(tokio::select! {
            pair = measure::pair(*local, *remote, &effort, ending) => pair,
            failure = ending.told() => {
                clear(args);
                return Err(failure);
            }
        });
    }
    let beside = match pairs
        .first()
        .filter(|_| remote.iter().all(|a| a.port() != 0))
    {
        Some(first) => measure::without_udp(first, &effort, ending).await,
        None => None,
    };
    clear(args);
    let protocol_132 = Protocol132::of(&pairs, beside.as_ref());
    let named = match args.bind.is_empty() {
        true => Vec::new(),
        false => wanted.iter().map(|(local, _)| local.ip()).collect(),
    };
    let host = host::look(&named, &remote);
    let mut findings = findings::of(&pairs, protocol_132, &host, &remote);
    let tried: Vec<SocketAddr> = wanted.iter().map(|(local, _)| *local).collect();
    findings.extend(address::left_out(&tried, &remote));
    Ok(Found {
        pairs,
        protocol_132,
        host,
        findings,
    })
}

/// Takes the line of progress away.
fn clear(args: &DoctorArgs) {
    if !args.talk.json {
        say_part(&format!("\r{:78}\r", ""));
    }
}

/// The pairs that an association would try: each address of the peer from the source that the
/// kernel chooses, or from each of --bind.
fn pairs(
    args: &DoctorArgs,
    remote: &[SocketAddr],
) -> Result<Vec<(SocketAddr, SocketAddr)>, Failure> {
    let mut pairs = Vec::new();
    if args.bind.is_empty() {
        // An address without a route is still reported: any source will do.
        let chosen = address::by_routes(remote)?;
        for to in remote {
            let source = address::source_for(*to);
            let same = chosen.iter().find(|a| a.is_ipv4() == to.is_ipv4()).copied();
            pairs.extend(source.ok().or(same).map(|local| (local, *to)));
        }
    } else {
        for local in address::parse_all("--bind", &args.bind, 0)? {
            let of = remote.iter().filter(|to| to.is_ipv4() == local.is_ipv4());
            pairs.extend(of.map(|to| (local, *to)));
        }
    }
    if pairs.is_empty() {
        return Err(Failure::wrong(
            "no pair of addresses of one kind: --bind and --to have IPv4 on one side and IPv6 on the \
             other",
        ));
    }
    if pairs.len() > MOST_PAIRS {
        return Err(Failure::wrong(format!(
            "{} pairs of addresses; at most {MOST_PAIRS}: name fewer in --bind or --to",
            pairs.len()
        )));
    }
    Ok(pairs)
}
