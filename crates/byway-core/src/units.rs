//! Values as users write them: "45 ms", "1.5 s".
//!
//! Only durations are here, because the protocol's configuration needs them. Rates,
//! sizes and shares belong to scenarios.

use core::time::Duration;

/// What is as long, or longer, cannot be written: 30 years, in nanoseconds.
const LONGEST: u64 = 1_000_000_000 * 1_000_000_000;

/// Reads a duration such as `200 ms`, `1s`, `1.5 min` or `0`.
///
/// # Errors
/// A message with the text that was found and the correct form.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let split = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_')))
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(split);
    let number = number.replace('_', "");
    let value: f64 = number.parse().map_err(|_| {
        format!("'{text}' is not a duration; write a number and a unit, such as \"200 ms\"")
    })?;
    let nanos: u64 = match unit.trim() {
        "ns" => 1,
        "us" | "µs" => 1_000,
        "ms" => 1_000_000,
        "s" | "sec" => 1_000_000_000,
        "min" | "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        "" if value == 0.0 => 1,
        "" => {
            return Err(format!(
                "'{text}' has no unit; write for instance \"{text} ms\" or \"{text} s\""
            ));
        }
        other => {
            return Err(format!(
                "'{other}' is not a unit of time; use ns, us, ms, s, min or h"
            ));
        }
    };
    // Whole numbers are exact, where a float has 53 bits.
    let whole = number.parse::<u64>().ok();
    let total = match whole.and_then(|n| n.checked_mul(nanos)) {
        Some(total) => total,
        None => (value * nanos as f64).round() as u64,
    };
    if total < LONGEST {
        Ok(Duration::from_nanos(total))
    } else {
        Err(format!(
            "'{text}' is too long; at most 30 years can be written"
        ))
    }
}

/// Writes a duration so that [`parse_duration`] reads the same value back.
#[must_use]
pub fn format_duration(d: Duration) -> String {
    let n = d.as_nanos();
    if n == 0 {
        "0 s".to_owned()
    } else if n.is_multiple_of(1_000_000_000) {
        format!("{} s", n / 1_000_000_000)
    } else if n.is_multiple_of(1_000_000) {
        format!("{} ms", n / 1_000_000)
    } else if n.is_multiple_of(1_000) {
        format!("{} us", n / 1_000)
    } else {
        format!("{n} ns")
    }
}

/// `#[serde(with = "units::duration")]`: a duration as a string with a unit.
pub mod duration {
    use core::time::Duration;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    /// Writes the duration as text with a unit.
    ///
    /// # Errors
    /// Only those of the serializer.
    pub fn serialize<S: Serializer>(d: &Duration, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(&super::format_duration(*d))
    }

    /// Reads a duration from text with a unit.
    ///
    /// # Errors
    /// When the text is not a number with a unit of time.
    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Duration, D::Error> {
        let text = String::deserialize(d)?;
        super::parse_duration(&text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_durations_come_back_to_the_nanosecond() {
        for nanos in [(1 << 53) + 1, LONGEST - 1] {
            let d = Duration::from_nanos(nanos);
            assert_eq!(parse_duration(&format_duration(d)), Ok(d));
        }
        for text in [
            "1000000000 s",
            "1000000000000000000 ns",
            "300000 h",
            "1e400 s",
            "99999999999999999999 h",
        ] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
        assert_eq!(
            parse_duration("0.0000000015 s"),
            Ok(Duration::from_nanos(2))
        );
    }

    #[test]
    fn durations_are_read_as_people_write_them() {
        for (text, nanos) in [
            ("45 ms", 45_000_000),
            ("45ms", 45_000_000),
            ("1.5 s", 1_500_000_000),
            ("2 min", 120_000_000_000),
            ("10 us", 10_000),
            ("0", 0),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_nanos(nanos)),
                "{text}"
            );
        }
    }

    #[test]
    fn a_bad_duration_says_what_would_be_right() {
        assert!(parse_duration("45").unwrap_err().contains("45 ms"));
        assert!(
            parse_duration("45 parsecs")
                .unwrap_err()
                .contains("use ns, us, ms")
        );
        assert!(parse_duration("soon").unwrap_err().contains("200 ms"));
        assert!(parse_duration("-1 s").is_err());
        let error = parse_duration("40000000 h").unwrap_err();
        assert!(error.contains("at most 30 years"), "{error}");
    }

    /// In a file of settings, where a bare number has no unit.
    #[test]
    fn a_number_is_no_duration() {
        use serde::de::{IntoDeserializer, value};
        let read = |text: &str| {
            duration::deserialize(IntoDeserializer::<value::Error>::into_deserializer(text))
        };
        assert_eq!(read("2 s"), Ok(Duration::from_secs(2)));
        assert!(
            read("2 parsecs")
                .unwrap_err()
                .to_string()
                .contains("use ns")
        );
        let number = IntoDeserializer::<value::Error>::into_deserializer(2_u64);
        duration::deserialize(number).unwrap_err();
    }

    #[test]
    fn a_duration_is_written_in_the_largest_unit_that_fits_and_read_back() {
        for (nanos, text) in [
            (0, "0 s"),
            (90_000_000_000, "90 s"),
            (45_000_000, "45 ms"),
            (45_001_000, "45001 us"),
            (1_500, "1500 ns"),
        ] {
            let d = Duration::from_nanos(nanos);
            assert_eq!(format_duration(d), text);
            assert_eq!(parse_duration(text), Ok(d));
        }
    }
}
