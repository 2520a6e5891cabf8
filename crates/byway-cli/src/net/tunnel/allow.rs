//! Which targets `byway serve` connects to.
//!
//! A rule is HOST:PORT, and `*` stands for any host or any port. A host by name or address is meant, so
//! loopback is served when a rule names it. `*` means hosts elsewhere: not loopback, link-local or this
//! machine's own addresses, which a stranger must not reach by way of it.

use super::frame::{Cause, Reset};
use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};

/// A rule of `--allow`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rule {
    /// In small letters, without brackets; none is `*`.
    host: Option<String>,
    port: Option<u16>,
}

impl Rule {
    /// Reads a rule.
    ///
    /// # Errors
    /// What is wrong, and what would be right.
    pub(crate) fn parse(text: &str) -> Result<Rule, String> {
        let (host, port) = split(text)
            .ok_or_else(|| format!("{text:?} is no HOST:PORT, such as 127.0.0.1:5432 or *:443"))?;
        let host = (host != "*").then_some(host);
        let port = match port.as_str() {
            "*" => None,
            number => Some(port_of(number)?),
        };
        Ok(Rule { host, port })
    }

    fn permits(&self, target: &Target) -> bool {
        self.host.as_ref().is_none_or(|host| *host == target.host)
            && self.port.is_none_or(|port| port == target.port)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.host.as_deref().unwrap_or("*");
        match host.contains(':') {
            true => write!(f, "[{host}]")?,
            false => f.write_str(host)?,
        }
        match self.port {
            Some(port) => write!(f, ":{port}"),
            None => f.write_str(":*"),
        }
    }
}

/// Where a connection shall go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    host: String,
    port: u16,
    /// Whether only a rule with any host permits it.
    elsewhere: bool,
}

impl Target {
    /// The target that a peer asks for, if a rule permits it.
    ///
    /// # Errors
    /// Why not, for the peer.
    pub(super) fn permitted(asked: &str, rules: &[Rule]) -> Result<Target, String> {
        if asked.is_empty() {
            return match rules {
                [
                    Rule {
                        host: Some(host),
                        port: Some(port),
                    },
                ] => Ok(Target {
                    host: host.clone(),
                    port: *port,
                    elsewhere: false,
                }),
                _ => Err(
                    "more than one target is allowed: name one, as --listen ADDR=HOST:PORT"
                        .to_owned(),
                ),
            };
        }
        let (host, port) = split(asked).ok_or("the target is no HOST:PORT")?;
        let port = port_of(&port)?;
        let mut target = Target {
            host,
            port,
            elsewhere: true,
        };
        let mut permitted = false;
        for rule in rules.iter().filter(|rule| rule.permits(&target)) {
            permitted = true;
            if rule.host.is_some() {
                target.elsewhere = false;
                break;
            }
        }
        match permitted {
            true => Ok(target),
            false => Err(format!("{target} is not allowed (--allow)")),
        }
    }

    /// Its addresses, as the system's resolver gives them, without those that are not allowed.
    ///
    /// # Errors
    /// Why there is none, for the peer.
    pub(super) async fn addresses(&self) -> Result<Vec<SocketAddr>, Reset> {
        let found = tokio::net::lookup_host((self.host.as_str(), self.port))
            .await
            .map_err(|e| Reset::new(Cause::UnknownHost, format!("{}: {e}", self.host)))?;
        let all: Vec<SocketAddr> = found.collect();
        let allowed: Vec<SocketAddr> = all
            .iter()
            .copied()
            .filter(|a| !self.elsewhere || is_elsewhere(a.ip()))
            .collect();
        match (allowed.is_empty(), all.is_empty()) {
            (false, _) => Ok(allowed),
            (true, true) => Err(Reset::new(
                Cause::UnknownHost,
                format!("{} has no address", self.host),
            )),
            (true, false) => Err(Reset::new(
                Cause::NotAllowed,
                format!(
                    "{self} is this machine or on its own link, which * does not allow: --allow must name it"
                ),
            )),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host.contains(':') {
            true => write!(f, "[{}]:{}", self.host, self.port),
            false => write!(f, "{}:{}", self.host, self.port),
        }
    }
}

/// Whether this machine is not meant: its own addresses can be bound.
fn is_elsewhere(ip: IpAddr) -> bool {
    let ip = match ip {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(ip, IpAddr::V4),
        IpAddr::V4(_) => ip,
    };
    let local_link = match ip {
        IpAddr::V4(v4) => v4.is_link_local() || v4.is_broadcast(),
        IpAddr::V6(v6) => v6.is_unicast_link_local() || embeds_loopback(v6),
    };
    let special = ip.is_loopback() || ip.is_unspecified() || ip.is_multicast() || local_link;
    !special && UdpSocket::bind((ip, 0)).is_err()
}

/// Addresses that some routers translate to IPv4 (RFC 6052): not to a loopback address.
fn embeds_loopback(ip: Ipv6Addr) -> bool {
    let [a, b, c, d, e, f, g, h] = ip.segments();
    let [first, ..] = g.to_be_bytes();
    [a, b, c, d, e, f] == [0x64, 0xff9b, 0, 0, 0, 0] && (first == 127 || (g, h) == (0, 0))
        || [a, b, c, d, e, f] == [0; 6] && first == 127
}

/// Host, in small letters and without brackets, and port.
pub(super) fn split(text: &str) -> Option<(String, String)> {
    let (host, port) = text.rsplit_once(':')?;
    let host = match host.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?,
        None if host.contains(':') => return None,
        None => host,
    };
    let sound = !host.is_empty() && !host.contains(|c: char| c.is_whitespace() || c.is_control());
    sound.then(|| {
        (
            host.trim_end_matches('.').to_ascii_lowercase(),
            port.to_owned(),
        )
    })
}

