"""Runs of scenarios: what `byway run` does."""

from __future__ import annotations

import json
import os
import shlex
import warnings as _warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from html import escape
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from . import _given, _native
from ._frames import need
from ._native import Decider, Scenario
from .errors import SettingError

if TYPE_CHECKING:
    import pandas
    import polars
    import xarray
    from matplotlib.figure import Figure

Source: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any] | Scenario | None"
"""A scenario: a file's name, TOML text (of several lines), a dictionary with the keys of a
file, one that was read before, or None for the built-in one."""
Settings: TypeAlias = "Mapping[str, Any]"
"""Settings by their names: `{"rto.min": "100 ms"}`, the same as `{"rto": {"min": "100 ms"}}`."""
Progress: TypeAlias = "Callable[[int, int], object]"
"""Called now and then with how much is done, of how much."""

STATES = ("unconfirmed", "active", "potentially_failed", "inactive")
"""States of a path; arrays of states hold places in this tuple."""

Floats: TypeAlias = NDArray[np.float64]


# ------------------------------------------------------------------------ what a run yields


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    kind: str
    """"complete", "lost", "out_of_time" or "out_of_events"."""
    reason: str = ""
    """Why the association was lost; empty otherwise."""

    def __str__(self) -> str:
        return self.kind if not self.reason else f"{self.kind}: {self.reason}"


@dataclass(frozen=True)
class Stall:
    """A time in which nothing was delivered."""

    from_s: float
    """When it began, seconds since the start of the run."""
    length_s: float
    """How long it lasted, seconds."""


@dataclass(frozen=True)
class Detection:
    """How a scripted failure was noticed."""

    at_s: float
    """When it happened, seconds since the start of the run."""
    path: int
    """To which path, counted from 0."""
    suspect_after_s: float | None
    """Seconds until the sender thought the path potentially failed; None if it never did."""
    inactive_after_s: float | None
    """Seconds until the sender marked the path inactive; None if it never did."""


@dataclass(frozen=True)
class PathTotals:
    """Counts for one path, seen from the sender."""

    name: str
    """Its name."""
    packets: int
    """SCTP packets sent."""
    bytes: int
    """Bytes of these, SCTP headers included."""
    data_bytes: int
    """Payload bytes sent for the first time."""
    retransmitted_bytes: int
    """Payload bytes sent again."""
    retransmissions: int
    """DATA chunks sent again."""
    timeouts: int
    """T3-rtx expirations."""
    heartbeats: int
    """Heartbeats sent, without those that estimate idle paths."""
    estimate: dict[str, float] | None = None
    """What was estimated of it at last (`rtt_s`, `loss` as a share, `samples`) and what that
    cost (`probes`, `probe_bytes`); None without `failover.estimate`."""


@dataclass(frozen=True)
class PathInfo:
    """A path of the scenario."""

    name: str
    """Its name."""
    rate_bit_s: int
    """Rate of the bottleneck towards the receiver, bit/s."""
    words: str
    """Rate, delay, queue and loss in words."""


@dataclass(frozen=True)
class Event:
    """Something scripted that happens to a path."""

    at_s: float
    """When, seconds since the start of the run."""
    path: int
    """To which path, counted from 0."""
    words: str
    """What, in words: "fails", "is repaired"."""
    failure: bool
    """Whether it takes the path away."""


@dataclass(frozen=True)
class ScenarioInfo:
    """What was run."""

    name: str
    """Its name."""
    description: str
    """What it shows."""
    seed: int
    """Seed of all chance."""
    limit_s: float
    """Longest simulated time, seconds."""
    traffic: str
    """The traffic in words."""
    paths: tuple[PathInfo, ...]
    """The paths, the primary first."""
    events: tuple[Event, ...]
    """What happens, in order of time."""


