//! Bytes out for bytes in, to addresses that have proved nothing.

use super::super::Arguments;
use super::super::transfer::free_udp_port;
use super::Verdict;
use super::tools::{Tools, number, rounded};
use anyhow::{Context, Result};
use serde_json::{Map, Value, json};

/// Most bytes for a byte.
const MOST: f64 = 3.0;
/// What no answer is due to.
const UNANSWERED: &str = "forged COOKIE ECHO";
/// Most heartbeats to a listed victim.
const MOST_HEARTBEATS: f64 = 5.0;

pub(super) fn measure(tools: &Tools, _: &Arguments, verdict: &mut Verdict) -> Result<Value> {
    let mut figures = Map::new();
    for (name, addresses) in [("one_address", 1), ("eight_addresses", 8)] {
        let port = free_udp_port()?;
        let bind: Vec<String> = (1..=addresses)
            .map(|n| format!("127.0.0.{n}:{port}"))
            .collect();
        let _receiver = tools.recv(&bind.join(","), &[])?;
        let line = tools.attack(&["amplify", "--to", &format!("127.0.0.1:{port}")])?;
        let worst = number(&line, "worst")?;
        verdict.require(worst <= MOST, || {
            format!("{name}: {worst:.2} bytes for one, and {MOST} are allowed")
        });
        let mut rows = Map::new();
        for row in line["rows"].as_array().context("no rows")? {
            let request = row["request"].as_str().context("no request")?;
            // Somebody who answers nothing amplifies nothing, and shows nothing.
            let (answers, due) = (number(row, "answers")?, f64::from(request != UNANSWERED));
            verdict.require(answers == due, || {
                format!("{name}: '{request}' got {answers} answers, and {due} were due")
            });
            rows.insert(
                request.into(),
                json!({
                    "in": row["bytes_in"],
                    "out": row["bytes_out"],
                    "ratio": rounded(number(row, "ratio")?),
                }),
            );
            eprintln!(
                "  {name}: {request}: {} of {}",
                row["bytes_out"], row["bytes_in"]
            );
        }
        figures.insert(
            name.into(),
            json!({ "worst": rounded(worst), "rows": rows }),
        );
    }
    let port = free_udp_port()?;
    let _receiver = tools.recv(&format!("127.0.0.1:{port}"), &["--give-up", "1h"])?;
    let camp = tools.attack(&["camp", "--to", &format!("127.0.0.1:{port}")])?;
    let most = number(&camp, "most_to_one")?;
    let [paid, heard] = [number(&camp, "bytes_sent")?, number(&camp, "bytes")?];
    // One that is ended early asks few.
    verdict.require(camp["alive"] == true, || {
        format!(
            "the association that lists victims was ended: {}",
            camp["reason"]
        )
    });
    verdict.require(most > 0.0, || "no listed victim was asked".into());
    verdict.require(most <= MOST_HEARTBEATS, || {
        format!("a listed victim got {most} packets, and {MOST_HEARTBEATS} are allowed")
    });
    verdict.require(heard <= MOST * paid, || {
        format!("{heard} bytes to listed victims, for {paid} of the attacker")
    });
    eprintln!("  victims: {heard} bytes to all, {most} packets to one at most, for {paid} bytes");
    figures.insert("victims".into(), camp);
    Ok(Value::Object(figures))
}
