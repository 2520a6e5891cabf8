//! The options of the commands with sockets: those that all have, and those of files and pipes.

use super::protect::{ClientArgs, GateArgs, To, Uses};
use super::record::RecordArgs;
use crate::args::SettingArgs;
use crate::below::{BelowArgs, WorkersArgs};
use crate::help::{KEYS, NETWORK, RARE, REPORTS};
use byway_lab::units::{Rate, Size};
use clap::Args;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(crate) struct HereArgs {
    /// Local addresses, separated by commas [default: all of this host]
    ///
    /// Each with or without a UDP port; without one it is 9899 for recv, listen and serve, and a free
    /// one for send, cat and forward. 0.0.0.0 and :: stand for all addresses of this host of IPv4 and
    /// of IPv6, also for those that it gets while the command runs. Without --bind, both of them.
    #[arg(long, value_name = "ADDR[,ADDR]", value_delimiter = ',', help_heading = NETWORK)]
    pub(crate) bind: Vec<String>,
    /// Ask the other side to send to this address of this side while it can (RFC 5061)
    #[arg(long, value_name = "ADDR", help_heading = NETWORK)]
    pub(crate) prefer: Option<IpAddr>,
    #[command(flatten, next_help_heading = NETWORK)]
    pub(crate) below: BelowArgs,
    /// Print errors only
    #[arg(long, short, help_heading = REPORTS)]
    pub(crate) quiet: bool,
    #[command(flatten, next_help_heading = REPORTS)]
    pub(crate) talk: Talk,
    #[command(flatten, next_help_heading = REPORTS)]
    pub(crate) record: RecordArgs,
    /// Serve metrics (OpenMetrics) at this address
    ///
    /// At http://ADDR:PORT/metrics, as long as the command runs. A port alone is one of 127.0.0.1, and
    /// 0 any free one.
    #[arg(long, value_name = "[ADDR:]PORT", value_parser = crate::net::metrics_address, help_heading = REPORTS)]
    pub(crate) metrics: Option<SocketAddr>,
    #[command(flatten, next_help_heading = RARE)]
    pub(crate) settings: SettingArgs,
    /// Only `crate::options` reads it.
    #[command(flatten, next_help_heading = RARE)]
    pub(crate) config: crate::options::ConfigArgs,
}

/// What a command leaves behind, and how it speaks.
pub(crate) struct Recording {
    pub(crate) what: RecordArgs,
    pub(crate) talk: Talk,
    /// Whether it says where that is.
    pub(crate) quiet: bool,
    /// How many workers its endpoint has.
    pub(crate) workers: usize,
}

impl Recording {
    /// The same for an endpoint with several workers.
    pub(crate) fn with(self, workers: WorkersArgs) -> Recording {
        Recording {
            workers: workers.count(),
            ..self
        }
    }
}

impl HereArgs {
    /// What it leaves behind.
    pub(crate) fn recording(&self) -> Recording {
        Recording {
            what: self.record.clone(),
            talk: self.talk,
            quiet: self.is_silent(),
            workers: 1,
        }
    }

    /// Whether people are told nothing but errors and warnings of the log.
    pub(crate) fn is_silent(&self) -> bool {
        self.quiet || self.talk.json
    }
}

/// How much a command with sockets says, and to whom.
#[derive(Copy, Clone, Debug, Default, Args)]
pub(crate) struct Talk {
    /// Print the result as JSON, and no progress. Each line on standard error is JSON, too
    #[arg(long)]
    pub(crate) json: bool,
    /// Show the log on standard error: -v what happens, -vv also each error of a socket, -vvv all
    #[arg(long, short, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
}

#[derive(Debug, Args)]
pub(crate) struct ThereArgs {
    /// The ticket that the other side has printed, or its addresses
    ///
    /// @FILE or - read the ticket from a file or standard input, where no list of processes shows it.
    /// Addresses, separated by commas, each with a UDP port if not 9899, are for a side that encrypts
    /// nothing (--unprotected), or with --authorized.
    #[arg(
        long,
        value_name = "TICKET|ADDR[,ADDR]",
        value_delimiter = ',',
        required = true
    )]
    pub(crate) to: Vec<To>,
    #[command(flatten, next_help_heading = KEYS)]
    pub(crate) client: ClientArgs,
    /// The other side's SCTP port; a ticket names it itself
    #[arg(long, value_name = "PORT", default_value_t = 5001, value_parser = clap::value_parser!(u16).range(1..), help_heading = NETWORK)]
    pub(crate) port: u16,
    /// How long to wait for an answer to the set-up
    #[arg(long, value_name = "TIME", default_value = "20 s", value_parser = time_to_wait, help_heading = NETWORK)]
    pub(crate) connect_timeout: Duration,
}

