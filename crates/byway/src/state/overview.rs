//! What is told of the associations to displays.

use super::State;
use super::entry::{Entry, LatestEvent};
use crate::overview::{Latest, Overview};
use byway_core::time::Instant;
use byway_core::{AssocId, Event, PathId};
use std::ops::Bound;

impl State {
    /// The associations after `after` that have not ended, at most so many.
    pub(crate) fn overview(
        &self,
        now: Instant,
        after: Option<AssocId>,
        most: usize,
    ) -> Vec<Overview> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let alive = self.entries.range((from, Bound::Unbounded));
        let alive = alive.filter(|(_, entry)| entry.closed.is_none());
        let each = alive.filter_map(|(id, entry)| self.overview_of(now, *id, entry));
        each.take(most).collect()
    }

    fn overview_of(&self, now: Instant, id: AssocId, entry: &Entry) -> Option<Overview> {
        Some(Overview {
            id,
            state: self.core.state_name(id)?,
            stats: self.core.stats(id)?,
            paths: self.core.paths(id),
            latest: entry.latest.as_ref().map(|latest| Latest {
                ago: now.since(latest.at),
                event: latest.event.clone(),
                trouble: latest.trouble,
            }),
        })
    }

    /// An event, for displays: it is there whoever reads the events.
    pub(super) fn note_latest(&self, now: Instant, id: AssocId, event: &Event) -> LatestEvent {
        let about = match event {
            Event::PathChanged { path, .. } | Event::PathDeadForData { path, .. } => Some(*path),
            Event::DataPathChanged { from, .. } | Event::PrimaryChanged { from, .. } => Some(*from),
            _ => None,
        };
        let trouble = |path: PathId| self.core.path_stats(id, path)?.trouble;
        LatestEvent {
            at: now,
            event: event.clone(),
            trouble: about.and_then(trouble),
        }
    }
}
