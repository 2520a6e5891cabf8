//! Runs the files of an answer again and compares.

use super::answer::Advice;
use super::files::{File, stem};
use super::situations::Situation;
use crate::engine::{self, EngineError, Options, Row};
use crate::metrics::Metrics;
use crate::sweep;

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rerun {
    /// Values that were compared.
    pub compared: usize,
    /// Those that differ, in words.
    pub different: Vec<String>,
}

/// Runs the sweep files of an answer and compares stalls, moves and times to notice with it.
///
/// # Errors
/// When a file cannot be read, or a run was refused.
pub fn rerun(advice: &Advice, files: &[File]) -> Result<Rerun, String> {
    let text = |name: &str| {
        let file = files.iter().find(|f| f.name == name);
        file.map(|f| (f.name.clone(), f.text.clone()))
            .ok_or_else(|| format!("{name} is missing"))
    };
    let mut result = Rerun::default();
    for target in &advice.targets {
        for situation in [Situation::Death, Situation::Quiet] {
            let (name, sweep) = text(&format!("{}.toml", stem(target.target, situation)))?;
            let plan = sweep::parse(&name, &sweep, &text, &Metrics::standard())
                .map_err(|e| e.to_string())?;
            let done = engine::run(&[&plan], &Options::default())
                .map_err(|e: EngineError| e.to_string())?;
            let value = |row: &Row, metric: &str| plan.metric(metric).and_then(|m| row.value(m));
            for row in &done.rows[0] {
                let policy = &plan.cells[row.cell].scenario.policies[0].name;
                let outlook = target.rows.iter().find(|r| r.name == *policy);
                let sample = outlook.and_then(|r| r.samples.iter().find(|s| s.seed == row.seed));
                let Some(sample) = sample else {
                    result
                        .different
                        .push(format!("{policy}: seed {}", row.seed));
                    continue;
                };
                let pairs = match situation {
                    Situation::Death if sample.lost > 0 => Vec::new(),
                    Situation::Death => vec![
                        (value(row, "stall_s"), Some(sample.stall_s)),
                        (value(row, "suspect_s"), sample.notice_s),
                    ],
                    _ => vec![(value(row, "spurious_failovers"), Some(sample.moves))],
                };
                for (again, then) in pairs {
                    result.compared += 1;
                    if again != then {
                        let words = format!("{policy}, seed {}: {again:?}, {then:?}", row.seed);
                        result.different.push(words);
                    }
                }
            }
        }
    }
    Ok(result)
}
