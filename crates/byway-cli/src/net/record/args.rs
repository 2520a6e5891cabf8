//! The options.

use super::journal::LogTo;
use clap::Args;
use std::path::PathBuf;

/// What a command leaves behind.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct RecordArgs {
    /// Write a page about the transfer at its end
    ///
    /// However it ends: windows, round trips and rates of each path over time, failures and
    /// retransmissions, the longest stall.
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Log what happens to associations and paths and why, to a file or standard error
    ///
    /// A line each, as text or JSON. A file that is there is added to.
    #[arg(long, value_name = "text|json[:FILE]", value_parser = LogTo::parse)]
    pub(crate) log: Option<LogTo>,
    /// Write the packets of this side, sent and received, to a pcapng file
    ///
    /// Wireshark reads it: UDP port 9899 by itself, another one with -d udp.port==PORT,sctp.
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap: Option<PathBuf>,
    /// Add the secrets of each TLS session to this file, mode 600, in the format of SSLKEYLOGFILE
    ///
    /// Who has it and the packets reads everything (docs/encryption.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) pcap_secrets: Option<PathBuf>,
}

impl RecordArgs {
    pub(super) fn is_empty(&self) -> bool {
        self.pcap.is_none()
            && self.pcap_secrets.is_none()
            && self.report.is_none()
            && self.log.is_none()
    }
}
