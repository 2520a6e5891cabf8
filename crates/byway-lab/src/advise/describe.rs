//! Reads paths and traffic as people write them, with the place of what is wrong.

use crate::scenario::{LinkSpec, LossSpec, PathSpec};
use crate::source::{Problems, Source, nearest};
use crate::units::{QueueLimit, Rate, Share, Size, format_duration, parse_duration};
use std::ops::Range;
use std::time::Duration;

/// What is sent.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Load {
    /// As fast as the windows allow.
    Bulk,
    /// A message of this size, each time after this pause.
    Paced {
        /// Bytes of a message.
        message: Size,
        /// Time between two.
        every: Duration,
    },
}

impl Load {
    /// In words.
    #[must_use]
    pub fn words(&self) -> String {
        match self {
            Load::Bulk => "bulk".to_owned(),
            Load::Paced { message, every } => {
                format!("{message} each {}", format_duration(*every))
            }
        }
    }
}

/// What a path takes, with an example.
const KEYS: &[(&str, &str)] = &[
    ("rtt", "20ms"),
    ("rate", "50M"),
    ("loss", "0.5%"),
    ("burst", "4"),
    ("jitter", "5ms"),
    ("queue", "64KiB"),
    ("name", "fibre"),
];
/// Rates above this are simulated as this one: failover takes the same time, and runs stay
/// short.
pub(super) const FASTEST: Rate = Rate(50_000_000);
/// Below, one packet takes longer than the timers that are compared.
const SLOWEST: Rate = Rate(16_000);
/// RTO.Max: with a longer round trip no acknowledgement comes before the timeout.
const LONGEST_RTT: Duration = Duration::from_secs(20);

/// A value of a path and where it stands.
pub(super) struct Field<'a> {
    pub(super) key: &'a str,
    pub(super) key_span: Range<usize>,
    pub(super) value: &'a str,
    pub(super) span: Range<usize>,
}

/// The path of `--path TEXT`, and its jitter.
pub(super) fn path(number: usize, text: &str) -> Result<(PathSpec, Duration), Problems> {
    let name = format!("--path {number}");
    let source = Source::new(&name, text);
    let fields = split(&source, text);
    let path = read(&source, &fields, number, 0..text.len());
    source.finish(path)
}

/// Splits `key=value,key=value`.
fn split<'a>(source: &Source<'_>, text: &'a str) -> Vec<Field<'a>> {
    let mut fields = Vec::new();
    let mut begin = 0;
    for part in text.split(',') {
        let span = begin..begin + part.len();
        begin = span.end + 1;
        match part.split_once('=') {
            Some((key, value)) => {
                let middle = span.start + key.len();
                fields.push(Field {
                    key: key.trim(),
                    key_span: span.start..middle,
                    value: value.trim(),
                    span: middle + 1..span.end,
                });
            }
            None => source.problem(
                &span,
                format!("\"{}\" is not KEY=VALUE, such as rtt=20ms", part.trim()),
            ),
        }
    }
    fields
}

