//! Retransmission schemes by name (caro-2004 section II.C).
//!
//! A scheme is a retransmission policy with algorithms that help it, such as
//! `FrSameRtoAlt+MFR+HAR`. The paper compares ten schemes and says which policies each
//! algorithm helps. MFR with TS, which the paper leaves out, is also possible. A
//! combination that does not help is refused with the reason, unless the name contains
//! `forced`. The default is `FrSameRtoAlt` without an algorithm, as in RFC 9260.

use super::{AfterRto, FastRetransmits, RetransmitTarget};
use crate::config::{Config, ConfigError};
use core::fmt;
use core::str::FromStr;

/// A policy and its algorithms.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Default)]
pub struct Scheme {
    /// Which path takes a retransmission.
    pub target: RetransmitTarget,
    /// Multiple Fast Retransmit.
    pub mfr: bool,
    /// Heartbeat After RTO.
    pub har: bool,
    /// Timestamps.
    pub ts: bool,
}

/// Why a name is not a scheme.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadScheme {
    /// The name contains an unknown word.
    #[error(
        "\"{0}\" is no part of a scheme; write AllRtxSame, AllRtxAlt or FrSameRtoAlt, then +MFR, \
         +HAR or +TS, such as FrSameRtoAlt+MFR+HAR"
    )]
    Unknown(String),
    /// The name contains an algorithm twice.
    #[error("+{0} stands twice; once is enough")]
    Twice(&'static str),
    /// The algorithm does not help the policy.
    #[error("{0}; write {1}+forced to have it all the same")]
    Senseless(&'static str, Scheme),
}

const FORCED: &str = "forced";

impl Scheme {
    /// The ten schemes of caro-2004 section II.C, in its order.
    pub const PAPER: [&str; 10] = [
        "AllRtxAlt",
        "AllRtxAlt+HAR",
        "AllRtxAlt+TS",
        "AllRtxSame",
        "AllRtxSame+MFR",
        "FrSameRtoAlt",
        "FrSameRtoAlt+HAR",
        "FrSameRtoAlt+TS",
        "FrSameRtoAlt+MFR",
        "FrSameRtoAlt+MFR+HAR",
    ];

    /// Why an algorithm does not help the policy (caro-2004 section II.B); `None` if all
    /// help.
    #[must_use]
    pub fn senseless(self) -> Option<&'static str> {
        match self.target {
            RetransmitTarget::AllRtxSame if self.har => Some(
                "HAR measures alternates after timeouts, and AllRtxSame sends nothing there \
                 (caro-2004 section II.B)",
            ),
            RetransmitTarget::AllRtxSame if self.ts => Some(
                "TS measures retransmissions on alternates, and AllRtxSame sends none there: 12 \
                 bytes a packet for little (caro-2004 section II.B)",
            ),
            RetransmitTarget::AllRtxAlt if self.mfr => Some(
                "MFR takes a slower alternate's delay for loss, so with AllRtxAlt it repeats \
                 needlessly (caro-2004 section II.B)",
            ),
            _ => None,
        }
    }

    /// The scheme that these settings make.
    #[must_use]
    pub fn of(cfg: &Config) -> Scheme {
        let r = &cfg.retransmission;
        Scheme {
            target: r.target,
            mfr: r.fast_retransmits == FastRetransmits::Multiple,
            har: r.after_rto == AfterRto::Heartbeat,
            ts: cfg.rto.timestamps,
        }
    }

    /// Sets the settings that make this scheme: `retransmission.target`,
    /// `retransmission.fast_retransmits`, `retransmission.after_rto` and
    /// `rto.timestamps`.
    pub fn apply(self, cfg: &mut Config) {
        let r = &mut cfg.retransmission;
        r.target = self.target;
        r.fast_retransmits = if self.mfr {
            FastRetransmits::Multiple
        } else {
            FastRetransmits::Once
        };
        r.after_rto = if self.har {
            AfterRto::Heartbeat
        } else {
            AfterRto::Nothing
        };
        cfg.rto.timestamps = self.ts;
    }

    pub(crate) fn warning(self) -> Option<ConfigError> {
        self.senseless().map(|why| ConfigError {
            field: "retransmission.scheme",
            value: self.to_string(),
            problem: why.to_owned(),
        })
    }
}