/// Where a side that is called listens, and how much it keeps for those who call.
#[derive(Copy, Clone, Debug, Args)]
pub(crate) struct CalledArgs {
    /// SCTP port
    #[arg(long, value_name = "PORT", default_value_t = 5001, value_parser = clap::value_parser!(u16).range(1..), help_heading = NETWORK)]
    pub(crate) port: u16,
    /// Memory that others can make this side keep, of one host half of it
    ///
    /// Above fifteen sixteenths of it the association that holds most is aborted (docs/networks.md, "Memory").
    #[arg(long, value_name = "SIZE", default_value = "256 MiB", value_parser = ceiling, help_heading = RARE)]
    pub(crate) max_memory: Size,
}

/// Less than this, and a single sender whose file is written slowly meets the half of its host.
const LEAST_MEMORY: Size = Size(4 << 20);

/// A ceiling of memory.
fn ceiling(text: &str) -> Result<Size, String> {
    match Size::parse(text)? {
        size if size < LEAST_MEMORY => Err(
            "that is less than what two senders may need; 4 MiB at least, such as 64 MiB"
                .to_owned(),
        ),
        size => Ok(size),
    }
}

/// A time in which an answer can come.
pub(crate) fn time_to_wait(text: &str) -> Result<Duration, String> {
    match byway_lab::units::parse_duration(text)? {
        time if time < Duration::from_millis(1) => Err(
            "that is over before anything has been sent; wait 1 ms at least, such as 20 s"
                .to_owned(),
        ),
        time => Ok(time),
    }
}

pub(crate) const RECV_EXAMPLES: &str = "\
Examples:
  # a ticket for one sender
  byway recv --dir inbox

  # the same with these two addresses of this host alone
  byway recv --bind 10.0.0.1,10.1.0.1 --dir inbox

  # for all who get the ticket today
  byway recv --uses any --valid-for 12h

  # for those whose keys are in the file (see `byway key`)
  byway recv --authorized keys

  # for anybody, without encryption
  byway recv --bind 10.0.0.1 --unprotected";

#[derive(Debug, Args)]
pub(crate) struct RecvArgs {
    /// Folder for the files and folders
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub(crate) dir: PathBuf,
    /// End after the first completed transfer
    ///
    /// A sender whose association is lost is waited for; a refused file, or a folder that is not whole,
    /// ends the command, too, as a failure.
    #[arg(long)]
    pub(crate) once: bool,
    /// Replace files that exist, and add to folders that exist
    #[arg(long)]
    pub(crate) force: bool,
    /// Take files and folders whose names begin with a dot
    ///
    /// Programs obey some of them, such as .bashrc.
    #[arg(long)]
    pub(crate) dot_files: bool,
    /// How many senders may use the ticket, or any
    ///
    /// Each for one transfer. After the last one the command ends.
    #[arg(long, value_name = "N", default_value = "1", value_parser = Uses::parse, help_heading = KEYS)]
    pub(crate) uses: Uses,
    #[command(flatten, next_help_heading = KEYS)]
    pub(crate) gate: GateArgs,
    #[command(flatten)]
    pub(crate) here: HereArgs,
    #[command(flatten)]
    pub(crate) called: CalledArgs,
    #[command(flatten, next_help_heading = RARE)]
    pub(crate) workers: WorkersArgs,
    /// Give an association up when its transfer does not get on for this long, silence included
    ///
    /// Without this option two minutes, and in the middle of a file the time in which no path answers
    /// does not count.
    #[arg(long, value_name = "TIME", value_parser = byway_lab::units::parse_duration, help_heading = RARE)]
    pub(crate) give_up: Option<Duration>,
    /// Remove a partial file whose sender did not come back for this long
    #[arg(long, value_name = "TIME", default_value = "168h", value_parser = byway_lab::units::parse_duration, help_heading = RARE)]
    pub(crate) keep_partial: Duration,
    /// Partial files that are kept at most; of one host a quarter of them
    #[arg(long, value_name = "N", default_value_t = 1024, help_heading = RARE)]
    pub(crate) keep_partial_files: usize,
    /// Bytes of all partial files that are kept, such as 10GB [default: half of the free space]
    #[arg(long, value_name = "SIZE", value_parser = Size::parse, help_heading = RARE)]
    pub(crate) keep_partial_bytes: Option<Size>,
}

