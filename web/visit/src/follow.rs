//! Follows the hints of the tour, each as its words say, and looks at what they promise.

use crate::visitor::Visitor;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// When a visitor has changed a field that is to be changed "at the start", seconds; the second time sooner
/// than the first.
const FIRST: f64 = 0.233;
const SECOND: f64 = 0.114;

/// Opens a stop, which stands still.
pub fn begin(v: &Visitor, stop: u32) -> Result<()> {
    v.open(&format!("#stop={stop}"))?;
    ensure!(v.number("byway.now()")? == 0.0, "it goes on by itself");
    Ok(())
}

/// Presses Reset, and sees that nothing is left of what was done.
fn reset(v: &Visitor) -> Result<()> {
    v.click("#reset")?;
    ensure!(v.number("byway.now()")? == 0.0, "reset goes on by itself");
    let left = v.value("byway.view().undo")?;
    ensure!(left == Value::Bool(false), "reset keeps a change");
    Ok(())
}

/// Lets the scene go on to this time exactly.
fn go(v: &Visitor, seconds: f64) -> Result<()> {
    v.value(&format!(
        "(() => {{ while (!run({seconds}, 0.5, 1000)); look(); controls(); }})()"
    ))?;
    let now = v.number("byway.now()")?;
    ensure!((now - seconds).abs() < 1e-6, "it is {now} s, not {seconds}");
    Ok(())
}

fn field(path: u32, key: &str) -> String {
    format!("#paths fieldset:nth-child({path}) input[type=text][data-key={key}]")
}

/// Runs to the end, and compares with the command.
fn to_the_end(v: &Visitor) -> Result<()> {
    v.same_as_the_command()
}

/// A number of each lane.
fn each(v: &Visitor, script: &str) -> Result<Vec<f64>> {
    let list = v.value(&format!("byway.view().lanes.map({script})"))?;
    let list = list.as_array().context("lanes")?;
    Ok(list
        .iter()
        .map(|n| n.as_f64().unwrap_or(f64::NAN))
        .collect())
}

/// The longest stall of each lane, seconds.
fn stalls(v: &Visitor) -> Result<Vec<f64>> {
    each(v, "l => l.longest[1]")
}

fn transfers(v: &Visitor) -> Result<Vec<f64>> {
    each(v, "l => l.transfer")
}

/// When the reader of the first lane took something, seconds.
fn reads(v: &Visitor) -> Result<Vec<f64>> {
    let curve = v.value("Array.from(scene.curve(0, 4, 0, 4000))")?;
    let curve: Vec<f64> = serde_json::from_value(curve)?;
    Ok(curve.chunks(2).map(|point| point[0]).collect())
}

fn near(value: f64, promised: f64, by: f64) -> bool {
    (value - promised).abs() <= by
}

fn states(v: &Visitor, path: u32) -> Result<Vec<String>> {
    let list = v.value(&format!(
        "[...document.querySelectorAll('.lane')].map(b => b.querySelectorAll('tbody tr')[{}].children[1].textContent)",
        path - 1
    ))?;
    Ok(serde_json::from_value(list)?)
}

/// What the page shows follows a moment later.
fn drawn(v: &Visitor) -> Result<Value> {
    v.value("new Promise(done => setTimeout(done, 900))")
}

/// See the hint of this stop.
pub fn a_path_dies(v: &Visitor) -> Result<String> {
    go(v, 60.0)?;
    drawn(v)?;
    let shown = states(v, 1)?;
    ensure!(
        shown[0] == "active" && shown[1..].iter().all(|s| s == "potentially failed"),
        "at 60 s the primary is {shown:?}"
    );
    reset(v)?;
    go(v, 20.0)?;
    v.key("1")?;
    go(v, 33.5)?;
    let before = each(v, "l => l.read_bytes")?[0];
    go(v, 35.0)?;
    let after = each(v, "l => l.read_bytes")?[0];
    let read = reads(v)?;
    let healed = read.iter().filter(|at| **at > 20.0 && **at < 34.0).count();
    ensure!(
        healed == 0 && after > before,
        "{healed} reads between 20 and 34 s, then {}",
        after - before
    );
    to_the_end(v)?;
    Ok(format!("stalls {:.1?} s", stalls(v)?))
}

