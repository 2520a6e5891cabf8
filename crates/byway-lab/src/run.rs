//! Runs a scenario's policies side by side.

use crate::clock::nanos;
use crate::collect::{Collector, Expected};
pub use crate::drive::DriveError;
use crate::drive::drive;
use crate::network::{self, Records};
use crate::result::{Comparison, EventInfo, PathInfo, RunResult, SCHEMA, ScenarioInfo};
use crate::scenario::{Change, LossSpec, PathSpec, Scenario, Traffic};
use crate::units::format_duration;
use byway_sim::net::TopologyError;
#[cfg(not(target_arch = "wasm32"))]
use rayon::prelude::*;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Options of a run besides its scenario.
#[derive(Copy, Clone, Default)]
pub struct RunOptions<'a> {
    /// Where captures of the paths are written, one pcapng for each policy.
    pub captures: Option<&'a Path>,
    /// Told the policy's place and the share of the scenario's time that has
    /// passed, now and then, from several threads.
    pub progress: Option<&'a (dyn Fn(usize, f64) + Sync)>,
    /// Leaves out values over time and the digest: a third of the time.
    pub figures_only: bool,
    /// Ends runs early, with [`DriveError::Cancelled`], once it is true.
    pub cancel: Option<&'a AtomicBool>,
}

impl RunOptions<'_> {
    fn is_cancelled(&self) -> bool {
        self.cancel.is_some_and(|c| c.load(Ordering::Relaxed))
    }
}

