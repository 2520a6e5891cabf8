//! What a stranger can do to a running receiver: `byway-hostile` of `interop/hostile` against
//! `byway recv`, `byway listen` and `byway-bench loopback-recv`, on loopback.

mod amplification;
mod crowd;
mod flood;
mod memory;
mod patience;
mod tools;

use super::Arguments;
use crate::peers::Workspace;
use anyhow::{Result, ensure};
use serde_json::{Map, json};
use tools::Tools;

/// One part: its name, its figures, and whether it is as good as it should be.
struct Part {
    name: &'static str,
    figures: serde_json::Value,
    holds: bool,
}

type Measure = fn(&Tools, &Arguments) -> Result<Part>;

/// Runs all parts, or those that are named, and prints what holds; the last line is JSON. Its
/// `ratio` is the share of the goals that are met.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    let tools = Tools::build(workspace)?;
    let all: [(&str, Measure); 5] = [
        ("amplification", amplification::measure),
        ("flood", flood::measure),
        ("memory", memory::measure),
        ("patience", patience::measure),
        ("crowd", crowd::measure),
    ];
    let wanted: Vec<String> = arguments
        .folders
        .iter()
        .map(|f| f.display().to_string())
        .collect();
    for name in &wanted {
        ensure!(
            all.iter().any(|(n, _)| n == name),
            "hostile has no part '{name}'; it has amplification, flood, memory, patience, crowd"
        );
    }
    let chosen = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let mut parts = Vec::new();
    for (name, measure) in all.into_iter().filter(|(name, _)| chosen(name)) {
        eprintln!("hostile: {name}");
        let part = measure(&tools, arguments)?;
        println!(
            "{}: {}",
            part.name,
            if part.holds { "holds" } else { "FALLS SHORT" }
        );
        parts.push(part);
    }
    let met = parts.iter().filter(|p| p.holds).count();
    let short = parts.iter().filter(|p| !p.holds).map(|p| p.name);
    let short = short.collect::<Vec<_>>().join(", ");
    let mut line = Map::new();
    line.insert("name".into(), "hostile".into());
    line.insert(
        "ratio".into(),
        json!(met as f64 / parts.len().max(1) as f64),
    );
    for part in parts {
        line.insert(part.name.into(), part.figures);
    }
    println!("{}", serde_json::Value::Object(line));
    ensure!(short.is_empty(), "these parts fall short: {short}");
    Ok(())
}
