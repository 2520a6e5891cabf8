//! Sessions: what a visitor did is a scenario that the command runs to the same result.

use byway_lab::address;
use byway_lab::run::{RunOptions, run};
use byway_lab::scenario::{BUILT_IN, Scenario};
use byway_web::{CurveKind, MARK_NUMBERS, Motion, Session, catalogue};
use std::path::PathBuf;
use std::time::Duration;

const SHOWN: Duration = Duration::from_millis(500);

fn scenes() -> Vec<(String, String)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../web/scenes");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the scenes")
        .map(|e| e.expect("a file").path())
        .collect();
    files.sort();
    let read = |file: PathBuf| {
        let text = std::fs::read_to_string(&file).expect("a scene");
        (file.display().to_string(), text)
    };
    files.into_iter().map(read).collect()
}

fn until(session: &mut Session, seconds: f64) {
    let target = Duration::from_secs_f64(seconds);
    // In frames, as the page does.
    while session.now() < target && !session.is_over() {
        let next = (session.now() + Duration::from_micros(16_667)).min(target);
        while !session.advance(next, 500, SHOWN).expect("it runs") {}
    }
}

fn to_the_end(session: &mut Session) -> String {
    while !session.is_over() {
        let next = session.now() + Duration::from_secs(10);
        session.advance(next, 10_000, SHOWN).expect("it runs");
    }
    session.json().expect("a result")
}

