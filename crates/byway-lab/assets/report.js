"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  if (!data.runs.length) {
    document.querySelectorAll("main section").forEach((section) => { section.hidden = true; });
    return;
  }
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (i) => css("--c" + (i % 8));
  const el = (id) => document.getElementById(id);
  const end = Math.max(...data.runs.map((r) => r.end), data.end || 0, 0.001);
  // What the first chart draws. Of a run: its TSNs, of which those below an earlier one came late.
  const lines = data.lines || data.runs.map((run) => {
    const line = { t: [], v: [] }, dots = { t: [], v: [] };
    let most = -1;
    run.received.t.forEach((time, k) => {
      const value = run.received.v[k];
      if (value > most) most = value;
      else { dots.t.push(time); dots.v.push(value); }
      line.t.push(time);
      line.v.push(most);
    });
    return { name: run.policy, end: run.end, line, dots };
  });
  // The paths of a run, and what happened to them: those of the scenario, or its own.
  const namesOf = (run) => run.names || data.paths;
  const eventsOf = (run) => run.events || data.events;
  const STATES = {
    active: ["active", "--active"],
    potentially_failed: ["potentially failed", "--suspect"],
    inactive: ["inactive", "--inactive"],
    unconfirmed: ["unconfirmed", "--unconfirmed"],
  };
  const charts = [];
  let range = null; // seconds shown by all charts; null is everything
  let shown = 0; // the policy inside of which one looks

  const number = (x, digits) => x.toLocaleString("en", { maximumFractionDigits: digits });

  // The index of the last known value at or before the cursor: curves are steps.
  const held = (u, series, hovered) => {
    const values = u.data[series];
    let i = hovered;
    while (i > 0 && values[i] == null) i -= 1;
    return i;
  };

  // Vertical lines where the script does something to a path.
  const marks = (own) => ({
    hooks: {
      draw: (u) => {
        const { ctx, bbox } = u;
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
        ctx.textBaseline = "top";
        eventsOf(data.runs[shown]).forEach((event, i) => {
          const x = Math.round(u.valToPos(event.at, "x", true));
          ctx.strokeStyle = ctx.fillStyle = css(event.failure ? "--mark" : "--quiet");
          ctx.lineWidth = devicePixelRatio;
          ctx.setLineDash([5 * devicePixelRatio, 4 * devicePixelRatio]);
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          if (own.labels && event.label !== false) {
            const run = data.runs[shown];
            const text = `${(run.short || namesOf(run))[event.path]} ${event.words}`;
            const pad = 4 * devicePixelRatio;
            const right = x + pad + ctx.measureText(text).width > bbox.left + bbox.width;
            ctx.textAlign = right ? "right" : "left";
            ctx.fillText(text, right ? x - pad : x + pad, bbox.top + pad + (i % (data.lines ? 6 : 3)) * 14 * devicePixelRatio);
          }
        });
        ctx.restore();
      },
    },
  });

  const axis = (label, more) => ({
    stroke: css("--quiet"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--line"), width: 1 },
    label, labelSize: 18, labelFont: "12px system-ui, sans-serif", font: "12px system-ui, sans-serif", ...more,
  });

  const show = (min, max) => {
    range = max - min >= end * 0.999 ? null : [min, max];
    charts.forEach((c) => c.setScale("x", { min: range ? range[0] : 0, max: range ? range[1] : c.whole() }));
  };

  const options = (place, height, series, y, more = {}) => ({
    width: el(place).clientWidth, height, series, legend: { show: false },
    scales: { x: { time: false, min: 0, max: place === "received" ? end : data.runs[shown].end, range: (u, min, max) => [Math.max(0, min), Math.min(end, max)] }, y: y.scale },
    axes: [axis("time, s", { size: 28 }), y.axis],
    cursor: { dataIdx: held, drag: { x: true, y: false, setScale: false }, points: { size: 6 }, sync: { key: "byway", setSeries: false } },
    plugins: [marks({ labels: place === "received" })],
    ...more,
    hooks: {
      ...(more.hooks || {}),
      setSelect: [(u) => {
        if (u.select.width > 3) {
          show(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
        }
        u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
      }],
      ready: [(u) => u.over.addEventListener("dblclick", () => show(0, end))],
    },
  });

  const make = (place, opts, values) => {
    el(place).replaceChildren();
    const chart = new uPlot(opts, values, el(place));
    // All of time: of every policy above, of the one below.
    chart.whole = () => (place === "received" ? end : data.runs[shown].end);
    charts.push(chart);
    return chart;
  };

  const drop = (chart) => {
    if (!chart) return;
    charts.splice(charts.indexOf(chart), 1);
    chart.destroy();
  };

  // "t = 3.20 s   name value   name value" under the pointer.
  const describe = (place, names, unit, digits) => (u) => {
    const { left, idx } = u.cursor;
    if (left == null || left < 0 || idx == null) {
      el(place).textContent = "";
      return;
    }
    const t = u.posToVal(left, "x");
    const parts = [`<b>t = ${number(t, 3)} s</b>`];
    names.forEach(([name, index, paint]) => {
      if (!u.series[index].show) return;
      const value = u.data[index][held(u, index, idx)];
      parts.push(`<span class="swatch" style="background:${paint}"></span>${name} <b>${value == null ? "–" : number(value, digits) + unit}</b>`);
    });
    el(place).innerHTML = parts.join(" &nbsp; ");
  };

  const escape = (text) => text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

  // ---- what has arrived, all policies
  const hidden = new Set();
  let received = null;
  const drawReceived = () => {
    drop(received);
    const tables = [];
    const series = [{}];
    const names = [];
    lines.forEach((line, i) => {
      const t = line.line.t.concat(line.end), top = line.line.v.concat(line.line.v.length ? line.line.v[line.line.v.length - 1] : 0);
      tables.push([t, top], [line.dots.t, line.dots.v]);
      names.push([escape(line.name), series.length, colour(i)]);
      series.push(
        { label: line.name, stroke: colour(i), width: 2, spanGaps: true, points: { show: false }, show: !hidden.has(i), paths: uPlot.paths.stepped({ align: 1 }) },
        { label: line.name + " late", stroke: colour(i), paths: () => null, points: { show: true, size: 4, fill: colour(i), space: 0 }, show: !hidden.has(i) },
      );
    });
    const y = { scale: { range: (u, min, max) => [0, Math.max(1, max * 1.04)] }, axis: axis("TSN, from 0", { size: 62 }) };
    received = make("received", options("received", innerWidth < 600 ? 300 : 400, series, y,
      { hooks: { setCursor: [describe("received-values", names, "", 0)] } }), uPlot.join(tables));
  };
  lines.forEach((line, i) => {
    const button = document.createElement("button");
    button.innerHTML = `<span class="swatch" style="background:var(--c${i % 8})"></span>${escape(line.name)}`;
    button.setAttribute("aria-pressed", "true");
    button.onclick = () => {
      if (!hidden.delete(i)) hidden.add(i);
      button.setAttribute("aria-pressed", String(!hidden.has(i)));
      received.setSeries(2 * i + 1, { show: !hidden.has(i) });
      received.setSeries(2 * i + 2, { show: !hidden.has(i) });
    };
    el("policies").append(button);
  });

  // ---- inside one policy
  const hiddenPaths = new Set();
  const inner = {};
  const perPath = (place, key, factor, unit, digits, y) => {
    if (!el(place)) return;
    const run = data.runs[shown], of = namesOf(run);
    const tables = [], series = [{}], names = [];
    run.paths.forEach((path, i) => {
      const t = path[key].t.slice(), v = path[key].v.map((x) => x * factor);
      if (t.length) { t.push(run.end); v.push(v[v.length - 1]); }
      tables.push([t, v]);
      names.push([escape(of[i]), series.length, colour(i)]);
      series.push({ label: of[i], stroke: colour(i), width: 2, spanGaps: true, points: { show: false }, show: !hiddenPaths.has(i), paths: uPlot.paths.stepped({ align: 1 }), dash: i % 2 ? [8, 3] : [] });
    });
    drop(inner[place]);
    inner[place] = make(place, options(place, 220, series, y, { hooks: { setCursor: [describe(place + "-values", names, unit, digits)] } }), uPlot.join(tables));
  };

  // The width at the left of the charts of paths, for their numbers and names.
  const side = () => {
    if (innerWidth < 600) return 80;
    const longest = Math.max(0, ...namesOf(data.runs[shown]).map((name) => name.length));
    return data.runs[shown].names ? Math.min(230, Math.max(108, longest * 7.5 + 16)) : 108;
  };

  const drawPaths = () => {
    el("paths").replaceChildren();
    namesOf(data.runs[shown]).forEach((name, i) => {
      const button = document.createElement("button");
      button.innerHTML = `<span class="swatch" style="background:var(--c${i % 8})"></span>${escape(name)}`;
      button.setAttribute("aria-pressed", String(!hiddenPaths.has(i)));
      button.onclick = () => {
        if (!hiddenPaths.delete(i)) hiddenPaths.add(i);
        button.setAttribute("aria-pressed", String(!hiddenPaths.has(i)));
        ["rate", "cwnd", "flight", "rtt", "rto"].forEach((place) => inner[place]?.setSeries(i + 1, { show: !hiddenPaths.has(i) }));
      };
      el("paths").append(button);
    });
  };

  const drawStates = () => {
    const run = data.runs[shown], of = namesOf(run);
    const count = of.length;
    const times = new Set([0, run.end]);
    run.paths.forEach((p) => p.states.forEach((s) => times.add(s[0])));
    const x = [...times].sort((a, b) => a - b);
    const bands = (u) => {
      const { ctx, bbox } = u;
      const dpr = devicePixelRatio;
      ctx.save();
      ctx.beginPath();
      ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
      ctx.clip();
      ctx.font = `${12 * dpr}px system-ui, sans-serif`;
      ctx.textBaseline = "middle";
      ctx.textAlign = "left";
      run.paths.forEach((path, i) => {
        const top = u.valToPos(count - i - 0.14, "y", true), bottom = u.valToPos(count - i - 0.86, "y", true);
        path.states.forEach(([from, state], k) => {
          const to = k + 1 < path.states.length ? path.states[k + 1][0] : run.end;
          const left = u.valToPos(from, "x", true), right = u.valToPos(to, "x", true);
          ctx.fillStyle = css(STATES[state][1]);
          ctx.fillRect(left, top, Math.max(right - left, dpr), bottom - top);
          const text = STATES[state][0];
          const from_ = Math.max(left, bbox.left), to_ = Math.min(right, bbox.left + bbox.width);
          if (to_ - from_ > ctx.measureText(text).width + 12 * dpr) {
            ctx.fillStyle = css("--text");
            ctx.fillText(text, from_ + 6 * dpr, (top + bottom) / 2);
          }
        });
        ctx.strokeStyle = css("--text");
        ctx.lineWidth = 1.5 * dpr;
        path.timeouts.forEach((t) => {
          const at = u.valToPos(t, "x", true);
          ctx.beginPath();
          ctx.moveTo(at, bottom + 5 * dpr);
          ctx.lineTo(at, bottom - 7 * dpr);
          ctx.stroke();
        });
      });
      ctx.restore();
    };
    const stateAt = (path, t) => {
      let name = "–";
      path.states.forEach(([from, state]) => { if (from <= t) name = STATES[state][0]; });
      return t > run.end ? "ended" : name;
    };
    const say = (u) => {
      const { left } = u.cursor;
      if (left == null || left < 0) { el("states-values").textContent = ""; return; }
      const t = u.posToVal(left, "x");
      el("states-values").innerHTML = [`<b>t = ${number(t, 3)} s</b>`].concat(
        run.paths.map((p, i) => `${escape(of[i])} <b>${stateAt(p, t)}</b>`)).join(" &nbsp; ");
    };
    const narrow = innerWidth < 600;
    const room = narrow ? 8 : Math.floor((side() - 16) / 7.5);
    const y = {
      scale: { range: () => [0, count] },
      axis: axis(null, { size: side(), grid: { show: false }, ticks: { show: false },
        splits: () => of.map((_, i) => count - i - 0.5),
        values: () => of.map((name) => (name.length > room ? name.slice(0, room - 1) + "…" : name)) }),
    };
    drop(inner.states);
    const opts = options("states", 70 + 40 * count, [{}, { paths: () => null, points: { show: false } }], y, { hooks: { setCursor: [say] } });
    opts.plugins = [{ hooks: { draw: bands } }, ...opts.plugins];
    inner.states = make("states", opts, [x, x.map(() => null)]);
  };

  const drawInner = () => {
    const run = data.runs[shown];
    el("note").textContent = run.note;
    drawStates();
    const wide = side() - 18;
    const fromZero = (label) => ({ scale: { range: (u, min, max) => [0, Math.max(0.1, max * 1.06)] }, axis: axis(label, { size: wide }) });
    perPath("cwnd", "cwnd", 1e-3, " kB", 1, {
      scale: { range: (u, min, max) => [0, Math.max(1, max * 1.06)] }, axis: axis("cwnd, kB", { size: wide }) });
    perPath("rate", "rate", 1e-6, " Mbit/s", 2, fromZero("rate, Mbit/s"));
    perPath("flight", "flight", 1e-3, " kB", 1, fromZero("in flight, kB"));
    perPath("rtt", "rtt", 1e3, " ms", 2, fromZero("RTT, ms"));
    // Doublings are equal steps on this scale.
    const low = Math.min(...run.paths.flatMap((p) => p.rto.v), 1), high = Math.max(...run.paths.flatMap((p) => p.rto.v), 1);
    const floor = 2 ** Math.floor(Math.log2(low)), ceiling = 2 ** Math.ceil(Math.log2(high * 1.01));
    const steps = [];
    for (let s = floor; s <= ceiling; s *= 2) steps.push(s);
    perPath("rto", "rto", 1, " s", 3, {
      scale: { distr: 3, log: 2, range: () => [floor, ceiling] },
      axis: axis("RTO, s (doubling scale)", { size: wide, splits: () => steps, filter: (u, v) => v, values: (u, v) => v.map((s) => (s == null ? "" : number(s, 3))) }) });
    if (range) show(range[0], range[1]);
    else show(0, end);
    drawPaths();
    [...el("choice").children].forEach((b, i) => b.setAttribute("aria-selected", String(i === shown)));
  };

  data.runs.forEach((run, i) => {
    const button = document.createElement("button");
    button.textContent = run.policy;
    button.setAttribute("role", "tab");
    button.onclick = () => { shown = i; if (run.names) { hiddenPaths.clear(); received.redraw(); } drawInner(); };
    el("choice").append(button);
  });
  el("states-key").innerHTML = Object.values(STATES)
    .map(([name, paint]) => `<span><span class="swatch" style="background:var(${paint})"></span>${name}</span>`)
    .concat(["<span><b>|</b> timeout</span>"]).join("");

  const drawAll = () => { drawReceived(); drawInner(); };
  drawAll();
  let waiting = 0, width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    clearTimeout(waiting);
    waiting = setTimeout(drawAll, 150);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
})();