pub(crate) const SEND_EXAMPLES: &str = "\
Examples:
  # the ticket that `byway recv` has printed
  byway send report.pdf --to byway1-g4erhcnl-...

  # a folder, which arrives as photos/; and first, what of it would be sent
  byway send photos --to TICKET --dry-run
  byway send photos --to TICKET

  # a ticket in a file, and these two addresses of this host alone
  byway send a.bin b.bin --to @ticket --bind 10.0.0.2,10.1.0.2

  # outages of up to an hour
  byway send big.iso --to TICKET --retry-for 1h

  # leaves room for others
  byway send big.iso --to TICKET --limit 20Mbit/s

  # to a `byway recv --unprotected`
  byway send report.pdf --to 10.0.0.1,10.1.0.1";

#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Files and folders to send
    #[arg(required = true)]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) there: ThereArgs,
    // A heading of what is flattened above stays for what follows.
    /// List what would be sent, and send nothing
    ///
    /// Each file with its size, and where it would go.
    #[arg(long, help_heading = None)]
    pub(crate) dry_run: bool,
    /// Send at most at this rate, such as 20Mbit/s
    ///
    /// Over all paths together.
    #[arg(long, help_heading = None, value_name = "RATE", value_parser = Rate::parse)]
    pub(crate) limit: Option<Rate>,
    /// Keep trying for this long without progress, such as 1h
    ///
    /// To reach the receiver, even if it never answered, and to resume. In place of --retries.
    #[arg(long, help_heading = None, value_name = "TIME", conflicts_with = "retries", value_parser = byway_lab::units::parse_duration)]
    pub(crate) retry_for: Option<Duration>,
    /// Times that a lost association is set up again
    #[arg(long, help_heading = None, value_name = "N", default_value_t = 3)]
    pub(crate) retries: u32,
    #[command(flatten)]
    pub(crate) here: HereArgs,
    /// Give an association up, and set it up again, when the other side is there and takes nothing of
    /// what waits for this long
    #[arg(long, value_name = "TIME", default_value = "2 min", value_parser = byway_lab::units::parse_duration, help_heading = RARE)]
    pub(crate) give_up: Duration,
}

pub(crate) const LISTEN_EXAMPLES: &str = "\
Examples:
  # prints a ticket on standard error; on the other side: tar c folder |
  # byway cat --to TICKET
  byway listen | tar x

  # the ticket in a file, which only you can read
  byway listen --ticket-to ticket > backup.img

  # for any SCTP program, without encryption
  byway listen --bind 10.0.0.1,10.1.0.1 --unprotected";

#[derive(Debug, Args)]
pub(crate) struct ListenArgs {
    #[command(flatten, next_help_heading = KEYS)]
    pub(crate) gate: GateArgs,
    #[command(flatten)]
    pub(crate) here: HereArgs,
    #[command(flatten)]
    pub(crate) called: CalledArgs,
    /// Give an association up when no byte comes within this time, while one can be written.
    /// Without this option the first byte has two minutes; after it the other side may send
    /// nothing for any time, as long as it answers heartbeats
    #[arg(long, value_name = "TIME", value_parser = byway_lab::units::parse_duration, help_heading = RARE)]
    pub(crate) give_up: Option<Duration>,
}

pub(crate) const CAT_EXAMPLES: &str = "\
Examples:
  # with the ticket that `byway listen` has printed
  tar c folder | byway cat --to TICKET

  # a file, and a ticket in another one
  byway cat backup.img --to @ticket

  # to any SCTP program, without encryption
  byway cat notes.txt --to 10.0.0.1,10.1.0.1";

#[derive(Debug, Args)]
pub(crate) struct CatArgs {
    /// File, or - for standard input
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) there: ThereArgs,
    #[command(flatten)]
    pub(crate) here: HereArgs,
    /// Give the association up when the other side takes nothing of what waits for this long or,
    /// while nothing waits, when nothing is heard from it. Without this option two minutes, and the
    /// time in which no path answers does not count
    #[arg(long, value_name = "TIME", value_parser = byway_lab::units::parse_duration, help_heading = RARE)]
    pub(crate) give_up: Option<Duration>,
}
