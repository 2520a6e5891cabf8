// Buttons and keys.
"use strict";

function play(on) { if (finishing) return; if (scene.is_over() && on) fromStart(false); playing = on; finishing = false; controls(); }

function addLane() {
  const names = view.lanes.map(l => l.policy), free = view.policies.find(n => !names.includes(n));
  if (free) choose([...names, free], `${free} is added`);
}

// Time goes back; the scene stays what it is, or becomes what it was when it was opened.
function fromStart(reset) {
  change(() => scene.restart(reset));
  // The policies may be others.
  if (reset && !failed) rebuild();
}

function again(reset) { fromStart(reset); if (failed) return; playing = !CALM.matches; controls(); }

function buttons() {
  const on = (id, act) => $(id).addEventListener("click", act);
  // Its address is not one of a scene.
  $("skip").addEventListener("click", event => { event.preventDefault(); $("stage").focus(); });
  on("play", () => play(!playing));
  on("step", () => { if (finishing) return; playing = false; run(next(scene.now(), 0.02), 0.5 * pace(), 100); charted = 0; controls(); });
  on("restart", () => again(false));
  on("reset", () => again(true));
  on("finish", () => { playing = false; finishing = true; controls(); });
  on("add-lane", addLane);
  on("undo", undo);
  on("again", () => { history.replaceState(null, "", location.pathname + location.search); location.reload(); });
  on("previous", () => stop > 0 && goTo(stop - 1));
  on("next", () => stop < TOUR.length - 1 && goTo(stop + 1));
  on("copy-address", copyAddress);
  on("copy-command", () => copy(command(), "the command"));
  on("save-toml", () => save(fileName() + ".toml", "application/toml", scene.toml()));
  on("save-json", () => save(fileName() + ".json", "application/json", scene.json() || ""));
  $("open").addEventListener("change", openFile);
  $("seed").addEventListener("change", () => change(() => scene.seed($("seed").value), "another seed"));
  $("speed").addEventListener("input", () => { hurry(); speedWords(); });
  $("keys-on").addEventListener("change", () => { switchKeys($("keys-on").checked); say(`keyboard shortcuts are ${keysOn ? "on" : "off"}`); });
  $("stops").append(...TOUR.map((s, i) => make("li", {}, make("button", { type: "button", title: s.title, "aria-label": `Stop ${i + 1}: ${s.title}`, onclick: () => goTo(i) }, String(i + 1)))));
}

const speedWords = () => { $("speed-words").textContent = `${+speed().toPrecision(2)}×`; };

// Takes back the last change of a path.
function undo() { change(() => scene.undo(), "the last change is undone"); }

// Shortcuts of one character can be switched off (WCAG 2.2, 2.1.4): people who speak to their computer press keys
// that they do not mean. The choice holds for the session of the browser.
let keysOn = true;

function switchKeys(on) {
  keysOn = $("keys-on").checked = on;
  try { sessionStorage.setItem("byway-keys", on ? "on" : "off"); } catch { /* Some browsers keep nothing for files. */ }
  for (const e of document.querySelectorAll("[aria-keyshortcuts], [data-keys]")) {
    if (e.hasAttribute("aria-keyshortcuts")) e.dataset.keys = e.getAttribute("aria-keyshortcuts");
    if (on) e.setAttribute("aria-keyshortcuts", e.dataset.keys); else e.removeAttribute("aria-keyshortcuts");
  }
  hintWords();
  if (view) controls();
}

function keysAsBefore() {
  let kept = null;
  try { kept = sessionStorage.getItem("byway-keys"); } catch { /* As above. */ }
  if (kept === "off") switchKeys(false);
}

function keys(event) {
  if (!keysOn || event.ctrlKey || event.altKey || event.metaKey) return;
  const on = event.target, typing = on.matches && on.matches("input[type=text], select, textarea");
  if (typing || (event.key === " " && on.matches && on.matches("button, summary, input"))) return;
  const speedBy = step => { const s = $("speed"); s.value = +s.value + step; s.dispatchEvent(new Event("input")); };
  if (!scene || $("words").open) return;
  const act = { " ": () => play(!playing), ".": () => $("step").click(), r: () => again(false), e: () => $("finish").click(), n: () => $("next").click(), p: () => $("previous").click(),
    u: () => $("undo").click(), s: () => $("slow").click(), "?": () => openWords(),
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