@dataclass(frozen=True, eq=False)
class PathSeries:
    """Values of one path over time, seen from the sender. Arrays cannot be written, and
    numpy did not copy them."""

    name: str
    """The path's name."""
    cwnd_t: Floats
    """When the congestion window changed, seconds since the start of the run."""
    cwnd: Floats
    """Congestion window from then on, bytes."""
    rto_t: Floats
    """When the retransmission timeout changed, seconds."""
    rto: Floats
    """Retransmission timeout from then on, seconds."""
    state_t: Floats
    """When the state changed, seconds."""
    state: NDArray[np.uint8]
    """State from then on: a place in `byway.STATES`."""
    timeouts: Floats
    """When T3-rtx expired, seconds."""
    sent: Floats
    """SCTP bytes sent in each 0.1 s since the start of the run."""


@dataclass(frozen=True, eq=False)
class Series:
    """Values over time. A curve of more than 65536 points is thinned while the run goes on;
    it keeps its least and greatest values."""

    received_t: Floats
    """When a DATA chunk reached the receiver, seconds since the start of the run."""
    received: Floats
    """Its place: TSN less the first one."""
    paths: tuple[PathSeries, ...]
    """Values of each path, the primary first."""

    def to_pandas(self) -> pandas.DataFrame:
        """All of it in long form: columns `time_s`, `path` (empty for `received`),
        `quantity` (`received`, `cwnd`, `rto`, `state`, `timeout`) and `value`."""
        pd = need("pandas", "pandas", "Series.to_pandas()")
        parts: list[tuple[str, str, Floats, NDArray[Any]]] = [
            ("", "received", self.received_t, self.received)
        ]
        for p in self.paths:
            parts += [
                (p.name, "cwnd", p.cwnd_t, p.cwnd),
                (p.name, "rto", p.rto_t, p.rto),
                (p.name, "state", p.state_t, p.state.astype(float)),
                (p.name, "timeout", p.timeouts, np.ones_like(p.timeouts)),
            ]
        sizes = [len(part[2]) for part in parts]
        frame: pandas.DataFrame = pd.DataFrame(
            {
                "time_s": np.concatenate([part[2] for part in parts]),
                "path": np.repeat([part[0] for part in parts], sizes),
                "quantity": np.repeat([part[1] for part in parts], sizes),
                "value": np.concatenate([part[3] for part in parts]),
            }
        )
        return frame


@dataclass(frozen=True, eq=False)
class Result:
    """What one policy did. The names are those of `byway run --json`."""

    policy: str
    """The policy's name; it ends in " (custom)" if a rule in Python took part."""
    note: str
    """What it is about."""
    outcome: Outcome
    """How the run ended."""
    transfer_s: float | None
    """From the first DATA to the SACK that covers the last, at the sender, seconds; None if
    it did not come that far."""
    delivered_s: float | None
    """From the first DATA to the delivery of the last byte, seconds."""
    delivered_bytes: int
    """Payload bytes delivered to the reader."""
    stall: Stall | None
    """The longest time in which nothing was delivered; None without traffic."""
    detections: tuple[Detection, ...]
    """How each scripted failure was noticed."""
    paths: tuple[PathTotals, ...]
    """Counts for each path, the primary first."""
    retransmissions: int
    """DATA chunks sent again."""
    fast_retransmits: int
    """Of these, for missing reports."""
    timeouts: int
    """T3-rtx expirations."""
    failovers: int
    """Times that new data moved to another path."""
    failovers_away: int
    """How often it left a potentially failed or inactive path for an active one."""
    spurious_failovers: int
    """How many of these were spurious: the path worked."""
    spurious_failovers_known: int
    """How many failovers the sender itself found spurious."""
    duplicates: int
    """DATA chunks that the receiver had already."""
    rwnd_blocked_s: float
    """How long data waited for the peer's window alone, seconds."""
    rwnd_blocked_episodes: int
    """How often it began to wait so."""
    end_s: float
    """When the run ended, seconds since its start."""
    measures: dict[str, Any]
    """What the papers measure besides; `Measures` in crates/byway-lab has each with its unit."""
    digest: str
    """A digest of everything that was observed: the same seed gives the same."""
    scenario: ScenarioInfo = field(repr=False)
    """What was run."""
    _run: _native.Run = field(repr=False)
    _index: int = field(repr=False)

    @property
    def stall_s(self) -> float | None:
        """The longest time in which nothing was delivered, seconds."""
        return None if self.stall is None else self.stall.length_s

    @property
    def series(self) -> Series:
        """Values over time, as arrays."""
        raw = self._run.series(self._index)
        names = [p.name for p in self.paths]
        paths = tuple(PathSeries(name=n, **p) for n, p in zip(names, raw["paths"], strict=True))
        return Series(raw["received_t"], raw["received"], paths)

    @property
    def events(self) -> tuple[Event, ...]:
        """What the scenario did to the paths."""
        return self.scenario.events

    def to_dict(self) -> dict[str, Any]:
        """The figures, as `byway run --json` has them."""
        whole: dict[str, Any] = json.loads(self._run.json())["results"][self._index]
        return whole

    def plot(self, kind: str = "tsn") -> Figure:
        """A figure of this policy alone; see `Comparison.plot`."""
        from . import _plot

        return _plot.runs(self.scenario, [self], kind)

    def _repr_html_(self) -> str:
        rows = [(k, v) for k, v in _row(self).items() if k != "policy"]
        cells = "".join(
            f"<tr><th style='text-align:left'>{escape(k)}</th><td>{escape(_shown(v))}</td></tr>"
            for k, v in rows
        )
        return f"<table><caption>{escape(self.policy)}</caption>{cells}</table>"


