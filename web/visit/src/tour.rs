//! The tour.

use crate::visitor::{Visitor, quoted};
use anyhow::{Result, ensure};
use std::collections::HashSet;
use std::ops::RangeInclusive;

/// Stops 1 to 5.
pub fn first_stops(v: &Visitor) -> Result<String> {
    stops(v, 1..=5)
}

/// Stops 6 to 10.
pub fn last_stops(v: &Visitor) -> Result<String> {
    stops(v, 6..=10)
}

/// Clicks on stops, watches each for a while, and compares its end with the command's.
fn stops(v: &Visitor, which: RangeInclusive<u32>) -> Result<String> {
    let stops = v.number("document.querySelectorAll('#stops button').length")?;
    ensure!(stops == 10.0, "{stops} stops");
    let mut seen = HashSet::new();
    for stop in which {
        v.click(&format!("#stops li:nth-child({stop}) button"))?;
        let title = v.text("document.getElementById('stop-title').textContent")?;
        ensure!(
            title.starts_with(&format!("{stop}. ")),
            "stop {stop} is \"{title}\""
        );
        ensure!(seen.insert(title.clone()), "\"{title}\" twice");
        for (what, script) in [
            (
                "a text",
                "document.getElementById('stop-text').textContent.length > 200",
            ),
            (
                "something to try",
                "document.getElementById('stop-try').textContent.length > 20",
            ),
            (
                "a figure with lines",
                "document.querySelectorAll('#figure polyline').length >= 2",
            ),
            (
                "the number of the paper's figure",
                "/figure \\d+/.test(document.getElementById('figure-paper').textContent)",
            ),
            (
                "at least two policies",
                "document.querySelectorAll('.lane').length >= 2",
            ),
        ] {
            ensure!(v.value(script)? == true, "{title}: there is not {what}");
        }
        v.until("packets", "byway.packets(0) > 0 && byway.packets(1) > 0")?;
        v.same_as_the_command()?;
        v.no_problems()?;
    }
    Ok(String::new())
}

/// Previous, next, keys, and the address of a stop.
pub fn onwards(v: &Visitor) -> Result<String> {
    for (act, stop) in [("#next", 2.0), ("#next", 3.0), ("#previous", 2.0)] {
        v.click(act)?;
        ensure!(
            v.number("byway.stop()")? == stop,
            "{act} does not lead to stop {stop}"
        );
    }
    v.value("document.activeElement.blur()")?;
    v.key("n")?;
    ensure!(v.number("byway.stop()")? == 3.0, "n is no next stop");
    v.key("p")?;
    v.key("p")?;
    v.key("p")?;
    ensure!(v.number("byway.stop()")? == 1.0, "p is no previous stop");
    v.open("#stop=7")?;
    ensure!(v.number("byway.stop()")? == 7.0, "#stop=7 is another stop");
    for nonsense in ["#stop=0", "#stop=99", "#stop=x", "#", "#elsewhere"] {
        v.open(nonsense)?;
        ensure!(
            v.number("byway.stop()")? == 1.0,
            "{nonsense} is not the first stop"
        );
    }
    Ok(String::new())
}

/// The browser's own way back goes from stop to stop, and to a scene as it was left.
pub fn back_and_forward(v: &Visitor) -> Result<String> {
    v.click("#next")?;
    v.until_time(0.3)?;
    v.key("2")?;
    v.until("path 2 is cut", "!byway.view().paths[1].up")?;
    let toml = v.text("byway.toml()")?;
    // At once: the address of the scene was not yet due.
    v.click("#next")?;
    v.until(
        "stop 3",
        "byway.stop() === 3 && location.hash === '#stop=3'",
    )?;
    v.value("history.back()")?;
    v.until(
        "the scene as it was left",
        &format!("byway.toml() === {}", quoted(&toml)),
    )?;
    let title = v.text("document.getElementById('stop-title').textContent")?;
    ensure!(
        title == "A scene of your own",
        "beside it stands \"{title}\""
    );
    v.value("history.back()")?;
    v.until("stop 1", "byway.stop() === 1")?;
    v.value("history.forward()")?;
    v.until("forward", &format!("byway.toml() === {}", quoted(&toml)))?;
    v.value("history.forward()")?;
    v.until("stop 3 again", "byway.stop() === 3")?;
    let title = v.text("document.getElementById('stop-title').textContent")?;
    ensure!(title.starts_with("3. "), "stop 3 is \"{title}\"");
    Ok(String::new())
}
