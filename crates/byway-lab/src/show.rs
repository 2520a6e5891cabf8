//! Numbers as people read them.

/// A time with three significant figures: "850 ms", "8.53 s", "63.0 s".
#[must_use]
pub fn time(seconds: f64) -> String {
    if seconds < 0.0005 {
        "0 s".to_owned()
    } else if seconds < 0.9995 {
        format!("{:.0} ms", seconds * 1e3)
    } else if seconds < 9.995 {
        format!("{seconds:.2} s")
    } else if seconds < 999.95 {
        format!("{seconds:.1} s")
    } else {
        format!("{seconds:.0} s")
    }
}

/// A time, or "-" when there is none.
#[must_use]
pub fn maybe_time(time_s: Option<f64>) -> String {
    time_s.map_or_else(|| "-".to_owned(), time)
}

/// Bytes with powers of 1000: "812 B", "6.52 MB".
#[must_use]
pub fn bytes(n: u64) -> String {
    scaled(n as f64, &["B", "kB", "MB", "GB", "TB"])
}

/// Bits per second with powers of 1000.
#[must_use]
pub fn rate(bits_per_second: f64) -> String {
    scaled(
        bits_per_second,
        &["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"],
    )
}

fn scaled(mut x: f64, units: &[&str]) -> String {
    let mut unit = 0;
    while x >= 999.5 && unit + 1 < units.len() {
        x /= 1000.0;
        unit += 1;
    }
    if unit == 0 || x >= 99.95 {
        format!("{x:.0} {}", units[unit])
    } else if x >= 9.995 {
        format!("{x:.1} {}", units[unit])
    } else {
        format!("{x:.2} {}", units[unit])
    }
}

/// A time on an axis whose ticks are `step` seconds apart.
pub(crate) fn tick(seconds: f64, step: f64) -> String {
    if step >= 1.0 {
        format!("{seconds:.0} s")
    } else if step >= 0.1 {
        format!("{seconds:.1} s")
    } else if step >= 0.01 {
        format!("{seconds:.2} s")
    } else {
        format!("{:.1} ms", seconds * 1e3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_three_figures() {
        for (seconds, text) in [
            (0.0, "0 s"),
            (0.0451, "45 ms"),
            (1.054, "1.05 s"),
            (63.04, "63.0 s"),
            (1200.2, "1200 s"),
        ] {
            assert_eq!(time(seconds), text);
        }
        for (n, text) in [
            (0, "0 B"),
            (812, "812 B"),
            (8_388_608, "8.39 MB"),
            (999_999, "1.00 MB"),
            (65_536, "65.5 kB"),
        ] {
            assert_eq!(bytes(n), text);
        }
        assert_eq!(rate(9_730_000.0), "9.73 Mbit/s");
    }
}
