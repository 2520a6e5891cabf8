//! What happened to an association, and why, in a line.

use crate::net::address::shown as address;
use byway::text::shown;
use byway::{Event, PathId, PathState, PathStats, PathTrouble};

/// An event of an association with these paths. `trouble`: why the path was in doubt that it is
/// about.
pub(super) fn event(event: &Event, trouble: Option<PathTrouble>, paths: &[PathStats]) -> String {
    let because = |otherwise: &str| match trouble {
        Some(why) => format!(": {why}"),
        None => otherwise.to_owned(),
    };
    let name = |path: PathId| {
        let path = paths.iter().find(|p| p.path == path);
        path.map_or("a path that is gone".to_owned(), |p| address(p.remote))
    };
    match event {
        Event::Up { accepted: true, .. } => "the other side set it up".to_owned(),
        Event::Up { .. } => "it was set up".to_owned(),
        Event::Restarted {
            undelivered_messages,
        } => format!("the other side restarted; {undelivered_messages} messages are lost"),
        Event::PeerShutdown => "the other side shuts down".to_owned(),
        Event::PathAdded { remote, state, .. } => {
            format!("path {} came, {state}", address(*remote))
        }
        Event::PathMoved { remote, .. } => {
            format!("a path goes to {} now", address(*remote))
        }
        Event::PathRemoved { remote, .. } => format!("path {} went", address(*remote)),
        Event::AddressChanged { what } => format!("the other side accepted {what}"),
        Event::AddressChangeRefused { what, cause } => {
            format!("the other side refused {what} (cause {cause})")
        }
        Event::PathChanged {
            remote, from, to, ..
        } => {
            let answers = match to {
                PathState::Active => ": it answers",
                _ => "",
            };
            let remote = address(*remote);
            format!("path {remote}: {from} -> {to}{}", because(answers))
        }
        Event::PathDeadForData { remote, .. } => {
            format!("path {}: {}", address(*remote), PathTrouble::DeadForData)
        }
        Event::DataPathChanged { from, to } => {
            let primary = paths.iter().any(|p| p.path == *to && p.primary);
            let back = if primary { ": the primary path" } else { "" };
            let (from, to) = (name(*from), name(*to));
            format!("data moved from {from} to {to}{}", because(back))
        }
        Event::PrimaryChanged { to, .. } => format!("{} is the primary path now", name(*to)),
        // The other side's text.
        Event::PeerError { cause } => format!("the other side reported: {}", shown(cause)),
        other => shown(&format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_peer_says_is_one_line_without_controls() {
        let cause = "13: \u{1b}[2J\r\nbyway: all is well".to_owned();
        let text = event(&Event::PeerError { cause }, None, &[]);
        assert!(text.starts_with("the other side reported: 13"), "{text}");
        assert!(!text.contains(|c: char| c.is_control()), "{text}");
    }

    #[test]
    fn a_failure_has_its_cause() {
        let changed = |from, to| Event::PathChanged {
            path: PathId(0),
            remote: "10.0.0.1:9899".parse().unwrap(),
            from,
            to,
        };
        let (active, failed) = (PathState::Active, PathState::PotentiallyFailed);
        assert_eq!(
            event(&changed(active, failed), Some(PathTrouble::T3Rtx), &[]),
            "path 10.0.0.1:9899: active -> potentially failed: T3-rtx expired"
        );
        assert_eq!(
            event(&changed(failed, active), None, &[]),
            "path 10.0.0.1:9899: potentially failed -> active: it answers"
        );
    }
}
