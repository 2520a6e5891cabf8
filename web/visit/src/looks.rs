//! How the page looks.

use crate::visitor::Visitor;
use anyhow::{Result, ensure};
use headless_chrome::protocol::cdp::Emulation;
use headless_chrome::protocol::cdp::Page::CaptureScreenshotFormatOption::Png;
use std::path::Path;

/// It opens, from a copy of its folder. All that the browser asks for is looked at after each check.
pub fn opens(v: &Visitor) -> Result<String> {
    v.until_time(0.2)?;
    v.same_as_the_command()?;
    Ok(String::new())
}

/// The canvases follow the window, and the run goes on to the command's result.
pub fn resized(v: &Visitor) -> Result<String> {
    v.until_time(0.3)?;
    for width in [1280, 320, 900, 390, 2000, 700, 360] {
        v.size(width, 800)?;
        let now = v.number("byway.now()")?;
        v.until("it goes on", &format!("byway.now() > {now} + 0.1"))?;
        v.until(
            &format!("the drawings are as wide as their places at {width} pixels"),
            "[...document.querySelectorAll('.lane canvas')].every(c => Math.abs(c.width - c.clientWidth * Math.min(devicePixelRatio, 2)) <= 2)",
        )?;
    }
    v.same_as_the_command()?;
    Ok(String::new())
}

/// At each stop, nothing sticks out to the right.
pub fn widths(v: &Visitor) -> Result<String> {
    for width in [360, 390, 480, 768, 1024, 1280] {
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

/// No word of a policy's table is broken, whatever its paths' states are.
pub fn whole_words(v: &Visitor) -> Result<String> {
    v.size(1280, 800)?;
    v.open("#stop=1")?;
    v.until_time(0.1)?;
    v.click("#play")?;
    for width in [360, 390, 480, 768, 1024, 1280] {
        v.size(width, 800)?;
        for stop in 1..=10 {
            v.value(&format!("goTo({})", stop - 1))?;
            let broken = v.value(BROKEN)?;
            ensure!(
                broken == serde_json::json!([]),
                "at {width} pixels, stop {stop}: broken: {broken}"
            );
        }
    }
    Ok(String::new())
}

/// The words of the tables that stand on two lines, with each state in turn.
const BROKEN: &str = "Object.values(STATES).flatMap(state => {
    const cells = [...document.querySelectorAll('.lane tbody tr')].map(row => row.querySelectorAll('td'));
    for (const [shown, cwnd, rto, timeouts, given] of cells) {
        shown.textContent = state; cwnd.textContent = '123.4 kB'; rto.textContent = '60.0 s'; timeouts.textContent = '1234'; given.textContent = '123';
    }
    const texts = [...document.querySelectorAll('.lane table :is(th, td)')].map(cell => cell.firstChild);
    return texts.flatMap(text => [...text.data.matchAll(/[^ ]+/g)].filter(word => {
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const box = text.parentElement.getBoundingClientRect(), rects = [...range.getClientRects()];
        return rects.length > 1 || rects.some(r => r.right > box.right + 0.5);
    }).map(word => `${word[0]} ${text.parentElement.clientWidth}`));
})";

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
    v.value("(() => { openWords(); })()")?;
    let pale = v.value("(() => {
        const light = c => { const [r, g, b] = c.match(/[\\d.]+/g).map(Number).map(x => x / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
        const ground = e => { for (; e; e = e.parentElement) { const c = getComputedStyle(e).backgroundColor; if (!/, 0\\)$/.test(c)) return c; } return 'rgb(255, 255, 255)'; };
        return [...document.querySelectorAll('main *, header *, footer *, dialog *')].filter(e => e.checkVisibility() && !e.closest('svg') && [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) && !e.disabled && !e.closest('[disabled]')).map(e => {
            const [a, b] = [light(getComputedStyle(e).color), light(ground(e))].sort((x, y) => y - x);
            return [(a + 0.05) / (b + 0.05), e.outerHTML.slice(0, 80)];
        }).filter(([c]) => c < 4.5);
    })()")?;
    ensure!(pale == serde_json::json!([]), "pale: {pale}");
    v.key("Escape")?;
    Ok(String::new())
}

/// With reduced motion the scene waits for Play, and then changes a few times a second.
pub fn still(v: &Visitor) -> Result<String> {
    calmed(v, calm)
}

/// Acts as a person who asks for reduced motion.
pub fn calmed(v: &Visitor, act: impl Fn(&Visitor) -> Result<String>) -> Result<String> {
    let media = |value: &str| Emulation::SetEmulatedMedia {
        media: None,
        features: Some(vec![Emulation::MediaFeature {
            name: "prefers-reduced-motion".to_owned(),
            value: value.to_owned(),
        }]),
    };
    v.tab().call_method(media("reduce"))?;
    let seen = act(v);
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

/// Pictures of the whole page on a desk and on a phone, some of them as colour-blind people see them.
pub fn pictures(v: &Visitor, folder: &Path) -> Result<()> {
    use Emulation::SetEmulatedVisionDeficiencyTypeOption as Vision;
    std::fs::create_dir_all(folder)?;
    let eyes = [
        ("all", Vision::None),
        ("protanopia", Vision::Protanopia),
        ("deuteranopia", Vision::Deuteranopia),
        ("tritanopia", Vision::Tritanopia),
        ("achromatopsia", Vision::Achromatopsia),
    ];
    let stops = [0.6, 2.0, 4.0, 3.0, 6.0, 3.0, 5.0, 4.0, 17.0, 4.4];
    for width in [1280, 390] {
        for (i, seconds) in stops.into_iter().enumerate() {
            let stop = i + 1;
            v.size(width, 900)?;
            v.open(&format!("#stop={stop}"))?;
            v.value("(() => { const s = document.getElementById('speed'); s.value = 0.5; s.dispatchEvent(new Event('input')); })()")?;
            v.until_time(seconds)?;
            v.key(" ")?;
            v.size(
                width,
                v.number("document.documentElement.scrollHeight")? as u32,
            )?;
            v.value("new Promise(r => setTimeout(r, 400))")?;
            // Not every stop for all eyes: these have losses, states, three lanes and both paths at once.
            let some = if [4, 5, 10].contains(&stop) { 5 } else { 1 };
            for (name, vision) in &eyes[..some] {
                v.tab()
                    .call_method(Emulation::SetEmulatedVisionDeficiency {
                        Type: vision.clone(),
                    })?;
                let picture = v.tab().capture_screenshot(Png, None, None, true)?;
                std::fs::write(
                    folder.join(format!("{width}-stop-{stop:02}-{name}.png")),
                    picture,
                )?;
            }
            v.tab()
                .call_method(Emulation::SetEmulatedVisionDeficiency { Type: Vision::None })?;
        }
        v.size(width, 900)?;
        v.value("(() => { openWords('CMT-PF'); })()")?;
        v.value("new Promise(r => setTimeout(r, 400))")?;
        let picture = v.tab().capture_screenshot(Png, None, None, true)?;
        std::fs::write(folder.join(format!("{width}-words.png")), picture)?;
    }
    Ok(())
}
