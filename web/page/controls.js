// Paths and policies: what the visitor turns and chooses.
"use strict";

const RATES = [1e3, 1e9], DELAYS = [1e-4, 10];
const logarithm = ([least, most], v) => Math.log(Math.max(v, least) / least) / Math.log(most / least) * 100;
const power = ([least, most], p) => least * (most / least) ** (p / 100);
const roughly = v => +v.toPrecision(2);
const SLIDERS = {
  rate: { read: p => logarithm(RATES, p.rate_bit_s), write: v => { const r = roughly(power(RATES, v)); return r >= 1e6 ? `${r / 1e6} Mbit/s` : `${r / 1e3} kbit/s`; } },
  delay: { read: p => logarithm(DELAYS, p.delay_s), write: v => { const d = roughly(power(DELAYS, v)); return d < 1e-3 ? `${Math.round(d * 1e6)} us` : `${+(d * 1e3).toPrecision(2)} ms`; } },
  loss: { read: p => Math.sqrt((p.loss_percent || 0) / 100) * 100, write: v => `${+((v / 100) ** 2 * 100).toPrecision(2)} %` },
};

function make(name, attributes, ...children) {
  const e = document.createElement(name);
  for (const [k, v] of Object.entries(attributes)) {
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v); else if (k in e && k !== "list") e[k] = v; else e.setAttribute(k, v);
  }
  e.append(...children);
  return e;
}

function pathControls(path, i) {
  const lines = Object.entries(SLIDERS).map(([key, slider]) => {
    const range = make("input", { type: "range", min: 0, max: 100, step: 1, "aria-label": `${key} of path ${i + 1}`, onchange: () => { delete range.dataset.typed; change(() => scene.set(i, key, slider.write(+range.value)), `${key} of ${path.name} is ${slider.write(+range.value)}`); },
      oninput: () => { range.dataset.typed = "yes"; text.value = slider.write(+range.value); range.setAttribute("aria-valuetext", text.value); } });
    const text = make("input", { type: "text", "aria-label": `${key} of path ${i + 1}, with its unit`, oninput: () => { text.dataset.typed = "yes"; },
      onchange: () => { delete text.dataset.typed; change(() => scene.set(i, key, text.value)); } });
    range.dataset.key = text.dataset.key = key;
    return make("div", { className: "line" }, make("span", {}, key), range, text);
  });
  const cut = make("button", { type: "button", onclick: () => toggle(i) });
  cut.dataset.keys = String(i + 1);
  if (keysOn) cut.setAttribute("aria-keyshortcuts", cut.dataset.keys);
  const look = make("canvas", { width: 76, height: 16, title: "in the charts: window, DATA, DATA sent again" });
  look.setAttribute("aria-hidden", "true");
  sample(look.getContext("2d"), i);
  const box = make("fieldset", { className: "path" }, make("legend", {}, `${i + 1} ${path.name} `, look), cut, ...lines);
  box.style.setProperty("--colour", COLOURS[i]);
  return box;
}

function toggle(i) {
  if (!view || !view.paths[i]) return;
  const up = !view.paths[i].up;
  change(() => scene.switch_path(i, up), `${view.paths[i].name} is ${up ? "healed" : "cut"}`);
}

function choose(names, done) { 
  const at = [...document.querySelectorAll("#lanes select, #add-lane")].indexOf(document.activeElement);
  change(() => scene.choose(names), done);
  if (failed) return;
  rebuild();
  // Who goes through the choices by keyboard goes on there.
  const places = [...document.querySelectorAll("#lanes select, #add-lane")];
  if (at >= 0) places[Math.min(at, places.length - 1)].focus();
}

function laneBox(lane, i) {
  const names = () => view.lanes.map(l => l.policy);
  const select = make("select", { "aria-label": `Policy ${i + 1}`, onchange: () => choose(names().map((n, k) => k === i ? select.value : n), `policy ${i + 1} is ${select.value}`) },
    ...view.policies.map(name => make("option", { value: name, selected: name === lane.policy, disabled: name !== lane.policy && names().includes(name) }, name)));
  const remove = make("button", { type: "button", "aria-label": `Remove policy ${i + 1}`, disabled: view.lanes.length === 1, onclick: () => choose(names().filter((_, k) => k !== i)) }, "✕");
  const rows = view.paths.map((p, k) => make("tr", {}, make("th", { scope: "row" }, `${k + 1} ${p.name}`), ...[0, 1, 2, 3, 4].map(() => make("td", {}))));
  const head = make("thead", {}, make("tr", {}, ...["path", "state", "cwnd", "RTO", "timeouts", "given up"].map(t => make("th", { scope: "col" }, t))));
  return make("article", { className: "lane" }, make("h3", {}, select, remove), make("p", { className: "note" }, lane.note),
    make("canvas", { className: "net", role: "img" }), make("p", { className: "reader" }), make("table", {}, head, make("tbody", {}, ...rows)),
    make("canvas", { className: "charts", role: "img" }));
}

// Builds what depends on the number of paths and policies.
function rebuild() {
  look();
  $("scene-name").textContent = view.name;
  $("scene-words").textContent = view.description + (view.own > 3 ? ` The scene has ${view.own} policies: choose the ones to compare, three at a time.` : "");
  $("paths").replaceChildren(...view.paths.map(pathControls));
  $("lanes").replaceChildren(...view.lanes.map(laneBox));
  $("add-lane").disabled = view.lanes.length >= 3;
  explain();
  controls();
  drawn = charted = 0;
}

// Shows the values that the controls stand for.
function controls() {
  shownPaths = JSON.stringify(view.paths);
  $("play").textContent = playing ? "Pause" : "Play";
  // Until all is computed there is nothing between this moment and the end.
  $("play").disabled = $("step").disabled = finishing;
  $("seed").value = view.seed;
  $("undo").disabled = !view.undo;
  $("save-json").disabled = !view.over;
  $("toml").textContent = scene.toml();
  $("command").textContent = lastCommand = command();
  [...$("paths").children].forEach((box, i) => {
    const path = view.paths[i], button = box.querySelector("button"), key = keysOn ? ` (key ${i + 1})` : "";
    button.textContent = path.up ? `✂ Cut${key}` : `Heal${key}`;
    button.setAttribute("aria-pressed", String(!path.up));
    for (const input of box.querySelectorAll("input")) {
      // What the visitor is at, or has written wrongly, stays.
      if (input.dataset.typed || (input === document.activeElement && input.type === "text" && !$("wrong").hidden)) continue;
      input.value = input.type === "range" ? SLIDERS[input.dataset.key].read(path) : path[input.dataset.key];
      if (input.type === "range") input.setAttribute("aria-valuetext", path[input.dataset.key]);
    }
  });
}

function look() { view = JSON.parse(scene.view()); }
