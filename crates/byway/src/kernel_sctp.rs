//! Whether the kernel has an SCTP of its own.
//!
//! It gets every packet of protocol 132 as raw sockets do, knows none of their associations, and
//! answers with ABORT as RFC 9260 section 8.4 wants it. These ABORTs have the right verification
//! tags, so they end what a program without UDP sets up.

use std::path::Path;

/// Whether `sctp.ko` is loaded, or SCTP is built in. Both make these files, in each network
/// namespace.
pub(crate) fn is_loaded() -> bool {
    is_loaded_below(Path::new("/proc"))
}

fn is_loaded_below(proc: &Path) -> bool {
    ["net/sctp", "sys/net/sctp"]
        .iter()
        .any(|file| proc.join(file).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_file_shows_it() {
        let root = std::env::temp_dir().join(format!("byway-kernel-sctp-{}", std::process::id()));
        assert!(!is_loaded_below(&root));
        for file in ["net/sctp", "sys/net/sctp"] {
            std::fs::create_dir_all(root.join(file)).unwrap();
            assert!(is_loaded_below(&root), "{file}");
            std::fs::remove_dir_all(&root).unwrap();
        }
    }
}
