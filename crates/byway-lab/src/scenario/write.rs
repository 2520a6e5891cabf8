//! Writes a scenario as a file with nothing left to defaults.

use super::listing::bare_lines;
use super::model::{
    Change, CrossShape, Direction, EventSpec, LinkSpec, LossSpec, PathSpec, PolicerSpec, Scenario,
    Traffic,
};
use crate::units::{Share, format_duration};
use std::fmt::{Display, Write};

impl Scenario {
    /// The scenario as a file that holds all of it: every default and every
    /// setting is written out, so that it means the same to a later version.
    /// Reading it gives the same scenario again.
    #[must_use]
    pub fn to_toml(&self) -> String {
        scenario(self, Some(self.seed))
    }

    /// The same without the line of the seed: what the runs of a cell share.
    #[must_use]
    pub fn to_toml_without_seed(&self) -> String {
        scenario(self, None)
    }
}

/// The scenario's text; without `seed`, its line is left out.
fn scenario(s: &Scenario, seed: Option<u64>) -> String {
    let mut out = Lines::default();
    if let Some(seed) = seed {
        out.plain("seed", seed);
    }
    out.text("name", &s.name);
    out.text("description", &s.description);
    out.text("limit", format_duration(s.limit));
    out.plain("max_events", s.max_events);
    if s.ties_as_scheduled {
        out.text("ties", "as-scheduled");
    }
    for path in &s.paths {
        write_path(&mut out, path);
    }
    for event in &s.events {
        write_event(&mut out, event);
    }
    for cross in &s.cross {
        out.head("[[cross]]");
        out.plain("path", cross.path + 1);
        out.text("direction", direction(cross.direction));
        out.text("rate", cross.rate);
        out.text("packet", cross.packet);
        out.text(
            "shape",
            match cross.shape {
                CrossShape::Constant => "constant",
                CrossShape::Pareto => "pareto",
                CrossShape::EdgeNodes => "edge-nodes",
            },
        );
        if cross.shape != CrossShape::Constant {
            out.text("bursts", format_duration(cross.bursts));
        }
        out.text("from", format_duration(cross.from));
        if let Some(until) = cross.until {
            out.text("until", format_duration(until));
        }
    }
    write_traffic(&mut out, &s.traffic);
    for policy in &s.policies {
        out.head("[[policy]]");
        out.text("name", &policy.name);
        out.text("note", &policy.note);
        out.0.push_str(&bare_lines(&policy.config));
    }
    out.0
}

#[derive(Default)]
struct Lines(String);

impl Lines {
    fn head(&mut self, head: &str) {
        let _ = write!(self.0, "\n{head}\n");
    }

    fn text(&mut self, key: &str, value: impl Display) {
        self.plain(key, quoted(value));
    }

    fn plain(&mut self, key: &str, value: impl Display) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "{key} = {value}");
    }
}

fn quoted(value: impl Display) -> toml::Value {
    toml::Value::String(value.to_string())
}

fn write_path(out: &mut Lines, path: &PathSpec) {
    out.head("[[path]]");
    out.text("name", &path.name);
    let link = &path.forward;
    let (key, pace) = paced(link);
    out.plain(key, pace);
    out.text("delay", format_duration(link.delay));
    if !link.jitter.is_zero() {
        out.text("jitter", format_duration(link.jitter));
    }
    out.text("queue", link.queue);
    if let Some(limit) = &link.policer {
        out.plain("policer", policer(limit));
    }
    out.plain("loss", loss(&link.loss));
    if let Some(access) = &path.access {
        out.plain(
            "access",
            format_args!(
                "{{ rate = {}, delay = {} }}",
                quoted(access.rate),
                quoted(format_duration(access.delay))
            ),
        );
    }
    let LinkSpec {
        rate: _,
        trace: _,
        delay,
        jitter,
        queue,
        policer: limit,
        loss: lost,
    } = &path.reverse;
    // What stands on the way there and not on the way back must be told.
    let limit = match (limit, &link.policer) {
        (Some(limit), _) => format!("policer = {}, ", policer(limit)),
        (None, Some(_)) => "policer = \"none\", ".to_owned(),
        (None, None) => String::new(),
    };
    let late = match jitter.is_zero() && link.jitter.is_zero() {
        true => String::new(),
        false => format!("jitter = {}, ", quoted(format_duration(*jitter))),
    };
    let (key, pace) = paced(&path.reverse);
    out.plain(
        "reverse",
        format_args!(
            "{{ {key} = {pace}, delay = {}, {late}queue = {}, {limit}loss = {} }}",
            quoted(format_duration(*delay)),
            quoted(queue),
            loss(lost)
        ),
    );
}

/// The rate, or the trace that gives it: key and value.
fn paced(link: &LinkSpec) -> (&'static str, String) {
    match &link.trace {
        None => ("rate", quoted(link.rate).to_string()),
        // Whole, so that the text needs no other file.
        Some(trace) => ("trace", format!("{:?}", trace.moments())),
    }
}

fn write_event(out: &mut Lines, event: &EventSpec) {
    out.head("[[event]]");
    out.text("at", format_duration(event.at));
    if !event.spread.is_zero() {
        out.text("spread", format_duration(event.spread));
    }
    out.plain("path", event.path + 1);
    out.text("direction", direction(event.direction));
    match &event.change {
        Change::Down => out.text("do", "down"),
        Change::Up => out.text("do", "up"),
        Change::Set {
            rate,
            delay,
            loss: lost,
        } => {
            out.text("do", "set");
            if let Some(rate) = rate {
                out.text("rate", rate);
            }
            if let Some(delay) = delay {
                out.text("delay", format_duration(*delay));
            }
            if let Some(lost) = lost {
                out.plain("loss", loss(lost));
            }
        }
    }
}

