//! The core's settings together with the module's.

use crate::Ns2Config;
use byway_core::config::{
    Config, ConfigError, CongestionAlgorithm, Coupling, FailedProbes, FastRecovery,
    PathMaxRetransTest, RttSampling,
};
use byway_core::dialect::DialectRef;
use core::ops::{Deref, DerefMut};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// The settings of an association in the laboratory: those of the core, to which it
/// dereferences, and the rules of ns-2's module in `ns2`.
///
/// As text it is the core's settings with one more group.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Settings {
    /// The core's settings.
    pub core: Config,
    /// The module's rules. All are off by default, and then no dialect is used.
    pub ns2: Ns2Config,
}

impl Deref for Settings {
    type Target = Config;

    fn deref(&self) -> &Config {
        &self.core
    }
}

impl DerefMut for Settings {
    fn deref_mut(&mut self) -> &mut Config {
        &mut self.core
    }
}

impl From<Config> for Settings {
    fn from(core: Config) -> Settings {
        Settings {
            core,
            ns2: Ns2Config::default(),
        }
    }
}

impl Settings {
    /// RFC 2960 as ns-2's SCTP module (release 2.35 with RFC 2960's windows) implements
    /// it, for packet-by-packet comparisons with its traces and for the papers' runs.
    #[must_use]
    pub fn ns2() -> Settings {
        let mut c = Config::rfc2960();
        c.setup.confirm_all_before_data = true;
        c.setup.first_address_only = true;
        c.hb.failed = FailedProbes::OncePerRto;
        c.rto.sampling = RttSampling::OncePerRound;
        c.failure.heartbeat_test = PathMaxRetransTest::Exceeds;
        c.congestion.fast_recovery = FastRecovery::PerAssociation;
        c.congestion.fast_retransmit_threshold = 3;
        c.sack.first_at_once = true;
        // Practically no window updates: one leaves only if the window opens by the whole
        // buffer.
        c.buffer.window_update_share = 1;
        Settings {
            core: c,
            ns2: Ns2Config::module(),
        }
    }

    /// The preset with this name: one of [`Config::preset`], or `ns2`.
    ///
    /// # Errors
    /// When there is no preset of that name. The message lists all presets.
    pub fn preset(name: &str) -> Result<Settings, ConfigError> {
        if name == "ns2" {
            return Ok(Settings::ns2());
        }
        Config::preset(name).map(Settings::from).map_err(|mut e| {
            e.problem = e.problem.replace("rfc2960, ", "rfc2960, ns2, ");
            e
        })
    }

    /// Checks all settings (see [`Config::check`]).
    ///
    /// # Errors
    /// Names the first invalid field, with its value and a valid value.
    pub fn check(&self) -> Result<(), ConfigError> {
        let refuse = |field, problem: &str| {
            Err(ConfigError {
                field,
                value: "true".to_owned(),
                problem: problem.to_owned(),
            })
        };
        self.core.check()?;
        let c = &self.core.congestion;
        let plain = c.algorithm == CongestionAlgorithm::Rfc9260 && c.coupled == Coupling::Off;
        if self.ns2.partial_bytes_when_full && !plain {
            return refuse(
                "ns2.partial_bytes_when_full",
                "is a reading of RFC 9260's rule; congestion.algorithm must be Rfc9260 and \
                 congestion.coupled Off",
            );
        }
        if self.ns2.partial_bytes_late && !self.ns2.partial_bytes_when_full {
            return refuse(
                "ns2.partial_bytes_late",
                "tells which bytes ns2.partial_bytes_when_full counts; that must be true",
            );
        }
        Ok(())
    }

    /// The dialect for the endpoint's settings, if any of the module's rules is on.
    #[must_use]
    pub fn dialect(&self) -> Option<DialectRef> {
        let on = self.ns2 != Ns2Config::default();
        on.then(|| DialectRef::new(self.ns2.clone()))
    }
}

/// The name of the group with the module's rules.
const GROUP: &str = "ns2";

#[derive(Serialize)]
struct Text<'a> {
    #[serde(flatten)]
    core: &'a Config,
    ns2: &'a Ns2Config,
}

impl Serialize for Settings {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Text {
            core: &self.core,
            ns2: &self.ns2,
        }
        .serialize(to)
    }
}

impl<'de> Deserialize<'de> for Settings {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Settings, D::Error> {
        let mut all = Value::deserialize(from)?;
        let ns2 = match &mut all {
            Value::Object(map) => map.remove(GROUP),
            _ => None,
        };
        Ok(Settings {
            core: serde_json::from_value(all).map_err(D::Error::custom)?,
            ns2: match ns2 {
                Some(ns2) => serde_json::from_value(ns2).map_err(D::Error::custom)?,
                None => Ns2Config::default(),
            },
        })
    }
}