/// Why a scenario could not be run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The simulator refuses the network.
    #[error("the scenario's network cannot be built: {0}")]
    Topology(#[from] TopologyError),
    /// A policy cannot be run.
    #[error("policy \"{policy}\": {error}")]
    Policy {
        /// Its name.
        policy: String,
        /// Why.
        error: DriveError,
    },
    /// A capture cannot be written.
    #[error("cannot write {path}: {error}")]
    Capture {
        /// Its file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Runs all policies, each with the scenario's seed, on as many threads as
/// there are processors. The results do not depend on that.
///
/// # Errors
/// The first policy that could not be run.
#[cfg(not(target_arch = "wasm32"))]
pub fn run(scenario: &Scenario, options: RunOptions<'_>) -> Result<Comparison, RunError> {
    let scenario = &*scenario.drawn();
    let results: Result<Vec<RunResult>, RunError> = (0..scenario.policies.len())
        .into_par_iter()
        .map(|i| one(scenario, i, options))
        .collect();
    Ok(compared(scenario, results?))
}

/// The results of a scenario's policies, in its order, with what was run.
#[must_use]
pub fn compared(scenario: &Scenario, results: Vec<RunResult>) -> Comparison {
    Comparison {
        schema: SCHEMA,
        scenario: info(scenario),
        results,
    }
}

/// Runs the policy at place `index`, on this thread.
///
/// # Errors
/// When it cannot be run, or was cancelled.
pub fn one(
    scenario: &Scenario,
    index: usize,
    options: RunOptions<'_>,
) -> Result<RunResult, RunError> {
    let scenario = &*scenario.drawn();
    let policy = &scenario.policies[index];
    let records = Records {
        captures: options.captures.is_some(),
        ..Records::default()
    };
    let built = network::build(scenario, records)?;
    let mut collector = Collector::new(
        scenario,
        policy,
        Expected {
            bytes: total_bytes(&scenario.traffic),
            detailed: !options.figures_only,
        },
    );
    let limit = scenario.limit.as_secs_f64();
    let progress = |now: byway_core::time::Instant| {
        if let Some(progress) = options.progress {
            progress(index, now.as_secs_f64() / limit);
        }
        !options.is_cancelled()
    };
    let ended =
        drive(scenario, &policy.config, built, &mut collector, &progress).map_err(|error| {
            RunError::Policy {
                policy: policy.name.clone(),
                error,
            }
        })?;
    if let Some(dir) = options.captures {
        let path = dir.join(capture_name(index, &policy.name));
        write_capture(&path, ended.simulation.network(), &options).map_err(
            |error| match options.is_cancelled() {
                true => RunError::Policy {
                    policy: policy.name.clone(),
                    error: DriveError::Cancelled,
                },
                false => RunError::Capture { path, error },
            },
        )?;
    }
    Ok(collector.finish(scenario, index, ended.at.as_nanos(), ended.stop))
}

/// Writes a capture by way of a file beside it: it is there whole, or not at all.
fn write_capture(
    path: &Path,
    net: &byway_sim::net::Network,
    options: &RunOptions<'_>,
) -> io::Result<()> {
    let beside = path.with_extension("pcapng-new");
    let make = || {
        let mut out = BufWriter::new(UntilCancelled {
            file: File::create(&beside)?,
            options,
        });
        net.write_pcapng(&mut out)?;
        out.flush()?;
        std::fs::rename(&beside, path)
    };
    make().inspect_err(|_| {
        // A part is of no use and takes room.
        let _ = std::fs::remove_file(&beside);
    })
}

/// A file that is written until the run is cancelled.
struct UntilCancelled<'a> {
    file: File,
    options: &'a RunOptions<'a>,
}

impl Write for UntilCancelled<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.options.is_cancelled() {
            // Not `Interrupted`, at which `write_all` tries again.
            true => Err(io::Error::other("cancelled")),
            false => self.file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// "2-pmr-0.pcapng": in the order of the policies, and fit for any file system.
#[must_use]
pub fn capture_name(index: usize, policy: &str) -> String {
    let mut name = String::new();
    for c in policy.chars().take(60) {
        if c.is_ascii_alphanumeric() {
            name.push(c.to_ascii_lowercase());
        } else if !name.ends_with('-') && !name.is_empty() {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    format!(
        "{}-{}.pcapng",
        index + 1,
        if name.is_empty() { "policy" } else { name }
    )
}

pub(crate) fn total_bytes(traffic: &Traffic) -> u64 {
    match traffic {
        Traffic::Bulk { size, .. } => size.0,
        Traffic::Periodic { message, count, .. } => message.0.saturating_mul(*count),
    }
}

/// What is run, for tables and reports.
#[must_use]
pub fn info(scenario: &Scenario) -> ScenarioInfo {
    ScenarioInfo {
        name: scenario.name.clone(),
        description: scenario.description.clone(),
        seed: scenario.seed,
        limit_s: scenario.limit.as_secs_f64(),
        traffic: match &scenario.traffic {
            Traffic::Bulk { size, message, .. } => {
                format!("a file of {size} in messages of {message}")
            }
            Traffic::Periodic {
                message,
                every,
                count,
                ..
            } => {
                format!(
                    "{count} messages of {message}, one every {}",
                    format_duration(*every)
                )
            }
        },
        paths: scenario
            .paths
            .iter()
            .map(|p| PathInfo {
                name: p.name.clone(),
                rate_bit_s: p.forward.rate.0,
                words: path_words(p),
            })
            .collect(),
        events: scenario
            .events
            .iter()
            .map(|e| EventInfo {
                at_s: nanos(e.at) as f64 / 1e9,
                path: e.path,
                words: e.change.words(),
                failure: e.change == Change::Down,
            })
            .collect(),
    }
}

fn path_words(path: &PathSpec) -> String {
    let link = &path.forward;
    let loss = match &link.loss {
        LossSpec::Nothing => String::new(),
        LossSpec::Random(share) => format!(", {share} loss"),
        LossSpec::Burst { .. } => ", losses in bursts".to_owned(),
        LossSpec::List { .. } => ", listed losses".to_owned(),
        LossSpec::LargerThan(size) => format!(", loses packets over {size}"),
    };
    let back = if path.forward == path.reverse {
        ""
    } else {
        "; other values on the way back"
    };
    let pace = match &link.trace {
        None => link.rate.to_string(),
        Some(trace) => format!("a trace of {} on average", trace.mean()),
    };
    let jitter = match link.jitter.is_zero() {
        true => String::new(),
        false => format!(" and up to {} of jitter", format_duration(link.jitter)),
    };
    format!(
        "{pace}, {}{jitter} one way, queue of {}{loss}{back}",
        format_duration(link.delay),
        link.queue
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::Outcome;

    #[test]
    fn captures_get_names_that_any_file_system_takes() {
        assert_eq!(capture_name(0, "RFC 9260"), "1-rfc-9260.pcapng");
        assert_eq!(
            capture_name(5, "PF, RTO.Min 100 ms"),
            "6-pf-rto-min-100-ms.pcapng"
        );
        assert_eq!(capture_name(1, "../€"), "2-policy.pcapng");
    }

    #[test]
    fn the_same_seed_gives_the_same_run() {
        let mut scenario = Scenario::built_in();
        scenario.policies.truncate(2);
        let digests = |s: &Scenario| -> Vec<String> {
            run(s, RunOptions::default())
                .unwrap()
                .results
                .into_iter()
                .map(|r| r.digest)
                .collect()
        };
        let first = digests(&scenario);
        assert_eq!(first, digests(&scenario));
        scenario.seed = 2;
        assert_ne!(first, digests(&scenario));
    }

    #[test]
    fn a_dead_path_stops_only_what_waits_for_its_failure() {
        let comparison = run(&Scenario::built_in(), RunOptions::default()).unwrap();
        let of = |name: &str| {
            comparison
                .results
                .iter()
                .find(|r| r.policy == name)
                .unwrap()
        };
        for result in &comparison.results {
            assert_eq!(result.outcome, Outcome::Complete, "{}", result.policy);
            assert_eq!(result.delivered_bytes, 8 << 20);
        }
        let stall = |name: &str| of(name).stall.unwrap().length_s;
        // RFC 7829: potentially failed after the first timeout, whose RTO is RTO.Min.
        let suspect = of("RFC 9260").detections[0].suspect_after_s.unwrap();
        assert!((0.9..1.3).contains(&suspect), "{suspect}");
        assert!(stall("RFC 9260") < 2.0, "{}", stall("RFC 9260"));
        // Timeouts of 1, 2, 4, 8, 16 and 32 s pass Path.Max.Retrans (caro-2004 section V.A).
        let inactive = of("RFC 9260 without PF").detections[0]
            .inactive_after_s
            .unwrap();
        assert!((62.0..66.0).contains(&inactive), "{inactive}");
        assert!(stall("PF, RTO.Min 100 ms") < stall("RFC 9260"));
    }

    /// A small scenario around `rest`.
    fn small(path: &str, rest: &str) -> RunResult {
        let text = format!(
            "limit = \"100 s\"\n\
             [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n{path}\n\
             [[path]]\nrate = \"10 Mbit/s\"\ndelay = \"20 ms\"\n{rest}\n"
        );
        let scenario = Scenario::parse("small", &text).unwrap_or_else(|e| panic!("{e}"));
        run(&scenario, RunOptions::default())
            .unwrap()
            .results
            .remove(0)
    }

    const BULK: &str = "[traffic]\nkind = \"bulk\"\nsize = \"1 MB\"\n";

    #[test]
    fn periodic_messages_pause_for_their_interval_only() {
        let result = small(
            "",
            "[traffic]\nkind = \"periodic\"\nmessage = \"40 B\"\nevery = \"100 ms\"\ncount = 50\nstreams = 20\n",
        );
        assert_eq!(result.outcome, Outcome::Complete);
        assert_eq!(result.delivered_bytes, 2000);
        let stall = result.stall.unwrap().length_s;
        assert!((stall - 0.1).abs() < 0.001, "{stall}");
        assert_eq!(
            (result.retransmissions, result.timeouts, result.failovers),
            (0, 0, 0)
        );
    }

    #[test]
    fn listed_packets_are_lost_and_sent_again() {
        let result = small("loss = { data = [3] }", BULK);
        assert_eq!(result.outcome, Outcome::Complete);
        assert_eq!((result.retransmissions, result.fast_retransmits), (1, 1));
    }

    #[test]
    fn other_traffic_takes_its_share() {
        let cross = "[[cross]]\npath = 1\nrate = \"8 Mbit/s\"\nshape = \"constant\"\n";
        let (alone, shared) = (small("", BULK), small("", &format!("{BULK}{cross}")));
        assert_eq!(shared.outcome, Outcome::Complete);
        assert!(
            shared.transfer_s > alone.transfer_s.map(|t| 2.0 * t),
            "{:?} {:?}",
            shared.transfer_s,
            alone.transfer_s
        );
    }

    #[test]
    fn a_slower_path_is_felt_and_a_repaired_one_is_used_again() {
        let slow = "[[event]]\nat = \"100 ms\"\npath = 1\ndo = \"set\"\nrate = \"1 Mbit/s\"\n";
        let result = small("", &format!("{BULK}{slow}"));
        assert!(result.transfer_s.unwrap() > 7.0, "{:?}", result.transfer_s);
        let bulk = BULK.replace("1 MB", "10 MB");
        let events = "[[event]]\nat = \"500 ms\"\npath = 1\ndo = \"down\"\n[[event]]\nat = \"2 s\"\npath = 1\ndo = \"up\"\n";
        let result = small("", &format!("{bulk}{events}"));
        assert_eq!(result.outcome, Outcome::Complete);
        assert_eq!(result.failovers, 2, "away and back");
        assert!(result.detections[0].suspect_after_s.is_some());
    }

    #[test]
    fn without_any_path_the_association_is_lost_with_its_reason() {
        let events = "[[event]]\nat = \"500 ms\"\npath = 1\ndo = \"down\"\n[[event]]\nat = \"500 ms\"\npath = 2\ndo = \"down\"\n";
        let hasty =
            "[protocol]\nfailure.association_max_retrans = 3\nfailure.path_max_retrans = 1\n";
        let result = small("", &format!("{BULK}{events}{hasty}"));
        assert!(
            matches!(&result.outcome, Outcome::Lost { reason } if reason.contains("Association.Max.Retrans")),
            "{:?}",
            result.outcome
        );
        assert!(result.transfer_s.is_none() && result.delivered_bytes < 1_000_000);
        // The stall lasts until the end.
        let stall = result.stall.unwrap();
        assert!(
            (stall.from_s + stall.length_s - result.end_s).abs() < 1e-3,
            "{stall:?} {}",
            result.end_s
        );
    }
}
