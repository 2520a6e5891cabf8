//! For eyes that do not see colours, or not all of them.

use crate::visitor::Visitor;
use anyhow::{Result, ensure};
use serde_json::json;

/// All in black: marks, lines and bars that mean different things look different.
const ALIKE: &str = "(() => {
    COLOURS.fill('#000000');
    const picture = act => { const c = document.createElement('canvas'); c.width = 80; c.height = 24;
        const pen = c.getContext('2d'); pen.fillStyle = pen.strokeStyle = '#000000'; act(pen);
        const d = pen.getImageData(0, 0, 80, 24).data, grey = [];
        for (let k = 0; k < d.length; k += 4) grey.push(255 - d[k + 3] / 255 * (255 - d[k]));
        return grey; };
    const differ = (a, b) => a.filter((x, k) => Math.abs(x - b[k]) > 50).length;
    const paths = [0, 1, 2, 3, 4, 5, 6, 7];
    const line = i => pen => { pen.lineWidth = 2; pen.setLineDash(DASHES[i]); pen.beginPath(); pen.moveTo(0, 12); pen.lineTo(80, 12); pen.stroke(); };
    const groups = {
        packets: [...LOADS.map((_, load) => pen => packet(pen, load, '#000000', 12, 12)), pen => cross(pen, 12, 12, 0)],
        lines: paths.map(line),
        'DATA of paths': paths.map(i => pen => spot(pen, i, 12, 12, spotSize(i))),
        'DATA sent again': paths.map(i => pen => sentAgain(pen, i, 12, 12, 4)),
        'signs of paths': paths.map(i => pen => sample(pen, i)),
        states: Object.keys(STATES).map(s => pen => stateBar(pen, s, 10, 8, 18)),
        // Two that are the same: they must be found.
        control: [line(0), line(0)],
    };
    const alike = [];
    for (const [name, acts] of Object.entries(groups)) {
        const seen = acts.map(picture);
        seen.forEach((a, i) => { for (let j = 0; j < i; j++) if (differ(a, seen[j]) < 5) alike.push(`${name} ${j} and ${i}`); });
    }
    return alike;
})()";

/// Lines of each figure by their dashes, and ns-2's marks by their shapes.
const FIGURES: &str = "BYWAY_TOUR.map(stop => {
    const drawn = figure(stop), names = new Set(stop.lines.map(l => l.name));
    const lines = [...drawn.querySelectorAll('polyline')].map(l => l.getAttribute('stroke-dasharray'));
    return names.size <= SHAPES.length && new Set(lines).size === lines.length;
})";

/// Of each colour on white.
const CONTRASTS: &str = "COLOURS.map(c => { const l = [1, 3, 5].map(k => parseInt(c.slice(k, k + 2), 16) / 255).map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4); return 1.05 / (0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2] + 0.05); })";

/// Nothing is told by colour alone, and lines and marks have a contrast of at least 3 (WCAG 2.2, 1.4.1
/// and 1.4.11).
pub fn nothing_by_colour_alone(v: &Visitor) -> Result<String> {
    let contrasts = v.value(CONTRASTS)?;
    let contrasts = contrasts.as_array().cloned().unwrap_or_default();
    ensure!(contrasts.len() == 8, "{} colours", contrasts.len());
    ensure!(
        contrasts.iter().all(|c| c.as_f64() >= Some(3.0)),
        "contrasts on white: {contrasts:?}"
    );
    let figures = v.value(FIGURES)?;
    ensure!(
        figures == json!(vec![true; 10]),
        "lines of figures that only a colour tells apart: {figures}"
    );
    let alike = v.value(ALIKE)?;
    ensure!(
        alike == json!(["control 0 and 1"]),
        "they look alike: {alike}"
    );
    // States and cuts are words, too.
    v.click("#paths fieldset:nth-child(2) button")?;
    for (what, script) in [
        (
            "the cut",
            "document.querySelector('#paths fieldset:nth-child(2) button').textContent.startsWith('Heal')",
        ),
        (
            "the state",
            "[...document.querySelectorAll('.lane tbody td:nth-child(2)')].every(c => Object.values(STATES).includes(c.textContent))",
        ),
        (
            "the state below the network",
            "[...document.querySelectorAll('.net')].every(c => c.getAttribute('aria-label').includes('alternate') && c.getAttribute('aria-label').includes('cut'))",
        ),
        (
            "the legend of states",
            "Object.values(STATES).every(s => document.getElementById('legend').textContent.includes(s))",
        ),
        (
            "the stop",
            "(s => s.fontWeight >= 700 && s.textDecorationLine === 'underline')(getComputedStyle(document.querySelector('#stops [aria-current]')))",
        ),
    ] {
        v.until(&format!("{what} in words or form"), script)?;
    }
    Ok(String::new())
}
