//! Are packets seen, and is the time that is shown told as it is?

use crate::visitor::Visitor;
use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Notes simulated time, pace and timeouts of each frame.
const NOTE: &str = "(() => { window.noted = []; window.noting = true; const note = () => { if (!noting) return; const v = byway.view(); \
    noted.push([v.now, byway.pace(), v.lanes.map(l => l.paths.reduce((s, p) => s + p.timeouts, 0)), document.getElementById('pace').textContent, v.lanes.map(l => l.failovers)]); requestAnimationFrame(note); }; note(); })()";

/// A page draws a frame at least every tenth of a second of its own time: then this share of a path's way
/// is the most that a packet goes between two pictures.
const LARGEST_STEP: f64 = 0.125;

/// At each stop, in the set-up and at the scene's events, packets go in small steps over the path; the first
/// timeout of each policy is watched; and the page says how much slower than real time that is.
pub fn packets_are_seen(v: &Visitor) -> Result<String> {
    let mut slowest = f64::INFINITY;
    for stop in 1..=10 {
        v.open(&format!("#stop={stop}"))?;
        let begins = v.number(&format!("BYWAY_TOUR[{}].speed", stop - 1))?;
        let chosen = v.number("10 ** +document.getElementById('speed').value")?;
        ensure!(
            (chosen / begins).log10().abs() < 0.13,
            "stop {stop} begins at {chosen}"
        );
        let delay = v.number("Math.min(...byway.view().paths.map(p => p.delay_s))")?;
        // On a path of a few milliseconds nothing would happen between two messages.
        let slow = (delay / 0.8).max(0.02);
        v.value(NOTE)?;
        v.until_time(3.0 * slow)?;
        let first = v.number("BYWAY_TOUR[0] && (byway.view().events[0] || { at: 0 }).at")?;
        if first > 0.0 {
            fast(v)?;
            v.until_time(first + 2.5 * slow)?;
        }
        v.value("(() => { window.noting = false; })()")?;
        let noted = v.value("noted")?;
        let noted = noted.as_array().context("a list")?;
        slowest = slowest.min(slow);
        of_moment(stop, noted, 0.0, 2.5 * slow, slow, delay)?;
        if first > 0.0 {
            of_moment(
                stop,
                noted,
                first - 0.9 * slow,
                first + 2.0 * slow,
                slow,
                delay,
            )?;
        }
    }
    let timeouts = timeouts(v)?;
    Ok(format!(
        "{slowest} times real time or more; {timeouts} first timeouts watched"
    ))
}

/// As fast as it goes, but at events.
fn fast(v: &Visitor) -> Result<()> {
    v.value("(() => { const s = document.getElementById('speed'); s.value = 1; s.dispatchEvent(new Event('input')); })()")?;
    Ok(())
}

/// All frames between two moments are slow, say so, and are close together.
fn of_moment(stop: u32, noted: &[Value], from: f64, to: f64, slow: f64, delay: f64) -> Result<()> {
    let of = |n: &Value, i: usize| n[i].as_f64().unwrap_or(f64::NAN);
    let inside: Vec<&Value> = noted
        .iter()
        .filter(|n| of(n, 0) >= from && of(n, 0) <= to)
        .collect();
    ensure!(
        inside.len() >= 8,
        "stop {stop}, {from:.3} to {to:.3} s: {} pictures",
        inside.len()
    );
    let largest = LARGEST_STEP * (slow * 0.8).max(delay) + 1e-6;
    for pair in inside.windows(2) {
        let (now, step) = (of(pair[1], 0), of(pair[1], 0) - of(pair[0], 0));
        ensure!(
            step <= largest,
            "stop {stop}: from {:.4} to {now:.4} s in one picture",
            of(pair[0], 0)
        );
        ensure!(
            of(pair[1], 1) <= slow * 1.001,
            "stop {stop} at {now:.4} s: pace {}",
            pair[1][1]
        );
    }
    // What is written is of the picture before.
    let said = inside[inside.len() / 2][3].as_str().unwrap_or("");
    let number = (1.0 / slow * 100.0).round() / 100.0;
    let told = said.split_whitespace().find_map(|w| w.parse::<f64>().ok());
    ensure!(
        said.contains("slow motion")
            && said.ends_with("slower than real time")
            && told.is_some_and(|t| (t / number - 1.0).abs() < 0.05),
        "stop {stop} says \"{said}\", {number} times slower"
    );
    Ok(())
}

/// At stop 1, each policy's first timeout after the failure, and its first move to the other path.
fn timeouts(v: &Visitor) -> Result<usize> {
    v.open("#stop=1")?;
    v.value(NOTE)?;
    v.until(
        "all have timeouts",
        "byway.view().lanes.slice(0, 2).every(l => l.paths[0].timeouts > 0)",
    )?;
    v.value("new Promise(done => setTimeout(done, 300))")?;
    v.value("(() => { window.noting = false; })()")?;
    let noted = v.value("noted")?;
    let noted = noted.as_array().context("a list")?;
    let mut found = 0;
    for lane in 0..2 {
        let of = |n: &Value| n[2][lane].as_f64().unwrap_or(0.0);
        let first = noted
            .iter()
            .position(|n| of(n) > 0.0)
            .context("a timeout")?;
        let after = noted.get(first + 2).or(noted.last()).context("frames")?;
        let pace = after[1].as_f64().unwrap_or(1.0);
        ensure!(
            pace < 0.06,
            "lane {lane}: at its first timeout, {} s, the pace is {pace}",
            after[0]
        );
        found += 1;
    }
    Ok(found)
}

/// Slow motion can be switched off and left, and the words follow.
pub fn slow_motion_is_a_choice(v: &Visitor) -> Result<String> {
    let pace = || v.number("byway.pace()");
    let said = || v.text("document.getElementById('pace').textContent");
    v.until_time(0.02)?;
    ensure!(pace()? < 0.06, "the set-up has pace {}", pace()?);
    v.key("s")?;
    v.until(
        "it says so",
        "document.getElementById('pace').textContent === 'real time'",
    )?;
    ensure!(
        (pace()? - 1.0).abs() < 1e-9,
        "switched off, the pace is {}",
        pace()?
    );
    v.click("#slow")?;
    v.click("#restart")?;
    v.until_time(0.02)?;
    ensure!(pace()? < 0.06, "switched on, the pace is {}", pace()?);
    // Who changes the speed has the speed.
    v.key("-")?;
    v.until("slower", "Math.abs(byway.pace() - 0.56) < 0.01")?;
    v.until(
        "it says so",
        "document.getElementById('pace').textContent === '1.8 times slower than real time'",
    )?;
    v.key("+")?;
    v.key("+")?;
    v.key("+")?;
    v.key("+")?;
    v.key("+")?;
    v.until(
        "it says so",
        "document.getElementById('pace').textContent.endsWith('10 times faster than real time')",
    )?;
    said()
}
