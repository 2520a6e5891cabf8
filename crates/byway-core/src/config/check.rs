//! Checks for invalid settings. Each error names a valid value.

use super::{Config, ConfigError, CongestionAlgorithm, Coupling, InitialCwnd, PrimarySwitch};
use crate::policy::{Choice, Detection};
use crate::units::format_duration as d;
use core::time::Duration;

/// Refuses `value` of `field` unless `ok`.
fn rule(
    ok: bool,
    field: &'static str,
    value: impl ToString,
    problem: &str,
) -> Result<(), ConfigError> {
    if ok {
        Ok(())
    } else {
        Err(ConfigError {
            field,
            value: value.to_string(),
            problem: problem.to_owned(),
        })
    }
}

impl Detection {
    /// Refuses invalid settings.
    ///
    /// # Errors
    /// Names `failure.detection` with its numbers and a valid value.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_as("failure.detection", "")
    }

    fn check_as(&self, field: &'static str, whose: &str) -> Result<(), ConfigError> {
        let Detection::Probing(p) = self else {
            return Ok(());
        };
        rule(
            (1..=1000).contains(&p.n) && p.interval() >= Duration::from_millis(1),
            field,
            format!("{whose}dmax {} with n {}", d(p.dmax), p.n),
            "n must be 1 to 1000 and dmax / n at least 1 ms (cortes-2008: 10 s and 10)",
        )
    }
}

impl Config {
    /// Refuses invalid settings.
    ///
    /// # Errors
    /// Names the first invalid field, with its value and a valid value.
    pub fn check(&self) -> Result<(), ConfigError> {
        self.check_rto()?;
        self.check_acknowledgements()?;
        self.check_buffers()?;
        self.check_setup()?;
        self.check_congestion()?;
        self.check_concurrent()?;
        self.check_estimate()?;
        self.check_mtu_discovery()?;
        self.check_address_changes()?;
        self.check_failover()
    }

    fn check_address_changes(&self) -> Result<(), ConfigError> {
        rule(
            self.auth.enabled || !self.asconf.enabled,
            "asconf.enabled",
            true,
            "changes of addresses must be authenticated (RFC 5061 section 4.1.1); set \
             auth.enabled, too",
        )?;
        let keys = &self.auth.keys;
        let repeated = |i: &usize| keys[..*i].iter().any(|k| k.id() == keys[*i].id());
        match (0..keys.len()).find(repeated) {
            Some(i) => rule(
                false,
                "auth.keys",
                keys[i].id(),
                "two keys have this identifier; give each key its own",
            ),
            None => Ok(()),
        }
    }

    fn check_mtu_discovery(&self) -> Result<(), ConfigError> {
        let Some(discovery) = &self.mtu_discovery else {
            return Ok(());
        };
        let (min, base) = (discovery.min, discovery.base);
        rule(
            min >= 512,
            "mtu_discovery.min",
            min,
            "must be at least 512 bytes (576)",
        )?;
        rule(
            base >= min,
            "mtu_discovery.base",
            base,
            "must be at least mtu_discovery.min (1200)",
        )
    }

    fn check_estimate(&self) -> Result<(), ConfigError> {
        let Some(e) = &self.failover.estimate else {
            return Ok(());
        };
        rule(
            e.factor >= 1.0 && e.factor.is_finite(),
            "failover.estimate.factor",
            e.factor,
            "must be at least 1, or a worse path would be chosen (1.2)",
        )?;
        rule(
            (0.0..=10.0).contains(&e.deviations),
            "failover.estimate.deviations",
            e.deviations,
            "must be 0 to 10 (2)",
        )?;
        rule(
            (0.0..=1.0).contains(&e.probe_share),
            "failover.estimate.probe_share",
            e.probe_share,
            "must be 0 to 1, bytes of probes for each byte of data (0.01)",
        )?;
        rule(
            (1..=1000).contains(&e.probes_per_second),
            "failover.estimate.probes_per_second",
            e.probes_per_second,
            "must be 1 to 1000 (10); for none, set probe_share to 0",
        )?;
        rule(
            e.memory >= e.min_samples && e.memory >= 10,
            "failover.estimate.memory",
            e.memory,
            "must be at least 10 and at least min_samples, which could never be reached (5000)",
        )?;
        rule(
            e.choice != Choice::PermanentFailover
                || self.failover.primary_switch != PrimarySwitch::Never,
            "failover.estimate.choice",
            "PermanentFailover",
            "has nothing to judge, as failover.primary_switch is Never; set that to Cpt(0), or \
             choose Best",
        )
    }