fn write_traffic(out: &mut Lines, traffic: &Traffic) {
    out.head("[traffic]");
    match traffic {
        Traffic::Bulk {
            size,
            message,
            streams,
            start,
        } => {
            out.text("kind", "bulk");
            out.text("size", size);
            out.text("message", message);
            out.plain("streams", streams);
            out.text("start", format_duration(*start));
        }
        Traffic::Periodic {
            message,
            every,
            count,
            streams,
            start,
        } => {
            out.text("kind", "periodic");
            out.text("message", message);
            out.text("every", format_duration(*every));
            out.plain("count", count);
            out.plain("streams", streams);
            out.text("start", format_duration(*start));
        }
    }
}

fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::Both => "both",
        Direction::Forward => "forward",
        Direction::Reverse => "reverse",
    }
}

fn policer(spec: &PolicerSpec) -> String {
    format!(
        "{{ rate = {}, burst = {} }}",
        quoted(spec.rate),
        quoted(spec.burst)
    )
}

fn loss(spec: &LossSpec) -> String {
    match spec {
        LossSpec::Nothing => "\"0 %\"".to_owned(),
        LossSpec::Random(s) => share(*s),
        LossSpec::Burst {
            to_bad,
            to_good,
            good,
            bad,
        } => format!(
            "{{ to_bad = {}, to_good = {}, good = {}, bad = {} }}",
            share(*to_bad),
            share(*to_good),
            share(*good),
            share(*bad)
        ),
        LossSpec::List { data, packets } => {
            format!("{{ data = {data:?}, packets = {packets:?} }}")
        }
        LossSpec::LargerThan(size) => format!("{{ larger_than = {} }}", quoted(size)),
    }
}

/// A share that reads back exactly: as people write it where that is exact,
/// else with as many digits as it takes.
fn share(share: Share) -> String {
    let reads_back = |text: &String| Share::parse(text) == Ok(share);
    let percent = share.0 * 100.0;
    // A product is rounded: the number that was read may be the next one to it.
    let exact = [percent, percent.next_up(), percent.next_down()]
        .into_iter()
        .map(|p| format!("{p} %"));
    let text = std::iter::once(share.to_string())
        .chain(exact)
        .find(reads_back)
        .unwrap_or_else(|| share.to_string());
    format!("\"{text}\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use byway_dialect_ns2::Settings;
    use std::time::Duration;

    fn reads_back(scenario: &Scenario) {
        let text = scenario.to_toml();
        let again = Scenario::parse("written", &text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        assert_eq!(&again, scenario, "{text}");
        assert_eq!(again.to_toml(), text);
    }

    /// Values that need care to write: names in quotes, odd units, shares, choices
    /// with settings.
    const ODD: &str = r#"
name = "everything \"odd\""
seed = 9_007_199_254_740_993
limit = "1234567 ns"
max_events = 77
[[path]]
rate = "1234567 bit/s"
delay = "45.0001 ms"
queue = "64 KiB"
loss = { to_bad = "0.3333333333333 %", to_good = "30 %" }
reverse = { loss = "7.7 %", queue = "3 packets" }
[[path]]
name = "b"
rate = "1 Gbit/s"
delay = "1 us"
loss = { data = [3, 7], packets = [1] }
policer = { rate = "3 Mbit/s", burst = "15 kB" }
reverse = { policer = "none" }
[[event]]
at = "1 s"
path = "b"
do = "set"
loss = "12.345678901 %"
direction = "reverse"
[[event]]
at = "1 s"
path = 1
do = "set"
rate = "5 Mbit/s"
delay = "3 ms"
[[event]]
at = "2 s"
path = 1
do = "up"
[[event]]
at = "3 s"
path = 1
do = "set"
loss = { larger_than = "1000 B" }
[[cross]]
path = 2
rate = "3 Mbit/s"
until = "9 s"
direction = "both"
shape = "pareto"
bursts = "1500 ms"
[traffic]
kind = "periodic"
message = "40 B"
every = "100 ms"
count = 5
streams = 3
[[policy]]
name = "probing"
failure.detection = { Probing = { dmax = "7 s", n = 9 } }
failure.path_detection = ["ErrorCount", { Probing = { dmax = "3 s" } }]
failover.primary_switch = "Cpt(4)"
failover.probe_timeout = { margin = "1 us" }
congestion.initial_ssthresh = "64 KiB"
"#;

    #[test]
    fn what_is_written_reads_back_the_same() {
        reads_back(&Scenario::built_in());
        reads_back(&Scenario::parse("odd", ODD).unwrap_or_else(|e| panic!("{e}")));
    }

    #[test]
    fn every_preset_reads_back() {
        for name in ["rfc9260", "rfc2960", "ns2"] {
            let mut scenario = Scenario::built_in();
            scenario.policies.truncate(1);
            scenario.policies[0].config = Settings::preset(name).unwrap();
            reads_back(&scenario);
        }
    }

    #[test]
    fn shares_keep_every_digit() {
        for k in 1..2000_u32 {
            let percent = f64::from(k) / 19.0;
            let Ok(read) = Share::parse(&format!("{percent} %")) else {
                continue;
            };
            let text = share(read);
            assert_eq!(Share::parse(text.trim_matches('"')), Ok(read), "{text}");
        }
    }

    #[test]
    fn durations_are_written_to_the_nanosecond() {
        let mut scenario = Scenario::built_in();
        scenario.paths[0].forward.delay = Duration::from_nanos(45_000_001);
        reads_back(&scenario);
    }
}
