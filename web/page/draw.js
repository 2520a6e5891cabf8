// Draws packets, charts and the figures of the papers.
"use strict";

// After Okabe and Ito: colour-blind people can tell the first ones apart, and each has a contrast of at
// least 3 on white. Nothing is told by colour alone: lines have dashes, and marks have shapes.
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#7A5C00", "#3A3AA0", "#3A8FBF", "#000000"];
const DASHES = [[], [7, 4], [2, 3], [10, 3, 2, 3], [4, 2], [1, 2], [12, 4], [3, 3]];
const INK = "#1a1a1a", GREY = "#666666";
const LOADS = ["DATA", "DATA sent again", "HEARTBEAT", "HEARTBEAT ACK", "SACK", "set-up and other"];
const STATES = { unconfirmed: "unconfirmed", active: "active", potentially_failed: "potentially failed", inactive: "inactive" };
const FONT = "12px system-ui, sans-serif";

// A canvas of the size in which it is shown, with sharp lines.
function prepare(canvas, height) {
  const width = Math.max(200, canvas.clientWidth);
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.height = height + "px";
  }
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  pen.font = FONT;
  pen.lineWidth = 1;
  pen.setLineDash([]);
  pen.textBaseline = "middle";
  return [pen, width];
}

// One packet: its shape says what it carries.
function packet(pen, load, colour, x, y) {
  pen.fillStyle = pen.strokeStyle = colour;
  pen.beginPath();
  if (load === 0) {
    pen.fillRect(x - 4, y - 4, 8, 8);
  } else if (load === 1) { // A hollow diamond with a point.
    pen.lineWidth = 2;
    pen.moveTo(x, y - 7); pen.lineTo(x + 7, y); pen.lineTo(x, y + 7); pen.lineTo(x - 7, y); pen.closePath();
    pen.fillStyle = "#ffffff"; pen.fill(); pen.stroke();
    pen.fillStyle = colour; pen.fillRect(x - 1.5, y - 1.5, 3, 3);
  } else if (load === 2 || load === 3) { // A ring; the answer is filled.
    pen.lineWidth = 2;
    pen.arc(x, y, 5, 0, 7);
    if (load === 3) pen.fill(); else { pen.fillStyle = "#ffffff"; pen.fill(); pen.stroke(); }
  } else if (load === 4) { // A small triangle.
    pen.moveTo(x - 4, y); pen.lineTo(x + 3, y - 4); pen.lineTo(x + 3, y + 4); pen.fill();
  } else {
    pen.fillRect(x - 1.5, y - 6, 3, 12);
  }
  pen.lineWidth = 1;
}

// The mark of a path, or of a line of a figure, by its place: strokes in a square from -1 to 1.
const SHAPES = [
  [[-1, -1, 1, -1, 1, 1, -1, 1, -1, -1]], // square
  [[-1, 0, 1, 0], [0, -1, 0, 1]], // plus
  [[-1, .9, 1, .9, 0, -1, -1, .9]], // triangle
  [[-1, -1, 1, 1], [-1, 1, 1, -1]], // cross
  [[-1, -1, 1, 0], [-1, 1, 1, 0]], // angle
  [[-1, -.9, 1, -.9, 0, 1, -1, -.9]], // triangle on its point
  [[0, -1.2, 0, 1.2]], // upright
  [[-1.2, 0, 1.2, 0]], // flat
];
const shapeOf = i => SHAPES[i % SHAPES.length];
const shapePath = (i, x, y, r) => shapeOf(i).map(s => "M" + s.map((v, k) => (k % 2 ? y + v * r : x + v * r).toFixed(1)).join(" ")).join("");

// The first path has the most DATA, and a full mark.
const spotSize = i => i === 0 ? 1.3 : 2;

