//! Packet traces: one line for each chunk on each link.

use anyhow::{Context, Result, bail};
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

/// What happened to a packet at a link.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Happening {
    /// The link took it.
    Send,
    /// It came out.
    Recv,
    /// It was lost.
    Drop,
}

impl Happening {
    /// Its name in trace files.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Happening::Send => "send",
            Happening::Recv => "recv",
            Happening::Drop => "drop",
        }
    }
}

/// The kinds of chunks that are compared.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// DATA.
    Data,
    /// SACK.
    Sack,
}

/// A chunk as a trace shows it.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub struct Chunk {
    /// DATA or SACK.
    pub kind: Kind,
    /// TSN, or cumulative TSN; the first TSN is 1.
    pub tsn: u32,
    /// Stream and stream sequence number; none for a SACK.
    pub stream: Option<(u16, u16)>,
}

/// A line of a trace.
#[derive(Copy, Clone, Debug, PartialEq)]
pub struct Row {
    /// When, in seconds.
    pub time_s: f64,
    /// The chunk.
    pub chunk: Chunk,
    /// Bytes of its packet, IP header included.
    pub size: u32,
}

/// What was seen at one end of one direction of a link.
pub type StreamName = (Happening, u32, u32);

/// A trace, sorted into streams, each in order of time.
pub type Trace = BTreeMap<StreamName, Vec<Row>>;

/// Reads a trace, packed or not: its DATA and SACK chunks until a time.
///
/// # Errors
/// When the file cannot be read, or a line cannot.
pub fn read(path: &Path, until_s: f64) -> Result<Trace> {
    let bytes = std::fs::read(path).with_context(|| format!("reading {}", path.display()))?;
    let mut text = String::new();
    if path.extension().is_some_and(|e| e == "gz") {
        flate2::read::GzDecoder::new(&bytes[..])
            .read_to_string(&mut text)
            .with_context(|| format!("unpacking {}", path.display()))?;
    } else {
        text = String::from_utf8(bytes).with_context(|| format!("{}", path.display()))?;
    }
    let mut trace = Trace::new();
    for (number, line) in text.lines().enumerate().skip(1) {
        let row = parse(line).with_context(|| format!("{}:{}", path.display(), number + 1))?;
        if let Some((stream, row)) = row
            && row.time_s <= until_s
        {
            trace.entry(stream).or_default().push(row);
        }
    }
    Ok(trace)
}

fn parse(line: &str) -> Result<Option<(StreamName, Row)>> {
    let fields: Vec<&str> = line.split(',').collect();
    let [time, event, from, to, chunk, size, tsn, stream, ssn, ..] = fields[..] else {
        bail!("fewer than nine fields");
    };
    let kind = match chunk {
        "DATA" => Kind::Data,
        "SACK" => Kind::Sack,
        _ => return Ok(None),
    };
    let happening = match event {
        "send" => Happening::Send,
        "recv" => Happening::Recv,
        "drop" => Happening::Drop,
        other => bail!("event {other:?}; there are send, recv and drop"),
    };
    let stream = match (stream, ssn) {
        ("", _) => None,
        // Without an SSN: unordered.
        (s, "") => Some((s.parse()?, 0)),
        (s, n) => Some((s.parse()?, n.parse()?)),
    };
    let row = Row {
        time_s: time.parse()?,
        chunk: Chunk {
            kind,
            tsn: tsn.parse()?,
            stream,
        },
        size: size.parse()?,
    };
    Ok(Some(((happening, from.parse()?, to.parse()?), row)))
}
