//! What is tried: the defaults, each lever alone, and drawn combinations.

use super::levers::{self, Lever};
use crate::scenario::{Override, Policy, apply_overrides};
use byway_dialect_ns2::Settings;
use serde::Serialize;

/// Whose settings are advised.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// byway.
    Byway,
    /// The SCTP of the Linux kernel.
    Linux,
    /// usrsctp.
    Usrsctp,
}

impl Target {
    /// All there are.
    pub const ALL: [Target; 3] = [Target::Byway, Target::Linux, Target::Usrsctp];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Target::Byway => "byway",
            Target::Linux => "linux",
            Target::Usrsctp => "usrsctp",
        }
    }

    /// The one of this name.
    ///
    /// # Errors
    /// The names that there are.
    pub fn named(name: &str) -> Result<Target, String> {
        let found = Target::ALL.into_iter().find(|t| t.name() == name);
        found.ok_or_else(|| format!("\"{name}\": there are byway, linux and usrsctp"))
    }
}

/// Settings that are tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Candidate {
    /// Whose they are.
    pub target: Target,
    /// Its name if it is one of the defaults, else empty.
    pub default: &'static str,
    /// The preset that it begins with.
    pub preset: &'static str,
    /// What the target itself has set otherwise than the preset.
    pub profile: Vec<(String, String)>,
    /// What is advised: settings over the target's defaults.
    pub settings: Vec<(String, String)>,
}

impl Candidate {
    fn new(target: Target, default: &'static str, preset: &'static str) -> Candidate {
        Candidate {
            target,
            default,
            preset,
            profile: Vec::new(),
            settings: Vec::new(),
        }
    }

    fn profile(mut self, settings: &[(&str, &str)]) -> Candidate {
        self.profile.extend(owned(settings));
        self
    }

    /// These settings and others; a later one of the same key replaces an earlier one.
    fn with(&self, settings: &[(&'static str, &'static str)]) -> Candidate {
        let mut other = self.clone();
        other.default = "";
        for (key, value) in owned(settings) {
            other.settings.retain(|(k, _)| *k != key);
            other.settings.push((key, value));
        }
        other
    }

    /// These settings without those of this key's lever.
    pub(super) fn without(&self, keys: &[String]) -> Candidate {
        let mut other = self.clone();
        other.settings.retain(|(k, _)| !keys.contains(k));
        other
    }

    /// Whether it sets the same.
    pub(super) fn is_same(&self, other: &Candidate) -> bool {
        let sorted = |c: &Candidate| {
            let mut settings = c.settings.clone();
            settings.sort();
            settings
        };
        self.preset == other.preset
            && self.profile == other.profile
            && sorted(self) == sorted(other)
    }

    /// The settings in groups that belong together.
    pub(super) fn groups(&self) -> Vec<Vec<String>> {
        let mut groups: Vec<Vec<String>> = Vec::new();
        for (key, _) in &self.settings {
            let together = key.ends_with("ack_delay") && self.target == Target::Byway;
            match groups
                .iter_mut()
                .find(|g| together && g.iter().any(|k| k == "sack.delay"))
            {
                Some(group) => group.push(key.clone()),
                None => groups.push(vec![key.clone()]),
            }
        }
        groups
    }

    /// All settings over the preset, as `--set` takes them.
    #[must_use]
    pub fn overrides(&self) -> Vec<Override> {
        let all = self.profile.iter().chain(&self.settings);
        all.map(|(key, value)| Override {
            key: key.clone(),
            value: value.clone(),
        })
        .collect()
    }

    /// The policy of this name.
    ///
    /// # Errors
    /// When settings contradict each other.
    pub fn policy(&self, name: &str) -> Result<Policy, String> {
        let base = Settings::preset(self.preset).map_err(|e| e.to_string())?;
        let config =
            apply_overrides(&base, &self.overrides()).map_err(|problems| problems.join("; "))?;
        let settings: Vec<String> = self
            .settings
            .iter()
            .map(|(k, v)| format!("{k} = {v}"))
            .collect();
        Ok(Policy {
            name: name.to_owned(),
            note: match settings.as_slice() {
                [] => format!("defaults of {}", self.target.name()),
                some => some.join(", "),
            },
            config,
        })
    }
}

fn owned(settings: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = settings.iter();
    pairs
        .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
        .collect()
}

