//! How the page looks.

use crate::visitor::Visitor;
use anyhow::{Context, Result, ensure};
use headless_chrome::protocol::cdp::Emulation;
use headless_chrome::protocol::cdp::Page::CaptureScreenshotFormatOption::Png;
use std::path::Path;

/// It opens, and everything it loads is beside it.
pub fn opens(v: &Visitor) -> Result<String> {
    let loaded = v.value("performance.getEntriesByType('resource').map(e => e.name)")?;
    for name in loaded.as_array().context("a list")? {
        let name = name.as_str().unwrap_or_default();
        ensure!(
            name.starts_with("file:") || name.starts_with("data:") || name.starts_with("blob:"),
            "it loads {name}"
        );
    }
    v.until_time(0.2)?;
    Ok(String::new())
}

/// At each stop, nothing sticks out to the right.
pub fn widths(v: &Visitor) -> Result<String> {
    for width in [360, 480, 768, 1024, 1280] {
        v.size(width, 800)?;
        for stop in 1..=10 {
            v.value(&format!(
                "document.querySelector('#stops li:nth-child({stop}) button').click()"
            ))?;
            let wide = v.number("document.documentElement.scrollWidth")?;
            ensure!(
                wide <= f64::from(width),
                "stop {stop} is {wide} pixels wide in a window of {width}"
            );
            let out = v.value("[...document.querySelectorAll('main *')].filter(e => e.checkVisibility() && !e.closest('pre, svg, .hidden, .button') && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.id || e.className || e.tagName)")?;
            ensure!(
                out == serde_json::json!([]),
                "at {width} pixels, stop {stop}: {out} stick out"
            );
        }
    }
    Ok(String::new())
}

/// All controls have names, and all texts have a contrast of at least 4.5 (WCAG 2.2, 1.4.3).
pub fn readable(v: &Visitor) -> Result<String> {
    let nameless = v.value("[...document.querySelectorAll('button, input, select, canvas')].filter(e => e.checkVisibility() && !e.getAttribute('aria-label') && !e.getAttribute('aria-hidden') && !(e.labels && e.labels.length) && !(e.textContent || '').trim()).map(e => e.outerHTML.slice(0, 80))")?;
    ensure!(
        nameless == serde_json::json!([]),
        "without a name: {nameless}"
    );
    let small = v.value("[...document.querySelectorAll('button, select, input[type=text]')].filter(e => e.checkVisibility() && e.getBoundingClientRect().height < 24).map(e => e.outerHTML.slice(0, 80))")?;
    ensure!(
        small == serde_json::json!([]),
        "less than 24 pixels high: {small}"
    );
    let pale = v.value("(() => {
        const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
        return [...document.querySelectorAll('main *, header *, footer *')].filter(e => e.checkVisibility() && !e.closest('svg') && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && !e.disabled && !e.closest('[disabled]')).map(e => {
            const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
            return [(a + 0.05) / (b + 0.05), e.outerHTML.slice(0, 80)];
        }).filter(([c]) => c < 4.5);
    })()")?;
    ensure!(pale == serde_json::json!([]), "pale: {pale}");
    Ok(String::new())
}

/// With reduced motion the scene waits for Play, and then changes a few times a second.
pub fn still(v: &Visitor) -> Result<String> {
    let media = |value: &str| Emulation::SetEmulatedMedia {
        media: None,
        features: Some(vec![Emulation::MediaFeature {
            name: "prefers-reduced-motion".to_owned(),
            value: value.to_owned(),
        }]),
    };
    v.tab().call_method(media("reduce"))?;
    let seen = calm(v);
    v.tab().call_method(media("no-preference"))?;
    seen
}

fn calm(v: &Visitor) -> Result<String> {
    v.open("")?;
    let waited = "new Promise(r => setTimeout(() => r([byway.now(), byway.frames()]), 1000))";
    let first = v.value(waited)?;
    ensure!(first[0] == 0.0, "it runs by itself: {first}");
    v.click("#play")?;
    v.until_time(0.5)?;
    let (before, after) = (v.number("byway.frames()")?, v.value(waited)?);
    let drawn = after[1].as_f64().unwrap_or(0.0) - before;
    ensure!(drawn <= 6.0, "{drawn} pictures in a second");
    Ok(format!("{drawn} pictures in a second"))
}

/// Frames of the browser in ten seconds while three policies run. It is measured, and not judged.
pub fn frames(v: &Visitor) -> Result<String> {
    let three = v.number("document.querySelectorAll('.lane').length")?;
    ensure!(three == 3.0, "{three} policies");
    let measured = v.value("new Promise(done => {
        const times = [];
        const tick = at => { times.push(at); if (at - times[0] < 10000) requestAnimationFrame(tick); else {
            const gaps = times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b);
            done({ frames: gaps.length, seconds: (times.at(-1) - times[0]) / 1000, median: gaps[gaps.length >> 1], p99: gaps[Math.floor(gaps.length * 0.99)], longest: gaps.at(-1), simulated: byway.now() });
        } };
        requestAnimationFrame(tick);
    })")?;
    let of = |key: &str| measured[key].as_f64().unwrap_or(0.0);
    Ok(format!(
        "{:.1} a second; between two frames {:.1} ms at the median, {:.1} ms at the 99th percentile, {:.1} ms at most",
        of("frames") / of("seconds"),
        of("median"),
        of("p99"),
        of("longest")
    ))
}

/// Pictures of the whole page on a desk and on a phone.
pub fn pictures(v: &Visitor, folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    for (width, stop, seconds) in [
        (1280, 1, 3.6),
        (1280, 10, 4.4),
        (360, 1, 3.6),
        (360, 6, 3.0),
    ] {
        v.size(width, 900)?;
        v.open(&format!("#stop={stop}"))?;
        v.until_time(seconds)?;
        v.key(" ")?;
        v.size(
            width,
            v.number("document.documentElement.scrollHeight")? as u32,
        )?;
        v.value("new Promise(r => setTimeout(r, 400))")?;
        let picture = v.tab().capture_screenshot(Png, None, None, true)?;
        std::fs::write(folder.join(format!("{width}-stop-{stop}.png")), picture)?;
    }
    Ok(())
}
