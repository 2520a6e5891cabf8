//! Addresses for people: those of one link with the name of the card.

use std::net::SocketAddr;

/// An address and its UDP port as they are written: `10.0.0.1:9899`, `[fe80::1%eth0]:9899`. `SocketAddr` itself
/// shows the number of the card, as this does where the card is gone.
#[must_use]
pub fn shown_address(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(a) if a.scope_id() != 0 => {
            format!("[{}]:{}", shown_host(address), a.port())
        }
        _ => address.to_string(),
    }
}

/// The same without the port: `10.0.0.1`, `fe80::1%eth0`.
#[must_use]
pub fn shown_host(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(a) if a.scope_id() != 0 => {
            let index = a.scope_id();
            let card = card(index).unwrap_or_else(|| index.to_string());
            format!("{}%{card}", a.ip())
        }
        _ => address.ip().to_string(),
    }
}

/// The name of a card of this network namespace.
#[cfg(target_os = "linux")]
pub(crate) fn card(index: u32) -> Option<String> {
    let name = nix::net::if_::if_indextoname(index).ok()?;
    // It is empty where there is no such card.
    name.into_string().ok().filter(|name| !name.is_empty())
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn card(_: u32) -> Option<String> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_one_link_has_its_card() {
        let card = card(1).unwrap_or_else(|| "1".to_owned());
        for (address, with_port, host) in [
            ("10.0.0.1:9899", "10.0.0.1:9899", "10.0.0.1"),
            ("10.0.0.1:0", "10.0.0.1:0", "10.0.0.1"),
            ("[::1]:9899", "[::1]:9899", "::1"),
            ("[::1]:0", "[::1]:0", "::1"),
            (
                "[fe80::1%1]:9899",
                &*format!("[fe80::1%{card}]:9899"),
                &*format!("fe80::1%{card}"),
            ),
            (
                "[fe80::1%1]:0",
                &*format!("[fe80::1%{card}]:0"),
                &*format!("fe80::1%{card}"),
            ),
            // No card has this number.
            (
                "[fe80::1%4294967295]:7",
                "[fe80::1%4294967295]:7",
                "fe80::1%4294967295",
            ),
            // Without a card it cannot be reached, and that is seen.
            ("[fe80::1]:7", "[fe80::1]:7", "fe80::1"),
        ] {
            let read: SocketAddr = address.parse().unwrap();
            assert_eq!(shown_address(read), with_port, "{address}");
            assert_eq!(shown_host(read), host, "{address}");
        }
        #[cfg(target_os = "linux")]
        assert_eq!(card, "lo");
    }
}