/// See the hint of this stop.
pub fn which_path(v: &Visitor) -> Result<String> {
    let mut seen = Vec::new();
    for (loss, at, sooner) in [("0 %", FIRST, 0), ("10 %", SECOND, 1)] {
        reset(v)?;
        go(v, at)?;
        v.fill(&field(2, "loss"), loss)?;
        to_the_end(v)?;
        let t = transfers(v)?;
        ensure!(
            t[sooner] < t[1 - sooner],
            "with {loss} the transfers take {t:.1?} s"
        );
        seen.push(format!("{loss}: {t:.1?} s"));
    }
    Ok(seen.join(", "))
}

/// See the hint of this stop.
pub fn stale_rto(v: &Visitor) -> Result<String> {
    let (mut greatest, mut higher) = (vec![0.0_f64; 2], 0);
    let times = [20.0, 40.0, 60.0, 80.0, 90.0];
    for time in times {
        go(v, time)?;
        let rto = each(v, "l => l.paths[1].rto")?;
        higher += u32::from(rto[0] > rto[1]);
        greatest = greatest.iter().zip(&rto).map(|(a, b)| a.max(*b)).collect();
    }
    ensure!(
        higher >= 3 && greatest[0] >= 2.0 * greatest[1],
        "in {higher} of {} moments AllRtxAlt has the higher RTO; greatest {greatest:.1?} s",
        times.len()
    );
    Ok(format!("RTO up to {greatest:.1?} s"))
}

/// See the hint of this stop.
pub fn compromise(v: &Visitor) -> Result<String> {
    to_the_end(v)?;
    let before = transfers(v)?;
    reset(v)?;
    go(v, FIRST)?;
    v.fill(&field(2, "delay"), "500 ms")?;
    to_the_end(v)?;
    let after = transfers(v)?;
    let longer: Vec<f64> = after.iter().zip(&before).map(|(a, b)| a - b).collect();
    ensure!(
        longer[0] > 20.0 && longer[0] > longer[1] && longer[2] < 5.0,
        "{longer:.1?} s longer"
    );
    Ok(format!("{longer:.1?} s longer"))
}

/// See the hint of this stop.
pub fn schemes(v: &Visitor) -> Result<String> {
    go(v, 4.1)?;
    let failed = each(v, "l => l.read_bytes")?;
    go(v, 40.0)?;
    let read = each(v, "l => l.read_bytes")?;
    let more: Vec<f64> = read.iter().zip(&failed).map(|(a, b)| a - b).collect();
    ensure!(
        more[0] == 0.0 && more[1..].iter().all(|m| (1.0..100_000.0).contains(m)),
        "read since the failure: {more:?} bytes"
    );
    reset(v)?;
    go(v, 10.0)?;
    v.key("2")?;
    to_the_end(v)?;
    let lost = v.value("byway.view().lanes.every(l => l.outcome.is === 'lost')")?;
    let ends = each(v, "l => l.end")?;
    ensure!(
        lost == Value::Bool(true) && ends.iter().all(|e| *e > 120.0),
        "lost: {lost}, ends {ends:.0?} s"
    );
    Ok(format!("{more:.0?} bytes; lost at {ends:.0?} s"))
}

/// See the hint of this stop.
pub fn sooner(v: &Visitor) -> Result<String> {
    let mut seen = Vec::new();
    // What is to be forgotten.
    go(v, SECOND)?;
    v.fill(&field(2, "loss"), "50 %")?;
    reset(v)?;
    for (path, at) in [(1, FIRST), (2, 2.0 * FIRST)] {
        go(v, at)?;
        v.fill(&field(path, "loss"), "1 %")?;
    }
    for seed in ["2", "3"] {
        v.fill("#seed", seed)?;
        to_the_end(v)?;
        let s = stalls(v)?;
        ensure!(
            near(s[0], 30.0, 4.0) && s[1..].iter().all(|s| (0.9..5.5).contains(s)),
            "with seed {seed}, stalls {s:.1?} s"
        );
        seen.push(format!("{s:.1?} s"));
    }
    Ok(seen.join(", "))
}

