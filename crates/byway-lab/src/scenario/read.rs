//! Reads a whole scenario from its file.

use super::link;
use super::model::{
    Change, CrossShape, CrossSpec, Direction, EventSpec, GREATEST_SEED, LinkSpec, PathSpec,
    Scenario, Traffic,
};
use super::policies;
use super::section::{Section, header, tables};
use crate::source::{Node, Problems, Source, Table};
use crate::units::{Rate, Size, format_duration};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

/// Longest run when none is named.
const DEFAULT_LIMIT: Duration = Duration::from_secs(600);
/// One DATA chunk that fills a 1500-byte IPv4 packet.
const FULL_CHUNK: Size = Size(1452);
/// Most events when no number is named: some minutes of a processor.
const DEFAULT_MAX_EVENTS: u64 = 1_000_000_000;
/// Mean length of cross traffic's bursts: ns-2's default.
const BURSTS: Duration = Duration::from_millis(500);
const SHORTEST_BURSTS: Duration = Duration::from_millis(1);
/// Most paths.
const MAX_PATHS: usize = 8;
/// Most simulated time: 100 days.
const MAX_LIMIT: Duration = Duration::from_secs(8_640_000);

/// The built-in scenario: 8 MiB over two 10 Mbit/s, 45 ms paths, of which the
/// primary dies silently after 2 s.
pub const BUILT_IN: &str = include_str!("../../scenarios/failover.toml");

/// The name that messages give to [`BUILT_IN`].
pub const BUILT_IN_NAME: &str = "built-in scenario";

impl Scenario {
    /// Reads a scenario from the text of the file `file`.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line.
    pub fn parse(file: &str, text: &str) -> Result<Scenario, Problems> {
        scenario(None, file, text)
    }

    /// The same of a file in `folder`: a trace that it names is read from there. Without a folder,
    /// or with [`parse`](Scenario::parse), a trace must be written as a list.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its line, and with its traces.
    pub fn parse_in(folder: Option<&Path>, file: &str, text: &str) -> Result<Scenario, Problems> {
        scenario(folder, file, text)
    }

    /// The built-in scenario.
    #[must_use]
    pub fn built_in() -> Scenario {
        match Scenario::parse(BUILT_IN_NAME, BUILT_IN) {
            Ok(scenario) => scenario,
            Err(problems) => unreachable!("a test reads the built-in scenario: {problems}"),
        }
    }
}

fn scenario(folder: Option<&Path>, file: &str, text: &str) -> Result<Scenario, Problems> {
    let source = Source::new(file, text).in_folder(folder);
    let root = source.parse();
    if root.get("axis").is_some() && root.get("seeds").is_some() {
        source.problem_of_file(
            "this is a sweep, not a scenario; `byway sweep FILE --cells` looks for its mistakes \
             and runs nothing",
        );
    }
    let value = if source.problem_count() == 0 {
        read(&source, &root, &Table::default())
    } else {
        None
    };
    source.finish(value)
}

/// Reads the tree `root`; the settings `over` go before those of its policies.
pub(crate) fn read(source: &Source<'_>, root: &Table, over: &Table) -> Option<Scenario> {
    let section = Section::new(source, "the scenario", root, 0..0);
    let name = section.text("name").unwrap_or_else(|| "unnamed".to_owned());
    let description = section.text("description").unwrap_or_default();
    let seed = section.integer("seed", 0..=GREATEST_SEED).unwrap_or(1);
    let limit = limit(&section);
    let max_events = section
        .integer("max_events", 1..=u64::MAX)
        .unwrap_or(DEFAULT_MAX_EVENTS);
    let ties_as_scheduled = section
        .word("ties", &[("by-link", false), ("as-scheduled", true)])
        .unwrap_or(false);
    let (paths, names) = paths(&section);
    let mut events: Vec<EventSpec> = tables(&section, "event")
        .iter()
        .filter_map(|(table, span)| event(source, table, span.clone(), &names))
        .collect();
    events.sort_by_key(|e| e.at);
    let cross = tables(&section, "cross")
        .iter()
        .filter_map(|(table, span)| cross(source, table, span.clone(), &names))
        .collect();
    let traffic = traffic(&section);
    let policies = policies::read(&section, over);
    check_event_delays(&section, &paths);
    if ties_as_scheduled {
        check_ties(&section, &paths);
    }
    section.finish();
    let paths: Option<Vec<PathSpec>> = paths.into_iter().collect();
    Some(Scenario {
        name,
        description,
        seed,
        limit,
        max_events,
        ties_as_scheduled,
        paths: paths.filter(|p| !p.is_empty())?,
        events,
        traffic: traffic?,
        cross,
        policies: policies?,
    })
}

