// The page: time, what the visitor does, and the tour.
"use strict";

const $ = id => document.getElementById(id);
const TOUR = window.BYWAY_TOUR;
const CALM = window.matchMedia("(prefers-reduced-motion: reduce)");
// Of a frame, milliseconds: the rest of its sixteen are for drawing.
const BUDGET = 6, EVENTS = 2000;
// Characters of an address that byway takes (crates/byway-lab/src/address.rs).
const LONGEST = 65536;
let scene = null, stop = -1, playing = false, finishing = false, view = null, changed = false;
let lastCommand = "", failed = false, memory = null;
let shownPaths = "";
let last = 0, drawn = 0, charted = 0, slow = 0, framesShown = 0;

const words = e => typeof e === "string" ? e : e && e.message || String(e);

function say(text) { $("said").textContent = text; }

// Tells what is wrong with the scene, or with what the visitor did.
function tell(id, text) {
  $(id).textContent = text || "";
  $(id).hidden = !text;
}

async function program() {
  const packed = Uint8Array.from(atob(window.BYWAY_PROGRAM), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  memory = (await wasm_bindgen({ module_or_path: await new Response(stream).arrayBuffer() })).memory;
}

// --- scenes ---------------------------------------------------------------------------------

function show(next, number) {
  if (scene) scene.free();
  scene = next;
  stop = number;
  changed = false;
  finishing = false;
  playing = !CALM.matches;
  tell("error");
  tell("wrong");
  rebuild();
}

// Fills the tour's place: with a stop, or with what stands there for another scene.
function guide(title, text, hint, figure, caption, paper) {
  $("stop-title").textContent = title;
  $("stop-text").textContent = text;
  $("stop-try").textContent = hint;
  $("figure").replaceChildren(...figure);
  $("figure-caption").textContent = caption;
  $("figure-paper").textContent = paper;
  document.querySelector("figure").hidden = figure.length === 0;
  [...$("stops").querySelectorAll("button")].forEach((b, i) => i === stop ? b.setAttribute("aria-current", "step") : b.removeAttribute("aria-current"));
  $("previous").disabled = stop <= 0;
  $("next").disabled = stop === TOUR.length - 1;
}

function besideTheTour() {
  guide("A scene of your own", "This scene came with its address or from a file.", "The tour begins at stop 1.", [], "", "");
}

// A stop that the visitor goes to. The browser's way back leads to what was before.
function goTo(number) {
  write(true);
  openStop(number);
  try { history.pushState(null, "", `#stop=${number + 1}`); } catch { /* Some browsers forbid it for files. */ }
}

function openStop(number) {
  const shown = TOUR[number];
  try { show(new wasm_bindgen.Scene(shown.name, shown.scene), number); } catch (e) { tell("error", words(e)); return; }
  guide(`${number + 1}. ${shown.title}`, shown.text, "Try: " + shown.try, [figure(shown)], shown.caption, shown.paper);
  address();
}

function fromAddress() {
  if (failed) return;
  const hash = location.hash;
  const number = /^#stop=(\d{1,2})$/.exec(hash);
  if (hash.startsWith("#scene=")) {
    if (scene && scene.fragment() === hash) return;
    try { show(wasm_bindgen.Scene.of_address(hash), -1); besideTheTour(); return; } catch (e) { tell("error", words(e)); if (scene) { address(); return; } }
    const wrong = $("error").textContent;
    openStop(0);
    tell("error", wrong);
  } else if (number && TOUR[number[1] - 1]) {
    if (stop !== number[1] - 1 || changed) openStop(number[1] - 1);
  } else if (!scene) openStop(0);
  else address();
}

// The address always opens what is shown.
let addressed = 0;
function address() {
  clearTimeout(addressed);
  addressed = setTimeout(write, 300);
}

function write(onlyIfDue) {
  if (onlyIfDue === true && !addressed) return;
  clearTimeout(addressed);
  addressed = 0;
  if (!scene) return;
  const hash = stop >= 0 && !changed ? `#stop=${stop + 1}` : scene.fragment();
  if (hash.length > LONGEST) return;
  try { history.replaceState(null, "", hash); } catch { /* Some browsers forbid it for files. */ }
}

const here = () => location.href.split("#")[0] + scene.fragment();
const TOO_LONG = "The scene is too long for an address: save it as a file.";
const fits = () => scene.fragment().length <= LONGEST;
const quoted = text => "'" + text.replaceAll("'", "'\\''") + "'";
const command = () => fits() ? `byway run ${quoted(here())}` : `byway run ${fileName()}.toml`;

// What the visitor does: `act` changes the scene, or throws what is wrong with that.
function change(act, done) {
  try {
    act();
    tell("wrong");
    changed = true;
    finishing = false;
    if (done) say(done);
    address();
  } catch (e) {
    if (broken(e)) return;
    tell("wrong", words(e));
  }
  look();
  controls();
}

// --- controls -------------------------------------------------------------------------------

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
  cut.setAttribute("aria-keyshortcuts", String(i + 1));
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
  const rows = view.paths.map((p, k) => make("tr", {}, make("th", { scope: "row" }, `${k + 1} ${p.name}`), ...[0, 1, 2, 3].map(() => make("td", {}))));
  const head = make("thead", {}, make("tr", {}, ...["path", "state", "cwnd", "RTO", "timeouts"].map(t => make("th", { scope: "col" }, t))));
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
  $("save-json").disabled = !view.over;
  $("toml").textContent = scene.toml();
  $("command").textContent = lastCommand = command();
  [...$("paths").children].forEach((box, i) => {
    const path = view.paths[i], button = box.querySelector("button");
    button.textContent = path.up ? `✂ Cut (key ${i + 1})` : `Heal (key ${i + 1})`;
    button.setAttribute("aria-pressed", String(!path.up));
    for (const input of box.querySelectorAll("input")) {
      // What the visitor is at, or has written wrongly, stays.
      if (input.dataset.typed || (input === document.activeElement && input.type === "text" && !$("wrong").hidden)) continue;
      input.value = input.type === "range" ? SLIDERS[input.dataset.key].read(path) : path[input.dataset.key];
      if (input.type === "range") input.setAttribute("aria-valuetext", path[input.dataset.key]);
    }
  });
}

