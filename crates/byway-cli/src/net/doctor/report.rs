//! The result as text of 80 columns and as JSON.

use super::super::address::{shown, shown_host};
use super::findings::{Protocol132, Translator, translator, words};
use super::host::Host;
use super::measure::Pair;
use serde_json::{Value, json};
use std::fmt::Write;
use std::time::Duration;

const WIDTH: usize = 80;

/// The result as text.
pub(super) fn text(pairs: &[Pair], findings: &[String]) -> String {
    let mut out = String::new();
    for (i, pair) in pairs.iter().enumerate() {
        let _ = writeln!(
            out,
            "pair {}: {} to {}{}",
            i + 1,
            shown_host(pair.local),
            shown(pair.remote),
            if pair.remote.port() == 0 {
                ", without UDP"
            } else {
                ""
            }
        );
    }
    let _ = writeln!(
        out,
        "\n{:4} {:>9} {:>9} {:>9} {:>10} {:>6} {:>12}  translator",
        "pair", "set-up", "RTT", "95 %", "lost", "MTU", "rate"
    );
    for (i, pair) in pairs.iter().enumerate() {
        let _ = match &pair.answer {
            Ok(a) => writeln!(
                out,
                "{:<4} {:>9} {:>9} {:>9} {:>10} {:>6} {:>12}  {}",
                i + 1,
                time(a.setup),
                a.round_trip(0.5).map_or("-".to_owned(), time),
                a.round_trip(0.95).map_or("-".to_owned(), time),
                format!("{} of {}", a.lost(), a.sent),
                a.mtu,
                a.rate.map_or("-".to_owned(), byway_lab::show::rate),
                match translator(pair, a) {
                    Translator::Port => "port",
                    other => other.name(),
                }
            ),
            Err(_) => writeln!(out, "{:<4} {:>9}", i + 1, "no answer"),
        };
    }
    out.push('\n');
    for finding in findings {
        wrap(&mut out, finding);
    }
    out
}

/// "0.31 ms".
fn time(duration: Duration) -> String {
    let ms = duration.as_secs_f64() * 1e3;
    match ms {
        _ if ms < 9.95 => format!("{ms:.2} ms"),
        _ if ms < 9999.5 => format!("{ms:.0} ms"),
        _ => format!("{:.1} s", ms / 1e3),
    }
}

fn wrap(out: &mut String, text: &str) {
    let mut line = "-".to_owned();
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > WIDTH {
            out.push_str(&line);
            out.push('\n');
            line = " ".to_owned();
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
}

/// The result as JSON; `byway advise --paths` reads it.
pub(super) fn json(
    pairs: &[Pair],
    protocol_132: Protocol132,
    host: &Host,
    findings: &[String],
) -> Value {
    let ms = |d: Option<Duration>| d.map(|d| d.as_secs_f64() * 1e3);
    let listed: Vec<Value> = pairs
        .iter()
        .map(|pair| match &pair.answer {
            Ok(a) => json!({
                "local": shown_host(pair.local),
                "remote": byway::shown_address(pair.remote),
                "answers": true,
                "setup_ms": ms(Some(a.setup)),
                "rtt_ms": ms(a.round_trip(0.0)),
                "rtt_median_ms": ms(a.round_trip(0.5)),
                "rtt_95th_ms": ms(a.round_trip(0.95)),
                "rtt_spread_ms": ms(a.round_trip(0.95).zip(a.round_trip(0.0)).map(|(b, a)| b - a)),
                "heartbeats": a.sent,
                "lost": a.lost(),
                "loss_round_trip": f64::from(a.lost()) / f64::from(a.sent.max(1)),
                "mtu": a.mtu,
                "rate_bit_s": a.rate,
                "translator": translator(pair, a).name(),
                "seen_as": a.seen.as_ref().map(|s| s.iter().map(ToString::to_string).collect::<Vec<_>>()),
            }),
            Err(silence) => json!({
                "local": shown_host(pair.local),
                "remote": byway::shown_address(pair.remote),
                "answers": false,
                "why": words(silence, pair),
            }),
        })
        .collect();
    json!({
        "schema": "byway.doctor/1",
        "pairs": listed,
        "protocol_132": protocol_132.name(),
        "host": host,
        "findings": findings,
    })
}