/// The defaults that advice is held against; the first are the target's own.
#[must_use]
pub fn baselines(target: Target) -> Vec<Candidate> {
    let new = |name, preset| Candidate::new(target, name, preset);
    // Linux, usrsctp and INET count lost heartbeats of idle paths towards
    // Association.Max.Retrans.
    let counts = ("failure.idle_heartbeats_count", "true");
    match target {
        Target::Byway => vec![
            new("preset byway", "byway"),
            new("RFC 9260", "rfc9260").profile(&[("failover.potentially_failed", "off")]),
            new("RFC 7829", "rfc9260"),
            new("caro-2006", "caro2006-proposed"),
        ],
        // net/sctp/sysctl.c and protocol.c: rto_initial 3000, pf_retrans 0, pf_enable 1.
        Target::Linux => {
            vec![new("Linux defaults", "rfc9260").profile(&[("rto.initial", "3 s"), counts])]
        }
        // sctp_sysctl.h: SCTPCTL_PATH_PF_THRESHOLD_DEFAULT is 65535, that is never.
        Target::Usrsctp => vec![
            new("usrsctp defaults", "rfc9260")
                .profile(&[("failover.potentially_failed", "off"), counts]),
        ],
    }
}

/// The baselines of byway that a target cannot be set to, and why: the answer names them.
pub(super) const fn cannot_be(target: Target) -> Option<&'static str> {
    match target {
        Target::Byway => None,
        Target::Linux | Target::Usrsctp => Some(
            "cannot be set to preset byway (its probe timeout) or caro-2006 (its rules of \
             retransmission), so neither is in its table, and either may be better on these \
             paths; --for byway compares them",
        ),
    }
}

/// What decides most where T3-rtx notices failures: each with each, and prompt SACKs.
const GRID_RTO_MIN: &[&str] = &["300 ms", "100 ms", "50 ms"];
const GRID_THRESHOLDS: &[(&str, &str)] = &[
    ("failover.potentially_failed.max_retrans", "0"),
    ("failover.potentially_failed.max_retrans", "1"),
    ("failover.potentially_failed.max_retrans", "2"),
];

/// What the search tries for a target: all its baselines, each choice of each lever alone, and
/// combinations drawn from the seed. A baseline that leads the search gets [`neighbours`], too.
pub(super) fn all(target: Target, seed: u64, paths: usize) -> Vec<Candidate> {
    let defaults = baselines(target);
    let mut found: Vec<Candidate> = defaults.clone();
    let mut draw = Draw(seed);
    let mut family = |base: &Candidate, levers: &[Lever], combinations: usize| {
        for choice in levers.iter().copied().flatten() {
            found.push(base.with(choice));
        }
        // The preset byway has its own probe timeout.
        let grid = if base.preset == "byway" {
            &[]
        } else {
            GRID_THRESHOLDS
        };
        for threshold in grid {
            for rto_min in GRID_RTO_MIN {
                let grid = [("rto.min", *rto_min), *threshold];
                found.push(base.with(&grid).with(&[("sack.delay", "20 ms")]));
            }
        }
        for _ in 0..combinations {
            let mut candidate = base.clone();
            for lever in levers {
                if draw.below(5) < 2 {
                    candidate = candidate.with(lever[draw.below(lever.len() as u64) as usize]);
                }
            }
            found.push(candidate);
        }
    };
    match target {
        Target::Byway => {
            family(&defaults[0], levers::BYWAY, 20);
            family(&defaults[2], levers::STANDARD, 8);
        }
        Target::Linux => family(&defaults[0], levers::LINUX, 16),
        Target::Usrsctp => family(&defaults[0], levers::USRSCTP, 16),
    }
    let mut distinct: Vec<Candidate> = Vec::new();
    for candidate in found {
        let alone = paths < 2
            && candidate
                .settings
                .iter()
                .any(|(key, _)| key == "concurrent");
        let known = distinct.iter().any(|c| c.is_same(&candidate));
        if !alone && !known && candidate.policy("").is_ok() {
            distinct.push(candidate);
        }
    }
    distinct
}

/// A candidate with one lever in another place, in each way that there is.
pub(super) fn neighbours(candidate: &Candidate) -> Vec<Candidate> {
    let levers = match candidate.target {
        Target::Byway if candidate.preset == "byway" => levers::BYWAY,
        Target::Byway => levers::STANDARD,
        Target::Linux => levers::LINUX,
        Target::Usrsctp => levers::USRSCTP,
    };
    let choices = levers.iter().copied().flatten();
    choices.map(|choice| candidate.with(choice)).collect()
}

/// Numbers drawn from a seed (splitmix64).
pub(super) struct Draw(pub(super) u64);

impl Draw {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }

    /// From 0 to below 1.
    pub(super) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}
