//! What this host itself has to do with SCTP.

use serde::Serialize;

/// The SCTP of the Linux kernel, as far as it matters here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Host {
    /// Whether `sctp.ko` is loaded, or SCTP is built in.
    pub(super) kernel_sctp: bool,
    /// The UDP port on which the kernel takes encapsulated SCTP; 0 for none.
    pub(super) kernel_udp_port: u16,
}

/// Reads `/proc`.
pub(super) fn look() -> Host {
    let port = std::fs::read_to_string("/proc/sys/net/sctp/udp_port");
    Host {
        kernel_sctp: std::path::Path::new("/proc/sys/net/sctp").exists(),
        kernel_udp_port: port.ok().and_then(|p| p.trim().parse().ok()).unwrap_or(0),
    }
}