// DATA on path `i` in the chart of TSNs.
function spot(pen, i, x, y, r) {
  pen.beginPath();
  for (const s of shapeOf(i)) for (let k = 0; k < s.length; k += 2) pen[k ? "lineTo" : "moveTo"](x + s[k] * r, y + s[k + 1] * r);
  if (shapeOf(i)[0].length > 4) pen.fill(); else pen.stroke();
}

// DATA that was sent again on path `i`: a diamond, filled in another way for each path.
function sentAgain(pen, i, x, y, r) {
  pen.beginPath(); pen.moveTo(x, y - r); pen.lineTo(x + r, y); pen.lineTo(x, y + r); pen.lineTo(x - r, y); pen.closePath();
  pen.stroke();
  if (i % 4 === 1) pen.fill();
  pen.beginPath();
  if (i % 4 === 2) { pen.moveTo(x, y - r); pen.lineTo(x - r, y); pen.lineTo(x, y + r); pen.fill(); }
  if (i % 4 === 3) { pen.moveTo(x - 2 * r, y); pen.lineTo(x + 2 * r, y); pen.stroke(); }
  if (i > 3) { pen.beginPath(); pen.moveTo(x, y - 2 * r); pen.lineTo(x, y - r); pen.stroke(); }
}

// The state of a path as a bar.
function stateBar(pen, state, x, y, w) {
  if (state === "active") pen.fillRect(x, y, w, 8);
  else if (state === "potentially_failed") { for (let s = 0; s < w; s += 6) pen.fillRect(x + s, y, Math.min(3, w - s), 8); }
  else {
    pen.strokeRect(x + .5, y + .5, Math.max(1, w - 1), 7);
    if (state === "inactive") { pen.beginPath(); pen.moveTo(x, y + 4); pen.lineTo(x + w, y + 4); pen.stroke(); }
  }
}

// How a path looks in the charts: its window, its DATA, and what is sent again.
function sample(pen, i) {
  pen.strokeStyle = pen.fillStyle = COLOURS[i];
  pen.lineWidth = 2; pen.setLineDash(DASHES[i]);
  pen.beginPath(); pen.moveTo(1, 8); pen.lineTo(34, 8); pen.stroke();
  pen.lineWidth = 1; pen.setLineDash([]);
  spot(pen, i, 46, 8, 3);
  sentAgain(pen, i, 64, 8, 5);
}

function cross(pen, x, y, share) {
  const r = 4 + 4 * share;
  pen.globalAlpha = 1 - share;
  pen.strokeStyle = INK;
  pen.lineWidth = 2.5;
  pen.beginPath();
  pen.moveTo(x - r, y - r); pen.lineTo(x + r, y + r); pen.moveTo(x + r, y - r); pen.lineTo(x - r, y + r);
  pen.stroke();
  pen.globalAlpha = 1;
  pen.lineWidth = 1;
}

