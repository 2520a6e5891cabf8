//! What visitors do.

use crate::visitor::{Visitor, quoted};
use anyhow::{Result, ensure};
use std::ffi::OsStr;

/// Everything that can be changed, while it runs.
pub fn a_visit(v: &Visitor) -> Result<String> {
    v.until_time(0.6)?;
    v.click("#paths fieldset:nth-child(2) button")?;
    v.until("path 2 is cut", "!byway.view().paths[1].up")?;
    v.fill(
        "#paths fieldset:nth-child(1) input[type=text][data-key=loss]",
        "3.5 %",
    )?;
    v.fill(
        "#paths fieldset:nth-child(1) input[type=text][data-key=rate]",
        "4 Mbit/s",
    )?;
    v.fill(
        "#paths fieldset:nth-child(1) input[type=text][data-key=delay]",
        "70 ms",
    )?;
    let path = v.value("byway.view().paths[0]")?;
    for (key, value) in [("loss", "3.5 %"), ("rate", "4 Mbit/s"), ("delay", "70 ms")] {
        ensure!(path[key] == value, "{key}: {}", path[key]);
    }
    v.until_time(1.4)?;
    v.click("#paths fieldset:nth-child(2) button")?;
    v.until("path 2 is healed", "byway.view().paths[1].up")?;
    // A slider, with the keyboard.
    v.value("document.querySelector('#paths fieldset:nth-child(2) input[type=range][data-key=loss]').focus()")?;
    for _ in 0..12 {
        v.key("ArrowRight")?;
    }
    v.until("loss on path 2", "byway.view().paths[1].loss_percent > 1")?;
    v.choose(".lane:nth-child(1) select", "probe timeout")?;
    v.click(".lane:nth-child(3) h3 button")?;
    let lanes = v.value("byway.view().lanes.map(l => l.policy)")?;
    ensure!(
        lanes == serde_json::json!(["probe timeout", "RFC 9260"]),
        "{lanes}"
    );
    v.click("#add-lane")?;
    ensure!(
        v.number("byway.view().lanes.length")? == 3.0,
        "no third policy"
    );
    ensure!(
        v.number("byway.now()")? >= 1.3,
        "a choice of policies goes back in time"
    );
    v.same_as_the_command()?;
    v.fill("#seed", "4242")?;
    ensure!(
        v.number("byway.now()")? < 1.0 && v.number("+byway.view().seed")? == 4242.0,
        "the seed"
    );
    v.same_as_the_command()?;
    v.click("#reset")?;
    ensure!(
        v.value("byway.view().events.length")? == 1,
        "reset keeps what was done"
    );
    v.click("#restart")?;
    Ok(String::new())
}

/// The address that the page copies opens the same scene in the page and in the command.
pub fn addresses(v: &Visitor) -> Result<String> {
    v.until_time(0.5)?;
    v.key("1")?;
    v.until(
        "the address is written",
        "location.hash === byway.fragment()",
    )?;
    let (hash, toml) = (v.text("location.hash")?, v.text("byway.toml()")?);
    v.open(&hash)?;
    ensure!(
        v.text("byway.toml()")? == toml,
        "the address opens another scene"
    );
    let command = v.text("document.getElementById('command').textContent")?;
    let address = format!("{}{hash}", v.url());
    ensure!(
        command == format!("byway run '{address}'"),
        "the command is {command:.200}"
    );
    v.click("#finish")?;
    v.until("the scene ends", "byway.over()")?;
    let (said, problems) = v.command(&["run", &address, "--json"].map(OsStr::new))?;
    ensure!(problems.is_empty(), "{problems}");
    v.compare(&said)?;
    // Another address in the same document.
    let other = "byway.fragment()";
    v.value("document.querySelector('#stops li:nth-child(2) button').click()")?;
    let second = v.text(other)?;
    v.until("the address is written", "location.hash === '#stop=2'")?;
    v.value(&format!("location.hash = {}", quoted(&hash)))?;
    v.until(
        "a new fragment is opened",
        &format!("byway.toml() === {}", quoted(&toml)),
    )?;
    ensure!(second != hash, "two scenes with one address");
    Ok(format!("{} characters", hash.len()))
}