/// See the hint of this stop.
pub fn without_need(v: &Visitor) -> Result<String> {
    // What is to be forgotten.
    go(v, FIRST)?;
    v.fill(&field(2, "delay"), "1 ms")?;
    reset(v)?;
    go(v, SECOND)?;
    v.fill(&field(2, "delay"), "500 ms")?;
    to_the_end(v)?;
    let (given_up, s) = (
        each(v, "l => l.paths[0].given_up + l.paths[1].given_up")?,
        stalls(v)?,
    );
    ensure!(
        given_up[2] > given_up[1]
            && given_up[1] > given_up[0]
            && given_up[0] <= 2.0
            && s[0] > s[1].max(s[2]),
        "given up {given_up:?} times, stalls {s:.1?} s"
    );
    // What the text says of the two counts.
    let counts = v.value("byway.view().lanes[2]")?;
    let (ours, papers) = (
        &counts["spurious_failovers"],
        &counts["paths"][0]["given_up"],
    );
    ensure!(
        ours.as_f64() < papers.as_f64(),
        "spurious {ours}, given up {papers}"
    );
    Ok(format!("given up {given_up:?} times, stalls {s:.1?} s"))
}

/// See the hint of this stop.
pub fn come_back(v: &Visitor) -> Result<String> {
    go(v, 40.0)?;
    let data = each(v, "l => l.data_path")?;
    ensure!(data == [0.0, 1.0], "new data on {data:?}");
    to_the_end(v)?;
    let t = transfers(v)?;
    ensure!(t[1] < t[0], "transfers {t:.1?} s");
    Ok(format!("transfers {t:.1?} s"))
}

/// See the hint of this stop.
pub fn decoupled(v: &Visitor) -> Result<String> {
    to_the_end(v)?;
    let without = stalls(v)?;
    begin(v, 9)?;
    go(v, 35.0)?;
    let data = each(v, "l => l.data_path")?;
    ensure!(data == [0.0, 1.0], "at 35 s new data is on {data:?}");
    v.key("1")?;
    to_the_end(v)?;
    let s = stalls(v)?;
    ensure!(
        near(s[0], 31.0, 0.5)
            && near(s[1], 11.0, 0.5)
            && near(without[0], 63.0, 0.5)
            && near(without[1], 11.0, 0.5),
        "stalls {s:.1?} s, without that {without:.1?} s"
    );
    Ok(format!("stalls {s:.1?} s, without that {without:.1?} s"))
}

/// See the hint of this stop.
pub fn both_at_once(v: &Visitor) -> Result<String> {
    go(v, 7.0)?;
    v.key("2")?;
    to_the_end(v)?;
    let s = stalls(v)?;
    let timeouts = each(v, "l => l.paths[1].timeouts")?;
    ensure!(
        s[0] > 10.0 && near(s[1], 1.0, 0.3) && timeouts[0] >= 4.0,
        "stalls {s:.1?} s, timeouts {timeouts:?}"
    );
    // After the cut: what holds the reader up for more than half a second.
    let read = reads(v)?;
    let after = read.windows(2).filter(|w| w[1] > 7.0);
    let waits: Vec<f64> = after.map(|w| w[1] - w[0]).filter(|w| *w > 0.5).collect();
    ensure!(
        waits.len() >= 4 && waits.windows(2).all(|w| near(w[1] / w[0], 2.0, 0.3)),
        "the waits of CMT's reader after the cut: {waits:.1?} s"
    );
    Ok(format!("stalls {s:.1?} s, CMT's waits {waits:.1?} s"))
}