function network(canvas, view, lane, marks, still) {
  const gap = 64, height = view.paths.length * gap + 8;
  const [pen, width] = prepare(canvas, height);
  const left = 34, right = width - 34, from = left + 22, to = right - 6;
  const y = i => 38 + i * gap;
  for (const [x, name] of [[left - 30, "sender"], [right, "reader"]]) {
    pen.fillStyle = "#e8ecef"; pen.strokeStyle = INK;
    pen.fillRect(x, 6, 30, height - 12); pen.strokeRect(x + .5, 6.5, 29, height - 13);
    pen.save();
    pen.translate(x + 15, height / 2); pen.rotate(-Math.PI / 2);
    pen.fillStyle = INK; pen.textAlign = "center"; pen.fillText(name, 0, 0);
    pen.restore();
  }
  const waiting = view.paths.map(() => [0, 0]);
  view.paths.forEach((path, i) => {
    const known = lane.paths[i], colour = COLOURS[i];
    pen.strokeStyle = colour;
    pen.lineWidth = known.state === "active" ? 2.5 : 1.5;
    pen.setLineDash({ active: [], potentially_failed: [9, 5], inactive: [2, 6] }[known.state] || [4, 4]);
    pen.beginPath(); pen.moveTo(left, y(i)); pen.lineTo(right, y(i)); pen.stroke();
    pen.setLineDash([]); pen.lineWidth = 1;
    pen.fillStyle = INK; pen.textAlign = "left";
    const takes = lane.concurrent ? known.state === "active" : lane.data_path === i;
    const data = takes && !lane.outcome ? " ◀ new data" : "";
    pen.fillText(`${i + 1} ${path.name}: ${STATES[known.state]}${data}`, left + 6, y(i) - 24, width - 90);
  });
  for (let k = 0; k < marks.length; k += 6) {
    const [path, forward, load, motion, place, faded] = marks.subarray(k, k + 6);
    if (motion === 0) { waiting[path][forward ? 0 : 1]++; continue; }
    const x = forward ? from + place * (to - from) : to - place * (to - from);
    const at = y(path) + (forward ? -7 : 9);
    if (motion === 2) { cross(pen, x, at, still ? 0 : faded); continue; }
    packet(pen, load, load === 4 || load === 5 ? GREY : COLOURS[path], x, at);
  }
  // Above what is lost there.
  view.paths.forEach((path, i) => {
    if (path.up) return;
    const middle = (from + to) / 2;
    pen.fillStyle = "#ffffff"; pen.fillRect(middle - 26, y(i) - 11, 52, 22);
    pen.strokeStyle = INK; pen.lineWidth = 2; pen.strokeRect(middle - 26, y(i) - 11, 52, 22); pen.lineWidth = 1;
    pen.fillStyle = INK; pen.textAlign = "center"; pen.font = "bold " + FONT; pen.fillText("✂ cut", middle, y(i)); pen.font = FONT;
  });
  pen.textAlign = "left";
  waiting.forEach(([there], i) => {
    if (there === 0) return;
    pen.fillStyle = COLOURS[i];
    const tall = Math.min(there, 26);
    pen.fillRect(left + 5, y(i) + 24 - tall, 9, tall);
    pen.fillStyle = INK; pen.fillText(`${there} wait`, left + 18, y(i) + 20);
  });
}

// A round number of at most `most` steps up to `value`.
function stepFor(value, most) {
  const rough = value / most, power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map(k => k * power).find(s => s >= rough);
}

function short(v) {
  if (v >= 1e6) return +(v / 1e6).toPrecision(3) + " M";
  if (v >= 1e3) return +(v / 1e3).toPrecision(3) + " k";
  return String(+v.toPrecision(3));
}

// A frame with scales, and how to place values in it.
function frame(pen, width, top, height, until, most, title) {
  const left = 52, right = width - 6, bottom = top + height;
  pen.fillStyle = INK; pen.textAlign = "left"; pen.fillText(title, left, top - 8, right - left);
  pen.strokeStyle = "#d5d5d5"; pen.fillStyle = "#333333"; pen.textAlign = "right"; pen.beginPath();
  for (let v = 0, s = stepFor(most, 3); v <= most; v += s) {
    const y = bottom - v / most * height;
    pen.moveTo(left, y); pen.lineTo(right, y); pen.fillText(short(v), left - 4, y);
  }
  pen.textAlign = "center";
  for (let t = 0, s = stepFor(until, 5); t <= until; t += s) {
    const x = left + t / until * (right - left);
    pen.moveTo(x, top); pen.lineTo(x, bottom);
    pen.fillText(short(t) + (t === 0 ? " s" : ""), x, bottom + 9);
  }
  pen.stroke();
  const x = t => left + Math.min(t, until) / until * (right - left), y = v => bottom - Math.min(v, most) / most * height;
  return { x, y, left, right, top, bottom };
}

function greatest(list, least) {
  let most = least;
  for (const points of list) for (let k = 1; k < points.length; k += 2) if (points[k] > most) most = points[k];
  return most * 1.05;
}

