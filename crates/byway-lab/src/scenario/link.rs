//! Reads `[[path]]`: rate, delay, jitter, queue and loss of either direction.

use super::model::{Access, LinkSpec, LossSpec, PathSpec, PolicerSpec};
use super::section::Section;
use super::trace::{self, Trace};
use crate::source::{Node, Source, Table};
use crate::units::{QueueLimit, Rate, Share, Size, format_duration, parse_duration};
use std::ops::Range;
use std::time::Duration;

/// The queue limit if none is given: 50 packets, ns-2's default for DropTail.
const DEFAULT_QUEUE: QueueLimit = QueueLimit::Packets(50);

pub(super) fn path(
    source: &Source<'_>,
    table: &Table,
    span: Range<usize>,
    number: usize,
) -> Option<PathSpec> {
    let section = Section::new(source, "[[path]]", table, span);
    let name = section
        .text("name")
        .unwrap_or_else(|| format!("path {number}"));
    let paced = paced(&section);
    if table.get("trace").is_none() && table.get("rate").is_none() {
        section.missing("rate", "\"10 Mbit/s\"");
    }
    let jitter = section.read("jitter", delay).unwrap_or_default();
    let delay = section.read("delay", delay);
    let delay = section.required(delay, "delay", "\"45 ms\"");
    let queue = section
        .read("queue", QueueLimit::parse)
        .unwrap_or(DEFAULT_QUEUE);
    let policer = policer(&section).flatten();
    let loss = loss(&section).unwrap_or(LossSpec::Nothing);
    let access = access(&section);
    let forward = match (paced, delay) {
        (Some((rate, trace)), Some(delay)) => Some(LinkSpec {
            rate,
            trace,
            delay,
            jitter,
            queue,
            policer,
            loss,
        }),
        _ => None,
    };
    let reverse = reverse(&section, forward.as_ref());
    if let (Some(access), Some(forward), Some(reverse)) = (&access, &forward, &reverse) {
        let needed = access.delay * 2;
        if forward.delay < needed || reverse.delay < needed {
            section.wrong_here(format!(
                "delay is the whole way, {} at each end included, so it is at least {}",
                format_duration(access.delay),
                format_duration(needed)
            ));
        }
    }
    section.finish();
    Some(PathSpec {
        name,
        forward: forward?,
        reverse: reverse?,
        access,
    })
}

/// The rate of a link, or the trace that gives it.
fn paced(section: &Section<'_>) -> Option<(Rate, Option<Trace>)> {
    let rate = section.read("rate", Rate::parse);
    let trace = trace::trace(section);
    if let (Some(_), Some(entry)) = (section.table.get("rate"), section.table.get("trace")) {
        section.wrong(entry, "trace and rate exclude each other; keep one of them");
        return None;
    }
    match trace {
        Some(trace) => Some((trace.mean(), Some(trace))),
        None => rate.map(|rate| (rate, None)),
    }
}

/// A one-way delay: an hour is far beyond any network, and leaves room to add.
pub(super) fn delay(text: &str) -> Result<Duration, String> {
    match parse_duration(text)? {
        d if d <= Duration::from_secs(3600) => Ok(d),
        _ => Err(format!(
            "\"{text}\" is longer than any path's delay; at most 1 h"
        )),
    }
}

/// `reverse = { rate = "1 Mbit/s" }`: what differs on the way back.
fn reverse(section: &Section<'_>, forward: Option<&LinkSpec>) -> Option<LinkSpec> {
    let entry = section.entry("reverse");
    let forward = forward?.clone();
    let Some(entry) = entry else {
        // A list names packets of the way to the receiver; the same numbers on
        // the way back would be other packets.
        let loss = match forward.loss {
            LossSpec::List { .. } => LossSpec::Nothing,
            other => other,
        };
        return Some(LinkSpec { loss, ..forward });
    };
    let Node::Table(table) = &entry.value.node else {
        section.wrong(entry, "expected a table such as { rate = \"1 Mbit/s\" }");
        return None;
    };
    let inner = Section::new(section.source, "reverse", table, entry.value.span.clone());
    let (rate, trace) = paced(&inner).unwrap_or((forward.rate, forward.trace));
    let link = LinkSpec {
        rate,
        trace,
        jitter: inner.read("jitter", delay).unwrap_or(forward.jitter),
        delay: inner.read("delay", delay).unwrap_or(forward.delay),
        queue: inner
            .read("queue", QueueLimit::parse)
            .unwrap_or(forward.queue),
        policer: policer(&inner).unwrap_or(forward.policer),
        loss: loss(&inner).unwrap_or(match forward.loss {
            LossSpec::List { .. } => LossSpec::Nothing,
            other => other,
        }),
    };
    inner.finish();
    Some(link)
}