/// After a reset the address is that of the stop, and opens what is shown: seed and policies are the scene's
/// own again. The same holds when the last change is undone.
pub fn reset(v: &Visitor) -> Result<String> {
    v.open("#stop=6")?;
    let opened = v.text("byway.toml()")?;
    v.fill("#seed", "3")?;
    v.click(".lane:nth-child(3) h3 button")?;
    v.click(".lane:nth-child(2) h3 button")?;
    v.key("2")?;
    v.until("the address has it", "location.hash === byway.fragment()")?;
    v.click("#reset")?;
    own_scene(v, &opened)?;
    v.reload()?;
    own_scene(v, &opened)?;
    v.until_time(0.1)?;
    v.key("2")?;
    v.until("a scene", "location.hash === byway.fragment()")?;
    v.key("u")?;
    own_scene(v, &opened)?;
    // Undo takes back no seed.
    v.fill("#seed", "3")?;
    v.until("a scene", "location.hash === byway.fragment()")?;
    v.key("2")?;
    v.key("u")?;
    v.value("new Promise(done => setTimeout(done, 500))")?;
    ensure!(
        v.value("location.hash === byway.fragment()")? == true,
        "the address of another seed is the stop's"
    );
    Ok(String::new())
}

/// The sixth stop as it was opened, with its address.
fn own_scene(v: &Visitor, opened: &str) -> Result<()> {
    v.until("the stop's address", "location.hash === '#stop=6'")?;
    ensure!(v.text("byway.toml()")? == opened, "another scene is shown");
    let shown = v.value(
        "[document.getElementById('seed').value, document.querySelectorAll('.lane').length]",
    )?;
    ensure!(
        shown == serde_json::json!(["1", 3]),
        "seed and lanes: {shown}"
    );
    Ok(())
}

/// All controls are reached with the key Tab, show that they have the focus, and work.
pub fn keyboard(v: &Visitor) -> Result<String> {
    v.value("document.activeElement.blur()")?;
    let controls = v.number("[...document.querySelectorAll('button, input, select, summary, a, pre')].filter(e => !e.disabled && e.checkVisibility()).length")?;
    let mut reached = 0.0;
    v.value("(() => { window.reached = new Set(); })()")?;
    for _ in 0..300 {
        v.key("Tab")?;
        let new = v.value("(e => { if (e === document.body || window.reached.has(e)) return null; window.reached.add(e); \
            const seen = e.type === 'file' ? e.parentElement : e; const s = getComputedStyle(seen); return [e.id || e.className || e.tagName, s.outlineStyle, parseFloat(s.outlineWidth)]; })(document.activeElement)")?;
        if new.is_null() {
            break;
        }
        reached += 1.0;
        ensure!(
            new[1] != "none" && new[2].as_f64() >= Some(2.0),
            "no visible focus: {new}"
        );
    }
    ensure!(
        reached >= controls,
        "{reached} of {controls} controls are reached"
    );
    v.value("document.activeElement.blur()")?;
    v.until_time(0.4)?;
    v.key(" ")?;
    v.until(
        "Space pauses",
        "document.getElementById('play').textContent === 'Play'",
    )?;
    let now = v.number("byway.now()")?;
    v.key(".")?;
    ensure!(v.number("byway.now()")? > now, ". is no step");
    v.key("2")?;
    v.until("2 cuts", "!byway.view().paths[1].up")?;
    v.key("2")?;
    v.until("2 heals", "byway.view().paths[1].up")?;
    let speed = v.number("+document.getElementById('speed').value")?;
    v.key("-")?;
    ensure!(
        v.number("+document.getElementById('speed').value")? < speed,
        "- is not slower"
    );
    v.key("r")?;
    v.until("r begins again", &format!("byway.now() < {now}"))?;
    v.key("e")?;
    v.until("e leads to the end", "byway.over()")?;
    v.same_as_the_command()?;
    Ok(format!("{reached} controls"))
}
