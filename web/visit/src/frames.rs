//! How many pictures the page draws. It is measured, and not judged.

use crate::limits::FAST;
use crate::scenes;
use crate::visitor::Visitor;
use anyhow::{Result, ensure};
use serde_json::{Value, json};

/// Pictures that the page draws in ten seconds while three policies run.
pub fn three(v: &Visitor) -> Result<String> {
    v.until_time(0.2)?;
    let three = v.number("document.querySelectorAll('.lane').length")?;
    ensure!(three == 3.0, "{three} policies");
    v.value("(() => { document.getElementById('slow').checked = false; })()")?;
    let measured = measure(v, 10)?;
    let of = |key: &str| measured[key].as_f64().unwrap_or(0.0);
    Ok(format!(
        "{:.1} pictures a second, {:.2} simulated seconds a second; between two frames {:.1} ms at the median, {:.1} ms at the 99th percentile, {:.1} ms at most",
        of("pictures") / of("seconds"),
        of("simulated") / of("seconds"),
        of("median"),
        of("p99"),
        of("longest")
    ))
}

/// Frames, pictures and simulated time for some seconds.
pub fn measure(v: &Visitor, seconds: u32) -> Result<Value> {
    v.value(&format!("new Promise(done => {{
        const times = [], pictures = byway.frames(), from = byway.now();
        const tick = at => {{ times.push(at); if (at - times[0] < {seconds}000) requestAnimationFrame(tick); else {{
            const gaps = times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b);
            done({{ pictures: byway.frames() - pictures, seconds: (times.at(-1) - times[0]) / 1000, median: gaps[gaps.length >> 1], p99: gaps[Math.floor(gaps.length * 0.99)], longest: gaps.at(-1), simulated: byway.now() - from }});
        }} }};
        requestAnimationFrame(tick);
    }})"))
}

/// A table of frames at each stop in real time, and of the fastest scene, and a last line of JSON.
pub fn table(v: &Visitor, seconds: u32) -> Result<()> {
    println!("scene     pictures/s  median ms  99 % ms  longest ms  simulated s/s");
    let mut rows = Vec::new();
    for scene in 1..=11 {
        match scene {
            11 => v.open(&scenes::fragment(v, FAST)?)?,
            stop => v.open(&format!("#stop={stop}"))?,
        }
        v.until_time(0.02)?;
        // In real time, and the last one as fast as it goes: without slow motion.
        let speed = f64::from(u8::from(scene == 11));
        v.value(&format!("(() => {{ document.getElementById('slow').checked = false; const s = document.getElementById('speed'); s.value = {speed}; s.dispatchEvent(new Event('input')); }})()"))?;
        let measured = measure(v, seconds)?;
        let of = |key: &str| measured[key].as_f64().unwrap_or(f64::NAN);
        let name = if scene == 11 {
            "fast".to_owned()
        } else {
            format!("stop {scene}")
        };
        let (rate, simulated) = (
            of("pictures") / of("seconds"),
            of("simulated") / of("seconds"),
        );
        println!(
            "{name:9} {rate:10.1} {:10.1} {:8.1} {:11.1} {simulated:14.2}",
            of("median"),
            of("p99"),
            of("longest")
        );
        rows.push(json!({ "scene": name, "pictures_per_s": rate, "median_ms": of("median"), "p99_ms": of("p99"), "longest_ms": of("longest"), "simulated_per_s": simulated }));
    }
    println!("{}", Value::Array(rows));
    v.no_problems()
}
