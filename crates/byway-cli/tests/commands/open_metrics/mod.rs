//! Reads metrics as OpenMetrics 1.0 has them: what the text must not have fails.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// A sample: its name, its labels, its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

/// What was scraped.
#[derive(Debug)]
pub(crate) struct Scrape(pub(crate) Vec<Sample>);

impl Scrape {
    /// All of a name with these labels.
    pub(crate) fn of(&self, name: &str, labels: &[(&str, &str)]) -> Vec<&Sample> {
        let has = |s: &&Sample| {
            s.name == name
                && labels
                    .iter()
                    .all(|(key, value)| s.labels.get(*key).is_some_and(|v| v == value))
        };
        self.0.iter().filter(has).collect()
    }

    /// The values of a name with these labels.
    pub(crate) fn values(&self, name: &str, labels: &[(&str, &str)]) -> Vec<f64> {
        self.of(name, labels).into_iter().map(|s| s.value).collect()
    }
}

/// The answer to what is asked over HTTP: its head and its body.
pub(crate) fn ask(at: SocketAddr, request: &[u8]) -> std::io::Result<(String, String)> {
    let mut tcp = TcpStream::connect(at)?;
    tcp.set_read_timeout(Some(Duration::from_secs(30)))?;
    tcp.write_all(request)?;
    let mut answer = String::new();
    tcp.read_to_string(&mut answer)?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    Ok((head.to_owned(), body.to_owned()))
}

/// The metrics of a process as it is now: one look serves all who ask in a tenth of a second.
pub(crate) fn scrape_anew(at: SocketAddr) -> Scrape {
    std::thread::sleep(Duration::from_millis(150));
    scrape(at)
}

/// The metrics of a process.
pub(crate) fn scrape(at: SocketAddr) -> Scrape {
    let request = format!("GET /metrics HTTP/1.1\r\nHost: {at}\r\nAccept: */*\r\n\r\n");
    let (head, body) = ask(at, request.as_bytes()).unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    let kind = "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(head.contains(kind), "{head}");
    assert!(
        head.contains(&format!("Content-Length: {}", body.len())),
        "{head}"
    );
    parse(&body)
}

/// Reads the text.
pub(crate) fn parse(text: &str) -> Scrape {
    let text = text.strip_suffix("# EOF\n").expect("it ends with # EOF");
    let mut samples: Vec<Sample> = Vec::new();
    // The family under way, and those before.
    let (mut family, mut kind) = (String::new(), String::new());
    let mut families: Vec<String> = Vec::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            let mut words = comment.splitn(3, ' ');
            let (what, name) = (words.next().unwrap(), words.next().unwrap());
            let rest = words.next().expect("a value");
            match what {
                "HELP" => {
                    assert!(
                        !families.contains(&name.to_owned()),
                        "{name} is interrupted"
                    );
                    families.push(name.to_owned());
                    family = name.to_owned();
                }
                "TYPE" => kind = rest.to_owned(),
                "UNIT" => assert!(name.ends_with(&format!("_{rest}")), "{line}"),
                _ => panic!("{line}"),
            }
            assert_eq!(name, family, "{line}");
            continue;
        }
        let sample = sample(line);
        let suffix = match kind.as_str() {
            "counter" => "_total",
            "info" => "_info",
            "gauge" => "",
            _ => panic!("{family} is of type {kind}"),
        };
        assert_eq!(sample.name, format!("{family}{suffix}"), "{line}");
        let known = |s: &&Sample| (&s.name, &s.labels) == (&sample.name, &sample.labels);
        assert!(samples.iter().find(known).is_none(), "twice: {line}");
        samples.push(sample);
    }
    Scrape(samples)
}

fn sample(line: &str) -> Sample {
    let (named, value) = line.rsplit_once(' ').unwrap_or_else(|| panic!("{line}"));
    let (name, mut rest) = match named.split_once('{') {
        Some((name, labels)) => (name, labels.strip_suffix('}').expect("a brace")),
        None => (named, ""),
    };
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
    assert!(!name.is_empty() && name.chars().all(is_name), "{line}");
    let mut labels = BTreeMap::new();
    while !rest.is_empty() {
        let (key, quoted) = rest.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        let (value, more) = unquoted(quoted);
        assert!(labels.insert(key.to_owned(), value).is_none(), "{line}");
        rest = more.strip_prefix(',').unwrap_or(more);
        assert_eq!(more.is_empty(), rest.len() == more.len(), "{line}");
    }
    Sample {
        name: name.to_owned(),
        labels,
        value: value.parse().unwrap_or_else(|_| panic!("{line}")),
    }
}

/// A label's value, and what follows its quotation mark.
fn unquoted(text: &str) -> (String, &str) {
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => {
                value.push(if c == 'n' { '\n' } else { c });
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return (value, &text[at + 1..]),
            _ => value.push(c),
        }
    }
    panic!("a label does not end: {text}");
}
