"""Recommended settings for described paths: what `byway advise` does."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from . import _given, _native
from ._frames import need
from ._run import Progress
from .errors import SettingError

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Interval:
    """A figure and the interval that holds it with a confidence of 95 %."""

    value: float
    """The figure."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""


@dataclass(frozen=True)
class Outlook:
    """Settings and what is to be expected of them."""

    target: str
    """For whom: "byway", "linux" or "usrsctp"."""
    name: str
    """Its name in the table."""
    role: str
    """"recommended", "runner_up", "default" or "front" (of the other best compromises)."""
    stall_mean_s: Interval
    """Mean of the longest time without delivery when the first path dies, seconds."""
    stall_median_s: Interval
    """Its median, seconds."""
    stall_95th_s: Interval
    """Its 95th percentile, seconds."""
    moves_per_hour: Interval
    """Needless moves an hour while nothing fails."""
    elsewhere: Interval
    """Share of the payload on other paths than the first while nothing fails, 0 to 1."""
    away_s: Interval
    """From the repair of the first path until traffic is back, seconds."""
    rate_bytes_s: Interval | None
    """Bytes delivered a second while nothing fails; None for other traffic than bulk."""
    lossy_rate_bytes_s: Interval | None
    """The same where paths that are described without loss lose 0.1 %."""
    runs: int
    """Runs of each situation behind each figure."""
    lost: int
    """Runs in which the association was lost."""


@dataclass(frozen=True)
class Effort:
    """How much was run."""

    search: int
    """Seeds of each candidate on the first level of the search."""
    check: int
    """Seeds of each finalist and each default in the check."""


@dataclass(frozen=True)
class Advice:
    """Recommended settings, and the runs that speak for them."""

    lines: dict[str, tuple[str, ...]]
    """For each target the settings as lines that it takes."""
    rows: tuple[Outlook, ...]
    """The recommended settings of each target first, then what they are held against."""
    verdicts: dict[str, tuple[str, ...]]
    """For each target what is better than the defaults, in sentences."""
    notes: tuple[str, ...]
    """What was simplified, and what could not be shown."""
    simulated: int
    """Runs in the simulator."""
    effort: Effort
    """How much was run; `runs=(effort.search, effort.check)` gives the same answer."""
    command: str
    """The command that gives the same answer; empty if paths are in a dictionary."""
    _raw: dict[str, Any] = field(repr=False)
    _table: str = field(repr=False)
    _files: tuple[tuple[str, str], ...] = field(repr=False)

    @property
    def recommended(self) -> Outlook:
        """The recommended settings of the first target."""
        return self.rows[0]

    def to_dict(self) -> dict[str, Any]:
        """What `byway advise --json` prints."""
        return self._raw

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each of the settings, with each figure and its interval."""
        pd = need("pandas", "pandas", "Advice.to_pandas()")
        rows = []
        for row in self.rows:
            flat: dict[str, Any] = {}
            for key, value in vars(row).items():
                if isinstance(value, Interval):
                    flat |= {key: value.value, f"{key}_low": value.low, f"{key}_high": value.high}
                else:
                    flat[key] = value
            rows.append(flat)
        frame: pandas.DataFrame = pd.DataFrame(rows)
        return frame

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Writes the files to check the answer with: scenarios, sweeps, settings, a page.
        Returns their names."""
        folder = _given.file("folder", folder)
        os.makedirs(folder, exist_ok=True)
        written = []
        for name, text in self._files:
            path = Path(folder) / name
            path.write_text(text, encoding="utf-8")
            written.append(path)
        return written

    def plot(self) -> Figure:
        """A matplotlib figure: the mean stall and the needless moves of all settings, with
        their intervals."""
        from . import _plot

        return _plot.advice(self)

    def __str__(self) -> str:
        return self._table

    def _repr_html_(self) -> str:
        heads = ("", "settings", "mean stall, s", "95th percentile, s", "needless moves an hour")
        lines = []
        for r in self.rows:
            texts = (r.role.replace("_", " "), f"{r.name} ({r.target})")
            numbers = (r.stall_mean_s, r.stall_95th_s, r.moves_per_hour)
            cells = "".join(f"<td style='text-align:left'>{escape(t)}</td>" for t in texts)
            cells += "".join(f"<td>{n.value:.3g} ({n.low:.3g} to {n.high:.3g})</td>" for n in numbers)
            lines.append(f"<tr>{cells}</tr>")
        settings = "".join(
            f"<p>{escape(target)}:</p><pre>{escape(chr(10).join(found))}</pre>"
            for target, found in self.lines.items()
        )
        command = f"<p><code>{escape(self.command)}</code></p>" if self.command else ""
        head = "".join(f"<th>{h}</th>" for h in heads)
        return f"<table><tr>{head}</tr>{''.join(lines)}</table>{settings}{command}"


