//! Rates, sizes and shares as people write them: "10 Mbit/s", "64 KiB", "1 %".
//!
//! Decimal prefixes are powers of ten and binary ones powers of two: 1 MB is
//! 10^6 bytes, 1 MiB is 2^20. The papers' "8 MB" files are 8 MiB here.

use serde::{Serialize, Serializer};
use std::fmt;

pub use byway_core::units::{format_duration, parse_duration};

/// A data rate in bits per second.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rate(pub u64);

/// A number of bytes.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Size(pub u64);

/// A share between 0 and 1, written as a percentage.
#[derive(Copy, Clone, Debug, PartialEq, PartialOrd)]
pub struct Share(pub f64);

/// Room in a queue.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum QueueLimit {
    /// So many packets, whatever their size.
    Packets(u32),
    /// So many bytes.
    Bytes(u64),
}

const RATES: &[(&str, u64)] = &[
    ("Gbit/s", 1_000_000_000),
    ("Mbit/s", 1_000_000),
    ("kbit/s", 1_000),
    ("bit/s", 1),
    ("GB/s", 8_000_000_000),
    ("MB/s", 8_000_000),
    ("kB/s", 8_000),
    ("B/s", 8),
    ("Gb/s", 1_000_000_000),
    ("Mb/s", 1_000_000),
    ("kb/s", 1_000),
    ("Gbps", 1_000_000_000),
    ("Mbps", 1_000_000),
    ("kbps", 1_000),
    ("bps", 1),
    ("Gbit", 1_000_000_000),
    ("Mbit", 1_000_000),
    ("kbit", 1_000),
];

/// Faster links cannot be computed in nanoseconds.
const MAX_RATE: u64 = 1_000_000_000_000_000;

const SIZES: &[(&str, u64)] = &[
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("B", 1),
    ("KB", 1_000),
    ("bytes", 1),
    ("byte", 1),
];

/// Splits "10 Mbit/s" into its number and its unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let at = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_')))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(at);
    (number.trim(), unit.trim())
}

fn number(number: &str) -> Option<f64> {
    number.replace('_', "").parse().ok()
}

/// Reads a number with a unit of `table`, in units of the table's 1.
fn scaled(
    text: &str,
    what: &str,
    units: &str,
    example: &str,
    table: &[(&str, u64)],
) -> Result<u64, String> {
    let (digits, unit) = split(text);
    let value = number(digits).ok_or_else(|| {
        format!("\"{text}\" is not a {what}; write a number and a unit, such as \"{example}\"")
    })?;
    if unit.is_empty() && value == 0.0 {
        return Ok(0);
    }
    if unit.is_empty() {
        return Err(format!(
            "\"{text}\" has no unit; write a {what} with {units}, such as \"{example}\""
        ));
    }
    let factor = table
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, factor)| *factor)
        .ok_or_else(|| {
            format!("\"{unit}\" is not a unit of {what}; use {units}, such as \"{example}\"")
        })?;
    let scaled = value * factor as f64;
    if scaled < 9e18 {
        Ok(scaled.round() as u64)
    } else {
        Err(format!("\"{text}\" is too large for a {what}"))
    }
}

/// The largest unit of `table` that divides `value`.
fn written(value: u64, table: &[(&str, u64)]) -> String {
    let (unit, factor) = table
        .iter()
        .find(|(_, factor)| value >= *factor && value.is_multiple_of(*factor))
        .or_else(|| table.iter().find(|(_, factor)| *factor == 1))
        .copied()
        .unwrap_or(("", 1));
    format!("{} {unit}", value / factor)
}

impl Rate {
    /// Reads a rate.
    ///
    /// # Errors
    /// A sentence that says what was found and what would be right.
    pub fn parse(text: &str) -> Result<Rate, String> {
        let bits = scaled(
            text,
            "rate",
            "bit/s, kbit/s, Mbit/s, Gbit/s, kB/s or MB/s",
            "10 Mbit/s",
            RATES,
        )?;
        if bits == 0 {
            return Err(format!(
                "\"{text}\" would carry nothing; a rate is above 0 (to cut a path, use an [[event]] with do = \"down\")"
            ));
        }
        if bits > MAX_RATE {
            return Err(format!(
                "\"{text}\" is faster than anything; at most 1000000 Gbit/s"
            ));
        }
        Ok(Rate(bits))
    }
}

impl Size {
    /// Reads a size.
    ///
    /// # Errors
    /// A sentence that says what was found and what would be right.
    pub fn parse(text: &str) -> Result<Size, String> {
        scaled(
            text,
            "size",
            "B, kB, MB, GB (powers of 1000), KiB, MiB or GiB (powers of 1024)",
            "64 KiB",
            SIZES,
        )
        .map(Size)
    }
}

impl Share {
    /// Reads a percentage.
    ///
    /// # Errors
    /// A sentence that says what was found and what would be right.
    pub fn parse(text: &str) -> Result<Share, String> {
        let (digits, unit) = split(text);
        let value = number(digits).ok_or_else(|| {
            format!("\"{text}\" is not a percentage; write a number and %, such as \"1 %\"")
        })?;
        match unit {
            "%" | "percent" if value <= 100.0 => Ok(Share(value / 100.0)),
            "%" | "percent" => Err(format!(
                "\"{text}\" is more than everything; a percentage is 0 % to 100 %"
            )),
            "" if value == 0.0 => Ok(Share(0.0)),
            "" => Err(format!(
                "\"{text}\" has no unit; write \"{digits} %\" for {digits} of a hundred"
            )),
            other => Err(format!(
                "\"{other}\" is not the unit of a percentage; write \"{digits} %\""
            )),
        }
    }
}