// A seed has more digits than a number of this language.
function look() { view = JSON.parse(scene.view().replace(/"seed":(\d+)/, '"seed":"$1"')); }

// The time that is shown: a scene that is over ends with its last run.
const lastMoment = v => v.over && v.lanes.every(l => l.end !== null) ? Math.min(v.now, Math.max(...v.lanes.map(l => l.end))) : v.now;

// --- time -----------------------------------------------------------------------------------

const speed = () => 10 ** +$("speed").value;

// When the program itself fails, as without memory, nothing of it can be used any more.
function broken(e) {
  if (!(e instanceof WebAssembly.RuntimeError)) return false;
  scene = null;
  failed = true;
  document.querySelector("main").hidden = true;
  tell("error", `The simulation has failed (${words(e)}): perhaps the scene needs more memory than a page has. Load the page again, and run the scene with the command: ${lastCommand}`);
  return true;
}

// Runs on for at most `budget` milliseconds; what cannot be run is told.
function run(until, shown, budget) {
  const end = performance.now() + budget;
  try {
    do { if (scene.advance(until, EVENTS, shown)) { slow = 0; return true; } } while (performance.now() < end);
  } catch (e) { if (!broken(e)) tell("wrong", words(e)); playing = finishing = false; return true; }
  slow++;
  return false;
}

function tick(at) {
  requestAnimationFrame(tick);
  if (!scene) return;
  const passed = Math.min(at - last, 100) / 1000;
  last = at;
  const shown = 0.5 * speed();
  if (finishing) run(view.limit, shown, 2 * BUDGET);
  else run(scene.now() + (playing ? passed * speed() : 0), shown, BUDGET);
  if (!scene) return;
  $("computing").hidden = slow < 6;
  if (scene.is_over() && (playing || finishing)) { playing = finishing = false; drawn = charted = 0; look(); ended(); controls(); }
  const still = CALM.matches;
  if (still && at - drawn < 250) return;
  drawn = at;
  if (draw(at, still)) framesShown++;
}

function draw(at, still) {
  // While all is computed again after a change, the last picture stays.
  if (slow > 0 && !finishing) return false;
  look();
  // The scene's own events change paths, too.
  if (JSON.stringify(view.paths) !== shownPaths) controls();
  const now = lastMoment(view);
  $("clock").textContent = now.toFixed(now < 100 ? 3 : 1) + " s";
  const all = at - charted > (still ? 500 : 120);
  if (all) charted = at;
  [...$("lanes").children].forEach((box, i) => {
    const lane = view.lanes[i];
    if (!lane) return;
    network(box.querySelector(".net"), view, lane, scene.marks(i), still);
    // One lane's charts in a frame, in turn.
    if (all || Math.floor(at / 40) % view.lanes.length === i) texts(box, lane);
    if (all) charts(box.querySelector(".charts"), view, lane, (kind, path, points) => scene.curve(i, kind, path, points));
  });
  return true;
}

