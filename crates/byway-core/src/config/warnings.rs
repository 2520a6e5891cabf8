//! Warnings about settings that are valid but contradict each other.

use super::{Config, ConfigError, Coupling, FailedProbes, PfClear, PrimarySwitch};
use crate::policy::{Detection, scheme::Scheme};
use crate::units::format_duration as d;

impl Config {
    /// Settings that are valid but do not have the effect that they name. Each warning
    /// has the field, its value and a better value. [`Config::check`] refuses invalid
    /// settings.
    #[must_use]
    pub fn warnings(&self) -> Vec<ConfigError> {
        let mut found: Vec<ConfigError> = Scheme::of(self).warning().into_iter().collect();
        found.extend(self.hasty_probing());
        found.extend(self.early_primary_switch());
        found.extend(self.coupling_without_cmt());
        found.extend(self.needs_heartbeats());
        found.extend(self.association_before_path());
        found.extend(self.late_sacks());
        found.extend(self.unverified_addresses());
        found.extend(self.early_probe_timeout());
        found
    }

    fn early_primary_switch(&self) -> Option<ConfigError> {
        let PrimarySwitch::Cpt(n) = self.failover.primary_switch else {
            return None;
        };
        warn(
            n < self.failure.path_max_retrans,
            "failover.primary_switch",
            format!("Cpt({n})"),
            "is below failure.path_max_retrans, and counts the errors that caused the \
             failover: it acts as CPT = PMR; raise it, or count heartbeats lost after the \
             failover with CptHeartbeats (caro-2006 section IV)",
        )
    }

    fn coupling_without_cmt(&self) -> Option<ConfigError> {
        warn(
            self.congestion.coupled != Coupling::Off && self.concurrent.is_none(),
            "congestion.coupled",
            format!("{:?}", self.congestion.coupled),
            "couples the windows of paths that carry data at once, and without `concurrent` only one \
             does: set concurrent = \"on\", or coupled = Off",
        )
    }

    /// Mechanisms that depend on heartbeats, while heartbeats are off.
    fn needs_heartbeats(&self) -> Vec<ConfigError> {
        let failover = &self.failover;
        let counts = matches!(failover.primary_switch, PrimarySwitch::CptHeartbeats(_));
        let pf = failover.potentially_failed.as_ref();
        let cleared = pf.is_some_and(|pf| pf.clear == PfClear::HeartbeatAck);
        let silent = !self.hb.enabled;
        let dependent = [
            (
                counts,
                "failover.primary_switch counts lost heartbeats, and none are sent; switch them on, \
                 or use Cpt",
            ),
            (
                self.hb.failed == FailedProbes::OncePerRto,
                "hb.failed = OncePerRto probes failed paths, and no heartbeats are sent; switch them on",
            ),
            (
                cleared,
                "a potentially failed path comes back by a HEARTBEAT ACK alone, and no heartbeats are \
                 sent; switch them on, or set failover.potentially_failed.clear to Rfc7829",
            ),
        ];
        let warnings = dependent.into_iter().filter_map(|(used, problem)| {
            warn(silent && used, "hb.enabled", "false".to_owned(), problem)
        });
        warnings.collect()
    }

    fn association_before_path(&self) -> Option<ConfigError> {
        let f = &self.failure;
        warn(
            f.association_max_retrans < f.path_max_retrans,
            "failure.association_max_retrans",
            f.association_max_retrans.to_string(),
            "is below failure.path_max_retrans, so the association may end before a path fails; \
             raise it (RFC 9260: 10 and 5)",
        )
    }

    fn late_sacks(&self) -> Option<ConfigError> {
        warn(
            self.sack.delay >= self.rto.min,
            "sack.delay",
            d(self.sack.delay),
            "is not below rto.min, so a single delayed SACK may come after the peer's timer; \
             lower it or raise rto.min",
        )
    }

    fn unverified_addresses(&self) -> Option<ConfigError> {
        warn(
            !self.setup.verify_addresses,
            "setup.verify_addresses",
            "false".to_owned(),
            "believes every address that a peer names, so that a stranger can have data sent to a \
             third party; leave it on but in simulations of RFC 2960 (RFC 9260 section 5.4)",
        )
    }

    fn early_probe_timeout(&self) -> Option<ConfigError> {
        let probe = self.failover.probe_timeout.as_ref()?;
        warn(
            probe.ack_delay < self.sack.delay,
            "failover.probe_timeout.ack_delay",
            d(probe.ack_delay),
            "is below sack.delay, so a peer with these settings is suspected while it delays \
             a SACK; at least sack.delay",
        )
    }

    /// Detectors whose probe interval is shorter than a round trip may be.
    fn hasty_probing(&self) -> Vec<ConfigError> {
        let f = &self.failure;
        let of_all = [("failure.detection", String::new(), &f.detection)];
        let own = f.path_detection.iter().enumerate();
        let own = own.map(|(i, d)| ("failure.path_detection", format!("path {}: ", i + 1), d));
        of_all
            .into_iter()
            .chain(own)
            .filter_map(|(field, whose, detection)| match detection {
                Detection::Probing(p) if p.interval() < self.rto.min => Some(ConfigError {
                    field,
                    value: format!("{whose}dmax {} with n {}", d(p.dmax), p.n),
                    problem: "probes every dmax / n, sooner than rto.min, the floor of what a \
                              round trip may take: raise dmax, or lower n or rto.min \
                              (cortes-2008)"
                        .to_owned(),
                }),
                _ => None,
            })
            .collect()
    }
}

/// The warning, if the settings are `wrong`.
fn warn(wrong: bool, field: &'static str, value: String, problem: &str) -> Option<ConfigError> {
    wrong.then(|| ConfigError {
        field,
        value,
        problem: problem.to_owned(),
    })
}
