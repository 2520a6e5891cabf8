//! The command line.

use crate::help::in_short_help;
use byway_lab::scenario::{GREATEST_SEED, Override};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  # this machine prints a ticket; the other one sends with it
  byway recv --dir inbox
  byway send video.mkv --to TICKET

  # any TCP program, here for PostgreSQL: the server's side prints a ticket
  byway serve --allow 127.0.0.1:5432
  byway forward --listen 127.0.0.1:5432 --to TICKET

  # a pipe
  byway listen | tar x
  tar c folder | byway cat --to TICKET

  # what they do at this moment
  byway top

  # the laboratory: the built-in failover, eight policies side by side
  byway run

  # a scenario of your own: tables here, report and captures in out/
  byway scenario > mine.toml
  byway run mine.toml --seed 7 --pcap

  # how long a dead path goes unnoticed, and why
  byway failover-time --set rto.min=300ms

Exit status: 0 done; 1 failed; 2 wrong arguments, scenario or settings; 3 association lost; 4 \
refused by the other side, or damaged on the way; 129 the terminal was closed (SIGHUP); \
130 interrupted (SIGINT); 143 terminated (SIGTERM).";

/// Files, pipes and TCP tunnels over several networks, which go on when one of them dies
/// (multihomed SCTP), and a laboratory that measures it.
#[derive(Debug, Parser)]
#[command(name = "byway", version, after_help = EXAMPLES, propagate_version = true, max_term_width = 100)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Send files and folders
    ///
    /// To a `byway recv`, whose ticket says where that is and proves that this side may send there.
    /// Reports success only when the receiver has confirmed the SHA-256 of each
    /// file. Of a file its name and its bytes arrive. A folder is sent whole: names, times,
    /// permission bits (never setuid, setgid or sticky), empty files and folders, holes, and links that
    /// stay inside; owner, extended attributes and hard links are not kept (`tar c FOLDER | byway cat`
    /// keeps them). What of a folder cannot be sent or is refused is named, the others go on, and the
    /// exit status is 1. When the association is lost, it is set up again and the transfer
    /// continues from what the receiver has, at most --retries times, or as long as
    /// --retry-for says. A send that was killed and is run again takes its file over
    /// and resumes it, a folder file by file: the same user (byway/sender.key in XDG_STATE_HOME, else
    /// ~/.local/state), the same file or folder, the same --to.
    #[command(after_help = crate::net::SEND_EXAMPLES, mut_args = in_short_help)]
    Send(crate::net::SendArgs),
    /// Receive files and folders
    ///
    /// Prints a ticket, which is all that `byway send` needs on the other side, waits for who
    /// comes with it, and stores the files. All of it is encrypted. A file arrives as NAME.KEY.part
    /// and gets its name when its SHA-256 has been found right. KEY is the sender's:
    /// a later send of the same file by the same user resumes where an earlier one
    /// was cut off, and another sender's file of that name is kept apart. An offer
    /// tells nobody which files are here; a file of a name that is taken is refused
    /// when it is complete, unless --force. A folder belongs to who began it: nobody else adds
    /// to it, nor to one that is there already, unless --force.
    #[command(after_help = crate::net::RECV_EXAMPLES, mut_args = in_short_help)]
    Recv(crate::net::RecvArgs),
    /// Carry TCP connections to a `byway serve`, over all paths
    ///
    /// Listens for TCP and carries each connection as a stream of one association, with a window of
    /// its own: one that stands still does not stop the others. When a path dies, the connections
    /// move to another one and go on.
    #[command(after_help = crate::net::FORWARD_EXAMPLES, mut_args = in_short_help, override_usage = crate::net::FORWARD_USAGE)]
    Forward(crate::net::ForwardArgs),
    /// Connect what a `byway forward` carries to TCP targets
    ///
    /// Prints a ticket, which is all that `byway forward` needs on the other side.
    #[command(after_help = crate::net::SERVE_EXAMPLES, mut_args = in_short_help)]
    Serve(crate::net::ServeArgs),
    /// Accept one association and write what it brings to standard output
    ///
    /// Prints a ticket on standard error, which is all that `byway cat` needs on the other side.
    /// With --unprotected it takes an association of any SCTP program.
    #[command(after_help = crate::net::LISTEN_EXAMPLES, mut_args = in_short_help)]
    Listen(crate::net::ListenArgs),
    /// Send a file or standard input to a `byway listen`
    ///
    /// With its ticket; or, with addresses in --to, to any SCTP program, without encryption.
    #[command(after_help = crate::net::CAT_EXAMPLES, mut_args = in_short_help)]
    Cat(crate::net::CatArgs),
    /// Make and show keys, for those who meet again and again
    ///
    /// A ticket is for one meeting. With keys, `recv`, `listen` and `serve` let in those whose public
    /// keys are in the file of --authorized, as ssh does.
    #[command(after_help = crate::net::KEY_EXAMPLES)]
    Key(crate::net::KeyArgs),
    /// Show what the running commands of this user do
    ///
    /// Their associations and paths, anew each second: state, round-trip time, windows, rates,
    /// losses, and what happened last and why. Without a terminal, one table.
    #[command(after_help = crate::top::EXAMPLES)]
    Top(crate::top::TopArgs),
    /// Explain what the network does between this host and a `byway recv`
    ///
    /// Tries each pair of addresses with real packets: which answer and how fast, what gets
    /// lost, which packet size passes, at which rate, whether a translator (NAT) stands
    /// between, whether a path could take over from another, and what to do.
    #[command(after_help = crate::net::DOCTOR_EXAMPLES)]
    Doctor(crate::net::DoctorArgs),
    /// Open the sealed messages of a capture, for Wireshark
    ///
    /// Writes the capture of --pcap anew, with the plain text of each message that the secrets of
    /// --pcap-secrets open in its place. Packets, times, TSNs and lengths stay as they were.
    #[command(after_help = crate::unseal::EXAMPLES)]
    Unseal(crate::unseal::UnsealArgs),
    /// Simulate a scenario and compare its policies
    ///
    /// Runs every policy of the scenario with the same seed and prints a table,
    /// a picture of each path over time, and writes report.html with
    /// interactive plots. The same scenario and seed give the same packets.
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArgs),
    /// Print the built-in scenario, which explains every key
    Scenario,
    /// Look for mistakes in a scenario without running it
    Check {
        /// Scenario file (TOML)
        file: PathBuf,
        /// Print the result as JSON
        #[arg(long)]
        json: bool,
    },
    /// Run a grid of scenarios, each with many seeds, on all processors
    ///
    /// A sweep file names a scenario, what varies in it, and how often each
    /// combination is run. Every run is kept as soon as it is done: after an
    /// interruption of any kind the same command resumes where it ended. The
    /// results are Parquet, one row a run.
    #[command(after_help = SWEEP_EXAMPLES)]
    Sweep(SweepArgs),
    /// Say which cells of sweeps differ, and by how much
    ///
    /// Holds two results files against each other, or two values of an axis in
    /// one of them. Runs of the same seed met the same chances and are compared
    /// one by one, others by Welch's test; that many cells are compared is taken
    /// into account (Holm).
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArgs),
    /// Run programs over a scenario's network, in real time
    ///
    /// Makes two network namespaces, NAME-sender and NAME-receiver, with a device for each
    /// path of the scenario. What programs send there meets the scenario's rates, delays,
    /// queues, losses, other traffic and events; time 0 is the start. No kernel module is
    /// needed. Needs root and iproute2; --relay needs neither.
    #[command(after_help = EMULATE_EXAMPLES)]
    Emulate(EmulateArgs),
    /// Recommend settings for paths that you describe or have measured
    ///
    /// Tries settings in the simulator for as long as you say, and answers with what to set,
    /// what is to be expected of it, and what the defaults would give: how long delivery
    /// stalls when the path in use dies, how often traffic leaves a path without need, and
    /// how much of it takes other paths than the first.
    #[command(after_help = crate::advise::EXAMPLES)]
    Advise(crate::advise::AdviseArgs),
    /// Compute how long a dead path goes unnoticed, step by step
    ///
    /// Adds up the timers of a configuration: the best, typical and worst time
    /// until a dead path is potentially failed, until it is inactive, and how long
    /// delivery pauses, for each mechanism. Nothing is sent.
    #[command(after_help = FAILOVER_TIME_EXAMPLES)]
    FailoverTime(FailoverTimeArgs),
    /// Print the failover as a state machine
    ///
    /// The machines of caro-2006's figures, or what the settings at hand amount
    /// to, found by asking the failover policy. Without a name, lists them.
    #[command(after_help = MACHINE_EXAMPLES)]
    Machine(MachineArgs),
    /// List every setting of the protocol with its value and choices
    ///
    /// The lines can be used in a scenario. What belongs to something that is off
    /// follows it as comments, with the values that it has when that is on:
    /// setting one of these (--set concurrent.dac=true) switches it on. In a
    /// scenario they take the place of the line that says "off".
    Settings {
        #[command(flatten)]
        settings: SettingArgs,
        /// Print them as JSON: key, value, choices, and whether what they belong to is on
        #[arg(long)]
        json: bool,
    },
    /// Run the claims and figures of the five papers again
    ///
    /// Simulates what the papers simulated, puts each of their claims to the
    /// runs, and writes reproduce.html: verdicts with the paper's, ns-2's and
    /// byway's values, and every figure drawn again.
    #[command(after_help = REPRODUCE_EXAMPLES)]
    Reproduce(ReproduceArgs),
    /// Print completions for a shell
    ///
    /// For bash: byway completions bash > ~/.local/share/bash-completion/completions/byway
    Completions {
        /// Shell
        shell: clap_complete::Shell,
    },
    /// Write manual pages, one for each command
    ///
    /// byway man ~/.local/share/man/man1, and then: man byway-send
    Man {
        /// Folder; it is made if it is not there
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

const EMULATE_EXAMPLES: &str = "\
Examples:
  # a shell at each host of the built-in network, side by side in tmux
  byway emulate

  # where there is no tmux: the receiver's, in a second terminal
  byway emulate --join receiver

  # one command at the sender
  byway emulate mine.toml -- ping -c 5 10.1.0.2

  # a command at each side
  byway emulate --receiver \\
      'byway recv --unprotected --bind 10.1.0.2,10.2.0.2 --dir inbox' \\
      -- byway send video.mkv --to 10.1.0.2,10.2.0.2

  # 1 cuts the first path, and again restores it
  byway emulate mine.toml --keys -- byway send video.mkv --to 10.1.0.2

  # without root: what comes to UDP port 7001 goes to 9899
  byway emulate mine.toml --relay 7001=9899";

const RUN_EXAMPLES: &str = "\
Examples:
  byway run
  byway run mine.toml --seed 7 --out results --pcap
  byway run --only 'RFC 9260' --only 'PMR 0'
  byway run --json | jq '.results[] | {policy, transfer_s}'

  # with real sockets, in real time
  byway run --real --only byway

  # row 17 of a sweep again, alone
  byway run --row out/grid.parquet:17";

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// Scenario file (TOML), or the address of a scene of the web page; without one,
    /// the built-in failover
    pub(crate) scenario: Option<PathBuf>,
    /// Run a row of a sweep's results again: FILE:N, rows counted from 1; fails
    /// unless the numbers are the same
    #[arg(long, value_name = "FILE:N", conflicts_with_all = ["scenario", "seed", "only"])]
    pub(crate) row: Option<String>,
    /// Seed of all chance, instead of the scenario's
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=GREATEST_SEED))]
    pub(crate) seed: Option<u64>,
    /// Folder for report.html and captures
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub(crate) out: PathBuf,
    /// Write a pcapng of every link for each policy (Wireshark reads it)
    #[arg(long)]
    pub(crate) pcap: bool,
    /// In real time, with sockets of this host and the scenario's links between them (docs/emulate.md):
    /// all policies at once, so it takes as long as the slowest one. Needs no rights
    #[arg(long, conflicts_with_all = ["row", "pcap"])]
    pub(crate) real: bool,
    /// Run this policy alone; may be repeated
    #[arg(long, value_name = "POLICY")]
    pub(crate) only: Vec<String>,
    /// Print the results as JSON (and write the report)
    #[arg(long)]
    pub(crate) json: bool,
}