    fn check_rto(&self) -> Result<(), ConfigError> {
        let rto = &self.rto;
        rule(
            !rto.min.is_zero(),
            "rto.min",
            d(rto.min),
            "a timeout of zero would resend for ever; at least 1 ms",
        )?;
        rule(
            rto.min <= rto.max,
            "rto.min",
            d(rto.min),
            "is above rto.max; lower it or raise rto.max",
        )?;
        rule(
            rto.min <= rto.initial && rto.initial <= rto.max,
            "rto.initial",
            d(rto.initial),
            "lies outside of rto.min to rto.max",
        )?;
        let unit = |x: f64| x > 0.0 && x <= 1.0;
        let right = |rfc| format!("must be above 0 and at most 1 (RFC 9260: {rfc})");
        rule(unit(rto.alpha), "rto.alpha", rto.alpha, &right(0.125))?;
        rule(unit(rto.beta), "rto.beta", rto.beta, &right(0.25))
    }

    fn check_acknowledgements(&self) -> Result<(), ConfigError> {
        rule(
            self.sack.delay <= Duration::from_millis(500),
            "sack.delay",
            d(self.sack.delay),
            "RFC 9260 section 6.2 allows at most 500 ms",
        )?;
        rule(
            self.sack.every >= 1,
            "sack.every",
            self.sack.every,
            "must be at least 1 (RFC 9260: 2)",
        )
    }

    fn check_buffers(&self) -> Result<(), ConfigError> {
        let b = &self.buffer;
        rule(
            (512..=65_535).contains(&self.pmtu.0),
            "pmtu",
            self.pmtu.0,
            "must be 512 to 65535 bytes",
        )?;
        rule(
            b.receive >= 1500,
            "buffer.receive",
            b.receive,
            "RFC 9260 section 3.3.2 asks for at least 1500 bytes",
        )?;
        rule(
            (1..=1 << 30).contains(&b.max_message),
            "buffer.max_message",
            b.max_message,
            "must be 1 byte to 1 GiB",
        )?;
        rule(
            b.send > 0,
            "buffer.send",
            b.send,
            "nothing could ever be sent; at least one message's size",
        )?;
        rule(
            b.window_update_share > 0,
            "buffer.window_update_share",
            b.window_update_share,
            "must be at least 1",
        )
    }

    fn check_setup(&self) -> Result<(), ConfigError> {
        let s = &self.setup;
        let least = "must be at least 1";
        rule(
            s.outbound_streams > 0,
            "setup.outbound_streams",
            s.outbound_streams,
            least,
        )?;
        rule(
            s.max_inbound_streams > 0,
            "setup.max_inbound_streams",
            s.max_inbound_streams,
            least,
        )?;
        rule(
            s.min_init_len <= 400,
            "setup.min_init_len",
            s.min_init_len,
            "must be at most 400 bytes, so that the INIT fits every path (0, 160)",
        )?;
        rule(
            (1..=8).contains(&s.max_paths),
            "setup.max_paths",
            s.max_paths,
            "must be 1 to 8",
        )
    }

    fn check_congestion(&self) -> Result<(), ConfigError> {
        let c = &self.congestion;
        let plain = c.algorithm == CongestionAlgorithm::Rfc9260;
        rule(
            plain || c.coupled == Coupling::Off,
            "congestion.coupled",
            format!("{:?}", c.coupled),
            "shares the growth that RFC 9260 gives (RFC 6356 section 3); set \
             congestion.algorithm to Rfc9260, or coupled to Off",
        )?;
        if let Some(p) = &c.pacing {
            let least = p.slow_start.min(p.avoidance);
            rule(
                (1.0..=100.0).contains(&least) && p.slow_start <= 100.0 && p.avoidance <= 100.0,
                "congestion.pacing",
                format!("{} and {}", p.slow_start, p.avoidance),
                "slow_start and avoidance must be 1 to 100 (2 and 1.25): below 1 the window \
                 would never be used",
            )?;
            rule(
                p.burst >= 1,
                "congestion.pacing.burst",
                p.burst,
                "must be at least 1 (10)",
            )?;
        }
        rule(
            c.fast_retransmit_threshold > 0,
            "congestion.fast_retransmit_threshold",
            c.fast_retransmit_threshold,
            "must be at least 1 (RFC 9260: 3)",
        )?;
        rule(
            c.ssthresh_floor > 0,
            "congestion.ssthresh_floor",
            c.ssthresh_floor,
            "must be at least 1 (RFC 9260: 4)",
        )?;
        rule(
            c.initial_cwnd != InitialCwnd::Pmdcs(0),
            "congestion.initial_cwnd",
            0,
            "nothing could ever be sent; at least 1",
        )?;
        rule(
            c.max_burst != Some(0),
            "congestion.max_burst",
            0,
            "nothing could ever be sent; at least 1, or leave it out for no limit",
        )
    }