/// The longest time that a run may take.
fn limit(section: &Section<'_>) -> Duration {
    let limit = section.duration("limit").unwrap_or(DEFAULT_LIMIT);
    if (limit.is_zero() || limit > MAX_LIMIT)
        && let Some(entry) = section.table.get("limit")
    {
        section.wrong(
            entry,
            "a run lasts more than 0 s and at most 2400 h of simulated time",
        );
    }
    limit
}

/// The paths, `None` for each wrong one, and the names of all.
fn paths(section: &Section<'_>) -> (Vec<Option<PathSpec>>, Vec<String>) {
    let mut given = tables(section, "path");
    check_path_count(section, given.len());
    // One more than there may be is enough to say what is wrong.
    given.truncate(MAX_PATHS + 1);
    let paths: Vec<Option<PathSpec>> = given
        .iter()
        .enumerate()
        .map(|(i, (table, span))| link::path(section.source, table, span.clone(), i + 1))
        .collect();
    // Names of paths that are themselves wrong still count, so that one
    // mistake does not make every event wrong.
    let names: Vec<String> = given
        .iter()
        .enumerate()
        .map(|(i, (table, _))| path_name(table, i + 1))
        .collect();
    if let Some((second, name)) = names
        .iter()
        .enumerate()
        .find(|(i, n)| names[..*i].contains(n))
    {
        section.source.problem(
            &given[second].1,
            format!("[[path]]: \"{name}\" is the name of another path"),
        );
    }
    (paths, names)
}

fn check_path_count(section: &Section<'_>, count: usize) {
    let entry = section.table.get("path");
    if count == 0 && entry.is_none() {
        section.source.problem_of_file("there is no path; add [[path]] with rate = \"10 Mbit/s\" and delay = \"45 ms\", once for each");
    }
    if count > MAX_PATHS
        && let Some(entry) = entry
    {
        section.wrong(entry, format!("{count} paths; at most {MAX_PATHS}"));
    }
}

/// A delay that an event sets covers the whole way, access links included.
fn check_event_delays(section: &Section<'_>, paths: &[Option<PathSpec>]) {
    let names: Vec<String> = paths
        .iter()
        .map(|p| p.as_ref().map_or(String::new(), |p| p.name.clone()))
        .collect();
    for (table, span) in tables(section, "event") {
        // Other problems of the event are reported already.
        let silent = Source::new("", "");
        let quiet = Section::new(&silent, "", table, span.clone());
        let (Some(index), Some(delay)) = (which_path(&quiet, &names), quiet.duration("delay"))
        else {
            continue;
        };
        if let (Some(access), Some(entry)) = (
            paths[index].as_ref().and_then(|p| p.access),
            table.get("delay"),
        ) && delay < access.delay * 2
        {
            section.source.problem(
                &entry.value.span,
                format!(
                    "delay in [[event]]: is the whole way, access links included, so at least {}",
                    format_duration(access.delay * 2)
                ),
            );
        }
    }
}