fn access(section: &Section<'_>) -> Option<Access> {
    let entry = section.entry("access")?;
    let Node::Table(table) = &entry.value.node else {
        section.wrong(
            entry,
            "expected a table such as { rate = \"100 Mbit/s\", delay = \"10 ms\" }",
        );
        return None;
    };
    let inner = Section::new(section.source, "access", table, entry.value.span.clone());
    let rate = inner.read("rate", Rate::parse);
    let rate = inner.required(rate, "rate", "\"100 Mbit/s\"");
    let delay = inner.read("delay", delay).unwrap_or(Duration::ZERO);
    inner.finish();
    Some(Access { rate: rate?, delay })
}

/// `policer = { rate = "10 Mbit/s", burst = "15 kB" }`, or "none".
fn policer(section: &Section<'_>) -> Option<Option<PolicerSpec>> {
    const FORM: &str = "\"none\", or a table such as { rate = \"10 Mbit/s\", burst = \"15 kB\" }";
    let entry = section.entry("policer")?;
    let table = match &entry.value.node {
        Node::Text(text) if text.trim() == "none" => return Some(None),
        Node::Table(table) => table,
        _ => {
            section.wrong(entry, format!("expected {FORM}"));
            return None;
        }
    };
    let inner = Section::new(section.source, "policer", table, entry.value.span.clone());
    let rate = inner.read("rate", Rate::parse);
    let rate = inner.required(rate, "rate", "\"10 Mbit/s\"");
    let burst = inner.read("burst", burst);
    let burst = inner.required(burst, "burst", "\"15 kB\"");
    inner.finish();
    let (rate, burst) = (rate?, burst?);
    Some(Some(PolicerSpec { rate, burst }))
}

fn burst(text: &str) -> Result<Size, String> {
    match Size::parse(text)? {
        Size(0) => Err(format!(
            "\"{text}\" would let nothing pass; a burst is above 0"
        )),
        size => Ok(size),
    }
}

/// `loss = "1 %"`, a burst table, a list of packets or a largest size.
pub(super) fn loss(section: &Section<'_>) -> Option<LossSpec> {
    let entry = section.entry("loss")?;
    let Node::Table(table) = &entry.value.node else {
        return section
            .read_entry(entry, Share::parse)
            .map(|share| match share {
                Share(0.0) => LossSpec::Nothing,
                share => LossSpec::Random(share),
            });
    };
    let inner = Section::new(section.source, "loss", table, entry.value.span.clone());
    if table.get("larger_than").is_some() {
        let size = inner.read("larger_than", Size::parse);
        inner.finish();
        return size.map(LossSpec::LargerThan);
    }
    let share = |key| inner.read(key, Share::parse);
    let (to_bad, to_good, good, bad) = (
        share("to_bad"),
        share("to_good"),
        share("good"),
        share("bad"),
    );
    let (data, packets) = (inner.counts("data"), inner.counts("packets"));
    let listed = table.get("data").is_some() || table.get("packets").is_some();
    let bursts = ["to_bad", "to_good", "good", "bad"]
        .iter()
        .any(|key| table.get(key).is_some());
    let spec = match (listed, bursts) {
        (true, true) => {
            inner.wrong_here(
                "a list of packets and a burst model exclude each other; keep one of them",
            );
            None
        }
        (true, false) => Some(LossSpec::List { data, packets }),
        (false, true) => {
            let to_bad = inner.required(to_bad, "to_bad", "\"1 %\"");
            let to_good = inner.required(to_good, "to_good", "\"30 %\"");
            match (to_bad, to_good) {
                (Some(to_bad), Some(to_good)) => Some(LossSpec::Burst {
                    to_bad,
                    to_good,
                    good: good.unwrap_or(Share(0.0)),
                    bad: bad.unwrap_or(Share(1.0)),
                }),
                _ => None,
            }
        }
        (false, false) => {
            inner.wrong_here(
                "expected a share such as loss = \"1 %\", a list { data = [3, 7] }, bursts { to_bad = \"1 %\", to_good = \"30 %\" }, or { larger_than = \"1200 B\" }",
            );
            None
        }
    };
    inner.finish();
    spec
}