T = TypeVar("T")


def _made(kind: type[T], values: Mapping[str, Any]) -> T:
    """An object of what JSON has, as far as the class knows it."""
    names = {f.name for f in fields(kind)}  # type: ignore[arg-type]
    return kind(**{k: v for k, v in values.items() if k in names})


def _result(run: _native.Run, scenario: ScenarioInfo, index: int, raw: dict[str, Any]) -> Result:
    stall = raw["stall"]
    return _made(
        Result,
        raw
        | {
            "outcome": Outcome(raw["outcome"]["is"], raw["outcome"].get("reason", "")),
            "stall": None if stall is None else _made(Stall, stall),
            "detections": tuple(_made(Detection, d) for d in raw["detections"]),
            "paths": tuple(_made(PathTotals, p) for p in raw["paths"]),
            "scenario": scenario,
            "_run": run,
            "_index": index,
        },
    )


def _info(raw: dict[str, Any]) -> ScenarioInfo:
    return _made(
        ScenarioInfo,
        raw
        | {
            "paths": tuple(_made(PathInfo, p) for p in raw["paths"]),
            "events": tuple(_made(Event, e) for e in raw["events"]),
        },
    )


def _row(result: Result) -> dict[str, Any]:
    """The figures of a policy in one row; seconds, bytes and counts."""
    first = result.detections[0] if result.detections else None
    return {
        "policy": result.policy,
        "outcome": result.outcome.kind,
        "transfer_s": result.transfer_s,
        "delivered_s": result.delivered_s,
        "delivered_bytes": result.delivered_bytes,
        "stall_s": result.stall_s,
        "suspect_after_s": first and first.suspect_after_s,
        "inactive_after_s": first and first.inactive_after_s,
        "retransmissions": result.retransmissions,
        "fast_retransmits": result.fast_retransmits,
        "timeouts": result.timeouts,
        "failovers": result.failovers,
        "failovers_away": result.failovers_away,
        "spurious_failovers": result.spurious_failovers,
        "spurious_failovers_known": result.spurious_failovers_known,
        "duplicates": result.duplicates,
        "rwnd_blocked_s": result.rwnd_blocked_s,
        "rwnd_blocked_episodes": result.rwnd_blocked_episodes,
        "end_s": result.end_s,
    }


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