    fn check_concurrent(&self) -> Result<(), ConfigError> {
        rule(
            self.concurrent.is_none() || self.setup.max_paths > 1,
            "setup.max_paths",
            self.setup.max_paths,
            "concurrent multipath transfer needs at least 2 paths; raise it or switch \
             concurrent off",
        )
    }

    fn check_path_detection(&self) -> Result<(), ConfigError> {
        let own = &self.failure.path_detection;
        rule(
            own.len() <= usize::from(self.setup.max_paths),
            "failure.path_detection",
            format!("a list of {}", own.len()),
            &format!(
                "an association has at most setup.max_paths = {} paths; name that many, or fewer: \
                 the rest have failure.detection",
                self.setup.max_paths
            ),
        )?;
        own.iter().enumerate().try_for_each(|(i, detection)| {
            detection.check_as("failure.path_detection", &format!("path {}: ", i + 1))
        })
    }

    fn check_trial(&self) -> Result<(), ConfigError> {
        let Some(t) = &self.failover.trial else {
            return Ok(());
        };
        rule(
            t.loss > 0.0 && t.loss < 1.0,
            "failover.trial.loss",
            t.loss,
            "must be above 0 and below 1 (0.03)",
        )?;
        rule(
            (1.0..=100.0).contains(&t.factor),
            "failover.trial.factor",
            t.factor,
            "must be 1 to 100 (1.25): below 1 a worse path would be chosen",
        )?;
        rule(
            t.rounds >= 2,
            "failover.trial.rounds",
            t.rounds,
            "must be at least 2 (10): the second half is measured",
        )
    }

    fn check_failover(&self) -> Result<(), ConfigError> {
        let pmr = self.failure.path_max_retrans;
        self.failure.detection.check()?;
        self.check_path_detection()?;
        if let Some(dead) = &self.failure.dead_data {
            rule(
                dead.timeouts >= 1,
                "failure.dead_data.timeouts",
                dead.timeouts,
                "must be at least 1 (3); with 1 any timeout of a path that answers counts",
            )?;
            rule(
                dead.give_up >= self.rto.min,
                "failure.dead_data.give_up",
                d(dead.give_up),
                "is below rto.min, so the first timeout might end the association (2 min)",
            )?;
        }
        if let Some(probe) = &self.failover.probe_timeout {
            rule(
                (1..=8).contains(&probe.heartbeats),
                "failover.probe_timeout.heartbeats",
                probe.heartbeats,
                "must be 1 to 8 (1)",
            )?;
        }
        self.check_trial()?;
        let Some(pf) = &self.failover.potentially_failed else {
            if let PrimarySwitch::Psmr(n) = self.failover.primary_switch {
                rule(
                    n >= pmr,
                    "failover.primary_switch",
                    n,
                    "must be at least failure.path_max_retrans where there is no potentially \
                     failed state (RFC 7829 section 5)",
                )?;
            }
            return Ok(());
        };
        rule(
            pf.max_retrans <= pmr,
            "failover.potentially_failed.max_retrans",
            pf.max_retrans,
            "is above failure.path_max_retrans, so a path would be inactive before it is \
             suspect (RFC 7829 section 3.1)",
        )?;
        if let PrimarySwitch::Psmr(n) = self.failover.primary_switch {
            rule(
                n >= pf.max_retrans,
                "failover.primary_switch",
                n,
                "must be at least failover.potentially_failed.max_retrans (RFC 7829 section 5)",
            )?;
        }
        Ok(())
    }
}
