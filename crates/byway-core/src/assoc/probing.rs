//! Runs the probing detector of a path (cortes-2008; `policy/probing.rs`).

use super::{Association, Ctx};
use crate::config::ConfigError;
use crate::path::{PathId, PathState, PathTimer, PathTrouble};
use crate::policy::probing::{Evidence, Verdict};
use crate::policy::{Detection, Detector, Doubt};
use crate::time::{Duration, Instant};

/// The shortest time between two calls of a user's detector for a path.
const LEAST_PACE: Duration = Duration::from_millis(1);

impl Association {
    /// The detector of a path.
    pub(super) fn detector(&self, path: PathId) -> &dyn Detector {
        self.cfg.detector(self.paths.get(path).detector.rule())
    }

    fn verdict(&self, ctx: &Ctx<'_>, path: PathId, since: Instant) -> Option<Verdict> {
        let now = ctx.now;
        let doubt = Doubt { path, since, now };
        self.detector(path).verdict(&self.paths.view(), doubt)
    }

    /// The detector begins to probe a path, at its first timeout.
    pub(super) fn begin_probing(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let p = self.paths.get(path);
        let new = !p.detector.is_probing() && p.state() != PathState::Inactive;
        if new && self.verdict(ctx, path, ctx.now).is_some() {
            self.paths.get_mut(path).detector.begin_probing(ctx.now);
            self.on_detector_probe(ctx, path);
        }
    }

    /// Sends another probe, or makes the path inactive.
    pub(super) fn on_detector_probe(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let p = self.paths.get_mut(path);
        p.timers.set(PathTimer::DetectorProbe, None);
        let Some(since) = p.detector.probing_since() else {
            return;
        };
        match self.verdict(ctx, path, since) {
            None => self.end_probing(ctx, path),
            Some(Verdict::Probe(next)) => {
                let next = match self.cfg.custom.detection {
                    Some(_) => next.max(ctx.now + LEAST_PACE),
                    None => next,
                };
                let p = self.paths.get_mut(path);
                p.timers.set(PathTimer::DetectorProbe, Some(next));
                self.paths.want_heartbeat(path, true);
            }
            Some(Verdict::Failed) => {
                self.paths.get_mut(path).end_probing();
                self.blame(path, PathTrouble::Detected);
                self.set_path_state(ctx, path, PathState::Inactive);
                self.schedule_heartbeat(ctx, path);
                self.choose_data_path(ctx, Some(path));
            }
        }
    }

    /// A SACK acknowledged new data. `of_path`: some of this data clears the error counter
    /// of the path.
    pub(super) fn tell_detector_of_data(&mut self, ctx: &mut Ctx<'_>, path: PathId, of_path: bool) {
        if self.paths.get(path).detector.is_probing() {
            let what = if of_path {
                Evidence::PathData
            } else {
                Evidence::AnyData
            };
            self.tell_detector(ctx, path, what);
        }
    }

    /// Something was acknowledged. If the detector accepts this as an answer, the
    /// probing ends and ordinary heartbeats continue.
    pub(super) fn tell_detector(&mut self, ctx: &mut Ctx<'_>, path: PathId, what: Evidence) {
        if self.paths.get(path).detector.is_probing() && self.detector(path).accepts(what) {
            self.end_probing(ctx, path);
        }
    }

    fn end_probing(&mut self, ctx: &mut Ctx<'_>, path: PathId) {
        let p = self.paths.get_mut(path);
        p.timers.set(PathTimer::DetectorProbe, None);
        // An unanswered heartbeat of the detector is not counted.
        p.timers.set(PathTimer::HeartbeatLost, None);
        p.end_probing();
        if p.timers.get(PathTimer::Heartbeat).is_none() && !self.paths.wants_heartbeat(path) {
            self.schedule_heartbeat(ctx, path);
        }
    }

    /// The user chooses the detector of one path.
    pub(crate) fn set_detection(
        &mut self,
        ctx: &mut Ctx<'_>,
        path: PathId,
        detection: Detection,
    ) -> Result<(), crate::api::CommandError> {
        self.check_path(path)?;
        detection.check()?;
        if let Some(custom) = &self.cfg.custom.detection {
            Err(ConfigError {
                field: "custom.detection",
                value: format!("{custom:?}"),
                problem: "watches all paths; leave it out to choose for one".to_owned(),
            })?;
        }
        let p = self.paths.get_mut(path);
        p.detector.set_rule(detection, detection.reserved());
        if detection == Detection::ErrorCount && p.detector.is_probing() {
            self.end_probing(ctx, path);
        }
        Ok(())
    }
}