impl FromStr for Scheme {
    type Err = BadScheme;

    fn from_str(name: &str) -> Result<Scheme, BadScheme> {
        let mut words = name.split('+').map(str::trim);
        let first = words.next().unwrap_or_default();
        let target = match first {
            "AllRtxSame" => RetransmitTarget::AllRtxSame,
            "AllRtxAlt" => RetransmitTarget::AllRtxAlt,
            "FrSameRtoAlt" => RetransmitTarget::FrSameRtoAlt,
            other => return Err(BadScheme::Unknown(other.to_owned())),
        };
        let mut scheme = Scheme {
            target,
            ..Scheme::default()
        };
        let mut forced = false;
        for word in words {
            let (part, word) = match word {
                "MFR" => (&mut scheme.mfr, "MFR"),
                "HAR" => (&mut scheme.har, "HAR"),
                "TS" => (&mut scheme.ts, "TS"),
                FORCED => (&mut forced, FORCED),
                other => return Err(BadScheme::Unknown(other.to_owned())),
            };
            if core::mem::replace(part, true) {
                return Err(BadScheme::Twice(word));
            }
        }
        match scheme.senseless() {
            Some(why) if !forced => Err(BadScheme::Senseless(why, scheme)),
            _ => Ok(scheme),
        }
    }
}

impl fmt::Display for Scheme {
    /// The name of the scheme, without `+forced`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.target)?;
        for (on, name) in [(self.mfr, "MFR"), (self.har, "HAR"), (self.ts, "TS")] {
            if on {
                write!(f, "+{name}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_ten_and_mfr_with_ts_are_read_and_written_alike() {
        let more = [
            "FrSameRtoAlt+MFR+TS",
            "AllRtxAlt+HAR+TS",
            "FrSameRtoAlt+MFR+HAR+TS",
        ];
        for name in Scheme::PAPER.into_iter().chain(more) {
            let scheme: Scheme = name.parse().unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(scheme.to_string(), name);
            let mut c = Config::default();
            scheme.apply(&mut c);
            assert_eq!(Scheme::of(&c), scheme);
            assert!(c.warnings().is_empty(), "{name}");
        }
    }

    #[test]
    fn what_does_not_serve_is_refused_with_a_reason_unless_forced() {
        let rows = [
            ("AllRtxSame+HAR", "HAR measures alternates"),
            ("AllRtxSame+TS", "TS measures retransmissions"),
            ("AllRtxSame+MFR+HAR", "HAR measures alternates"),
            (
                "AllRtxAlt+MFR",
                "MFR takes a slower alternate's delay for loss",
            ),
            ("AllRtxAlt+MFR+TS", "MFR takes"),
        ];
        for (name, expected) in rows {
            let e = name.parse::<Scheme>().map_err(|e| e.to_string());
            assert!(
                e.as_ref().is_err_and(|e| e.starts_with(expected)),
                "{name}: {e:?}"
            );
            let forced: Scheme = format!("{name}+forced").parse().expect("it is forced");
            assert_eq!(forced.to_string(), name);
            let mut c = Config::default();
            forced.apply(&mut c);
            assert_eq!(c.warnings().len(), 1, "{name}");
        }
    }

    #[test]
    fn what_is_no_scheme_is_named() {
        for (name, expected) in [
            ("", "\"\" is no part of a scheme"),
            ("FrSameRtoAlt+mfr", "\"mfr\" is no part"),
            ("MFR+AllRtxSame", "\"MFR\" is no part"),
            ("AllRtxAlt+HAR+HAR", "+HAR stands twice"),
        ] {
            let e = name.parse::<Scheme>().map_err(|e| e.to_string());
            assert!(
                e.as_ref().is_err_and(|e| e.starts_with(expected)),
                "{name}: {e:?}"
            );
        }
    }
}
