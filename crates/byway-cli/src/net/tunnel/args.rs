//! The options of `byway forward` and `byway serve`.

use super::allow::Rule;
use crate::below::WorkersArgs;
use crate::help::{KEYS, RARE};
use crate::net::args::{CalledArgs, HereArgs, ThereArgs};
use crate::net::{GateArgs, Uses};
use clap::{ArgGroup, Args};
use std::time::Duration;

/// The line that clap would make is longer than a terminal.
pub(crate) const FORWARD_USAGE: &str = "\
byway forward [OPTIONS] --to <TICKET> --listen <ADDR:PORT[=HOST:PORT]>
       byway forward [OPTIONS] --to <TICKET> --socks|--http <ADDR:PORT>";

pub(crate) const FORWARD_EXAMPLES: &str = "\
Examples:
  # the ticket of `byway serve`
  byway forward --listen 127.0.0.1:5432 --to byway1-g4erhcnl-...

  # two targets by their names at the other side
  byway forward --to @ticket --listen 127.0.0.1:2222=build:22 \\
      --listen 127.0.0.1:8080=www:80

  # proxies, for browsers and curl
  byway forward --to @ticket --socks 127.0.0.1:1080 --http 127.0.0.1:8080

Then a program on this machine connects to 127.0.0.1:5432 as if the other end were there. The \
association is set up again whenever it was lost; TCP connections of a lost one are reset.";

/// Carry TCP connections.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("doors").required(true).multiple(true))]
pub(crate) struct ForwardArgs {
    /// TCP address to listen on, and the target at the other side
    ///
    /// Without a target, the only one that the other side allows. May be repeated.
    #[arg(long, value_name = "ADDR:PORT[=HOST:PORT]", group = "doors")]
    pub(crate) listen: Vec<String>,
    /// Be a SOCKS5 proxy at this TCP address
    ///
    /// Its clients name the target, and the other side resolves and allows it. Who reaches the address
    /// may use it. May be repeated.
    #[arg(long, value_name = "ADDR:PORT", group = "doors")]
    pub(crate) socks: Vec<String>,
    /// Be a proxy for HTTP's CONNECT at this TCP address
    ///
    /// In the same way. May be repeated.
    #[arg(long, value_name = "ADDR:PORT", group = "doors")]
    pub(crate) http: Vec<String>,
    #[command(flatten)]
    pub(crate) there: ThereArgs,
    #[command(flatten)]
    pub(crate) here: HereArgs,
}

pub(crate) const SERVE_EXAMPLES: &str = "\
Examples:
  # prints a ticket
  byway serve --allow 127.0.0.1:5432

  # with these two addresses of this host alone
  byway serve --bind 10.0.0.1,10.1.0.1 --allow 127.0.0.1:5432

  # for proxies, too
  byway serve --allow build:22 --allow '*:443'

  # for the keys in this file; the ticket stays the same
  byway serve --allow 127.0.0.1:22 --authorized keys";

/// Connect what `forward` carries.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Target that others may be connected to; may be repeated
    ///
    /// `*` stands for any port, or for any host but this machine and those on its link (loopback, its own
    /// addresses, link-local ones): these must be named.
    #[arg(long, value_name = "HOST:PORT", required = true, value_parser = Rule::parse)]
    pub(crate) allow: Vec<Rule>,
    /// How many may use the ticket, or any; each may come back as often as it likes
    #[arg(long, value_name = "N", default_value = "any", value_parser = Uses::parse, help_heading = KEYS)]
    pub(crate) uses: Uses,
    #[command(flatten, next_help_heading = KEYS)]
    pub(crate) gate: GateArgs,
    #[command(flatten)]
    pub(crate) here: HereArgs,
    #[command(flatten)]
    pub(crate) called: CalledArgs,
    #[command(flatten, next_help_heading = RARE)]
    pub(crate) workers: WorkersArgs,
    /// With --unprotected: give an association up on which no TCP connection was under way for this
    /// long; `forward` sets it up again
    #[arg(long, value_name = "TIME", default_value = "10 min", value_parser = byway_lab::units::parse_duration, help_heading = RARE)]
    pub(crate) give_up: Duration,
}
