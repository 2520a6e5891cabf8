//! Recorded links: when each packet could leave, in the format of Mahimahi.

use super::section::Section;
use crate::source::{Item, Node, bounded};
use crate::units::Rate;
use std::fmt;
use std::io::ErrorKind;
use std::sync::Arc;

/// Bytes of an opportunity: Mahimahi's, an Ethernet packet and the header of its device.
pub const OPPORTUNITY: u32 = 1504;
/// Most opportunities: twenty minutes at 10 Mbit/s.
const MOST: usize = 1_000_000;
/// Longest file, bytes: as many lines of eight digits.
const LONGEST: u64 = 9 * MOST as u64;

/// When a link could send: at each of these milliseconds 1504 bytes, again and again. The last one is
/// also the length of the recording.
#[derive(Clone, PartialEq, Eq)]
pub struct Trace(Arc<[u32]>);

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({} opportunities, {})", self.0.len(), self.mean())
    }
}

impl Trace {
    /// Reads a recording: a line for each opportunity, with the milliseconds since the start of the
    /// recording, in ascending order; several may be equal. Empty lines are ignored.
    ///
    /// # Errors
    /// The line, counted from 1, or 0 for the whole text, and what is wrong.
    pub fn parse(text: &[u8]) -> Result<Trace, (usize, String)> {
        let mut moments = Vec::new();
        for (i, line) in text.split(|b| *b == b'\n').enumerate() {
            let line = line.trim_ascii();
            if line.is_empty() {
                continue;
            }
            let added = milliseconds(line).and_then(|at| push(&mut moments, at));
            added.map_err(|why| (i + 1, why))?;
        }
        Trace::of(moments).map_err(|why| (0, why))
    }

    /// The opportunities, in milliseconds.
    #[must_use]
    pub fn moments(&self) -> &[u32] {
        &self.0
    }

    /// How long it is until it begins anew, milliseconds.
    #[must_use]
    pub fn length(&self) -> u32 {
        // `of` refuses an empty one.
        self.0.last().copied().unwrap_or(1)
    }

    /// The mean rate, rounded to three digits.
    #[must_use]
    pub fn mean(&self) -> Rate {
        let bits = self.0.len() as u64 * u64::from(OPPORTUNITY) * 8;
        let rate = (bits * 1000 / u64::from(self.length())).max(1);
        let unit = 10_u64.pow(rate.ilog10().saturating_sub(2));
        Rate((rate + unit / 2) / unit * unit)
    }

    /// A list in ascending order.
    fn of(moments: Vec<u32>) -> Result<Trace, String> {
        match moments.last() {
            None => Err(
                "there is no opportunity to send; a trace has at least one, such as 10".to_owned(),
            ),
            Some(0) => Err(
                "the last opportunity is at 0 ms, and that is the length of the trace; at least 1"
                    .to_owned(),
            ),
            Some(_) => Ok(Trace(moments.into())),
        }
    }
}

/// Adds an opportunity.
fn push(moments: &mut Vec<u32>, at: u32) -> Result<(), String> {
    if let Some(before) = moments.last().filter(|before| **before > at) {
        return Err(format!(
            "{at} comes after {before}; the milliseconds are in ascending order"
        ));
    }
    if moments.len() == MOST {
        return Err(format!("at most {MOST} opportunities"));
    }
    moments.push(at);
    Ok(())
}

/// A line of a file, which may hold anything.
fn milliseconds(line: &[u8]) -> Result<u32, String> {
    let digits = std::str::from_utf8(line).ok();
    let number = digits.filter(|d| d.bytes().all(|b| b.is_ascii_digit()));
    number.and_then(|n| n.parse().ok()).ok_or_else(|| {
        let shown: String = String::from_utf8_lossy(line).chars().take(20).collect();
        no_time(&format!("{shown:?}"))
    })
}

fn no_time(found: &str) -> String {
    format!(
        "found {found}, expected whole milliseconds, at most {}",
        u32::MAX
    )
}

/// `trace = "uplink.trace"`, a file beside the scenario's, or the milliseconds themselves as a list.
pub(super) fn trace(section: &Section<'_>) -> Option<Trace> {
    let entry = section.entry("trace")?;
    let read = match &entry.value.node {
        Node::Text(name) => from_file(section, name),
        Node::List(items) => from_list(items),
        _ => Err(format!(
            "found {}, expected a file in Mahimahi's format, such as \"uplink.trace\", or its milliseconds as a list",
            entry.value.shown()
        )),
    };
    read.map_err(|why| section.wrong(entry, why)).ok()
}

fn from_list(items: &[Item]) -> Result<Trace, String> {
    let mut moments = Vec::new();
    for item in items {
        let at = match item.node {
            Node::Integer(i) => u32::try_from(i).ok(),
            _ => None,
        };
        push(&mut moments, at.ok_or_else(|| no_time(&item.shown()))?)?;
    }
    Trace::of(moments)
}

