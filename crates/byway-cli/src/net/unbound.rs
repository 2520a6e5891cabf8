//! What to do about a TCP address that cannot be listened on.

use std::io::{Error, ErrorKind};

/// The end of an error; nothing if there is nothing to say.
pub(super) fn advice(error: &Error) -> &'static str {
    match error.kind() {
        ErrorKind::AddrInUse => {
            "; another program listens there (`ss -ltnp` names it): take another port, or 0 for a free one"
        }
        ErrorKind::AddrNotAvailable => "; it is no address of this host (`ip addr` lists them)",
        ErrorKind::PermissionDenied => "; ports below 1024 are root's: take a higher one",
        _ => "",
    }
}
