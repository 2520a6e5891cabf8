//! What this host itself has to do with SCTP.

use serde::Serialize;
use std::path::Path;

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
    look_below(Path::new("/proc"))
}

fn look_below(proc: &Path) -> Host {
    let sctp = proc.join("sys/net/sctp");
    let port = std::fs::read_to_string(sctp.join("udp_port"));
    Host {
        kernel_sctp: sctp.exists(),
        kernel_udp_port: port.ok().and_then(|p| p.trim().parse().ok()).unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_proc_says_of_the_kernels_sctp() {
        let name = format!("byway-doctor-proc-{}", std::process::id());
        let proc = std::env::temp_dir().join(name);
        let _ = std::fs::remove_dir_all(&proc);
        assert_eq!(look_below(&proc), Host::default(), "it is not loaded");
        let sctp = proc.join("sys/net/sctp");
        std::fs::create_dir_all(&sctp).unwrap();
        for (text, kernel_udp_port) in [(None, 0), (Some("0\n"), 0), (Some("9899\n"), 9899)] {
            if let Some(text) = text {
                std::fs::write(sctp.join("udp_port"), text).unwrap();
            }
            let expected = Host {
                kernel_sctp: true,
                kernel_udp_port,
            };
            assert_eq!(look_below(&proc), expected, "{text:?}");
        }
        std::fs::remove_dir_all(&proc).unwrap();
    }
}
