//! Times as a person would say them.

use std::time::Duration;

/// "2.5 h", "3.0 days".
pub(super) fn about(time: Duration) -> String {
    let seconds = time.as_secs_f64();
    if seconds < 10.0 {
        format!("{seconds:.1} s")
    } else if seconds < 120.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else if seconds < 172_800.0 {
        format!("{:.1} h", seconds / 3600.0)
    } else {
        format!("{:.1} days", seconds / 86_400.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_said_in_words() {
        for (seconds, words) in [
            (0.5, "0.5 s"),
            (59.6, "60 s"),
            (600.0, "10 min"),
            (9000.0, "2.5 h"),
            (259_200.0, "3.0 days"),
        ] {
            assert_eq!(about(Duration::from_secs_f64(seconds)), words);
        }
    }
}