/// A path from its fields.
pub(super) fn read(
    source: &Source<'_>,
    fields: &[Field<'_>],
    number: usize,
    whole: Range<usize>,
) -> Option<(PathSpec, Duration)> {
    for (i, field) in fields.iter().enumerate() {
        if !KEYS.iter().any(|(key, _)| *key == field.key) {
            source.problem(&field.key_span, unknown(field.key, fields));
        } else if fields[..i].iter().any(|f| f.key == field.key) {
            source.problem(&field.key_span, format!("{} is given twice", field.key));
        }
    }
    let text = |key: &str| fields.iter().find(|f| f.key == key);
    let rtt = value(source, text("rtt"), parse_duration);
    let rate = value(source, text("rate"), rate);
    for key in ["rtt", "rate"] {
        if text(key).is_none() {
            let example = KEYS.iter().find(|(k, _)| *k == key).map_or("", |(_, e)| e);
            source.problem(&whole, format!("{key} is missing; write {key}={example}"));
        }
    }
    let share = value(source, text("loss"), loss).unwrap_or(Share(0.0));
    let burst = value(source, text("burst"), burst).unwrap_or(1.0);
    let jitter = value(source, text("jitter"), parse_duration).unwrap_or_default();
    let queue = value(source, text("queue"), QueueLimit::parse);
    let (rtt, rate) = (rtt?, rate?);
    let link = LinkSpec {
        trace: None,
        jitter: Duration::ZERO,
        rate,
        delay: rtt / 2,
        queue: queue.unwrap_or_else(|| default_queue(rate, rtt)),
        policer: None,
        loss: loss_spec(share, burst),
    };
    let path = PathSpec {
        name: text("name").map_or_else(|| format!("path {number}"), |f| f.value.to_owned()),
        forward: link.clone(),
        reverse: link,
        access: None,
    };
    Some((path, jitter))
}

fn unknown(key: &str, given: &[Field<'_>]) -> String {
    let known = KEYS.iter().map(|(key, _)| *key);
    let known = known.filter(|known| !given.iter().any(|f| f.key == *known));
    match nearest(key, known.clone()) {
        Some(name) => format!("\"{key}\" is not known; did you mean {name}?"),
        None => format!(
            "\"{key}\" is not known; there are {}",
            crate::source::listed(known)
        ),
    }
}

/// Reads a field, and notes what is wrong with it.
fn value<T>(
    source: &Source<'_>,
    field: Option<&Field<'_>>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Option<T> {
    let field = field?;
    parse(field.value)
        .map_err(|e| source.problem(&field.span, format!("{}: {e}", field.key)))
        .ok()
}

/// A rate, also with the unit's first letter alone: 50M is 50 Mbit/s.
fn rate(text: &str) -> Result<Rate, String> {
    match text.strip_suffix(['k', 'M', 'G']) {
        Some(number) if number.trim().parse::<f64>().is_ok() => {
            Rate::parse(&format!("{text}bit/s"))
        }
        _ => Rate::parse(text),
    }
}

/// A share of lost packets, each way.
fn loss(text: &str) -> Result<Share, String> {
    let share = Share::parse(text)?;
    if share.0 > 0.5 {
        return Err(format!(
            "\"{text}\" of each way: hardly an acknowledgement would come back; at most 50 %. \
             Leave out a path that carries nothing"
        ));
    }
    Ok(share)
}

/// Packets that are lost together on average.
fn burst(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(mean) if (1.0..=1000.0).contains(&mean) => Ok(mean),
        _ => Err(format!(
            "\"{text}\" is not a burst; write how many packets are lost together on average, 1 to \
             1000"
        )),
    }
}

/// Room for a round trip of packets, and for at least 50.
fn default_queue(rate: Rate, rtt: Duration) -> QueueLimit {
    let packets = rate.0 as f64 * rtt.as_secs_f64() / 12_000.0;
    QueueLimit::Packets((packets.ceil() as u32).clamp(50, 100_000))
}

/// Independent losses, or bursts of this many packets on average (Gilbert-Elliott) with as
/// many losses in the long run.
pub(super) fn loss_spec(share: Share, burst: f64) -> LossSpec {
    if share.0 <= 0.0 {
        LossSpec::Nothing
    } else if burst <= 1.0 {
        LossSpec::Random(share)
    } else {
        let to_good = 1.0 / burst;
        LossSpec::Burst {
            to_bad: Share((to_good * share.0 / (1.0 - share.0)).min(1.0)),
            to_good: Share(to_good),
            good: Share(0.0),
            bad: Share(1.0),
        }
    }
}

/// The share of packets that is lost in the long run; none where nothing is.
pub(super) fn mean_loss(loss: &LossSpec) -> Option<Share> {
    match loss {
        LossSpec::Random(share) => Some(*share),
        LossSpec::Burst {
            to_bad, to_good, ..
        } => Some(Share(to_bad.0 / (to_bad.0 + to_good.0))),
        _ => None,
    }
}

/// The traffic of `--traffic TEXT`.
pub(super) fn load(text: &str) -> Result<Load, Problems> {
    let source = Source::new("--traffic", text);
    let (kind, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    let default = match kind {
        "paced" => "1kB/2ms",
        "requests" => "500B/1s",
        "bulk" if rest.is_empty() => return Ok(Load::Bulk),
        _ => {
            source.problem(
                &(0..text.len()),
                "expected bulk, paced 1kB/2ms or requests 500B/1s",
            );
            return source.finish(None);
        }
    };
    let rest = if rest.is_empty() {
        default
    } else {
        rest.trim()
    };
    let load = paced(rest).map_err(|message| source.problem(&(0..text.len()), message));
    source.finish(load.ok())
}

/// `1kB/2ms`.
fn paced(text: &str) -> Result<Load, String> {
    let (size, every) = text
        .split_once('/')
        .ok_or_else(|| format!("\"{text}\" is not SIZE/TIME, such as 1kB/2ms"))?;
    let message = Size::parse(size)?;
    let every = parse_duration(every)?;
    if !(1..=65_536).contains(&message.0) {
        return Err(format!("\"{size}\": a message has 1 to 65536 bytes here"));
    }
    if !(Duration::from_micros(10)..=Duration::from_secs(60)).contains(&every) {
        return Err(format!("\"{text}\": 10 us to 60 s between two messages"));
    }
    Ok(Load::Paced { message, every })
}

/// Whether a path is one that the search can say something about.
pub(super) fn can_be_simulated(path: &PathSpec) -> Result<(), String> {
    let rate = path.forward.rate.min(path.reverse.rate);
    let rtt = path.forward.delay + path.reverse.delay;
    if rate < SLOWEST {
        return Err(format!(
            "{}: a packet of 1500 bytes takes {:.0} s at {rate}, longer than the timers that are \
             compared; at least {SLOWEST}",
            path.name,
            12_000.0 / rate.0 as f64
        ));
    }
    if rtt > LONGEST_RTT {
        return Err(format!(
            "{}: a round trip of {} is too long for the timers of SCTP; at most {}",
            path.name,
            format_duration(rtt),
            format_duration(LONGEST_RTT)
        ));
    }
    Ok(())
}

/// Whether the first path carries the traffic.
pub(super) fn fits(message: Size, every: Duration, paths: &[PathSpec]) -> Result<(), String> {
    let asked = message.0 as f64 * 8.0 / every.as_secs_f64();
    let rate = paths[0].forward.rate;
    if asked > 0.9 * rate.0 as f64 {
        return Err(format!(
            "{message} each {} is {:.1} Mbit/s, more than {} carries ({rate}); write --traffic bulk \
             for as much as it carries",
            format_duration(every),
            asked / 1e6,
            paths[0].name
        ));
    }
    Ok(())
}
