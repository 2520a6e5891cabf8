//! What follows from the numbers, and what it costs.

use super::frame::{Frame, rto_of};
use super::model::Case;
use super::timeline::{course, pause, suspicion};
use super::words::seconds;
use byway_core::Config;
use byway_core::config::PfConfig;
use byway_lab::units::format_duration;
use std::time::Duration;

/// What is wished for: the stall that advice aims at.
const WISH: Duration = Duration::from_secs(1);

/// Sentences, each of which follows from the numbers.
pub(super) fn advice(frame: &Frame<'_>) -> Vec<String> {
    let mut out = Vec::new();
    out.extend(leave_soon(frame));
    out.extend(suspect_first(frame));
    out.extend(early_timeouts(frame));
    out.extend(bound_the_worst(frame));
    out.extend(heartbeats_off(frame));
    if out.is_empty() {
        out.push("Nothing: these settings leave a dead path within 1 s.".to_owned());
    }
    out
}

/// The longest that the acknowledgement of a lone packet may take.
fn late_sack(frame: &Frame<'_>) -> Duration {
    frame.rtt.saturating_add(frame.config.sack.delay)
}

/// `d` rounded up to hundredths of a second.
fn rounded_up(d: Duration) -> Duration {
    let ms = u64::try_from(d.as_millis()).unwrap_or(u64::MAX / 2);
    let ms = if d.subsec_nanos().is_multiple_of(1_000_000) {
        ms
    } else {
        ms + 1
    };
    Duration::from_millis(ms.div_ceil(10).saturating_mul(10))
}

/// The typical pause under `cfg` when the RTO is `rto`.
fn typical_pause(frame: &Frame<'_>, cfg: &Config, rto: Duration) -> Duration {
    let mut luck = frame.luck(Case::Typical);
    luck.rto = rto;
    pause(cfg, &course(cfg, luck), frame.way()).total()
}

fn with_suspicion(cfg: &Config) -> Config {
    let mut cfg = cfg.clone();
    cfg.failover.potentially_failed = Some(PfConfig {
        max_retrans: 0,
        ..cfg.failover.potentially_failed.unwrap_or_default()
    });
    cfg
}

/// The smallest RTO.Min that lone packets survive, if it fulfils the wish.
fn leave_soon(frame: &Frame<'_>) -> Option<String> {
    let cfg = frame.config;
    if typical_pause(frame, cfg, frame.rto) <= WISH {
        return None;
    }
    let min = rounded_up(late_sack(frame));
    let mut quick = with_suspicion(cfg);
    quick.rto.min = min;
    quick.check().ok()?;
    let rto = rto_of(&quick, frame.rtt);
    let stall = typical_pause(frame, &quick, rto);
    if stall > WISH {
        return Some(format!(
            "With a round trip of {} and SACKs delayed by up to {}, no RTO.Min that spares \
             late acknowledgements keeps the stall within 1 s ({} would take {}).",
            seconds(frame.rtt),
            seconds(cfg.sack.delay),
            format_duration(min),
            seconds(stall)
        ));
    }
    let pf = match suspicion(cfg) {
        Some(0) => "keep potentially failed on",
        _ if pmr_is_zero(cfg) => "leave PMR at 0",
        _ => "turn potentially failed on",
    };
    let set = if suspicion(cfg) == Some(0) || pmr_is_zero(cfg) {
        String::new()
    } else {
        " --set failover.potentially_failed=on".to_owned()
    };
    Some(format!(
        "To leave within 1 s, lower RTO.Min and {pf}: --set rto.min={}{set} gives an RTO of \
         {} and a typical stall of {}. It leaves a round trip ({}) and a delayed SACK ({}) \
         room. The price: an acknowledgement that only comes later than the RTO \
         counts as a loss and moves the data.",
        compact(min),
        seconds(rto),
        seconds(stall),
        seconds(frame.rtt),
        seconds(cfg.sack.delay)
    ))
}

fn pmr_is_zero(cfg: &Config) -> bool {
    cfg.failure.path_max_retrans == 0
}

/// "300ms", as `--set` takes it without quotes.
fn compact(d: Duration) -> String {
    format_duration(d).replace(' ', "")
}

/// What the potentially failed state alone would gain.
fn suspect_first(frame: &Frame<'_>) -> Option<String> {
    let cfg = frame.config;
    if suspicion(cfg) == Some(0) || pmr_is_zero(cfg) {
        return None;
    }
    let now = typical_pause(frame, cfg, frame.rto);
    let then = typical_pause(frame, &with_suspicion(cfg), frame.rto);
    (then < now).then(|| {
        format!(
            "Potentially failed with PFMR 0 alone (--set failover.potentially_failed=on) \
             shortens the typical stall from {} to {}, with the same timers. The price: \
             any single timeout moves the data; a heartbeat's answer, one round trip \
             ({}) later, brings it back.",
            seconds(now),
            seconds(then),
            seconds(frame.rtt)
        )
    })
}

/// A timeout before a delayed SACK can come.
fn early_timeouts(frame: &Frame<'_>) -> Option<String> {
    let (late, cfg) = (late_sack(frame), frame.config);
    (frame.rto < late).then(|| {
        format!(
            "The typical RTO ({}) is shorter than a round trip plus a delayed SACK ({} + {} \
             = {}): a lone packet may time out although it arrived. Raise rto.min to {}, or \
             lower sack.delay on the other side.",
            seconds(frame.rto),
            seconds(frame.rtt),
            seconds(cfg.sack.delay),
            seconds(late),
            compact(rounded_up(late))
        )
    })
}

/// What RTO.Max does to the worst case.
fn bound_the_worst(frame: &Frame<'_>) -> Option<String> {
    let cfg = frame.config;
    let mut lower = cfg.clone();
    lower.rto.max = Duration::from_secs(10);
    if cfg.rto.max <= lower.rto.max || lower.check().is_err() {
        return None;
    }
    let worst = |cfg: &Config| {
        let mut luck = frame.luck(Case::Worst);
        luck.rto = cfg.rto.max;
        let course = course(cfg, luck);
        let pause = pause(cfg, &course, frame.way()).total();
        Some((course.inactive?.total(), pause))
    };
    let ((inactive, pause), (sooner, shorter)) = (worst(cfg)?, worst(&lower)?);
    Some(format!(
        "The worst case comes from RTO.Max ({}): the path is inactive after {}. With --set \
         rto.max=10s it is after {}, and the longest pause is {} instead of {}. The price: the \
         back-off ends there, so a jammed path is tried every 10 s at least.",
        seconds(cfg.rto.max),
        seconds(inactive),
        seconds(sooner),
        seconds(shorter),
        seconds(pause)
    ))
}

/// Suspicion that nothing can end.
fn heartbeats_off(frame: &Frame<'_>) -> Option<String> {
    let cfg = frame.config;
    (!cfg.hb.enabled && suspicion(cfg).is_some()).then(|| {
        "Heartbeats are off: nothing tests a suspect path, so it neither becomes inactive \
         nor returns while the other path works (--set hb.enabled=true)."
            .to_owned()
    })
}
