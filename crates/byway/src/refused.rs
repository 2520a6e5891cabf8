//! Datagrams that the kernel refused.

use byway_core::SendFailure;
use std::io;

/// Datagrams of one batch that the kernel refused, and the first error.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) error: io::Error,
    pub(crate) datagrams: u64,
}

/// What an error says of the path. None if it says nothing: the datagrams are lost, and
/// the protocol finds out by itself.
pub(crate) fn failure(error: &io::Error) -> Option<SendFailure> {
    use io::ErrorKind::{
        AddrNotAvailable, HostUnreachable, NetworkDown, NetworkUnreachable, PermissionDenied,
    };
    match error.kind() {
        _ if quinn_udp::is_msg_size_err(error) => Some(SendFailure::TooLarge),
        AddrNotAvailable | HostUnreachable | NetworkDown | NetworkUnreachable
        | PermissionDenied => Some(SendFailure::Unreachable),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_kernel_and_what_they_say() {
        let (too_large, unreachable) = (SendFailure::TooLarge, SendFailure::Unreachable);
        for (name, number, expected) in [
            ("EMSGSIZE", 90, Some(too_large)),
            ("ENETUNREACH", 101, Some(unreachable)),
            ("EHOSTUNREACH", 113, Some(unreachable)),
            ("ENETDOWN", 100, Some(unreachable)),
            ("EPERM", 1, Some(unreachable)),
            ("EADDRNOTAVAIL", 99, Some(unreachable)),
            ("ENOBUFS", 105, None),
            ("EINVAL", 22, None),
        ] {
            let error = io::Error::from_raw_os_error(number);
            assert_eq!(failure(&error), expected, "{name}");
        }
    }
}