function line(pen, at, points, stairs, end) {
  pen.beginPath();
  for (let k = 0; k < points.length; k += 2) {
    const x = at.x(points[k]), y = at.y(points[k + 1]);
    if (k === 0) pen.moveTo(x, y);
    else { if (stairs) pen.lineTo(x, at.y(points[k - 1])); pen.lineTo(x, y); }
  }
  if (end !== undefined && points.length) pen.lineTo(at.x(end), at.y(points[points.length - 1]));
  pen.stroke();
}

// The time that is shown: a scene that is over ends with its last run.
const lastMoment = v => v.over && v.lanes.every(l => l.end !== null) ? Math.min(v.now, Math.max(...v.lanes.map(l => l.end))) : v.now;

// The windows with the states of the paths, the TSNs, and what the reader has.
function charts(canvas, view, lane, curve) {
  const n = view.paths.length, states = 12 * n + 4, height = 372 + states;
  const [pen, width] = prepare(canvas, height);
  const now = Math.min(view.now, lane.end === null ? view.now : lane.end), until = Math.max(1, lastMoment(view) * 1.02);
  const points = Math.min(500, width);
  const ways = view.paths.map((_, i) => i);
  let top = 20;
  const windows = ways.map(i => curve(0, i, points));
  let at = frame(pen, width, top, 90, until, greatest(windows, 4000), "congestion window, bytes");
  windows.forEach((w, i) => {
    pen.strokeStyle = COLOURS[i]; pen.lineWidth = 2; pen.setLineDash(DASHES[i]); line(pen, at, w, true, now);
  });
  pen.setLineDash([]); pen.lineWidth = 1;
  lane.paths.forEach((path, i) => path.fired.forEach(t => {
    pen.fillStyle = COLOURS[i]; pen.textAlign = "center"; pen.fillText("T", at.x(t), at.top + 5 + 11 * i);
  }));
  top = at.bottom + 22;
  lane.paths.forEach((path, i) => {
    path.states.forEach(([from, state], k) => {
      const next = k + 1 < path.states.length ? path.states[k + 1][0] : now;
      const x = at.x(from), w = Math.max(1, at.x(next) - x), y = top + 12 * i;
      pen.fillStyle = pen.strokeStyle = COLOURS[i];
      stateBar(pen, state, x, y, w);
    });
    pen.fillStyle = INK; pen.textAlign = "right"; pen.fillText(`state ${i + 1}`, at.left - 4, top + 4 + 12 * i);
  });
  for (const e of view.events) {
    if (e.at > until) continue;
    pen.strokeStyle = INK; pen.setLineDash([3, 3]); pen.beginPath(); pen.moveTo(at.x(e.at), at.top); pen.lineTo(at.x(e.at), top + 12 * n); pen.stroke(); pen.setLineDash([]);
  }
  top += states + 18;
  const sent = ways.map(i => curve(1, i, points)), again = ways.map(i => curve(2, i, points)), acked = curve(3, 0, points);
  at = frame(pen, width, top, 100, until, greatest([...sent, acked], 10), "TSN: sent on a path, sent again, acknowledged");
  sent.forEach((s, i) => {
    pen.fillStyle = pen.strokeStyle = COLOURS[i];
    for (let k = 0; k < s.length; k += 2) spot(pen, i, at.x(s[k]), at.y(s[k + 1]), spotSize(i));
  });
  again.forEach((s, i) => {
    pen.fillStyle = pen.strokeStyle = COLOURS[i];
    for (let k = 0; k < s.length; k += 2) sentAgain(pen, i, at.x(s[k]), at.y(s[k + 1]), 4);
  });
  pen.strokeStyle = INK; line(pen, at, acked, true, now);
  top = at.bottom + 38;
  const read = curve(4, 0, points);
  at = frame(pen, width, top, 70, until, greatest([read], 1000), "read, bytes; the longest stall is hatched");
  if (lane.longest) {
    const [from, length] = lane.longest, x = at.x(from), w = at.x(from + length) - x;
    pen.save(); pen.beginPath(); pen.rect(x, at.top, w, at.bottom - at.top); pen.clip(); pen.strokeStyle = "#9a6a00"; pen.beginPath();
    for (let s = -80; s < w + 80; s += 8) { pen.moveTo(x + s, at.bottom); pen.lineTo(x + s + 80, at.top - 10); }
    pen.stroke(); pen.restore();
  }
  pen.strokeStyle = INK; pen.lineWidth = 2; line(pen, at, read, true, now); pen.lineWidth = 1;
}

