"""Figures with matplotlib. Colours are those of Okabe and Ito, which colour-blind people can
tell apart; lines that differ only in colour also differ in their dashes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from ._frames import need
from .errors import SettingError, SweepError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ._advise import Advice
    from ._papers import FailoverTime, PaperFigure
    from ._run import Result, ScenarioInfo
    from ._sweep import SweepResults

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DASHES = ("-", "--", ":", "-.")
GREY = "#6b7280"
STATE_COLOURS = ("#e5e7eb", "#9ad1bd", "#f2c14e", "#c0392b")
STATE_HATCHES = ("...", "", "//", "xx")
STATE_NAMES = ("unconfirmed", "active", "potentially failed", "inactive")


def _figure(width: float, height: float) -> Any:
    """A figure that pyplot does not know, so that it is shown once and nothing must close it."""
    module = need("matplotlib.figure", "plot", "plot()")

    class Shown(module.Figure):  # type: ignore[name-defined,misc]
        """A figure that a notebook shows without pyplot."""

        def _repr_png_(self) -> bytes:
            out = BytesIO()
            self.savefig(out, format="png", dpi=110)
            return out.getvalue()

    return Shown(figsize=(width, height), layout="constrained")


def _style(i: int) -> dict[str, Any]:
    return {
        "color": COLOURS[i % len(COLOURS)],
        "linestyle": DASHES[i // len(COLOURS) % len(DASHES)],
    }


def _plain(ax: Axes) -> None:
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(True, color="#e5e7eb", linewidth=0.6)
    ax.set_axisbelow(True)


def _events(ax: Axes, info: ScenarioInfo, label: bool = True) -> None:
    """What happens to the paths, as lines."""
    seen: dict[float, list[str]] = {}
    for event in info.events[:12]:
        words = f"{info.paths[event.path].name} {event.words}"
        seen.setdefault(event.at_s, []).append(words)
    for at, lines in seen.items():
        ax.axvline(at, color=GREY, linewidth=1, linestyle=(0, (4, 3)), zorder=1)
        if label and len(seen) <= 4:
            ax.annotate(
                "\n".join(lines), (at, 1.0), xycoords=("data", "axes fraction"), xytext=(4, -3),
                textcoords="offset points", va="top", fontsize=8, color=GREY,
            )  # fmt: skip


def runs(info: ScenarioInfo, results: Sequence[Result], kind: str) -> Figure:
    """A figure of some policies."""
    kinds = {"timeline": _timeline, "tsn": _tsn, "cwnd": _cwnd, "states": _states}
    if kind not in kinds:
        raise SettingError(f'plot: found {kind!r}, expected one of {", ".join(kinds)}')
    figure: Figure = kinds[kind](info, results)
    return figure


def _title(info: ScenarioInfo) -> str:
    return f"{info.name}, seed {info.seed}"


def _timeline(info: ScenarioInfo, results: Sequence[Result]) -> Any:
    fig = _figure(9, 1.6 + 0.42 * len(results))
    ax = fig.subplots()
    failed = next((e.at_s for e in info.events if e.failure), None)
    start = failed or 0.0
    rows = np.arange(len(results))[::-1]
    ends = [r.end_s - start for r in results]
    done = [None if r.transfer_s is None else _complete(r) - start for r in results]
    log = failed is not None and max(ends) > 4 * max(min(ends), 1e-3)
    marks: list[tuple[str, str, str, list[tuple[float, float]]]] = []
    for y, r in zip(rows, results, strict=True):
        if r.stall is not None:
            ax.barh(
                y, r.stall.length_s, left=r.stall.from_s - start, height=0.55, color="#e3a08a",
                edgecolor="#a8452a", linewidth=0.8, zorder=2,
            )  # fmt: skip
            ax.annotate(
                f"{r.stall.length_s:.2g} s", (r.stall.from_s - start + r.stall.length_s, y),
                xytext=(0, 12), textcoords="offset points", fontsize=7.5, color="#a8452a",
                va="center", ha="right" if log and r.stall.length_s > 1 else "left",
            )  # fmt: skip
    first = [(y, r.detections[0]) for y, r in zip(rows, results, strict=True) if r.detections]
    shift = {id(d): d.at_s - start for _, d in first}
    marks.append((
        "potentially failed", "D", COLOURS[4],
        [(d.suspect_after_s + shift[id(d)], y) for y, d in first if d.suspect_after_s is not None],
    ))  # fmt: skip
    marks.append((
        "inactive", "X", "#000000",
        [(d.inactive_after_s + shift[id(d)], y) for y, d in first if d.inactive_after_s is not None],
    ))  # fmt: skip
    marks.append((
        "transfer complete", "|", COLOURS[0],
        [(t, y) for t, y in zip(done, rows, strict=True) if t is not None],
    ))  # fmt: skip
    for name, marker, colour, points in marks:
        if points:
            x, y = zip(*points, strict=True)
            size, width = (220, 2.5) if marker == "|" else (50, 0.8)
            edge = {} if marker == "|" else {"edgecolors": "white"}
            ax.scatter(
                x, y, marker=marker, s=size, linewidths=width, color=colour, zorder=3, label=name, **edge
            )
    for y, r in zip(rows, results, strict=True):
        if r.transfer_s is None:
            ax.annotate(
                r.outcome.kind.replace("_", " "), (r.end_s - start, y), fontsize=8, va="center",
                xytext=(4, 0), textcoords="offset points",
            )  # fmt: skip
    ax.barh([np.nan], [np.nan], color="#e3a08a", edgecolor="#a8452a", label="longest stall")
    if log:
        ax.set_xscale("symlog", linthresh=1, linscale=0.7)
        begins = [r.stall.from_s - start for r in results if r.stall]
        ax.set_xlim(max(-1.0, min([0.0, *begins])), max(ends) * 1.35)
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    else:
        left = min(0.0, *(r.stall.from_s - start for r in results if r.stall)) if results else 0.0
        ax.set_xlim(left if failed is None else max(left, -0.1 * max(ends)), max(ends) * 1.12)
    ax.set_yticks(rows, [r.policy for r in results])
    ax.set_ylim(-0.7, len(results) - 0.3)
    since = "start" if failed is None else "first failure"
    ax.set_xlabel(f"seconds since the {since}" + (" (logarithmic from 1 s)" if log else ""))
    _plain(ax)
    ax.grid(False, axis="y")
    fig.suptitle(_title(info), fontsize=11)
    fig.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    return fig


def _complete(r: Result) -> float:
    """When the last SACK came, seconds since the start of the run."""
    begun = r.measures.get("first_data_s") or 0.0
    return begun + (r.transfer_s or 0.0)


def _horizon(info: ScenarioInfo, results: Sequence[Result]) -> tuple[float, str]:
    """How far a picture over time goes: the last of what all but the slowest third need, when
    the slowest need much longer; and what is said of that."""
    ends = sorted(r.end_s for r in results)
    last = ends[-1]
    usual = ends[(len(ends) - 1) * 2 // 3] * 1.25
    if last > 3 * usual:
        return usual, f" (cut off at {usual:.3g} s; the last run ended at {last:.3g} s)"
    return last, ""


def _tsn(info: ScenarioInfo, results: Sequence[Result]) -> Any:
    fig = _figure(8.5, 4.6)
    ax = fig.subplots()
    until, cut = _horizon(info, results)
    for i, r in enumerate(results):
        s = r.series
        ax.plot(s.received_t, s.received, linewidth=1.4, label=r.policy, **_style(i))
    ax.set_xlim(0, until)
    ax.set_ylim(bottom=0)
    ax.set_xlabel("time, s" + cut)
    ax.set_ylabel("DATA chunk that arrived (TSN less the first)")
    _plain(ax)
    _events(ax, info)
    ax.set_title(_title(info), fontsize=11)
    if len(results) > 1:
        fig.legend(loc="outside right upper", frameon=False, fontsize=9)
    return fig


def _cwnd(info: ScenarioInfo, results: Sequence[Result]) -> Any:
    until, cut = _horizon(info, results)
    fig = _figure(8.5, 1.2 + 1.7 * len(results))
    axes = fig.subplots(len(results), 1, sharex=True, sharey=True, squeeze=False)[:, 0]
    for ax, r in zip(axes, results, strict=True):
        for i, p in enumerate(r.series.paths):
            t = np.append(p.cwnd_t, r.end_s)
            v = np.append(p.cwnd, p.cwnd[-1:]) if len(p.cwnd) else np.full(1, np.nan)
            ax.step(t[: len(v)], v / 1000, where="post", linewidth=1.3, label=p.name, **_style(i))
            expired = p.timeouts[p.timeouts <= until]
            if len(expired):
                # What lies outside of the axes would make the figure's margins wide.
                ax.plot(
                    expired, np.zeros_like(expired), "x", color=COLOURS[i % len(COLOURS)],
                    clip_on=False, markersize=6,
                )  # fmt: skip
        ax.set_title(r.policy, fontsize=9, loc="left")
        ax.set_ylim(bottom=0)
        ax.set_xlim(0, until)
        _plain(ax)
        _events(ax, info, label=ax is axes[0])
    axes[0].plot([], [], "x", color=GREY, label="T3-rtx expired")
    fig.supylabel("congestion window, kB", fontsize=10)
    axes[-1].set_xlabel("time, s" + cut)
    fig.suptitle(_title(info), fontsize=11)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    return fig


def _states(info: ScenarioInfo, results: Sequence[Result]) -> Any:
    from matplotlib.patches import Patch

    until, cut = _horizon(info, results)
    lines = sum(len(r.paths) for r in results)
    fig = _figure(9, 1.5 + 0.3 * lines + 0.12 * len(results))
    ax = fig.subplots()
    y, ticks, names, seen = 0.0, [], [], set()
    for r in results:
        for p in r.series.paths:
            ends = np.append(p.state_t[1:], r.end_s)
            for code in np.unique(p.state[p.state_t <= until]):
                seen.add(int(code))
                which = p.state == code
                spans = np.column_stack([p.state_t[which], (ends - p.state_t)[which]])
                ax.broken_barh(
                    spans, (y - 0.4, 0.8), facecolor=STATE_COLOURS[code], hatch=STATE_HATCHES[code],
                    edgecolor="#374151", linewidth=0.4,
                )  # fmt: skip
            ticks.append(y)
            names.append(f"{r.policy}: {p.name}")
            y -= 1
        y -= 0.4
    ax.set_yticks(ticks, names, fontsize=8)
    ax.set_xlim(0, until)
    ax.set_ylim(y + 0.8, 0.7)
    ax.set_xlabel("time, s" + cut)
    ax.spines[["top", "right", "left"]].set_visible(False)
    _events(ax, info, label=False)
    marks = [
        Patch(facecolor=STATE_COLOURS[c], hatch=STATE_HATCHES[c], edgecolor="#374151", label=STATE_NAMES[c])
        for c in sorted(seen)
    ]
    if info.events:
        from matplotlib.lines import Line2D

        words = f"{info.paths[info.events[0].path].name} {info.events[0].words}"
        name = words if len(info.events) == 1 else "scripted event"
        marks.append(Line2D([], [], color=GREY, linestyle=(0, (4, 3)), label=name))  # type: ignore[arg-type]
    fig.legend(handles=marks, loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    fig.suptitle(_title(info), fontsize=11)
    return fig


# ------------------------------------------------------------------------------------ sweeps


def _axis_of(results: SweepResults, name: str, what: str) -> str:
    if name not in results.axes:
        known = ", ".join(results.axes) or "none"
        raise SweepError(f'plot: {what} = "{name}" is not an axis; there are {known}')
    return name


_NUMBER = re.compile(r"\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*([^\d\s]*\S*)\s*")


def _numbers(values: Sequence[str]) -> tuple[list[float], str] | None:
    """The values as numbers and their common unit, if they have one."""
    found = [_NUMBER.fullmatch(v) for v in values]
    units = {m.group(2) for m in found if m}
    if not all(found) or len(units) != 1:
        return None
    numbers = [float(m.group(1)) for m in found if m]
    return (numbers, units.pop()) if len(set(numbers)) == len(numbers) else None


def sweep(results: SweepResults, metric: str, x: str | None, hue: str | None) -> Figure:
    """Means of a metric with their intervals."""
    by_size = sorted(results.axes, key=lambda a: -len(results.axes[a]))
    varying = [a for a in by_size if len(results.axes[a]) > 1] or by_size
    x = _axis_of(results, x, "x") if x is not None else next((a for a in varying if a != hue), None)
    if hue is not None:
        _axis_of(results, hue, "hue")
    else:
        hue = next((a for a in varying if a != x), None)
    if x is not None and x == hue:
        raise SweepError(f'plot: x and hue are both "{x}"; give two axes')
    names = list(results.axes)
    rest = [a for a in names if a not in (x, hue) and len(results.axes[a]) > 1]
    panels: dict[tuple[str, ...], dict[str, dict[str, tuple[float, float]]]] = {}
    for cell, mean, half, n in results.means(metric):
        at = dict(zip(names, cell, strict=True))
        panel = panels.setdefault(tuple(f"{a} = {at[a]}" for a in rest), {})
        line = panel.setdefault(at[hue] if hue else "", {})
        line[at[x] if x else ""] = (mean, half or 0.0) if n else (np.nan, 0.0)
    return _sweep_figure(results, metric, x, hue, panels)


def _sweep_figure(
    results: SweepResults, metric: str, x: str | None, hue: str | None, panels: dict[Any, Any]
) -> Figure:
    most = 12
    shown = list(panels.items())[:most]
    columns = min(3, len(shown))
    rows = -(-len(shown) // columns)
    fig = _figure(max(5.8, 4.0 * columns) + 1.6 * (hue is not None), 1.3 + 3.0 * rows)
    axes = fig.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    values = results.axes[x] if x else [""]
    scale = _numbers(values)
    hues = results.axes[hue] if hue else [""]
    for ax, (title, lines) in zip(axes.flat, shown, strict=False):
        for i, name in enumerate(hues):
            line = lines.get(name)
            if line is None:
                continue
            places = [k for k, v in enumerate(values) if v in line]
            at = np.array([scale[0][k] if scale else k for k in places], dtype=float)
            if scale is None and len(hues) > 1:
                at = at + (i - (len(hues) - 1) / 2) * min(0.12, 0.6 / len(hues))
            points = np.array([line[values[k]] for k in places])
            ax.errorbar(
                at, points[:, 0], yerr=points[:, 1], marker="os^Dv*P"[i % 7], markersize=5,
                linewidth=1.4 if scale else 0, elinewidth=1.2, capsize=3, label=name, **_style(i),
            )  # fmt: skip
        ax.set_title(", ".join(title), fontsize=9, loc="left")
        _plain(ax)
        if scale is None:
            ax.set_xticks(range(len(values)), values)
            if max(len(v) for v in values) * len(values) > 40:
                ax.tick_params(axis="x", rotation=30)
    for ax in list(axes.flat)[len(shown) :]:
        ax.set_visible(False)
    positive = all(p[0] - p[1] >= 0 for _, lines in shown for l in lines.values() for p in l.values())
    if positive:
        axes[0][0].set_ylim(bottom=0)
    for ax in axes[-1]:
        if x:
            ax.set_xlabel(f"{x}, {scale[1]}" if scale and scale[1] else x)
    unit = ", s" if metric.endswith("_s") else ""
    fig.supylabel(f"{metric.removesuffix('_s') if unit else metric}{unit}", fontsize=10)
    left = f"; {len(panels) - most} more panels are left out" if len(panels) > most else ""
    confidence = f"{results._native.confidence * 100:g} %"
    fig.suptitle(f"{results.name}: {metric}, mean and its {confidence} interval{left}", fontsize=11)
    if hue:
        handles, labels = axes[0][0].get_legend_handles_labels()
        fig.legend(
            handles, labels, title=hue, loc="outside right upper", frameon=False, fontsize=9
        )
    figure: Figure = fig
    return figure


# ------------------------------------------------------------------------------------ papers


def paper_figure(figure: PaperFigure) -> Figure:
    """A figure of a paper: byway's runs, and ns-2's where there are any."""
    columns = min(2, len(figure.panels)) or 1
    rows = -(-len(figure.panels) // columns)
    fig = _figure(1.5 + 4.6 * columns, 1.4 + 3.1 * rows)
    axes = fig.subplots(rows, columns, squeeze=False)
    labels: dict[str, Any] = {}
    for ax, panel in zip(axes.flat, figure.panels, strict=False):
        for line in panel["lines"]:
            colour = COLOURS[line["colour"] % len(COLOURS)]
            x, y = np.array(line["x"], dtype=float), np.array(line["y"], dtype=float)
            low = np.array([np.nan if v is None else v for v in line["low_95"]], dtype=float)
            high = np.array([np.nan if v is None else v for v in line["high_95"]], dtype=float)
            name = f"{line['name']} ({line['source']})" if line["source"] == "ns-2" else line["name"]
            style = line["style"]
            if style == "steps":
                (mark,) = ax.step(x, y, where="post", color=colour, linewidth=1.4)
            elif style == "dots":
                (mark,) = ax.plot(x, y, ".", color=colour, markersize=2.5)
            elif style == "rings":
                mark = ax.errorbar(
                    x, y, yerr=[np.nan_to_num(y - low), np.nan_to_num(high - y)], fmt="o",
                    markerfacecolor="none", color=colour, markersize=5, elinewidth=1,
                )  # fmt: skip
            else:
                (mark,) = ax.plot(x, y, color=colour, linewidth=1.4, marker="o", markersize=3)
                ax.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)
            labels.setdefault(name, mark)
        ax.set_title(panel["title"], fontsize=9, loc="left")
        ax.set_xlabel(panel["x"])
        ax.set_ylabel(panel["y"])
        _plain(ax)
    for ax in list(axes.flat)[len(figure.panels) :]:
        ax.set_visible(False)
    fig.suptitle(f"{figure.name}: {figure.title}", fontsize=10.5, wrap=True)
    fig.legend(
        list(labels.values()), list(labels), loc="outside lower center", ncols=min(4, len(labels)) or 1,
        frameon=False, fontsize=9,
    )  # fmt: skip
    result: Figure = fig
    return result


def failover_time(found: FailoverTime) -> Figure:
    """The waits of each goal, one after another."""
    lines = [(f"{m.goal}, {a.case}", a) for m in found.milestones for a in m.cases]
    fig = _figure(9, 1.5 + 0.32 * len(lines))
    ax = fig.subplots()
    waits: list[str] = []
    rows = np.arange(len(lines))[::-1]
    for y, (_, answer) in zip(rows, lines, strict=True):
        at = 0.0
        for step in answer.steps:
            if step.waiting not in waits:
                waits.append(step.waiting)
            colour = COLOURS[waits.index(step.waiting) % len(COLOURS)]
            for _ in range(min(step.times, 200)):
                ax.barh(y, step.each_s, left=at, height=0.62, color=colour, edgecolor="white")
                at += step.each_s
        if not answer.steps and answer.seconds_s is not None:
            at = answer.seconds_s
            ax.barh(y, at, height=0.62, color="#d1d5db", edgecolor=GREY)
        text = "never" if answer.seconds_s is None else f"{answer.seconds_s:.3g} s"
        ax.annotate(
            text, (at, y), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8
        )
    ax.set_yticks(rows, [name for name, _ in lines], fontsize=9)
    times = [a.seconds_s for _, a in lines if a.seconds_s]
    log = bool(times) and max(times) > 50 * min(times)
    if log:
        ax.set_xscale("symlog", linthresh=1, linscale=1.5)
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
        ax.set_xlim(0, 1.6 * max(times))
    else:
        ax.margins(x=0.12)
        ax.set_xlim(left=0)
    ax.set_xlabel("seconds since the path died" + (" (logarithmic from 1 s)" if log else ""))
    _plain(ax)
    ax.grid(False, axis="y")
    for wait in waits:
        ax.barh([np.nan], [np.nan], color=COLOURS[waits.index(wait) % len(COLOURS)], label=_WAITS.get(wait, wait))
    if any(not a.steps and a.seconds_s is not None for _, a in lines):
        ax.barh([np.nan], [np.nan], color="#d1d5db", edgecolor=GREY, label="simulated")
    fig.legend(loc="outside lower center", ncols=5, frameon=False, fontsize=9)
    fig.suptitle(f"{found.name}, round trip {found.rtt_s * 1000:g} ms", fontsize=11)
    result: Figure = fig
    return result


_WAITS = {
    "t3": "T3-rtx",
    "heartbeat": "heartbeat",
    "t3_and_heartbeat": "T3-rtx and heartbeat",
    "either": "T3-rtx or heartbeat",
    "sack": "SACK",
    "period": "heartbeat period",
    "overdue": "overdue acknowledgement",
    "dmax": "Dmax",
    "way": "way to the receiver",
}


_ROLES = {
    "recommended": ("*", 190, COLOURS[1]),
    "runner_up": ("s", 45, COLOURS[0]),
    "default": ("X", 70, "#000000"),
    "front": ("o", 40, COLOURS[2]),
}


def advice(found: Advice) -> Figure:
    """Mean stall and needless moves of all settings."""
    targets = list(found.lines)
    fig = _figure(4.0 + 3.6 * len(targets), 4.2)
    axes = fig.subplots(1, len(targets), squeeze=False, sharex=True, sharey=True)[0]
    seen: dict[str, Any] = {}
    for ax, target in zip(axes, targets, strict=True):
        for row in found.rows:
            if row.target != target:
                continue
            marker, size, colour = _ROLES[row.role]
            x, y = row.stall_mean_s, row.moves_per_hour
            ax.errorbar(
                x.value, y.value, xerr=[[x.value - x.low], [x.high - x.value]],
                yerr=[[y.value - y.low], [y.high - y.value]], color=colour, elinewidth=0.9, alpha=0.6,
            )  # fmt: skip
            seen[row.role] = ax.scatter(
                x.value, y.value, marker=marker, s=size, color=colour, edgecolors="white", zorder=3
            )
            ax.annotate(
                row.name, (x.value, y.value), xytext=(7, 5), textcoords="offset points", fontsize=8
            )
        ax.set_title(target, fontsize=9, loc="left")
        ax.set_xscale("log")
        ax.set_ylim(bottom=0)
        ax.set_xlabel("mean stall when the first path dies, s (logarithmic)")
        _plain(ax)
        ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    axes[0].set_ylabel("needless moves an hour")
    names = [role.replace("_", " ") for role in seen]
    fig.legend(
        list(seen.values()), names, loc="outside lower center", ncols=4, frameon=False, fontsize=9
    )
    result: Figure = fig
    return result
