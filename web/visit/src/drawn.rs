//! What the page shows is what the run has: texts, drawings, buttons, copies.

use crate::visitor::Visitor;
use anyhow::{Result, ensure};
use serde_json::json;

/// What differs between the texts of a page that pauses and its run, as a list.
const TEXTS: &str = r#"(() => {
    const wrong = [], v = byway.view();
    const units = { B: 1, kB: 1e3, MB: 1e6, ms: 1e-3, s: 1 };
    const read = text => { const m = /^([\d.]+) (B|kB|MB|ms|s)$/.exec(text.trim()); return m ? m[1] * units[m[2]] : NaN; };
    // Half of the last digit that is shown.
    const step = text => { const m = /^\d+(?:\.(\d+))? (\w+)$/.exec(text.trim()); return m ? 0.51 * 10 ** -(m[1] || '').length * units[m[2]] : NaN; };
    const near = (what, text, value) => { if (!(Math.abs(read(text) - value) <= step(text))) wrong.push(`${what}: ${text} for ${value}`); };
    const is = (what, found, value) => { if (found !== value) wrong.push(`${what}: ${found} for ${value}`); };
    const clock = document.getElementById('clock').textContent;
    const end = v.over ? Math.max(...v.lanes.map(l => l.end)) : v.now;
    if (!(Math.abs(parseFloat(clock) - end) <= 0.06)) wrong.push(`clock: ${clock} for ${end}`);
    v.paths.forEach((p, i) => {
        const box = document.querySelectorAll('#paths fieldset')[i], button = box.querySelector('button');
        is(`button of path ${i + 1}`, button.textContent.startsWith(p.up ? '✂ Cut' : 'Heal'), true);
        is(`pressed of path ${i + 1}`, button.getAttribute('aria-pressed'), String(!p.up));
        for (const key of ['rate', 'delay', 'loss']) is(`${key} of path ${i + 1}`, box.querySelector(`input[type=text][data-key=${key}]`).value, p[key]);
    });
    v.lanes.forEach((l, i) => {
        const box = document.querySelectorAll('.lane')[i], reader = box.querySelector('.reader').textContent;
        const [, got, all] = /^Reader: (.*?) of (.*?);/.exec(reader) || [];
        near(`read of ${l.policy}`, got, l.read_bytes);
        near(`all of ${l.policy}`, all, v.total_bytes);
        is(`sent again of ${l.policy}`, +(/sent again (\d+)/.exec(reader) || [])[1], l.retransmissions);
        is(`failovers of ${l.policy}`, +(/failovers (\d+)/.exec(reader) || [])[1], l.failovers);
        is(`spurious failovers of ${l.policy}`, (/of these spurious (\d+)/.exec(reader) || [])[1], l.outcome ? String(l.spurious_failovers) : undefined);
        if (l.longest) near(`longest stall of ${l.policy}`, (/longest stall ([\d.]+ m?s)/.exec(reader) || [])[1] || '', l.longest[1]);
        is(`stalled of ${l.policy}`, /STALLED/.test(reader), l.waiting !== null && l.waiting > 0.3 && !l.outcome);
        if (l.outcome && l.outcome.is === 'complete') near(`end of ${l.policy}`, (/complete after ([\d.]+ m?s)/.exec(reader) || [])[1] || '', l.transfer);
        l.paths.forEach((p, k) => {
            const cells = [...box.querySelectorAll('tbody tr')[k].children].map(c => c.textContent);
            is(`state of path ${k + 1} of ${l.policy}`, cells[1], p.state.replace('_', ' '));
            near(`cwnd of path ${k + 1} of ${l.policy}`, cells[2], p.cwnd);
            near(`RTO of path ${k + 1} of ${l.policy}`, cells[3], p.rto);
            is(`timeouts of path ${k + 1} of ${l.policy}`, +cells[4], p.timeouts);
            is(`given up of path ${k + 1} of ${l.policy}`, +cells[5], p.given_up);
        });
    });
    return wrong;
})()"#;

/// For each drawing its kind and how many of its points have each path's colour, or are black.
const POINTS: &str = r#"[...document.querySelectorAll('.lane canvas')].map(c => {
    const data = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
    const hex = h => [1, 3, 5].map(i => parseInt(h.slice(i, i + 2), 16));
    // The canvases have no ground: a thin line is of its colour, and half transparent.
    const count = colour => { let n = 0; for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 60 && colour.reduce((sum, v, j) => sum + Math.abs(v - data[i + j]), 0) < 40) n++; return n; };
    return { kind: c.className, first: count(hex(COLOURS[0])), second: count(hex(COLOURS[1])), ink: count(hex(INK)) };
})"#;

const BUTTONS: &str = "[...document.querySelectorAll('#paths fieldset button')].every((b, i) => b.textContent.startsWith(byway.view().paths[i].up ? '✂ Cut' : 'Heal'))";

/// How many points between label and line of the first path have its colour: its DATA.
const PACKETS: &str = r#"(() => {
    const c = document.querySelector('.lane .net'), scale = c.width / c.clientWidth, [r, g, b] = [1, 3, 5].map(i => parseInt(COLOURS[0].slice(i, i + 2), 16));
    const data = c.getContext('2d').getImageData(60 * scale, 26 * scale, c.width - 120 * scale, 9 * scale).data;
    let n = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 60 && Math.abs(data[i] - r) + Math.abs(data[i + 1] - g) + Math.abs(data[i + 2] - b) < 40) n++;
    return n;
})()"#;