/// ns-2's order schedules an arrival when a transmission begins, by a delay that the link has then.
fn check_ties(section: &Section<'_>, paths: &[Option<PathSpec>]) {
    let paced = |link: &LinkSpec| link.trace.is_some() || !link.jitter.is_zero();
    let mut paths = paths.iter().flatten();
    if let Some(path) = paths.find(|p| paced(&p.forward) || paced(&p.reverse))
        && let Some(entry) = section.table.get("ties")
    {
        let message = format!(
            "\"as-scheduled\" goes with constant rates and delays, and \"{}\" has a trace or jitter; leave ties out",
            path.name
        );
        section.wrong(entry, message);
    }
}

fn path_name(table: &Table, number: usize) -> String {
    match table.get("name").map(|e| &e.value.node) {
        Some(Node::Text(name)) => name.trim().to_owned(),
        _ => format!("path {number}"),
    }
}

/// `path = "primary"` or `path = 1`, counted from 1.
fn which_path(section: &Section<'_>, names: &[String]) -> Option<usize> {
    let entry = section.entry("path");
    let entry = section.required(entry, "path", "1")?;
    let found = match &entry.value.node {
        Node::Text(name) => names.iter().position(|n| n == name),
        Node::Integer(i) => usize::try_from(*i)
            .ok()
            .filter(|i| (1..=names.len()).contains(i))
            .map(|i| i - 1),
        _ => None,
    };
    if found.is_none() {
        let quoted: Vec<String> = names
            .iter()
            .enumerate()
            .map(|(i, n)| format!("{} (\"{n}\")", i + 1))
            .collect();
        section.wrong(
            entry,
            format!(
                "found {}, expected a path: {}",
                entry.value.shown(),
                crate::source::listed(quoted.iter().map(String::as_str))
            ),
        );
    }
    found
}

const DIRECTIONS: &[(&str, Direction)] = &[
    ("both", Direction::Both),
    ("forward", Direction::Forward),
    ("reverse", Direction::Reverse),
];

fn event(
    source: &Source<'_>,
    table: &Table,
    span: Range<usize>,
    names: &[String],
) -> Option<EventSpec> {
    #[derive(Copy, Clone)]
    enum Do {
        Down,
        Up,
        Set,
    }
    let section = Section::new(source, "[[event]]", table, span);
    let at = section.duration("at");
    let at = section.required(at, "at", "\"2 s\"");
    let spread = section.duration("spread").unwrap_or_default();
    let path = which_path(&section, names);
    let direction = section.word("direction", DIRECTIONS).unwrap_or_default();
    let verb = section.word(
        "do",
        &[("down", Do::Down), ("up", Do::Up), ("set", Do::Set)],
    );
    let verb = section.required(verb, "do", "\"down\"");
    let (rate, delay, loss) = (
        section.read("rate", Rate::parse),
        section.read("delay", link::delay),
        link::loss(&section),
    );
    let given = ["rate", "delay", "loss"]
        .iter()
        .find_map(|key| table.get(key));
    let change = match (verb, given) {
        (Some(Do::Set), None) => {
            section.wrong_here("do = \"set\" sets nothing; add rate, delay or loss");
            None
        }
        (Some(Do::Set), Some(_)) => Some(Change::Set { rate, delay, loss }),
        (Some(Do::Down | Do::Up), Some(entry)) => {
            section.wrong(
                entry,
                "goes with do = \"set\" only; write a separate event for it",
            );
            None
        }
        (Some(Do::Down), None) => Some(Change::Down),
        (Some(Do::Up), None) => Some(Change::Up),
        (None, _) => None,
    };
    section.finish();
    Some(EventSpec {
        at: at?,
        spread,
        path: path?,
        direction,
        change: change?,
    })
}