/// What `byway run SCENE --json` prints.
fn command(text: &str) -> String {
    let scenario = Scenario::parse("scene.toml", text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let comparison = run(&scenario, RunOptions::default()).expect("it runs");
    serde_json::to_string_pretty(&comparison).expect("JSON") + "\n"
}

#[test]
fn every_scene_runs_to_the_result_of_the_command() {
    let scenes = scenes();
    assert_eq!(scenes.len(), 10);
    for (name, text) in scenes {
        let mut session = Session::open(&name, &text).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(to_the_end(&mut session), command(&text), "{name}");
    }
}

/// A lost INIT would let the association begin on the other path, and the stop's text would be wrong.
#[test]
fn every_scene_begins_on_its_first_path() {
    for (name, text) in scenes() {
        let mut session = Session::open(&name, &text).unwrap_or_else(|e| panic!("{e}"));
        until(&mut session, 1.0);
        let lanes = session.view().matches("\"data_path\":0").count();
        assert_eq!(
            lanes,
            session.view().matches("\"association\":").count(),
            "{name}"
        );
        for lane in 0..lanes {
            let sent = session.curve(lane, CurveKind::Sent, 0, 100);
            assert!(sent.len() > 4, "{name}: lane {lane} sent nothing on path 1");
        }
    }
}

#[test]
fn what_a_visitor_does_is_a_scenario_with_the_same_result() {
    let (name, text) = scenes().remove(0);
    let mut session = Session::open(&name, &text).expect("a scene");
    until(&mut session, 1.2345);
    session.set(1, "loss", "2.5 %").expect("a loss");
    session.set(1, "delay", "80 ms").expect("a delay");
    until(&mut session, 2.5);
    session.switch(1, false).expect("a cut");
    until(&mut session, 3.0);
    session.switch(1, true).expect("healed");
    session.switch(0, true).expect("healed");
    session.set(0, "rate", "3 Mbit/s").expect("a rate");
    session.choose(&["byway", "PMR 0"]).expect("policies");
    assert_eq!(session.now(), Duration::from_secs(3));
    session.seed("77").expect("a seed");
    let json = to_the_end(&mut session);
    let text = session.toml();
    assert_eq!(json, command(&text), "{text}");
    assert!(text.contains("1235 ms"), "the next millisecond: {text}");
    // The address has the same scene.
    let address = format!("https://example.org/{}", session.fragment());
    assert_eq!(address::text(&address).as_deref(), Ok(text.as_str()));
    let mut other = Session::open_address(&address).expect("the address");
    assert_eq!(to_the_end(&mut other), json);
}

#[test]
fn a_change_keeps_the_past_and_changes_the_future() {
    let (name, text) = scenes().remove(1);
    let mut session = Session::open(&name, &text).expect("a scene");
    until(&mut session, 2.0);
    let before = session.curve(0, CurveKind::Acked, 0, 4000);
    session.set(0, "rate", "1 Mbit/s").expect("a rate");
    assert!(
        !session
            .advance(Duration::from_secs(2), 10, SHOWN)
            .expect("runs")
    );
    until(&mut session, 2.0);
    while !session
        .advance(Duration::from_secs(2), 500, SHOWN)
        .expect("runs")
    {}
    assert_eq!(session.curve(0, CurveKind::Acked, 0, 4000), before);
    session.restart(true).expect("as it was");
    assert_eq!(
        session.toml(),
        Session::open(&name, &text).expect("a scene").toml()
    );
}

/// The address of a stop stands for the scene after a reset, so nothing of the visitor may stay.
#[test]
fn a_reset_forgets_events_seed_and_policies() {
    for (name, text) in scenes() {
        let mut session = Session::open(&name, &text).unwrap_or_else(|e| panic!("{e}"));
        let opened = session.toml();
        session.seed("3").expect("a seed");
        session.choose(&["byway"]).expect("a policy");
        until(&mut session, 0.5);
        session.switch(1, false).expect("a cut");
        let done = session.toml();
        session.restart(false).expect("it begins again");
        assert_eq!(session.toml(), done, "{name}: a restart forgets");
        session.restart(true).expect("as it was opened");
        assert_eq!(session.toml(), opened, "{name}: a reset keeps something");
        assert_eq!(session.now(), Duration::ZERO);
    }
}

#[test]
fn a_step_handles_no_more_events_than_it_may() {
    let (name, text) = scenes().remove(0);
    for events in [1, 199, 200, 201, 2000] {
        let mut session = Session::open(&name, &text).expect("a scene");
        let mut before = 0;
        for step in 0..3 {
            // To the end at once: only the number of events stops it.
            let reached = session.advance(Duration::MAX, events, SHOWN);
            assert!(!reached.expect("it runs"), "step {step} of {events} events");
            let lanes = 3;
            assert_eq!(session.handled() - before, lanes * events, "step {step}");
            before = session.handled();
        }
    }
}

#[test]
fn packets_wait_fly_and_get_lost() {
    let (name, text) = scenes().remove(0);
    let mut session = Session::open(&name, &text).expect("a scene");
    let mut seen = [0_u32; 3];
    for frame in 0..300 {
        until(&mut session, f64::from(frame) / 100.0);
        for mark in session.marks(1) {
            seen[mark.motion as usize] += 1;
            assert!((0.0..=1.0).contains(&mark.place), "{mark:?}");
            assert_eq!(mark.numbers().len(), MARK_NUMBERS);
        }
    }
    assert!(seen.iter().all(|n| *n > 50), "{seen:?}");
    assert_eq!(Motion::Lost as usize, 2);
}

#[test]
fn mistakes_are_told_in_the_words_of_the_command_and_change_nothing() {
    let (name, text) = scenes().remove(0);
    let mut session = Session::open(&name, &text).expect("a scene");
    until(&mut session, 1.0);
    let before = session.toml();
    for (key, value, words) in [
        ("rate", "0 bit/s", "would carry nothing"),
        ("rate", "999999999 Gbit/s", "faster than anything"),
        ("delay", "2 h", "longer than any path's delay"),
        ("delay", "-5 ms", "-5 ms"),
        ("loss", "150 %", "more than everything"),
        ("loss", "\"\n[[path]]", "loss"),
        ("queue", "5", "cannot be changed"),
    ] {
        let error = session.set(0, key, value).expect_err(value);
        assert!(error.contains(words), "{key} = {value}: {error}");
    }
    for (path, words) in [(2, "no path 3"), (usize::MAX - 1, "no path")] {
        let error = session.switch(path, false).expect_err("no such path");
        assert!(error.contains(words), "{error}");
    }
    for (names, words) in [
        (vec!["nobody"], "no such policy; there are"),
        (vec![], "0 policies"),
        (vec!["byway", "byway"], "is the name of another policy"),
    ] {
        let error = session.choose(&names).expect_err("no policies");
        assert!(error.contains(words), "{error}");
    }
    for seed in ["", "-1", "18446744073709551615", "x"] {
        session.seed(seed).expect_err(seed);
    }
    assert_eq!(session.toml(), before);
    assert_eq!(session.now(), Duration::from_secs(1));
    let error = Session::open("mine.toml", "limit = 5\n").expect_err("nonsense");
    let words = Scenario::parse("mine.toml", "limit = 5\n").expect_err("nonsense");
    assert_eq!(error, words.of_scenario());
}

#[test]
fn a_visitor_cannot_make_a_scene_grow_without_end() {
    let (name, text) = scenes().remove(0);
    let mut session = Session::open(&name, &text).expect("a scene");
    let opened = session.toml();
    let mut refused = None;
    for i in 0..1000 {
        until(&mut session, f64::from(i) / 1000.0);
        // Several changes at one time are one event.
        session
            .set(0, "delay", "5 ms")
            .and_then(|()| session.set(0, "delay", "6 ms"))
            .ok();
        if let Err(error) = session.switch(1, i % 2 == 0) {
            refused = Some((i, error));
            break;
        }
    }
    let (i, error) = refused.expect("a limit");
    assert!(error.contains("400 events"), "{error}");
    // The way on.
    let before = session.toml();
    session.undo().expect("the last change");
    session.set(0, "delay", "7 ms").expect("room for one more");
    session.undo().expect("that one");
    assert_ne!(session.toml(), before);
    for _ in 0..398 {
        session.undo().expect("a change");
    }
    assert_eq!(session.toml(), opened);
    let error = session.undo().expect_err("nothing is left");
    assert!(error.contains("nothing to undo"), "{error}");
    session.switch(1, false).expect("a cut");
    assert!(i > 190, "{i}");
    let text = session.toml();
    let read = Session::open_address(&session.fragment()).expect("its address");
    assert_eq!(read.toml(), text);
}

#[test]
fn all_paths_cut_loses_the_association_with_its_reason() {
    let (name, text) = scenes().remove(0);
    let mut session = Session::open(&name, &text).expect("a scene");
    until(&mut session, 1.0);
    session.switch(0, false).expect("a cut");
    session.switch(1, false).expect("a cut");
    session
        .choose(&["RFC 2960 AllRtxAlt", "RFC 9260", "PMR 0"])
        .expect("policies");
    // Nothing heals, so every policy gives up in the end.
    let json = to_the_end(&mut session);
    assert_eq!(json.matches("\"is\": \"lost\"").count(), 3);
    assert!(session.view().contains("\"is\":\"lost\",\"reason\":"));
}

#[test]
fn every_policy_of_the_catalogue_runs_in_the_built_in_scene() {
    let names: Vec<String> = catalogue().into_iter().map(|(name, _)| name).collect();
    assert!(names.len() >= 9);
    let mut session = Session::open("built-in", BUILT_IN).expect("the built-in scene");
    for name in &names {
        session
            .choose(&[name])
            .unwrap_or_else(|e| panic!("{name}: {e}"));
        until(&mut session, 0.2);
    }
}