function element(name, attributes, text) {
  const e = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v);
  if (text !== undefined) e.textContent = text;
  return e;
}

// A figure of a paper: byway's lines, and what ns-2 gave as marks.
function figure(stop) {
  const [w, h, left, top, bottom] = [420, 300, 46, 10, 200];
  const names = [...new Set(stop.lines.map(l => l.name))];
  const rows = Math.ceil(names.length / 2) + (stop.lines.some(l => l.simulator === "ns-2") ? 1 : 0);
  const svg = element("svg", { viewBox: `0 0 ${w} ${h - 56 + 16 * rows}`, role: "img", "aria-label": stop.caption, "font-size": 12, "font-family": "system-ui, sans-serif" });
  const all = stop.lines.flatMap(l => l.points);
  const until = Math.max(...all.map(p => p[0])) || 1, most = (Math.max(...all.map(p => p[1])) || 1) * 1.05;
  const x = v => left + v / until * (w - left - 10), y = v => bottom - v / most * (bottom - top);
  for (let v = 0, s = stepFor(most, 5); v <= most; v += s) {
    svg.append(element("line", { x1: left, x2: w - 10, y1: y(v), y2: y(v), stroke: "#ddd" }), element("text", { x: left - 5, y: y(v) + 4, "text-anchor": "end" }, short(v)));
  }
  for (let v = 0, s = stepFor(until, 6); v <= until; v += s) svg.append(element("text", { x: x(v), y: bottom + 15, "text-anchor": "middle" }, short(v)));
  svg.append(element("text", { x: (left + w) / 2, y: bottom + 32, "text-anchor": "middle" }, stop.x));
  svg.append(element("text", { x: 0, y: 0, transform: `translate(10 ${(top + bottom) / 2}) rotate(-90)`, "text-anchor": "middle" }, stop.y));
  for (const l of stop.lines) {
    const i = names.indexOf(l.name), colour = COLOURS[i % 8];
    if (l.simulator === "ns-2") {
      for (const [a, b] of l.points) svg.append(element("path", { d: shapePath(i, x(a), y(b), 4), class: "ns2", "data-line": i, fill: "none", stroke: colour, "stroke-width": 1.5 }));
    } else {
      svg.append(element("polyline", { points: l.points.map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`).join(" "), fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": DASHES[i % 8].join(" ") }));
    }
  }
  names.forEach((name, i) => {
    const [lx, ly] = [10 + (i % 2) * 200, bottom + 52 + 16 * Math.floor(i / 2)];
    svg.append(element("line", { x1: lx, x2: lx + 28, y1: ly - 4, y2: ly - 4, stroke: COLOURS[i % 8], "stroke-width": 2, "stroke-dasharray": DASHES[i % 8].join(" ") }), element("text", { x: lx + 34, y: ly }, name));
    if (stop.lines.some(l => l.name === name && l.simulator === "ns-2")) svg.append(element("path", { d: shapePath(i, lx + 14, ly - 4, 4), fill: "none", stroke: COLOURS[i % 8], "stroke-width": 1.5 }));
  });
  if (stop.lines.some(l => l.simulator === "ns-2")) svg.append(element("text", { x: 10, y: bottom + 52 + 16 * Math.ceil(names.length / 2) }, "the marks alone: ns-2 with the same network"));
  return svg;
}