const SWEEP_EXAMPLES: &str = "\
A sweep file:
  # or \"built-in\", or a table [scenario]
  scenario = \"mine.toml\"
  seeds = 30
  metrics = [\"transfer_s\", \"stall_s\"]
  # of transfer_s; leave out to run all seeds
  stop = { within = \"10 %\", confidence = \"90 %\" }
  # any key of the scenario, or setting of the protocol
  [[axis]]
  key = \"path.1.loss\"
  values = [\"0 %\", \"3 %\", \"8 %\"]
  # or a short name: lossN, rttN, pmr, cpt, size, ...
  [[axis]]
  key = \"pmr\"
  values = [0, 5]
  # or several at once, under a name
  [[axis]]
  name = \"timers\"
  values = [
    { name = \"default\" },
    { name = \"short\", rto.min = \"100 ms\", sack.delay = \"20 ms\" },
  ]

The scenario's policies are an axis, too (\"policy\"); policies = [...] chooses some.

Examples:
  # a quick one that explains every key
  byway sweep experiments/example-sweep/loss.toml

  # what would be run
  byway sweep grid.toml --cells

  # run it, or resume it
  byway sweep grid.toml --out results/grid.parquet
  byway compare out/grid.parquet --by policy 'PMR 0' 'RFC 9260'

  # the columns of the results
  byway sweep --schema";

#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    /// Sweep file (TOML)
    #[arg(required_unless_present = "schema")]
    pub(crate) file: Option<PathBuf>,
    /// Results file [default: out/NAME.parquet, after the sweep file]
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Threads [default: as many as there are processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=4096))]
    pub(crate) threads: Option<u16>,
    /// Let the workers of this Dask scheduler do the runs, such as tcp://10.0.0.1:8786;
    /// --out may be a URL then, such as s3://bucket/loss.parquet. It needs the Python
    /// package byway (docs/cluster.md)
    #[arg(long, value_name = "ADDRESS", conflicts_with = "threads")]
    pub(crate) dask: Option<String>,
    /// With --dask, the folder of the journal [default: beside the results]
    #[arg(long, value_name = "FOLDER", requires = "dask")]
    pub(crate) journal: Option<PathBuf>,
    /// Throw away what an earlier sweep left in the results file and its journal
    #[arg(long)]
    pub(crate) restart: bool,
    /// List the cells and run nothing
    #[arg(long)]
    pub(crate) cells: bool,
    /// Describe the columns of the results and run nothing
    #[arg(long)]
    pub(crate) schema: bool,
    /// Print the summary of the cells as JSON, and no progress
    #[arg(long)]
    pub(crate) json: bool,
}

const COMPARE_EXAMPLES: &str = "\
Examples:
  byway compare before.parquet after.parquet
  byway compare out/grid.parquet --by policy 'PMR 0' 'RFC 9260'

  # all policies against the first
  byway compare out/grid.parquet --by policy --metric stall_s

  byway compare a.parquet b.parquet --json |
      jq '.[].pairs[] | select(.significant)'";

#[derive(Debug, Args)]
pub(crate) struct CompareArgs {
    /// Results file
    pub(crate) file: PathBuf,
    /// Another results file; with --by, two values of the axis (without any, all
    /// are compared with the first)
    pub(crate) others: Vec<String>,
    /// Compare values of this axis within the one file
    #[arg(long, value_name = "AXIS")]
    pub(crate) by: Option<String>,
    /// What to compare [default: what the sweep file asked for]; may be repeated
    #[arg(long, value_name = "NAME")]
    pub(crate) metric: Vec<String>,
    /// Confidence of intervals, such as 95% [default: that of the sweep, else 95 %]
    #[arg(long, value_name = "SHARE", value_parser = confidence)]
    pub(crate) confidence: Option<f64>,
    /// Print the result as JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A confidence between 50 % and 100 %.
fn confidence(text: &str) -> Result<f64, String> {
    match byway_lab::units::Share::parse(text)?.0 {
        share if (0.5..1.0).contains(&share) => Ok(share),
        _ => Err("a confidence is at least 50 % and less than 100 %".to_owned()),
    }
}

#[derive(Debug, Default, Args)]
pub(crate) struct SettingArgs {
    /// Settings to begin with: byway, rfc9260, rfc2960, caro2006 or caro2006-proposed; for
    /// simulated hosts also ns2 [default: byway for commands with sockets, rfc9260 for simulations]
    #[arg(long, value_name = "NAME")]
    pub(crate) preset: Option<String>,
    /// Change a setting, such as rto.min=100ms; may be repeated (see `byway settings`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<Override>,
}

const MACHINE_EXAMPLES: &str = "\
Examples:
  byway machine caro2006-13
  byway machine association --set failover.potentially_failed=off
  byway machine destination --format dot | dot -Tsvg > destination.svg";

#[derive(Copy, Clone, Debug, clap::ValueEnum)]
pub(crate) enum MachineFormat {
    /// A table
    Text,
    /// A Mermaid state diagram
    Mermaid,
    /// Graphviz
    Dot,
    /// States and arcs as JSON
    Json,
}

#[derive(Debug, Args)]
pub(crate) struct MachineArgs {
    /// Which one
    pub(crate) name: Option<String>,
    /// How it is written
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: MachineFormat,
    /// Print the page of the documentation that draws them all
    #[arg(long, conflicts_with = "name")]
    pub(crate) page: bool,
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
}

const FAILOVER_TIME_EXAMPLES: &str = "\
Examples:
  # RFC 9260's defaults
  byway failover-time

  byway failover-time --preset rfc2960 --set failure.path_max_retrans=3
  byway failover-time --set rto.min=300ms --rtt '20 ms'

  # after losses doubled the RTO twice
  byway failover-time --rto '4 s'

  byway failover-time --json | jq '.together[] | {goal, cases}'";

#[derive(Debug, Args)]
pub(crate) struct FailoverTimeArgs {
    #[command(flatten)]
    pub(crate) settings: SettingArgs,
    /// Round-trip time of each path
    #[arg(long, value_name = "TIME", default_value = "90 ms", value_parser = byway_lab::units::parse_duration)]
    pub(crate) rtt: Duration,
    /// RTO when the path dies; without it, what the round trip gives
    #[arg(long, value_name = "TIME", value_parser = byway_lab::units::parse_duration)]
    pub(crate) rto: Option<Duration>,
    /// Print the result as JSON; fields in _s are seconds
    #[arg(long)]
    pub(crate) json: bool,
}

const REPRODUCE_EXAMPLES: &str = "\
Examples:
  # everything, in a minute and a half on two processors
  byway reproduce

  # one paper
  byway reproduce caro-2006

  # a claim, and a figure
  byway reproduce A3 caro-2006/5

  # points of a figure
  byway reproduce caro-2006/5 --at loss1=8 --at pmr=0

  # what hangs on settings that the papers do not print
  byway reproduce --matrix --sensitivity

  # the papers' sizes and numbers of runs
  byway reproduce --full

  # the same; can be resumed after an interruption
  byway reproduce --full --runs FILE

  byway reproduce --json | jq '.papers[].claims[] | {id, verdict}'";

#[derive(Debug, Args)]
pub(crate) struct EmulateArgs {
    /// Scenario file, or the address of a scene of the page; the built-in scenario without one
    pub(crate) scenario: Option<PathBuf>,
    /// Seed of the losses and of other traffic; the scenario's without it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(..=GREATEST_SEED))]
    pub(crate) seed: Option<u64>,
    /// First part of the names of the namespaces
    #[arg(long, value_name = "NAME", default_value = "byway")]
    pub(crate) name: String,
    /// Without namespaces and root: take UDP datagrams at LISTEN, carry them over the next path of the
    /// scenario, send them on to TARGET, and its answers back. LISTEN and TARGET are ports of 127.0.0.1 or
    /// addresses with ports. Once for each path, in their order. With @ADDRESS they leave from there
    #[arg(long, value_name = "LISTEN=TARGET[@ADDRESS]", value_parser = crate::emulate::RelayArg::parse, conflicts_with = "name")]
    pub(crate) relay: Vec<crate::emulate::RelayArg>,
    /// With --relay, drop longer packets, headers included, as a path does when Don't Fragment is set
    #[arg(long, value_name = "BYTES", default_value_t = crate::emulate::MTU, value_parser = clap::value_parser!(u16).range(576..), requires = "relay")]
    pub(crate) mtu: u16,
    /// With --relay, end after this time, with status 0
    #[arg(long = "for", value_name = "TIME", value_parser = byway_lab::units::parse_duration, requires = "relay", conflicts_with = "command")]
    pub(crate) lasts: Option<Duration>,
    /// Keys on standard input cut and restore paths: 1 cuts the first one, and pressed again restores it;
    /// 2 the second, and so on; q ends. A command of the sender has no input then. With --relay in a
    /// terminal and no command, that is so anyway
    #[arg(long)]
    pub(crate) keys: bool,
    /// Command of the receiver, for sh. It is started first; two seconds after the sender's
    /// has ended it is ended, too
    #[arg(long, value_name = "COMMAND")]
    pub(crate) receiver: Option<String>,
    /// Be a shell, or COMMAND, at a host of an emulation that runs in another terminal
    #[arg(long, value_name = "HOST", value_enum, conflicts_with_all = ["scenario", "seed", "relay", "keys", "receiver"])]
    pub(crate) join: Option<crate::emulate::HostArg>,
    /// Print no addresses and no table of packets
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Print the table of packets as JSON: the last line, after what the commands print. Addresses, and what
    /// else is said on standard error, are lines of JSON, too
    #[arg(long, conflicts_with = "join")]
    pub(crate) json: bool,
    /// Command of the sender, with which the emulation ends. Without one a shell, and in a terminal with
    /// tmux a shell at each side; with --relay none
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ReproduceArgs {
    /// Papers (caro-2006), claims (A3) and figures (caro-2006/5); all without one
    #[arg(value_name = "PAPER|CLAIM|FIGURE")]
    pub(crate) what: Vec<String>,
    /// Fewer and shorter runs (the default)
    #[arg(long, conflicts_with = "full")]
    pub(crate) quick: bool,
    /// The papers' sizes, 120 runs of most cells (40 of 80 MB, 330 of a share): hours on two
    /// processors
    #[arg(long)]
    pub(crate) full: bool,
    /// Run and print only the points at this value of this axis (loss1=8, pmr=0, policy=CMT); may
    /// be repeated. reproduce.html shows the command of a point when it is clicked
    #[arg(long, value_name = "AXIS=VALUE", conflicts_with_all = ["controls", "ablation", "matrix", "sensitivity", "until_decided", "real"])]
    pub(crate) at: Vec<String>,
    /// File that keeps the results of runs: what it holds is not run again, so that a
    /// command that was interrupted, even by a kill or a full disk, resumes where it
    /// was. Runs of another release, or of a build that simulates differently, are
    /// refused
    #[arg(long, value_name = "FILE")]
    pub(crate) runs: Option<PathBuf>,
    /// Folder for the raw runs: a Parquet file for each study, a row for each run with the
    /// scenario, in the form of `byway sweep`. Their SHA-256 stand in reproduce.md
    #[arg(long, value_name = "DIR")]
    pub(crate) raw: Option<PathBuf>,
    /// Also print the cases in which each check must not hold, and what it says there, and write them
    /// to controls.md; a check that holds there, and a claim that does not count as a check of it is not
    /// shown to fail, are errors, with status 1
    #[arg(long)]
    pub(crate) controls: bool,
    /// Put the claims to plain settings, too: presets rfc2960 and rfc9260 without any of
    /// ns-2's rules. Three times the runs; --full does it by itself, with the sizes of --quick and four
    /// times its seeds
    #[arg(long)]
    pub(crate) ablation: bool,
    /// Put the claims to fast retransmissions at the third and the fourth missing report, with and without
    /// an exit point of fast recovery, too, and write matrix.md. Five times the runs; with
    /// --full as --ablation
    #[arg(long)]
    pub(crate) matrix: bool,
    /// Put the claims to half and twice the queue, the receive window and the time of a failure, and to loss
    /// of one direction, too, and write sensitivity.md with a table of each paper's parameters. Nine times
    /// the runs; with --full as --ablation
    #[arg(long)]
    pub(crate) sensitivity: bool,
    /// Run undecided claims with twice the seeds, and once more with four times, the cap, if that does not
    /// decide them. The three looks share the 5 % of each test
    #[arg(long)]
    pub(crate) until_decided: bool,
    /// First seed of all runs (1): others are other chance, as on a second machine whose verdicts
    /// are compared with `--against`
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    pub(crate) seeds_from: u64,
    /// Compare the verdicts with those of another report, a reproduce.json, and tell how many agree
    #[arg(long, value_name = "REPORT.json", conflicts_with_all = ["at", "real"])]
    pub(crate) against: Option<PathBuf>,
    /// Folder for the figures' data: a CSV file for each
    #[arg(long, value_name = "DIR", conflicts_with = "real")]
    pub(crate) figures: Option<PathBuf>,
    /// Folder of papers to take in place of the five that are built in: a folder
    /// each with claims.toml and its scenarios, as experiments/ in the sources
    #[arg(long, value_name = "DIR")]
    pub(crate) experiments: Option<PathBuf>,
    /// Run cortes-2008 with real sockets in real time, over network namespaces, with the SCTP
    /// of a Linux kernel beside it: two minutes, root, packages iproute2 and nftables
    #[arg(long, conflicts_with_all = ["quick", "full", "runs", "raw", "experiments", "matrix", "sensitivity"])]
    pub(crate) real: bool,
    /// Associations of each sender with --real; the path is unplugged at another time after
    /// the last message of each
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(1..=20), requires = "real")]
    pub(crate) phases: u8,
    /// Folder that boots the guest with the Linux kernel, for --real
    #[arg(
        long,
        value_name = "DIR",
        default_value = "interop/linux-peer",
        requires = "real"
    )]
    pub(crate) linux_peer: PathBuf,
    /// Folder for reproduce.html, reproduce.md and reproduce.json
    #[arg(long, value_name = "DIR", default_value = "out")]
    pub(crate) out: PathBuf,
    /// Print the verdicts as JSON (and write the page)
    #[arg(long)]
    pub(crate) json: bool,
}