/// At some moments of three stops: with packets, with a path that the scene has cut, and at the end.
pub fn texts_and_drawings(v: &Visitor) -> Result<String> {
    let mut checked = 0;
    for (stop, moments) in [(5, &[2.0, 6.0][..]), (9, &[10.0, 20.0]), (10, &[2.0, 4.0])] {
        v.open(&format!("#stop={stop}"))?;
        for seconds in moments {
            v.until_time(*seconds)?;
            // While it runs: a pause shows them again.
            v.until("the buttons say what can be done", BUTTONS)?;
            pause(v)?;
            ensure_shown(v, &format!("stop {stop} at {seconds} s"))?;
            let drawings = v.value(POINTS)?;
            for drawing in drawings.as_array().into_iter().flatten() {
                ensure!(
                    ["first", "second"]
                        .iter()
                        .all(|c| drawing[c].as_f64() > Some(60.0))
                        && drawing["ink"].as_f64() > Some(200.0),
                    "stop {stop} at {seconds} s: a drawing is empty: {drawing}"
                );
                checked += 1;
            }
            v.key(" ")?;
        }
        v.click("#finish")?;
        v.until("it is over", "byway.over()")?;
        ensure_shown(v, &format!("stop {stop} at its end"))?;
    }
    Ok(format!("{checked} drawings"))
}

fn pause(v: &Visitor) -> Result<()> {
    v.until("it can pause", "!document.getElementById('play').disabled")?;
    v.value("(() => { const b = document.getElementById('play'); if (b.textContent === 'Pause') b.click(); })()")?;
    Ok(())
}

fn ensure_shown(v: &Visitor, place: &str) -> Result<()> {
    // The next frames draw it.
    v.value("new Promise(done => setTimeout(done, 400))")?;
    let wrong = v.value(TEXTS)?;
    ensure!(wrong == json!([]), "{place}: {wrong}");
    Ok(())
}

/// Packets move between two moments, and the buttons copy and save what they say.
pub fn packets_and_copies(v: &Visitor) -> Result<String> {
    v.open("#stop=1")?;
    v.until_time(1.0)?;
    pause(v)?;
    ensure!(
        v.number("byway.packets(0)")? > 0.0 && v.number(PACKETS)? > 20.0,
        "no packet is drawn"
    );
    let picture = "document.querySelector('.lane .net').toDataURL()";
    let before = v.value(picture)?;
    for _ in 0..3 {
        v.key(".")?;
        v.value("new Promise(done => setTimeout(done, 300))")?;
    }
    ensure!(v.value(picture)? != before, "the packets do not move");
    v.value(
        "(() => { window.kept = []; Object.defineProperty(navigator, 'clipboard', { configurable: true, value: { writeText: async text => { kept.push(text); } } });
        const make = URL.createObjectURL; URL.createObjectURL = blob => { blob.text().then(text => kept.push(text)); return make.call(URL, blob); }; })()",
    )?;
    v.click("#copy-address")?;
    v.until(
        "the address is copied",
        "kept.at(-1) === location.href.split('#')[0] + byway.fragment()",
    )?;
    v.click("#copy-command")?;
    v.until(
        "the command is copied",
        "kept.at(-1).startsWith('byway run ') && kept.at(-1).includes(byway.fragment())",
    )?;
    v.click("#save-toml")?;
    v.until("the scene is saved", "kept.at(-1) === byway.toml()")?;
    v.click("#finish")?;
    v.until("it is over", "byway.over()")?;
    v.until(
        "results can be saved",
        "!document.getElementById('save-json').disabled",
    )?;
    v.click("#save-json")?;
    v.until("the results are saved", "kept.at(-1) === byway.json()")?;
    Ok(String::new())
}

/// The stops differ in title, text, hint and figure, and a restart keeps the visitor on the tour.
pub fn stops(v: &Visitor) -> Result<String> {
    let mut seen = Vec::new();
    for stop in 1..=10 {
        v.open(&format!("#stop={stop}"))?;
        let has = v.value("['stop-title', 'stop-text', 'stop-try', 'figure', 'figure-caption'].map(id => document.getElementById(id).innerHTML)")?;
        let has: Vec<String> = serde_json::from_value(has)?;
        ensure!(
            has.iter().all(|t| t.len() > 5),
            "stop {stop} lacks something: {has:?}"
        );
        for (i, text) in has.iter().enumerate() {
            ensure!(
                seen.iter().all(|other: &Vec<String>| &other[i] != text),
                "stop {stop} has the text of another: {text}"
            );
        }
        seen.push(has);
    }
    v.click("#restart")?;
    v.value("new Promise(done => setTimeout(done, 500))")?;
    ensure!(
        v.value("location.hash")? == json!("#stop=10"),
        "a restart leaves the tour"
    );
    Ok(String::new())
}

/// A policy by the keyboard: the names of other lanes are passed over, and the focus stays.
pub fn policy_by_keyboard(v: &Visitor) -> Result<String> {
    v.open("#stop=1")?;
    v.until_time(0.2)?;
    let names = "byway.view().lanes.map(l => l.policy).join()";
    let before = v.value(names)?;
    v.value("document.querySelector('.lane:nth-child(1) select').focus()")?;
    v.key("ArrowDown")?;
    v.until("another policy", &format!("{names} !== {before}"))?;
    ensure!(
        v.value("document.activeElement === document.querySelector('.lane:nth-child(1) select')")?
            == json!(true),
        "the focus is lost"
    );
    ensure!(
        v.value("document.getElementById('wrong').hidden")? == json!(true),
        "something is wrong"
    );
    Ok(String::new())
}