fn from_file(section: &Section<'_>, name: &str) -> Result<Trace, String> {
    let Some(folder) = section.source.folder() else {
        return Err(format!(
            "\"{name}\" is a file, and this scenario is none, so nothing is beside it; write the milliseconds as a list"
        ));
    };
    let path = folder.join(name);
    let shown = path.display();
    let text = bounded(&path, LONGEST).map_err(|e| match e.kind() {
        ErrorKind::FileTooLarge => format!("{shown}: {e}; a trace has at most {MOST} lines"),
        _ => format!("{shown}: cannot read it: {e}"),
    })?;
    Trace::parse(&text).map_err(|(line, why)| match line {
        0 => format!("{shown}: {why}"),
        line => format!("{shown}:{line}: {why}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    #[test]
    fn a_recording_is_read_as_mahimahi_writes_it() {
        let trace = Trace::parse(b"0\n0\n3\r\n10\n").unwrap();
        assert_eq!(trace.moments(), [0, 0, 3, 10]);
        assert_eq!((trace.length(), trace.mean()), (10, Rate(4_810_000)));
    }

    #[test]
    fn what_is_wrong_has_its_line() {
        for (text, line, part) in [
            (&b""[..], 0, "no opportunity"),
            (b"\n\n", 0, "no opportunity"),
            (b"0\n0\n", 0, "at 0 ms"),
            (b"1\nx\n", 2, "found \"x\""),
            (b"1\n-3\n", 2, "found \"-3\""),
            (b"1\n+3\n", 2, "found \"+3\""),
            (b"1\n2.5\n", 2, "found \"2.5\""),
            (b"5\n3\n", 2, "3 comes after 5"),
            (b"1\n4294967296\n", 2, "at most 4294967295"),
            (b"1\n\xff\x00\x1b[2J\n", 2, "expected whole milliseconds"),
        ] {
            let (at, why) = Trace::parse(text).unwrap_err();
            assert_eq!(at, line, "{why}");
            assert!(why.contains(part), "{why}");
            assert!(!why.contains('\x1b'), "{why:?}");
        }
        let long = "1\n".repeat(MOST + 1);
        let (line, why) = Trace::parse(long.as_bytes()).unwrap_err();
        assert_eq!((line, why.contains("at most 1000000")), (MOST + 1, true));
        assert!(Trace::parse(&long.as_bytes()[..2 * MOST]).is_ok());
    }

    fn scenario(path: &str) -> String {
        format!(
            "[traffic]\nkind = \"bulk\"\nsize = \"1 MB\"\n[[path]]\ndelay = \"5 ms\"\n{path}\n\
             [[policy]]\nname = \"p\"\n"
        )
    }

    #[test]
    fn a_trace_takes_the_place_of_the_rate_and_is_written_with_the_scenario() {
        let text = scenario("trace = [1, 1, 4]\njitter = \"3 ms\"\nreverse = { jitter = \"0 s\" }");
        let read = Scenario::parse("a", &text).unwrap_or_else(|e| panic!("{e}"));
        let path = &read.paths[0];
        assert_eq!(path.forward.rate, Rate(9_020_000));
        assert_eq!(path.reverse.trace, path.forward.trace);
        assert_eq!(path.forward.jitter.as_millis(), 3);
        assert!(path.reverse.jitter.is_zero());
        let again = Scenario::parse("b", &read.to_toml()).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again, read);

        for reverse in ["rate = \"1 Mbit/s\"", "trace = [7]"] {
            let text = scenario(&format!("trace = [1, 1, 4]\nreverse = {{ {reverse} }}"));
            let read = Scenario::parse("a", &text).unwrap_or_else(|e| panic!("{e}"));
            let there = &read.paths[0].reverse;
            assert_eq!(there.trace.is_some(), reverse.starts_with("trace"));
            let again = Scenario::parse("b", &read.to_toml()).unwrap_or_else(|e| panic!("{e}"));
            assert_eq!(again, read);
        }
    }

    #[test]
    fn a_file_is_read_beside_the_scenario_and_its_mistakes_are_named() {
        let folder = std::env::temp_dir().join(format!("byway-trace-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("up.trace");
        let read = || {
            let text = scenario("trace = \"up.trace\"");
            Scenario::parse_in(Some(&folder), "s.toml", &text).map_err(|e| e.to_string())
        };
        assert!(read().unwrap_err().contains("up.trace: cannot read it"));
        std::fs::write(&file, "1\n2\n10\n").unwrap();
        let found = read().unwrap().paths[0].forward.trace.clone().unwrap();
        assert_eq!(found.moments(), [1, 2, 10]);
        std::fs::write(&file, "1\n2\nten\n").unwrap();
        let why = read().unwrap_err();
        assert!(
            why.contains("s.toml:6:") && why.contains("up.trace:3: found \"ten\""),
            "{why}"
        );
        std::fs::remove_file(&file).unwrap();
        std::fs::create_dir(&file).unwrap();
        assert!(read().unwrap_err().contains("cannot read it"));
        let text = scenario("trace = \"/dev/zero\"");
        let why = Scenario::parse_in(Some(&folder), "s.toml", &text)
            .unwrap_err()
            .to_string();
        assert!(why.contains("more than 9000000 bytes"), "{why}");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_cannot_be_together_is_refused() {
        for (path, part) in [
            (
                "rate = \"1 Mbit/s\"\ntrace = [1]",
                "trace and rate exclude each other",
            ),
            ("trace = \"up.trace\"", "write the milliseconds as a list"),
            ("trace = 7", "found 7, expected a file"),
            ("trace = [3, \"4\"]", "found \"4\""),
            ("trace = [3, 2]", "2 comes after 3"),
            ("trace = []", "no opportunity"),
            ("trace = [1]\njitter = \"2 h\"", "longer than any path's"),
            (
                "trace = [1]\nreverse = { rate = \"1 bit/s\", trace = [1] }",
                "exclude each other",
            ),
        ] {
            let why = Scenario::parse("a", &scenario(path))
                .unwrap_err()
                .to_string();
            assert!(why.contains(part), "{why}");
        }
        let ties = |path: &str| format!("ties = \"as-scheduled\"\n{}", scenario(path));
        for path in ["trace = [1]", "rate = \"1 Mbit/s\"\njitter = \"1 ms\""] {
            let why = Scenario::parse("a", &ties(path)).unwrap_err().to_string();
            assert!(why.contains("as-scheduled"), "{why}");
        }
    }
}