fn cross(
    source: &Source<'_>,
    table: &Table,
    span: Range<usize>,
    names: &[String],
) -> Option<CrossSpec> {
    let section = Section::new(source, "[[cross]]", table, span);
    let path = which_path(&section, names);
    let rate = section.read("rate", Rate::parse);
    let rate = section.required(rate, "rate", "\"5 Mbit/s\"");
    let spec = CrossSpec {
        path: path.unwrap_or(0),
        direction: section.word("direction", DIRECTIONS).unwrap_or_default(),
        rate: rate.unwrap_or(Rate(1)),
        packet: section.read("packet", packet_size).unwrap_or(Size(1000)),
        shape: section
            .word(
                "shape",
                &[
                    ("constant", CrossShape::Constant),
                    ("pareto", CrossShape::Pareto),
                    ("edge-nodes", CrossShape::EdgeNodes),
                ],
            )
            .unwrap_or_default(),
        bursts: section.duration("bursts").unwrap_or(BURSTS),
        from: section.duration("from").unwrap_or(Duration::ZERO),
        until: section.duration("until"),
    };
    if let Some(entry) = table.get("bursts") {
        if spec.shape == CrossShape::Constant {
            section.wrong(
                entry,
                "is of traffic that comes in bursts; shape must be \"pareto\" or \"edge-nodes\"",
            );
        } else if spec.bursts < SHORTEST_BURSTS {
            section.wrong(entry, "bursts and pauses are of 1 ms or more on average");
        }
    }
    if let (Some(until), Some(entry)) = (spec.until, table.get("until"))
        && until <= spec.from
    {
        section.wrong(entry, "ends before it begins; until is later than from");
    }
    section.finish();
    path.and(rate).map(|_| spec)
}

fn packet_size(text: &str) -> Result<Size, String> {
    match Size::parse(text)? {
        Size(40..=65_535) => Size::parse(text),
        _ => Err(format!(
            "\"{text}\" is not the size of a packet; 40 B to 65535 B"
        )),
    }
}

fn positive_size(text: &str) -> Result<Size, String> {
    match Size::parse(text)? {
        Size(0) => Err("nothing would be sent; at least 1 B".to_owned()),
        size => Ok(size),
    }
}

/// Messages are made in memory and bounded by `buffer.max_message`.
fn message_size(text: &str) -> Result<Size, String> {
    match positive_size(text)? {
        Size(n) if n > 16 << 20 => Err(format!(
            "\"{text}\" is too long for a message; at most 16 MiB"
        )),
        size => Ok(size),
    }
}

fn traffic(root: &Section<'_>) -> Option<Traffic> {
    let entry = root.entry("traffic");
    let Some(entry) = entry else {
        root.source.problem_of_file(
            "there is no traffic; add [traffic] with kind = \"bulk\" and size = \"8 MiB\"",
        );
        return None;
    };
    let Node::Table(table) = &entry.value.node else {
        root.wrong(entry, "written [traffic], a table");
        return None;
    };
    let section = Section::new(root.source, "[traffic]", table, header(entry));
    let bulk = section.word("kind", &[("bulk", true), ("periodic", false)]);
    let bulk = section.required(bulk, "kind", "\"bulk\" or \"periodic\"");
    let message = section.read("message", message_size);
    let streams = section.integer("streams", 1..=65_535).unwrap_or(1) as u16;
    let start = section.duration("start").unwrap_or(Duration::ZERO);
    let traffic = match bulk {
        Some(true) => {
            let size = section.read("size", positive_size);
            let size = section.required(size, "size", "\"8 MiB\"");
            size.map(|size| Traffic::Bulk {
                size,
                message: message.unwrap_or(FULL_CHUNK),
                streams,
                start,
            })
        }
        Some(false) => {
            let message = section.required(message, "message", "\"40 B\"");
            let every = section.duration("every");
            let every = section.required(every, "every", "\"100 ms\"");
            let count = section.integer("count", 1..=100_000_000);
            let count = section.required(count, "count", "600");
            match (message, every, count) {
                (Some(message), Some(every), Some(count)) => Some(Traffic::Periodic {
                    message,
                    every,
                    count,
                    streams,
                    start,
                }),
                _ => None,
            }
        }
        // Without a kind, which keys belong here cannot be said.
        None => return None,
    };
    section.finish();
    traffic
}
