"""The papers: what `byway reproduce` and `byway failover-time` do."""

from __future__ import annotations

import json
import os
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any

from . import _given, _native
from ._frames import need
from ._run import Progress, Settings
from ._sweep import _program
from .errors import SettingError

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

# -------------------------------------------------------------------------------- reproduce


@dataclass(frozen=True)
class Check:
    """Something that was looked at to judge a claim."""

    what: str
    """What was looked at."""
    paper: str
    """The paper's value."""
    ns2: str | None
    """ns-2's value, where it is known."""
    ns2_outcome: str | None
    """What ns-2's runs say of the same check, as `outcome`; None where there are none."""
    byway: str
    """byway's value, with its 95 % confidence interval."""
    outcome: str
    """"holds", "fails" or "undecided", by the rule of `experiments/RULE.md`."""
    counts: bool
    """Whether it counts; else its value is only shown."""
    detail: str | None
    """Where it fails, or what counts."""
    runs: dict[str, int]
    """The runs behind the value: `distinct` ones, of `all`."""
    changed: dict[str, str] | None
    """What was changed of it after results had been seen (`on`, `was`, `why`)."""
    controls: list[dict[str, str]]
    """Cases in which it must not hold (`name`), and what it says there (`outcome`)."""

    @property
    def holds(self) -> bool:
        """Whether the check holds."""
        return self.outcome == "holds"


@dataclass(frozen=True)
class Claim:
    """Something that a paper states, with what was found."""

    id: str
    """Its name, such as "A3"."""
    paper: str
    """The paper, such as "caro-2006"."""
    section: str
    """Where the paper says it."""
    says: str
    """What it says, in other words."""
    verdict: str
    """"reproduced", "trend_only", "fitted", "undecided", "not_reproduced" or "vacuous", by the
    rule of `experiments/RULE.md`."""
    fitted: str | None
    """What was chosen with results in view, if anything was."""
    reason: str | None
    """Why it is not reproduced, or undecided."""
    remark: str | None
    """What a reader should know besides."""
    figure: str | None
    """The figure of the paper that shows it."""
    checks: tuple[Check, ...]
    """The checks."""

    @property
    def reproduced(self) -> bool:
        """Whether all checks hold, printed numbers among them."""
        return self.verdict == "reproduced"

    def _repr_html_(self) -> str:
        lines = "".join(
            "<tr>"
            + "".join(
                f"<td style='text-align:left'>{escape(t)}</td>"
                for t in (c.what, c.paper, c.ns2 or "-", c.byway, c.outcome)
            )
            + "</tr>"
            for c in self.checks
        )
        heads = "".join(
            f"<th>{h}</th>" for h in ("what was looked at", "paper", "ns-2", "byway", "outcome")
        )
        return (
            f"<p><b>{escape(self.id)}</b> ({escape(self.paper)}, {escape(self.section)}): "
            f"{escape(self.says)} <b>{escape(self.verdict.replace('_', ' '))}</b></p>"
            f"<table><tr>{heads}</tr>{lines}</table>"
        )


