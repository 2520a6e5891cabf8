//! What a scene may take of the machine.

use crate::scenes;
use crate::visitor::Visitor;
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::time::Duration;

/// Three policies over three paths of 1 Gbit/s, without an end.
pub const FAST: &str = "name = \"fast\"\nseed = 1\nlimit = \"100000 s\"\n[traffic]\nkind = \"bulk\"\nsize = \"40000 GB\"\nmessage = \"1452 B\"\n\
    [[path]]\nname = \"one\"\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n\
    [[path]]\nname = \"two\"\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n\
    [[path]]\nname = \"three\"\nrate = \"1 Gbit/s\"\ndelay = \"5 ms\"\n\
    [[policy]]\nname = \"CMT\"\npreset = \"rfc9260\"\nconcurrent.dac = true\n\
    [[policy]]\nname = \"RFC 9260\"\npreset = \"rfc9260\"\n\
    [[policy]]\nname = \"byway\"\npreset = \"byway\"\n";

/// A queue without end: other traffic fills it, a hundred million packets in ten seconds.
const ENDLESS: &str = "name = \"endless\"\nseed = 1\nlimit = \"1000 s\"\n[traffic]\nkind = \"bulk\"\nsize = \"1 GB\"\n\
    [[path]]\nname = \"one\"\nrate = \"10 Mbit/s\"\ndelay = \"1 ms\"\n\
    [[path]]\nname = \"two\"\nrate = \"1 kbit/s\"\ndelay = \"1 ms\"\nqueue = \"1000000000 packets\"\n\
    [[cross]]\npath = \"two\"\nrate = \"8 Gbit/s\"\npacket = \"100 B\"\nshape = \"constant\"\n\
    [[policy]]\nname = \"a\"\n[[policy]]\nname = \"b\"\n[[policy]]\nname = \"c\"\n";

/// A scene that needs more memory than the page allows is stopped with words that say what to do, and the
/// page goes on.
pub fn full(v: &Visitor) -> Result<String> {
    v.open(&scenes::fragment(v, ENDLESS)?)?;
    // What memory the program has before each step.
    v.value("(() => { window.allowed = 0; const step = wasm_bindgen.Scene.prototype.advance; wasm_bindgen.Scene.prototype.advance = function (...all) { window.allowed = Math.max(window.allowed, byway.memory()); return step.apply(this, all); }; })()")?;
    v.click("#finish")?;
    v.until(
        "it is stopped",
        "!document.getElementById('wrong').hidden || !document.getElementById('error').hidden",
    )?;
    let said = v.text("document.getElementById('wrong').textContent")?;
    ensure!(
        said.contains("MiB") && said.contains("Load the page again") && said.contains("command"),
        "it says \"{said}\" and \"{}\"",
        v.text("document.getElementById('error').textContent")?
    );
    let most = v.number("byway.memory() / 2 ** 20")?;
    // No step begins with 256 MiB or more; in the last one each list may double, with the old one still there.
    let allowed = v.number("window.allowed / 2 ** 20")?;
    ensure!(
        (64.0..256.0).contains(&allowed) && (256.0..3.0 * 256.0).contains(&most),
        "stopped at {most} MiB, {allowed} MiB before the last step"
    );
    ensure!(
        said.contains("allows 256 MiB"),
        "at {most} MiB it says \"{said}\""
    );
    // What was computed stays, and can be saved.
    ensure!(v.value("document.querySelector('main').checkVisibility() && byway.view().lanes[0].read_bytes > 0 && byway.toml().includes('endless')")? == json!(true), "nothing is left");
    let frames = v.number("byway.frames()")?;
    v.until(
        "frames are drawn",
        &format!("byway.frames() > {frames} + 3"),
    )?;
    v.click("#play")?;
    v.value("new Promise(done => setTimeout(done, 300))")?;
    ensure!(
        v.value("document.getElementById('play').textContent")? == json!("Play"),
        "it goes on"
    );
    v.no_problems()?;
    v.click("#again")?;
    v.until("the tour", "document.body.dataset.ready === 'yes' && byway.stop() === 1 && byway.now() > 0.02 && byway.memory() < 1e8")?;
    Ok(format!(
        "stopped at {most:.0} MiB, {allowed:.0} MiB before the last step"
    ))
}

/// The memory itself ends: the program fails for good, and the page says so.
pub fn exhausted(v: &Visitor) -> Result<String> {
    v.open(&scenes::fragment(v, ENDLESS)?)?;
    // Without the rule that stops before that.
    v.value("(() => { isFull = () => false; })()")?;
    v.click("#finish")?;
    v.until("it is told", "!document.getElementById('error').hidden")?;
    let said = v.text("document.getElementById('error').textContent")?;
    ensure!(
        said.contains("1 GiB")
            && said.contains("Load the page again")
            && said.contains("byway run"),
        "it says \"{said}\""
    );
    ensure!(
        v.number("byway.memory()")? <= f64::from(1 << 30),
        "more than 1 GiB"
    );
    v.key("1")?;
    // The program itself writes what went wrong.
    let problems = v.value("window.problems.splice(0)")?;
    let list = problems.as_array().cloned().unwrap_or_default();
    ensure!(
        list.iter()
            .all(|p| p.as_str().is_some_and(|p| p.starts_with("console:"))),
        "{problems}"
    );
    v.click("#again")?;
    v.until(
        "the tour",
        "document.body.dataset.ready === 'yes' && byway.stop() === 1 && byway.now() > 0.02",
    )?;
    Ok(String::new())
}

