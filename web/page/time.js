// Time: how fast it goes, what runs in a frame, and what is drawn then.
"use strict";

// Of a frame, milliseconds: the rest of its sixteen are for drawing. In each step every policy handles at
// most so many events, and in a frame there are at most so many steps.
const BUDGET = 6, EVENTS = 2000, STEPS = 64;
// Bytes of the program's memory at which no further step begins: a quarter of what there is (web/build), because lists
// grow by doubling, and the old one is still there then. So a step may end with three times as much.
const FULL = 256 * 2 ** 20;
// Simulated seconds of the next step: other traffic on a path is not counted among the events.
let reach = 0.01;
let last = 0, drawn = 0, charted = 0, slow = 0, framesShown = 0, mostSteps = 0;
// Most events of a step, and of a frame.
let mostOfStep = 0, mostOfFrame = 0;

// What the visitor has chosen: simulated seconds in a second.
const speed = () => 10 ** +$("speed").value;

// --- slow motion at events ------------------------------------------------------------------

// In slow motion a packet takes CROSSING seconds of the visitor over the fastest path, and a moment is watched
// for WATCH seconds. Slower than SLOWEST nothing would happen between two packets.
const CROSSING = 0.8, WATCH = 3, SLOWEST = 0.02;
// What was seen of each policy since the last event, and until when that is watched; until when nothing is.
let seen = [], watched = 0, hurried = 0, passedEvents = -1;

const slowest = () => Math.max(SLOWEST, Math.min(...view.paths.map(p => p.delay_s)) / CROSSING);

// The times that are watched, whatever happens then: the set-up with the first data, and the scene's events.
function moments(slow) {
  const setUp = [0, Math.max(WATCH * slow, 7 * view.paths[0].delay_s)];
  return [setUp, ...view.events.map(e => [e.at - slow, e.at + WATCH * slow])];
}

// Watches the first timeout and the first move to another path of each policy, after the start and after
// each event.
function watch() {
  const slow = slowest(), events = view.events.filter(e => e.at <= view.now).length;
  const fresh = events !== passedEvents || seen.length !== view.lanes.length;
  passedEvents = events;
  const total = l => l.paths.reduce((sum, p) => sum + p.timeouts, 0);
  if (fresh) seen = view.lanes.map(l => ({ timeouts: total(l), failovers: l.failovers, first: false, moved: false }));
  view.lanes.forEach((l, i) => {
    const was = seen[i];
    const first = !was.first && total(l) > was.timeouts, moved = !was.moved && l.failovers > was.failovers;
    was.first ||= first;
    was.moved ||= moved;
    if (first || moved) watched = Math.max(watched, view.now + WATCH / 2 * slow);
  });
}

// Forgets what was watched: time goes back, or all is computed again.
function unwatch() { seen = []; watched = hurried = 0; passedEvents = -1; }

const isWatched = (now, slow) => now >= hurried && (now < watched || moments(slow).some(([from, to]) => now >= from && now < to));

// Simulated seconds in a second at the moment.
function pace() {
  const slow = slowest();
  return $("slow").checked && isWatched(scene.now(), slow) ? Math.min(speed(), slow) : speed();
}

// Where time may go in a frame: not over the beginning of what is watched.
function next(now, passed) {
  const to = now + passed * pace();
  if (!$("slow").checked) return to;
  const ahead = moments(slowest()).map(m => m[0]).filter(from => from > now && from >= hurried);
  return Math.min(to, ...ahead);
}

// Who changes the speed in slow motion leaves it.
function hurry() { if (view) hurried = view.now + (WATCH + 1) * slowest(); }

function paceWords() {
  const now = pace(), times = now < 1 ? 1 / now : now, number = +times.toPrecision(2);
  const compared = number === 1 ? "real time" : `${number} times ${now < 1 ? "slower" : "faster"} than real time`;
  return now < speed() ? `slow motion: ${compared}` : compared;
}

// --- a frame --------------------------------------------------------------------------------

// When the program itself fails, as without memory, nothing of it can be used any more.
function broken(e) {
  if (!(e instanceof WebAssembly.RuntimeError)) return false;
  scene = null;
  failed = true;
  document.querySelector("main").hidden = true;
  tell("error", `The simulation has failed (${words(e)}): perhaps the scene needs more memory than the page has, 1 GiB. Load the page again, or begin with the tour. The command has all of your machine's memory: ${lastCommand}`);
  $("again").hidden = false;
  return true;
}

// A scene that needs too much memory goes no further; what it has shown stays.
function isFull() {
  if (memory.buffer.byteLength < FULL) return false;
  playing = finishing = false;
  tell("wrong", `The scene is stopped: the simulation has ${Math.round(memory.buffer.byteLength / 2 ** 20)} MiB of memory, and the page allows ${FULL / 2 ** 20} MiB. Load the page again for another scene, and run this one with the command, which has all of your machine's memory.`);
  $("again").hidden = false;
  return true;
}

// Runs on for at most `budget` milliseconds; what cannot be run is told.
function run(until, shown, budget) {
  const end = performance.now() + budget;
  let steps = 0, moved = false;
  const first = scene.handled();
  try {
    do {
      if (isFull()) { slow = 0; controls(); return true; }
      mostSteps = Math.max(mostSteps, ++steps);
      const from = performance.now(), to = Math.min(until, scene.now() + reach), before = scene.handled();
      const reached = scene.advance(to, EVENTS, shown), took = performance.now() - from;
      mostOfStep = Math.max(mostOfStep, scene.handled() - before);
      mostOfFrame = Math.max(mostOfFrame, scene.handled() - first);
      if (took > 4) reach = Math.max(reach / 2, 1e-3); else if (took < 1) reach = Math.min(reach * 2, 1e6);
      moved ||= reached;
      if (reached && to >= until) { slow = 0; return true; }
    } while (performance.now() < end && steps < STEPS);
  } catch (e) { if (!broken(e)) tell("wrong", words(e)); playing = finishing = false; return true; }
  slow = moved ? 0 : slow + 1;
  return false;
}

function tick(at) {
  requestAnimationFrame(tick);
  if (!scene) return;
  const passed = Math.min(at - last, 100) / 1000;
  last = at;
  const shown = 0.5 * pace();
  if (finishing) run(view.limit, shown, 2 * BUDGET);
  else run(playing ? next(scene.now(), passed) : scene.now(), shown, BUDGET);
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
  watch();
  $("pace").textContent = paceWords();
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
    `; longest stall ${lane.longest ? seconds(lane.longest[1]) : "-"}; sent again ${lane.retransmissions}; failovers ${lane.failovers}${lane.spurious_failovers === null ? "" : `, of these spurious ${lane.spurious_failovers}`}. `,
    make("span", { className: "end" }, end));
  lane.paths.forEach((p, k) => {
    const cells = box.querySelectorAll("tbody tr")[k].querySelectorAll("td");
    [STATES[p.state], bytes(p.cwnd), seconds(p.rto), `${p.timeouts}`, `${p.given_up}`].forEach((t, c) => { if (cells[c].textContent !== t) cells[c].textContent = t; });
  });
  box.querySelector(".net").setAttribute("aria-label", `Network of ${lane.policy}: ` + lane.paths.map((p, k) => `${view.paths[k].name} ${STATES[p.state]}${view.paths[k].up ? "" : ", cut"}`).join("; "));
  box.querySelector(".charts").setAttribute("aria-label", `Windows, states, TSNs and reader of ${lane.policy} over time`);
}

function ended() { say(view.lanes.map(l => `${l.policy}: ${outcome(l)}`).join("; ")); }
