//! The measurements: one file each, and what they have in common.

mod core_throughput;
mod cores;
mod failover;
mod grid;
mod hostile;
mod idle;
mod latency;
mod loopback;
mod memory;
mod messages;
mod netns;
mod ns2_grid;
mod ns2_suite;
mod sealed;
mod setup_rate;
mod sim_scale;
pub(crate) mod sim_speed;
mod sweep_speed;
pub(crate) mod transfer;

use crate::peers::{self, Workspace};
use crate::plan::{self, Plan};
use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use std::path::PathBuf;

/// Which measurement, and how often.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// What to measure
    #[arg(value_enum)]
    name: Name,
    /// Folders of scenarios, for ns2-suite [default: those of experiments/ns2-suite];
    /// a table of ns-2's means, for ns2-grid [default: that of experiments/ns2-grid];
    /// parts, for hostile: amplification, flood, memory, patience, crowd, ending [default: all];
    /// round trips in ms, for failover [default: 1 20 90 200]
    folders: Vec<PathBuf>,
    /// Runs of each cell, for ns2-grid
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(2..))]
    seeds: u32,
    /// Phases of the death in each cell, for failover
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=100))]
    phases: u16,
    /// The same for each peer
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=100))]
    peer_phases: u16,
    /// Measure byway alone, for failover
    #[arg(long)]
    ours_only: bool,
    /// The command byway to measure, instead of building it; for failover, forward, grid, sealed and sweep-speed
    #[arg(long)]
    byway: Option<PathBuf>,
    /// Only a fixed choice of small cells, for ns2-grid; for loopback, messages, latency,
    /// setup-rate and cores less of all, and only the peers that are built in seconds
    #[arg(long)]
    light: bool,
    /// Runs of each program, after the warm-up
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// Runs of each program that are not counted
    #[arg(long, default_value_t = 1)]
    warm_up: u32,
    /// Profile of `Cargo.toml` that our programs are built with. `release` builds faster, without
    /// link-time optimisation
    #[arg(long, default_value = peers::PROFILE)]
    profile: String,
    /// Measure the peers alone
    #[arg(long)]
    peers_only: bool,
}

impl Arguments {
    /// The command byway that is measured: the one that was given, or the workspace's, built.
    fn byway(&self, workspace: &Workspace) -> Result<PathBuf> {
        if let Some(given) = &self.byway {
            let found = given.canonicalize();
            return found.with_context(|| format!("no byway at {}", given.display()));
        }
        workspace.build(&["byway-cli"])?;
        Ok(workspace.program("byway"))
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum Name {
    /// CPU time of one simulated 80 MB transfer, against ns-2
    SimSpeed,
    /// How a simulation's cost grows with packets, associations and processors
    SimScale,
    /// Protocol alone, two ends in memory, against sctp-proto
    CoreThroughput,
    /// Bulk between two processes over UDP on loopback, against usrsctp and pion; sealed, against
    /// QUIC; and against the same sockets without a protocol
    Loopback,
    /// Small messages between two processes over UDP on loopback, against usrsctp and pion
    Messages,
    /// Associations that two processes set up in a second over UDP on loopback, against usrsctp
    SetupRate,
    /// A server with two workers, against one: set-ups and bulk of many associations over UDP on
    /// loopback
    Cores,
    /// How long messages take at half load over UDP on loopback, against usrsctp
    Latency,
    /// What encryption costs: a pipe over loopback by ticket, against the same plain
    Sealed,
    /// Memory of an idle association, against usrsctp
    Memory,
    /// What 10,000 idle associations cost a running receiver, against usrsctp; fails above 8,000 bytes for each
    Idle,
    /// What strangers can do to a running receiver: amplification, floods, memory, patience,
    /// crowds; how it ends with many
    Hostile,
    /// Packet traces of ns-2's validation suite, compared with byway's
    Ns2Suite,
    /// Means over many random runs of ns-2, compared with byway's
    Ns2Grid,
    /// The stall when the path in use dies silently, against usrsctp, Linux SCTP, MPTCP and TCP
    /// (root)
    Failover,
    /// A TCP program over uplinks of 200 and 5 Mbit/s, of which the better is cut: rate, stall and
    /// processor time by way of `byway forward`, against TCP and MPTCP (root)
    Forward,
    /// Transfers over 100 Mbit/s with 1 and 5 % loss, against TCP CUBIC and Reno (root)
    Lossy,
    /// Bytes to the reader over 100 Mbit/s with round trips of 20 and 90 ms and 1 and 5 % loss,
    /// against TCP CUBIC and Reno (root)
    LossyFar,
    /// Shares of a bottleneck of 100 Mbit/s, beside TCP CUBIC and Reno (root)
    Fairness,
    /// The preset byway beside rfc9260 in 72 cells of losses and failures, in the simulator
    Grid,
    /// Runs a second of `byway sweep` with two threads, against one
    SweepSpeed,
}

/// Builds what is needed, runs all programs in turn and prints the report.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find(&arguments.profile)?;
    let mut plan: Plan = match arguments.name {
        Name::SimSpeed => sim_speed::plan(&workspace, arguments.peers_only)?,
        Name::SimScale => return sim_scale::run(&workspace, arguments),
        Name::CoreThroughput => core_throughput::plan(&workspace)?,
        Name::Loopback => loopback::plan(&workspace, arguments.light)?,
        Name::Messages => messages::plan(&workspace, arguments.light)?,
        Name::SetupRate => setup_rate::plan(&workspace, arguments.light)?,
        Name::Cores => cores::plan(&workspace, arguments.light),
        Name::Latency => latency::plan(&workspace, arguments.light)?,
        Name::Memory => memory::plan(&workspace)?,
        Name::Sealed => return sealed::run(&workspace, arguments),
        Name::Idle => return idle::run(&workspace, arguments),
        Name::Hostile => return hostile::run(&workspace, arguments),
        Name::Ns2Suite => return ns2_suite::run(&workspace, &arguments.folders),
        Name::Failover => return failover::run(&workspace, arguments),
        Name::Forward => return netns::forward(&workspace, arguments),
        Name::Lossy => return netns::run(&workspace, "lossy", arguments),
        Name::LossyFar => return netns::run(&workspace, "far", arguments),
        Name::Fairness => return netns::run(&workspace, "fairness", arguments),
        Name::Grid => return grid::run(&workspace, arguments),
        Name::SweepSpeed => return sweep_speed::run(&workspace, arguments),
        Name::Ns2Grid => return ns2_grid::run(&workspace, arguments),
    };
    ensure!(
        arguments.folders.is_empty(),
        "only ns2-suite takes folders, ns2-grid a table, and hostile names of parts"
    );
    if arguments.peers_only {
        plan.contenders.retain(|contender| !contender.ours);
    }
    let report = plan::measure(plan, arguments.runs, arguments.warm_up)?;
    print!("{}", report.table());
    println!("{}", report.json());
    report.verdict(arguments.peers_only)
}
