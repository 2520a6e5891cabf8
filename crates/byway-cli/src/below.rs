//! What is below SCTP: the options of all commands with sockets.

use byway::{Encapsulation, EndpointOptions};
use clap::Args;
use std::net::SocketAddr;

/// The registered port of SCTP over UDP (RFC 6951 section 7).
pub(crate) const ENCAPSULATION_PORT: u16 = 9899;

/// What carries SCTP packets.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum EncapsulationArg {
    /// UDP (RFC 6951)
    #[default]
    Udp,
    /// Nothing: SCTP is protocol 132 of IP. It needs CAP_NET_RAW and a kernel without SCTP
    None,
    /// Both: an address with port 0 is reached without UDP
    Both,
}

impl EncapsulationArg {
    /// The port of an address that is written without one.
    pub(crate) const fn default_port(self) -> u16 {
        match self {
            EncapsulationArg::None => 0,
            EncapsulationArg::Udp | EncapsulationArg::Both => ENCAPSULATION_PORT,
        }
    }
}

impl From<EncapsulationArg> for Encapsulation {
    fn from(arg: EncapsulationArg) -> Encapsulation {
        match arg {
            EncapsulationArg::Udp => Encapsulation::Udp,
            EncapsulationArg::None => Encapsulation::None,
            EncapsulationArg::Both => Encapsulation::Both,
        }
    }
}

/// What is below SCTP.
#[derive(Copy, Clone, Debug, Default, Args)]
pub(crate) struct BelowArgs {
    /// What carries SCTP packets (docs/networks.md)
    #[arg(long, value_name = "WHAT", value_enum, default_value = "udp")]
    pub(crate) encapsulation: EncapsulationArg,
    /// Without UDP, go on although the kernel's own SCTP is loaded: only after the filter of
    /// docs/networks.md keeps its ABORTs back
    #[arg(long)]
    pub(crate) beside_kernel_sctp: bool,
}

/// How many threads of the library share the associations of others.
#[derive(Copy, Clone, Debug, Args)]
pub(crate) struct WorkersArgs {
    /// Spread associations over so many workers, each with sockets of its own on the same ports
    /// (SO_REUSEPORT) and a thread. The SCTP port of the other side decides which one has an
    /// association. Limits are shared equally. Several need UDP
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u8).range(1..=64))]
    workers: u8,
}

impl WorkersArgs {
    /// One: of an endpoint that has one association.
    pub(crate) const ONE: WorkersArgs = WorkersArgs { workers: 1 };

    /// How many.
    pub(crate) fn count(self) -> usize {
        usize::from(self.workers)
    }
}

impl BelowArgs {
    /// The options of an endpoint on these addresses.
    pub(crate) fn options(self, local: Vec<SocketAddr>) -> EndpointOptions {
        let mut options = EndpointOptions::new(local).encapsulation(self.encapsulation.into());
        options.beside_kernel_sctp = self.beside_kernel_sctp;
        options
    }
}
