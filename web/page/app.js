// The page: the scene that is shown, its address, and the tour.
"use strict";

const $ = id => document.getElementById(id);
const TOUR = window.BYWAY_TOUR;
const CALM = window.matchMedia("(prefers-reduced-motion: reduce)");
// `asOpened` is the text of the scene without what the visitor did; `changed`, whether it is another one.
let scene = null, stop = -1, asOpened = "", hint = "", playing = false, finishing = false, view = null, changed = false;
let lastCommand = "", failed = false, memory = null;
let shownPaths = "";

const words = e => typeof e === "string" ? e : e && e.message || String(e);

function say(text) { $("said").textContent = text; }

// Tells what is wrong with the scene, or with what the visitor did.
function tell(id, text = "") {
  if ($(id).textContent === text) return;
  $(id).textContent = text;
  $(id).hidden = !text;
}

async function program() {
  const packed = Uint8Array.from(atob(window.BYWAY_PROGRAM), c => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  memory = (await wasm_bindgen({ module_or_path: await new Response(stream).arrayBuffer() })).memory;
}

function show(next, number) {
  if (scene) scene.free();
  scene = next;
  stop = number;
  asOpened = scene.toml();
  changed = false;
  finishing = false;
  playing = !CALM.matches;
  tell("error");
  tell("wrong");
  unwatch();
  rebuild();
}

// Keys are named as long as they act.
function hintWords() { $("stop-try").textContent = keysOn ? hint : hint.replace(/ \(key \d\)/g, ""); }

// Fills the tour's place: with a stop, or with what stands there for another scene.
function guide(title, text, tryThis, figure, caption, paper, speed = 1) {
  $("stop-title").textContent = title;
  $("stop-text").textContent = text;
  hint = tryThis;
  hintWords();
  $("figure").replaceChildren(...figure);
  $("figure-caption").textContent = caption;
  $("figure-paper").textContent = paper;
  document.querySelector("figure").hidden = figure.length === 0;
  [...$("stops").querySelectorAll("button")].forEach((b, i) => i === stop ? b.setAttribute("aria-current", "step") : b.removeAttribute("aria-current"));
  $("speed").value = Math.log10(speed);
  speedWords();
  explain();
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
  try { history.pushState(null, "", `#stop=${number + 1}`); settled(); } catch { /* Some browsers forbid it for files. */ }
}

function openStop(number) {
  const shown = TOUR[number];
  try { show(new wasm_bindgen.Scene(shown.name, shown.scene), number); } catch (e) { tell("error", words(e)); return; }
  guide(`${number + 1}. ${shown.title}`, shown.text, "Try: " + shown.try, [figure(shown)], shown.caption, shown.paper, shown.speed);
  address();
}

function fromAddress() {
  if (failed) return;
  // What was wrong with the address before.
  tell("error");
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

// No address is due any more.
function settled() { clearTimeout(addressed); addressed = 0; }

function write(onlyIfDue) {
  if (onlyIfDue === true && !addressed) return;
  settled();
  if (!scene) return;
  const hash = stop >= 0 && !changed ? `#stop=${stop + 1}` : fragment();
  if (!hash) return;
  try { history.replaceState(null, "", hash); } catch { /* Some browsers forbid it for files. */ }
}

// What the visitor does: `act` changes the scene, or throws what is wrong with that.
function change(act, done) {
  try {
    act();
    tell("wrong");
    changed = scene.toml() !== asOpened;
    finishing = false;
    unwatch();
    if (done) say(done);
    address();
  } catch (e) {
    if (broken(e)) return;
    tell("wrong", words(e));
  }
  look();
  controls();
}

// What tests and the curious may ask.
window.byway = {
  pace: () => pace(), steps: () => mostSteps, events: () => [mostOfStep, mostOfFrame],
  json: () => scene.json(), toml: () => scene.toml(), fragment: () => scene.fragment(), now: () => scene.now(), over: () => scene.is_over(),
  stop: () => stop + 1, frames: () => framesShown, view: () => JSON.parse(scene.view()), packets: lane => scene.marks(lane).length / 6, memory: () => memory.buffer.byteLength,
};

program().then(() => {
  buttons();
  glossary();
  legend();
  fromAddress();
  // What was due was that of the entry before; hashchange comes later than this.
  window.addEventListener("popstate", settled);
  window.addEventListener("hashchange", fromAddress);
  keysAsBefore();
  window.addEventListener("keydown", keys);
  window.addEventListener("resize", () => { drawn = charted = 0; });
  document.body.dataset.ready = "yes";
  requestAnimationFrame(at => { last = at; tick(at); });
}).catch(e => tell("error", `The page cannot start: ${words(e)}. It needs a browser of 2023 or later.`));