class Comparison(Sequence[Result]):
    """All policies of a scenario, side by side: `comparison[0]`, `comparison["RFC 9260"]`."""

    def __init__(self, run: _native.Run, source: Scenario, command: str) -> None:
        raw = json.loads(run.json())
        self._run = run
        self._source = source
        self.scenario: ScenarioInfo = _info(raw["scenario"])
        """What was run."""
        self.results: tuple[Result, ...] = tuple(
            _result(run, self.scenario, i, r) for i, r in enumerate(raw["results"])
        )
        """One for each policy, in the scenario's order."""
        self.command: str = command
        """The command that gives the same figures; a scenario that is no file yet is written
        first, with `save`. With a decider in Python there is none, and this is empty."""

    @overload
    def __getitem__(self, key: int | str) -> Result: ...
    @overload
    def __getitem__(self, key: slice) -> tuple[Result, ...]: ...
    def __getitem__(self, key: int | str | slice) -> Result | tuple[Result, ...]:
        if isinstance(key, str):
            for result in self.results:
                if result.policy == key:
                    return result
            names = ", ".join(f'"{r.policy}"' for r in self.results)
            raise KeyError(f'"{key}" is not a policy of this run; there are {names}')
        return self.results[key]

    def __len__(self) -> int:
        return len(self.results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self.results)

    @property
    def events(self) -> tuple[Event, ...]:
        """What the scenario did to the paths."""
        return self.scenario.events

    def to_dict(self) -> dict[str, Any]:
        """What `byway run --json` prints."""
        whole: dict[str, Any] = json.loads(self._run.json())
        return whole

    def to_toml(self) -> str:
        """The scenario as a file, with its seed and nothing left to defaults. A decider in
        Python is not in it."""
        return self._source.to_toml()

    def save(self, path: str | os.PathLike[str]) -> str:
        """Writes the scenario as a file, and returns the command that gives the same figures."""
        name = _given.file("path", path)
        with open(name, "w", encoding="utf-8") as file:
            file.write(self.to_toml())
        return f"byway run {shlex.quote(name)}"

    def to_pandas(self) -> pandas.DataFrame:
        """One row for each policy, with its figures: seconds, bytes and counts."""
        pd = need("pandas", "pandas", "Comparison.to_pandas()")
        rows = [_row(r) for r in self.results]
        frame: pandas.DataFrame = pd.DataFrame(rows).set_index("policy")
        for name in ("transfer_s", "delivered_s", "stall_s", "suspect_after_s", "inactive_after_s"):
            frame[name] = frame[name].astype("float64")
        return frame

    def to_polars(self) -> polars.DataFrame:
        """One row for each policy, with its figures: seconds, bytes and counts."""
        pl = need("polars", "polars", "Comparison.to_polars()")
        frame: polars.DataFrame = pl.DataFrame([_row(r) for r in self.results], infer_schema_length=None)
        return frame

    def to_xarray(self) -> xarray.Dataset:
        """The figures by `policy`, and the counts by `policy` and `path`."""
        xr = need("xarray", "xarray", "Comparison.to_xarray()")
        rows = [_row(r) for r in self.results]
        names = [k for k in rows[0] if k not in ("policy", "outcome")]
        variables: dict[str, Any] = {
            k: ("policy", np.array([np.nan if r[k] is None else r[k] for r in rows], dtype=float))
            for k in names
        }
        variables["outcome"] = ("policy", [r["outcome"] for r in rows])
        counts = [f.name for f in fields(PathTotals) if f.name not in ("name", "estimate")]
        for k in counts:
            values = [[getattr(p, k) for p in r.paths] for r in self.results]
            variables[f"path_{k}"] = (("policy", "path"), values)
        dataset: xarray.Dataset = xr.Dataset(
            variables,
            coords={
                "policy": [r.policy for r in self.results],
                "path": [p.name for p in self.scenario.paths],
            },
            attrs={"scenario": self.scenario.name, "seed": self.scenario.seed, "command": self.command},
        )
        for k in variables:
            if k.endswith("_s"):
                dataset[k].attrs["units"] = "s"
            elif k.endswith("bytes"):
                dataset[k].attrs["units"] = "B"
        return dataset

    def plot(self, kind: str = "timeline") -> Figure:
        """A matplotlib figure:

        - "timeline": for each policy when it stalled, when the failed path was potentially
          failed and inactive, and when the transfer was complete
        - "tsn": the chunks that reached the receiver, over time
        - "cwnd": the congestion window of each path, over time
        - "states": the state of each path, over time

        The figure is not known to pyplot: a notebook shows it, `savefig` writes it.

        Raises SettingError for another kind, MissingPackage without matplotlib.
        """
        from . import _plot

        return _plot.runs(self.scenario, self.results, kind)

    def report(self, path: str | os.PathLike[str] = "report.html") -> str:
        """Writes the report of `byway run`, a page that stands alone; returns its name."""
        name = _given.file("path", path)
        with open(name, "w", encoding="utf-8") as file:
            file.write(self._run.html())
        return name

    def table(self, width: int = 100) -> str:
        """The table that `byway run` prints, for lines of `width` characters."""
        return self._run.table(_given.width(width))

    def picture(self, width: int = 100) -> str:
        """The paths over time in letters, as `byway run` prints them."""
        return self._run.picture(_given.width(width))

    def __str__(self) -> str:
        s = self.scenario
        return (
            f"{s.name}: {s.description} (seed {s.seed})\n\n"
            f"{self._run.table(100)}\n{self._run.picture(100)}\n{self._run.summary()}"
        )

    def __repr__(self) -> str:
        s = self.scenario
        return f"<Comparison {s.name!r}: {len(self)} policies, seed {s.seed}>"

    def _repr_html_(self) -> str:
        s = self.scenario
        columns = {
            "policy": "policy",
            "outcome": "ended",
            "transfer_s": "transfer, s",
            "stall_s": "longest stall, s",
            "suspect_after_s": "PF after, s",
            "inactive_after_s": "inactive after, s",
            "retransmissions": "sent again",
            "timeouts": "timeouts",
        }
        head = "".join(f"<th>{escape(name)}</th>" for name in columns.values())
        body = "".join(
            "<tr>" + "".join(_cell(k, _row(r)[k]) for k in columns) + "</tr>" for r in self.results
        )
        title = f"{s.name}: {s.description} (seed {s.seed})".replace(":  (", " (")
        command = f"<p><code>{escape(self.command)}</code></p>" if self.command else ""
        return f"<p>{escape(title)}</p><table><tr>{head}</tr>{body}</table>{command}"