fn port_of(text: &str) -> Result<u16, String> {
    match text.parse() {
        Ok(port) if port > 0 => Ok(port),
        _ => Err(format!("{text:?} is no TCP port, 1 to 65535")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(texts: &[&str]) -> Vec<Rule> {
        texts.iter().map(|t| Rule::parse(t).unwrap()).collect()
    }

    #[test]
    fn rules_are_read_as_people_write_them() {
        for text in [
            "127.0.0.1:5432",
            "db.example:5432",
            "[::1]:80",
            "*:443",
            "*:*",
            "db:*",
        ] {
            assert_eq!(Rule::parse(text).unwrap().to_string(), text);
        }
        for (text, wrong) in [
            ("5432", "is no HOST:PORT"),
            ("::1:80", "is no HOST:PORT"),
            (":80", "is no HOST:PORT"),
            ("db:http", "is no TCP port"),
            ("db:0", "is no TCP port"),
            ("a b:1", "is no HOST:PORT"),
        ] {
            assert!(Rule::parse(text).unwrap_err().contains(wrong), "{text}");
        }
    }

    #[test]
    fn only_what_a_rule_names_is_permitted() {
        let given = rules(&["db.example:5432", "*:443", "127.0.0.1:*"]);
        for (asked, yes) in [
            ("db.example:5432", true),
            ("DB.Example.:5432", true),
            ("db.example:5433", false),
            ("www.example:443", true),
            ("www.example:80", false),
            ("127.0.0.1:22", true),
            ("127.0.0.2:22", false),
            ("127.0.0.1", false),
            ("", false),
        ] {
            assert_eq!(Target::permitted(asked, &given).is_ok(), yes, "{asked}");
        }
        let single = rules(&["127.0.0.1:5432"]);
        assert_eq!(
            Target::permitted("", &single).unwrap().to_string(),
            "127.0.0.1:5432"
        );
    }

    #[tokio::test]
    async fn any_host_is_not_this_one() {
        let given = rules(&["*:80", "localhost:81"]);
        for asked in [
            "127.0.0.1:80",
            "127.9.9.9:80",
            "localhost:80",
            "[::1]:80",
            "0.0.0.0:80",
            "[::]:80",
            "[::ffff:127.0.0.1]:80",
            "[::127.0.0.1]:80",
            "169.254.169.254:80",
            "[fe80::1]:80",
            "224.0.0.1:80",
            "[64:ff9b::127.0.0.1]:80",
        ] {
            let target = Target::permitted(asked, &given).unwrap();
            let refused = target.addresses().await.unwrap_err().why;
            assert!(
                refused.contains("this machine") || refused.contains("localhost"),
                "{refused}"
            );
        }
        let named = Target::permitted("localhost:81", &given).unwrap();
        assert!(named.addresses().await.is_ok());
        // Documentation addresses (RFC 5737).
        let other = Target::permitted("192.0.2.1:80", &given).unwrap();
        assert!(other.addresses().await.is_ok());
    }
}