const seconds = s => s >= 100 ? s.toFixed(0) + " s" : s >= 10 ? s.toFixed(1) + " s" : s >= 1 ? s.toFixed(2) + " s" : Math.round(s * 1000) + " ms";
const bytes = b => b >= 1e6 ? (b / 1e6).toFixed(2) + " MB" : b >= 1e3 ? (b / 1e3).toFixed(1) + " kB" : b + " B";

function outcome(lane) {
  switch (lane.outcome && lane.outcome.is) {
    case "complete": return `complete after ${seconds(lane.transfer ?? lane.end)}`;
    case "lost": return `the association is lost: ${lane.outcome.reason}. Restart or reset to try again.`;
    case "out_of_time": return "the scene's time is over";
    case "out_of_events": return "the scene's events are used up";
    default: return "";
  }
}

function texts(box, lane) {
  const waits = lane.waiting !== null && lane.waiting > 0.3 && !lane.outcome;
  const reader = box.querySelector(".reader"), end = outcome(lane);
  reader.replaceChildren(`Reader: ${bytes(lane.read_bytes)} of ${bytes(view.total_bytes)}; `,
    make("span", { className: waits ? "stalled" : "" }, lane.waiting === null || lane.outcome ? "not waiting" : (waits ? "STALLED for " : "waiting ") + seconds(lane.waiting)),
    `; longest stall ${lane.longest ? seconds(lane.longest[1]) : "-"}; sent again ${lane.retransmissions}; failovers ${lane.failovers}. `,
    make("span", { className: "end" }, end));
  lane.paths.forEach((p, k) => {
    const cells = box.querySelectorAll("tbody tr")[k].querySelectorAll("td");
    [STATES[p.state], bytes(p.cwnd), seconds(p.rto), `${p.timeouts}`].forEach((t, c) => { if (cells[c].textContent !== t) cells[c].textContent = t; });
  });
  box.querySelector(".net").setAttribute("aria-label", `Network of ${lane.policy}: ` + lane.paths.map((p, k) => `${view.paths[k].name} ${STATES[p.state]}${view.paths[k].up ? "" : ", cut"}`).join("; "));
  box.querySelector(".charts").setAttribute("aria-label", `Windows, states, TSNs and reader of ${lane.policy} over time`);
}

function ended() { say(view.lanes.map(l => `${l.policy}: ${outcome(l)}`).join("; ")); }

// --- buttons and keys -----------------------------------------------------------------------

function play(on) { if (finishing) return; if (scene.is_over() && on) fromStart(false); playing = on; finishing = false; controls(); }