def _cell(name: str, value: Any) -> str:
    side = "left" if name in ("policy", "outcome") else "right"
    return f"<td style='text-align:{side}'>{escape(_shown(value))}</td>"


# ----------------------------------------------------------------------------- what is called


def scenario(
    source: Source = None,
    *,
    seed: int | None = None,
    policies: Mapping[str, Settings] | None = None,
    only: str | Sequence[str] | None = None,
    settings: Settings | None = None,
) -> Scenario:
    """Reads and checks a scenario, and runs nothing. The arguments are those of `run`.

    Raises ScenarioError or SettingError with every mistake and its place.
    """
    if isinstance(source, Mapping) and not isinstance(source, dict):
        source = dict(source)
    names = None if only is None else _given.names("only", only, "policies")
    return _native.read_scenario(
        _given.source(source), seed=seed, policies=policies, only=names, settings=settings
    )


def check(source: Source = None) -> list[str]:
    """Looks for mistakes in a scenario, as `byway check` does; returns what is odd but works:
    settings that contradict each other.

    Raises ScenarioError with every mistake and its place.
    """
    found = scenario(source).warnings()
    return [f'policy "{policy}": {message}' for policy, message in found]


def run(
    source: Source = None,
    *,
    seed: int | None = None,
    policies: Mapping[str, Settings] | None = None,
    only: str | Sequence[str] | None = None,
    settings: Settings | None = None,
    decider: Decider | Mapping[str, Decider] | None = None,
    captures: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Runs the policies of a scenario side by side, as `byway run` does.

    source: a file's name, TOML text (of several lines), a dictionary with the keys of a file,
        a `Scenario`, or None for the built-in one (8 MiB over two paths, whose primary dies
        after 2 s). `byway scenario` prints one that explains every key.
    seed: replaces the scenario's seed.
    policies: replaces its policies: names, and the settings of each.
        `{"RFC 9260": {}, "short": {"rto.min": "100 ms"}}`; a preset is `{"preset": "rfc2960"}`.
    only: runs only the policies of these names.
    settings: laid over every policy, as an axis of a sweep does: `{"rto.min": "100 ms"}`.
        `byway.settings()` lists them all.
    decider: a rule in Python (`byway.policy`), for all policies, or for those of these names.
    captures: a folder for captures of the paths, one pcapng for each policy.
    progress: called now and then with how much of the longest time has passed, of 1000.

    Values have units, as in a file: `"45 ms"`, `"10 Mbit/s"`, `"8 MiB"`, `"1 %"`. The GIL is
    released meanwhile, and Ctrl-C ends the run.

    Raises ScenarioError and SettingError with every mistake and its place, RunError if a run
    cannot be done, and what `decider` or `progress` raised.
    """
    _given.function("progress", progress, _given.PROGRESS)
    source = _given.source(source)
    only = None if only is None else _given.names("only", only, "policies")
    read = scenario(source, seed=seed, policies=policies, only=only, settings=settings)
    for policy, message in read.warnings():
        _warnings.warn(f'policy "{policy}": {message}', stacklevel=2)
    deciders: list[tuple[str | None, Decider]] = []
    if isinstance(decider, Mapping):
        deciders = list(decider.items())
    elif decider is not None:
        deciders = [(None, decider)]
    for _, one in deciders:
        if not isinstance(one, Decider):
            raise SettingError(
                f"decider: found {type(one).__name__}, expected a rule of byway.policy, such as "
                "byway.policy.retransmission_target(function)"
            )
    folder = _given.file_or_none("captures", captures)
    if folder is not None:
        if os.path.exists(folder) and not os.path.isdir(folder):
            raise SettingError(f"captures: {folder} is a file, expected a folder")
        os.makedirs(folder, exist_ok=True)
    done = _native.run(read, deciders=deciders, captures=folder, progress=progress)
    command = ""
    if not deciders:
        command = _command(source, read, seed, only, policies is None and settings is None)
    return Comparison(done, read, command)


def _command(
    source: Source,
    read: Scenario,
    seed: int | None,
    only: Sequence[str] | None,
    plain: bool,
) -> str:
    words = ["byway", "run"]
    is_file = isinstance(source, (str, os.PathLike)) and not _given.is_text(source)
    if plain and (source is None or is_file):
        if source is not None:
            words.append(os.fspath(source))  # type: ignore[arg-type]
        words += ["--seed", str(seed)] if seed is not None else []
        for name in only or []:
            words += ["--only", name]
    else:
        words.append(f"{read.name}.toml")
    return shlex.join(words)


def settings(preset: str = "rfc9260", settings: Settings | None = None) -> str:
    """Every setting with its value, as `byway settings` prints them.

    Raises SettingError for a preset or a setting that is not known.
    """
    return _native.list_settings(preset, settings)


def to_toml(dictionary: Mapping[str, Any]) -> str:
    """A scenario's or a sweep's dictionary as the text of a file that the command takes. It
    is not checked; `check` does that.

    Raises ScenarioError for what TOML cannot hold.
    """
    return _native.to_toml(dictionary)