def advise(
    paths: Sequence[str | Mapping[str, str]] | str | os.PathLike[str],
    *,
    traffic: str | None = None,
    hurts: str | None = None,
    max_stall: str | None = None,
    at_most_moves: str | None = None,
    max_cost: str | None = None,
    targets: str | Sequence[str] = ("byway",),
    within: str = "60 s",
    runs: tuple[int, int] | None = None,
    seed: int = 1,
    progress: Progress | None = None,
) -> Advice:
    """Recommends settings for paths, as `byway advise` does: candidates run in the simulator,
    and the best run again with seeds that the search has not used.

    paths: each path as `{"rtt": "20 ms", "rate": "50 Mbit/s", "loss": "1 %"}` or
        `"rtt=20ms,rate=50M,loss=1%"`, the primary first; or a file of them, such as what
        `byway doctor --json` has measured.
    traffic: "bulk" (the default), "paced 1kB/2ms" or "requests 500B/1s".
    hurts: stall, moves and cost with their weights: "stall=1,moves=1,cost=0.1" by default.
    max_stall, at_most_moves, max_cost: limits, such as "1 s", "3/hour" and "10 %".
    targets: for whom: "byway", "linux" and "usrsctp".
    within: how long it may take, such as "60 s" or "5 min"; more time gives narrower intervals.
        `Advice.effort` says how much was run.
    runs: run so much, whatever the time: seeds of each candidate at first, and of each finalist
        in the check, such as (2, 40); 1 to 1000 and 2 to 2000. The same numbers give the same answer.
    seed: seeds all chance.
    progress: called now and then with the runs that are done, and 0: how many there will be is
        not known before.

    Raises SettingError with what is wrong and its place.
    """
    words = ["byway", "advise"]
    given: Any = paths
    _given.function("progress", progress, _given.PROGRESS)
    if isinstance(paths, (str, os.PathLike)):
        given = _given.file("paths", paths)
        words += ["--paths", given]
    elif not isinstance(paths, Sequence):
        what = "a dictionary" if isinstance(paths, Mapping) else repr(paths)
        raise SettingError(f"paths: found {what}, expected a list of paths, the primary first")
    else:
        given = list(paths)
        if all(isinstance(p, str) for p in given):
            for p in given:
                words += ["--path", p]
        else:
            given, words = {"path": given}, []
    targets = [targets] if isinstance(targets, str) else targets
    if not isinstance(targets, Sequence) or not all(isinstance(t, str) for t in targets):
        raise SettingError(f"targets: found {targets!r}, expected a list of names")
    targets = list(targets)
    numbers = None if runs is None else _numbers(runs)
    if not isinstance(within, str):
        raise SettingError(f"within: found {within!r}, expected a time such as \"60 s\"")
    _given.number("seed", seed, 0, 10**9 - 1)
    native = _native.advise(
        given, traffic=traffic, hurts=hurts, max_stall=max_stall, at_most_moves=at_most_moves,
        max_cost=max_cost, targets=targets, within=within, runs=numbers, seed=seed, progress=progress,
    )  # fmt: skip
    raw = json.loads(native.json())
    effort = Effort(**raw["effort"])
    options = {
        "--traffic": traffic, "--hurts": hurts, "--max-stall": max_stall,
        "--at-most-moves": at_most_moves, "--max-cost": max_cost, "--for": ",".join(targets),
        "--runs": f"{effort.search},{effort.check}", "--seed": str(seed) if seed != 1 else None,
    }  # fmt: skip
    for name, value in options.items():
        words += [name, value] if words and value is not None else []
    return _advice(native, raw, effort, shlex.join(words))


def _numbers(runs: object) -> tuple[int, int]:
    """Seeds of the search and of the check, if they are that."""
    match runs:
        case (int(search), int(check)) if not isinstance(search, bool) and not isinstance(check, bool):
            if 1 <= search <= 1000 and 2 <= check <= 2000:
                return search, check
    raise SettingError(
        f"runs: found {runs!r}, expected two whole numbers, such as (4, 160): at least 1 and 2, "
        "at most 1000 and 2000"
    )


def _advice(
    native: _native.Advice, raw: dict[str, Any], effort: Effort, command: str
) -> Advice:
    rows = []
    for target in raw["targets"]:
        for row in target["rows"]:
            figures = row["figures"]
            names = ("stall_mean_s", "stall_median_s", "stall_95th_s", "elsewhere", "away_s")
            rate, lossy = (
                None if figures[n] is None else Interval(**figures[n])
                for n in ("rate_bytes_s", "lossy_rate_bytes_s")
            )
            rows.append(
                Outlook(
                    target=target["target"],
                    name=row["name"],
                    role=row["role"],
                    moves_per_hour=Interval(**figures["moves"]["per_hour"]),
                    runs=figures["runs"],
                    lost=figures["lost"],
                    rate_bytes_s=rate,
                    lossy_rate_bytes_s=lossy,
                    **{n: Interval(**figures[n]) for n in names},
                )
            )
    return Advice(
        lines={t["target"]: tuple(t["lines"]) for t in raw["targets"]},
        rows=tuple(rows),
        verdicts={t["target"]: tuple(v["words"] for v in t["verdicts"]) for t in raw["targets"]},
        notes=tuple(raw["notes"]),
        simulated=raw["simulated"],
        effort=effort,
        command=command,
        _raw=raw,
        _table=native.table(),
        _files=tuple(native.files()),
    )
