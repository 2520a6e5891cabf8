//! Computes all times of a question.

use super::frame::{Frame, rto_of};
use super::model::{FailoverTime, Question, QuestionError, SCHEMA};
use super::{advice, mechanisms, words};
use std::time::Duration;

/// The longest round trip that is accepted.
const LONGEST: Duration = Duration::from_secs(3600);

/// Computes all times.
///
/// # Errors
/// Settings, a round trip or an RTO that cannot be.
pub fn failover_time(question: &Question) -> Result<FailoverTime, QuestionError> {
    question.config.check()?;
    // It is the primary that dies, the first of the paths.
    let mut cfg = question.config.clone();
    cfg.failure.detection = cfg.failure.detection_of(0);
    cfg.failure.path_detection.clear();
    let cfg = &cfg;
    let written = byway_lab::units::format_duration;
    if question.rtt.is_zero() || question.rtt > LONGEST {
        return Err(QuestionError::Rtt(written(question.rtt)));
    }
    let rto = question.rto.unwrap_or(rto_of(cfg, question.rtt));
    if rto < cfg.rto.min || rto > cfg.rto.max {
        return Err(QuestionError::Rto {
            rto: written(rto),
            min: written(cfg.rto.min),
            max: written(cfg.rto.max),
        });
    }
    let frame = Frame {
        config: cfg,
        rtt: question.rtt,
        rto,
    };
    let rto_why = match question.rto {
        Some(_) => "as given".to_owned(),
        None => format!(
            "after one sample the RTO is 3 round trips, {}, kept within RTO.Min and RTO.Max",
            words::seconds(question.rtt.saturating_mul(3))
        ),
    };
    Ok(FailoverTime {
        schema: SCHEMA,
        name: question.name.clone(),
        rtt_s: question.rtt.as_secs_f64(),
        rto_s: [cfg.rto.min, rto, cfg.rto.max].map(|d| d.as_secs_f64()),
        rto_why,
        rto_initial_s: cfg.rto.initial.as_secs_f64(),
        together: mechanisms::together(&frame),
        mechanisms: mechanisms::all(&frame),
        advice: advice::advice(&frame),
    })
}