@dataclass(frozen=True)
class PaperFigure:
    """A figure of a paper, drawn again."""

    paper: str
    """The paper."""
    name: str
    """The paper and the figure's number, such as "caro-2006 figure 5"."""
    title: str
    """What it shows."""
    caption: str
    """What was run, how often, and what lines and bands are."""
    csv: str
    """Its numbers as a table with a heading."""
    panels: tuple[dict[str, Any], ...] = field(repr=False)
    """The panels: `title`, `x` and `y` (titles of the axes, with units), and `lines`, each with
    `name`, `source` ("byway" or "ns-2"), `x`, `y`, `low_95`, `high_95` and `runs`."""

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each point."""
        pd = need("pandas", "pandas", "PaperFigure.to_pandas()")
        import io

        frame: pandas.DataFrame = pd.read_csv(io.StringIO(self.csv))
        return frame

    def plot(self) -> Figure:
        """A matplotlib figure."""
        from . import _plot

        return _plot.paper_figure(self)


class Reproduction:
    """Claims and figures, run again."""

    def __init__(self, native: _native.Reproduction, command: str) -> None:
        raw = json.loads(native.json())
        figures = json.loads(native.figures())
        self._native = native
        self._raw: dict[str, Any] = raw
        self.command: str = command
        """The command that gives the same."""
        self.claims: tuple[Claim, ...] = tuple(
            _claim(c) for paper in raw["papers"] for c in paper["claims"]
        )
        """The claims, with verdicts and the paper's, ns-2's and byway's values."""
        self.figures: tuple[PaperFigure, ...] = tuple(
            PaperFigure(paper, f["name"], f["title"], f["caption"], f["csv"], tuple(f["panels"]))
            for paper, found in figures.items()
            for f in found
        )
        """The figures that go with them."""
        self.runs: int = raw["runs"]
        """Runs that this took."""

    def __getitem__(self, claim: str) -> Claim:
        for found in self.claims:
            if found.id.lower() == claim.lower():
                return found
        names = ", ".join(c.id for c in self.claims)
        raise KeyError(f'"{claim}" is not among these claims; there are {names or "none"}')

    def to_dict(self) -> dict[str, Any]:
        """What `byway reproduce --json` prints."""
        return self._raw

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each check of each claim."""
        pd = need("pandas", "pandas", "Reproduction.to_pandas()")
        rows = [
            {"paper": c.paper, "claim": c.id, "verdict": c.verdict} | k.__dict__
            for c in self.claims
            for k in c.checks
        ]
        frame: pandas.DataFrame = pd.DataFrame(rows)
        return frame

    def plot(self) -> Figure:
        """The first figure. Raises SettingError if these claims have none."""
        if not self.figures:
            raise SettingError("no figure of the paper goes with what was asked for")
        return self.figures[0].plot()

    def report(self, path: str | os.PathLike[str] = "reproduce.html") -> str:
        """Writes the page of `byway reproduce`, which stands alone; returns its name."""
        name = _given.file("path", path)
        with open(name, "w", encoding="utf-8") as file:
            file.write(self._native.html())
        return name

    def __str__(self) -> str:
        return self._native.text(100)

    def __repr__(self) -> str:
        counts = Counter(c.verdict.replace("_", " ") for c in self.claims)
        words = ", ".join(f"{n} {verdict}" for verdict, n in counts.items())
        return f"<Reproduction: of {len(self.claims)} claims {words or 'none'}, {self.runs} runs>"

    def _repr_html_(self) -> str:
        claims = "".join(c._repr_html_() for c in self.claims)
        return f"{claims}<p><code>{escape(self.command)}</code></p>"


def _claim(raw: dict[str, Any]) -> Claim:
    checks = tuple(Check(**{k: c[k] for k in Check.__dataclass_fields__}) for c in raw["checks"])
    names = [k for k in Claim.__dataclass_fields__ if k != "checks"]
    return Claim(checks=checks, **{k: raw[k] for k in names})


def reproduce(
    *what: str,
    full: bool = False,
    experiments: str | os.PathLike[str] | None = None,
    runs: str | os.PathLike[str] | None = None,
    raw: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Reproduction:
    """Runs claims and figures of the papers again, as `byway reproduce` does.

    what: claims ("caro-2006/A3", or "A3"), figures ("caro-2006/5") and papers ("caro-2006");
        all without any, which takes minutes.
    full: the papers' sizes and numbers of runs, which takes hours, in place of a few.
    experiments: a folder of papers in place of those that are built in.
    runs: a file that keeps runs; what it holds is not run again.
    raw: a folder for the runs themselves, a Parquet file for each study that read_results() reads.
    progress: called now and then with the number of finished runs, and of all.

    The GIL is released meanwhile, and Ctrl-C ends it.

    Raises SettingError for something that does not exist, StoreError if `runs` or
    `raw` cannot be used.
    """
    for w in what:
        if not isinstance(w, str):
            raise SettingError(f"what: found {w!r}, expected names such as \"caro-2006/A3\"")
    _given.function("progress", progress, _given.PROGRESS)
    experiments = _given.file_or_none("experiments", experiments)
    runs = _given.file_or_none("runs", runs)
    raw = _given.file_or_none("raw", raw)
    done = _native.reproduce(
        what,
        full=full,
        experiments=experiments,
        runs=runs,
        raw=raw,
        program=_program(),
        progress=progress,
    )
    words = ["byway", "reproduce", *what]
    words += ["--full"] if full else []
    words += ["--experiments", os.fspath(experiments)] if experiments is not None else []
    return Reproduction(done, shlex.join(words))


# ---------------------------------------------------------------------------- failover time


@dataclass(frozen=True)
class Step:
    """Some equal waits in a row."""

    times: int
    """How many."""
    each_s: float
    """How long each one is, seconds."""
    waiting: str
    """What is waited for: "t3", "heartbeat", "sack", "overdue", ..."""


@dataclass(frozen=True)
class Answer:
    """When something is reached, in one case."""

    case: str
    """"best", "typical" or "worst"."""
    seconds_s: float | None
    """Seconds; None when it never comes."""
    steps: tuple[Step, ...]
    """The waits that add up to it; empty when there is no plain sum."""
    sum: str
    """The same in words: "1 + 2 + 4 (T3) = 7 s"."""


@dataclass(frozen=True)
class Milestone:
    """When something is reached."""

    goal: str
    """"suspect" (potentially failed), "inactive", "moved" (new data takes the other path),
    "stall" (the longest pause in delivery) or "lost" (the association)."""
    cases: tuple[Answer, ...]
    """The cases, best first."""
    why: str
    """Why, in a sentence or two."""

    def __getitem__(self, case: str) -> Answer:
        for answer in self.cases:
            if answer.case == case:
                return answer
        raise KeyError(f'"{case}" is not a case; there are {", ".join(a.case for a in self.cases)}')


@dataclass(frozen=True)
class FailoverTime:
    """How long a dead path goes unnoticed, and why."""

    name: str
    """What the settings are called."""
    rtt_s: float
    """Round trip, seconds."""
    rto_s: tuple[float, float, float]
    """The RTO of the best, the typical and the worst case, seconds."""
    milestones: tuple[Milestone, ...]
    """All mechanisms together, for a path that carries data."""
    mechanisms: dict[str, tuple[Milestone, ...]]
    """Each mechanism that is on, by itself."""
    advice: tuple[str, ...]
    """What follows from the numbers."""
    command: str
    """The command that says the same."""
    _raw: dict[str, Any] = field(repr=False)
    _text: str = field(repr=False)

    def __getitem__(self, goal: str) -> Milestone:
        for found in self.milestones:
            if found.goal == goal:
                return found
        names = ", ".join(m.goal for m in self.milestones)
        raise KeyError(f'"{goal}" is not among these; there are {names}')

    @property
    def steps(self) -> tuple[Step, ...]:
        """The waits of the typical case until new data takes the other path."""
        return self["moved"]["typical"].steps

    def to_dict(self) -> dict[str, Any]:
        """What `byway failover-time --json` prints."""
        return self._raw

    def to_pandas(self) -> pandas.DataFrame:
        """Seconds by goal and case."""
        pd = need("pandas", "pandas", "FailoverTime.to_pandas()")
        rows = {m.goal: {a.case: a.seconds_s for a in m.cases} for m in self.milestones}
        frame: pandas.DataFrame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("goal")
        return frame

    def plot(self) -> Figure:
        """A matplotlib figure: the waits of each goal, one after another."""
        from . import _plot

        return _plot.failover_time(self)

    def __str__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        lines = ""
        for m in self.milestones:
            cells = "".join(f"<td>{escape(a.sum)}</td>" for a in m.cases)
            lines += f"<tr><td style='text-align:left'>{escape(m.goal)}</td>{cells}</tr>"
        heads = "<th></th><th>best</th><th>typical</th><th>worst</th>"
        advice = "".join(f"<li>{escape(a)}</li>" for a in self.advice)
        return (
            f"<p>{escape(self.name)}, round trip {self.rtt_s * 1000:g} ms</p>"
            f"<table><tr>{heads}</tr>{lines}</table><ul>{advice}</ul>"
            f"<p><code>{escape(self.command)}</code></p>"
        )


def _milestone(raw: Mapping[str, Any]) -> Milestone:
    cases = tuple(
        Answer(c["case"], c["seconds_s"], tuple(Step(**s) for s in c["steps"]), c["sum"])
        for c in raw["cases"]
    )
    return Milestone(raw["goal"], cases, raw["why"])


def failover_time(
    settings: Settings | None = None,
    *,
    preset: str = "rfc9260",
    rtt: str = "90 ms",
    rto: str | None = None,
) -> FailoverTime:
    """How long failure detection and the stall last by the settings, as
    `byway failover-time` does: the timers that run out one after another.

    settings: laid over the preset: `{"rto.min": "300 ms"}`.
    preset: "rfc9260", "rfc2960", "byway", ...
    rtt: round trip of each path, such as "90 ms"; more than nothing and at most 1 h.
    rto: the RTO when the path dies; by default what the round trip gives.

    Raises SettingError with what is wrong and its place.
    """
    raw, text = _native.failover_time(preset, settings, rtt, rto)
    found = json.loads(raw)
    words = ["byway", "failover-time"]
    words += ["--preset", preset] if preset != "rfc9260" else []
    for key, value in _leaves("", settings or {}):
        words += ["--set", f"{key}={value}"]
    words += ["--rtt", rtt] if rtt != "90 ms" else []
    words += ["--rto", rto] if rto is not None else []
    return FailoverTime(
        name=found["name"],
        rtt_s=found["rtt_s"],
        rto_s=tuple(found["rto_s"]),
        milestones=tuple(_milestone(m) for m in found["together"]),
        mechanisms={
            m["title"]: tuple(_milestone(k) for k in m["milestones"])
            for m in found["mechanisms"]
            if m["on"]
        },
        advice=tuple(found["advice"]),
        command=shlex.join(words),
        _raw=found,
        _text=text,
    )


def _leaves(prefix: str, settings: Mapping[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            found += _leaves(f"{prefix}{key}.", value)
        else:
            text = value if isinstance(value, str) else _toml(value)
            found.append((f"{prefix}{key}", text))
    return found


def _toml(value: Any) -> str:
    """A value as TOML writes it."""
    return _native.to_toml({"x": value}).partition("=")[2].strip()