/// In each frame the page does a bounded amount of work, however fast the scene is: steps of the simulator,
/// events in them, and calls of the drawing functions.
pub fn work_of_a_frame(v: &Visitor) -> Result<String> {
    let mut most = [0.0_f64; 4];
    for scene in 1..=11 {
        match scene {
            11 => v.open(&scenes::fragment(v, FAST)?)?,
            stop => v.open(&format!("#stop={stop}"))?,
        }
        let work = v.value(WORK)?;
        let of = |key: &str| work[key].as_f64().unwrap_or(f64::INFINITY);
        ensure!(
            of("pictures") > 3.0,
            "scene {scene}: {} pictures",
            of("pictures")
        );
        ensure!(
            of("calls") <= MOST_CALLS,
            "scene {scene}: {} calls of drawing functions in a frame",
            of("calls")
        );
        ensure!(
            of("steps") <= 64.0,
            "scene {scene}: {} steps in a frame",
            of("steps")
        );
        // A step to the end of the scene, as after a time in which nothing happened: only the number of
        // events ends it. The clock's bound of a frame is set aside.
        let events = v.value("(() => { reach = 1e6; run(view.limit, 0.5, 6); reach = 1e6; run(view.limit, 0.5, 1e4); return byway.events(); })()")?;
        let (step, frame) = (events[0].as_f64(), events[1].as_f64());
        let (step, frame) = (step.context("a step")?, frame.context("a frame")?);
        ensure!(
            (EVENTS..=3.0 * EVENTS).contains(&step) && frame <= 64.0 * 3.0 * EVENTS,
            "scene {scene}: {step} events in a step, {frame} in a frame"
        );
        let now = [of("calls"), of("steps"), step, frame];
        most = std::array::from_fn(|i| most[i].max(now[i]));
    }
    let [calls, steps, step, frame] = most;
    Ok(format!(
        "at most {calls} calls, {steps} steps, {step} events in a step and {frame} in a frame"
    ))
}

/// Most events of each policy in a step; there are at most three policies.
const EVENTS: f64 = 2000.0;

/// About twice what three policies over three fast paths need.
const MOST_CALLS: f64 = 40_000.0;

/// The greatest number of calls of drawing functions in a frame, for two seconds at the highest speed.
const WORK: &str = "new Promise(done => {
    const pen = CanvasRenderingContext2D.prototype, kept = {};
    let calls = 0, most = 0;
    for (const name of Object.getOwnPropertyNames(pen)) {
        const property = Object.getOwnPropertyDescriptor(pen, name);
        if (typeof property.value !== 'function') continue;
        kept[name] = property.value;
        pen[name] = function (...all) { calls++; return property.value.apply(this, all); };
    }
    const s = document.getElementById('speed'); s.value = 1; s.dispatchEvent(new Event('input'));
    const from = performance.now(), pictures = byway.frames();
    const tick = () => { most = Math.max(most, calls); calls = 0;
        if (performance.now() - from < 2000 || byway.frames() - pictures < 5) requestAnimationFrame(tick);
        else { Object.assign(pen, kept); done({ calls: most, steps: byway.steps(), pictures: byway.frames() - pictures }); } };
    requestAnimationFrame(tick);
})";

/// Three policies for minutes of real time at the highest speed, over fast paths and a file that does not end:
/// what memory it takes.
pub fn soak(v: &Visitor, minutes: u32) -> Result<()> {
    v.fresh()?;
    v.open(&scenes::fragment(v, FAST)?)?;
    v.value("(() => { const s = document.getElementById('speed'); s.value = 1; s.dispatchEvent(new Event('input')); })()")?;
    let mut last = Value::Null;
    for minute in 0..=minutes {
        let now = v.value("({ simulated_s: byway.now(), program_mb: byway.memory() / 1e6, scripts_mb: performance.memory.usedJSHeapSize / 1e6, pictures: byway.frames() })")?;
        let of = |key: &str| now[key].as_f64().unwrap_or(f64::NAN);
        println!(
            "minute {minute}: simulated {:.1} s, program {:.1} MB, scripts {:.1} MB, {} pictures",
            of("simulated_s"),
            of("program_mb"),
            of("scripts_mb"),
            of("pictures")
        );
        last = json!({ "minutes": minute, "end": now });
        if minute < minutes {
            std::thread::sleep(Duration::from_secs(60));
        }
    }
    println!("{last}");
    v.no_problems()
}
