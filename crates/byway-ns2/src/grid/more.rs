//! More runs of a table's cells in ns-2 itself, with other seeds: what its few
//! runs of a cell owe to chance. Needs `ns` (Debian's package ns2).

use anyhow::{Context, Result, anyhow, bail};
use byway_lab::stats::Sample;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The last column that is a setting.
const LAST_SETTING: &str = "qlimit";
/// Simulated seconds after which a run counts as not finished.
const HORIZON_S: u32 = 6000;
/// Runs ns-2 with at most 20 seconds of processor time: its CMT agent can loop for ever at one
/// instant. A run of 8 MB takes 0.1 s.
const LIMITED: &str = r#"ulimit -t 20 && exec "$0" "$@""#;
/// What is written behind the settings.
const RESULTS: &str = "n_ok,transfer_mean,transfer_sd,n_detect,detect_mean,detect_sd";

/// Which runs.
#[derive(Clone, Debug)]
pub struct More {
    /// The program: that of the build that is meant.
    pub ns: PathBuf,
    /// `experiments/ns2-grid/cell.tcl`.
    pub script: PathBuf,
    /// Only lines of this experiment.
    pub experiment: String,
    /// Only lines whose variant begins so.
    pub variant: String,
    /// Of those every so many lines.
    pub every: usize,
    /// The first seed.
    pub first_seed: u32,
    /// How many.
    pub seeds: u32,
}

impl More {
    /// Runs lines of a table and gives one of the same kind, without detection
    /// times; `done` hears of each line.
    ///
    /// # Errors
    /// When the table lacks a column, or ns-2 cannot be run.
    pub fn run(&self, table: &str, mut done: impl FnMut(&str)) -> Result<String> {
        let mut lines = table.lines();
        let names: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
        let place = |name: &str| {
            let at = names.iter().position(|n| *n == name);
            at.ok_or_else(|| anyhow!("no column {name}"))
        };
        let (experiment, variant) = (place("experiment")?, place("variant")?);
        let (size, chunk, last) = (place("size")?, place("chunk")?, place(LAST_SETTING)?);
        let of_table = lines.map(|l| l.split(',').collect::<Vec<_>>());
        let wanted = of_table.filter(|f| {
            f.len() == names.len()
                && f[experiment] == self.experiment
                && f[variant].starts_with(&self.variant)
        });
        let mut text = format!("{},{RESULTS}\n", names[..=last].join(","));
        for fields in wanted.step_by(self.every.max(1)) {
            let number = |at: usize| -> Result<u64> {
                let why = || format!("{} = {:?}", names[at], fields[at]);
                fields[at].parse().with_context(why)
            };
            let payload = number(chunk)?.checked_sub(16).filter(|p| *p > 0);
            let payload = payload.ok_or_else(|| anyhow!("chunk is at most a header"))?;
            let chunks = number(size)?.div_ceil(payload);
            let words: Vec<String> = names[..=last]
                .iter()
                .zip(&fields)
                .map(|(n, v)| format!("{n}={v}"))
                .collect();
            let mut times = Vec::new();
            for seed in (self.first_seed..).take(self.seeds as usize) {
                times.extend(self.one(&words, seed, chunks)?);
            }
            let s = Sample::of(&times);
            let line = format!(
                "{},{},{:.4},{:.4},0,,",
                fields[..=last].join(","),
                s.n,
                s.mean,
                s.sd
            );
            done(&line);
            text += &line;
            text.push('\n');
        }
        Ok(text)
    }

    /// One run's transfer time in seconds; none if it did not finish, or looped for ever.
    fn one(&self, words: &[String], seed: u32, chunks: u64) -> Result<Option<f64>> {
        let mut ns = Command::new("sh")
            .args(["-c", LIMITED])
            .arg(&self.ns)
            .arg(&self.script)
            .args(words)
            .args([format!("seed={seed}"), format!("horizon={HORIZON_S}")])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("running {}", self.ns.display()))?;
        let Some(output) = ns.stdout.take() else {
            bail!("{} has no output", self.ns.display());
        };
        let time = transfer_s(BufReader::new(output), chunks);
        // It would go on until the horizon.
        let _ = ns.kill();
        ns.wait()?;
        time
    }
}

/// From the first DATA that leaves the sender to the SACK of the last chunk. The
/// trace's columns: event, time, nodes, protocol, size, flags with the chunk's
/// letter at the end, flow, addresses, chunks, TSN.
fn transfer_s(trace: impl BufRead, chunks: u64) -> Result<Option<f64>> {
    let mut first = None;
    for line in trace.lines() {
        let line = line.context("reading ns-2's trace")?;
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [event, time, _, _, _, _, flags, _, _, _, _, tsn, ..] = fields[..] else {
            continue;
        };
        let moment = || time.parse::<f64>().with_context(|| line.clone());
        match (event, flags.chars().last()) {
            ("+", Some('D')) if first.is_none() => first = Some(moment()?),
            ("r", Some('S')) if tsn.parse().is_ok_and(|t: u64| t >= chunks) => {
                let done = moment()?;
                return Ok(first.map(|first| done - first));
            }
            _ => {}
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "\
+ 0.180177 1 6 sctp 56 -------H 0 1.0 4.0 1 -1 8 65535 65535
+ 0.27 1 6 sctp 1500 -------D 0 1.0 4.0 1 1 12 0 0
+ 0.27 1 6 sctp 1500 -------D 0 1.0 4.0 1 2 13 0 1
r 0.361 6 1 sctp 48 -------S 0 4.0 1.0 1 1 14 65535 65535
r 0.561 6 1 sctp 48 -------S 0 4.0 1.0 1 2 15 65535 65535
";

    #[test]
    fn a_transfer_lasts_from_its_first_data_to_the_sack_of_its_last() -> Result<()> {
        for (chunks, expected) in [(1, Some(0.091)), (2, Some(0.291)), (3, None)] {
            let time = transfer_s(TRACE.as_bytes(), chunks)?;
            assert_eq!(time.map(|t| (t * 1e6).round() / 1e6), expected, "{chunks}");
        }
        Ok(())
    }

    #[test]
    fn a_table_without_a_setting_is_refused() {
        let more = More {
            ns: "ns".into(),
            script: "cell.tcl".into(),
            experiment: "g".to_owned(),
            variant: "stock".to_owned(),
            every: 1,
            first_seed: 1,
            seeds: 1,
        };
        let error = more.run("experiment,variant,size\n", |_| ()).err();
        let text = error.map(|e| e.to_string()).unwrap_or_default();
        assert_eq!(text, "no column chunk");
    }
}
