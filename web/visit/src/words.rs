//! Are the words of the page explained, for mouse, keyboard and touch?

use crate::visitor::{Visitor, quoted};
use anyhow::{Context, Result, ensure};
use headless_chrome::protocol::cdp::Input;
use serde_json::{Value, json};

/// Words of the page that look like names of the field, and have no meaning in its list.
const UNEXPLAINED: &str = r#"(() => {
    // Units, files, and names that stand beside their words.
    const known = new Set(['kB', 'MB', 'MiB', 'TOML', 'JSON', 'WebAssembly', 'JavaScript', 'ms', 'Mbit', 'ACK', 'II', 'III', 'IV', 'RTO.Min']);
    const text = [...document.querySelectorAll('header, main, footer')].map(e => e.innerText.replaceAll(document.getElementById('command').textContent, '') + [...e.querySelectorAll('svg text, td, th, option')].map(t => ' ' + t.textContent).join('')).join(' ');
    const drawn = 'congestion window, bytes TSN: sent on a path, sent again, acknowledged ' + LOADS.join(' ');
    const tokens = (text + ' ' + drawn).match(/[A-Za-z][\w]*(?:[.-][A-Za-z0-9]+)*/g);
    const technical = t => (t.match(/[A-Z]/g) || []).length >= 2 || ['cwnd', 'ssthresh', 'ns-2', 'Dmax', 'T3-rtx'].includes(t);
    return [...new Set(tokens.filter(technical))].filter(t => !known.has(t) && wordsIn(t).length === 0);
})()"#;

/// At each stop all names of the field are explained, and those of its own text have a button beside it.
pub fn explained(v: &Visitor) -> Result<String> {
    let list = v.value("WORDS.map(w => [w[0], w[1].length, w[2].length])")?;
    let list = list.as_array().context("a list")?;
    for word in list {
        ensure!(
            word[1].as_f64() > Some(25.0) && word[2].as_f64() > Some(4.0),
            "{} has no meaning or no source",
            word[0]
        );
    }
    let mut buttons = 0;
    for stop in 1..=10 {
        v.open(&format!("#stop={stop}"))?;
        v.value("document.querySelectorAll('details').forEach(d => { if (!d.querySelector('pre')) d.open = true; })")?;
        let unexplained = v.value(UNEXPLAINED)?;
        ensure!(
            unexplained == json!([]),
            "stop {stop}: nobody says what {unexplained} mean"
        );
        let missing = v.value("(() => { const shown = [...document.querySelectorAll('#stop-words button')].map(b => b.textContent); \
            return wordsIn(['stop-text', 'stop-try', 'figure-caption'].map(id => document.getElementById(id).textContent).join(' ')).filter(w => !shown.includes(w)); })()")?;
        ensure!(missing == json!([]), "stop {stop}: no button for {missing}");
        buttons += v.number("document.querySelectorAll('#stop-words button').length - 1")? as u32;
    }
    // It finds a word that nobody explains.
    v.value(
        "(() => { document.getElementById('stop-text').textContent += ' Then XYZ-9 expires.'; })()",
    )?;
    ensure!(
        v.value(UNEXPLAINED)? == json!(["XYZ-9"]),
        "a new word is not found"
    );
    Ok(format!(
        "{} words, {buttons} buttons at ten stops",
        list.len()
    ))
}

const OPEN: &str = "document.getElementById('words').open";

fn at(v: &Visitor, word: &str, how: &str) -> Result<()> {
    v.until(&format!("the words are opened by {how}"), OPEN)?;
    let focus = v.text("document.activeElement.textContent")?;
    ensure!(
        focus == word,
        "by {how} it is at \"{focus}\", not at {word}"
    );
    let seen = v.value("(e => { const r = e.getBoundingClientRect(); return r.top >= 0 && r.bottom <= innerHeight && document.elementFromPoint(r.left + 4, r.top + r.height / 2) === e.querySelector('dfn'); })(document.activeElement)")?;
    ensure!(seen == json!(true), "by {how}, {word} is not seen");
    Ok(())
}

/// The list opens and closes with mouse, keyboard and finger, on a desk and on a phone.
pub fn opened(v: &Visitor) -> Result<String> {
    for width in [1280, 390] {
        v.size(width, 800)?;
        v.open("#stop=3")?;
        let button = |word: &str| {
            format!(
                "[...document.querySelectorAll('#stop-words button')].find(b => b.textContent === {})",
                quoted(word)
            )
        };
        v.value(&format!("(() => {{ {}.id = 'a-word'; }})()", button("RTO")))?;
        v.click("#a-word")?;
        at(v, "RTO", "mouse")?;
        let wide = v.value("(e => { const r = e.getBoundingClientRect(); return r.left >= 0 && r.right <= innerWidth && e.scrollWidth <= e.clientWidth; })(document.getElementById('words'))")?;
        ensure!(wide == json!(true), "at {width} pixels the words stick out");
        // Keys are for the list, not for the scene.
        let toml = v.text("byway.toml()")?;
        v.key("1")?;
        v.key("n")?;
        ensure!(
            v.text("byway.toml()")? == toml && v.number("byway.stop()")? == 3.0,
            "keys pass through the list"
        );
        v.key("Escape")?;
        v.until("Escape closes it", &format!("!{OPEN}"))?;
        ensure!(
            v.value("document.activeElement.id")? == json!("a-word"),
            "the focus is lost"
        );
        v.key("Enter")?;
        at(v, "RTO", "keyboard")?;
        v.click("#words-close")?;
        v.until("the button closes it", &format!("!{OPEN}"))?;
        tap(v, "#a-word")?;
        at(v, "RTO", "finger")?;
        v.key("Escape")?;
        v.value("document.activeElement.blur()")?;
        v.key("?")?;
        v.until("? opens it", OPEN)?;
        let pale = v.value("[...document.querySelectorAll('#words dt, #words dd, #words cite')].every(e => e.checkVisibility())")?;
        ensure!(pale == json!(true), "words are hidden");
        v.key("Escape")?;
    }
    Ok(String::new())
}

/// A finger on the middle of an element.
fn tap(v: &Visitor, selector: &str) -> Result<()> {
    let place = v.value(&format!("(e => {{ e.scrollIntoView({{ block: 'center' }}); const r = e.getBoundingClientRect(); return {{ x: r.x + r.width / 2, y: r.y + r.height / 2 }}; }})(document.querySelector({}))", quoted(selector)))?;
    let touch = |kind, points: Vec<Value>| -> Result<()> {
        let points: std::result::Result<Vec<Input::TouchPoint>, _> =
            points.into_iter().map(serde_json::from_value).collect();
        v.tab().call_method(Input::DispatchTouchEvent {
            Type: kind,
            touch_points: points?,
            modifiers: None,
            timestamp: None,
        })?;
        Ok(())
    };
    touch(Input::DispatchTouchEventTypeOption::TouchStart, vec![place])?;
    touch(Input::DispatchTouchEventTypeOption::TouchEnd, Vec::new())
}
