//! What a stranger can do to a running receiver: `byway-hostile` of `interop/hostile` against
//! `byway recv`, `byway listen`, `byway serve` and `byway-bench loopback-recv`, on loopback.

mod amplification;
mod crowd;
mod ending;
mod flood;
mod memory;
mod patience;
mod tools;

use super::Arguments;
use crate::peers::Workspace;
use anyhow::{Result, ensure};
use serde_json::{Map, Value, json};
use tools::Tools;

/// What of a part's goals is not met, each in words.
#[derive(Default)]
struct Verdict(Vec<String>);

impl Verdict {
    /// A goal, and in words what is so where it is not met.
    fn require(&mut self, is_met: bool, otherwise: impl FnOnce() -> String) {
        if !is_met {
            let otherwise = otherwise();
            eprintln!("  FALLS SHORT: {otherwise}");
            self.0.push(otherwise);
        }
    }
}

/// One part: it tells its goals, and its figures.
type Measure = fn(&Tools, &Arguments, &mut Verdict) -> Result<Value>;

const PARTS: [(&str, Measure); 6] = [
    ("amplification", amplification::measure),
    ("flood", flood::measure),
    ("memory", memory::measure),
    ("patience", patience::measure),
    ("crowd", crowd::measure),
    ("ending", ending::measure),
];

/// Runs all parts, or those that are named, and prints what holds; the last line is JSON. Its
/// `ratio` is the share of the parts that meet all of their goals. A part that cannot be measured meets none.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<()> {
    let wanted: Vec<String> = arguments
        .folders
        .iter()
        .map(|f| f.display().to_string())
        .collect();
    for name in &wanted {
        ensure!(
            PARTS.iter().any(|(n, _)| n == name),
            "hostile has no part '{name}'; it has {}",
            PARTS.map(|(n, _)| n).join(", ")
        );
    }
    let tools = Tools::build(workspace)?;
    let chosen = |name: &str| wanted.is_empty() || wanted.iter().any(|w| w == name);
    let mut parts = Vec::new();
    for (name, measure) in PARTS.into_iter().filter(|(name, _)| chosen(name)) {
        eprintln!("hostile: {name}");
        let (figures, short) = judged(|verdict| measure(&tools, arguments, verdict));
        match short.is_empty() {
            true => println!("{name}: holds"),
            false => println!("{name}: FALLS SHORT: {}", short.join("; ")),
        }
        parts.push((name, figures, short));
    }
    let short = parts.iter().filter(|(_, _, short)| !short.is_empty());
    let short: Vec<&str> = short.map(|(name, _, _)| *name).collect();
    let short = short.join(", ");
    println!("{}", line(parts));
    ensure!(short.is_empty(), "these parts fall short: {short}");
    Ok(())
}

/// The figures of a part and what is not met. An error is one thing that is not.
fn judged(measure: impl FnOnce(&mut Verdict) -> Result<Value>) -> (Value, Vec<String>) {
    let mut verdict = Verdict::default();
    let figures = measure(&mut verdict).unwrap_or_else(|error| {
        let error = format!("{error:#}");
        verdict.require(false, || error.clone());
        json!({ "error": error })
    });
    (figures, verdict.0)
}

/// The line for programs.
fn line(parts: Vec<(&str, Value, Vec<String>)>) -> Value {
    let met = parts.iter().filter(|(_, _, short)| short.is_empty());
    let ratio = met.count() as f64 / parts.len().max(1) as f64;
    let (mut line, mut all_short) = (Map::new(), Map::new());
    line.insert("name".into(), "hostile".into());
    line.insert("ratio".into(), json!(ratio));
    for (name, figures, short) in parts {
        line.insert(name.into(), figures);
        if !short.is_empty() {
            all_short.insert(name.into(), json!(short));
        }
    }
    line.insert("falls_short".into(), Value::Object(all_short));
    Value::Object(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_cannot_be_measured_falls_short_and_the_others_count() {
        let good = judged(|verdict| {
            verdict.require(true, || "never".into());
            Ok(json!({ "figure": 1 }))
        });
        let lost = judged(|_| anyhow::bail!("no receiver"));
        let short = judged(|verdict| {
            verdict.require(false, || "3 of 4 were there".into());
            Ok(json!({ "figure": 2 }))
        });
        let named = [("a", good), ("b", lost), ("c", short)];
        let line = line(
            named
                .map(|(name, (figures, short))| (name, figures, short))
                .into(),
        );
        assert_eq!(line["ratio"], 1.0 / 3.0);
        assert_eq!(line["a"], json!({ "figure": 1 }));
        assert_eq!(line["b"], json!({ "error": "no receiver" }));
        assert_eq!(line["c"], json!({ "figure": 2 }));
        let expected = json!({ "b": ["no receiver"], "c": ["3 of 4 were there"] });
        assert_eq!(line["falls_short"], expected);
    }
}