// Opens a dialog to save `text`.
function save(name, type, text) {
  const link = make("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

async function copy(text, what) {
  try { await navigator.clipboard.writeText(text); } catch {
    // Without leave for the clipboard, as in a page from a folder.
    const box = make("textarea", { value: text });
    document.body.append(box);
    box.select();
    document.execCommand("copy");
    box.remove();
  }
  say(`${what} is copied`);
}

const fileName = () => (view.name.replace(/[^A-Za-z0-9]+/g, "-").replace(/^-|-$/g, "") || "scene").toLowerCase();

function addLane() {
  const names = view.lanes.map(l => l.policy), free = view.policies.find(n => !names.includes(n));
  if (free) choose([...names, free], `${free} is added`);
}

// Time goes back; the scene stays what it is, or becomes what it was when it was opened.
function fromStart(asOpened) {
  const was = changed;
  change(() => scene.restart(asOpened));
  changed = asOpened && stop >= 0 ? false : was;
}

function again(asOpened) { fromStart(asOpened); playing = !CALM.matches; controls(); }

async function openFile() {
  const file = $("open").files[0];
  if (!file) return;
  try {
    if (file.size > 1 << 18) throw `${file.name} has ${file.size} bytes; a scene has at most ${1 << 18}`;
    show(new wasm_bindgen.Scene(file.name, await file.text()), -1);
    besideTheTour(); changed = true; address();
    say(`${file.name} is opened`);
    $("scene-name").scrollIntoView({ block: "center" });
  } catch (e) {
    tell("error", words(e));
    $("error").scrollIntoView({ block: "center" });
  }
  $("open").value = "";
}

function buttons() {
  const on = (id, act) => $(id).addEventListener("click", act);
  // Its address is not one of a scene.
  $("skip").addEventListener("click", event => { event.preventDefault(); $("stage").focus(); });
  on("play", () => play(!playing));
  on("step", () => { if (finishing) return; playing = false; run(scene.now() + 0.02 * speed(), 0.5 * speed(), 100); charted = 0; controls(); });
  on("restart", () => again(false));
  on("reset", () => again(true));
  on("finish", () => { playing = false; finishing = true; controls(); });
  on("add-lane", addLane);
  on("previous", () => stop > 0 && goTo(stop - 1));
  on("next", () => stop < TOUR.length - 1 && goTo(stop + 1));
  on("copy-address", () => { if (fits()) copy(here(), "the address"); else tell("wrong", TOO_LONG); });
  on("copy-command", () => copy(command(), "the command"));
  on("save-toml", () => save(fileName() + ".toml", "application/toml", scene.toml()));
  on("save-json", () => save(fileName() + ".json", "application/json", scene.json() || ""));
  $("open").addEventListener("change", openFile);
  $("seed").addEventListener("change", () => change(() => scene.seed($("seed").value), "another seed"));
  $("speed").addEventListener("input", () => { $("speed-words").textContent = `${+speed().toPrecision(2)}×`; });
  $("stops").append(...TOUR.map((s, i) => make("li", {}, make("button", { type: "button", title: s.title, "aria-label": `Stop ${i + 1}: ${s.title}`, onclick: () => goTo(i) }, String(i + 1)))));
}

function keys(event) {
  if (event.ctrlKey || event.altKey || event.metaKey) return;
  const on = event.target, typing = on.matches && on.matches("input[type=text], select, textarea");
  if (typing || (event.key === " " && on.matches && on.matches("button, summary, input"))) return;
  const speedBy = step => { const s = $("speed"); s.value = +s.value + step; s.dispatchEvent(new Event("input")); };
  if (!scene) return;
  const act = { " ": () => play(!playing), ".": () => $("step").click(), r: () => again(false), e: () => $("finish").click(), n: () => $("next").click(), p: () => $("previous").click(),
    "+": () => speedBy(0.25), "-": () => speedBy(-0.25) }[event.key] || (/^[1-8]$/.test(event.key) && (() => toggle(event.key - 1)));
  if (!act) return;
  event.preventDefault();
  // A key that is held down goes on with time and speed alone.
  if (!event.repeat || [".", "+", "-"].includes(event.key)) act();
}

function legend() {
  const items = LOADS.map((name, load) => [name, pen => packet(pen, load, load > 3 ? GREY : COLOURS[0], 10, 10)]);
  items.push(["lost", pen => cross(pen, 10, 10, 0)]);
  for (const state of ["active", "potentially_failed", "inactive", "unconfirmed"]) {
    items.push([STATES[state], pen => { pen.fillStyle = pen.strokeStyle = INK; stateBar(pen, state, 1, 6, 18); }]);
  }
  $("legend").append(...items.map(([name, show]) => {
    const canvas = make("canvas", { width: 20, height: 20 });
    canvas.setAttribute("aria-hidden", "true");
    show(canvas.getContext("2d"));
    return make("li", {}, canvas, name);
  }), make("li", {}, "T in the chart: timeout (T3-rtx)"), make("li", {}, "between the hosts: a full line is active, long dashes potentially failed, dots inactive, short dashes unconfirmed"));
}

// What tests and the curious may ask.
window.byway = {
  json: () => scene.json(), toml: () => scene.toml(), fragment: () => scene.fragment(), now: () => scene.now(), over: () => scene.is_over(),
  stop: () => stop + 1, frames: () => framesShown, view: () => JSON.parse(scene.view()), packets: lane => scene.marks(lane).length / 6, memory: () => memory.buffer.byteLength,
};

program().then(() => {
  buttons();
  legend();
  fromAddress();
  window.addEventListener("hashchange", fromAddress);
  window.addEventListener("keydown", keys);
  window.addEventListener("resize", () => { drawn = charted = 0; });
  document.body.dataset.ready = "yes";
  requestAnimationFrame(at => { last = at; tick(at); });
}).catch(e => tell("error", `The page cannot start: ${words(e)}. It needs a browser of 2023 or later.`));