impl QueueLimit {
    /// Reads a queue's room: "50 packets" or "64 KiB".
    ///
    /// # Errors
    /// A sentence that says what was found and what would be right.
    pub fn parse(text: &str) -> Result<QueueLimit, String> {
        let (digits, unit) = split(text);
        let zero = || {
            format!("\"{text}\" would drop everything; a queue has room for at least one packet")
        };
        if matches!(unit, "packets" | "packet") {
            let packets: u32 = digits
                .parse()
                .map_err(|_| format!("\"{text}\" is not a queue; write a whole number of packets, such as \"50 packets\""))?;
            return if packets == 0 {
                Err(zero())
            } else {
                Ok(QueueLimit::Packets(packets))
            };
        }
        match Size::parse(text) {
            Ok(Size(0)) => Err(zero()),
            Ok(Size(bytes)) => Ok(QueueLimit::Bytes(bytes)),
            Err(_) => Err(format!(
                "\"{text}\" is not a queue; write \"50 packets\", or a size such as \"64 KiB\""
            )),
        }
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(self.0, &RATES[..4]))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&written(self.0, &SIZES[..7]))
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded so that 0.07 is written as 7 %, not 7.000000000000001 %.
        write!(f, "{} %", (self.0 * 1e8).round() / 1e6)
    }
}

impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            QueueLimit::Packets(1) => f.write_str("1 packet"),
            QueueLimit::Packets(n) => write!(f, "{n} packets"),
            QueueLimit::Bytes(n) => Size(*n).fmt(f),
        }
    }
}

macro_rules! serialize_as_text {
    ($($name:ty),*) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
    )*};
}
serialize_as_text!(Rate, Size, Share, QueueLimit);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_as_people_write_them() {
        for (text, bits) in [
            ("10 Mbit/s", 10_000_000),
            ("10Mbit/s", 10_000_000),
            ("1.5 Mb/s", 1_500_000),
            ("64 kbit/s", 64_000),
            ("1 MB/s", 8_000_000),
            ("100 Mbps", 100_000_000),
        ] {
            assert_eq!(Rate::parse(text), Ok(Rate(bits)), "{text}");
        }
        for (text, bytes) in [
            ("40 B", 40),
            ("8 MB", 8_000_000),
            ("8 MiB", 8 << 20),
            ("1_452 B", 1452),
            ("64KiB", 65_536),
            ("0", 0),
        ] {
            assert_eq!(Size::parse(text), Ok(Size(bytes)), "{text}");
        }
        for (text, share) in [("1 %", 0.01), ("0.5%", 0.005), ("100 %", 1.0), ("0", 0.0)] {
            assert_eq!(Share::parse(text), Ok(Share(share)), "{text}");
        }
        assert_eq!(QueueLimit::parse("50 packets"), Ok(QueueLimit::Packets(50)));
        assert_eq!(QueueLimit::parse("64 KiB"), Ok(QueueLimit::Bytes(65_536)));
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        for bits in [1, 1_500, 10_000_000, 2_500_000_000] {
            assert_eq!(Rate::parse(&Rate(bits).to_string()), Ok(Rate(bits)));
        }
        for bytes in [0, 40, 1452, 8 << 20, 8_000_000] {
            assert_eq!(Size::parse(&Size(bytes).to_string()), Ok(Size(bytes)));
        }
        for share in [0.0, 0.07, 0.005, 1.0] {
            assert_eq!(Share::parse(&Share(share).to_string()), Ok(Share(share)));
        }
    }

    #[test]
    fn what_cannot_be_read_says_what_would_be_right() {
        let table: &[(Result<(), String>, &str)] = &[
            (
                Rate::parse("10").map(drop),
                "\"10\" has no unit; write a rate with bit/s, kbit/s, Mbit/s, Gbit/s, kB/s or MB/s, such as \"10 Mbit/s\"",
            ),
            (
                Rate::parse("10 Mbit")
                    .map(drop)
                    .and(Rate::parse("10 Mbits").map(drop)),
                "\"Mbits\" is not a unit of rate; use bit/s, kbit/s, Mbit/s, Gbit/s, kB/s or MB/s, such as \"10 Mbit/s\"",
            ),
            (
                Rate::parse("fast").map(drop),
                "\"fast\" is not a rate; write a number and a unit, such as \"10 Mbit/s\"",
            ),
            (
                Rate::parse("0 bit/s").map(drop),
                "\"0 bit/s\" would carry nothing; a rate is above 0 (to cut a path, use an [[event]] with do = \"down\")",
            ),
            (
                Share::parse("1").map(drop),
                "\"1\" has no unit; write \"1 %\" for 1 of a hundred",
            ),
            (
                Share::parse("101 %").map(drop),
                "\"101 %\" is more than everything; a percentage is 0 % to 100 %",
            ),
            (
                QueueLimit::parse("fifty").map(drop),
                "\"fifty\" is not a queue; write \"50 packets\", or a size such as \"64 KiB\"",
            ),
            (
                QueueLimit::parse("0 packets").map(drop),
                "\"0 packets\" would drop everything; a queue has room for at least one packet",
            ),
        ];
        for (found, expected) in table {
            assert_eq!(found.as_ref().unwrap_err(), expected);
        }
    }
}
